/* SPDX-License-Identifier: MIT */
/* protocol.h - what pmctl and pmc-spawn send each other, over the sequential socket at number 3. */
#ifndef PMC_TOOLS_BENCH_PROTOCOL_H
#define PMC_TOOLS_BENCH_PROTOCOL_H

#include <stdint.h>

#define SPAWN_SOCKET 3

/* First pmc-spawn sends a byte; before its exec the errno of a failure may come instead (an int).
 */

/* One run. Anything else that arrives while the command runs, or the end of the socket, kills it.
 */
struct spawn_request {
	uint64_t timeout_ns; /* 0: none */
};

struct spawn_result {
	int32_t error;	 /* errno: the command could not be started */
	int32_t status;	 /* as of wait4(2) */
	int32_t stopped; /* enum spawn_stop */
	int32_t pad;
	uint64_t wall_ns, user_ns, sys_ns, peak_rss_bytes;
};

enum spawn_stop { SPAWN_ENDED, SPAWN_TIMED_OUT, SPAWN_KILLED };

#endif
