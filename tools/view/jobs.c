/* SPDX-License-Identifier: MIT */
/*
 * jobs.c - rows printed by several processes (--jobs), in the bytes that one process prints.
 *
 * A view does not change while its rows are printed, so a fork has all of it. Each process prints
 * every so many blocks of rows; this one copies those of the others from pipes, in order. Text has
 * no byte 0: it ends a block.
 */
#include "lib/base/file.h"
#include "tools/view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK_ROWS = 256, PIPE_BYTES = 1 << 20, ROOM = 128 << 10 };

struct worker {
	pid_t pid;
	int fd; /* -1: it was not started, or has ended too early */
	size_t at, len;
	char *room; /* of ROOM bytes, read from the pipe */
};

struct print {
	struct pmc_view *view;
	uint64_t n;
	pmc_put_row *put;
	void *rows;
	unsigned jobs;
};

static void put_block(const struct print *print, uint64_t block)
{
	const uint64_t from = block * BLOCK_ROWS, to = from + BLOCK_ROWS;

	/* The first row has been printed. */
	for (uint64_t i = from ? from : 1; i < to && i < print->n; i++)
		print->put(print->rows, i);
}

static void work(const struct print *print, unsigned job, int fd, char *room)
{
	struct pmc_out *out = print->view->out;

	pmc_out_to_fd(out, fd, room, ROOM);
	for (uint64_t b = job; b * BLOCK_ROWS < print->n && !out->error; b += print->jobs) {
		put_block(print, b);
		pmc_out_char(out, '\0');
		pmc_out_flush(out);
	}
	_exit(out->error != 0);
}

static void start(const struct print *print, unsigned job, struct worker *worker)
{
	int fds[2];

	*worker = (struct worker){ .fd = -1, .room = pmc_arena_alloc(print->view->arena, ROOM) };
	if (pipe(fds) != 0)
		return;
#ifdef F_SETPIPE_SZ
	fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
#endif
	worker->pid = fork();
	if (worker->pid == 0) {
		close(fds[0]);
		work(print, job, fds[1], worker->room);
	}
	close(fds[1]);
	if (worker->pid > 0)
		worker->fd = fds[0];
	else
		close(fds[0]);
}

/* Copies the worker's next block. False: it ended too early. */
static bool copy_block(struct worker *worker, struct pmc_out *out)
{
	while (!out->error) {
		const char *from = worker->room + worker->at;
		const size_t left = worker->len - worker->at;
		const char *end = memchr(from, '\0', left);
		long got;

		pmc_out_bytes(out, from, end ? (size_t)(end - from) : left);
		if (end) {
			worker->at += (size_t)(end - from) + 1;
			return true;
		}
		do
			got = pmc_fd_read(worker->fd, worker->room, ROOM);
		while (got == -EINTR);
		if (got <= 0)
			return false;
		worker->at = 0;
		worker->len = (size_t)got;
	}
	return true;
}

int pmc_print_rows(struct pmc_view *view, uint64_t n, pmc_put_row *put, void *rows)
{
	const uint64_t most = n / (4 * BLOCK_ROWS) + 1;
	const struct print print = { view, n, put, rows,
				     view->options->jobs < most ? view->options->jobs :
								  (unsigned)most };
	struct worker *workers = pmc_arena_alloc(view->arena, (print.jobs + 1) * sizeof(*workers));
	bool whole = true;

	/* It leaves `rows` as it is behind every row. */
	if (n)
		put(rows, 0);
	/* With an inherited SIG_IGN the kernel would reap them. */
	if (print.jobs > 1)
		signal(SIGCHLD, SIG_DFL);
	for (unsigned w = 1; w < print.jobs; w++)
		start(&print, w, &workers[w]);
	for (uint64_t b = 0; b * BLOCK_ROWS < n && whole && !view->out->error; b++) {
		struct worker *worker = print.jobs > 1 ? &workers[b % print.jobs] : NULL;

		if (!worker || worker == workers || worker->fd < 0)
			put_block(&print, b);
		else
			whole = copy_block(worker, view->out);
	}
	for (unsigned w = 1; w < print.jobs; w++) {
		if (workers[w].fd < 0)
			continue;
		close(workers[w].fd);
		waitpid(workers[w].pid, NULL, 0);
	}
	if (!whole)
		view->problem =
			"cannot print all rows: a process of --jobs ended early; add --jobs 1";
	return whole ? 0 : -ENOENT;
}
