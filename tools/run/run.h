/* SPDX-License-Identifier: MIT */
/* run.h - the parts of `pmctl run`: flags, environment, the child, its dump, the report. */
#ifndef PMC_TOOLS_RUN_RUN_H
#define PMC_TOOLS_RUN_RUN_H

#include "agent/core/base/config.h"
#include "agent/core/profile/profile.h"
#include "tools/run/elf_kind.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct run_child {
	pid_t pid;
	int status;		   /* as wait4 gave it */
	int exec_errno;		   /* 0: it ran */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;	   /* its own, without its children */
	struct rusage usage;	   /* with the children it waited for */
};

struct run_dump {
	char path[PATH_MAX];	    /* absolute; as PMC_OUT has it, %-patterns and all */
	char private_dir[PATH_MAX]; /* removed at the end; "" if the user named the file */
	bool pattern;		    /* path names as many files as there are processes */
	uint64_t before;	    /* bytes that were in the file already */
	int64_t start_s;	    /* wall clock: files older than this are another run's */
};

struct run {
	char **cmd;
	bool plan_only;
	char agent[PATH_MAX]; /* --agent, then where it was found */
	struct pmc_config config;
	struct elf_program program;
	int report_fd;
	struct run_dump dump;
	struct run_child child;
	struct run_totals *totals; /* NULL: none are wanted, or to be had */
};

/* Each returns 0, or the exit code after having told why. */
int run_parse_flags(struct run *run, int argc, char **argv);
int run_find_agent(struct run *run);
int run_set_environment(const struct run *run);
int run_dump_open(struct run *run);
/* Starts cmd, passes signals on, waits for it. exec_errno tells if it could not be run. */
int run_child(struct run *run);
int run_print_plan(struct run *run);
void run_print_report(struct run *run);

/* The agent beside pmctl, or where `make install` puts it. Returns 0, or -errno with found "";
 * tried[0] is "" if it is unknown where pmctl itself is. */
int run_look_for_agent(char found[PATH_MAX], char tried[2][PATH_MAX + 64]);

/* ---- totals.c: counts of a program that no agent can enter ---- */
/* Whether the kernel lets no counter of ours see what the program does. */
bool run_is_hidden(const struct run *run);
/* Decides what to count, if anything. */
int run_totals_prepare(struct run *run);
/* On the child, before its exec. */
void run_totals_open(struct run *run);
bool run_has_totals(const struct run *run);
/* EVENTSET and TOTAL, less what rows in the profile tell. */
void run_totals_frames(const struct run *run, const struct pmc_profile *profile,
		       const uint8_t identity[16], struct pmc_frame_buf *buf);
void run_totals_close(struct run *run);

/* What the job's agents wrote, finished. A first process that never said how it ended, or that
 * had no agent at all, is completed from what wait4 told. 0 or -errno. */
int run_dump_read(struct run *run, struct pmc_profile *profile);
void run_dump_close(struct run *run);
/* A PROCESS frame for `known` (NULL: the child, which had no agent) as it ended, added to the
 * job's file. `alone`: no other image of that process is known. False if it could not be. */
bool run_dump_complete(struct run *run, const struct pmc_profile *profile,
		       const struct pmc_p_process *known, bool alone, const char *file);

/* Tells whether a signal was meant for the whole process group, so that the child has it too. */
struct run_sentinel {
	pid_t pid; /* -1: there is none, every signal counts as ours alone */
	int fd;
};
void run_sentinel_start(struct run_sentinel *sentinel);
bool run_sentinel_saw(struct run_sentinel *sentinel, int sig);
void run_sentinel_stop(struct run_sentinel *sentinel);

#endif
