/* SPDX-License-Identifier: MIT */
/*
 * sample_dwarf.c - call stacks by libunwind, from unwind tables (.eh_frame).
 *
 * libunwind's variant for other processes reads everything through functions of ours, here applied
 * to the own process: it never calls the loader (dl_iterate_phdr), malloc or TLS, which could
 * deadlock in a handler, and reads no memory that was not tested. Tables are found by
 * _dl_find_object. Its only locks are those of its pools of small objects and of its cache of
 * unwind rules, taken with all signals blocked.
 */
#include "agent/sample/private.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <sched.h>
#include <ucontext.h>

__thread bool agent_unwinding;

#define QUOTE_(x) #x
#define QUOTE(x)  QUOTE_(x)
#define LIBRARY	  "libunwind-" QUOTE(UNW_TARGET) ".so.8"
#define NAME(x)	  QUOTE(UNW_OBJ(x))

typedef int search_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info,
			 unw_proc_info_t *proc, int need, void *arg);

static struct {
	unw_addr_space_t (*create)(unw_accessors_t *accessors, int order);
	int (*caching)(unw_addr_space_t space, unw_caching_policy_t policy);
	int (*init)(unw_cursor_t *cursor, unw_addr_space_t space, void *arg);
	int (*step)(unw_cursor_t *cursor);
	int (*reg)(unw_cursor_t *cursor, unw_regnum_t reg, unw_word_t *value);
	void (*flush)(unw_addr_space_t space, unw_word_t from, unw_word_t to);
	search_table *search;
	unw_addr_space_t space;
} lib;
static _Atomic bool usable;
/* Threads in libunwind; while `held`, none enters. */
static _Atomic uint32_t walking;
static _Atomic bool held;

/* Attempts to find no thread in libunwind before a fork. */
#define PATIENCE 10000u

/* ---- what libunwind asks for ---------------------------------------------------------------*/

/* Header of .eh_frame_hdr: a binary search table of 4-byte pairs relative to the header. */
struct table_head {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};
#define PCREL_SDATA4   0x1b
#define UDATA4	       0x03
#define DATAREL_SDATA4 0x3b

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *proc, int need,
			  void *arg)
{
	struct sample_walk *walk = arg;
	struct agent_dl_object object;
	struct table_head head;
	unw_dyn_info_t info;

	if (!sample_object(ip, &object) || !object.eh_frame)
		return -UNW_ENOINFO;
	sample_memory_module(&walk->memory, (uintptr_t)object.map_start, (uintptr_t)object.map_end);
	if (!sample_bytes(&walk->memory, (uintptr_t)object.eh_frame, &head, sizeof(head)) ||
	    head.version != 1 || head.frame_encoding != PCREL_SDATA4 ||
	    head.count_encoding != UDATA4 || head.table_encoding != DATAREL_SDATA4)
		return -UNW_ENOINFO;
	memset(&info, 0, sizeof(info));
	info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	info.start_ip = (uintptr_t)object.map_start;
	info.end_ip = (uintptr_t)object.map_end;
	info.u.rti.segbase = (uintptr_t)object.eh_frame;
	info.u.rti.table_data = (uintptr_t)object.eh_frame + sizeof(head);
	info.u.rti.table_len = head.count * 8ul / sizeof(unw_word_t);
	return lib.search(space, ip, &info, proc, need, arg);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *proc, void *arg)
{
	(void)space, (void)proc, (void)arg;
}

static int get_dyn_list(unw_addr_space_t space, unw_word_t *list, void *arg)
{
	(void)space, (void)list, (void)arg;
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t space, unw_word_t at, unw_word_t *value, int write,
		      void *arg)
{
	struct sample_walk *walk = arg;
	uint64_t word;

	(void)space;
	if (write || !sample_word(&walk->memory, at, &word))
		return -UNW_EINVAL;
	*value = word;
	return 0;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	const struct sample_walk *walk = arg;
	const mcontext_t *machine = &((const ucontext_t *)walk->regs.context)->uc_mcontext;

	(void)space;
	if (write)
		return -UNW_EREADONLYREG;
#if defined(__x86_64__)
	static const uint8_t order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					 REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					 REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	if (reg < 0 || (unsigned)reg >= sizeof(order))
		return -UNW_EBADREG;
	*value = (unw_word_t)machine->gregs[order[reg]];
#elif defined(__aarch64__)
	if (reg >= 0 && reg < 31)
		*value = machine->regs[reg];
	else if (reg == UNW_AARCH64_SP)
		*value = machine->sp;
	else if (reg == UNW_AARCH64_PC)
		*value = machine->pc;
	else
		return -UNW_EBADREG;
#endif
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)space, (void)reg, (void)value, (void)write, (void)arg;
	return -UNW_EBADREG;
}

/* ---- walking ------------------------------------------------------------------------------*/

