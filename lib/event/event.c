/* SPDX-License-Identifier: MIT */
/* event.c - parses event lists: items, braces, @sets; asks the sources of names in order,
 * and the PMUs of sysfs which CPUs count an event. */
#include "lib/base/advice.h"
#include "lib/event/source.h"

#include <errno.h>
#include <fcntl.h>
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
		if (parse->set >= 0)
			return true;
		if (parse->named[i] || old->brace != PMC_NO_BRACE)
			continue;
		if (event->brace == PMC_NO_BRACE) {
			*old = *event;
			parse->named[i] = true;
			return true;
		}
		memmove(old, old + 1, (events->count - i - 1) * sizeof(*old));
		memmove(&parse->named[i], &parse->named[i + 1], events->count - i - 1);
		events->count--;
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
		return event_fail(parse, -E2BIG, at, "more than %d events", PMC_EVENTS_MAX);
	parse->named[events->count] = parse->set < 0;
	events->list[events->count++] = *event;
	return 0;
}

/* ---- types of cores, and the CPUs that count an event, by sysfs --------------------------------
 *
 * The PMU of a type of core has a file `cpus`, an uncore PMU `cpumask`
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices in the kernel). A machine is hybrid if
 * it has two or more types of cores. */

/* PERF_PMU_TYPE_SHIFT, which headers before Linux 5.13 lack. */
#define TYPE_SHIFT 32

/* The kernel gives the PMU of the larger cores the lower number. */
static bool is_before(const struct event_core *a, const struct event_core *b)
{
	return a->type != b->type ? a->type < b->type : strcmp(a->name, b->name) < 0;
}

static void try_core(const char *name, void *arg)
{
	struct event_parse *parse = arg;
	struct event_cores *cores = &parse->cores;
	struct event_core core;
	unsigned at;

	if (cores->n == EVENT_CORES_MAX ||
	    pmc_path_exists("%s/%s/cpus", parse->roots.sysfs, name) != 0 ||
	    !event_pmu_type(parse->roots.sysfs, event_span_of(name), &core.type))
		return;
	core.name = pmc_arena_strdup(parse->arena, name);
	if (!core.name)
		return;
	for (at = cores->n++; at > 0 && is_before(&core, &cores->list[at - 1]); at--)
		cores->list[at] = cores->list[at - 1];
	cores->list[at] = core;
}

/* The types of cores there are, looked up once. NULL without memory. */
static const struct event_cores *find_cores(struct event_parse *parse)
{
	struct event_cores *cores = &parse->cores;

	if (!cores->known) {
		cores->known = true;
		/* x86 that is not hybrid has a PMU "cpu". */
		if (pmc_path_exists("%s/cpu", parse->roots.sysfs) != 0)
			parse->events->no_cores =
				pmc_dir_visit(try_core, parse, "%s", parse->roots.sysfs) == 0 &&
				cores->n == 0;
		if (parse->arena->failed)
			return NULL;
		if (cores->n < 2)
			cores->n = 0;
	}
	return cores;
}

/* Whether each type of core can count the event: generic, cache and raw events without a PMU. */
static bool is_everywhere(const struct pmc_event *event)
{
	if (event->pmu[0] || event->core_type)
		return false;
	return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ||
	       event->type == PERF_TYPE_RAW;
}

static void to_core(struct pmc_event *event, const struct event_core *core)
{
	event->core_type = core->name;
	/* Raw events have the type of the PMU, generic ones have it above the code. */
	if (event->type == PERF_TYPE_RAW)
		event->type = core->type;
	else
		event->config |= (uint64_t)core->type << TYPE_SHIFT;
}

/* The file is empty if none of the CPUs is online. */
static int find_uncore_cpus(struct event_parse *parse, struct pmc_event *event)
{
	char text[PMC_PATH_MAX];
	int len =
		pmc_file_read(text, sizeof(text), "%s/%s/cpumask", parse->roots.sysfs, event->pmu);

	if (len <= 0)
		return 0;
	event->cpus = pmc_arena_strndup(parse->arena, text, (size_t)len);
	return event->cpus ? 0 : -ENOMEM;
}

