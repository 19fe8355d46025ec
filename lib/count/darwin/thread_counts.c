/* SPDX-License-Identifier: MIT */
/*
 * thread_counts.c - cycles, instructions and CPU time of threads; see thread_counts.h.
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
static int read_levels(const struct pmc_mac_calls *calls, uint64_t tid, struct counts *to,
		       unsigned *levels)
{
	int got = calls->thread_info(THREAD_COUNTS, tid, to, sizeof(*to));

	if (got < 0)
		return got;
	*levels = (size_t)got < offsetof(struct counts, level) ? 0 : to->levels;
	if (*levels == 0 || *levels > PMC_MAC_LEVELS ||
	    (size_t)got < offsetof(struct counts, level) + *levels * sizeof(to->level[0]))
		return -EINVAL;
	return 0;
}

void pmc_mac_open(struct pmc_mac *mac, const struct pmc_mac_calls *calls)
{
	struct counts counts;
	uint64_t self[2];
	unsigned levels;
	int error;

	*mac = (struct pmc_mac){ .calls = calls, .numer = 1, .denom = 1 };
	calls->timebase(&mac->numer, &mac->denom);
	if (!mac->denom)
		mac->numer = 0;
	error = calls->self_counts(self);
	if (error) {
		bool none = error == -ENOTSUP || error == -ENOSYS;

		mac->trouble |= none ? PMC_MAC_NO_COUNTERS : PMC_MAC_FAILED;
		mac->no_counts = none ? PMC_REASON_NO_COUNTERS : (uint32_t)-error;
		return;
	}
	mac->counts = true;
	if (read_levels(calls, calls->self_tid(), &counts, &levels) == 0)
		mac->levels = levels;
	else
		mac->trouble |= PMC_MAC_OLD;
}

static void read_own(const struct pmc_mac *mac, struct pmc_mac_reading *to)
{
	uint64_t counts[2];
	int error = mac->calls->self_counts(counts);

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
			read_own(mac, to);
		return 0;
	}
	error = read_levels(mac->calls, tid, &counts, &levels);
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
		to->kpc_error = pmc_mac_kpc_read(mac, to->kpc);
	got = mac->calls->thread_info(THREAD_ID64_INFO, tid, &info, sizeof(info));
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
	int error = mac->calls->process_usage(getpid(), 6, &usage, sizeof(usage));
	const bool levels = !error;

	memset(to, 0, sizeof(*to));
	to->kpc_error = PMC_REASON_OWN_THREAD;
	if (error)
		error = mac->calls->process_usage(getpid(), 4, &usage, sizeof(usage));
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
