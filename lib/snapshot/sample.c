/* SPDX-License-Identifier: MIT */
/*
 * sample.c - samples of a thread as SAMPLES frames, and the tables of modules and stacks as MODULE
 * and STACKS frames; see snapshot.h. Async-signal-safe.
 *
 * Samples are only added to, unless there is a reset, so each part is what the thread had sampled
 * at some moment. Modules and stacks are appended after the samples and rows that refer to them, so
 * what is referred to is complete. What a thread is adding meanwhile is left for the next time.
 */
#include "lib/snapshot/snapshot.h"
#include "lib/base/number.h"

#include <string.h>

/* Only a pmctl ctl reset all the time could come during every copy. */
#define TRIES 20u

const struct sample_tables *snapshot_tables(const struct reader *reader)
{
	const struct sample_tables *tables;

	if (!reader->control->samples)
		return NULL;
	tables = reader_at(reader, COPY_TABLES, reader->control->samples, sizeof(*tables));
	if (!tables || !tables->area)
		return NULL;
	for (unsigned part = 0; part < AREA_PARTS; part++)
		if (tables->at[part] > tables->at[part + 1])
			return NULL;
	return tables;
}

const struct sample_thread *snapshot_sample_thread(const struct reader *reader,
						   const struct slot *slot)
{
	const struct sample_tables *tables = snapshot_tables(reader);
	const uint32_t index = reader_index(reader, slot);

	if (!tables || index >= sample_room(tables, AREA_THREADS, sizeof(struct sample_thread)))
		return NULL;
	return reader_at(reader, COPY_THREAD,
			 (uintptr_t)tables->area + tables->at[AREA_THREADS] +
				 index * sizeof(struct sample_thread),
			 sizeof(struct sample_thread));
}

uint64_t snapshot_sampled(const struct reader *reader, const struct sample_thread *thread,
			  struct pmc_reading *reading)
{
	uint64_t words[PMC_PERF_GROUP_WORDS(1)] = { 0 };
	const int fd = atomic_load(&thread->fd); /* plus 1 */

	const struct pmc_reading closed = { .n = 1,
					    .enabled_ns = atomic_load(&thread->enabled_ns),
					    .running_ns = atomic_load(&thread->running_ns) };
	const uint64_t value = atomic_load(&thread->value);

	*reading = closed;
	if (fd <= 0)
		return value;
	reader_group(reader, fd - 1, thread->id, 1, reading, words);
	if (!reading->n)
		return value;
	reading->enabled_ns += closed.enabled_ns;
	reading->running_ns += closed.running_ns;
	return value + pmc_sub_sat(words[0], thread->off);
}

static void put_reading(const struct reader *reader, struct pmc_frame_buf *buf,
			const struct sample_thread *thread, const uint64_t sampled[3])
{
	struct pmc_reading reading;
	uint64_t value = snapshot_sampled(reader, thread, &reading);

	reading.enabled_ns = set_less(reading.enabled_ns, sampled[0]);
	reading.running_ns = set_less(reading.running_ns, sampled[1]);
	value = set_less(value, sampled[2]);
	pmc_put_reading(buf, &reading, &value);
}

/* Not inlined: the account is not on the signal stack while groups are read. */
__attribute__((noinline)) uint64_t snapshot_reset(const struct reader *reader,
						  const struct slot *slot, uint64_t sampled[3])
{
	struct account_side side;

	snapshot_account(reader, slot, &side);
	memcpy(sampled, side.sampled, sizeof(side.sampled));
	return side.reset_ns;
}

