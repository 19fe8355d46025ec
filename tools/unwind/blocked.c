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

#include <fcntl.h>
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

/* The number of bytes from an address on, at most `bytes`, whose pages are in memory. Reading other
 * pages could block pmctl: they may be of a userfaultfd that is not served, or of a file system
 * that does not answer. */
static size_t present_bytes(uint32_t tid, uint64_t from, size_t bytes)
{
	enum { PRESENT = 63, LEAST_PAGE = 4096 };
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skipped = from % page;
	uint64_t entries[UNWIND_STACK_MOST / LEAST_PAGE + 2];
	size_t n = (skipped + bytes + page - 1) / page, i = 0;
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/pagemap", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = pread(fd, entries, n * sizeof(*entries), (off_t)(from / page * sizeof(*entries)));
	close(fd);
	n = got > 0 ? (size_t)got / sizeof(*entries) : 0;
	while (i < n && entries[i] >> PRESENT)
		i++;
	if (i * page <= skipped)
		return 0;
	return i * page - skipped < bytes ? i * page - skipped : bytes;
}

/* Copies up to the first page that is not in memory. */
static size_t copy_some(uint32_t tid, uint64_t from, void *to, size_t bytes)
{
	const struct iovec local = { to, present_bytes(tid, from, bytes) },
			   remote = { (void *)(uintptr_t)from, local.iov_len };
	const ssize_t n =
		local.iov_len ? process_vm_readv((pid_t)tid, &local, 1, &remote, 1, 0) : 0;

	return n > 0 ? (size_t)n : 0;
}

/* Of code, which is understood on x86-64 only. */
static bool copy(uint32_t tid, uint64_t from, void *to, size_t bytes)
{
	return UNWIND_X86_64 && copy_some(tid, from, to, bytes) == bytes;
}

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

/* add $bytes, %rsp; ret */
uint64_t unwind_bytes_behind(uint32_t tid, uint64_t address)
{
	uint8_t code[5];

	return copy(tid, address, code, sizeof(code)) && !memcmp(code, "\x48\x83\xc4", 3) &&
			       code[3] < 0x80 && code[4] == 0xc3 ?
		       code[3] :
		       0;
}

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
		/* All have called, also the innermost one. */
		if (start)
			chain[n] = start + offset - (n == 1);
		n += start != 0;
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
	sample->stack_user.size = copy_some(tid, place.registers[0], stack, sizeof(stack));
	if (sample->regs_user.mask && sample->stack_user.size)
		record.present |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	/* Woken up meanwhile. */
	if (!read_place(&after, pid, tid) || strcmp(place.text, after.text) != 0)
		return NULL;
	return unwind_stack_of(unwind, &record, true);
}
