/* SPDX-License-Identifier: MIT */
/* samples.c - MODULE, STACKS, SAMPLES and TIMES frames: the newest of a thread and event. */
#include "tools/rows/fold.h"
#include "tools/rows/tables.h"

#include <string.h>

/* ---- MPI libraries ------------------------------------------------------------------------*/

/* A library of Open MPI, MPICH or a derivative, or one by which these transfer data. */
static bool is_mpi_library(const char *path)
{
	static const char *const names[] = { "libmpi",	    "libpmpi", "libmpl.",  "libopen-pal",
					     "libopen-rte", "libpmix", "mca_",	   "libmca_",
					     "libucp.",	    "libuct",  "libucs.",  "libucm",
					     "libfabric.",  "libpsm",  "libhcoll." };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* ---- modules ------------------------------------------------------------------------------*/

static struct pmc_p_module *find_module(const struct pmc_profile *profile, uint64_t hash)
{
	struct pmc_p_module *module;

	HASH_FIND(hh, profile->tables->modules, &hash, sizeof(hash), module);
	return module;
}

bool profile_add_module(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_arena *arena = &profile->arena;
	struct pmc_p_module *module;
	struct pmc_cursor cursor;
	const char *build_id;

	if (find_module(profile, frame->head.hash))
		return true;
	module = pmc_arena_alloc(arena, sizeof(*module));
	module->hash = frame->head.hash;
	pmc_cursor_init(&cursor, frame);
	module->path = profile_text(arena, &cursor);
	module->is_mpi = is_mpi_library(module->path);
	if (!pmc_cursor_str(&cursor, &build_id, &module->build_id_len))
		return false;
	module->build_id = (void *)pmc_arena_strndup(arena, build_id, module->build_id_len);
	HASH_ADD(hh, profile->tables->modules, hash, sizeof(module->hash), module);
	return true;
}

static int module_order(const struct pmc_p_module *a, const struct pmc_p_module *b)
{
	size_t len = a->build_id_len < b->build_id_len ? a->build_id_len : b->build_id_len;
	int order = strcmp(a->path, b->path);

	if (!order)
		order = memcmp(a->build_id, b->build_id, len);
	if (!order)
		order = profile_order_u64(a->build_id_len, b->build_id_len);
	return order ? order : profile_order_u64(a->hash, b->hash);
}

void profile_list_modules(struct pmc_profile *profile)
{
	struct pmc_profile_tables *tables = profile->tables;

	profile->modules = pmc_arena_alloc(&profile->arena,
					   (HASH_COUNT(tables->modules) + 1) * sizeof(void *));
	HASH_SORT(tables->modules, module_order);
	for (struct pmc_p_module *module = tables->modules; module; module = module->hh.next)
		profile->modules[profile->n_modules++] = module;
}

/* ---- stacks -------------------------------------------------------------------------------*/

static uint64_t word_at(const uint8_t *words, size_t i)
{
	uint64_t word;

	memcpy(&word, words + i * sizeof(word), sizeof(word));
	return word;
}

/* The next stack of a frame: its words; NULL: it does not fit, or has an unlisted module. */
static const uint8_t *next_stack(struct pmc_cursor *cursor, uint32_t n_modules,
				 struct pmc_stack_def *def)
{
	const uint8_t *words;

	pmc_cursor_bytes(cursor, def, sizeof(*def));
	words = profile_words(cursor, def->depth);
	for (unsigned i = 0; words && i < def->depth; i++) {
		unsigned module = PMC_STACK_MODULE(word_at(words, i));

		if (module >= n_modules && module != PMC_NO_MODULE)
			return NULL;
	}
	return cursor->bad ? NULL : words;
}

bool profile_has_stacks(const struct pmc_frame *frame)
{
	struct pmc_stacks_fixed fixed;
	struct pmc_stack_def def;
	struct pmc_cursor cursor = profile_parts(frame, &fixed, sizeof(fixed));

	if (!profile_words(&cursor, fixed.n_modules))
		return false;
	for (uint32_t i = 0; i < fixed.n_stacks; i++)
		if (!next_stack(&cursor, fixed.n_modules, &def))
			return false;
	return true;
}

/* A stack's process and id, which lie side by side. */
#define STACK_KEY (offsetof(struct pmc_p_stack, id) + sizeof(uint32_t))

const struct pmc_p_stack *pmc_profile_stack(const struct pmc_profile *profile,
					    const struct pmc_p_process *process, uint32_t id)
{
	const struct pmc_p_stack key = { .process = process, .id = id };
	struct pmc_p_stack *found = NULL;

	if (id)
		HASH_FIND(hh, profile->tables->stacks, &key, STACK_KEY, found);
	return found;
}

const struct pmc_p_stack *pmc_profile_next_stack(const struct pmc_profile *profile,
						 const struct pmc_p_stack *stack)
{
	return stack ? stack->hh.next : profile->tables->stacks;
}

/* A wait ends in the kernel or the C library: the program's line is that of their caller. */
static void mark_innermost(struct pmc_p_stack *stack)
{
	for (unsigned i = 0; i < stack->depth && stack->frames[i].module; i++) {
		struct pmc_p_module *module = stack->frames[i].module;
		const char *name = pmc_base_name(module->path);
		const bool is_system = !strncmp(name, "[kernel", 7) || !strncmp(name, "libc.", 5) ||
				       !strncmp(name, "libpthread", 10);

		module->is_innermost |= !i || !is_system;
		if (!is_system)
			break;
	}
}

static void list_stack(struct pmc_profile *profile, const struct pmc_p_process *process,
		       const struct pmc_stack_def *def, const uint8_t *words, const uint8_t *hashes)
{
	struct pmc_arena *arena = &profile->arena;
	struct pmc_p_stack *stack =
		pmc_arena_alloc(arena, sizeof(*stack) + def->depth * sizeof(stack->frames[0]));

	stack->process = process;
	stack->id = def->id;
	stack->depth = def->depth;
	stack->flags = def->flags;
	for (unsigned i = 0; i < def->depth; i++) {
		const uint64_t word = word_at(words, i);

		if (PMC_STACK_MODULE(word) != PMC_NO_MODULE) {
			stack->frames[i].module =
				find_module(profile, word_at(hashes, PMC_STACK_MODULE(word)));
			stack->lacks_module |= !stack->frames[i].module;
		}
		stack->frames[i].address = PMC_STACK_ADDRESS(word);
		stack->in_mpi |= stack->frames[i].module && stack->frames[i].module->is_mpi;
	}
	profile->has_mpi |= stack->in_mpi;
	mark_innermost(stack);
	HASH_ADD(hh, profile->tables->stacks, process, STACK_KEY, stack);
}

void profile_list_stacks(struct pmc_profile *profile, const struct table_frame *kept)
{
	const struct pmc_p_process *process = kept->process;
	struct pmc_stacks_fixed fixed;
	struct pmc_stack_def def;
	struct pmc_cursor cursor = profile_parts(&kept->frame, &fixed, sizeof(fixed));
	const uint8_t *hashes, *words;

	hashes = profile_words(&cursor, fixed.n_modules);
	for (uint32_t i = 0; i < fixed.n_stacks; i++) {
		words = next_stack(&cursor, fixed.n_modules, &def);
		/* pmctl dump repeats stacks; of damage the first frame by hash is used. */
		if (def.id && !pmc_profile_stack(profile, process, def.id))
			list_stack(profile, process, &def, words, hashes);
	}
}

/* ---- samples ------------------------------------------------------------------------------*/

static bool has_waker(const struct pmc_frame *frame, const struct pmc_samples_fixed *fixed)
{
	return frame->head.type == PMC_FRAME_SAMPLES && fixed->flags & PMC_SAMPLES_WAKER;
}

/* After the fixed part and the readings; a waker follows them. NULL: they do not fit. */
static const uint8_t *samples_at(const struct pmc_frame *frame,
				 const struct pmc_samples_fixed *fixed)
{
	const size_t behind = has_waker(frame, fixed) ? sizeof(struct pmc_waker) : 0;
	const size_t bytes = frame->head.type == PMC_FRAME_TIMES ? sizeof(struct pmc_timed_sample) :
								   sizeof(struct pmc_sample);
	struct pmc_cursor cursor;
	const uint8_t *words;

	pmc_cursor_init(&cursor, frame);
	if (!profile_skip_readings(&cursor, fixed->n_groups))
		return NULL;
	words = profile_words(&cursor, bytes / sizeof(uint64_t) * fixed->n);
	return profile_words(&cursor, behind / sizeof(uint64_t)) ? words : NULL;
}

bool profile_has_samples(const struct pmc_frame *frame, const struct pmc_samples_fixed *fixed)
{
	return frame->head.fixed >= sizeof(*fixed) && samples_at(frame, fixed);
}

static struct pmc_p_samples *new_entry(struct pmc_profile *profile,
				       const struct pmc_p_process *process,
				       const struct pmc_samples_fixed *fixed)
{
	struct pmc_p_samples *entry = pmc_arena_alloc(&profile->arena, sizeof(*entry));

	entry->process = process;
	entry->row = profile_find_row(process, fixed->seq);
	entry->fixed = *fixed;
	return entry;
}

static bool is_entry_of(const struct pmc_p_samples *entry, const struct pmc_p_process *process,
			const struct pmc_samples_fixed *fixed)
{
	return entry->process == process && entry->fixed.seq == fixed->seq &&
	       entry->fixed.eventset == fixed->eventset;
}

/* The entry of the thread and event, which is the newest of the list if there is one. */
static struct pmc_p_samples *entry_of(struct pmc_profile *profile, struct pmc_p_samples **list,
				      uint64_t *n, const struct pmc_p_process *process,
				      const struct pmc_samples_fixed *fixed)
{
	struct pmc_p_samples *last = *n ? list[*n - 1] : NULL;

	if (last && is_entry_of(last, process, fixed))
		return last;
	last = new_entry(profile, process, fixed);
	list[(*n)++] = last;
	return last;
}

static struct pmc_p_samples *woken_of(struct pmc_profile *profile,
				      const struct pmc_p_samples *samples,
				      const struct pmc_waker *of)
{
	struct pmc_arena *arena = &profile->arena;
	const struct pmc_p_process *process;
	struct pmc_p_waker *waker;
	struct pmc_p_samples *entry, *last = NULL;

	if (profile->n_woken)
		last = profile->woken[profile->n_woken - 1];
	if (last && !is_entry_of(last, samples->process, &samples->fixed))
		last = NULL;
	if (last &&
	    (of && last->waker ? !memcmp(&last->waker->of, of, sizeof(*of)) : !of && !last->waker))
		return last;
	entry = new_entry(profile, samples->process, &samples->fixed);
	entry->event = samples->event;
	/* Known of the thread, not by waker. */
	if (last)
		entry->fixed.lost = entry->fixed.truncated = entry->fixed.estimated = 0;
	profile->woken[profile->n_woken++] = entry;
	if (!of)
		return entry;
	entry->waker = waker = pmc_arena_alloc(arena, sizeof(*waker));
	waker->of = *of;
	HASH_FIND(hh, profile->tables->processes, of->identity, sizeof(of->identity), process);
	if (process && process->index)
		waker->row = profile_find_row(process, of->seq);
	return entry;
}

enum { INTERVALS_MOST = 10000 };

/* The entry of one interval of the thread and event of `samples`, which is in no list. */
static struct pmc_p_samples *interval_of(struct pmc_profile *profile, struct pmc_p_samples *samples,
					 uint64_t number)
{
	struct pmc_profile_tables *tables = profile->tables;
	const struct {
		const struct pmc_p_samples *of;
		uint64_t number;
	} key = { samples, number };
	struct pmc_p_samples **entry =
		pmc_map_at(&tables->intervals, &profile->arena, &key, sizeof(key), sizeof(*entry));

	if (*entry)
		return *entry;
	*entry = new_entry(profile, samples->process, &samples->fixed);
	(*entry)->event = samples->event;
	(*entry)->time_ns = tables->options.from_ns + number * tables->options.every_ns;
	/* What was lost is known for all the time only. */
	samples->fixed.lost = samples->fixed.throttled = 0;
	profile->samples = pmc_arena_grow(&profile->arena, profile->samples, profile->n_samples,
					  &tables->samples_room, sizeof(*profile->samples));
	return profile->samples[profile->n_samples++] = *entry;
}

/* The thread and event that is divided into intervals. */
static struct pmc_p_samples *whole_of(struct pmc_profile *profile,
				      const struct pmc_p_process *process,
				      const struct pmc_samples_fixed *fixed)
{
	struct pmc_p_samples **whole = &profile->tables->whole;

	if (!*whole || !is_entry_of(*whole, process, fixed))
		*whole = new_entry(profile, process, fixed);
	return *whole;
}

static void take_event(struct pmc_profile *profile, struct pmc_p_samples *samples,
		       const struct table_frame *kept)
{
	const struct pmc_samples_fixed *fixed = &samples->fixed;
	const struct pmc_p_eventset *set = profile_find_set(profile, fixed->eventset);
	struct pmc_cursor cursor;
	struct pmc_count *counts;

	if (!set || set->view.count != 1)
		return;
	samples->event = &set->view.events[0];
	/* Of all the time, not of the samples in a window. */
	if (kept->key->type == PMC_FRAME_TIMES)
		return;
	counts = pmc_arena_alloc(&profile->arena, set->n_parts * sizeof(*counts));
	pmc_cursor_init(&cursor, &kept->frame);
	profile_take_counts(set, fixed->n_groups, &cursor, false, counts);
	samples->count = counts;
}

static void add_sample(struct pmc_profile *profile, struct pmc_p_samples *samples,
		       const struct pmc_sample *sample, uint64_t time_ns)
{
	const struct pmc_p_stack *stack =
		pmc_profile_stack(profile, samples->process, sample->stack);

	samples->list = pmc_arena_grow(&profile->arena, samples->list, samples->n, &samples->room,
				       sizeof(*samples->list));
	samples->list[samples->n++] = (struct pmc_p_sample){
		.stack = stack,
		.count = sample->count,
		.weight = sample->weight,
		.time_ns = time_ns,
	};
	pmc_add_sat(&samples->samples, sample->count);
	pmc_add_sat(&samples->weight, sample->weight);
	if (!stack || (!stack->in_mpi && stack->lacks_module))
		pmc_add_sat(&samples->no_stack_samples, sample->count);
	if (!stack || !stack->in_mpi)
		return;
	pmc_add_sat(&samples->mpi_samples, sample->count);
	pmc_add_sat(&samples->mpi_weight, sample->weight);
}

/* What is between two times, of a wait in parts; it has ended in the last of them. */
static void add_between(struct pmc_profile *profile, struct pmc_p_samples *samples,
			const struct pmc_sample *sample, uint64_t from, uint64_t to)
{
	const struct pmc_profile_options *options = &profile->tables->options;
	const uint64_t every = options->every_ns, first = (from - options->from_ns) / every;
	uint64_t last = (to - options->from_ns) / every;

	/* Nothing of a wait is in the interval that begins when it ends. */
	last -= last > first && (to - options->from_ns) % every == 0;
	if (last >= INTERVALS_MOST) {
		profile->too_many_intervals = true;
		return;
	}
	for (uint64_t i = first; i <= last; i++) {
		const uint64_t begin = options->from_ns + i * every, end = begin + every;
		const uint64_t a = from > begin ? from : begin, b = to < end ? to : end;
		struct pmc_sample part = *sample;

		part.count = i == last ? sample->count : 0;
		part.weight = first == last ? sample->weight : b - a;
		add_sample(profile, interval_of(profile, samples, i), &part, 0);
	}
}

/* Of a wait only what is in the window. */
static void add_timed(struct pmc_profile *profile, struct pmc_p_samples *samples,
		      const struct pmc_timed_sample *timed)
{
	const struct pmc_profile_options *options = &profile->tables->options;
	const uint64_t since_ns = samples->process->job_start_ns;
	const uint64_t to = pmc_sub_sat(timed->time_ns, since_ns);
	struct pmc_sample sample = { timed->stack, timed->count, timed->weight };
	const struct pmc_p_stack *stack;
	uint64_t start = to;

	if (samples->event && pmc_is_off_cpu(samples->event))
		start = pmc_sub_sat(to, sample.weight);
	if (options->to_ns && (start >= options->to_ns || to < options->from_ns))
		return;
	if (start < options->from_ns)
		sample.weight = pmc_sub_sat(sample.weight, options->from_ns - start);
	if (options->to_ns && start < to && to > options->to_ns)
		sample.weight = pmc_sub_sat(sample.weight, to - options->to_ns);
	if (options->every_ns) {
		add_between(profile, samples, &sample,
			    start > options->from_ns ? start : options->from_ns,
			    to < options->to_ns ? to : options->to_ns);
		return;
	}
	add_sample(profile, samples, &sample, timed->time_ns);
	stack = samples->list[samples->n - 1].stack;
	if (stack && stack->flags & (PMC_STACK_TRUNCATED | PMC_STACK_BROKEN))
		samples->fixed.truncated += sample.count;
}

/* Waits for a CPU: their lengths are those of a thread, without stacks. */
static bool is_of_delays(const struct pmc_profile *profile, const struct pmc_samples_fixed *fixed)
{
	const struct pmc_p_eventset *set = profile_find_set(profile, fixed->eventset);
	const struct pmc_p_event *event = set && set->view.count == 1 ? set->view.events : NULL;

	return event && event->def.type == PMC_TYPE_OS && event->def.config == PMC_OS_RUN_DELAY;
}

void profile_list_samples(struct pmc_profile *profile, const struct table_frame *kept)
{
	const bool timed = kept->key->type == PMC_FRAME_TIMES;
	const bool window = profile->tables->options.to_ns;
	struct pmc_samples_fixed fixed;
	struct pmc_p_samples *samples;
	struct pmc_p_samples *woken = NULL;
	struct pmc_waker waker;
	const uint8_t *words;
	bool delays;

	pmc_frame_fixed(&kept->frame, &fixed, sizeof(fixed));
	delays = !timed && is_of_delays(profile, &fixed);
	if (window && !delays && fixed.part == 0 && fixed.samples)
		timed ? profile->n_timed++ : profile->n_untimed++;
	if (window && !timed)
		return;
	samples = profile->tables->options.every_ns ? whole_of(profile, kept->process, &fixed) :
		  timed && !window ? entry_of(profile, profile->timed, &profile->n_timed_lists,
					      kept->process, &fixed) :
		  delays ? entry_of(profile, profile->delays, &profile->n_delays, kept->process,
				    &fixed) :
			   entry_of(profile, profile->samples, &profile->n_samples, kept->process,
				    &fixed);
	words = samples_at(&kept->frame, &fixed);
	/* Part 0 comes first. */
	if (fixed.part == 0)
		take_event(profile, samples, kept);
	if (fixed.part == 0 && timed)
		samples->fixed.truncated = 0;
	if (has_waker(&kept->frame, &fixed)) {
		memcpy(&waker, words + fixed.n * sizeof(struct pmc_sample), sizeof(waker));
		profile->has_wakers = true;
	}
	if (profile->tables->options.wakers && !timed && samples->event &&
	    pmc_is_off_cpu(samples->event))
		woken = woken_of(profile, samples, has_waker(&kept->frame, &fixed) ? &waker : NULL);
	for (uint32_t i = 0; i < fixed.n; i++) {
		struct pmc_timed_sample at;
		struct pmc_sample sample;

		if (timed) {
			memcpy(&at, words + i * sizeof(at), sizeof(at));
			add_timed(profile, samples, &at);
		} else {
			memcpy(&sample, words + i * sizeof(sample), sizeof(sample));
			add_sample(profile, samples, &sample, 0);
			if (woken)
				add_sample(profile, woken, &sample, 0);
		}
	}
}

static struct pmc_p_samples **find_samples(struct pmc_p_samples **list, uint64_t n_list,
					   const struct pmc_p_row *row, uint64_t *n)
{
	const uint64_t index = row->process->index;
	uint64_t low = 0, high = n_list, end;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		const struct pmc_p_samples *at = list[middle];
		const uint64_t its = at->process->index;

		if (its < index || (its == index && at->fixed.seq < row->seq))
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < n_list; end++) {
		const struct pmc_p_samples *at = list[end];

		if (at->process != row->process || at->fixed.seq != row->seq)
			break;
	}
	*n = end - low;
	return *n ? list + low : NULL;
}

struct pmc_p_samples **pmc_profile_samples_of(const struct pmc_profile *profile,
					      const struct pmc_p_row *row, uint64_t *n)
{
	return find_samples(profile->samples, profile->n_samples, row, n);
}

struct pmc_p_samples **pmc_profile_woken_of(const struct pmc_profile *profile,
					    const struct pmc_p_row *row, uint64_t *n)
{
	return find_samples(profile->woken, profile->n_woken, row, n);
}

const struct pmc_p_samples *pmc_profile_delays_of(const struct pmc_profile *profile,
						  const struct pmc_p_row *row)
{
	uint64_t n;
	struct pmc_p_samples **of = find_samples(profile->delays, profile->n_delays, row, &n);

	return of && of[0]->fixed.flags & PMC_SAMPLES_LENGTHS ? of[0] : NULL;
}
