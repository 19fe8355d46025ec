/* SPDX-License-Identifier: MIT */
/*
 * control.h - the memory of a running agent that pmctl reads, and in part writes, from outside.
 *
 * The agent has one object, `pmc_agent_control`. pmctl finds its magic in the data segments that
 * /proc/PID/maps lists; no thread of the process is interrupted. From it lead pointers, which are
 * addresses in that process, to the registry of threads, their marked regions and their samples.
 */
#pragma once

#include "lib/count/user_read.h"
#include "lib/live/registry.h"

#define PMC_CONTROL_MAGIC   0x746e6567612d636dull /* "mc-agent" */
#define PMC_CONTROL_VERSION 18
/* F_SETSIG number of the dump's descriptor, see agent/output/file.c: shows pmctl that an empty file
 * is the agent's. */
#define PMC_CONTROL_OUT_MARK 61

enum pmc_control_state {
	PMC_CONTROL_OFF = 0, /* dormant: only `why` is valid */
	PMC_CONTROL_ON,
	PMC_CONTROL_DONE,     /* the final rows are being written, or are written */
	PMC_CONTROL_STARTING, /* of the rest only version and bytes are valid */
};

/* Inherit groups and uncore events: held by the job's first process. */
struct pmc_control_totals {
	uint32_t groups;		    /* 0: there is none */
	uint32_t flags;			    /* PMC_TOTAL_* */
	uint64_t eventset;		    /* hash */
	uint16_t first[PMC_EVENTS_MAX + 1]; /* group g is fds[first[g] .. first[g+1]) */
	uint16_t reserved[3];
	int32_t fds[PMC_EVENTS_MAX];
	uint64_t ids[PMC_EVENTS_MAX];	   /* of the leaders, by group */
	uint64_t base[3 * PMC_EVENTS_MAX]; /* written by pmctl ctl; see set_base() */
};

/* Of PMC_TYPE_OS, not of perf's software events. */
#define ACCOUNTED_OS 0x80u

struct pmc_control {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes;		   /* of this struct */
	_Atomic uint32_t state;	   /* enum pmc_control_state */
	_Atomic uint32_t counting; /* written by pmctl ctl: groups of new threads are enabled */
	int32_t pid;
	int32_t dump_signal; /* 0: none */
	uint8_t identity[16];
	_Atomic uint64_t snapshot; /* number of the newest frames */
	uint64_t registry;	   /* struct registry of registry.h, and through it the slots */
	uint16_t first[PMC_EVENTS_MAX + 1]; /* groups of accounted events included */
	uint8_t accounted[PMC_EVENTS_MAX];  /* config of an accounted event, ACCOUNTED_OS */
	uint8_t accounts;		    /* their groups: 0 to 4 */
	uint8_t usage;			    /* one of them is of getrusage(2) */
	_Atomic uint32_t switched; /* number of changes of accounts; 0: none has been opened */
	_Atomic uint32_t resets;   /* written by pmctl ctl reset, after the accounts */
	uint32_t os;		   /* of the plan: OS events */
	uint64_t eventset;	   /* hash; 0: no events */
	uint64_t eventset_frame, eventset_bytes;
	/* The event set of slots with SLOT_USER_ONLY. */
	uint64_t user_eventset, user_frame, user_bytes;
	/* For the PROCESS frame; CPU time, faults and times are read from /proc. */
	struct pmc_process_fixed process;
	uint64_t exe, cmdline, labels; /* NUL-terminated */
	_Atomic uint64_t seen, uncounted, overhead_ns;
	/* Values that the image before an exec has reported, or the parent of an unnoticed fork:
	 * subtracted. */
	uint64_t carried_thread[ACCOUNT_WORDS]; /* of the main thread */
	uint64_t carried_process[ACCOUNT_WORDS];
	struct account account; /* of the process */
	uint64_t uncore_frame, uncore_bytes;
	uint64_t inherit_frame, inherit_bytes; /* set of threads and execs, if another one */
	_Atomic int32_t out_fd;		       /* descriptor of the dump, plus 1; 0: not open */
	_Atomic uint32_t leaving; /* calls of exec whose final rows are written, or being written */
	uint64_t samples;	  /* struct sample_tables; 0: none */
	/* Why the agent is dormant, as printed on stderr. */
	char why[256];
	/* PMC_OUT of this process, NUL-terminated; empty: the job keeps a private dump only. */
	char out[4096];
	/* Last, as most programs do not touch their pages. Uncore events: eventset 0: none. */
	struct pmc_control_totals threads, execs, uncore;
};

/* ---- a thread's marked regions --------------------------------------------------------------
 *
 * Only the thread writes to its area. Readers (the agent's snapshots, and pmctl from outside) copy
 * under the sequence number: a copy is consistent if the number is even and the same before and
 * after. An area stays with its slot (struct slot, `regions`) and is never unmapped. */

