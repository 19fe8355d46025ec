/* SPDX-License-Identifier: MIT */
/*
 * judge.c - whether dyld loads an inserted library into a program, from facts of its file.
 *
 * dyld ignores DYLD_INSERT_LIBRARIES in programs that are protected or gain rights. Elsewhere a
 * library that it cannot load ends the program.
 */
#include "tools/run/macho.h"

#include <string.h>

static bool below(const char *path, const char *directory)
{
	return strncmp(path, directory, strlen(directory)) == 0;
}

/* /System/Volumes holds the users' volume, too. */
static bool is_protected(const char *path)
{
	return below(path, "/bin/") || below(path, "/sbin/") ||
	       (below(path, "/usr/") && !below(path, "/usr/local/")) ||
	       (below(path, "/System/") && !below(path, "/System/Volumes/"));
}

enum program_kind macho_judge(const struct macho_facts *program, const struct macho_facts *agent,
			      const struct macho_place *place)
{
	const uint32_t validation =
		MACHO_CS_RUNTIME | MACHO_CS_VALIDATION | MACHO_CS_FORCED_VALIDATION;
	enum macho_cpu cpu;
	const struct macho_slice *slice = macho_choose(program, place->apple_silicon, &cpu);

	if (!slice)
		return PROGRAM_FOREIGN;
	if (place->gains_rights)
		return PROGRAM_SECURE;
	if (place->sip_flag || slice->platform || is_protected(place->path))
		return PROGRAM_PROTECTED;
	if (!slice->dynamic)
		return PROGRAM_STATIC;
	if (slice->restricted || (slice->flags & MACHO_CS_RESTRICT) ||
	    ((slice->flags & MACHO_CS_RUNTIME) && !slice->allows_dyld_variables))
		return PROGRAM_HARDENED;
	if (!agent->slices[cpu].present)
		return cpu == MACHO_ARM64E ? PROGRAM_ARM64E : PROGRAM_FOREIGN;
	if ((slice->flags & validation) && !slice->allows_other_libraries)
		return PROGRAM_VALIDATED;
	return PROGRAM_OK;
}
