/* SPDX-License-Identifier: MIT */
/*
 * dump.c - the file a job's agents write to: named by the user, or private and removed.
 *
 * The private one lies in a directory of its own: what a daemon left behind by the command
 * writes later then finds no place, instead of littering $TMPDIR.
 */
#include "agent/core/dump/frame.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct text {
	char *to;
	size_t len, cap;
	bool full;
};

static void put(struct text *text, char c)
{
	if (text->len + 1 >= text->cap)
		text->full = true;
	else
		text->to[text->len++] = c;
	text->to[text->len] = '\0';
}

/* A path made by us, as PMC_OUT has to have it. */
static void put_plain(struct text *text, const char *path)
{
	for (; *path; path++) {
		if (*path == '%')
			put(text, '%');
		put(text, *path);
	}
}

static int make_absolute(const char *asked, char path[PATH_MAX])
{
	struct text text = { .to = path, .cap = PATH_MAX };
	char cwd[PATH_MAX];

	if (asked[0] != '/') {
		if (!getcwd(cwd, sizeof(cwd)))
			return -errno;
		put_plain(&text, cwd);
		put(&text, '/');
	}
	for (; *asked; asked++)
		put(&text, *asked);
	return text.full ? -ENAMETOOLONG : 0;
}

/* PMC_OUT as a glob pattern for the files it can have become. True if it can be several. */
static bool to_glob(const char *out, char pattern[PATH_MAX])
{
	struct text text = { .to = pattern, .cap = PATH_MAX };
	bool several = false;

	for (; *out; out++) {
		if (*out == '%' && out[1] && *++out != '%') {
			put(&text, '*');
			several = true;
			continue;
		}
		if (strchr("*?[]\\", *out))
			put(&text, '\\');
		put(&text, *out);
	}
	return several;
}

/* The one file a pattern without placeholders stands for. */
static void to_plain(const char *out, char path[PATH_MAX])
{
	struct text text = { .to = path, .cap = PATH_MAX };

	for (; *out; out++) {
		put(&text, *out);
		if (*out == '%' && out[1] == '%')
			out++;
	}
}

static int refuse(const char *path, const char *why)
{
	return tool_fail(EXIT_FAIL, "cannot keep the dump in %s: %s", path, why);
}

/* What is there already must be a dump, and is left alone if it is not. */
static int check_existing(struct run *run, const char *path, const struct stat *st)
{
	uint8_t head[PMC_MAGIC_BYTES];
	ssize_t n = 0;
	int fd;

	if (S_ISDIR(st->st_mode))
		return refuse(path, "it is a directory; name a file in it");
	if (S_ISLNK(st->st_mode))
		return refuse(path, "it is a symbolic link, and those are not followed; "
				    "name the file itself");
	if (!S_ISREG(st->st_mode))
		return refuse(path, "it is no regular file");
	fd = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return refuse(path, strerror(errno));
	if (st->st_size)
		n = pread(fd, head, sizeof(head), 0);
	close(fd);
	if (st->st_size && !pmc_is_dump(head, n))
		return refuse(path, "it exists and is no dump; it was left alone: "
				    "name another file or remove it");
	run->dump.before = (uint64_t)st->st_size;
	return 0;
}

static int check_directory(const char *path)
{
	char dir[PATH_MAX];
	char *slash;

	strcpy(dir, path);
	slash = strrchr(dir, '/');
	slash[slash == dir] = '\0';
	if (access(dir, F_OK) != 0 && errno == ENOENT)
		return refuse(path, "its directory does not exist; create it first");
	if (access(dir, W_OK | X_OK) != 0)
		return refuse(path, errno == ENOTDIR ? "what should be its directory is a file" :
						       strerror(errno));
	return 0;
}

static int open_private(struct run *run)
{
	struct text text = { .to = run->dump.path, .cap = sizeof(run->dump.path) };
	const char *tmp = getenv("TMPDIR");
	char name[PATH_MAX], *dir;

	if (!tmp || !*tmp)
		tmp = "/tmp";
	dir = realpath(tmp, NULL);
	snprintf(name, sizeof(name), "%s/pmc-XXXXXX", dir ? dir : tmp);
	free(dir);
	if (!mkdtemp(name))
		return tool_fail(EXIT_OURS,
				 "cannot make a private dump in %s: %s; set TMPDIR to another "
				 "place or name one with -o FILE",
				 tmp, strerror(errno));
	strcpy(run->dump.private_dir, name);
	put_plain(&text, name);
	put_plain(&text, "/dump.pmc");
	if (text.full)
		return tool_fail(EXIT_OURS, "TMPDIR is too long");
	return 0;
}

