/* SPDX-License-Identifier: MIT */
/* report.c - prints the report of the process tree after the command has ended. */
#include "agent/core/base/out.h"
#include "agent/core/report/report.h"
#include "agent/core/report/words.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"
#include "tools/report/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Counts of the groups that pmctl opened on the program, children included. */
static void put_counts(const struct pmc_profile *profile, struct pmc_out *out)
{
	const struct pmc_p_remainder *all = NULL;

	for (uint64_t i = 0; i < profile->n_processes; i++)
		if (profile->processes[i]->unattributed.set)
			all = &profile->processes[i]->unattributed;
	if (!all)
		return;
	pmc_out_str(out, "pmctl run: counted in all: ");
	for (unsigned i = 0; i < all->set->count; i++) {
		const struct pmc_count *count = &all->counts[i];

		pmc_outf(out, "%s%s%s ", i ? ", " : "", all->set->events[i].name,
			 all->set->events[i].def.scope == PMC_SCOPE_USER ? " (user mode)" : "");
		if (pmc_count_has_value(count))
			pmc_outf(out, "%llu%s%s", (unsigned long long)pmc_count_value(count),
				 *all->set->events[i].unit ? " " : "", all->set->events[i].unit);
		else
			pmc_out_str(out, pmc_state_name(count->state));
	}
	pmc_out_char(out, '\n');
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

/* Accounting of a program without an agent, in one line. */
static void put_accounting(const struct run *run, struct pmc_out *out)
{
	const struct rusage *usage = &run->child.usage;
	double user = seconds(usage->ru_utime), system = seconds(usage->ru_stime);
	char text[256];

	snprintf(text, sizeof(text),
		 "%.3f s CPU (%.3f user, %.3f system) in %.3f s, %ld page faults (%ld major), "
		 "%.1f MiB max RSS, children it waited for included",
		 user + system, user, system,
		 (double)(run->child.end_ns - run->child.start_ns) / 1e9,
		 usage->ru_minflt + usage->ru_majflt, usage->ru_majflt,
		 (double)usage->ru_maxrss / 1024);
	pmc_outf(out, "pmctl run: no thread rows of %s; in all: %s\n", run->cmd[0], text);
}

static void fail(const struct run *run, const char *what, int error)
{
	const char *file = run->config.report.file;

	tool_fail(EXIT_FAIL, "%s%s%s: %s", what, file ? " to " : "", file ? file : "",
		  strerror(-error));
}

void run_print_report(struct run *run)
{
	static char room[64 << 10];
	struct pmc_report_options options = {
		.format = PMC_FORMAT_TABLE,
		.top = -1,
		.summary = run->config.report.kind == PMC_REPORT_SUMMARY,
	};
	const char *problem = NULL;
	struct pmc_profile profile;
	struct pmc_here here;
	struct pmc_out out;
	int result;

	if (run->config.report.kind == PMC_REPORT_OFF && run->dump.private_dir[0])
		return;
	result = run_dump_read(run, &profile);
	if (result) {
		fail(run, "cannot read the dump", result);
		return;
	}
	if (run->config.report.kind == PMC_REPORT_OFF)
		goto out;
	pmc_screen_from_env(&options.screen, environ);
	pmc_screen_of_fd(&options.screen, run->report_fd);
	symbols_resolve(&profile, NULL);
	pmc_here_read(&here, NULL);
	options.here = &here;
	if (run->config.report.kind == PMC_REPORT_JSON)
		options.format = PMC_FORMAT_JSON;
	if (run->dump.private_dir[0])
		options.keep_hint = "pmctl run -o run.pmc";
	/* An existing file may be longer. Devices refuse, which does no harm. */
	if (run->config.report.file)
		(void)!ftruncate(run->report_fd, 0);
	pmc_out_to_fd(&out, run->report_fd, room, sizeof(room));
	if (options.format == PMC_FORMAT_TABLE && profile.n_threads == 0) {
		put_accounting(run, &out);
		put_counts(&profile, &out);
		result = pmc_out_flush(&out);
	} else {
		result = pmc_report(&profile, &options, &out, &problem);
	}
	if (result)
		fail(run, "cannot write the report", result);
out:
	pmc_profile_free(&profile);
}
