/* SPDX-License-Identifier: MIT */
/*
 * run.h - the parts of `pmctl run`: flags, environment, the child, its dump, the report.
 *
 * Private to this folder.
 */
#pragma once

#include "lib/base/config.h"
#include "lib/plan/plan.h"
#include "tools/rows/profile.h"
#include "tools/attach/agent.h"
#include "tools/profile/profile.h"
#include "tools/run/program.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct run_child {
	pid_t pid;
	int status;		   /* as wait4 returns it */
	uid_t user;		   /* the real one, at its end */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;	   /* of the process alone */
	uint64_t max_rss_bytes;
	struct rusage usage; /* including the children it waited for */
};

struct run_dump {
	char path[2 * PATH_MAX + 16]; /* value of PMC_OUT: absolute, with its %-patterns */
	char file[2 * PATH_MAX];      /* what it names; a glob pattern if `pattern` */
	bool pattern;		      /* each process has its own file */
	char private_dir[PATH_MAX];   /* removed at the end; "": the user named the file */
	uint64_t before;	      /* size of the file before the run */
	int lock;		      /* holds a lock of the file, or -1 */
	bool created;		      /* the file was not there before */
	int64_t start_s;	      /* wall clock; files older than this are of another run */
};

/* Groups that pmctl opens; the plan has events only if there are any. */
struct run_totals {
	int error; /* -errno of opening */
	int fds[PMC_EVENTS_MAX];
	uint64_t ids[PMC_EVENTS_MAX];
};

/* Processes whose --delay is not over. */
struct run_delays {
	struct attach_delays found;
	struct run_delay {
		pid_t pid;
		uint64_t due_ns; /* UINT64_MAX: it is not known to have an agent that waits */
	} * list;
	size_t n, room;
	uint64_t search_ns; /* when to look for other ones */
	bool refused;	    /* a message says so */
};

struct run {
	char **cmd;
	bool plan_only, strict, append, wide;
	bool off_cpu_wanted;
	bool out_flag; /* the dump was named by -o, not by PMC_OUT */
	bool sample_flag, unwind_flag, interval_flag;
	bool watched;		/* snapshots are taken from outside */
	const char *agent_flag; /* NULL: the one beside pmctl */
	char agent[PATH_MAX];
	struct pmc_config config;
	struct program program;
	struct pmc_arena arena; /* of the plan */
	struct pmc_plan plan;
	int report_fd;
	struct run_dump dump;
	struct run_child child;
	struct run_totals totals;
	struct off_cpu *off_cpu; /* NULL: not wanted, or not started */
	struct run_delays delays;
};

/* Each returns 0, or the exit code after printing why. */
/* The paths of the dump, from PMC_OUT. */
int run_dump_name(struct run *run);
/* The report's file must not be the dump, or where an existing dump is kept. */
int run_dump_refuse_overwrite(const struct run *run, const char *report);
int run_dump_open(struct run *run);
int run_print_plan(struct run *run);
/* --strict: fails if an event cannot be counted, with a line for each that cannot. */
int run_check_events(struct run *run);
void run_print_report(struct run *run);

/* ---- OS/start.c -------------------------------------------------------------------------- */
/* How the loader is told to load the agent. */
struct run_preload {
	const char *separators; /* of TOOL_PRELOAD, which no path in it can have */
	const char *separator_names;
	bool must_load; /* a program that cannot load a library of the list ends */
};
extern const struct run_preload run_preload;

/* Signals that are blocked while the child runs, and the mask before. */
struct run_signals {
	sigset_t set, mask_was;
};
/* Of cmd_run.c. */
void run_block_signals(struct run_signals *signals);

/* Blocks signals and starts run->cmd, with the mask and the dispositions that pmctl was started
 * with. 0, or the exit code after printing why: nothing runs. */
int run_start(struct run_signals *signals, struct run *run);
/* Waits for a signal of the set, until that time. *from_terminal: the child has got it, too. 0:
 * none yet. */
int run_next_signal(const sigset_t *set, uint64_t until_ns, bool *from_terminal);
/* Whether -I takes snapshots from outside; else the agent does, by PMC_INTERVAL. */
void run_watch_prepare(struct run *run);
/* Starts the process that takes them, which ends with those of the command. */
void run_watch(const struct run *run);
/* Starts counting in the command and its descendants whose --delay is over and whose threads sleep;
 * others start by themselves. When to call it again; UINT64_MAX: never. */
uint64_t run_end_delays(struct run *run);
/* Reads what is known of the ended child, and reaps it: cpu_ns, max_rss_bytes, status, usage. */
void run_reap(struct run_child *child);
/* The identity of the running kernel; "": unknown. */
void run_boot_id(char *text, size_t cap);
/* Adds to PMC_LABEL: the job, where it is not in the environment of a rank of MPI, but is known;
 * the limit of CPU time of the cgroup, as cpu-limit=1.50, if it has one. */
void run_label(void);

/* ---- OS/plan.c: also counts of a program that cannot load the agent ----------------------- */
/* Looks at what is to be sampled, and chooses the events of totals. */
int run_prepare(struct run *run);
/* Opens the groups on the child, before its exec, if events were chosen. */
void run_totals_open(struct run *run);
static inline bool run_has_totals(const struct run *run)
{
	return !run->totals.error && run->plan.opened;
}
/* Appends EVENTSET and TOTAL frames, less the counts of the profile's rows. */
void run_totals_frames(const struct run *run, const struct pmc_profile *profile,
		       const uint8_t identity[16], struct pmc_frame_buf *buf);

/* ---- dump.c ------------------------------------------------------------------------------ */
/* Reads what the job's agents wrote. 0 or -errno. If the first process did not say how it ended, or
 * had no agent, the dump is completed from wait4's result first. */
int run_dump_read(struct run *run, struct pmc_profile *profile);
/* Whether nothing was recorded of the command, not even its end. */
bool run_has_nothing(const struct pmc_profile *profile);
void run_dump_close(struct run *run);
/* A descriptor for adding frames to the job's dump, or negative, and why there is none. */
int run_dump_append(const struct run *run, const char **why);
