/* SPDX-License-Identifier: MIT */
/* symbols.c - names for start routines that a dump knows as module and offset only. */
#include "tools/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *find(struct pmc_arena *arena, const char *path, uint64_t offset, void *arg)
{
	struct symbol_module *module = symbols_module(arg, path, NULL, 0);
	const char *name = module ? symbols_function(arg, module, offset) : NULL;

	return name ? pmc_arena_strdup(arena, name) : NULL;
}

bool symbols_unchanged(const char *path, uint64_t start_ns)
{
	const uint64_t age = pmc_sub_sat(pmc_now_ns(), start_ns);
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	return start_ns && stat(path, &st) == 0 &&
	       pmc_timespec_ns(&st.st_ctim) <= pmc_timespec_ns(&now) - age;
}

/* The loader has the name under which a library was looked for, the kernel, whose names pmctl
 * profile records, that of the file. */
static const char *follow_links(struct pmc_profile *profile, const char *path,
				const struct pmc_p_module *module)
{
	char *file = path[0] == '/' ? realpath(path, NULL) : NULL;
	bool same = file && module && strcmp(file, path) != 0 &&
		    symbols_is_build(file, module->build_id, (unsigned)module->build_id_len);

	for (uint64_t i = 0; i < profile->n_modules && file && !module && !same; i++)
		same = !strcmp(profile->modules[i]->path, file);
	if (same)
		path = pmc_arena_strdup(&profile->arena, file);
	free(file);
	return path;
}

void symbols_resolve(struct pmc_profile *profile)
{
	struct symbols *symbols = symbols_new(NULL);
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	pmc_profile_rename_modules(profile, follow_links);
	pmc_profile_name_sites(profile, host, find, symbols);
	symbols_free(symbols);
}
