/* SPDX-License-Identifier: MIT */
/*
 * dump.c - the file that a job's agents write to: named by the user, or private and removed.
 *
 * The private one is in a directory of its own: a daemon that the command left behind finds no
 * directory to write to, instead of littering $TMPDIR.
 */
#include "lib/dump/output.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A literal path in the syntax of PMC_OUT. Returns its end. */
static char *put_literal(char *to, const char *path)
{
	for (; *path; path++) {
		if (*path == '%')
			*to++ = '%';
		*to++ = *path;
	}
	*to = '\0';
	return to;
}

/* PMC_OUT as a file name or, with `glob`, as a pattern of the files it can expand to. True if there
 * can be several. */
static bool expand(const char *out, bool glob, char *path)
{
	bool several = false;
	char *at = path;

	for (; *out; out++) {
		bool placeholder = *out == '%' && out[1] && *++out != '%';

		if (glob && !placeholder && strchr("*?[]\\", *out))
			*at++ = '\\';
		*at++ = placeholder ? '*' : *out;
		several |= placeholder;
	}
	*at = '\0';
	return several;
}

static int refuse(const char *path, const char *why)
{
	return tool_fail(EXIT_OURS, "cannot write the dump to %s: %s", path, why);
}

#define OLD_MAX (2 * PATH_MAX + 4)

/* Moves an existing dump out of the way, to FILE.old. */
static int keep_old(const char *path)
{
	bool replaces = false;
	char old[OLD_MAX];
	struct stat st;
	int fd, error = 0;

	snprintf(old, sizeof(old), "%s.old", path);
	fd = open(old, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		error = pmc_dump_check(fd, &st);
		replaces = true;
		close(fd);
	} else if (errno != ENOENT) {
		error = -errno;
	}
	if (!error && rename(path, old) != 0)
		error = -errno;
	if (error)
		return tool_fail(EXIT_OURS, "cannot keep the existing dump as %s: %s", old,
				 tool_output_why(error));
	tool_warn("%s exists: kept as %s%s; --append adds to it instead", path, old,
		  replaces ? ", which replaces an older one" : "");
	return 0;
}

/* Tells other runs that this one writes to the file: they append instead of moving it away. */
static int lock_file(struct run_dump *dump)
{
	const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	dump->lock = open(dump->file, flags);
	if (dump->lock < 0 && errno == ENOENT) {
		dump->lock = open(dump->file, flags | O_CREAT | O_EXCL, 0600);
		dump->created = dump->lock >= 0;
		/* The directory exists. Another run may have made the file. */
		if (dump->lock < 0 && errno != EEXIST)
			return refuse(dump->file, errno == ENOENT ?
							  "its file system creates no files there; "
							  "name another directory" :
							  tool_output_why(-errno));
	}
	if (dump->lock >= 0)
		flock(dump->lock, LOCK_SH | LOCK_NB);
	return 0;
}

/* An existing file must be a dump, or empty. */
static int check_existing(struct run *run)
{
	const char *path = run->dump.file;
	struct stat st;
	int fd = tool_open_dump(path, false, &st);
	bool in_use;

	if (fd < 0)
		return refuse(path, tool_output_why(fd));
	in_use = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	close(fd);
	/* A command that cannot start leaves the existing dump in place. */
	if (st.st_size && run->out_flag && !run->append && program_can_start(&run->program)) {
		if (!in_use)
			return keep_old(path);
		tool_warn("%s is being written by another pmctl run: appending to it", path);
	}
	run->dump.before = (uint64_t)st.st_size;
	return 0;
}

static int check_directory(const char *path)
{
	char dir[2 * PATH_MAX];
	char *slash;

	strcpy(dir, path);
	slash = strrchr(dir, '/');
	slash[slash == dir] = '\0';
	return access(dir, W_OK | X_OK) == 0 ? 0 : refuse(path, tool_output_why(-errno));
}

static int open_private(struct run_dump *dump)
{
	const char *tmp = getenv("TMPDIR");
	char *dir;

	if (!tmp || !*tmp)
		tmp = "/tmp";
	dir = realpath(tmp, NULL);
	snprintf(dump->private_dir, PATH_MAX, "%s/pmctl-run-XXXXXX", dir ? dir : tmp);
	free(dir);
	if (!mkdtemp(dump->private_dir)) {
		dump->private_dir[0] = '\0';
		return tool_fail(EXIT_OURS,
				 "cannot make a private dump in %s: %s; set TMPDIR to another "
				 "directory or add -o FILE",
				 tmp, strerror(errno));
	}
	strcpy(put_literal(dump->path, dump->private_dir), "/dump.pmc");
	expand(dump->path, false, dump->file);
	return 0;
}

