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
	module->path = pmc_arena_strndup(arena, key, len + 1 + bytes);
	memcpy(module->id, key + len + 1, bytes);
	module->id_bytes = (unsigned)bytes;
	module->index = unwind->n_modules;
	unwind->list = pmc_arena_grow(arena, unwind->list, unwind->n_modules, &unwind->room,
				      sizeof(struct unwind_module *));
	unwind->list[unwind->n_modules++] = module;
	HASH_ADD_KEYPTR(hh, unwind->modules, module->path, len + 1 + bytes, module);
	return module;
}

static void close_elf(struct unwind_elf *elf)
{
	if (!elf)
		return;
	dwarf_cfi_end(elf->cfi);
	elf_end(elf->elf);
	if (elf->fd >= 0)
		close(elf->fd);
	free(elf);
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

/* The file of a module; NULL: it cannot be read, or is another one. */
static struct unwind_elf *elf_of(struct unwind_module *module)
{
	struct unwind_elf *elf = module->elf;

	if (module->opened)
		return elf;
	module->opened = true;
	elf = calloc(1, sizeof(*elf));
	if (!elf)
		return NULL;
	elf_version(EV_CURRENT);
	elf->fd = pmc_file_open_regular(module->path, 0);
	/* Not mapped: the job may truncate the file. */
	elf->elf = elf->fd < 0 ? NULL : elf_begin(elf->fd, ELF_C_READ, NULL);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF || !has_id(module, elf->elf)) {
		close_elf(elf);
		return NULL;
	}
	read_segments(elf);
	elf->cfi = dwarf_getcfi_elf(elf->elf);
	module->elf = elf;
	return elf;
}

uint64_t unwind_module_address(struct unwind_module *module, uint64_t file_offset)
{
	const struct unwind_elf *elf = elf_of(module);

	for (unsigned i = 0; elf && i < elf->n; i++)
		if (file_offset >= elf->segments[i].offset && file_offset < elf->segments[i].end)
			return file_offset - elf->segments[i].offset + elf->segments[i].address;
	return file_offset;
}

Dwarf_CFI *unwind_module_cfi(struct unwind_module *module)
{
	const struct unwind_elf *elf = elf_of(module);

	return elf ? elf->cfi : NULL;
}

void unwind_modules_close(struct unwind *unwind)
{
	for (unsigned i = 0; i < unwind->n_modules; i++)
		close_elf(unwind->list[i]->elf);
	unwind->n_modules = 0;
}
