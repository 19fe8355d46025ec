/* SPDX-License-Identifier: MIT */
/* db.c - reads a database that says which counters each event can be on. */
#include "agent/core/base/hash.h"
#include "agent/core/base/suggest.h"
#include "tools/list/list.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER	 "name\talias\tcounter_mask"
#define FILE_MAX ((size_t)16 << 20)

struct list_db_name {
	const char *text;
	int event;
	UT_hash_handle hh;
};

/* The whole file, NUL-terminated; NULL with *error set. */
static char *slurp(const char *path, size_t *len, int *error)
{
	size_t room = 16384;
	char *text = NULL;
	ssize_t n = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	*len = 0;
	*error = errno;
	if (fd < 0)
		return NULL;
	while (n > 0) {
		char *more = realloc(text, room);

		*error = ENOMEM;
		if (!more)
			goto fail;
		text = more;
		while (*len + 1 < room && ((n = read(fd, text + *len, room - 1 - *len)) > 0 ||
					   (n < 0 && errno == EINTR)))
			*len += n > 0 ? (size_t)n : 0;
		*error = n < 0 ? errno : EFBIG;
		if (n < 0 || (room *= 2) > FILE_MAX * 2)
			goto fail;
	}
	text[*len] = '\0';
	close(fd);
	return text;
fail:
	free(text);
	close(fd);
	return NULL;
}

/* 0b... or 0x..., 64 bits at most. */
static bool mask_parse(const char *text, uint64_t *mask)
{
	unsigned bits = text[0] != '0' ? 0 : text[1] == 'b' ? 1 : text[1] == 'x' ? 4 : 0;

	*mask = 0;
	if (!bits || !text[2])
		return false;
	for (text += 2; *text; text++) {
		const char *digits = "0123456789abcdef", *at;

		at = strchr(digits, *text >= 'A' && *text <= 'F' ? *text - 'A' + 'a' : *text);
		if (!at || at - digits >= 1 << bits || *mask >> (64 - bits))
			return false;
		*mask = *mask << bits | (uint64_t)(at - digits);
	}
	return true;
}

static struct list_db_name *lookup(const struct list_db *db, const char *text)
{
	struct list_db_name *found;

	HASH_FIND_STR(db->names, text, found);
	return found;
}

/* What is wrong with the name, or NULL. */
static const char *name_add(struct list_db *db, const char *text)
{
	struct pmc_arena *arena = &db->arena;
	struct list_db_name *name = pmc_arena_alloc(arena, sizeof(*name));

	if (!*text)
		return "a name is empty";
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == ',' || *c == 0x7f)
			return "a name holds a blank, a comma or a control character";
	if (lookup(db, text))
		return "a name is there twice";
	if (name) {
		name->text = text;
		name->event = (int)db->n;
		HASH_ADD_KEYPTR(hh, db->names, name->text, strlen(name->text), name);
	}
	return arena->failed ? "out of memory" : NULL;
}

/* What is wrong with the line, or NULL. */
static const char *line_add(struct list_db *db, char *line)
{
	char *alias = strchr(line, '\t'), *mask = alias ? strchr(alias + 1, '\t') : NULL;
	struct list_db_event *event = &db->events[db->n];
	const char *wrong;

	if (!mask || strchr(mask + 1, '\t'))
		return "it has not three fields, separated by tabs";
	*alias++ = '\0';
	*mask++ = '\0';
	*event = (struct list_db_event){ .name = line };
	wrong = name_add(db, line);
	if (!wrong && strcmp(alias, "-") != 0) {
		event->alias = alias;
		wrong = name_add(db, alias);
	}
	if (!wrong && !mask_parse(mask, &event->mask))
		wrong = "the counter mask is not 0b... or 0x... of up to 64 bits";
	db->n++;
	return wrong;
}

static int parse(struct list_db *db, const char *path, char *text, size_t len)
{
	unsigned lines = 1;
	char *line = text, *end;

	for (const char *c = text; (c = strchr(c, '\n')); c++)
		lines++;
	db->events = pmc_arena_alloc(&db->arena, lines * sizeof(*db->events));
	if (!db->events)
		return tool_fail(EXIT_FAIL, "out of memory");
	for (unsigned number = 1; line < text + len; number++, line = end + 1) {
		const char *wrong = NULL;

		end = memchr(line, '\n', (size_t)(text + len - line));
		if (!end)
			end = text + len;
		if (memchr(line, '\0', (size_t)(end - line)))
			wrong = "it holds a NUL";
		*end = '\0';
		if (end > line && end[-1] == '\r')
			end[-1] = '\0';
		if (!wrong && number > 1)
			wrong = line_add(db, line);
		else if (!wrong && strcmp(line, HEADER) != 0)
			wrong = "the header is not 'name', 'alias' and 'counter_mask', separated "
				"by tabs";
		if (wrong)
			return tool_fail(EXIT_FAIL, "%s, line %u: %s", path, number, wrong);
	}
	if (!db->n)
		return tool_fail(EXIT_FAIL, "%s, line 2: no event", path);
	return EXIT_OK;
}

int list_db_read(struct list_db *db, const char *path)
{
	char *text, *kept;
	size_t len;
	int error;

	memset(db, 0, sizeof(*db));
	text = slurp(path, &len, &error);
	if (!text)
		return tool_fail(EXIT_FAIL, "cannot read %s: %s", path, strerror(error));
	if (!len) {
		free(text);
		return tool_fail(EXIT_FAIL, "%s, line 1: the file is empty", path);
	}
	kept = pmc_arena_alloc(&db->arena, len + 1);
	if (kept)
		memcpy(kept, text, len);
	free(text);
	return kept ? parse(db, path, kept, len) : tool_fail(EXIT_FAIL, "out of memory");
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
	unsigned best = pmc_distance_limit(strlen(name)) + 1;
	const char *near = NULL;

	for (unsigned i = 0; i < db->n && best > 0; i++) {
		const char *names[] = { db->events[i].name, db->events[i].alias };

		for (unsigned k = 0; k < 2 && names[k] && best > 0; k++) {
			unsigned d = pmc_distance(name, strlen(name), names[k], strlen(names[k]),
						  best - 1);

			if (d < best) {
				best = d;
				near = names[k];
			}
		}
	}
	return near;
}
