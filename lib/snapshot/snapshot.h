/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - frames of a process with an agent: rows, totals, regions, samples, stacks.
 *
 * The agent writes those of its own process, pmctl those of another one. Async-signal-safe, with
 * little stack, as far as the reader is. The buffer of the frames has room for the largest.
 */
#pragma once

#include "lib/dump/frame.h"
#include "lib/live/control.h"

/* ---- access to the memory and the groups of a process with an agent, from inside or outside -----
 *
 * From inside nothing is copied: a pointer leads to memory that other threads change. From outside
 * the same pointer leads to a copy, made when it was asked for: the kernel takes a lock for each,
 * which orders them. The memory of another process is untrusted: what a copy says is checked before
 * it is used as a size or a number. */

/* There is one copy of each, which lasts until the next of its kind. */
enum reader_copy {
	COPY_ACCOUNT,
	COPY_WORD,
	COPY_AREA, /* of regions, up to REGION_AREA_HEAD */
	COPY_RECORD,
	COPY_TABLES,
	COPY_THREAD,
	COPY_COUNTS,
	COPY_LIST,
	COPY_MODULES,
	COPY_STACKS,
	COPY_WORDS,
	COPY_KINDS,
};

struct reader {
	const struct pmc_control *control;
	const struct registry *registry; /* with the slots that are read */
	uint64_t snapshot;		 /* number of the frames */
	/* The rest is 0 from inside. */
	void *from; /* for the two functions */
	/* NULL: the memory cannot be read. */
	const void *(*copy)(void *from, enum reader_copy kind, uint64_t address, size_t bytes);
	/* As pmc_perf_group_read, with a descriptor of that process. */
	void (*read_group)(void *from, int fd, uint64_t id, unsigned n, struct pmc_reading *reading,
			   uint64_t *words);
	const uint32_t *index; /* of each slot in the process's registry */
};

static inline const void *reader_at(const struct reader *reader, enum reader_copy kind,
				    uint64_t address, size_t bytes)
{
	return reader->copy ? reader->copy(reader->from, kind, address, bytes) :
			      (const void *)(uintptr_t)address;
}

static inline void reader_group(const struct reader *reader, int fd, uint64_t id, unsigned n,
				struct pmc_reading *reading, uint64_t *words)
{
	if (reader->copy)
		reader->read_group(reader->from, fd, id, n, reading, words);
	else if (pmc_perf_is_event(fd, id))
		pmc_perf_group_read(fd, id, n, reading, words);
	else
		*reading = (struct pmc_reading){ .error = PMC_REASON_RECYCLED };
}

static inline uint32_t reader_index(const struct reader *reader, const struct slot *slot)
{
	const uint32_t index = registry_index(reader->registry, slot);

	return reader->index ? reader->index[index] : index;
}

/* ---- snapshot.c: groups, rows, regions ---- */
/* Groups of a thread or of a total, with descriptors as numbered in the process. */
struct snapshot_groups {
	unsigned groups;
	const uint16_t *first; /* group g is fds[first[g] .. first[g+1]) */
	const int *fds;
	const uint64_t *ids;  /* of the leaders, by group */
	const uint64_t *base; /* see set_base() */
};

/* Results of the readings of a frame. */
struct snapshot_seen {
	uint64_t enabled_ns;	  /* raw time enabled of a group; 0: none could be read */
	uint64_t waited_ns;	  /* the longest raw time enabled of a group that has not run */
	uint64_t first_waited_ns; /* that of the first group */
};

static inline struct snapshot_groups snapshot_groups_of(const struct reader *reader,
							struct slot *slot)
{
	return (struct snapshot_groups){
		.groups = reader->registry->n_groups,
		.first = reader->control->first,
		.fds = set_fds(reader->registry, slot->data),
		.ids = set_ids(slot->data),
		.base = set_base(reader->registry, slot->data),
	};
}

static inline struct snapshot_groups
snapshot_groups_of_total(const struct pmc_control_totals *totals)
{
	return (struct snapshot_groups){
		.groups = totals->groups,
		.first = totals->first,
		.fds = totals->fds,
		.ids = totals->ids,
		.base = totals->base,
	};
}

/* Appends the readings, less their bases, to the frame being built. The space at the end of the
 * buffer, of SNAPSHOT_LINE bytes and the words of a group, is scratch. *reason: why descriptors are
 * -1; the first error is stored there if it was 0. */
#define SNAPSHOT_LINE 64
struct snapshot_seen snapshot_put_groups(const struct reader *reader, struct pmc_frame_buf *buf,
					 const struct snapshot_groups *groups, uint32_t *reason);
