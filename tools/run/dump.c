/* SPDX-License-Identifier: MIT */
/*
 * dump.c - the file that a job's agents write to: named by the user, or private and removed.
 *
 * The private one is in a directory of its own: a daemon that the command left behind finds no
 * directory to write to, instead of littering $TMPDIR. If the command was killed or had no agent,
 * from the start or after an exec, the result of wait4 becomes a newer PROCESS frame, for every
 * later reader of the file.
 */
#include "lib/base/clock.h"
#include "lib/base/labels.h"
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "lib/dump/frame.h"
#include "lib/dump/command_line.h"
#include "lib/dump/output.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- how the command ended ------------------------------------------------------------------ */

#define FRAME_BYTES (256u << 10)
/* Codes of notes: the agent's are below 1000, pmctl's from there. */
#define NOTE_NO_AGENT 1000
#define NOTE_KILLED   1001

static void put_ending(struct pmc_process_fixed *fixed, const struct run_child *child)
{
	fixed->end_ns = child->end_ns;
	fixed->flags &= (uint8_t)~PMC_PROCESS_NO_STATUS;
	if (WIFSIGNALED(child->status)) {
		fixed->how_ended = PMC_ENDED_SIGNAL;
		fixed->how_code = (uint8_t)WTERMSIG(child->status);
	} else {
		fixed->how_ended = PMC_ENDED_EXIT;
		fixed->how_code = (uint8_t)WEXITSTATUS(child->status);
	}
}

/* How it ended unseen; has_rows: of some threads, otherwise reason: why it has none. */
static const char *how(const struct run_child *child, bool has_rows, const char *reason,
		       char text[200])
{
	if (!WIFSIGNALED(child->status))
		return has_rows ? "ended by a system call that the agent did not see" : reason;
	snprintf(text, 200, "was killed by signal %d (%s)%s", WTERMSIG(child->status),
		 strsignal(WTERMSIG(child->status)),
		 has_rows ? "" : " before it wrote rows, or did not load the agent");
	return text;
}

__attribute__((format(printf, 5, 6))) static void put_note(struct pmc_frame_buf *buf,
							   const uint8_t identity[16],
							   uint64_t snapshot, uint32_t code,
							   const char *format, ...)
{
	const struct pmc_note_fixed note = { .code = code, .level = 1, .count = 1 };
	char text[PATH_MAX + 400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pmc_build_note(buf, identity, snapshot, &note, text);
}

/* Whether an agent has created the private dump, which is empty. */
static bool is_created(const struct run *run)
{
	struct stat st;

	return run->dump.private_dir[0] && stat(run->dump.file, &st) == 0 && !st.st_size;
}

/* Why the program has no rows; before: the image that it replaced by exec, or NULL. */
static const char *no_rows(const struct run *run, const struct pmc_p_process *before,
			   char text[100])
{
	if (before && pmc_process_lost_agent(before))
		return "did not load the agent";
	/* A dump of root is for root only. */
	if (!geteuid() && run->child.user) {
		snprintf(text, 100,
			 "did not load the agent, or could not write to the dump as user %u",
			 (unsigned)run->child.user);
		return text;
	}
	return is_created(run) ?
		       "could not write to the dump (a limit of file sizes, or no space)" :
		       "did not load the agent, or could not write to the dump";
}

/* CPU time of the children that it waited for. */
static uint64_t children_cpu(const struct run_child *child)
{
	return pmc_sub_sat(pmc_timeval_ns(&child->usage.ru_utime) +
				   pmc_timeval_ns(&child->usage.ru_stime),
			   child->cpu_ns);
}

/* From values of the whole process those of its other images in the dump. */
static void subtract_others(struct pmc_process_fixed *fixed, const struct pmc_profile *profile,
			    const struct pmc_p_process *itself)
{
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_process_fixed *image = &profile->processes[i]->fixed;

		if (profile->processes[i] == itself || image->pid != fixed->pid ||
		    memcmp(image->job, fixed->job, 16) != 0)
			continue;
		fixed->cpu_ns = pmc_sub_sat(fixed->cpu_ns, image->cpu_ns);
		fixed->minor_faults = pmc_sub_sat(fixed->minor_faults, image->minor_faults);
		fixed->major_faults = pmc_sub_sat(fixed->major_faults, image->major_faults);
		fixed->voluntary_switches =
			pmc_sub_sat(fixed->voluntary_switches, image->voluntary_switches);
		fixed->involuntary_switches =
			pmc_sub_sat(fixed->involuntary_switches, image->involuntary_switches);
	}
}

