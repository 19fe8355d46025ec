/* SPDX-License-Identifier: MIT */
/*
 * event.h - parses event strings (PMC_EVENTS, -e) into the arguments of perf_event_open(2).
 *
 * Grammar:  list  = item *( "," item )
 *           item  = "@" set [ ":" modifiers ] | event
 *                 | "{" event *( "," event ) "}" [ ":" modifiers ]
 *           event = name [ ":" modifiers ]          modifiers = u, k, D, each once
 * A comma inside pmu/.../ belongs to the event. Names are tried in the order: built-in table,
 * rNNN, pmu/field=value,.../, sys:name if tracefs has it, libpfm4 (loaded on demand).
 *
 * On hybrid CPUs an event without a PMU becomes one event for each type of core, next to each other
 * and with the same position.
 */
#pragma once

#include "lib/base/arena.h"
#include "lib/base/config.h"

#define PMC_NO_BRACE (-1)
/* Type of an event of Apple's kpep database, which has it by name; config is a hash of the name. */
#define PMC_TYPE_KPEP 0x6b706570u

/* The effect of exclude_user and exclude_kernel on an event. */
enum pmc_filter {
	PMC_FILTERED,	 /* counted in the modes that are left */
	PMC_UNFILTERED,	 /* counted in all modes, whatever is excluded */
	PMC_KERNEL_ONLY, /* occurs in kernel mode only: reads 0 with exclude_kernel */
};

struct pmc_event {
	const char *name; /* as the user wrote it, with modifiers */
	const char *unit; /* "" if none; "ns" for clocks; from the PMU's .unit */
	const char *pmu;  /* sysfs name of the PMU, "" for generic types */
	/* On hybrid CPUs the PMU of the type of core that counts the event; else "" or NULL. */
	const char *core_type;
	/* Of an uncore PMU: the CPUs on which to open the event, "0,18"; else "" or NULL. */
	const char *cpus;
	uint32_t type; /* perf_event_attr */
	uint64_t config, config1, config2, config3;
	double scale;
	bool exclude_user, exclude_kernel;
	bool asked_scope; /* :u or :k was given: never fall back to another scope */
	uint8_t filter;	  /* of tracepoints and probes; ask pmc_event_filter() */
	bool pinned;	  /* :D, as in perf: counted all of the time or not at all */
	bool accounted; /* by the kernel for each thread: no perf event, see pmc_events_account() */
	int brace;	/* number of its {...}, PMC_NO_BRACE outside */
	unsigned position; /* place in the user's list */
};

struct pmc_events {
	struct pmc_event *list;
	unsigned count;
	unsigned sets; /* bit n: the n-th row of sets.def was named */
	bool no_cores; /* sysfs has no PMU of a core: no hardware event can be counted */
};

struct pmc_parse_error {
	int error;	/* as returned */
	size_t offset;	/* of the error in the string */
	char text[256]; /* one line without newline: what, why, and the fix or nearest name */
};

/* Directories to look in, for tests. NULL: the default. */
struct pmc_event_roots {
	const char *sysfs;   /* "/sys/bus/event_source/devices" */
	const char *tracefs; /* "/sys/kernel/tracing", then "/sys/kernel/debug/tracing" */
	bool no_pfm;	     /* do not load libpfm4 */
};

/* Parses `text` into `events`, with memory of the arena. 0, or -errno with *error filled: -EINVAL:
 * malformed; -ENOENT: unknown event, set, PMU or field; -E2BIG: too many events; -ENOMEM; of a name
 * that may be a tracepoint's, if tracefs cannot be read: -ENODEV: not mounted, -EACCES, ...;
 * -EMFILE, -ENFILE: no descriptor is left to look a name up. Reads sysfs and tracefs and may dlopen
 * libpfm4: not async-signal-safe. */
int pmc_events_parse(const char *text, const struct pmc_event_roots *roots, struct pmc_arena *arena,
		     struct pmc_events *events, struct pmc_parse_error *error);

/* From type and config; a tracepoint given by number counts as PMC_KERNEL_ONLY, as most are. */
enum pmc_filter pmc_event_filter(const struct pmc_event *event);
/* Whether the OS counts the event by itself: no perf event is opened for it. */
static inline bool pmc_event_is_of_os(const struct pmc_event *event)
{
	return event->type == PMC_TYPE_OS || event->accounted;
}

