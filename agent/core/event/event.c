/* SPDX-License-Identifier: MIT */
/* event.c - parses event lists: items, braces, @sets; asks the sources of names in order. */
#include "agent/core/event/source.h"
#include "agent/core/base/out.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* ---- the list ----------------------------------------------------------------------------*/

static bool same_event(const struct pmc_event *a, const struct pmc_event *b)
{
	return a->type == b->type && a->config == b->config && a->config1 == b->config1 &&
	       a->config2 == b->config2 && a->config3 == b->config3 &&
	       a->exclude_user == b->exclude_user && a->exclude_kernel == b->exclude_kernel &&
	       a->asked_scope == b->asked_scope && a->pinned == b->pinned;
}

static void list_remove(struct event_parse *parse, unsigned at)
{
	struct pmc_events *events = parse->events;

	events->count--;
	for (unsigned i = at; i < events->count; i++) {
		events->list[i] = events->list[i + 1];
		parse->named[i] = parse->named[i + 1];
	}
}

/* Counts an event of a set once if it is also named or in another set; an event that is named twice
 * is counted twice. Braces stay complete. Returns whether the event needs no place of its own. */
static bool list_merge(struct event_parse *parse, struct pmc_event *event)
{
	struct pmc_events *events = parse->events;

	if (parse->set >= 0 && event->brace != PMC_NO_BRACE)
		return false;
	for (unsigned i = 0; i < events->count; i++) {
		struct pmc_event *old = &events->list[i];

		if (!same_event(old, event))
			continue;
		if (parse->set >= 0) {
			old->sets |= event->sets;
			return true;
		}
		if (parse->named[i] || old->brace != PMC_NO_BRACE)
			continue;
		event->sets |= old->sets;
		if (event->brace == PMC_NO_BRACE) {
			*old = *event;
			parse->named[i] = true;
			return true;
		}
		list_remove(parse, i);
		return false;
	}
	return false;
}

static int list_add(struct event_parse *parse, struct pmc_event *event, const char *at)
{
	struct pmc_events *events = parse->events;

	if (list_merge(parse, event))
		return 0;
	if (events->count == PMC_EVENTS_MAX)
		return event_fail(parse, PMC_PARSE_TOO_MANY, at, "more than %d events",
				  PMC_EVENTS_MAX);
	parse->named[events->count] = parse->set < 0;
	events->list[events->count++] = *event;
	return 0;
}

/* ---- one event ----------------------------------------------------------------------------*/

static int unknown_event(struct event_parse *parse, struct event_span name, const char *why)
{
	struct event_nearest nearest;

	event_nearest_init(&nearest, name);
	event_nearest_any(&nearest, &parse->roots);
	return event_fail(parse, PMC_PARSE_UNKNOWN_EVENT, name.at, "unknown event '%s': %s%s",
			  event_show(parse, name), why, event_nearest_text(&nearest));
}

/* A raw code of libpfm4 belongs to one type of core: "" keeps it from being added for each. */
static void event_from_pfm(struct pmc_event *event)
{
	if (event->type == PERF_TYPE_RAW)
		event->core_type = "";
}

/* Names that hold a ':': a tracepoint if tracefs has it, else libpfm4's. */
static int resolve_colons(struct event_parse *parse, struct event_span item,
			  struct pmc_event *event)
{
	struct event_span rest = item, sys = event_split(&rest, ':');
	bool more = event_has(rest, ':');
	struct event_span name = event_split(&rest, ':');
	struct event_span pfm = item, scope = { 0 };
	enum event_trace trace = event_tracepoint(&parse->roots, sys, name, event);
	const char *why;
	char text[224];
	struct pmc_out out;
	int rc;

