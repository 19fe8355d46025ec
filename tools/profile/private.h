/* SPDX-License-Identifier: MIT */
/*
 * private.h - threads, their samples and waits, and the rows that are made of them.
 *
 * Private to this folder.
 *
 * threads.c follows records, throttle.c limits the stacks of switches, rows.c makes rows where no
 * agent does, write.c writes frames. Waits
 * alone are recorded beside the agent by off_cpu.c; cmd_profile.c records all.
 */
#pragma once

#include "lib/base/config.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/dump/frame.h"
#include "tools/live/delay.h"
#include "tools/live/waking.h"
#include "tools/profile/profile.h"
#include "tools/unwind/unwind.h"

#include <pmc/record.h>

/* A thread as its row has it: by the numbers of its own PID namespace. */
struct prof_numbers {
	uint64_t pid_namespace; /* 0: pmctl's, else the inode */
	uint32_t pid, tid;	/* 0: not known */
};

/* What /proc has of a thread. */
struct prof_reading {
	bool known;
	char state; /* of proc_pid_stat(5) */
	uint64_t cpu_ns, delay_ns;
	struct pmc_usage usage;
};

/* A process from its fork or exec, or the start of the recording, to its end or the next exec. */
struct prof_image {
	/* Its PROCESS frame, as far as it is known. Times and usage are sums of its rows; only a
	 * single target has PMC_PROCESS_FIRST. */
	struct pmc_process_fixed fixed;
	uint8_t identity[16];
	const struct prof_image *parent; /* NULL: unknown */
	const char *exe, *cmdline;	 /* "": unknown */
	bool replaced;			 /* by exec */
	bool unseen;			 /* the kernel ended its events at its start */
	uint64_t alive;			 /* threads */
	struct prof_image *next;
	UT_hash_handle hh; /* by pid; the newest of a number */
};

/* Samples or waits by time. */
struct prof_times {
	struct pmc_timed_sample *list;
	size_t n, room;
};

/* The last wait of some length whose stack is known. */
struct prof_similar {
	const struct unwind_stack *stack;
	uint64_t ns;
};

/* Waits of one kind, by stack and length. */
struct prof_waits {
	struct {
		const struct prof_thread *thread;
		const struct prof_thread *waker; /* that ended them; NULL: not known */
	} key;
	struct prof_waits *next; /* of the thread, by another waker */
	UT_hash_handle hh;
	struct unwind_wait *list;
	const struct unwind_wait *longest; /* those among which the longest one is */
	uint64_t n, ns, longest_ns;
};

struct prof_thread {
	uint32_t pid, tid; /* in pmctl's PID namespace */
	struct prof_numbers numbers;
	/* Its THREAD frame. start_ns is 0 if it started before the recording. CPU time and switches
	 * are those of the records until rows are made. */
	struct pmc_thread_fixed row;
	bool waiting, preempted;	  /* without a CPU by its own will; not so */
	uint64_t since_ns, stack_ns;	  /* of the wait; of the sample of its stack */
	const struct unwind_stack *stack; /* of the last switch; NULL: not recorded */
	const struct prof_thread *waker;  /* has begun to wake it; NULL: not known */
	uint64_t woken_ns;
	struct prof_waits off, delays; /* delays: for a CPU, after preemptions; no stacks */
	struct unwind_wait *samples;
	uint64_t lost, incomplete;
	uint64_t estimated;	      /* waits that have the stack of a similar one */
	uint64_t out_ns;	      /* of the record of the switch */
	uint64_t looked_ns;	      /* when /proc had the stack of this wait; 0: not read */
	struct prof_similar *similar; /* the last wait by length; NULL: none yet */
	struct prof_thread *unplaced; /* next of those that wait without a stack */
	bool is_unplaced;
	uint64_t n_samples, weight, truncated; /* on CPU */
	struct prof_times sample_times, wait_times;
	uint32_t life;		  /* number of the thread, also over an exec */
	struct prof_thread *next; /* the one that was seen before */
	UT_hash_handle hh;	  /* by tid; the newest of a number */
	/* Only where rows are made: */
	struct prof_image *image;
	enum { PROF_UNKNOWN, PROF_ON, PROF_OFF } state;
	uint64_t on_ns;		    /* since when it is on a CPU */
	uint64_t read_ns;	    /* when /proc had that CPU time; 0: never */
	uint64_t read_switches;	    /* that it had then */
	bool least_cpu;		    /* records of it were lost since */
	bool lacks_switches;	    /* records of some were lost: their number is unknown */
	uint64_t counted_ns;	    /* when /proc had the row's switches; 0: never */
	struct prof_reading before; /* at the start */
	struct prof_reading after;  /* at the stop, if it was known then */
	struct live_delay delay;    /* since the start; after.known: complete when rows are made */
	bool no_record;		    /* since the start, when it could run: perhaps on a CPU */
	uint64_t queued_ns;	    /* of a wait for a CPU that lasts at the stop */
	bool by_switches;	    /* its CPU time, as it began by an exec */
};

