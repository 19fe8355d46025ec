/* SPDX-License-Identifier: MIT */
/* pending_frames.c - see pending_frames.h. Locked by the address of a variable of the thread. */
#include "agent/output/pending_frames.h"
#include "agent/base/agent.h"

#include <sched.h>
#include <string.h>

AGENT_ROOMY static uint8_t room[128 << 10];
static size_t used;
static __thread char me;
static char *_Atomic owner;

static bool lock(void)
{
	char *nobody = NULL;

	return atomic_compare_exchange_strong(&owner, &nobody, &me);
}

bool pending_put(const void *frames, size_t len)
{
	bool fits;

	if (!lock())
		return false;
	fits = len <= sizeof(room) - used;
	if (fits) {
		memcpy(room + used, frames, len);
		/* pending_take_last() may interrupt this. */
		atomic_signal_fence(memory_order_seq_cst);
		used += len;
	}
	atomic_store(&owner, NULL);
	return fits;
}

const void *pending_take(size_t *len)
{
	*len = 0;
	for (unsigned i = 0; i < 1000 && used && atomic_load(&owner) != &me; i++) {
		if (lock()) {
			*len = used;
			return room;
		}
		sched_yield();
	}
	return NULL;
}

const void *pending_take_last(size_t *len)
{
	const void *frames = pending_take(len);

	if (!frames && atomic_load(&owner) == &me) {
		*len = used;
		frames = room;
	}
	return frames;
}

void pending_done(void)
{
	used = 0;
	atomic_store(&owner, NULL);
}
