/* SPDX-License-Identifier: MIT */
/* sample.h - whether an event can be sampled as PMC_SAMPLE asks, and how often that is. */
#pragma once

#include "lib/base/config.h"
#include "lib/event/event.h"

/* More samples in a second of CPU time may make it two (docs/BENCHMARKS.md). */
#define PMC_SAMPLE_HZ_CHEAP 10000u

/* Bytes that hold any text of pmc_sample_refusal(). */
#define PMC_SAMPLE_WHY 256

/* task-clock and cpu-clock, of which a period is in ns. */
bool pmc_event_is_clock(const struct pmc_event *event);
/* Why the event is not sampled so, and the fix, in text; NULL if it may be. */
const char *pmc_sample_refusal(const struct pmc_event *event, const struct pmc_config_sample *asked,
			       char text[PMC_SAMPLE_WHY]);
/* Samples per second of CPU time, by periods of cycles and instructions usually more than that; 0:
 * unknown. */
uint64_t pmc_sample_rate(const struct pmc_event *event, const struct pmc_config_sample *asked);
