/* SPDX-License-Identifier: MIT */
/*
 * kpc.c - events of the processor's database by the private frameworks kperf and kperfdata.
 *
 * The frameworks are loaded by name, since programs cannot be linked to them. Selectors are never
 * written here: kperfdata takes them from /usr/share/kpep. The order of calls matters: counters are
 * forced before they are configured, and configured before counting is switched on.
 *
 * Results of a failed call are not used: each out-parameter is initialised here.
 */
#include "lib/count/thread_counts.h"

#include <errno.h>
#include <pmc/dump.h>
#include <string.h>

/* Classes of counters: kpc.h of xnu. */
enum { CLASS_CONFIGURABLE = 2 };
/* Errors of kperfdata. */
enum { KPEP_NOT_FOUND = 11, KPEP_CONFLICT = 12, KPEP_NOT_FORCED = 13, KPEP_ERRNO = 15 };

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

struct pmc_mac_kpc {
#define X(library, result, name, parameters) result(*name) parameters;
	FUNCTIONS(X)
#undef X
	void *db, *config;
	bool ours; /* the counters were taken by this process */
};
_Static_assert(sizeof(struct pmc_mac_kpc) <= PMC_MAC_KPC_BYTES, "room that callers give");

static bool load(const struct pmc_mac_calls *calls, struct pmc_mac_kpc *kpc)
{
	void *perf = calls->library(PATH("kperf"));
	void *data = calls->library(PATH("kperfdata"));

	if (!perf || !data)
		return false;
#define X(library, result, name, parameters)                                                       \
	*(void **)&kpc->name = calls->symbol(library, #name);                                      \
	if (!kpc->name)                                                                            \
		return false;
	FUNCTIONS(X)
#undef X
	return true;
}

static uint32_t trouble(struct pmc_mac *mac, uint32_t bit, uint32_t reason)
{
	mac->trouble |= bit;
	return reason;
}

/* errno as a reason. */
static uint32_t reason_of(int error, uint32_t unknown)
{
	return error > 0 && error < PMC_REASON_ADOPTED ? (uint32_t)error : unknown;
}

/* The reason for a code of kperfdata. */
static uint32_t explain(struct pmc_mac *mac, int code)
{
	const int error = code == KPEP_ERRNO ? mac->calls->last_error() : 0;

	switch (code) {
	case KPEP_NOT_FOUND:
		return trouble(mac, PMC_MAC_NOT_FOUND, PMC_REASON_NO_EVENT);
	case KPEP_CONFLICT:
		return trouble(mac, PMC_MAC_CONFLICT, PMC_REASON_CONFLICT);
	case KPEP_NOT_FORCED:
		return trouble(mac, PMC_MAC_NOT_FORCED, PMC_REASON_NO_KPERF);
	default:
		return trouble(mac, error == EPERM ? PMC_MAC_ROOT : PMC_MAC_FAILED,
			       reason_of(error, PMC_REASON_NO_KPERF));
	}
}

/* The reason for a failed call of kperf, which sets errno. */
static uint32_t explain_errno(struct pmc_mac *mac, uint32_t not_permitted)
{
	switch (mac->calls->last_error()) {
	case EACCES: /* kpc_force_all_ctrs() of xnu, if another task has forced them */
	case EBUSY:
		return trouble(mac, PMC_MAC_BUSY, EBUSY);
	case EPERM:
		return trouble(mac, not_permitted, EPERM);
	default:
		return trouble(mac, PMC_MAC_FAILED, PMC_REASON_NO_KPERF);
	}
}

static unsigned fail_all(struct pmc_mac_event *events, unsigned n, uint32_t reason)
{
	for (unsigned i = 0; i < n; i++)
		if (!events[i].reason)
			events[i].reason = reason;
	return 0;
}

/* 0 or the reason for which no event can be counted. */
static uint32_t open_database(struct pmc_mac *mac, struct pmc_mac_kpc *kpc)
{
	int code = kpc->kpep_db_create(NULL, &kpc->db);

	if (code || !kpc->db) {
		kpc->db = NULL;
		return explain(mac, code);
	}
	code = kpc->kpep_config_create(kpc->db, &kpc->config);
	if (code || !kpc->config) {
		kpc->config = NULL;
		return explain(mac, code);
	}
	code = kpc->kpep_config_force_counters(kpc->config);
	return code ? explain(mac, code) : 0;
}

/* Adds the events that have no reason yet. Returns how many were added. */
static unsigned add_events(struct pmc_mac *mac, struct pmc_mac_kpc *kpc,
			   struct pmc_mac_event *events, unsigned n)
{
	unsigned added = 0;

	for (struct pmc_mac_event *event = events; event < events + n; event++) {
		void *found = NULL;
		int code = KPEP_CONFLICT;

		if (event->reason)
			continue;
		if (added < PMC_MAC_COUNTERS)
			code = kpc->kpep_db_event(kpc->db, event->name, &found);
		if (!code && found)
			code = kpc->kpep_config_add_event(kpc->config, &found, event->user_only,
							  NULL);
		else if (!code)
			code = KPEP_NOT_FOUND;
		if (code)
			event->reason = explain(mac, code);
		added += !code;
	}
	return added;
}

/* 0 or a reason. */
static uint32_t program(struct pmc_mac *mac, struct pmc_mac_kpc *kpc, uint32_t classes)
{
	uint64_t registers[PMC_MAC_COUNTERS] = { 0 };
	size_t n = 0;
	int code = kpc->kpep_config_kpc_count(kpc->config, &n);

	if (!code && n <= PMC_MAC_COUNTERS)
		code = kpc->kpep_config_kpc(kpc->config, registers, sizeof(registers));
	if (code || n > PMC_MAC_COUNTERS)
		return explain(mac, code);
	if (kpc->kpc_force_all_ctrs_set(1) != 0)
		return explain_errno(mac, PMC_MAC_ROOT);
	kpc->ours = true;
	if ((classes & CLASS_CONFIGURABLE) && n && kpc->kpc_set_config(classes, registers) != 0)
		return explain_errno(mac, PMC_MAC_REFUSED);
	if (kpc->kpc_set_counting(classes) != 0 || kpc->kpc_set_thread_counting(classes) != 0)
		return explain_errno(mac, PMC_MAC_ROOT);
	return 0;
}

/* Where the counter of each added event is in a reading. 0 or a reason. */
static uint32_t read_map(struct pmc_mac *mac, struct pmc_mac_kpc *kpc, unsigned n)
{
	size_t map[PMC_MAC_COUNTERS] = { 0 };
	int code = kpc->kpep_config_kpc_map(kpc->config, map, sizeof(map));

	if (code)
		return explain(mac, code);
	for (unsigned i = 0; i < n; i++) {
		if (map[i] >= PMC_MAC_COUNTERS)
			return explain(mac, 0);
		mac->kpc_at[i] = (uint8_t)map[i];
	}
	return 0;
}

/* Async-signal-safe: system calls only. */
static void release(struct pmc_mac_kpc *kpc)
{
	if (kpc->ours) {
		kpc->kpc_set_counting(0);
		kpc->kpc_set_thread_counting(0);
		kpc->kpc_force_all_ctrs_set(0);
	}
	kpc->ours = false;
}

/* The rest of the objects is in the kernel. Not at the end of the process, which may be in a
 * signal handler that has interrupted malloc(). */
static void free_objects(struct pmc_mac_kpc *kpc)
{
	if (kpc->config)
		kpc->kpep_config_free(kpc->config);
	if (kpc->db)
		kpc->kpep_db_free(kpc->db);
	kpc->db = kpc->config = NULL;
}

/* Returns how many events are counted; if none, *reason says why, 0: each has its own. */
static unsigned set_up(struct pmc_mac *mac, struct pmc_mac_kpc *kpc, struct pmc_mac_event *events,
		       unsigned n, bool attach, uint32_t *reason)
{
	uint32_t classes = 0;
	unsigned added = 0;
	int code;

	*reason = open_database(mac, kpc);
	if (!*reason)
		added = add_events(mac, kpc, events, n);
	if (added) {
		code = kpc->kpep_config_kpc_classes(kpc->config, &classes);
		*reason = code ? explain(mac, code) : read_map(mac, kpc, added);
		if (!*reason && !attach)
			*reason = program(mac, kpc, classes);
	}
	free_objects(kpc);
	if (!*reason && added)
		return added;
	release(kpc);
	return 0;
}

/* The kernel refuses a list for one event of it, without a word which: tries each alone. Returns
 * whether some are left. */
static bool find_refused(struct pmc_mac *mac, struct pmc_mac_kpc *kpc, struct pmc_mac_event *events,
			 unsigned n)
{
	unsigned refused = 0, left = 0;
	uint32_t reason;

	for (unsigned i = 0; i < n; i++) {
		if (events[i].reason)
			continue;
		if (set_up(mac, kpc, &events[i], 1, false, &reason)) {
			release(kpc);
			left++;
		} else {
			fail_all(&events[i], 1, reason);
			refused++;
		}
	}
	return refused && left;
}

unsigned pmc_mac_kpc_open(struct pmc_mac *mac, void *memory, struct pmc_mac_event *events,
			  unsigned n, bool attach)
{
	struct pmc_mac_kpc *kpc = memory;
	unsigned added;
	uint32_t reason;

	memset(kpc, 0, sizeof(*kpc));
	for (unsigned i = 0; i < n; i++)
		events[i].reason = 0;
	if (!mac->calls->is_root())
		return fail_all(events, n, trouble(mac, PMC_MAC_ROOT, EPERM));
	if (attach && mac->refused_above)
		return fail_all(events, n, trouble(mac, PMC_MAC_REFUSED, EPERM));
	if (!load(mac->calls, kpc))
		return fail_all(events, n, trouble(mac, PMC_MAC_NO_FRAMEWORK, PMC_REASON_NO_KPERF));
	added = set_up(mac, kpc, events, n, attach, &reason);
	if (!added && (mac->trouble & PMC_MAC_REFUSED) && find_refused(mac, kpc, events, n))
		added = set_up(mac, kpc, events, n, attach, &reason);
	if (!added)
		return fail_all(events, n, reason);
	mac->kpc = kpc;
	return mac->kpc_n = added;
}

void pmc_mac_close(struct pmc_mac *mac)
{
	if (mac->kpc)
		release(mac->kpc);
	mac->kpc = NULL;
	mac->kpc_n = 0;
}

void pmc_mac_forked(struct pmc_mac *mac)
{
	if (mac->kpc)
		mac->kpc->ours = false;
}

unsigned pmc_mac_kpc_read(const struct pmc_mac *mac, uint64_t *counters)
{
	uint64_t all[PMC_MAC_COUNTERS] = { 0 };

	if (mac->kpc->kpc_get_thread_counters(0, PMC_MAC_COUNTERS, all) != 0)
		return reason_of(mac->calls->last_error(), EIO);
	/* The kernel gives the counts up to the stop. Asked afterwards, for one meanwhile. */
	if (!mac->kpc->kpc_get_thread_counting() || !mac->kpc->kpc_get_counting())
		return PMC_REASON_NO_KPERF;
	for (unsigned i = 0; i < mac->kpc_n; i++)
		counters[i] = all[mac->kpc_at[i]];
	return 0;
}
