/* SPDX-License-Identifier: MIT */
/*
 * summary_reason.c - why a thread waits: the system call, from the kernel's stack at sched_switch.
 *
 * The stack of a waiting thread ends, seen from inside, with the function of its system call and
 * the kernel's entry code.
 */
#include "tools/trace/summary.h"

#include <stdio.h>
#include <string.h>

/* The outermost frames of the kernel's stack, which end with the system call. */
#define FRAMES 6

struct trace_reason {
	struct {
		uint64_t frames[FRAMES]; /* outermost first */
		uint64_t kind;
	} key;
	const char *name;
	UT_hash_handle hh;
};

struct trace_name {
	struct trace_name *next;
	char text[64];
};

/* prev_state: bits of include/linux/sched.h, stable since Linux 4.14; states of proc_pid_stat(5).
 */
static const struct {
	int64_t bits;
	const char *states, *name;
} kinds[] = {
	{ 0x1, "S", "sleep" }, { 0x2, "D", "disk" }, { 0xc, "Tt", "stopped" },
	{ 0x80, "I", "idle" }, { 0, "", "other" },
};
enum { DISK = 1, OTHER = sizeof(kinds) / sizeof(kinds[0]) - 1 };

static bool starts_with(const char *name, const char *start)
{
	return !strncmp(name, start, strlen(start));
}

/* Code on the way into the kernel, of x86-64 and arm64. */
static bool is_entry(const char *name)
{
	static const char *const starts[] = {
		"entry_",   "do_syscall_", "x64_sys_call", "el0",	  "do_el0_svc",
		"invoke_",  "ret_from_",   "kthread",	   "asm_",	  "irqentry_",
		"do_int80", "__do_fast_",  "do_fast_",	   "ret_to_user", "el1",
	};

	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (starts_with(name, starts[i]))
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
		if (starts_with(name, starts[i]))
			return name + strlen(starts[i]);
	return strstr(name, "page_fault") ? "page fault" : name;
}

/* One text for each function and kind of wait; function NULL: the kind alone. */
static const char *name_of(struct trace_summary *summary, const char *function, unsigned kind)
{
	struct trace_name *name;
	char text[sizeof(name->text)];

	snprintf(text, sizeof(text), "%s%s", function ? plain(function) : kinds[kind].name,
		 function && kind == DISK ? " (D)" : "");
	for (name = summary->names; name; name = name->next)
		if (!strcmp(name->text, text))
			return name->text;
	name = pmc_arena_alloc(summary->arena, sizeof(*name));
	if (!name)
		return NULL;
	strcpy(name->text, text);
	name->next = summary->names;
	summary->names = name;
	return name->text;
}

static const char *reason_of(struct trace_summary *summary, const struct trace_reason *key,
			     const char *function)
{
	struct pmc_arena *arena = summary->arena;
	struct trace_reason *reason;

	HASH_FIND(hh, summary->reasons, &key->key, sizeof(key->key), reason);
	if (reason)
		return reason->name;
	for (unsigned i = 0; i < FRAMES && key->key.frames[i] && !function; i++) {
		function = trace_function_at(key->key.frames[i], NULL);
		if (function && is_entry(function))
			function = NULL;
	}
	reason = pmc_arena_alloc(arena, sizeof(*reason));
	if (!reason)
		return NULL;
	reason->key = key->key;
	reason->name = name_of(summary, function, (unsigned)key->key.kind);
	HASH_ADD(hh, summary->reasons, key, sizeof(reason->key), reason);
	return reason->name;
}

const char *trace_reason_of(struct trace_summary *summary, int64_t prev_state,
			    const struct pmc_record *record)
{
	struct trace_reason key = { .name = NULL };
	unsigned n = 0;

	while (key.key.kind < OTHER && !(prev_state & kinds[key.key.kind].bits))
		key.key.kind++;
	if (record && record->present & PERF_SAMPLE_CALLCHAIN)
		for (uint64_t i = record->sample.n_callchain; i-- && n < FRAMES;)
			if (record->sample.callchain[i] < (uint64_t)PERF_CONTEXT_MAX)
				key.key.frames[n++] = record->sample.callchain[i];
	return reason_of(summary, &key, NULL);
}

/* The outermost function of lines as "[<0>] do_nanosleep+0x64/0x110", which is in the last. */
static const char *outermost(char *stack)
{
	char *name;

	for (char *end = stack + strlen(stack); end; end = strrchr(stack, '\n')) {
		*end = '\0';
		name = strrchr(stack, ' ');
		if (!name)
			break;
		name[1 + strcspn(name + 1, "+")] = '\0';
		if (name[1] && !is_entry(name + 1))
			return name + 1;
	}
	return NULL;
}

const char *trace_reason_in(struct trace_summary *summary, char state, char *stack)
{
	unsigned kind = 0;

	while (kind < OTHER && !strchr(kinds[kind].states, state))
		kind++;
	return name_of(summary, outermost(stack), kind);
}
