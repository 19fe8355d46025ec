/* SPDX-License-Identifier: MIT */
/*
 * start_routine.c - start routines, each looked up once.
 *
 * A name is believed only if the address lies inside the symbol: dladdr alone names the nearest
 * exported one for any static function. What it cannot name, pmctl finds in the file's symbols.
 */
#include "agent/thread/start_routine.h"
#include "agent/base/agent.h"
#include "agent/core/dump/build.h"
#include "agent/core/base/hash.h"
#include "agent/output/file.h"
#include "agent/base/note.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#define MOST 4096u

struct site {
	const void *address;
	uint64_t hash;
	UT_hash_handle hh;
};

static struct {
	pthread_mutex_t lock;
	struct pmc_arena arena;
	struct site *table;
	uint8_t owner[16]; /* the process image whose dump has the frames */
	_Atomic uint32_t forgotten; /* how often */
} sites = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* What this thread asked for last: most programs start many threads of one routine. */
static __thread struct {
	const void *address;
	uint64_t hash;
	uint32_t forgotten;
} last;

#ifdef __GLIBC__
/* Whether info is about this address, and its symbol really covers it. */
static bool look_up(const void *address, Dl_info *info)
{
	uintptr_t at = (uintptr_t)address;
	const ElfW(Sym) *sym = NULL;

	if (!dladdr1(address, info, (void **)(void *)&sym, RTLD_DL_SYMENT) || !info->dli_fname)
		return false;
	if (!sym || at < (uintptr_t)info->dli_saddr ||
	    at >= (uintptr_t)info->dli_saddr + (sym->st_size ? sym->st_size : 1))
		info->dli_sname = NULL;
	return true;
}
#else
static bool look_up(const void *address, Dl_info *info)
{
	/* musl names a symbol only if it covers the address. */
	return dladdr(address, info) && info->dli_fname;
}
#endif

static uint64_t write_site(const void *address)
{
	_Alignas(8) uint8_t room[PMC_SITE_BYTES];
	struct pmc_frame_buf buf;
	uint64_t offset = (uint64_t)(uintptr_t)address, hash;
	const char *module = "", *symbol = "";
	Dl_info info;

	if (look_up(address, &info)) {
		/* The loader calls the program itself "" or by argv[0]. */
		module = strchr(info.dli_fname, '/') ? info.dli_fname : agent.exe;
		offset = (uint64_t)((uintptr_t)address - (uintptr_t)info.dli_fbase);
		symbol = info.dli_sname ? info.dli_sname : "";
	}
	pmc_frame_buf_init(&buf, room, sizeof(room));
	hash = pmc_build_site(&buf, offset, module, symbol);
	agent_file_begin();
	agent_file_append(buf.data, buf.len);
	return hash;
}

static void clear(void)
{
	pmc_arena_free(&sites.arena);
	sites.table = NULL;
	atomic_fetch_add(&sites.forgotten, 1);
}

static uint64_t find_or_write(const void *address)
{
	struct pmc_arena *arena = &sites.arena;
	struct site *site;
	uint64_t hash = 0;

	pthread_mutex_lock(&sites.lock);
	if (memcmp(sites.owner, agent.identity, 16) != 0) {
		clear();
		memcpy(sites.owner, agent.identity, 16);
	}
	HASH_FIND_PTR(sites.table, &address, site);
	if (site) {
		hash = site->hash;
	} else if (HASH_COUNT(sites.table) >= MOST) {
		agent_note(NOTE_SITES_FULL);
	} else {
		hash = write_site(address);
		site = pmc_arena_alloc(arena, sizeof(*site));
		if (site) {
			site->address = address;
			site->hash = hash;
			HASH_ADD_PTR(sites.table, address, site);
		}
	}
	pthread_mutex_unlock(&sites.lock);
	return hash;
}

uint64_t agent_start_routine(const void *address)
{
	uint32_t forgotten = atomic_load(&sites.forgotten);

	if (last.address != address || last.forgotten != forgotten) {
		last.hash = find_or_write(address);
		last.address = address;
		last.forgotten = forgotten;
	}
	return last.hash;
}

void agent_start_routines_forked(void)
{
	/* Another thread may have held it; that thread is not here. */
	pthread_mutex_init(&sites.lock, NULL);
	clear();
}

void agent_start_routines_forget(void)
{
	pthread_mutex_lock(&sites.lock);
	clear();
	pthread_mutex_unlock(&sites.lock);
}
