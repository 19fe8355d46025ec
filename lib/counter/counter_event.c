/* SPDX-License-Identifier: MIT */
/*
 * counter_event.c - events given as numbers, by name, as probes, and by PMU and field.
 *
 * Names go through the event parser (lib/event/event.h), so that they mean the same everywhere.
 */
#include "lib/counter/counter.h"
#include "lib/base/out.h"
#include "lib/event/source.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <string.h>

/* ---- names --------------------------------------------------------------------------------*/

const struct pmc_event_roots *counter_roots;

static void set_text(char *to, size_t size, const char *from)
{
	struct pmc_out out = pmc_out_mem(to, size);

	pmc_out_str(&out, from);
}

static void try_name(const struct pmc_builtin *row, void *arg)
{
	struct pmc_counter_event *event = arg;

	if (!event->name[0] && !row->alias_of && row->type == event->type &&
	    row->config == event->config)
		set_text(event->name, sizeof(event->name), row->name);
}

/* The name as in perf, or of the form "software 12". */
static void set_name(struct pmc_counter_event *event, const char *kind)
{
	struct pmc_out out;

	pmc_builtins_each(try_name, event);
	if (event->name[0])
		return;
	pmc_out_to_mem(&out, event->name, sizeof(event->name));
	pmc_outf(&out, "%s 0x%llx", kind, (unsigned long long)event->config);
}

const char *counter_event_name(const struct pmc_counter_event *event)
{
	return event->name[0] ? event->name : "event";
}

enum pmc_filter counter_filter(const struct pmc_counter_event *event)
{
	const struct pmc_event same = { .type = event->type,
					.config = event->config,
					.filter = event->filter };

	return pmc_event_filter(&same);
}

/* ---- numbers ------------------------------------------------------------------------------*/

static int fill(struct pmc_counter_event *event, uint32_t type, uint64_t config, const char *kind)
{
	if (!event)
		return -EINVAL;
	*event = (struct pmc_counter_event){ .type = type, .config = config, .scale = 1 };
	set_name(event, kind);
	return 0;
}

int pmc_counter_event_hardware(struct pmc_counter_event *event, uint64_t id)
{
	return fill(event, PERF_TYPE_HARDWARE, id, "hardware");
}

int pmc_counter_event_software(struct pmc_counter_event *event, uint64_t id)
{
	if (fill(event, PERF_TYPE_SOFTWARE, id, "software"))
		return -EINVAL;
	if (id == PERF_COUNT_SW_CPU_CLOCK || id == PERF_COUNT_SW_TASK_CLOCK)
		strcpy(event->unit, "ns");
	return 0;
}

int pmc_counter_event_cache(struct pmc_counter_event *event, uint32_t cache, uint32_t op,
			    uint32_t result)
{
	if (cache > 0xff || op > 0xff || result > 0xff)
		return -EINVAL;
	return fill(event, PERF_TYPE_HW_CACHE, cache | (uint64_t)op << 8 | (uint64_t)result << 16,
		    "cache");
}

int pmc_counter_event_raw(struct pmc_counter_event *event, uint64_t config, uint64_t config1,
			  uint64_t config2)
{
	if (fill(event, PERF_TYPE_RAW, config, "raw"))
		return -EINVAL;
	event->config1 = config1;
	event->config2 = config2;
	return 0;
}

int pmc_counter_event_tracepoint_id(struct pmc_counter_event *event, uint64_t id)
{
	return fill(event, PERF_TYPE_TRACEPOINT, id, "tracepoint");
}

int pmc_counter_event_breakpoint(struct pmc_counter_event *event, uint32_t type, uint64_t address,
				 uint64_t length)
{
	if (length == 0)
		length = sizeof(long);
	if (type != HW_BREAKPOINT_R && type != HW_BREAKPOINT_W && type != HW_BREAKPOINT_RW &&
	    type != HW_BREAKPOINT_X)
		return -EINVAL;
	if (length > 8 || (length & (length - 1)))
		return -EINVAL;
	if (fill(event, PERF_TYPE_BREAKPOINT, address, "breakpoint"))
		return -EINVAL;
	event->config = 0;
	event->bp_type = type;
	event->config1 = address;
	event->config2 = length;
	return 0;
}

#define TEXT_MAX 1024

