/* SPDX-License-Identifier: MIT */
/* outside.c - what pmctl run does to its command by the wall clock: snapshots, and --delay. */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"
#include "tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- snapshots by the wall clock ------------------------------------------------------------ */

/* Whether pmctl may read a child as pmctl dump does. Yama and containers may forbid it. */
static bool may_watch(void)
{
	const pid_t pid = fork();
	int pidfd, fd, error;

	if (!pid) {
		pause();
		_exit(0);
	}
	pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	fd = pidfd >= 0 ? (int)syscall(SYS_pidfd_getfd, pidfd, STDERR_FILENO, 0) : -1;
	error = errno;
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	pmc_fd_close(fd);
	pmc_fd_close(pidfd);
	/* EBADF: standard error is closed. */
	errno = error;
	return fd >= 0 || (pidfd >= 0 && error == EBADF);
}

void run_watch_prepare(struct run *run)
{
	if (!run->interval_flag || !run->config.interval)
		return;
	run->watched = may_watch();
	if (run->watched)
		unsetenv("PMC_INTERVAL");
	else
		tool_warn("-I: pmctl cannot read the program: %s; the program takes the snapshots "
			  "itself, while it uses CPU time",
			  strerror(errno));
}

/* It holds none of the caller's files, and is no child of pmctl, whose only one is the command. */
void run_watch(const struct run *run)
{
	char pid[16], interval[32];
	const char *argv[] = { "dump", "--tree", pid, "-I", interval, NULL };
	const pid_t between = run->watched ? fork() : -1;
	useconds_t pause_us = 20000;
	int null;

	if (between > 0)
		waitpid(between, NULL, 0);
	if (between)
		return;
	if (fork())
		_exit(0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	snprintf(pid, sizeof(pid), "%d", run->child.pid);
	snprintf(interval, sizeof(interval), "%" PRIu64 "ns", run->config.interval);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	syscall(SYS_close_range, 3, ~0U, 0);
	/* Until the program, or one that it starts, has an agent: some never have. */
	while (cmd_dump(5, (char **)(void *)argv) && kill(run->child.pid, 0) == 0) {
		usleep(pause_us);
		pause_us *= pause_us < 1000000 ? 2 : 1;
	}
	_exit(0);
}

/* ---- --delay ------------------------------------------------------------------------------- */

/* How often descendants are looked for: a new one starts no earlier than after a delay. Between two
 * searches at least so many times the time of the first. */
#define SEARCH_NS   20000000u
#define SEARCH_REST 20u

static void list_processes(struct run *run)
{
	struct run_delays *delays = &run->delays;
	struct live_tids pids = { .n = 0 };

	live_tree_pids(run->child.pid, &pids);
	delays->n = 0;
	for (unsigned i = 0; i < pids.n; i++) {
		delays->list = tool_list_grow(delays->list, delays->n, &delays->room,
					      sizeof(*delays->list));
		delays->list[delays->n++] = (struct run_delay){ .pid = pids.list[i] };
	}
	live_tids_free(&pids);
}

static void end_delay(struct run *run, struct run_delay *delay)
{
	char why[ATTACH_WHY];

	/* Whether descendants that may not be read have an agent is not known. */
	if (attach_end_delay(delay->pid, &run->delays.found, &delay->due_ns, why) ||
	    run->delays.refused || delay->pid != run->child.pid ||
	    program_obstacle[run->program.kind])
		return;
	run->delays.refused = true;
	tool_warn("--delay: counting starts when the program next uses CPU time: %s", why);
}

uint64_t run_end_delays(struct run *run)
{
	struct run_delays *delays = &run->delays;
	const uint64_t delay_ns = run->config.delay, now = pmc_now_ns();
	const bool search = now >= delays->search_ns;
	uint64_t next_ns;

	if (!run->config.start || !delay_ns)
		return UINT64_MAX;
	delays->found.delay_ns = delay_ns;
	if (search)
		list_processes(run);
	for (size_t i = 0; i < delays->n; i++)
		if (delays->list[i].due_ns <= now)
			end_delay(run, &delays->list[i]);
	if (search) {
		delays->search_ns = now + SEARCH_REST * (pmc_now_ns() - now);
		pmc_add_sat(&delays->search_ns, delay_ns > SEARCH_NS ? delay_ns : SEARCH_NS);
	}
	next_ns = delays->search_ns;
	for (size_t i = 0; i < delays->n; i++)
		if (delays->list[i].due_ns < next_ns)
			next_ns = delays->list[i].due_ns;
	return next_ns;
}
