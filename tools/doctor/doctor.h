/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - the checks of pmctl doctor, their findings, and what each OS does for them.
 *
 * Facts, rules and events are those of the OS: facts.h and checks.def with linux/, mac_facts.h and
 * mac_checks.def with darwin/. Private to this folder.
 */
#pragma once

#include "lib/plan/plan.h"

#include <stdbool.h>

struct doctor_facts;

enum doctor_status { DOCTOR_OK, DOCTOR_LIMITS, DOCTOR_BLOCKS };

struct doctor_finding {
	enum doctor_status status;
	char detail[512];
	char fix[256];	     /* "": none needed, or none known */
	bool fix_is_command; /* for a shell as it stands; else words */
	char hint[160];	     /* where to apply the fix, or how long it lasts */
};

struct doctor_check {
	const char *name;
	void (*judge)(const struct doctor_facts *facts, struct doctor_finding *finding);
};
extern const struct doctor_check doctor_checks[];
extern const unsigned doctor_n_checks;

/* Reads what is known of this machine, process and user, and tries what they can count. */
const struct doctor_facts *doctor_gather(void);

/* ---- judging ----------------------------------------------------------------------------- */
/* Whether hardware events can be counted, and whether any perf event can. */
bool doctor_hardware(const struct doctor_facts *facts);
bool doctor_anything(const struct doctor_facts *facts);
/* Plans the events as the agent does; 0 or -errno. */
int doctor_plan(const struct pmc_events *events, struct pmc_arena *arena, struct pmc_plan *plan);
/* Whether a planned event can be counted; the finding has the reason and the fix. */
void doctor_judge(const struct doctor_facts *facts, const struct pmc_planned *planned,
		  struct pmc_arena *arena, struct doctor_finding *finding);

const char *doctor_summary(const struct doctor_facts *facts);

void doctor_say(struct doctor_finding *finding, enum doctor_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A fix for a shell as it stands, with "sudo " in front left out if `root`; hint NULL: in words. */
void doctor_fix(struct doctor_finding *finding, const char *hint, bool root, const char *format,
		...) __attribute__((format(printf, 4, 5)));

/* ---- the rules of checks.def and mac_checks.def as code; their users define COMMAND --------- */
#define WORDS(...) doctor_fix(to, NULL, false, __VA_ARGS__)

#define FINDING_IF(condition, level, fix, ...)                                                     \
	if (condition) {                                                                           \
		doctor_say(to, level, __VA_ARGS__);                                                \
		fix;                                                                               \
		return;                                                                            \
	}
#define OK_IF(condition, ...)	       FINDING_IF(condition, DOCTOR_OK, (void)0, __VA_ARGS__)
#define LIMITS_IF(condition, fix, ...) FINDING_IF(condition, DOCTOR_LIMITS, fix, __VA_ARGS__)
#define BLOCKS_IF(condition, fix, ...) FINDING_IF(condition, DOCTOR_BLOCKS, fix, __VA_ARGS__)
#define CHECK(id, name, ...)                                                                       \
	static void judge_##id(const struct doctor_facts *f, struct doctor_finding *to)            \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
