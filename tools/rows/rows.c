/* SPDX-License-Identifier: MIT */
/*
 * rows.c - thread rows: packed as they arrive, the newest of each thread kept.
 *
 * A process's rows are a list that is sorted whenever it has doubled; superseded rows are reused.
 * Memory follows the number of threads, not of snapshots, without an index.
 */
#include "lib/base/sort.h"
#include "tools/rows/tables.h"

#include <string.h>

#define FIRST_SETTLE 16

enum {
	FIXED_WORDS = sizeof(struct pmc_thread_fixed) / sizeof(uint64_t),
	USAGE_WORD = offsetof(struct pmc_thread_fixed, minor_faults) / sizeof(uint64_t),
	USAGE_END = offsetof(struct pmc_thread_fixed, created_by) / sizeof(uint64_t),
	RESET_WORD = offsetof(struct pmc_thread_fixed, reset_ns) / sizeof(uint64_t),
	DELAY_WORD = offsetof(struct pmc_thread_fixed, delay_ns) / sizeof(uint64_t),
	READING_WORDS = sizeof(struct pmc_reading) / sizeof(uint64_t),
};
/* The shortest fixed part that has a delay. */
enum { DELAY_END = offsetof(struct pmc_thread_fixed, delay_ns) + sizeof(uint64_t) };

/* ---- packing -----------------------------------------------------------------------------
 * A word is its significant bytes; their number is a nibble in front of all words. A row of
 * six events takes 110 bytes instead of 200. Words are read and written whole, 8 bytes each. */

static size_t pack(const uint64_t *words, unsigned n, uint8_t *to)
{
	uint8_t *at = to + (n + 1) / 2;

	memset(to, 0, (n + 1) / 2);
	for (unsigned i = 0; i < n; i++) {
		unsigned len = words[i] ? 8 - (unsigned)__builtin_clzll(words[i]) / 8 : 0;

		to[i / 2] |= (uint8_t)(len << (i % 2 * 4));
		memcpy(at, &words[i], sizeof(words[i]));
		at += len;
	}
	return (size_t)(at - to);
}

static void unpack(const uint8_t *from, unsigned n, uint64_t *words)
{
	static const uint64_t mask[] = {
		0,	    0xff,	  0xffff,	  0xffffff,
		0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
		UINT64_MAX,
	};
	const uint8_t *at = from + (n + 1) / 2;

	for (unsigned i = 0; i < n; i++) {
		unsigned len = from[i / 2] >> (i % 2 * 4) & 15;

		memcpy(&words[i], at, sizeof(words[i]));
		words[i] &= mask[len];
		at += len;
	}
}

/* ---- order --------------------------------------------------------------------------------*/

struct by_seq {
	uint64_t seq; /* of the row: most comparisons need no more */
	struct pmc_p_row *row;
};

/* The newest last: of one snapshot number the later, then the larger hash. */
static int age_order(const struct pmc_p_row *a, const struct pmc_p_row *b)
{
	int order = profile_order_u64(a->snapshot, b->snapshot);

	if (!order)
		order = profile_order_u64(a->time_ns, b->time_ns);
	return order ? order : profile_order_u64(a->hash, b->hash);
}

static inline __attribute__((always_inline)) int row_order(const void *a, const void *b,
							   const void *arg)
{
	const struct by_seq *one = a, *other = b;

	(void)arg;
	if (one->seq != other->seq)
		return one->seq < other->seq ? -1 : 1;
	return age_order(one->row, other->row);
}

static void row_free(struct pmc_profile *profile, struct pmc_p_row *row)
{
	struct pmc_p_row **list = &profile->tables->free_rows[row->bytes / ROW_ALIGN];

	row->next = *list;
	*list = row;
}

static struct pmc_p_row *row_alloc(struct pmc_profile *profile, size_t bytes)
{
	struct pmc_p_row **list = &profile->tables->free_rows[bytes / ROW_ALIGN], *row = *list;

	if (row)
		*list = row->next;
	else
		row = pmc_arena_alloc(&profile->arena, bytes);
	return row;
}

/* The words as a row that has nothing beside them yet. */
static struct pmc_p_row *row_pack(struct pmc_profile *profile, const uint64_t *words, unsigned n)
{
	uint8_t packed[ROW_PACKED_MAX];
	const size_t len = pack(words, n, packed);
	/* unpack() reads 8 bytes of each word, also of a last one that has none. */
	size_t bytes = offsetof(struct pmc_p_row, packed) + len + sizeof(uint64_t);
	struct pmc_p_row *row;