int run_dump_name(struct run *run)
{
	struct run_dump *dump = &run->dump;
	const char *out = run->config.out;
	char cwd[PATH_MAX] = "", *end;

	if (!out)
		return 0;
	if (out[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return refuse(out, strerror(errno));
	if (strlen(cwd) + strlen(out) + 1 >= PATH_MAX)
		return refuse(out, strerror(ENAMETOOLONG));
	end = put_literal(dump->path, cwd);
	snprintf(end, PATH_MAX, "%s%s", cwd[0] ? "/" : "", out);
	dump->pattern = expand(dump->path, false, dump->file);
	if (dump->pattern && run->off_cpu_wanted)
		return tool_fail(EXIT_USAGE, "--off-cpu needs one dump for all processes; "
					     "give -o a name without %%");
	if (dump->pattern)
		expand(dump->path, true, dump->file);
	return 0;
}

int run_dump_refuse_overwrite(const struct run *run, const char *report)
{
	char old[OLD_MAX];
	int code;

	if (!run->config.out || run->dump.pattern)
		return 0;
	code = tool_refuse_overwrite("--report", report, run->dump.file, "the dump");
	if (code || !run->out_flag || run->append)
		return code;
	snprintf(old, sizeof(old), "%s.old", run->dump.file);
	return tool_refuse_overwrite("--report", report, old,
				     "FILE.old, where -o FILE keeps an existing dump");
}

int run_dump_open(struct run *run)
{
	struct run_dump *dump = &run->dump;
	struct stat st;
	int code;

	dump->start_s = time(NULL);
	if (!run->config.out)
		return open_private(dump);
	if (dump->pattern)
		return 0;
	if (lstat(dump->file, &st) == 0)
		code = check_existing(run);
	else if (errno != ENOENT && errno != ENOTDIR)
		code = refuse(dump->file, strerror(errno));
	else
		code = check_directory(dump->file);
	return code ? code : lock_file(dump);
}

/* The job may have put a link or another file in its place, or have renamed a directory of its
 * path, meanwhile: a file is created only in the private directory. */
int run_dump_append(const struct run *run, const char **why)
{
	struct stat st;
	int fd = pmc_dump_open(run->dump.file, run->dump.private_dir[0], &st);

	*why = fd < 0 ? tool_output_why(fd) : NULL;
	return fd;
}

void run_dump_close(struct run *run)
{
	struct stat st;

	if (run->dump.private_dir[0]) {
		unlink(run->dump.file);
		rmdir(run->dump.private_dir);
		run->dump.private_dir[0] = '\0';
	}
	if (run->dump.lock >= 0) {
		if (run->dump.created && fstat(run->dump.lock, &st) == 0 && st.st_size == 0)
			unlink(run->dump.file);
		close(run->dump.lock);
		run->dump.lock = -1;
	}
}

/* Adds one file of the job to the profile, from where this run began to write. */
static int add_file(const struct run *run, const char *path, struct pmc_profile *profile)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
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

/* Reads everything that this run's agents may have written; job: of that job only. */
static int read_files(const struct run *run, const uint8_t *job, struct pmc_profile *profile)
{
	const struct pmc_profile_options options = { .only_job = job };
	glob_t found = { 0 };
	int result = 0;

	pmc_profile_init(profile, &options);
	if (run->dump.pattern) {
		if (glob(run->dump.file, GLOB_NOSORT, NULL, &found) == 0)
			for (size_t i = 0; i < found.gl_pathc && result == 0; i++)
				result = add_file(run, found.gl_pathv[i], profile);
		globfree(&found);
	} else {
		result = add_file(run, run->dump.file, profile);
	}
	if (result == 0)
		pmc_profile_finish(profile);
	else
		pmc_profile_free(profile);
	return result;
}

/* The agent may know the start of a process only from /proc/PID/stat, which rounds it down. */
#define START_UNIT_NS 10000000u

/* The last image of the command's process: the one whose end may be missing. */
static const struct pmc_p_process *first_process(const struct run *run,
						 const struct pmc_profile *profile)
{
	const struct pmc_p_process *first = NULL;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (process->known && (process->fixed.flags & PMC_PROCESS_FIRST) &&
		    process->fixed.pid == (uint32_t)run->child.pid &&
		    process->fixed.start_ns + START_UNIT_NS > run->child.start_ns &&
		    (!first || process->fixed.start_ns >= first->fixed.start_ns))
			first = process;
	}
	return first;
}

/* Whether wait4's result has more of the process than the dump. After an exec its CPU time in
 * phases in which counting was off is not known. */
static bool lacks_end(const struct pmc_p_process *last)
{
	return !last || last->fixed.how_ended == PMC_RUNNING ||
	       (last->fixed.flags & PMC_PROCESS_NO_STATUS) ||
	       (last->fixed.how_ended == PMC_ENDED_EXEC && !last->fixed.off_ns);
}

static bool has_other_jobs(const struct pmc_profile *profile, const uint8_t job[16])
{
	for (uint64_t i = 0; i < profile->n_processes; i++)
		if (!profile->processes[i]->known ||
		    memcmp(profile->processes[i]->fixed.job, job, 16) != 0)
			return true;
	return false;
}

static int read_job(struct run *run, struct pmc_profile *profile)
{
	const struct pmc_p_process *first;
	uint8_t job[16];
	bool again, known;
	int result = read_files(run, NULL, profile);

	if (result)
		return result;
	first = first_process(run, profile);
	known = first != NULL;
	if (known)
		memcpy(job, first->fixed.job, sizeof(job));
	again = known && has_other_jobs(profile, job);
	/* Of a pattern's files only the agent knows which is its own. */
	if (lacks_end(first) && !run->dump.pattern)
		again |= run_dump_complete(run, profile, first);
	if (!again)
		return 0;
	pmc_profile_free(profile);
	return read_files(run, known ? job : NULL, profile);
}

static bool write_waits(const struct run *run, const struct pmc_profile *profile)
{
	const char *why;
	int fd = run_dump_append(run, &why);

	if (fd < 0)
		tool_warn("cannot write where threads waited to %s: %s", run->dump.file, why);
	return off_cpu_write(run->off_cpu, profile, run->dump.file, fd);
}

bool run_has_nothing(const struct pmc_profile *profile)
{
	return !profile->n_processes && !profile->n_threads;
}

int run_dump_read(struct run *run, struct pmc_profile *profile)
{
	int result = read_job(run, profile);

	if (result || !run->off_cpu || run_has_nothing(profile) || !write_waits(run, profile))
		return result;
	pmc_profile_free(profile);
	return read_job(run, profile);
}
