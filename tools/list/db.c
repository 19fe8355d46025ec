/* SPDX-License-Identifier: MIT */
/* db.c - reads a database of the counters that each event can use. */
#include "agent/core/base/hash.h"
#include "agent/core/base/suggest.h"
#include "tools/cli/pmctl.h"
#include "tools/list/list.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "name\talias\tcounter_mask"

struct list_db_name {
	const char *text;
	int event;
	UT_hash_handle hh;
};

/* 0b... or 0x..., at most 64 bits. */
static bool mask_parse(const char *text, uint64_t *mask)
{
	int base = strncmp(text, "0b", 2) == 0 ? 2 : strncmp(text, "0x", 2) == 0 ? 16 : 0;
	char *end;

	if (!base || !isxdigit((unsigned char)text[2]))
		return false;
	errno = 0;
	*mask = strtoull(text + 2, &end, base);
	return !*end && !errno;
}

static struct list_db_name *lookup(const struct list_db *db, const char *text)
{
	struct list_db_name *found;

	HASH_FIND_STR(db->names, text, found);
	return found;
}

/* The error in the name, or NULL. */
static const char *name_add(struct list_db *db, const char *text)
{
	struct pmc_arena *arena = &db->arena;
	struct list_db_name *name;

	if (!*text)
		return "empty name";
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == ',' || *c == 0x7f)
			return "blank, comma or control character in a name";
	if (lookup(db, text))
		return "duplicate name";
	name = pmc_arena_alloc(arena, sizeof(*name));
	if (name) {
		name->text = text;
		name->event = (int)db->n;
		HASH_ADD_KEYPTR(hh, db->names, name->text, strlen(name->text), name);
	}
	return arena->failed ? "out of memory" : NULL;
}

static struct list_db_event *event_add(struct list_db *db)
{
	if (db->n == db->room) {
		unsigned room = db->room ? db->room * 2 : 128;
		struct list_db_event *events = pmc_arena_alloc(&db->arena, room * sizeof(*events));

		if (!events)
			return NULL;
		if (db->n)
			memcpy(events, db->events, db->n * sizeof(*events));
		db->events = events;
		db->room = room;
	}
	return &db->events[db->n];
}

/* The error in the line, or NULL. */
static const char *line_add(struct list_db *db, const char *text)
{
	char *name = pmc_arena_strdup(&db->arena, text), *alias, *mask;
	struct list_db_event *event = event_add(db);
	const char *error;

	if (!name || !event)
		return "out of memory";
	alias = strchr(name, '\t');
	mask = alias ? strchr(alias + 1, '\t') : NULL;
	if (!mask || strchr(mask + 1, '\t'))
		return "not three fields, separated by tabs";
	*alias++ = '\0';
	*mask++ = '\0';
	*event = (struct list_db_event){ .name = name };
	error = name_add(db, name);
	if (!error && strcmp(alias, "-") != 0) {
		event->alias = alias;
		error = name_add(db, alias);
	}
	if (!error && !mask_parse(mask, &event->mask))
		error = "the counter mask is not 0b... or 0x... of at most 64 bits";
	db->n++;
	return error;
}

static int read_lines(struct list_db *db, const char *path, FILE *file)
{
	const char *error = NULL;
	unsigned number = 0;
	char line[LINE_MAX];

	errno = 0;
	while (!error && fgets(line, sizeof(line), file)) {
		size_t len = strlen(line);

		number++;
		if ((!len || line[len - 1] != '\n') && !feof(file)) {
			error = "NUL byte, or a line that is too long";
			break;
		}
		line[strcspn(line, "\r\n")] = '\0';
		if (number > 1)
			error = line_add(db, line);
		else if (strcmp(line, HEADER) != 0)
			error = "the header is not 'name', 'alias' and 'counter_mask', separated "
				"by tabs";
	}
	if (!error && ferror(file))
		return tool_fail(EXIT_FAIL, "cannot read %s: %s", path, strerror(errno));
	if (!error && !db->n)
		error = number++ ? "no event" : "the file is empty";
	return error ? tool_fail(EXIT_FAIL, "%s, line %u: %s", path, number, error) : EXIT_OK;
}

int list_db_read(struct list_db *db, const char *path)
{
	FILE *file = fopen(path, "re");
	int code;

	memset(db, 0, sizeof(*db));
	if (!file)
		return tool_fail(EXIT_FAIL, "cannot read %s: %s", path, strerror(errno));
	code = read_lines(db, path, file);
	fclose(file);
	return code;
}

void list_db_free(struct list_db *db)
{
	pmc_arena_free(&db->arena);
	memset(db, 0, sizeof(*db));
}

int list_db_find(const struct list_db *db, const char *name)
{
	const struct list_db_name *found = lookup(db, name);

	return found ? found->event : -1;
}

const char *list_db_nearest(const struct list_db *db, const char *name)
{
	struct pmc_nearest nearest;

	pmc_nearest_init(&nearest, name, strlen(name));
	for (unsigned i = 0; i < db->n; i++) {
		pmc_nearest_try(&nearest, db->events[i].name);
		if (db->events[i].alias)
			pmc_nearest_try(&nearest, db->events[i].alias);
	}
	return nearest.name;
}
