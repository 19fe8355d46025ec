/* SPDX-License-Identifier: MIT */
/* tables.h - tables behind a profile. Private to this folder. */
#pragma once

#include "lib/base/map.h"
#include "tools/rows/profile.h"

/* The fixed part of any frame, by pmc_frame_fixed(). */
union profile_fixed {
	struct pmc_process_fixed process;
	struct pmc_thread_fixed thread;
	struct pmc_total_fixed total;
	struct pmc_note_fixed note;
	struct pmc_region_fixed region;
	struct pmc_samples_fixed samples;
};

/* Copies the fixed part. The cursor is at the parts behind it. */
static inline struct pmc_cursor profile_parts(const struct pmc_frame *frame, void *fixed,
					      size_t bytes)
{
	struct pmc_cursor cursor;

	pmc_frame_fixed(frame, fixed, bytes);
	pmc_cursor_init(&cursor, frame);
	return cursor;
}

static inline int profile_order_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

struct place_key {
	uint64_t module;      /* hash of a MODULE or SITE frame */
	uint8_t identity[16]; /* of the process image, unless in a module */
	uint64_t address;
};

struct table_place {
	unsigned knows; /* 0: no function, 1: a function, 2: its source line too */
	uint64_t hash;	/* of its NAMES frame */
	const struct pmc_p_place *place;
};

#define PMC_SUM_GROUP (PMC_NO_GROUP - 1)

/* Where the count of an event is in readings. */
struct set_part {
	uint16_t group; /* PMC_NO_GROUP: not opened; PMC_SUM_GROUP: sum of the next `index` parts */
	uint16_t index;
	uint32_t error; /* of an event that is not counted */
	uint8_t state;
	uint8_t core; /* type, numbered from 1; 0: none */
	bool hidden;  /* shown in its sum only */
	bool accounted;
};

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

/* A copy of the newest frame with a key; not of EVENTSET, SITE, MODULE and THREAD frames. It is
 * read at the end, when all event sets are known. */
struct table_frame {
	const struct pmc_subject_key *key; /* text: NUL-terminated */
	size_t text_len;
	struct pmc_p_process *process;
	struct pmc_frame frame;
	uint64_t time_ns; /* of the snapshot */
	uint8_t *bytes;
	size_t room;
	UT_hash_handle hh; /* by *key */
};

/* Readings of a REGION frame; see pmc/dump.h. */
enum { INCLUSIVE, EXCLUSIVE, INSIDE, AROUND, REGION_PARTS };

/* No row has more groups or values than events: fixed part, readings, values. */
#define ROW_WORDS_MAX (sizeof(struct pmc_thread_fixed) / 8 + 4 * PMC_EVENTS_MAX)
/* Length nibbles, bytes, and what the last access reads and writes beyond them. */
#define ROW_PACKED_MAX ((ROW_WORDS_MAX + 1) / 2 + 8 * ROW_WORDS_MAX + 8)
#define ROW_ALIGN      16
#define ROW_SIZES      ((sizeof(struct pmc_p_row) + ROW_PACKED_MAX) / ROW_ALIGN + 1)

struct pmc_profile_tables {
	struct pmc_profile_options options;
	struct pmc_p_eventset *sets, *last_set;
	struct pmc_p_site *sites;
	struct pmc_p_process *processes, *last_process;
	struct table_frame *frames;
	uint64_t n_frames[UINT8_MAX + 1]; /* by pmc_frame_head.type */
	struct pmc_p_module *modules;
	struct pmc_p_stack *stacks;
	size_t samples_room;
	struct pmc_map intervals;		/* struct pmc_p_samples * by `whole` and number */
	struct pmc_p_samples *whole;		/* the last thread and event */
	struct pmc_map places;			/* struct table_place by struct place_key */
	struct pmc_p_row *free_rows[ROW_SIZES]; /* superseded, by bytes / ROW_ALIGN */
};

