/* SPDX-License-Identifier: MIT */
/* samples.c - MODULE, STACKS and SAMPLES frames: the newest samples of a thread and event. */
#include "lib/base/number.h"
#include "tools/rows/tables.h"

#include <errno.h>
#include <string.h>

/* ---- modules ------------------------------------------------------------------------------*/

static struct pmc_p_module *find_module(const struct pmc_profile *profile, uint64_t hash)
{
	struct table_module *module;

	HASH_FIND(hh, profile->tables->modules, &hash, sizeof(hash), module);
	return module ? &module->pub : NULL;
}

int profile_add_module(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_arena *arena = &profile->arena;
	const uint64_t hash = frame->head.hash;
	const char *path, *build_id;
	struct table_module *module;
	struct pmc_cursor cursor;
	size_t path_len, id_len;

	if (find_module(profile, hash))
		return 0;
	pmc_cursor_init(&cursor, frame);
	if (!pmc_cursor_str(&cursor, &path, &path_len) ||
	    !pmc_cursor_str(&cursor, &build_id, &id_len))
		return -EBADMSG;
	module = pmc_arena_alloc(arena, sizeof(*module));
	if (!module)
		return -ENOMEM;
	module->pub.hash = hash;
	module->pub.path = pmc_arena_strndup(arena, path, path_len);
	module->pub.build_id = (const void *)pmc_arena_strndup(arena, build_id, id_len);
	module->pub.build_id_len = id_len;
	HASH_ADD(hh, profile->tables->modules, pub.hash, sizeof(hash), module);
	return arena->failed ? -ENOMEM : 0;
}

static int module_order(const struct table_module *a, const struct table_module *b)
{
	const struct pmc_p_module *x = &a->pub, *y = &b->pub;
	size_t len = x->build_id_len < y->build_id_len ? x->build_id_len : y->build_id_len;
	int order = strcmp(x->path, y->path);

	if (!order)
		order = memcmp(x->build_id, y->build_id, len);
	if (!order)
		order = profile_order_u64(x->build_id_len, y->build_id_len);
	return order ? order : profile_order_u64(x->hash, y->hash);
}

int profile_list_modules(struct pmc_profile *profile)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct table_module *module;

	profile->modules = pmc_arena_alloc(&profile->arena,
					   (HASH_COUNT(tables->modules) + 1) * sizeof(void *));
	if (!profile->modules)
		return -ENOMEM;
	HASH_SORT(tables->modules, module_order);
	for (module = tables->modules; module; module = module->hh.next)
		profile->modules[profile->n_modules++] = &module->pub;
	return 0;
}

/* ---- stacks -------------------------------------------------------------------------------*/

/* n words of the frame, which need not be aligned; NULL: they do not fit. */
static const uint8_t *take_words(struct pmc_cursor *cursor, size_t n)
{
	const uint8_t *at = cursor->at;

	if (n > cursor->left / sizeof(uint64_t)) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += n * sizeof(uint64_t);
	cursor->left -= n * sizeof(uint64_t);
	return at;
}

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
	words = take_words(cursor, def->depth);
	for (unsigned i = 0; words && i < def->depth; i++) {
		unsigned module = PMC_STACK_MODULE(word_at(words, i));

		if (module >= n_modules && module != PMC_NO_MODULE)
			return NULL;
	}
	return cursor->bad ? NULL : words;
}

int profile_add_stacks(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_stacks_fixed fixed;
	struct pmc_stack_def def;
	struct pmc_cursor cursor;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	pmc_cursor_init(&cursor, frame);
	if (!take_words(&cursor, fixed.n_modules))
		return -EBADMSG;
	for (uint32_t i = 0; i < fixed.n_stacks; i++)
		if (!next_stack(&cursor, fixed.n_modules, &def))
			return -EBADMSG;
	return profile_keep(profile, frame, 0, frame->head.hash, "", 0);
}

