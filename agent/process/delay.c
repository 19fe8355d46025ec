/* SPDX-License-Identifier: MIT */
/* delay.c - starts counting after PMC_DELAY: accounts and groups of all threads, and inherit
 * groups. Async-signal-safe. */
#include "agent/base/agent.h"
#include "agent/output/process_frames.h"
#include "agent/process/process.h"
#include "agent/sample/sample.h"
#include "agent/thread/thread.h"

#include <sys/mman.h>

#include "agent/base/poison.h"

/* room: for pmc_usage_of_task; NULL: no memory. */
static void start_account(const struct slot *slot, char *room)
{
	struct account *account = &agent_registry.accounts[registry_index(&agent_registry, slot)];
	struct account_words now = { .unknown = 0 };
	struct account_side side;
	struct pmc_usage usage;

	agent_account(slot, &side);
	if (!side.stopped)
		return;
	if (room && pmc_usage_of_task(slot->tid, room, PMC_TASK_ROOM, &usage))
		account_put_usage(&now, &usage);
	else
		now.unknown = ACCOUNT_USAGE;
	agent_os_words(slot, false, now.unknown ? NULL : &usage, &now);
	if (!pmc_thread_cpu_ns((int)slot->tid, &now.of[ACCOUNT_CPU]))
		now.unknown |= ACCOUNT_BIT(ACCOUNT_CPU);
	now.of[ACCOUNT_WALL] = pmc_now_ns();
	account_start(&side, &now);
	account_write(account, &side);
}

static void start_process_account(void)
{
	struct account_words now;
	struct account_side side;
	struct pmc_usage usage;

	agent_process_words(&now, &usage);
	account_read(&pmc_agent_control.account, 1, &side);
	account_start(&side, &now);
	account_write(&pmc_agent_control.account, &side);
}

void agent_counting_start(void)
{
	char *room = mmap(NULL, PMC_TASK_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	uint32_t high;

	atomic_fetch_add(&pmc_agent_control.switched, 1);
	atomic_store(&pmc_agent_control.counting, 1);
	high = atomic_load(&agent_registry.high);
	/* The process before its threads, so that its values are never below theirs. */
	start_process_account();
	agent_inherit_enable();
	for (uint32_t i = 0; i < high; i++) {
		struct slot *slot = registry_slot(&agent_registry, i);
		struct snapshot_groups groups;

		if (!registry_pin(slot))
			continue;
		start_account(slot, room == MAP_FAILED ? NULL : room);
		groups = agent_groups_of(slot);
		agent_groups_enable(&groups);
		agent_sample_enable(slot);
		registry_unpin(&agent_registry, slot);
	}
	if (room != MAP_FAILED)
		munmap(room, PMC_TASK_ROOM);
}
