/* SPDX-License-Identifier: MIT */
/* report.c - prints the report of the process tree after the command has ended. */
#include "lib/base/out.h"
#include "lib/dump/output.h"
#include "tools/view/report.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"
#include "tools/report/report.h"

#include <string.h>
#include <unistd.h>

/* The report's file may have become a dump meanwhile. */
static bool empty_file(const struct run *run)
{
	const char *file = run->config.report.file;
	int error = file ? pmc_text_empty(run->report_fd) : 0;

	if (error)
		tool_fail(EXIT_FAIL, "cannot write the report to %s: %s", file,
			  tool_output_why(error));
	return !error;
}

/* An empty report would look like a measurement. */
static void print_nothing(const struct run *run)
{
	if (run->dump.pattern)
		tool_warn("nothing was recorded of %s: it wrote no file %s; the directory has to "
			  "exist and have room",
			  run->cmd[0], run->config.out);
	if (run->config.report.kind != PMC_REPORT_OFF)
		empty_file(run);
}

/* A page of a dump for each process is made of those in their directory. */
static void write_page(struct run *run)
{
	const char *argv[] = { "export", "--to", "html", "-o", run->config.report.file,
			       "--",	 NULL,	 NULL };

	argv[6] = run->dump.pattern ? run->dump.private_dir : run->dump.file;
	if (run->dump.pattern && !run->dump.private_dir[0])
		tool_warn("%s is not written: each process has a dump of its own; pmctl report "
			  "--html FILE takes them",
			  run->config.report.file);
	else
		cmd_export(7, (char **)(void *)argv);
}

static void run_keep_names(const struct run *run, const struct pmc_profile *profile)
{
	const char *why;
	int fd;

	if (run->dump.private_dir[0] || !report_wants_names(profile))
		return;
	if (run->dump.pattern) {
		if (pmc_profile_next_stack(profile, NULL))
			tool_warn("dumps of single processes (%s) get no names of functions; "
				  "pmctl merge --names adds them",
				  run->config.out);
		return;
	}
	fd = run_dump_append(run, &why);
	if (fd >= 0) {
		why = report_keep_names(profile, fd);
		close(fd);
	}
	if (why)
		tool_warn("%s lacks names of functions: %s; reports need the programs and "
			  "libraries as they are now",
			  run->dump.file, why);
}

void run_print_report(struct run *run)
{
	static char room[64 << 10];
	struct pmc_report_options options = {
		.format = PMC_FORMAT_TABLE,
		.top = -1,
		.summary = run->config.report.kind == PMC_REPORT_SUMMARY,
		.wide = run->wide,
	};
	const char *problem = NULL, *dump, *file = run->config.report.file;
	struct pmc_profile profile;
	struct pmc_here here;
	struct pmc_out out;
	int result;

	if (run->config.report.kind == PMC_REPORT_OFF && run->dump.private_dir[0])
		return;
	result = run_dump_read(run, &profile);
	if (result) {
		tool_fail(EXIT_FAIL, "cannot read the dump: %s", strerror(-result));
		return;
	}
	if (run_has_nothing(&profile)) {
		print_nothing(run);
		goto out;
	}
	if (run->config.report.kind == PMC_REPORT_OFF)
		goto out;
	pmc_screen_from_env(&options.screen, environ);
	pmc_screen_of_fd(&options.screen, run->report_fd);
	symbols_resolve(&profile);
	pmc_here_read(&here, NULL);
	options.here = &here;
	if (run->config.report.kind == PMC_REPORT_HTML) {
		write_page(run);
		goto out;
	}
	if (run->config.report.kind == PMC_REPORT_JSON)
		options.format = PMC_FORMAT_JSON;
	if (run->config.report.kind == PMC_REPORT_CSV)
		options.format = PMC_FORMAT_CSV;
	if (run->dump.private_dir[0]) {
		options.keep_hint = "add -o run.pmc";
	} else if (!run->dump.pattern) {
		dump = strchr(run->config.out, '%') ? run->dump.file : run->config.out;
		options.dumps = &dump;
		options.n_dumps = 1;
	}
	options.no_flags = options.n_dumps;
	if (!empty_file(run))
		goto out;
	pmc_out_to_fd(&out, run->report_fd, room, sizeof(room));
	result = pmc_report(&profile, &options, &out, &problem);
	if (result)
		tool_fail(EXIT_FAIL, "cannot write the report%s%s: %s", file ? " to " : "",
			  file ? file : "", strerror(-result));
out:
	run_keep_names(run, &profile);
	pmc_profile_free(&profile);
}
