/* SPDX-License-Identifier: MIT */
/* write.c - frames: EVENTSET, MODULE, STACKS, and SAMPLES and TIMES of threads. */
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "tools/profile/private.h"
#include "tools/symbol/symbol.h"

#include <stdio.h>
#include <string.h>

#define ROOM_BYTES   PMC_FRAME_MAX_BYTES
#define STACKS_BYTES (256u << 10)

static void flush(struct prof_writing *w)
{
	struct pmc_out out = {
		.buf = (char *)w->buf.data, .len = w->buf.len, .cap = w->buf.cap, .fd = w->fd
	};

	w->any |= out.len != 0;
	if (out.len && !w->error)
		w->error = -pmc_out_flush(&out);
	w->buf.len = 0;
}

void prof_write_room(struct prof_writing *w, size_t bytes)
{
	if (w->buf.cap - w->buf.len < bytes)
		flush(w);
}

uint64_t prof_write_event(struct prof_writing *w, const struct pmc_event_def *def, const char *name,
			  const char *unit)
{
	prof_write_room(w, 4096);
	pmc_begin_eventset(&w->buf, 1, 1);
	pmc_put_event(&w->buf, def, name, unit, "");
	return pmc_frame_end(&w->buf);
}

void prof_write_wait_events(struct prof_writing *w)
{
	const struct pmc_event_def off = { .type = PMC_TYPE_OS,
					   .config = PMC_OS_OFF_CPU,
					   .scale = 1 };
	const struct pmc_event_def delay = { .type = PMC_TYPE_OS,
					     .config = PMC_OS_RUN_DELAY,
					     .scale = 1,
					     .flags = PMC_EVENT_ACCOUNTED };

	w->off_set = prof_write_event(w, &off, "off-cpu", "ns");
	w->delay_set = prof_write_event(w, &delay, "run-delay", "ns");
}

void prof_write_begin(struct prof_writing *w, struct prof *prof, int fd)
{
	struct pmc_arena *arena = &w->arena;

	*w = (struct prof_writing){ .prof = prof, .lost = prof->lost, .fd = fd };
	w->written =
		pmc_arena_alloc(arena, (HASH_COUNT(prof->unwind.stacks) + 1) * sizeof(*w->written));
	w->hashes = pmc_arena_alloc(arena, (prof->unwind.n_modules + 1) * sizeof(*w->hashes));
	pmc_frame_buf_init(&w->buf, pmc_arena_alloc(arena, 2 * ROOM_BYTES), 2 * ROOM_BYTES);
}

void prof_write_end(struct prof_writing *w)
{
	flush(w);
	pmc_arena_free(&w->arena);
}

/* ---- stacks ------------------------------------------------------------------------------- */

/* The modules of a stack get their places in the frame. */
static void list_modules(struct prof_writing *w, const struct unwind_stack *stack, uint64_t *hashes,
			 unsigned *n)
{
	for (unsigned i = 0; i < stack->depth; i++) {
		struct unwind_module *module = unwind_module_at(&w->prof->unwind, stack->words[i]);
		const uint8_t *id;
		unsigned id_bytes;

		if (!module || module->place)
			continue;
		if (!module->hash) {
			prof_write_room(w, PMC_MODULE_BYTES);
			id = symbols_id(module->file, &id_bytes);
			module->hash = pmc_build_module(&w->buf,
							id_bytes && module->path ?
								module->path :
								symbols_path(module->file),
							id, id_bytes);
		}
		hashes[(*n)++] = module->hash;
		module->place = *n;
	}
}

static void put_stack(struct prof_writing *w, const struct unwind_stack *stack)
{
	const struct pmc_stack_def def = { .id = stack->id,
					   .depth = stack->depth,
					   .flags = stack->flags };
	uint64_t words[PMC_STACK_DEPTH_MAX];

	for (unsigned i = 0; i < stack->depth; i++) {
		const struct unwind_module *module =
			unwind_module_at(&w->prof->unwind, stack->words[i]);
		const uint64_t place = module ? module->place - 1 : PMC_NO_MODULE;

		words[i] = place << 48 | PMC_STACK_ADDRESS(stack->words[i]);
	}
	pmc_put_stack(&w->buf, &def, words);
}

