/* SPDX-License-Identifier: MIT */
/*
 * advice.h - the meaning of a failed perf call under its circumstances, and the fix.
 *
 * Async-signal-safe but for pmc_here_read. The table is advice.def.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMC_LEVEL_UNKNOWN INT32_MIN

enum pmc_known { PMC_UNKNOWN = 0, PMC_NO, PMC_YES };

/* The conditions of perf_event_open on this machine, in this process, for this user. */
struct pmc_here {
	int32_t paranoid;	       /* kernel.perf_event_paranoid, or PMC_LEVEL_UNKNOWN */
	uint32_t max_sample_rate;      /* kernel.perf_event_max_sample_rate; 0: unknown */
	uint64_t effective;	       /* bit n: capability n of linux/capability.h */
	enum pmc_known user_namespace; /* not the initial one: its capabilities have no effect */
	enum pmc_known perfmon;	       /* an effective CAP_PERFMON or CAP_SYS_ADMIN */
	enum pmc_known core_pmu;       /* sysfs lists a processor's PMU */
	enum pmc_known filtered;       /* seccomp, strict or a filter */
	const char *container;	       /* "docker", ...; NULL: none found */
	const char *vm;		       /* "kvm", ...; NULL: none found */
};

/* Where /proc, /sys and / are, for tests. */
struct pmc_roots {
	const char *proc, *sys, *root;
};

/* Whether the PMU in this directory of sysfs counts for the processor's cores. */
bool pmc_is_core_pmu(const char *devices, const char *name);
/* Reads about 20 small files; not for signal handlers (stack). Never fails: what cannot be read is
 * unknown. roots: NULL for the machine's. */
void pmc_here_read(struct pmc_here *here, const struct pmc_roots *roots);

enum pmc_perf_call { PMC_CALL_OPEN, PMC_CALL_MMAP, PMC_CALL_READ };

/* The failed call. All zero: an open by the calling thread, attr unknown. */
struct pmc_tried {
	enum pmc_perf_call call;
	const struct perf_event_attr *attr; /* NULL: not known */
	int pid, cpu;			    /* as given to perf_event_open, if `placed` */
	bool placed;
	bool cgroup;	  /* pid is the descriptor of a cgroup */
	bool sibling;	  /* opened as a member of a group */
	bool kernel_only; /* cannot be restricted to user mode */
};

struct pmc_advice {
	char means[160]; /* a clause, without a full stop */
	char todo[128];	 /* a command, or a clause */
};

/* error: an errno of either sign. tried, here: NULL if unknown. */
void pmc_advise(int error, const struct pmc_tried *tried, const struct pmc_here *here,
		struct pmc_advice *advice);
/* The same in one line, "means; todo", cut to cap (320 bytes hold any). Returns buf. */
const char *pmc_advice_text(int error, const struct pmc_tried *tried, const struct pmc_here *here,
			    char *buf, size_t cap);
/* The meaning without circumstances, as for a dump of another machine; todo: NULL, or for the fix.
 */
const char *pmc_error_means(int error, const char **todo);
/* "EACCES" if advice.def has it; else "errno 117" in buf, of at least 24 bytes. */
const char *pmc_error_name(int error, char *buf);
