/* SPDX-License-Identifier: MIT */
/*
 * counter_event_name.c - events by name: strings, tracepoints, probes, PMUs and their fields.
 *
 * All go through the event parser (agent/core/event/event.h), so that names mean the same
 * everywhere.
 */
#include "agent/core/api/counter/counter.h"
#include "agent/core/api/counter/counter_event.h"
#include "agent/core/event/source.h"
#include "agent/core/base/out.h"

#include <errno.h>
#include <string.h>

#define TEXT_MAX 1024

int counter_event_error(const struct pmc_parse_error *error)
{
	switch (error->code) {
	case PMC_PARSE_UNKNOWN_EVENT:
	case PMC_PARSE_UNKNOWN_SET:
	case PMC_PARSE_UNKNOWN_PMU:
	case PMC_PARSE_UNKNOWN_FIELD:
		return -ENOENT;
	case PMC_PARSE_NO_MEMORY:
		return -ENOMEM;
	default:
		return -EINVAL;
	}
}

void counter_event_of(const struct pmc_event *from, struct pmc_counter_event *event)
{
	size_t unit = strlen(from->unit);

	*event = (struct pmc_counter_event){
		.type = from->type,
		.config = from->config,
		.config1 = from->config1,
		.config2 = from->config2,
		.config3 = from->config3,
		.exclude_user = from->exclude_user,
		.exclude_kernel = from->exclude_kernel,
		.pinned = from->pinned,
		.scale = from->scale,
	};
	if (unit < sizeof(event->unit))
		memcpy(event->unit, from->unit, unit);
}

/* A counter counts on one core type: taking the first would silently leave out the others. */
static int not_one(const struct pmc_events *events, const char *what, struct pmc_failure *failure)
{
	const struct pmc_event *last = &events->list[events->count ? events->count - 1 : 0];

	if (events->count && last->position == 0 && last->core_type)
		return counter_fail(failure, -EINVAL, what,
				    "this is one event for each of %u core types; name the PMU of "
				    "one, as %s/event=.../ or %s/event=.../",
				    events->count, events->list[0].core_type, last->core_type);
	return counter_fail(failure, -EINVAL, what, "%u events; expected one", events->count);
}

int counter_event_text(struct pmc_counter_event *event, const char *text, const char *what,
		       const struct pmc_event_roots *roots, struct pmc_failure *failure)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	int rc = pmc_events_parse(text, roots, &arena, &events, &error);

	what = what ? what : text;
	if (rc) {
		rc = counter_fail(failure, counter_event_error(&error), what, "%s", error.text);
	} else if (events.count != 1) {
		rc = not_one(&events, what, failure);
	} else {
		counter_event_of(&events.list[0], event);
	}
	pmc_arena_free(&arena);
	return rc;
}

int pmc_counter_event_parse(struct pmc_counter_event *event, const char *text,
			    struct pmc_failure *failure)
{
	return counter_event_text(event, text, NULL, NULL, failure);
}

/* ---- tracepoints --------------------------------------------------------------------------*/

int counter_event_trace(struct pmc_counter_event *event, const char *system, const char *name,
			const struct pmc_event_roots *roots, struct pmc_failure *failure)
{
	struct pmc_event found = { 0 };
	char what[sizeof(failure->what)];
	struct pmc_out out;

	pmc_out_to_mem(&out, what, sizeof(what));
	pmc_outf(&out, "%s:%s", system, name);
	switch (event_tracepoint(roots, event_span_of(system), event_span_of(name), &found)) {
	case EVENT_FOUND:
		return pmc_counter_event_tracepoint_id(event, found.config);
	case EVENT_NOT_MINE:
		return counter_fail(failure, -ENOENT, what, "no such tracepoint in %s",
				    event_tracefs(roots));
	case -ENOENT:
		return counter_fail(failure, -ENODEV, what,
				    "tracefs is not mounted; mount -t tracefs tracefs %s",
				    event_tracefs(roots));
	default:
		return counter_fail(failure, -EACCES, what,
				    "no permission to read %s; as root: chmod a+rx %s",
				    event_tracefs(roots), event_tracefs(roots));
	}
}

