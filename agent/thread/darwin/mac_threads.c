/* SPDX-License-Identifier: MIT */
/*
 * mac_threads.c - the threads of a process on macOS. Async-signal-safe but for their creation.
 *
 * An entry belongs to its thread from begin to end. A snapshot reads it without a lock: the kernel
 * refuses to read a thread that has ended, and numbers are not used again.
 */
#include "agent/thread/thread.h"
#include "agent/thread/mac_threads.h"

#include <pthread.h>

/* Entries of a thread number that are searched, from (number % MAC_THREADS) on. */
#define SEARCH 64u

/* Numbers are never 0. */
#define FREE	 UINT64_C(0)
#define RESERVED UINT64_MAX

struct entry {
	_Atomic uint64_t seq, start_ns; /* seq 0: the main thread */
	_Atomic uint64_t created_by, start_site;
};

struct mac_job mac_job;
static _Atomic uint64_t numbers[MAC_THREADS];
static struct entry entries[MAC_THREADS];

static unsigned place(uint64_t tid, unsigned i)
{
	return (unsigned)((tid + i) % MAC_THREADS);
}

/* The first entry for a thread that has the number `from`, which becomes `to`. */
static struct entry *take(uint64_t tid, uint64_t from, uint64_t to, _Atomic uint64_t **number)
{
	for (unsigned i = 0; i < SEARCH; i++) {
		uint64_t was = from;

		*number = &numbers[place(tid, i)];
		if (atomic_compare_exchange_strong(*number, &was, to))
			return &entries[place(tid, i)];
	}
	return NULL;
}

static struct entry *find(uint64_t tid, _Atomic uint64_t **number)
{
	return take(tid, tid, tid, number);
}

bool mac_thread_begin(uint64_t tid, bool main)
{
	_Atomic uint64_t *number;
	struct entry *entry;

	if (find(tid, &number))
		return false;
	entry = take(tid, FREE, RESERVED, &number);
	if (!entry) {
		agent_note(NOTE_REGISTRY_FULL);
		return false;
	}
	atomic_store(&entry->seq, atomic_fetch_add(&agent.next_seq, 1));
	atomic_store(&entry->start_ns, main ? agent.start_ns : pmc_now_ns());
	atomic_store(&entry->created_by, PMC_NO_SEQ);
	atomic_store(&entry->start_site, 0);
	atomic_store(number, tid);
	atomic_fetch_add(&pmc_agent_control.seen, 1);
	if (agent.plan.groups && !mac_job.mac.counts)
		atomic_fetch_add(&pmc_agent_control.uncounted, 1);
	return true;
}

/* Appends the row of a thread; false: it has ended, or there is no room. */
static bool row(struct pmc_frame_buf *buf, const struct entry *entry, uint64_t tid, bool own,
		uint64_t snapshot, enum pmc_thread_state state)
{
	struct pmc_mac_reading counts;
	const uint64_t seq = atomic_load(&entry->seq);
	struct pmc_thread_fixed fixed = {
		.seq = seq,
		.tid = (uint32_t)tid,
		.state = (uint8_t)state,
		.flags = PMC_THREAD_NO_RUSAGE | (seq ? 0 : PMC_THREAD_MAIN),
		.n_groups = (uint16_t)agent.plan.groups,
		.start_ns = atomic_load(&entry->start_ns),
		.time_ns = pmc_now_ns(),
		.created_by = atomic_load(&entry->created_by),
		.start_site = atomic_load(&entry->start_site),
		.eventset = agent.plan.hash,
	};

	if (pmc_mac_read(&mac_job.mac, tid, own, &counts) != 0)
		return false;
	if (counts.kpc_error == PMC_REASON_NO_KPERF)
		agent_note(NOTE_MAC_STOPPED);
	fixed.end_ns = state == PMC_THREAD_LIVE ? 0 : fixed.time_ns;
	fixed.cpu_ns = counts.cpu_ns;
	fixed.flags |= counts.has_cpu ? 0 : PMC_THREAD_NO_CPU;
	fixed.reason = agent.plan.groups ? counts.counts_error : 0;
	memcpy(fixed.name, counts.name, sizeof(fixed.name));
	pmc_begin_thread(buf, agent.identity, snapshot, &fixed);
	pmc_mac_plan_put(&agent.plan, buf, &counts);
	return pmc_frame_end(buf) != 0;
}

void mac_thread_end(uint64_t tid, enum pmc_thread_state state)
{
	uint64_t room[(MAC_ROW_BYTES + 7) / 8], snapshot;
	_Atomic uint64_t *number;
	const struct entry *entry = find(tid, &number);
	struct pmc_frame_buf buf;

	if (!entry)
		return;
	/* A snapshot with a higher number than this one finds no such thread; one with a lower
	 * number may have a row of it, which is older. */
	atomic_exchange(number, RESERVED);
	snapshot = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;
	pmc_frame_buf_init(&buf, room, sizeof(room));
	if (row(&buf, entry, tid, true, snapshot, state))
		agent_file_append(buf.data, buf.len);
	atomic_store(number, FREE);
}

