/* SPDX-License-Identifier: MIT */
/*
 * start_routine.c - SITE frames of start routines, each looked up once.
 *
 * A static function has no symbol here: pmctl finds it in the symbol table of the file.
 */
#include "agent/thread/thread.h"

#include <pthread.h>

#define ROUTINES 1024u /* half of them are used; frames of further ones are written each time */

struct routine {
	const void *address; /* NULL: free */
	uint64_t hash;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
AGENT_ROOMY static struct routine table[ROUTINES];
static unsigned used;

static uint64_t write_frame(const void *address)
{
	_Alignas(8) uint8_t room[PMC_SITE_BYTES];
	struct pmc_frame_buf buf;
	uint64_t offset = (uint64_t)(uintptr_t)address, hash;
	const char *module = "", *symbol = "";
	struct agent_place place;

	if (agent_find_place(address, &place)) {
		/* The loader's name of the program is "" or argv[0]. */
		module = strchr(place.module, '/') ? place.module : agent.text.exe;
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
	if (used)
		memset(table, 0, sizeof(table));
	used = 0;
}

/* The entry of a routine, or a free one. */
static struct routine *find(const void *address)
{
	size_t at = (uintptr_t)address / 16;

	while (table[at % ROUTINES].address && table[at % ROUTINES].address != address)
		at++;
	return &table[at % ROUTINES];
}

uint64_t agent_start_routine(const void *address)
{
	uint64_t hash;

	pthread_mutex_lock(&lock);
	hash = find(address)->hash;
	pthread_mutex_unlock(&lock);
	return hash;
}

/* The place is looked up without the table's lock: a thread that holds the loader's lock, in an
 * initialiser of a library, may wait here for the table's. A frame written twice counts once. */
uint64_t agent_start_routine_add(const void *address)
{
	const uint64_t hash = write_frame(address);
	struct routine *routine;

	pthread_mutex_lock(&lock);
	routine = find(address);
	if (!routine->address && used < ROUTINES / 2) {
		used++;
		*routine = (struct routine){ address, hash };
	}
	pthread_mutex_unlock(&lock);
	return hash;
}

void agent_start_routines_forked(void)
{
	/* A thread that held the lock does not exist in the child. */
	pthread_mutex_init(&lock, NULL);
	clear();
}

void agent_start_routines_forget(void)
{
	pthread_mutex_lock(&lock);
	clear();
	pthread_mutex_unlock(&lock);
}
