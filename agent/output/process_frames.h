/* SPDX-License-Identifier: MIT */
/* process_frames.h - PROCESS and EVENTSET frames of this process. */
#pragma once

#include "lib/base/clock.h"
#include "lib/dump/frame.h"
#include "lib/live/account.h"
#include "lib/plan/plan.h"

#include <sys/types.h>

/* Appends the frames that rows refer to: EVENTSET, and PROCESS in state running. */
void agent_process_header(void);
/* What the kernel says of the process now; *usage: all of its rusage. */
void agent_process_words(struct account_words *now, struct pmc_usage *usage);
void agent_process_frame(struct pmc_frame_buf *buf, uint64_t snapshot, enum pmc_ended how,
			 int code);
/* Fills the constant fields of the PROCESS frame in pmc_agent_control; again in a forked child. */
void agent_publish_process(void);
/* Appends a PROCESS frame to the dump. */
void agent_process_state(uint64_t snapshot, enum pmc_ended how, int code);
