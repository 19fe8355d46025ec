/* SPDX-License-Identifier: MIT */
/* cmd_dump.c - pmctl dump: snapshots of a running process, taken from outside. */
#include "lib/base/clock.h"
#include "tools/attach/attach.h"
#include "tools/cli/flags.h"
#include "tools/live/task.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

struct request {
	const char *pid, *out;
	bool signal;
	uint64_t interval_ns, count; /* 0: one snapshot; 0: until the process ends */
	bool printed;		     /* the path of the dump */
	bool warned;		     /* of child processes */
	int pidfd;		     /* of the process of the first snapshot; -1: any */
	uint64_t patient_ns;	     /* until then a missing agent is no error */
	struct written written;
};

#define FLAG_OPTIONS struct request

const struct tool_flag cmd_dump_flags[] = {
	FLAG_OUTPUT(out, "dump; - is stdout (default: the process's own, else pmc-HOST-PID.pmc)"),
	FLAG_INTERVAL(interval_ns, FLAG_MS,
		      "time between snapshots, until the process ends (default: one)"),
	FLAG_COUNT(count, "number of snapshots with -I"),
	FLAG_BOOL(0, "--signal", signal, "snapshot by the process itself, on its PMC_DUMP signal"),
	OPERAND_TEXT(pid, .once = "process ID"),
	FLAG_END,
};

static int parse(int argc, char **argv, struct request *request)
{
	int code = tool_args_parse(argc, argv, request);

	if (code)
		return code;
	if (!request->pid)
		return tool_fail(EXIT_USAGE, "a process ID is required: pmctl dump PID [-o FILE]");
	if (request->signal && request->out)
		return tool_fail(EXIT_USAGE, "-o cannot be used with --signal: the program writes "
					     "to its own dump");
	if (request->signal && request->interval_ns)
		return tool_fail(EXIT_USAGE, "-I cannot be used with --signal: set PMC_INTERVAL "
					     "for the program instead");
	if (request->count && !request->interval_ns)
		return tool_fail(EXIT_USAGE, "-n needs -I TIME, the time between two snapshots");
	return 0;
}

static void warn_missing(const struct attach *target, struct request *request,
			 const struct attach_missing *missing)
{
	if (!request->warned && live_has_children(target->pid))
		tool_warn("child processes of %d are not in this snapshot; pgrep -P %d lists them",
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

/* Waits until that time; false: the process ended first. */
static bool lives_until(int pidfd, uint64_t ns)
{
	struct pollfd process = { .fd = pidfd, .events = POLLIN };
	uint64_t now;

	while ((now = pmc_now_ns()) < ns) {
		const struct timespec wait = { .tv_sec = (time_t)((ns - now) / 1000000000u),
					       .tv_nsec = (long)((ns - now) % 1000000000u) };
		int n = ppoll(&process, 1, &wait, NULL);

		if (n > 0 || (n < 0 && errno != EINTR))
			return false;
	}
	return true;
}

/* Appends modules and stacks, and writes all frames. Stacks are written once to a file, unless it
 * was replaced or cut since. */
static int put(struct attach *target, struct written *written, struct attach_missing *missing,
	       struct pmc_frame_buf *buf, struct attach_out *out)
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
		code = attach_out_write(out, buf->data, buf->len);
	*written = (struct written){
		.dev = st.st_dev, .ino = st.st_ino, .bytes = st.st_size, .tables = tables
	};
	if (!code)
		memcpy(written->identity, identity, sizeof(written->identity));
	return code;
}

static int snapshot(struct attach *target, void *arg)
{
	struct request *request = arg;
	struct attach_missing missing = { .changing = 0 };
	bool own_file = request->out || !target->control.out[0];
	struct pmc_frame_buf buf = { .data = NULL };
	struct attach_out out = { .fd = -1 };
	int code;

	request->patient_ns = pmc_now_ns() + PATIENCE_NS;
	/* The ID cannot be reused while the process exists, so this is the opened process. */
	if (request->pidfd >= 0 && attach_pidfd_ended(request->pidfd))
		return attach_gone(target->pid);
	code = attach_collect(target, &missing, &buf, own_file);
	if (!code)
		code = attach_out_open(target, request->out, &out);
	if (!code)
		code = put(target, &request->written, &missing, &buf, &out);
	if (!code && !request->printed && (!request->out || strcmp(request->out, "-") != 0)) {
		printf("%s\n", out.path);
		fflush(stdout);
		request->printed = true;
	}
	if (!code)
		warn_missing(target, request, &missing);
	if (out.fd >= 0)
		close(out.fd);
	free(buf.data);
	return code;
}

/* Snapshots by the wall clock, until the process has ended. */
static int repeat(pid_t pid, struct request *request)
{
	const uint64_t retry_ns = request->interval_ns < RETRY_NS ? request->interval_ns : RETRY_NS;
	uint64_t next = pmc_now_ns(), taken = 0, now;
	int code = 0, pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd < 0)
		return attach_gone(pid);
	request->pidfd = pidfd;
	for (;;) {
		code = attach_act(pid, request->patient_ns > pmc_now_ns() ? ATTACH_PATIENT : 0,
				  snapshot, request);
		now = pmc_now_ns();
		if (code == ATTACH_AGAIN) {
			if (lives_until(pidfd, now + retry_ns))
				continue;
			break;
		}
		if (code || ++taken == request->count)
			break;
		/* Late by a whole interval or more: skip those. */
		next += request->interval_ns;
		if (next < now)
			next = now + request->interval_ns;
		if (!lives_until(pidfd, next))
			break;
	}
	/* The process ended, and an earlier snapshot was written. */
	if (code && taken && attach_pidfd_ended(pidfd))
		code = 0;
	close(pidfd);
	return code;
}

int cmd_dump(int argc, char **argv)
{
	struct request request = { .pidfd = -1 };
	pid_t pid;
	int code;

	code = parse(argc, argv, &request);
	if (!code)
		code = attach_pid(request.pid, &pid);
	if (code)
		return code;
	if (request.signal)
		return attach_signal(pid);
	return request.interval_ns ? repeat(pid, &request) : attach_act(pid, 0, snapshot, &request);
}