	if (trace == EVENT_TRACE_FOUND)
		return more ? event_modify(parse, rest, item, event) : 0;
	while (event_is_modifiers((struct event_span){ pfm.at + pfm.len - 1, 1 }))
		pfm.len--;
	if (pfm.len < item.len && pfm.len && pfm.at[pfm.len - 1] == ':') {
		scope = (struct event_span){ pfm.at + pfm.len, item.len - pfm.len };
		pfm.len--;
	} else {
		pfm = item;
	}
	rc = event_pfm(parse, pfm, event, &why);
	if (rc < 0)
		return rc;
	if (rc == EVENT_FOUND) {
		event_from_pfm(event);
		return scope.len ? event_modify(parse, scope, item, event) : 0;
	}
	/* Only sys:name can be a tracepoint. */
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_out_str(&out, why);
	if (pfm.len == sys.len + 1 + name.len && event_is_file_name(sys) &&
	    event_is_file_name(name)) {
		if (trace == EVENT_TRACE_NONE)
			pmc_out_str(&out, ", and not a tracepoint");
		else if (trace == EVENT_TRACE_NOT_PERMITTED)
			pmc_outf(&out, ", and tracepoints are unknown: no permission to read %s",
				 event_tracefs(&parse->roots));
		else
			pmc_outf(&out,
				 ", and tracepoints are unknown: tracefs is not mounted at %s",
				 event_tracefs(&parse->roots));
	}
	return unknown_event(parse, scope.len ? pfm : item, text);
}

static int resolve(struct event_parse *parse, struct event_span item, struct pmc_event *event)
{
	struct event_span rest = item, head;
	const char *why;
	int rc;

	for (size_t i = 0; i < item.len; i++)
		if (strchr("*?[", item.at[i]))
			return event_fail(parse, PMC_PARSE_SYNTAX, item.at + i,
					  "no wildcards in '%s': name each event",
					  event_show(parse, item));
	if (event_has(item, '/')) {
		rc = event_pmu(parse, item, event);
		return rc < 0 ? rc : 0;
	}
	head = event_split(&rest, ':');
	if (!head.len)
		return event_fail(parse, PMC_PARSE_SYNTAX, item.at, "no event before ':' in '%s'",
				  event_show(parse, item));
	rc = event_builtin(head, event) ? EVENT_FOUND : event_raw(parse, head, event);
	if (rc < 0)
		return rc;
	if (rc == EVENT_FOUND)
		return head.len < item.len ? event_modify(parse, rest, item, event) : 0;
	if (head.len < item.len)
		return resolve_colons(parse, item, event);
	rc = event_pfm(parse, item, event, &why);
	if (rc < 0)
		return rc;
	if (rc != EVENT_FOUND)
		return unknown_event(parse, item, why);
	event_from_pfm(event);
	return 0;
}

/* One event, or on hybrid CPUs one for each type of core. */
static int add_everywhere(struct event_parse *parse, struct pmc_event *event, const char *at)
{
	const struct event_cores *cores;
	int rc = 0;

	event->position = parse->position++;
	if (!event_is_everywhere(event))
		return list_add(parse, event, at);
	cores = event_cores(parse);
	if (!cores)
		return -ENOMEM;
	if (!cores->n)
		return list_add(parse, event, at);
	for (unsigned i = 0; i < cores->n && !rc; i++) {
		struct pmc_event one = *event;

		event_to_core(&one, &cores->list[i]);
		rc = list_add(parse, &one, at);
	}
	return rc;
}

static int add_event(struct event_parse *parse, struct event_span item, int brace,
		     struct event_span modifiers)
{
	struct pmc_event event = { .unit = "", .pmu = "", .scale = 1.0, .brace = brace };
	int rc = resolve(parse, item, &event);

	if (rc)
		return rc;
	if (modifiers.at) {
		rc = event_modify(parse, modifiers, item, &event);
		if (rc)
			return rc;
	}
	rc = event_place(parse, &event);
	if (!rc)
		rc = event_check_uncore(parse, item, &event);
	if (rc)
		return rc;
	event.name = event_full_name(parse, item, &event, modifiers);
	if (!event.name)
		return -ENOMEM;
	if (event.type == PERF_TYPE_SOFTWARE && !event.unit[0] &&
	    (event.config == PERF_COUNT_SW_CPU_CLOCK || event.config == PERF_COUNT_SW_TASK_CLOCK))
		event.unit = "ns";
	if (parse->set >= 0)
		event.sets = 1u << parse->set;
	return add_everywhere(parse, &event, item.at);
}

