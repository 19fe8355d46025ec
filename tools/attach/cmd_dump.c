/* SPDX-License-Identifier: MIT */
/*
 * cmd_dump.c - pmctl dump: snapshots of a running process, taken from outside or, with --signal, by
 * the process itself.
 *
 * pmctl may have more privileges than the process, so it opens no path that the process names: it
 * appends to a duplicate of a descriptor that the process itself has open for appending.
 */
#include "lib/base/clock.h"
#include "lib/base/config.h"
#include "lib/base/file.h"
#include "lib/base/map.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "tools/attach/attach.h"
#include "tools/cli/flags.h"
#include "tools/live/task.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- destination: the dump of the process, a new one, or -o FILE ---------------------------- */

struct output {
	int fd;
	char path[PATH_MAX];
};

static int refuse_output(const char *path, const char *why)
{
	return tool_fail(EXIT_FAIL, "cannot write the snapshot to %s: %s", path, why);
}

static int open_ours(const char *path, struct output *out)
{
	struct stat st;

	if (snprintf(out->path, sizeof(out->path), "%s", path) >= (int)sizeof(out->path))
		return refuse_output(path, strerror(ENAMETOOLONG));
	out->fd = tool_open_dump(path, true, &st);
	return out->fd < 0 ? refuse_output(path, tool_output_why(out->fd)) : 0;
}

/* In the current directory, where other users may have created a file of that name. */
static int open_new(const struct attach *target, struct output *out)
{
	struct utsname host;
	char name[sizeof(host.nodename) + 32];

	if (uname(&host) != 0 || strchr(host.nodename, '/'))
		strcpy(host.nodename, "host");
	snprintf(name, sizeof(name), "pmc-%s-%d.pmc", host.nodename, target->pid);
	return open_ours(name, out);
}

/* Opens the file of this descriptor for reading: -ENOEXEC if it is no dump, or another -errno.
 * Unlike a path of the process, the descriptor cannot become a device or a pipe. */
static int read_dump(int fd)
{
	uint8_t head[PMC_MAGIC_BYTES];
	const int again = pmc_fd_reopen(fd);

	if (again < 0 || pmc_is_dump(head, pread(again, head, sizeof(head), 0)))
		return again;
	close(again);
	return -ENOEXEC;
}

/* Why the duplicate must not be written to; NULL: it may be. */
static const char *why_not(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL), again;

	if (flags < 0 || fstat(fd, &st) != 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode) || !(flags & O_APPEND) || (flags & O_ACCMODE) == O_RDONLY)
		return "the process has another file in its place; use -o FILE";
	if (!st.st_nlink)
		return "it was deleted; use -o FILE";
	if (st.st_nlink > 1)
		return "it has more than one name; use -o FILE";
	/* The mark of the agent. A seccomp filter may prevent it. */
	if (!st.st_size)
		return fcntl(fd, F_GETSIG) == PMC_CONTROL_OUT_MARK ? NULL :
								     "it is empty; use -o FILE";
	/* The descriptor is not open for reading. */
	again = read_dump(fd);
	pmc_fd_close(again);
	return again >= 0	 ? NULL :
	       again == -ENOEXEC ? "it is not a dump; use -o FILE" :
				   strerror(-again);
}

/* A duplicate of the descriptor through which the process appends to its dump. -1: it has no dump
 * open, or another file; *why says which. */
static int dup_own(const struct attach *target, const char **why)
{
	const int number = target->control.out_fd;
	int fd;

	*why = "the process does not have it open; use -o FILE";
	if (number <= 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_getfd, target->files, number - 1, 0);
	if (fd < 0) {
		*why = errno == EBADF ? *why : strerror(errno);
		return -1;
	}
	*why = why_not(fd);
	if (!*why)
		return fd;
	close(fd);
	return -1;
}

static bool names(const char *path, int fd)
{
	struct stat named, open;

	return fstat(fd, &open) == 0 && stat(path, &named) == 0 && open.st_dev == named.st_dev &&
	       open.st_ino == named.st_ino;
}

