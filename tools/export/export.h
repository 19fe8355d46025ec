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

struct export
{
	struct pmc_profile *profile;
	struct report_names *names; /* NULL without samples */
	const char *event;	    /* of samples; NULL: all */
	const char **files;	    /* the dumps */
	unsigned n_files;
	struct pmc_arena arena;
	struct pmc_out *out; /* errors stick */
	/* Events of the samples, without those that --event leaves out. */
	const struct pmc_p_event *events[EXPORT_EVENTS_MOST];
	unsigned n_events;
};

/* 0, or -errno that is not of `out`. */
#define X(id, name, samples, binary) int export_##id(struct export *export);
#include "tools/export/exporters.def"
#undef X

/* Lists the events. */
void export_find_events(struct export *export);
/* The index of the samples' event; -1: it is left out. */
int export_event_of(const struct export *export, const struct pmc_p_samples *samples);
/* Whether a thread of the samples is known. Folded paths begin with the pool of their thread, which
 * its row names: export_folded() fails with -EINVAL without one. */
bool export_has_rows(const struct export *export);
/* Time in ns, or a count. */
bool export_is_time(const struct pmc_p_event *event);

/* Pools of the threads that have samples of the events. */
struct export_pools {
	struct pmc_union events;
	struct pmc_fold fold;
	const struct pmc_fold_row **of; /* of each entry of profile->samples; NULL: no row */
};

/* 0 or -ENOMEM. */
int export_find_pools(struct export *export, struct export_pools *pools);
