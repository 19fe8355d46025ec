/* SPDX-License-Identifier: MIT */
/* test_sampler.c - one ring on this kernel: waiting, end of the ring, shared rings, errors. */
#include "tests/unit/sampler_try.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

/* n page faults of this thread. */
static void fault(unsigned n)
{
	char *pages =
		mmap(NULL, n * 4096ul, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	madvise(pages, n * 4096ul, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < n; i++)
		((volatile char *)pages)[i * 4096ul] = 1;
	munmap(pages, n * 4096ul);
}

static struct pmc_open_options every_one(void)
{
	struct pmc_open_options open = PMC_OPEN_INIT;

	open.sample_period = 1;
	open.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	open.sample_id_all = true;
	open.read_format = PMC_READ_FORMAT_LOST;
	return open;
}

static void next_gives_what_is_there_and_no_more(void **state)
{
	struct pmc_open_options open = every_one();
	struct pmc_counter *counter = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	struct pmc_sampler *sampler = sampled(counter, 8);
	struct pmc_sampler_totals totals;
	struct pmc_record record;
	uint64_t last = 0, id, count;

	assert_int_equal(pmc_sampler_fd(sampler), pmc_counter_fd(counter));
	assert_int_equal(pmc_sampler_next(sampler, &record), -EAGAIN);
	assert_int_equal(pmc_sampler_next_wait(sampler, &record, 0), -EAGAIN);
	pmc_counter_enable(counter);
	fault(10);
	pmc_counter_disable(counter);
	pmc_counter_id(counter, &id);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_true(count >= 10); /* the test's own code may fault, too */
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(pmc_sampler_next(sampler, &record), 0);
		assert_int_equal(record.type, PERF_RECORD_SAMPLE);
		assert_int_equal(record.tid, syscall(SYS_gettid));
		assert_int_equal(record.pid, getpid());
		assert_int_equal(record.identifier, id);
		assert_ptr_equal(record.counter, counter);
		assert_true(record.time >= last);
		last = record.time;
	}
	assert_int_equal(pmc_sampler_next(sampler, &record), -EAGAIN);
	pmc_sampler_read_totals(sampler, &totals);
	assert_int_equal(totals.records, count);
	assert_int_equal(totals.samples, count);
	assert_int_equal(totals.bytes, count * 32);
	assert_int_equal(totals.lost, 0);
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}

/* A child that makes n page faults, then n more for each byte that it is sent. */
struct child {
	pid_t pid;
	int to;
};

static struct child child_faults(unsigned n)
{
	struct child child;
	int pipes[2];
	char c;

	assert_int_equal(pipe(pipes), 0);
	child.pid = fork();
	if (!child.pid) {
		/* Must not hold the write end of another child's pipe open. */
		dup2(pipes[0], 0);
		close_range(3, ~0U, 0);
		while (read(0, &c, 1) == 1)
			fault(n);
		_exit(0);
	}
	close(pipes[0]);
	child.to = pipes[1];
	return child;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void the_end_of_the_task_ends_the_ring_once_it_is_empty(void **state)
{
	struct child child = child_faults(5);
	struct pmc_open_options open = every_one();
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
	struct pmc_record record;
	uint64_t count;
	int n = 0;

	open.pid = child.pid;
	counter = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	sampler = sampled(counter, 8);
	/* The child may not have reached the read yet: its faults before the ring was mapped are
	 * counted but not recorded. */
	assert_int_equal(pmc_counter_enable(counter), 0);
	assert_int_equal(write(child.to, "x", 1), 1);
	/* The kernel wakes the reader at half the ring; the sampler must not wait for that. */
	assert_int_equal(pmc_sampler_next_wait(sampler, &record, -1), 0);
	close(child.to);
	waitpid(child.pid, NULL, 0);
	for (n = 1; pmc_sampler_next_wait(sampler, &record, -1) == 0; n++)
		assert_int_equal(record.type, PERF_RECORD_SAMPLE);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_int_equal(n, count);
	assert_true(n >= 5);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(pmc_sampler_next_wait(sampler, &record, -1), -ENODATA);
		assert_int_equal(pmc_sampler_next(sampler, &record), -ENODATA);
	}
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}

/* The reader of perf-event2 spins once poll() returns POLLERR or POLLHUP. Here one counter of the
 * ring is of a task that has ended, while another task lives. */
