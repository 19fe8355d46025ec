/* SPDX-License-Identifier: MIT */
/* report.c - the report of the whole process tree, after the command has ended. */
#include "agent/core/base/out.h"
#include "agent/core/report/report.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"
#include "tools/report/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_seconds(struct pmc_out *out, uint64_t us)
{
	pmc_out_fixed(out, (double)us / 1e6, us < 1000000 ? 3 : 2);
}

static uint64_t in_us(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000u + (uint64_t)tv.tv_usec;
}

/* What a group on the program counted, its children included. */
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

/* What is known of a program in which no agent ran, in one line. */
static void put_accounting(const struct run *run, struct pmc_out *out)
{
	const struct rusage *usage = &run->child.usage;

	pmc_outf(out, "pmctl run: no thread rows of %s; in all: ", run->cmd[0]);
	put_seconds(out, in_us(usage->ru_utime) + in_us(usage->ru_stime));
	pmc_out_str(out, " s CPU (");
	put_seconds(out, in_us(usage->ru_utime));
	pmc_out_str(out, " user, ");
	put_seconds(out, in_us(usage->ru_stime));
	pmc_out_str(out, " system) in ");
	put_seconds(out, (run->child.end_ns - run->child.start_ns) / 1000);
	pmc_outf(out, " s, %ld page faults (%ld major), ", usage->ru_minflt + usage->ru_majflt,
		 usage->ru_majflt);
	pmc_out_fixed(out, (double)usage->ru_maxrss / 1024.0, 1);
	pmc_out_str(out, " MiB max RSS, with the children it waited for\n");
}

static void complain(const struct run *run, const char *what, int error)
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
		.color = !run->config.report.file && !getenv("NO_COLOR") && isatty(run->report_fd),
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
		complain(run, "cannot read the dump", result);
		return;
	}
	if (run->config.report.kind == PMC_REPORT_OFF)
		goto out;
	symbols_resolve(&profile, NULL);
	pmc_here_read(&here, NULL);
	options.here = &here;
	if (run->config.report.kind == PMC_REPORT_JSON)
		options.format = PMC_FORMAT_JSON;
	if (run->dump.private_dir[0])
		options.keep_hint = "pmctl run -o run.pmc, then pmctl report run.pmc";
	/* It may be there from earlier, longer; a device cannot be cut and need not be. */
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
		complain(run, "cannot write the report", result);
out:
	pmc_profile_free(&profile);
}
