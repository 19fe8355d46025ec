/* SPDX-License-Identifier: MIT */
/*
 * adopt.c - rows for threads whose start the agent did not see: raw clone, callers with
 * RTLD_DEEPBIND, threads older than the agent.
 *
 * Such a row has OS accounting only; its counts are in unattributed.
 */
#include "agent/thread/thread.h"
#include "lib/base/file.h"

/* More CPU time than a thread uses before its tid is in its slot. Generous, because time that a
 * hypervisor steals counts as CPU time too. */
#define STARTING_NS 20000000u

/* Less than a thread that has run at all has used. */
#define SHORTEST_NS 5000u

/* *starting: some thread's tid is not in its slot yet. */
static bool known(uint32_t tid, bool *starting)
{
	uint32_t high = atomic_load(&agent_registry.high);

	*starting = false;
	for (uint32_t i = 0; i < high; i++) {
		struct slot *slot = registry_slot(&agent_registry, i);
		const uint32_t word = atomic_load(&slot->word);

		if (word != SLOT_FREE && slot->tid == tid)
			return true;
		*starting |= (word & ~0xffffu) == SLOT_RESERVED;
	}
	return registry_has_ended(&agent_registry, tid);
}

static void read_name(uint32_t tid, char name[16])
{
	char path[40];
	struct pmc_out out = pmc_out_mem(path, sizeof(path));

	pmc_outf(&out, "/proc/self/task/%u/comm", tid);
	pmc_file_read_at(AT_FDCWD, path, name, 16);
}

static void consider(const char *task, void *unused)
{
	uint64_t number, cpu_ns;
	struct slot *slot;
	bool begins, later;
	uint32_t tid;

	(void)unused;
	if (!pmc_number(task, UINT32_MAX, &number))
		return;
	tid = (uint32_t)number;
	if (known(tid, &begins) || !pmc_thread_cpu_ns((int)tid, &cpu_ns))
		return;
	/* Again: its tid may have come into its slot in between. */
	if (known(tid, &later) || (begins && cpu_ns < STARTING_NS))
		return;
	slot = agent_thread_reserve();
	if (!slot)
		return;
	slot->tid = tid;
	slot->flags = PMC_THREAD_ADOPTED;
	slot->reason = PMC_REASON_ADOPTED;
	slot->created_by = PMC_NO_SEQ;
	read_name(tid, slot->name);
	atomic_fetch_add_explicit(&pmc_agent_control.uncounted, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&pmc_agent_control.seen, 1, memory_order_relaxed);
	agent_note(NOTE_ADOPTED);
	registry_live(slot);
}

/* Whether the process has no CPU time but that of the calling thread: no other has run. Not where a
 * timer runs on the clock of the process, which the kernel then updates at its ticks. */
static bool has_run_alone(void)
{
	uint64_t before_ns, process_ns, after_ns;

	if (agent.config.interval || agent.config.sample.event)
		return false;
	pmc_thread_cpu_ns(0, &before_ns);
	process_ns = pmc_process_cpu_ns();
	pmc_thread_cpu_ns(0, &after_ns);
	return process_ns <= after_ns && after_ns - before_ns < SHORTEST_NS;
}

/* In the usual case without a scan: the link count of /proc/PID/task is the number of tasks plus
 * two (fs/proc/base.c, proc_task_getattr). */
static bool all_have_slots(void)
{
	uint32_t expected = registry_taken(&agent_registry);
	struct stat st;

	/* A task without a slot: the thread that ends the process, whose row is already written. */
	if (!agent_self)
		expected++;
	if (expected == 1 && has_run_alone())
		return true;
	return syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) == 0 &&
	       st.st_nlink - 2 == (nlink_t)expected;
}

/* noinline: rows are built later, and the host's signal stack may be small. */
__attribute__((noinline)) void agent_adopt(char *room, size_t bytes)
{
	if (!all_have_slots())
		pmc_dir_visit_in("/proc/self/task", room, bytes, consider, NULL);
}
