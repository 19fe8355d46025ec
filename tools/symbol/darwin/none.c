/* SPDX-License-Identifier: MIT */
/*
 * none.c - no symbol tables on macOS, where pmctl is built without elfutils; see private.h.
 *
 * Addresses of dumps are shown as module and offset.
 */
#include "tools/symbol/private.h"

const bool symbol_supported = false;

void symbol_survive_shrinking(void)
{
}

bool symbols_shrunk(void)
{
	return false;
}

bool symbols_has_file(const char *path)
{
	(void)path;
	return false;
}

void symbol_module_open(struct symbols *symbols, struct symbol_module *module)
{
	(void)symbols, (void)module;
}

void symbol_module_close(struct symbol_module *module)
{
	(void)module;
}

enum symbol_status symbol_perf_map_read(struct symbols *symbols, struct symbol_module *module)
{
	(void)symbols, (void)module;
	return SYMBOL_MISSING;
}

enum symbol_status symbol_kernel_read(struct symbols *symbols, struct symbol_module *module)
{
	(void)symbols, (void)module;
	return SYMBOL_MISSING;
}

bool symbols_file_offset(struct symbols *symbols, struct symbol_module *module, uint64_t address,
			 uint64_t *offset)
{
	(void)symbols, (void)module, (void)address, (void)offset;
	return false;
}

const struct symbol_range *symbol_table_find(struct symbols *symbols, struct symbol_module *module,
					     uint64_t address)
{
	(void)symbols, (void)module, (void)address;
	return NULL;
}

const char *symbol_stub_name(struct symbols *symbols, struct symbol_module *module,
			     uint64_t address, uint64_t *start)
{
	(void)symbols, (void)module, (void)address, (void)start;
	return NULL;
}

unsigned symbol_dwarf_frames(struct symbols *symbols, struct symbol_module *module,
			     uint64_t address, struct symbol_frame *frames, unsigned most)
{
	(void)symbols, (void)module, (void)address, (void)frames, (void)most;
	return 0;
}

void symbol_go_line(struct symbols *symbols, const struct symbol_module *module, uint64_t address,
		    struct symbol_frame *frame)
{
	(void)symbols, (void)module, (void)address, (void)frame;
}

unsigned symbols_demangle(const char *name, char *text, unsigned cap)
{
	(void)name, (void)text, (void)cap;
	return 0;
}

const char *symbols_function(struct symbols *symbols, struct symbol_module *module, uint64_t offset)
{
	(void)symbols, (void)module, (void)offset;
	return NULL;
}
