/* SPDX-License-Identifier: MIT */
/*
 * threads.c - threads by their records: when they were on a CPU, their samples there, and their
 * waits.
 *
 * A switch leaves two records: a sample with the stack, and PERF_RECORD_SWITCH, which says whether
 * the thread could have gone on (preempted). The next PERF_RECORD_SWITCH of the thread ends the
 * wait. So a wait includes the time that the thread, woken up, waits for a CPU. If wake-ups are
 * recorded, too, the last one before that tells who ended the wait.
 *
 * Where records were lost, any waiting thread may have run meanwhile, so waits that had begun are
 * counted as lost and add no time.
 */
#include "lib/base/file.h"
#include "lib/base/histogram.h"
#include "lib/base/number.h"
#include "lib/base/proc.h"
#include "tools/cli/pmctl.h"
#include "tools/profile/private.h"
#include "tools/symbol/symbol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CPUS_MOST 65536u

/* ---- numbers in other PID namespaces -------------------------------------------------------- */

uint64_t prof_namespace_of(const char *pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* Those of thread `tid`, which has `numbers` if it is in pmctl's namespace. False: it has ended. */
static bool read_numbers(uint32_t tid, struct prof_numbers *numbers)
{
	char text[16384], name[16];
	uint64_t inode, outer, pid, number;

	snprintf(name, sizeof(name), "%u", tid);
	inode = prof_namespace_of(name);
	if (!inode || inode == prof_namespace_of("self"))
		return inode != 0;
	if (pmc_file_read(text, sizeof(text), "/proc/%u/status", tid) <= 0 ||
	    !pmc_proc_last(text, "NStgid", &pid) || !pmc_proc_last(text, "NSpid", &number) ||
	    !pmc_proc_number(text, "NSpid", &outer))
		return false;
	/* One number: /proc is of another namespace than pmctl's, and this is another process. */
	if (outer == number)
		return true;
	*numbers = (struct prof_numbers){ inode, (uint32_t)pid, (uint32_t)number };
	return true;
}

/* ---- threads ------------------------------------------------------------------------------ */

/* A first record that a thread has of a CPU tells that it was on one before. */
static void was_on_cpu(const struct prof *prof, struct prof_thread *thread)
{
	thread->no_record = false;
	if (thread->state != PROF_UNKNOWN)
		return;
	thread->state = PROF_ON;
	thread->on_ns = thread->row.start_ns ? thread->row.start_ns : prof->start_ns;
}

/* Of a time with losses it is not known whether the thread was on a CPU in all of it. */
static void leave_cpu(const struct prof *prof, struct prof_thread *thread, uint64_t now_ns)
{
	uint64_t from_ns;

	was_on_cpu(prof, thread);
	from_ns = thread->on_ns > thread->read_ns ? thread->on_ns : thread->read_ns;
	if (thread->state == PROF_ON && from_ns >= prof->lost_ns)
		pmc_add_sat(&thread->row.cpu_ns, pmc_sub_sat(now_ns, from_ns));
	thread->state = PROF_OFF;
}

static void end_thread(const struct prof *prof, struct prof_thread *thread, uint64_t now_ns)
{
	if (thread->state == PROF_ON)
		leave_cpu(prof, thread, now_ns);
	thread->row.end_ns = now_ns;
	if (thread->image && !--thread->image->alive)
		thread->image->fixed.end_ns = now_ns;
}

struct prof_thread *prof_thread_add(struct prof *prof, uint32_t pid, uint32_t tid,
				    uint64_t start_ns)
{
	struct pmc_arena *arena = &prof->arena;
	struct prof_thread *old, *thread = pmc_arena_alloc(arena, sizeof(*thread));

	HASH_FIND(hh, prof->threads, &tid, sizeof(tid), old);
	if (old)
		HASH_DEL(prof->threads, old);
	thread->pid = pid;
	thread->tid = tid;
	thread->numbers = (struct prof_numbers){ .pid = pid, .tid = tid };
	/* Of an exec the thread goes on, as another. */
	if (old && old->pid == pid)
		thread->numbers = old->numbers;
	if (old && !old->row.end_ns)
		end_thread(prof, old, start_ns);
	thread->life = ++prof->n_lives;
	thread->row.start_ns = start_ns;
	if (prof->makes_rows) {
		thread->image = prof_image_of(prof, pid, start_ns);
		thread->image->alive++;
		thread->row.seq = thread->image->fixed.threads_seen++;
		if (old)
			memcpy(thread->row.name, old->row.name, sizeof(thread->row.name));
	}
	thread->next = prof->last;
	prof->last = thread;
	HASH_ADD(hh, prof->threads, tid, sizeof(tid), thread);
	return thread;
}

/* The name stays empty if the thread has ended. */
static void read_name(struct prof_thread *thread)
{
	(void)pmc_file_read(thread->row.name, sizeof(thread->row.name), "/proc/%u/comm",
			    thread->tid);
}

/* Of all that CPUs do, most threads have started before. */
static struct prof_thread *add_seen(struct prof *prof, uint32_t pid, uint32_t tid, uint64_t now_ns)
{
	struct prof_thread *thread = prof_thread_add(prof, pid, tid, now_ns);

	/* It may have begun long before. */
	thread->lacks_switches = prof->lost_ns != 0;
	if (prof->makes_rows && !*thread->row.name)
		read_name(thread);
	return thread;
}

/* The kernel frees the memory of a process after the record of its end. Beyond a second another
 * process may have the number. */
static bool is_of_end(const struct prof_thread *thread, const struct pmc_record *record)
{
	return thread->pid == record->pid && record->time < thread->row.end_ns + 1000000000;
}

static struct prof_thread *thread_of(struct prof *prof, const struct pmc_record *record)
{
	struct prof_thread *thread;

	HASH_FIND(hh, prof->threads, &record->tid, sizeof(record->tid), thread);
	if (thread && !thread->row.end_ns)
		return thread;
	if (prof->throttle.beside && record->type == PERF_RECORD_SAMPLE)
		return thread && is_of_end(thread, record) ? thread : NULL;
	/* Of all that a CPU does, a thread has records after its end. */
	if (thread && prof->makes_rows && thread->pid == record->pid)
		return NULL;
	return (int32_t)record->tid > 0 ? add_seen(prof, record->pid, record->tid, record->time) :
					  NULL;
}

/* Threads of a namespace stay in it; a child's own may be new. */
static void take_fork(struct prof *prof, const struct pmc_record_task *task)
{
	struct prof_thread *thread, *parent;
	struct prof_image *image = NULL;
	uint64_t outside;

	HASH_FIND(hh, prof->threads, &task->ptid, sizeof(task->ptid), parent);
	if (!parent && prof->machine && (int32_t)task->ptid > 0)
		parent = add_seen(prof, task->ppid, task->ptid, task->time);
	if (prof->makes_rows && task->pid != task->ppid)
		image = prof_image_add(prof, task->pid, task->time, false);
	if (image && parent) {
		image->parent = parent->image;
		image->fixed.ppid = task->ppid;
		image->exe = parent->image->exe;
		image->cmdline = parent->image->cmdline;
	}
	thread = prof_thread_add(prof, task->pid, task->tid, task->time);
	thread->state = PROF_OFF;
	thread->before.known = true;
	if (parent)
		memcpy(thread->row.name, parent->row.name, sizeof(thread->row.name));
	outside = parent ? parent->numbers.pid_namespace : 0;
	/* They find the rows of the agent's dump. */
	if (prof->makes_rows || (task->pid == task->ppid && !outside))
		return;
	thread->numbers = (struct prof_numbers){ .pid = task->pid, .tid = task->tid };
	if (!read_numbers(task->tid, &thread->numbers) && outside)
		thread->numbers = (struct prof_numbers){ .pid_namespace = outside };
}

static void take_exit(struct prof *prof, const struct pmc_record_task *task)
{
	struct prof_thread *thread;
	bool goes_on;

	HASH_FIND(hh, prof->threads, &task->tid, sizeof(task->tid), thread);
	if (!thread || thread->row.end_ns)
		return;
	goes_on = prof->makes_rows && prof_goes_on(prof, thread);
	if (goes_on && prof->machine)
		return;
	leave_cpu(prof, thread, task->time);
	if (goes_on)
		return;
	end_thread(prof, thread, task->time);
	prof->n_ends++;
}

/* The kernel has ended all threads of a process that calls exec but the caller, which goes on with
 * the number of the main one: its own gets no record of an end. */
static struct prof_thread *end_image(const struct prof *prof, uint32_t pid,
				     struct prof_thread *main_one, uint64_t now_ns)
{
	struct prof_thread *caller = NULL;
	struct prof_image *image;

	HASH_FIND(hh, prof->images, &pid, sizeof(pid), image);
	if (!image)
		return main_one;
	image->replaced = true;
	if (main_one && !main_one->row.end_ns) {
		end_thread(prof, main_one, now_ns);
		caller = main_one;
	}
	for (struct prof_thread *t = prof->last; t && image->alive; t = t->next) {
		if (t->image != image || t->row.end_ns)
			continue;
		end_thread(prof, t, now_ns);
		caller = caller ? caller : t;
	}
	return caller ? caller : main_one;
}

static void take_comm(struct prof *prof, const struct pmc_record *record)
{
	const struct pmc_record_comm *comm = &record->comm;
	struct prof_thread *thread, *old;

	HASH_FIND(hh, prof->threads, &comm->tid, sizeof(comm->tid), old);
	thread = old;
	if (comm->exec) {
		if (prof->makes_rows) {
			old = end_image(prof, comm->pid, old, record->time);
			prof_image_add(prof, comm->pid, record->time, true);
		}
		thread = prof_thread_add(prof, comm->pid, comm->tid, record->time);
		thread->state = PROF_ON;
		thread->on_ns = record->time;
		thread->by_switches = true;
		thread->before = old ? old->before : (struct prof_reading){ .known = true };
		thread->before.cpu_ns += old ? old->row.cpu_ns : 0;
		if (old)
			pmc_usage_add(&thread->before.usage, &PMC_USAGE_OF(&old->row));
		/* What is more than fits is of the program before. */
		live_delay_begin(&thread->delay, thread->before.cpu_ns, thread->before.delay_ns,
				 true);
		thread->life = old ? old->life : thread->life;
		thread->read_ns = old ? old->read_ns : 0;
	}
	if (thread)
		snprintf(thread->row.name, sizeof(thread->row.name), "%s", comm->comm);
}

/* ---- times -------------------------------------------------------------------------------- */

/* Beyond these, samples and waits have no time: some 100 MB. */
#define TIMES_MOST 4000000u
/* Of a step, as a thread may wait thousands of times in it. */
#define TIMES_LOOKED_AT 64u

/* Those of one stack in one step are one entry, but for long waits. */
static void add_time(struct prof *prof, struct prof_times *times, bool waits,
		     const struct unwind_stack *stack, uint64_t now_ns, uint64_t ns)
{
	const uint64_t step = now_ns / PMC_TIMES_STEP_NS;
	const uint32_t id = stack ? stack->id : 0;

	if (!prof->makes_rows)
		return;
	for (size_t i = times->n; i-- && times->n - i <= TIMES_LOOKED_AT;) {
		struct pmc_timed_sample *old = &times->list[i];

		if (old->time_ns / PMC_TIMES_STEP_NS != step)
			break;
		if (old->stack != id ||
		    (waits && (ns >= PMC_TIMES_STEP_NS || old->weight >= PMC_TIMES_STEP_NS)))
			continue;
		old->count++;
		pmc_add_sat(&old->weight, ns);
		old->time_ns = now_ns;
		return;
	}
	if (prof->n_times == TIMES_MOST) {
		prof->lacks_times++;
		return;
	}
	prof->n_times++;
	times->list = tool_list_grow(times->list, times->n, &times->room, sizeof(*times->list));
	times->list[times->n++] = (struct pmc_timed_sample){ now_ns, id, 1, ns };
}

/* ---- samples ------------------------------------------------------------------------------ */

static bool is_incomplete(const struct unwind_stack *stack)
{
	return stack && stack->flags & (PMC_STACK_TRUNCATED | PMC_STACK_BROKEN);
}

/* The events since the sample before. By frequency the kernel estimates them beforehand, and is far
 * from the truth where events come in bursts. */
static uint64_t weight_of(struct prof *prof, const struct pmc_record *record,
			  const struct prof_thread *thread)
{
	struct pmc_arena *arena = &prof->arena;
	struct prof_count *last, key = { .key = { prof->machine ? 0 : thread->life, record->cpu } };
	struct pmc_record_value now;
	uint64_t before;

	if (!(record->present & PERF_SAMPLE_READ) ||
	    pmc_record_read_value(&record->sample.read, 0, &now) != 0)
		return record->sample.period;
	HASH_ENTRY(prof->counts, key, &key.key, last);
	before = last->value;
	last->value = now.value;
	return pmc_sub_sat(now.value, before);
}

static void take_sample(struct prof *prof, const struct pmc_record *record)
{
	struct prof_thread *thread = thread_of(prof, record);
	const struct unwind_stack *stack;
	uint64_t weight;

	if (!thread || !prof_throttle_keeps(&prof->throttle, record))
		return;
	weight = weight_of(prof, record, thread);
	was_on_cpu(prof, thread);
	stack = unwind_stack_of(&prof->unwind, record, false);
	unwind_wait_add(&prof->unwind, &thread->samples, stack, 0, 1, weight);
	add_time(prof, &thread->sample_times, false, stack, record->time, weight);
	thread->n_samples++;
	pmc_add_sat(&thread->weight, weight);
	thread->truncated += is_incomplete(stack);
}

/* ---- switches ----------------------------------------------------------------------------- */

static void take_stack(struct prof *prof, const struct pmc_record *record)
{
	struct prof_thread *thread = thread_of(prof, record);

	if (!thread)
		return;
	thread->stack = unwind_stack_of(&prof->unwind, record, true);
	thread->stack_ns = record->time;
}

static void add_to(struct prof *prof, struct prof_waits *to, const struct unwind_stack *stack,
		   uint64_t ns)
{
	const struct unwind_wait *wait =
		unwind_wait_add(&prof->unwind, &to->list, stack, pmc_histogram_bucket(ns), 1, ns);

	to->n++;
	pmc_add_sat(&to->ns, ns);
	if (to->longest && ns <= to->longest_ns)
		return;
	to->longest = wait;
	to->longest_ns = ns;
}

/* Waits of the thread that its waker ended. */
static struct prof_waits *waits_of(struct prof *prof, struct prof_thread *thread)
{
	struct pmc_arena *arena = &prof->arena;
	struct prof_waits *waits, key = { .key = { thread, thread->waker } };

	if (!thread->waker)
		return &thread->off;
	HASH_ENTRY(prof->waits, key, &key.key, waits);
	if (!waits->n) {
		waits->next = thread->off.next;
		thread->off.next = waits;
	}
	return waits;
}

static void add_wait(struct prof *prof, struct prof_thread *thread, uint64_t now_ns, uint64_t ns)
{
	add_to(prof, waits_of(prof, thread), thread->stack, ns);
	add_time(prof, &thread->wait_times, true, thread->stack, now_ns, ns);
	thread->incomplete += is_incomplete(thread->stack);
}

/* record_ns: of the record that ended it. */
static void end_wait(struct prof *prof, struct prof_thread *thread, uint64_t now_ns,
		     uint64_t record_ns)
{
	const uint64_t ns = pmc_sub_sat(now_ns, thread->since_ns);
	const bool lost = thread->since_ns <= prof->lost_ns;

	if (thread->preempted && !lost) {
		add_to(prof, &thread->delays, NULL, ns);
	} else if (thread->waiting && !lost) {
		prof_wait_ends(prof, thread, record_ns);
		add_wait(prof, thread, now_ns, ns);
	} else if (thread->waiting) {
		thread->lost++;
	}
	thread->waiting = thread->preempted = false;
	thread->waker = NULL;
}

/* Longer times between two threads on a CPU have other reasons than the switch. */
#define SWITCH_MOST_NS 20000u

static struct prof_left *left_cpu(struct prof *prof, uint32_t cpu)
{
	if (!prof->left)
		prof->left = pmc_arena_alloc(&prof->arena, CPUS_MOST * sizeof(*prof->left));
	return cpu < CPUS_MOST ? &prof->left[cpu] : NULL;
}

static bool is_one_switch(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns && from_ns < to_ns && to_ns - from_ns <= SWITCH_MOST_NS;
}

/* From the sample of a thread's stack on, the scheduler's clock gives the time in which the kernel
 * takes the stack and switches to the next thread. So it is CPU time of that thread, and not a part
 * of its wait. After one without records the switch took as long as the last one that is known. */
static uint64_t switch_ns(struct prof *prof, const struct pmc_record *record,
			  const struct prof_thread *thread)
{
	struct prof_left *left = left_cpu(prof, record->cpu);
	uint64_t ns = record->time;

	if (!left || !thread)
		return ns;
	if (record->context_switch.out) {
		/* Where none is known yet, CPU time would lack it. */
		if (prof->switch_ns && thread->stack_ns > thread->on_ns &&
		    is_one_switch(thread->stack_ns, ns))
			ns = thread->stack_ns;
		*left = (struct prof_left){ record->tid, ns, record->time };
	} else if (left->tid != record->tid && is_one_switch(left->record_ns, ns)) {
		prof->switch_ns = ns - left->record_ns;
		ns = left->ns;
	} else if (ns > thread->since_ns + prof->switch_ns) {
		ns -= prof->switch_ns;
	}
	return ns;
}

static void take_switch(struct prof *prof, const struct pmc_record *record)
{
	struct prof_thread *thread = thread_of(prof, record);
	const uint64_t now_ns = switch_ns(prof, record, thread);

	if (!thread)
		return;
	if (record->context_switch.out) {
		prof->n_switches++;
		leave_cpu(prof, thread, now_ns);
		if (record->time > thread->counted_ns) {
			thread->row.involuntary_switches += record->context_switch.preempted;
			thread->row.voluntary_switches += !record->context_switch.preempted;
		}
		/* The record of its return was lost. */
		thread->lost += thread->waiting;
		thread->waiting = !record->context_switch.preempted;
		thread->preempted = record->context_switch.preempted;
		thread->since_ns = now_ns;
		thread->out_ns = record->time;
		/* It may be that of an earlier switch. */
		if (thread->stack_ns <= prof->lost_ns)
			thread->stack = NULL;
		/* Once the stack is recorded, nothing but a wake-up makes it run again. */
		if (thread->woken_ns < thread->stack_ns)
			thread->waker = NULL;
		prof_wait_begins(prof, thread);
		return;
	}
	if (thread->no_record)
		prof_first_switch(prof, thread, now_ns);
	thread->state = PROF_ON;
	thread->on_ns = now_ns;
	end_wait(prof, thread, now_ns, record->time);
	thread->stack = NULL;
}

/* NULL: not known. */
static const struct prof_thread *waker_of(struct prof *prof, const struct pmc_record *record,
					  int64_t by)
{
	struct pmc_arena *arena = &prof->arena;
	const uint32_t tid = (uint32_t)by;
	struct prof_thread *waker;

	if (!by)
		return &prof->no_thread[BY_INTERRUPT];
	HASH_FIND(hh, prof->threads, &tid, sizeof(tid), waker);
	if (!waker) {
		HASH_ENTRY(prof->outside, tid, &tid, waker);
		if (!waker->pid)
			read_name(waker);
		waker->pid = record->pid;
	}
	return *waker->row.name ? waker : NULL;
}

static void take_waking(struct prof *prof, const struct pmc_record *record)
{
	struct prof_thread *thread;
	int64_t by;
	const uint32_t tid = (uint32_t)live_waking_take(&prof->waking, record, &by);

	HASH_FIND(hh, prof->threads, &tid, sizeof(tid), thread);
	if (!thread)
		return;
	thread->waker = waker_of(prof, record, by);
	thread->woken_ns = record->time;
}

static void take_lost(struct prof *prof, const struct pmc_record *record)
{
	pmc_add_sat(&prof->lost, record->lost.lost);
	if (record->time > prof->lost_ns)
		prof->lost_ns = record->time;
}

void prof_take(struct prof *prof, const struct pmc_record *record)
{
	unwind_take(&prof->unwind, record);
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		if (record->present & PERF_SAMPLE_PERIOD)
			take_sample(prof, record);
		else if (record->present & PERF_SAMPLE_RAW)
			take_waking(prof, record);
		else
			take_stack(prof, record);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		take_switch(prof, record);
		break;
	case PERF_RECORD_FORK:
		take_fork(prof, &record->task);
		break;
	case PERF_RECORD_EXIT:
		take_exit(prof, &record->task);
		break;
	case PERF_RECORD_COMM:
		take_comm(prof, record);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (prof->makes_rows)
			prof_image_mapped(prof, record->mmap.pid, record->mmap.filename);
		break;
	case PERF_RECORD_LOST:
		take_lost(prof, record);
		break;
	default:
		break;
	}
}

void prof_settle(struct prof *prof)
{
	for (struct prof_thread *thread = prof->last; thread; thread = thread->next)
		if (!thread->row.end_ns) {
			if (thread->state == PROF_ON)
				leave_cpu(prof, thread, prof->stop_ns);
			if (thread->no_record && prof_never_ran(prof, thread)) {
				thread->preempted = true;
				thread->since_ns = prof->start_ns;
			}
			if (thread->preempted && thread->since_ns > prof->lost_ns)
				thread->queued_ns = prof->stop_ns - thread->since_ns;
			if (prof->waking.pid && !thread->waker)
				thread->waker = &prof->no_thread[BY_NOBODY];
			end_wait(prof, thread, prof->stop_ns, prof->stop_ns);
		}
	/* Functions are named later, and also of a program that has ended. */
	symbols_keep_files(prof->unwind.symbols);
}

void prof_free(struct prof *prof)
{
	for (struct prof_thread *thread = prof->last; thread; thread = thread->next) {
		free(thread->sample_times.list);
		free(thread->wait_times.list);
	}
	unwind_free(&prof->unwind);
	pmc_arena_free(&prof->arena);
}
