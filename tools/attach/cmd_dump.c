/* SPDX-License-Identifier: MIT */
/* cmd_dump.c - pmctl dump: a snapshot of a running process, without its help. */
#include "tools/attach/region.h"
#include "tools/cli/pmctl.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An exec in the middle makes what was read useless; one after another is no program. */
#define TRIES 5

struct request {
	const char *pid, *out;
	bool signal;
};

static int unknown_flag(const char *flag)
{
	const char *near = tool_nearest_flag("dump", flag);

	if (near)
		return tool_fail(EXIT_USAGE, "there is no flag '%s'; did you mean '%s'?", flag,
				 near);
	return tool_fail(EXIT_USAGE, "there is no flag '%s'; see pmctl dump --help", flag);
}

static int parse(int argc, char **argv, struct request *request)
{
	for (int i = 1; i < argc; i++) {
		char *arg = argv[i];

		if (arg[0] != '-') {
			if (request->pid)
				return tool_fail(EXIT_USAGE,
						 "one process at a time: '%s' is too "
						 "many",
						 arg);
			request->pid = arg;
		} else if (strcmp(arg, "--signal") == 0) {
			request->signal = true;
		} else if (strcmp(arg, "-o") == 0) {
			if (++i == argc || !argv[i][0])
				return tool_fail(EXIT_USAGE, "-o needs the file to write");
			request->out = argv[i];
		} else {
			return unknown_flag(arg);
		}
	}
	if (!request->pid)
		return tool_fail(EXIT_USAGE, "which process? pmctl dump PID [-o FILE]");
	if (request->signal && request->out)
		return tool_fail(EXIT_USAGE, "with --signal the program writes to its own dump: "
					     "leave out -o");
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

/* The regions and the rows of one look; then what speaks of the process. A row is newer than its
 * thread's regions, which are part of what it says. */
static int collect(struct attach *target, struct attach_regions *regions, struct pmc_frame_buf *buf,
		   bool own_sites)
{
	struct attach_tasks tasks;
	bool room = true;
	int code = attach_look(target);

	if (code)
		return code;
	code = attach_regions_open(target, regions);
	if (code)
		return code;
	buf->len = 0;
	do {
		room = reserve(buf, ATTACH_FRAME_BYTES);
	} while (room && attach_regions_next(target, regions, buf));
	attach_regions_close(regions);
	code = attach_tasks_open(target, &tasks);
	for (uint32_t i = 0; !code && room && i < target->n_slots; i++) {
		struct slot *slot = registry_slot(&target->registry, i);

		if ((slot->word & ~0xffffu) != SLOT_LIVE)
			continue;
		room = reserve(buf, ATTACH_FRAME_BYTES);
		if (room)
			attach_row(target, &tasks, buf, slot, own_sites);
	}
	/* PMC_ONLY and PMC_SKIP leave a first process without rows. */
	for (size_t i = 0; !code && room && target->n_slots && i < tasks.n; i++) {
		room = reserve(buf, ATTACH_FRAME_BYTES);
		if (room)
			attach_adopted(target, &tasks, &tasks.list[i], buf);
	}
	attach_tasks_close(&tasks);
	if (!code && room)
		room = reserve(buf, 512 << 10);
	if (!code && room)
		attach_process_frames(target, buf);
	if (!room)
		return tool_fail(EXIT_FAIL, "out of memory");
	return code;
}

/* Else their absence would look as if there were none. */
static void tell(const struct attach *target, const struct attach_regions *regions)
{
	if (regions->changing)
		tool_warn("regions of %u thread%s of process %d are left out: whenever we looked, "
			  "the thread was changing its sums; dump again (a process that is stopped "
			  "has to go on first)",
			  regions->changing, regions->changing == 1 ? "" : "s", target->pid);
	if (regions->damaged)
		tool_warn("the marked regions of process %d are damaged: some are left out",
			  target->pid);
}

static int snapshot(struct attach *target, const struct request *request)
{
	struct attach_regions regions = { .areas = NULL };
	bool own_sites = request->out || !target->control.out[0];
	struct pmc_frame_buf buf = { .data = NULL };
	struct attach_out out = { .fd = -1 };
	int code = 0, tries = 0;

	do {
		code = collect(target, &regions, &buf, own_sites);
		if (code)
			goto done;
	} while (!attach_same_image(target) && ++tries < TRIES);
	if (tries == TRIES) {
		code = attach_gone(target->pid);
		goto done;
	}
	code = attach_out_open(target, request->out, &out);
	if (!code)
		code = attach_out_write(&out, buf.data, buf.len);
	if (!code && (!request->out || strcmp(request->out, "-") != 0))
		printf("%s\n", out.path);
	if (!code)
		tell(target, &regions);
done:
	if (out.fd >= 0)
		close(out.fd);
	free(buf.data);
	return code;
}

int cmd_dump(int argc, char **argv)
{
	struct request request = { .pid = NULL };
	struct attach target;
	pid_t pid;
	int code;

	if (tool_wants_help("dump", argc, argv))
		return EXIT_OK;
	code = parse(argc, argv, &request);
	if (!code)
		code = attach_pid(request.pid, &pid);
	if (code)
		return code;
	/* Beyond a file size limit a write shall fail, not kill. */
	signal(SIGXFSZ, SIG_IGN);
	if (request.signal)
		return attach_signal(pid);
	code = attach_open(&target, pid);
	if (!code)
		code = snapshot(&target, &request);
	attach_close(&target);
	return code;
}