/* Sets the type of core or the CPUs of an event that names a PMU, by sysfs. 0 or -ENOMEM. */
static int place(struct event_parse *parse, struct pmc_event *event)
{
	const struct event_cores *cores;
	char name[EVENT_NAME_MAX];

	/* libpfm4 gives the number of the PMU only. */
	if (!event->pmu[0] && event_pmu_of_type(parse->roots.sysfs, event->type, name))
		event->pmu = pmc_arena_strdup(parse->arena, name);
	if (!event->pmu)
		return -ENOMEM;
	if (!event->pmu[0] && !event->core_type)
		return 0;
	cores = find_cores(parse);
	if (!cores)
		return -ENOMEM;
	for (unsigned i = 0; i < cores->n; i++) {
		if (cores->list[i].type == event->type) {
			event->core_type = cores->list[i].name;
			return 0;
		}
	}
	return event->pmu[0] ? find_uncore_cpus(parse, event) : 0;
}

/* Refuses modes and braces for an event that counts for the whole machine. */
static int check_uncore(struct event_parse *parse, struct event_span item,
			const struct pmc_event *event)
{
	if (!pmc_event_is_uncore(event) || (!event->asked_scope && event->brace == PMC_NO_BRACE))
		return 0;
	return event_fail(parse, -EINVAL, item.at,
			  "'%.*s' counts for the whole machine: leave out %s", EVENT_SHOW(item),
			  event->asked_scope ? ":u and :k" : "the braces");
}

/* ---- one event ----------------------------------------------------------------------------*/

/* A name that is not built in: a tracepoint if tracefs has it, else libpfm4's. */
static int resolve_elsewhere(struct event_parse *parse, struct event_span item,
			     struct pmc_event *event)
{
	struct event_span rest = item, sys = event_split(&rest, ':'),
			  name = event_split(&rest, ':');
	struct event_span modifiers = item, base = item;
	int trace = event_tracepoint(&parse->roots, sys, name, event), rc;
	struct event_nearest nearest;
	const char *why, *more = "";
	char unknown[PMC_PATH_MAX] = "";
	int error = -ENOENT;

	if (trace == EVENT_FOUND)
		return event_modify(parse, rest, item, event);
	while (event_has(modifiers, ':'))
		event_split(&modifiers, ':');
	if (modifiers.len < item.len && event_is_modifiers(modifiers))
		base.len -= modifiers.len + 1;
	else
		modifiers = (struct event_span){ 0 };
	rc = event_pfm(parse, base, event, &why);
	if (rc < 0)
		return rc;
	if (rc == EVENT_FOUND) {
		/* A raw code belongs to one type of core: "" keeps it from being added for each. */
		if (event->type == PERF_TYPE_RAW)
			event->core_type = "";
		return event_modify(parse, modifiers, item, event);
	}
	/* Only sys:name can be a tracepoint. */
	rest = event_skip(base, sys.len < base.len ? sys.len + 1 : base.len);
	if (event_is_file_name(sys) && event_is_file_name(rest)) {
		more = trace ? ", and tracepoints are unknown: " : ", and not a tracepoint";
		if (trace) {
			error = event_tracefs_error(&parse->roots, trace, unknown);
			why = NULL;
		}
	}
	event_nearest_any(&nearest, &parse->roots, base);
	return event_fail(parse, error, base.at, "unknown event '%.*s': not built in%s%s%s%s%s",
			  EVENT_SHOW(base), why ? "; libpfm4: " : "", why ? why : "", more, unknown,
			  *nearest.text || *unknown ? nearest.text : "; pmctl list shows names");
}

static int resolve(struct event_parse *parse, struct event_span item, struct pmc_event *event)
{
	struct event_span rest = item, head;

	for (size_t i = 0; i < item.len; i++)
		if (strchr("*?[", item.at[i]))
			return event_fail(parse, -EINVAL, item.at + i,
					  "no wildcards in '%.*s': name each event; pmctl list "
					  "'%.*s' shows them",
					  EVENT_SHOW(item), EVENT_SHOW(item));
	if (event_has(item, '/'))
		return event_pmu(parse, item, event);
	head = event_split(&rest, ':');
	if (!head.len)
		return event_fail(parse, -EINVAL, item.at, "no event before ':' in '%.*s'",
				  EVENT_SHOW(item));
	if (event_builtin(head, event) || event_raw(head, event))
		return event_modify(parse, rest, item, event);
	return resolve_elsewhere(parse, item, event);
}

