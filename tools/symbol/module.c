/* SPDX-License-Identifier: MIT */
/*
 * module.c - opens the ELF file of a module, if it is the file that was measured, and finds its
 * symbols elsewhere: in debug packages, by a debug link, in the cache of debuginfod, and from
 * debuginfod itself if the user has set DEBUGINFOD_URLS.
 *
 * libelf maps files. A read of a page that the file no longer has is a SIGBUS, at any place in
 * libdw. The handler puts a page of zeros there, as if the file had been damaged before.
 *
 * A file is used if its build ID is that of the module. Debug links of modules without a build ID
 * are not followed: their checksum says nothing about the file that was measured.
 */
#include "lib/base/file.h"
#include "tools/symbol/private.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const bool symbol_supported = true;

/* ---- files that become shorter ------------------------------------------------------------- */

static uintptr_t page;
static _Atomic bool shrunk;

bool symbols_shrunk(void)
{
	return atomic_load(&shrunk);
}

static void on_bus(int signo, siginfo_t *info, void *context)
{
	void *at = (void *)((uintptr_t)info->si_addr & ~(page - 1));
	const int saved = errno;

	(void)context;
	/* A private page replaces one of a file only: other memory has no such error. */
	if (info->si_code == BUS_ADRERR &&
	    mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != MAP_FAILED) {
		atomic_store(&shrunk, true);
	} else {
		/* From a process, or of the hardware. */
		signal(signo, SIG_DFL);
		raise(signo);
	}
	errno = saved;
}

void symbol_survive_shrinking(void)
{
	const struct sigaction action = { .sa_sigaction = on_bus,
					  .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct sigaction old;

	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(SIGBUS, &action, NULL);
}

/* ---- files by build ID --------------------------------------------------------------------- */

/* The build ID of a file. Returns its bytes; 0: none; -1: it is no ELF file. */
static int read_id(int fd, uint8_t id[SYMBOL_ID_MOST])
{
	const void *found;
	ssize_t bytes = -1;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		bytes = dwelf_elf_gnu_build_id(elf, &found);
		bytes = bytes > 0 && bytes <= SYMBOL_ID_MOST ? bytes : 0;
		if (bytes)
			memcpy(id, found, (size_t)bytes);
	}
	elf_end(elf);
	return (int)bytes;
}

/* An empty ID fits any ELF file. */
static enum symbol_status check(int fd, const uint8_t *id, unsigned id_bytes)
{
	uint8_t is[SYMBOL_ID_MOST];
	const int bytes = read_id(fd, is);

	if (bytes < 0)
		return SYMBOL_BAD;
	return !id_bytes || (bytes == (int)id_bytes && !memcmp(is, id, id_bytes)) ? SYMBOL_OPEN :
										    SYMBOL_DIFFERS;
}

