/* SPDX-License-Identifier: MIT */
/*
 * facts.h - facts about a Linux machine, this process and user. checks.def judges them.
 *
 * Private to this folder.
 */
#pragma once

#include "lib/base/advice.h"
#include "lib/count/group.h"
#include "tools/doctor/doctor.h"

#include <limits.h>
#include <stdint.h>

/* The result of an attempt: 0, -errno, TOOL_PROBE_KILLED, or this if it was not made. */
#define DOCTOR_UNTRIED 1

/* A number that the kernel does not provide. */
#define DOCTOR_NONE INT64_MIN

struct doctor_facts {
	struct pmc_here here;
	unsigned uid;
	char pmus[256]; /* the processor's PMUs in sysfs, separated by spaces */

	/* Attempts: results of opening events in user and kernel mode, and in user mode alone. */
	int cycles, cycles_user;
	int software, software_user;
	int system_wide;	   /* a software event of a whole CPU */
	int ring;		   /* mapping a ring buffer of 512 KiB */
	enum pmc_known cycles_run; /* whether cycles that open also count */

	/* Counters that instructions can use at once; 0: not known. */
	unsigned counters;	/* accepted by the kernel */
	unsigned counters_free; /* scheduled on the CPU where fewest are */
	unsigned counters_dead; /* scheduled, but stay at 0 when all are in use */
	char held_on[24];	/* " on CPU 3", the CPU where counters are held; or "" */
	char holders[160];	/* processes with perf events open: "PID (NAME), ..." */
	unsigned n_holders, first_holder;
	bool holds_itself; /* pmctl was started with perf events open */

	/* Numbers of /proc/sys and sysfs, or DOCTOR_NONE. */
	int64_t nmi_watchdog, ptrace_scope, user_access;
	int64_t rdpmc; /* 0: nobody may read counters, 1: who has mapped an event, 2: everybody */
	char rdpmc_file[PATH_MAX];
	uint64_t nofile_soft, nofile_hard;
	bool tracefs_mounted, tracefs_readable, tracefs_names;

	char agent[PATH_MAX];	  /* the agent that pmctl run uses; "": none */
	char agent_dir[PATH_MAX]; /* the folder of pmctl */
	char agent_version[32];	  /* "": unknown */
	char pfm[PATH_MAX];	  /* libpfm4; "": it cannot be loaded */
};

/* ---- gathering facts, in this order: later ones depend on earlier ones ------------------- */
/* Files, limits, agent and libpfm4. Sets everything; attempts are untried. */
void doctor_read(const struct pmc_roots *roots, struct doctor_facts *facts);
/* Opens events, maps a ring buffer. */
void doctor_try(struct doctor_facts *facts);
/* Processes that have a perf event open; `self` only sets holds_itself. */
void doctor_find_holders(const char *proc, unsigned self, struct doctor_facts *facts);
/* The version in an agent's file; false: it has none. */
bool doctor_agent_version(const char *path, char version[32]);
