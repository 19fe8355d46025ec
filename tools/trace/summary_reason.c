/* SPDX-License-Identifier: MIT */
/*
 * summary_reason.c - why a thread waits: the system call, from the kernel's stack at sched_switch.
 *
 * The stack of a waiting thread ends, seen from inside, with the function of its system call and
 * the kernel's entry code. Frames are kept as addresses; /proc/kallsyms is read at the end of the
 * trace.
 */
#include "lib/base/number.h"
#include "tools/trace/functions.h"
#include "tools/trace/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* prev_state: bits of include/linux/sched.h, stable since Linux 4.14. */
#define STATE_SLEEP   0x1
#define STATE_DISK    0x2
#define STATE_STOPPED 0xc
#define STATE_IDLE    0x80

enum { KIND_SLEEP, KIND_DISK, KIND_STOPPED, KIND_IDLE, KIND_OTHER };
#define NAMED 0x100u /* with the name of a function, not addresses */
static const char *const kinds[] = { "sleep", "disk", "stopped", "idle", "other" };

static unsigned kind_of(int64_t state)
{
	if (state & STATE_SLEEP)
		return KIND_SLEEP;
	if (state & STATE_DISK)
		return KIND_DISK;
	if (state & STATE_STOPPED)
		return KIND_STOPPED;
	return state & STATE_IDLE ? KIND_IDLE : KIND_OTHER;
}

static unsigned kind_in(char state)
{
	switch (state) {
	case 'S':
		return KIND_SLEEP;
	case 'D':
		return KIND_DISK;
	case 'T':
	case 't':
		return KIND_STOPPED;
	default:
		return state == 'I' ? KIND_IDLE : KIND_OTHER;
	}
}

static const struct trace_reason *reason_of(struct trace_summary *summary,
					    const struct trace_reason *key)
{
	struct pmc_arena *arena = summary->arena;
	struct trace_reason *reason;

	HASH_FIND(hh, summary->reasons, &key->key, sizeof(key->key), reason);
	if (reason)
		return reason;
	reason = pmc_arena_alloc(arena, sizeof(*reason));
	if (!reason)
		return NULL;
	*reason = (struct trace_reason){ .key = key->key };
	HASH_ADD(hh, summary->reasons, key, sizeof(reason->key), reason);
	return reason;
}

const struct trace_reason *trace_reason_of(struct trace_summary *summary, int64_t prev_state,
					   const struct pmc_record *record)
{
	struct trace_reason key = { .key.kind = kind_of(prev_state) };
	unsigned n = 0;

	if (record && record->present & PERF_SAMPLE_CALLCHAIN)
		for (uint64_t i = record->sample.n_callchain; i-- && n < TRACE_FRAMES;)
			if (record->sample.callchain[i] < (uint64_t)PERF_CONTEXT_MAX)
				key.key.frames[n++] = record->sample.callchain[i];
	return reason_of(summary, &key);
}

bool trace_blocked_add(struct trace_thread *thread, const struct trace_reason *reason, uint64_t ns)
{
	struct trace_blocked *more;
	unsigned i = 0;

	thread->blocked_ns += ns;
	while (i < thread->n_blocked && thread->blocked[i].reason != reason)
		i++;
	if (i == thread->n_blocked) {
		more = realloc(thread->blocked, (i + 1) * sizeof(*more));
		if (!more)
			return false;
		more[i] = (struct trace_blocked){ .reason = reason };
		thread->blocked = more;
		thread->n_blocked++;
	}
	thread->blocked[i].ns += ns;
	return true;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Code on the way into the kernel, of x86-64 and arm64. */
static bool is_entry(const char *name)
{
	static const char *const starts[] = {
		"entry_",   "do_syscall_", "x64_sys_call", "el0",	  "do_el0_svc",
		"invoke_",  "ret_from_",   "kthread",	   "asm_",	  "irqentry_",
		"do_int80", "__do_fast_",  "do_fast_",	   "ret_to_user", "el1",
	};

	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* __x64_sys_futex is "futex"; a tail call leaves kernel_wait4 or do_sys_poll. */
static const char *plain(const char *name)
{
	static const char *const starts[] = { "__x64_sys_", "__arm64_sys_", "__ia32_sys_",
					      "__se_sys_",  "__do_sys_",    "__sys_",
					      "ksys_",	    "do_sys_",	    "kernel_" };

	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return name + strlen(starts[i]);
	return strstr(name, "page_fault") ? "page fault" : name;
}

/* The outermost function of lines as "[<0>] do_nanosleep+0x64/0x110", which is in the last. */
static void take_function(struct trace_reason *reason, char *stack)
{
	char *end = stack + strlen(stack), *line, *name;

	for (; end > stack && !(reason->key.kind & NAMED); end = line > stack ? line - 1 : stack) {
		*end = '\0';
		line = strrchr(stack, '\n');
		line = line ? line + 1 : stack;
		name = strchr(line, ' ');
		if (!name || is_entry(++name))
			continue;
		snprintf(reason->key.function, sizeof(reason->key.function), "%.*s",
			 (int)strcspn(name, "+"), name);
		reason->key.kind |= NAMED;
	}
}

const struct trace_reason *trace_reason_in(struct trace_summary *summary, char state, char *stack)
{
	struct trace_reason key = { .key.kind = kind_in(state) };

	take_function(&key, stack);
	return reason_of(summary, &key);
}

static void set_name(struct trace_reason *reason, const struct trace_functions *functions)
{
	const struct trace_function *function;
	const bool named = reason->key.kind & NAMED;
	const unsigned kind = reason->key.kind & ~NAMED;
	const char *found = named ? plain(reason->key.function) : NULL;

	for (unsigned i = 0; i < TRACE_FRAMES && reason->key.frames[i] && !found; i++) {
		function = trace_function_at(functions, reason->key.frames[i]);
		if (function && !is_entry(function->name))
			found = plain(function->name);
	}
	snprintf(reason->name, sizeof(reason->name), "%s%s", found ? found : kinds[kind],
		 found && kind == KIND_DISK ? " (D)" : "");
}

void trace_reasons_name(struct trace_summary *summary)
{
	struct trace_functions functions = { .n = 0 };

	trace_functions_read(&functions);
	for (struct trace_reason *r = summary->reasons; r; r = r->hh.next)
		set_name(r, &functions);
	trace_functions_free(&functions);
}

static int most_time(const void *a, const void *b)
{
	const struct trace_blocked *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : strcmp(x->reason->name, y->reason->name);
}

/* Several stacks may have one name. */
void trace_blocked_sort(struct trace_thread *thread)
{
	unsigned n = 0, k;

	for (unsigned i = 0; i < thread->n_blocked; i++) {
		for (k = 0; k < n; k++)
			if (!strcmp(thread->blocked[k].reason->name,
				    thread->blocked[i].reason->name))
				break;
		if (k == n)
			thread->blocked[n++] = thread->blocked[i];
		else
			thread->blocked[k].ns += thread->blocked[i].ns;
	}
	thread->n_blocked = n;
	if (n)
		qsort(thread->blocked, n, sizeof(*thread->blocked), most_time);
}
