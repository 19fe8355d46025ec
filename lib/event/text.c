/* SPDX-License-Identifier: MIT */
/* text.c - spans, numbers, modifiers and errors of event strings; the name nearest to a mistyped
 * one. */
#include "lib/event/source.h"
#include "lib/base/number.h"
#include "lib/base/out.h"

#include <errno.h>
#include <string.h>

#define MODIFIERS "ukD"
#define ACCEPTED  "use u (user), k (kernel) or D (pinned)"

int event_fail(struct event_parse *parse, int error, const char *at, const char *format, ...)
{
	struct pmc_out out = pmc_out_mem(parse->error->text, sizeof(parse->error->text));
	va_list args;

	va_start(args, format);
	pmc_voutf(&out, format, args);
	va_end(args);
	for (char *c = parse->error->text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	parse->error->error = error;
	parse->error->offset = (size_t)(at - parse->text);
	return error;
}

struct event_span event_span_of(const char *text)
{
	return (struct event_span){ text, strlen(text) };
}

bool event_span_is(struct event_span span, const char *word)
{
	return strlen(word) == span.len && !memcmp(span.at, word, span.len);
}

#define SPACES " \t\n\r"

struct event_span event_skip(struct event_span span, size_t n)
{
	return (struct event_span){ span.at + n, span.len - n };
}

struct event_span event_trim(struct event_span span)
{
	while (span.len && strchr(SPACES, span.at[0]))
		span = event_skip(span, 1);
	while (span.len && strchr(SPACES, span.at[span.len - 1]))
		span.len--;
	return span;
}

bool event_has(struct event_span span, char c)
{
	return span.len && memchr(span.at, c, span.len);
}

struct event_span event_split(struct event_span *rest, char c)
{
	const char *hit = rest->len ? memchr(rest->at, c, rest->len) : NULL;
	struct event_span head = *rest;

	if (!hit) {
		*rest = (struct event_span){ 0 };
		return head;
	}
	head.len = (size_t)(hit - rest->at);
	*rest = event_skip(*rest, head.len + 1);
	return head;
}

static bool number(struct event_span span, unsigned base, uint64_t *value)
{
	const char *at = span.at, *end = span.at + span.len;

	return pmc_number_take(&at, end, base, value) && at == end;
}

bool event_hex(struct event_span span, uint64_t *value)
{
	return number(span, 16, value);
}

bool event_number(struct event_span span, uint64_t *value)
{
	if (span.len > 2 && span.at[0] == '0' && (span.at[1] == 'x' || span.at[1] == 'X'))
		return event_hex(event_skip(span, 2), value);
	return number(span, 10, value);
}

bool event_is_file_name(struct event_span span)
{
	if (!span.len || span.len >= EVENT_NAME_MAX || span.at[0] == '.')
		return false;
	for (size_t i = 0; i < span.len; i++) {
		char c = span.at[i];

		if (!pmc_is_alnum(c) && c != '_' && c != '-' && c != '.')
			return false;
	}
	return true;
}

bool event_is_modifiers(struct event_span span)
{
	for (size_t i = 0; i < span.len; i++)
		if (!strchr(MODIFIERS, span.at[i]))
			return false;
	return span.len > 0;
}

int event_modify(struct event_parse *parse, struct event_span modifiers, struct event_span whole,
		 struct pmc_event *event)
{
	bool user = false, kernel = false, pinned = false;

	if (!modifiers.at)
		return 0;
	if (!modifiers.len)
		return event_fail(parse, -EINVAL, modifiers.at,
				  "no modifier after ':' in '%.*s': " ACCEPTED, EVENT_SHOW(whole));
	for (const char *c = modifiers.at; c < modifiers.at + modifiers.len; c++) {
		bool *which = *c == 'u' ? &user : *c == 'k' ? &kernel : *c == 'D' ? &pinned : NULL;

		if (!which)
			return event_fail(parse, -EINVAL, c,
					  "unknown modifier '%c' in '%.*s': " ACCEPTED, *c,
					  EVENT_SHOW(whole));
		if (*which)
			return event_fail(parse, -EINVAL, c, "duplicate modifier '%c' in '%.*s'",
					  *c, EVENT_SHOW(whole));
		*which = true;
	}
	/* Modifiers of a brace add to those of its members, as in perf. */
	event->pinned |= pinned;
	if (!user && !kernel)
		return 0;
	if (event->asked_scope) {
		user |= !event->exclude_user;
		kernel |= !event->exclude_kernel;
	}
	event->exclude_user = !user;
	event->exclude_kernel = !kernel;
	event->asked_scope = true;
	return 0;
}

const char *event_full_name(struct event_parse *parse, struct event_span item,
			    const struct pmc_event *event, struct event_span added)
{
	const struct event_span own = event->name ? event_span_of(event->name) : item;
	size_t tail = own.len, len = own.len;
	char *name = pmc_arena_alloc(parse->arena, own.len + added.len + 2);

	if (!name)
		return NULL;
	memcpy(name, own.at, own.len);
	while (tail && strchr(MODIFIERS, own.at[tail - 1]))
		tail--;
	/* After ':' or the last '/' of a PMU the letters are modifiers already. */
	if (!tail || (own.at[tail - 1] != ':' && own.at[tail - 1] != '/'))
		tail = own.len;
	for (size_t i = 0; i < added.len; i++) {
		if (event_has(event_skip(own, tail), added.at[i]))
			continue;
		if (len == tail)
			name[len++] = ':';
		name[len++] = added.at[i];
	}
	return name;
}

/* ---- the nearest name that exists --------------------------------------------------------- */

void event_nearest_init(struct event_nearest *nearest, const struct pmc_event_roots *roots,
			struct event_span word)
{
	*nearest = (struct event_nearest){ .roots = roots, .suffix = "" };
	pmc_nearest_init(&nearest->best, word.at, word.len);
}

void event_nearest_try(const char *name, void *arg)
{
	struct event_nearest *nearest = arg;
	struct pmc_out out;

	/* energy-pkg.scale and .unit are attributes of an event. */
	if (strchr(name, '.') || !pmc_nearest_try(&nearest->best, name))
		return;
	pmc_out_to_mem(&out, nearest->text, sizeof(nearest->text));
	pmc_outf(&out, "; nearest is '%s%s%s'", nearest->prefix, name, nearest->suffix);
}

static void suggest_behind(struct event_nearest *nearest, struct event_span prefix, char c)
{
	struct pmc_out out = pmc_out_mem(nearest->prefix, sizeof(nearest->prefix));

	pmc_outf(&out, "%.*s%c", (int)prefix.len, prefix.at, c);
}

static void try_builtin(const struct pmc_builtin *row, void *arg)
{
	event_nearest_try(row->name, arg);
}

static void try_pmu(const char *pmu, void *arg)
{
	struct event_nearest *nearest = arg;

	suggest_behind(nearest, event_span_of(pmu), '/');
	nearest->suffix = "/";
	pmc_dir_visit(event_nearest_try, nearest, "%s/%s/events", nearest->roots->sysfs, pmu);
}

void event_nearest_set(struct event_nearest *nearest)
{
	suggest_behind(nearest, event_span_of(""), '@');
	for (unsigned i = 0; i < pmc_n_event_sets; i++)
		event_nearest_try(pmc_event_sets[i].name, nearest);
}

static void try_tracepoint(const char *name, void *arg)
{
	/* Of the whole subsystem. */
	if (strcmp(name, "enable") != 0 && strcmp(name, "filter") != 0)
		event_nearest_try(name, arg);
}

static void try_subsystem(const char *system, void *arg)
{
	struct event_nearest *nearest = arg;

	suggest_behind(nearest, event_span_of(system), ':');
	nearest->suffix = "";
	pmc_dir_visit(try_tracepoint, nearest, "%s/events/%s", event_tracefs(nearest->roots),
		      system);
}

void event_nearest_any(struct event_nearest *nearest, const struct pmc_event_roots *roots,
		       struct event_span word)
{
	struct event_span name = word, head = event_split(&name, ':');

	if (event_is_file_name(head) && event_is_file_name(name)) {
		event_nearest_init(nearest, roots, name);
		suggest_behind(nearest, head, ':');
		pmc_dir_visit(try_tracepoint, nearest, "%s/events/%.*s", event_tracefs(roots),
			      (int)head.len, head.at);
		if (nearest->text[0])
			return;
	}
	/* With ':' it may be a mistyped built-in name with a modifier. */
	event_nearest_init(nearest, roots, head);
	pmc_builtins_each(try_builtin, nearest);
	event_nearest_set(nearest);
	pmc_dir_visit(try_pmu, nearest, "%s", roots->sysfs);
	if (!name.len)
		pmc_dir_visit(try_subsystem, nearest, "%s/events", event_tracefs(roots));
}
