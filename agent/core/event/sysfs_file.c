/* SPDX-License-Identifier: MIT */
/* sysfs_file.c - small files and directories of sysfs and tracefs, without malloc or stdio. */
#include "agent/core/event/source.h"
#include "agent/core/base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int path_make(char *path, const char *format, va_list args)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, path, EVENT_PATH_MAX);
	pmc_voutf(&out, format, args);
	return out.error ? -ENAMETOOLONG : 0;
}

int event_file(char *buf, size_t cap, const char *format, ...)
{
	char path[EVENT_PATH_MAX];
	size_t len = 0;
	ssize_t n = 0;
	va_list args;
	int fd, rc;

	buf[0] = '\0';
	va_start(args, format);
	rc = path_make(path, format, args);
	va_end(args);
	if (rc)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	while (len < cap - 1) {
		n = read(fd, buf + len, cap - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	rc = n < 0 ? -errno : len == cap - 1 ? -EFBIG : 0;
	close(fd);
	if (rc)
		return rc;
	while (len && strchr(" \t\r\n", buf[len - 1]))
		len--;
	buf[len] = '\0';
	return (int)len;
}

int event_path_exists(const char *format, ...)
{
	char path[EVENT_PATH_MAX];
	va_list args;
	int rc;

	va_start(args, format);
	rc = path_make(path, format, args);
	va_end(args);
	if (rc)
		return rc;
	return access(path, F_OK) ? -errno : 0;
}

/* opendir() allocates; the kernel's own records do as well. */
struct dirent_record {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
} __attribute__((packed));

int event_dir(const char *path, void (*visit)(const char *name, void *arg), void *arg)
{
	char buf[4096] __attribute__((aligned(8)));
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	if (fd < 0)
		return -errno;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent_record *record = (const void *)(buf + at);

			if (record->name[0] != '.')
				visit(record->name, arg);
			at += record->len;
		}
	}
	close(fd);
	return n < 0 ? -EIO : 0;
}

bool event_is_file_name(struct event_span span)
{
	if (!span.len || span.len >= EVENT_NAME_MAX || span.at[0] == '.')
		return false;
	for (size_t i = 0; i < span.len; i++) {
		char c = span.at[i];
		bool alnum =
			(c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!alnum && c != '_' && c != '-' && c != '.')
			return false;
	}
	return true;
}