/* Appends the TOTAL frame of groups that are open, or of uncore events that could not be opened. */
void snapshot_total(const struct reader *reader, struct pmc_frame_buf *buf,
		    const struct pmc_control_totals *totals, enum pmc_total_kind kind);

/* A row, with scratch space for reading its groups. */
#define SNAPSHOT_ROW_BYTES(groups, events)                                                         \
	(SNAPSHOT_LINE + sizeof(struct pmc_frame_head) + sizeof(struct pmc_thread_fixed) +         \
	 (groups) * sizeof(struct pmc_reading) +                                                   \
	 ((events) + PMC_PERF_GROUP_WORDS(events)) * sizeof(uint64_t) +                            \
	 PMC_ACCOUNTS * sizeof(struct pmc_reading) + PMC_ACCOUNTED_MOST * sizeof(uint64_t))

/* The hash of the event set of a slot's groups: the job's, or the user-mode one. */
static inline uint64_t snapshot_eventset(const struct pmc_control *control, const struct slot *slot)
{
	return slot->flags & SLOT_USER_ONLY ? control->user_eventset : control->eventset;
}

/* Begins the row of a slot's thread with what the slot has. Then append its groups, put what the
 * kernel accounts for, and end the frame. phases: counting has been switched, so that the row has
 * off_ns and reset_ns; delay: it has room for the run delay. NULL: no room, the frame is
 * dropped. */
struct pmc_thread_fixed *snapshot_begin_row(const struct reader *reader, struct pmc_frame_buf *buf,
					    const struct slot *slot, enum pmc_thread_state state,
					    bool phases, bool delay);
/* Puts present values of the kernel, less those of the thread's account, and appends the readings
 * of accounted events. Not row->time_ns. */
void snapshot_put_words(const struct reader *reader, struct pmc_frame_buf *buf,
			const struct slot *slot, struct account_words *now,
			struct pmc_thread_fixed *row, bool phases);
/* The number of events of a group of accounted ones, and their values. */
unsigned snapshot_accounted(const struct pmc_control *control, unsigned group,
			    const struct account_words *now, uint64_t *values);
/* The slot's account; if there is none, one that subtracts nothing. */
void snapshot_account(const struct reader *reader, const struct slot *slot,
		      struct account_side *side);
void snapshot_account_open(const struct reader *reader, const struct slot *slot, bool stopped,
			   struct account_side *side);
/* Completes the fixed part of a PROCESS frame up to now. room: scratch. */
void snapshot_process(const struct reader *reader, struct account_words *now,
		      struct account_side *room, struct pmc_process_fixed *fixed);

enum snapshot_result {
	SNAPSHOT_PUT, /* a frame, or nothing because it would be empty */
	SNAPSHOT_END, /* there is none */
	SNAPSHOT_CHANGING,
	SNAPSHOT_DAMAGED, /* no agent writes that */
};

/* Appends the frame of a live thread's region, numbered from 0, in one try: not while the thread
 * changes its records, which takes less than a microsecond unless it is preempted. */
enum snapshot_result snapshot_region(const struct reader *reader, struct pmc_frame_buf *buf,
				     const struct slot *slot, uint32_t index);

/* ---- sample.c: samples, stacks ---- */
/* NULL: there are none, or they are damaged. */
const struct sample_tables *snapshot_tables(const struct reader *reader);
const struct sample_thread *snapshot_sample_thread(const struct reader *reader,
						   const struct slot *slot);
/* The count of a thread's sampling event: its times, and the value. */
uint64_t snapshot_sampled(const struct reader *reader, const struct sample_thread *thread,
			  struct pmc_reading *reading);
/* reset_ns of the slot's account, and what to subtract from its sampling event since then. */
uint64_t snapshot_reset(const struct reader *reader, const struct slot *slot, uint64_t sampled[3]);
/* Appends a part, from 0 on, of the samples of a slot's thread. If the thread may have ended
 * meanwhile, they are of no use. */
enum snapshot_result snapshot_samples(const struct reader *reader, struct pmc_frame_buf *buf,
				      const struct slot *slot, uint32_t part);

/* The contents of a dump so far. */
struct snapshot_written {
	uint32_t modules, stacks; /* the next; IDs of stacks begin with 1 */
	uint32_t again;		  /* the first stack that was not complete; 0: none */
};

/* Appends a MODULE or STACKS frame that is not in the dump. SNAPSHOT_DAMAGED: what was damaged is
 * left out, and there may be more. */
enum snapshot_result snapshot_stacks(const struct reader *reader, struct pmc_frame_buf *buf,
				     struct snapshot_written *written);