/* A path here of the file that the process knows as control.out; 0 or -errno. */
static int name_of_output(const struct attach *target, int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(path, PATH_MAX, "%s", target->control.out);
	if (names(path, fd))
		return 0;
	/* In a container the same path may be another file. */
	snprintf(path, PATH_MAX, "/proc/%d/root%.4000s", target->pid, target->control.out);
	if (names(path, fd))
		return 0;
	/* The dump was renamed. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
	return names(path, fd) ? 0 : -ENOENT;
}

static int open_own(struct attach *target, struct output *out)
{
	const char *why;

	strcpy(out->path, target->control.out);
	out->fd = dup_own(target, &why);
	if (out->fd < 0)
		return attach_same_image(target) ? refuse_output(out->path, why) : ATTACH_AGAIN;
	if (name_of_output(target, out->fd, out->path) != 0)
		return refuse_output(target->control.out, "it has no name here; use -o FILE");
	/* The path is printed unescaped, for scripts. */
	if (!pmc_utf8_is_safe(out->path))
		return refuse_output(out->path, "its name has control characters; use -o FILE");
	return 0;
}

/* path: of -o; NULL: the dump of the process, or a new file if it has none. */
static int open_output(struct attach *target, const char *path, struct output *out)
{
	*out = (struct output){ .fd = -1 };
	if (path && strcmp(path, "-") == 0) {
		strcpy(out->path, "standard output");
		out->fd = dup(STDOUT_FILENO);
		if (out->fd < 0)
			return refuse_output(out->path, strerror(errno));
		return isatty(out->fd) ? refuse_output(out->path, "it is a terminal") : 0;
	}
	if (path)
		return open_ours(path, out);
	return target->control.out[0] ? open_own(target, out) : open_new(target, out);
}

/* In one write: frames of other writers must not come in between. */
static int write_output(const struct output *out, const struct pmc_frame_buf *frames)
{
	struct pmc_out all = { (char *)frames->data, frames->len, frames->cap, .fd = out->fd };
	const int error = pmc_out_flush(&all);

	return error ? refuse_output(out->path, strerror(-error)) : 0;
}

/* ---- --signal ------------------------------------------------------------------------------- */

#define ANSWER_NS     5000000000u
#define LOOK_EVERY_US 1000

struct asking {
	struct attach target;
	bool known; /* the agent was read: `signo` is its signal */
	int signo;
	uint64_t pid; /* in its own PID namespace */
	int fd;	      /* its dump, open for reading; -1: none yet */
	off_t at;     /* position up to which the answer was searched */
	uint8_t *data;
};

/* PMC_DUMP in the environment at the start of the program: 0 or -errno. */
static int find_signal(struct asking *asking)
{
	FILE *file = attach_open_text(&asking->target, "environ");
	char *item = NULL;
	int result = -ENOENT;
	size_t room = 0;

	if (!file)
		return -errno;
	while (result && getdelim(&item, &room, '\0', file) > 0)
		if (strncmp(item, "PMC_DUMP=", 9) == 0) {
			asking->signo = pmc_signal_number(item + 9);
			result = asking->signo > 0 ? 0 : -EINVAL;
		}
	free(item);
	fclose(file);
	return result;
}

static void try_dump(const char *number, void *arg)
{
	struct asking *asking = arg;
	const int image = asking->target.image;
	char *name = asking->target.control.out, path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "fd/%s", number);
	fd = asking->fd < 0 ? openat(image, path, O_PATH | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	asking->fd = read_dump(fd);
	close(fd);
	n = readlinkat(image, path, name, sizeof(asking->target.control.out) - 1);
	name[n > 0 ? n : 0] = '\0';
}

static void find_dump(struct asking *asking)
{
	if (asking->fd < 0)
		pmc_dir_visit(try_dump, asking, "/proc/self/fd/%d/fd", asking->target.image);
}

#define WINDOW (2 * (size_t)PMC_FRAME_MAX_BYTES)

