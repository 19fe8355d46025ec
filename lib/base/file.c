/* SPDX-License-Identifier: MIT */
/* file.c - small files at formatted paths; see file.h. */
#include "lib/base/file.h"
#include "lib/base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

int pmc_path_make(char path[PMC_PATH_MAX], const char *format, va_list args)
{
	struct pmc_out out = pmc_out_mem(path, PMC_PATH_MAX);

	pmc_voutf(&out, format, args);
	return out.error ? -ENAMETOOLONG : 0;
}

int pmc_file_read_at(int dir, const char *path, char *text, size_t cap)
{
	size_t len = 0;
	long fd, n = 1;

	/* A FIFO in its place must not stop the caller. */
	fd = pmc_fd_open(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	text[0] = '\0';
	if (fd < 0)
		return (int)fd;
	while (len < cap - 1 && n != 0) {
		n = pmc_fd_read((int)fd, text + len, cap - 1 - len);
		if (n < 0 && n != -EINTR)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	pmc_fd_close((int)fd);
	if (n < 0) {
		text[0] = '\0';
		return (int)n;
	}
	text[len] = '\0';
	if (len == cap - 1)
		return -EFBIG;
	while (len && strchr(" \t\r\n", text[len - 1]))
		text[--len] = '\0';
	return (int)len;
}

int pmc_file_read(char *text, size_t cap, const char *format, ...)
{
	char path[PMC_PATH_MAX];
	va_list args;
	int rc;

	va_start(args, format);
	rc = pmc_path_make(path, format, args);
	va_end(args);
	text[0] = '\0';
	return rc ? rc : pmc_file_read_at(AT_FDCWD, path, text, cap);
}

int pmc_path_exists(const char *format, ...)
{
	char path[PMC_PATH_MAX];
	va_list args;
	int rc;

	va_start(args, format);
	rc = pmc_path_make(path, format, args);
	va_end(args);
	return rc ? rc : pmc_path_access(path);
}