bool sample_dwarf_init(void)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_list,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		/* The others are called by unw_resume and unw_get_proc_name only. */
	};
	void *handle;

	/* All symbols now: binding one in a handler would take the loader's lock. */
	handle = real__dl_find_object ? dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!handle)
		return false;
	*(void **)(void *)&lib.create = dlsym(handle, NAME(create_addr_space));
	*(void **)(void *)&lib.caching = dlsym(handle, NAME(set_caching_policy));
	*(void **)(void *)&lib.init = dlsym(handle, NAME(init_remote));
	*(void **)(void *)&lib.step = dlsym(handle, NAME(step));
	*(void **)(void *)&lib.reg = dlsym(handle, NAME(get_reg));
	*(void **)(void *)&lib.search = dlsym(handle, NAME(dwarf_search_unwind_table));
	*(void **)(void *)&lib.flush = dlsym(handle, NAME(flush_cache));
	if (!lib.create || !lib.caching || !lib.init || !lib.step || !lib.reg || !lib.search ||
	    !lib.flush)
		return false;
	lib.space = lib.create(&accessors, 0);
	if (!lib.space)
		return false;
	/* libunwind's first call opens a pipe, at the host's lowest free numbers. Only its own
	 * reader of memory uses it, and opens it when it is missing. */
	agent_fds_forbid(true);
	lib.caching(lib.space, UNW_CACHE_GLOBAL);
	agent_fds_forbid(false);
	atomic_store(&usable, true);
	return true;
}

/* Addresses of modules whose code is no trampoline, by hash: to read it again costs 1 us. */
AGENT_ROOMY static _Atomic uintptr_t plain[1024];

/* Whether code returns from a signal handler: rt_sigreturn as libc (x86-64) or the kernel's vdso
 * (arm64) calls it. libunwind tells only of those without unwind tables. */
static bool is_trampoline(struct sample_walk *walk, uintptr_t ip)
{
#if defined(__x86_64__)
	/* mov $15, %rax; syscall */
	const uint64_t code = UINT64_C(0x0f0000000fc0c748);
#elif defined(__aarch64__)
	/* mov x8, #139; svc #0 */
	const uint64_t code = UINT64_C(0xd4000001d2801168);
#endif
	_Atomic uintptr_t *known = &plain[(ip ^ ip >> 10) % (sizeof(plain) / sizeof(plain[0]))];
	uint64_t word;

	if (atomic_load_explicit(known, memory_order_relaxed) == ip ||
	    !sample_word(&walk->memory, ip, &word))
		return false;
	if (word != code)
		atomic_store_explicit(known, ip, memory_order_relaxed);
	return word == code;
}

static void walk_all(struct sample_walk *walk)
{
	/* The address is of an instruction, not one to return to. */
	bool exact = true, trampoline;
	unw_cursor_t cursor;
	unw_word_t ip, sp;
	int result;

	walk->depth = 0;
	walk->flags = 0;
	if (lib.init(&cursor, lib.space, walk) < 0) {
		walk->at[walk->depth++] = walk->regs.ip;
		walk->flags = PMC_STACK_BROKEN;
		return;
	}
	for (;;) {
		if (lib.reg(&cursor, UNW_REG_IP, &ip) < 0 || !ip)
			break;
		if (walk->depth == PMC_STACK_DEPTH_MAX) {
			walk->flags |= PMC_STACK_TRUNCATED;
			break;
		}
		/* A handler returns to the start of its trampoline, which was not called; the
		 * trampoline's caller was interrupted. */
		trampoline = is_trampoline(walk, ip);
		walk->at[walk->depth++] = exact || trampoline ? ip : ip - 1;
		exact = trampoline;
		if (lib.reg(&cursor, UNW_REG_SP, &sp) == 0)
			walk->memory.stack = sp;
		result = lib.step(&cursor);
		if (result > 0)
			continue;
		if (result < 0)
			walk->flags |= PMC_STACK_BROKEN;
		break;
	}
	/* A running function has a caller: this one has no unwind tables, and the frame pointer
	 * leads nowhere. */
	if (walk->depth == 1)
		walk->flags |= PMC_STACK_BROKEN;
}

bool sample_walk_dwarf(struct sample_walk *walk)
{
	bool can;

	if (!atomic_load(&usable))
		return false;
	atomic_fetch_add(&walking, 1);
	can = !atomic_load(&held);
	if (can) {
		agent_unwinding = true;
		walk_all(walk);
		agent_unwinding = false;
	}
	atomic_fetch_sub(&walking, 1);
	return can;
}

void sample_dwarf_closed(void)
{
	for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		atomic_store_explicit(&plain[i], 0, memory_order_relaxed);
	if (atomic_load(&usable))
		lib.flush(lib.space, 0, 0);
}

void sample_dwarf_forked(void)
{
	/* A thread that does not exist here may have locked a pool. */
	if (atomic_load(&walking) > agent_unwinding)
		atomic_store(&usable, false);
	atomic_store(&walking, 0);
	atomic_store(&held, false);
}

void agent_sample_fork_begin(void)
{
	if (!atomic_load(&usable))
		return;
	atomic_store(&held, true);
	for (unsigned i = 0; atomic_load(&walking) && i < PATIENCE; i++)
		sched_yield();
}

void agent_sample_fork_end(void)
{
	atomic_store(&held, false);
}
