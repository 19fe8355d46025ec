/* SPDX-License-Identifier: MIT */
/*
 * pmc/dump.h - the dump format, byte by byte.
 *
 * A dump is a sequence of frames and nothing else: there is no file header and no trailer, so
 * that many processes can append to one file, and so that the concatenation of dumps is a dump.
 * Everything is little-endian. Each frame starts with struct pmc_frame_head, its size is a
 * multiple of 8, and it is checksummed: a torn or corrupt frame costs that frame only, since a
 * reader finds the next one by its magic and proves it by its hash.
 *
 * The hash is also the frame's content identity: two frames with the same bytes are one fact, a
 * dump merged twice counts once. The canonical order of a merged dump is
 * (identity, snapshot, hash), each compared as unsigned numbers, identity bytewise.
 *
 * Who a frame speaks of is its identity: 128 random bits of one process image, renewed by a
 * forked child and by exec. Frames that several processes share (event sets, sites) carry
 * identity 0 and snapshot 0; others refer to them by hash.
 *
 * The payload starts with a fixed part, of which the writer knew `fixed` bytes. A reader that
 * knows more takes the rest as zero; one that knows less skips it. The variable part follows at
 * 48 + fixed (always a multiple of 8). Strings are struct pmc_str. Frame types a reader does not
 * know are kept by a merge and ignored by a report.
 *
 * The man page pmc-dump(5) says the same with examples.
 */
#ifndef PMC_DUMP_H
#define PMC_DUMP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMC_FRAME_MAGIC_0 0x89
#define PMC_FRAME_MAGIC_1 0x70 /* 'p' */
#define PMC_FRAME_MAGIC_2 0x6d /* 'm' */
#define PMC_FRAME_MAGIC_3 0x63 /* 'c' */
#define PMC_DUMP_VERSION  1
/* No frame is longer; a larger size field is damage. */
#define PMC_FRAME_MAX_BYTES (1u << 20)
/* No event set has more events, so no row has more values. */
#define PMC_EVENTS_MAX 64

enum pmc_frame_type {
	PMC_FRAME_EVENTSET = 1, /* the events that values of other frames stand for */
	PMC_FRAME_SITE = 2,	/* a code address: module, offset, symbol */
	PMC_FRAME_PROCESS = 3,	/* a process image: attributes and totals; the newest holds */
	PMC_FRAME_THREAD = 4,	/* a thread's row; the newest is the row, others the timeline */
	PMC_FRAME_TOTAL = 5,	/* what an inherit group counted; the newest holds */
	PMC_FRAME_NOTE = 6,	/* a line of the ledger */
	PMC_FRAME_REGION = 7,	/* a marked region in one thread; the newest holds */
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
	uint64_t snapshot;    /* 40  rises with every write of that process image; from 1 */
};			      /* 48 */

/* A string in the variable part: `len` bytes follow, no NUL, padded with zeros to a multiple
 * of 8 counted from the start of this struct. */
struct pmc_str {
	uint32_t len;
};

/* What may be said of a count. In rows it comes from pmc_reading and pmc_event_def. */
enum pmc_state {
	PMC_COUNTED = 0,       /* ran the whole time it was enabled */
	PMC_SCALED = 1,	       /* ran part of the time; value = raw * enabled / running */
	PMC_PARTIAL = 2,       /* only in sums: some of the rows could not be counted */
	PMC_NOT_COUNTED = 3,   /* was meant to be, and never ran or could not be read */
	PMC_NOT_SUPPORTED = 4, /* this machine's PMU or kernel does not have it */
	PMC_NOT_PERMITTED = 5, /* the kernel refuses it to this user */
};

enum pmc_scope {
	PMC_SCOPE_ALL = 0,
	PMC_SCOPE_USER = 1,
	PMC_SCOPE_KERNEL = 2,
};

/* ---- PMC_FRAME_EVENTSET ------------------------------------------------------------------
 * Variable part: n_events times { struct pmc_event_def, str name, str unit, str core_type }.
 * Events of one group are adjacent and groups are numbered 0..n_groups-1 in order. Events that
 * were asked for but never opened have group PMC_NO_GROUP: they have no value in readings. */
#define PMC_NO_GROUP 0xffff

struct pmc_eventset_fixed {
	uint16_t n_events;
	uint16_t n_groups;
	uint32_t reserved;
};

