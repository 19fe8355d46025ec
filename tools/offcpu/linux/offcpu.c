/* SPDX-License-Identifier: MIT */
/*
 * offcpu.c - events on a command that write a record at each switch, the thread that reads them and
 * follows the command's threads, and their waits as frames of the dump.
 *
 * The event is the kernel's count of context switches, which an unprivileged user may sample where
 * perf_event_paranoid is 1 or less, and which needs no tracefs. An inherited event has a ring only
 * if it is bound to a CPU, so there is one for each CPU.
 *
 * A switch leaves two records: a sample with the stack, and PERF_RECORD_SWITCH, which says whether
 * the thread could have gone on (preempted). The next PERF_RECORD_SWITCH of the thread ends the
 * wait. So a wait includes the time that the thread, woken up, waits for a CPU.
 *
 * Where records were lost, any waiting thread may have run meanwhile, so waits that had begun are
 * counted as lost and add no time.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/proc.h"
#include "lib/dump/frame.h"
#include "tools/cli/pmctl.h"
#include "tools/offcpu/private.h"
#include "tools/symbol/symbol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGES_LEAST  16
#define SLICE_MS     100
#define ROOM_BYTES   PMC_FRAME_MAX_BYTES
#define STACKS_BYTES (256u << 10)

/* ---- numbers in other PID namespaces -------------------------------------------------------- */

/* Beyond these, waits have no stack: some 100 MB. */
#define WAITS_MOST 1000000u

/* The inode of a process's PID namespace; 0: cannot be read. */
static uint64_t namespace_of(const char *pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* Those of thread `tid`, which has `numbers` if it is in pmctl's namespace. False: it has ended. */
static bool read_numbers(uint32_t tid, struct off_numbers *numbers)
{
	char text[16384], name[16];
	uint64_t inode, outer, pid, number;

	snprintf(name, sizeof(name), "%u", tid);
	inode = namespace_of(name);
	if (!inode || inode == namespace_of("self"))
		return inode != 0;
	if (pmc_file_read(text, sizeof(text), "/proc/%u/status", tid) <= 0 ||
	    !pmc_proc_last(text, "NStgid", &pid) || !pmc_proc_last(text, "NSpid", &number) ||
	    !pmc_proc_number(text, "NSpid", &outer))
		return false;
	/* One number: /proc is of another namespace than pmctl's, and this is another process. */
	if (outer == number)
		return true;
	*numbers = (struct off_numbers){ inode, (uint32_t)pid, (uint32_t)number };
	return true;
}

/* ---- threads ------------------------------------------------------------------------------ */

static struct off_thread *add_thread(struct off_cpu *off, uint32_t pid, uint32_t tid,
				     uint64_t start_ns)
{
	struct pmc_arena *arena = &off->arena;
	struct off_thread *old, *thread = pmc_arena_alloc(arena, sizeof(*thread));

	HASH_FIND(hh, off->threads, &tid, sizeof(tid), old);
	if (old)
		HASH_DEL(off->threads, old);
	thread->pid = pid;
	thread->tid = tid;
	thread->numbers = (struct off_numbers){ .pid = pid, .tid = tid };
	/* Of an exec the thread goes on, as another. */
	if (old && old->pid == pid)
		thread->numbers = old->numbers;
	if (old && !old->end_ns)
		old->end_ns = start_ns;
	thread->start_ns = start_ns;
	thread->next = off->last;
	off->last = thread;
	HASH_ADD(hh, off->threads, tid, sizeof(tid), thread);
	return thread;
}

static struct off_thread *thread_of(struct off_cpu *off, const struct pmc_record *record)
{
	struct off_thread *thread;

	HASH_FIND(hh, off->threads, &record->tid, sizeof(record->tid), thread);
	if (thread && !thread->end_ns)
		return thread;
	return (int32_t)record->tid > 0 ? add_thread(off, record->pid, record->tid, record->time) :
					  NULL;
}

/* Threads of a namespace stay in it; a child's own may be new. */
static void take_fork(struct off_cpu *off, const struct pmc_record_task *task)
{
	struct off_thread *thread = add_thread(off, task->pid, task->tid, task->time), *parent;
	uint64_t outside;

	HASH_FIND(hh, off->threads, &task->ptid, sizeof(task->ptid), parent);
	outside = parent ? parent->numbers.pid_namespace : 0;
	if (task->pid == task->ppid && !outside)
		return;
	thread->numbers = (struct off_numbers){ .pid = task->pid, .tid = task->tid };
	if (!read_numbers(task->tid, &thread->numbers) && outside)
		thread->numbers = (struct off_numbers){ .pid_namespace = outside };
}

static void take_exit(struct off_cpu *off, const struct pmc_record_task *task)
{
	struct off_thread *thread;

	HASH_FIND(hh, off->threads, &task->tid, sizeof(task->tid), thread);
	if (thread && !thread->end_ns)
		thread->end_ns = task->time;
}

/* ---- switches ----------------------------------------------------------------------------- */

static void take_stack(struct off_cpu *off, const struct pmc_record *record)
{
	struct off_thread *thread = thread_of(off, record);

	if (!thread)
		return;
	thread->stack = unwind_stack_of(&off->unwind, record);
	thread->stack_ns = record->time;
}

static void add_wait(struct off_cpu *off, struct off_thread *thread, uint64_t ns)
{
	unwind_wait_add(&off->unwind, thread, &thread->waits,
			HASH_COUNT(off->unwind.waits) < WAITS_MOST ? thread->stack : NULL, 1, ns);
	thread->n_waits++;
	pmc_add_sat(&thread->wait_ns, ns);
	if (thread->stack && thread->stack->flags & (PMC_STACK_TRUNCATED | PMC_STACK_BROKEN))
		thread->incomplete++;
}

static void end_wait(struct off_cpu *off, struct off_thread *thread, uint64_t now_ns)
{
	if (!thread->waiting)
		return;
	thread->waiting = false;
	if (thread->since_ns <= off->lost_ns)
		thread->lost++;
	else
		add_wait(off, thread, pmc_sub_sat(now_ns, thread->since_ns));
}

static void take_switch(struct off_cpu *off, const struct pmc_record *record)
{
	struct off_thread *thread = thread_of(off, record);

	if (!thread)
		return;
	if (record->context_switch.out) {
		/* The record of its return was lost. */
		thread->lost += thread->waiting;
		thread->waiting = !record->context_switch.preempted;
		thread->since_ns = record->time;
		/* It may be that of an earlier switch. */
		if (thread->stack_ns <= off->lost_ns)
			thread->stack = NULL;
		return;
	}
	end_wait(off, thread, record->time);
	thread->stack = NULL;
}

static void take_lost(struct off_cpu *off, const struct pmc_record *record)
{
	pmc_add_sat(&off->lost, record->lost.lost);
	if (record->time > off->lost_ns)
		off->lost_ns = record->time;
}

void off_take(struct off_cpu *off, const struct pmc_record *record)
{
	unwind_take(&off->unwind, record);
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		take_stack(off, record);
		break;
	case PERF_RECORD_SWITCH:
		take_switch(off, record);
		break;
	case PERF_RECORD_FORK:
		take_fork(off, &record->task);
		break;
	case PERF_RECORD_EXIT:
		take_exit(off, &record->task);
		break;
	case PERF_RECORD_COMM:
		if (record->comm.exec)
			add_thread(off, record->comm.pid, record->comm.tid, record->time);
		break;
	case PERF_RECORD_LOST:
		take_lost(off, record);
		break;
	default:
		break;
	}
}

