/* SPDX-License-Identifier: MIT */
/* doctor.h - facts about this machine and user, and the checks that judge them. */
#ifndef PMC_TOOLS_DOCTOR_H
#define PMC_TOOLS_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct doctor_facts {
	char pmus[256];		 /* processor PMUs in sysfs, separated by spaces */
	int cycles, cycles_user; /* as tool_perf_try: user and kernel, user alone */
	int software, software_user;
	bool vm, container;
	bool has_paranoid;
	int paranoid;
	unsigned uid;
	bool cap_perfmon; /* or CAP_SYS_ADMIN, which includes it */
	int seccomp;	  /* 0 none, 1 strict, 2 filter */
	uint64_t nofile_soft, nofile_hard;
	bool tracefs_mounted, tracefs_readable;
	bool nmi_watchdog;
	/* For instructions: what one group may hold, and what of that runs; 0: not known. */
	unsigned counters, counters_free;
	char holders[128]; /* processes with perf events: "PID (NAME), ...", as far as visible */
};

/* Where /proc and /sys are; tests point it at trees of their own. */
struct doctor_roots {
	const char *proc, *sys, *root;
};

enum doctor_status { DOCTOR_OK, DOCTOR_LIMITS, DOCTOR_BLOCKS };

struct doctor_finding {
	enum doctor_status status;
	char detail[256];
	char remedy[256]; /* "": nothing to be done, or nothing that could be */
};

struct doctor_check {
	const char *name;
	void (*judge)(const struct doctor_facts *facts, struct doctor_finding *finding);
};

extern const struct doctor_check doctor_checks[];
extern const unsigned doctor_n_checks;

/* Everything but the attempts to open events. */
void doctor_read(const struct doctor_roots *roots, struct doctor_facts *facts);
/* The attempts. */
void doctor_try(struct doctor_facts *facts);
/* Counters and who holds them; after the attempts. */
void doctor_counters(const char *proc, struct doctor_facts *facts);
/* Processes but `self` that have a perf event open. */
void doctor_holders(const char *proc, unsigned self, char *list, size_t cap);
/* Whether any hardware event can be counted. */
bool doctor_hardware(const struct doctor_facts *facts);
const char *doctor_status_name(enum doctor_status status);

#endif