/* One event, or on hybrid CPUs one for each type of core. */
static int add_everywhere(struct event_parse *parse, struct pmc_event *event, const char *at)
{
	const struct event_cores *cores;
	int rc = 0;

	event->position = parse->position++;
	if (!is_everywhere(event))
		return list_add(parse, event, at);
	cores = find_cores(parse);
	if (!cores)
		return -ENOMEM;
	if (!cores->n)
		return list_add(parse, event, at);
	for (unsigned i = 0; i < cores->n && !rc; i++) {
		struct pmc_event one = *event;

		to_core(&one, &cores->list[i]);
		rc = list_add(parse, &one, at);
	}
	return rc;
}

static int add_event(struct event_parse *parse, struct event_span item, int brace,
		     struct event_span modifiers)
{
	struct pmc_event event = { .unit = "", .pmu = "", .scale = 1.0, .brace = brace };
	int rc = resolve(parse, item, &event);

	if (!rc)
		rc = event_modify(parse, modifiers, item, &event);
	if (!rc)
		rc = place(parse, &event);
	if (!rc)
		rc = check_uncore(parse, item, &event);
	if (rc)
		return rc;
	event.name = event_full_name(parse, item, &event, modifiers);
	if (!event.name)
		return -ENOMEM;
	if (pmc_event_is_of_os(&event) || (pmc_event_is_clock(&event) && !event.unit[0]))
		event.unit = "ns";
	return add_everywhere(parse, &event, item.at);
}

/* ---- lists ---------------------------------------------------------------------------------*/

/* Takes what comes before one of the characters, but anything between slashes. */
static struct event_span take_until(struct event_span *rest, const char *ends)
{
	struct event_span item = { rest->at, 0 };
	bool inside = false;

	while (item.len < rest->len && (inside || !strchr(ends, item.at[item.len])))
		inside ^= item.at[item.len++] == '/';
	*rest = event_skip(*rest, item.len);
	return item;
}

static struct event_span take_event(struct event_span *rest)
{
	struct event_span item = take_until(rest, ",{} \t\n\r");

	*rest = event_trim(*rest);
	return item;
}

static int parse_list(struct event_parse *parse, struct event_span rest, int brace,
		      struct event_span modifiers);

/* `rest` starts behind the '{'. */
static int parse_brace(struct event_parse *parse, struct event_span *rest,
		       struct event_span set_modifiers)
{
	struct event_span whole = { rest->at - 1, 0 }, body = take_until(rest, "}");
	struct event_span modifiers = { 0 };
	int rc;

	if (!rest->len)
		return event_fail(parse, -EINVAL, whole.at, "'{' without '}'");
	*rest = event_skip(*rest, 1);
	if (rest->len && rest->at[0] == ':') {
		*rest = event_skip(*rest, 1);
		modifiers = take_event(rest);
		whole.len = (size_t)(modifiers.at + modifiers.len - whole.at);
	}
	/* Checked before the members, so that the error names the group. */
	rc = event_modify(parse, modifiers, whole, &(struct pmc_event){ 0 });
	if (rc)
		return rc;
	*rest = event_trim(*rest);
	if (!event_trim(body).len)
		return event_fail(parse, -EINVAL, whole.at, "empty group");
	return parse_list(parse, body, parse->braces++, modifiers.at ? modifiers : set_modifiers);
}

/* Adds the first list of the set that resolves on this machine. */
static int expand(struct event_parse *parse, int set, struct event_span modifiers)
{
	struct pmc_events *events = parse->events;
	struct event_span lists = event_span_of(pmc_event_sets[set].events);
	const char *text = parse->text;
	unsigned count = events->count;
	int braces = parse->braces, rc = -ENOENT;

	if (events->sets & 1u << set && !modifiers.at)
		return 0;
	events->sets |= 1u << set;
	parse->set = set;
	while (rc && rc != -ENOMEM && rc != -E2BIG && lists.at) {
		struct event_span list = event_split(&lists, '|');

		events->count = count;
		parse->braces = braces;
		parse->text = list.at;
		rc = parse_list(parse, list, PMC_NO_BRACE, modifiers);
	}
	parse->text = text;
	parse->set = -1;
	return rc;
}

