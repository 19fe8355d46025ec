/* SPDX-License-Identifier: MIT */
/* frames.c - the frames of a snapshot from outside: rows of threads, totals, the process. */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/proc.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"
#include "tools/live/task.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Of a thread at the last snapshot. */
struct attach_wait {
	uint64_t start_ticks, read_ns, voluntary;
	uint64_t ns; /* since the first one */
	bool runnable;
	struct live_delay delay;
};

/* The wait for a CPU that goes on, as far as it is since the last snapshot and known. now: without
 * it. */
static uint64_t waits_yet(struct attach_waits *waits, uint32_t tid, const char *text,
			  const struct account_words *now)
{
	const uint64_t charged_ns = now->of[ACCOUNT_DELAY], cpu_ns = now->of[ACCOUNT_CPU],
		       read_ns = now->of[ACCOUNT_WALL];
	struct attach_wait *wait =
		pmc_map_at(&waits->list, waits->arena, &tid, sizeof(tid), sizeof(*wait));
	struct pmc_proc_stat stat;
	bool runnable;

	if (!pmc_proc_stat(text, &stat))
		return 0;
	runnable = stat.state == 'R';
	if (!wait->read_ns || wait->start_ticks != stat.start_ticks) {
		*wait = (struct attach_wait){ .start_ticks = stat.start_ticks };
		live_delay_begin(&wait->delay, cpu_ns, charged_ns, runnable);
	} else {
		wait->ns += pmc_sub_sat(read_ns, wait->read_ns);
		live_delay_read(&wait->delay, wait->ns, cpu_ns, charged_ns,
				runnable && wait->runnable &&
					wait->voluntary == now->of[ACCOUNT_VOLUNTARY]);
	}
	wait->read_ns = read_ns;
	wait->runnable = runnable;
	wait->voluntary = now->of[ACCOUNT_VOLUNTARY];
	return pmc_sub_sat(wait->delay.delay_ns, charged_ns - wait->delay.charged_before_ns);
}

bool attach_thread_words(const struct attach *target, uint32_t tid, struct account_words *now)
{
	struct pmc_proc_sched sched = { .cpu_ns = 0 };
	const struct attach_task *task;
	struct pmc_usage usage = { 0 };
	char status[4096], stat[1024];
	pid_t pid = (pid_t)tid;

	*now = (struct account_words){ .of[ACCOUNT_WALL] = pmc_now_ns() };
	/* The thread may have started since; 0: unknown. */
	if (target->other_pid_namespace) {
		task = attach_task_of(target, tid);
		pid = task ? task->pid : 0;
	}
	/* CPU time 0 is that of a kernel without CONFIG_SCHED_INFO: every thread here has run. */
	if (!pid || !attach_read_task(target, pid, "schedstat", stat, sizeof(stat)) ||
	    !pmc_proc_schedstat(stat, &sched) || !sched.cpu_ns)
		now->unknown = ACCOUNT_BIT(ACCOUNT_CPU) | ACCOUNT_BIT(ACCOUNT_DELAY);
	now->of[ACCOUNT_CPU] = sched.cpu_ns;
	now->of[ACCOUNT_DELAY] = sched.delay_ns;
	if (pid && attach_read_task(target, pid, "status", status, sizeof(status)) &&
	    attach_read_task(target, pid, "stat", stat, sizeof(stat)) &&
	    pmc_task_status(status, tid, &usage) && pmc_task_stat(stat, &usage))
		account_put_usage(now, &usage);
	else
		now->unknown |= ACCOUNT_USAGE;
	if (target->waits && !now->unknown)
		now->of[ACCOUNT_DELAY] += waits_yet(target->waits, tid, stat, now);
	return !(now->unknown & ACCOUNT_BIT(ACCOUNT_CPU));
}

/* ---- rows ---------------------------------------------------------------------------------*/
/* The module of an address, from the list of mapped files, "" if unknown, and the offset in it. */
static void module_of(const struct attach *target, uint64_t address, const char **path,
		      uint64_t *offset)
{
	*path = "";
	*offset = address;
	for (size_t i = 0; i < target->n_images; i++) {
		if (address < target->images[i].start || address >= target->images[i].end)
			continue;
		*path = target->images[i].path;
		*offset = address - target->images[i].start;
	}
}