int run_dump_open(struct run *run)
{
	char path[PATH_MAX];
	struct stat st;
	int error;

	run->dump.start_s = time(NULL);
	if (!run->config.out)
		return open_private(run);
	error = make_absolute(run->config.out, run->dump.path);
	if (error)
		return refuse(run->config.out, strerror(-error));
	run->dump.pattern = to_glob(run->dump.path, path);
	if (run->dump.pattern)
		return 0;
	to_plain(run->dump.path, path);
	if (lstat(path, &st) == 0)
		return check_existing(run, path, &st);
	if (errno != ENOENT && errno != ENOTDIR)
		return refuse(path, strerror(errno));
	return check_directory(path);
}

void run_dump_close(struct run *run)
{
	char path[PATH_MAX];

	if (!run->dump.private_dir[0])
		return;
	to_plain(run->dump.path, path);
	unlink(path);
	rmdir(run->dump.private_dir);
	run->dump.private_dir[0] = '\0';
}

/* One file of the job into the profile, from where this run began to write. */
static int add_file(const struct run *run, const char *path, struct pmc_profile *profile)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	int result = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (run->dump.pattern && st.st_mtime < run->dump.start_s))
		goto out;
	if (lseek(fd, (off_t)run->dump.before, SEEK_SET) < 0) {
		result = -errno;
		goto out;
	}
	result = pmc_profile_add_fd(profile, fd);
out:
	close(fd);
	return result;
}

/* Everything this run's agents may have written; of one job alone if `job` is given. */
static int read_files(const struct run *run, const uint8_t *job, struct pmc_profile *profile)
{
	const struct pmc_profile_options options = { .only_job = job };
	char path[PATH_MAX];
	glob_t found = { 0 };
	int result = pmc_profile_init(profile, &options);

	if (result)
		return result;
	if (to_glob(run->dump.path, path)) {
		if (glob(path, GLOB_NOSORT, NULL, &found) == 0)
			for (size_t i = 0; i < found.gl_pathc && result == 0; i++)
				result = add_file(run, found.gl_pathv[i], profile);
		globfree(&found);
	} else {
		to_plain(run->dump.path, path);
		result = add_file(run, path, profile);
	}
	if (result == 0)
		result = pmc_profile_finish(profile);
	if (result)
		pmc_profile_free(profile);
	return result;
}

/* The image the command's process last ran: the one that can still owe us how it ended. */
static const struct pmc_p_process *first_process(const struct run *run,
						 const struct pmc_profile *profile)
{
	const struct pmc_p_process *first = NULL;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (process->known && (process->fixed.flags & PMC_PROCESS_FIRST) &&
		    process->fixed.pid == (uint32_t)run->child.pid &&
		    process->fixed.start_ns >= run->child.start_ns &&
		    (!first || process->fixed.start_ns >= first->fixed.start_ns))
			first = process;
	}
	return first;
}

/* Whether it was the only image that ran in its process. */
static bool is_alone(const struct pmc_profile *profile, const struct pmc_p_process *process)
{
	unsigned images = 0;

	for (uint64_t i = 0; process && i < profile->n_processes; i++)
		images += profile->processes[i]->fixed.pid == process->fixed.pid &&
			  memcmp(profile->processes[i]->fixed.job, process->fixed.job, 16) == 0;
	return images == 1;
}

static bool has_other_jobs(const struct pmc_profile *profile, const uint8_t job[16])
{
	for (uint64_t i = 0; i < profile->n_processes; i++)
		if (!profile->processes[i]->known ||
		    memcmp(profile->processes[i]->fixed.job, job, 16) != 0)
			return true;
	return false;
}

int run_dump_read(struct run *run, struct pmc_profile *profile)
{
	const struct pmc_p_process *first;
	char path[PATH_MAX];
	uint8_t job[16];
	bool again, known;
	int result = read_files(run, NULL, profile);

	if (result)
		return result;
	/* Each process has its own file then; what the child's is called only its agent knows. */
	if (run->dump.pattern)
		path[0] = '\0';
	else
		to_plain(run->dump.path, path);
	first = first_process(run, profile);
	known = first != NULL;
	if (known)
		memcpy(job, first->fixed.job, sizeof(job));
	again = known && has_other_jobs(profile, job);
	if ((!known || first->fixed.how_ended == PMC_RUNNING) && path[0])
		again |= run_dump_complete(run, profile, first, is_alone(profile, first), path);
	if (!again)
		return 0;
	pmc_profile_free(profile);
	return read_files(run, known ? job : NULL, profile);
}
