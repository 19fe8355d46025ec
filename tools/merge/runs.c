/* SPDX-License-Identifier: MIT */
/* runs.c - buffered writing, sorted runs in temporary files, and the k-way merge. */
#include "tools/merge/sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITE_BUFFER ((size_t)PMC_FRAME_MAX_BYTES)
/* Room for a frame behind the start of another. */
#define READ_BUFFER (2 * (size_t)PMC_FRAME_MAX_BYTES)

/* ---- writing ------------------------------------------------------------------------------ */
int merge_write_all(int fd, const void *bytes, size_t len)
{
	while (len) {
		ssize_t put = write(fd, bytes, len);

		if (put < 0 && errno != EINTR)
			return -errno;
		if (put > 0) {
			bytes = (const char *)bytes + put;
			len -= (size_t)put;
		}
	}
	return 0;
}

int merge_writer_init(struct merge_writer *writer, int fd)
{
	*writer = (struct merge_writer){ .fd = fd, .buf = malloc(WRITE_BUFFER) };
	return writer->buf ? 0 : -ENOMEM;
}

static void flush(struct merge_writer *writer)
{
	if (!writer->error)
		writer->error = merge_write_all(writer->fd, writer->buf, writer->len);
	writer->len = 0;
}

int merge_writer_put(void *arg, const struct pmc_frame *frame)
{
	struct merge_writer *writer = arg;

	if (frame->head.size > WRITE_BUFFER - writer->len)
		flush(writer);
	memcpy(writer->buf + writer->len, frame->bytes, frame->head.size);
	writer->len += frame->head.size;
	return writer->error;
}

int merge_writer_close(struct merge_writer *writer)
{
	flush(writer);
	free(writer->buf);
	writer->buf = NULL;
	return writer->error;
}

/* ---- the k-way merge ---------------------------------------------------------------------- */
static int compare(const struct merge_source *a, const struct merge_source *b,
		   enum merge_order order)
{
	return merge_compare(&a->frame, &b->frame, order);
}

/* The two smallest of the live sources; ended ones are dropped from the list. */
static void best_two(struct merge_source **sources, unsigned *n, enum merge_order order,
		     struct merge_source **best, struct merge_source **second)
{
	*best = *second = NULL;
	for (unsigned i = 0; i < *n; i++) {
		struct merge_source *source = sources[i];

		if (!source->live) {
			sources[i--] = sources[--*n];
		} else if (!*best || compare(source, *best, order) < 0) {
			*second = *best;
			*best = source;
		} else if (!*second || compare(source, *second, order) < 0) {
			*second = source;
		}
	}
}

int merge_sources(struct merge_source **sources, unsigned n, enum merge_order order, merge_put *put,
		  void *arg)
{
	struct merge_source *best, *second;
	int error = 0;

	while (!error) {
		best_two(sources, &n, order, &best, &second);
		if (!best)
			return 0;
		/* Sources hold stretches of one process: the best stays the best for long. */
		while (best->live && !error) {
			int lead = second ? compare(best, second, order) : -1;

			if (lead > 0)
				break;
			if (lead < 0) /* else the second source has the same frame and puts it */
				error = put(arg, &best->frame);
			if (!error)
				error = best->advance(best);
		}
	}
	return error;
}

/* ---- runs --------------------------------------------------------------------------------- */
const char *merge_spill_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

int merge_spill_open(void)
{
	const char *dir = merge_spill_dir();
	char *path;
	int fd;

	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* Not every file system has O_TMPFILE. */
	path = malloc(strlen(dir) + sizeof("/pmc-XXXXXX"));
	if (!path)
		return -ENOMEM;
	strcpy(path, dir);
	strcat(path, "/pmc-XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		unlink(path);
	free(path);
	return fd;
}

static int run_advance(struct merge_source *source)
{
	struct merge_run *run = (struct merge_run *)source;
	struct pmc_scan *scan = &run->scan;

	while (!pmc_scan_next(scan, &source->frame)) {
		size_t left = scan->len - scan->at;
		ssize_t got;

		if (scan->damaged || (!scan->partial && left))
			return -EIO; /* the run was written whole */
		source->live = scan->partial;
		if (!source->live)
			return 0;
		memmove(run->buf, run->buf + scan->at, left);
		scan->at = 0;
		scan->len = left;
		do
			got = read(run->fd, run->buf + left, READ_BUFFER - left);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return -errno;
		scan->len += (size_t)got;
		scan->partial = got > 0;
	}
	return 0;
}

int merge_run_open(struct merge_run *run, int fd)
{
	*run = (struct merge_run){ .fd = fd, .buf = malloc(READ_BUFFER) };
	run->source.advance = run_advance;
	run->source.live = true;
	run->scan = (struct pmc_scan){ .data = run->buf, .partial = true };
	if (!run->buf)
		return -ENOMEM;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return run_advance(&run->source);
}

void merge_run_close(struct merge_run *run)
{
	if (run->fd > 0)
		close(run->fd);
	free(run->buf);
	*run = (struct merge_run){ .fd = -1 };
}