void off_settle(struct off_cpu *off)
{
	for (struct off_thread *thread = off->last; thread; thread = thread->next)
		if (!thread->end_ns)
			end_wait(off, thread, off->stop_ns);
}

/* ---- the recording -------------------------------------------------------------------------- */

static int open_rings(struct off_cpu *off, pid_t pid, struct pmc_failure *why)
{
	unsigned pages = unwind_pages(&off->unwind);
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_counter_event event;
	int error = pmc_counter_event_parse(&event, "context-switches", NULL);

	options.target = PMC_TARGET_PID;
	options.pid = pid;
	options.inherit = true;
	options.enable_on_exec = true;
	options.user_if_denied = false;
	/* Who, where and when. */
	options.context_switch = true;
	unwind_options_maps(&options);
	options.use_clockid = true;
	options.clockid = CLOCK_MONOTONIC; /* of dumps */
	options.sample_period = 1;
	options.sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	unwind_options_stack(&off->unwind, &options);
	if (!error)
		error = pmc_sampler_set_open(&off->set, &event, &options, pages, why);
	if (error && error != -EACCES && error != -EPERM) { /* Linux before 5.12 */
		options.build_id = false;
		error = pmc_sampler_set_open(&off->set, &event, &options, pages, why);
	}
	/* More than this user may lock. */
	while (error == -EPERM && (pages /= 2) >= PAGES_LEAST)
		error = pmc_sampler_set_open(&off->set, &event, &options, pages, why);
	return error;
}

