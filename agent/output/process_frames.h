/* SPDX-License-Identifier: MIT */
/* process_frames.h - frames that speak of the process, and the job it belongs to. */
#ifndef PMC_AGENT_OUTPUT_PROCESS_FRAMES_H
#define PMC_AGENT_OUTPUT_PROCESS_FRAMES_H

#include "agent/core/base/clock.h"
#include "agent/core/dump/frame.h"
#include "agent/core/plan/plan.h"

#include <sys/types.h>

/* ---- job.c ---- */

/* An exec hands over what the image before already reported of this process: the exec'ing
 * thread's clock and usage go on as the new main thread's. */
struct agent_reported {
	uint64_t pid; /* 0: nothing */
	uint64_t thread_cpu_ns, process_cpu_ns;
	struct pmc_usage thread, process;
};

/* What PMC_JOB carries. Text: see job.c. */
struct agent_job {
	uint8_t id[16];
	int owner;	   /* pid of the first process */
	uint64_t owner_ns; /* inode of its pid namespace: a pid means nothing elsewhere */
	uint64_t events;   /* hash of the PMC_EVENTS text the plan was made from */
	struct agent_reported reported;
	bool private_dump;
	const char *path;
	const char *plan;
	size_t plan_len;
};

/* 0, or -EINVAL if the text is not ours. Points into text. */
int agent_job_parse(const char *text, struct agent_job *job);
/* "PMC_JOB=..." for good, as the job's first process begins; NULL without memory. */
char *agent_job_first_text(void);
/* The same for an exec, with what was reported; NULL without memory. */
char *agent_job_text(void);
void agent_job_text_free(char *text);
bool agent_job_owner_alive(void);
uint64_t agent_pid_namespace(void);
uint64_t agent_text_hash(const char *text);

/* ---- process.c ---- */

/* EVENTSET and a PROCESS frame that says it runs: what rows refer to. */
void agent_process_header(void);
void agent_process_frame(struct pmc_frame_buf *buf, uint64_t snapshot, enum pmc_ended how,
			 int code);
/* Into pmc_agent_control: what PROCESS frames say all the time. Anew in a forked child. */
void agent_publish_process(void);
/* Appends a PROCESS frame to the dump. */
void agent_process_state(uint64_t snapshot, enum pmc_ended how, int code);
void agent_eventset_frame(struct pmc_frame_buf *buf);

#endif