/* A part of the samples up to pmc_frame_end, as of a reset. */
static enum snapshot_result put_part(const struct reader *reader, struct pmc_frame_buf *buf,
				     const struct slot *slot, uint32_t part, uint64_t reset_ns,
				     const uint64_t sampled[3])
{
	const struct sample_thread *thread = snapshot_sample_thread(reader, slot);
	const struct sample_tables *tables = snapshot_tables(reader);
	const uint32_t from = part * PMC_SAMPLES_PART;
	const struct sample_counts *counts = NULL;
	const struct pmc_sample *list = NULL;
	struct pmc_samples_fixed *fixed;
	uint32_t all = 0, had, left;
	uint64_t at;
	bool cleared;

	if (!tables || !tables->like.eventset)
		return SNAPSHOT_END;
	if (!thread)
		return SNAPSHOT_DAMAGED;
	if (!part && !atomic_load(&thread->fd) && !thread->enabled_ns)
		return SNAPSHOT_END;
	cleared = atomic_load_explicit(&thread->reset_ns, memory_order_acquire) != reset_ns;
	had = atomic_load(&thread->had);
	at = (uintptr_t)atomic_load_explicit(&thread->counts, memory_order_acquire);
	if (at) {
		counts = reader_at(reader, COPY_COUNTS, at, sizeof(*counts));
		if (!counts || counts->capacity > SAMPLE_COUNTS_MOST)
			return SNAPSHOT_DAMAGED;
		all = atomic_load_explicit(&counts->n, memory_order_acquire);
		if (all > counts->capacity)
			return SNAPSHOT_DAMAGED;
	}
	if (had > SAMPLE_COUNTS_MOST)
		return SNAPSHOT_DAMAGED;
	if (part && from >= all && from >= had)
		return SNAPSHOT_END;
	left = cleared || from > all ? 0 : all - from;
	left = left < PMC_SAMPLES_PART ? left : PMC_SAMPLES_PART;
	if (left)
		list = reader_at(reader, COPY_LIST,
				 at + offsetof(struct sample_counts, list) + from * sizeof(*list),
				 left * sizeof(*list));
	if (left && !list)
		return SNAPSHOT_DAMAGED;
	fixed = pmc_frame_begin(buf, PMC_FRAME_SAMPLES, reader->control->identity, reader->snapshot,
				&tables->like, sizeof(tables->like));
	if (!fixed)
		return SNAPSHOT_END;
	fixed->seq = slot->seq;
	fixed->time_ns = pmc_now_ns();
	fixed->part = part;
	fixed->n = left;
	fixed->n_groups = !part;
	if (!part && !cleared) {
		fixed->samples = atomic_load(&thread->samples);
		fixed->lost = atomic_load(&thread->lost);
		fixed->truncated = atomic_load(&thread->truncated);
		fixed->flags = atomic_load(&thread->flags);
	}
	if (!part)
		put_reading(reader, buf, thread, sampled);
	if (left)
		pmc_frame_bytes(buf, list, left * sizeof(*list));
	return SNAPSHOT_PUT;
}

/* Not inlined: programs without sampling do not pay for its stack frame on a signal stack. */
__attribute__((noinline)) enum snapshot_result snapshot_samples(const struct reader *reader,
								struct pmc_frame_buf *buf,
								const struct slot *slot,
								uint32_t part)
{
	uint64_t sampled[3], reset_ns = snapshot_reset(reader, slot, sampled), again;

	for (unsigned try = 0; try < TRIES; try++, reset_ns = again) {
		enum snapshot_result result = put_part(reader, buf, slot, part, reset_ns, sampled);

		if (result != SNAPSHOT_PUT)
			return result;
		atomic_thread_fence(memory_order_acquire);
		again = snapshot_reset(reader, slot, sampled);
		if (again == reset_ns) {
			pmc_frame_end(buf);
			return SNAPSHOT_PUT;
		}
		/* The thread may have removed them while they were copied. */
		pmc_frame_drop(buf);
	}
	return SNAPSHOT_CHANGING;
}

/* ---- modules and stacks ---------------------------------------------------------------------- */

/* Of the last IDs some may be of stacks that are still being written; of others they stay unused.
 */
#define YOUNG 64u
/* Stacks copied at once. */
#define STACKS_MOST 512u
/* Words copied at once, of stacks that lie beside each other. */
#define WORDS_MOST 2048u

