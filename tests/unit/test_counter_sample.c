/* SPDX-License-Identifier: MIT */
/* test_counter_sample.c - options of sampling, checked by their effect on samples. */
#include "tests/unit/breakpoints.h"
#include "tests/unit/counter_try.h"

#include <poll.h>
#include <signal.h>

/* Instruction pointer and stack pointer in the masks of <asm/perf_regs.h>. */
#if defined(__x86_64__)
#define REG_SP 7
#define REG_IP 8
#elif defined(__aarch64__)
#define REG_SP 31
#define REG_IP 32
#endif

struct sampling {
	struct pmc_open_options open;
	struct pmc_counter *counter;
	struct perf_event_mmap_page *ring;
};

static struct sampling sampling(void)
{
	struct sampling s = { .open = PMC_OPEN_INIT };

	s.open.sample_period = 1;
	return s;
}

/* Samples n calls of getppid by raw_syscalls:sys_enter, which is hit in kernel mode. Tracepoints of
 * single system calls would be given the user-mode registers. */
static void sample(struct sampling *s, unsigned n)
{
	struct pmc_counter_event event = getppid_event();
	char filter[32];

	snprintf(filter, sizeof(filter), "id == %d", (int)SYS_getppid);
	assert_int_equal(pmc_counter_event_tracepoint(&event, "raw_syscalls", "sys_enter", NULL),
			 0);
	s->counter = must_open(&event, &s->open);
	assert_int_equal(pmc_counter_set_filter(s->counter, filter), 0);
	s->ring = ring_map(s->counter, PROT_READ | (s->open.write_backward ? 0 : PROT_WRITE));
	assert_int_equal(pmc_counter_enable(s->counter), 0);
	calls(n);
	assert_int_equal(pmc_counter_disable(s->counter), 0);
}

static const uint64_t *first_sample(const struct sampling *s)
{
	const struct perf_event_header *record = ring_find(s->ring, PERF_RECORD_SAMPLE, 0);

	assert_non_null(record);
	return words_of(record);
}

static void done(struct sampling *s)
{
	ring_unmap(s->ring);
	pmc_counter_close(s->counter);
}

static void test_sample_period(void **state)
{
	struct sampling s = sampling();

	s.open.sample_period = 10;
	sample(&s, 1000);
	assert_in_range(ring_count(s.ring, PERF_RECORD_SAMPLE), 99, 100);
	done(&s);
}

static void test_sample_freq(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_CPU_CLOCK);
	struct sampling s = sampling();

	s.open.sample_period = 0;
	s.open.sample_freq = 1000;
	s.counter = must_open(&event, &s.open);
	assert_true(pmc_counter_attr(s.counter)->freq);
	s.ring = ring_map(s.counter, PROT_READ | PROT_WRITE);
	pmc_counter_enable(s.counter);
	burn_ns(100000000);
	pmc_counter_disable(s.counter);
	assert_true(ring_count(s.ring, PERF_RECORD_SAMPLE) >= 5);
	done(&s);
}

static void test_sample_type(void **state)
{
	struct sampling s = sampling();
	const uint64_t *words;
	uint64_t id;

	s.open.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD;
	sample(&s, 1);
	words = first_sample(&s);
	assert_int_equal((uint32_t)words[0], getpid());
	assert_int_equal(words[0] >> 32, syscall(SYS_gettid));
	assert_int_equal(pmc_counter_id(s.counter, &id), 0);
	assert_int_equal(words[1], id);
	assert_int_equal(words[2], 1);
	done(&s);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void test_clockid(void **state)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		struct sampling s = sampling();
		uint64_t from = now_ns(clocks[i]);

		s.open.sample_type = PERF_SAMPLE_TIME;
		s.open.use_clockid = true;
		s.open.clockid = clocks[i];
		sample(&s, 1);
		assert_in_range(first_sample(&s)[0], from, now_ns(clocks[i]));
		done(&s);
	}
}