void attach_row(struct attach *target, struct pmc_frame_buf *buf, struct slot *slot,
		bool own_routines)
{
	const struct snapshot_groups groups = snapshot_groups_of(&target->reader, slot);
	const bool phases = target->control.switched;
	struct account_words now;
	struct pmc_thread_fixed *row;
	const char *module;
	uint64_t offset;

	/* The SITE frame of its start routine, as agent/thread/start_routine.c builds it; readers
	 * look the symbol up. */
	if (own_routines && slot->start.posix) {
		module_of(target, (uint64_t)(uintptr_t)slot->start.posix, &module, &offset);
		slot->start_site = pmc_build_site(buf, offset, module, "");
	} else if (own_routines) {
		slot->start_site = 0;
	}
	row = snapshot_begin_row(&target->reader, buf, slot, PMC_THREAD_LIVE, phases, !phases);
	if (!row)
		return;
	snapshot_put_groups(&target->reader, buf, &groups, &row->reason);
	attach_thread_words(target, slot->tid, &now);
	now.of[ACCOUNT_WALL] = row->time_ns = pmc_now_ns();
	snapshot_put_words(&target->reader, buf, slot, &now, row, phases);
	pmc_frame_end(buf);
}

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

static void put_sets(const struct attach *target, struct pmc_frame_buf *buf)
{
	const struct sample_tables *tables = snapshot_tables(&target->reader);
	const struct pmc_control *c = &target->control;

	copy_set(target, c->eventset_frame, c->eventset_bytes, c->eventset, buf);
	copy_set(target, c->user_frame, c->user_bytes, c->user_eventset, buf);
	if (tables)
		copy_set(target, tables->eventset_frame, tables->eventset_bytes,
			 tables->like.eventset, buf);
	copy_set(target, c->uncore_frame, c->uncore_bytes, c->uncore.eventset, buf);
	copy_set(target, c->inherit_frame, c->inherit_bytes, c->threads.eventset, buf);
}

/* ---- process ------------------------------------------------------------------------------*/
static uint64_t status_number(int dir, const char *field)
{
	char text[16384];
	uint64_t value = 0;

	pmc_file_read_at(dir, "status", text, sizeof(text));
	pmc_proc_number(text, field, &value);
	return value;
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
	pmc_fd_close(theirs);
	pmc_fd_close(ours);
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
	now->of[ACCOUNT_CPU] = live_process_cpu_ns(target->pid);
	if (!now->of[ACCOUNT_CPU])
		now->unknown |= ACCOUNT_BIT(ACCOUNT_CPU);
	now->of[ACCOUNT_OVERHEAD] = target->control.overhead_ns;
	now->of[ACCOUNT_WALL] = pmc_now_ns();
}

static void read_text(const struct attach *target, uint64_t address, char text[4096])
{
	if (!address || attach_read_text(target, address, text, 4096) != 0)
		text[0] = '\0';
}

static void put_process_frame(const struct attach *target, struct pmc_frame_buf *buf)
{
	const struct pmc_control *control = &target->control;
	struct pmc_process_fixed fixed = control->process;
	char boot[64], exe[4096], cmdline[4096], labels[4096];
	struct account_words now;
	struct account_side side;
	struct utsname host;
	const struct pmc_process_text text = { host.nodename, boot, exe, cmdline, labels };

	/* The parent's ID would be one of pmctl's PID namespace. */
	fixed.ppid = target->other_pid_namespace ? 0 : (uint32_t)status_number(target->dir, "PPid");
	fixed.max_rss_bytes = status_number(target->image, "VmHWM") * 1024;
	attach_process_words(target, &now);
	snapshot_process(&target->reader, &now, &side, &fixed);
	fixed.flags |= PMC_PROCESS_OUTSIDE;
	fixed.end_ns = 0;
	fixed.how_ended = PMC_RUNNING;
	fixed.how_code = 0;
	host_name(target, &host);
	pmc_file_read(boot, sizeof(boot), "/proc/sys/kernel/random/boot_id");
	read_text(target, control->exe, exe);
	read_text(target, control->cmdline, cmdline);
	read_text(target, control->labels, labels);
	pmc_build_process(buf, control->identity, control->snapshot, &fixed, &text);
}

/* To be called after the rows were read: rows are subtracted from totals. */
void attach_process_frames(struct attach *target, struct pmc_frame_buf *buf)
{
	snapshot_total(&target->reader, buf, &target->control.threads, PMC_TOTAL_THREADS);
	snapshot_total(&target->reader, buf, &target->control.execs, PMC_TOTAL_EXEC);
	snapshot_total(&target->reader, buf, &target->control.uncore, PMC_TOTAL_UNCORE);
	put_process_frame(target, buf);
	put_sets(target, buf);
}

