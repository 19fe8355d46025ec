/* SPDX-License-Identifier: MIT */
/* symbols.c - names for start routines that a dump knows as module and offset only. */
#include "tools/report/report.h"

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

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool symbols_unchanged(const char *path, uint64_t start_ns)
{
	const int64_t age = clock_ns(CLOCK_MONOTONIC) - (int64_t)start_ns;
	struct stat st;

	return start_ns && stat(path, &st) == 0 &&
	       (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec <=
		       clock_ns(CLOCK_REALTIME) - age;
}

const char *symbols_start(struct symbols *symbols, const struct pmc_profile *profile,
			  const char *path, uint64_t offset, uint64_t start_ns)
{
	const struct pmc_p_module *build = NULL;
	struct symbol_module *module;
	unsigned builds = 0;

	for (uint64_t i = 0; i < profile->n_modules; i++)
		if (!strcmp(profile->modules[i]->path, path) && profile->modules[i]->build_id_len)
			build = profile->modules[i], builds++;
	/* Rows do not say which of two builds is theirs. */
	if (builds != 1) {
		build = NULL;
		if (!symbols_unchanged(path, start_ns))
			return NULL;
	}
	module = symbols_module(symbols, path, build ? build->build_id : NULL,
				build ? (unsigned)build->build_id_len : 0);
	return module ? symbols_function(symbols, module, offset) : NULL;
}

void symbols_resolve(struct pmc_profile *profile, const char *host)
{
	struct symbols *symbols = symbols_new(NULL);
	char name[256] = "";

	if (!host) {
		gethostname(name, sizeof(name) - 1);
		host = name;
	}
	pmc_profile_name_sites(profile, host, find, symbols);
	symbols_free(symbols);
}
