/* SPDX-License-Identifier: MIT */
/*
 * file.c - the dump of this process on macOS: opened once, appended to by one write a time.
 *
 * The descriptor is an ordinary one of the program's table, which the program may close and use
 * again: each use looks whether it still is the dump. Async-signal-safe. If two threads open the
 * file at the same time, the loser closes its descriptor.
 */
#include "agent/output/output.h"
#include "lib/base/file.h"
#include "lib/dump/output.h"

/* Programs close the low numbers and expect those that they open. Never higher than HIGHEST_BASE:
 * the kernel copies the descriptor table at every fork. */
enum { LOWEST_BASE = 3, HIGHEST_BASE = 4096 };

static _Atomic int dump = -1;
static dev_t dump_dev;
static ino_t dump_ino;
static _Atomic bool has_header, is_full;
static char path[PATH_MAX];
const char *agent_file_name = path;

void agent_file_path(void)
{
	struct pmc_out out = pmc_out_mem(path, sizeof(path));

	if (agent.out)
		agent_out_expand(&out, agent.out, "pher%");
	else
		pmc_out_str(&out, agent.private_dump);
	agent_out_directory(path);
}

static bool is_dump(int fd, struct stat *st)
{
	return fd >= 0 && fstat(fd, st) == 0 && st->st_dev == dump_dev && st->st_ino == dump_ino;
}

/* At half of the limit or above; where that is full, anywhere but at 0 to 2, which are the
 * program's. */
static int move_up(int fd)
{
	struct rlimit limit = { 0, 0 };
	rlim_t base;
	int moved;

	getrlimit(RLIMIT_NOFILE, &limit);
	base = limit.rlim_cur / 2;
	base = base < LOWEST_BASE ? LOWEST_BASE : base > HIGHEST_BASE ? HIGHEST_BASE : base;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, (int)base);
	if (moved < 0 && fd >= LOWEST_BASE)
		return fd;
	if (moved < 0)
		moved = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_BASE);
	close(fd);
	return moved < 0 ? -EMFILE : moved;
}

static int open_dump(struct stat *st)
{
	int fd = pmc_dump_open(agent_file_name, true, st);

	if (fd >= 0)
		fd = move_up(fd);
	if (fd >= 0) {
		dump_dev = st->st_dev;
		dump_ino = st->st_ino;
	}
	return fd;
}

int agent_file_read(bool *named)
{
	const int fd = pmc_fd_open(AT_FDCWD, agent_file_name,
				   O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);

	*named = fd >= 0;
	return fd;
}

int agent_file_check(void)
{
	struct stat st = { .st_size = 0 };
	int fd = open_dump(&st);

	if (fd < 0) {
		pmc_log(PMC_LOG_ERROR, "PMC_OUT=%s: %s (this run is not kept)", agent_file_name,
			agent_file_fix(fd));
		agent_note(NOTE_OUT_REFUSED);
		return fd;
	}
	/* After an exec of the first process the report has the rows from before it, too. */
	agent.reported.dump_start = agent.after_exec ? 0 : (uint64_t)st.st_size;
	atomic_store(&dump, fd);
	return 0;
}

/* The descriptor of the dump, which is opened if it is not; negative: it cannot be. */
static int ready(void)
{
	int fd = atomic_load(&dump), now, none = -1;
	struct stat st;

	if (is_dump(fd, &st))
		return fd;
	if (fd >= 0) {
		agent_note(NOTE_FILE_REPLACED);
		atomic_compare_exchange_strong(&dump, &fd, -1);
	}
	now = open_dump(&st);
	if (now < 0) {
		agent_note(NOTE_FILE_OPEN);
		return now;
	}
	/* The file was removed, too. */
	if (!st.st_size)
		atomic_store(&has_header, false);
	if (atomic_compare_exchange_strong(&dump, &none, now))
		return now;
	close(now);
	return none;
}

bool agent_file_takes_snapshot(void)
{
	struct stat st;

	if (!agent.config.out_max || !is_dump(atomic_load(&dump), &st) ||
	    (uint64_t)st.st_size < agent.config.out_max)
		return true;
	if (!atomic_exchange(&is_full, true))
		agent_note(NOTE_OUT_MAX);
	return false;
}

/* The program must not be killed by a write of the agent to this regular file. */
static void append(int fd, const void *frames, size_t len)
{
	sigset_t set, was, pending;
	int got;
	long n;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, &was);
	do
		n = pmc_out_write(fd, frames, len);
	while (n == -EINTR);
	if (n != (long)len) {
		agent_note(NOTE_FILE_WRITE);
		sigpending(&pending);
		/* The signal of the write is consumed, unless the program had it blocked. */
		if (sigismember(&pending, SIGXFSZ) && !sigismember(&was, SIGXFSZ))
			sigwait(&set, &got);
	}
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

void agent_file_begin(void)
{
	bool none = false;

	if (atomic_compare_exchange_strong(&has_header, &none, true))
		agent_process_header();
}

void agent_file_append(const void *frames, size_t len)
{
	int saved = errno, fd;

	if (!len)
		return;
	fd = ready();
	agent_file_begin();
	if (fd >= 0)
		append(fd, frames, len);
	errno = saved;
}

/* Each frame is written at once. */
const void *agent_file_waiting(size_t *len)
{
	*len = 0;
	return NULL;
}

void agent_file_forked(void)
{
	const bool own = agent.out && strstr(agent.out, "%p");
	int fd = atomic_load(&dump);
	struct stat st;

	atomic_store(&has_header, false);
	if (!own)
		return;
	agent_file_path();
	if (is_dump(fd, &st))
		close(fd);
	atomic_store(&dump, -1);
}
