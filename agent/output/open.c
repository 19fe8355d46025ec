/* SPDX-License-Identifier: MIT */
/*
 * open.c - see open.h.
 *
 * The program may have more privileges than users who can write to the directory of the dump: a
 * symbolic link is not followed, and an existing file is appended to only if it is a dump of the
 * same user without other links. A child of fork that drops its privileges goes on with the
 * descriptor, for which this was checked.
 */
#include "agent/output/open.h"
#include "agent/base/agent.h"
#include "agent/core/base/file.h"
#include "agent/core/base/out.h"
#include "agent/core/dump/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/poison.h"

/* Attempts, if a file is repeatedly created and removed meanwhile. */
#define TRIES 8

void agent_out_expand(struct pmc_out *out, const char *pattern, const char *letters)
{
	const char *base = agent.exe ? strrchr(agent.exe, '/') : NULL;
	struct timespec now;

	for (const char *p = pattern; *p; p++) {
		if (p[0] != '%' || !p[1]) {
			pmc_out_char(out, *p);
			continue;
		}
		p++;
		if (!strchr(letters, *p)) {
			pmc_out_bytes(out, p - 1, 2);
			continue;
		}
		switch (*p) {
		case 'j':
			pmc_out_hex_bytes(out, agent.job, 8);
			break;
		case 't':
			clock_gettime(CLOCK_REALTIME, &now);
			pmc_out_u64(out, (uint64_t)now.tv_sec);
			break;
		case 'p':
			pmc_out_u64(out, (uint64_t)agent.pid);
			break;
		case 'h':
			pmc_out_str(out, agent.host);
			break;
		case 'e':
			pmc_out_str(out, base ? base + 1 : "unknown");
			break;
		case 'r':
			pmc_out_i64(out, agent.rank < 0 ? 0 : agent.rank);
			break;
		default:
			pmc_out_char(out, '%');
		}
	}
}

int agent_dump_check(int fd, struct stat *st)
{
	uint8_t head[PMC_MAGIC_BYTES];

	if (pmc_fd_stat(fd, st) != 0)
		return -EBADF;
	if (!S_ISREG(st->st_mode))
		return -ENOTSUP;
	if (st->st_uid != geteuid())
		return -EUSERS;
	if (st->st_nlink > 1)
		return -EMLINK;
	if (st->st_size && !pmc_is_dump(head, pmc_fd_read_at(fd, head, sizeof(head), 0)))
		return -ENOTSUP;
	return 0;
}

int agent_dump_open(const char *path, bool create, struct stat *st)
{
	/* Non-blocking: opening a pipe, which is refused, must not wait for its reader. */
	const int flags = O_RDWR | O_APPEND | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;
	int fd = -ENOENT, error;

	for (unsigned i = 0; i < TRIES; i++) {
		fd = pmc_fd_open(AT_FDCWD, path, flags, 0);
		if (fd == -ENOENT && create) {
			fd = pmc_fd_open(AT_FDCWD, path, flags | O_CREAT | O_EXCL, 0600);
			if (fd == -EEXIST)
				continue;
			/* On some file systems the owner of a new file is not its creator. */
			if (fd >= 0 && pmc_fd_stat(fd, st) == 0)
				return fd;
		}
		break;
	}
	if (fd < 0)
		return fd;
	error = agent_dump_check(fd, st);
	if (!error)
		return fd;
	pmc_fd_close(fd);
	return error;
}

const char *agent_file_fix(int error)
{
	switch (-error) {
	case ENOTSUP:
	case ENXIO: /* a pipe without a reader */
		return "the file exists and is not a dump; name another file or remove it";
	case EUSERS:
		return "the file exists and belongs to another user; name another file";
	case EMLINK:
		return "the file has several names (hard links); name another file";
	case ENOENT:
		return "its directory does not exist; create it or name an absolute path";
	case EACCES:
	case EPERM:
		return "no permission to write there; name another place";
	case EROFS:
		return "the file system is read-only; name another place";
	case EISDIR:
		return "it is a directory; name a file in it";
	case ELOOP:
		return "it is a symbolic link, which is not followed; name the file itself";
	case ENAMETOOLONG:
		return "the name is too long; name a shorter path";
	case ENOSPC:
	case EDQUOT:
		return "the disk is full; free space or name another place";
	default:
		return "it cannot be opened for writing; name another file";
	}
}
