/* SPDX-License-Identifier: MIT */
/*
 * profile.h - dumps in memory: processes, threads, events, counts, regions, samples, notes.
 *
 * Frames are added in any order and any number of times (adding is idempotent and commutative, as
 * is the merge). Finishing links, orders and sums them for reports. A thread's row is its newest
 * snapshot. All memory is the arena's, which does not fail (pmc_arena_exhausted).
 */
#pragma once

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/number.h"
#include "lib/dump/frame.h"
#include "lib/dump/words.h"

#include <pmc/dump.h>
#include <stdbool.h>
#include <stdint.h>

/* A count, with the times that its value and state derive from. */
struct pmc_count {
	uint64_t raw, enabled_ns, running_ns;
	enum pmc_state state;
	uint32_t error; /* errno or enum pmc_reason of a state without a value */
	uint64_t added; /* of a sum with scaled parts: the sum of their scaled values, else 0 */
};

static inline bool pmc_count_has_value(const struct pmc_count *count)
{
	return count->state == PMC_COUNTED || count->state == PMC_SCALED;
}

uint64_t pmc_count_scaled(const struct pmc_count *count); /* scaled in 128 bits, or added */

static inline uint64_t pmc_count_value(const struct pmc_count *count)
{
	return count->state == PMC_SCALED ? pmc_count_scaled(count) : count->raw;
}

struct pmc_p_event {
	struct pmc_event_def def;
	const char *name, *unit, *core_type;
	const char *cpus; /* of an uncore event: where it is counted, as "0,18"; else "" */
};

struct pmc_p_eventset;
struct pmc_p_site;
struct pmc_p_process;
struct pmc_p_thread;
struct pmc_p_region;

#define PMC_USAGE_OF(fixed)                                                                        \
	((struct pmc_usage){ .minor_faults = (fixed)->minor_faults,                                \
			     .major_faults = (fixed)->major_faults,                                \
			     .voluntary_switches = (fixed)->voluntary_switches,                    \
			     .involuntary_switches = (fixed)->involuntary_switches })

static inline void pmc_usage_add(struct pmc_usage *sum, const struct pmc_usage *more)
{
	pmc_add_sat(&sum->minor_faults, more->minor_faults);
	pmc_add_sat(&sum->major_faults, more->major_faults);
	pmc_add_sat(&sum->voluntary_switches, more->voluntary_switches);
	pmc_add_sat(&sum->involuntary_switches, more->involuntary_switches);
}

/* On hybrid CPUs each event of several core types is preceded by its sum. */
#define PMC_SET_EVENTS_MAX (PMC_EVENTS_MAX + PMC_EVENTS_MAX / 2)

struct pmc_p_set_view {
	uint64_t hash;
	unsigned count;			  /* at most PMC_SET_EVENTS_MAX */
	const struct pmc_p_event *events; /* in the user's order (def.position) */
};

/* A total less the rows it covers. */
struct pmc_p_remainder {
	const struct pmc_p_set_view *set; /* NULL: no such total */
	struct pmc_count *counts;	  /* set->count; no value if total or rows are scaled */
	/* The group's task-clock less the rows' CPU time. (The rows' task-clock starts later than
	 * their CPU time.) */
	bool has_cpu;
	uint64_t cpu_ns;
};

