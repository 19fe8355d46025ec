/* SPDX-License-Identifier: MIT */
/*
 * fork_guard.c - tells a forked child from a vfork child from the process itself.
 *
 * One page is marked MADV_WIPEONFORK: it reads zero in a child with memory of its own (fork,
 * _Fork, raw clone) and keeps its contents in one that shares this memory (vfork). In a vfork child
 * hooks only forward: the state is the parent's.
 */
#include "agent/base/agent.h"

#include <sys/auxv.h>

_Atomic uint32_t *agent_alive;
static void (*become)(void);

int agent_fork_guard_init(void (*become_process)(void))
{
	size_t page = getauxval(AT_PAGESZ);
	void *map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	if (map == MAP_FAILED)
		return -errno;
	if (madvise(map, page, MADV_WIPEONFORK) != 0) {
		error = -errno; /* Linux < 4.14 */
		munmap(map, page);
		return error;
	}
	become = become_process;
	agent_alive = map;
	atomic_store(agent_alive, 1);
	return 0;
}

static bool is_on(void)
{
	return atomic_load_explicit(&pmc_agent_control.state, memory_order_acquire) ==
	       PMC_CONTROL_ON;
}

bool agent_active(void)
{
	if (!is_on())
		return false;
	if (atomic_load_explicit(agent_alive, memory_order_relaxed) == 0) {
		atomic_store(agent_alive, 1);
		become();
		return is_on();
	}
	return (pid_t)syscall(SYS_getpid) == agent.pid;
}

bool agent_active_unless_vfork(void)
{
	return is_on() &&
	       (atomic_load_explicit(agent_alive, memory_order_relaxed) || agent_active());
}
