/* SPDX-License-Identifier: MIT */
/*
 * jobs.c - rows printed by several processes (--jobs), in the bytes that one process prints.
 *
 * A view does not change while its rows are printed, so a fork has all of it. Each process prints
 * every so many blocks of rows; this one copies those of the others from pipes, in order. Text has
 * no byte 0: it ends a block.
 */
#include "tools/view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK_ROWS = 256, PIPE_BYTES = 1 << 20, ROOM = 128 << 10 };

struct worker {
	pid_t pid;
	FILE *pipe; /* NULL: it was not started */
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

static void work(const struct print *print, unsigned job, int fd)
{
	struct pmc_out *out = print->view->out;

	pmc_out_to_fd(out, fd, pmc_arena_alloc(print->view->arena, ROOM), ROOM);
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

	if (pipe(fds) != 0)
		return;
#ifdef F_SETPIPE_SZ
	fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
#endif
	worker->pid = fork();
	if (worker->pid == 0) {
		close(fds[0]);
		work(print, job, fds[1]);
	}
	close(fds[1]);
	if (worker->pid > 0)
		worker->pipe = fdopen(fds[0], "r");
	if (worker->pipe)
		setvbuf(worker->pipe, NULL, _IOFBF, ROOM);
	else
		close(fds[0]);
}

int pmc_print_rows(struct pmc_view *view, uint64_t n, pmc_put_row *put, void *rows)
{
	const uint64_t most = n / (4 * BLOCK_ROWS) + 1;
	const struct print print = { view, n, put, rows,
				     view->options->jobs < most ? view->options->jobs :
								  (unsigned)most };
	struct worker *workers = pmc_arena_alloc(view->arena, (print.jobs + 1) * sizeof(*workers));
	char *block = NULL;
	size_t room = 0;
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

		if (!worker || !worker->pipe) {
			put_block(&print, b);
		} else {
			const ssize_t len = getdelim(&block, &room, '\0', worker->pipe);

			whole = len > 0 && !block[len - 1];
			pmc_out_bytes(view->out, block, whole ? (size_t)len - 1 : 0);
		}
	}
	free(block);
	for (unsigned w = 1; w < print.jobs; w++)
		if (workers[w].pipe) {
			fclose(workers[w].pipe);
			waitpid(workers[w].pid, NULL, 0);
		}
	if (!whole)
		view->problem =
			"cannot print all rows: a process of --jobs ended early; add --jobs 1";
	return whole ? 0 : -ENOENT;
}
