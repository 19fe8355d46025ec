/* SPDX-License-Identifier: MIT */
/* pmu.c - events by sysfs and tracefs: pmu/field=value,event,.../ and tracepoints. */
#include "lib/base/advice.h"
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "lib/event/source.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX 1024

/* field=value, or the name of an event or a flag alone. */
struct term {
	struct event_span name, value;
};

struct pmu_parse {
	struct event_parse *parse;
	struct event_span pmu, item, terms;
	struct pmc_event *event;
	const char *at; /* position of errors */
};

static struct term take_term(struct event_span *rest)
{
	struct event_span value = event_trim(event_split(rest, ','));
	struct event_span name = event_trim(event_split(&value, '='));

	return (struct term){ name, event_trim(value) };
}

/* A file of the PMU in sysfs. Returns its length or -errno. */
static int read_pmu_file(const struct pmu_parse *p, const char *folder, struct event_span name,
			 const char *suffix, char *text, size_t cap)
{
	if (!event_is_file_name(name))
		return -ENOENT;
	return pmc_file_read(text, cap, "%s/%.*s/%s/%.*s%s", p->parse->roots.sysfs, (int)p->pmu.len,
			     p->pmu.at, folder, (int)name.len, name.at, suffix);
}

/* ---- fields ------------------------------------------------------------------------------*/

static uint64_t *config_of(struct pmc_event *event, struct event_span name)
{
	return event_span_is(name, "config")  ? &event->config :
	       event_span_is(name, "config1") ? &event->config1 :
	       event_span_is(name, "config2") ? &event->config2 :
	       event_span_is(name, "config3") ? &event->config3 :
						NULL;
}

bool event_format(struct pmc_event *event, const char *text, uint64_t **word, uint64_t *mask)
{
	struct event_span bits = event_span_of(text);
	uint64_t low, high;

	*word = config_of(event, event_split(&bits, ':'));
	*mask = 0;
	while (bits.at && *bits.at) {
		if (!pmc_range_take(&bits.at, &low, &high) || low > high || high > 63)
			return false;
		*mask |= UINT64_MAX >> (63 - (high - low)) << low;
	}
	return *word && *mask;
}

/* Deposits the value's bits into the bits of the mask. False: the value has more. */
static bool scatter(uint64_t *word, uint64_t mask, uint64_t value)
{
	*word &= ~mask;
	for (; mask; mask &= mask - 1) {
		if (value & 1)
			*word |= mask & -mask;
		value >>= 1;
	}
	return !value;
}

static int unknown_field(struct pmu_parse *p, struct event_span name)
{
	struct event_nearest nearest;

	event_nearest_init(&nearest, &p->parse->roots, name);
	pmc_dir_visit(event_nearest_try, &nearest, "%s/%.*s/events", p->parse->roots.sysfs,
		      (int)p->pmu.len, p->pmu.at);
	pmc_dir_visit(event_nearest_try, &nearest, "%s/%.*s/format", p->parse->roots.sysfs,
		      (int)p->pmu.len, p->pmu.at);
	return event_fail(p->parse, -ENOENT, p->at, "unknown field or event '%.*s' of PMU '%.*s'%s",
			  EVENT_SHOW(name), EVENT_SHOW(p->pmu), nearest.text);
}

static int set_field(struct pmu_parse *p, const struct term *term)
{
	uint64_t number = 1, mask = 0, *word = config_of(p->event, term->name);
	struct pmc_event raw = { 0 };
	char format[128];
	int len;

	if (event_span_is(term->name, "name") && term->value.at) {
		p->event->name =
			pmc_arena_strndup(p->parse->arena, term->value.at, term->value.len);
		if (!p->event->name)
			return -ENOMEM;
		return *p->event->name ?
			       0 :
			       event_fail(p->parse, -EINVAL, p->at, "name= without a name");
	}
	if (term->value.at && !event_number(term->value, &number))
		return event_fail(
			p->parse, -EINVAL, p->at,
			"value '%.*s' of field '%.*s': not a decimal or 0x number of 64 bits",
			EVENT_SHOW(term->value), EVENT_SHOW(term->name));
	len = read_pmu_file(p, "format", term->name, "", format, sizeof(format));
	if (len >= 0) {
		if (!event_format(p->event, format, &word, &mask))
			return event_fail(p->parse, -ENOENT, p->at,
					  "field '%.*s': unknown format '%s' in sysfs",
					  EVENT_SHOW(term->name), format);
		if (!scatter(word, mask, number))
			return event_fail(p->parse, -EINVAL, p->at,
					  "value '%.*s' of field '%.*s': more than %u bits",
					  EVENT_SHOW(term->value), EVENT_SHOW(term->name),
					  (unsigned)__builtin_popcountll(mask));
		return 0;
	}
	if (word && term->value.at) {
		*word = number;
		return 0;
	}
	/* Sampling settings, which events in sysfs carry too, do not change a count. */
	if (term->value.at &&
	    (event_span_is(term->name, "period") || event_span_is(term->name, "freq")))
		return 0;
	if (term->value.at || !event_raw(term->name, &raw))
		return unknown_field(p, term->name);
	p->event->config = raw.config;
	return 0;
}

