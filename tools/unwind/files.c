/* SPDX-License-Identifier: MIT */
/*
 * files.c - files of modules whose path leads to another file or to none, as after an upgrade of a
 * running program. The kernel keeps a file while it is mapped.
 */
#include "lib/base/file.h"
#include "tools/symbol/symbol.h"
#include "tools/unwind/private.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the path of the module leads to its file, as far as is known. */
static bool is_there(struct unwind *unwind, const struct unwind_module *module)
{
	struct stat st;
	unsigned id_bytes;

	symbols_id(module->file, &id_bytes);
	if (!module->inode)
		return !id_bytes || symbols_status(unwind->symbols, module->file) == SYMBOL_OPEN;
	return stat(symbols_path(module->file), &st) == 0 && st.st_ino == module->inode;
}

/* A link in /proc to the file of the module; else -1. Its device is not that in /proc/PID/maps on
 * btrfs and overlayfs. */
static int open_link(const struct unwind_module *module, const char *link)
{
	const int fd = pmc_file_open_regular(link, 0);
	struct stat st;

	if (fd < 0 || !module->inode || (fstat(fd, &st) == 0 && st.st_ino == module->inode))
		return fd;
	pmc_fd_close(fd);
	return -1;
}

/* Needs CAP_CHECKPOINT_RESTORE. What was mapped above may have shortened the mapping. */
static int open_mapped(const struct unwind_image *image, const struct unwind_map *map)
{
	char pattern[64];
	glob_t links;
	int fd = -1;

	snprintf(pattern, sizeof(pattern), "/proc/%u/map_files/%" PRIx64 "-*", image->tid,
		 map->start);
	if (glob(pattern, GLOB_NOSORT, NULL, &links) == 0) {
		fd = open_link(map->module, links.gl_pathv[0]);
		globfree(&links);
	}
	return fd;
}

/* The program itself, which each user may open of own processes. */
static int open_program(const struct unwind_image *image, const struct unwind_module *module)
{
	const size_t len = module->path ? strlen(module->path) : 0;
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%u/exe", image->tid);
	n = readlink(link, path, sizeof(path));
	return n >= (ssize_t)len && !memcmp(path, module->path ? module->path : "", len) ?
		       open_link(module, link) :
		       -1;
}

void unwind_find_file(struct unwind *unwind, const struct unwind_image *image,
		      const struct unwind_map *map)
{
	struct unwind_module *module = map->module;
	int fd;

	module->is_found = true;
	if (is_there(unwind, module))
		return;
	fd = open_mapped(image, map);
	if (fd < 0)
		fd = open_program(image, module);
	if (fd >= 0)
		symbols_add_file(module->file, fd);
}