enum {
	/* Records 0 and 1 estimate the cost of a pair and are never reported; REGION_OTHER takes
	 * the regions beyond REGION_RECORDS. That leaves 511 for the program's names. */
	REGION_COST_OUTER,
	REGION_COST_INNER,
	REGION_OTHER,
	REGION_RECORDS = REGION_OTHER + 512,
	REGION_DEPTH = 1024, /* nested entries */
	REGION_NAME = 256,   /* bytes of a name, with the NUL */
	REGION_HASH = 1024,  /* a power of two, above REGION_RECORDS */
};

/* How the counters are read. */
enum region_mode {
	REGION_CLOCK, /* no group is open: CPU time alone */
	REGION_READ,  /* read(2) */
	REGION_USER,  /* in user space; read(2) for a group that is not on its counters */
	REGION_MIXED, /* so, and accounted events */
	REGION_MODES,
};

enum region_cost {
	REGION_COST_UNKNOWN,
	REGION_COST_MEASURED,
	REGION_COST_NONE, /* the groups did not run */
};

/*
 * A reading: the number of regions that have ended in the thread; then of each group time enabled,
 * time running and values (REGION_CLOCK: the CPU time alone). Word REGION_CPU is CPU time in each
 * mode. Sums are of differences modulo 2^64: a clock read in user space may be nanoseconds
 * behind the kernel's.
 */
enum { REGION_ENDS, REGION_CPU, REGION_WORDS = (REGION_CPU + 3 * PMC_EVENTS_MAX + 3) & ~3 };

/* Words are summed up four at a time: `capacity`, which is a multiple of four, separates two
 * readings. */
typedef uint64_t region_words __attribute__((vector_size(32), aligned(16), may_alias));

struct region_record {		/* the sums of all entries of one name */
	char name[REGION_NAME]; /* first: aligned, compared by words */
	uint64_t name_len;
	uint64_t calls;	    /* entries that ended */
	uint64_t outermost; /* of these, not inside another entry of the record */
	uint64_t open;	    /* entries on the stack */
	/* Inclusive sums of the outermost entries; from word `capacity` on exclusive sums of all.
	 */
	_Alignas(region_words) uint64_t words[];
};

struct region_entry { /* an open region on the thread's stack of regions */
	struct region_record *record;
	/* The reading at its begin; from word `capacity` on what regions directly inside counted,
	 * which is 0 while the entry is not in use. */
	_Alignas(region_words) uint64_t words[];
};

struct region_area {
	_Atomic uint64_t sequence; /* odd: records are changing */
	_Atomic uint64_t owner;	   /* seq of the thread that used it last, plus one */
	_Atomic uint32_t n_records;
	uint32_t capacity; /* words that there is room for; part of the layout */
	uint32_t words;	   /* of a reading */
	uint32_t groups;
	uint32_t mode;	 /* enum region_mode */
	uint32_t cost;	 /* enum region_cost, of inside and around in this mode */
	uint32_t resets; /* control.resets when the records were last cleared */
	uint32_t reserved;
	uint64_t eventset;
	uint32_t errors[PMC_EVENTS_MAX]; /* of each group: why it can no longer be read */
	/* Cost of an empty region: counted in the region itself, and in the one around it. */
	uint64_t inside[REGION_WORDS], around[REGION_WORDS];