static void set_event(const struct pmc_event *from, struct pmc_counter_event *event)
{
	*event = (struct pmc_counter_event){
		.type = from->type,
		.config = from->config,
		.config1 = from->config1,
		.config2 = from->config2,
		.config3 = from->config3,
		.exclude_user = from->exclude_user,
		.exclude_kernel = from->exclude_kernel,
		.pinned = from->pinned,
		.asked_scope = from->asked_scope,
		.filter = (uint8_t)from->filter,
		.scale = from->scale,
	};
	if (strlen(from->unit) < sizeof(event->unit))
		strcpy(event->unit, from->unit);
	set_text(event->name, sizeof(event->name), from->name);
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
		       bool row, struct pmc_failure *failure)
{
	struct pmc_parse_error error;
	struct pmc_arena arena = { 0 };
	struct pmc_events events;
	int rc = pmc_events_parse(text, counter_roots, &arena, &events, &error);
	const struct pmc_event *first = events.list;

	if (rc)
		counter_fail(failure, rc, what, "%s", error.text);
	else if (row &&
		 (events.sets || first->brace != PMC_NO_BRACE || first[events.count - 1].position))
		rc = counter_fail(failure, -EINVAL, what,
				  "a row is one event, without braces and not a set");
	else if (!row && events.count != 1)
		rc = not_one(&events, what, failure);
	else if (pmc_event_is_of_os(first))
		rc = counter_fail(failure, -ENOTSUP, what,
				  "it is no perf event; read /proc/thread-self/schedstat or "
				  "getrusage(2)");
	else
		set_event(first, event);
	pmc_arena_free(&arena);
	return rc;
}

int pmc_counter_event_parse(struct pmc_counter_event *event, const char *text,
			    struct pmc_failure *failure)
{
	if (!event || !text)
		return counter_fail(failure, -EINVAL, event ? "text" : "event", "NULL");
	return counter_event_text(event, text, text, false, failure);
}

/* ---- tracepoints --------------------------------------------------------------------------*/

int pmc_counter_event_tracepoint(struct pmc_counter_event *event, const char *system,
				 const char *name, struct pmc_failure *failure)
{
	const struct pmc_event_roots none = { 0 }, *roots = counter_roots ? counter_roots : &none;
	char what[sizeof(failure->what)], why[PMC_PATH_MAX];
	struct pmc_event found = { 0 };
	struct pmc_out out = pmc_out_mem(what, sizeof(what));
	int error;

	if (!event || !system || !name)
		return counter_fail(failure, -EINVAL, "event", "an argument is NULL");
	pmc_outf(&out, "%s:%s", system, name);
	error = event_tracepoint(roots, event_span_of(system), event_span_of(name), &found);
	if (error == EVENT_NOT_MINE)
		return counter_fail(failure, -ENOENT, what, "no such tracepoint in %s",
				    event_tracefs(roots));
	if (error < 0) {
		error = event_tracefs_error(roots, error, why);
		return counter_fail(failure, error, what, "%s", why);
	}
	pmc_counter_event_tracepoint_id(event, found.config);
	event->filter = found.filter;
	set_text(event->name, sizeof(event->name), what);
	return 0;
}

/* ---- PMUs and their fields ----------------------------------------------------------------*/

/* Whether the name has no character with a meaning in event strings. */
static bool is_plain(const char *name)
{
	return name[0] && !strpbrk(name, "/,=:@{}*?[ \t\n\r");
}

int pmc_counter_event_fields(struct pmc_counter_event *event, const char *pmu, const char *fields,
			     struct pmc_failure *failure)
{
	char text[TEXT_MAX];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	if (!event || !pmu || !fields)
		return counter_fail(failure, -EINVAL, "event", "an argument is NULL");
	pmc_outf(&out, "%s/%s/", pmu, fields);
	if (out.error || !is_plain(pmu) || strchr(fields, '/'))
		return counter_fail(failure, -EINVAL, pmu, "%s",
				    out.error ? "text too long" : "invalid character in the name");
	return counter_event_text(event, text, pmu, false, failure);
}

int pmc_counter_event_pmu(struct pmc_counter_event *event, const char *pmu,
			  const struct pmc_counter_field *fields, size_t n,
			  struct pmc_failure *failure)
{
	char terms[TEXT_MAX];
	struct pmc_out out = pmc_out_mem(terms, sizeof(terms));