/* ---- lists ---------------------------------------------------------------------------------*/

static bool ends_item(char c)
{
	return c == ',' || c == '{' || c == '}' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Takes one event: up to a separator, but anything between slashes. */
static struct event_span take_event(struct event_span *rest)
{
	struct event_span item = { rest->at, 0 };
	bool inside = false;

	while (item.len < rest->len && (inside || !ends_item(item.at[item.len]))) {
		inside ^= item.at[item.len] == '/';
		item.len++;
	}
	rest->at += item.len;
	rest->len -= item.len;
	*rest = event_trim(*rest);
	return item;
}

static struct event_span take_modifiers(struct event_span *rest)
{
	struct event_span item;

	if (!rest->len || rest->at[0] != ':')
		return (struct event_span){ 0 };
	rest->at++;
	rest->len--;
	item = take_event(rest);
	return item;
}

static int parse_list(struct event_parse *parse, struct event_span rest,
		      struct event_span modifiers);

/* `rest` starts behind the '{'. */
static int parse_brace(struct event_parse *parse, struct event_span *rest,
		       struct event_span set_modifiers)
{
	const char *open = rest->at - 1;
	struct event_span body = { rest->at, 0 }, modifiers;
	bool inside = false;
	int brace = parse->braces++, rc = 0;

	while (body.len < rest->len && (inside || rest->at[body.len] != '}')) {
		inside ^= rest->at[body.len] == '/';
		if (!inside && rest->at[body.len] == '{')
			return event_fail(parse, PMC_PARSE_SYNTAX, rest->at + body.len,
					  "nested braces: a group cannot contain a group");
		body.len++;
	}
	if (body.len == rest->len)
		return event_fail(parse, PMC_PARSE_SYNTAX, open, "'{' without '}'");
	rest->at += body.len + 1;
	rest->len -= body.len + 1;
	modifiers = take_modifiers(rest);
	if (modifiers.at) {
		/* Checked before the members, so that the error names the group. */
		struct event_span whole = { open, (size_t)(modifiers.at + modifiers.len - open) };

		rc = event_modify(parse, modifiers, whole, &(struct pmc_event){ 0 });
		if (rc)
			return rc;
	} else {
		modifiers = set_modifiers;
	}
	body = event_trim(body);
	if (!body.len)
		return event_fail(parse, PMC_PARSE_SYNTAX, open, "empty group");
	while (!rc) {
		struct event_span item = take_event(&body);

		if (!item.len)
			return event_fail(parse, PMC_PARSE_SYNTAX, item.at,
					  "missing event in a group");
		if (item.at[0] == '@')
			return event_fail(parse, PMC_PARSE_SYNTAX, item.at,
					  "a set in braces: a group cannot contain a set");
		rc = add_event(parse, item, brace, modifiers);
		if (rc || !body.len)
			break;
		if (body.at[0] != ',')
			return event_fail(parse, PMC_PARSE_SYNTAX, body.at,
					  "missing ',' in a group");
		body.at++;
		body.len--;
		body = event_trim(body);
	}
	*rest = event_trim(*rest);
	return rc;
}

/* Adds the first list of the set that resolves on this machine. */
static int expand(struct event_parse *parse, int set, struct event_span modifiers)
{
	struct pmc_events *events = parse->events;
	struct event_span lists = { pmc_event_sets[set].events,
				    strlen(pmc_event_sets[set].events) };
	const char *text = parse->text;
	unsigned count = events->count;
	int braces = parse->braces, rc = -EINVAL;

	if (events->sets & 1u << set && !modifiers.at)
		return 0;
	events->sets |= 1u << set;
	parse->set = set;
	while (rc == -EINVAL && lists.len) {
		struct event_span list = event_split(&lists, '|');

		events->count = count;
		for (unsigned i = 0; i < count; i++)
			events->list[i].sets &= ~(1u << set);
		parse->braces = braces;
		parse->text = list.at;
		rc = parse_list(parse, list, modifiers);
		if (parse->error->code == PMC_PARSE_TOO_MANY)
			break;
	}
	parse->text = text;
	parse->set = -1;
	return rc;
}

static int parse_set(struct event_parse *parse, struct event_span item)
{
	struct event_span rest = item, name = event_split(&rest, ':');
	struct event_nearest nearest;
	struct event_span modifiers = { 0 };
	int set, rc;

	set = pmc_event_set_find(name.at + 1, name.len - 1);
	if (set < 0) {
		event_nearest_init(&nearest, (struct event_span){ name.at + 1, name.len - 1 });
		event_nearest_set(&nearest);
		return event_fail(parse, PMC_PARSE_UNKNOWN_SET, item.at, "unknown set '%s'%s",
				  event_show(parse, name), event_nearest_text(&nearest));
	}
	if (name.len < item.len) {
		modifiers = rest;
		rc = event_modify(parse, modifiers, item, &(struct pmc_event){ 0 });
		if (rc)
			return rc;
	}
	rc = expand(parse, set, modifiers);
	if (rc == -EINVAL)
		parse->error->offset = (size_t)(item.at - parse->text);
	return rc;
}

/* `modifiers` are those of the @set that the list is from. */
static int parse_list(struct event_parse *parse, struct event_span rest,
		      struct event_span modifiers)
{
	int rc = 0;

	rest = event_trim(rest);
	while (!rc) {
		struct event_span item = rest;

		if (rest.len && rest.at[0] == '{') {
			rest.at++;
			rest.len--;
			rc = parse_brace(parse, &rest, modifiers);
		} else {
			item = take_event(&rest);
			if (!item.len && rest.len && rest.at[0] == '}')
				return event_fail(parse, PMC_PARSE_SYNTAX, rest.at,
						  "'}' without '{'");
			if (!item.len)
				return event_fail(parse, PMC_PARSE_SYNTAX, item.at,
						  "missing event %s ','",
						  rest.len ? "before" : "after");
			rc = item.at[0] == '@' ? parse_set(parse, item) :
						 add_event(parse, item, PMC_NO_BRACE, modifiers);
		}
		if (rc || !rest.len)
			break;
		if (rest.at[0] != ',')
			return event_fail(parse, PMC_PARSE_SYNTAX, rest.at,
					  "missing ',' before '%s'", event_show(parse, rest));
		rest.at++;
		rest.len--;
		rest = event_trim(rest);
	}
	return rc;
}

/* Numbers the items without gaps; the events of one item on several types of core share one. */
static void number(struct pmc_events *events)
{
	unsigned next = 0, item = 0;

	for (unsigned i = 0; i < events->count; i++) {
		bool same = i > 0 && events->list[i].position == item;

		item = events->list[i].position;
		next += i > 0 && !same;
		events->list[i].position = next;
	}
}

int pmc_events_parse(const char *text, const struct pmc_event_roots *roots, struct pmc_arena *arena,
		     struct pmc_events *events, struct pmc_parse_error *error)
{
	struct event_parse parse = {
		.text = text, .arena = arena, .events = events, .error = error, .set = -1
	};
	struct event_span all = event_trim((struct event_span){ text, strlen(text) });
	int rc;

	if (roots)
		parse.roots = *roots;
	if (!parse.roots.sysfs)
		parse.roots.sysfs = "/sys/bus/event_source/devices";
	*events = (struct pmc_events){ 0 };
	*error = (struct pmc_parse_error){ 0 };
	events->list = pmc_arena_alloc(arena, sizeof(*events->list) * PMC_EVENTS_MAX);
	if (!events->list)
		rc = -ENOMEM;
	else if (!all.len)
		rc = event_fail(&parse, PMC_PARSE_EMPTY, text, "empty event list");
	else
		rc = parse_list(&parse, all, (struct event_span){ 0 });
	event_pfm_close(&parse);
	if (rc == -ENOMEM) {
		event_fail(&parse, PMC_PARSE_NO_MEMORY, text, "out of memory");
	} else if (!rc) {
		*error = (struct pmc_parse_error){ 0 };
		number(events);
	}
	if (rc)
		*events = (struct pmc_events){ 0 };
	return rc;
}
