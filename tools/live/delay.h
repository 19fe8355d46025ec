/* SPDX-License-Identifier: MIT */
/* delay.h - how long a thread waited for a CPU, by readings of /proc between which it may wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* All zero: of a thread from its start on. */
struct live_delay {
	/* What the kernel had added before the first reading. */
	uint64_t cpu_before_ns, charged_before_ns;
	bool waited; /* perhaps for a CPU, at the first reading and since */
	/* Since the first reading; both never fall. */
	uint64_t delay_ns, blocked_ns;
};

/* The first reading. runnable: state R of proc_pid_stat(5). */
void live_delay_begin(struct live_delay *delay, uint64_t cpu_ns, uint64_t charged_ns,
		      bool runnable);
/* A later one, `ns` after the first. cpu_ns, charged_ns: CPU time and run delay of schedstat.
 * runnable: throughout, since the reading before. */
void live_delay_read(struct live_delay *delay, uint64_t ns, uint64_t cpu_ns, uint64_t charged_ns,
		     bool runnable);
