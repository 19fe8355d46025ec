/* SPDX-License-Identifier: MIT */
/*
 * map.c - regular files as memory, so that a big input is sorted where it lies.
 *
 * A file that shrinks under its map, or a disk that fails, is a SIGBUS: the guard turns it into
 * an error. What run() held then is lost with the process, which has nothing left to do.
 */
#include "tools/merge/sort.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Below this a copy is cheaper than a map. */
#define MAP_MIN ((off_t)256 << 10)
/* Beyond this all is read and spilled: frames of one process lie all over its file, and pages
 * that come and go cost more than writing and reading once in order. */
#define MAP_TOTAL ((size_t)768 << 20)

bool merge_maps_add(struct merge_maps *maps, int fd, struct merge_map *map)
{
	struct stat st;
	off_t at = lseek(fd, 0, SEEK_CUR);
	size_t total = 0;
	void *data;

	for (size_t i = 0; i < maps->n; i++)
		total += maps->list[i].len;
	if (at != 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < MAP_MIN)
		return false;
	if ((size_t)st.st_size > MAP_TOTAL - total)
		return false;
	if (maps->n == maps->room) {
		size_t room = maps->room ? maps->room * 2 : 16;
		struct merge_map *more = realloc(maps->list, room * sizeof(*more));

		if (!more)
			return false;
		maps->list = more;
		maps->room = room;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return false;
	*map = (struct merge_map){ .data = data, .len = (size_t)st.st_size };
	maps->list[maps->n++] = *map;
	return true;
}

void merge_maps_close(struct merge_maps *maps, size_t keep)
{
	if (maps->n <= keep)
		return;
	for (size_t i = 0; i < maps->n - keep; i++)
		munmap(maps->list[i].data, maps->list[i].len);
	memmove(maps->list, maps->list + maps->n - keep, keep * sizeof(*maps->list));
	maps->n = keep;
}

static sigjmp_buf back;

static void on_bus(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

int merge_maps_guard(int (*run)(void *arg), void *arg)
{
	struct sigaction action = { .sa_handler = on_bus }, old;
	int error;

	sigaction(SIGBUS, &action, &old);
	if (sigsetjmp(back, 1) == 0)
		error = run(arg);
	else
		error = -EIO;
	sigaction(SIGBUS, &old, NULL);
	return error;
}
