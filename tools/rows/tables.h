/* SPDX-License-Identifier: MIT */
/* tables.h - tables behind a profile. Private to this folder. */
#ifndef PMC_TOOLS_ROWS_TABLES_H
#define PMC_TOOLS_ROWS_TABLES_H

#include "lib/base/hash.h"
#include "tools/rows/profile.h"

#define PMC_SUM_GROUP (PMC_NO_GROUP - 1)

static inline int profile_order_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

struct place_key {
	uint64_t module;      /* hash of a MODULE or SITE frame */
	uint8_t identity[16]; /* of the process image, unless in a module */
	uint64_t address;
};

struct start_key {
	uint8_t identity[16];
	uint64_t site; /* hash */
};

struct table_start {
	struct start_key key;
	const struct table_process *process;
	UT_hash_handle hh; /* by key */
};

struct table_place {
	struct place_key key;
	unsigned knows; /* 0: no function, 1: a function, 2: its source line too */
	uint64_t hash;	/* of its NAMES frame */
	const struct pmc_p_place *place;
	UT_hash_handle hh; /* by key */
};

/* Where the count of an event is in readings. */
struct set_part {
	uint16_t group; /* PMC_NO_GROUP: not opened; PMC_SUM_GROUP: sum of the next `index` parts */
	uint16_t index;
	uint32_t error; /* of an event that is not counted */
	uint8_t state;
	uint8_t core; /* type, numbered from 1; 0: none */
	bool hidden;  /* shown in its sum only */
};

struct set_slot {
	struct pmc_p_event event;
	struct set_part part;
};

/* An EVENTSET frame, in the user's order. */
struct pmc_p_eventset {
	struct pmc_p_set_view view;
	unsigned n_groups;
	uint16_t group_size[PMC_EVENTS_MAX];
	unsigned n_parts; /* view.count and hidden ones */
	struct set_part parts[PMC_SET_EVENTS_MAX];
	unsigned n_cores, n_sums;
	bool has_hidden;
	bool listed;	   /* in profile->sets */
	UT_hash_handle hh; /* by view.hash */
};

struct pmc_p_site {
	uint64_t hash, offset;
	const char *module, *symbol;
	const char *found; /* by pmc_profile_name_sites(), or NULL */
	UT_hash_handle hh; /* by hash */
};

/* What frames that supersede each other have in common. */
struct frame_key {
	uint8_t identity[16];
	uint64_t number; /* TOTAL: kind; NOTE: code; REGION, SAMPLES: seq; STACKS: hash */
	uint8_t type;
	/* NOTE: text; REGION: name; SAMPLES: see profile_add_samples; NUL-terminated in a copy */
	char text[1024];
};

/* A copy of the newest frame with a key; not of EVENTSET, SITE, MODULE and THREAD frames. It is
 * read at the end, when all event sets are known. */
struct table_frame {
	const struct frame_key *key;
	size_t text_len;
	struct table_process *process;
	struct pmc_frame frame;
	uint64_t time_ns; /* of the snapshot */
	uint8_t *bytes;
	size_t room;
	UT_hash_handle hh; /* by *key */
};

struct table_module {
	struct pmc_p_module pub;
	UT_hash_handle hh; /* by pub.hash */
};

struct stack_key {
	const struct pmc_p_process *process;
	uint64_t id;
};

struct table_stack {
	struct stack_key key;
	const struct pmc_p_stack *stack;
	UT_hash_handle hh; /* by key */
};

enum {
	PROCESS_TEXTS = 4, /* host, boot_id, exe, cmdline */
	TOTAL_KINDS = PMC_TOTAL_UNCORE + 1,
};

/* Readings of a REGION frame; see pmc/dump.h. */
enum { INCLUSIVE, EXCLUSIVE, INSIDE, AROUND, REGION_PARTS };

struct table_process {
	struct pmc_p_process pub;
	uint64_t index; /* in profile->processes, from 1; 0: of another job */
	struct pmc_p_row *rows, *last_row;
	uint64_t n_rows, settle_at;
	bool unsorted;
	const struct table_frame *totals[TOTAL_KINDS]; /* NULL: none */
	struct table_process *root; /* the job's first process whose totals have its work */
	struct open_totals *open;   /* its totals, less the rows so far */
	/* Of a root: CPU time of its children, and of all its descendants in the dump; whether
	 * counting was off for a time in any. */
	uint64_t children_cpu_ns, seen_cpu_ns;
	bool phases;
	bool named; /* its sites have names by pmc_profile_name_sites() */
	const struct pmc_profile_tables *tables; /* of its profile */
	UT_hash_handle hh;			 /* by pub.identity */
	UT_hash_handle by_job;			 /* first processes, by pub.fixed.job */
};

/* No row has more groups or values than events: fixed part, readings, values. */
#define ROW_WORDS_MAX (sizeof(struct pmc_thread_fixed) / 8 + 4 * PMC_EVENTS_MAX)
/* Length nibbles, bytes, and what the last access reads and writes beyond them. */
#define ROW_PACKED_MAX ((ROW_WORDS_MAX + 1) / 2 + 8 * ROW_WORDS_MAX + 8)
#define ROW_ALIGN      16
#define ROW_SIZES      ((sizeof(struct pmc_p_row) + ROW_PACKED_MAX) / ROW_ALIGN + 1)

