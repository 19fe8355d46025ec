/* SPDX-License-Identifier: MIT */
/*
 * mac_facts.h - facts about a Mac, this process and user. mac_checks.def judges them.
 *
 * Implemented in darwin/; the calls come in a table, of which tests have a double.
 *
 * Private to this folder.
 */
#pragma once

#include "lib/count/thread_counts.h"
#include "tools/doctor/doctor.h"

#include <limits.h>
#include <stdint.h>

struct doctor_facts {
	char cpu[64], release[32]; /* "": unknown */
	bool apple_silicon, vm;
	bool translated; /* by Rosetta */
	bool root;
	bool sip_known;
	bool sip;	      /* System Integrity Protection restricts what dyld loads */
	bool counts;	      /* cycles and instructions of the calling thread */
	uint32_t no_counts;   /* why not: enum pmc_reason or an errno */
	unsigned levels;      /* performance levels; 0: no counts of other threads */
	bool kperf;	      /* both frameworks can be loaded */
	const char *no_kpep;  /* why there is no database; NULL: there is one */
	uint32_t kpep_reason; /* of counting an event of it as root: enum pmc_reason or an errno */
	char agent[PATH_MAX]; /* "": none */
	char agent_dir[PATH_MAX];
	/* pmctl, started with the agent: a dump came, none came, or it was killed by a signal, or
	 * could not be started. */
	enum { INSERT_UNTRIED, INSERT_WORKS, INSERT_IGNORED, INSERT_KILLED } insert;
};

/* The calls beside pmc_mac_system. */
struct doctor_mac_calls {
	/* sysctlbyname(): false if there is none of that name. */
	bool (*number)(const char *name, int *value);
	bool (*text)(const char *name, char *to, size_t bytes);
	/* csr_get_active_config(): 0 or -1. */
	int (*sip)(uint32_t *config);
	/* The path of pmctl itself. */
	bool (*self)(char path[PATH_MAX]);
};
extern const struct doctor_mac_calls doctor_mac_system;
