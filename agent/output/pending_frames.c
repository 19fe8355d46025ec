/* SPDX-License-Identifier: MIT */
/* pending_frames.c - see pending_frames.h. A lock that nobody waits for. */
#include "agent/output/pending_frames.h"
#include "agent/base/agent.h"

#include <sched.h>
#include <string.h>

AGENT_ROOMY static uint8_t room[128 << 10];
static size_t used;
static _Atomic bool locked;

bool pending_put(const void *frames, size_t len)
{
	bool fits;

	if (atomic_exchange(&locked, true))
		return false;
	fits = len <= sizeof(room) - used;
	if (fits) {
		memcpy(room + used, frames, len);
		used += len;
	}
	atomic_store(&locked, false);
	return fits;
}

const void *pending_take(size_t *len)
{
	*len = 0;
	for (unsigned i = 0; i < 1000 && used; i++) {
		if (!atomic_exchange(&locked, true)) {
			*len = used;
			return room;
		}
		sched_yield();
	}
	return NULL;
}

void pending_done(void)
{
	used = 0;
	atomic_store(&locked, false);
}
