/* SPDX-License-Identifier: MIT */
/*
 * account.h - OS accounting while counting is on.
 *
 * The kernel's clocks, faults and switches of a thread advance while counting is off (PMC_START,
 * PMC_DELAY, pmctl ctl). An account has the values to subtract, so that these columns cover the
 * same time as the events.
 *
 * It has two sides: a change is written to the invalid side, which becomes valid with a new
 * sequence number. So a reader never uses a half-written side, and a writer that is killed leaves
 * the old one. Async-signal-safe.
 */
#pragma once

#include "lib/base/clock.h"

#include <pmc/dump.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	ACCOUNT_WALL, /* CLOCK_MONOTONIC */
	ACCOUNT_CPU,
	ACCOUNT_OVERHEAD, /* of a process */
	ACCOUNT_MINOR,
	ACCOUNT_MAJOR,
	ACCOUNT_VOLUNTARY,
	ACCOUNT_INVOLUNTARY,
	/* Of threads, with events of PMC_TYPE_OS only. */
	ACCOUNT_DELAY,
	ACCOUNT_USER,
	ACCOUNT_SYSTEM,
	ACCOUNT_WORDS,
};
#define ACCOUNT_BIT(word) (1u << (word))
#define ACCOUNT_FAULTS	  (ACCOUNT_BIT(ACCOUNT_MINOR) | ACCOUNT_BIT(ACCOUNT_MAJOR))
#define ACCOUNT_SWITCHES  (ACCOUNT_BIT(ACCOUNT_VOLUNTARY) | ACCOUNT_BIT(ACCOUNT_INVOLUNTARY))
#define ACCOUNT_TIMES	  (ACCOUNT_BIT(ACCOUNT_USER) | ACCOUNT_BIT(ACCOUNT_SYSTEM))
/* All that a pmc_usage has. */
#define ACCOUNT_USAGE (ACCOUNT_FAULTS | ACCOUNT_SWITCHES | ACCOUNT_TIMES)

/* Present values of the kernel; or values of a row after subtraction. */
struct account_words {
	uint64_t of[ACCOUNT_WORDS];
	uint32_t unknown; /* bits of words that could not be read */
};

struct account_side {
	uint64_t owner;	   /* seq + 1 of the thread; 1 of a process; 0: nobody */
	uint64_t reset_ns; /* time of the last reset; 0: none */
	uint32_t stopped;
	uint32_t unknown;	      /* words that could not be read at a change */
	uint64_t base[ACCOUNT_WORDS]; /* to be subtracted */
	uint64_t at[ACCOUNT_WORDS];   /* when counting stopped */
	/* To be subtracted from the sampling event: its time enabled, time running and value at the
	 * last reset. */
	uint64_t sampled[3];
};

struct account {
	_Atomic uint32_t number; /* its lowest bit selects the valid side */
	uint32_t reserved;
	struct account_side sides[2];
};

/* An account that has counted nothing yet (stopped), or everything since `base`. */
void account_open(struct account_side *side, uint64_t owner, const uint64_t base[ACCOUNT_WORDS],
		  bool stopped);
void account_start(struct account_side *side, const struct account_words *now);
void account_stop(struct account_side *side, const struct account_words *now);
void account_reset(struct account_side *side, const struct account_words *now);
/* Converts `now` to values of the counted phases; WALL is the time for which counting was on. */
void account_values(const struct account_side *side, struct account_words *now);

/* The values in a row, of now; those of OS events where the row's flags have room for them. */
void account_put_row(const struct account_words *now, struct pmc_thread_fixed *row);
/* The same of now less the account's, in a row whose start_ns is known. phases: it has room for
 * off_ns and reset_ns. */
void account_row(const struct account_side *side, struct account_words *now,
		 struct pmc_thread_fixed *row, bool phases);

/* The values in a PROCESS frame whose start_ns, time_ns and pre_cpu_ns are known. */
void account_process(const struct account_side *side, struct account_words *now,
		     const uint64_t carried[ACCOUNT_WORDS], struct pmc_process_fixed *process);

/* Flags of a row that has fields for these OS events. */
static inline uint8_t os_flags(unsigned os)
{
	return (uint8_t)((os & 1u << PMC_OS_RUN_DELAY ? PMC_THREAD_DELAY : 0) |
			 (os & ~(1u << PMC_OS_RUN_DELAY) ? PMC_THREAD_TIMES : 0));
}

/* Copies the valid side. False: the account has another owner. */
bool account_read(const struct account *account, uint64_t owner, struct account_side *side);
/* Makes the side the valid one. Only one writer at a time. */
void account_write(struct account *account, const struct account_side *side);

static inline void account_put_usage(struct account_words *words, const struct pmc_usage *usage)
{
	words->of[ACCOUNT_MINOR] = usage->minor_faults;
	words->of[ACCOUNT_MAJOR] = usage->major_faults;
	words->of[ACCOUNT_VOLUNTARY] = usage->voluntary_switches;
	words->of[ACCOUNT_INVOLUNTARY] = usage->involuntary_switches;
	words->of[ACCOUNT_USER] = usage->user_ns;
	words->of[ACCOUNT_SYSTEM] = usage->system_ns;
}
