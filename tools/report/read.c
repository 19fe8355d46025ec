/* SPDX-License-Identifier: MIT */
/* read.c - reads dumps into a profile, with errors that say what a file is instead. */
#include "tools/report/read.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int report_read_file(struct pmc_profile *profile, const char *path)
{
	bool input = !strcmp(path, "-");
	const char *name = input ? "standard input" : path;
	uint64_t frames = profile->frames, damaged = profile->damaged_frames;
	struct stat st;
	int fd, err;

	fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return tool_fail(EXIT_FAIL, "cannot open %s: %s%s", name, strerror(errno),
				 errno == ENOENT ? "; PMC_OUT or pmctl run -o names the dump" : "");
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		err = -EISDIR;
	} else {
		err = pmc_profile_add_fd(profile, fd);
	}
	if (!input)
		close(fd);
	if (err == -EISDIR)
		return tool_fail(EXIT_FAIL, "%s is a directory; name the dumps in it: %s/*.pmc",
				 name, name);
	if (err)
		return tool_fail(EXIT_FAIL, "cannot read %s: %s", name, strerror(-err));
	if (profile->frames == frames && profile->damaged_frames == damaged)
		return tool_fail(EXIT_FAIL,
				 "%s is empty: nothing was recorded, or its process runs and has "
				 "not written yet; leave it out, or pmctl dump PID writes now",
				 name);
	if (profile->frames == frames)
		return tool_fail(EXIT_FAIL,
				 "%s is not a dump: it has no valid frame; PMC_OUT or "
				 "pmctl run -o writes one",
				 name);
	if (profile->damaged_frames > damaged)
		tool_warn("%s: %llu damaged frame%s skipped; the report lacks what was in %s", name,
			  (unsigned long long)(profile->damaged_frames - damaged),
			  profile->damaged_frames - damaged == 1 ? "" : "s",
			  profile->damaged_frames - damaged == 1 ? "it" : "them");
	return EXIT_OK;
}

int report_check_output(const char *output, const char *const *files, unsigned n)
{
	int code = 0;

	for (unsigned i = 0; i < n && output && !code; i++)
		code = tool_refuse_overwrite("-o", output, files[i], "an input");
	return code;
}
