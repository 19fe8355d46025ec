/* SPDX-License-Identifier: MIT */
/*
 * fork.c - tells a forked child from a vfork child from ourselves, and makes a process of it.
 *
 * One page is marked MADV_WIPEONFORK: it reads zero in a child with memory of its own (fork,
 * _Fork, raw clone) and stays in one that borrows ours (vfork). In a vfork child hooks only
 * forward: the memory is the parent's.
 */
#include "agent/base/agent.h"
#include "agent/core/base/clock.h"
#include "agent/output/file.h"
#include "agent/process/helper.h"
#include "agent/base/note.h"
#include "agent/region/region.h"
#include "agent/process/exit_report.h"
#include "agent/thread/start_routine.h"
#include "agent/thread/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic uint32_t *agent_alive; /* in the page that a fork wipes */

/* Async-signal-safe: the child of a multi-threaded process may call nothing else. */
static void become_process(void)
{
	uint64_t start = pmc_now_ns();
	uint32_t capacity = agent_registry.capacity;
	int saved = errno;

	atomic_store(agent_alive, 1);
	agent.pid = (pid_t)syscall(SYS_getpid);
	memcpy(agent.parent, agent.identity, 16);
	agent_identity(agent.identity);
	agent.first = false;
	agent.forked = true;
	agent.start_ns = start;
	memcpy(pmc_agent_control.identity, agent.identity, 16);
	pmc_agent_control.pid = agent.pid;
	agent.pre_cpu_ns = 0;
	memset(&agent.reported, 0, sizeof(agent.reported));
	atomic_store(&agent.next_seq, 0);
	atomic_store(&pmc_agent_control.snapshot, AGENT_HEADER_SNAPSHOT);
	atomic_store(&pmc_agent_control.seen, 0);
	atomic_store(&pmc_agent_control.uncounted, 0);
	atomic_store(&pmc_agent_control.self_ns, 0);
	agent_notes_forget();
	agent_totals_forget();
	agent_fds_forked(agent_file_fd());
	registry_fini(&agent_registry);
	agent_self = NULL;
	agent_publish_process();
	agent_file_forked();
	agent_sites_forked();
	agent_report_forked();
	if (registry_init(&agent_registry, agent.plan.groups, agent.plan.opened, capacity) != 0)
		atomic_store(&pmc_agent_control.state, PMC_CONTROL_OFF);
	else if (agent.measured)
		agent_thread_main();
	agent_regions_forked();
	errno = saved;
}

static bool held;

static void before_fork(void)
{
	/* The child is to inherit the host's limit, not one that a window raised. */
	held = agent_where() == AGENT_HERE && agent_fds_hold();
}

static void at_fork_parent(void)
{
	agent_fds_let(held);
}

static void at_fork_child(void)
{
	if (agent_where() == AGENT_HERE)
		agent_helper_forked();
}

int agent_fork_init(void)
{
	size_t page = getauxval(AT_PAGESZ);
	void *map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return -errno;
	if (madvise(map, page, MADV_WIPEONFORK) != 0) {
		/* Before Linux 4.14: the atfork handler still sees fork(). */
		int error = -errno;

		munmap(map, page);
		return error;
	}
	agent_alive = map;
	atomic_store(agent_alive, 1);
	return -pthread_atfork(before_fork, at_fork_parent, at_fork_child);
}

enum agent_where agent_where_threads(void)
{
	if (atomic_load_explicit(&pmc_agent_control.state, memory_order_acquire) != PMC_CONTROL_ON)
		return AGENT_ELSEWHERE;
	return atomic_load_explicit(agent_alive, memory_order_relaxed) ? AGENT_HERE : agent_where();
}

enum agent_where agent_where(void)
{
	if (atomic_load_explicit(&pmc_agent_control.state, memory_order_acquire) != PMC_CONTROL_ON)
		return AGENT_ELSEWHERE;
	if (atomic_load_explicit(agent_alive, memory_order_relaxed) == 0)
		become_process();
	else if ((pid_t)syscall(SYS_getpid) != agent.pid)
		return AGENT_ELSEWHERE;
	return atomic_load(&pmc_agent_control.state) == PMC_CONTROL_ON ? AGENT_HERE :
									 AGENT_ELSEWHERE;
}
