/* SPDX-License-Identifier: MIT */
/* packed.c - compresses the frames of a dump, and reads them. */
#include "tools/rows/packed.h"
#include "lib/base/out.h"
#include "tools/rows/zstd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ------------------------------------------------------------------------------ */

long pmc_unpack(const struct pmc_frame *frame, uint8_t *bytes)
{
	struct pmc_packed_fixed fixed;
	size_t n;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (frame->head.version != PMC_DUMP_VERSION || fixed.packed > frame->var_len ||
	    fixed.bytes > PMC_FRAME_MAX_BYTES)
		return 0;
	if (pmc_zstd_load())
		return -PMC_NO_ZSTD;
	n = pmc_zstd_decompress(bytes, fixed.bytes, frame->var, fixed.packed);
	return n == fixed.bytes ? (long)n : 0;
}

struct reader {
	int (*each)(const struct pmc_frame *frame, void *arg);
	void *arg;
	uint64_t *damaged;
	uint8_t *bytes; /* what a PACKED frame has */
};

static int read_frame(const struct pmc_frame *frame, void *to)
{
	struct reader *reader = to;
	struct pmc_scan scan = { .data = reader->bytes };
	struct pmc_frame inner;
	int result = 0;
	long n;

	if (frame->head.type != PMC_FRAME_PACKED)
		return reader->each(frame, reader->arg);
	if (!reader->bytes)
		reader->bytes = malloc(PMC_FRAME_MAX_BYTES);
	if (!reader->bytes)
		return -ENOMEM;
	n = pmc_unpack(frame, reader->bytes);
	if (n < 0)
		return (int)n;
	scan.data = reader->bytes;
	scan.len = (size_t)n;
	while (!result && pmc_scan_next(&scan, &inner))
		if (inner.head.type != PMC_FRAME_PACKED)
			result = reader->each(&inner, reader->arg);
	*reader->damaged += scan.damaged + !n;
	return result;
}

int pmc_scan_packed_fd(int fd, int (*each)(const struct pmc_frame *frame, void *arg), void *arg,
		       uint64_t *damaged)
{
	struct reader reader = { .each = each, .arg = arg, .damaged = damaged };
	const int result = pmc_scan_fd(fd, read_frame, &reader, damaged);

	free(reader.bytes);
	return result;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Bytes that are compressed together, and lost if a file is cut off: few at first, as a recording
 * on a full disk begins with its rows. */
enum { TOGETHER_FIRST = 1 << 14, TOGETHER = 1 << 18 };

/* All, or nothing: the end of a frame that does not fit would be damage. */
static int write_bytes(int fd, uint8_t *bytes, size_t len)
{
	struct pmc_out out = { .buf = (char *)bytes, .len = len, .cap = len, .fd = fd };
	const off_t before = lseek(fd, 0, SEEK_END);
	const int error = pmc_out_flush(&out);

	if (error && before >= 0 && ftruncate(fd, before) != 0)
		return -errno;
	return error;
}

/* Frames as one, or as they are where that is not smaller. 0 or -errno. */
static int write_frames(int fd, uint8_t *frames, size_t bytes, uint8_t *room, size_t most)
{
	const size_t n = most ? pmc_zstd_compress(room, most, frames, bytes) : 0;
	const struct pmc_packed_fixed fixed = { .packed = (uint32_t)n, .bytes = (uint32_t)bytes };
	struct pmc_frame_buf buf;
	void *variable = NULL;

	pmc_frame_buf_init(&buf, room + most, most + PMC_SITE_BYTES);
	if (n && pmc_frame_begin(&buf, PMC_FRAME_PACKED, NULL, 0, &fixed, sizeof(fixed)))
		variable = pmc_frame_room(&buf, (n + 7) & ~(size_t)7);
	if (!variable)
		return write_bytes(fd, frames, bytes);
	memcpy(variable, room, n);
	return pmc_frame_end(&buf) && buf.len < bytes ? write_bytes(fd, buf.data, buf.len) :
							write_bytes(fd, frames, bytes);
}

int pmc_pack(int from, size_t *at, int to)
{
	struct pmc_scan scan = { 0 };
	struct pmc_frame frame;
	struct stat st;
	size_t start = *at, together = TOGETHER_FIRST, most;
	uint8_t *data, *room;
	int error = 0;

	if (fstat(from, &st) != 0)
		return -errno;
	if ((size_t)st.st_size <= start)
		return 0;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, from, 0);
	if (data == MAP_FAILED)
		return -errno;
	most = pmc_zstd_load() ? 0 : (pmc_zstd_bound(PMC_FRAME_MAX_BYTES) + 7) & ~(size_t)7;
	room = malloc(2 * most + PMC_SITE_BYTES);
	if (!room)
		error = -ENOMEM;
	scan.data = data;
	scan.len = (size_t)st.st_size;
	scan.at = start;
	while (!error && pmc_scan_next(&scan, &frame)) {
		const size_t before = scan.at - frame.head.size;

		if (scan.at - start <= together || before == start)
			continue;
		error = write_frames(to, data + start, before - start, room, most);
		start = before;
		together = together < TOGETHER ? 2 * together : TOGETHER;
	}
	if (!error)
		error = write_frames(to, data + start, scan.len - start, room, most);
	*at = scan.len;
	free(room);
	munmap(data, (size_t)st.st_size);
	return error;
}
