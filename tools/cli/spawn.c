/* SPDX-License-Identifier: MIT */
/*
 * spawn.c - programs that pmctl starts: their files, why they did not start, ending as they ended.
 *
 * macOS drops DYLD_* on the way through a shell: programs are started by posix_spawn(2).
 */
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#else
#include <mach-o/dyld.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Nested interpreters of scripts that the kernel follows. */
#define SCRIPTS_MAX 5

/* ---- files of programs ---------------------------------------------------------------------- */

bool tool_own_path(char path[PATH_MAX])
{
#ifdef __linux__
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	path[n > 0 ? n : 0] = '\0';
	return n > 0;
#else
	uint32_t room = PATH_MAX;

	return _NSGetExecutablePath(path, &room) == 0;
#endif
}

bool tool_find_beside(const char *file, int mode, char dir[PATH_MAX], char found[PATH_MAX])
{
	static const char *const places[] = { "", "/" PMC_AGENT_DIR };
	char own[PATH_MAX], real[PATH_MAX], *slash;

	dir[0] = found[0] = '\0';
	if (!tool_own_path(own))
		return false;
	if (!realpath(own, real)) /* it was replaced since */
		strcpy(real, own);
	slash = strrchr(real, '/');
	if (!slash)
		return false;
	snprintf(dir, PATH_MAX, "%.*s", (int)(slash - real), real);
	for (unsigned i = 0; i < 2; i++)
		if (snprintf(found, PATH_MAX, "%s%s/%s", dir, places[i], file) < PATH_MAX &&
		    access(found, mode) == 0)
			return true;
	found[0] = '\0';
	return false;
}

bool tool_find_agent(char dir[PATH_MAX], char found[PATH_MAX])
{
	return tool_find_beside(TOOL_AGENT_FILE, R_OK, dir, found);
}

int tool_no_agent(int code, const char *dir, const char *fix)
{
	if (!*dir)
		return tool_fail(code,
				 "cannot find the agent: without /proc the directory of pmctl is "
				 "unknown; mount /proc, or %s",
				 fix);
	return tool_fail(code, "cannot find the agent: no %s in %s or %s/" PMC_AGENT_DIR "; %s",
			 TOOL_AGENT_FILE, dir, dir, fix);
}

void tool_prepend(const char *variable, const char *value)
{
	const char *old = getenv(variable) ? getenv(variable) : "";
	const size_t bytes = strlen(value) + strlen(old) + 2;
	char *text = tool_realloc(NULL, bytes);

	snprintf(text, bytes, "%s%s%s", value, *old ? ":" : "", old);
	setenv(variable, text, 1);
	free(text);
}

bool tool_is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool tool_find_command_file(const char *command, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");

	if (strchr(command, '/'))
		return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX &&
		       access(path, F_OK) == 0;
	for (const char *dir = dirs ? dirs : "/bin:/usr/bin"; dir;) {
		const int len = (int)strcspn(dir, ":");

		/* An empty element is the current directory. */
		if (*command &&
		    snprintf(path, PATH_MAX, "%.*s/%s", len ? len : 1, len ? dir : ".", command) <
			    PATH_MAX &&
		    tool_is_program(path))
			return true;
		dir = dir[len] ? dir + len + 1 : NULL;
	}
	return false;
}

/* The interpreter of a script; false: not a script. */
static bool interpreter_of(const char *path, char to[PATH_MAX])
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

void tool_follow_scripts(char path[PATH_MAX])
{
	char next[PATH_MAX];

	for (int i = 0; i < SCRIPTS_MAX && interpreter_of(path, next); i++)
		memcpy(path, next, sizeof(next));
}

/* ---- ends ----------------------------------------------------------------------------------- */

int tool_fail_exec(const char *command, int error)
{
	char path[PATH_MAX], why[PATH_MAX + 40];

	snprintf(why, sizeof(why), "%s", error == ENOENT ? "not found" : strerror(error));
	if (error == ENOENT && tool_find_command_file(command, path)) {
		tool_follow_scripts(path);
		snprintf(why, sizeof(why),
			 access(path, F_OK) == 0 ? "the loader that %s names is missing" :
						   "its interpreter %s is missing",
			 path);
	}
	return tool_fail(error == ENOENT ? EXIT_NO_CMD : EXIT_CANNOT_RUN,
			 "cannot run command '%s': %s", command, why);
}

int tool_check_command(const char *command)
{
	char path[PATH_MAX];

	if (!tool_find_command_file(command, path))
		return tool_fail_exec(command, ENOENT);
	return tool_is_program(path) ? 0 : tool_fail_exec(command, EACCES);
}

void tool_no_core(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
	/* A core_pattern that is a program ignores the limit. */
	prctl(PR_SET_DUMPABLE, 0);
#endif
}

int tool_end_as(int status)
{
	int sig;
	sigset_t set;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	sig = WTERMSIG(status);
	fflush(stdout);
	tool_no_core();
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	return 128 + sig;
}

/* ---- posix_spawn ---------------------------------------------------------------------------- */

static int set_signals(posix_spawnattr_t *attr, const struct tool_spawn *spawn)
{
	short flags = POSIX_SPAWN_SETSIGMASK;
	sigset_t defaults;

	sigemptyset(&defaults);
	for (unsigned i = 0; i < TOOL_IGNORED; i++) {
		if (tool_ignored_was[i].sa_handler == SIG_IGN)
			continue;
		sigaddset(&defaults, tool_ignored[i]);
		flags |= POSIX_SPAWN_SETSIGDEF;
	}
	if (spawn->group)
		flags |= POSIX_SPAWN_SETPGROUP;
	posix_spawnattr_setsigdefault(attr, &defaults);
	posix_spawnattr_setsigmask(attr, spawn->mask);
	return posix_spawnattr_setflags(attr, flags);
}

/* Of descriptors that are the standard ones already, the close-on-exec flag is cleared. */
static int set_io(posix_spawn_file_actions_t *actions, const struct tool_spawn *spawn)
{
	int error = 0;

	for (int i = 0; spawn->io && i < (spawn->n_io ? spawn->n_io : 3) && !error; i++)
		if (spawn->io[i] >= 0)
			error = posix_spawn_file_actions_adddup2(actions, spawn->io[i], i);
	return error;
}

int tool_spawn(const struct tool_spawn *spawn, pid_t *pid)
{
	char **environment = spawn->environment ? spawn->environment : environ;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int error;

	/* Of failed initialisations the next calls return an error. */
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_init(&actions);
	error = set_signals(&attr, spawn);
	if (!error)
		error = set_io(&actions, spawn);
	if (!error && spawn->path)
		error = posix_spawn(pid, spawn->path, &actions, &attr, spawn->argv, environment);
	else if (!error)
		error = posix_spawnp(pid, spawn->argv[0], &actions, &attr, spawn->argv,
				     environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return error;
}