/* Clocks that cannot be read in an NMI are accepted only for events that never overflow in one. */
static void test_clockid_of_slow_clocks(void **state)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI };
	struct pmc_counter_event event = software(PERF_COUNT_SW_PAGE_FAULTS);

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		struct sampling s = sampling();
		uint64_t from = now_ns(clocks[i]);

		s.open.sample_type = PERF_SAMPLE_TIME;
		s.open.use_clockid = s.open.enabled = true;
		s.open.clockid = clocks[i];
		s.counter = must_open(&event, &s.open);
		s.ring = ring_map(s.counter, PROT_READ | PROT_WRITE);
		touch_pages(1, 4096);
		assert_in_range(first_sample(&s)[0], from, now_ns(clocks[i]));
		done(&s);
	}
}

#ifdef REG_IP
static uint64_t ip_of_registers(bool user)
{
	struct sampling s = sampling();
	const uint64_t mask = UINT64_C(1) << REG_IP, *words;
	uint64_t ip;

	s.open.sample_type = user ? PERF_SAMPLE_REGS_USER : PERF_SAMPLE_REGS_INTR;
	if (user)
		s.open.sample_regs_user = mask;
	else
		s.open.sample_regs_intr = mask;
	sample(&s, 1);
	words = first_sample(&s);
	assert_int_equal(words[0], PERF_SAMPLE_REGS_ABI_64);
	ip = words[1];
	done(&s);
	return ip;
}

/* In a system call: the interrupted registers are kernel-mode, the others user-mode. */
static void test_regs_intr_are_not_regs_user(void **state)
{
	getppid_event();
	assert_int_equal(ip_of_registers(true) >> 63, 0);
	assert_int_equal(ip_of_registers(false) >> 63, 1);
}

static void test_stack_user(void **state)
{
	struct sampling s = sampling();
	const uint64_t *words;

	s.open.sample_type = PERF_SAMPLE_STACK_USER;
	s.open.sample_stack_user = 512;
	sample(&s, 1);
	words = first_sample(&s);
	/* Size, bytes, and how many of them were copied. */
	assert_int_equal(words[0], 512);
	assert_in_range(words[1 + 512 / 8], 1, 512);
	done(&s);
}
#endif

/* Number of addresses in a call chain, without the context markers; *user and *kernel: whether
 * these markers occur. */
static unsigned chain(const struct sampling *s, bool *user, bool *kernel)
{
	const uint64_t *words = first_sample(s);
	unsigned frames = 0;

	*user = *kernel = false;
	for (uint64_t i = 0; i < words[0]; i++) {
		const uint64_t ip = words[1 + i];

		*user |= ip == (uint64_t)PERF_CONTEXT_USER;
		*kernel |= ip == (uint64_t)PERF_CONTEXT_KERNEL;
		frames += ip < (uint64_t)PERF_CONTEXT_MAX;
	}
	return frames;
}

static void test_callchains(void **state)
{
	bool user, kernel;
	unsigned frames;

	for (int i = 0; i < 4; i++) {
		struct sampling s = sampling();

		s.open.sample_type = PERF_SAMPLE_CALLCHAIN;
		s.open.exclude_callchain_user = i == 1;
		s.open.exclude_callchain_kernel = i == 2;
		s.open.sample_max_stack = i == 3 ? 1 : 0;
		sample(&s, 1);
		frames = chain(&s, &user, &kernel);
		assert_int_equal(user, i != 1);
		assert_int_equal(kernel, i != 2);
		if (i == 3)
			assert_in_range(frames, 1, 2);
		else if (i == 0)
			assert_true(frames > 2);
		done(&s);
	}
}

static bool is_ready(const struct sampling *s)
{
	struct pollfd fd = { pmc_counter_fd(s->counter), POLLIN, 0 };

	return poll(&fd, 1, 0) == 1 && fd.revents & POLLIN;
}

