/* SPDX-License-Identifier: MIT */
/*
 * frames.c - writes waits to the dump: an EVENTSET frame for `off-cpu`, MODULE and STACKS frames,
 * and SAMPLES of each thread that has a row.
 */
#include "lib/base/number.h"
#include "lib/dump/frame.h"
#include "tools/cli/pmctl.h"
#include "tools/offcpu/private.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOM_BYTES   PMC_FRAME_MAX_BYTES
#define STACKS_BYTES (256u << 10)

/* A row of the profile. */
struct row {
	struct off_numbers key;
	uint64_t start_ns, end_ns;
	const struct pmc_p_process *process;
	uint64_t seq;
	bool taken;
	struct row *next; /* of the same numbers */
	UT_hash_handle hh;
};

struct writing {
	struct off_cpu *off;
	struct pmc_arena arena;
	struct row *rows;
	struct pmc_frame_buf buf;
	uint64_t eventset, pid_namespace;
	uint64_t lost; /* records whose thread is unknown: part of the first row that is written */
	int fd, error;
	const struct pmc_p_process **written; /* of each stack, in which process last */
	bool any;
};

static void flush(struct writing *w)
{
	if (!w->error && w->buf.len && write(w->fd, w->buf.data, w->buf.len) != (ssize_t)w->buf.len)
		w->error = errno ? errno : ENOSPC;
	w->any |= w->buf.len != 0;
	w->buf.len = 0;
}

static void make_room(struct writing *w, size_t bytes)
{
	if (w->buf.cap - w->buf.len < bytes)
		flush(w);
}

static void put_event(struct writing *w)
{
	const struct pmc_event_def def = { .type = PMC_TYPE_OS,
					   .config = PMC_OS_OFF_CPU,
					   .scale = 1 };

	pmc_begin_eventset(&w->buf, 1, 1);
	pmc_put_event(&w->buf, &def, "off-cpu", "ns", "");
	w->eventset = pmc_frame_end(&w->buf);
}

/* ---- rows --------------------------------------------------------------------------------- */

static int add_row(struct writing *w, const struct pmc_profile *profile,
		   const struct pmc_p_row *packed, struct pmc_thread_buf *buf)
{
	struct pmc_arena *arena = &w->arena;
	const struct pmc_p_thread *thread = pmc_profile_thread(profile, packed, buf);
	struct row *row = pmc_arena_alloc(arena, sizeof(*row)), *first;

	if (!row)
		return -ENOMEM;
	if (thread->process->fixed.pid_namespace != w->pid_namespace && w->pid_namespace)
		row->key.pid_namespace = thread->process->fixed.pid_namespace;
	row->key.pid = thread->process->fixed.pid;
	row->key.tid = thread->fixed.tid;
	row->process = thread->process;
	row->seq = packed->seq;
	row->start_ns = thread->fixed.start_ns;
	row->end_ns = thread->fixed.end_ns ? thread->fixed.end_ns : UINT64_MAX;
	HASH_FIND(hh, w->rows, &row->key, sizeof(row->key), first);
	if (first) {
		row->next = first->next;
		first->next = row;
	} else {
		HASH_ADD(hh, w->rows, key, sizeof(row->key), row);
	}
	return arena->failed ? -ENOMEM : 0;
}

/* Numbers of threads and processes are used again, and an exec keeps them: the row that lived
 * longest while the thread did. */
static struct row *row_of(struct writing *w, const struct off_thread *thread)
{
	const uint64_t thread_end = thread->end_ns ? thread->end_ns : UINT64_MAX;
	struct row *row, *best = NULL;
	uint64_t most = 0;

	HASH_FIND(hh, w->rows, &thread->numbers, sizeof(thread->numbers), row);
	for (; row; row = row->next) {
		const uint64_t start =
			row->start_ns > thread->start_ns ? row->start_ns : thread->start_ns;
		const uint64_t end = row->end_ns < thread_end ? row->end_ns : thread_end;

		if (row->taken || start >= end || end - start <= most)
			continue;
		most = end - start;
		best = row;
	}
	return best;
}