int pmc_counter_event_tracepoint(struct pmc_counter_event *event, const char *system,
				 const char *name, struct pmc_failure *failure)
{
	return counter_event_trace(event, system, name, &(struct pmc_event_roots){ 0 }, failure);
}

/* ---- PMUs and their fields ----------------------------------------------------------------*/

/* Whether the name has no character with a meaning in event strings. */
static bool is_plain(const char *name)
{
	return name[0] && !strpbrk(name, "/,=:@{}*?[ \t\n\r");
}

static int pmu_text(struct pmc_counter_event *event, const char *pmu, const char *terms,
		    const struct pmc_event_roots *roots, struct pmc_failure *failure)
{
	char text[TEXT_MAX];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_outf(&out, "%s/%s/", pmu, terms);
	if (out.error || !is_plain(pmu) || strchr(terms, '/'))
		return counter_fail(failure, -EINVAL, pmu, "%s",
				    out.error ? "text too long" : "invalid character in the name");
	return counter_event_text(event, text, pmu, roots, failure);
}

int counter_event_pmu(struct pmc_counter_event *event, const char *pmu,
		      const struct pmc_counter_field *fields, size_t n,
		      const struct pmc_event_roots *roots, struct pmc_failure *failure)
{
	char terms[TEXT_MAX];
	struct pmc_out out;

	pmc_out_to_mem(&out, terms, sizeof(terms));
	for (size_t i = 0; i < n; i++) {
		if (!is_plain(fields[i].name))
			return counter_fail(failure, -EINVAL, fields[i].name,
					    "invalid character in the name");
		pmc_outf(&out, "%s%s=0x%llx", i ? "," : "", fields[i].name,
			 (unsigned long long)fields[i].value);
	}
	if (out.error)
		return counter_fail(failure, -EINVAL, pmu, "too many fields");
	return pmu_text(event, pmu, n ? terms : "config=0", roots, failure);
}

int pmc_counter_event_pmu(struct pmc_counter_event *event, const char *pmu,
			  const struct pmc_counter_field *fields, size_t n,
			  struct pmc_failure *failure)
{
	return counter_event_pmu(event, pmu, fields, n, NULL, failure);
}

int pmc_counter_event_fields(struct pmc_counter_event *event, const char *pmu, const char *fields,
			     struct pmc_failure *failure)
{
	return pmu_text(event, pmu, fields, NULL, failure);
}

int pmc_counter_event_msr(struct pmc_counter_event *event, const char *name,
			  struct pmc_failure *failure)
{
	if (!is_plain(name))
		return counter_fail(failure, -EINVAL, name, "invalid character in the name");
	return pmu_text(event, "msr", name, NULL, failure);
}

/* ---- probes -------------------------------------------------------------------------------*/

/* The PMU defines the type and the bit for returns: perf_kprobe and perf_uprobe in
 * kernel/events/core.c. */
static int probe(struct pmc_counter_event *event, const char *pmu, bool ret, uint64_t config1,
		 uint64_t config2, struct pmc_failure *failure)
{
	const struct pmc_counter_field field = { "retprobe", 1 };
	int error = pmc_counter_event_pmu(event, pmu, &field, ret, failure);

	if (error)
		return error;
	event->config1 = config1;
	event->config2 = config2;
	return 0;
}

int pmc_counter_event_kprobe(struct pmc_counter_event *event, bool ret, const char *symbol,
			     uint64_t offset, struct pmc_failure *failure)
{
	return probe(event, "kprobe", ret, (uint64_t)(uintptr_t)symbol, offset, failure);
}

int pmc_counter_event_kprobe_address(struct pmc_counter_event *event, bool ret, uint64_t address,
				     struct pmc_failure *failure)
{
	return probe(event, "kprobe", ret, 0, address, failure);
}

int pmc_counter_event_uprobe(struct pmc_counter_event *event, bool ret, const char *path,
			     uint64_t offset, struct pmc_failure *failure)
{
	return probe(event, "uprobe", ret, (uint64_t)(uintptr_t)path, offset, failure);
}
