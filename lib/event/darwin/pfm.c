/* SPDX-License-Identifier: MIT */
/*
 * pfm.c - on macOS names like those of Apple's kpep database take the place of libpfm4's.
 *
 * The name is looked up when the counters are programmed, by kperfdata: see count/thread_counts.h.
 */
#include "lib/event/source.h"

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool may_be_in(char c)
{
	return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '.';
}

int event_pfm(struct event_parse *parse, struct event_span name, struct pmc_event *event,
	      const char **why)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	(void)parse;
	*why = "not the name of an event in /usr/share/kpep, which starts with a capital letter";
	if (name.len == 0 || name.len >= EVENT_NAME_MAX || !is_upper(name.at[0]))
		return EVENT_NOT_MINE;
	for (size_t i = 0; i < name.len; i++) {
		if (!may_be_in(name.at[i]))
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
