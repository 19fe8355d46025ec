/* SPDX-License-Identifier: MIT */
/* names.c - adds the names of functions in stacks and of start routines to a dump that is kept. */
#include "tools/cli/pmctl.h"
#include "tools/report/samples.h"
#include "tools/run/run.h"

#include <unistd.h>

void run_keep_names(const struct run *run, const struct pmc_profile *profile)
{
	const char *why;
	int fd;

	if (run->dump.private_dir[0] || run->dump.pattern || !report_wants_names(profile))
		return;
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
