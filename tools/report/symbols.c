/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - function names from ELF symbol tables: .symtab, else .dynsym, else the file that
 * /usr/lib/debug has for the build id. Names are not demangled.
 */
#include "tools/report/symbols.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct elf_file {
	int fd;
	Elf *elf;
};

static void elf_close(struct elf_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct elf_file){ .fd = -1 };
}

/* The path comes from a dump: it may name a pipe or a device, which must not be waited for. */
static bool elf_open(struct elf_file *file, const char *path)
{
	struct stat st;

	*file = (struct elf_file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
	if (file->fd < 0)
		return false;
	if (fstat(file->fd, &st) == 0 && S_ISREG(st.st_mode) && elf_version(EV_CURRENT) != EV_NONE)
		file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	if (file->elf && elf_kind(file->elf) == ELF_K_ELF)
		return true;
	elf_close(file);
	return false;
}

/* Where the first byte of the file image lies in the addresses that symbols are given in. */
static uint64_t load_base(Elf *elf)
{
	uint64_t base = UINT64_MAX;
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
		    phdr.p_vaddr < base)
			base = phdr.p_vaddr;
	}
	return base == UINT64_MAX ? 0 : base & ~(uint64_t)4095;
}

/* Copies the name of the function at `address`, a global one if there are several. */
static size_t search(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t address,
		     char *name, size_t cap)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	size_t len = 0;

	for (size_t i = 0; data && i < n; i++) {
		const char *text;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value != address ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		text = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!text || !*text)
			continue;
		len = (size_t)snprintf(name, cap, "%s", text);
		if (GELF_ST_BIND(symbol.st_info) == STB_GLOBAL)
			break;
	}
	return len < cap ? len : cap - 1;
}

static size_t search_tables(Elf *elf, uint64_t address, char *name, size_t cap)
{
	static const GElf_Word kinds[] = { SHT_SYMTAB, SHT_DYNSYM };
	size_t len = 0;

	for (unsigned k = 0; k < 2 && !len; k++) {
		for (Elf_Scn *s = elf_nextscn(elf, NULL); s && !len; s = elf_nextscn(elf, s)) {
			GElf_Shdr header;

			if (gelf_getshdr(s, &header) && header.sh_type == kinds[k])
				len = search(elf, s, &header, address, name, cap);
		}
	}
	return len;
}

static bool debug_path(Elf *elf, char *path, size_t cap)
{
	const void *id;
	const unsigned char *bytes;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &id);
	int at;

	if (len < 2 || len > 64)
		return false;
	bytes = id;
	at = snprintf(path, cap, "/usr/lib/debug/.build-id/%02x/", bytes[0]);
	for (ssize_t i = 1; i < len; i++)
		at += snprintf(path + at, cap - (size_t)at, "%02x", bytes[i]);
	snprintf(path + at, cap - (size_t)at, ".debug");
	return true;
}

size_t symbols_lookup(const char *module, uint64_t offset, char *name, size_t cap)
{
	struct elf_file file, debug;
	char path[256];
	uint64_t address;
	size_t len;

	if (!elf_open(&file, module))
		return 0;
	address = load_base(file.elf) + offset;
	len = search_tables(file.elf, address, name, cap);
	if (!len && debug_path(file.elf, path, sizeof(path)) && elf_open(&debug, path)) {
		len = search_tables(debug.elf, address, name, cap);
		elf_close(&debug);
	}
	elf_close(&file);
	return len;
}

static const char *find(struct pmc_arena *arena, const char *module, uint64_t offset)
{
	char name[1024];
	size_t len = symbols_lookup(module, offset, name, sizeof(name));

	return len ? pmc_arena_strndup(arena, name, len) : NULL;
}

void symbols_resolve(struct pmc_profile *profile, const char *host)
{
	char name[256] = "";

	if (!host) {
		gethostname(name, sizeof(name) - 1);
		host = name;
	}
	pmc_profile_name_sites(profile, host, find);
}
