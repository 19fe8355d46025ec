/* SPDX-License-Identifier: MIT */
/*
 * mac_double.h - a double of the system calls of macOS in count/thread_counts.h.
 *
 * Shapes are those of the sources of xnu (bsd/kern/proc_info.c, osfmk/kern/recount.c,
 * bsd/kern/kern_kpc.c) and of headers of kperf that others have published. A call that fails fills
 * its results with 0xa5: code that uses them shows up in the values, or crashes.
 */
#ifndef PMC_TESTS_MAC_DOUBLE_H
#define PMC_TESTS_MAC_DOUBLE_H

#include "lib/count/thread_counts.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { DOUBLE_THREADS = 4096 };

/* Threads have the numbers 1000, 1001, ...; the caller's is set by double_be(). */
static struct {
	int self_error, levels_error; /* -errno; 0: works */
	int usage_error;	      /* of all versions */
	int usage_version;	      /* the newest that the system has */
	uint64_t earlier;	      /* instructions of the process before its threads */
	unsigned levels;
	int short_reply; /* bytes that thread_info gives instead of all */
	bool root, no_kperf, no_symbol, no_timebase;
	int db_error, force_error, map_error;	   /* codes of kperfdata */
	int force_errno, config_errno, read_errno; /* errno of kperf, 0: works */
	int error;				   /* errno of a function of kperfdata */
	unsigned forced, configured, counting, thread_counting, live_db, live_config;
	bool order_broken;
	int events_error;
	unsigned counters; /* that a configuration has; 0: any number, but none for CLASH_* */
	char added[8][32];
	unsigned n_added;
	_Atomic bool ended[DOUBLE_THREADS];
	_Atomic uint64_t work[DOUBLE_THREADS]; /* thread t: t's instructions; cycles are twice */
} mac_double;

static __thread uint64_t double_self = 1000;

static inline void double_reset(unsigned levels)
{
	memset((void *)&mac_double, 0, sizeof(mac_double));
	mac_double.levels = levels;
	mac_double.usage_version = 6;
	double_self = 1000;
}

static inline void double_be(uint64_t tid)
{
	double_self = tid;
}

static int double_self_counts(uint64_t counts[2])
{
	if (mac_double.self_error) {
		memset(counts, 0xa5, 16);
		return mac_double.self_error;
	}
	counts[0] = mac_double.work[double_self - 1000];
	counts[1] = 2 * counts[0];
	return 0;
}

static int double_counts(uint64_t tid, void *to, size_t bytes)
{
	unsigned char reply[8 + 40 * 16] = { 0 };
	size_t n = 8 + 40 * mac_double.levels;
	uint64_t work = mac_double.work[tid - 1000];

	if (mac_double.levels_error || n > bytes) {
		memset(to, 0xa5, bytes);
		return mac_double.levels_error ? mac_double.levels_error : -ENOMEM;
	}
	reply[0] = (unsigned char)mac_double.levels;
	/* All of the work is done on the first level but 10, on the last. */
	for (unsigned l = 0; l < mac_double.levels; l++) {
		uint64_t part = mac_double.levels == 1	   ? work :
				l == 0			   ? work - 10 :
				l == mac_double.levels - 1 ? 10 :
							     0;
		const uint64_t words[5] = { part, 2 * part, 24 * part, 0, 0 };

		memcpy(reply + 8 + 40 * l, words, sizeof(words));
	}
	memset(to, 0xa5, bytes);
	memcpy(to, reply, n);
	return mac_double.short_reply ? mac_double.short_reply : (int)n;
}

static int double_info(uint64_t tid, void *to, size_t bytes)
{
	unsigned char reply[112] = { 0 };
	const uint64_t times[2] = { 7000, 1000 };

	if (bytes < sizeof(reply))
		return -ENOMEM;
	memcpy(reply, times, sizeof(times));
	snprintf((char *)reply + 48, 64, "worker-%llu-with-a-long-name", (unsigned long long)tid);
	memcpy(to, reply, sizeof(reply));
	return sizeof(reply);
}

static int double_thread_info(unsigned flavor, uint64_t tid, void *to, size_t bytes)
{
	if (tid < 1000 || tid >= 1000 + DOUBLE_THREADS || mac_double.ended[tid - 1000]) {
		memset(to, 0xa5, bytes);
		return -ESRCH;
	}
	return flavor == 34 ? double_counts(tid, to, bytes) :
	       flavor == 15 ? double_info(tid, to, bytes) :
			      -EINVAL;
}