	bytes = (bytes + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
	row = row_alloc(profile, bytes);
	row->bytes = (uint16_t)bytes;
	row->n_words = (uint16_t)n;
	memcpy(row->packed, packed, len);
	return row;
}

/* Gives a row without faults and switches those of the older row that it replaces, as lower bounds:
 * they only grow until a reset. */
static struct pmc_p_row *with_usage(struct pmc_profile *profile, struct pmc_p_row *row,
				    const struct pmc_p_row *older)
{
	uint64_t words[ROW_WORDS_MAX], old_words[ROW_WORDS_MAX];
	struct pmc_p_row *with;

	unpack(row->packed, row->n_words, words);
	unpack(older->packed, older->n_words, old_words);
	if (words[RESET_WORD] != old_words[RESET_WORD])
		return row;
	memcpy(words + USAGE_WORD, old_words + USAGE_WORD,
	       (USAGE_END - USAGE_WORD) * sizeof(*words));
	with = row_pack(profile, words, row->n_words);
	with->seq = row->seq;
	with->snapshot = row->snapshot;
	with->time_ns = row->time_ns;
	with->hash = row->hash;
	with->no_usage = true;
	row_free(profile, row);
	return with;
}

void profile_settle_rows(struct pmc_profile *profile, struct pmc_p_process *process)
{
	const bool timeline = profile->tables->options.timeline;
	const uint64_t n = process->n_rows;
	struct pmc_arena scratch = { 0 };
	struct pmc_p_row *row = process->rows, **end = &process->rows;
	struct by_seq *rows;

	if (!process->unsorted)
		return;
	rows = pmc_arena_alloc(&scratch, 2 * n * sizeof(*rows));
	for (uint64_t i = 0; i < n; i++, row = row->next)
		rows[i] = (struct by_seq){ row->seq, row };
	pmc_sort(rows, rows + n, n, sizeof(*rows), row_order, NULL);
	process->n_rows = 0;
	for (uint64_t i = 0; i < n; i++) {
		row = rows[i].row;
		/* A snapshot may have read a row after the thread wrote its last one. */
		if (i + 1 < n && row->seq == rows[i + 1].seq &&
		    (!timeline || row->hash == rows[i + 1].row->hash ||
		     row->time_ns > rows[i + 1].row->time_ns)) {
			if (rows[i + 1].row->no_usage && !timeline)
				rows[i + 1].row = with_usage(profile, rows[i + 1].row, row);
			row_free(profile, row); /* superseded */
			continue;
		}
		*end = process->last_row = row;
		end = &row->next;
		process->n_rows++;
	}
	*end = NULL;
	process->unsorted = false;
	pmc_arena_free(&scratch);
}

/* ---- adding -------------------------------------------------------------------------------*/

/* The fixed part and the readings as words. Returns their number, 0 if it is not a row. */
static unsigned row_words(const struct pmc_frame *frame, const struct pmc_thread_fixed *fixed,
			  uint64_t *words)
{
	struct pmc_thread_fixed packed = *fixed;
	struct pmc_cursor cursor;
	size_t len;

	pmc_cursor_init(&cursor, frame);
	if (!profile_skip_readings(&cursor, fixed->n_groups))
		return 0;
	len = (size_t)(cursor.at - frame->var);
	if (len > (ROW_WORDS_MAX - FIXED_WORDS) * sizeof(*words))
		return 0;
	/* Times lie near each other; what the row has beside its words is no word. */
	packed.start_ns ^= fixed->time_ns;
	packed.end_ns ^= fixed->time_ns;
	packed.seq = packed.time_ns = 0;
	memcpy(words, &packed, sizeof(packed));
	memcpy(words + FIXED_WORDS, frame->var, len);
	return FIXED_WORDS + (unsigned)(len / sizeof(*words));
}

bool profile_add_row(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	uint64_t words[ROW_WORDS_MAX];
	struct pmc_p_process *process;
	struct pmc_thread_fixed fixed;
	struct pmc_p_row *row;
	unsigned n_words;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (frame->head.fixed < DELAY_END)
		fixed.flags &= (uint8_t)~PMC_THREAD_DELAY;
	/* with_usage() puts values of an older row there. */
	if (fixed.flags & PMC_THREAD_NO_RUSAGE)
		fixed.minor_faults = fixed.major_faults = 0;
	if (pmc_lacks_switches(&fixed))
		fixed.voluntary_switches = fixed.involuntary_switches = 0;
	n_words = row_words(frame, &fixed, words);
	if (!n_words)
		return false;
	process = profile_process(profile, frame->head.identity);
	if (process->n_rows >= process->settle_at) {
		profile_settle_rows(profile, process);
		process->settle_at = process->n_rows * 2 + FIRST_SETTLE;
	}
	row = row_pack(profile, words, n_words);
	row->next = NULL;
	row->seq = fixed.seq;
	row->snapshot = frame->head.snapshot;
	row->time_ns = fixed.time_ns;
	row->hash = frame->head.hash;
	row->no_usage = pmc_lacks_switches(&fixed);
	if (!process->n_rows++) {
		process->rows = row;
	} else {
		process->unsorted |= process->last_row->seq >= row->seq;
		process->last_row->next = row;
	}
	process->last_row = row;
	return true;
}

/* A thread's CPU clock starts with its creation, its start_ns when the agent sees it: it started no
 * later than its CPU time says. Nor was counting on for less time, though the clock of a running
 * thread that pmctl ctl reads may be a tick old. */
static void date_start(struct pmc_thread_fixed *fixed)
{
	const uint64_t until = fixed->end_ns ? fixed->end_ns : fixed->time_ns;
	uint64_t on_ns = pmc_thread_on_ns(fixed, until), lack;

	if (fixed->flags & PMC_THREAD_NO_CPU || !fixed->start_ns || fixed->start_ns > until ||
	    fixed->cpu_ns >= until || on_ns >= fixed->cpu_ns)
		return;
	lack = fixed->cpu_ns - on_ns;
	if (lack <= fixed->off_ns)
		fixed->off_ns -= lack;
	else
		fixed->start_ns = until - fixed->cpu_ns - fixed->off_ns;
}

struct pmc_p_thread *profile_unpack(const struct pmc_profile *profile, const struct pmc_p_row *row,
				    struct pmc_thread_buf *buf)
{
	struct pmc_p_thread *thread = &buf->thread;
	struct pmc_thread_fixed *fixed = &thread->fixed;
	const struct pmc_p_eventset *set = NULL;
	uint64_t words[ROW_WORDS_MAX];
	struct pmc_cursor cursor = {
		.at = (const uint8_t *)(words + FIXED_WORDS),
		.left = (row->n_words - FIXED_WORDS) * sizeof(*words),
	};
	bool on;

