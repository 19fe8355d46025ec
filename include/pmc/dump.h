/* SPDX-License-Identifier: MIT */
/*
 * pmc/dump.h - the dump format, byte by byte; pmc-dump(5) has it with examples.
 *
 * A dump is a sequence of frames without file header or trailer: many processes can append to one
 * file, and concatenated dumps are a dump. All numbers are little-endian. A frame starts with
 * struct pmc_frame_head, its size is a multiple of 8 and it has a checksum. A torn or corrupt frame
 * loses that frame only: a reader finds the next one by its magic and verifies it by its hash.
 *
 * The hash identifies the content: frames with the same bytes are the same frame, and a dump merged
 * twice counts once. The canonical order of a merged dump is (identity, snapshot, hash); identities
 * are compared bytewise, numbers as unsigned.
 *
 * The identity is that of the process image the frame is about: 128 random bits, new in a forked
 * child and after exec. Frames shared by several processes (event sets, sites, modules) have
 * identity 0 and snapshot 0; other frames refer to them by hash.
 *
 * The payload starts with a fixed part of `fixed` bytes, as the writer's version has it. A reader
 * takes fields beyond them as 0 and skips bytes beyond the fields it knows. The variable part
 * follows at 48 + fixed, a multiple of 8. Strings are struct pmc_str. Frames of unknown type are
 * kept by a merge and ignored by a report.
 */
#ifndef PMC_DUMP_H
#define PMC_DUMP_H

#include <stdint.h>

#define PMC_FRAME_MAGIC_0 0x89
#define PMC_FRAME_MAGIC_1 0x70 /* 'p' */
#define PMC_FRAME_MAGIC_2 0x6d /* 'm' */
#define PMC_FRAME_MAGIC_3 0x63 /* 'c' */
#define PMC_DUMP_VERSION  1
/* Maximum size of a frame; a larger size field is damage. */
#define PMC_FRAME_MAX_BYTES (1u << 20)
/* Maximum number of events in an event set, and of values in a row. */
#define PMC_EVENTS_MAX 64

enum pmc_frame_type {
	PMC_FRAME_EVENTSET = 1, /* the events of readings in other frames */
	PMC_FRAME_SITE = 2,	/* a code address: module, offset, symbol */
	PMC_FRAME_PROCESS = 3,	/* a process image; the newest is valid */
	PMC_FRAME_THREAD = 4,	/* a thread; the newest is its row, older ones the timeline */
	PMC_FRAME_TOTAL = 5,	/* counts of an inherit group; the newest is valid */
	PMC_FRAME_NOTE = 6,	/* a note in the coverage summary */
	PMC_FRAME_REGION = 7,	/* a marked region in one thread; the newest is valid */
	PMC_FRAME_MODULE = 8,	/* a program or library, to which stacks refer */
	PMC_FRAME_STACKS = 9,	/* call stacks, to which samples refer */
	PMC_FRAME_SAMPLES = 10, /* samples of a thread by one event; the newest is valid */
	PMC_FRAME_NAMES = 11,	/* functions and source lines of addresses in stacks */
	PMC_FRAME_TIMES = 12,	/* when the samples of a thread were taken; the newest is valid */
	PMC_FRAME_PACKED = 13,	/* other frames, compressed */
};

struct pmc_frame_head {	      /* offset */
	uint8_t magic[4];     /*  0 */
	uint32_t size;	      /*  4  whole frame in bytes, head included, multiple of 8 */
	uint64_t hash;	      /*  8  XXH3_64bits of the bytes [16, size) */
	uint8_t version;      /* 16  PMC_DUMP_VERSION */
	uint8_t type;	      /* 17  enum pmc_frame_type */
	uint16_t fixed;	      /* 18  bytes of the payload's fixed part, multiple of 8 */
	uint32_t reserved;    /* 20  0 */
	uint8_t identity[16]; /* 24  the process image; all zero for shared frames */
	uint64_t snapshot;    /* 40  number of the snapshot in the process image, from 1 */
};			      /* 48 */

/* A string in the variable part: `len` bytes follow, without NUL, zero-padded to a multiple of 8
 * from the start of this struct. */
struct pmc_str {
	uint32_t len;
};