struct pmc_p_process {
	uint8_t identity[16];
	struct pmc_process_fixed fixed;
	bool known; /* a PROCESS frame was read; else only other frames refer to it */
	uint64_t snapshot;
	uint64_t recorded_ms; /* profile->recorded_ms at its first frame */
	/* The first image of its process in the dump: itself, unless an exec put it in the place of
	 * another one. */
	struct pmc_p_process *origin;
	struct pmc_p_process *last_image; /* of an origin */
	struct pmc_p_process *parent;	  /* the origin of it or of its reaper; NULL: unknown */
	uint64_t job_start_ns; /* start of the job's first process of that machine in the dump */
	const char *host, *boot_id, *exe, *cmdline, *labels; /* "" where unknown */
	const char *node;	    /* the host of the job's first process on the same machine */
	struct pmc_p_row **threads; /* by seq */
	uint64_t n_threads;
	/* coverage */
	/* Sums of its rows. */
	uint64_t attributed_cpu_ns;
	struct pmc_usage usage;
	uint64_t threads_counted; /* rows with counts, or without events */
	/* Threads that had ended, in a dump that only has snapshots from outside. */
	uint64_t ended_elsewhere;
	struct {
		uint32_t reason;
		uint64_t count;
	} * uncounted;
	unsigned n_uncounted;
	/* Of a first process: thread group - rows; and of each one its accounted events. */
	struct pmc_p_remainder unattributed;
	/* First process only: exec group - covered rows. CPU time may be known without a set. */
	struct pmc_p_remainder descendants;
	struct pmc_p_remainder machine; /* first process only: uncore events, summed over CPUs */
	struct pmc_p_note *notes;	/* by code, then text */
	unsigned n_notes;
	/* private: */
	const struct pmc_p_set_view *accounted; /* of rows, with accounted events; or NULL */
	uint64_t index; /* in profile->processes, from 1; 0: of another job */
	struct pmc_p_row *rows, *last_row;
	uint64_t n_rows, settle_at;
	bool unsorted;
	const struct table_frame *totals[PMC_TOTAL_UNCORE + 1]; /* NULL: none */
	struct pmc_p_process *root; /* the job's first process whose totals have its work */
	struct open_totals *open;   /* its totals, less the rows so far */
	/* Of a root: CPU time of its children, and of all its descendants in the dump; whether
	 * counting was off for a time in any. */
	uint64_t children_cpu_ns, seen_cpu_ns;
	bool phases;
	bool not_waited_for; /* of an origin: the root's children_cpu_ns lacks it */
	bool alone;	     /* no other process of its machine started while it ran */
	bool named;	     /* its sites have names by pmc_profile_name_sites() */
	const struct pmc_profile_tables *tables; /* of its profile */
	UT_hash_handle hh;			 /* by identity */
};

struct pmc_p_note {
	struct pmc_note_fixed fixed;
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
	bool no_usage;	  /* no faults and switches */
	uint8_t packed[];
};

static inline bool pmc_same_thread(const struct pmc_p_row *a, const struct pmc_p_row *b)
{
	return a->process == b->process && a->seq == b->seq;
}

/* Faults are unknown with PMC_THREAD_NO_RUSAGE, switches not always. */
static inline bool pmc_lacks_switches(const struct pmc_thread_fixed *fixed)
{
	return (fixed->flags & (PMC_THREAD_NO_RUSAGE | PMC_THREAD_SWITCHES)) ==
	       PMC_THREAD_NO_RUSAGE;
}

struct pmc_p_thread {
	const struct pmc_p_row *row; /* NULL: not a row of the profile */
	struct pmc_p_process *process;
	struct pmc_thread_fixed fixed;
	/* Faults and switches of an older row: lower bounds. */
	bool least_usage;
	const struct pmc_p_set_view *set; /* NULL: no events, or its set is missing */
	const struct pmc_count *counts;	  /* set->count, in set order */
	const char *module, *symbol;	  /* of the start routine; "" unknown */
	bool symbol_found;		  /* by pmc_profile_name_sites(): not in the dump */
	uint64_t offset;
	const struct pmc_p_stack *creation; /* where it was created; NULL: unknown */
	bool sampled; /* samples and lost_samples are known; waits are no samples */
	uint64_t samples, lost_samples;
	/* Waits, and those for a CPU after preemptions, whose lengths are known; NULL: not. */
	const struct pmc_p_samples *waits, *delays;
	/* CPU time in user mode outside MPI libraries, estimated from the thread's samples; known
	 * if the thread is sampled, some stack of the dump is in an MPI library, and stacks of at
	 * most 1 % of the samples are missing. */
	bool has_outside_mpi;
	uint64_t outside_mpi_ns, outside_mpi_samples;
	/* The begin of the interval of its samples (--every), a multiple of every_ns. */
	uint64_t time_ns, every_ns;
	/* In a report by waker, the name of who ended these waits; NULL: not recorded. */
	const char *waker;
	size_t waker_len;
	bool no_waker; /* it is no thread */
	/* In a report by region: the counts are of this region only. NULL elsewhere. */
	const struct pmc_p_region *region;
};