/* Whether the final frame of a snapshot of this process was appended. */
static bool answered(struct asking *asking)
{
	struct pmc_scan scan = { .data = asking->data, .partial = true };
	struct pmc_process_fixed fixed;
	struct pmc_frame frame;
	ssize_t n = pread(asking->fd, asking->data, WINDOW, asking->at);

	if (n <= 0)
		return false;
	scan.len = (size_t)n;
	while (pmc_scan_next(&scan, &frame)) {
		if (frame.head.type != PMC_FRAME_PROCESS || frame.head.snapshot <= 1)
			continue;
		pmc_frame_fixed(&frame, &fixed, sizeof(fixed));
		if (asking->known ? memcmp(frame.head.identity, asking->target.control.identity,
					   sizeof(frame.head.identity)) == 0 :
				    fixed.pid == asking->pid)
			return true;
	}
	asking->at += (off_t)scan.at;
	return false;
}

static int print_name(const struct asking *asking)
{
	char path[PATH_MAX];

	if (name_of_output(&asking->target, asking->fd, path) != 0 || !pmc_utf8_is_safe(path))
		return tool_fail(EXIT_FAIL,
				 "the snapshot was written, but the dump %s cannot be named here",
				 path);
	printf("%s\n", path);
	return 0;
}

static int wait_for_answer(struct asking *asking)
{
	const pid_t pid = asking->target.pid;
	uint64_t start = pmc_now_ns();

	while (pmc_now_ns() - start < ANSWER_NS) {
		off_t at = asking->at;

		find_dump(asking);
		if (asking->fd >= 0 && answered(asking))
			return print_name(asking);
		if (attach_has_ended(&asking->target))
			return attach_gone(pid);
		if (asking->at == at)
			usleep(LOOK_EVERY_US);
	}
	return tool_fail(
		EXIT_FAIL,
		"no snapshot from process %d within 5 s of signal %d: it is stopped, blocks the "
		"signal or has its own handler; use pmctl dump without --signal",
		pid, asking->signo);
}

static int ask(struct asking *asking)
{
	const struct attach *target = &asking->target;
	char status[16384];
	const char *caught;
	int error = asking->known ? 0 : find_signal(asking);

	if (error == -ENOENT || error == -EINVAL || (!error && !asking->signo))
		return tool_fail(EXIT_FAIL,
				 "process %d has no dump signal: start the program with "
				 "PMC_DUMP=USR2, or use pmctl dump without --signal",
				 target->pid);
	if (error)
		return attach_no_memory(target, error);
	find_dump(asking);
	/* Frames from before the signal are no answer. */
	if (asking->fd >= 0)
		asking->at = lseek(asking->fd, 0, SEEK_END);
	pmc_file_read_at(target->dir, "status", status, sizeof(status));
	pmc_proc_last(status, "NSpid", &asking->pid);
	/* Without a handler it could be killed. */
	caught = pmc_proc_field(status, "SigCgt");
	if (!caught || !(strtoull(caught, NULL, 16) >> (asking->signo - 1) & 1))
		return tool_fail(EXIT_FAIL,
				 "cannot signal process %d: it has no handler of its dump signal "
				 "%d: there is no agent that counts, or the program replaced the "
				 "handler; use pmctl dump without --signal",
				 target->pid, asking->signo);
	if (asking->known && !attach_same_image(target))
		return attach_no_memory(target, -ESRCH);
	if (syscall(SYS_pidfd_send_signal, target->pidfd, asking->signo, NULL, 0) != 0)
		return errno == ESRCH ?
			       attach_gone(target->pid) :
			       tool_fail(EXIT_FAIL, "cannot send signal %d to process %d: %s",
					 asking->signo, target->pid, strerror(errno));
	return wait_for_answer(asking);
}

/* The target is closed by attach_act(). */
static int ask_agent(struct attach *target, void *arg)
{
	struct asking *asking = arg;

	asking->target = *target;
	asking->known = true;
	asking->signo = target->control.dump_signal;
	return ask(asking);
}