/* State of a count. Readers derive it from pmc_reading and pmc_event_def. */
enum pmc_state {
	PMC_COUNTED = 0,       /* ran all the time it was enabled */
	PMC_SCALED = 1,	       /* ran part of the time; value = raw * enabled / running */
	PMC_PARTIAL = 2,       /* only in sums: some rows were not counted */
	PMC_NOT_COUNTED = 3,   /* requested, but never ran or could not be read */
	PMC_NOT_SUPPORTED = 4, /* not supported by the PMU or the kernel */
	PMC_NOT_PERMITTED = 5, /* refused by the kernel to this user */
};

enum pmc_scope {
	PMC_SCOPE_ALL = 0,
	PMC_SCOPE_USER = 1,
	PMC_SCOPE_KERNEL = 2,
};

/* ---- PMC_FRAME_EVENTSET ------------------------------------------------------------------
 * Variable part: n_events times { struct pmc_event_def, str name, str unit, str core_type }.
 * Events of one group are adjacent, groups are numbered 0..n_groups-1 in order. Requested events
 * that could not be opened have group PMC_NO_GROUP and no value in readings. */
#define PMC_NO_GROUP 0xffff

struct pmc_eventset_fixed {
	uint16_t n_events;
	uint16_t n_groups;
	uint32_t reserved;
};

/* Events that the OS counts by itself, as nanoseconds: PMC_EVENT_ACCOUNTED in rows of threads. */
#define PMC_TYPE_OS 4294967280
enum pmc_os_event {
	PMC_OS_RUN_DELAY = 0, /* waiting for a CPU; of samples: after each preemption */
	PMC_OS_USER_TIME = 1,
	PMC_OS_SYSTEM_TIME = 2,
	PMC_OS_OFF_CPU = 3, /* of samples only: waiting, with call stacks */
	PMC_OS_ELAPSED = 4, /* since the thread started, while counting is on */
};

struct pmc_event_def {
	uint32_t type; /* perf_event_attr, or PMC_TYPE_OS */
	uint16_t group;
	uint8_t scope; /* enum pmc_scope: as opened, after any fallback */
	/* PMC_COUNTED, or why not: NOT_SUPPORTED, NOT_PERMITTED, ... With a group: its readings
	 * have no meaning. */
	uint8_t state;
	uint64_t config, config1, config2, config3;
	double scale;	   /* of the PMU (sysfs .scale); 1.0 if it has none */
	uint16_t position; /* in the requested list, from 0 */
	uint16_t flags;	   /* PMC_EVENT_* */
	uint32_t error;	   /* errno of opening, or enum pmc_reason; 0: opened */
};
#define PMC_EVENT_FELL_BACK  1	/* requested for all modes, counted in user mode only */
#define PMC_EVENT_UNCORE     2	/* counts for the whole machine; core_type is its CPU number */
#define PMC_EVENT_SUM	     4	/* only in reports: the sum over all types of cores */
#define PMC_EVENT_EXCLUSIVE  8	/* its group shares the PMU with no other group of the thread */
#define PMC_EVENT_UNFILTERED 16 /* counts all modes, also if it was opened for user mode only */
/* No perf event: its readings are of the thread's CPU clock, getrusage(2) or schedstat. Its groups
 * follow those of perf events, and totals do not have them. */
#define PMC_EVENT_ACCOUNTED 32

/* ---- PMC_FRAME_SITE ----------------------------------------------------------------------
 * Variable part: str module (its path), str symbol (empty: unknown). */
struct pmc_site_fixed {
	uint64_t offset; /* from the module's load address; the address if module is empty */
};

/* ---- readings ----------------------------------------------------------------------------
 * One per group of the event set, in order, each followed by n values in the group's order. */
struct pmc_reading {
	uint64_t enabled_ns;
	uint64_t running_ns;
	uint32_t error; /* errno or enum pmc_reason if there are no values; n is then 0 */
	uint32_t n;
};

/* ---- PMC_FRAME_PROCESS -------------------------------------------------------------------
 * Variable part: str host, str boot_id, str exe, str cmdline (arguments joined by one space),
 * str labels ("key=value,key=value"). */
enum pmc_ended {
	PMC_RUNNING = 0,
	PMC_ENDED_EXIT = 1,   /* how_code = status */
	PMC_ENDED_SIGNAL = 2, /* how_code = signal */
	PMC_ENDED_EXEC = 3,   /* replaced by exec */
};

