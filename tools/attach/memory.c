/* SPDX-License-Identifier: MIT */
/* memory.c - reads another process's memory and the list of its mapped files. */
#include "tools/attach/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE 4096u
/* A bound that no real process reaches. */
#define MOST_IMAGES 65536u
/* Beyond the data segment of the agent. */
#define MOST_DATA ((uint64_t)1 << 20)

static int copy(pid_t pid, uint64_t address, void *here, size_t len, bool in)
{
	char *at = here;

	while (len > 0) {
		struct iovec local = { .iov_base = at, .iov_len = len };
		struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = len };
		ssize_t n = in ? process_vm_readv(pid, &local, 1, &remote, 1, 0) :
				 process_vm_writev(pid, &local, 1, &remote, 1, 0);

		if (n < 0)
			return -errno;
		if (n == 0)
			return -EFAULT;
		at += n;
		address += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int attach_read(pid_t pid, uint64_t address, void *to, size_t len)
{
	return copy(pid, address, to, len, true);
}

int attach_write(pid_t pid, uint64_t address, const void *from, size_t len)
{
	return copy(pid, address, (void *)(uintptr_t)from, len, false);
}

/* process_vm_readv(2): "Buffers are processed in array order". The kernel takes and releases a lock
 * for each, which orders the copies. */
int attach_read_parts(pid_t pid, const struct attach_part *parts, unsigned n)
{
	struct iovec local[ATTACH_PARTS], remote[ATTACH_PARTS];
	size_t len = 0;
	ssize_t got;

	if (n > ATTACH_PARTS)
		return -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		local[i] = (struct iovec){ .iov_base = parts[i].to, .iov_len = parts[i].len };
		remote[i] = (struct iovec){ .iov_base = (void *)(uintptr_t)parts[i].address,
					    .iov_len = parts[i].len };
		len += parts[i].len;
	}
	got = process_vm_readv(pid, local, n, remote, n, 0);
	if (got < 0)
		return -errno;
	return (size_t)got == len ? 0 : -EFAULT;
}

int attach_read_text(pid_t pid, uint64_t address, char *to, size_t cap)
{
	size_t len = 0;

	*to = '\0';
	while (len + 1 < cap) {
		/* Not beyond the end of a page: the next may be unmapped. */
		size_t n = PAGE - (size_t)((address + len) % PAGE);
		int error;

		if (n > cap - 1 - len)
			n = cap - 1 - len;
		error = attach_read(pid, address + len, to + len, n);
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
static int add_image(struct attach *target, uint64_t start, uint64_t end, const char *path)
{
	struct attach_image *image;

	/* Capacity doubles at each power of two. */
	if ((target->n_images & (target->n_images - 1)) == 0) {
		size_t room = target->n_images ? 2 * target->n_images : 1;

		image = realloc(target->images, room * sizeof(*image));
		if (!image)
			return -ENOMEM;
		target->images = image;
	}
	image = &target->images[target->n_images];
	image->start = start;
	image->end = end;
	image->path = strdup(path);
	if (!image->path)
		return -ENOMEM;
	target->n_images++;
	return 0;
}

/* Looks for the control block in the first MOST_DATA bytes of a data segment. */
static int find_control(struct attach *target, uint64_t at, uint64_t end)
{
	uint64_t words[8192];
	const uint64_t stop = end - at > MOST_DATA ? at + MOST_DATA : end;

	while (!target->address && at < stop) {
		size_t len = stop - at < sizeof(words) ? stop - at : sizeof(words);
		int error = attach_read(target->pid, at, words, len);

		/* A mapped data file, or a hole in a library. */
		if (error == -EFAULT || error == -EIO)
			return 0;
		if (error)
			return error;
		for (size_t i = 0; !target->address && i < len / sizeof(*words); i++)
			if (words[i] == PMC_CONTROL_MAGIC)
				target->address = at + i * sizeof(*words);
		at += len;
	}
	return 0;
}

/* start-end perms offset dev inode path */
static int map_line(struct attach *target, char *line)
{
	struct attach_image *last = target->n_images ? &target->images[target->n_images - 1] : NULL;
	unsigned long long start, end, offset;
	char perms[5], *path;
	int at = 0, error = 0;
	bool more;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, perms, &offset, &at) != 4 ||
	    !at)
		return 0;
	path = line + at;
	path[strcspn(path, "\n")] = '\0';
	/* Data that is 0 at the start has no file, and lies behind the data that has. */
	more = last && (path[0] ? strcmp(last->path, path) == 0 && offset : start == last->end);
	if (more)
		last->end = end;
	else if (path[0] == '/' && !offset && target->n_images < MOST_IMAGES)
		error = add_image(target, start, end, path);
	if (!error && more && perms[1] == 'w')
		error = find_control(target, start, end);
	return error;
}

int attach_maps(struct attach *target)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int error = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", target->pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	errno = 0;
	while (!error && getline(&line, &room, file) >= 0)
		error = map_line(target, line);
	if (!error && ferror(file))
		error = -(errno ? errno : EIO);
	free(line);
	fclose(file);
	return error;
}
