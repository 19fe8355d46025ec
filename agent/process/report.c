/* SPDX-License-Identifier: MIT */
/*
 * report.c - prints the report at the end of a job: the dump is read back, and printed by the code
 * of pmctl report, to the file of PMC_REPORT, or to stderr if that is still the file it was at the
 * start.
 */
#include "agent/base/agent.h"
#include "agent/core/base/file.h"
#include "agent/core/base/log.h"
#include "agent/core/dump/output.h"
#include "agent/core/report/report.h"
#include "agent/output/file.h"
#include "agent/output/open.h"
#include "agent/process/process.h"

#include <errno.h>
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
	where.has_err = pmc_fd_stat(2, &where.err) == 0;
	if (!file)
		return;
	where.file = file;
	if (*file != '/' && getcwd(cwd, sizeof(cwd))) {
		pmc_out_to_mem(&out, text, sizeof(text));
		pmc_outf(&out, "%s/%s", cwd, file);
		where.file = pmc_arena_strdup(&agent.arena, text);
	}
}

bool agent_report_is_stderr(int fd)
{
	struct stat st;

	return !where.file && where.has_err && fd >= 0 && fstat(fd, &st) == 0 &&
	       st.st_dev == where.err.st_dev && st.st_ino == where.err.st_ino &&
	       st.st_rdev == where.err.st_rdev;
}

/* Reason and fix for an -errno of a report that is to go to a file. */
static const char *file_fix(int error)
{
	switch (-error) {
	case EPIPE:
		return agent_file_fix(-ENXIO);
	case ETIMEDOUT:
		return "its reader takes nothing; name a file";
	default:
		return agent_file_fix(error);
	}
}

int agent_report_open(void)
{
	int fd;

	if (agent.config.report.kind == PMC_REPORT_OFF)
		return -1;
	if (!where.file)
		return agent_report_is_stderr(2) ? 2 : -1;
	fd = pmc_text_create(where.file);
	if (fd < 0)
		pmc_log(PMC_LOG_ERROR, "PMC_REPORT: %s: %s (there is no report)", where.file,
			file_fix(fd));
	return fd;
}

void agent_report_print(int fd)
{
	const struct pmc_profile_options only = { .only_job = agent.job };
	const char *const dump = agent_file_name();
	struct pmc_report_options options = {
		.format = agent.config.report.kind == PMC_REPORT_JSON ? PMC_FORMAT_JSON :
									PMC_FORMAT_TABLE,
		.summary = agent.config.report.kind == PMC_REPORT_SUMMARY,
		.top = -1,
		.screen = where.screen,
		.only_first = agent.config.report.kind != PMC_REPORT_JSON,
		.no_flags = true,
		.keep_hint = agent.out ? NULL : "PMC_OUT=run.pmc",
		.dumps = &dump,
		.n_dumps = agent.out != NULL,
	};
	struct pmc_profile profile;
	const char *problem = NULL;
	struct pmc_out out;
	char *text;
	int error;

	pmc_screen_of_fd(&options.screen, fd);
	error = pmc_profile_init(&profile, &only);
	if (!error)
		error = agent_report_read(&profile);
	text = error ? NULL : pmc_arena_alloc(&profile.arena, 1 << 16);
	if (text) {
		pmc_out_to_fd(&out, fd, text, 1 << 16);
		out.fd = agent_report_unblocked(fd, &out);
		pmc_report(&profile, &options, &out, &problem);
		if (out.fd != fd)
			pmc_fd_close(out.fd);
		if (out.error && where.file)
			pmc_log(PMC_LOG_ERROR, "PMC_REPORT: %s: %s (the report is incomplete)",
				where.file, file_fix(out.error));
	}
	pmc_profile_free(&profile);
}