/* CPU time of its exit: wait4's includes time in which counting was off. */
static uint64_t exit_of(const struct run *run, const struct pmc_profile *profile,
			const struct pmc_p_process *last)
{
	struct pmc_process_fixed whole = last->fixed;

	whole.cpu_ns = run->child.cpu_ns;
	subtract_others(&whole, profile, last);
	return last->fixed.off_ns ? 0 : pmc_sub_sat(whole.cpu_ns, last->fixed.cpu_ns);
}

/* An image with its end. */
static void complete_known(struct pmc_frame_buf *buf, const struct run *run,
			   const struct pmc_profile *profile, const struct pmc_p_process *known)
{
	const struct pmc_process_text text = { known->host, known->boot_id, known->exe,
					       known->cmdline, known->labels };
	const uint64_t exit_ns = exit_of(run, profile, known), exit_us = exit_ns / 1000;
	struct pmc_process_fixed fixed = known->fixed;
	char ended[200];

	put_ending(&fixed, &run->child);
	fixed.cpu_ns += exit_ns;
	if (known->fixed.how_ended == PMC_ENDED_EXIT ||
	    known->fixed.how_ended == PMC_ENDED_SIGNAL) {
		fixed.exit_us = exit_us < UINT32_MAX ? (uint32_t)exit_us : UINT32_MAX;
	} else {
		/* Its last frames are older. */
		if (pmc_process_never_on(&known->fixed))
			fixed.off_ns = run->child.end_ns - fixed.start_ns;
		/* wait4's include those of the children it waited for. */
		fixed.flags |= PMC_PROCESS_NO_SWITCHES;
		if (!fixed.off_ns)
			fixed.children_cpu_ns = children_cpu(&run->child);
		fixed.time_ns = run->child.end_ns;
		put_note(buf, known->identity, known->snapshot + 1, NOTE_KILLED,
			 "%s %s: threads that ran then have no row, or one as of the last "
			 "snapshot%s",
			 known->exe, how(&run->child, true, NULL, ended),
			 run->config.interval ? "" : " (pmctl run -I 100ms takes some)");
	}
	pmc_build_process(buf, known->identity, known->snapshot + 1, &fixed, &text);
}

/* The frames of descendants with an agent for the child. */
static void find_identity(const struct run *run, const struct pmc_profile *profile,
			  uint8_t identity[16], uint8_t job[16])
{
	static const uint8_t nobody[16];

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (!process->known || (process->fixed.flags & PMC_PROCESS_FIRST))
			continue;
		memcpy(job, process->fixed.job, 16);
		if (process->fixed.ppid == (uint32_t)run->child.pid &&
		    memcmp(process->fixed.parent_identity, nobody, 16) != 0)
			memcpy(identity, process->fixed.parent_identity, 16);
	}
}

/* A process of its own, from wait4's result: the command, which had no agent, or the program after
 * the exec of the last image; then less what the images have. */