/* ---- stacks ------------------------------------------------------------------------------- */

/* The modules of a stack get their places in the frame. */
static void list_modules(struct writing *w, const struct unwind_stack *stack, uint64_t *hashes,
			 unsigned *n)
{
	for (unsigned i = 0; i < stack->depth; i++) {
		struct unwind_module *module = unwind_module_at(&w->off->unwind, stack->words[i]);

		if (!module || module->place)
			continue;
		if (!module->hash) {
			make_room(w, PMC_MODULE_BYTES);
			module->hash = pmc_build_module(&w->buf, module->path, module->id,
							module->id_bytes);
		}
		hashes[(*n)++] = module->hash;
		module->place = *n;
	}
}

static void put_stack(struct writing *w, const struct unwind_stack *stack)
{
	const struct pmc_stack_def def = { .id = stack->id,
					   .depth = stack->depth,
					   .flags = stack->flags };
	uint64_t words[PMC_STACK_DEPTH_MAX];

	for (unsigned i = 0; i < stack->depth; i++) {
		const struct unwind_module *module =
			unwind_module_at(&w->off->unwind, stack->words[i]);
		const uint64_t place = module ? module->place - 1 : PMC_NO_MODULE;

		words[i] = place << 48 | PMC_STACK_ADDRESS(stack->words[i]);
	}
	pmc_put_stack(&w->buf, &def, words);
}

/* Up to n stacks of a process as one frame. */
static void put_stacks(struct writing *w, const struct pmc_p_process *process,
		       const struct unwind_stack **list, unsigned n)
{
	const struct pmc_stacks_fixed fixed = { .n_stacks = n };
	struct pmc_stacks_fixed *in_frame;
	uint64_t *hashes = calloc(w->off->unwind.n_modules + 1, sizeof(*hashes));
	unsigned n_modules = 0;

	if (!hashes) {
		w->error = ENOMEM;
		return;
	}
	for (unsigned i = 0; i < n; i++)
		list_modules(w, list[i], hashes, &n_modules);
	make_room(w, ROOM_BYTES);
	in_frame = pmc_frame_begin(&w->buf, PMC_FRAME_STACKS, process->identity, process->snapshot,
				   &fixed, sizeof(fixed));
	if (in_frame)
		in_frame->n_modules = n_modules;
	pmc_frame_bytes(&w->buf, hashes, n_modules * sizeof(*hashes));
	for (unsigned i = 0; i < n; i++)
		put_stack(w, list[i]);
	pmc_frame_end(&w->buf);
	for (unsigned i = 0; i < w->off->unwind.n_modules; i++)
		w->off->unwind.list[i]->place = 0;
	free(hashes);
}

/* Those of a thread that its process does not have yet. */
static void put_thread_stacks(struct writing *w, const struct pmc_p_process *process,
			      const struct off_thread *thread)
{
	const struct unwind_stack *list[256];
	unsigned n = 0;
	size_t bytes = 0;

	for (const struct unwind_wait *wait = thread->waits; wait; wait = wait->next) {
		const struct unwind_stack *stack = wait->key.stack;

		if (!stack || w->written[stack->id - PMC_STACK_OUTSIDE] == process)
			continue;
		w->written[stack->id - PMC_STACK_OUTSIDE] = process;
		list[n++] = stack;
		bytes += 8 + 8u * stack->depth;
		if (n == 256 || bytes > STACKS_BYTES) {
			put_stacks(w, process, list, n);
			n = 0;
			bytes = 0;
		}
	}
	if (n)
		put_stacks(w, process, list, n);
}

/* ---- samples ------------------------------------------------------------------------------ */