struct pmc_profile_tables {
	struct pmc_profile_options options;
	struct pmc_p_eventset *sets, *last_set;
	struct pmc_p_site *sites, *last_site;
	struct table_process *processes, *last_process;
	struct table_frame *frames;
	uint64_t n_frames[PMC_FRAME_SAMPLES + 1]; /* by type */
	struct table_module *modules;
	struct table_stack *stacks;
	struct table_place *places;
	struct table_start *starts;
	struct pmc_p_row *free_rows[ROW_SIZES]; /* superseded, by bytes / ROW_ALIGN */
};

/* event_set.c: all return 0, -ENOMEM, or -EBADMSG for a frame that does not parse. */
int profile_add_set(struct pmc_profile *profile, const struct pmc_frame *frame);
struct pmc_p_eventset *profile_find_set(const struct pmc_profile *profile, uint64_t hash);
/* Moves over the readings of n_groups. False: they do not fit. */
bool profile_skip_readings(struct pmc_cursor *cursor, unsigned n_groups);
/* Sums such readings into counts of the set's events; counts has room for set->n_parts. was_on:
 * counting was switched on in the thread's life, so a thread that has not run since counted 0. */
void profile_take_counts(const struct pmc_p_eventset *set, unsigned n_groups,
			 struct pmc_cursor *cursor, bool was_on, struct pmc_count *counts);
void profile_take_os(const struct pmc_p_eventset *set, const struct pmc_thread_fixed *fixed,
		     uint64_t on_ns, struct pmc_count *counts);
/* The counts of a total (NULL: none); no set if its event set is missing. 0 or -ENOMEM. */
int profile_total(struct pmc_profile *profile, const struct table_frame *total, bool was_on,
		  struct pmc_p_remainder *counts);

/* sums.c: inserts a sum before the parts of each event. Slots are set->n_parts in the user's order,
 * with room for PMC_SET_EVENTS_MAX. */
void profile_insert_sums(struct pmc_p_eventset *set, struct set_slot *slots,
			 struct pmc_arena *arena);
/* Scales counts per core type to the time on that type, fills in the sums and removes hidden parts.
 */
void profile_sum_counts(const struct pmc_p_eventset *set, struct pmc_count *counts);

/* rows.c */
int profile_add_row(struct pmc_profile *profile, const struct pmc_frame *frame);
/* Sorts a process's rows by seq, the newest last, and drops superseded ones. 0 or -ENOMEM. */
int profile_settle_rows(struct pmc_profile *profile, struct table_process *process);
/* Unpacks a row, but for its start routine. */
struct pmc_p_thread *profile_unpack(const struct pmc_profile *profile, const struct pmc_p_row *row,
				    struct pmc_thread_buf *buf);
/* region.c: lists a REGION frame, after the rows. 0 or -ENOMEM. */
int profile_list_region(struct pmc_profile *profile, const struct table_frame *kept);

/* samples.c: frames of sampling. 0, -ENOMEM, or -EBADMSG for a frame that does not parse. */
int profile_add_module(struct pmc_profile *profile, const struct pmc_frame *frame);
int profile_add_stacks(struct pmc_profile *profile, const struct pmc_frame *frame);
int profile_add_samples(struct pmc_profile *profile, const struct pmc_frame *frame);
/* Reads such a frame after the rows are listed: STACKS before SAMPLES. 0 or -ENOMEM. */
int profile_list_modules(struct pmc_profile *profile);
int profile_list_stacks(struct pmc_profile *profile, const struct table_frame *kept);
int profile_list_samples(struct pmc_profile *profile, const struct table_frame *kept);

/* names.c: a NAMES frame. 0, -ENOMEM, or -EBADMSG for a frame that does not parse. */
int profile_add_names(struct pmc_profile *profile, const struct pmc_frame *frame);

/* starts.c: notes the start routine of a THREAD frame. 0 or -ENOMEM. */
int profile_add_start(struct pmc_profile *profile, const struct pmc_frame *frame);
/* What a NAMES frame says about a start routine in that process; NULL: nothing. */
const char *profile_start_name(const struct table_process *process, const struct pmc_p_site *site);

/* profile.c: keeps a copy of the frame if it is the newest of its key. 0 or -ENOMEM. */
int profile_keep(struct pmc_profile *profile, const struct pmc_frame *frame, uint64_t time_ns,
		 uint64_t number, const char *text, size_t len);
struct pmc_p_site *profile_find_site(const struct pmc_profile *profile, uint64_t hash);
struct table_process *profile_process(struct pmc_profile *profile, const uint8_t identity[16]);

/* images.c: sets origin and job_start_ns of each process of the list. 0 or -ENOMEM. */
int profile_link_images(struct pmc_profile *profile);

/* link.c: the row of that seq in a process whose rows are listed, or NULL. */
struct pmc_p_row *profile_find_row(const struct pmc_p_process *process, uint64_t seq);

/* unattributed.c: opens the totals of all processes in their unattributed and descendants,
 * subtracts one row after the other, and closes them. After the processes are listed. */
int profile_open_totals(struct pmc_profile *profile);
void profile_subtract_row(struct table_process *process, const struct pmc_p_thread *row);
void profile_close_totals(struct pmc_profile *profile);

#endif