/* ---- named events -------------------------------------------------------------------------*/

/* strtod() would depend on the locale. */
static bool decimal(const char *text, double *value)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *end;

	if (!c)
		return false;
	*value = strtod_l(text, &end, c);
	freelocale(c);
	return end != text && !*end;
}

static bool has_value(const struct pmu_parse *p, struct event_span name)
{
	for (struct event_span rest = p->terms; rest.at;) {
		struct term term = take_term(&rest);

		if (term.value.at && term.name.len == name.len &&
		    !memcmp(term.name.at, name.at, name.len))
			return true;
	}
	return false;
}

/* EVENT_FOUND, EVENT_NOT_MINE: it names no event, or an error. */
static int set_named_event(struct pmu_parse *p, const struct term *named)
{
	const struct event_span name = named->name;
	struct pmc_event generic;
	char text[FILE_MAX];
	struct event_span rest;

	if (named->value.at || event_has(name, '.'))
		return EVENT_NOT_MINE;
	if (read_pmu_file(p, "events", name, "", text, sizeof(text)) < 0) {
		/* The kernel's software PMU has no files of its events. */
		if (!event_span_is(p->pmu, "software") || !event_builtin(name, &generic) ||
		    generic.type != PERF_TYPE_SOFTWARE)
			return EVENT_NOT_MINE;
		p->event->config = generic.config;
		return EVENT_FOUND;
	}
	for (rest = event_span_of(text); rest.at;) {
		struct term term = take_term(&rest);
		int rc = 0;

		if (!event_span_is(term.value, "?"))
			rc = set_field(p, &term);
		else if (!has_value(p, term.name))
			rc = event_fail(p->parse, -EINVAL, p->at,
					"event '%.*s': no value for '%.*s'; add %.*s=1",
					EVENT_SHOW(name), EVENT_SHOW(term.name),
					EVENT_SHOW(term.name));
		if (rc)
			return rc;
	}
	if (read_pmu_file(p, "events", name, ".scale", text, sizeof(text)) >= 0 &&
	    !decimal(text, &p->event->scale))
		return event_fail(p->parse, -EINVAL, p->at, "event '%.*s': unknown scale in sysfs",
				  EVENT_SHOW(name));
	if (read_pmu_file(p, "events", name, ".unit", text, sizeof(text)) > 0)
		p->event->unit = pmc_arena_strdup(p->parse->arena, text);
	return p->event->unit ? EVENT_FOUND : -ENOMEM;
}

/* ---- the whole ----------------------------------------------------------------------------*/

/* Sets the event among the terms, then the fields, which override those of the event. */
static int set_terms(struct pmu_parse *p)
{
	struct event_span named = { 0 }, rest;

	if (!event_trim(p->terms).len)
		return event_fail(p->parse, -EINVAL, p->terms.at,
				  "'%.*s': no event between the slashes", EVENT_SHOW(p->item));
	for (rest = p->terms; rest.at;) {
		struct term term = take_term(&rest);
		int rc;

		p->at = term.name.at;
		if (!term.name.len)
			return event_fail(p->parse, -EINVAL, p->at, "'%.*s': missing field",
					  EVENT_SHOW(p->item));
		rc = set_named_event(p, &term);
		if (rc < 0)
			return rc;
		if (rc == EVENT_FOUND && named.at)
			return event_fail(p->parse, -EINVAL, p->at,
					  "'%.*s' and '%.*s' are two events: write one item for "
					  "each",
					  EVENT_SHOW(named), EVENT_SHOW(term.name));
		if (rc == EVENT_FOUND)
			named = term.name;
	}
	for (rest = p->terms; rest.at;) {
		struct term term = take_term(&rest);
		int rc;

		p->at = term.name.at;
		rc = p->at == named.at ? 0 : set_field(p, &term);
		if (rc)
			return rc;
	}
	return 0;
}

bool event_pmu_type(const char *sysfs, struct event_span pmu, uint32_t *type)
{
	uint64_t number;
	char text[32];

	if (!event_is_file_name(pmu) ||
	    pmc_file_read(text, sizeof(text), "%s/%.*s/type", sysfs, (int)pmu.len, pmu.at) < 0 ||
	    !pmc_number(text, UINT32_MAX, &number))
		return false;
	*type = (uint32_t)number;
	return true;
}

struct type_search {
	const char *sysfs;
	uint32_t type;
	struct pmc_out name;
};

static void try_type(const char *name, void *arg)
{
	struct type_search *search = arg;
	uint32_t type;

	if (event_pmu_type(search->sysfs, event_span_of(name), &type) && type == search->type)
		pmc_out_str(&search->name, name);
}

