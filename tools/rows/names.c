/* SPDX-License-Identifier: MIT */
/* names.c - start routines, by SITE frames, and NAMES frames: what a dump says about those routines
 * and about addresses in its stacks. */
#include "tools/rows/tables.h"

#include <string.h>

/* ---- start routines ------------------------------------------------------------------------ */

struct pmc_p_site *profile_find_site(const struct pmc_profile *profile, uint64_t hash)
{
	struct pmc_p_site *site;

	HASH_FIND(hh, profile->tables->sites, &hash, sizeof(hash), site);
	return site;
}

void pmc_profile_name_sites(struct pmc_profile *profile, const char *host,
			    const char *(*find)(struct pmc_arena *arena, const char *module,
						uint64_t offset, void *arg),
			    void *arg)
{
	struct pmc_p_site *site;
	bool any = false;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *process = profile->processes[i];

		process->named = !strcmp(process->host, host);
		any |= process->named;
	}
	for (site = profile->tables->sites; any && site; site = site->hh.next)
		if (!site->symbol[0] && site->module[0])
			site->found = find(&profile->arena, site->module, site->offset, arg);
}

void pmc_profile_rename_modules(struct pmc_profile *profile,
				const char *(*name)(struct pmc_profile *profile, const char *path,
						    const struct pmc_p_module *module))
{
	for (uint64_t i = 0; i < profile->n_modules; i++)
		profile->modules[i]->path =
			name(profile, profile->modules[i]->path, profile->modules[i]);
	for (struct pmc_p_site *site = profile->tables->sites; site; site = site->hh.next)
		site->module = name(profile, site->module, NULL);
}

bool profile_add_site(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_arena *arena = &profile->arena;
	const uint64_t hash = frame->head.hash;
	struct pmc_p_site *site, *known = profile_find_site(profile, hash);
	struct pmc_site_fixed fixed;
	struct pmc_cursor cursor = profile_parts(frame, &fixed, sizeof(fixed));

	if (known)
		return true;
	site = pmc_arena_alloc(arena, sizeof(*site));
	site->hash = hash;
	site->offset = fixed.offset;
	site->module = profile_text(arena, &cursor);
	site->symbol = profile_text(arena, &cursor);
	if (cursor.bad)
		return false;
	HASH_ADD(hh, profile->tables->sites, hash, sizeof(hash), site);
	return true;
}

const char *profile_start_name(const struct pmc_p_process *process, const struct pmc_p_site *site)
{
	struct place_key key = { .module = site->hash, .address = site->offset };
	const struct table_place *known;

	if (!process->tables->places.entries)
		return NULL;
	memcpy(key.identity, process->identity, sizeof(key.identity));
	known = pmc_map_find(&process->tables->places, &key, sizeof(key));
	/* Of inlined functions the outermost is what the thread called. */
	return known ? known->place->functions[known->place->n - 1].name : NULL;
}

/* ---- functions of addresses ---------------------------------------------------------------- */

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

/* The one of which most is known. */
static void keep(struct pmc_profile *profile, const struct place_key *key, uint64_t hash,
		 const struct pmc_p_place *place)
{
	const unsigned knows = knowledge(place);
	struct table_place *known = pmc_map_at(&profile->tables->places, &profile->arena, key,
					       sizeof(*key), sizeof(*known));

	if (!known->place || knows > known->knows || (knows == known->knows && hash > known->hash))
		*known = (struct table_place){ knows, hash, place };
}

/* texts[0]: unknown. NULL: they do not fit. */
static const char **take_texts(struct pmc_arena *arena, struct pmc_cursor *cursor, uint32_t n)
{
	const char **texts;

	/* A text takes eight bytes at least. */
	if (n > cursor->left / 8)
		return NULL;
	texts = pmc_arena_alloc(arena, (n + (size_t)1) * sizeof(*texts));
	for (uint32_t i = 1; i <= n; i++)
		texts[i] = profile_text(arena, cursor);
	return cursor->bad ? NULL : texts;
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

bool profile_add_names(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_arena *arena = &profile->arena;
	struct pmc_names_fixed fixed;
	struct pmc_cursor cursor = profile_parts(frame, &fixed, sizeof(fixed));
	struct place_key key = { 0 };
	const uint8_t *functions;
	struct pmc_place_def def;
	const char **texts = take_texts(arena, &cursor, fixed.n_texts);

	if (!texts || !places_fit(cursor, &fixed))
		return false;
	key.module = fixed.module;
	memcpy(key.identity, frame->head.identity, sizeof(key.identity));
	for (uint32_t i = 0; i < fixed.n_places; i++) {
		next_place(&cursor, fixed.n_texts, &def, &functions);
		key.address = def.address;
		keep(profile, &key, frame->head.hash, make_place(arena, &def, functions, texts));
	}
	return true;
}

const struct pmc_p_place *pmc_profile_place(const struct pmc_p_process *process,
					    const struct pmc_p_frame *frame)
{
	struct place_key key = { .address = frame->address };
	const struct table_place *known;

	if (frame->module)
		key.module = frame->module->hash;
	if (!pmc_is_known_build(frame))
		memcpy(key.identity, process->identity, sizeof(key.identity));
	known = pmc_map_find(&process->tables->places, &key, sizeof(key));
	return known ? known->place : NULL;
}
