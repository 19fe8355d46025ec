/* SPDX-License-Identifier: MIT */
/*
 * thread_counts.c - cycles, instructions, CPU time and events of kperf of threads; see
 * thread_counts.h.
 *
 * Has no header of macOS, so that tests compile it on Linux. Layouts are those of sys/proc_info.h
 * and of bsd/sys/proc_info.h in the sources of xnu.
 */
#include "lib/count/thread_counts.h"
#include "lib/base/number.h"

#include <errno.h>
#include <pmc/dump.h>
#include <string.h>
#include <unistd.h>

/* ---- kperf and kperfdata -------------------------------------------------------------------
 *
 * The frameworks are loaded by name, since programs cannot be linked to them. Selectors are never
 * written here: kperfdata takes them from /usr/share/kpep. The order of calls matters: counters are
 * forced before they are configured, and configured before counting is switched on.
 *
 * Results of a failed call are not used: each out-parameter is initialised here. */

/* Classes of counters: kpc.h of xnu. */
enum { CLASS_CONFIGURABLE = 2 };
/* Errors of kperfdata. */
enum { KPEP_NOT_FOUND = 11, KPEP_CONFLICT = 12, KPEP_ERRNO = 15 };

#define PATH(name) "/System/Library/PrivateFrameworks/" name ".framework/" name

/* X(library, result, name, parameters) */
#define FUNCTIONS(X)                                                                               \
	X(data, int, kpep_db_create, (const char *, void **))                                      \
	X(data, void, kpep_db_free, (void *))                                                      \
	X(data, int, kpep_db_event, (void *, const char *, void **))                               \
	X(data, int, kpep_config_create, (void *, void **))                                        \
	X(data, void, kpep_config_free, (void *))                                                  \
	X(data, int, kpep_config_force_counters, (void *))                                         \
	X(data, int, kpep_config_add_event, (void *, void **, uint32_t, uint32_t *))               \
	X(data, int, kpep_config_kpc_classes, (void *, uint32_t *))                                \
	X(data, int, kpep_config_kpc_count, (void *, size_t *))                                    \
	X(data, int, kpep_config_kpc_map, (void *, size_t *, size_t))                              \
	X(data, int, kpep_config_kpc, (void *, uint64_t *, size_t))                                \
	X(perf, int, kpc_force_all_ctrs_set, (int))                                                \
	X(perf, int, kpc_set_config, (uint32_t, uint64_t *))                                       \
	X(perf, int, kpc_set_counting, (uint32_t))                                                 \
	X(perf, int, kpc_set_thread_counting, (uint32_t))                                          \
	X(perf, uint32_t, kpc_get_counting, (void))                                                \
	X(perf, uint32_t, kpc_get_thread_counting, (void))                                         \
	X(perf, int, kpc_get_thread_counters, (uint32_t, uint32_t, uint64_t *))

/* One for the process: the counters are the machine's. */
static struct kpc {
#define X(library, result, name, parameters) result(*name) parameters;
	FUNCTIONS(X)
#undef X
	void *db, *config;
	bool ours; /* the counters were taken by this process */
} kpc;

