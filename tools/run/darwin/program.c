/* SPDX-License-Identifier: MIT */
/* program.c - whether a program of this Mac can load the agent. */
#include "tools/run/program.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysctl.h>

/* Also true in a process that Rosetta translates. */
static bool is_apple_silicon(void)
{
	int value = 0;
	size_t bytes = sizeof(value);

	return sysctlbyname("hw.optional.arm64", &value, &bytes, NULL, 0) == 0 && value;
}

static void judge(struct program *program, const struct macho_facts *agent)
{
	struct macho_place place = { .apple_silicon = is_apple_silicon() };
	struct macho_facts facts;
	char path[PATH_MAX];
	struct stat st;
	int error;

	if (!realpath(program->image, path) || stat(path, &st) != 0)
		return;
	place.path = path;
	place.gains_rights = st.st_mode & (S_ISUID | S_ISGID);
	place.sip_flag = st.st_flags & SF_RESTRICTED;
	error = macho_read_file(path, &facts);
	if (error == -ENOEXEC)
		return;
	/* Of an unreadable file only the place is known. */
	if (error)
		facts = *agent;
	program->kind = macho_judge(&facts, agent, &place);
	if (error && program->kind != PROGRAM_SECURE && program->kind != PROGRAM_PROTECTED)
		program->kind = PROGRAM_UNREADABLE;
}

int program_look(const char *command, const char *agent, struct program *program)
{
	struct macho_facts facts;
	int error = macho_read_file(agent, &facts);

	if (!error && command && program_find(command, program))
		judge(program, &facts);
	return error;
}

const char *const program_obstacle[PROGRAM_KINDS] = {
	[PROGRAM_STATIC] = "has no loader and cannot load the agent",
	[PROGRAM_FOREIGN] = "has another architecture than the agent",
	[PROGRAM_SECURE] = "is setuid or setgid, so macOS drops DYLD_INSERT_LIBRARIES",
	[PROGRAM_PROTECTED] =
		"is covered by System Integrity Protection, so macOS drops DYLD_INSERT_LIBRARIES "
		"(fix: a build from elsewhere, such as Homebrew's)",
	[PROGRAM_HARDENED] = "has the hardened runtime, so macOS drops DYLD_INSERT_LIBRARIES (fix: "
			     "codesign -f -s - of a copy)",
	[PROGRAM_VALIDATED] = "accepts only libraries of its own developer or Apple (fix: codesign "
			      "-f -s - of a copy)",
	[PROGRAM_ARM64E] = "is built for arm64e only, the agent for arm64 (fix: a build for arm64)",
};
