/* SPDX-License-Identifier: MIT */
/* dump_file.c - whether a file may be written as a dump, and opening one for a report. */
#include "agent/core/base/file.h"
#include "agent/core/dump/frame.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const char *tool_dump_open_error(int error)
{
	switch (error) {
	case ELOOP:
		return "it is a symbolic link, which is not followed; name its target";
	case EISDIR:
		return "it is a directory; name a file in it";
	case ENOENT:
		return "its directory does not exist; create it first";
	case ENXIO:
		return "it is a pipe without a reader; start its reader first";
	case EMLINK:
		return "it has several names (hard links); name another file";
	default:
		return strerror(error);
	}
}

int tool_open_report(const char *path)
{
	int fd = pmc_file_open_report(path), flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

	/* The pipe had a reader when it was opened; writes may block from here on. */
	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return fd;
}

int tool_open_output(const char *path, int code)
{
	int fd, error;

	if (strcmp(path, "-") == 0)
		return STDOUT_FILENO;
	fd = tool_open_report(path);
	error = fd < 0 ? 0 : pmc_file_empty(fd);
	if (fd >= 0 && !error)
		return fd;
	if (fd >= 0)
		close(fd);
	return -tool_fail(code, "cannot write %s: %s", path,
			  fd < 0 ? tool_dump_open_error(-fd) : strerror(-error));
}

const char *tool_dump_refusal(int fd, struct stat *st)
{
	uint8_t head[PMC_MAGIC_BYTES];

	if (fstat(fd, st) != 0)
		return strerror(errno);
	if (S_ISDIR(st->st_mode))
		return tool_dump_open_error(EISDIR);
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file; name one";
	/* Another user may have linked this name to a file of this user. */
	if (st->st_nlink > 1)
		return tool_dump_open_error(EMLINK);
	if (st->st_size && !pmc_is_dump(head, pread(fd, head, sizeof(head), 0)))
		return "it exists and is not a dump; choose another file";
	return NULL;
}