static void *read_rings(void *arg)
{
	struct off_cpu *off = arg;
	struct pmc_record record;
	int error;

	do {
		error = pmc_sampler_set_next_wait(off->set, &record, NULL, SLICE_MS);
		/* Children that were forked while the events were switched off may go on. */
		if (!error && atomic_load(&off->stop) && record.time > off->stop_ns)
			break;
		if (!error)
			off_take(off, &record);
		else if (error == -ENODATA)
			break;
	} while (!error || !atomic_load(&off->stop));
	return NULL;
}

int off_cpu_start(struct off_cpu **to, pid_t pid, bool frame_pointers)
{
	struct off_cpu *off = tool_realloc(NULL, sizeof(*off));
	struct pmc_failure why = { .advice = "out of memory" };
	int error;

	*to = off;
	memset(off, 0, sizeof(*off));
	unwind_init(&off->unwind, frame_pointers);
	error = open_rings(off, pid, &why);
	if (error)
		return tool_fail(EXIT_OURS, "cannot record where threads wait (--off-cpu): %s",
				 why.advice);
	/* The caller has blocked the signals that it waits for. */
	error = pthread_create(&off->reader, NULL, read_rings, off);
	if (error)
		return tool_fail(EXIT_OURS, "cannot start a thread: %s", strerror(error));
	off->reads = true;
	return 0;
}

/* The kernel reports losses with the next record that fits, and none may have come. */
static void add_unreported(struct off_cpu *off)
{
	uint64_t lost;

	if (pmc_sampler_set_lost(off->set, &lost) || lost <= off->lost)
		return;
	off->lost = lost;
	off->lost_ns = off->stop_ns;
}

void off_cpu_stop(struct off_cpu *off)
{
	if (!off || !off->reads)
		return;
	pmc_sampler_set_disable(off->set);
	off->stop_ns = pmc_now_ns();
	atomic_store(&off->stop, true);
	pthread_join(off->reader, NULL);
	off->reads = false;
	add_unreported(off);
	off_settle(off);
}

void off_cpu_free(struct off_cpu *off)
{
	if (!off)
		return;
	off_cpu_stop(off);
	pmc_sampler_set_free(off->set);
	unwind_free(&off->unwind);
	pmc_arena_free(&off->arena);
	free(off);
}

/* ---- frames: EVENTSET, MODULE, STACKS, and SAMPLES of each thread that has a row ------------- */

/* A row of the profile. */
struct row {
	struct off_numbers key;
	uint64_t start_ns, end_ns;
	const struct pmc_p_process *process;
	uint64_t seq;
	bool taken;
	struct row *next; /* of the same numbers */
	UT_hash_handle hh;
};

struct writing {
	struct off_cpu *off;
	struct pmc_arena arena;
	struct row *rows;
	struct pmc_frame_buf buf;
	uint64_t eventset, pid_namespace;
	uint64_t lost; /* records whose thread is unknown: part of the first row that is written */
	int fd, error;
	const struct pmc_p_process **written; /* of each stack, in which process last */
	uint64_t *hashes;		      /* of modules of a frame */
	bool any;
};

static void flush(struct writing *w)
{
	if (!w->error && w->buf.len && write(w->fd, w->buf.data, w->buf.len) != (ssize_t)w->buf.len)
		w->error = errno ? errno : ENOSPC;
	w->any |= w->buf.len != 0;
	w->buf.len = 0;
}

static void make_room(struct writing *w, size_t bytes)
{
	if (w->buf.cap - w->buf.len < bytes)
		flush(w);
}

static void put_event(struct writing *w)
{
	const struct pmc_event_def def = { .type = PMC_TYPE_OS,
					   .config = PMC_OS_OFF_CPU,
					   .scale = 1 };

	pmc_begin_eventset(&w->buf, 1, 1);
	pmc_put_event(&w->buf, &def, "off-cpu", "ns", "");
	w->eventset = pmc_frame_end(&w->buf);
}

/* ---- rows --------------------------------------------------------------------------------- */

static void add_row(struct writing *w, const struct pmc_profile *profile,
		    const struct pmc_p_row *packed, struct pmc_thread_buf *buf)
{
	struct pmc_arena *arena = &w->arena;
	const struct pmc_p_thread *thread = pmc_profile_thread(profile, packed, buf);
	struct row *row = pmc_arena_alloc(arena, sizeof(*row)), *first;

	if (thread->process->fixed.pid_namespace != w->pid_namespace && w->pid_namespace)
		row->key.pid_namespace = thread->process->fixed.pid_namespace;
	row->key.pid = thread->process->fixed.pid;
	row->key.tid = thread->fixed.tid;
	row->process = thread->process;
	row->seq = packed->seq;
	row->start_ns = thread->fixed.start_ns;
	row->end_ns = thread->fixed.end_ns ? thread->fixed.end_ns : UINT64_MAX;
	HASH_FIND(hh, w->rows, &row->key, sizeof(row->key), first);
	if (first) {
		row->next = first->next;
		first->next = row;
	} else {
		HASH_ADD(hh, w->rows, key, sizeof(row->key), row);
	}
}

