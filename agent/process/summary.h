/* SPDX-License-Identifier: MIT */
/*
 * summary.h - the summary at the end of a job: threads of its first process, read from the dump.
 *
 * The dump is read twice: first each thread's and process's newest frame is found, then those
 * frames are added up. All memory is the caller's arena. Async-signal-safe.
 */
#pragma once

#include "lib/base/show.h"
#include "lib/plan/plan.h"

struct summary;

struct summary_form {
	struct pmc_screen screen;
	bool rows;	     /* of threads or pools; without: sums only */
	const char *command; /* the command line */
	const char *dump;    /* file that keeps the run; NULL: none does */
	const char *wanted;  /* the form of a report that only pmctl makes; NULL: none */
};

/* identity: of the image that prints it. plan: the events of its rows. A new summary, NULL without
 * memory. The arguments must outlive it. */
struct summary *summary_new(struct pmc_arena *arena, const uint8_t job[16],
			    const uint8_t identity[16], const struct pmc_plan *plan);
/* Takes a frame; of pmc_scan_fd()'s form. 0 or -ENOMEM. */
int summary_take(const struct pmc_frame *frame, void *summary);
/* After all frames: they are taken a second time. */
void summary_read_again(struct summary *summary);
void summary_print(struct summary *summary, const struct summary_form *form, struct pmc_out *out);