static int dump_by_signal(pid_t pid)
{
	struct asking asking = { .fd = -1, .data = tool_realloc(NULL, WINDOW) };
	int error = attach_enter(&asking.target, pid, false), code;

	if (error == -EACCES || error == -EPERM) {
		code = ask(&asking);
		if (code == ATTACH_AGAIN)
			code = attach_gone(pid);
		attach_close(&asking.target);
	} else {
		attach_close(&asking.target);
		code = attach_act(pid, 0, ask_agent, &asking);
	}
	free(asking.data);
	pmc_fd_close(asking.fd);
	return code;
}

/* ---- snapshots ------------------------------------------------------------------------------ */

/* -I: pause between tries; how long after the last found agent a missing one is no error. */
#define RETRY_NS    100000000u
#define PATIENCE_NS 10000000000u

/* Which modules and stacks the last snapshot's file has. */
struct written {
	uint8_t identity[16]; /* of the process image */
	dev_t dev;
	ino_t ino;
	off_t bytes; /* size of the file then */
	struct snapshot_written tables;
};

/* A process, and what its snapshots have found and written. */
struct watched {
	pid_t pid;
	int pidfd;	     /* -1: of one snapshot */
	bool taken;	     /* at least one snapshot of it */
	uint64_t patient_ns; /* until then a missing agent is no error */
	struct written written;
	struct attach_waits waits;
};

struct request {
	struct attach_targets targets;
	const char *out;
	bool signal;
	/* 0: one snapshot; 0, 0: until the processes end */
	uint64_t interval_ns, count, duration_ns;
	struct pmc_arena arena;
	struct pmc_map printed;	 /* paths of dumps */
	bool warned;		 /* of child processes */
	bool unwritable;	 /* the file of -o */
	struct watched *watched; /* the one that is read now */
};

#define USAGE	     "a process ID is required: pmctl dump PID [-o FILE]"
#define FLAG_OPTIONS struct request

const struct tool_flag cmd_dump_flags[] = {
	ATTACH_TARGET_FLAGS(targets),
	FLAG_OUTPUT(out, "dump; - is stdout (default: the process's own, else pmc-HOST-PID.pmc)"),
	FLAG_INTERVAL(interval_ns, FLAG_MS,
		      "time between snapshots, until the processes end (default: one)"),
	FLAG_COUNT(count, "number of snapshots with -I"),
	FLAG_DURATION(duration_ns, "end of the snapshots with -I"),
	FLAG_BOOL(0, "--signal", signal, "snapshot by the process itself, on its PMC_DUMP signal"),
	OPERAND_TEXT("PID", targets.pid, .once = "process ID", .agent = true),
	FLAG_END,
};

static int parse(int argc, char **argv, struct request *request)
{
	int code = tool_args_parse(argc, argv, request);

	if (code)
		return code;
	if (request->signal && request->out)
		return tool_fail(EXIT_USAGE, "-o cannot be used with --signal: the program writes "
					     "to its own dump");
	if (request->signal && request->interval_ns)
		return tool_fail(EXIT_USAGE, "-I cannot be used with --signal: set PMC_INTERVAL "
					     "for the program instead");
	if ((request->count || request->duration_ns) && !request->interval_ns)
		return tool_fail(EXIT_USAGE, "%s needs -I TIME, the time between two snapshots",
				 request->count ? "-n" : "-d");
	return 0;
}

static void warn_missing(const struct attach *target, struct request *request,
			 const struct attach_missing *missing)
{
	if (!request->warned && !request->targets.many && live_has_children(target->pid))
		tool_warn("child processes of %d are not in this snapshot; pmctl dump --tree %d "
			  "has them",
			  target->pid, target->pid);
	request->warned = true;
	if (missing->changing)
		tool_warn("regions of %u thread%s of process %d are missing: the thread was "
			  "changing them at every try; dump again (continue the process first if "
			  "it is stopped)",
			  missing->changing, missing->changing == 1 ? "" : "s", target->pid);
	if (missing->regions)
		tool_warn("regions of process %d are damaged: some are missing", target->pid);
	if (missing->samples)
		tool_warn("samples of process %d are damaged: some are missing", target->pid);
}