static void test_wakeups(void **state)
{
	for (int watermark = 0; watermark < 2; watermark++) {
		struct sampling s = sampling();
		bool ready = false;

		/* 16 bytes each: the header, and pid with tid. */
		s.open.sample_type = PERF_SAMPLE_TID;
		if (watermark)
			s.open.wakeup_watermark = 5 * 16;
		else
			s.open.wakeup_events = 5;
		sample(&s, 4);
		assert_false(is_ready(&s));
		pmc_counter_enable(s.counter);
		calls(2);
		pmc_counter_disable(s.counter);
		for (int i = 0; i < 100000 && !ready; i++)
			ready = is_ready(&s);
		assert_true(ready);
		assert_int_equal(ring_count(s.ring, PERF_RECORD_SAMPLE), 6);
		done(&s);
	}
}

static void test_write_backward(void **state)
{
	struct sampling s = sampling();

	s.open.sample_type = PERF_SAMPLE_TID;
	s.open.write_backward = true;
	sample(&s, 3);
	/* The head starts at 0 and decreases. */
	assert_int_equal(s.ring->data_head, (uint64_t)-48);
	done(&s);
}

static void test_precise_ip(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_CPU_CLOCK);
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_counter *counter;

	open.sample_period = 1000000;
	for (uint8_t precise = 0; precise <= 3; precise++) {
		open.precise_ip = precise;
		counter = must_open(&event, &open);
		assert_int_equal(pmc_counter_attr(counter)->precise_ip, precise);
		pmc_counter_close(counter);
	}
}

/* ---- sigtrap ------------------------------------------------------------------------------*/

static volatile sig_atomic_t traps;
static volatile uint64_t trap_data;

static void on_trap(int signo, siginfo_t *info, void *context)
{
	traps++;
#ifdef si_perf_data
	trap_data = info->si_perf_data;
#else
	/* The fields after si_addr, as in the kernel's siginfo.h; older libcs lack them. */
	memcpy((void *)&trap_data, (char *)&info->si_addr + sizeof(void *), sizeof(trap_data));
#endif
}

static volatile uint64_t watched;

static void test_sigtrap(void **state)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO }, old;
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_counter_event event;
	struct pmc_failure failure;
	struct pmc_counter *counter;

	if (!breakpoints_count())
		skip();
	/* A write to memory, as a debugger's watchpoint. Type 2 is HW_BREAKPOINT_W. */
	assert_int_equal(pmc_counter_event_breakpoint(&event, 2, (uint64_t)(uintptr_t)&watched, 8),
			 0);
	open.sample_period = 1;
	open.sigtrap = open.remove_on_exec = open.exclude_kernel = true;
	open.sig_data = 0x1234567890;
	if (pmc_counter_open(&counter, &event, &open, &failure))
		fail_msg("%s: %s", failure.what, failure.advice);
	assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
	traps = 0;
	assert_int_equal(pmc_counter_enable(counter), 0);
	watched = 1;
	watched = 2;
	pmc_counter_disable(counter);
	watched = 3;
	assert_int_equal(traps, 2);
	assert_int_equal(trap_data, 0x1234567890);
	sigaction(SIGTRAP, &old, NULL);
	pmc_counter_close(counter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample_period),
		cmocka_unit_test(test_sample_freq),
		cmocka_unit_test(test_sample_type),
		cmocka_unit_test(test_clockid),
		cmocka_unit_test(test_clockid_of_slow_clocks),
#ifdef REG_IP
		cmocka_unit_test(test_regs_intr_are_not_regs_user),
		cmocka_unit_test(test_stack_user),
#endif
		cmocka_unit_test(test_callchains),
		cmocka_unit_test(test_wakeups),
		cmocka_unit_test(test_write_backward),
		cmocka_unit_test(test_precise_ip),
		cmocka_unit_test(test_sigtrap),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