/* The file at a path if it has that build ID; else -1. */
static int open_build(const char *path, const uint8_t *id, unsigned id_bytes)
{
	int fd = pmc_file_open_regular(path, 0);

	if (fd >= 0 && (!id_bytes || check(fd, id, id_bytes) != SYMBOL_OPEN)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool symbols_is_build(const char *path, const uint8_t *id, unsigned id_bytes)
{
	const int fd = open_build(path, id, id_bytes);

	pmc_fd_close(fd);
	return fd >= 0;
}

/* ---- files of processes with another root --------------------------------------------------- */

static int roots[SYMBOL_ROOTS_MOST];
static unsigned n_roots;

bool symbols_add_root(int fd)
{
	if (n_roots == SYMBOL_ROOTS_MOST)
		return false;
	roots[n_roots++] = fd;
	return true;
}

/* Its symbolic links lead nowhere else. Linux before 5.6: -1. */
int symbol_open_below(int root, const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	const int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	int again = -1;

	if (fd >= 0) {
		again = pmc_fd_reopen(fd);
		close(fd);
	}
	return again;
}

unsigned symbols_file_id(int root, const char *path, uint8_t id[SYMBOL_ID_MOST])
{
	const int fd = symbol_open_below(root, path), bytes = fd < 0 ? 0 : read_id(fd, id);

	pmc_fd_close(fd);
	return bytes > 0 ? (unsigned)bytes : 0;
}

static int open_in_roots(const char *path, const uint8_t *id, unsigned id_bytes)
{
	for (unsigned i = 0; i < n_roots; i++) {
		const int fd = symbol_open_below(roots[i], path);

		if (fd >= 0 && check(fd, id, id_bytes) == SYMBOL_OPEN)
			return fd;
		pmc_fd_close(fd);
	}
	return -1;
}

/* ---- files that their paths no longer lead to ------------------------------------------------ */

static struct kept_file {
	int fd;
	const char *path; /* of the module */
	uint8_t id[SYMBOL_ID_MOST];
	unsigned id_bytes;
} kept[SYMBOL_FILES_MOST];
static unsigned n_kept;

static const struct kept_file *find_kept(const char *path, const uint8_t *id, unsigned id_bytes)
{
	for (const struct kept_file *file = kept; file < kept + n_kept; file++)
		if (id_bytes ? file->id_bytes == id_bytes && !memcmp(file->id, id, id_bytes) :
			       !strcmp(file->path, path))
			return file;
	return NULL;
}

static int open_kept(const struct symbol_module *module)
{
	const struct kept_file *file = find_kept(module->path, module->id, module->id_bytes);

	return file ? fcntl(file->fd, F_DUPFD_CLOEXEC, 0) : -1;
}

bool symbols_add_file(struct symbol_module *module, int fd)
{
	struct kept_file *file = &kept[n_kept];
	int bytes;

	if (n_kept == SYMBOL_FILES_MOST || check(fd, module->id, module->id_bytes) != SYMBOL_OPEN ||
	    !(file->path = strdup(module->path))) {
		pmc_fd_close(fd);
		return false;
	}
	/* The file may have changed since. */
	bytes = read_id(fd, file->id);
	file->id_bytes = bytes > 0 ? (unsigned)bytes : 0;
	file->fd = fd;
	n_kept++;
	/* One that was not found is opened again. */
	module->opened &= module->status == SYMBOL_OPEN;
	return true;
}

bool symbols_has_file(const char *path)
{
	return find_kept(path, NULL, 0) != NULL;
}

/* The path of an open file now. Returns its length; 0: unknown. */
static size_t path_of(int fd, char path[SYMBOL_PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, SYMBOL_PATH_MAX);
	return n > 0 && n < SYMBOL_PATH_MAX ? (size_t)n : 0;
}

static void note_file(struct symbols *symbols, struct symbol_module *module, int fd)
{
	char path[SYMBOL_PATH_MAX];
	struct stat st;
	const size_t n = fstat(fd, &st) == 0 ? path_of(fd, path) : 0;

	module->fd = fd;
	module->inode = n ? st.st_ino : 0;
	module->link = n ? pmc_arena_strndup(&symbols->arena, path, n) : NULL;
}

void symbols_keep_files(struct symbols *symbols)
{
	for (struct symbol_module *at = symbols->modules; at; at = at->hh.next) {
		char path[SYMBOL_PATH_MAX];
		struct stat st;
		size_t n;

		if (!at->dwfl_module || !at->link || fstat(at->fd, &st) != 0 ||
		    st.st_ino != at->inode || find_kept(at->path, at->id, at->id_bytes))
			continue;
		n = path_of(at->fd, path);
		if (n && (n != strlen(at->link) || memcmp(path, at->link, n) != 0))
			symbols_add_file(at, fcntl(at->fd, F_DUPFD_CLOEXEC, 0));
	}
}

/* ---- symbols that are not in the file of the module ----------------------------------------- */

struct search {
	const char *root;
	const uint8_t *id;
	unsigned id_bytes;
	char hex[2 * SYMBOL_ID_MOST + 1];
	char path[SYMBOL_PATH_MAX]; /* the last one that was tried */
};

static bool search_init(struct search *search, const struct symbols *symbols, const uint8_t *id,
			unsigned id_bytes)
{
	*search = (struct search){ .root = symbols->root, .id = id, .id_bytes = id_bytes };
	if (id_bytes < 2 || id_bytes > SYMBOL_ID_MOST)
		return false;
	for (unsigned i = 0; i < id_bytes; i++)
		snprintf(search->hex + 2 * i, 3, "%02x", id[i]);
	return true;
}

/* The file at that path if it is of the module, else -1. */
__attribute__((format(printf, 2, 3))) static int try(struct search *search, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(search->path, sizeof(search->path), format, args);
	va_end(args);
	return open_build(search->path, search->id, search->id_bytes);
}

static int try_package(struct search *search)
{
	return try(search, "%s/usr/lib/debug/.build-id/%.2s/%s.debug", search->root, search->hex,
		   search->hex + 2);
}

/* As debuginfod's client does. */
static int try_cache(struct search *search, const char *kind)
{
	static const char *const places[][2] = {
		{ "DEBUGINFOD_CACHE_PATH", "" },
		{ "XDG_CACHE_HOME", "/debuginfod_client" },
		{ "HOME", "/.cache/debuginfod_client" },
	};

	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *dir = getenv(places[i][0]);

		if (dir && *dir)
			return try(search, "%s%s/%s/%s", dir, places[i][1], search->hex, kind);
	}
	return -1;
}

/* `link` is the name in .gnu_debuglink, which gdb looks for in the same places. */
static int try_link(struct search *search, const char *file, const char *link)
{
	const char *slash = strrchr(file, '/'), *root = search->root;
	const int dir = slash ? (int)(slash - file) : 0;
	const size_t below = strlen(root) <= (size_t)dir ? strlen(root) : 0;
	int fd;

	if (!link || !*link || strchr(link, '/') || !slash)
		return -1;
	fd = try(search, "%.*s/%s", dir, file, link);
	if (fd < 0)
		fd = try(search, "%.*s/.debug/%s", dir, file, link);
	return fd < 0 ? try(search, "%s/usr/lib/debug%.*s/%s", root, dir - (int)below, file + below,
			    link) :
			fd;
}

static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	const unsigned char *id;
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct search search;
	GElf_Addr at;
	int n = dwfl_module_build_id(module, &id, &at), fd = -1;

	if (n <= 0 || !search_init(&search, *user, id, (unsigned)n))
		return -1;
	fd = try_package(&search);
	if (fd < 0)
		fd = try_link(&search, file, link);
	if (fd < 0)
		fd = try_cache(&search, "debuginfo");
	if (fd >= 0) {
		*found = strdup(search.path);
		return fd;
	}
	if (!urls || !*urls)
		return -1;
	return dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, found);
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
	pmc_fd_close(fd);
	return -1;
}