/* The sum over all threads, ended ones too. The work on the last level is 10 for each that has
 * any. */
static inline int double_usage(pid_t pid, int version, struct pmc_mac_usage *to)
{
	uint64_t words[58] = { 0 }, slow = 0;

	memset(to, 0xa5, sizeof(*to));
	if (mac_double.usage_error || version > mac_double.usage_version)
		return mac_double.usage_error ? mac_double.usage_error : -EINVAL;
	if (version != 4 && version != 6)
		return -EINVAL;
	words[31] = mac_double.earlier;
	for (unsigned i = 0; i < DOUBLE_THREADS; i++) {
		words[31] += mac_double.work[i];
		slow += mac_double.work[i] && mac_double.levels > 1 ? 10 : 0;
	}
	words[32] = 2 * words[31];
	words[2] = 24 * words[31];
	words[40] = words[31] - slow;
	words[41] = 2 * words[40];
	memcpy(to, words, version == 4 ? 296 : sizeof(words));
	return 0;
}

static uint64_t double_tid(void)
{
	return double_self;
}

static const char *double_level(unsigned level)
{
	return level == 0 ? "Performance" : level == 1 ? "Efficiency" : NULL;
}

static void double_timebase(uint32_t *numer, uint32_t *denom)
{
	/* Of Apple silicon. */
	*numer = 125;
	*denom = mac_double.no_timebase ? 0 : 3;
}

static bool double_root(void)
{
	return mac_double.root;
}

/* ---- kperf and kperfdata ----------------------------------------------------------------- */
static int fail_errno(int error)
{
	errno = error;
	return -1;
}

static int double_kpep_db_create(const char *name, void **db)
{
	*db = name || mac_double.db_error ? (void *)(uintptr_t)0xa5a5a5a5 : &mac_double;
	mac_double.live_db += !mac_double.db_error;
	errno = mac_double.error;
	return mac_double.db_error;
}

static void double_kpep_db_free(void *db)
{
	mac_double.live_db -= db == &mac_double;
}

/* Events: FIXED_CYCLES, INST_*; CLASH_* conflicts with whatever is there; others do not exist. */
static int double_kpep_db_event(void *db, const char *name, void **event)
{
	bool known = strcmp(name, "FIXED_CYCLES") == 0 || strncmp(name, "INST_", 5) == 0 ||
		     strncmp(name, "CLASH_", 6) == 0;

	*event = known && db == &mac_double ? (void *)(uintptr_t)name :
					      (void *)(uintptr_t)0xa5a5a5a5;
	return known ? 0 : 11;
}

/* The database as a list: events are their own names. */
static const char *const double_events[] = { "INST_ALL", "FIXED_CYCLES", "CLASH_A",
					     "INST_\033[1m" };

static inline int double_kpep_db_events_count(void *db, size_t *n)
{
	*n = db == &mac_double ? 4 : 0xa5a5;
	return mac_double.events_error;
}

static inline int double_kpep_db_events(void *db, void **events, size_t bytes)
{
	memset(events, 0xa5, bytes);
	if (db != &mac_double || bytes != sizeof(double_events) || mac_double.events_error)
		return 3;
	memcpy(events, double_events, bytes);
	return 0;
}

static inline int double_kpep_event_name(void *event, const char **text)
{
	*text = event;
	return 0;
}

static inline int double_kpep_event_alias(void *event, const char **text)
{
	*text = strcmp(event, "FIXED_CYCLES") == 0 ? "Cycles" : NULL;
	return 0;
}

static inline int double_kpep_event_description(void *event, const char **text)
{
	bool has = strcmp(event, "INST_ALL") == 0;

	*text = has ? "All retired instructions" : (const char *)(uintptr_t)0xa5a5a5a5;
	return has ? 0 : 11;
}

static int double_kpep_config_create(void *db, void **config)
{
	*config = db;
	mac_double.n_added = 0;
	mac_double.live_config++;
	mac_double.n_added = mac_double.counters ? 0 : mac_double.n_added;
	return 0;
}

static void double_kpep_config_free(void *config)
{
	mac_double.live_config -= config == &mac_double;
}

static int double_kpep_config_force_counters(void *config)
{
	mac_double.order_broken |= config != &mac_double;
	return mac_double.force_error;
}

static int double_kpep_config_add_event(void *config, void **event, uint32_t user_only,
					uint32_t *error)
{
	if (mac_double.counters ? mac_double.n_added >= mac_double.counters :
				  strncmp(*event, "CLASH_", 6) == 0)
		return 12;
	snprintf(mac_double.added[mac_double.n_added++ % 8], 32, "%s", (const char *)*event);
	return 0;
}

