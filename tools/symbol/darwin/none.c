/* SPDX-License-Identifier: MIT */
/*
 * none.c - no symbol tables on macOS, where pmctl is built without elfutils; see symbol.h.
 *
 * Addresses of dumps are shown as module and offset. Only texts are kept here.
 */
#include "lib/base/hash.h"
#include "tools/symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>

struct text {
	UT_hash_handle hh;
	char bytes[];
};

struct symbols {
	struct pmc_arena arena;
	struct text *texts;
};

int symbols_new(struct symbols **symbols, const char *root)
{
	(void)root;
	*symbols = calloc(1, sizeof(**symbols));
	return *symbols ? 0 : -ENOMEM;
}

void symbols_free(struct symbols *symbols)
{
	if (symbols)
		pmc_arena_free(&symbols->arena);
	free(symbols);
}

bool symbols_shrunk(void)
{
	return false;
}

const char *symbols_text(struct symbols *symbols, const char *text)
{
	struct pmc_arena *arena = &symbols->arena;
	const size_t len = strlen(text);
	struct text *known;

	HASH_FIND(hh, symbols->texts, text, len, known);
	if (known)
		return known->bytes;
	known = pmc_arena_alloc(arena, sizeof(*known) + len + 1);
	if (!known)
		return NULL;
	memcpy(known->bytes, text, len);
	HASH_ADD_KEYPTR(hh, symbols->texts, known->bytes, len, known);
	return known->bytes;
}

struct symbol_module *symbols_module(struct symbols *symbols, const char *path, const uint8_t *id,
				     unsigned id_bytes)
{
	(void)symbols, (void)path, (void)id, (void)id_bytes;
	return NULL;
}

struct symbol_module *symbols_perf_map(struct symbols *symbols, pid_t pid)
{
	(void)symbols, (void)pid;
	return NULL;
}

const struct symbol_place *symbols_at(struct symbols *symbols, struct symbol_module *module,
				      uint64_t address)
{
	static const struct symbol_place nowhere = { .frames = NULL };

	(void)symbols, (void)module, (void)address;
	return &nowhere;
}

bool symbols_file_offset(struct symbols *symbols, struct symbol_module *module, uint64_t address,
			 uint64_t *offset)
{
	(void)symbols, (void)module, (void)address, (void)offset;
	return false;
}

enum symbol_status symbols_status(struct symbols *symbols, struct symbol_module *module)
{
	(void)symbols, (void)module;
	return SYMBOL_MISSING;
}

const char *symbols_path(const struct symbol_module *module)
{
	(void)module;
	return "";
}

bool symbols_is_perf_map(const struct symbol_module *module)
{
	(void)module;
	return false;
}
