/* SPDX-License-Identifier: MIT */
/*
 * start_routine.c - SITE frames of start routines, each looked up once.
 *
 * A static function has no symbol here: pmctl finds it in the symbol table of the file.
 */
#include "agent/thread/thread.h"
#include "lib/base/hash.h"
#include "lib/dump/frame.h"

#include <pthread.h>

struct routine {
	const void *address;
	uint64_t hash;
	UT_hash_handle hh;
};

static struct {
	pthread_mutex_t lock;
	struct pmc_arena arena;
	struct routine *table;
} routines = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t write_frame(const void *address)
{
	_Alignas(8) uint8_t room[PMC_SITE_BYTES];
	struct pmc_frame_buf buf;
	uint64_t offset = (uint64_t)(uintptr_t)address, hash;
	const char *module = "", *symbol = "";
	struct agent_place place;

	if (agent_find_place(address, &place)) {
		/* The loader's name of the program is "" or argv[0]. */
		module = strchr(place.module, '/') ? place.module : agent.exe;
		offset = place.offset;
		symbol = place.symbol;
	}
	pmc_frame_buf_init(&buf, room, sizeof(room));
	hash = pmc_build_site(&buf, offset, module, symbol);
	agent_file_begin();
	agent_file_append(buf.data, buf.len);
	return hash;
}

static void clear(void)
{
	pmc_arena_free(&routines.arena);
	routines.table = NULL;
}

static struct routine *find(const void *address)
{
	struct routine *routine;

	HASH_FIND_PTR(routines.table, &address, routine);
	return routine;
}

static void add(const void *address, uint64_t hash)
{
	struct pmc_arena *arena = &routines.arena;
	struct routine *routine = pmc_arena_alloc(arena, sizeof(*routine));

	if (!routine)
		return;
	routine->address = address;
	routine->hash = hash;
	HASH_ADD_PTR(routines.table, address, routine);
}

/* The place is looked up without the table's lock: a thread that holds the loader's lock, in an
 * initialiser of a library, may wait here for the table's. A frame written twice counts once. */
uint64_t agent_start_routine(const void *address)
{
	const struct routine *routine;
	uint64_t hash = 0;

	pthread_mutex_lock(&routines.lock);
	routine = find(address);
	if (routine)
		hash = routine->hash;
	pthread_mutex_unlock(&routines.lock);
	if (routine)
		return hash;
	hash = write_frame(address);
	pthread_mutex_lock(&routines.lock);
	if (!find(address))
		add(address, hash);
	pthread_mutex_unlock(&routines.lock);
	return hash;
}

void agent_start_routines_forked(void)
{
	/* A thread that held the lock does not exist in the child: it may have left the table half
	 * freed, which is abandoned. */
	if (pthread_mutex_trylock(&routines.lock) != 0) {
		memset(&routines.arena, 0, sizeof(routines.arena));
		routines.table = NULL;
	}
	pthread_mutex_init(&routines.lock, NULL);
	clear();
}

void agent_start_routines_forget(void)
{
	pthread_mutex_lock(&routines.lock);
	clear();
	pthread_mutex_unlock(&routines.lock);
}
