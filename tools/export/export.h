/* SPDX-License-Identifier: MIT */
/* export.h - dumps in the formats of other tools. Private to this folder. */
#pragma once

#include "lib/base/out.h"
#include "tools/rows/fold.h"
#include "tools/rows/profile.h"
#include "tools/report/names.h"

/* Few in practice; of a hostile dump's further ones no samples are exported. */
#define EXPORT_EVENTS_MOST 16

/* Whether a format has samples. */
enum export_samples { NO, SHOWN, NEEDED };
enum export_output { TEXT, BINARY, DIRECTORY };

/* Key of the processes in a file of Parquet. */
#define EXPORT_PROCESSES "pmc.processes"

/* An event of samples, and their sums. */
struct export_event {
	const struct pmc_p_event *event;
	uint64_t samples, weight;
};

/* The samples of a thread by an event. */
struct export_list {
	const struct pmc_p_samples *of;	 /* by time, if the format has times and all are known */
	unsigned event;			 /* index in the events */
	const struct pmc_fold_row *pool; /* of the thread; NULL: it is unknown */
};

/* Two texts of spots, which have each text once, and its place in their table. */
struct export_pair {
	struct export_pair_key {
		const char *a, *b;
	} key;
	uint64_t number; /* from 1 */
	UT_hash_handle hh;
};

struct export
{
	struct pmc_profile *profile;
	struct report_names *names; /* NULL without samples */
	const char *event;	    /* of samples; NULL: all */
	const char **files;	    /* the dumps */
	unsigned n_files;
	struct export *before; /* what a page shows the differences from; NULL: none */
	const char *per;       /* by whose counts both are compared; NULL: as shares */
	double per_count;      /* in the unit of the event */
	struct pmc_arena arena;
	struct pmc_out *out; /* errors stick; NULL: the output is a directory */
	const char *directory;
	int code; /* of a directory: exit code of the first error, which is printed */
	/* By export_find_samples(): events that are exported, their samples and pools. */
	struct export_event events[EXPORT_EVENTS_MOST];
	unsigned n_events;
	struct export_list *lists; /* in the order of profile->samples */
	uint64_t n_lists;
	struct pmc_union united;
	struct pmc_fold pools;
	bool has_rows; /* a thread of the samples is known; export_folded() needs one */
};

#define X(id, name, samples, output) void export_##id(struct export *export);
#include "tools/export/exporters.def"
#undef X

void export_find_samples(struct export *export);
/* The CPU time or wait that samples stand for, in ns; 0: unknown. */
uint64_t export_sample_ns(const struct pmc_p_samples *samples, const struct pmc_p_sample *sample);
/* Begins the object of a thread, or of a pool (row NULL) or unknown threads (pool NULL, too). */
struct pmc_json;
void export_put_owner(const struct export *export, const struct pmc_p_row *row, const char *pool,
		      struct pmc_json *json);
void export_strip(struct export *export, struct pmc_json *json);
/* Time in ns, or a count. */
bool export_is_time(const struct pmc_p_event *event);
/* The pair in the table, which is in the order of the numbers. */
const struct export_pair *export_pair_of(struct pmc_arena *arena, struct export_pair **table,
					 const char *a, const char *b);
