/* SPDX-License-Identifier: MIT */
/*
 * exit_report.c - the report that the job's first process prints at its end.
 *
 * The dump is read back and printed by the code of pmctl report. Stderr is used only if it is still
 * the file it was at the start; it is duplicated only when the program closes it (hooks/stderr.c).
 */
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/base/throwaway_clone.h"
#include "agent/core/base/file.h"
#include "agent/core/base/log.h"
#include "agent/core/report/report.h"
#include "agent/core/base/sys.h"
#include "agent/output/file.h"
#include "agent/output/open.h"
#include "agent/output/private_dump.h"
#include "agent/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
	struct stat err;
	bool has_err;
	const char *file; /* absolute; NULL: stderr */
	int kept;	  /* a copy of stderr, -1: none */
	struct pmc_screen screen;
} where = { .kept = -1 };

void agent_report_init(char *const *envp)
{
	const char *file = agent.config.report.file;
	char text[PATH_MAX], cwd[PATH_MAX];
	struct pmc_out out;

	pmc_screen_from_env(&where.screen, envp);
	where.has_err = pmc_sys2(SYS_fstat, 2, &where.err) == 0;
	if (!file)
		return;
	where.file = file;
	if (*file != '/' && getcwd(cwd, sizeof(cwd))) {
		pmc_out_to_mem(&out, text, sizeof(text));
		pmc_outf(&out, "%s/%s", cwd, file);
		where.file = pmc_arena_strdup(&agent.arena, text);
	}
}

static bool is_our_stderr(int fd)
{
	struct stat st;

	return where.has_err && fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == where.err.st_dev &&
	       st.st_ino == where.err.st_ino && st.st_rdev == where.err.st_rdev;
}

void agent_report_keep_stderr(void)
{
	if (!agent.first || agent.config.report.kind == PMC_REPORT_OFF || where.file ||
	    where.kept >= 0 || !is_our_stderr(2))
		return;
	where.kept = (int)syscall(SYS_fcntl, 2, F_DUPFD_CLOEXEC, agent_fds_window_open());
	agent_fds_window_close();
}

void agent_report_forked(void)
{
	if (where.kept >= 0)
		syscall(SYS_close, where.kept);
	where.kept = -1;
}

/* Reason and fix for an -errno of a report that is to go to a file. */
static const char *file_fix(int error)
{
	switch (-error) {
	case ENXIO:
	case EPIPE:
		return "it is a pipe without a reader; name a file, or start its reader first";
	case ETIMEDOUT:
		return "its reader takes nothing; name a file";
	default:
		return agent_file_fix(error);
	}
}

static int open_target(void)
{
	int fd;

	if (where.file) {
		fd = pmc_file_open_report(where.file);
		if (fd >= 0)
			pmc_file_empty(fd);
		else
			pmc_log(PMC_LOG_ERROR, "PMC_REPORT: %s: %s (there is no report)",
				where.file, file_fix(fd));
		return fd;
	}
	return is_our_stderr(2) ? 2 : is_our_stderr(where.kept) ? where.kept : -1;
}

/* How long the end of the program waits for a reader that takes nothing. */
#define PATIENCE_MS 1000

/* Files take output at once. A pipe or a terminal is opened again, to make it non-blocking without
 * a change to the program's descriptor; where that fails, poll alone decides. Returns the
 * descriptor to write to. */
static int without_blocking(int fd, struct pmc_out *out)
{
	char path[32];
	struct pmc_out name;
	struct stat st;
	int again = -1;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	out->patience_ms = PATIENCE_MS;
	pmc_out_to_mem(&name, path, sizeof(path));
	pmc_outf(&name, "/proc/self/fd/%d", fd);
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		again = (int)syscall(SYS_openat, AT_FDCWD, path,
				     O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	return again < 0 ? fd : again;
}

static int read_profile(struct pmc_profile *profile)
{
	size_t len;
	const void *frames = agent_file_waiting(&len);
	int error, fd;

	fd = (int)syscall(SYS_openat, AT_FDCWD, agent_file_name(),
			  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0) {
		if (agent.out)
			syscall(SYS_lseek, fd, (off_t)agent_file_start(), SEEK_SET);
		error = pmc_profile_add_fd(profile, fd);
		syscall(SYS_close, fd);
		if (error)
			return error;
	}
	error = len ? pmc_profile_add_buffer(profile, frames, len) : 0;
	return error ? error : pmc_profile_finish(profile);
}

static void print(int fd)
{
	const struct pmc_profile_options only = { .only_job = agent.job };
	struct pmc_report_options options = {
		.format = agent.config.report.kind == PMC_REPORT_JSON ? PMC_FORMAT_JSON :
									PMC_FORMAT_TABLE,
		.summary = agent.config.report.kind == PMC_REPORT_SUMMARY,
		.top = -1,
		.screen = where.screen,
		.only_first = agent.config.report.kind != PMC_REPORT_JSON,
		.keep_hint = agent.out ? NULL : "PMC_OUT=run.pmc",
	};
	struct pmc_profile profile;
	const char *problem = NULL;
	struct pmc_out out;
	char *text;
	int error;

	pmc_screen_of_fd(&options.screen, fd);
	error = pmc_profile_init(&profile, &only);
	if (!error)
		error = read_profile(&profile);
	text = error ? NULL : pmc_arena_alloc(&profile.arena, 1 << 16);
	if (text) {
		pmc_out_to_fd(&out, fd, text, 1 << 16);
		out.fd = without_blocking(fd, &out);
		pmc_report(&profile, &options, &out, &problem);
		if (out.fd != fd)
			syscall(SYS_close, out.fd);
		if (out.error && where.file)
			pmc_log(PMC_LOG_ERROR, "PMC_REPORT: %s: %s (the report is incomplete)",
				where.file, file_fix(out.error));
	}
	pmc_profile_free(&profile);
}

void agent_report_abandon(void)
{
	if (agent.first && !agent.out && agent.private_dump)
		agent_private_remove(agent.private_dump);
}

static void report(void)
{
	struct agent_write_guard guard;
	int fd = agent.config.report.kind == PMC_REPORT_OFF ? -1 : open_target();

	if (fd >= 0) {
		agent_write_guard_begin(&guard);
		print(fd);
		agent_write_guard_end(&guard, true);
	}
	if (fd > 2)
		syscall(SYS_close, fd);
	/* Only a job with descendants has one, and looks for those of jobs that were killed. */
	if (!agent.out && agent.private_dump && agent_private_remove(agent.private_dump))
		agent_private_sweep(agent.private_dump);
}

static void report_there(void *arg)
{
	(void)arg;
	report();
}

/* Any stack but the main thread's may be small, above all a signal stack. */
static bool on_main_stack(void)
{
	stack_t now;

	return syscall(SYS_gettid) == agent.pid && syscall(SYS_sigaltstack, NULL, &now) == 0 &&
	       !(now.ss_flags & SS_ONSTACK);
}

static void report_in_clone(void)
{
	const size_t bytes = (size_t)256 << 10;
	void *stack;

	stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		return;
	if (agent_throwaway_clone(report_there, NULL, stack, bytes) < 0)
		report_there(NULL);
	munmap(stack, bytes);
}

void agent_report(bool in_clone)
{
	if (!agent.first)
		return;
	if (!in_clone && (agent.config.report.kind == PMC_REPORT_OFF || on_main_stack()))
		report();
	else
		report_in_clone();
}
