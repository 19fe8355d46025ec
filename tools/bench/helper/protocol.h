/* SPDX-License-Identifier: MIT */
/* protocol.h - messages between pmctl and pmc-spawn, over the socket at descriptor 3. */
#pragma once

#include <stdint.h>

#define SPAWN_SOCKET 3

/* pmc-spawn first sends a byte. */

/* Starts a run. Any further message during the run, or the end of the socket, kills the command. */
struct spawn_request {
	uint64_t timeout_ns;	 /* 0: none */
	uint32_t first, n_words; /* of pmc-spawn's arguments: the path, and the command's argv */
};

struct spawn_result {
	int32_t error;	 /* errno: the command could not be started */
	int32_t status;	 /* as of wait4(2) */
	int32_t stopped; /* enum spawn_stop */
	int32_t pad;
	uint64_t wall_ns, user_ns, sys_ns, peak_rss_bytes;
};

enum spawn_stop { SPAWN_ENDED, SPAWN_TIMED_OUT, SPAWN_KILLED };