/* Segments, and the build ID where none was given. */
static void read_headers(struct symbol_module *module)
{
	const unsigned char *id;
	GElf_Addr at;
	Elf *elf = dwfl_module_getelf(module->dwfl_module, &at);
	size_t n = 0;
	int bytes;

	if (!elf || elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && module->n_segments < SYMBOL_SEGMENTS_MOST; i++) {
		GElf_Phdr head;

		if (gelf_getphdr(elf, (int)i, &head) && head.p_type == PT_LOAD)
			module->segments[module->n_segments++] =
				(struct symbol_segment){ head.p_offset, head.p_vaddr, head.p_filesz,
							 head.p_memsz };
	}
	bytes = module->id_bytes ? 0 : dwfl_module_build_id(module->dwfl_module, &id, &at);
	if (bytes > 0 && bytes <= SYMBOL_ID_MOST) {
		memcpy(module->id, id, (size_t)bytes);
		module->id_bytes = (unsigned)bytes;
	}
}

static void open_dwfl(struct symbols *symbols, struct symbol_module *module, int fd,
		      const char *path)
{
	/* Absolute: elfutils looks nowhere else before it asks debuginfod. */
	static char system_only[] = "/usr/lib/debug", *debug_path = system_only;
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug_path,
	};
	void **user;

	note_file(symbols, module, fd);
	module->dwfl = dwfl_begin(&callbacks);
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
	read_headers(module);
}

