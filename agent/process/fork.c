/* SPDX-License-Identifier: MIT */
/*
 * fork.c - tells a forked child from a vfork child from the process itself, makes a forked child a
 * process of its own, and keeps raised limits out of it.
 *
 * One page is marked MADV_WIPEONFORK: it reads zero in a child with memory of its own (fork,
 * _Fork, raw clone) and keeps its contents in one that shares this memory (vfork). In a vfork child
 * hooks only forward: the state is the parent's.
 */
#include "agent/process/process.h"
#include "lib/base/proc.h"

#include <pthread.h>
#include <sys/auxv.h>

_Atomic uint32_t *agent_alive;

/* For the child's handler of pthread_atfork. */
static bool in_fork;

/* A child created without fork() (_Fork, raw clone) becomes a process at its first call into the
 * agent. Its row and its events start there; its CPU time before that is unattributed. */
static void begin_late(void)
{
	agent_note(NOTE_LATE_FORK);
	pmc_thread_cpu_ns(0, &agent.reported.thread_cpu_ns);
	pmc_usage_thread(&agent.reported.thread);
	pmc_run_delay(0, &agent.reported.thread_delay_ns);
	agent.start_ns -= pmc_process_cpu_ns();
}

/* Async-signal-safe, as the child of a multi-threaded process requires. */
static void become_process(void)
{
	uint64_t start = pmc_now_ns(), cpu_ns = agent_overhead_clock();
	/* The mask of the thread is that of its creator. */
	const uint8_t blocked = agent_self ? agent_self->blocked : 0;
	struct pmc_usage before;
	int saved = errno;

	pmc_usage_thread(&before);
	agent.pid = (pid_t)syscall(SYS_getpid);
	/* Signals without a handler do not end the init of a PID namespace. */
	if (agent.pid == 1)
		agent_signals_forget();
	memcpy(agent.parent, agent.identity, 16);
	agent_identity(agent.identity);
	agent.first = false;
	agent.forked = true;
	agent.start_ns = start;
	agent.pre_cpu_ns = 0;
	memset(&agent.reported, 0, sizeof(agent.reported));
	/* In a namespace of its own the child does not see its parent. */
	if (syscall(SYS_getppid) == 0)
		agent.pid_namespace = 0;
	atomic_store(&agent.next_seq, 0);
	atomic_store(&pmc_agent_control.snapshot, AGENT_HEADER_SNAPSHOT);
	atomic_store(&pmc_agent_control.seen, 0);
	atomic_store(&pmc_agent_control.uncounted, 0);
	atomic_store(&pmc_agent_control.overhead_ns, 0);
	atomic_store(&pmc_agent_control.leaving, 0);
	agent_notes_forget();
	if (!in_fork)
		begin_late();
	agent_inherit_forked();
	agent_fds_forked(agent_file_fd());
	agent_sample_forked();
	if (registry_empty(&agent_registry) != 0)
		atomic_store(&pmc_agent_control.state, PMC_CONTROL_OFF);
	agent_self = NULL;
	/* Not before: pmctl would take the parent's stacks for those of the child. */
	memcpy(pmc_agent_control.identity, agent.identity, 16);
	pmc_agent_control.pid = agent.pid;
	agent_file_forked();
	agent_start_routines_forked();
	agent_leave_forked();
	agent_tick_forked();
	agent_leave_out(&before);
	agent_publish_process();
	if (agent_is_on() && agent.measured)
		agent_thread_main(blocked);
	if (!in_fork && agent_self)
		agent_self->start_ns = start;
	agent_regions_forked();
	agent_overhead_add(agent_overhead_clock() - cpu_ns);
	errno = saved;
}

/* With signals blocked: in a handler that comes first this is done there, and one that comes
 * meanwhile would find the parent's threads. */
__attribute__((noinline, cold)) static void begin_child(void)
{
	const uint64_t mask = agent_block_signals();

	if (atomic_exchange(agent_alive, 1) == 0)
		become_process();
	in_fork = false;
	agent_mask_set(mask);
}

bool agent_active(void)
{
	if (!agent_is_on())
		return false;
	if (atomic_load(agent_alive) == 0) {
		begin_child();
		return agent_is_on();
	}
	return (pid_t)syscall(SYS_getpid) == agent.pid;
}

bool agent_active_unless_vfork(void)
{
	return agent_is_on() && (atomic_load(agent_alive) || agent_active());
}

static __thread uint64_t held;

static void before_fork(void)
{
	/* The child must inherit the host's limit, not one that a window raised. */
	held = agent_active() ? agent_fds_hold() : 0;
	agent_sample_fork_begin();
}

static void at_fork_parent(void)
{
	agent_sample_fork_end();
	agent_fds_let(held);
}

static void at_fork_child(void)
{
	in_fork = agent_is_on();
	if (in_fork)
		begin_child();
}

int agent_fork_init(void)
{
	size_t page = getauxval(AT_PAGESZ);
	void *map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || madvise(map, page, MADV_WIPEONFORK) != 0)
		return -errno;
	agent_alive = map;
	atomic_store(agent_alive, 1);
	return -pthread_atfork(before_fork, at_fork_parent, at_fork_child);
}