struct pmc_event_def {
	uint32_t type; /* perf_event_attr */
	uint16_t group;
	uint8_t scope; /* enum pmc_scope: what is really counted, after any fallback */
	uint8_t state; /* PMC_COUNTED, or why it never opened: NOT_SUPPORTED, NOT_PERMITTED, ... */
	uint64_t config, config1, config2, config3;
	double scale;	   /* the PMU's .scale; 1.0 if none */
	uint16_t position; /* place in the user's list, from 0 */
	uint16_t flags;	   /* PMC_EVENT_* */
	uint32_t error;	   /* errno of the refused open or enum pmc_reason, else 0 */
};
#define PMC_EVENT_FELL_BACK 1 /* asked for all, counted user only */
#define PMC_EVENT_MACHINE   2 /* for the whole machine: core_type is the CPU it is opened on */
#define PMC_EVENT_SUM	    4 /* only in reports: of the same event on all types of cores */
#define PMC_EVENT_ALONE	    8 /* its group is the only one of its thread on the PMU: exclusive */

/* ---- PMC_FRAME_SITE ----------------------------------------------------------------------
 * Variable part: str module (path as loaded), str symbol (empty if unknown). */
struct pmc_site_fixed {
	uint64_t offset; /* from the module's load address; the address itself if module is empty */
};

/* ---- readings ----------------------------------------------------------------------------
 * One per group of the event set, in order; n values follow each, in the group's order. */
struct pmc_reading {
	uint64_t enabled_ns;
	uint64_t running_ns;
	uint32_t error; /* errno or enum pmc_reason why there is nothing here (then n is 0) */
	uint32_t n;
};

/* ---- PMC_FRAME_PROCESS -------------------------------------------------------------------
 * Variable part: str host, str boot_id, str exe, str cmdline (arguments joined by one space). */
enum pmc_ended {
	PMC_RUNNING = 0,
	PMC_ENDED_EXIT = 1,   /* how_code = status */
	PMC_ENDED_SIGNAL = 2, /* how_code = signal */
	PMC_ENDED_EXEC = 3,   /* replaced by exec */
	PMC_ENDED_LOST = 4,   /* only in reports: ended and never said how */
};

enum pmc_inherit {
	PMC_INHERIT_OFF = 0,
	PMC_INHERIT_CLOCK = 1,
	PMC_INHERIT_FULL = 2,
	PMC_INHERIT_AUTO = 3, /* only in configuration */
};

#define PMC_PROCESS_FIRST   1 /* the job's first process: the one that has TOTAL frames */
#define PMC_PROCESS_COVERED 2 /* counted by the first process's exec group too */
#define PMC_PROCESS_FORKED  4 /* began by fork; else by exec */
#define PMC_PROCESS_NO_SWITCHES 8 /* switches could not be read: null, not 0 */

