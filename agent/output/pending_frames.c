/* SPDX-License-Identifier: MIT */
/* pending_frames.c - a buffer with places given out by one atomic and counted in by another. */
#include "agent/output/pending_frames.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM ((uint32_t)128 << 10)
/* Added to `given` by the taker: from then on every place is beyond the room. */
#define CLOSED ((uint64_t)1 << 40)

static struct {
	_Atomic(uint8_t *) data;
	_Atomic uint64_t given; /* bytes given out */
	_Atomic uint64_t in;	/* bytes that arrived */
	_Atomic bool taken;
} backlog;

static uint8_t *room(void)
{
	uint8_t *data = atomic_load(&backlog.data), *other = NULL;

	if (data)
		return data;
	data = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&backlog.data, &other, data))
		return data;
	munmap(data, ROOM);
	return other;
}

bool backlog_put(const void *frames, size_t len)
{
	uint8_t *data = room();
	uint64_t at = atomic_load_explicit(&backlog.given, memory_order_relaxed);

	if (!data)
		return false;
	do {
		if (at + len > ROOM)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&backlog.given, &at, at + len, memory_order_acquire, memory_order_relaxed));
	memcpy(data + at, frames, len);
	atomic_fetch_add_explicit(&backlog.in, len, memory_order_release);
	return true;
}

const void *backlog_take(size_t *len)
{
	*len = 0;
	if (atomic_exchange(&backlog.taken, true))
		return NULL;
	/* No more places; if all that were given are filled, it is ours. */
	uint64_t given = atomic_fetch_add(&backlog.given, CLOSED);

	if (given == 0 || atomic_load_explicit(&backlog.in, memory_order_acquire) != given) {
		atomic_fetch_sub(&backlog.given, CLOSED);
		atomic_store(&backlog.taken, false);
		return NULL;
	}
	*len = given;
	return atomic_load(&backlog.data);
}

const void *backlog_take_all(size_t *len)
{
	const void *frames = backlog_take(len);

	for (unsigned i = 0; !frames && i < 1000 && atomic_load(&backlog.given); i++) {
		sched_yield();
		frames = backlog_take(len);
	}
	return frames;
}

void backlog_done(void)
{
	atomic_store(&backlog.in, 0);
	atomic_store_explicit(&backlog.given, 0, memory_order_release);
	atomic_store(&backlog.taken, false);
}

void backlog_forget(void)
{
	backlog_done();
}