/* False: the frame does not parse. */
bool profile_add_set(struct pmc_profile *profile, const struct pmc_frame *frame);
bool profile_add_row(struct pmc_profile *profile, const struct pmc_frame *frame);
bool profile_add_module(struct pmc_profile *profile, const struct pmc_frame *frame);
bool profile_add_names(struct pmc_profile *profile, const struct pmc_frame *frame);
bool profile_has_stacks(const struct pmc_frame *frame);
bool profile_has_samples(const struct pmc_frame *frame, const struct pmc_samples_fixed *fixed);

/* profile.c */
struct pmc_p_process *profile_process(struct pmc_profile *profile, const uint8_t identity[16]);
/* The next text of a frame, in the arena; "": it does not fit. */
const char *profile_text(struct pmc_arena *arena, struct pmc_cursor *cursor);
/* Moves over n words: where they are, at any alignment; NULL: they do not fit. */
const uint8_t *profile_words(struct pmc_cursor *cursor, size_t n);
/* Moves over the readings of n_groups. False: they do not fit. */
bool profile_skip_readings(struct pmc_cursor *cursor, unsigned n_groups);

/* event_set.c */
struct pmc_p_eventset *profile_find_set(const struct pmc_profile *profile, uint64_t hash);
/* Sums such readings into counts of the set's events; counts has room for set->n_parts. was_on:
 * counting was switched on in the thread's life, so a thread that has not run since counted 0. */
void profile_take_counts(const struct pmc_p_eventset *set, unsigned n_groups,
			 struct pmc_cursor *cursor, bool was_on, struct pmc_count *counts);
/* The counts of a total (NULL: none); no set if its event set is missing. */
void profile_total(struct pmc_profile *profile, const struct table_frame *total, bool was_on,
		   struct pmc_p_remainder *counts);

/* rows.c: sorts a process's rows by seq, the newest last, and drops superseded ones. */
void profile_settle_rows(struct pmc_profile *profile, struct pmc_p_process *process);
/* Unpacks a row, but for its start routine. */
struct pmc_p_thread *profile_unpack(const struct pmc_profile *profile, const struct pmc_p_row *row,
				    struct pmc_thread_buf *buf);

/* The row with its run delay changed by so much; event: that of its set which has it; -1: none. */
struct pmc_p_row *profile_add_delay(struct pmc_profile *profile, struct pmc_p_row *row, int event,
				    int64_t ns);
/* delays.c: of the timeline, after the rows are listed. */
void profile_spread_delays(struct pmc_profile *profile);

/* Frames that were kept, after the rows are listed: STACKS before SAMPLES. */
void profile_list_region(struct pmc_profile *profile, const struct table_frame *kept);
void profile_list_modules(struct pmc_profile *profile);
void profile_list_stacks(struct pmc_profile *profile, const struct table_frame *kept);
/* Of a SAMPLES frame, or with a window of a TIMES frame what is in it. */
void profile_list_samples(struct pmc_profile *profile, const struct table_frame *kept);

/* names.c: the name of a start routine in a NAMES frame of that process; NULL: none. */
const char *profile_start_name(const struct pmc_p_process *process, const struct pmc_p_site *site);
bool profile_add_site(struct pmc_profile *profile, const struct pmc_frame *frame);
struct pmc_p_site *profile_find_site(const struct pmc_profile *profile, uint64_t hash);

/* link.c: the row of that seq in a process whose rows are listed, or NULL. */
struct pmc_p_row *profile_find_row(const struct pmc_p_process *process, uint64_t seq);

/* unattributed.c: opens the totals of all processes in their unattributed and descendants,
 * subtracts one row after the other, and closes them. After the processes are listed. */
void profile_open_totals(struct pmc_profile *profile);
void profile_subtract_row(struct pmc_p_process *process, const struct pmc_p_thread *row);
void profile_close_totals(struct pmc_profile *profile);
bool profile_is_first(const struct pmc_p_process *process);
