/* SPDX-License-Identifier: MIT */
/* memory.c - reads another process's memory and the list of its mapped files. */
#include "tools/attach/attach.h"
#include "tools/cli/list.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u
/* Bounds that no real process reaches: of /proc/PID/maps, and of data to search. */
#define MOST_MAPS   ((size_t)16 << 20)
#define MOST_SEARCH ((uint64_t)1 << 30)
/* Beyond the data segment of the agent. */
#define MOST_DATA ((uint64_t)1 << 20)

static int move(const struct attach *target, uint64_t address, char *at, size_t len, bool to_target)
{
	while (len > 0) {
		ssize_t n = to_target ? pwrite(target->mem, at, len, (off_t)address) :
					pread(target->mem, at, len, (off_t)address);

		/* 0 bytes: the process has ended or called exec. EIO: not mapped. */
		if (n <= 0)
			return n == 0 ? -ESRCH : errno == EIO || errno == EINVAL ? -EFAULT : -errno;
		at += n;
		address += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int attach_read(const struct attach *target, uint64_t address, void *to, size_t len)
{
	return move(target, address, to, len, false);
}

int attach_write(const struct attach *target, uint64_t address, const void *from, size_t len)
{
	return move(target, address, (char *)(uintptr_t)from, len, true);
}

const void *attach_copy(void *from, enum reader_copy kind, uint64_t address, size_t bytes)
{
	struct attach *target = from;
	/* An address and a size that the process claims. */
	void *copy = realloc(target->copies[kind], bytes + 1);

	if (!copy)
		return NULL;
	target->copies[kind] = copy;
	return attach_read(target, address, copy, bytes) == 0 ? copy : NULL;
}

int attach_read_text(const struct attach *target, uint64_t address, char *to, size_t cap)
{
	size_t len = 0;

	*to = '\0';
	while (len + 1 < cap) {
		/* Not beyond the end of a page: the next may be unmapped. */
		size_t n = PAGE - (size_t)((address + len) % PAGE);
		int error;

		if (n > cap - 1 - len)
			n = cap - 1 - len;
		error = attach_read(target, address + len, to + len, n);
		if (error) {
			to[len] = '\0';
			return error;
		}
		if (memchr(to + len, '\0', n))
			return 0;
		len += n;
	}
	to[len] = '\0';
	return 0;
}

/* ---- maps ---------------------------------------------------------------------------------*/
static void add_image(struct attach *target, uint64_t start, uint64_t end, const char *path)
{
	const size_t bytes = strlen(path) + 1;

	target->images = tool_list_grow(target->images, target->n_images, &target->image_room,
					sizeof(*target->images));
	target->images[target->n_images++] =
		(struct attach_image){ start, end, memcpy(tool_realloc(NULL, bytes), path, bytes) };
}

struct search {
	struct attach *target;
	uint64_t left;
	bool sound; /* target->address is that of a control block of this version */
};

/* Any program may have the magic in its data. A block of another version is kept for the message
 * that names the version, if no other block is found. */
static void consider(struct search *search, uint64_t address)
{
	struct attach *target = search->target;
	struct pmc_control head;
	bool sound;

	/* A candidate costs as much as reading a page. */
	search->left -= search->left < PAGE ? search->left : PAGE;
	if (attach_read(target, address, &head, offsetof(struct pmc_control, state)) != 0)
		return;
	sound = head.version == PMC_CONTROL_VERSION && head.bytes == sizeof(head);
	/* Another version of the agent, or other data with the magic. */
	if (!sound && (target->address || !head.version || head.version > 999 ||
		       head.bytes > sizeof(head) * 16))
		return;
	target->address = address;
	search->sound = sound;
}

/* Looks for the control block in the first MOST_DATA bytes of a data segment. */
static int find_control(struct search *search, uint64_t at, uint64_t end)
{
	static uint64_t words[8192];
	const uint64_t stop = end - at > MOST_DATA ? at + MOST_DATA : end;

	while (!search->sound && at < stop && search->left) {
		size_t len = stop - at < sizeof(words) ? stop - at : sizeof(words);
		int error = attach_read(search->target, at, words, len);

		/* A mapped data file, or a hole in a library. */
		if (error == -EFAULT)
			return 0;
		if (error)
			return error;
		for (size_t i = 0; !search->sound && search->left && i < len / sizeof(*words); i++)
			if (words[i] == PMC_CONTROL_MAGIC)
				consider(search, at + i * sizeof(*words));
		search->left -= len < search->left ? len : search->left;
		at += len;
	}
	return 0;
}

/* start-end perms offset dev inode path */
static int map_line(struct search *search, char *line)
{
	struct attach *target = search->target;
	struct attach_image *last = target->n_images ? &target->images[target->n_images - 1] : NULL;
	unsigned long long start, end, offset;
	char perms[5], *path;
	bool more;
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, perms, &offset, &at) != 4 ||
	    !at)
		return 0;
	path = line + at;
	path[strcspn(path, "\n")] = '\0';
	/* Data that is 0 at the start has no file, and lies behind the data that has. */
	more = last && (path[0] ? strcmp(last->path, path) == 0 && offset : start == last->end);
	if (more)
		last->end = end;
	else if (path[0] == '/' && !offset)
		add_image(target, start, end, path);
	return more && perms[1] == 'w' ? find_control(search, start, end) : 0;
}

int attach_maps(struct attach *target)
{
	int error = 0, fd = openat(target->image, "maps", O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	struct search search = { target, MOST_SEARCH, false };
	size_t room = 0, bytes = 0;
	char *line = NULL;

	if (!file) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	errno = 0;
	while (!error && bytes < MOST_MAPS && getline(&line, &room, file) >= 0) {
		bytes += strlen(line);
		error = map_line(&search, line);
	}
	if (!error && ferror(file))
		error = -(errno ? errno : EIO);
	free(line);
	fclose(file);
	return error;
}
