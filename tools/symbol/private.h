/* SPDX-License-Identifier: MIT */
/* private.h - what the files of the symbolizer share. Private to this folder.
 *
 * On macOS, where pmctl is built without elfutils, darwin/none.c stands for all but symbols.c. */
#pragma once

#include "lib/base/hash.h"
#include "lib/base/sort.h"
#include "tools/symbol/symbol.h"

#include <stddef.h>

enum {
	SYMBOL_SEGMENTS_MOST = 16,
	SYMBOL_ID_MOST = 64,
	SYMBOL_NAME_MOST = 4096,
	SYMBOL_PATH_MAX = 4096
};

struct symbol_entry {
	uint64_t start, end;
	const char *raw; /* NULL: unknown */
};

/* Sorted by start, of equal ones that which came last; an entry may lie in the one before. */
struct symbol_table {
	struct symbol_entry *list;
	size_t n, room;
};

struct unit; /* of DWARF */

struct unit_range {
	uint64_t start, end;
	struct unit *unit;
};

struct units {
	struct unit_range *ranges;
	size_t n, room;
	uint64_t bias;
};

struct known_place;

struct symbol_module {
	char *path; /* the key: path, NUL, build ID */
	uint8_t id[SYMBOL_ID_MOST];
	unsigned id_bytes;
	pid_t pid; /* of a perf map, else 0 */
	bool opened, has_table, has_units;
	enum symbol_status status;
	struct Dwfl *dwfl;
	struct Dwfl_Module *dwfl_module;
	struct symbol_segment {
		uint64_t offset, address, file_bytes, bytes;
	} segments[SYMBOL_SEGMENTS_MOST];
	unsigned n_segments;
	struct symbol_table table;
	struct units units;
	struct known_place *places;
	UT_hash_handle hh;
};

struct text; /* an interned one */

struct symbols {
	struct pmc_arena arena;
	const char *root;
	struct symbol_module *modules;
	struct text *texts, *names;
};

/* dwarf.c. Sorts a list of structs that begin with their start; equal ones stay in their order. */
#define symbol_sort(arena, list, n)                                                                \
	pmc_sort(list, pmc_arena_alloc(arena, (n) * sizeof(*(list))), n, sizeof(*(list)),          \
		 symbol_by_start, NULL)
int symbol_by_start(const void *a, const void *b, const void *arg);
/* How many of such a list start at the address or before. */
size_t symbol_n_started(const void *list, size_t n, size_t size, uint64_t address);
/* symbols_text() of a name that is perhaps mangled; NULL: it is empty. */
const char *symbol_name(struct symbols *symbols, const char *raw);

/* module.c. Without support there are no modules. */
extern const bool symbol_supported;
/* Reads files that become shorter meanwhile, from now on. */
void symbol_survive_shrinking(void);
void symbol_module_open(struct symbols *symbols, struct symbol_module *module);
void symbol_module_close(struct symbol_module *module);

/* table.c. Of an open module. */
const struct symbol_entry *symbol_table_find(struct symbols *symbols, struct symbol_module *module,
					     uint64_t address);
enum symbol_status symbol_perf_map_read(struct symbols *symbols, struct symbol_module *module);

/* dwarf.c: fills in up to `most` frames, the innermost first; 0: none. `raw`: the function in the
 * symbol table, or NULL. */
unsigned symbol_dwarf_frames(struct symbols *symbols, struct symbol_module *module,
			     uint64_t address, const char *raw, struct symbol_frame *frames,
			     unsigned most);
