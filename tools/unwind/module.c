/* SPDX-License-Identifier: MIT */
/* module.c - programs and libraries: their segments, and the unwind rules of their code. */
#include "lib/base/file.h"
#include "tools/unwind/private.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

enum { MODULES_MOST = PMC_NO_MODULE, SEGMENTS_MOST = 16 };

struct unwind_elf {
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi;
	struct {
		uint64_t offset, end, address;
	} segments[SEGMENTS_MOST];
	unsigned n;
};

/* For unwind_module_at(). */
static bool list_module(struct unwind *unwind, struct unwind_module *module)
{
	struct unwind_module **list = unwind->list;
	const unsigned n = unwind->n_modules;

	if (!(n & (n - 1)))
		list = realloc(list, (n ? 2 * n : 1) * sizeof(struct unwind_module *));
	if (!list)
		return false;
	unwind->list = list;
	list[unwind->n_modules++] = module;
	return true;
}

struct unwind_module *unwind_module_at(const struct unwind *unwind, uint64_t word)
{
	const unsigned index = PMC_STACK_MODULE(word);

	return index < unwind->n_modules ? unwind->list[index] : NULL;
}

struct unwind_module *unwind_module(struct unwind *unwind, const char *path, const void *id,
				    size_t bytes)
{
	struct pmc_arena *arena = &unwind->arena;
	char key[UNWIND_KEY];
	struct unwind_module *module;
	size_t len = strnlen(path, sizeof(key) - sizeof(module->id) - 1);

	bytes = bytes < sizeof(module->id) ? bytes : sizeof(module->id);
	memcpy(key, path, len);
	key[len] = '\0';
	if (bytes)
		memcpy(key + len + 1, id, bytes);
	HASH_FIND(hh, unwind->modules, key, len + 1 + bytes, module);
	if (module || unwind->n_modules == MODULES_MOST)
		return module;
	module = pmc_arena_alloc(arena, sizeof(*module));
	if (!module)
		return NULL;
	module->path = pmc_arena_strndup(arena, key, len + 1 + bytes);
	if (!module->path)
		return NULL;
	memcpy(module->id, key + len + 1, bytes);
	module->id_bytes = (unsigned)bytes;
	module->index = unwind->n_modules;
	if (!list_module(unwind, module))
		return NULL;
	HASH_ADD_KEYPTR(hh, unwind->modules, module->path, len + 1 + bytes, module);
	return module;
}

static void read_segments(struct unwind_elf *elf)
{
	size_t n = 0;
	GElf_Phdr head;

	if (elf_getphdrnum(elf->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && elf->n < SEGMENTS_MOST; i++) {
		if (!gelf_getphdr(elf->elf, (int)i, &head) || head.p_type != PT_LOAD)
			continue;
		elf->segments[elf->n].offset = head.p_offset;
		elf->segments[elf->n].end = head.p_offset + head.p_filesz;
		elf->segments[elf->n++].address = head.p_vaddr;
	}
}

/* Whether the file is the one that was mapped; takes its build ID where the kernel gave none. */
static bool has_id(struct unwind_module *module, Elf *elf)
{
	const void *id;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);

	if (bytes < 0)
		bytes = 0;
	if (module->id_bytes)
		return (size_t)bytes == module->id_bytes && !memcmp(id, module->id, (size_t)bytes);
	if ((size_t)bytes <= sizeof(module->id)) {
		memcpy(module->id, id, (size_t)bytes);
		module->id_bytes = (unsigned)bytes;
	}
	return true;
}

static void open_module(struct unwind_module *module)
{
	struct unwind_elf *elf = calloc(1, sizeof(*elf));

	module->opened = true;
	if (!elf)
		return;
	elf_version(EV_CURRENT);
	elf->fd = pmc_file_open_regular(module->path, 0);
	/* Not mapped: the job may truncate the file. */
	elf->elf = elf->fd < 0 ? NULL : elf_begin(elf->fd, ELF_C_READ, NULL);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF || !has_id(module, elf->elf)) {
		elf_end(elf->elf);
		if (elf->fd >= 0)
			close(elf->fd);
		free(elf);
		return;
	}
	read_segments(elf);
	elf->cfi = dwarf_getcfi_elf(elf->elf);
	module->elf = elf;
}

uint64_t unwind_module_address(struct unwind_module *module, uint64_t file_offset)
{
	if (!module->opened)
		open_module(module);
	for (unsigned i = 0; module->elf && i < module->elf->n; i++)
		if (file_offset >= module->elf->segments[i].offset &&
		    file_offset < module->elf->segments[i].end)
			return file_offset - module->elf->segments[i].offset +
			       module->elf->segments[i].address;
	return file_offset;
}

Dwarf_CFI *unwind_module_cfi(struct unwind_module *module)
{
	if (!module->opened)
		open_module(module);
	return module->elf ? module->elf->cfi : NULL;
}

void unwind_modules_close(struct unwind *unwind)
{
	for (unsigned i = 0; i < unwind->n_modules; i++) {
		struct unwind_elf *elf = unwind->list[i]->elf;

		unwind->list[i]->elf = NULL;
		if (!elf)
			continue;
		dwarf_cfi_end(elf->cfi);
		elf_end(elf->elf);
		close(elf->fd);
		free(elf);
	}
	free(unwind->list);
	unwind->list = NULL;
	unwind->n_modules = 0;
}
