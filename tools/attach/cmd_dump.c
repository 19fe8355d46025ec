/* SPDX-License-Identifier: MIT */
/* cmd_dump.c - pmctl dump: a snapshot of a running process, taken from outside. */
#include "tools/attach/region.h"
#include "tools/cli/pmctl.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct request {
	const char *pid, *out;
	bool signal;
};

static int parse(int argc, char **argv, struct request *request)
{
	struct tool_args args;

	tool_args_init(&args, argc, argv);
	while (tool_args_next(&args)) {
		if (tool_args_is(&args, "-o"))
			request->out = args.value;
		else if (tool_args_is(&args, "--signal"))
			request->signal = true;
		else if (request->pid)
			return tool_fail(EXIT_USAGE,
					 "unexpected argument '%s': one process ID only",
					 args.value);
		else
			request->pid = args.value;
	}
	if (args.code)
		return args.code;
	if (!request->pid)
		return tool_fail(EXIT_USAGE, "a process ID is required: pmctl dump PID [-o FILE]");
	if (request->out && !request->out[0])
		return tool_fail(EXIT_USAGE, "-o needs a file name");
	if (request->signal && request->out)
		return tool_fail(EXIT_USAGE, "-o cannot be used with --signal: the program writes "
					     "to its own dump");
	return 0;
}

static bool reserve(struct pmc_frame_buf *buf, size_t bytes)
{
	uint8_t *data;
	size_t cap = buf->cap ? buf->cap : 64 << 10;

	if (buf->cap - buf->len >= bytes)
		return true;
	while (cap - buf->len < bytes)
		cap *= 2;
	data = realloc(buf->data, cap);
	if (!data)
		return false;
	buf->data = data;
	buf->cap = cap;
	return true;
}

/* Appends regions and rows of one look, then the frames of the process. A row is read after its
 * thread's regions: what they counted is part of the row. */
static int collect(struct attach *target, struct attach_regions *regions, struct pmc_frame_buf *buf,
		   bool own_sites)
{
	bool room = true;
	int code = attach_look(target);

	if (code)
		return code;
	attach_regions_init(regions);
	buf->len = 0;
	do {
		room = reserve(buf, ATTACH_FRAME_BYTES);
	} while (room && attach_regions_next(target, regions, buf));
	for (uint32_t i = 0; room && i < target->n_slots; i++) {
		room = reserve(buf, ATTACH_FRAME_BYTES);
		if (room)
			attach_row(target, buf, registry_slot(&target->registry, i), own_sites);
	}
	/* No slots: PMC_ONLY or PMC_SKIP excludes the program, and it gets no rows. */
	for (size_t i = 0; room && target->registry.high && i < target->tasks.n; i++) {
		room = reserve(buf, ATTACH_FRAME_BYTES);
		if (room)
			attach_adopted(target, &target->tasks.list[i], buf);
	}
	room = room && reserve(buf, 512 << 10);
	if (!room)
		return tool_fail(EXIT_FAIL, "out of memory");
	attach_process_frames(target, buf);
	return attach_same_image(target) ? 0 :
	       attach_has_ended(target)	 ? attach_gone(target->pid) :
					   ATTACH_AGAIN;
}

static void warn_missing_regions(const struct attach *target, const struct attach_regions *regions)
{
	if (regions->changing)
		tool_warn("regions of %u thread%s of process %d are missing: the thread was "
			  "changing them at every try; dump again (continue the process first if "
			  "it is stopped)",
			  regions->changing, regions->changing == 1 ? "" : "s", target->pid);
	if (regions->damaged)
		tool_warn("regions of process %d are damaged: some are missing", target->pid);
}

static int snapshot(struct attach *target, void *arg)
{
	const struct request *request = arg;
	struct attach_regions regions = { .changing = 0 };
	bool own_sites = request->out || !target->control.out[0];
	struct pmc_frame_buf buf = { .data = NULL };
	struct attach_out out = { .fd = -1 };
	int code = collect(target, &regions, &buf, own_sites);

	if (!code)
		code = attach_out_open(target, request->out, &out);
	if (!code)
		code = attach_out_write(&out, buf.data, buf.len);
	if (!code && (!request->out || strcmp(request->out, "-") != 0))
		printf("%s\n", out.path);
	if (!code)
		warn_missing_regions(target, &regions);
	if (out.fd >= 0)
		close(out.fd);
	free(buf.data);
	return code;
}

int cmd_dump(int argc, char **argv)
{
	struct request request = { .pid = NULL };
	pid_t pid;
	int code;

	code = parse(argc, argv, &request);
	if (!code)
		code = attach_pid(request.pid, &pid);
	if (code)
		return code;
	/* A write beyond RLIMIT_FSIZE fails instead of killing pmctl. */
	signal(SIGXFSZ, SIG_IGN);
	return request.signal ? attach_signal(pid) : attach_act(pid, false, snapshot, &request);
}