void symbol_module_open(struct symbols *symbols, struct symbol_module *module)
{
	const bool vdso = !strcmp(module->path, "[vdso]");
	char path[SYMBOL_PATH_MAX];
	struct search search;
	int fd, other = -1;

	snprintf(path, sizeof(path), "%s%s", vdso ? "" : symbols->root, module->path);
	/* A build ID may be forged: the file at the path comes first. */
	fd = vdso ? open_vdso() : module->id_bytes ? -1 : open_kept(module);
	if (fd < 0 && !vdso)
		fd = pmc_file_open_regular(path, 0);
	module->status = fd >= 0 ? check(fd, module->id, module->id_bytes) : SYMBOL_MISSING;
	/* The machine's own file, or the debug file of the right build, which has symbols, too. */
	if (module->status != SYMBOL_OPEN) {
		snprintf(path, sizeof(path), "%s", module->path);
		if (*symbols->root && !vdso)
			other = open_build(path, module->id, module->id_bytes);
		if (other < 0)
			other = open_kept(module);
		if (other < 0)
			other = open_in_roots(path, module->id, module->id_bytes);
		if (other < 0 && search_init(&search, symbols, module->id, module->id_bytes)) {
			other = try_cache(&search, "executable");
			if (other < 0)
				other = try_package(&search);
			if (other < 0)
				other = try_cache(&search, "debuginfo");
			strcpy(path, search.path);
		}
		pmc_fd_close(fd);
		fd = other;
		if (fd >= 0)
			module->status = SYMBOL_OPEN;
	}
	if (fd >= 0)
		open_dwfl(symbols, module, fd, path);
}

void symbol_module_close(struct symbol_module *module)
{
	dwfl_end(module->dwfl);
}

bool symbols_file_offset(struct symbols *symbols, struct symbol_module *module, uint64_t address,
			 uint64_t *offset)
{
	symbols_status(symbols, module);
	for (unsigned i = 0; i < module->n_segments; i++) {
		const struct symbol_segment *at = &module->segments[i];

		if (address < at->address || address - at->address >= at->bytes)
			continue;
		*offset = address - at->address + at->offset;
		return true;
	}
	return false;
}

uint64_t symbols_address(struct symbols *symbols, struct symbol_module *module, uint64_t offset)
{
	symbols_status(symbols, module);
	for (unsigned i = 0; i < module->n_segments; i++) {
		const struct symbol_segment *at = &module->segments[i];

		if (offset >= at->offset && offset - at->offset < at->file_bytes)
			return offset - at->offset + at->address;
	}
	return offset;
}

struct Dwarf_CFI_s *symbols_unwind_rules(struct symbols *symbols, struct symbol_module *module)
{
	Dwarf_Addr bias;

	symbols_status(symbols, module);
	return module->dwfl_module ? dwfl_module_eh_cfi(module->dwfl_module, &bias) : NULL;
}

const char *symbols_function(struct symbols *symbols, struct symbol_module *module, uint64_t offset)
{
	const struct symbol_range *entry;
	Dwarf_Addr base;

	if (symbols_status(symbols, module) != SYMBOL_OPEN || !module->dwfl_module)
		return NULL;
	dwfl_module_info(module->dwfl_module, NULL, &base, NULL, NULL, NULL, NULL, NULL);
	entry = symbol_table_find(symbols, module, base + offset);
	return entry && entry->of && entry->start == base + offset ?
		       symbol_name(symbols, entry->of) :
		       NULL;
}
