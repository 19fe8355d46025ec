/* SPDX-License-Identifier: MIT */
/* names_count.c - how many samples lack a function, its name or its line, and what to do. */
#include "tools/cli/pmctl.h"
#include "tools/report/names.h"

/* Words such as "(no stack)" have no module. */
static bool is_lineless(const struct names_counts *counts, const struct spot *spot)
{
	return counts->by_line && spot->kind == SPOT_NAMED && spot->module[0] && !spot->file[0];
}

static void count_most(uint64_t samples, struct spot *spot, uint64_t *sum, const struct spot **most)
{
	pmc_add_sat(sum, samples);
	pmc_add_sat(&spot->samples, samples);
	if (!*most || spot->samples > (*most)->samples)
		*most = spot;
}

void names_count(struct names_counts *counts, uint64_t samples, struct spot *spot)
{
	pmc_add_sat(&counts->samples, samples);
	if (spot->kind == SPOT_NOWHERE)
		pmc_add_sat(&counts->nowhere, samples);
	else if (spot->kind == SPOT_UNNAMED)
		count_most(samples, spot, &counts->nameless, &counts->most_nameless);
	else if (is_lineless(counts, spot))
		count_most(samples, spot, &counts->lineless, &counts->most_lineless);
}

/* In percent; 0: a few of many samples, which are not worth a line. */
static double share(const struct names_counts *counts, uint64_t samples)
{
	const double percent =
		counts->samples ? 100 * (double)samples / (double)counts->samples : 0;

	if (samples < 10 || percent < 10)
		return 0;
	/* Never rounded to 100: that means all. */
	return samples < counts->samples && percent > 99 ? 99 : percent;
}

void names_warn_of_nowhere(const struct names_counts *counts)
{
	const double percent = share(counts, counts->nowhere);

	if (percent > 0)
		tool_warn("%.0f %% of the samples have no function: the code was compiled at run "
			  "time; let the program write a perf map (java "
			  "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit from JDK 17 on, "
			  "node --perf-basic-prof)",
			  percent);
}

/* The file is here, or the dump has the names that it had. */
void names_warn_of_nameless(const struct names_counts *counts)
{
	const double percent = share(counts, counts->nameless);

	if (percent > 0)
		tool_warn("%.0f %% of the samples are in functions without a name, such as %s: "
			  "install the debug symbols of its package, let DEBUGINFOD_URLS name a "
			  "server that has them, or --symfs a directory with the files",
			  percent, counts->most_nameless->function);
}

void names_warn_of_lineless(const struct names_counts *counts)
{
	const double percent = share(counts, counts->lineless);

	if (percent > 0)
		tool_warn("%.0f %% of the samples are in functions without source lines, such as "
			  "%.200s: %s has no line information; compile it with -g, or install the "
			  "debug symbols of its package",
			  percent, counts->most_lineless->function, counts->most_lineless->module);
}
