/* SPDX-License-Identifier: MIT */
/*
 * profile.h - the one in-memory noun: processes, threads, events, counts, sites, notes.
 *
 * Frames go in, in any order and any number of times (add is idempotent and commutative, like
 * the merge); after finish the rows are linked, ordered and summed up, and views read it.
 * A thread's row is its newest snapshot. All memory is the arena's.
 */
#ifndef PMC_CORE_PROFILE_PROFILE_H
#define PMC_CORE_PROFILE_PROFILE_H

#include "agent/core/base/arena.h"
#include "agent/core/dump/frame.h"

#include <pmc/dump.h>
#include <stdbool.h>
#include <stdint.h>

/* A count and what it takes to judge it. value() is raw scaled in 128 bits. */
struct pmc_count {
	uint64_t raw, enabled_ns, running_ns;
	enum pmc_state state;
	uint32_t error; /* errno or enum pmc_reason behind a state that has no value */
	uint64_t added; /* of a sum that has scaled parts: their values, each scaled by itself */
};

bool pmc_count_has_value(const struct pmc_count *count); /* COUNTED or SCALED */
uint64_t pmc_count_value(const struct pmc_count *count); /* raw * enabled / running, or added */

struct pmc_p_event {
	struct pmc_event_def def;
	const char *name, *unit, *core_type;
	const char *cpus; /* "0,18": it counts for the whole machine, there; else "" */
};

struct pmc_p_eventset;
struct pmc_p_site;
struct pmc_p_process;
struct pmc_p_thread;
struct pmc_p_region;

/* What is counted once for each type of core is there once more, as the sum of these, in front. */
#define PMC_SET_EVENTS_MAX (PMC_EVENTS_MAX + PMC_EVENTS_MAX / 2)

struct pmc_p_set_view {
	uint64_t hash;
	unsigned count; /* at most PMC_SET_EVENTS_MAX */
	const struct pmc_p_event *events; /* in the user's order (def.position) */
};

/* Unseen work, found by subtraction (totals minus rows). */
struct pmc_p_remainder {
	const struct pmc_p_set_view *set; /* NULL: there was no such group */
	struct pmc_count *counts;         /* set->count; null-like state if either side is scaled */
	/* CPU time: what the group's clock counted less what the rows it covers have. Not the rest
	 * of task-clock: that is enabled later than a row's CPU time begins. */
	bool has_cpu;
	uint64_t cpu_ns;
};

struct pmc_p_process {
	uint8_t identity[16];
	struct pmc_process_fixed fixed;
	bool known; /* a PROCESS frame was read; else only rows refer to it (orphans) */
	uint64_t snapshot;
	const char *host, *boot_id, *exe, *cmdline; /* "" where unknown */
	struct pmc_p_process *parent;
	struct pmc_p_row **threads; /* by seq */
	uint64_t n_threads;
	/* coverage */
	uint64_t attributed_cpu_ns; /* sum of its rows */
	uint64_t threads_counted;   /* rows with counts, or with nothing to count asked for */
	struct { uint32_t reason; uint64_t count; } *uncounted;
	unsigned n_uncounted;
	struct pmc_p_remainder unattributed; /* first process only: thread group - rows */
	struct pmc_p_remainder descendants;  /* first process only: exec group - covered rows */
	/* First process only: what the whole machine did, meanwhile. Not CPU by CPU: added up. */
	struct pmc_p_remainder machine;
	struct pmc_p_note **notes;
	unsigned n_notes;
};

struct pmc_p_note {
	const struct pmc_p_process *process;
	struct pmc_note_fixed fixed;
	uint64_t snapshot;
	const char *text;
};

/* A snapshot of a thread, packed into about 120 bytes. pmc_profile_thread() unpacks it. */
struct pmc_p_row {
	union {
		struct pmc_p_process *process;
		struct pmc_p_row *next; /* private, until finish */
	};
	uint64_t seq, snapshot, time_ns;
	/* private: */
	uint64_t hash;
	uint16_t bytes;	  /* allocated */
	uint16_t n_words; /* packed */
	uint8_t packed[];
};

