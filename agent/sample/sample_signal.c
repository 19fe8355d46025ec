/* SPDX-License-Identifier: MIT */
/*
 * sample_signal.c - takes a sample in the handler of the agent's signal.
 *
 * Contract: all signals are blocked, and the signal came at an overflow in user mode, anywhere. The
 * handler takes no lock that interrupted code may hold, and allocates by mmap only. The work runs
 * on a stack of its own: libunwind needs up to 10 KiB, and the host's may be small.
 */
#include "agent/sample/private.h"

#include <ucontext.h>

#include "agent/base/poison.h"

/* Of the first samples of a thread each is measured, then one of as many. */
#define MEASURED_EACH 8u

_Atomic uint64_t sample_scratch_taken;

/* A stack for the work of a handler, with a sample_walk at its start; NULL: all are in use. */
static struct sample_walk *scratch_take(void **top)
{
	uint64_t taken = atomic_load(&sample_scratch_taken), bit;
	char *room = sample_area(AREA_SCRATCH);
	uintptr_t end;

	do {
		bit = ~taken & (taken + 1);
		if (!room || !bit)
			return NULL;
	} while (!atomic_compare_exchange_weak(&sample_scratch_taken, &taken, taken | bit));
	end = (uintptr_t)room + (unsigned)(__builtin_ctzll(bit) + 1) * SAMPLE_SCRATCH_BYTES;
	end = (end - sizeof(struct sample_walk)) & ~(uintptr_t)63;
	*top = (void *)end;
	return (struct sample_walk *)end;
}

static void scratch_give(struct sample_walk *walk)
{
	char *room = sample_area(AREA_SCRATCH);

	atomic_fetch_and(&sample_scratch_taken,
			 ~((uint64_t)1 << ((size_t)((char *)walk - room) / SAMPLE_SCRATCH_BYTES)));
}

/* Removes the agent's own frames. By frame pointers the first frame of the host may be missing. */
static void leave_out(struct sample_walk *walk)
{
	unsigned n = 0;

	while (n < walk->depth && walk->at[n] != walk->outer - 1)
		n++;
	if (n == walk->depth) {
		walk->at[0] = walk->outer - 1;
		return;
	}
	walk->depth -= n;
	memmove(walk->at, walk->at + n, walk->depth * sizeof(walk->at[0]));
}

/* The outermost caller of every thread is in a file. Where it seems not to be, code without frame
 * pointers had something else in their register. */
static bool is_cut(const struct sample_walk *walk)
{
	unsigned n = walk->depth;

	while (n && walk->frames[n - 1] >> 48 == PMC_NO_MODULE)
		n--;
	return walk->flags & PMC_STACK_FP && n && n < walk->depth;
}

/* ---- call stacks by frame pointers ---------------------------------------------------------- */

/* Larger frames than this are taken for the end of the chain. */
#define FRAME_MOST ((uintptr_t)8 << 20)

static void take_regs(const void *context, struct sample_regs *regs)
{
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;

	regs->context = context;
#if defined(__x86_64__)
	regs->ip = (uintptr_t)machine->gregs[REG_RIP];
	regs->sp = (uintptr_t)machine->gregs[REG_RSP];
	regs->fp = (uintptr_t)machine->gregs[REG_RBP];
#elif defined(__aarch64__)
	regs->ip = machine->pc;
	regs->sp = machine->sp;
	regs->fp = machine->regs[29];
#endif
}