bool event_pmu_of_type(const char *sysfs, uint32_t type, char name[EVENT_NAME_MAX])
{
	struct type_search search = { sysfs, type, pmc_out_mem(name, EVENT_NAME_MAX) };

	if (type >= PERF_TYPE_MAX)
		pmc_dir_visit(try_type, &search, "%s", sysfs);
	return search.name.len;
}

static int unknown_pmu(const struct pmu_parse *p)
{
	struct event_nearest nearest;

	event_nearest_init(&nearest, &p->parse->roots, p->pmu);
	pmc_dir_visit(event_nearest_try, &nearest, "%s", p->parse->roots.sysfs);
	return event_fail(p->parse, -ENOENT, p->pmu.at, "unknown PMU '%.*s'%s", EVENT_SHOW(p->pmu),
			  nearest.text);
}

int event_pmu(struct event_parse *parse, struct event_span item, struct pmc_event *event)
{
	struct event_span modifiers = item;
	struct pmu_parse p = { .parse = parse, .item = item, .event = event };
	int rc;

	p.pmu = event_trim(event_split(&modifiers, '/'));
	p.terms = event_split(&modifiers, '/');
	if (!p.pmu.len)
		return event_fail(parse, -EINVAL, item.at, "'%.*s': no PMU before the first slash",
				  EVENT_SHOW(item));
	if (!modifiers.at)
		return event_fail(parse, -EINVAL, item.at, "'%.*s': missing closing slash",
				  EVENT_SHOW(item));
	if (event_has(modifiers, '/'))
		return event_fail(parse, -EINVAL, modifiers.at, "'%.*s': too many slashes",
				  EVENT_SHOW(item));
	if (!event_pmu_type(parse->roots.sysfs, p.pmu, &event->type))
		return unknown_pmu(&p);
	event->pmu = pmc_arena_strndup(parse->arena, p.pmu.at, p.pmu.len);
	if (!event->pmu)
		return -ENOMEM;
	event->filter = event_span_is(p.pmu, "kprobe") ? PMC_KERNEL_ONLY :
			event_span_is(p.pmu, "uprobe") ? PMC_UNFILTERED :
							 PMC_FILTERED;
	rc = set_terms(&p);
	if (rc || !modifiers.len)
		return rc;
	/* Both cpu/.../u and cpu/.../:u. */
	return event_modify(parse, event_skip(modifiers, modifiers.at[0] == ':'), item, event);
}

/* ---- kernel tracepoints, sys:name, by their number in tracefs ------------------------------- */

static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

const char *event_tracefs(const struct pmc_event_roots *roots)
{
	if (roots->tracefs)
		return roots->tracefs;
	/* debugfs mounts tracefs on first access, if at all. */
	return pmc_path_exists("%s/events", places[0]) == -ENOENT &&
			       !pmc_path_exists("%s/events", places[1]) ?
		       places[1] :
		       places[0];
}

int event_tracepoint(const struct pmc_event_roots *roots, struct event_span sys,
		     struct event_span name, struct pmc_event *event)
{
	const char *root = event_tracefs(roots);
	char text[32];
	int rc;

	if (!event_is_file_name(sys) || !event_is_file_name(name))
		return EVENT_NOT_MINE;
	rc = pmc_file_read(text, sizeof(text), "%s/events/%.*s/%.*s/id", root, (int)sys.len, sys.at,
			   (int)name.len, name.at);
	if (rc >= 0 && event_number(event_span_of(text), &event->config)) {
		event->type = PERF_TYPE_TRACEPOINT;
		/* perf_syscall_enter() in kernel/trace/trace_syscalls.c passes the registers of
		 * user mode; others pass the kernel's, and perf_tp_event_match() in
		 * kernel/events/core.c looks at exclude_kernel only. */
		event->filter = event_span_is(sys, "syscalls") ? PMC_UNFILTERED : PMC_KERNEL_ONLY;
		return EVENT_FOUND;
	}
	return rc == -ENOENT ? pmc_path_exists("%s/events", root) : rc < 0 ? rc : EVENT_NOT_MINE;
}

int event_tracefs_error(const struct pmc_event_roots *roots, int error, char text[PMC_PATH_MAX])
{
	const char *root = event_tracefs(roots), *means, *todo;
	struct pmc_out out = pmc_out_mem(text, PMC_PATH_MAX);

	means = pmc_error_means(error, &todo);
	if (error == -ENOENT)
		pmc_outf(&out, "tracefs is not mounted; mount -t tracefs tracefs %s", root);
	else if (error == -EACCES && !pmc_path_exists("%s/events", root))
		pmc_outf(&out, "no permission to read the events in %s; run as root", root);
	else if (error == -EACCES)
		pmc_outf(&out, "no permission to read %s; as root: chmod a+rx %s", root, root);
	else
		pmc_outf(&out, "cannot read %s: %s; %s", root, means, todo);
	return error == -ENOENT ? -ENODEV : error;
}
