/* SPDX-License-Identifier: MIT */
/*
 * blocked.c - the stack of a thread that is blocked in a system call, as /proc has it.
 *
 * A switch that was before the recording has no record. The thread does not run, so what its stack
 * and these files have stays until it wakes up (man 5 proc_pid_syscall, proc_pid_stack). Of its
 * registers only two are known. The frame pointer is computed, where the function's first
 * instructions tell how far it is from the stack pointer.
 *
 * Files and memory are those of the thread: those of a process go when its main thread ends.
 */
#include "lib/base/file.h"
#include "tools/symbol/symbol.h"
#include "tools/unwind/private.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Where a thread is in user mode. */
struct place {
	uint64_t registers[2]; /* stack pointer, program counter */
	char text[256];	       /* as the file has it */
};

/* "0 0x3 ... SP PC", "-1 SP PC" or "running". */
static bool read_place(struct place *place, uint32_t pid, uint32_t tid)
{
	uint64_t *sp = &place->registers[0], *pc = &place->registers[1];

	pmc_file_read(place->text, sizeof(place->text), "/proc/%u/task/%u/syscall", pid, tid);
	return sscanf(place->text, "-1 %" SCNx64 " %" SCNx64, sp, pc) == 2 ||
	       sscanf(place->text, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64 " %" SCNx64, sp, pc) == 2;
}

static bool copy(uint32_t tid, uint64_t from, void *to, size_t bytes)
{
	const struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };

	return process_vm_readv((pid_t)tid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* As much as there is up to the end of the stack. */
static size_t copy_stack(uint32_t tid, uint64_t from, void *to, size_t bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t n = 0;

	while (n < bytes) {
		const size_t rest = page - (from + n) % page,
			     part = rest < bytes - n ? rest : bytes - n;

		if (!copy(tid, from + n, (char *)to + n, part))
			break;
		n += part;
	}
	return n;
}

#if defined(__x86_64__)
/* Sums what instructions "sub bytes, %rsp" take. False: the stack pointer is set otherwise, too. */
static bool sum_subtractions(const uint8_t *at, const uint8_t *end, uint64_t *sum)
{
	uint32_t large;

	for (*sum = 0; at + 7 <= end; at++) {
		if (at[0] != 0x48)
			continue;
		if ((at[1] == 0x83 && at[2] == 0xe4) || (at[1] == 0x29 && at[2] == 0xc4))
			return false; /* and, sub of a register */
		if (at[1] == 0x83 && at[2] == 0xec && at[3] < 0x80)
			*sum += at[3];
		if (at[1] == 0x81 && at[2] == 0xec) {
			memcpy(&large, at + 3, sizeof(large));
			*sum += large;
		}
	}
	return *sum % 8 == 0;
}

bool unwind_frame_bytes(uint32_t tid, uint64_t function, uint64_t pc, uint64_t *bytes)
{
	static const uint8_t branch[] = { 0xf3, 0x0f, 0x1e, 0xfa }, move[] = { 0x48, 0x89, 0xe5 };
	uint8_t code[64 + 7] = { 0 };
	const size_t n = pc - function < 64 ? pc - function : 64;
	const uint8_t *at = code, *end = code + n + 7;

	if (pc <= function || !copy(tid, function, code, n))
		return false;
	at += memcmp(at, branch, sizeof(branch)) == 0 ? sizeof(branch) : 0;
	if (*at++ != 0x55) /* push %rbp */
		return false;
	at = memmem(at, 16, move, sizeof(move));
	return at && sum_subtractions(at, end, bytes);
}

/* call: e8 and an offset, or ff /2 of 2 to 7 bytes. */
bool unwind_is_behind_call(uint32_t tid, uint64_t address)
{
	enum { MOST = 7, FIELD = 0x38, CALL = 0x10 };
	uint8_t code[MOST];

	if (!copy(tid, address - MOST, code, MOST))
		return false;
	for (unsigned bytes = 2; bytes <= MOST; bytes++)
		if (bytes != 5 && code[MOST - bytes] == 0xff &&
		    (code[MOST - bytes + 1] & FIELD) == CALL)
			return true;
	return code[2] == 0xe8;
}
#else
bool unwind_frame_bytes(uint32_t tid, uint64_t function, uint64_t pc, uint64_t *bytes)
{
	(void)tid, (void)function, (void)pc, (void)bytes;
	return false;
}

bool unwind_is_behind_call(uint32_t tid, uint64_t address)
{
	(void)tid, (void)address;
	return false;
}
#endif

/* Lines "[<0>] function+0x37/0x90", the innermost first, as a chain of a sample. */
static unsigned read_kernel(struct unwind *unwind, uint32_t pid, uint32_t tid, uint64_t *chain)
{
	char text[16384], name[256];
	uint64_t start, offset;
	const char *at = text;
	unsigned n = 0;

	if (!unwind->kernel ||
	    pmc_file_read(text, sizeof(text), "/proc/%u/task/%u/stack", pid, tid) <= 0)
		return 0;
	chain[n++] = (uint64_t)PERF_CONTEXT_KERNEL;
	for (; at && n < PMC_STACK_DEPTH_MAX; at = strchr(at, '\n'), at += at != NULL) {
		if (sscanf(at, "[<%*x>] %250[^+]+%" SCNx64, name, &offset) != 2)
			continue;
		strcat(name, SYMBOL_KERNEL_MARK);
		start = symbols_kernel_find(unwind->symbols, unwind->kernel->file, name);
		if (start)
			chain[n++] = start + offset;
	}
	return n;
}

const struct unwind_stack *unwind_blocked(struct unwind *unwind, uint32_t pid, uint32_t tid)
{
	uint64_t chain[PMC_STACK_DEPTH_MAX], stack[UNWIND_STACK_MOST / 8];
	struct pmc_record record = {
		.type = PERF_RECORD_SAMPLE, .present = PERF_SAMPLE_CALLCHAIN, .pid = pid, .tid = tid
	};
	struct pmc_record_sample *sample = &record.sample;
	struct place place, after;

	if (!read_place(&place, pid, tid))
		return NULL;
	sample->callchain = chain;
	sample->n_callchain = read_kernel(unwind, pid, tid, chain);
	sample->regs_user = (struct pmc_record_regs){ .abi = PERF_SAMPLE_REGS_ABI_64,
						      .mask = unwind_pointers(),
						      .values = place.registers };
	sample->stack_user.data = (const uint8_t *)stack;
	sample->stack_user.size = copy_stack(tid, place.registers[0], stack, sizeof(stack));
	if (sample->regs_user.mask && sample->stack_user.size)
		record.present |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	/* Woken up meanwhile. */
	if (!read_place(&after, pid, tid) || strcmp(place.text, after.text) != 0)
		return NULL;
	return unwind_stack_of(unwind, &record, true);
}
