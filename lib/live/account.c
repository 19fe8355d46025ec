/* SPDX-License-Identifier: MIT */
/* account.c - OS accounting while counting is on; see account.h. */
#include "lib/live/account.h"
#include "lib/base/number.h"

#include <string.h>

/* Only a pmctl ctl every few nanoseconds could change the account during every copy. */
#define TRIES 100u

void account_open(struct account_side *side, uint64_t owner, const uint64_t base[ACCOUNT_WORDS],
		  bool stopped)
{
	*side = (struct account_side){ .owner = owner, .stopped = stopped };
	memcpy(side->base, base, sizeof(side->base));
	memcpy(side->at, base, sizeof(side->at));
}

void account_start(struct account_side *side, const struct account_words *now)
{
	if (!side->stopped)
		return;
	for (unsigned i = 0; i < ACCOUNT_WORDS; i++)
		side->base[i] += pmc_sub_sat(now->of[i], side->at[i]);
	side->unknown |= now->unknown;
	side->stopped = false;
}

void account_stop(struct account_side *side, const struct account_words *now)
{
	if (side->stopped)
		return;
	memcpy(side->at, now->of, sizeof(side->at));
	side->unknown |= now->unknown;
	side->stopped = true;
}

void account_reset(struct account_side *side, const struct account_words *now)
{
	memcpy(side->base, side->stopped ? side->at : now->of, sizeof(side->base));
	if (!side->stopped)
		side->unknown = now->unknown;
	side->reset_ns = now->of[ACCOUNT_WALL];
}

void account_values(const struct account_side *side, struct account_words *now)
{
	for (unsigned i = 0; i < ACCOUNT_WORDS; i++)
		now->of[i] = pmc_sub_sat(side->stopped ? side->at[i] : now->of[i], side->base[i]);
	now->unknown = side->stopped ? side->unknown : now->unknown | side->unknown;
}

/* Only these rows have the fields. */
static void put_os(const struct account_words *now, struct pmc_thread_fixed *row)
{
	if (row->flags & PMC_THREAD_TIMES) {
		row->user_ns = now->of[ACCOUNT_USER];
		row->system_ns = now->of[ACCOUNT_SYSTEM];
	}
	if (row->flags & PMC_THREAD_DELAY)
		row->run_delay_ns = now->of[ACCOUNT_DELAY];
	if (now->unknown & ACCOUNT_TIMES)
		row->flags &= (uint8_t)~PMC_THREAD_TIMES;
	if (now->unknown & ACCOUNT_BIT(ACCOUNT_DELAY))
		row->flags &= (uint8_t)~PMC_THREAD_DELAY;
}

void account_put_row(const struct account_words *now, struct pmc_thread_fixed *row)
{
	row->cpu_ns = now->of[ACCOUNT_CPU];
	row->minor_faults = now->of[ACCOUNT_MINOR];
	row->major_faults = now->of[ACCOUNT_MAJOR];
	row->voluntary_switches = now->of[ACCOUNT_VOLUNTARY];
	row->involuntary_switches = now->of[ACCOUNT_INVOLUNTARY];
	if (now->unknown & ACCOUNT_BIT(ACCOUNT_CPU))
		row->flags |= PMC_THREAD_NO_CPU;
	if (now->unknown & (ACCOUNT_FAULTS | ACCOUNT_SWITCHES))
		row->flags |= PMC_THREAD_NO_RUSAGE;
	put_os(now, row);
}

void account_row(const struct account_side *side, struct account_words *now,
		 struct pmc_thread_fixed *row, bool phases)
{
	const uint64_t time_ns = now->of[ACCOUNT_WALL];

	account_values(side, now);
	account_put_row(now, row);
	if (side->stopped)
		row->flags |= PMC_THREAD_OFF;
	if (!phases)
		return;
	row->reset_ns = side->reset_ns;
	row->off_ns =
		row->start_ns ? pmc_sub_sat(time_ns - row->start_ns, now->of[ACCOUNT_WALL]) : 0;
}

void account_process(const struct account_side *side, struct account_words *now,
		     const uint64_t carried[ACCOUNT_WORDS], struct pmc_process_fixed *process)
{
	account_values(side, now);
	process->cpu_ns = now->of[ACCOUNT_CPU];
	process->minor_faults = now->of[ACCOUNT_MINOR];
	process->major_faults = now->of[ACCOUNT_MAJOR];
	process->voluntary_switches = now->of[ACCOUNT_VOLUNTARY];
	process->involuntary_switches = now->of[ACCOUNT_INVOLUNTARY];
	process->overhead_ns = now->of[ACCOUNT_OVERHEAD];
	process->off_ns = pmc_sub_sat(process->time_ns - process->start_ns, now->of[ACCOUNT_WALL]);
	if (now->unknown & ACCOUNT_SWITCHES)
		process->flags |= PMC_PROCESS_NO_SWITCHES;
	/* CPU time from before the agent belongs to no later phase. */
	if (side->stopped || side->base[ACCOUNT_CPU] != carried[ACCOUNT_CPU])
		process->pre_cpu_ns = 0;
}

bool account_read(const struct account *account, uint64_t owner, struct account_side *side)
{
	uint32_t number = atomic_load_explicit(&account->number, memory_order_acquire), again;

	for (unsigned try = 0; try < TRIES; try++, number = again) {
		*side = account->sides[number & 1];
		atomic_thread_fence(memory_order_acquire);
		again = atomic_load_explicit(&account->number, memory_order_relaxed);
		if (again == number)
			break;
	}
	return side->owner == owner;
}

void account_write(struct account *account, const struct account_side *side)
{
	uint32_t number = atomic_load_explicit(&account->number, memory_order_relaxed) + 1;

	account->sides[number & 1] = *side;
	atomic_store_explicit(&account->number, number, memory_order_release);
}
