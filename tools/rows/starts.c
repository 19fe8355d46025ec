/* SPDX-License-Identifier: MIT */
/* starts.c - start routines that a dump has as module and offset: which there are, and their names.
 */
#include "tools/rows/tables.h"

#include <errno.h>
#include <string.h>

int profile_add_start(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_arena *arena = &profile->arena;
	struct pmc_thread_fixed fixed;
	struct start_key key = { 0 };
	struct table_start *known;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (!fixed.start_site)
		return 0;
	memcpy(key.identity, frame->head.identity, sizeof(key.identity));
	key.site = fixed.start_site;
	HASH_FIND(hh, profile->tables->starts, &key, sizeof(key), known);
	if (known)
		return 0;
	known = pmc_arena_alloc(arena, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->key = key;
	known->process = profile_process(profile, key.identity);
	HASH_ADD(hh, profile->tables->starts, key, sizeof(known->key), known);
	return arena->failed ? -ENOMEM : 0;
}

const char *profile_start_name(const struct table_process *process, const struct pmc_p_site *site)
{
	struct place_key key = { .module = site->hash, .address = site->offset };
	const struct table_place *known = NULL;

	if (!process->tables->places)
		return NULL;
	memcpy(key.identity, process->pub.identity, sizeof(key.identity));
	HASH_FIND(hh, process->tables->places, &key, sizeof(key), known);
	/* Of inlined functions the outermost is what the thread called. */
	return known ? known->place->functions[known->place->n - 1].name : NULL;
}

int pmc_profile_each_start(const struct pmc_profile *profile,
			   int (*each)(const struct pmc_p_start *start, void *arg), void *arg)
{
	int result = 0;

	for (struct table_start *at = profile->tables->starts; at && !result; at = at->hh.next) {
		const struct pmc_p_site *site = profile_find_site(profile, at->key.site);

		if (at->process->index && site && site->module[0] && !site->symbol[0] &&
		    !profile_start_name(at->process, site))
			result = each(&(struct pmc_p_start){ .process = &at->process->pub,
							     .site = site->hash,
							     .module = site->module,
							     .offset = site->offset },
				      arg);
	}
	return result;
}
