/* SPDX-License-Identifier: MIT */
/* pending_frames.c - see pending_frames.h. One counter gives out places, another counts copies in.
 */
#include "agent/output/pending_frames.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM ((uint32_t)128 << 10)
/* Added to `reserved` by the taker: every later place is beyond the room. */
#define CLOSED ((uint64_t)1 << 40)

static struct {
	_Atomic(uint8_t *) data;
	_Atomic uint64_t reserved; /* bytes given out */
	_Atomic uint64_t copied;   /* bytes complete */
	_Atomic bool taken;
} pending;

static uint8_t *room(void)
{
	uint8_t *data = atomic_load(&pending.data), *other = NULL;

	if (data)
		return data;
	data = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&pending.data, &other, data))
		return data;
	munmap(data, ROOM);
	return other;
}

bool pending_put(const void *frames, size_t len)
{
	uint8_t *data = room();
	uint64_t at = atomic_load_explicit(&pending.reserved, memory_order_relaxed);

	if (!data)
		return false;
	do {
		if (at + len > ROOM)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&pending.reserved, &at, at + len, memory_order_acquire, memory_order_relaxed));
	memcpy(data + at, frames, len);
	atomic_fetch_add_explicit(&pending.copied, len, memory_order_release);
	return true;
}

static const void *try_take(size_t *len)
{
	uint64_t reserved;

	*len = 0;
	if (atomic_exchange(&pending.taken, true))
		return NULL;
	reserved = atomic_fetch_add(&pending.reserved, CLOSED);
	if (reserved == 0 ||
	    atomic_load_explicit(&pending.copied, memory_order_acquire) != reserved) {
		atomic_fetch_sub(&pending.reserved, CLOSED);
		atomic_store(&pending.taken, false);
		return NULL;
	}
	*len = reserved;
	return atomic_load(&pending.data);
}

const void *pending_take(size_t *len)
{
	const void *frames = try_take(len);

	for (unsigned i = 0; !frames && i < 1000 && atomic_load(&pending.reserved); i++) {
		sched_yield();
		frames = try_take(len);
	}
	return frames;
}

void pending_done(void)
{
	atomic_store(&pending.copied, 0);
	atomic_store_explicit(&pending.reserved, 0, memory_order_release);
	atomic_store(&pending.taken, false);
}
