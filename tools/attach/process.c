/* SPDX-License-Identifier: MIT */
/* process.c - TOTAL, EVENTSET and PROCESS frames of a running process, from outside. */
#include "agent/core/base/clock.h"
#include "agent/core/base/number.h"
#include "agent/core/dump/build.h"
#include "agent/core/plan/plan.h"
#include "tools/attach/attach.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define MOST_SET_BYTES ((size_t)96 << 10)

static bool read_proc(const char *pid, const char *name, char *text, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, cap - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* ---- event sets ---------------------------------------------------------------------------*/
/* A copy of the frame in the process, if it is the one that rows refer to. */
static bool copy_set(const struct attach *target, uint64_t address, uint64_t bytes, uint64_t hash,
		     struct pmc_frame_buf *buf)
{
	uint8_t *data;
	struct pmc_frame frame;
	bool good = false;

	if (!address || bytes > MOST_SET_BYTES)
		return false;
	data = malloc(bytes + 1);
	if (data && attach_read(target->pid, address, data, bytes) == 0) {
		struct pmc_scan scan = { .data = data, .len = bytes };

		good = pmc_scan_next(&scan, &frame) && frame.head.type == PMC_FRAME_EVENTSET &&
		       frame.head.hash == hash && buf->cap - buf->len >= frame.head.size;
		if (good) {
			memcpy(buf->data + buf->len, frame.bytes, frame.head.size);
			buf->len += frame.head.size;
		}
	}
	free(data);
	return good;
}

static void put_sets(const struct attach *target, struct pmc_frame_buf *buf)
{
	const struct pmc_control *control = &target->control;
	const struct pmc_control_totals *both[] = { &control->threads, &control->execs };
	struct pmc_arena arena = { 0 };
	struct pmc_plan clock;

	if (control->eventset)
		copy_set(target, control->eventset_frame, control->eventset_bytes,
			 control->eventset, buf);
	if (control->user_eventset)
		copy_set(target, control->user_frame, control->user_bytes, control->user_eventset,
			 buf);
	if (control->machine.eventset)
		copy_set(target, control->machine_frame, control->machine_bytes,
			 control->machine.eventset, buf);
	for (unsigned i = 0; i < 2; i++) {
		const struct pmc_control_totals *totals = both[i];

		if (!totals->groups || totals->eventset == control->eventset)
			continue;
		/* PMC_INHERIT=clock: the set is always the same. */
		if (pmc_plan_clock(&arena, &clock) == 0 && clock.hash == totals->eventset)
			pmc_plan_frame(&clock, buf);
	}
	pmc_arena_free(&arena);
}

/* ---- totals -------------------------------------------------------------------------------*/
static void put_total(const struct attach *target, const struct pmc_control_totals *totals,
		      enum pmc_total_kind kind, struct pmc_frame_buf *buf)
{
	struct attach_groups groups;
	struct pmc_total_fixed fixed = {
		.kind = (uint8_t)kind,
		.flags = (uint8_t)totals->flags,
		.n_groups = (uint16_t)totals->groups,
		.time_ns = pmc_now_ns(),
		.eventset = totals->eventset,
	};
	uint32_t reason = 0;

	if (!totals->groups && (kind != PMC_TOTAL_MACHINE || !totals->eventset))
		return;
	attach_groups_of_total(totals, &groups);
	pmc_begin_total(buf, target->control.identity, target->control.snapshot, &fixed);
	attach_groups_frame(target, buf, &groups, &reason);
	pmc_frame_end(buf);
}

/* ---- process ------------------------------------------------------------------------------*/
/* Fields of /proc/PID/stat behind the name, which may hold anything. */
static void read_stat(const char *pid, struct pmc_process_fixed *fixed)
{
	char text[1024];
	const char *at;

	if (!read_proc(pid, "stat", text, sizeof(text)))
		return;
	at = strrchr(text, ')');
	if (at)
		sscanf(at + 1, " %*c %" SCNu32 " %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64,
		       &fixed->ppid, &fixed->minor_faults, &fixed->major_faults);
}

static uint64_t peak_rss(const char *pid)
{
	char text[4096];
	const char *line;

	if (!read_proc(pid, "status", text, sizeof(text)))
		return 0;
	line = strstr(text, "\nVmHWM:");
	return line ? strtoull(line + 7, NULL, 10) * 1024 : 0;
}

/* The CPU clock of a process: include/linux/posix-timers.h, CPUCLOCK_SCHED. */
static uint64_t cpu_clock(pid_t pid)
{
	struct timespec t;

	if (clock_gettime((clockid_t)((~(unsigned)pid << 3) | 2u), &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A container has a name of its own, and its rows bear that. */
static void host_name(const char *pid, struct utsname *host)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/ns/uts", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)setns(fd, CLONE_NEWUTS);
		close(fd);
	}
	if (uname(host) != 0)
		host->nodename[0] = '\0';
}

static void read_text(const struct attach *target, uint64_t address, char text[4096])
{
	if (!address || attach_read_text(target->pid, address, text, 4096) != 0)
		text[0] = '\0';
}

static void put_process(const struct attach *target, struct pmc_frame_buf *buf)
{
	const struct pmc_control *control = &target->control;
	struct pmc_process_fixed fixed = control->process;
	char pid[16], boot[64] = "", exe[4096], cmdline[4096];
	struct utsname host;
	const struct pmc_process_text text = { host.nodename, boot, exe, cmdline };

	snprintf(pid, sizeof(pid), "%d", target->pid);
	read_stat(pid, &fixed);
	if (target->other_pid_namespace)
		fixed.ppid = 0; /* known here by a number that means nothing there */
	fixed.minor_faults = pmc_sub_sat(fixed.minor_faults, control->carried_minor_faults);
	fixed.major_faults = pmc_sub_sat(fixed.major_faults, control->carried_major_faults);
	fixed.flags |= PMC_PROCESS_NO_SWITCHES;
	fixed.max_rss_bytes = peak_rss(pid);
	fixed.cpu_ns = pmc_sub_sat(cpu_clock(target->pid), control->carried_process_ns);
	fixed.threads_seen = control->seen;
	fixed.threads_counted = pmc_sub_sat(control->seen, control->uncounted);
	fixed.self_ns = control->self_ns;
	fixed.time_ns = pmc_now_ns();
	fixed.end_ns = 0;
	fixed.how_ended = PMC_RUNNING;
	fixed.how_code = 0;
	host_name(pid, &host);
	if (read_proc("sys/kernel/random", "boot_id", boot, sizeof(boot)))
		boot[strcspn(boot, "\n")] = '\0';
	read_text(target, control->exe, exe);
	read_text(target, control->cmdline, cmdline);
	pmc_build_process(buf, control->identity, control->snapshot, &fixed, &text);
}

/* Totals come after the rows: what is subtracted is never newer than what it is from. */
void attach_process_frames(struct attach *target, struct pmc_frame_buf *buf)
{
	put_total(target, &target->control.threads, PMC_TOTAL_THREADS, buf);
	put_total(target, &target->control.execs, PMC_TOTAL_EXEC, buf);
	put_total(target, &target->control.machine, PMC_TOTAL_MACHINE, buf);
	put_process(target, buf);
	put_sets(target, buf);
}