enum pmc_inherit {
	PMC_INHERIT_OFF = 0,
	PMC_INHERIT_CLOCK = 1,
	PMC_INHERIT_FULL = 2,
	PMC_INHERIT_AUTO = 3, /* only in configuration */
};

#define PMC_PROCESS_FIRST	1   /* the job's first process, which has the TOTAL frames */
#define PMC_PROCESS_COVERED	2   /* counted by the first process's exec group too */
#define PMC_PROCESS_FORKED	4   /* started by fork, not by exec */
#define PMC_PROCESS_NO_SWITCHES 8   /* switches are unknown, not 0 */
#define PMC_PROCESS_NO_STATUS	16  /* PMC_ENDED_EXIT: how_code is unknown, not 0 */
#define PMC_PROCESS_LEFT	32  /* child processes still ran when it ended */
#define PMC_PROCESS_OUTSIDE	64  /* by pmctl dump: without rows of threads that had ended */
#define PMC_PROCESS_NO_FAULTS	128 /* page faults are unknown, not 0 */

struct pmc_process_fixed {
	uint8_t parent_identity[16]; /* 0: unknown */
	uint8_t job[16];
	uint32_t pid, ppid;
	uint64_t start_ns;   /* CLOCK_MONOTONIC of that host, as all times in a dump */
	uint64_t end_ns;     /* 0 while running */
	uint64_t time_ns;    /* time of the snapshot */
	uint64_t cpu_ns;     /* process CPU clock since this image started */
	uint64_t pre_cpu_ns; /* part of cpu_ns before the agent was loaded */
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t max_rss_bytes;	  /* 0: unknown */
	uint64_t threads_seen;	  /* adopted ones included */
	uint64_t threads_counted; /* with every group opened */
	uint64_t overhead_ns;	  /* time spent in the agent */
	uint64_t eventset;	  /* hash of the EVENTSET frame of its rows; 0: none */
	uint8_t how_ended;	  /* enum pmc_ended */
	uint8_t how_code;
	uint8_t inherit_mode; /* enum pmc_inherit */
	uint8_t flags;	      /* PMC_PROCESS_* */
	int32_t rank;	      /* of an MPI launcher; -1: none */
	/* Of its life, the time in which counting was off, or before a reset. cpu_ns, faults,
	 * switches and overhead_ns are of the rest. */
	uint64_t off_ns;
	uint64_t children_cpu_ns; /* of ended children that were waited for, and of theirs */
	uint64_t pid_namespace;	  /* inode of /proc/self/ns/pid; 0: unknown */
	uint32_t cpus;	  /* that the main thread might run on when the agent started; 0: unknown */
	uint32_t exit_us; /* of cpu_ns, the kernel's work after the agent's end; 0: unknown */
};

/* ---- PMC_FRAME_THREAD --------------------------------------------------------------------
 * Variable part: n_groups times { struct pmc_reading, n times uint64_t }. */
enum pmc_thread_state {
	PMC_THREAD_LIVE = 0,
	PMC_THREAD_EXITED = 1,
	PMC_THREAD_EXEC = 2,   /* ended by an exec of the process */
	PMC_THREAD_KILLED = 3, /* ended by a signal that killed the process */
};

#define PMC_THREAD_MAIN	     1
#define PMC_THREAD_ADOPTED   2	 /* start not seen: OS accounting only */
#define PMC_THREAD_NO_RUSAGE 4	 /* faults and switches are unknown, not 0 */
#define PMC_THREAD_NO_CPU    8	 /* cpu_ns is unknown */
#define PMC_THREAD_OFF	     16	 /* counting was off at the snapshot */
#define PMC_THREAD_LEAST_CPU 32	 /* cpu_ns is a lower bound */
#define PMC_THREAD_DELAY     64	 /* delay_ns is known */
#define PMC_THREAD_SWITCHES  128 /* with PMC_THREAD_NO_RUSAGE: switches are known */