/* Numbers of threads and processes are used again, and an exec keeps them: the row that lived
 * longest while the thread did. */
static struct row *row_of(struct writing *w, const struct off_thread *thread)
{
	const uint64_t thread_end = thread->end_ns ? thread->end_ns : UINT64_MAX;
	struct row *row, *best = NULL;
	uint64_t most = 0;

	HASH_FIND(hh, w->rows, &thread->numbers, sizeof(thread->numbers), row);
	for (; row; row = row->next) {
		const uint64_t start =
			row->start_ns > thread->start_ns ? row->start_ns : thread->start_ns;
		const uint64_t end = row->end_ns < thread_end ? row->end_ns : thread_end;

		if (row->taken || start >= end || end - start <= most)
			continue;
		most = end - start;
		best = row;
	}
	return best;
}

/* ---- stacks ------------------------------------------------------------------------------- */

/* The modules of a stack get their places in the frame. */
static void list_modules(struct writing *w, const struct unwind_stack *stack, uint64_t *hashes,
			 unsigned *n)
{
	for (unsigned i = 0; i < stack->depth; i++) {
		struct unwind_module *module = unwind_module_at(&w->off->unwind, stack->words[i]);
		const uint8_t *id;
		unsigned id_bytes;

		if (!module || module->place)
			continue;
		if (!module->hash) {
			make_room(w, PMC_MODULE_BYTES);
			id = symbols_id(module->file, &id_bytes);
			module->hash =
				pmc_build_module(&w->buf, symbols_path(module->file), id, id_bytes);
		}
		hashes[(*n)++] = module->hash;
		module->place = *n;
	}
}

static void put_stack(struct writing *w, const struct unwind_stack *stack)
{
	const struct pmc_stack_def def = { .id = stack->id,
					   .depth = stack->depth,
					   .flags = stack->flags };
	uint64_t words[PMC_STACK_DEPTH_MAX];

	for (unsigned i = 0; i < stack->depth; i++) {
		const struct unwind_module *module =
			unwind_module_at(&w->off->unwind, stack->words[i]);
		const uint64_t place = module ? module->place - 1 : PMC_NO_MODULE;

		words[i] = place << 48 | PMC_STACK_ADDRESS(stack->words[i]);
	}
	pmc_put_stack(&w->buf, &def, words);
}

/* Up to n stacks of a process as one frame. */
static void put_stacks(struct writing *w, const struct pmc_p_process *process,
		       const struct unwind_stack **list, unsigned n)
{
	const struct pmc_stacks_fixed fixed = { .n_stacks = n };
	struct pmc_stacks_fixed *in_frame;
	unsigned n_modules = 0;

	for (unsigned i = 0; i < n; i++)
		list_modules(w, list[i], w->hashes, &n_modules);
	make_room(w, ROOM_BYTES);
	in_frame = pmc_frame_begin(&w->buf, PMC_FRAME_STACKS, process->identity, process->snapshot,
				   &fixed, sizeof(fixed));
	if (in_frame)
		in_frame->n_modules = n_modules;
	pmc_frame_bytes(&w->buf, w->hashes, n_modules * sizeof(*w->hashes));
	for (unsigned i = 0; i < n; i++)
		put_stack(w, list[i]);
	pmc_frame_end(&w->buf);
	for (unsigned i = 0; i < w->off->unwind.n_modules; i++)
		w->off->unwind.list[i]->place = 0;
}

/* Those of a thread that its process does not have yet. */
static void put_thread_stacks(struct writing *w, const struct pmc_p_process *process,
			      const struct off_thread *thread)
{
	const struct unwind_stack *list[256];
	unsigned n = 0;
	size_t bytes = 0;

	for (const struct unwind_wait *wait = thread->waits; wait; wait = wait->next) {
		const struct unwind_stack *stack = wait->key.of;

		if (!stack || w->written[stack->id - PMC_STACK_OUTSIDE] == process)
			continue;
		w->written[stack->id - PMC_STACK_OUTSIDE] = process;
		list[n++] = stack;
		bytes += 8 + 8u * stack->depth;
		if (n == 256 || bytes > STACKS_BYTES) {
			put_stacks(w, process, list, n);
			n = 0;
			bytes = 0;
		}
	}
	if (n)
		put_stacks(w, process, list, n);
}

