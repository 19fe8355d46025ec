/* SPDX-License-Identifier: MIT */
/*
 * account.c - accounts of a running process and its threads: what the kernel says of them, and the
 * changes of pmctl ctl.
 *
 * CPU time of a thread is from schedstat, which for one that is running is up to a tick old.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "tools/attach/attach.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

/* ---- what the kernel says ---------------------------------------------------------------- */

bool attach_thread_words(const struct attach *target, uint32_t tid, struct account_words *now)
{
	const struct attach_tasks *tasks = &target->tasks;
	const pid_t pid = attach_our_tid(target, tid);
	struct pmc_usage usage = { 0 };
	char status[4096], stat[1024], schedstat[128];

	*now = (struct account_words){ .of[ACCOUNT_WALL] = pmc_now_ns() };
	if (!attach_cpu_of(tasks, pid, &now->of[ACCOUNT_CPU]))
		now->unknown = ACCOUNT_BIT(ACCOUNT_CPU);
	if (pid && attach_read_task(tasks, pid, "status", status, sizeof(status)) &&
	    attach_read_task(tasks, pid, "stat", stat, sizeof(stat)) &&
	    pmc_task_status(status, tid, &usage) && pmc_task_stat(stat, &usage))
		account_put_usage(now, &usage);
	else
		now->unknown |= ACCOUNT_USAGE;
	if (target->control.os & 1u << PMC_OS_RUN_DELAY &&
	    (!pid || !attach_read_task(tasks, pid, "schedstat", schedstat, sizeof(schedstat)) ||
	     !pmc_task_schedstat(schedstat, &now->of[ACCOUNT_DELAY])))
		now->unknown |= ACCOUNT_BIT(ACCOUNT_DELAY);
	return !(now->unknown & ACCOUNT_BIT(ACCOUNT_CPU));
}

/* The CPU clock of a process: include/linux/posix-timers.h, CPUCLOCK_SCHED. */
static bool cpu_clock(pid_t pid, uint64_t *ns)
{
	struct timespec t;

	if (clock_gettime((clockid_t)((~(unsigned)pid << 3) | 2u), &t) != 0)
		return false;
	*ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return true;
}

void attach_process_words(const struct attach *target, struct account_words *now)
{
	struct pmc_usage usage = { 0 };
	char stat[1024];

	/* /proc has no context switches of ended threads. */
	*now = (struct account_words){ .unknown = ACCOUNT_SWITCHES };
	if (pmc_file_read_at(target->dir, "stat", stat, sizeof(stat)) <= 0 ||
	    !pmc_task_stat(stat, &usage))
		now->unknown |= ACCOUNT_FAULTS;
	account_put_usage(now, &usage);
	if (!cpu_clock(target->pid, &now->of[ACCOUNT_CPU]))
		now->unknown |= ACCOUNT_BIT(ACCOUNT_CPU);
	now->of[ACCOUNT_OVERHEAD] = target->control.overhead_ns;
	now->of[ACCOUNT_WALL] = pmc_now_ns();
}

/* ---- accounts ---------------------------------------------------------------------------- */

static uint64_t address_of(const struct attach *target, const struct slot *slot)
{
	return (uintptr_t)target->registry.accounts +
	       reader_index(&target->reader, slot) * sizeof(*target->registry.accounts);
}

static void read_account(const struct attach *target, const struct slot *slot,
			 struct account *account, struct account_side *side)
{
	memset(account, 0, sizeof(*account));
	if (attach_read(target, address_of(target, slot), account, sizeof(*account)) != 0 ||
	    !account_read(account, slot->seq + 1, side))
		snapshot_account_open(&target->reader, slot, false, side);
}

static bool write_account(const struct attach *target, uint64_t address,
			  const struct account *account, const struct account_side *side)
{
	const uint32_t number = account->number + 1;

	return attach_write(target, address + offsetof(struct account, sides[number & 1]), side,
			    sizeof(*side)) == 0 &&
	       attach_write(target, address + offsetof(struct account, number), &number,
			    sizeof(number)) == 0;
}

static void change(enum attach_action action, struct account_side *side,
		   const struct account_words *now)
{
	if (action == ATTACH_START)
		account_start(side, now);
	else if (action == ATTACH_STOP)
		account_stop(side, now);
	else
		account_reset(side, now);
}

/* What the thread's sampling event has counted: time enabled, time running, value. Not changed if
 * that cannot be read. */
static void read_sampled(const struct attach *target, const struct slot *slot, uint64_t sampled[3])
{
	const struct sample_thread *thread =
		attach_sampling(target) ? snapshot_sample_thread(&target->reader, slot) : NULL;
	struct pmc_reading reading;
	uint64_t value;

	if (!thread)
		return;
	value = snapshot_sampled(&target->reader, thread, &reading);
	if (!reading.n)
		return;
	/* 1 ns remains, as of groups: the event has counted 0. */
	sampled[0] = reading.enabled_ns - (reading.enabled_ns > 0);
	sampled[1] = reading.running_ns - (reading.running_ns > 0);
	sampled[2] = value;
}

bool attach_sampling(const struct attach *target)
{
	const struct sample_tables *tables = snapshot_tables(&target->reader);

	return tables && tables->like.eventset;
}

bool attach_switch_thread(const struct attach *target, enum attach_action action,
			  const struct slot *slot, struct account_words *lost)
{
	struct account_words now, values;
	struct account_side side;
	struct account account;

	read_account(target, slot, &account, &side);
	if (!attach_thread_words(target, slot->tid, &now))
		return false;
	values = now;
	account_values(&side, &values);
	change(action, &side, &now);
	if (action == ATTACH_RESET)
		read_sampled(target, slot, side.sampled);
	/* If another thread has taken the slot, its account is that thread's. */
	if (!write_account(target, address_of(target, slot), &account, &side))
		return false;
	for (unsigned i = 0; i < ACCOUNT_WORDS; i++)
		lost->of[i] += values.of[i];
	lost->unknown |= values.unknown;
	return true;
}

void attach_switch_process(const struct attach *target, enum attach_action action,
			   const struct account_words *lost)
{
	const uint64_t at = target->address + offsetof(struct pmc_control, account);
	struct account_words now;
	struct account_side side;
	struct account account;

	if (attach_read(target, at, &account, sizeof(account)) != 0 ||
	    !account_read(&account, 1, &side))
		return;
	attach_process_words(target, &now);
	if (action != ATTACH_RESET) {
		change(action, &side, &now);
	} else {
		/* Rows of ended threads keep their values, so only values of live rows are
		 * subtracted from the process. */
		for (unsigned i = ACCOUNT_MINOR; i < ACCOUNT_WORDS; i++)
			side.base[i] += lost->of[i];
		side.base[ACCOUNT_CPU] += lost->of[ACCOUNT_CPU];
		side.unknown |= lost->unknown;
		side.base[ACCOUNT_WALL] =
			side.stopped ? side.at[ACCOUNT_WALL] : now.of[ACCOUNT_WALL];
		side.base[ACCOUNT_OVERHEAD] =
			side.stopped ? side.at[ACCOUNT_OVERHEAD] : now.of[ACCOUNT_OVERHEAD];
		side.reset_ns = now.of[ACCOUNT_WALL];
	}
	write_account(target, at, &account, &side);
}
