/* SPDX-License-Identifier: MIT */
/* private.h - what the files of the symbolizer share. Private to this folder.
 *
 * On macOS, where pmctl is built without elfutils, darwin/none.c stands for all but symbols.c. */
#pragma once

#include "lib/base/hash.h"
#include "tools/symbol/symbol.h"

#include <stddef.h>

enum { SYMBOL_SEGMENTS_MOST = 32, SYMBOL_NAME_MOST = 4096, SYMBOL_PATH_MAX = 4096 };

/* What lies from `start` to `end`: a name, as compilers make it, or NULL; a unit or function of
 * DWARF. */
struct symbol_range {
	uint64_t start, end;
	const void *of;
};

/* Sorted by start; a range may lie in the one before. */
struct symbol_list {
	struct symbol_range *list;
	size_t n, room;
};

struct units; /* of DWARF */
struct go_table;
struct known_place;

struct symbol_module {
	char *path; /* the key: path, NUL, build ID */
	uint8_t id[SYMBOL_ID_MOST];
	unsigned id_bytes;
	pid_t pid;					/* of a perf map, else 0 */
	bool opened, has_table, has_go, functions_only; /* has_: it was looked for */
	enum symbol_status status;
	struct Dwfl *dwfl;
	struct Dwfl_Module *dwfl_module;
	int fd;		  /* libdwfl's */
	uint64_t inode;	  /* of that */
	const char *link; /* its path when it was opened; NULL: unknown */
	struct symbol_segment {
		uint64_t offset, address, file_bytes, bytes;
	} segments[SYMBOL_SEGMENTS_MOST];
	unsigned n_segments;
	struct symbol_list table; /* of names */
	struct symbol_list all;	  /* of the kernel: with each name of an address, not sorted */
	struct symbol_list stubs; /* of offsets of names in the section stub_strings */
	size_t stub_strings;
	struct go_table *go; /* NULL: it is no Go program */
	struct units *units; /* NULL: not listed yet */
	struct known_place *places;
	UT_hash_handle hh;
};

struct text; /* an interned one */

struct symbols {
	struct pmc_arena arena;
	const char *root;
	struct symbol_module *modules;
	struct text *texts, *names, *starts;
};

/* symbols_text() of a name that is perhaps mangled; NULL: it is empty. */
const char *symbol_name(struct symbols *symbols, const char *raw);

/* module.c. Without support there are no modules. */
extern const bool symbol_supported;
/* Reads files that become shorter meanwhile, from now on. */
void symbol_survive_shrinking(void);
/* Opens a file below a root directory, where its symbolic links stay; -1: cannot. */
int symbol_open_below(int root, const char *path);
void symbol_module_open(struct symbols *symbols, struct symbol_module *module);
void symbol_module_close(struct symbol_module *module);

/* table.c */
void symbol_list_add(struct pmc_arena *arena, struct symbol_list *list, uint64_t start,
		     uint64_t end, const void *of);
/* Equal starts stay in their order. */
void symbol_list_sort(struct pmc_arena *arena, struct symbol_list *list);
const struct symbol_range *symbol_list_find(const struct symbol_list *list, uint64_t address);
/* Of an open module. */
const struct symbol_range *symbol_table_find(struct symbols *symbols, struct symbol_module *module,
					     uint64_t address);
/* After symbol_table_find(): the name of the stub of a call to another module, FUNCTION@plt; NULL:
 * none is there. */
const char *symbol_stub_name(struct symbols *symbols, struct symbol_module *module,
			     uint64_t address, uint64_t *start);
enum symbol_status symbol_perf_map_read(struct symbols *symbols, struct symbol_module *module);
enum symbol_status symbol_kernel_read(struct symbols *symbols, struct symbol_module *module);

/* dwarf.c: fills in up to `most` frames, the innermost first; 0: none. */
unsigned symbol_dwarf_frames(struct symbols *symbols, struct symbol_module *module,
			     uint64_t address, struct symbol_frame *frames, unsigned most);

/* go.c: adds the functions of a Go program to the table. */
void symbol_go_read(struct symbols *symbols, struct symbol_module *module);
/* Sets file and line, if the program has them, once the table was read. */
void symbol_go_line(struct symbols *symbols, const struct symbol_module *module, uint64_t address,
		    struct symbol_frame *frame);
