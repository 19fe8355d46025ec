/* SPDX-License-Identifier: MIT */
/* program.c - finds the file of a command: in PATH, and through the interpreters of scripts. */
#include "tools/cli/pmctl.h"
#include "tools/run/program.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool program_find(const char *command, struct program *program)
{
	memset(program, 0, sizeof(*program));
	program->kind = PROGRAM_NOT_FOUND;
	if (!tool_find_command_file(command, program->path))
		return false;
	memcpy(program->image, program->path, sizeof(program->image));
	tool_follow_scripts(program->image);
	program->kind = PROGRAM_UNREADABLE;
	return true;
}

bool program_can_start(const struct program *program)
{
	struct stat st;

	return program->kind != PROGRAM_NOT_FOUND && stat(program->path, &st) == 0 &&
	       S_ISREG(st.st_mode) && access(program->path, X_OK) == 0;
}
