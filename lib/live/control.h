/* SPDX-License-Identifier: MIT */
/*
 * control.h - the object of a running agent that pmctl reads and writes from outside.
 *
 * The agent has one object, `pmc_agent_control`. pmctl finds its magic in the data segments that
 * /proc/PID/maps lists; no thread of the process is interrupted.
 * Pointers are addresses in that process.
 */
#pragma once

#include "lib/live/registry.h"

#include <pmc/dump.h>
#include <stdatomic.h>
#include <stdint.h>

#define PMC_CONTROL_MAGIC   0x746e6567612d636dull /* "mc-agent" */
#define PMC_CONTROL_VERSION 13
/* F_SETSIG number of the dump's descriptor, see agent/output/file.c: shows pmctl that an empty file
 * is the agent's. */
#define PMC_CONTROL_OUT_MARK 61

enum pmc_control_state {
	PMC_CONTROL_OFF = 0, /* dormant: only `why` is valid */
	PMC_CONTROL_ON,
	PMC_CONTROL_DONE,     /* the final rows are being written, or are written */
	PMC_CONTROL_STARTING, /* of the rest only version and bytes are valid */
};

/* Inherit groups and uncore events: held by the job's first process. */
struct pmc_control_totals {
	uint32_t groups;		    /* 0: there is none */
	uint32_t flags;			    /* PMC_TOTAL_* */
	uint64_t eventset;		    /* hash */
	uint16_t first[PMC_EVENTS_MAX + 1]; /* group g is fds[first[g] .. first[g+1]) */
	uint16_t reserved[3];
	int32_t fds[PMC_EVENTS_MAX];
	uint64_t ids[PMC_EVENTS_MAX];	   /* of the leaders, by group */
	uint64_t base[3 * PMC_EVENTS_MAX]; /* written by pmctl ctl; see set_base() */
};

struct pmc_control {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes;		   /* of this struct */
	_Atomic uint32_t state;	   /* enum pmc_control_state */
	_Atomic uint32_t counting; /* written by pmctl ctl: groups of new threads are enabled */
	int32_t pid;
	int32_t dump_signal; /* 0: none */
	uint8_t identity[16];
	_Atomic uint64_t snapshot; /* number of the newest frames */
	uint64_t registry;	   /* struct registry of registry.h, and through it the slots */
	uint16_t first[PMC_EVENTS_MAX + 1];
	uint16_t reserved2;
	_Atomic uint32_t switched; /* number of changes of accounts; 0: none has been opened */
	_Atomic uint32_t resets;   /* written by pmctl ctl reset, after the accounts */
	uint32_t os;		   /* of the plan: OS events */
	uint64_t eventset;	   /* hash; 0: no events */
	uint64_t eventset_frame, eventset_bytes;
	/* The event set of slots with SLOT_USER_ONLY. */
	uint64_t user_eventset, user_frame, user_bytes;
	/* For the PROCESS frame; CPU time, faults and times are read from /proc. */
	struct pmc_process_fixed process;
	uint64_t exe, cmdline; /* NUL-terminated */
	_Atomic uint64_t seen, uncounted, overhead_ns;
	struct pmc_control_totals threads, execs;
	/* Values that the image before an exec has reported, or the parent of an unnoticed fork:
	 * subtracted. */
	uint64_t carried_thread[ACCOUNT_WORDS]; /* of the main thread */
	uint64_t carried_process[ACCOUNT_WORDS];
	struct account account; /* of the process */
	/* Uncore events; eventset 0: none. */
	struct pmc_control_totals uncore;
	uint64_t uncore_frame, uncore_bytes;
	_Atomic int32_t out_fd;	  /* descriptor of the dump, plus 1; 0: not open */
	_Atomic uint32_t leaving; /* calls of exec whose final rows are written, or being written */
	uint64_t samples;	  /* struct sample_tables of sample_area.h; 0: none */
	/* Why the agent is dormant, as printed on stderr. */
	char why[256];
	/* PMC_OUT of this process, NUL-terminated; empty: the job keeps a private dump only. */
	char out[4096];
};