static void sample_walk_fp(struct sample_walk *walk)
{
	uintptr_t low = walk->regs.sp, fp = walk->regs.fp;
	uint64_t next, from;

	walk->depth = 0;
	walk->flags = PMC_STACK_FP;
	walk->at[walk->depth++] = walk->regs.ip;
	while (fp) {
		if (walk->depth == PMC_STACK_DEPTH_MAX) {
			walk->flags |= PMC_STACK_TRUNCATED;
			return;
		}
		walk->memory.stack = low;
		/* Code without frame pointers uses the register for something else. */
		if (fp < low || fp - low > FRAME_MOST || fp % sizeof(void *) ||
		    !sample_word(&walk->memory, fp, &next) ||
		    !sample_word(&walk->memory, fp + sizeof(void *), &from) || from < 4096)
			break;
		walk->at[walk->depth++] = from - 1;
		low = fp + 1;
		fp = next;
	}
	if (fp)
		walk->flags |= PMC_STACK_BROKEN;
}

static uint32_t walk_id(struct sample_walk *walk)
{
	sample_memory_init(&walk->memory, walk->regs.sp);
	if (agent.config.unwind != PMC_UNWIND_DWARF || !sample_walk_dwarf(walk))
		sample_walk_fp(walk);
	if (walk->outer)
		leave_out(walk);
	for (unsigned i = 0; i < walk->depth; i++)
		walk->frames[i] = sample_place(&walk->memory, walk->at[i]);
	if (is_cut(walk))
		walk->flags |= PMC_STACK_BROKEN;
	return sample_stack_id(walk->frames, walk->depth, walk->flags);
}

/* The weight of a sample. By a PMU the interrupt may come late, and the period may vary. */
static uint64_t weight_of(struct sample_thread *thread, int fd)
{
	struct pmc_reading reading = { 0 };
	uint64_t words[PMC_PERF_GROUP_WORDS(1)], weight;

	if (!sample_event.by_reading)
		return sample_event.period;
	if (pmc_perf_is_event(fd, thread->id))
		pmc_perf_group_read(fd, thread->id, 1, &reading, words);
	if (!reading.n)
		return 0;
	weight = words[0] - thread->last;
	thread->last = words[0];
	return weight;
}

struct work {
	struct sample_walk *walk;
	struct sample_thread *thread;
	int fd;		/* of the event; -1: of a timer */
	uint64_t ns;	/* CPU time since the last sample of the timer */
	uint32_t stack; /* the result, at thread creation */
};

/* Whether the interrupt came in a system call, which has just returned or is about to start again:
 * like overflows of the event there, it is no sample. */
static bool in_system_call(struct sample_walk *walk)
{
#if defined(__x86_64__)
	static const uint8_t instruction[] = { 0x0f, 0x05 };
#elif defined(__aarch64__)
	static const uint8_t instruction[] = { 0x01, 0x00, 0x00, 0xd4 };
#endif
	uint8_t code[2 * sizeof(instruction)];

	sample_memory_init(&walk->memory, walk->regs.sp);
	return sample_bytes(&walk->memory, walk->regs.ip - sizeof(instruction), code,
			    sizeof(code)) &&
	       (memcmp(code, instruction, sizeof(instruction)) == 0 ||
		memcmp(code + sizeof(instruction), instruction, sizeof(instruction)) == 0);
}