static void put_part(struct writing *w, const struct row *row, const struct off_thread *thread,
		     uint32_t part, const struct pmc_sample *list, uint32_t n)
{
	struct pmc_samples_fixed fixed = {
		.seq = row->seq,
		.time_ns = w->off->stop_ns,
		.eventset = w->eventset,
		.part = part,
		.n = n,
	};
	const struct pmc_reading reading = { .n = 1, .enabled_ns = 1, .running_ns = 1 };

	if (!part) {
		fixed.samples = thread->n_waits;
		fixed.lost = thread->lost;
		pmc_add_sat(&fixed.lost, w->lost);
		w->lost = 0;
		fixed.truncated = thread->incomplete;
		fixed.n_groups = 1;
	}
	make_room(w, sizeof(fixed) + n * sizeof(*list) + 256);
	pmc_frame_begin(&w->buf, PMC_FRAME_SAMPLES, row->process->identity, row->process->snapshot,
			&fixed, sizeof(fixed));
	if (!part)
		pmc_put_reading(&w->buf, &reading, &thread->wait_ns);
	if (n)
		pmc_frame_bytes(&w->buf, list, n * sizeof(*list));
	pmc_frame_end(&w->buf);
}

static void put_samples(struct writing *w, const struct row *row, const struct off_thread *thread)
{
	struct pmc_sample list[PMC_SAMPLES_PART];
	uint32_t part = 0, n = 0;

	for (const struct unwind_wait *wait = thread->waits; wait; wait = wait->next) {
		list[n++] = (struct pmc_sample){
			.stack = wait->key.stack ? wait->key.stack->id : 0,
			.count = wait->n < UINT32_MAX ? (uint32_t)wait->n : UINT32_MAX,
			.weight = wait->ns,
		};
		if (n < PMC_SAMPLES_PART)
			continue;
		put_part(w, row, thread, part++, list, n);
		n = 0;
	}
	if (n || !part)
		put_part(w, row, thread, part, list, n);
}

static void put_threads(struct writing *w)
{
	struct off_cpu *off = w->off;
	uint64_t without = 0, without_ns = 0, all_ns = 0, unknown = 0;

	w->written = calloc(HASH_COUNT(off->unwind.stacks) + 1, sizeof(*w->written));
	if (!w->written)
		w->error = ENOMEM;
	for (struct off_thread *thread = off->last; thread && !w->error; thread = thread->next) {
		struct row *row = row_of(w, thread);

		pmc_add_sat(&all_ns, thread->wait_ns);
		if (!row && thread->n_waits) {
			without++;
			unknown += !thread->numbers.tid;
			pmc_add_sat(&without_ns, thread->wait_ns);
		}
		if (!row)
			continue;
		row->taken = true;
		put_thread_stacks(w, row->process, thread);
		put_samples(w, row, thread);
	}
	free(w->written);
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
	struct writing w = {
		.off = off, .pid_namespace = off_namespace("self"), .lost = off->lost, .fd = fd
	};
	struct pmc_thread_buf *buf = malloc(sizeof(*buf));
	void *room = aligned_alloc(8, 2 * ROOM_BYTES);

	if (!buf || !room)
		w.error = ENOMEM;
	for (uint64_t i = 0; i < profile->n_threads && !w.error; i++)
		w.error = -add_row(&w, profile, profile->threads[i], buf);
	if (!w.error && fd >= 0) {
		pmc_frame_buf_init(&w.buf, room, 2 * ROOM_BYTES);
		put_event(&w);
		put_threads(&w);
		flush(&w);
	}
	if (w.error)
		tool_warn("cannot write where threads waited to %s: %s", path, strerror(w.error));
	if (off->lost)
		tool_warn("%llu records of switches were lost: waits are missing; add --unwind fp "
			  "for smaller records",
			  (unsigned long long)off->lost);
	if (fd >= 0)
		close(fd);
	pmc_arena_free(&w.arena);
	free(buf);
	free(room);
	return w.any;
}
