/* SPDX-License-Identifier: MIT */
/* names.c - NAMES frames: what a dump says about addresses in its stacks and start routines. */
#include "tools/rows/tables.h"

#include <errno.h>
#include <string.h>

/* The place that the next bytes have, without its texts; *def says how many functions follow. */
static bool next_place(struct pmc_cursor *cursor, uint32_t n_texts, struct pmc_place_def *def,
		       const uint8_t **functions)
{
	struct pmc_place_function function;

	if (!pmc_cursor_bytes(cursor, def, sizeof(*def)) ||
	    def->n_functions > PMC_PLACE_FUNCTIONS_MAX ||
	    def->n_functions > cursor->left / sizeof(function))
		return false;
	*functions = cursor->at;
	for (uint32_t i = 0; i < def->n_functions; i++) {
		pmc_cursor_bytes(cursor, &function, sizeof(function));
		if (function.name > n_texts || function.file > n_texts)
			return false;
	}
	return def->n_functions > 0;
}

static struct pmc_p_place *make_place(struct pmc_arena *arena, const struct pmc_place_def *def,
				      const uint8_t *functions, const char *const *texts)
{
	struct pmc_p_place *place = pmc_arena_alloc(
		arena, sizeof(*place) + def->n_functions * sizeof(place->functions[0]));

	if (!place)
		return NULL;
	place->start = def->start;
	place->n = def->n_functions;
	for (uint32_t i = 0; i < place->n; i++) {
		struct pmc_place_function function;

		memcpy(&function, functions + i * sizeof(function), sizeof(function));
		place->functions[i] = (struct pmc_p_function){
			.name = texts[function.name],
			.file = texts[function.file],
			.line = function.line,
			.inlined = function.flags & PMC_PLACE_INLINED,
		};
	}
	return place;
}

static unsigned knowledge(const struct pmc_p_place *place)
{
	unsigned most = 0;

	for (unsigned i = 0; i < place->n; i++) {
		const struct pmc_p_function *function = &place->functions[i];
		const unsigned knows = function->file ? 2 : function->name ? 1 : 0;

		most = knows > most ? knows : most;
	}
	return most;
}

static bool is_better(const struct table_place *known, unsigned knows, uint64_t hash)
{
	return knows != known->knows ? knows > known->knows : hash > known->hash;
}

static int keep(struct pmc_profile *profile, const struct place_key *key, uint64_t hash,
		const struct pmc_p_place *place)
{
	struct pmc_arena *arena = &profile->arena;
	const unsigned knows = knowledge(place);
	struct table_place *known;

	HASH_FIND(hh, profile->tables->places, key, sizeof(*key), known);
	if (known && !is_better(known, knows, hash))
		return 0;
	if (!known) {
		known = pmc_arena_alloc(arena, sizeof(*known));
		if (!known)
			return -ENOMEM;
		known->key = *key;
		HASH_ADD(hh, profile->tables->places, key, sizeof(known->key), known);
	}
	known->knows = knows;
	known->hash = hash;
	known->place = place;
	return arena->failed ? -ENOMEM : 0;
}

/* texts[0]: unknown */
static const char **take_texts(struct pmc_arena *arena, struct pmc_cursor *cursor, uint32_t n)
{
	const char **texts, *text;
	size_t len;

	/* A text takes eight bytes at least. */
	if (n > cursor->left / 8)
		return NULL;
	texts = pmc_arena_alloc(arena, (n + (size_t)1) * sizeof(*texts));
	for (uint32_t i = 1; texts && i <= n; i++) {
		if (!pmc_cursor_str(cursor, &text, &len))
			return NULL;
		texts[i] = pmc_arena_strndup(arena, text, len);
	}
	return texts;
}

static bool places_fit(struct pmc_cursor cursor, const struct pmc_names_fixed *fixed)
{
	struct pmc_place_def def;
	const uint8_t *functions;

	for (uint32_t i = 0; i < fixed->n_places; i++)
		if (!next_place(&cursor, fixed->n_texts, &def, &functions))
			return false;
	return true;
}

int profile_add_names(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_arena *arena = &profile->arena;
	struct pmc_names_fixed fixed;
	struct pmc_cursor cursor;
	struct place_key key = { 0 };
	const uint8_t *functions;
	const char **texts;
	struct pmc_place_def def;
	int error = 0;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	pmc_cursor_init(&cursor, frame);
	texts = take_texts(arena, &cursor, fixed.n_texts);
	if (!texts || arena->failed || !places_fit(cursor, &fixed))
		return arena->failed ? -ENOMEM : -EBADMSG;
	key.module = fixed.module;
	memcpy(key.identity, frame->head.identity, sizeof(key.identity));
	for (uint32_t i = 0; i < fixed.n_places && !error; i++) {
		const struct pmc_p_place *place;

		next_place(&cursor, fixed.n_texts, &def, &functions);
		place = make_place(arena, &def, functions, texts);
		key.address = def.address;
		error = place ? keep(profile, &key, frame->head.hash, place) : -ENOMEM;
	}
	return error;
}

const struct pmc_p_place *pmc_profile_place(const struct pmc_p_process *process,
					    const struct pmc_p_frame *frame)
{
	const struct pmc_profile_tables *tables = ((const struct table_process *)process)->tables;
	struct place_key key = { .address = frame->address };
	struct table_place *known;

	if (frame->module)
		key.module = frame->module->hash;
	if (!pmc_is_known_build(frame))
		memcpy(key.identity, process->identity, sizeof(key.identity));
	HASH_FIND(hh, tables->places, &key, sizeof(key), known);
	return known ? known->place : NULL;
}