/* When the row is known to be valid last. Later snapshots have no row of a live thread that has not
 * changed. */
static inline uint64_t pmc_thread_until(const struct pmc_p_thread *thread)
{
	const struct pmc_thread_fixed *fixed = &thread->fixed;

	if (fixed->end_ns)
		return fixed->end_ns;
	if (fixed->state == PMC_THREAD_LIVE && thread->process &&
	    thread->process->fixed.time_ns > fixed->time_ns)
		return thread->process->fixed.time_ns;
	return fixed->time_ns;
}

/* Room for an unpacked row (about 4 KB). */
struct pmc_thread_buf {
	struct pmc_p_thread thread;
	struct pmc_count counts[PMC_SET_EVENTS_MAX];
};

/* Whether counting was never on: no value of the process is known, not even as 0. */
static inline bool pmc_process_never_on(const struct pmc_process_fixed *fixed)
{
	return fixed->off_ns && !pmc_process_on_ns(fixed);
}

/* The counts of a thread in a marked region, less the cost of marking. */
struct pmc_p_region {
	const struct pmc_p_process *process;
	const struct pmc_p_row *row;   /* of its thread; NULL: not in the dump */
	struct pmc_region_fixed fixed; /* CPU times too are less the cost of marking */
	const char *name;	       /* any bytes, NUL-terminated */
	size_t name_len;
	const struct pmc_p_set_view *set;    /* NULL: no events, or its set is missing */
	const struct pmc_count *counts;	     /* inner regions included; set->count of each */
	const struct pmc_count *self_counts; /* without inner regions */
	const struct pmc_count *around;	     /* cost of a begin and end; NULL: not measured */
};

static inline bool pmc_region_has_cpu(const struct pmc_p_region *region)
{
	return region->fixed.flags & PMC_REGION_CPU;
}

/* A program or library. Modules of all processes of a dump are in one list. */
struct pmc_p_module {
	uint64_t hash;
	const char *path; /* "[vdso]": the kernel's */
	const uint8_t *build_id;
	size_t build_id_len; /* 0: it has none */
	bool is_innermost;   /* some stack ends in it */
	bool is_mpi;	     /* of an MPI library */
	void *user;	     /* of the caller; NULL at first */
	UT_hash_handle hh;   /* private */
};

/* Inside the instruction that was executing: no address of a caller needs to be decremented. */
struct pmc_p_frame {
	struct pmc_p_module *module; /* NULL: JIT or unknown code, or it has no MODULE frame */
	uint64_t address;	     /* as in the module's symbol table; without one at run time */
};

struct pmc_p_stack {
	const struct pmc_p_process *process; /* the key, with id */
	uint32_t id;
	uint16_t depth, flags;	     /* PMC_STACK_* */
	bool in_mpi;		     /* some frame is in an MPI library */
	bool lacks_module;	     /* a MODULE frame of it is not in the dump */
	UT_hash_handle hh;	     /* private */
	struct pmc_p_frame frames[]; /* the innermost first */
};

/* Whether code is the same in all processes that have it: in a file of a known build. */
static inline bool pmc_is_known_build(const struct pmc_p_frame *frame)
{
	return frame->module && frame->module->build_id_len;
}

/* The names that a dump has for an address: functions, of inlined ones the innermost first. */
struct pmc_p_place {
	uint64_t start; /* of the function; 0: unknown */
	unsigned n;
	struct pmc_p_function {
		const char *name, *file; /* NULL: unknown */
		unsigned line;
		bool inlined; /* into the next one */
	} functions[];
};

struct pmc_p_sample {
	const struct pmc_p_stack *stack; /* NULL: none was taken, or it is not in the dump */
	uint64_t count, weight;		 /* weight: sum of the periods, in the event's unit */
	uint64_t time_ns;		 /* of a TIMES frame; else 0 */
};

/* Whether its samples are waits: not taken at a rate, each has its time in ns. */
static inline bool pmc_is_off_cpu(const struct pmc_p_event *event)
{
	return event->def.type == PMC_TYPE_OS && event->def.config == PMC_OS_OFF_CPU;
}