static int double_kpep_config_kpc_classes(void *config, uint32_t *classes)
{
	*classes = 3;
	return 0;
}

static int double_kpep_config_kpc_count(void *config, size_t *n)
{
	*n = 10;
	return 0;
}

static int double_kpep_config_kpc_map(void *config, size_t *map, size_t bytes)
{
	memset(map, 0xa5, bytes);
	errno = mac_double.error;
	/* The last event of the list has the lowest counter. */
	for (unsigned i = 0; i < mac_double.n_added && !mac_double.map_error; i++)
		map[i] = mac_double.n_added - 1 - i;
	return mac_double.map_error > 0 ? mac_double.map_error : 0;
}

static int double_kpep_config_kpc(void *config, uint64_t *registers, size_t bytes)
{
	memset(registers, 1, bytes);
	return 0;
}

static int double_kpc_force_all_ctrs_set(int on)
{
	if (on && mac_double.force_errno)
		return fail_errno(mac_double.force_errno);
	mac_double.forced = (unsigned)on;
	return 0;
}

static int double_kpc_set_config(uint32_t classes, uint64_t *registers)
{
	if (mac_double.config_errno)
		return fail_errno(mac_double.config_errno);
	/* The kernel does not say which. */
	for (unsigned i = 0; i < mac_double.n_added && i < 8; i++)
		if (strncmp(mac_double.added[i], "INST_SECRET", 11) == 0)
			return fail_errno(EPERM);
	mac_double.order_broken |= !mac_double.forced || mac_double.counting;
	mac_double.configured = 1;
	return 0;
}

static int double_kpc_set_counting(uint32_t classes)
{
	mac_double.order_broken |= classes && !mac_double.configured;
	mac_double.counting = classes;
	return 0;
}

static int double_kpc_set_thread_counting(uint32_t classes)
{
	mac_double.thread_counting = classes;
	return 0;
}

static uint32_t double_kpc_get_counting(void)
{
	return mac_double.counting;
}

static uint32_t double_kpc_get_thread_counting(void)
{
	return mac_double.thread_counting;
}

static int double_kpc_get_thread_counters(uint32_t tid, uint32_t n, uint64_t *counters)
{
	memset(counters, 0xa5, n * sizeof(*counters));
	/* Other threads cannot be read. Those that were counted once can be, also after the stop.
	 */
	if (tid || mac_double.read_errno)
		return fail_errno(tid ? EINVAL : mac_double.read_errno);
	for (uint32_t i = 0; i < n; i++)
		counters[i] = mac_double.work[double_self - 1000] * 100 + i;
	return 0;
}

static void *double_library(const char *path)
{
	return mac_double.no_kperf ? NULL : (void *)(uintptr_t)path;
}

static void *double_symbol(void *library, const char *name)
{
	static const struct {
		const char *name;
		void *function;
	} known[] = {
#define F(name) { #name, (void *)(uintptr_t)double_##name }
		F(kpep_db_create),	    F(kpep_db_free),
		F(kpep_db_event),	    F(kpep_config_create),
		F(kpep_config_free),	    F(kpep_config_force_counters),
		F(kpep_config_add_event),   F(kpep_config_kpc_classes),
		F(kpep_config_kpc_count),   F(kpep_config_kpc_map),
		F(kpep_config_kpc),	    F(kpc_force_all_ctrs_set),
		F(kpc_set_config),	    F(kpc_set_counting),
		F(kpc_set_thread_counting), F(kpc_get_thread_counters),
		F(kpc_get_counting),	    F(kpc_get_thread_counting),
		F(kpep_db_events_count),    F(kpep_db_events),
		F(kpep_event_name),	    F(kpep_event_alias),
		F(kpep_event_description),
#undef F
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0 &&
		    (strstr(library, "kperfdata") != NULL) == (name[1] == 'p' && name[2] == 'e') &&
		    !(mac_double.no_symbol && strcmp(name, "kpc_set_thread_counting") == 0))
			return known[i].function;
	return NULL;
}

#define DOUBLE_CALLS(usage)                                                                        \
	{                                                                                          \
		.self_counts = double_self_counts, .thread_info = double_thread_info,              \
		.process_usage = (usage), .self_tid = double_tid, .level_name = double_level,      \
		.timebase = double_timebase, .is_root = double_root, .library = double_library,    \
		.symbol = double_symbol,                                                           \
	}

#endif