static void complete_new(struct pmc_frame_buf *buf, const struct run *run,
			 const struct pmc_profile *profile, const struct pmc_p_process *before)
{
	const struct run_child *child = &run->child;
	const char *obstacle = program_obstacle[run->program.kind];
	struct pmc_process_fixed fixed = {
		.pid = (uint32_t)child->pid,
		.ppid = (uint32_t)getpid(),
		.start_ns = child->start_ns,
		.time_ns = child->end_ns,
		.cpu_ns = child->cpu_ns,
		.minor_faults = (uint64_t)child->usage.ru_minflt,
		.major_faults = (uint64_t)child->usage.ru_majflt,
		.voluntary_switches = (uint64_t)child->usage.ru_nvcsw,
		.involuntary_switches = (uint64_t)child->usage.ru_nivcsw,
		.max_rss_bytes = child->max_rss_bytes,
		.inherit_mode = !before && run_has_totals(run) ? PMC_INHERIT_FULL : PMC_INHERIT_OFF,
		.flags = PMC_PROCESS_FIRST,
		.rank = -1,
	};
	char host[256] = "", boot_id[40], cmdline[PMC_COMMAND_LINE_BYTES], text[200], why[100];
	char labels[PMC_LABELS_BYTES];
	struct pmc_process_text names = { host, boot_id, run->program.path, cmdline, labels };
	const char *reason = no_rows(run, before, why);
	uint8_t identity[16];
	struct pmc_out out;

	put_ending(&fixed, child);
	/* Descendants with an agent, of a command without one, are a job of their own. */
	if (before || !profile->n_processes)
		fixed.children_cpu_ns = children_cpu(child);
	if (getentropy(identity, 16) != 0 || getentropy(fixed.job, 16) != 0)
		return;
	if (before) {
		fixed.pid = before->fixed.pid;
		fixed.ppid = before->fixed.ppid;
		fixed.pid_namespace = before->fixed.pid_namespace;
		fixed.start_ns = before->fixed.end_ns;
		fixed.rank = before->fixed.rank;
		memcpy(fixed.job, before->fixed.job, sizeof(fixed.job));
		memcpy(fixed.parent_identity, before->fixed.parent_identity, 16);
		subtract_others(&fixed, profile, NULL);
		names = (struct pmc_process_text){ before->host, before->boot_id, "",
						   before->cmdline, before->labels };
		pmc_build_process(buf, identity, 1, &fixed, &names);
		put_note(buf, identity, 1, NOTE_NO_AGENT,
			 "the program that it became by exec %s: no thread rows",
			 how(child, false, reason, text));
		return;
	}
	find_identity(run, profile, identity, fixed.job);
	gethostname(host, sizeof(host) - 1);
	run_boot_id(boot_id, sizeof(boot_id));
	pmc_out_to_mem(&out, cmdline, sizeof(cmdline));
	pmc_command_line(&out, run->cmd, run->config.args);
	pmc_out_to_mem(&out, labels, sizeof(labels));
	fixed.rank = pmc_labels(&out, environ, run->config.label);
	pmc_build_process(buf, identity, 1, &fixed, &names);
	run_totals_frames(run, profile, identity, buf);
	put_note(buf, identity, 1, NOTE_NO_AGENT, "%s %s: no thread rows%s%s", run->program.image,
		 obstacle ? obstacle : how(child, false, reason, text),
		 fixed.children_cpu_ns || profile->n_processes ?
			 "; its faults and switches are in no row either, as they include those of "
			 "the children it waited for" :
			 "",
		 run_has_totals(run) ? ", its counts those of programs it started without rows" :
		 run->program.hidden ? "; the kernel refuses counters of other users on it" :
				       "");
}

static void warn_lost(const struct run *run, const struct pmc_profile *profile, const char *why)
{
	if (run_has_nothing(profile))
		tool_warn("nothing was recorded of %s: cannot write to %s: %s; name another file "
			  "by -o",
			  run->cmd[0], run->dump.file, why);
	else
		tool_warn("cannot write how %s ended to %s: %s", run->cmd[0], run->dump.file, why);
}

static int append_to_image(const struct run *run, const struct pmc_p_process *image,
			   const char **why);

/* Appends to the dump a PROCESS frame of `known` (NULL: the child, which had no agent) as ended; of
 * the program after it if it ended by exec. False if it could not be written. */
static bool complete(struct run *run, const struct pmc_profile *profile,
		     const struct pmc_p_process *known)
{
	static uint64_t room[FRAME_BYTES / sizeof(uint64_t)];
	struct pmc_frame_buf buf;
	const char *why;
	ssize_t n = -1;
	int fd;

	pmc_frame_buf_init(&buf, room, FRAME_BYTES);
	if (known && known->fixed.how_ended != PMC_ENDED_EXEC)
		complete_known(&buf, run, profile, known);
	else
		complete_new(&buf, run, profile, known);
	fd = run->dump.pattern ? append_to_image(run, known, &why) : run_dump_append(run, &why);
	if (fd >= 0 && buf.len) {
		n = write(fd, buf.data, buf.len);
		if (n != (ssize_t)buf.len)
			why = strerror(n < 0 ? errno : ENOSPC);
	}
	if (why)
		warn_lost(run, profile, why);
	if (fd >= 0)
		close(fd);
	return n > 0 && n == (ssize_t)buf.len;
}

/* ---- the file ------------------------------------------------------------------------------- */

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