/* Up to n stacks of a process as one frame. */
static void put_stacks(struct prof_writing *w, const struct prof_place *place,
		       const struct unwind_stack **list, unsigned n)
{
	const struct pmc_stacks_fixed fixed = { .n_stacks = n };
	struct pmc_stacks_fixed *in_frame;
	unsigned n_modules = 0;

	for (unsigned i = 0; i < n; i++)
		list_modules(w, list[i], w->hashes, &n_modules);
	prof_write_room(w, ROOM_BYTES);
	in_frame = pmc_frame_begin(&w->buf, PMC_FRAME_STACKS, place->identity, place->snapshot,
				   &fixed, sizeof(fixed));
	if (in_frame)
		in_frame->n_modules = n_modules;
	pmc_frame_bytes(&w->buf, w->hashes, n_modules * sizeof(*w->hashes));
	for (unsigned i = 0; i < n; i++)
		put_stack(w, list[i]);
	pmc_frame_end(&w->buf);
	for (unsigned i = 0; i < w->prof->unwind.n_modules; i++)
		w->prof->unwind.list[i]->place = 0;
}

/* Those of a thread that its process does not have yet. */
static void put_thread_stacks(struct prof_writing *w, const struct prof_place *place,
			      const struct unwind_wait *waits)
{
	const struct unwind_stack *list[256];
	unsigned n = 0;
	size_t bytes = 0;

	for (const struct unwind_wait *wait = waits; wait; wait = wait->next) {
		const struct unwind_stack *stack = wait->key.of;

		if (!stack || w->written[stack->id - PMC_STACK_OUTSIDE] == place->identity)
			continue;
		w->written[stack->id - PMC_STACK_OUTSIDE] = place->identity;
		list[n++] = stack;
		bytes += 8 + 8u * stack->depth;
		if (n == 256 || bytes > STACKS_BYTES) {
			put_stacks(w, place, list, n);
			n = 0;
			bytes = 0;
		}
	}
	if (n)
		put_stacks(w, place, list, n);
}

/* ---- samples ------------------------------------------------------------------------------ */

/* The samples of a thread by one event, as they are written part by part. */
struct samples {
	struct pmc_samples_fixed fixed; /* of the next part */
	struct pmc_reading reading;
	uint64_t sum;
	struct pmc_waker waker; /* with PMC_SAMPLES_WAKER */
};

static const struct pmc_reading all_the_time = { .n = 1, .enabled_ns = 1, .running_ns = 1 };

/* Part 0 has the sums, the others their thread and event only. */
static void put_part(struct prof_writing *w, const struct prof_place *place,
		     struct samples *samples, const struct pmc_sample *list, uint32_t n)
{
	struct pmc_samples_fixed *fixed = &samples->fixed;

	fixed->seq = place->seq;
	fixed->time_ns = w->prof->stop_ns;
	fixed->n = n;
	fixed->n_groups = !fixed->part;
	prof_write_room(w, sizeof(*fixed) + n * sizeof(*list) + 256);
	pmc_frame_begin(&w->buf, PMC_FRAME_SAMPLES, place->identity, place->snapshot, fixed,
			sizeof(*fixed));
	if (!fixed->part)
		pmc_put_reading(&w->buf, &samples->reading, &samples->sum);
	if (n)
		pmc_frame_bytes(&w->buf, list, n * sizeof(*list));
	if (fixed->flags & PMC_SAMPLES_WAKER)
		pmc_frame_bytes(&w->buf, &samples->waker, sizeof(samples->waker));
	pmc_frame_end(&w->buf);
	*fixed = (struct pmc_samples_fixed){ .eventset = fixed->eventset,
					     .part = fixed->part + 1,
					     .flags = fixed->flags & PMC_SAMPLES_WAKER };
}

static struct pmc_sample entry_of(const struct unwind_wait *wait, uint64_t n, uint64_t ns)
{
	const struct unwind_stack *stack = wait->key.of;

	return (struct pmc_sample){ .stack = stack ? stack->id : 0,
				    .count = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX,
				    .weight = ns };
}

/* longest: of waits, the longest one, which gets an entry of its own; NULL: of samples. */
static void put_samples(struct prof_writing *w, const struct prof_place *place,
			struct samples *samples, const struct unwind_wait *waits,
			const struct prof_waits *longest)
{
	struct pmc_sample list[PMC_SAMPLES_PART];
	uint32_t n = 0;

	put_thread_stacks(w, place, waits);
	for (const struct unwind_wait *wait = waits; wait; wait = wait->next) {
		uint64_t left = wait->n, left_ns = wait->ns;

		if (longest && wait == longest->longest) {
			list[n++] = entry_of(wait, 1, longest->longest_ns);
			left--;
			left_ns -= longest->longest_ns;
		}
		if (left)
			list[n++] = entry_of(wait, left, left_ns);
		if (n < PMC_SAMPLES_PART - 1)
			continue;
		put_part(w, place, samples, list, n);
		n = 0;
	}
	if (n || !samples->fixed.part)
		put_part(w, place, samples, list, n);
}