	unpack(row->packed, row->n_words, words);
	memset(thread, 0, sizeof(*thread));
	thread->row = row;
	thread->process = row->process;
	memcpy(fixed, words, sizeof(*fixed));
	fixed->seq = row->seq;
	fixed->time_ns = row->time_ns;
	fixed->start_ns ^= row->time_ns;
	fixed->end_ns ^= row->time_ns;
	date_start(fixed);
	thread->least_usage =
		row->no_usage && (fixed->minor_faults || fixed->major_faults ||
				  fixed->voluntary_switches || fixed->involuntary_switches);
	if (fixed->eventset)
		set = profile_find_set(profile, fixed->eventset);
	on = fixed->off_ns && pmc_thread_on_ns(fixed, pmc_thread_until(thread));
	/* Counting was never on: 0 would be read as a value. An adopted thread has no start. */
	if (fixed->off_ns && fixed->start_ns && !on) {
		fixed->flags |= PMC_THREAD_NO_CPU | PMC_THREAD_NO_RUSAGE;
		fixed->reason = fixed->reason ? fixed->reason : PMC_REASON_NOT_STARTED;
	}
	if (!set)
		return thread;
	profile_take_counts(set, fixed->n_groups, &cursor, on, buf->counts);
	thread->set = &set->view;
	thread->counts = buf->counts;
	return thread;
}

/* Where the words of a row have the value of an event; 0: nowhere. */
static unsigned find_value(const struct pmc_profile *profile, const struct pmc_thread_fixed *fixed,
			   const uint64_t *words, unsigned n, unsigned event)
{
	const struct pmc_p_eventset *set = profile_find_set(profile, fixed->eventset);
	const struct set_part *part = set && event < set->n_parts ? &set->parts[event] : NULL;
	struct pmc_reading reading;
	unsigned at = FIXED_WORDS;

	for (unsigned g = 0; part && g < fixed->n_groups && at + READING_WORDS <= n; g++) {
		memcpy(&reading, words + at, sizeof(reading));
		at += READING_WORDS;
		if (g == part->group)
			return part->index < reading.n && part->index < n - at ? at + part->index :
										 0;
		at += reading.n;
	}
	return 0;
}

static uint64_t changed(uint64_t value, int64_t by)
{
	if (by < 0)
		return pmc_sub_sat(value, 0 - (uint64_t)by);
	pmc_add_sat(&value, (uint64_t)by);
	return value;
}

struct pmc_p_row *profile_add_delay(struct pmc_profile *profile, struct pmc_p_row *row, int event,
				    int64_t ns)
{
	uint64_t words[ROW_WORDS_MAX];
	struct pmc_thread_fixed fixed;
	struct pmc_p_row *with;
	unsigned at = 0;

	unpack(row->packed, row->n_words, words);
	memcpy(&fixed, words, sizeof(fixed));
	if (event >= 0)
		at = find_value(profile, &fixed, words, row->n_words, (unsigned)event);
	if (at)
		words[at] = changed(words[at], ns);
	if (fixed.flags & PMC_THREAD_DELAY)
		words[DELAY_WORD] = changed(words[DELAY_WORD], ns);
	with = row_pack(profile, words, row->n_words);
	with->process = row->process;
	with->seq = row->seq;
	with->snapshot = row->snapshot;
	with->time_ns = row->time_ns;
	with->hash = row->hash;
	with->no_usage = row->no_usage;
	row_free(profile, row);
	return with;
}

/* Samples by a clock are weighted by time in user mode. Of other events, the share of the samples
 * is taken as the share of CPU time. */
static void find_outside_mpi(const struct pmc_p_samples *samples, bool window,
			     struct pmc_p_thread *thread)
{
	const uint64_t weight = pmc_sub_sat(samples->weight, samples->mpi_weight);
	uint64_t unknown = samples->no_stack_samples;

