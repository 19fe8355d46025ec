/* SPDX-License-Identifier: MIT */
/*
 * report.c - where the summary at the end of a job goes, and what it is made from: the file of
 * PMC_REPORT, or stderr if that is still the file it was at the start; the frames of the dump.
 */
#include "agent/process/process.h"
#include "agent/process/summary.h"
#include "lib/base/file.h"
#include "lib/dump/output.h"

static struct {
	struct stat err;
	bool has_err;
	const char *file; /* absolute; NULL: stderr */
	struct pmc_screen screen;
} where;

int agent_report_patience_ms = 1000;

/* The form of a report that pmctl makes and the agent does not; NULL: the agent makes it. */
static const char *wanted(void)
{
	const enum pmc_report_kind kind = agent.config.report.kind;

	return kind < PMC_REPORT_THREADS ? NULL : pmc_report_kinds[kind];
}

void agent_report_init(char *const *envp)
{
	const char *file = agent.config.report.file;
	char text[PATH_MAX], cwd[PATH_MAX];
	struct pmc_out out;

	pmc_screen_from_env(&where.screen, envp);
	where.has_err =
		agent.config.report.kind != PMC_REPORT_OFF && pmc_fd_stat(2, &where.err) == 0;
	/* A script that waits for a file of another form must not find the summary in it. */
	if (!file || wanted())
		return;
	where.file = file;
	if (*file != '/' && getcwd(cwd, sizeof(cwd))) {
		pmc_out_to_mem(&out, text, sizeof(text));
		pmc_outf(&out, "%s/%s", cwd, file);
		where.file = pmc_arena_strdup(&agent.arena, text);
	}
}

bool agent_is_first_stderr(int fd)
{
	struct stat st;

	return where.has_err && fd >= 0 && pmc_fd_stat(fd, &st) == 0 &&
	       st.st_dev == where.err.st_dev && st.st_ino == where.err.st_ino &&
	       st.st_rdev == where.err.st_rdev;
}

bool agent_report_is_stderr(int fd)
{
	return !where.file && agent_is_first_stderr(fd);
}

int agent_report_open(void)
{
	int fd;

	if (agent.config.report.kind == PMC_REPORT_OFF)
		return -1;
	if (!where.file)
		return agent_report_is_stderr(2) ? 2 : -1;
	fd = pmc_text_create(where.file);
	if (fd < 0 && agent_is_first_stderr(2))
		pmc_log(PMC_LOG_ERROR, "PMC_REPORT: %s: %s (there is no report)", where.file,
			agent_file_fix(fd));
	return fd;
}

static int take_all(struct summary *summary, int fd, const void *pending, size_t len)
{
	struct pmc_scan scan = { .data = pending, .len = len };
	struct pmc_frame frame;
	int error = 0;

	if (fd >= 0) {
		lseek(fd, agent.out ? (off_t)agent.reported.dump_start : 0, SEEK_SET);
		error = pmc_scan_fd(fd, summary_take, summary, &scan.damaged);
	}
	while (!error && pmc_scan_next(&scan, &frame))
		error = summary_take(&frame, summary);
	return error;
}

static void print(struct pmc_arena *arena, struct summary *summary, bool named, int fd)
{
	const struct summary_form form = {
		.screen = where.screen,
		.rows = agent.config.report.kind != PMC_REPORT_SUMMARY,
		.command = agent.text.cmdline,
		.dump = agent.out && named ? agent_file_name : NULL,
		.wanted = wanted(),
	};
	const size_t room = (size_t)16 << 10;
	char *text = pmc_arena_alloc(arena, room);
	struct pmc_out out;
	struct stat st;

	if (!text)
		return;
	if (pmc_fd_stat(fd, &st) != 0)
		st.st_mode = 0;
	pmc_out_to_fd(&out, agent_report_unblocked(fd, st.st_mode), text, room);
	out.patience_ms = S_ISREG(st.st_mode) ? 0 : agent_report_patience_ms;
	out.to_socket = S_ISSOCK(st.st_mode);
	summary_print(summary, &form, &out);
	agent_notes_print(&out, pmc_screen_width(&form.screen));
	pmc_out_flush(&out);
	if (out.fd != fd)
		pmc_fd_close(out.fd);
	if (out.error && where.file && agent_is_first_stderr(2))
		pmc_log(PMC_LOG_ERROR, "PMC_REPORT: %s: %s (the report is incomplete)", where.file,
			agent_file_fix(out.error));
}

void agent_report_print(int fd)
{
	struct pmc_arena arena = { 0 };
	struct summary *summary = summary_new(&arena, agent.job, agent.identity, &agent.plan);
	size_t len;
	const void *pending = agent_file_waiting(&len);
	bool named;
	const int dump = agent_file_read(&named);
	int error = summary ? take_all(summary, dump, pending, len) : -ENOMEM;

	pmc_screen_of_fd(&where.screen, fd);
	if (!error) {
		summary_read_again(summary);
		error = take_all(summary, dump, pending, len);
	}
	if (!error)
		print(&arena, summary, named, fd);
	else if (error == -ENOMEM && agent_is_first_stderr(2))
		pmc_log(PMC_LOG_WARN, "too many threads for the summary at exit; keep a dump "
				      "(PMC_OUT=FILE) and use pmctl report FILE");
	if (dump >= 0)
		pmc_fd_close(dump);
	pmc_arena_free(&arena);
}