/* The first of `used` items that a part has room for, if it is no larger than an agent's. */
static uint32_t fit(const struct sample_tables *tables, enum sample_part part, size_t item,
		    uint32_t used, size_t most_bytes)
{
	size_t n = sample_room(tables, part, item);

	n = n < most_bytes / item ? n : most_bytes / item;
	return n < used ? (uint32_t)n : used;
}

static const void *items(const struct reader *reader, const struct sample_tables *tables,
			 enum reader_copy kind, enum sample_part part, size_t item, uint32_t from,
			 uint32_t n)
{
	return reader_at(reader, kind, (uintptr_t)tables->area + tables->at[part] + from * item,
			 n * item);
}

static uint32_t count_modules(const struct sample_tables *tables)
{
	return fit(tables, AREA_MODULES, sizeof(struct sample_module),
		   atomic_load(&tables->modules), SAMPLE_MODULES * sizeof(struct sample_module));
}

static bool is_ready(const _Atomic uint32_t *ready)
{
	return atomic_load_explicit(ready, memory_order_acquire);
}

/* Whether these bytes are the module's frame, as an agent writes it. */
static bool is_frame_of(const struct sample_module *module, const uint8_t *bytes)
{
	struct pmc_scan scan = { .data = bytes, .len = module->text_bytes };
	struct pmc_cursor cursor;
	struct pmc_frame frame;
	const char *text;
	size_t len;

	if (module->text_bytes > PMC_MODULE_BYTES || !pmc_scan_next(&scan, &frame) ||
	    frame.head.type != PMC_FRAME_MODULE || frame.head.hash != module->hash ||
	    frame.head.size != module->text_bytes)
		return false;
	pmc_cursor_init(&cursor, &frame);
	return pmc_cursor_str(&cursor, &text, &len) && pmc_cursor_str(&cursor, &text, &len);
}

static enum snapshot_result put_module(const struct reader *reader, struct pmc_frame_buf *buf,
				       const struct sample_tables *tables,
				       struct snapshot_written *written)
{
	const uint32_t end =
		fit(tables, AREA_TEXT, 1, atomic_load(&tables->text), SAMPLE_TEXT_BYTES);
	const struct sample_module *module;
	const uint8_t *frame;

	if (written->modules >= count_modules(tables))
		return SNAPSHOT_END;
	module = items(reader, tables, COPY_MODULES, AREA_MODULES, sizeof(*module),
		       written->modules, 1);
	if (module && (!is_ready(&module->ready) || module->text > end ||
		       module->text_bytes > end - module->text))
		return SNAPSHOT_END;
	written->modules++;
	if (!module)
		return SNAPSHOT_DAMAGED;
	frame = items(reader, tables, COPY_LIST, AREA_TEXT, 1, module->text, module->text_bytes);
	if (!frame || !is_frame_of(module, frame) || buf->cap - buf->len < module->text_bytes)
		return SNAPSHOT_DAMAGED;
	memcpy(buf->data + buf->len, frame, module->text_bytes);
	buf->len += module->text_bytes;
	return SNAPSHOT_PUT;
}

struct words {
	const uint64_t *list; /* of the words first to end */
	uint32_t first, end;
};

/* The words of a stack, NULL: no agent writes those. */
static const uint64_t *words_of(const struct reader *reader, const struct sample_tables *tables,
				const struct sample_stack *stack, unsigned n_modules,
				struct words *near)
{
	const uint32_t room =
		fit(tables, AREA_WORDS, sizeof(uint64_t), UINT32_MAX, SAMPLE_WORDS_BYTES);
	const uint32_t first = stack->first, depth = stack->depth;
	const uint64_t *words;

	if (depth > PMC_STACK_DEPTH_MAX || depth > room || first > room - depth)
		return NULL;
	if (first < near->first || first + depth > near->end) {
		near->first = first;
		near->end = room - first < WORDS_MOST ? room : first + WORDS_MOST;
		near->list = items(reader, tables, COPY_WORDS, AREA_WORDS, sizeof(*words), first,
				   near->end - first);
	}
	if (!near->list)
		return NULL;
	words = near->list + (first - near->first);
	for (unsigned i = 0; i < depth; i++) {
		const unsigned module = PMC_STACK_MODULE(words[i]);

		if (module >= n_modules && module != PMC_NO_MODULE)
			return NULL;
	}
	return words;
}