	/* Of parts that are missing. */
	if (!window)
		pmc_add_sat(&unknown, pmc_sub_sat(samples->fixed.samples, samples->samples));
	if (thread->fixed.flags & PMC_THREAD_NO_CPU || unknown > samples->samples / 100)
		return;
	thread->has_outside_mpi = true;
	thread->outside_mpi_samples = pmc_sub_sat(samples->samples, samples->mpi_samples);
	thread->outside_mpi_ns = weight;
	if (strcmp(samples->event->unit, "ns") != 0)
		thread->outside_mpi_ns =
			samples->weight ? (uint64_t)((double)thread->fixed.cpu_ns *
						     ((double)weight / (double)samples->weight)) :
					  0;
}

static void add_samples(const struct pmc_profile *profile, struct pmc_p_thread *thread)
{
	const struct pmc_p_samples *most = NULL;
	uint64_t n;
	struct pmc_p_samples **of = pmc_profile_samples_of(profile, thread->row, &n);

	thread->delays = pmc_profile_delays_of(profile, thread->row);
	for (uint64_t i = 0; i < n; i++) {
		if (of[i]->event && pmc_is_off_cpu(of[i]->event) &&
		    of[i]->fixed.flags & PMC_SAMPLES_LENGTHS)
			thread->waits = of[i];
		if (!of[i]->event || pmc_is_off_cpu(of[i]->event))
			continue;
		thread->sampled = true;
		pmc_add_sat(&thread->samples, of[i]->samples);
		pmc_add_sat(&thread->lost_samples, of[i]->fixed.lost);
		if (!most || of[i]->samples > most->samples)
			most = of[i];
	}
	if (most && profile->has_mpi)
		find_outside_mpi(most, profile->tables->options.to_ns, thread);
}

const struct pmc_p_thread *pmc_profile_thread(const struct pmc_profile *profile,
					      const struct pmc_p_row *row,
					      struct pmc_thread_buf *buf)
{
	struct pmc_p_thread *thread = profile_unpack(profile, row, buf);
	const struct pmc_p_process *process = row->process;
	const struct pmc_p_site *site = NULL;
	const char *kept = NULL;

	if (thread->fixed.start_site)
		site = profile_find_site(profile, thread->fixed.start_site);
	thread->module = site ? site->module : "";
	thread->symbol = site ? site->symbol : "";
	if (site && !site->symbol[0])
		kept = profile_start_name(process, site);
	if (kept)
		thread->symbol = kept;
	thread->symbol_found = site && site->found && process->named && !thread->symbol[0];
	if (thread->symbol_found)
		thread->symbol = site->found;
	thread->offset = site ? site->offset : 0;
	if (thread->fixed.created_stack)
		thread->creation =
			pmc_profile_stack(profile, thread->process, thread->fixed.created_stack);
	if (profile->n_samples)
		add_samples(profile, thread);
	return thread;
}