static bool load(void)
{
	void *perf = pmc_mac_system.library(PATH("kperf"));
	void *data = pmc_mac_system.library(PATH("kperfdata"));

	if (!perf || !data)
		return false;
#define X(library, result, name, parameters)                                                       \
	*(void **)&kpc.name = pmc_mac_system.symbol(library, #name);                               \
	if (!kpc.name)                                                                             \
		return false;
	FUNCTIONS(X)
#undef X
	return true;
}

/* errno as a reason. */
static uint32_t reason_of(int error, uint32_t unknown)
{
	return error > 0 && error < PMC_REASON_ADOPTED ? (uint32_t)error : unknown;
}

/* The reason for a code of kperfdata. */
static uint32_t explain(int code)
{
	return code == KPEP_NOT_FOUND ? PMC_REASON_NO_EVENT :
	       code == KPEP_CONFLICT  ? PMC_REASON_CONFLICT :
	       code == KPEP_ERRNO     ? reason_of(errno, PMC_REASON_NO_KPERF) :
					PMC_REASON_NO_KPERF;
}

/* The reason for a failed call of kperf, which sets errno. */
static uint32_t explain_errno(void)
{
	/* EACCES: kpc_force_all_ctrs() of xnu, if another task has forced them. */
	if (errno == EACCES || errno == EBUSY)
		return EBUSY;
	return errno == EPERM ? EPERM : PMC_REASON_NO_KPERF;
}

static unsigned fail_all(struct pmc_mac_event *events, unsigned n, uint32_t reason)
{
	for (unsigned i = 0; i < n; i++)
		if (!events[i].reason)
			events[i].reason = reason;
	return 0;
}

/* 0 or the reason for which no event can be counted. */
static uint32_t open_database(void)
{
	int code = kpc.kpep_db_create(NULL, &kpc.db);

	if (code || !kpc.db) {
		kpc.db = NULL;
		return explain(code);
	}
	code = kpc.kpep_config_create(kpc.db, &kpc.config);
	if (code || !kpc.config) {
		kpc.config = NULL;
		return explain(code);
	}
	code = kpc.kpep_config_force_counters(kpc.config);
	return code ? explain(code) : 0;
}

/* Adds the events that have no reason yet. Returns how many were added. */
static unsigned add_events(struct pmc_mac_event *events, unsigned n)
{
	unsigned added = 0;

	for (struct pmc_mac_event *event = events; event < events + n; event++) {
		void *found = NULL;
		int code = KPEP_CONFLICT;

		if (event->reason)
			continue;
		if (added < PMC_MAC_COUNTERS)
			code = kpc.kpep_db_event(kpc.db, event->name, &found);
		if (!code && found)
			code = kpc.kpep_config_add_event(kpc.config, &found, event->user_only,
							 NULL);
		else if (!code)
			code = KPEP_NOT_FOUND;
		if (code)
			event->reason = explain(code);
		added += !code;
	}
	return added;
}

/* 0 or a reason. */
static uint32_t program(uint32_t classes)
{
	uint64_t registers[PMC_MAC_COUNTERS] = { 0 };
	size_t n = 0;
	int code = kpc.kpep_config_kpc_count(kpc.config, &n);

	if (!code && n <= PMC_MAC_COUNTERS)
		code = kpc.kpep_config_kpc(kpc.config, registers, sizeof(registers));
	if (code || n > PMC_MAC_COUNTERS)
		return explain(code);
	if (kpc.kpc_force_all_ctrs_set(1) != 0)
		return explain_errno();
	kpc.ours = true;
	if ((classes & CLASS_CONFIGURABLE) && n && kpc.kpc_set_config(classes, registers) != 0)
		return explain_errno();
	if (kpc.kpc_set_counting(classes) != 0 || kpc.kpc_set_thread_counting(classes) != 0)
		return explain_errno();
	return 0;
}

/* Where the counter of each added event is in a reading. 0 or a reason. */
static uint32_t read_map(struct pmc_mac *mac, unsigned n)
{
	size_t map[PMC_MAC_COUNTERS] = { 0 };
	int code = kpc.kpep_config_kpc_map(kpc.config, map, sizeof(map));

	if (code)
		return explain(code);
	for (unsigned i = 0; i < n; i++) {
		if (map[i] >= PMC_MAC_COUNTERS)
			return explain(0);
		mac->kpc_at[i] = (uint8_t)map[i];
	}
	return 0;
}

/* Async-signal-safe: system calls only. */
static void release(void)
{
	if (kpc.ours) {
		kpc.kpc_set_counting(0);
		kpc.kpc_set_thread_counting(0);
		kpc.kpc_force_all_ctrs_set(0);
	}
	kpc.ours = false;
}

/* The rest of the objects is in the kernel. Not at the end of the process, which may be in a
 * signal handler that has interrupted malloc(). */
static void free_objects(void)
{
	if (kpc.config)
		kpc.kpep_config_free(kpc.config);
	if (kpc.db)
		kpc.kpep_db_free(kpc.db);
	kpc.db = kpc.config = NULL;
}

/* Returns how many events are counted; if none, *reason says why, 0: each has its own. */
static unsigned set_up(struct pmc_mac *mac, struct pmc_mac_event *events, unsigned n, bool attach,
		       uint32_t *reason)
{
	uint32_t classes = 0;
	unsigned added = 0;
	int code;

	*reason = open_database();
	if (!*reason)
		added = add_events(events, n);
	if (added) {
		code = kpc.kpep_config_kpc_classes(kpc.config, &classes);
		*reason = code ? explain(code) : read_map(mac, added);
		if (!*reason && !attach)
			*reason = program(classes);
	}
	free_objects();
	if (!*reason && added)
		return added;
	release();
	return 0;
}

/* The kernel refuses a list for one event of it, without a word which: tries each alone. Returns
 * whether some are left. */
static bool find_refused(struct pmc_mac *mac, struct pmc_mac_event *events, unsigned n)
{
	unsigned refused = 0, left = 0;
	uint32_t reason;

	for (unsigned i = 0; i < n; i++) {
		if (events[i].reason)
			continue;
		if (set_up(mac, &events[i], 1, false, &reason)) {
			release();
			left++;
		} else {
			fail_all(&events[i], 1, reason);
			refused++;
		}
	}
	return refused && left;
}

unsigned pmc_mac_kpc_open(struct pmc_mac *mac, struct pmc_mac_event *events, unsigned n,
			  bool attach)
{
	unsigned added;
	uint32_t reason;

	kpc = (struct kpc){ 0 };
	for (unsigned i = 0; i < n; i++)
		events[i].reason = 0;
	if (!pmc_mac_system.is_root() || (attach && mac->refused_above))
		return fail_all(events, n, EPERM);
	if (!load())
		return fail_all(events, n, PMC_REASON_NO_KPERF);
	added = set_up(mac, events, n, attach, &reason);
	if (!added && !attach && reason == EPERM && find_refused(mac, events, n))
		added = set_up(mac, events, n, attach, &reason);
	if (!added)
		return fail_all(events, n, reason);
	mac->kpc = true;
	return mac->kpc_n = added;
}

void pmc_mac_close(struct pmc_mac *mac)
{
	if (mac->kpc)
		release();
	mac->kpc = false;
	mac->kpc_n = 0;
}

void pmc_mac_forked(struct pmc_mac *mac)
{
	if (mac->kpc)
		kpc.ours = false;
}

static uint32_t read_kpc(const struct pmc_mac *mac, uint64_t *counters)
{
	uint64_t all[PMC_MAC_COUNTERS] = { 0 };

	if (kpc.kpc_get_thread_counters(0, PMC_MAC_COUNTERS, all) != 0)
		return reason_of(errno, EIO);
	/* The kernel gives the counts up to the stop. Asked afterwards, for one meanwhile. */
	if (!kpc.kpc_get_thread_counting() || !kpc.kpc_get_counting())
		return PMC_REASON_NO_KPERF;
	for (unsigned i = 0; i < mac->kpc_n; i++)
		counters[i] = all[mac->kpc_at[i]];
	return 0;
}

/* ---- what needs no privilege -------------------------------------------------------------- */

/* Flavors of proc_pidinfo. */
enum { THREAD_ID64_INFO = 15, THREAD_COUNTS = 34 };

/* struct proc_threadcounts; times are in units of mach_timebase_info. */
struct counts {
	uint16_t levels;
	uint16_t reserved[3];
	struct {
		uint64_t instructions, cycles, user, system, energy_nj;
	} level[PMC_MAC_LEVELS];
};
_Static_assert(offsetof(struct counts, level) == 8 && sizeof(((struct counts *)0)->level[0]) == 40,
	       "proc_threadcounts has a header of 8 bytes and 40 bytes for each level");

/* struct proc_threadinfo; times are in nanoseconds. */
struct info {
	uint64_t user_ns, system_ns;
	int32_t other[8];
	char name[64];
};
_Static_assert(sizeof(struct info) == 112, "PROC_PIDTHREADID64INFO_SIZE");

/* The counts of a thread; levels: how many the kernel gave. 0 or -errno. */
static int read_levels(uint64_t tid, struct counts *to, unsigned *levels)
{
	int got = pmc_mac_system.thread_info(THREAD_COUNTS, tid, to, sizeof(*to));

	if (got < 0)
		return got;
	*levels = (size_t)got < offsetof(struct counts, level) ? 0 : to->levels;
	if (*levels == 0 || *levels > PMC_MAC_LEVELS ||
	    (size_t)got < offsetof(struct counts, level) + *levels * sizeof(to->level[0]))
		return -EINVAL;
	return 0;
}

void pmc_mac_open(struct pmc_mac *mac)
{
	struct counts counts;
	uint64_t self[2];
	unsigned levels;
	int error;

	*mac = (struct pmc_mac){ .numer = 1, .denom = 1 };
	pmc_mac_system.timebase(&mac->numer, &mac->denom);
	if (!mac->denom)
		mac->numer = 0;
	error = pmc_mac_system.self_counts(self);
	if (error) {
		/* ENOTSUP: a virtual machine. */
		mac->no_counts = error == -ENOTSUP || error == -ENOSYS ? PMC_REASON_NO_COUNTERS :
									 (uint32_t)-error;
		return;
	}
	mac->counts = true;
	if (read_levels(pmc_mac_system.self_tid(), &counts, &levels) == 0)
		mac->levels = levels;
}

static void read_own(struct pmc_mac_reading *to)
{
	uint64_t counts[2];
	int error = pmc_mac_system.self_counts(counts);

	to->counts_error = (uint32_t)-error;
	if (!error)
		to->level[0] = (struct pmc_mac_level){ counts[0], counts[1] };
}

/* 0, or -ESRCH: the thread has ended. */
static int read_counts(const struct pmc_mac *mac, uint64_t tid, bool own,
		       struct pmc_mac_reading *to)
{
	struct counts counts;
	unsigned levels;
	int error;

	if (!mac->counts) {
		to->counts_error = mac->no_counts;
		return 0;
	}
	if (!mac->levels) {
		to->counts_error = PMC_REASON_OWN_THREAD;
		if (own)
			read_own(to);
		return 0;
	}
	error = read_levels(tid, &counts, &levels);
	if (!error && levels != mac->levels)
		error = -EINVAL;
	to->counts_error = (uint32_t)-error;
	if (error)
		return error == -ESRCH ? error : 0;
	to->has_cpu = mac->numer != 0;
	for (unsigned i = 0; i < levels; i++) {
		to->level[i].instructions = counts.level[i].instructions;
		to->level[i].cycles = counts.level[i].cycles;
		if (to->has_cpu)
			to->cpu_ns += pmc_mac_ns(counts.level[i].user + counts.level[i].system,
						 mac->numer, mac->denom);
	}
	return 0;
}

int pmc_mac_read(const struct pmc_mac *mac, uint64_t tid, bool own, struct pmc_mac_reading *to)
{
	struct info info;
	int got;

	memset(to, 0, sizeof(*to));
	if (read_counts(mac, tid, own, to) != 0)
		return -ESRCH;
	to->kpc_error = PMC_REASON_OWN_THREAD;
	if (own && mac->kpc)
		to->kpc_error = read_kpc(mac, to->kpc);
	got = pmc_mac_system.thread_info(THREAD_ID64_INFO, tid, &info, sizeof(info));
	if (got == -ESRCH)
		return -ESRCH;
	if (got != (int)sizeof(info))
		return 0;
	if (!to->has_cpu)
		to->cpu_ns = info.user_ns + info.system_ns;
	to->has_cpu = true;
	memcpy(to->name, info.name, sizeof(to->name) - 1);
	return 0;
}

void pmc_mac_read_process(const struct pmc_mac *mac, struct pmc_mac_reading *to)
{
	struct pmc_mac_usage usage;
	int error = pmc_mac_system.process_usage(getpid(), 6, &usage);
	const bool levels = !error;

	memset(to, 0, sizeof(*to));
	to->kpc_error = PMC_REASON_OWN_THREAD;
	if (error)
		error = pmc_mac_system.process_usage(getpid(), 4, &usage);
	if (error) {
		to->counts_error = (uint32_t)-error;
		return;
	}
	to->has_cpu = mac->numer != 0;
	to->cpu_ns = pmc_mac_ns(usage.user + usage.system, mac->numer, mac->denom);
	to->counts_error = mac->no_counts;
	if (!mac->counts)
		return;
	to->level[0] = (struct pmc_mac_level){ usage.instructions, usage.cycles };
	if (mac->levels <= 1)
		return;
	/* The levels of proc_pidinfo(34) are in the order of hw.perflevelN, the fastest first. */
	if (!levels || mac->levels > 2) {
		to->counts_error = PMC_REASON_NO_SOURCE;
		return;
	}
	to->level[0] = (struct pmc_mac_level){ usage.fast_instructions, usage.fast_cycles };
	to->level[1] = (struct pmc_mac_level){
		pmc_sub_sat(usage.instructions, usage.fast_instructions),
		pmc_sub_sat(usage.cycles, usage.fast_cycles),
	};
}

void pmc_mac_subtract(struct pmc_mac_reading *from, const struct pmc_mac_reading *base)
{
	from->cpu_ns = pmc_sub_sat(from->cpu_ns, base->cpu_ns);
	for (unsigned i = 0; i < PMC_MAC_LEVELS; i++) {
		struct pmc_mac_level *level = &from->level[i];

		level->instructions = pmc_sub_sat(level->instructions, base->level[i].instructions);
		level->cycles = pmc_sub_sat(level->cycles, base->level[i].cycles);
	}
}
