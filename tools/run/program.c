/* SPDX-License-Identifier: MIT */
/* program.c - finds the file of a command: in PATH, and through the interpreters of scripts. */
#include "tools/run/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nested script interpreters that the kernel follows. */
#define SCRIPTS_MAX 5

/* Searches as execvp does: the first executable file. */
static bool find_command(const char *command, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");

	if (strchr(command, '/'))
		return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX &&
		       access(path, F_OK) == 0;
	for (const char *dir = dirs ? dirs : "/bin:/usr/bin"; dir; dir = strchr(dir, ':')) {
		struct stat st;
		int len;

		dir += *dir == ':';
		len = (int)strcspn(dir, ":");
		/* An empty element is the current directory. */
		if (*command &&
		    snprintf(path, PATH_MAX, "%.*s/%s", len ? len : 1, len ? dir : ".", command) <
			    PATH_MAX &&
		    access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode))
			return true;
	}
	return false;
}

/* The interpreter of a script; false: not a script. */
static bool shebang(const char *path, char to[PATH_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char line[PATH_MAX];
	const char *start;
	ssize_t n;
	size_t len;

	if (fd < 0)
		return false;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	start = line + 2 + strspn(line + 2, " \t");
	len = strcspn(start, " \t\n");
	if (len == 0)
		return false;
	memcpy(to, start, len);
	to[len] = '\0';
	return true;
}

bool program_find(const char *command, struct program *program)
{
	char next[PATH_MAX];

	memset(program, 0, sizeof(*program));
	program->kind = PROGRAM_NOT_FOUND;
	if (!find_command(command, program->path))
		return false;
	memcpy(program->image, program->path, sizeof(program->image));
	for (int i = 0; i < SCRIPTS_MAX && shebang(program->image, next); i++)
		memcpy(program->image, next, sizeof(next));
	program->kind = PROGRAM_UNREADABLE;
	return true;
}

bool program_can_start(const struct program *program)
{
	struct stat st;

	return program->kind != PROGRAM_NOT_FOUND && stat(program->path, &st) == 0 &&
	       S_ISREG(st.st_mode) && access(program->path, X_OK) == 0;
}
