/* SPDX-License-Identifier: MIT */
/* read.c - reads dumps into a profile. */
#include "tools/report/report.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"

#include <string.h>

int report_read_one(void *to, int fd, const char *name)
{
	struct pmc_profile *profile = to;
	const uint64_t frames = profile->frames, damaged = profile->damaged_frames;
	int err;

	profile->step = tool_progress_add;
	err = pmc_profile_add_fd(profile, fd);
	if (err)
		return err;
	if (profile->frames == frames) {
		const bool empty = profile->damaged_frames == damaged;

		profile->damaged_frames = damaged;
		return empty ? INPUT_EMPTY : INPUT_FOREIGN;
	}
	if (profile->damaged_frames > damaged)
		tool_warn("%s: %llu damaged frame%s skipped; the report lacks what was in %s", name,
			  (unsigned long long)(profile->damaged_frames - damaged),
			  profile->damaged_frames - damaged == 1 ? "" : "s",
			  profile->damaged_frames - damaged == 1 ? "it" : "them");
	return 0;
}

int report_read(struct pmc_profile *profile, const char *const *files, unsigned n)
{
	return tool_inputs_read(files, n, report_read_one, profile);
}

int report_check_output(const char *output, const char *const *files, unsigned n)
{
	int code = 0;

	for (unsigned i = 0; i < n && output && !code; i++)
		code = tool_refuse_overwrite("-o", output, files[i], "an input");
	return code;
}

int report_set_keys(const unsigned char *keys, unsigned char *outer, enum pmc_fold_by *by)
{
	unsigned char sorted[PMC_KEYS_MOST + 1] = { 0 };
	const bool waker = memchr(keys, PMC_BY_WAKER, PMC_KEYS_MOST);
	unsigned n = 0;

	/* Wherever it is given, a waker is behind keys of threads and before those of code. */
	for (const unsigned char *key = keys; *key; key++)
		if (*key != PMC_BY_WAKER)
			sorted[n++] = *key;
	if (waker) {
		const bool code = n && pmc_by_samples((enum pmc_fold_by)sorted[n - 1]);

		sorted[n] = code ? sorted[n - 1] : PMC_BY_WAKER;
		sorted[n - code] = PMC_BY_WAKER;
	}
	keys = sorted;
	*by = (enum pmc_fold_by)keys[0];
	for (unsigned i = 0; keys[0] && keys[i + 1]; i++) {
		if ((pmc_by_samples(*by) && *by != PMC_BY_WAKER) || *by == PMC_BY_REGION)
			return tool_fail(EXIT_USAGE, "--by %s,%s: %s can only be the last key",
					 pmc_by_names[*by], pmc_by_names[keys[i + 1]],
					 pmc_by_names[*by]);
		outer[i] = (unsigned char)*by;
		*by = (enum pmc_fold_by)keys[i + 1];
	}
	return 0;
}
