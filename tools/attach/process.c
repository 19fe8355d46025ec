/* SPDX-License-Identifier: MIT */
/* process.c - TOTAL, EVENTSET and PROCESS frames of a running process, from outside. */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/proc.h"
#include "lib/base/number.h"
#include "lib/dump/frame.h"
#include "lib/plan/plan.h"
#include "tools/attach/attach.h"
#include "tools/cli/list.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MOST_SET_BYTES ((size_t)96 << 10)

/* ---- event sets ---------------------------------------------------------------------------*/
/* Appends a copy of an EVENTSET frame of the process, if it has one and its hash is right. */
static void copy_set(const struct attach *target, uint64_t address, uint64_t bytes, uint64_t hash,
		     struct pmc_frame_buf *buf)
{
	struct pmc_frame frame;
	struct pmc_scan scan = { .len = bytes };
	uint8_t *data;

	if (!hash || !address || bytes > MOST_SET_BYTES)
		return;
	scan.data = data = tool_realloc(NULL, bytes);
	if (attach_read(target, address, data, bytes) == 0 && pmc_scan_next(&scan, &frame) &&
	    frame.head.type == PMC_FRAME_EVENTSET && frame.head.hash == hash &&
	    buf->cap - buf->len >= frame.head.size) {
		memcpy(buf->data + buf->len, frame.bytes, frame.head.size);
		buf->len += frame.head.size;
	}
	free(data);
}

void attach_set(const struct attach *target, uint64_t hash, struct pmc_frame_buf *buf)
{
	const struct pmc_control *c = &target->control;

	if (hash == c->eventset)
		copy_set(target, c->eventset_frame, c->eventset_bytes, hash, buf);
	else if (hash == c->user_eventset)
		copy_set(target, c->user_frame, c->user_bytes, hash, buf);
}

static void put_sets(const struct attach *target, struct pmc_frame_buf *buf)
{
	const struct sample_tables *tables = snapshot_tables(&target->reader);
	const struct pmc_control *c = &target->control;
	struct pmc_arena arena = { 0 };
	struct pmc_plan clock;

	copy_set(target, c->eventset_frame, c->eventset_bytes, c->eventset, buf);
	copy_set(target, c->user_frame, c->user_bytes, c->user_eventset, buf);
	if (tables)
		copy_set(target, tables->eventset_frame, tables->eventset_bytes,
			 tables->like.eventset, buf);
	copy_set(target, c->uncore_frame, c->uncore_bytes, c->uncore.eventset, buf);
	/* PMC_INHERIT=clock: always the same set. */
	if (pmc_plan_clock(&arena, &clock) == 0 &&
	    ((c->threads.groups && c->threads.eventset == clock.hash) ||
	     (c->execs.groups && c->execs.eventset == clock.hash)))
		pmc_plan_frame(&clock, buf);
	pmc_arena_free(&arena);
}

/* ---- process ------------------------------------------------------------------------------*/
/* A number in /proc/PID/status. */
static uint64_t status_number(int dir, const char *field)
{
	char text[256];

	attach_status(dir, field, text);
	return strtoull(text, NULL, 10);
}

/* Of the UTS namespace of the process: a container has a host name of its own. */
static void host_name(const struct attach *target, struct utsname *host)
{
	int theirs = openat(target->dir, "ns/uts", O_RDONLY | O_CLOEXEC);
	int ours = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
	bool moved = theirs >= 0 && ours >= 0 && setns(theirs, CLONE_NEWUTS) == 0;

	if (uname(host) != 0)
		host->nodename[0] = '\0';
	if (moved)
		(void)setns(ours, CLONE_NEWUTS);
	if (theirs >= 0)
		close(theirs);
	if (ours >= 0)
		close(ours);
}

/* The CPU clock of a process: include/linux/posix-timers.h, CPUCLOCK_SCHED. */
static bool cpu_clock(pid_t pid, uint64_t *ns)
{
	struct timespec t;

	if (clock_gettime((clockid_t)((~(unsigned)pid << 3) | 2u), &t) != 0)
		return false;
	*ns = pmc_timespec_ns(&t);
	return true;
}

void attach_process_words(const struct attach *target, struct account_words *now)
{
	struct pmc_usage usage = { 0 };
	char stat[1024];

	/* /proc has no context switches of ended threads. */
	*now = (struct account_words){ .unknown = ACCOUNT_SWITCHES };
	if (pmc_file_read_at(target->dir, "stat", stat, sizeof(stat)) <= 0 ||
	    !pmc_task_stat(stat, &usage))
		now->unknown |= ACCOUNT_FAULTS;
	account_put_usage(now, &usage);
	if (!cpu_clock(target->pid, &now->of[ACCOUNT_CPU]))
		now->unknown |= ACCOUNT_BIT(ACCOUNT_CPU);
	now->of[ACCOUNT_OVERHEAD] = target->control.overhead_ns;
	now->of[ACCOUNT_WALL] = pmc_now_ns();
}

static void read_text(const struct attach *target, uint64_t address, char text[4096])
{
	if (!address || attach_read_text(target, address, text, 4096) != 0)
		text[0] = '\0';
}

static void put_process(const struct attach *target, struct pmc_frame_buf *buf)
{
	const struct pmc_control *control = &target->control;
	struct pmc_process_fixed fixed = control->process;
	char boot[64], exe[4096], cmdline[4096];
	struct account_words now;
	struct account_side side;
	struct utsname host;
	const struct pmc_process_text text = { host.nodename, boot, exe, cmdline };

	/* The parent's ID would be one of pmctl's PID namespace. */
	fixed.ppid = target->other_pid_namespace ? 0 : (uint32_t)status_number(target->dir, "PPid");
	fixed.max_rss_bytes = status_number(target->image, "VmHWM") * 1024;
	attach_process_words(target, &now);
	snapshot_process(&target->reader, &now, &side, &fixed);
	fixed.end_ns = 0;
	fixed.how_ended = PMC_RUNNING;
	fixed.how_code = 0;
	host_name(target, &host);
	pmc_file_read(boot, sizeof(boot), "/proc/sys/kernel/random/boot_id");
	read_text(target, control->exe, exe);
	read_text(target, control->cmdline, cmdline);
	pmc_build_process(buf, control->identity, control->snapshot, &fixed, &text);
}

/* To be called after the rows were read: rows are subtracted from totals. */
void attach_process_frames(struct attach *target, struct pmc_frame_buf *buf)
{
	snapshot_total(&target->reader, buf, &target->control.threads, PMC_TOTAL_THREADS);
	snapshot_total(&target->reader, buf, &target->control.execs, PMC_TOTAL_EXEC);
	snapshot_total(&target->reader, buf, &target->control.uncore, PMC_TOTAL_UNCORE);
	put_process(target, buf);
	put_sets(target, buf);
}