/* Appends modules and stacks, and writes all frames. Stacks are written once to a file, unless it
 * was replaced or cut since. */
static int put(struct attach *target, struct written *written, struct attach_missing *missing,
	       struct pmc_frame_buf *buf, struct output *out)
{
	const uint8_t *identity = target->control.identity;
	struct stat st = { .st_size = 0 };
	bool same = fstat(out->fd, &st) == 0 && st.st_dev == written->dev &&
		    st.st_ino == written->ino && st.st_size >= written->bytes &&
		    memcmp(identity, written->identity, sizeof(written->identity)) == 0;
	struct snapshot_written tables = { .stacks = 1 };
	int code;

	if (same)
		tables = written->tables;
	code = attach_collect_stacks(target, &tables, missing, buf);
	if (!code)
		code = write_output(out, buf);
	*written = (struct written){
		.dev = st.st_dev, .ino = st.st_ino, .bytes = st.st_size, .tables = tables
	};
	if (!code)
		memcpy(written->identity, identity, sizeof(written->identity));
	return code;
}

/* Each path once: the processes of a job may share a dump. */
static void print_path(struct request *request, const char *path)
{
	bool *printed = pmc_map_at(&request->printed, &request->arena, path, strlen(path),
				   sizeof(*printed));

	if (*printed)
		return;
	*printed = true;
	printf("%s\n", path);
	fflush(stdout);
}

static int snapshot(struct attach *target, void *arg)
{
	struct request *request = arg;
	struct watched *watched = request->watched;
	struct attach_missing missing = { .changing = 0 };
	bool own_file = request->out || !target->control.out[0];
	struct pmc_frame_buf buf = { .data = NULL };
	struct output out = { .fd = -1 };
	int code;

	watched->patient_ns = pmc_now_ns() + PATIENCE_NS;
	/* The ID cannot be reused while the process exists, so this is the opened process. */
	if (watched->pidfd >= 0 && live_pidfd_ended(watched->pidfd))
		return attach_gone(target->pid);
	watched->waits.arena = &request->arena;
	target->waits = request->interval_ns ? &watched->waits : NULL;
	code = attach_collect(target, &missing, &buf, own_file);
	if (code)
		goto out;
	code = open_output(target, request->out, &out);
	if (!code)
		code = put(target, &watched->written, &missing, &buf, &out);
	request->unwritable = code == EXIT_FAIL && request->out;
	if (!code && (!request->out || strcmp(request->out, "-") != 0))
		print_path(request, out.path);
	if (!code)
		warn_missing(target, request, &missing);
out:
	pmc_fd_close(out.fd);
	free(buf.data);
	return code;
}

static int dump(pid_t pid, void *arg)
{
	struct watched once = { .pid = pid, .pidfd = -1 };
	struct request *request = arg;

	request->watched = &once;
	return request->signal ? dump_by_signal(pid) : attach_act(pid, 0, snapshot, request);
}

/* ---- -I: snapshots by the wall clock, until the processes have ended ------------------------- */

struct watch {
	struct watched *list;
	size_t n, room;
};

static int watch_find(struct watch *watch, struct request *request)
{
	struct live_tids found = { .n = 0 };
	const int code = attach_find(&request->targets, USAGE, &found);

	for (unsigned i = 0; i < found.n && !code; i++) {
		struct watched new = { .pid = found.list[i] };
		size_t at = 0;

		while (at < watch->n && watch->list[at].pid != new.pid)
			at++;
		if (at < watch->n || (new.pidfd = (int)syscall(SYS_pidfd_open, new.pid, 0)) < 0)
			continue;
		watch->list = tool_list_grow(watch->list, watch->n, &watch->room, sizeof(new));
		watch->list[watch->n++] = new;
	}
	live_tids_free(&found);
	return code;
}

