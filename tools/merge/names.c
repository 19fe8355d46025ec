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
	int error = pmc_profile_init(&profile, &options);
	const char *why;

	if (!error && lseek(fd, 0, SEEK_SET) == 0)
		error = pmc_profile_add_fd(&profile, fd);
	if (!error)
		error = pmc_profile_finish(&profile);
	if (!error) {
		why = report_keep_names(&profile, fd);
		if (why)
			tool_warn("names of functions are missing: %s", why);
	}
	pmc_profile_free(&profile);
	return error;
}