struct pmc_p_waker {
	struct pmc_waker of;
	const struct pmc_p_row *row; /* NULL: it has none in the dump */
};

struct pmc_p_samples {
	const struct pmc_p_process *process;
	const struct pmc_p_row *row;	 /* of its thread; NULL: not in the dump */
	struct pmc_samples_fixed fixed;	 /* of part 0 */
	const struct pmc_p_event *event; /* NULL: its event set is missing */
	/* Of the event itself, which the weights should add up to; NULL: unknown. */
	const struct pmc_count *count;
	uint64_t samples, weight;	  /* sums over the list */
	uint64_t mpi_samples, mpi_weight; /* of these, in an MPI library */
	uint64_t no_stack_samples;	  /* of these, whose stack is unknown, or a module of it */
	uint64_t n;
	uint64_t time_ns;		 /* with options.every_ns: the begin of the interval */
	const struct pmc_p_waker *waker; /* of profile->woken; NULL: not recorded */
	size_t room;			 /* private */
	struct pmc_p_sample *list;	 /* a stack may be there more than once */
};

struct pmc_profile {
	struct pmc_arena arena;
	struct pmc_p_process **processes; /* by node, start_ns, pid, identity */
	uint64_t n_processes, n_jobs;
	struct pmc_p_row **threads; /* all rows: processes in order, then seq */
	uint64_t n_threads;
	struct pmc_p_row **timeline; /* every snapshot, if asked for: process, seq, snapshot */
	uint64_t n_timeline;
	const struct pmc_p_set_view **sets; /* of the rows, in the order of their first use */
	unsigned n_sets;
	struct pmc_p_region **regions; /* processes in order, then seq, then name */
	uint64_t n_regions;
	struct pmc_p_samples **samples; /* processes in order, then seq, then event set */
	uint64_t n_samples;
	struct pmc_p_samples **delays; /* of run delay, in the same order: not among the samples */
	uint64_t n_delays;
	struct pmc_p_samples **timed; /* the same by time, if asked for and known */
	uint64_t n_timed_lists;
	struct pmc_p_samples **woken; /* waits alone, by who ended them, if asked for */
	uint64_t n_woken;
	bool has_wakers;	     /* it is known of some waits */
	uint64_t n_timed, n_untimed; /* with a window: lists of samples, and those without times */
	bool too_many_intervals;     /* later samples are left out */
	struct pmc_p_module **modules; /* by path, then build ID */
	uint64_t n_modules;
	bool has_mpi;	      /* some stack is in an MPI library */
	uint64_t recorded_ms; /* set by the caller: time of the input since 1970; 0: unknown */
	uint64_t damaged_frames;
	uint64_t frames;		   /* good frames added */
	void (*step)(uint64_t bytes);	   /* set by the caller: is told of each frame; or NULL */
	struct pmc_profile_tables *tables; /* private */
};

struct pmc_profile_options {
	bool timeline;		 /* keep older snapshots too */
	bool times;		 /* samples by time, too */
	bool wakers;		 /* waits by who ended them, too */
	const uint8_t *only_job; /* 16 bytes: ignore processes of other jobs; not copied */
	/* Samples of this time since the start of the job only, as far as the dump has their times;
	 * to_ns 0: all. */
	uint64_t from_ns, to_ns;
	uint64_t every_ns; /* with to_ns: a list of samples for each such interval; 0: one */
};

void pmc_profile_init(struct pmc_profile *profile, const struct pmc_profile_options *options);
/* A frame that cannot be parsed counts as damaged. */
void pmc_profile_add(struct pmc_profile *profile, const struct pmc_frame *frame);
void pmc_profile_add_buffer(struct pmc_profile *profile, const void *data, size_t len);
/* Reads from the descriptor's current position to its end, in bounded memory. 0 or -errno. */
int pmc_profile_add_fd(struct pmc_profile *profile, int fd);
void pmc_profile_finish(struct pmc_profile *profile);
/* Unpacks a row. The result is buf->thread, valid as long as buf is. */
/* Of the first snapshot of a timeline: how long the thread waited for a CPU before start_ns, where
 * it runs its first instruction: the run delay that the time since has no room for. */