/* Why there are no counts. Smaller numbers are errno values. */
enum pmc_reason {
	PMC_REASON_NONE = 0,
	PMC_REASON_ADOPTED = 4096, /* the thread's start was not seen */
	PMC_REASON_FD_BUDGET,	   /* the agent's share of file descriptors was used up */
	PMC_REASON_RECYCLED,	   /* the descriptor was closed or replaced by the program */
	PMC_REASON_NEVER_RAN,	   /* enabled, but never scheduled */
	PMC_REASON_REGISTRY_FULL,  /* more threads than the agent can register */
	PMC_REASON_SCALED,	   /* only in reports: a difference with a scaled side */
	PMC_REASON_SET_LOST,	   /* only in reports: its EVENTSET frame is not in the dump */
	PMC_REASON_NOT_STARTED,	   /* only in reports: counting was off */
	PMC_REASON_ROW_LOST,	   /* only in reports: ended, and its row is not in the dump */
	PMC_REASON_PINNED,	   /* pinned, and the PMU had no counter for it all the time */
	PMC_REASON_BRACE,	   /* its braced group needs more counters than run at once */
	PMC_REASON_UNCORE,	   /* counts for the whole machine: see the UNCORE total */
	PMC_REASON_UNCORE_FULL,	   /* uncore, on more CPUs than an event set has room for */
	PMC_REASON_KERNEL_ONLY,	   /* requested in user mode, and occurs in kernel mode only */
	PMC_REASON_ALL_PINNED,	   /* the pinned events of the list leave no counter for it */
	PMC_REASON_OS,		   /* accounted: not read, or not in a row of a thread */
	/* Only on macOS: */
	PMC_REASON_NO_COUNTERS = 4160, /* a virtual machine without counters */
	PMC_REASON_OWN_THREAD,	       /* only the thread itself can read it, and has not */
	PMC_REASON_NO_EVENT,	       /* the processor's event database does not have it */
	PMC_REASON_CONFLICT,	       /* other events of the list take its counters */
	PMC_REASON_NO_KPERF,	       /* kperf, which counts it, could not be used */
	PMC_REASON_NO_SOURCE,	       /* macOS does not count it */
};

#define PMC_NO_SEQ UINT64_MAX

struct pmc_thread_fixed {
	uint64_t seq; /* start order in the process image; main: 0 */
	uint32_t tid; /* of gettid(); may repeat */
	uint8_t state;
	uint8_t flags;
	uint16_t n_groups;
	uint64_t start_ns;
	uint64_t end_ns;  /* 0 while live */
	uint64_t time_ns; /* time of the snapshot */
	uint64_t cpu_ns;
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t created_by;	/* seq of the creating thread; PMC_NO_SEQ: unknown */
	uint64_t eventset;	/* hash of the EVENTSET frame; 0: no events */
	uint64_t start_site;	/* hash of the SITE frame of its start routine; 0: unknown */
	char name[16];		/* NUL-padded */
	uint32_t reason;	/* 0: counted; else errno or enum pmc_reason */
	uint32_t created_stack; /* ID of the stack that created it; 0: unknown */
	/* Left out if both are 0 and no delay follows. */
	uint64_t off_ns;   /* as of a process; counts are of the rest, too */
	uint64_t reset_ns; /* time of the last reset; 0: none */
	/* Runnable, waiting for a CPU: /proc/TID/schedstat. Left out unless PMC_THREAD_DELAY. */
	uint64_t delay_ns;
};

/* ---- PMC_FRAME_TOTAL ---------------------------------------------------------------------
 * Variable part: as THREAD's. */
enum pmc_total_kind {
	PMC_TOTAL_THREADS = 1, /* thread group: all threads of the first process */
	PMC_TOTAL_EXEC = 2,    /* exec group: exec'd descendants, from their exec on */
	PMC_TOTAL_UNCORE = 3,  /* uncore events: the whole machine */
};

#define PMC_TOTAL_WITH_FORKS 1 /* Linux < 5.13: forked children are in the thread group */

struct pmc_total_fixed {
	uint8_t kind;
	uint8_t flags;
	uint16_t n_groups;
	uint32_t reserved;
	uint64_t time_ns;
	uint64_t eventset;
};

/* ---- PMC_FRAME_NOTE ----------------------------------------------------------------------
 * Variable part: str text. The newest frame of a code and text is valid. */
struct pmc_note_fixed {
	uint32_t code;	/* kind of note; numbers are stable */
	uint32_t level; /* 0: information, 1: something was not counted */
	uint64_t count;
};