static struct table_stack *find_stack(const struct pmc_profile *profile,
				      const struct pmc_p_process *process, uint32_t id)
{
	const struct stack_key key = { .process = process, .id = id };
	struct table_stack *found;

	HASH_FIND(hh, profile->tables->stacks, &key, sizeof(key), found);
	return found;
}

const struct pmc_p_stack *pmc_profile_stack(const struct pmc_profile *profile,
					    const struct pmc_p_process *process, uint32_t id)
{
	const struct table_stack *found = id ? find_stack(profile, process, id) : NULL;

	return found ? found->stack : NULL;
}

int pmc_profile_each_stack(const struct pmc_profile *profile,
			   int (*each)(const struct pmc_p_stack *stack, void *arg), void *arg)
{
	int result = 0;

	for (struct table_stack *at = profile->tables->stacks; at && !result; at = at->hh.next)
		result = each(at->stack, arg);
	return result;
}

static int list_stack(struct pmc_profile *profile, const struct pmc_p_process *process,
		      const struct pmc_stack_def *def, const uint8_t *words, const uint8_t *hashes)
{
	struct pmc_arena *arena = &profile->arena;
	struct pmc_p_stack *stack =
		pmc_arena_alloc(arena, sizeof(*stack) + def->depth * sizeof(stack->frames[0]));
	struct table_stack *entry = pmc_arena_alloc(arena, sizeof(*entry));

	if (!stack || !entry)
		return -ENOMEM;
	stack->process = process;
	stack->id = def->id;
	stack->depth = def->depth;
	stack->flags = def->flags;
	for (unsigned i = 0; i < def->depth; i++) {
		const uint64_t word = word_at(words, i);

		if (PMC_STACK_MODULE(word) != PMC_NO_MODULE)
			stack->frames[i].module =
				find_module(profile, word_at(hashes, PMC_STACK_MODULE(word)));
		stack->frames[i].address = PMC_STACK_ADDRESS(word);
	}
	entry->key = (struct stack_key){ .process = process, .id = def->id };
	entry->stack = stack;
	HASH_ADD(hh, profile->tables->stacks, key, sizeof(entry->key), entry);
	return arena->failed ? -ENOMEM : 0;
}

int profile_list_stacks(struct pmc_profile *profile, const struct table_frame *kept)
{
	const struct pmc_p_process *process = &kept->process->pub;
	struct pmc_stacks_fixed fixed;
	struct pmc_stack_def def;
	struct pmc_cursor cursor;
	const uint8_t *hashes, *words;
	int error = 0;

	pmc_frame_fixed(&kept->frame, &fixed, sizeof(fixed));
	pmc_cursor_init(&cursor, &kept->frame);
	hashes = take_words(&cursor, fixed.n_modules);
	for (uint32_t i = 0; i < fixed.n_stacks && !error; i++) {
		words = next_stack(&cursor, fixed.n_modules, &def);
		/* pmctl dump repeats stacks; of damage the first frame by hash is used. */
		if (def.id && !find_stack(profile, process, def.id))
			error = list_stack(profile, process, &def, words, hashes);
	}
	return error;
}

/* ---- samples ------------------------------------------------------------------------------*/

/* After the fixed part and the readings. */
static const uint8_t *samples_at(const struct pmc_frame *frame,
				 const struct pmc_samples_fixed *fixed, struct pmc_cursor *cursor)
{
	pmc_cursor_init(cursor, frame);
	if (!profile_skip_readings(cursor, fixed->n_groups))
		return NULL;
	return take_words(cursor, sizeof(struct pmc_sample) / sizeof(uint64_t) * fixed->n);
}

int profile_add_samples(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	const size_t from = offsetof(struct pmc_samples_fixed, eventset);
	struct pmc_samples_fixed fixed;
	struct pmc_cursor cursor;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (frame->head.fixed < sizeof(fixed) || !samples_at(frame, &fixed, &cursor))
		return -EBADMSG;
	return profile_keep(profile, frame, fixed.time_ns, fixed.seq,
			    (const char *)frame->fixed + from,
			    offsetof(struct pmc_samples_fixed, n) - from);
}