/* Events that a thread, or everything, had on a CPU up to its last sample. */
struct prof_count {
	struct {
		uint32_t life, cpu; /* life 0: everything */
	} key;
	uint64_t value;
	UT_hash_handle hh;
};

/* The thread that left a CPU last. */
struct prof_left {
	uint32_t tid;
	uint64_t ns, record_ns; /* of the sample of its stack, if there is one; of the switch */
};

/* Whether something happens more than so many times in a second. */
struct prof_rate {
	uint64_t n;	  /* at the last check */
	uint64_t left_ns; /* of a second, less the part for each */
	bool often;
};

struct pmc_counter_event;

struct prof_throttle {
	bool stacks; /* of switches are recorded */
	bool off;    /* the event that records each stack of a switch is off */
	bool used;   /* it was off at some time */
	/* Samples are by clocks of threads; NULL: by other events. */
	const struct pmc_counter_event *clock;
	uint64_t clock_hz;
	bool opened;		/* or tried to open events of CPUs */
	bool beside;		/* they are open, with records of other programs, too */
	bool by_cpu;		/* clocks of CPUs are on, and those of threads off */
	uint64_t switched_ns;	/* since when; before, it was the other way round */
	struct pmc_map similar; /* struct prof_similar[PROF_LENGTHS] by process ID */
	uint64_t checked_ns;
	struct prof_rate switches, ends;
	struct prof_thread *unplaced; /* threads that wait without a stack */
};

struct prof {
	struct pmc_arena arena;
	struct unwind unwind;
	char *const *command;	    /* NULL: none */
	enum pmc_args args;	    /* how command lines are kept */
	uint64_t command_cpu_ns;    /* of the command and what it waited for; 0: unknown */
	uint64_t command_preempted; /* its switches against its will, where that is known */
	uint64_t lost, lost_ns;	    /* records, and the time of the last report of a loss */
	uint64_t lost_from_ns;	    /* of losses since the last reading; 0: none */
	uint64_t read_ns;	    /* of the last such reading */
	uint64_t start_ns, stop_ns;
	uint64_t stolen_ns;	   /* by a hypervisor, from boot to the start */
	struct live_waking waking; /* waits are told apart by who ended them; all NULL: not */
	struct prof_thread no_thread[N_NO_THREADS], *outside; /* wakers that are no threads here */
	struct prof_waits *waits;			      /* by key, where a waker is known */
	struct prof_thread *threads, *last;
	bool makes_rows, machine; /* machine: not of a target */
	bool several;		  /* targets: no main thread stands for all */
	struct prof_image *images, *last_image;
	struct prof_left *left;	     /* by CPU */
	uint64_t switch_ns;	     /* that the last switch took */
	uint64_t n_switches, n_ends; /* of threads */
	struct prof_throttle throttle;
	uint64_t n_times, lacks_times; /* kept of all threads; samples and waits beyond these */
	struct prof_count *counts;
	uint32_t n_lives, read_lives; /* at the last reading */
	/* The sampled event of all threads together; error: it is unknown. */
	struct pmc_reading reading;
	uint64_t value;
};

/* ---- threads.c ---------------------------------------------------------------------------- */

/* A sample with PERF_SAMPLE_PERIOD is of work on a CPU, with PERF_SAMPLE_RAW of a wake-up, another
 * of a switch. */
void prof_take(struct prof *prof, const struct pmc_record *record);
struct prof_thread *prof_thread_add(struct prof *prof, uint32_t pid, uint32_t tid,
				    uint64_t start_ns);
/* Ends the waits that last until now. */
void prof_settle(struct prof *prof);
void prof_free(struct prof *prof);

/* ---- throttle.c ----------------------------------------------------------------------------- */

