/* SPDX-License-Identifier: MIT */
/* names.c - pmctl merge --names: adds the names of functions, while the files are there. */
#include "tools/rows/profile.h"
#include "tools/cli/pmctl.h"
#include "tools/merge/merge.h"
#include "tools/report/samples.h"

#include <unistd.h>

int merge_append_names(int fd)
{
	const struct pmc_profile_options options = { .only_stacks = true, .starts = true };
	struct pmc_profile profile;
	const char *why;
	int error;

	pmc_profile_init(&profile, &options);
	lseek(fd, 0, SEEK_SET);
	error = pmc_profile_add_fd(&profile, fd);
	if (!error) {
		pmc_profile_finish(&profile);
		why = report_keep_names(&profile, fd);
		if (why)
			tool_warn("names of functions are missing: %s", why);
	}
	pmc_profile_free(&profile);
	return error;
}
