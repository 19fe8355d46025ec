/* SPDX-License-Identifier: MIT */
/* progress.c - a line on the terminal about work that takes more than a second. */
#include "tools/cli/progress.h"
#include "lib/base/clock.h"
#include "lib/base/out.h"
#include "tools/cli/pmctl.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define FIRST_NS UINT64_C(1000000000)
#define NEXT_NS	 UINT64_C(250000000)

static struct {
	const char *what; /* NULL: nothing is shown */
	uint64_t total, done, begin_ns, shown_ns;
} progress;

void tool_progress_begin(const char *what, uint64_t total)
{
	const char *term = getenv("TERM");

	progress.what = term && strcmp(term, "dumb") && isatty(STDERR_FILENO) ? what : NULL;
	progress.total = total;
	progress.done = 0;
	progress.begin_ns = progress.shown_ns = pmc_now_ns();
}

/* A line of a background job would stand in what is typed. */
static void put(const char *text, size_t len)
{
	const pid_t group = tcgetpgrp(STDERR_FILENO);

	if (group < 0 || group == getpgrp())
		(void)pmc_out_write(STDERR_FILENO, text, len);
}

static void show(double seconds)
{
	const double share = progress.total ? (double)progress.done / (double)progress.total : 0;
	const bool known = share >= 0.01; /* below, the time left is a guess */
	const int columns = tool_columns(STDERR_FILENO);
	struct pmc_out out = PMC_OUT_MEM(160);

	pmc_outf(&out, "\r\033[K%s %s: %s, ", tool_program, tool_command_name, progress.what);
	if (known)
		pmc_outf(&out, "%d %%, ", (int)(fmin(share, 1) * 100));
	pmc_out_fixed(&out, known ? ceil(seconds * (1 / fmin(share, 1) - 1)) : seconds, 0);
	pmc_out_str(&out, known ? " s left" : " s");
	put(out.buf, columns && out.len > (size_t)columns + 3 ? (size_t)columns + 3 : out.len);
}

void tool_progress_step(uint64_t done)
{
	uint64_t ns;

	if (!progress.what)
		return;
	progress.done = done;
	ns = pmc_now_ns();
	if (ns - progress.begin_ns < FIRST_NS || ns - progress.shown_ns < NEXT_NS)
		return;
	progress.shown_ns = ns;
	show((double)(ns - progress.begin_ns) / 1e9);
}

void tool_progress_add(uint64_t more)
{
	tool_progress_step(progress.done + more);
}

void tool_progress_hide(void)
{
	static const char clear[] = "\r\033[K";

	/* By the time, not by what was shown: a child may have. */
	if (progress.what && pmc_now_ns() - progress.begin_ns >= FIRST_NS)
		put(clear, sizeof(clear) - 1);
}

void tool_progress_end(void)
{
	tool_progress_hide();
	progress.what = NULL;
}