/* by NULL: not known. */
static void set_waker(struct pmc_waker *waker, const struct prof_thread *by)
{
	*waker = (struct pmc_waker){ .name = "" };
	if (by && by->image) {
		memcpy(waker->identity, by->image->identity, sizeof(waker->identity));
		waker->seq = by->row.seq;
	}
	waker->pid = by ? by->pid : 0;
	waker->tid = by ? by->tid : 0;
	snprintf(waker->name, sizeof(waker->name), "%.15s",
		 by ? by->row.name : live_no_threads[BY_UNKNOWN]);
}

/* Completes the fixed part. */
static void put_waits(struct prof_writing *w, const struct prof_place *place,
		      struct pmc_samples_fixed *fixed, const struct prof_waits *waits,
		      unsigned flags)
{
	struct samples samples = { .reading = all_the_time };

	for (const struct prof_waits *of = waits; of; of = of->next) {
		fixed->samples += of->n;
		pmc_add_sat(&samples.sum, of->ns);
	}
	samples.fixed = *fixed;
	samples.fixed.flags = (uint16_t)flags;
	for (const struct prof_waits *of = waits; of; of = of->next) {
		set_waker(&samples.waker, of->key.waker);
		if (of->n || (!of->next && !samples.fixed.part))
			put_samples(w, place, &samples, of->list, of);
	}
}

static void put_times(struct prof_writing *w, const struct prof_place *place,
		      const struct pmc_samples_fixed *first, const struct prof_times *times)
{
	struct pmc_samples_fixed fixed = *first;

	fixed.seq = place->seq;
	fixed.time_ns = w->prof->stop_ns;
	for (size_t at = 0; at < times->n; at += fixed.n) {
		fixed.n = times->n - at < PMC_SAMPLES_PART ? (uint32_t)(times->n - at) :
							     PMC_SAMPLES_PART;
		prof_write_room(w, sizeof(fixed) + fixed.n * sizeof(*times->list) + 256);
		pmc_frame_begin(&w->buf, PMC_FRAME_TIMES, place->identity, place->snapshot, &fixed,
				sizeof(fixed));
		pmc_frame_bytes(&w->buf, times->list + at, fixed.n * sizeof(*times->list));
		pmc_frame_end(&w->buf);
		fixed.part++;
	}
}

/* Of an event that counts no time the value is known of all threads together. */
static void put_value(struct prof_writing *w, struct samples *samples)
{
	samples->fixed.flags |= PMC_SAMPLES_SHARED;
	samples->reading = w->prof->reading;
	samples->sum = w->has_value ? 0 : w->prof->value;
	w->has_value = true;
}

void prof_write_thread(struct prof_writing *w, const struct prof_place *place,
		       const struct prof_thread *thread)
{
	struct pmc_samples_fixed of_waits = {
		.eventset = w->off_set,
		.lost = thread->lost,
		.truncated = thread->incomplete,
		.estimated =
			thread->estimated < UINT32_MAX ? (uint32_t)thread->estimated : UINT32_MAX,
	};
	struct pmc_samples_fixed of_delays = { .eventset = w->delay_set };
	const struct pmc_samples_fixed on_cpu = {
		.eventset = w->on_set,
		.frequency = w->frequency,
		.samples = thread->n_samples,
		.lost = w->lost,
		.truncated = thread->truncated,
	};
	struct samples samples = {
		.fixed = on_cpu,
		.reading = all_the_time,
		.sum = thread->row.cpu_ns ? thread->row.cpu_ns : thread->weight,
	};
	const unsigned wakers = w->prof->waking.pid ? PMC_SAMPLES_WAKER : 0;

	if (w->off_set) {
		pmc_add_sat(&of_waits.lost, w->lost);
		of_delays.lost = of_waits.lost;
		put_waits(w, place, &of_waits, &thread->off, PMC_SAMPLES_LENGTHS | wakers);
		put_waits(w, place, &of_delays, &thread->delays, PMC_SAMPLES_LENGTHS);
		put_times(w, place, &of_waits, &thread->wait_times);
	}
	if (w->on_set) {
		if (!w->of_time)
			put_value(w, &samples);
		put_samples(w, place, &samples, thread->samples, NULL);
		put_times(w, place, &on_cpu, &thread->sample_times);
	}
	/* Whose they were is not known: the first thread has them, as samples and as waits. */
	w->lost = 0;
}
