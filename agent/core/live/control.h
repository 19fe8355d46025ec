/* SPDX-License-Identifier: MIT */
/*
 * control.h - what another process may read of an agent, and what it may write.
 *
 * The agent exports one object, `pmc_agent_control`. pmctl finds it by that name in the agent's
 * dynamic symbols and the load address in /proc/PID/maps, reads it with process_vm_readv, and
 * duplicates group descriptors with pidfd_getfd: no thread of the process is interrupted.
 * Pointers are addresses in that process.
 */
#ifndef PMC_CORE_LIVE_CONTROL_H
#define PMC_CORE_LIVE_CONTROL_H

#include "agent/core/live/registry.h"

#include <pmc/dump.h>
#include <stdatomic.h>
#include <stdint.h>

#define PMC_CONTROL_SYMBOL  "pmc_agent_control"
#define PMC_CONTROL_MAGIC   0x746e6567612d636dull /* "mc-agent" */
#define PMC_CONTROL_VERSION 4

enum pmc_control_state {
	PMC_CONTROL_OFF = 0, /* dormant: nothing here is valid but `why` */
	PMC_CONTROL_ON,
	PMC_CONTROL_DONE, /* the final rows are written */
};

/* Groups that the job's first process holds beside those of its threads. */
struct pmc_control_totals {
	uint32_t groups;	 /* 0: there is none */
	uint32_t flags;		 /* PMC_TOTAL_* */
	uint64_t eventset;	 /* hash */
	uint16_t first[PMC_EVENTS_MAX + 1]; /* group g is fds[first[g] .. first[g+1]) */
	uint16_t reserved[3];
	int32_t fds[PMC_EVENTS_MAX];
	uint64_t ids[PMC_EVENTS_MAX];	   /* of the leaders, by group */
	uint64_t base[3 * PMC_EVENTS_MAX]; /* may be written: see registry.h */
};

struct pmc_control {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes;		   /* of this struct */
	_Atomic uint32_t state;	   /* enum pmc_control_state */
	_Atomic uint32_t counting; /* may be written: whether groups of new threads start at once */
	int32_t pid;
	int32_t dump_signal; /* 0: none */
	uint8_t identity[16];
	_Atomic uint64_t snapshot; /* number of the newest frames */
	uint64_t registry;	   /* struct registry of registry.h, and through it the slots */
	uint16_t first[PMC_EVENTS_MAX + 1];
	uint16_t reserved2;
	_Atomic uint32_t switched; /* may be written: goes up with every stop and start */
	uint64_t eventset; /* hash; 0: no events */
	uint64_t eventset_frame, eventset_bytes;
	/* The set of slots with SLOT_USER_ONLY. */
	uint64_t user_eventset, user_frame, user_bytes;
	/* What a PROCESS frame needs; cpu, faults and times are read from /proc. */
	struct pmc_process_fixed process;
	uint64_t exe, cmdline; /* NUL-terminated */
	_Atomic uint64_t seen, uncounted, overhead_ns;
	struct pmc_control_totals threads, execs;
	/* What the image before an exec reported of this process: not to be reported again. */
	uint64_t carried_thread_ns; /* of the main thread */
	uint64_t carried_process_ns, carried_minor_faults, carried_major_faults;
	/* Of the job's first process: what counts for the whole machine. eventset 0: nothing. */
	struct pmc_control_totals uncore;
	uint64_t uncore_frame, uncore_bytes;
	/* Why the agent is dormant, as it said on stderr. */
	char why[256];
	/* PMC_OUT of this process, NUL-terminated; empty: the job keeps a private dump only. */
	char out[4096];
};

#endif
