/* SPDX-License-Identifier: MIT */
/*
 * debug_file.c - where the symbols of a module are if not in its file: debug packages, a debug
 * link, the cache of debuginfod, and debuginfod itself if the user has set DEBUGINFOD_URLS.
 *
 * A file is used if its build ID is that of the module. Debug links of modules without a build ID
 * are not followed: their checksum says nothing about the file that was measured.
 */
#include "lib/base/file.h"
#include "tools/symbol/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct search {
	const struct symbols *symbols;
	const uint8_t *id;
	unsigned id_bytes;
	char hex[2 * SYMBOL_ID_MOST + 1];
	char *path; /* SYMBOL_PATH_MAX */
};

static bool search_init(struct search *search, const struct symbols *symbols, const uint8_t *id,
			unsigned id_bytes, char *path)
{
	*search =
		(struct search){ .symbols = symbols, .id = id, .id_bytes = id_bytes, .path = path };
	if (id_bytes < 2 || id_bytes > SYMBOL_ID_MOST)
		return false;
	for (unsigned i = 0; i < id_bytes; i++)
		snprintf(search->hex + 2 * i, 3, "%02x", id[i]);
	return true;
}

/* The file at search->path if it is of the module, else -1. */
static int try(const struct search *search)
{
	int fd = pmc_file_open_regular(search->path, 0);

	if (fd >= 0 && !symbol_has_id(fd, search->id, search->id_bytes)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int try_package(const struct search *search, const char *suffix)
{
	snprintf(search->path, SYMBOL_PATH_MAX, "%s/usr/lib/debug/.build-id/%.2s/%s%s",
		 search->symbols->root, search->hex, search->hex + 2, suffix);
	return try(search);
}

/* As debuginfod's client does. */
static int try_cache(const struct search *search, const char *kind)
{
	const char *dir = getenv("DEBUGINFOD_CACHE_PATH"), *below = "";

	if (!dir || !*dir) {
		dir = getenv("XDG_CACHE_HOME");
		below = "/debuginfod_client";
	}
	if (!dir || !*dir) {
		dir = getenv("HOME");
		below = "/.cache/debuginfod_client";
	}
	if (!dir || !*dir)
		return -1;
	snprintf(search->path, SYMBOL_PATH_MAX, "%s%s/%s/%s", dir, below, search->hex, kind);
	return try(search);
}

int symbol_find_by_id(const struct symbols *symbols, const uint8_t *id, unsigned id_bytes,
		      char path[SYMBOL_PATH_MAX])
{
	struct search search;
	int fd;

	if (!search_init(&search, symbols, id, id_bytes, path))
		return -1;
	fd = try_cache(&search, "executable");
	if (fd < 0)
		fd = try_package(&search, ".debug");
	if (fd < 0)
		fd = try_cache(&search, "debuginfo");
	return fd;
}

/* `link` is the name in .gnu_debuglink, which gdb looks for in the same places. */
static int try_link(const struct search *search, const char *file, const char *link)
{
	const char *slash = strrchr(file, '/'), *root = search->symbols->root;
	const int dir = slash ? (int)(slash - file) : 0;
	const size_t below = strlen(root) <= (size_t)dir ? strlen(root) : 0;
	int fd;

	if (!link || !*link || strchr(link, '/') || !slash)
		return -1;
	snprintf(search->path, SYMBOL_PATH_MAX, "%.*s/%s", dir, file, link);
	fd = try(search);
	if (fd < 0) {
		snprintf(search->path, SYMBOL_PATH_MAX, "%.*s/.debug/%s", dir, file, link);
		fd = try(search);
	}
	if (fd < 0) {
		snprintf(search->path, SYMBOL_PATH_MAX, "%s/usr/lib/debug%.*s/%s", root,
			 dir - (int)below, file + below, link);
		fd = try(search);
	}
	return fd;
}

static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	const unsigned char *id;
	const char *urls = getenv("DEBUGINFOD_URLS");
	char path[SYMBOL_PATH_MAX];
	struct search search;
	GElf_Addr at;
	int n = dwfl_module_build_id(module, &id, &at), fd = -1;

	if (n <= 0 || !search_init(&search, *user, id, (unsigned)n, path))
		return -1;
	fd = try_package(&search, ".debug");
	if (fd < 0)
		fd = try_link(&search, file, link);
	if (fd < 0)
		fd = try_cache(&search, "debuginfo");
	if (fd >= 0) {
		*found = strdup(path);
		return fd;
	}
	if (!urls || !*urls)
		return -1;
	return dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, found);
}

Dwfl_Callbacks symbol_callbacks(struct symbols *symbols)
{
	/* Absolute: elfutils looks nowhere else before it asks debuginfod. */
	static char system_only[] = "/usr/lib/debug";

	symbols->debug_path = system_only;
	return (Dwfl_Callbacks){
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &symbols->debug_path,
	};
}