static void watch_drop(struct watch *watch)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->n; i++)
		if (live_pidfd_ended(watch->list[i].pidfd))
			close(watch->list[i].pidfd);
		else
			watch->list[kept++] = watch->list[i];
	watch->n = kept;
}

/* Waits until that time, or until all processes have ended. */
static void watch_wait(struct watch *watch, uint64_t until_ns)
{
	struct pollfd *ends = tool_realloc(NULL, watch->n * sizeof(*ends) + 1);

	for (uint64_t now; watch->n && (now = pmc_now_ns()) < until_ns; watch_drop(watch)) {
		const uint64_t left = until_ns - now;
		const struct timespec wait = { (time_t)(left / 1000000000),
					       (long)(left % 1000000000) };

		for (size_t i = 0; i < watch->n; i++)
			ends[i] = (struct pollfd){ watch->list[i].pidfd, POLLIN, 0 };
		ppoll(ends, watch->n, &wait, NULL);
	}
	free(ends);
}

/* A snapshot of each process; *taken: of how many. Errors end the command if there is one process,
 * at the first round of all, and where the file of -o cannot be written. */
static int watch_round(struct watch *watch, struct request *request, bool first, unsigned *taken)
{
	const bool many = request->targets.many;
	char text[ATTACH_WHY], why[ATTACH_WHY];
	unsigned failed = 0;

	*taken = 0;
	for (size_t i = 0; i < watch->n; i++) {
		struct watched *watched = request->watched = &watch->list[i];
		int code;

		tool_keep_errors(text, sizeof(text));
		code = attach_act(watched->pid,
				  watched->patient_ns > pmc_now_ns() ? ATTACH_PATIENT : 0, snapshot,
				  request);
		tool_keep_errors(NULL, 0);
		if (!code && text[0])
			tool_warn("%s", text);
		*taken += !code;
		watched->taken |= !code;
		if (!code || code == ATTACH_AGAIN ||
		    ((many || watched->taken) && live_pidfd_ended(watched->pidfd)))
			continue;
		if (request->unwritable)
			return tool_fail(code, "%s", text);
		if (!failed++)
			strcpy(why, text);
	}
	return first || !many ? attach_left_out(failed, (unsigned)watch->n, why) : 0;
}

static int repeat(struct request *request)
{
	const uint64_t retry_ns = request->interval_ns < RETRY_NS ? request->interval_ns : RETRY_NS;
	uint64_t next = pmc_now_ns(), end = next, rounds = 0, now;
	struct watch watch = { .n = 0 };
	int code = watch_find(&watch, request);
	char unused[ATTACH_WHY];
	unsigned taken;

	pmc_add_sat(&end, request->duration_ns ? request->duration_ns : UINT64_MAX);
	for (bool first = true; !code && watch.n && (first || next < end); first = false) {
		code = watch_round(&watch, request, first, &taken);
		rounds += taken > 0;
		if (code || (taken && rounds == request->count))
			break;
		now = pmc_now_ns();
		/* Late by a whole interval or more: skip those. */
		next += request->interval_ns;
		if (next < now)
			next = now + request->interval_ns;
		/* Its agent is starting. */
		if (!taken && (!request->targets.many || !rounds))
			next = now + retry_ns;
		watch_wait(&watch, next < end ? next : end);
		if (request->targets.many) {
			tool_keep_errors(unused, sizeof(unused));
			watch_find(&watch, request);
			tool_keep_errors(NULL, 0);
		}
	}
	if (!code && !rounds)
		code = tool_fail(EXIT_FAIL, "no snapshot: %s",
				 watch.n ? "no agent had started within -d; give a longer time" :
					   "the processes have ended");
	for (size_t i = 0; i < watch.n; i++)
		close(watch.list[i].pidfd);
	free(watch.list);
	return code;
}

int cmd_dump(int argc, char **argv)
{
	struct request request = { .interval_ns = 0 };
	int code = parse(argc, argv, &request);

	if (!code)
		code = request.interval_ns ? repeat(&request) :
					     attach_each(&request.targets, USAGE, dump, &request);
	pmc_arena_free(&request.arena);
	return code;
}