/* ---- PMC_FRAME_REGION --------------------------------------------------------------------
 * Counts of a thread between pmc_region_begin(name) and pmc_region_end() (pmc/region.h), by
 * identity, seq and name.
 *
 * Variable part: str name, then four times the readings of a thread (n_groups times
 * { struct pmc_reading, n times uint64_t }), summed over the region's entries:
 * 	inclusive	from begin to end; of nested entries of one region the outermost only
 * 	exclusive	without the regions inside
 * 	inside		counts of an empty region between its own begin and end
 * 	around		counts that an empty region adds to the region around it
 * `inside` and `around` are the overhead of marking, measured in the same process. Nothing is
 * subtracted in a dump; reports show
 * 	inclusive - outermost * inside - nested * around
 * 	exclusive - calls * inside - direct * (around - inside) */
#define PMC_REGION_CPU	      1 /* CPU times are known */
#define PMC_REGION_COST	      2 /* the overhead of marking was measured */
#define PMC_REGION_USER_READS 4 /* counters were read without a system call */

struct pmc_region_fixed {
	uint64_t seq;		/* of the thread, as in its row */
	uint64_t calls;		/* ended entries */
	uint64_t outermost;	/* of these, not nested in the same region */
	uint64_t nested;	/* regions ended inside the outermost entries, at any depth */
	uint64_t direct;	/* regions ended directly inside an entry */
	uint64_t open;		/* entries not ended, which are not in the sums */
	uint64_t time_ns;	/* time of the snapshot */
	uint64_t eventset;	/* hash of the EVENTSET frame; 0: no events */
	uint64_t cpu_ns;	/* inclusive CPU time, overhead of marking included */
	uint64_t self_cpu_ns;	/* exclusive CPU time, overhead of marking included */
	uint64_t inside_cpu_ns; /* overhead of marking, as above */
	uint64_t around_cpu_ns;
	uint16_t n_groups;
	uint16_t flags; /* PMC_REGION_* */
	uint32_t reserved;
};

/* ---- PMC_FRAME_MODULE --------------------------------------------------------------------
 * Variable part: str path ("[vdso]": the kernel's; "[kernel]": the kernel itself, whose build_id is
 * the boot ID as text), str build_id (bytes; empty: none). */
struct pmc_module_fixed {
	uint64_t reserved;
};

/* ---- PMC_FRAME_STACKS --------------------------------------------------------------------
 * Variable part: n_modules hashes (uint64_t) of MODULE frames; then n_stacks times
 * { struct pmc_stack_def, depth times uint64_t }, the innermost frame first.
 *
 * Within a process image an ID always stands for the same stack: all STACKS frames together are
 * its table of stacks. The upper 16 bits of a frame select a module from the list. The lower 48
 * bits are an address as in the symbol table of the module's file (the address at run time less
 * the load bias), or the address at run time if there is no module. It is inside the instruction
 * that was executing: in callers this is the return address less one. */
#define PMC_NO_MODULE		0xffffu
#define PMC_STACK_MODULE(word)	((unsigned)((word) >> 48))
#define PMC_STACK_ADDRESS(word) ((word) & ((UINT64_C(1) << 48) - 1))
#define PMC_STACK_DEPTH_MAX	128	    /* of the agent; readers accept more */
#define PMC_STACK_OUTSIDE	0x80000000u /* IDs from here on: recorded by pmctl */

struct pmc_stacks_fixed {
	uint32_t n_modules;
	uint32_t n_stacks;
};

struct pmc_stack_def {
	uint32_t id; /* from 1 */
	uint16_t depth;
	uint16_t flags; /* PMC_STACK_* */
};
#define PMC_STACK_TRUNCATED 1 /* deeper than was recorded */
#define PMC_STACK_BROKEN    2 /* callers could not be found up to the outermost one */
#define PMC_STACK_FP	    4 /* found by frame pointers */

/* ---- PMC_FRAME_SAMPLES -------------------------------------------------------------------
 * Samples of a thread since its start, by identity, seq, eventset and part.
 *
 * Variable part: the reading of the event (n_groups times { struct pmc_reading, n times
 * uint64_t }), then n times struct pmc_sample, then with PMC_SAMPLES_WAKER struct pmc_waker. Long
 * lists are split into parts; part 0 has the reading and the sums. */
#define PMC_SAMPLES_PART 2048 /* most entries of a part, as the agent writes them */

