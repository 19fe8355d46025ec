/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.h - the opaque type of pmc/tracepoint.h.
 *
 * Private to this folder.
 */
#pragma once

#include "lib/base/arena.h"

#include <pmc/tracepoint.h>

struct pmc_tracepoint {
	struct pmc_arena arena; /* of the fields and strings */
	uint64_t id;
	const char *system, *name, *print_format;
	struct pmc_tracepoint_field *fields;
	size_t count, room;
};

/* Fills an empty tracepoint from the text of a format file. 0, -EPROTO with *line the number of the
 * line that cannot be parsed (0: a part is missing), or -ENOMEM. */
int tracepoint_parse(struct pmc_tracepoint *tracepoint, const char *text, size_t size,
		     unsigned *line);