static int parse_set(struct event_parse *parse, struct event_span item)
{
	struct event_span modifiers = item, name = event_split(&modifiers, ':');
	struct event_span word = event_skip(name, 1);
	int set = pmc_event_set_find(word.at, word.len), rc;
	struct event_nearest nearest;

	if (set < 0) {
		event_nearest_init(&nearest, &parse->roots, word);
		event_nearest_set(&nearest);
		return event_fail(parse, -ENOENT, item.at, "unknown set '%.*s'%s", EVENT_SHOW(name),
				  nearest.text);
	}
	rc = event_modify(parse, modifiers, item, &(struct pmc_event){ 0 });
	if (rc)
		return rc;
	rc = expand(parse, set, modifiers);
	if (rc)
		parse->error->offset = (size_t)(item.at - parse->text);
	return rc;
}

static int parse_item(struct event_parse *parse, struct event_span *rest, int brace,
		      struct event_span modifiers)
{
	struct event_span item = *rest;
	bool nests = rest->len && strchr("{@", rest->at[0]);

	if (nests && brace != PMC_NO_BRACE)
		return event_fail(parse, -EINVAL, item.at,
				  "'%c' in braces: a group cannot contain groups or sets",
				  item.at[0]);
	if (nests && rest->at[0] == '{') {
		*rest = event_skip(*rest, 1);
		return parse_brace(parse, rest, modifiers);
	}
	item = take_event(rest);
	if (!item.len)
		return event_fail(parse, -EINVAL, item.at, "missing event %s '%c'",
				  rest->len ? "before" : "after", rest->len ? rest->at[0] : ',');
	return nests ? parse_set(parse, item) : add_event(parse, item, brace, modifiers);
}

/* brace: its number, for a list in braces. modifiers: of the braces or the @set around the list. */
static int parse_list(struct event_parse *parse, struct event_span rest, int brace,
		      struct event_span modifiers)
{
	for (;;) {
		int rc;

		rest = event_trim(rest);
		rc = parse_item(parse, &rest, brace, modifiers);
		if (rc || !rest.len)
			return rc;
		if (rest.at[0] != ',')
			return event_fail(parse, -EINVAL, rest.at, "missing ',' before '%.*s'",
					  EVENT_SHOW(rest));
		rest = event_skip(rest, 1);
	}
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

/* Names of files cannot be looked up without a descriptor: that is the error then. */
static int no_descriptor(struct event_parse *parse, int error)
{
	int fd = pmc_fd_open(AT_FDCWD, "/", O_RDONLY | O_CLOEXEC, 0);
	const char *means, *todo;

	if (fd >= 0)
		pmc_fd_close(fd);
	if (fd != -EMFILE && fd != -ENFILE)
		return error;
	means = pmc_error_means(fd, &todo);
	return event_fail(parse, fd, parse->text, "%s; %s", means, todo);
}

int pmc_events_parse(const char *text, const struct pmc_event_roots *roots, struct pmc_arena *arena,
		     struct pmc_events *events, struct pmc_parse_error *error)
{
	struct event_parse parse = {
		.text = text, .arena = arena, .events = events, .error = error, .set = -1
	};
	struct event_span all = event_trim(event_span_of(text));
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
		rc = event_fail(&parse, -EINVAL, text, "empty event list");
	else
		rc = parse_list(&parse, all, PMC_NO_BRACE, (struct event_span){ 0 });
	event_pfm_close(&parse);
	if (!rc) {
		*error = (struct pmc_parse_error){ 0 };
		number(events);
		return 0;
	}
	*events = (struct pmc_events){ 0 };
	if (rc == -ENOENT)
		rc = no_descriptor(&parse, rc);
	return rc == -ENOMEM ? event_fail(&parse, rc, text, "out of memory") : rc;
}