/* ---- samples ------------------------------------------------------------------------------ */

static void put_part(struct writing *w, const struct row *row, const struct off_thread *thread,
		     uint32_t part, const struct pmc_sample *list, uint32_t n)
{
	struct pmc_samples_fixed fixed = {
		.seq = row->seq,
		.time_ns = w->off->stop_ns,
		.eventset = w->eventset,
		.part = part,
		.n = n,
	};
	const struct pmc_reading reading = { .n = 1, .enabled_ns = 1, .running_ns = 1 };

	if (!part) {
		fixed.samples = thread->n_waits;
		fixed.lost = thread->lost;
		pmc_add_sat(&fixed.lost, w->lost);
		w->lost = 0;
		fixed.truncated = thread->incomplete;
		fixed.n_groups = 1;
	}
	make_room(w, sizeof(fixed) + n * sizeof(*list) + 256);
	pmc_frame_begin(&w->buf, PMC_FRAME_SAMPLES, row->process->identity, row->process->snapshot,
			&fixed, sizeof(fixed));
	if (!part)
		pmc_put_reading(&w->buf, &reading, &thread->wait_ns);
	if (n)
		pmc_frame_bytes(&w->buf, list, n * sizeof(*list));
	pmc_frame_end(&w->buf);
}

static void put_samples(struct writing *w, const struct row *row, const struct off_thread *thread)
{
	struct pmc_sample list[PMC_SAMPLES_PART];
	uint32_t part = 0, n = 0;

	for (const struct unwind_wait *wait = thread->waits; wait; wait = wait->next) {
		const struct unwind_stack *stack = wait->key.of;

		list[n++] = (struct pmc_sample){
			.stack = stack ? stack->id : 0,
			.count = wait->n < UINT32_MAX ? (uint32_t)wait->n : UINT32_MAX,
			.weight = wait->ns,
		};
		if (n < PMC_SAMPLES_PART)
			continue;
		put_part(w, row, thread, part++, list, n);
		n = 0;
	}
	if (n || !part)
		put_part(w, row, thread, part, list, n);
}

static void put_threads(struct writing *w)
{
	struct off_cpu *off = w->off;
	uint64_t without = 0, without_ns = 0, all_ns = 0, unknown = 0;

	for (struct off_thread *thread = off->last; thread && !w->error; thread = thread->next) {
		struct row *row = row_of(w, thread);

		pmc_add_sat(&all_ns, thread->wait_ns);
		if (!row && thread->n_waits) {
			without++;
			unknown += !thread->numbers.tid;
			pmc_add_sat(&without_ns, thread->wait_ns);
		}
		if (!row)
			continue;
		row->taken = true;
		put_thread_stacks(w, row->process, thread);
		put_samples(w, row, thread);
	}
	/* A child by vfork has no row until its exec. */
	if (without_ns > all_ns / 100)
		tool_warn(
			"waits of threads without a row are in no report: %.3f s, threads: %llu%s",
			(double)without_ns / 1e9, (unsigned long long)without,
			unknown ? "; some ended before their numbers in another PID namespace "
				  "were read" :
				  "");
}

bool off_cpu_write(struct off_cpu *off, const struct pmc_profile *profile, const char *path, int fd)
{
	struct writing w = {
		.off = off, .pid_namespace = namespace_of("self"), .lost = off->lost, .fd = fd
	};
	struct pmc_arena *arena = &w.arena;
	struct pmc_thread_buf *buf = pmc_arena_alloc(arena, sizeof(*buf));

	w.written =
		pmc_arena_alloc(arena, (HASH_COUNT(off->unwind.stacks) + 1) * sizeof(*w.written));
	w.hashes = pmc_arena_alloc(arena, (off->unwind.n_modules + 1) * sizeof(*w.hashes));
	for (uint64_t i = 0; i < profile->n_threads; i++)
		add_row(&w, profile, profile->threads[i], buf);
	if (fd >= 0) {
		pmc_frame_buf_init(&w.buf, pmc_arena_alloc(arena, 2 * ROOM_BYTES), 2 * ROOM_BYTES);
		put_event(&w);
		put_threads(&w);
		flush(&w);
	}
	if (w.error)
		tool_warn("cannot write where threads waited to %s: %s", path, strerror(w.error));
	if (off->lost)
		tool_warn("%llu records of switches were lost: waits are missing; add --unwind fp "
			  "for smaller records",
			  (unsigned long long)off->lost);
	if (fd >= 0)
		close(fd);
	pmc_arena_free(&w.arena);
	return w.any;
}
