/* SPDX-License-Identifier: MIT */
/*
 * off_cpu.c - waits of a command under the agent: events on it that write a record at each switch,
 * the thread that reads them, and the rows of the agent's dump that they belong to.
 *
 * The event is the kernel's count of context switches, which an unprivileged user may sample where
 * perf_event_paranoid is 1 or less, and which needs no tracefs. An inherited event has a ring only
 * if it is bound to a CPU, so there is one for each CPU.
 */
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/profile/private.h"
#include "tools/rings/rings.h"
#include "tools/rows/profile.h"

#include <errno.h>
#include <pmc/sampler.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE_MS 20 /* threads of other PID namespaces are read in /proc before their end */

struct off_cpu {
	struct prof prof;
	struct rings rings;
	pthread_t reader;
	bool reads; /* the reader was started */
	_Atomic bool stop;
};

/* ---- the recording -------------------------------------------------------------------------- */

static int open_on(void *arg, struct ring *ring, pid_t tid, struct pmc_failure *why)
{
	struct off_cpu *off = arg;

	return prof_throttle_open(&off->prof, &off->rings, ring, tid, why);
}

static void *read_rings(void *arg)
{
	struct off_cpu *off = arg;
	struct pmc_record record;
	unsigned n = 0;
	int error;

	do {
		error = pmc_sampler_set_next_wait(off->rings.set, &record, NULL,
						  off->rings.slice_ms ? off->rings.slice_ms :
									SLICE_MS);
		if ((error || ++n % 256 == 0) && !atomic_load(&off->stop))
			prof_throttle_check(&off->prof, &off->rings);
		/* Children that were forked while the events were switched off may go on. */
		if (!error && atomic_load(&off->stop) && record.time > off->prof.stop_ns)
			break;
		if (!error)
			prof_take(&off->prof, &record);
		else if (error == -ENODATA)
			break;
	} while (!error || !atomic_load(&off->stop));
	return NULL;
}

bool off_cpu_kernel;

int off_cpu_start(struct off_cpu **to, pid_t pid, bool frame_pointers)
{
	static const struct rings_use use = { .verb = "record where threads wait (--off-cpu) by",
					      .open = open_on };
	static char *no_command[] = { NULL };
	struct off_cpu *off = tool_realloc(NULL, sizeof(*off));
	int error;

	*to = off;
	memset(off, 0, sizeof(*off));
	unwind_init(&off->prof.unwind, frame_pointers);
	if (off_cpu_kernel && profile_has_kernel())
		unwind_add_kernel(&off->prof.unwind);
	off->rings = (struct rings){ .use = &use,
				     .owner = off,
				     .command = no_command,
				     .child = { .pid = pid, .socket = -1 },
				     .pages = unwind_pages(&off->prof.unwind) };
	error = rings_open(&off->rings, false);
	off->rings.child.pid = 0; /* the caller waits for it */
	if (error)
		return error;
	/* The caller has blocked the signals that it waits for. */
	error = pthread_create(&off->reader, NULL, read_rings, off);
	if (error)
		return tool_fail(EXIT_OURS, "cannot start a thread: %s", strerror(error));
	off->reads = true;
	return 0;
}

/* The kernel reports losses with the next record that fits, and none may have come. */
static void add_unreported(struct off_cpu *off)
{
	uint64_t lost;

	if (pmc_sampler_set_lost(off->rings.set, &lost) || lost <= off->prof.lost)
		return;
	off->prof.lost = lost;
	off->prof.lost_ns = off->prof.stop_ns;
}

void off_cpu_stop(struct off_cpu *off)
{
	if (!off || !off->reads)
		return;
	pmc_sampler_set_disable(off->rings.set);
	off->prof.stop_ns = pmc_now_ns();
	atomic_store(&off->stop, true);
	pthread_join(off->reader, NULL);
	off->reads = false;
	add_unreported(off);
	prof_settle(&off->prof);
}

void off_cpu_free(struct off_cpu *off)
{
	if (!off)
		return;
	off_cpu_stop(off);
	rings_close(&off->rings);
	prof_free(&off->prof);
	free(off);
}

/* ---- rows of the agent's dump -------------------------------------------------------------- */

struct row {
	struct prof_numbers key;
	uint64_t start_ns, end_ns;
	const struct pmc_p_process *process;
	uint64_t seq;
	bool taken;
	struct row *next; /* of the same numbers */
	UT_hash_handle hh;
};