	/* The thread's own; readers copy up to here. */
	const void *busy;		    /* stack frame of the begin or end in progress */
	const _Atomic uint32_t *alive;	    /* agent_alive */
	const _Atomic uint32_t *resets_now; /* control.resets */
	uint32_t entry_bytes;		    /* region_entry_bytes(capacity) */
	uint32_t excess;		    /* open entries beyond REGION_DEPTH */
	struct region_entry *top;    /* innermost; outside all regions the first, without record */
	struct region_entry *last;   /* the deepest that there is room for */
	struct region_entry *reopen; /* top before an exec that may fail */
	struct slot *slot;
	const uint16_t *first; /* of each group, the first event; one more is the end */
	const int *fds;
	const uint64_t *ids; /* of the leaders */
	pmc_user_page *pages[PMC_EVENTS_MAX];
	/* The last reading; its word REGION_ENDS is always up to date. */
	_Alignas(region_words) uint64_t now[REGION_WORDS];
	uint16_t hash[REGION_HASH]; /* by name: index of the record, plus one */
	uint64_t raw[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
	/* Followed by REGION_RECORDS records; REGION_DEPTH + 2 entries, the first of which stands
	 * for what is outside all regions, and the last of which is never used. */
};

#define REGION_AREA_HEAD offsetof(struct region_area, busy)
/* A REGION frame at its largest. */
#define REGION_FRAME_BYTES                                                                         \
	(sizeof(struct pmc_frame_head) + sizeof(struct pmc_region_fixed) + 8 + REGION_NAME +       \
	 4 * PMC_EVENTS_MAX * (sizeof(struct pmc_reading) + sizeof(uint64_t)))

static inline size_t region_entry_bytes(unsigned capacity)
{
	return sizeof(struct region_entry) + 2 * capacity * sizeof(uint64_t);
}

static inline size_t region_record_bytes(unsigned capacity)
{
	return sizeof(struct region_record) + 2 * capacity * sizeof(uint64_t);
}

/* Offsets in the area. */
static inline size_t region_record_at(unsigned capacity, uint32_t index)
{
	return sizeof(struct region_area) + index * region_record_bytes(capacity);
}

static inline size_t region_entry_at(unsigned capacity, uint32_t depth)
{
	return region_record_at(capacity, REGION_RECORDS) + depth * region_entry_bytes(capacity);
}

/* ---- samples of each thread, tables of modules and stacks -----------------------------------
 *
 * Read by the agent's snapshots, and by pmctl from outside, while threads write. Modules and stacks
 * are complete once `ready` is set, and then stay as they are. Of a thread's samples the first `n`
 * are complete, and only their sums change. If their reset_ns is not that of the thread's account,
 * they were taken before a reset and do not count; the thread removes them when it takes the next
 * sample. So a copy is consistent if reset_ns of the account is the same before and after. */

/* One mapping for all of it. */
enum sample_part {
	AREA_THREADS, /* struct sample_thread, by slot */
	AREA_MODULES, /* struct sample_module */
	AREA_TEXT,    /* MODULE frames */
	AREA_INDEX,   /* of stacks, by hash */
	AREA_STACKS,  /* struct sample_stack, by ID */
	AREA_WORDS,   /* of stacks */
	AREA_COUNTS,  /* struct sample_counts */
	AREA_SCRATCH, /* stacks for handlers */
	AREA_PARTS,
};
/* Sizes; those of stacks may be smaller. */
#define SAMPLE_MODULES	    1024u
#define SAMPLE_TEXT_BYTES   ((size_t)1 << 20)
#define SAMPLE_STACKS_BYTES ((size_t)3 << 21)
#define SAMPLE_WORDS_BYTES  ((size_t)1 << 26)
#define SAMPLE_COUNTS_BYTES ((size_t)1 << 26)

struct sample_tables {
	char *area; /* NULL: there is no sampling */
	size_t at[AREA_PARTS + 1];
	/* Used so far; may exceed what there is room for. */
	_Atomic uint32_t modules, text; /* text: bytes */
	_Atomic uint32_t stacks, words; /* IDs are below `stacks` */
	/* Event set, period and frequency of SAMPLES frames; eventset 0: only stacks at thread
	 * creation are recorded. */
	struct pmc_samples_fixed like;
	uint64_t eventset_frame, eventset_bytes; /* of the event set */
	uint32_t creation;			 /* stacks at thread creation are recorded */
	uint32_t reserved;
};

/* How many items of this size a part has room for. */
static inline size_t sample_room(const struct sample_tables *tables, enum sample_part part,
				 size_t item)
{
	return (tables->at[part + 1] - tables->at[part]) / item;
}

/* Of each slot; written by its thread. */
struct sample_thread {
	_Atomic int fd; /* plus 1; 0: no event is open */
	/* Overflows until the event stops, those included whose signal has not been handled. */
	_Atomic int left;
	unsigned turn; /* samples, also lost ones */
	uint32_t created_stack;
	uint64_t id; /* of the event */
	struct sample_counts *_Atomic counts;
	struct sample_counts *spare; /* of earlier threads with this slot, for `counts` */
	uint64_t last; /* the last reading; of a thread with a timer its CPU time then */
	uint64_t off;  /* of the reading, while counting was off */
	/* Of events that were closed, and of the time with a timer. */
	_Atomic uint64_t enabled_ns, running_ns, value;
	/* Its CPU time and context switches when they began to be counted, and the time of the last
	 * check. */
	uint64_t from_ns, from_switches, looked_ns;
	_Atomic uint64_t samples, lost, truncated;
	_Atomic uint64_t reset_ns; /* the reset since which they are; 0: the thread's start */
	/* The most entries that `counts` had before a reset. Frames for as many are written, some
	 * of them empty: each replaces a frame from before the reset. */
	_Atomic uint32_t had;
	_Atomic uint16_t timed; /* samples come from the thread's timer, and no event is open */
	_Atomic uint16_t flags; /* PMC_SAMPLES_TIMED */
};

/* Samples of a thread by stack. */
#define SAMPLE_COUNTS_MOST (1u << 20)
struct sample_counts {
	struct sample_counts *older;
	size_t bytes;
	uint32_t capacity; /* a power of two */
	_Atomic uint32_t n;
	/* capacity entries, then 2 * capacity numbers of entries plus one, by hash (uint32_t) */
	struct pmc_sample list[];
};

struct sample_module {
	uintptr_t start, end, bias;
	uint64_t hash;
	uint32_t text, text_bytes; /* its MODULE frame */
	_Atomic uint32_t closes;   /* number of calls of dlclose when it was last compared */
	_Atomic uint32_t ready;
};

struct sample_stack {
	uint64_t hash;
	uint32_t first; /* of its words */
	uint16_t depth, flags;
	_Atomic uint32_t ready;
	uint32_t reserved;
};

/* A SAMPLES frame at its largest; a STACKS frame is no larger. */
#define SAMPLE_FRAME_BYTES                                                                         \
	(sizeof(struct pmc_frame_head) + sizeof(struct pmc_samples_fixed) +                        \
	 sizeof(struct pmc_reading) + sizeof(uint64_t) +                                           \
	 PMC_SAMPLES_PART * sizeof(struct pmc_sample))