/* The kernel's accounts that an event can be taken from. */
enum pmc_account {
	PMC_ACCOUNT_NONE,
	PMC_ACCOUNT_CLOCK, /* the CPU clock of the thread: task-clock, cpu-clock */
	PMC_ACCOUNT_USAGE, /* getrusage(2): faults, context switches, user and system time */
	PMC_ACCOUNT_DELAY, /* /proc/TID/schedstat: run-delay */
	PMC_ACCOUNT_ELAPSED,
	PMC_ACCOUNTS,
};
#define PMC_ACCOUNTED_MOST 10 /* such events */
/* What they have of a thread or a process. */
struct pmc_accounted {
	uint64_t cpu_ns, minor_faults, major_faults, switches, user_ns, system_ns, delay_ns;
	uint64_t elapsed_ns;
};
enum pmc_account pmc_event_account(uint32_t type, uint64_t config);
/* The value of such an event. */
uint64_t pmc_event_accounted(uint32_t type, uint64_t config, const struct pmc_accounted *accounts);
/* Marks events that are taken from accounts: those of PMC_TYPE_OS, and software events outside
 * braces, without modifiers and not given as software/NAME/, at most PMC_ACCOUNTED_MOST; faults
 * and switches only with `usage`. */
void pmc_events_account(struct pmc_events *list, bool usage);

/* Whether the event counts for the whole machine; no thread opens it. */
static inline bool pmc_event_is_uncore(const struct pmc_event *event)
{
	return event->cpus && event->cpus[0];
}

/* The name, on hybrid CPUs with the type of core: "cycles@cpu_core". */
const char *pmc_event_label(const struct pmc_event *event, struct pmc_arena *arena);
/* Whether the event takes a counter of a PMU: neither software nor tracepoint nor breakpoint. */
bool pmc_event_needs_pmu(const struct pmc_event *event);
/* Whether the event is counted by this type of core; NULL is "", no particular one. */
bool pmc_event_is_of_core(const struct pmc_event *event, const char *core_type);

/* Bytes that hold any text of pmc_sample_refusal(). */
#define PMC_SAMPLE_WHY 256

/* task-clock and cpu-clock, of which a period is in ns. */
bool pmc_event_is_clock(const struct pmc_event *event);
/* Why the event is not sampled so, and the fix, in text; NULL if it may be. */
const char *pmc_sample_refusal(const struct pmc_event *event, const struct pmc_config_sample *asked,
			       char text[PMC_SAMPLE_WHY]);
/* Samples per second of CPU time, by periods of cycles and instructions usually more than that; 0:
 * unknown. */
uint64_t pmc_sample_rate(const struct pmc_event *event, const struct pmc_config_sample *asked);

/* The default list, PMC_EVENTS unset. */
extern const char pmc_events_default[];

/* One row of sets.def. */
struct pmc_event_set {
	const char *name;    /* without the '@' */
	const char *events;  /* event lists separated by '|': the first that resolves is used */
	const char *metrics; /* names of metrics.def that the set is for, comma separated */
	const char *doc;
};

extern const struct pmc_event_set pmc_event_sets[];
extern const unsigned pmc_n_event_sets;

/* The row of "default", "cache", ...; -1: no such set. */
int pmc_event_set_find(const char *name, size_t len);

/* A built-in name; an alias is a row of its own. */
struct pmc_builtin {
	const char *name;
	uint32_t type;
	uint64_t config;
	const char *alias_of; /* NULL: this is the canonical name */
	enum pmc_filter filter;
	const char *doc;
};

/* Calls visit for each built-in name; cache events have their canonical name only. The row is valid
 * during the call. */
void pmc_builtins_each(void (*visit)(const struct pmc_builtin *row, void *arg), void *arg);

/* ---- metrics.def: inputs and formulas, for those who compute and who group them ------------ */

enum pmc_input {
#define INPUT(id, type, config, name) PMC_INPUT_##id,
#include "lib/event/metrics.def"
};

enum pmc_formula_kind { PER, PCT, KI, EXCESS_PCT, CPU_PCT, SWITCHES_PER_S };

struct pmc_formula {
	enum pmc_formula_kind kind;
	enum pmc_input a, b;
};

/* One for each row of metrics.def. */
extern const struct pmc_formula pmc_formulas[];

/* Whether an event of this type, config and name counts the input. */
bool pmc_is_input(enum pmc_input input, uint32_t type, uint64_t config, const char *name);
/* Whether the two form a ratio, which is exact only if they are in one group. Formulas per 1,000
 * instructions do not count: they would tie all events to one. */
bool pmc_is_ratio(const struct pmc_event *a, const struct pmc_event *b);