static void take(void *arg)
{
	const struct work *work = arg;
	struct sample_thread *thread = work->thread;
	const struct reader own = agent_reader(0);
	uint64_t sampled[3], reset_ns = snapshot_reset(&own, agent_self, sampled);
	uint32_t stack;

	/* A reset that comes from here on clears this sample as well. */
	if (reset_ns != thread->reset_ns)
		sample_counts_clear(thread, reset_ns);
	if (work->fd < 0 && in_system_call(work->walk))
		return;
	stack = walk_id(work->walk);
	if (!sample_count(thread, stack, work->fd < 0 ? work->ns : weight_of(thread, work->fd))) {
		atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(&thread->samples, 1, memory_order_relaxed);
	if (!stack || work->walk->flags & (PMC_STACK_TRUNCATED | PMC_STACK_BROKEN))
		atomic_fetch_add_explicit(&thread->truncated, 1, memory_order_relaxed);
}

__attribute__((noinline)) static void call_on_stack(void *top, void (*work)(void *), void *arg)
{
#if defined(__x86_64__)
	__asm__ volatile("movq %%rsp, %%rbx\n"
			 "	movq %[top], %%rsp\n"
			 "	call *%[work]\n"
			 "	movq %%rbx, %%rsp"
			 : "+D"(arg)
			 : [top] "r"(top), [work] "r"(work)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory",
			   "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
			   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
	register void *x0 __asm__("x0") = arg;

	__asm__ volatile("mov x19, sp\n"
			 "	mov sp, %[top]\n"
			 "	blr %[work]\n"
			 "	mov sp, x19"
			 : "+r"(x0)
			 : [top] "r"(top), [work] "r"(work)
			 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30", "memory",
			   "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17",
			   "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",
			   "v28", "v29", "v30", "v31");
#endif
}

/* How many samples the cost of this one stands for: to read the clock costs a tenth of a sample. */
static unsigned measured(struct sample_thread *thread)
{
	const unsigned n = thread->turn++;

	if (n < MEASURED_EACH)
		return 1;
	return n % MEASURED_EACH ? 0 : MEASURED_EACH;
}

void sample_take(struct sample_thread *thread, int fd, uint64_t ns, const void *context)
{
	const unsigned times = measured(thread);
	const uint64_t start = times ? agent_overhead_clock() : 0;
	struct work work = { .thread = thread, .fd = fd, .ns = ns };
	void *top;

	work.walk = agent_unwinding ? NULL : scratch_take(&top);
	if (work.walk) {
		work.walk->outer = 0;
		take_regs(context, &work.walk->regs);
		call_on_stack(top, take, &work);
		scratch_give(work.walk);
	} else {
		atomic_fetch_add_explicit(&thread->lost, 1, memory_order_relaxed);
	}
	if (times)
		agent_overhead_add((agent_overhead_clock() - start) * times);
}

void agent_sample_signal(bool stopped, const void *context)
{
	struct slot *slot = agent_active() ? agent_self : NULL;
	struct sample_thread *thread = slot ? sample_of(slot) : NULL;
	int fd;

	if (!thread)
		return;
	fd = atomic_load_explicit(&thread->fd, memory_order_relaxed) - 1;
	if (fd < 0)
		return;
	agent_sample_dropped();
	/* It may kill for what a sample needs. The event is not switched on again: one more signal
	 * comes at most. */
	if (agent_unseen_filter()) {
		agent_note(NOTE_SAMPLE_STOPPED);
		return;
	}
	/* The last handler may have switched the event on again. If it overflowed in each, the
	 * program would never go on. */
	if (stopped && sample_event.ahead > 1)
		sample_disarm(fd);
	if (atomic_load(&pmc_agent_control.counting))
		sample_take(thread, fd, 0, context);
	else
		thread->off += weight_of(thread, fd);
	if (!sample_to_timer(slot, thread))
		agent_sample_enable(slot);
}

/* ---- stacks at thread creation (PMC_STACKS) ------------------------------------------------- */

/* musl has none: no stacks there. */
#pragma weak getcontext

static void take_creation(void *arg)
{
	struct work *work = arg;

	work->stack = walk_id(work->walk);
}

void agent_sample_creation(struct slot *slot, const void *caller)
{
	struct sample_thread *thread = agent.config.stacks ? sample_of(slot) : NULL;
	struct work work = { .stack = 0 };
	ucontext_t context;
	uint64_t mask;
	void *top;

	if (!thread)
		return;
	/* No handler of the host's may leave this function by a jump, nor sample within it. */
	mask = agent_mask_set(UINT64_MAX);
	work.walk = scratch_take(&top);
	if (work.walk && getcontext && getcontext(&context) == 0) {
		take_regs(&context, &work.walk->regs);
		work.walk->outer = (uintptr_t)caller;
		call_on_stack(top, take_creation, &work);
		thread->created_stack = work.stack;
	}
	if (work.walk)
		scratch_give(work.walk);
	agent_mask_set(mask);
}
