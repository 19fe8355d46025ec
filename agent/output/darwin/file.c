/* SPDX-License-Identifier: MIT */
/*
 * file.c - the dump of this process on macOS: opened once, appended to by one write a time.
 *
 * Unlike on Linux the descriptor is an ordinary one of the program's table.
 */
#include "agent/output/file.h"
#include "agent/base/agent.h"
#include "agent/base/note.h"
#include "agent/core/base/log.h"
#include "agent/core/base/out.h"
#include "agent/output/open.h"
#include "agent/output/process_frames.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic int dump = -1;
static _Atomic bool has_header, is_full;
static char path[PATH_MAX];
static uint64_t start_bytes;

void agent_file_path(void)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, path, sizeof(path));
	if (agent.out)
		agent_out_expand(&out, agent.out, "pher%");
	else
		pmc_out_str(&out, agent.private_dump);
}

int agent_file_check(void)
{
	struct stat st = { .st_size = 0 };
	int fd = agent_dump_open(path, true, &st);

	if (fd < 0) {
		pmc_log(PMC_LOG_ERROR, "PMC_OUT=%s: %s (this run is not kept)", path,
			agent_file_fix(fd));
		return fd;
	}
	/* After an exec of the first process the report has the rows from before it, too. */
	start_bytes = agent.after_exec ? 0 : (uint64_t)st.st_size;
	atomic_store(&dump, fd);
	return 0;
}

void agent_file_open(void)
{
	struct stat st;
	int fd;

	if (atomic_load(&dump) >= 0)
		return;
	fd = agent_dump_open(path, true, &st);
	if (fd < 0)
		agent_note(NOTE_FILE_OPEN);
	else
		atomic_store(&dump, fd);
}

bool agent_file_takes_snapshot(void)
{
	int fd = atomic_load(&dump);
	struct stat st;

	if (!agent.config.out_max || fd < 0 || fstat(fd, &st) != 0 ||
	    (uint64_t)st.st_size < agent.config.out_max)
		return true;
	if (!atomic_exchange(&is_full, true))
		agent_note(NOTE_OUT_MAX);
	return false;
}

/* The program must not be killed by a write of the agent. */
static void append(const void *frames, size_t len)
{
	sigset_t set, was;
	long n;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &was);
	do
		n = pmc_out_write(atomic_load(&dump), frames, len);
	while (n == -EINTR);
	if (n != (long)len) {
		agent_note(NOTE_FILE_WRITE);
		sigpending(&set);
		/* What the write has raised is consumed, unless the program had it blocked. */
		for (int signo = 1; signo < NSIG; signo++)
			if ((signo == SIGXFSZ || signo == SIGPIPE) && sigismember(&set, signo) &&
			    !sigismember(&was, signo)) {
				sigset_t one;
				int got;

				sigemptyset(&one);
				sigaddset(&one, signo);
				sigwait(&one, &got);
			}
	}
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

void agent_file_begin(void)
{
	bool none = false;

	if (atomic_compare_exchange_strong(&has_header, &none, true))
		agent_process_header();
}

void agent_file_no_header(void)
{
	atomic_store(&has_header, true);
}

void agent_file_append(const void *frames, size_t len)
{
	int saved = errno;

	if (!len)
		return;
	agent_file_begin();
	agent_file_open();
	if (atomic_load(&dump) >= 0)
		append(frames, len);
	errno = saved;
}

uint64_t agent_file_start(void)
{
	return start_bytes;
}

const char *agent_file_name(void)
{
	return path;
}

int agent_file_fd(void)
{
	return atomic_load(&dump);
}

void agent_file_forked(void)
{
	const bool own = agent.out && strstr(agent.out, "%p");
	int fd = atomic_load(&dump);

	atomic_store(&has_header, false);
	if (!own)
		return;
	agent_file_path();
	if (fd >= 0)
		close(fd);
	atomic_store(&dump, -1);
}
