/* SPDX-License-Identifier: MIT */
/* module.c - opens the ELF file of a module, if it is the file that was measured. */
#include "lib/base/file.h"
#include "tools/symbol/private.h"

#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* An empty ID fits any ELF file. */
static enum symbol_status check(int fd, const uint8_t *id, unsigned id_bytes)
{
	enum symbol_status status = SYMBOL_BAD;
	const void *is;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		status = !id_bytes || (dwelf_elf_gnu_build_id(elf, &is) == (ssize_t)id_bytes &&
				       !memcmp(is, id, id_bytes)) ?
				 SYMBOL_OPEN :
				 SYMBOL_DIFFERS;
	elf_end(elf);
	return status;
}

bool symbol_has_id(int fd, const uint8_t *id, unsigned id_bytes)
{
	return id_bytes && check(fd, id, id_bytes) == SYMBOL_OPEN;
}

/* A copy of the kernel's vdso, as this process has it. */
static int open_vdso(void)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *head = (const void *)image;
	size_t bytes;
	int fd;

	if (!image || head->e_ident[EI_CLASS] != ELFCLASS64)
		return -1;
	bytes = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, image, bytes) == (ssize_t)bytes)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void open_dwfl(struct symbols *symbols, struct symbol_module *module, int fd,
		      const char *path)
{
	void **user;

	module->dwfl = dwfl_begin(&symbols->callbacks);
	if (module->dwfl) {
		/* At address 0: addresses are those of the file. */
		module->dwfl_module =
			dwfl_report_elf(module->dwfl, module->path, path, fd, 0, true);
		dwfl_report_end(module->dwfl, NULL, NULL);
	}
	if (!module->dwfl_module) {
		close(fd);
		module->status = SYMBOL_BAD;
		return;
	}
	dwfl_module_info(module->dwfl_module, &user, NULL, NULL, NULL, NULL, NULL, NULL);
	*user = symbols;
	symbol_table_read(module);
}

/* The file without the root, if it is of that build; else -1. */
static int open_own(const struct symbol_module *module, char path[SYMBOL_PATH_MAX])
{
	int fd = pmc_file_open_regular(module->path, 0);

	if (fd >= 0 && !symbol_has_id(fd, module->id, module->id_bytes)) {
		close(fd);
		return -1;
	}
	if (fd >= 0)
		snprintf(path, SYMBOL_PATH_MAX, "%s", module->path);
	return fd;
}

void symbol_module_open(struct symbols *symbols, struct symbol_module *module)
{
	const bool vdso = !strcmp(module->path, "[vdso]");
	char path[SYMBOL_PATH_MAX];
	int fd, other;

	snprintf(path, sizeof(path), "%s%s", vdso ? "" : symbols->root, module->path);
	fd = vdso ? open_vdso() : pmc_file_open_regular(path, 0);
	module->status = fd >= 0 ? check(fd, module->id, module->id_bytes) : SYMBOL_MISSING;
	/* The machine's own file, or the debug file of the right build, which has symbols, too. */
	if (module->status != SYMBOL_OPEN) {
		other = *symbols->root && !vdso ? open_own(module, path) : -1;
		if (other < 0)
			other = symbol_find_by_id(symbols, module->id, module->id_bytes, path);
		if (fd >= 0)
			close(fd);
		fd = other;
		if (fd >= 0)
			module->status = SYMBOL_OPEN;
	}
	if (fd >= 0)
		open_dwfl(symbols, module, fd, path);
}

void symbol_module_close(struct symbol_module *module)
{
	symbol_units_free(&module->units);
	free(module->table.list);
	module->table = (struct symbol_table){ 0 };
	if (module->dwfl)
		dwfl_end(module->dwfl);
	module->dwfl = NULL;
	module->dwfl_module = NULL;
}