static void waiting_never_spins(void **state)
{
	struct child dead = child_faults(1), live = child_faults(1);
	struct pmc_open_options open = every_one();
	struct pmc_counter *counters[2];
	struct pmc_sampler *sampler;
	struct pmc_record record;
	uint64_t before;
	int error;

	open.enabled = true;
	open.cpu = 0;
	open.pid = dead.pid;
	counters[0] = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	open.pid = live.pid;
	counters[1] = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	sampler = sampled(counters[0], 8);
	error = pmc_sampler_attach(sampler, counters[1]);
	assert_int_equal(error, 0);
	close(dead.to);
	waitpid(dead.pid, NULL, 0);
	while (pmc_sampler_next_wait(sampler, &record, 200) == 0)
		;
	before = cpu_ns();
	assert_int_equal(pmc_sampler_next_wait(sampler, &record, 500), -EAGAIN);
	assert_true(cpu_ns() - before < 100000000);
	close(live.to);
	waitpid(live.pid, NULL, 0);
	while ((error = pmc_sampler_next_wait(sampler, &record, -1)) == 0)
		;
	assert_int_equal(error, -ENODATA);
	pmc_sampler_close(sampler);
	pmc_counter_close(counters[1]);
	pmc_counter_close(counters[0]);
}

static void on_alarm(int number)
{
}

static void a_signal_interrupts_and_loses_nothing(void **state)
{
	struct sigaction action = { .sa_handler = on_alarm };
	/* Repeated: the first may come before the wait begins. */
	struct itimerval soon = { { .tv_usec = 20000 }, { .tv_usec = 20000 } }, never = { 0 };
	struct pmc_open_options open = every_one();
	struct pmc_counter *counter = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	struct pmc_sampler *sampler = sampled(counter, 8);
	struct pmc_record record;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	assert_int_equal(pmc_sampler_next_wait(sampler, &record, -1), -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	pmc_counter_enable(counter);
	fault(1);
	pmc_counter_disable(counter);
	assert_int_equal(pmc_sampler_next_wait(sampler, &record, -1), 0);
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}

static void what_comes_during_a_pause_is_lost_and_counted(void **state)
{
	struct pmc_open_options open = every_one();
	struct pmc_counter *counter = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	struct pmc_sampler *sampler = sampled(counter, 8);
	struct pmc_sampler_totals totals;
	struct pmc_record record;
	uint64_t lost, count;

	assert_int_equal(pmc_sampler_pause(sampler), 0);
	pmc_counter_enable(counter);
	fault(7);
	pmc_counter_disable(counter);
	assert_int_equal(pmc_sampler_next(sampler, &record), -EAGAIN);
	assert_int_equal(pmc_sampler_resume(sampler), 0);
	assert_int_equal(pmc_sampler_lost(sampler, &lost), 0);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_true(lost >= 7);
	assert_int_equal(lost, count);
	pmc_counter_enable(counter);
	fault(2);
	pmc_counter_disable(counter);
	while (pmc_sampler_next(sampler, &record) == 0)
		;
	pmc_sampler_read_totals(sampler, &totals);
	assert_int_equal(totals.lost, lost);
	assert_true(totals.samples >= 2);
	assert_int_equal(totals.records, totals.samples + 1);
	assert_int_equal(pmc_counter_read(counter, &count), 0);
	assert_int_equal(totals.samples + totals.lost, count);
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}

static void counters_that_share_a_ring_are_told_apart(void **state)
{
	struct pmc_open_options open = every_one();
	struct pmc_counter *faults = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open), *minor,
			   *alike;
	struct pmc_sampler *sampler = sampled(faults, 8);
	struct pmc_record record;
	unsigned n_faults = 0, n_minor = 0, n_alike = 0, n_nobody = 0;
	uint64_t lost, count, switches = 0;

	/* Other fields: records are told apart by their identifier. */
	open.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN;
	minor = open_software(PERF_COUNT_SW_PAGE_FAULTS_MIN, &open);
	/* Another event than the first: for two equal software events the kernel gives the samples
	 * of both one ID (perf_prepare_sample() takes it as filled in). */
	open = every_one();
	alike = open_software(PERF_COUNT_SW_CONTEXT_SWITCHES, &open);
	assert_int_equal(pmc_sampler_attach(sampler, minor), 0);
	assert_int_equal(pmc_sampler_attach(sampler, alike), 0);
	assert_int_equal(pmc_sampler_attach(sampler, alike), -EEXIST);
	assert_int_equal(pmc_sampler_attach(sampler, faults), -EEXIST);
	for (unsigned round = 0; round < 2; round++) {
		pmc_counter_enable(faults);
		pmc_counter_enable(minor);
		pmc_counter_enable(alike);
		fault(4);
		usleep(1000);
		pmc_counter_disable(alike);
		pmc_counter_disable(minor);
		pmc_counter_disable(faults);
		if (round)
			break;
		assert_int_equal(pmc_counter_read(alike, &switches), 0);
		assert_true(switches > 0);
		/* Its records of the first round are still in the ring. */
		assert_int_equal(pmc_sampler_detach(sampler, alike), 0);
		assert_int_equal(pmc_sampler_detach(sampler, alike), -ENOENT);
		assert_int_equal(pmc_sampler_detach(sampler, faults), -EINVAL);
	}
	while (pmc_sampler_next(sampler, &record) == 0) {
		assert_int_equal(record.type, PERF_RECORD_SAMPLE);
		n_faults += record.counter == faults;
		n_alike += record.counter == alike;
		n_nobody += record.counter == NULL;
		if (record.counter != minor)
			continue;
		n_minor++;
		assert_ptr_not_equal(record.attr, pmc_counter_attr(minor));
		assert_true(record.present & PERF_SAMPLE_CALLCHAIN);
		assert_true(record.sample.n_callchain > 0);
	}
	assert_int_equal(pmc_counter_read(faults, &count), 0);
	assert_int_equal(n_faults, count);
	assert_int_equal(pmc_counter_read(minor, &count), 0);
	assert_int_equal(n_minor, count);
	assert_true(n_minor >= 8 && n_faults >= 8);
	assert_int_equal(n_alike, 0);
	assert_int_equal(n_nobody, switches);
	assert_int_equal(pmc_sampler_lost(sampler, &lost), 0);
	assert_int_equal(lost, 0);
	/* Attached again: its records are known again. */
	assert_int_equal(pmc_sampler_attach(sampler, alike), 0);
	pmc_counter_enable(alike);
	usleep(1000);
	pmc_counter_disable(alike);
	assert_int_equal(pmc_sampler_next(sampler, &record), 0);
	assert_ptr_equal(record.counter, alike);
	pmc_sampler_close(sampler);
	pmc_counter_close(alike);
	pmc_counter_close(minor);
	pmc_counter_close(faults);
}

