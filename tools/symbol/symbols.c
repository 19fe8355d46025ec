/* SPDX-License-Identifier: MIT */
/* symbols.c - the modules and places that are known, each looked up once. */
#include "tools/symbol/private.h"
#include "lib/base/file.h"

#include <pmc/dump.h>
#include <stdio.h>
#include <string.h>

enum { INLINED_MOST = PMC_PLACE_FUNCTIONS_MAX };

struct text {
	const char *key, *value; /* value: of `names`, the name without mangling */
	uint64_t start;		 /* of `starts`, the function of that name */
	UT_hash_handle hh;
};

struct known_place {
	uint64_t address;
	struct symbol_place place;
	UT_hash_handle hh;
};

/* The key's own, perhaps new. */
static struct text *text_of(struct symbols *symbols, struct text **table, const char *key,
			    size_t len)
{
	struct pmc_arena *arena = &symbols->arena;
	struct text *text;

	HASH_FIND(hh, *table, key, len, text);
	if (text)
		return text;
	text = pmc_arena_alloc(arena, sizeof(*text));
	text->key = pmc_arena_strndup(arena, key, len);
	HASH_ADD_KEYPTR(hh, *table, text->key, len, text);
	return text;
}

const char *symbols_text(struct symbols *symbols, const char *text)
{
	return text_of(symbols, &symbols->texts, text, strnlen(text, SYMBOL_NAME_MOST))->key;
}

const char *symbol_name(struct symbols *symbols, const char *raw)
{
	const size_t len = strnlen(raw, SYMBOL_NAME_MOST);
	char buf[SYMBOL_NAME_MOST];
	struct text *name;

	if (!len)
		return NULL;
	name = text_of(symbols, &symbols->names, raw, len);
	if (!name->value)
		name->value =
			symbols_text(symbols, symbols_demangle(raw, buf, sizeof(buf)) ? buf : raw);
	return name->value;
}

/* ---- modules ----------------------------------------------------------------------------- */

struct symbols *symbols_new(const char *root)
{
	struct pmc_arena arena = { .head = NULL };
	struct symbols *symbols = pmc_arena_alloc(&arena, sizeof(*symbols));

	symbol_survive_shrinking();
	symbols->arena = arena;
	symbols->root = root ? root : "";
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	struct pmc_arena arena;

	if (!symbols)
		return;
	for (struct symbol_module *module = symbols->modules; module; module = module->hh.next)
		symbol_module_close(module);
	arena = symbols->arena;
	pmc_arena_free(&arena);
}

static struct symbol_module *find_module(struct symbols *symbols, const char *path,
					 const uint8_t *id, unsigned id_bytes, pid_t pid)
{
	struct pmc_arena *arena = &symbols->arena;
	struct symbol_module *module;
	char key[SYMBOL_PATH_MAX + SYMBOL_ID_MOST];
	size_t len = strnlen(path, SYMBOL_PATH_MAX - 1);

	id_bytes = id_bytes < SYMBOL_ID_MOST ? id_bytes : SYMBOL_ID_MOST;
	memcpy(key, path, len);
	key[len++] = '\0';
	if (id_bytes)
		memcpy(key + len, id, id_bytes);
	HASH_FIND(hh, symbols->modules, key, len + id_bytes, module);
	if (module)
		return module;
	module = pmc_arena_alloc(arena, sizeof(*module));
	module->path = pmc_arena_strndup(arena, key, len + id_bytes);
	memcpy(module->id, key + len, id_bytes);
	module->id_bytes = id_bytes;
	module->pid = pid;
	HASH_ADD_KEYPTR(hh, symbols->modules, module->path, len + id_bytes, module);
	return module;
}

struct symbol_module *symbols_module(struct symbols *symbols, const char *path, const uint8_t *id,
				     unsigned id_bytes)
{
	return symbol_supported ? find_module(symbols, path, id, id_bytes, 0) : NULL;
}

bool symbols_boot_id(char text[64])
{
	return pmc_file_read(text, 64, "/proc/sys/kernel/random/boot_id") > 0;
}

struct symbol_module *symbols_perf_map(struct symbols *symbols, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	return symbol_supported ? find_module(symbols, path, NULL, 0, pid) : NULL;
}

enum symbol_status symbols_status(struct symbols *symbols, struct symbol_module *module)
{
	if (module->opened)
		return module->status;
	module->opened = true;
	if (module->pid)
		module->status = symbol_perf_map_read(symbols, module);
	else if (!strcmp(module->path, SYMBOL_KERNEL))
		module->status = symbol_kernel_read(symbols, module);
	else
		symbol_module_open(symbols, module);
	return module->status;
}

const char *symbols_path(const struct symbol_module *module)
{
	return module->path;
}

uint64_t symbols_kernel_find(struct symbols *symbols, struct symbol_module *module,
			     const char *name)
{
	const struct symbol_list *all = &module->all;
	struct text *text = text_of(symbols, &symbols->starts, name, strlen(name));

	symbols_status(symbols, module);
	for (size_t i = 0; i < all->n && !text->start; i++)
		if (!strcmp(all->list[i].of, name))
			text->start = all->list[i].start;
	return text->start;
}

void symbols_functions_only(struct symbol_module *module)
{
	module->functions_only = true;
}

const uint8_t *symbols_id(const struct symbol_module *module, unsigned *bytes)
{
	*bytes = module->id_bytes;
	return module->id;
}

bool symbols_is_perf_map(const struct symbol_module *module)
{
	return module->pid != 0;
}

/* ---- places ------------------------------------------------------------------------------ */

/* The name by debug information, where the symbol table has another one: whether that is read
 * depends on what was sampled, and a function must have one name. A part of a function ("f.cold",
 * "f.isra.0") keeps that of the function. */
static bool is_alias(const char *name, const char *symbol)
{
	const size_t len = strlen(name);

	return strncmp(symbol, name, len) != 0 || (symbol[len] && symbol[len] != '.');
}

static void look_up(struct symbols *symbols, struct symbol_module *module, uint64_t address,
		    struct symbol_place *place)
{
	const struct symbol_range *entry = symbol_table_find(symbols, module, address);
	const char *raw = entry ? entry->of : NULL;
	const char *stub = raw ? NULL : symbol_stub_name(symbols, module, address, &place->start);
	struct symbol_frame frames[INLINED_MOST] = { { .function = stub } }, *kept, *last;

	if (!stub && (!module->functions_only || !raw))
		place->n = symbol_dwarf_frames(symbols, module, address, frames, INLINED_MOST);
	place->n += !place->n;
	if (!frames->file && !module->functions_only)
		symbol_go_line(symbols, module, address, frames);
	last = &frames[place->n - 1];
	if (raw && (!last->function || is_alias(last->function, symbol_name(symbols, raw))))
		last->function = symbol_name(symbols, raw);
	if (entry && !stub)
		place->start = entry->start;
	kept = pmc_arena_alloc(&symbols->arena, place->n * sizeof(*kept));
	memcpy(kept, frames, place->n * sizeof(*kept));
	place->frames = kept;
}

const struct symbol_place *symbols_at(struct symbols *symbols, struct symbol_module *module,
				      uint64_t address)
{
	struct pmc_arena *arena = &symbols->arena;
	struct known_place *known;

	HASH_ENTRY(module->places, address, &address, known);
	if (!known->place.n) {
		symbols_status(symbols, module);
		look_up(symbols, module, address, &known->place);
	}
	return &known->place;
}
