/* SPDX-License-Identifier: MIT */
/* words.c - states, reasons and pools of names in the words of reports. */
#include "lib/dump/words.h"
#include "lib/base/advice.h"

const char *pmc_state_name(enum pmc_state state)
{
	static const char *const names[] = {
		[PMC_COUNTED] = "counted",
		[PMC_SCALED] = "scaled",
		[PMC_PARTIAL] = "partial",
		[PMC_NOT_COUNTED] = "not-counted",
		[PMC_NOT_SUPPORTED] = "not-supported",
		[PMC_NOT_PERMITTED] = "not-permitted",
	};

	return (unsigned)state < sizeof(names) / sizeof(names[0]) ? names[state] : "not-counted";
}

const char *pmc_thread_state_name(unsigned state)
{
	static const char *const names[] = {
		[PMC_THREAD_LIVE] = "live",
		[PMC_THREAD_EXITED] = "exited",
		[PMC_THREAD_EXEC] = "exec",
		[PMC_THREAD_KILLED] = "killed",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

const char *pmc_scope_name(unsigned scope)
{
	return scope == PMC_SCOPE_USER ? "user" : scope == PMC_SCOPE_KERNEL ? "kernel" : "all";
}

/* From PMC_REASON_ADOPTED on. */
static const char *const reasons[] = {
#define REASON(name) [PMC_REASON_##name - PMC_REASON_ADOPTED]
	REASON(ADOPTED) = "its start was not seen",
	REASON(FD_BUDGET) = "the agent's share of file descriptors is used up",
	REASON(RECYCLED) = "its file descriptor was taken over by the program",
	REASON(NEVER_RAN) = "enabled, but never scheduled on the PMU",
	REASON(SCALED) = "its group was multiplexed, so the difference to its rows is not exact",
	REASON(SET_LOST) = "its event set is not in the dump",
	REASON(NOT_STARTED) = "counting was off (PMC_START, PMC_DELAY, pmctl ctl)",
	REASON(ROW_LOST) = "its row is not in the dump, or not yet",
	REASON(PINNED) = "pinned, but the PMU had no counter for it all the time",
	REASON(BRACE) = "its braced group needs more counters than the PMU has",
	REASON(UNCORE) = "it counts the whole machine, not single threads",
	REASON(UNCORE_FULL) = "it counts on more CPUs than an event set has room for",
	REASON(ALL_PINNED) = "the pinned events (:D) leave no counter for it",
	REASON(OS) = "the OS counts it for threads only, and their files in /proc were not read",
	REASON(NO_COUNTERS) = "the virtual machine has no counters",
	REASON(OWN_THREAD) = "only the thread itself can read it, at its end",
	REASON(NO_EVENT) = "the processor's event database does not have it",
	REASON(CONFLICT) = "other events of the list take the counters that can count it",
	REASON(NO_KPERF) = "the kperf framework of macOS could not be used",
	REASON(NO_SOURCE) = "macOS does not count it",
	REASON(KERNEL_ONLY) = "it occurs in kernel mode only; leave out :u",
	REASON(REGISTRY_FULL) = "the agent's table of threads is full",
#undef REASON
};

const char *pmc_reason_text(uint32_t reason)
{
	const char *text = NULL;

	if (reason == PMC_REASON_NONE)
		return "no reason recorded";
	if (reason < PMC_REASON_ADOPTED)
		return pmc_error_means((int)reason, NULL);
	if (reason - PMC_REASON_ADOPTED < sizeof(reasons) / sizeof(reasons[0]))
		text = reasons[reason - PMC_REASON_ADOPTED];
	return text ? text : "for a reason that this version does not know";
}

size_t pmc_pool_pattern(const char *name, size_t len, char *pattern)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		if (!pmc_is_digit(name[i]))
			pattern[n++] = name[i];
		else if (!n || pattern[n - 1] != '*')
			pattern[n++] = '*';
	/* The kernel keeps 15 bytes of a name. */
	if (len >= 15 && pattern[n - 1] != '*')
		pattern[n++] = '*';
	return n;
}