struct pmc_samples_fixed {
	uint64_t seq;	   /* of the thread, as in its row */
	uint64_t time_ns;  /* time of the snapshot */
	uint64_t eventset; /* hash of an EVENTSET frame with the sampled event only */
	uint32_t part;	   /* from 0 */
	uint32_t n;
	uint64_t period;    /* 0: by frequency */
	uint64_t frequency; /* in Hz; 0: by period */
	uint64_t samples;   /* taken, in all parts */
	uint64_t lost;	    /* overflows of the event without a sample */
	uint64_t throttled; /* periods for which the kernel sent no signal */
	uint64_t truncated; /* samples with a truncated stack */
	uint16_t n_groups;  /* 1 in part 0, else 0 */
	uint16_t flags;	    /* PMC_SAMPLES_* */
	/* Waits whose stack was not recorded, as threads switched too often: they have that of
	 * another one of the thread, or of its process, of about the same length. */
	uint32_t estimated;
};
/* The thread switched so often that samples were taken in clock interrupts, at least for a time:
 * they are fewer than the frequency says, and each stands for the CPU time since the one before. */
#define PMC_SAMPLES_TIMED 1
/* Waits of one entry lasted about as long as each other, to a sixteenth: weight / count. The
 * longest one has an entry of its own. */
#define PMC_SAMPLES_LENGTHS 2
/* In each part: the waits of this part were ended by one thread. */
#define PMC_SAMPLES_WAKER 4
/* Values were counted of all threads of the recording together: the reading of one of them has the
 * sum, those of the others 0. */
#define PMC_SAMPLES_SHARED 8

struct pmc_sample {
	uint32_t stack; /* ID; 0: no stack */
	uint32_t count;
	uint64_t weight; /* sum of the periods, in the unit of the event */
};

struct pmc_waker {
	uint8_t identity[16]; /* of its process image, with seq as in its row; 0: it has no row */
	uint64_t seq;
	uint32_t pid, tid; /* 0: no thread */
	char name[16];	   /* NUL-padded; of no thread: (interrupt), (unknown), (still blocked) */
};

/* ---- PMC_FRAME_TIMES ---------------------------------------------------------------------
 * The samples of a SAMPLES frame once more, by time, as pmctl profile records them. The fixed part
 * is struct pmc_samples_fixed with n_groups 0. Variable part: n times struct pmc_timed_sample.
 *
 * Samples of one stack in 10 ms of the clock are one entry. A wait of 10 ms or more has its own,
 * with the time of its end. */
#define PMC_TIMES_STEP_NS 10000000

struct pmc_timed_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t stack;	  /* as in struct pmc_sample */
	uint32_t count;
	uint64_t weight;
};

/* ---- PMC_FRAME_PACKED --------------------------------------------------------------------
 * A shared frame whose contents are other frames, as if they stood in its place. Variable part: a
 * frame of zstd (RFC 8878), zero-padded to a multiple of 8. PACKED frames in one are ignored. */
struct pmc_packed_fixed {
	uint32_t packed; /* bytes of the variable part without the padding */
	uint32_t bytes;	 /* after decompression, at most PMC_FRAME_MAX_BYTES */
};

/* ---- PMC_FRAME_NAMES ---------------------------------------------------------------------
 * Names of addresses in stacks and of start routines, looked up by pmctl where the files of the
 * modules were, for reports that are made without them. A frame about a module is shared: identity
 * and snapshot are 0; one about a module without a build ID has the identity of a process image.
 * So has JIT or unknown code, which is in no file, with module 0, and a start routine,
 * with its SITE frame for the module. If frames differ about an address, one with source lines is
 * valid, then one with a function, of equals that with the greater hash.
 *
 * Variable part: n_texts strings, then n_places times { struct pmc_place_def, n_functions times
 * struct pmc_place_function }, of inlined functions the innermost first. Texts are numbered from 1;
 * 0: unknown. */
struct pmc_names_fixed {
	uint64_t module; /* hash of its MODULE or SITE frame; 0: JIT or unknown code */
	uint32_t n_texts;
	uint32_t n_places;
};

struct pmc_place_def {
	uint64_t address; /* as in stacks: the lower 48 bits; of a SITE frame its offset */
	uint64_t start;	  /* of the function; 0: unknown */
	uint32_t n_functions;
	uint32_t reserved;
};

struct pmc_place_function {
	uint32_t name; /* demangled */
	uint32_t file; /* path of the source */
	uint32_t line;
	uint32_t flags; /* PMC_PLACE_* */
};
#define PMC_PLACE_INLINED	1  /* into the next function */
#define PMC_PLACE_FUNCTIONS_MAX 64 /* of an address; a frame with more is damaged */

#endif
