/* SPDX-License-Identifier: MIT */
/*
 * config.h - the settings of config.def, read from an environment.
 *
 * The parsed values point into that environment. The tools use the same table for their flags.
 */
#pragma once

#include "lib/base/out.h"

#include <pmc/dump.h>

enum pmc_report_kind {
	PMC_REPORT_AUTO,
	PMC_REPORT_OFF,
	PMC_REPORT_SUMMARY,
	PMC_REPORT_THREADS,
	PMC_REPORT_JSON,
	PMC_REPORT_CSV,
	PMC_REPORT_HTML,
};
extern const char *const pmc_report_kinds[]; /* their words */

enum pmc_args {
	PMC_ARGS_FULL,
	PMC_ARGS_MASKED,
	PMC_ARGS_NAME,
};

enum pmc_unwind {
	PMC_UNWIND_DWARF,
	PMC_UNWIND_FP,
};

/* The most of EVENT/HZ: that of kernel.perf_event_max_sample_rate, unless it was changed. */
#define PMC_SAMPLE_HZ_MOST 100000u
/* More samples in a second of CPU time may make it two (docs/BENCHMARKS.md). */
#define PMC_SAMPLE_HZ_CHEAP 10000u

struct pmc_config_sample {
	bool on;
	const char *event; /* what follows is its rate; event_len 0: the default, event is NULL */
	size_t event_len;
	uint64_t period, frequency; /* the other one is 0 */
};

struct pmc_config_report {
	enum pmc_report_kind kind;
	const char *file; /* NULL: stderr */
};

typedef const char *pmc_config_TEXT;
typedef const char *pmc_config_LABEL;
typedef const char *pmc_config_PATTERN; /* with % and one of phrejt% */
typedef enum pmc_inherit pmc_config_INHERIT;
typedef struct pmc_config_report pmc_config_REPORT;
typedef struct pmc_config_sample pmc_config_SAMPLE;
typedef enum pmc_unwind pmc_config_UNWIND;
typedef enum pmc_args pmc_config_ARGS;
typedef enum pmc_log_level pmc_config_LOG;
typedef bool pmc_config_SWITCH;
typedef uint64_t pmc_config_TIME;     /* ns */
typedef uint64_t pmc_config_INTERVAL; /* ns; 0: none */
typedef uint64_t pmc_config_SIZE;     /* bytes; 0: none */
typedef int pmc_config_SIGNAL;	      /* 0: none */

struct pmc_config {
#define X(field, type, env, flag, letter, argument, def, values, help) pmc_config_##type field;
#include "lib/base/config.def"
#undef X
};

struct pmc_config_error {
	const char *variable, *value, *accepted;
};

/* What the agent needs of a row. */
struct pmc_knob {
	const char *env, *def, *values;
};

extern const struct pmc_knob pmc_knobs[];
extern const char *const pmc_knob_flags[]; /* of pmctl run, in the same order */
extern const unsigned pmc_n_knobs;

/* Defaults, then the settings in envp. 0, or -EINVAL with *error for the first invalid value (the
 * others are still read). Allocates nothing, takes no lock. */
int pmc_config_from_env(char *const *envp, struct pmc_config *config,
			struct pmc_config_error *error);
/* The variable that an unknown one ("PMC_EVENT=...") was probably meant to be; NULL: none is near.
 */
const char *pmc_config_misspelt(const char *entry);
/* Sets one by its row number. 0 or -EINVAL. */
int pmc_config_set(struct pmc_config *config, unsigned knob, const char *value);
/* The accepted form of a value that it refused. */
const char *pmc_config_accepted(unsigned knob, const char *value);
/* The value of a variable in envp, NULL if unset. */
const char *pmc_env(char *const *envp, const char *name);
/* A number, perhaps with a fraction, and perhaps a unit: 250ms, 1.5s, 2m, 1000. 0 or -EINVAL. */
int pmc_config_time(const char *value, uint64_t unit_ns, uint64_t *ns);
/* The number of USR2, SIGUSR2, RTMIN+3, RTMAX-1 or 12; or -EINVAL. */
int pmc_signal_number(const char *text);
/* Whether name matches any of the comma-separated globs. */
bool pmc_glob_list(const char *globs, const char *name);
