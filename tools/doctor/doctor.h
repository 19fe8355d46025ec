/* SPDX-License-Identifier: MIT */
/* doctor.h - facts about this machine, process and user, and the checks that judge them. */
#ifndef PMC_TOOLS_DOCTOR_DOCTOR_H
#define PMC_TOOLS_DOCTOR_DOCTOR_H

#include "agent/core/base/advice.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not tried, because nothing before it worked; beside 0, -errno and TOOL_PROBE_KILLED. */
#define DOCTOR_UNTRIED 1

/* A number of the kernel's that is not there. */
#define DOCTOR_NONE INT64_MIN

struct doctor_feature {
	const char *name, *since, *what_for;
	int (*attempt)(void); /* 0 or -errno */
};
extern const struct doctor_feature doctor_features[];
enum {
#define X(name, since, what_for, function) DOCTOR_FEATURE_##function,
#include "tools/doctor/features.def"
#undef X
	DOCTOR_N_FEATURES
};

struct doctor_facts {
	struct pmc_here here;
	unsigned uid;
	char pmus[256]; /* processor PMUs in sysfs, separated by spaces */

	/* Attempts. */
	int cycles, cycles_user; /* user and kernel, user alone */
	int software, software_user;
	int system_wide;	   /* software, of a whole CPU */
	int ring;		   /* mapping a ring buffer of 512 KiB */
	enum pmc_known cycles_run; /* not just open: they count something */
	int features[DOCTOR_N_FEATURES];

	/* For instructions: what one group may hold, and what of that runs; 0: not known. */
	unsigned counters, counters_free;
	unsigned counters_dead; /* of those that run, that count nothing when all are in use */
	int held_cpu;	   /* where most of them are held; -1: nowhere, or there is no other CPU */
	unsigned width;	   /* bits of a counter; 0: the kernel does not tell */
	char holders[160]; /* processes with perf events: "PID (NAME), ...", as far as visible */
	unsigned n_holders, first_holder;
	bool holds_itself; /* pmctl was started with perf events open */

	/* Numbers of /proc/sys, or DOCTOR_NONE. */
	int64_t nmi_watchdog, mlock_kb, cpu_percent, ptrace_scope, user_access;
	int64_t rdpmc; /* of sysfs: 0 nobody, 1 who has an event mapped, 2 everybody */
	char rdpmc_file[PATH_MAX];
	char lsm[160]; /* security modules, as the kernel lists them */
	uint64_t nofile_soft, nofile_hard, memlock_soft, memlock_hard;
	bool tracefs_mounted, tracefs_readable;

	char agent[PATH_MAX];	  /* where pmctl run finds it; "": nowhere */
	char agent_dir[PATH_MAX]; /* where pmctl is */
	char agent_version[32];	  /* as the agent's file says; "": it does not */
	char pfm[PATH_MAX];	  /* libpfm4's file; "": it cannot be loaded */
	const char *install_pfm;  /* the command of this system */
};

enum doctor_status { DOCTOR_OK, DOCTOR_LIMITS, DOCTOR_BLOCKS };

struct doctor_finding {
	enum doctor_status status;
	char detail[512];
	char remedy[256]; /* "": nothing to be done, or nothing that could be */
	bool command;	  /* the remedy is one, for a shell as it stands; else words */
	char hint[160];	  /* where, or for how long */
};

struct doctor_check {
	const char *name;
	void (*judge)(const struct doctor_facts *facts, struct doctor_finding *finding);
};

extern const struct doctor_check doctor_checks[];
extern const unsigned doctor_n_checks;

#define X(name, function)                                                                          \
	void doctor_judge_##function(const struct doctor_facts *, struct doctor_finding *);
#include "tools/doctor/doctor.def"
#undef X

/* ---- facts: in this order, each on what the ones before it found ---- */
/* What files and limits say; all others are 0 or untried afterwards. */
void doctor_read(const struct pmc_roots *roots, struct doctor_facts *facts);
/* Opens, and mappings. */
void doctor_try(struct doctor_facts *facts);
/* Counters and who holds them. */
void doctor_counters(const struct pmc_roots *roots, struct doctor_facts *facts);
/* Processes that have a perf event open; `self` is named as such. */
void doctor_holders(const char *proc, unsigned self, struct doctor_facts *facts);
void doctor_try_features(struct doctor_facts *facts);
/* Agent and libpfm4. */
void doctor_parts(struct doctor_facts *facts);
/* The version that an agent's file was built as, or false. */
bool doctor_agent_version(const char *path, char version[32]);

/* Whether any hardware event can be counted. */
bool doctor_hardware(const struct doctor_facts *facts);
const char *doctor_status_name(enum doctor_status status);

/* ---- say.c: findings ---- */
void doctor_say(struct doctor_finding *finding, enum doctor_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A command that mends it. A leading "sudo " is left out for who is root already. */
void doctor_command(const struct doctor_facts *facts, struct doctor_finding *finding,
		    const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What to do where no command on this machine mends it. */
void doctor_words(struct doctor_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_hint(struct doctor_finding *finding, const char *text);
/* sudo sysctl -w SETTING, and where that has to be said. */
void doctor_sysctl(const struct doctor_facts *facts, struct doctor_finding *finding,
		   const char *setting);
/* What an attempt's result means here, "EACCES: ...". */
const char *doctor_error(const struct doctor_facts *facts, int error,
			 const struct perf_event_attr *attr, char *buf, size_t cap);
/* What the errno alone advises. */
void doctor_todo(const struct doctor_facts *facts, struct doctor_finding *finding, int error,
		 enum pmc_perf_call call);
/* The remedy where perf_event_open fails for the simplest event. */
void doctor_mend_syscall(const struct doctor_facts *facts, struct doctor_finding *finding);
/* EACCES, EPERM, or a filter that kills. */
bool doctor_refused(int error);

#endif