	if (!event || !pmu || (n && !fields))
		return counter_fail(failure, -EINVAL, "event", "an argument is NULL");
	for (size_t i = 0; i < n; i++) {
		if (!fields[i].name || !is_plain(fields[i].name))
			return counter_fail(
				failure, -EINVAL, pmu,
				"the name of a field is NULL, or has an invalid character");
		pmc_outf(&out, "%s%s=0x%llx", i ? "," : "", fields[i].name,
			 (unsigned long long)fields[i].value);
	}
	if (out.error)
		return counter_fail(failure, -EINVAL, pmu, "too many fields");
	return pmc_counter_event_fields(event, pmu, n ? terms : "config=0", failure);
}

int pmc_counter_event_msr(struct pmc_counter_event *event, const char *name,
			  struct pmc_failure *failure)
{
	if (name && !is_plain(name))
		return counter_fail(failure, -EINVAL, name, "invalid character in the name");
	return pmc_counter_event_fields(event, "msr", name, failure);
}

/* ---- the fields of a PMU --------------------------------------------------------------------*/

struct format_visit {
	const char *pmu;
	void (*visit)(const struct pmc_counter_format *format, void *arg);
	void *arg;
};

static void visit_format(const char *name, void *arg)
{
	const struct format_visit *v = arg;
	struct pmc_counter_format format = { .name = name };
	uint64_t *word, mask;
	struct pmc_event any;
	char text[128];

	if (pmc_file_read(text, sizeof(text), "/sys/bus/event_source/devices/%s/format/%s", v->pmu,
			  name) <= 0)
		return;
	format.format = text;
	if (event_format(&any, text, &word, &mask))
		format.n_bits = (unsigned)__builtin_popcountll(mask);
	v->visit(&format, v->arg);
}

int pmc_counter_event_formats(const char *pmu,
			      void (*visit)(const struct pmc_counter_format *format, void *arg),
			      void *arg, struct pmc_failure *failure)
{
	struct format_visit v = { pmu, visit, arg };
	struct pmc_counter_event event;
	int error;

	if (!pmu || !visit)
		return counter_fail(failure, -EINVAL, "pmu", "an argument is NULL");
	error = pmc_counter_event_pmu(&event, pmu, NULL, 0, failure);
	if (error)
		return error;
	/* A PMU without fields has no such directory. */
	pmc_dir_visit(visit_format, &v, "/sys/bus/event_source/devices/%s/format", pmu);
	return 0;
}

/* ---- probes -------------------------------------------------------------------------------*/

/* place: the string that config1 points to, called `what`, or with what NULL none. The PMU defines
 * the type and the bit for returns: perf_kprobe and perf_uprobe in kernel/events/core.c. */
static int make_probe(struct pmc_counter_event *event, const char *pmu, enum pmc_probe probe,
		      const char *what, const char *place, uint64_t offset,
		      struct pmc_failure *failure)
{
	const struct pmc_counter_field field = { "retprobe", 1 };
	struct pmc_out out;
	int error;

	if (what && !place)
		return counter_fail(failure, -EINVAL, what, "NULL");
	if (probe != PMC_PROBE_ENTRY && probe != PMC_PROBE_RETURN)
		return counter_fail(failure, -EINVAL, "probe",
				    "use PMC_PROBE_ENTRY or PMC_PROBE_RETURN");
	error = pmc_counter_event_pmu(event, pmu, &field, probe == PMC_PROBE_RETURN, failure);
	if (error)
		return error;
	event->config1 = (uint64_t)(uintptr_t)place;
	event->config2 = offset;
	pmc_out_to_mem(&out, event->name, sizeof(event->name));
	pmc_outf(&out, "%s:%s+0x%llx", pmu, place ? place : "", (unsigned long long)offset);
	return 0;
}

int pmc_counter_event_kprobe(struct pmc_counter_event *event, enum pmc_probe probe,
			     const char *symbol, uint64_t offset, struct pmc_failure *failure)
{
	return make_probe(event, "kprobe", probe, "symbol", symbol, offset, failure);
}

int pmc_counter_event_kprobe_address(struct pmc_counter_event *event, enum pmc_probe probe,
				     uint64_t address, struct pmc_failure *failure)
{
	return make_probe(event, "kprobe", probe, NULL, NULL, address, failure);
}

int pmc_counter_event_uprobe(struct pmc_counter_event *event, enum pmc_probe probe,
			     const char *path, uint64_t offset, struct pmc_failure *failure)
{
	return make_probe(event, "uprobe", probe, "path", path, offset, failure);
}
