/* SPDX-License-Identifier: MIT */
/*
 * threads.c - follows threads from record to record: who waits, since when, where.
 *
 * A switch leaves two records: a sample with the stack, and PERF_RECORD_SWITCH, which says whether
 * the thread could have gone on (preempted). The next PERF_RECORD_SWITCH of the thread ends the
 * wait. So a wait includes the time that the thread, woken up, waits for a CPU.
 *
 * Where records were lost, any waiting thread may have run meanwhile, so waits that had begun are
 * counted as lost and add no time.
 */
#include "lib/base/number.h"
#include "tools/offcpu/private.h"
#include "lib/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- numbers in other PID namespaces -------------------------------------------------------- */

uint64_t off_namespace(const char *pid)
{
	char path[64], text[40]; /* pid:[4026531836] */
	const char *at = text + 5;
	uint64_t inode = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	n = readlink(path, text, sizeof(text) - 1);
	if (n > 5)
		pmc_number_take(&at, text + n, 10, &inode);
	return inode;
}

/* "NSpid:\t4711\t1": the numbers from the outermost namespace to the thread's own. False: there is
 * one only, so that is pmctl's. */
static bool innermost(const char *text, const char *name, uint32_t *number)
{
	const char *line = strstr(text, name), *end, *last = NULL;
	unsigned n = 0;

	if (!line)
		return false;
	end = line + strcspn(line + 1, "\n") + 1;
	for (const char *at = line; at < end; at++)
		if (*at == '\t') {
			last = at + 1;
			n++;
		}
	if (n < 2)
		return false;
	*number = (uint32_t)strtoul(last, NULL, 10);
	return true;
}

bool off_numbers_read(uint32_t tid, struct off_numbers *numbers)
{
	char text[16384], name[16];
	struct off_numbers inner;

	if (pmc_file_read(text, sizeof(text), "/proc/%u/status", tid) <= 0)
		return false;
	if (!innermost(text, "\nNStgid:", &inner.pid) || !innermost(text, "\nNSpid:", &inner.tid))
		return true;
	snprintf(name, sizeof(name), "%u", tid);
	inner.pid_namespace = off_namespace(name);
	if (!inner.pid_namespace)
		return false;
	*numbers = inner;
	return true;
}

/* ---- threads ------------------------------------------------------------------------------ */

static struct off_thread *add_thread(struct off_cpu *off, uint32_t pid, uint32_t tid,
				     uint64_t start_ns)
{
	struct pmc_arena *arena = &off->arena;
	struct off_thread *old, *thread = pmc_arena_alloc(arena, sizeof(*thread));

	if (!thread)
		return NULL;
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
	if (!thread || (task->pid == task->ppid && !outside))
		return;
	thread->numbers = (struct off_numbers){ .pid = task->pid, .tid = task->tid };
	if (!off_numbers_read(task->tid, &thread->numbers) && outside)
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
	unwind_wait_add(&off->unwind, thread, &thread->waits, thread->stack, 1, ns);
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