#define PROF_LENGTHS 24 /* classes of waits by their lengths, each of twice the one before */

struct rings;
struct ring;
struct pmc_failure;
struct pmc_open_options;

/* Opens the two events of switches of a thread, as rings_use.open. */
int prof_throttle_open(struct prof *prof, struct rings *rings, struct ring *ring, pid_t tid,
		       struct pmc_failure *why);
/* Adds the records of threads, switches and mappings to an event that stays on. */
void prof_options_always(struct pmc_open_options *options);
/* To be called every few milliseconds. Switches the events, and reads stacks of long waits. */
void prof_throttle_check(struct prof *prof, struct rings *rings);
/* Whether a sample is by the kind of clock that counts at its time. */
bool prof_throttle_keeps(const struct prof_throttle *throttle, const struct pmc_record *sample);
/* A thread has left its CPU. At the record of its return, its wait gets a stack. */
void prof_wait_begins(struct prof *prof, struct prof_thread *thread);
void prof_wait_ends(struct prof *prof, struct prof_thread *thread, uint64_t now_ns);

/* ---- rows.c ------------------------------------------------------------------------------- */

/* The image of a process, as /proc has it if none is known yet. */
struct prof_image *prof_image_of(struct prof *prof, uint32_t pid, uint64_t start_ns);
/* Of a fork, or of an exec, whose program is not known yet. */
struct prof_image *prof_image_add(struct prof *prof, uint32_t pid, uint64_t start_ns, bool exec);
/* The first file that an image of an exec maps is its program. */
void prof_image_mapped(struct prof *prof, uint32_t pid, const char *path);
/* Whether a thread goes on after the record of its end: begin_new_exec() of the kernel ends the
 * events of a program that starts with other rights than its user's. */
bool prof_goes_on(struct prof *prof, struct prof_thread *thread);
/* A thread of the target, with its stack if it is blocked; after all of them, the start. */
void prof_add_target(struct prof *prof, pid_t tid);
void prof_start(struct prof *prof);
/* The first record of a thread that could run at the start switches to it. */
void prof_first_switch(struct prof *prof, struct prof_thread *thread, uint64_t now_ns);
/* Whether a thread without a record waited for a CPU from the start to the stop. */
bool prof_never_ran(const struct prof *prof, const struct prof_thread *thread);
void prof_lose(struct prof *prof, uint64_t lost, uint64_t from_ns, uint64_t now_ns);
/* To be called every few milliseconds. Reads the CPU time of threads in /proc, after a loss and of
 * those that switch often. False: all threads have ended. */
bool prof_read_again(struct prof *prof);
/* At the stop: later readings would have what threads did while the last records were taken. */
void prof_read_last(struct prof *prof);
/* After the recording: PROCESS and THREAD frames, and the samples and waits of each thread. */
struct prof_writing;
void prof_write_rows(struct prof_writing *w);

/* ---- write.c ------------------------------------------------------------------------------ */

struct prof_writing {
	struct prof *prof;
	struct pmc_arena arena;
	struct pmc_frame_buf buf;
	/* Hashes of the EVENTSET frames of waits, samples, and run delay; 0: none. */
	uint64_t off_set, on_set, delay_set;
	uint64_t frequency;
	bool of_time;	/* samples are of an event that counts time on the CPU */
	bool has_value; /* the value of all threads is in a frame */
	uint64_t lost;	/* records whose thread is unknown: part of the first row that is written */
	int fd, error;
	const uint8_t **written; /* identity of the image that has a stack already, by stack */
	uint64_t *hashes;	 /* of modules of a frame */
	bool any;
};

struct prof_place {
	const uint8_t *identity;
	uint64_t snapshot, seq;
};

void prof_write_begin(struct prof_writing *w, struct prof *prof, int fd);
/* Room in the buffer; what was in it is written. */
void prof_write_room(struct prof_writing *w, size_t bytes);
/* An EVENTSET frame of one event: its hash. */
uint64_t prof_write_event(struct prof_writing *w, const struct pmc_event_def *def, const char *name,
			  const char *unit);
/* Those of waits and of run delay. */
void prof_write_wait_events(struct prof_writing *w);
void prof_write_thread(struct prof_writing *w, const struct prof_place *place,
		       const struct prof_thread *thread);
void prof_write_end(struct prof_writing *w);

/* The inode of a process's PID namespace; 0: cannot be read. */
uint64_t prof_namespace_of(const char *pid);
