/* SPDX-License-Identifier: MIT */
/*
 * thread_counts.h - counts of threads on macOS, which has no descriptors for them.
 *
 * Implemented in darwin/thread_counts.c. The system calls come in a table, of which tests have a
 * double, so that they run the same code on Linux.
 *
 * Without privilege the kernel keeps cycles and instructions of each thread: for the calling thread
 * thread_selfcounts(), for any thread of the process proc_pidinfo(34), which has them for each
 * performance level (macOS 13), and for all threads together, ended ones too, proc_pid_rusage(), of
 * which version 6 (macOS 13) has the fastest level apart. Other events need root and the private
 * frameworks kperf and kperfdata, which program the counters of the whole machine; a thread can
 * read its own only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Performance levels that are told apart, and counters of kperf. */
enum { PMC_MAC_LEVELS = 8, PMC_MAC_COUNTERS = 32 };

/* struct rusage_info_v6, of which struct rusage_info_v4 is the beginning; times are in units of the
 * timebase. */
struct pmc_mac_usage {
	uint8_t uuid[16];
	uint64_t user, system, other[4], resident_bytes, footprint_bytes, start, exit;
	uint64_t more[18], peak_footprint_bytes, instructions, cycles;
	uint64_t energy[4], flags; /* version 4 ends before the flags */
	uint64_t fast_user, fast_system, fast_instructions, fast_cycles, rest[16];
};

/* ---- the system calls: -errno on failure, in the numbers of the running system ----------- */
struct pmc_mac_calls {
	/* thread_selfcounts(1): instructions and cycles of the calling thread. 0. */
	int (*self_counts)(uint64_t counts[2]);
	/* proc_pidinfo() of this process: the number of bytes stored. */
	int (*thread_info)(unsigned flavor, uint64_t tid, void *to, size_t bytes);
	/* proc_pid_rusage() in the version of that number. 0. */
	int (*process_usage)(pid_t pid, int version, struct pmc_mac_usage *to);
	/* pthread_threadid_np() of the caller. */
	uint64_t (*self_tid)(void);
	/* "Performance", "Efficiency"; NULL: unknown. */
	const char *(*level_name)(unsigned level);
	/* mach_timebase_info(): nanoseconds are units * numer / denom. denom 0: unknown, under
	 * Rosetta. */
	void (*timebase)(uint32_t *numer, uint32_t *denom);
	bool (*is_root)(void);
	/* Its functions set errno. */
	void *(*library)(const char *path);
	void *(*symbol)(void *library, const char *name);
};
extern const struct pmc_mac_calls pmc_mac_system;

/* Units of the timebase in nanoseconds; 0 if it is unknown. */
static inline uint64_t pmc_mac_ns(uint64_t units, uint32_t numer, uint32_t denom)
{
	return denom ? (uint64_t)((unsigned __int128)units * numer / denom) : 0;
}

struct pmc_mac {
	unsigned
		levels; /* of thread_info; 0: counts of the calling thread only (before macOS 13) */
	bool counts;	/* cycles and instructions are counted */
	uint32_t no_counts;    /* why not: enum pmc_reason */
	uint32_t numer, denom; /* numer 0: times in units of mach cannot be used */
	/* For descendants: the job's first process counts fewer events of kperf than are asked for,
	 * so the places of their counters are unknown here. */
	bool refused_above;
	bool kpc;	/* events of kperf are counted */
	unsigned kpc_n; /* events, and where the counter of each is in a reading */
	uint8_t kpc_at[PMC_MAC_COUNTERS];
};

/* Finds out what this system counts without privilege. Always succeeds. */
void pmc_mac_open(struct pmc_mac *mac);

struct pmc_mac_event {
	const char *name; /* in the processor's database */
	bool user_only;
	/* Set: 0, or why it is not counted. EPERM: kperf needs root; or, as root, the event is not
	 * in the kernel's list (macOS 14.4). EBUSY: another program holds the counters.
	 * PMC_REASON_*: NO_EVENT: not in the database; CONFLICT: its counters are taken; NO_KPERF:
	 * kperf or kperfdata could not be used. Else an errno. */
	uint32_t reason;
};

/* Programs the counters with the events, for all threads of the machine; those without a reason get
 * the indices 0, 1, ... in a reading. attach: another process of this job has programmed them.
 * Returns the number of counted ones. */
unsigned pmc_mac_kpc_open(struct pmc_mac *mac, struct pmc_mac_event *events, unsigned n,
			  bool attach);
/* Gives the counters back to the system; only what kpc_open has taken. Async-signal-safe. */
void pmc_mac_close(struct pmc_mac *mac);
/* In a forked child: the counters are the parent's to give back. */
void pmc_mac_forked(struct pmc_mac *mac);

struct pmc_mac_level {
	uint64_t instructions, cycles;
};

struct pmc_mac_reading {
	/* 0: level, kpc are valid; else enum pmc_reason or errno. PMC_REASON_NO_KPERF: somebody has
	 * stopped kperf since it was opened. */
	uint32_t counts_error, kpc_error;
	struct pmc_mac_level level[PMC_MAC_LEVELS]; /* without levels, the sum in the first */
	uint64_t kpc[PMC_MAC_COUNTERS];
	bool has_cpu;
	uint64_t cpu_ns;
	char name[16]; /* "": unknown */
};

/* Reads a thread of this process; own: it is the caller. 0, or -ESRCH: it has ended. */
int pmc_mac_read(const struct pmc_mac *mac, uint64_t tid, bool own, struct pmc_mac_reading *to);

/* Reads the whole process, as the reading of a thread. Never events of kperf. */
void pmc_mac_read_process(const struct pmc_mac *mac, struct pmc_mac_reading *to);
/* The reading since `base` was read. */
void pmc_mac_subtract(struct pmc_mac_reading *from, const struct pmc_mac_reading *base);