/* ---- all frames ----------------------------------------------------------------------------- */

/* For a region that changes: tries at once, then some with a nap, for a thread preempted in a
 * change. */
#define QUICK	 100u
#define PATIENCE 600u
#define NAP_US	 50u
/* Of frames; no program marks or samples so much. */
#define MOST_BYTES ((size_t)256 << 20)

static void reserve(struct pmc_frame_buf *buf, size_t bytes)
{
	size_t cap = buf->cap ? buf->cap : 64 << 10;

	if (buf->cap - buf->len >= bytes)
		return;
	while (cap - buf->len < bytes)
		cap *= 2;
	buf->data = tool_realloc(buf->data, cap);
	buf->cap = cap;
}

/* Whether the frames are of one process image that is still there, and from before the final rows
 * that it writes at its end. */
static int finish(const struct attach *target)
{
	const uint64_t at = target->address + offsetof(struct pmc_control, state);
	uint32_t state;

	if (attach_read(target, at, &state, sizeof(state)) == 0 && state == PMC_CONTROL_ON &&
	    attach_same_image(target))
		return 0;
	return attach_has_ended(target) ? attach_gone(target->pid) : ATTACH_AGAIN;
}

static int put_process(struct attach *target, struct pmc_frame_buf *buf)
{
	reserve(buf, 512 << 10);
	attach_process_frames(target, buf);
	return finish(target);
}

static bool try_again(struct attach_missing *missing, unsigned try)
{
	if (!missing->tries || try >= PATIENCE)
		return false;
	missing->tries--;
	if (try >= QUICK)
		usleep(NAP_US);
	return true;
}

/* Leaves the rest out if the thread changes its records all the time. */
void attach_put_regions(struct attach *target, struct slot *slot, struct attach_missing *missing,
			struct pmc_frame_buf *buf)
{
	enum snapshot_result result = SNAPSHOT_PUT;
	unsigned try = 0;

	for (uint32_t i = 0; result == SNAPSHOT_PUT;) {
		reserve(buf, REGION_FRAME_BYTES);
		result = buf->len > MOST_BYTES ? SNAPSHOT_DAMAGED :
						 snapshot_region(&target->reader, buf, slot, i);
		if (result == SNAPSHOT_CHANGING && try_again(missing, try++))
			result = SNAPSHOT_PUT;
		else
			i++, try = 0;
	}
	missing->changing += result == SNAPSHOT_CHANGING;
	missing->regions |= result == SNAPSHOT_DAMAGED;
}

/* Samples are those of the slot's thread if that is still alive after they were copied. */
void attach_put_samples(struct attach *target, struct slot *slot, struct attach_missing *missing,
			struct pmc_frame_buf *buf)
{
	const size_t before = buf->len;
	enum snapshot_result result = SNAPSHOT_PUT;

	for (uint32_t part = 0; result == SNAPSHOT_PUT; part++) {
		reserve(buf, SAMPLE_FRAME_BYTES);
		result = buf->len > MOST_BYTES ? SNAPSHOT_DAMAGED :
						 snapshot_samples(&target->reader, buf, slot, part);
	}
	if (!attach_is_alive(target, slot))
		buf->len = before;
	else
		missing->samples |= result == SNAPSHOT_DAMAGED;
}

/* A row is read after its thread's regions: what they counted is part of the row. A thread that has
 * ended meanwhile has written its last row: what was read here lacks values, and may be later. */
static void put_row(struct attach *target, struct slot *slot, struct attach_missing *missing,
		    struct pmc_frame_buf *buf, bool own_file)
{
	const size_t before = buf->len;

	attach_put_regions(target, slot, missing, buf);
	reserve(buf, ATTACH_FRAME_BYTES);
	attach_row(target, buf, slot, own_file);
	if (!attach_is_alive(target, slot))
		buf->len = before;
}

int attach_collect(struct attach *target, struct attach_missing *missing, struct pmc_frame_buf *buf,
		   bool own_file)
{
	int code = attach_look(target);

	if (code)
		return code;
	buf->len = 0;
	*missing = (struct attach_missing){ .tries = ATTACH_TRIES };
	for (uint32_t i = 0; i < target->n_slots; i++) {
		struct slot *slot = registry_slot(&target->registry, i);

		put_row(target, slot, missing, buf, own_file);
		attach_put_samples(target, slot, missing, buf);
	}
	return put_process(target, buf);
}

