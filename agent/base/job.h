/* SPDX-License-Identifier: MIT */
/* job.h - PMC_JOB, which links the processes of a job, and the identity of a process image. */
#pragma once

#include "lib/base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the image before an exec reported of this process: the clock and usage of the thread that
 * called exec go on as those of the new main thread. */
struct agent_reported {
	uint64_t pid; /* 0: nothing */
	uint64_t thread_cpu_ns, process_cpu_ns, thread_delay_ns;
	struct pmc_usage thread, process;
	uint64_t dump_start; /* where the frames of the job start in its dump */
};

struct agent_job_fixed {
	uint8_t id[16];
	uint64_t owner;	   /* pid of the first process */
	uint64_t owner_ns; /* inode of its pid namespace: a pid means nothing elsewhere */
	uint64_t events;   /* hash of the PMC_EVENTS text that the plan was made from */
	struct agent_reported reported;
};

/* The contents of PMC_JOB; job.c describes the text. */
struct agent_job {
	struct agent_job_fixed fixed;
	bool private_dump;
	const char *path;
	const char *plan;
	size_t plan_len;
};

/* Room for the text, with "PMC_JOB=". */
#define AGENT_JOB_TEXT ((size_t)64 << 10)

/* 0, or -EINVAL if the text is malformed. Pointers point into text. */
int agent_job_parse(const char *text, struct agent_job *job);
/* Writes "PMC_JOB=..." into room of AGENT_JOB_TEXT; for an exec with what this image has reported.
 * False: it does not fit. */
bool agent_job_text(char *text, bool with_reported);
/* Whether the job's first process still runs; true if that cannot be known. */
bool agent_job_owner_alive(void);
uint64_t agent_pid_namespace(void);
uint64_t agent_text_hash(const char *text);
/* 128 random bits. */
void agent_identity(uint8_t identity[16]);
