/* SPDX-License-Identifier: MIT */
/* words.h - states, reasons and pools in the words of reports; how long counting was on. */
#pragma once

#include "lib/base/number.h"
#include "lib/base/show.h"

#include <pmc/dump.h>

/* One clause for a reason or errno ("its start was not seen", "too many open files"). */
const char *pmc_reason_text(uint32_t reason);
const char *pmc_state_name(enum pmc_state state);
const char *pmc_thread_state_name(unsigned state);
const char *pmc_scope_name(unsigned scope);

/* Of a thread's life until then, how long counting was on in a thread; 0: not known, or never. */
static inline uint64_t pmc_thread_on_ns(const struct pmc_thread_fixed *fixed, uint64_t until)
{
	if (fixed->flags & PMC_THREAD_OFF && until > fixed->time_ns)
		until = fixed->time_ns;
	/* An adopted thread has no start time. */
	return fixed->start_ns ? pmc_sub_sat(pmc_sub_sat(until, fixed->start_ns), fixed->off_ns) :
				 0;
}

/* Whether counting was ever on: until then all values are 0, which rows show as unknown. */
static inline bool pmc_thread_has_begun(const struct pmc_thread_fixed *fixed)
{
	return !fixed->off_ns || !fixed->start_ns || pmc_thread_on_ns(fixed, fixed->time_ns);
}

static inline uint64_t pmc_process_on_ns(const struct pmc_process_fixed *fixed)
{
	const uint64_t until = fixed->end_ns ? fixed->end_ns : fixed->time_ns;

	return pmc_sub_sat(pmc_sub_sat(until, fixed->start_ns), fixed->off_ns);
}

/* The pool of a name, in `pattern` (of 20 bytes): digits become one '*', and so does what the
 * kernel cut off. Returns its length. */
size_t pmc_pool_pattern(const char *name, size_t len, char *pattern);