struct pmc_process_fixed {
	uint8_t parent_identity[16]; /* 0: none known */
	uint8_t job[16];
	uint32_t pid, ppid;
	uint64_t start_ns;   /* CLOCK_MONOTONIC of that host, as all times here */
	uint64_t end_ns;     /* 0 while running */
	uint64_t time_ns;    /* when this frame was made */
	uint64_t cpu_ns;     /* process CPU clock since this image took over the process */
	uint64_t pre_cpu_ns; /* of cpu_ns: what was spent before the agent was there */
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t max_rss_bytes;
	uint64_t threads_seen;	  /* rows begun, adopted ones included */
	uint64_t threads_counted; /* rows whose every group was open */
	uint64_t self_ns;	  /* time spent in agent code */
	uint64_t eventset;	  /* hash of the EVENTSET frame its rows use; 0: none */
	uint8_t how_ended;	  /* enum pmc_ended */
	uint8_t how_code;
	uint8_t inherit_mode; /* enum pmc_inherit */
	uint8_t flags;	      /* PMC_PROCESS_* */
	int32_t rank;	      /* of an MPI-like launcher; -1: none */
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
#define PMC_THREAD_ADOPTED   2 /* start not seen: OS accounting only */
#define PMC_THREAD_NO_RUSAGE 4 /* faults and switches could not be read: null, not 0 */
#define PMC_THREAD_NO_CPU    8 /* CPU clock could not be read */

/* Why a thread has no counts, beside plain errno values (which are below 4096). */
enum pmc_reason {
	PMC_REASON_NONE = 0,
	PMC_REASON_ADOPTED = 4096, /* its start was not seen */
	PMC_REASON_FD_BUDGET,	   /* the agent's share of file descriptors is used up */
	PMC_REASON_RECYCLED,	   /* its descriptor no longer was ours */
	PMC_REASON_NEVER_RAN,	   /* enabled and never scheduled */
	PMC_REASON_REGISTRY_FULL,
	PMC_REASON_SCALED,	/* only in reports: a difference of which a side is scaled */
	PMC_REASON_SET_LOST,	/* only in reports: its EVENTSET frame is not in the dump */
	PMC_REASON_NOT_STARTED, /* only in reports: it was never enabled */
	PMC_REASON_ROW_LOST,    /* only in reports: it ended, and its row is not in the dump */
	PMC_REASON_PINNED,	/* pinned, and the PMU had no counter for it all of the time */
	PMC_REASON_BRACE,	/* its braced group needs more counters than run at once */
	PMC_REASON_MACHINE,	/* counts for the whole machine: see the MACHINE total */
	PMC_REASON_MACHINE_FULL, /* machine-wide on more CPUs than an event set has room for */
};

#define PMC_NO_SEQ UINT64_MAX
/* An adopted thread that only a look from outside saw has no start order: this plus its tid. */
#define PMC_SEQ_OUTSIDE 281474976710656

struct pmc_thread_fixed {
	uint64_t seq; /* start order in the process image, main = 0 */
	uint32_t tid; /* as gettid() gave it; may repeat */
	uint8_t state;
	uint8_t flags;
	uint16_t n_groups;
	uint64_t start_ns;
	uint64_t end_ns;  /* 0 while live */
	uint64_t time_ns; /* when it was read */
	uint64_t cpu_ns;
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches;
	uint64_t created_by; /* seq of the creating thread; PMC_NO_SEQ: unknown */
	uint64_t eventset;   /* hash of the EVENTSET frame; 0: no events */
	uint64_t start_site; /* hash of the SITE frame of its start routine; 0: unknown */
	char name[16];	     /* NUL-padded */
	uint32_t reason;     /* 0: counted; else errno or enum pmc_reason */
	uint32_t reserved;
};

/* ---- PMC_FRAME_TOTAL ---------------------------------------------------------------------
 * Variable part: as THREAD's. */
enum pmc_total_kind {
	PMC_TOTAL_THREADS = 1, /* the thread group: every thread of the first process */
	PMC_TOTAL_EXEC = 2,    /* the exec group: exec'd descendants, from their exec on */
	PMC_TOTAL_MACHINE = 3, /* whatever anyone did: events of PMUs that know no threads */
};

#define PMC_TOTAL_WITH_FORKS 1 /* kernel < 5.13: forked children are in the thread group */

struct pmc_total_fixed {
	uint8_t kind;
	uint8_t flags;
	uint16_t n_groups;
	uint32_t reserved;
	uint64_t time_ns;
	uint64_t eventset;
};

/* ---- PMC_FRAME_NOTE ----------------------------------------------------------------------
 * Variable part: str text. The same code may come again with a higher count; the newest
 * frame of a code and text holds. */
struct pmc_note_fixed {
	uint32_t code;	/* stable number of the kind of note */
	uint32_t level; /* 0 information, 1 something could not be counted */
	uint64_t count;
};

/* ---- PMC_FRAME_REGION --------------------------------------------------------------------
 * What a thread did between pmc_region_begin(name) and pmc_region_end() (pmc/region.h). Keyed by
 * identity, seq and name.
 *
 * Variable part: str name, then four times the readings of a thread (n_groups times
 * { struct pmc_reading, n times uint64_t }), as sums over the region's entries:
 *	inclusive	what was counted from begin to end; of a region that is entered again
 *			while it is open, the outermost entry only
 *	exclusive	less what was counted in the regions inside it
 *	inside		what an empty region counts of its own begin and end
 *	around		what an empty region adds to the region around it
 * The last two are what marking costs, measured in the same process; nothing is subtracted in a
 * dump. With them
 *	the region's own count	inclusive - outermost * inside - nested * around
 *	without inner regions	exclusive - calls * inside - direct * (around - inside) */
#define PMC_REGION_CPU	      1 /* cpu_ns and self_cpu_ns are known */
#define PMC_REGION_COST	      2 /* the cost of marking was measured */
#define PMC_REGION_USER_READS 4 /* counters were read without a system call */

struct pmc_region_fixed {
	uint64_t seq;	    /* the thread's, as in its row */
	uint64_t calls;	    /* entries that ended */
	uint64_t outermost; /* of these, not inside an entry of the same region */
	uint64_t nested;    /* regions that ended inside the outermost entries, at any depth */
	uint64_t direct;    /* regions that ended directly inside an entry */
	uint64_t open;	    /* entries that have not ended: nothing of them is in the sums */
	uint64_t time_ns;   /* when this frame was made */
	uint64_t eventset;  /* hash of the EVENTSET frame; 0: no events */
	uint64_t cpu_ns;    /* inclusive CPU time, marking included */
	uint64_t self_cpu_ns;	/* exclusive CPU time, marking included */
	uint64_t inside_cpu_ns; /* what marking costs, as above */
	uint64_t around_cpu_ns;
	uint16_t n_groups;
	uint16_t flags; /* PMC_REGION_* */
	uint32_t reserved;
};

#ifdef __cplusplus
}
#endif
#endif
