/* SPDX-License-Identifier: MIT */
/* tracepoint.c - loading tracepoints from tracefs, and looking up their fields. */
#include "lib/tracepoint/tracepoint.h"
#include "lib/counter/counter.h"
#include "lib/base/file.h"
#include "lib/event/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's largest format files have some 20 KB. */
#define FORMAT_START ((size_t)64 << 10)
#define FORMAT_MAX   ((size_t)4 << 20)

static int parse(struct pmc_tracepoint **tracepoint, const char *text, size_t size,
		 const char *what, struct pmc_failure *failure)
{
	struct pmc_tracepoint *made = calloc(1, sizeof(*made));
	unsigned line = 0;
	int error = made ? tracepoint_parse(made, text, size, &line) : -ENOMEM;

	if (!error) {
		*tracepoint = made;
		return 0;
	}
	pmc_tracepoint_free(made);
	if (error == -ENOMEM)
		return counter_fail(failure, error, what, "out of memory");
	return counter_fail(failure, error, what,
			    line ? "line %u of the format is not understood; please report it" :
				   "the format lacks its name, ID or fields; please report it",
			    line);
}

int pmc_tracepoint_parse(struct pmc_tracepoint **tracepoint, const char *text, size_t size,
			 struct pmc_failure *failure)
{
	if (!tracepoint)
		return counter_fail(failure, -EINVAL, "tracepoint", "NULL");
	*tracepoint = NULL;
	if (!text)
		return counter_fail(failure, -EINVAL, "text", "NULL");
	return parse(tracepoint, text, size, "format", failure);
}

/* The whole format file; the caller frees it. */
static int read_format(const char *system, const char *name, char **text, size_t *size)
{
	const struct pmc_event_roots roots = { 0 };
	int got = -EFBIG;

	*text = NULL;
	for (size_t room = FORMAT_START; room <= FORMAT_MAX && got == -EFBIG; room *= 4) {
		free(*text);
		*text = malloc(room);
		if (!*text)
			return -ENOMEM;
		got = pmc_file_read(*text, room, "%s/events/%s/%s/format", event_tracefs(&roots),
				    system, name);
	}
	*size = got < 0 ? 0 : (size_t)got;
	return got < 0 ? got : 0;
}

int pmc_tracepoint_load(struct pmc_tracepoint **tracepoint, const char *system, const char *name,
			struct pmc_failure *failure)
{
	struct pmc_counter_event event;
	size_t size = 0;
	char *text = NULL;
	int error;

	if (!tracepoint)
		return counter_fail(failure, -EINVAL, "tracepoint", "NULL");
	*tracepoint = NULL;
	if (!system || !name)
		return counter_fail(failure, -EINVAL, system ? "name" : "system", "NULL");
	error = pmc_counter_event_tracepoint(&event, system, name, failure);
	if (error)
		return error;
	error = read_format(system, name, &text, &size);
	if (error)
		counter_fail(failure, error, name, "cannot read its format file in tracefs");
	else
		error = parse(tracepoint, text, size, name, failure);
	free(text);
	if (!error) {
		(*tracepoint)->system = pmc_arena_strdup(&(*tracepoint)->arena, system);
		if ((*tracepoint)->system)
			return 0;
		error = counter_fail(failure, -ENOMEM, name, "out of memory");
		pmc_tracepoint_free(*tracepoint);
		*tracepoint = NULL;
	}
	return error;
}

void pmc_tracepoint_free(struct pmc_tracepoint *tracepoint)
{
	if (!tracepoint)
		return;
	pmc_arena_free(&tracepoint->arena);
	free(tracepoint->fields);
	free(tracepoint);
}

/* ---- what it is ---------------------------------------------------------------------------*/

int pmc_tracepoint_event(const struct pmc_tracepoint *tracepoint, struct pmc_counter_event *event)
{
	if (!tracepoint)
		return -EINVAL;
	return pmc_counter_event_tracepoint_id(event, tracepoint->id);
}

const char *pmc_tracepoint_system(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->system : "";
}

const char *pmc_tracepoint_name(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->name : "";
}

uint64_t pmc_tracepoint_id(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->id : 0;
}

const char *pmc_tracepoint_print_format(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->print_format : "";
}

size_t pmc_tracepoint_count(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->count : 0;
}

const struct pmc_tracepoint_field *pmc_tracepoint_at(const struct pmc_tracepoint *tracepoint,
						     size_t index)
{
	return tracepoint && index < tracepoint->count ? &tracepoint->fields[index] : NULL;
}

const struct pmc_tracepoint_field *pmc_tracepoint_find(const struct pmc_tracepoint *tracepoint,
						       const char *name)
{
	for (size_t i = 0; tracepoint && name && i < tracepoint->count; i++)
		if (!strcmp(tracepoint->fields[i].name, name))
			return &tracepoint->fields[i];
	return NULL;
}
