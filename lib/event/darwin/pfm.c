/* SPDX-License-Identifier: MIT */
/*
 * pfm.c - on macOS names like those of Apple's kpep database take the place of libpfm4's.
 *
 * The name is looked up when the counters are programmed, by kperfdata: see count/thread_counts.h.
 */
#include "lib/base/number.h"
#include "lib/event/source.h"

int event_pfm(struct event_parse *parse, struct event_span name, struct pmc_event *event,
	      const char **why)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	(void)parse;
	*why = "not the name of an event in /usr/share/kpep, which starts with a capital letter";
	if (name.len == 0 || name.len >= EVENT_NAME_MAX || name.at[0] < 'A' || name.at[0] > 'Z')
		return EVENT_NOT_MINE;
	for (size_t i = 0; i < name.len; i++) {
		if (!pmc_is_alnum(name.at[i]) && name.at[i] != '_' && name.at[i] != '.')
			return EVENT_NOT_MINE;
		hash = (hash ^ (unsigned char)name.at[i]) * 0x100000001b3u;
	}
	event->type = PMC_TYPE_KPEP;
	event->config = hash;
	event->pmu = "kpep";
	return EVENT_FOUND;
}

void event_pfm_close(struct event_parse *parse)
{
	(void)parse;
}