/* The entry of the thread and event, which is the newest if there is one. */
static struct pmc_p_samples *entry_of(struct pmc_profile *profile,
				      const struct pmc_p_process *process,
				      const struct pmc_samples_fixed *fixed)
{
	struct pmc_p_samples *last =
		profile->n_samples ? profile->samples[profile->n_samples - 1] : NULL;

	if (last && last->process == process && last->fixed.seq == fixed->seq &&
	    last->fixed.eventset == fixed->eventset)
		return last;
	last = pmc_arena_alloc(&profile->arena, sizeof(*last));
	if (!last)
		return NULL;
	last->process = process;
	last->row = profile_find_row(process, fixed->seq);
	last->fixed = *fixed;
	profile->samples[profile->n_samples++] = last;
	return last;
}

static int take_event(struct pmc_profile *profile, struct pmc_p_samples *samples,
		      const struct table_frame *kept)
{
	const struct pmc_samples_fixed *fixed = &samples->fixed;
	const struct pmc_p_eventset *set = profile_find_set(profile, fixed->eventset);
	struct pmc_cursor cursor;
	struct pmc_count *counts;

	if (!set || set->view.count != 1)
		return 0;
	counts = pmc_arena_alloc(&profile->arena, set->n_parts * sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	pmc_cursor_init(&cursor, &kept->frame);
	profile_take_counts(set, fixed->n_groups, &cursor, false, counts);
	samples->event = &set->view.events[0];
	samples->count = counts;
	return 0;
}

int profile_list_samples(struct pmc_profile *profile, const struct table_frame *kept)
{
	const struct pmc_p_process *process = &kept->process->pub;
	struct pmc_samples_fixed fixed;
	struct pmc_p_samples *samples;
	struct pmc_p_sample *list;
	struct pmc_cursor cursor;
	const uint8_t *words;

	pmc_frame_fixed(&kept->frame, &fixed, sizeof(fixed));
	samples = entry_of(profile, process, &fixed);
	words = samples_at(&kept->frame, &fixed, &cursor);
	if (!samples)
		return -ENOMEM;
	/* Part 0 comes first. */
	list = pmc_arena_alloc(&profile->arena, (samples->n + fixed.n + 1) * sizeof(*list));
	if (!list || (fixed.part == 0 && take_event(profile, samples, kept) != 0))
		return -ENOMEM;
	if (samples->n)
		memcpy(list, samples->list, samples->n * sizeof(*list));
	samples->list = list;
	for (uint32_t i = 0; i < fixed.n; i++) {
		struct pmc_sample sample;

		memcpy(&sample, words + i * sizeof(sample), sizeof(sample));
		list[samples->n++] = (struct pmc_p_sample){
			.stack = pmc_profile_stack(profile, process, sample.stack),
			.count = sample.count,
			.weight = sample.weight,
		};
		pmc_add_sat(&samples->samples, sample.count);
		pmc_add_sat(&samples->weight, sample.weight);
	}
	return 0;
}

struct pmc_p_samples **pmc_profile_samples_of(const struct pmc_profile *profile,
					      const struct pmc_p_row *row, uint64_t *n)
{
	const uint64_t index = ((const struct table_process *)row->process)->index;
	uint64_t low = 0, high = profile->n_samples, end;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		const struct pmc_p_samples *at = profile->samples[middle];
		const uint64_t its = ((const struct table_process *)at->process)->index;

		if (its < index || (its == index && at->fixed.seq < row->seq))
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < profile->n_samples; end++) {
		const struct pmc_p_samples *at = profile->samples[end];

		if (at->process != row->process || at->fixed.seq != row->seq)
			break;
	}
	*n = end - low;
	return *n ? profile->samples + low : NULL;
}