uint64_t pmc_delay_before_start(const struct pmc_p_thread *thread);
const struct pmc_p_thread *pmc_profile_thread(const struct pmc_profile *profile,
					      const struct pmc_p_row *row,
					      struct pmc_thread_buf *buf);
/* The stack of that ID in a process image; NULL: it is not in the dump. */
const struct pmc_p_stack *pmc_profile_stack(const struct pmc_profile *profile,
					    const struct pmc_p_process *process, uint32_t id);
/* The stack after `stack` in the dump; NULL: the first one, or there are no more. */
const struct pmc_p_stack *pmc_profile_next_stack(const struct pmc_profile *profile,
						 const struct pmc_p_stack *stack);
/* The names that the dump has for an address in a stack of that process; NULL: none. */
const struct pmc_p_place *pmc_profile_place(const struct pmc_p_process *process,
					    const struct pmc_p_frame *frame);
/* Whether a note of the image says that it executed a program without the agent. */
bool pmc_process_lost_agent(const struct pmc_p_process *process);
/* Whether a process has rows newer than its own frame: killed, or ended past libc. *newest_ns gets
 * the last time known of it. */
bool pmc_process_end_unseen(const struct pmc_p_process *process, uint64_t *newest_ns);

/* The time in which processes of one machine ran and counting was on, without the gaps between
 * runs, from those in the order of their start. Of a process that is taken to be the last part of
 * its life; where it is the first, as after pmctl ctl stop, others count on: it is no less than the
 * time of those in which counting was never off. All zero: none. */
struct pmc_wall {
	uint64_t to_ns, sum_ns, whole_to_ns, whole_ns;
};
/* Returns the time so far. */
uint64_t pmc_wall_add(struct pmc_wall *wall, const struct pmc_p_process *process);
/* The faults and switches of a process that are in no row, or in one that does not know them.
 * False: they are not known. */
bool pmc_process_usage_rest(const struct pmc_p_process *process, struct pmc_usage *rest);
/* The samples of a row's thread: *n entries of profile->samples. NULL: there are none. */
struct pmc_p_samples **pmc_profile_samples_of(const struct pmc_profile *profile,
					      const struct pmc_p_row *row, uint64_t *n);
/* Its waits, a list for each thread that ended some: *n entries of profile->woken. */
struct pmc_p_samples **pmc_profile_woken_of(const struct pmc_profile *profile,
					    const struct pmc_p_row *row, uint64_t *n);
/* Those of its waits for a CPU, if their lengths are known; else NULL. */
const struct pmc_p_samples *pmc_profile_delays_of(const struct pmc_profile *profile,
						  const struct pmc_p_row *row);
/* Names start routines that the dump has as module and offset only, in processes of `host`. `find`
 * returns the arena's text, or NULL. */
void pmc_profile_name_sites(struct pmc_profile *profile, const char *host,
			    const char *(*find)(struct pmc_arena *arena, const char *module,
						uint64_t offset, void *arg),
			    void *arg);
/* Gives modules the paths that `name` has for theirs; then those of start routines, of which no
 * module is known. */
void pmc_profile_rename_modules(struct pmc_profile *profile,
				const char *(*name)(struct pmc_profile *profile, const char *path,
						    const struct pmc_p_module *module));
void pmc_profile_free(struct pmc_profile *profile);

/* The subject of a frame: a later one with the same key supersedes it. */
struct pmc_subject {
	struct pmc_subject_key {
		uint8_t identity[16];
		uint64_t number; /* THREAD, REGION, SAMPLES: seq; TOTAL: kind; NOTE: code */
		uint8_t type;
		/* NOTE: text; REGION: name; SAMPLES: bytes of event and part. */
		char text[1024];
	} key;
	size_t text_len;
	uint64_t time_ns; /* no part of the key */
};

/* The bytes of a key whose text has that length. */
static inline size_t pmc_subject_bytes(size_t text_len)
{
	return offsetof(struct pmc_subject_key, text) + text_len;
}

/* False: no later frame supersedes it; number is 0 then. */
bool pmc_frame_subject(const struct pmc_frame *frame, struct pmc_subject *subject);