void mac_threads_rows(struct pmc_frame_buf *buf, uint64_t snapshot, uint64_t self,
		      enum pmc_thread_state state)
{
	for (unsigned i = 0; i < MAC_THREADS; i++) {
		uint64_t tid = atomic_load(&numbers[i]);
		size_t len;

		if (tid == FREE || tid == RESERVED)
			continue;
		agent_buf_room(buf, MAC_ROW_BYTES);
		len = buf->len;
		row(buf, &entries[i], tid, tid == self, snapshot, state);
		/* It has ended, and its entry may be another thread's. */
		if (atomic_load(&numbers[i]) != tid)
			buf->len = len;
	}
	agent_buf_room(buf, SIZE_MAX);
}

void mac_threads_forget(void)
{
	for (unsigned i = 0; i < MAC_THREADS; i++)
		atomic_store(&numbers[i], FREE);
	atomic_store(&pmc_agent_control.seen, 0);
	atomic_store(&pmc_agent_control.uncounted, 0);
	atomic_store(&agent.next_seq, 0);
}

void mac_totals_begin(void)
{
	struct pmc_mac_reading own;

	pmc_mac_read_process(&mac_job.mac, &mac_job.before);
	if (pmc_mac_read(&mac_job.mac, pmc_mac_system.self_tid(), true, &own) == 0)
		pmc_mac_subtract(&mac_job.before, &own);
}

void mac_totals_frame(struct pmc_frame_buf *buf, uint64_t snapshot)
{
	const struct pmc_plan *totals = &mac_job.totals;
	const struct pmc_total_fixed fixed = {
		.kind = PMC_TOTAL_THREADS,
		.n_groups = (uint16_t)totals->groups,
		.time_ns = pmc_now_ns(),
		.eventset = totals->hash,
	};
	struct pmc_mac_reading reading;

	if (!totals->groups)
		return;
	pmc_mac_read_process(&mac_job.mac, &reading);
	pmc_mac_subtract(&reading, &mac_job.before);
	pmc_frame_begin(buf, PMC_FRAME_TOTAL, agent.identity, snapshot, &fixed, sizeof(fixed));
	pmc_mac_plan_put(totals, buf, &reading);
	pmc_frame_end(buf);
	pmc_plan_frame(totals, buf);
}

/* ---- start routine and creator ----------------------------------------------------------------
 *
 * The introspection hook knows neither, so pthread_create is interposed: the new thread begins in
 * mac_start_run(), with an entry of a table as its argument.
 */

/* Threads that are created but do not run yet. */
enum { STARTS = 1024, START_SEARCH = 16 };

struct mac_start {
	_Atomic bool taken;
	void *(*routine)(void *);
	void *arg;
	uint64_t creator, site;
};

static struct mac_start starts[STARTS];

struct mac_start *mac_start_take(void *(*routine)(void *), void *arg)
{
	static _Atomic unsigned next;
	struct mac_start *start = NULL;
	_Atomic uint64_t *number;
	struct entry *entry;
	int saved = errno, was;

	for (unsigned i = 0; i < START_SEARCH && !start; i++) {
		struct mac_start *at = &starts[atomic_fetch_add(&next, 1) % STARTS];

		if (!atomic_exchange(&at->taken, true))
			start = at;
	}
	if (!start)
		return NULL;
	start->routine = routine;
	start->arg = arg;
	entry = find(pmc_mac_system.self_tid(), &number);
	start->creator = entry ? atomic_load(&entry->seq) : PMC_NO_SEQ;
	/* A thread that is cancelled in the write would keep the lock of the table of routines. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	start->site = agent_start_routine((const void *)(uintptr_t)routine);
	if (!start->site)
		start->site = agent_start_routine_add((const void *)(uintptr_t)routine);
	pthread_setcancelstate(was, NULL);
	errno = saved;
	return start;
}

void mac_start_drop(struct mac_start *start)
{
	atomic_store(&start->taken, false);
}

void *mac_start_run(void *argument)
{
	struct mac_start *start = argument;
	void *(*routine)(void *) = start->routine;
	void *arg = start->arg;
	_Atomic uint64_t *number;
	struct entry *entry = find(pmc_mac_system.self_tid(), &number);

	if (entry) {
		atomic_store(&entry->created_by, start->creator);
		atomic_store(&entry->start_site, start->site);
	}
	mac_start_drop(start);
	return routine(arg);
}