static int refuse_dump(const char *path, const char *why)
{
	return tool_fail(EXIT_OURS, "cannot write the dump to %s: %s", path, why);
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
			return refuse_dump(dump->file,
					   errno == ENOENT ?
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
		return refuse_dump(path, tool_output_why(fd));
	in_use = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	close(fd);
	/* A command that cannot start leaves the existing dump in place. */
	if (st.st_size && run->out_flag && !run->append && tool_is_program(run->program.path)) {
		if (!in_use)
			return tool_keep_old(path, EXIT_OURS,
					     strcmp(tool_command_name, "run") ?
						     "" :
						     "; --append adds to it instead");
		tool_warn("%s is being written by another pmctl run: appending to it", path);
	}
	run->dump.before = (uint64_t)st.st_size;
	return 0;
}

/* Whether files can be made there. The agent makes the directory if it has a placeholder, but not
 * the one above. */
static int check_directory(const char *out)
{
	char dir[PATH_MAX], *slash;

	strcpy(dir, out);
	for (unsigned up = 0; up < 2 && (!up || strchr(dir, '%')); up++) {
		slash = strrchr(dir, '/');
		if (!slash || slash == dir)
			return 0;
		*slash = '\0';
	}
	return strchr(dir, '%') || access(dir, W_OK | X_OK) == 0 ?
		       0 :
		       refuse_dump(out, tool_output_why(-errno));
}

static int open_private(struct run_dump *dump)
{
	const int code = tool_make_dir(dump->private_dir, "run", " or add -o FILE");

	if (code)
		return code;
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
		return refuse_dump(out, strerror(errno));
	if (strlen(cwd) + strlen(out) + 1 >= PATH_MAX)
		return refuse_dump(out, strerror(ENAMETOOLONG));
	end = put_literal(dump->path, cwd);
	snprintf(end, PATH_MAX, "%s%s", cwd[0] ? "/" : "", out);
	dump->pattern = expand(dump->path, false, dump->file);
	if (dump->pattern && run->off_cpu_wanted)
		return tool_fail(EXIT_USAGE, "--off-cpu needs one dump for all processes; "
					     "give -o a name without %%");
	if (!dump->pattern)
		return 0;
	expand(dump->path, true, dump->file);
	return check_directory(out);
}

int run_dump_refuse_overwrite(const struct run *run, const char *report)
{
	char old[TOOL_OLD_MAX];
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
		code = refuse_dump(dump->file, strerror(errno));
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
	struct stat st;
	int fd, result = 0;

	/* Closing a pipe would end its writer. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    !(run->dump.pattern && st.st_mtime < run->dump.start_s))
		result = lseek(fd, (off_t)run->dump.before, SEEK_SET) < 0 ?
				 -errno :
				 pmc_profile_add_fd(profile, fd);
	close(fd);
	return result;
}

/* A placeholder may begin with a dot. Not every libc can find such names. */
#ifdef GLOB_PERIOD
#define ALSO_HIDDEN GLOB_PERIOD
#else
#define ALSO_HIDDEN 0
#endif

/* Reads everything that this run's agents may have written; job: of that job only. */
static int read_files(const struct run *run, const uint8_t *job, struct pmc_profile *profile)
{
	const struct pmc_profile_options options = { .only_job = job };
	glob_t found = { 0 };
	int result = 0;

	pmc_profile_init(profile, &options);
	if (run->dump.pattern) {
		if (glob(run->dump.file, GLOB_NOSORT | ALSO_HIDDEN, NULL, &found) == 0)
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

static bool has_image(const struct pmc_profile *profile, const uint8_t identity[16])
{
	for (uint64_t i = 0; i < profile->n_processes; i++)
		if (profile->processes[i]->known &&
		    memcmp(profile->processes[i]->identity, identity, 16) == 0)
			return true;
	return false;
}

static bool file_has_image(const struct run *run, const char *path, const uint8_t identity[16])
{
	const struct pmc_profile_options options = { .only_job = NULL };
	struct pmc_profile profile;
	bool found;

	pmc_profile_init(&profile, &options);
	found = add_file(run, path, &profile) == 0;
	if (found) {
		pmc_profile_finish(&profile);
		found = has_image(&profile, identity);
	}
	pmc_profile_free(&profile);
	return found;
}

/* The file of a pattern that has this image. Of a pattern's other files only the agent knows which
 * is its own. -1: none can be written to. */
static int append_to_image(const struct run *run, const struct pmc_p_process *image,
			   const char **why)
{
	glob_t found = { 0 };
	struct stat st;
	int fd = -1;

	*why = "no file has its rows any more";
	if (glob(run->dump.file, GLOB_NOSORT | ALSO_HIDDEN, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && fd < 0; i++)
			if (file_has_image(run, found.gl_pathv[i], image->identity)) {
				fd = pmc_dump_open(found.gl_pathv[i], false, &st);
				*why = fd < 0 ? tool_output_why(fd) : NULL;
			}
	globfree(&found);
	return fd;
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

/* Whether wait4's result has more of the process than the dump, and of its exit what counts. After
 * an exec its CPU time in phases in which counting was off is not known. */
static bool lacks_end(const struct run *run, const struct pmc_profile *profile,
		      const struct pmc_p_process *last)
{
	return !last || exit_of(run, profile, last) > run->child.cpu_ns / 100 ||
	       last->fixed.how_ended == PMC_RUNNING ||
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
	if (lacks_end(run, profile, first) && (!run->dump.pattern || known))
		again |= complete(run, profile, first);
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