static void rings_that_cannot_be_are_refused(void **state)
{
	struct pmc_open_options open = every_one();
	struct pmc_counter *counter = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open), *other;
	struct pmc_sampler *sampler;
	struct pmc_record record;
	uint64_t lost;

	assert_int_equal(pmc_sampler_open(&sampler, counter, 3, NULL), -EINVAL);
	assert_null(sampler);
	/* Without a ring there are no records. */
	assert_int_equal(pmc_sampler_open(&sampler, counter, 0, NULL), 0);
	assert_int_equal(pmc_sampler_next(sampler, &record), -ENODATA);
	assert_int_equal(pmc_sampler_next_wait(sampler, &record, -1), -ENODATA);
	/* No hardware counter counts page faults. */
	assert_int_equal(pmc_sampler_read_user(sampler, &lost, &lost, &lost), -EOPNOTSUPP);
	pmc_sampler_close(sampler);

	/* Records without an identifier. */
	open.sample_type = PERF_SAMPLE_TIME;
	open.read_format = 0;
	other = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	sampler = sampled(counter, 1);
	assert_int_equal(pmc_sampler_attach(sampler, other), -EINVAL);
	pmc_sampler_close(sampler);
	sampler = sampled(other, 1);
	assert_int_equal(pmc_sampler_attach(sampler, counter), -EINVAL);
	assert_int_equal(pmc_sampler_lost(sampler, &lost), -EOPNOTSUPP);
	pmc_sampler_close(sampler);
	pmc_counter_close(other);

	/* The kernel refuses a ring for an inherited event of a task on any CPU. */
	open.inherit = true;
	other = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	assert_int_equal(pmc_sampler_open(&sampler, other, 1, NULL), -EINVAL);
	pmc_counter_close(other);

	open.inherit = false;
	open.write_backward = true;
	other = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	assert_int_equal(pmc_sampler_open(&sampler, other, 1, NULL), -EOPNOTSUPP);
	pmc_counter_close(other);
	pmc_counter_close(counter);
	pmc_sampler_close(NULL);
}

static void a_damaged_ring_ends(void **state)
{
	struct pmc_open_options open = every_one();
	struct pmc_counter *counter = open_software(PERF_COUNT_SW_PAGE_FAULTS, &open);
	struct perf_event_mmap_page *page;
	struct pmc_sampler *sampler;
	struct pmc_record record;

	/* Maps the control page a second time, to write fields that are the kernel's. */
	page = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, pmc_counter_fd(counter), 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	sampler = sampled(counter, 1);
	pmc_counter_enable(counter);
	fault(3);
	pmc_counter_disable(counter);
	while (pmc_sampler_next(sampler, &record) == 0)
		;
	page->data_head += 4096 + 8;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pmc_sampler_next_wait(sampler, &record, -1), -EBADMSG);
	munmap(page, 2 * 4096);
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(next_gives_what_is_there_and_no_more),
		cmocka_unit_test(the_end_of_the_task_ends_the_ring_once_it_is_empty),
		cmocka_unit_test(waiting_never_spins),
		cmocka_unit_test(a_signal_interrupts_and_loses_nothing),
		cmocka_unit_test(what_comes_during_a_pause_is_lost_and_counted),
		cmocka_unit_test(counters_that_share_a_ring_are_told_apart),
		cmocka_unit_test(rings_that_cannot_be_are_refused),
		cmocka_unit_test(a_damaged_ring_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
