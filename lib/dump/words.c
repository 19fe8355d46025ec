/* SPDX-License-Identifier: MIT */
/* words.c - states and reasons in the words of reports. */
#include "lib/base/advice.h"
#include "lib/dump/words.h"

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

const char *pmc_reason_text(uint32_t reason)
{
	switch (reason) {
	case PMC_REASON_NONE:
		return "no reason recorded";
	case PMC_REASON_ADOPTED:
		return "its start was not seen";
	case PMC_REASON_FD_BUDGET:
		return "the agent's share of file descriptors is used up";
	case PMC_REASON_RECYCLED:
		return "its file descriptor was taken over by the program";
	case PMC_REASON_NEVER_RAN:
		return "enabled, but never scheduled on the PMU";
	case PMC_REASON_NOT_STARTED:
		return "counting was off (PMC_START, PMC_DELAY, pmctl ctl)";
	case PMC_REASON_ROW_LOST:
		return "its row is not in the dump, or not yet";
	case PMC_REASON_PINNED:
		return "pinned, but the PMU had no counter for it all the time";
	case PMC_REASON_BRACE:
		return "its braced group needs more counters than the PMU has";
	case PMC_REASON_UNCORE:
		return "it counts the whole machine, not single threads";
	case PMC_REASON_UNCORE_FULL:
		return "it counts on more CPUs than an event set has room for";
	case PMC_REASON_ALL_PINNED:
		return "the pinned events (:D) leave no counter for it";
	case PMC_REASON_OS:
		return "the OS counts it for threads only, and /proc must be readable";
	case PMC_REASON_NO_COUNTERS:
		return "the virtual machine has no counters";
	case PMC_REASON_OWN_THREAD:
		return "only the thread itself can read it, at its end";
	case PMC_REASON_NO_EVENT:
		return "the processor's event database does not have it";
	case PMC_REASON_CONFLICT:
		return "other events of the list take the counters that can count it";
	case PMC_REASON_NO_KPERF:
		return "the kperf framework of macOS could not be used";
	case PMC_REASON_NO_SOURCE:
		return "macOS does not count it";
	case PMC_REASON_KERNEL_ONLY:
		return "it occurs in kernel mode only; leave out :u";
	case PMC_REASON_REGISTRY_FULL:
		return "the agent's table of threads is full";
	default:
		return reason < PMC_REASON_ADOPTED ? pmc_error_means((int)reason) :
						     "the kernel refused it";
	}
}
