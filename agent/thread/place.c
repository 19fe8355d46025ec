/* SPDX-License-Identifier: MIT */
/*
 * place.c - the module and the dynamic symbol of an address.
 *
 * dladdr takes the loader's lock. dlopen holds it while it runs constructors: one that waits for a
 * thread that creates another would deadlock. So dladdr is used only with glibc before 2.35 and
 * musl, which have no _dl_find_object.
 */
#include "agent/thread/thread.h"
#include "agent/base/real.h"

#include <dlfcn.h>
#include <link.h>

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash, *hash;
};

/* The loader relocates these pointers in place, except in read-only sections. */
static const void *table_at(const struct link_map *map, const ElfW(Dyn) * entry)
{
	ElfW(Addr) at = entry->d_un.d_ptr;

	return (const void *)(at < map->l_addr ? at + map->l_addr : at);
}

static struct tables tables_of(const struct link_map *map)
{
	struct tables tables = { 0 };

	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		switch (entry->d_tag) {
		case DT_SYMTAB:
			tables.symbols = table_at(map, entry);
			break;
		case DT_STRTAB:
			tables.strings = table_at(map, entry);
			break;
		case DT_GNU_HASH:
			tables.gnu_hash = table_at(map, entry);
			break;
		case DT_HASH:
			tables.hash = table_at(map, entry);
			break;
		}
	return tables;
}

/* How many symbols there are: the last one of the last chain, as in the GNU hash table's layout. */
static uint32_t count_symbols(const struct tables *tables)
{
	const uint32_t *hash = tables->gnu_hash, *buckets, *chains;
	uint32_t last = 0;

	if (tables->hash)
		return tables->hash[1];
	if (!hash)
		return 0;
	buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof(*hash));
	chains = buckets + hash[0];
	for (uint32_t i = 0; i < hash[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < hash[1])
		return 0;
	while (!(chains[last - hash[1]] & 1))
		last++;
	return last + 1;
}

static bool covers(const ElfW(Sym) * symbol, uint64_t offset)
{
	return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) != STT_TLS &&
	       offset - symbol->st_value < (symbol->st_size ? symbol->st_size : 1);
}

static const char *symbol_at(const struct link_map *map, uint64_t offset)
{
	const struct tables tables = tables_of(map);
	const ElfW(Sym) *best = NULL;
	uint32_t n = tables.symbols && tables.strings ? count_symbols(&tables) : 0;

	for (uint32_t i = 0; i < n; i++)
		if (covers(&tables.symbols[i], offset) &&
		    (!best || best->st_value < tables.symbols[i].st_value))
			best = &tables.symbols[i];
	return best ? tables.strings + best->st_name : "";
}

#ifdef __GLIBC__
/* Missing in musl, whose loader then still loads the agent: see own_libc.c. */
#pragma weak dladdr1

static bool by_loader(const void *address, struct agent_place *place)
{
	const ElfW(Sym) *symbol = NULL;
	uintptr_t at = (uintptr_t)address;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)(void *)&symbol, RTLD_DL_SYMENT) || !info.dli_fname)
		return false;
	place->module = info.dli_fname;
	place->offset = at - (uintptr_t)info.dli_fbase;
	place->symbol =
		symbol && covers(symbol, at - (uintptr_t)info.dli_saddr + symbol->st_value) ?
			info.dli_sname :
			"";
	return true;
}
#else
/* musl returns a symbol only if it covers the address. */
static bool by_loader(const void *address, struct agent_place *place)
{
	Dl_info info;

	if (!dladdr(address, &info) || !info.dli_fname)
		return false;
	place->module = info.dli_fname;
	place->offset = (uintptr_t)address - (uintptr_t)info.dli_fbase;
	place->symbol = info.dli_sname ? info.dli_sname : "";
	return true;
}
#endif

bool agent_find_place(const void *address, struct agent_place *place)
{
	struct agent_dl_object found;

	if (!real__dl_find_object)
		return by_loader(address, place);
	if (real__dl_find_object((void *)(uintptr_t)address, &found) != 0)
		return false;
	place->module = found.map->l_name;
	place->offset = (uintptr_t)address - (uintptr_t)found.map_start;
	place->symbol = symbol_at(found.map, (uintptr_t)address - found.map->l_addr);
	return true;
}