struct finder {
	struct pmc_arena arena;
	struct row *rows;
	uint64_t pid_namespace;
};

static void add_row(struct finder *f, const struct pmc_profile *profile,
		    const struct pmc_p_row *packed, struct pmc_thread_buf *buf)
{
	struct pmc_arena *arena = &f->arena;
	const struct pmc_p_thread *thread = pmc_profile_thread(profile, packed, buf);
	struct row *row = pmc_arena_alloc(arena, sizeof(*row)), *first;

	if (thread->process->fixed.pid_namespace != f->pid_namespace && f->pid_namespace)
		row->key.pid_namespace = thread->process->fixed.pid_namespace;
	row->key.pid = thread->process->fixed.pid;
	row->key.tid = thread->fixed.tid;
	row->process = thread->process;
	row->seq = packed->seq;
	row->start_ns = thread->fixed.start_ns;
	row->end_ns = thread->fixed.end_ns ? thread->fixed.end_ns : UINT64_MAX;
	HASH_FIND(hh, f->rows, &row->key, sizeof(row->key), first);
	if (first) {
		row->next = first->next;
		first->next = row;
	} else {
		HASH_ADD(hh, f->rows, key, sizeof(row->key), row);
	}
}

/* Numbers of threads and processes are used again, and an exec keeps them: the row that lived
 * longest while the thread did. */
static struct row *row_of(struct finder *f, const struct prof_thread *thread)
{
	const uint64_t thread_end = thread->row.end_ns ? thread->row.end_ns : UINT64_MAX;
	struct row *row, *best = NULL;
	uint64_t most = 0;

	HASH_FIND(hh, f->rows, &thread->numbers, sizeof(thread->numbers), row);
	for (; row; row = row->next) {
		const uint64_t start =
			row->start_ns > thread->row.start_ns ? row->start_ns : thread->row.start_ns;
		const uint64_t end = row->end_ns < thread_end ? row->end_ns : thread_end;

		if (row->taken || start >= end || end - start <= most)
			continue;
		most = end - start;
		best = row;
	}
	return best;
}

static void put_threads(struct prof_writing *w, struct finder *f)
{
	uint64_t without = 0, without_ns = 0, all_ns = 0, unknown = 0;

	for (struct prof_thread *thread = w->prof->last; thread && !w->error;
	     thread = thread->next) {
		struct row *row = row_of(f, thread);

		pmc_add_sat(&all_ns, thread->off.ns);
		if (!row && thread->off.n) {
			without++;
			unknown += !thread->numbers.tid;
			pmc_add_sat(&without_ns, thread->off.ns);
		}
		if (!row)
			continue;
		row->taken = true;
		prof_write_thread(w,
				  &(struct prof_place){ row->process->identity,
							row->process->snapshot, row->seq },
				  thread);
	}
	/* A child by vfork has no row until its exec. */
	if (without_ns > all_ns / 100)
		tool_warn(
			"waits of threads without a row are in no report: %.3f s, threads: %llu%s",
			(double)without_ns / 1e9, (unsigned long long)without,
			unknown ? "; some ended before their numbers in another PID namespace "
				  "were read" :
				  "");
}

bool off_cpu_write(struct off_cpu *off, const struct pmc_profile *profile, const char *path, int fd)
{
	struct finder f = { .pid_namespace = prof_namespace_of("self") };
	struct pmc_thread_buf *buf = pmc_arena_alloc(&f.arena, sizeof(*buf));
	struct prof_writing w;

	prof_write_begin(&w, &off->prof, fd);
	for (uint64_t i = 0; i < profile->n_threads; i++)
		add_row(&f, profile, profile->threads[i], buf);
	if (fd >= 0) {
		prof_write_wait_events(&w);
		put_threads(&w, &f);
	}
	prof_write_end(&w);
	if (w.error)
		tool_warn("cannot write where threads waited to %s: %s", path, strerror(w.error));
	if (off->prof.lost)
		tool_warn("%llu records of switches were lost: waits are missing; pmctl run "
			  "--off-cpu "
			  "--unwind fp makes them smaller",
			  (unsigned long long)off->prof.lost);
	if (fd >= 0)
		close(fd);
	pmc_arena_free(&f.arena);
	return w.any;
}
