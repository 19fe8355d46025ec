/* SPDX-License-Identifier: MIT */
/* scan_fd.c - the frames of a file or pipe, in bounded memory. Async-signal-safe. */
#include "lib/base/file.h"
#include "lib/dump/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* The frames in the buffer, but an incomplete one at its end. */
static int scan_buffer(struct pmc_scan *scan, int (*each)(const struct pmc_frame *frame, void *arg),
		       void *arg)
{
	struct pmc_frame frame;
	int result = 0;

	while (!result && pmc_scan_next(scan, &frame))
		result = each(&frame, arg);
	return result;
}

int pmc_scan_fd(int fd, int (*each)(const struct pmc_frame *frame, void *arg), void *arg,
		uint64_t *damaged)
{
	const size_t room = 4 * (size_t)PMC_FRAME_MAX_BYTES;
	struct pmc_scan scan = { .partial = true };
	uint8_t *buf;
	int result = 0;

	buf = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED)
		return -ENOMEM;
	scan.data = buf;
	while (!result && scan.partial) {
		size_t left = scan.len - scan.at;
		long got;

		memmove(buf, buf + scan.at, left);
		got = pmc_fd_read(fd, buf + left, room - left);
		pmc_scan_move(&scan);
		scan.len = left;
		if (got < 0) {
			if (got != -EINTR)
				result = (int)got;
			continue;
		}
		scan.len += (size_t)got;
		scan.partial = got != 0;
		result = scan_buffer(&scan, each, arg);
	}
	*damaged += scan.damaged;
	munmap(buf, room);
	return result;
}
