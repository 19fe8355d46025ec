/* SPDX-License-Identifier: MIT */
/*
 * exit_report.c - the report that the job's first process prints at its end, on macOS.
 *
 * The dump is read back and printed by the code of pmctl report, to stderr if that is still the
 * file it was at the start, or to the file of PMC_REPORT.
 */
#include "agent/base/agent.h"
#include "agent/core/base/file.h"
#include "agent/core/base/log.h"
#include "agent/core/report/report.h"
#include "agent/output/file.h"
#include "agent/output/open.h"
#include "agent/process/process.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	struct stat err;
	bool has_err;
	const char *file; /* absolute; NULL: stderr */
	struct pmc_screen screen;
} where;

void agent_report_init(char *const *envp)
{
	const char *file = agent.config.report.file;
	char text[PATH_MAX], cwd[PATH_MAX];
	struct pmc_out out;

	pmc_screen_from_env(&where.screen, envp);
	where.has_err = fstat(2, &where.err) == 0;
	where.file = file;
	if (!file || *file == '/' || !getcwd(cwd, sizeof(cwd)))
		return;
	pmc_out_to_mem(&out, text, sizeof(text));
	pmc_outf(&out, "%s/%s", cwd, file);
	where.file = pmc_arena_strdup(&agent.arena, text);
}

static int open_target(void)
{
	struct stat st;
	int fd;

	if (!where.file)
		return where.has_err && fstat(2, &st) == 0 && st.st_dev == where.err.st_dev &&
				       st.st_ino == where.err.st_ino ?
			       2 :
			       -1;
	fd = pmc_file_open_report(where.file);
	if (fd >= 0)
		pmc_file_empty(fd);
	else
		pmc_log(PMC_LOG_ERROR, "PMC_REPORT: %s: %s (there is no report)", where.file,
			agent_file_fix(fd));
	return fd;
}

static int read_profile(struct pmc_profile *profile)
{
	int fd = pmc_fd_open(AT_FDCWD, agent_file_name(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
	int error = fd < 0 ? fd : 0;

	if (!error && agent.out)
		lseek(fd, (off_t)agent_file_start(), SEEK_SET);
	if (!error)
		error = pmc_profile_add_fd(profile, fd);
	if (fd >= 0)
		pmc_fd_close(fd);
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
		out.patience_ms = 1000;
		pmc_report(&profile, &options, &out, &problem);
	}
	pmc_profile_free(&profile);
}

void agent_report(bool in_clone)
{
	int fd = agent.config.report.kind == PMC_REPORT_OFF ? -1 : open_target();

	(void)in_clone;
	if (fd >= 0)
		print(fd);
	if (fd > 2)
		pmc_fd_close(fd);
	if (!agent.out && agent.private_dump)
		unlink(agent.private_dump);
}