struct pmc_p_thread {
	const struct pmc_p_row *row; /* NULL: not a row of the profile */
	struct pmc_p_process *process;
	struct pmc_thread_fixed fixed;
	uint64_t snapshot;
	const struct pmc_p_set_view *set;     /* NULL: no events, or its set is missing */
	const struct pmc_count *counts;       /* set->count, in set order */
	const char *module, *symbol;          /* of the start routine; "" unknown */
	uint64_t offset;
	/* Only in a view: what the thread did in this region, not all that it did. */
	const struct pmc_p_region *region;
};

/* Room for an unpacked row (about 4 KB). */
struct pmc_thread_buf {
	struct pmc_p_thread thread;
	struct pmc_count counts[PMC_SET_EVENTS_MAX];
};

/* What a thread did in a marked region; what marking costs is taken off. */
struct pmc_p_region {
	const struct pmc_p_process *process;
	const struct pmc_p_row *row; /* of its thread; NULL: not in the dump */
	struct pmc_region_fixed fixed;
	uint64_t snapshot;
	const char *name; /* any bytes, and a NUL behind them */
	size_t name_len;
	const struct pmc_p_set_view *set;    /* NULL: no events, or its set is missing */
	const struct pmc_count *counts;      /* inner regions included; set->count of each */
	const struct pmc_count *self_counts; /* without inner regions */
	const struct pmc_count *around;      /* what each pair cost; NULL: not measured */
	bool has_cpu;
	uint64_t cpu_ns, self_cpu_ns;
};

struct pmc_profile {
	struct pmc_arena arena;
	struct pmc_p_process **processes; /* by host, start_ns, pid, identity */
	uint64_t n_processes;
	struct pmc_p_row **threads; /* all rows: processes in order, then seq */
	uint64_t n_threads;
	struct pmc_p_row **timeline; /* every snapshot, if asked for: process, seq, snapshot */
	uint64_t n_timeline;
	const struct pmc_p_set_view **sets; /* of the rows, in the order of their first use */
	unsigned n_sets;
	struct pmc_p_region **regions; /* processes in order, then seq, then name */
	uint64_t n_regions;
	uint64_t damaged_frames; /* callers add what their scan passed over */
	uint64_t frames;         /* good frames added */
	struct pmc_profile_tables *tables; /* private */
};

struct pmc_profile_options {
	bool timeline;              /* keep older snapshots too */
	const uint8_t *only_job;    /* 16 bytes: rows and processes of this job alone */
};

int pmc_profile_init(struct pmc_profile *profile, const struct pmc_profile_options *options);
/* 0, or -ENOMEM. A frame whose inside does not parse counts as damaged. */
int pmc_profile_add(struct pmc_profile *profile, const struct pmc_frame *frame);
/* Every frame of a buffer; its damage is added to damaged_frames. */
int pmc_profile_add_buffer(struct pmc_profile *profile, const void *data, size_t len);
/* Reads from the descriptor's current position to its end, in bounded memory. 0 or -errno. */
int pmc_profile_add_fd(struct pmc_profile *profile, int fd);
int pmc_profile_finish(struct pmc_profile *profile);
/* Unpacks a row. The result is buf->thread, valid as long as buf is. */
const struct pmc_p_thread *pmc_profile_thread(const struct pmc_profile *profile,
					      const struct pmc_p_row *row,
					      struct pmc_thread_buf *buf);
/* Names start routines that the dump has as module and offset only, in processes of `host`. `find`
 * returns the arena's text, or NULL. */
void pmc_profile_name_sites(struct pmc_profile *profile, const char *host,
			    const char *(*find)(struct pmc_arena *arena, const char *module,
						uint64_t offset));
void pmc_profile_free(struct pmc_profile *profile);

#endif
