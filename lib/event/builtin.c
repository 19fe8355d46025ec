/* SPDX-License-Identifier: MIT */
/* builtin.c - perf's generic hardware, software and cache names, raw rNNN codes, the @sets, the
 * inputs of metrics, and what follows from an event's type and code. */
#include "lib/event/source.h"
#include "lib/base/out.h"

#include <linux/perf_event.h>
#include <string.h>

#define PERF_TYPE_OS PMC_TYPE_OS

enum { LOAD = 1, STORE = 2, PREFETCH = 4 };

static const struct pmc_builtin events[] = {
#define EVENT(type, config, name, alias_of, filter, doc)                                           \
	{ name, PERF_TYPE_##type, config, alias_of, PMC_##filter, doc },
#include "lib/event/builtin.def"
};

struct part {
	unsigned config, operations;
	const char *names;
	const char *text; /* a cache: what it is; an operation: the name of its accesses */
};

static const struct part caches[] = {
#define CACHE(config, operations, names, what) { config, operations, names, what },
#include "lib/event/builtin.def"
};

static const struct part operations[] = {
#define OPERATION(config, names, accesses) { config, 0, names, accesses },
#include "lib/event/builtin.def"
};

static const struct part results[] = {
#define RESULT(config, names) { config, 0, names, NULL },
#include "lib/event/builtin.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Takes a name of one of the parts from the start of *rest, up to a '-' or its end. */
static const struct part *part_take(const struct part *parts, size_t n, struct event_span *rest)
{
	for (size_t i = 0; i < n; i++) {
		struct event_span names = event_span_of(parts[i].names);

		while (names.at) {
			struct event_span name = event_split(&names, ',');
			size_t len = name.len;

			if (len > rest->len || memcmp(name.at, rest->at, len) ||
			    (len < rest->len && rest->at[len] != '-'))
				continue;
			/* "LLC-" keeps its '-', which makes it an unknown name. */
			if (len + 1 < rest->len)
				len++;
			*rest = event_skip(*rest, len);
			return &parts[i];
		}
	}
	return NULL;
}

static bool cache_event(struct event_span name, struct pmc_event *event)
{
	const struct part *cache, *operation = NULL, *result = NULL;
	struct event_span rest = name;

	cache = part_take(caches, COUNT(caches), &rest);
	if (!cache)
		return false;
	while (rest.len) {
		const struct part *part = NULL;

		if (!operation)
			part = operation = part_take(operations, COUNT(operations), &rest);
		if (!part && !result)
			part = result = part_take(results, COUNT(results), &rest);
		if (!part)
			return false;
	}
	if (!operation)
		operation = &operations[0];
	if (!result)
		result = &results[0];
	if (!(cache->operations & 1u << operation->config))
		return false;
	event->type = PERF_TYPE_HW_CACHE;
	event->config = cache->config | operation->config << 8 | result->config << 16;
	return true;
}

bool event_builtin(struct event_span name, struct pmc_event *event)
{
	for (size_t i = 0; i < COUNT(events); i++) {
		if (event_span_is(name, events[i].name)) {
			event->type = events[i].type;
			event->config = events[i].config;
			return true;
		}
	}
	return cache_event(name, event);
}

bool event_raw(struct event_span name, struct pmc_event *event)
{
	struct event_span hex = event_skip(name, name.len > 0);

	if (hex.len > 2 && hex.at[0] == '0' && hex.at[1] == 'x')
		hex = event_skip(hex, 2);
	if (!name.len || name.at[0] != 'r' || !event_hex(hex, &event->config))
		return false;
	event->type = PERF_TYPE_RAW;
	return true;
}

static struct event_span first_name(const struct part *part)
{
	struct event_span names = event_span_of(part->names);

	return event_split(&names, ',');
}

void pmc_builtins_each(void (*visit)(const struct pmc_builtin *row, void *arg), void *arg)
{
	for (size_t i = 0; i < COUNT(events); i++)
		visit(&events[i], arg);
	for (size_t c = 0; c < COUNT(caches); c++) {
		for (size_t o = 0; o < COUNT(operations) * 2; o++) {
			const struct part *operation = &operations[o / 2];
			struct event_span cache = first_name(&caches[c]);
			struct event_span op = first_name(operation);
			char name[64], doc[96];
			struct pmc_out out;
			struct pmc_builtin row = { .name = name, .doc = doc };

			if (!(caches[c].operations & 1u << operation->config))
				continue;
			pmc_out_to_mem(&out, name, sizeof(name));
			if (o % 2)
				pmc_outf(&out, "%.*s-%.*s-misses", (int)cache.len, cache.at,
					 (int)op.len, op.at);
			else
				pmc_outf(&out, "%.*s-%s", (int)cache.len, cache.at,
					 operation->text);
			pmc_out_to_mem(&out, doc, sizeof(doc));
			pmc_outf(&out, "%s of the %s%s", operation->text, caches[c].text,
				 o % 2 ? " that missed" : "");
			row.type = PERF_TYPE_HW_CACHE;
			row.config = caches[c].config | operation->config << 8 | (o % 2) << 16;
			visit(&row, arg);
		}
	}
}

/* ---- sets ----------------------------------------------------------------------------------*/

const struct pmc_event_set pmc_event_sets[] = {
#define X(name, events, metrics, doc) { #name, events, metrics, doc },
#include "lib/event/sets.def"
#undef X
};

const unsigned pmc_n_event_sets = sizeof(pmc_event_sets) / sizeof(pmc_event_sets[0]);

_Static_assert(sizeof(pmc_event_sets) / sizeof(pmc_event_sets[0]) <= 32,
	       "pmc_events.sets has a bit per row");

const char pmc_events_default[] = PMC_EVENTS_DEFAULT;

int pmc_event_set_find(const char *name, size_t len)
{
	for (unsigned i = 0; i < pmc_n_event_sets; i++)
		if (strlen(pmc_event_sets[i].name) == len &&
		    !memcmp(pmc_event_sets[i].name, name, len))
			return (int)i;
	return -1;
}

/* ---- the inputs and formulas of metrics.def ------------------------------------------------ */

static const struct {
	uint32_t type;
	uint64_t config;
	const char *name;
} inputs[] = {
#define INPUT(id, type, config, name) { type, config, name },
#include "lib/event/metrics.def"
};

const struct pmc_formula pmc_formulas[] = {
#define X(name, column, unit, decimals, table, formula, a, b, doc)                                 \
	{ formula, PMC_INPUT_##a, PMC_INPUT_##b },
#include "lib/event/metrics.def"
};

bool pmc_is_input(enum pmc_input input, uint32_t type, uint64_t config, const char *name)
{
	/* On hybrid CPUs the upper half of a generic event's config is the type of the core. */
	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE)
		config &= UINT32_MAX;
	if (type != inputs[input].type || config != inputs[input].config)
		return false;
	return !inputs[input].name || (name && strstr(name, inputs[input].name));
}

static bool is_event(enum pmc_input input, const struct pmc_event *event)
{
	return pmc_is_input(input, event->type, event->config, event->name);
}

bool pmc_is_ratio(const struct pmc_event *a, const struct pmc_event *b)
{
	for (unsigned i = 0; i < sizeof(pmc_formulas) / sizeof(pmc_formulas[0]); i++) {
		const struct pmc_formula *f = &pmc_formulas[i];

		if (f->kind != PER && f->kind != PCT)
			continue;
		if ((is_event(f->a, a) && is_event(f->b, b)) ||
		    (is_event(f->a, b) && is_event(f->b, a)))
			return true;
	}
	return false;
}

/* ---- what follows from type and code ------------------------------------------------------- */

enum pmc_filter pmc_event_filter(const struct pmc_event *event)
{
	if (event->type == PERF_TYPE_TRACEPOINT && event->filter != PMC_UNFILTERED)
		return PMC_KERNEL_ONLY;
	for (size_t i = 0; i < COUNT(events); i++)
		if (event->type == events[i].type && event->config == events[i].config)
			return events[i].filter;
	return event->filter;
}

enum pmc_account pmc_event_account(uint32_t type, uint64_t config)
{
	static const uint8_t software[] = {
		[PERF_COUNT_SW_CPU_CLOCK] = PMC_ACCOUNT_CLOCK,
		[PERF_COUNT_SW_TASK_CLOCK] = PMC_ACCOUNT_CLOCK,
		[PERF_COUNT_SW_PAGE_FAULTS] = PMC_ACCOUNT_USAGE,
		[PERF_COUNT_SW_CONTEXT_SWITCHES] = PMC_ACCOUNT_USAGE,
		[PERF_COUNT_SW_PAGE_FAULTS_MIN] = PMC_ACCOUNT_USAGE,
		[PERF_COUNT_SW_PAGE_FAULTS_MAJ] = PMC_ACCOUNT_USAGE,
	};
	static const uint8_t os[] = {
		[PMC_OS_RUN_DELAY] = PMC_ACCOUNT_DELAY,
		[PMC_OS_USER_TIME] = PMC_ACCOUNT_USAGE,
		[PMC_OS_SYSTEM_TIME] = PMC_ACCOUNT_USAGE,
		[PMC_OS_ELAPSED] = PMC_ACCOUNT_ELAPSED,
	};

	if (type == PERF_TYPE_SOFTWARE && config < COUNT(software))
		return software[config];
	return type == PMC_TYPE_OS && config < COUNT(os) ? os[config] : PMC_ACCOUNT_NONE;
}

uint64_t pmc_event_accounted(uint32_t type, uint64_t config, const struct pmc_accounted *accounts)
{
	if (type == PMC_TYPE_OS)
		return config == PMC_OS_RUN_DELAY ? accounts->delay_ns :
		       config == PMC_OS_USER_TIME ? accounts->user_ns :
		       config == PMC_OS_ELAPSED	  ? accounts->elapsed_ns :
						    accounts->system_ns;
	switch (config) {
	case PERF_COUNT_SW_PAGE_FAULTS:
		return accounts->minor_faults + accounts->major_faults;
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
		return accounts->minor_faults;
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
		return accounts->major_faults;
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
		return accounts->switches;
	default:
		return accounts->cpu_ns;
	}
}

void pmc_events_account(struct pmc_events *list, bool usage)
{
	unsigned n = 0;

	for (unsigned i = 0; i < list->count && n < PMC_ACCOUNTED_MOST; i++) {
		struct pmc_event *event = &list->list[i];
		const enum pmc_account account = pmc_event_account(event->type, event->config);

		if (!account)
			continue;
		event->accounted =
			event->type == PMC_TYPE_OS ||
			((usage || account != PMC_ACCOUNT_USAGE) && !event->pmu[0] &&
			 pmc_event_is_of_core(event, NULL) && event->brace == PMC_NO_BRACE &&
			 !event->asked_scope && !event->pinned);
		n += event->accounted;
	}
}

const char *pmc_event_label(const struct pmc_event *event, struct pmc_arena *arena)
{
	const char *type = event->core_type;

	return type && *type ? pmc_arena_format(arena, "%s@%s", event->name, type) : event->name;
}

bool pmc_event_needs_pmu(const struct pmc_event *event)
{
	return event->type != PERF_TYPE_SOFTWARE && event->type != PERF_TYPE_TRACEPOINT &&
	       event->type != PERF_TYPE_BREAKPOINT && event->type != PMC_TYPE_OS;
}

bool pmc_event_is_of_core(const struct pmc_event *event, const char *core_type)
{
	return !strcmp(event->core_type ? event->core_type : "", core_type ? core_type : "");
}

bool pmc_event_is_clock(const struct pmc_event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && (event->config == PERF_COUNT_SW_TASK_CLOCK ||
						     event->config == PERF_COUNT_SW_CPU_CLOCK);
}

#define SECOND_NS 1000000000u
/* The kernel takes shorter periods of its clocks for this one: perf_swevent_start_hrtimer() in
 * kernel/events/core.c. */
#define LEAST_CLOCK_NS (SECOND_NS / PMC_SAMPLE_HZ_MOST)

const char *pmc_sample_refusal(const struct pmc_event *event, const struct pmc_config_sample *asked,
			       char text[PMC_SAMPLE_WHY])
{
	struct pmc_out out = pmc_out_mem(text, PMC_SAMPLE_WHY);

	if (event->exclude_user || pmc_event_filter(event) == PMC_KERNEL_ONLY)
		pmc_out_str(&out, "it occurs in the kernel only, and samples are taken in user "
				  "mode; name another event, such as task-clock");
	else if (pmc_event_is_clock(event) && asked->period && asked->period < LEAST_CLOCK_NS)
		pmc_outf(&out,
			 "a period of %llu ns is too short for the kernel; give %u ns or more, or "
			 "samples per second, such as task-clock/997",
			 (unsigned long long)asked->period, LEAST_CLOCK_NS);
	return out.len ? text : NULL;
}

uint64_t pmc_sample_rate(const struct pmc_event *event, const struct pmc_config_sample *asked)
{
	const uint32_t id = (uint32_t)event->config; /* above it: the PMU of a type of core */
	const bool often = pmc_event_is_clock(event) ||
			   (event->type == PERF_TYPE_HARDWARE &&
			    (id == PERF_COUNT_HW_CPU_CYCLES || id == PERF_COUNT_HW_INSTRUCTIONS ||
			     id == PERF_COUNT_HW_REF_CPU_CYCLES));

	if (!asked->period)
		return asked->frequency;
	return often ? SECOND_NS / asked->period : 0;
}