int attach_collect_stacks(struct attach *target, struct snapshot_written *written,
			  struct attach_missing *missing, struct pmc_frame_buf *buf)
{
	enum snapshot_result result = SNAPSHOT_PUT;

	missing->samples |= target->control.samples && !snapshot_tables(&target->reader);
	while (result != SNAPSHOT_END) {
		reserve(buf, SAMPLE_FRAME_BYTES);
		result = snapshot_stacks(&target->reader, buf, written);
		missing->samples |= result == SNAPSHOT_DAMAGED || buf->len > MOST_BYTES;
		if (buf->len > MOST_BYTES)
			break;
	}
	return finish(target);
}

/* ---- for commands that show threads again and again: agent.h -------------------------------- */

#define SET_BYTES ((size_t)128 << 10)

/* No program that merely has no agent, or one of another user, is worth a word. */
static bool is_quiet(const struct attach *target)
{
	return !target->address || target->control.state != PMC_CONTROL_ON;
}

struct attach *attach_agent_open(pid_t pid, char *why)
{
	struct attach *agent = tool_realloc(NULL, sizeof(*agent));
	int code;

	why[0] = '\0';
	tool_keep_errors(why, ATTACH_WHY);
	code = attach_open(agent, pid, 0);
	tool_keep_errors(NULL, 0);
	if (!code)
		return agent;
	if (is_quiet(agent))
		why[0] = '\0';
	attach_agent_close(agent);
	return NULL;
}

void attach_agent_close(struct attach *agent)
{
	if (agent)
		attach_close(agent);
	free(agent);
}

bool attach_agent_look(struct attach *agent, char *why)
{
	int code;

	tool_keep_errors(why, ATTACH_WHY);
	code = attach_look(agent);
	tool_keep_errors(NULL, 0);
	if (code && is_quiet(agent))
		why[0] = '\0';
	return !code;
}

bool attach_agent_thread(const struct attach *agent, pid_t tid, struct attach_thread *thread)
{
	const struct attach_task *task = NULL;
	const struct slot *slot;

	if (!agent->other_pid_namespace)
		task = attach_task_of(agent, (uint32_t)tid);
	for (size_t i = 0; agent->other_pid_namespace && i < agent->tasks.n; i++)
		if (agent->tasks.list[i].pid == tid)
			task = &agent->tasks.list[i];
	if (!task || !task->slot)
		return false;
	slot = registry_slot(&agent->registry, task->slot - 1);
	*thread = (struct attach_thread){
		.slot = task->slot - 1,
		.main = slot->flags & PMC_THREAD_MAIN,
		.start_ns = slot->start_ns,
		.eventset = snapshot_eventset(&agent->control, slot),
	};
	module_of(agent, (uint64_t)(uintptr_t)slot->start.posix, &thread->module, &thread->offset);
	return true;
}

int attach_agent_leader(const struct attach *agent, const struct attach_thread *thread, unsigned g,
			unsigned n, uint64_t *id)
{
	const struct snapshot_groups groups =
		snapshot_groups_of(&agent->reader, registry_slot(&agent->registry, thread->slot));
	uint32_t error;

	if (g >= groups.groups || (unsigned)(groups.first[g + 1] - groups.first[g]) != n)
		return -1;
	*id = groups.ids[g];
	return attach_group_dup(agent, groups.fds[groups.first[g]], *id, &error);
}

void attach_agent_set(const struct attach *agent, uint64_t eventset, struct pmc_frame_buf *buf)
{
	const struct pmc_control *c = &agent->control;

	pmc_frame_buf_init(buf, tool_realloc(NULL, SET_BYTES), SET_BYTES);
	if (eventset == c->eventset)
		copy_set(agent, c->eventset_frame, c->eventset_bytes, eventset, buf);
	else if (eventset == c->user_eventset)
		copy_set(agent, c->user_frame, c->user_bytes, eventset, buf);
}

bool attach_agent_frames(struct attach *agent, const struct attach_thread *thread,
			 struct pmc_frame_buf *buf, char *why)
{
	struct attach_missing missing = { .tries = ATTACH_FEW_TRIES };
	int code;

	pmc_frame_buf_init(buf, NULL, 0);
	put_row(agent, registry_slot(&agent->registry, thread->slot), &missing, buf, true);
	tool_keep_errors(why, ATTACH_WHY);
	code = put_process(agent, buf);
	tool_keep_errors(NULL, 0);
	return !code;
}