/* The hashes of all modules, for the frame being built. */
static bool put_hashes(const struct reader *reader, struct pmc_frame_buf *buf,
		       const struct sample_tables *tables, uint32_t n)
{
	const struct sample_module *modules =
		items(reader, tables, COPY_MODULES, AREA_MODULES, sizeof(*modules), 0, n);
	uint64_t *hashes = pmc_frame_room(buf, n * sizeof(*hashes));

	if (!modules || !hashes)
		return false;
	for (uint32_t i = 0; i < n; i++)
		hashes[i] = is_ready(&modules[i].ready) ? modules[i].hash : 0;
	return true;
}

/* Stacks from the next on, as many as fit into the frame. */
static enum snapshot_result put_stacks(const struct reader *reader, struct pmc_frame_buf *buf,
				       const struct sample_tables *tables, uint32_t end,
				       struct snapshot_written *written)
{
	const size_t most = SAMPLE_FRAME_BYTES - sizeof(struct pmc_stack_def) -
			    PMC_STACK_DEPTH_MAX * sizeof(uint64_t);
	const struct pmc_stacks_fixed none = { .n_modules = count_modules(tables) };
	const uint32_t from = written->stacks, left = end - from;
	const uint32_t n = left < STACKS_MOST ? left : STACKS_MOST;
	const struct sample_stack *stacks =
		items(reader, tables, COPY_STACKS, AREA_STACKS, sizeof(*stacks), from, n);
	enum snapshot_result result = SNAPSHOT_PUT;
	struct words near = { .end = 0 };
	struct pmc_stacks_fixed *fixed;

	fixed = pmc_frame_begin(buf, PMC_FRAME_STACKS, reader->control->identity, reader->snapshot,
				&none, sizeof(none));
	if (!fixed || !stacks || !put_hashes(reader, buf, tables, none.n_modules)) {
		pmc_frame_drop(buf);
		written->stacks = end;
		return SNAPSHOT_DAMAGED;
	}
	for (uint32_t i = 0; i < n && buf->len - buf->start <= most; i++) {
		const uint32_t id = written->stacks++;
		const struct pmc_stack_def def = { .id = id,
						   .depth = stacks[i].depth,
						   .flags = stacks[i].flags };
		const uint64_t *words;

		if (!is_ready(&stacks[i].ready)) {
			if (!written->again && id + YOUNG >= end)
				written->again = id;
			continue;
		}
		words = words_of(reader, tables, &stacks[i], none.n_modules, &near);
		if (words) {
			pmc_put_stack(buf, &def, words);
			fixed->n_stacks++;
		} else {
			result = SNAPSHOT_DAMAGED;
		}
	}
	if (fixed->n_stacks)
		pmc_frame_end(buf);
	else
		pmc_frame_drop(buf);
	return result;
}

enum snapshot_result snapshot_stacks(const struct reader *reader, struct pmc_frame_buf *buf,
				     struct snapshot_written *written)
{
	const struct sample_tables *tables = snapshot_tables(reader);
	enum snapshot_result result;
	uint32_t end;

	if (!tables)
		return SNAPSHOT_END;
	result = put_module(reader, buf, tables, written);
	if (result != SNAPSHOT_END)
		return result;
	end = fit(tables, AREA_STACKS, sizeof(struct sample_stack), atomic_load(&tables->stacks),
		  SAMPLE_STACKS_BYTES);
	if (written->stacks < end) {
		/* After the number of stacks: all their modules are known by now. */
		tables = snapshot_tables(reader);
		return tables ? put_stacks(reader, buf, tables, end, written) : SNAPSHOT_END;
	}
	if (written->again)
		written->stacks = written->again;
	written->again = 0;
	return SNAPSHOT_END;
}
