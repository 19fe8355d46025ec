/* SPDX-License-Identifier: MIT */
/*
 * advice.h - from a failed perf call and its circumstances to what it means and what to do.
 *
 * Async-signal-safe but for pmc_here_read: the caller's memory, no locale. The table is advice.def.
 */
#ifndef PMC_CORE_BASE_ADVICE_H
#define PMC_CORE_BASE_ADVICE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMC_LEVEL_UNKNOWN INT32_MIN

enum pmc_known { PMC_UNKNOWN = 0, PMC_NO, PMC_YES };

/* This machine, process and user, as far as they decide what the kernel gives. */
struct pmc_here {
	int32_t paranoid;	       /* kernel.perf_event_paranoid, or PMC_LEVEL_UNKNOWN */
	uint32_t max_sample_rate;      /* kernel.perf_event_max_sample_rate; 0: unknown */
	uint64_t effective;	       /* bit n: capability n of linux/capability.h */
	enum pmc_known user_namespace; /* not the first one: its capabilities do not count here */
	enum pmc_known perfmon;	       /* CAP_PERFMON or CAP_SYS_ADMIN, and it counts */
	enum pmc_known core_pmu;       /* sysfs lists a processor's PMU */
	enum pmc_known lockdown;       /* the kernel is locked down: confidentiality */
	enum pmc_known filtered;       /* seccomp, strict or a filter */
	const char *container;	       /* "docker", ...; NULL: no sign of one */
	const char *vm;		       /* "kvm", ...; NULL: no sign of one */
};

/* Where /proc, /sys and / are; tests point it at trees of their own. NULL: the machine's. */
struct pmc_roots {
	const char *proc, *sys, *root;
};

/* Looks at about 20 small files: not for signal handlers (stack). Never fails: what cannot be
 * read is unknown. */
void pmc_here_read(struct pmc_here *here, const struct pmc_roots *roots);

enum pmc_perf_call { PMC_CALL_OPEN, PMC_CALL_MMAP, PMC_CALL_READ };

/* What was tried. All zero is an open of nothing in particular by the calling thread. */
struct pmc_tried {
	enum pmc_perf_call call;
	const struct perf_event_attr *attr; /* NULL: not known */
	int pid, cpu;			    /* as given to perf_event_open, if `placed` */
	bool placed;
	bool cgroup;  /* pid is a cgroup's descriptor */
	bool sibling; /* joined to a leader */
};

struct pmc_advice {
	char means[160]; /* a clause, without a full stop */
	char todo[128];	 /* a command, or a clause */
};

/* errno (the sign does not matter) to advice. tried, here: NULL if nothing is known. */
void pmc_advise(int error, const struct pmc_tried *tried, const struct pmc_here *here,
		struct pmc_advice *advice);
/* The same as one line, the two joined by "; ", cut to cap; returns buf. 320 bytes hold any. */
const char *pmc_advice_text(int error, const struct pmc_tried *tried, const struct pmc_here *here,
			    char *buf, size_t cap);
/* What it means where nothing else is known, such as in a dump of another machine. */
const char *pmc_error_means(int error);
/* "EACCES", of those that advice.def has; else "errno 117", in buf of at least 24 bytes. */
const char *pmc_error_name(int error, char *buf);

#endif
