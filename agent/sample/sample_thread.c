/* SPDX-License-Identifier: MIT */
/* sample_thread.c - the sampling event of each thread: opened, switched, closed. */
#include "agent/sample/private.h"

#include <sched.h>

#include "agent/base/poison.h"

/* Attempts to find no thread in libunwind before a fork. */
#define PATIENCE 10000u
/* No stack takes as long to unwind. */
#define LOST_NS 1000000000u

static _Atomic int signo; /* 0: no sampling */

struct sample_thread *sample_of(const struct slot *slot)
{
	const uint32_t index = registry_index(&agent_registry, slot);
	size_t n;
	struct sample_thread *threads = sample_area(AREA_THREADS, sizeof(*threads), &n);

	return threads && index < n ? &threads[index] : NULL;
}

/* The descriptor of the slot's event, and its thread; -1: it has none. */
static int event_of(const struct slot *slot, struct sample_thread **thread)
{
	*thread = slot ? sample_of(slot) : NULL;
	return *thread ? atomic_load(&(*thread)->fd) - 1 : -1;
}

/* Switches the event on, if it is off, for as many overflows as were handled since the last time.
 * Once sampling has ended, a filter may kill for ioctl. False: for none. */
static bool arm(struct sample_thread *thread, int fd)
{
	int handled;

	if (!atomic_load(&signo))
		return true;
	handled = sample_event.ahead - atomic_exchange(&thread->left, sample_event.ahead);
	if (handled > 0)
		pmc_perf_ioctl(fd, PERF_EVENT_IOC_REFRESH, (void *)(intptr_t)handled);
	return handled > 0;
}

void sample_disarm(int fd)
{
	if (atomic_load(&signo))
		pmc_perf_group_disable(fd);
}

/* The signal goes to the thread whose event it is, as one that can be queued: the lowest free
 * descriptor of the event is in the agent's range. */
static int route(int fd, const struct slot *slot, int number)
{
	const struct f_owner_ex owner = { F_OWNER_TID, (pid_t)slot->tid };
	long result = pmc_sys3(SYS_fcntl, fd, F_SETSIG, number);

	if (!result)
		result = pmc_sys3(SYS_fcntl, fd, F_SETOWN_EX, &owner);
	return (int)(result ? result : pmc_sys3(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK));
}

static int open_event(const struct slot *slot, uint64_t *id)
{
	struct pmc_perf_target target = { .pid = (int)slot->tid, .cpu = -1 };
	int fd = -1, error;

	target.move_to = agent_fds_window_open();
	error = agent_permitted(AGENT_PERF) ?
			pmc_perf_group_open(&sample_event.attr, 1, &target, &fd, id) :
			-EPERM;
	if (!error)
		agent_fds_mark(&fd, 1);
	agent_fds_window_close();
	return error ? error : fd;
}

void agent_sample_begin(struct slot *slot)
{
	struct sample_thread *thread = sample_of(slot);
	int fd, number = atomic_load(&signo);

	if (!thread || !number || !sample_event.on || slot->flags & PMC_THREAD_ADOPTED)
		return;
	if (!agent_fds_take(1)) {
		agent_note(NOTE_SAMPLE_OPEN);
		return;
	}
	fd = open_event(slot, &thread->id);
	if (fd < 0) {
		agent_fds_give(1);
		agent_note(NOTE_SAMPLE_OPEN);
		return;
	}
	if (route(fd, slot, number) != 0) {
		agent_fds_close(&fd, 1);
		agent_note(NOTE_SAMPLE_OPEN);
		return;
	}
	atomic_store(&thread->left, 0);
	atomic_store(&thread->fd, fd + 1);
	/* If counting is switched on from outside, nobody arms it: samples are dropped until
	 * then. */
	if (!agent.config.delay || atomic_load(&pmc_agent_control.counting))
		arm(thread, fd);
}

void agent_sample_enable(struct slot *slot)
{
	struct sample_thread *thread;
	int fd = event_of(slot, &thread);

	if (fd >= 0)
		arm(thread, fd);
}

static void read_last(struct sample_thread *thread, int fd)
{
	struct pmc_reading reading = { 0 };
	uint64_t words[PMC_PERF_GROUP_WORDS(1)];

	pmc_perf_group_read(fd, thread->id, 1, &reading, words);
	if (!reading.n)
		return;
	thread->enabled_ns = reading.enabled_ns;
	thread->running_ns = reading.running_ns;
	thread->value = words[0] - thread->off;
}

void agent_sample_end(struct slot *slot)
{
	struct sample_thread *thread;
	int fd = event_of(slot, &thread);

	if (fd < 0)
		return;
	sample_disarm(fd);
	read_last(thread, fd);
	atomic_store(&thread->fd, 0);
	agent_fds_close(&fd, 1);
}

void agent_sample_release(struct slot *slot)
{
	struct sample_thread *thread = sample_of(slot);

	if (!thread)
		return;
	/* A reader that still has the slot pinned may be in the table. */
	if (!registry_unread(slot)) {
		struct sample_counts *counts = atomic_load(&thread->counts);

		if (counts)
			atomic_store(&counts->n, 0),
				memset(counts->list, 0, counts->bytes - sizeof(*counts));
	} else {
		sample_counts_free(thread);
	}
	thread->created_stack = 0;
	thread->enabled_ns = thread->running_ns = thread->value = thread->last = thread->off = 0;
	thread->samples = thread->lost = thread->truncated = thread->reset_ns = 0;
	thread->had = 0;
}

static void route_again(struct slot *slot)
{
	struct sample_thread *thread;
	int fd = event_of(slot, &thread), number = atomic_load(&signo);

	if (fd < 0)
		return;
	if (!number || route(fd, slot, number) != 0)
		pmc_perf_group_disable(fd);
}

void agent_sample_moved(int number)
{
	if (!sample_event.on || !atomic_load(&signo))
		return;
	if (!number)
		agent_note(NOTE_SAMPLE_STOPPED);
	atomic_store(&signo, number);
	registry_each(&agent_registry, route_again);
}

void agent_sample_stop(void)
{
	agent_sample_moved(0);
}

void sample_threads_start(int number)
{
	atomic_store(&signo, number);
	if (number)
		registry_each(&agent_registry, agent_sample_begin);
}

void agent_sample_hold(void)
{
	struct sample_thread *thread;
	int fd = event_of(agent_self, &thread);

	if (fd >= 0)
		sample_disarm(fd);
}

void agent_sample_dropped(void)
{
	struct sample_thread *thread;

	event_of(agent_self, &thread);
	if (thread)
		atomic_fetch_sub(&thread->left, 1);
}

void agent_sample_let(void)
{
	struct sample_thread *thread;
	int fd = event_of(agent_self, &thread);

	if (fd >= 0 && !arm(thread, fd))
		pmc_perf_ioctl(fd, PERF_EVENT_IOC_ENABLE, NULL);
}

bool agent_sample_move_fd(int fd)
{
	uint32_t high = atomic_load(&agent_registry.high);
	size_t n;
	struct sample_thread *threads = sample_area(AREA_THREADS, sizeof(*threads), &n);

	for (uint32_t i = 0; threads && i < high && i < n; i++) {
		if (atomic_load_explicit(&threads[i].fd, memory_order_relaxed) != fd + 1)
			continue;
		/* 0 without a free number: sampling of that thread ends. */
		atomic_store(&threads[i].fd, agent_fds_move(fd) + 1);
		agent_fds_unmark(&fd, 1);
		return true;
	}
	return false;
}

/* A fork has waited in vain. If one did so a second ago, and no stack has been unwound since, a
 * thread has been lost inside libunwind, which may hold a lock for ever. */
static struct {
	_Atomic uint64_t since_ns;
	_Atomic uint32_t walks;
} lost;

void agent_sample_forked(void)
{
	size_t n;
	struct sample_thread *threads = sample_area(AREA_THREADS, sizeof(*threads), &n);
	uint32_t high = atomic_load(&agent_registry.high);

	if (!threads)
		return;
	atomic_store(&lost.since_ns, 0);
	for (uint32_t i = 0; i < high && i < n; i++)
		sample_counts_free(&threads[i]);
	sample_dwarf_forked();
	sample_signal_forked();
	sample_area_forked();
	sample_frames_forked();
}

static void look_for_lost(void)
{
	const uint32_t walks = atomic_load(&sample_walks);
	const uint64_t now = pmc_now_ns();

	if (!atomic_load(&lost.since_ns) || atomic_load(&lost.walks) != walks) {
		atomic_store(&lost.walks, walks);
		atomic_store(&lost.since_ns, now);
	} else if (now - atomic_load(&lost.since_ns) > LOST_NS) {
		sample_dwarf_end();
		agent_note(NOTE_SAMPLE_LOST);
		agent_sample_stop();
	}
}

void agent_sample_fork_begin(void)
{
	if (!sample_ready() || !atomic_load(&signo))
		return;
	atomic_store(&sample_held, true);
	for (unsigned i = 0; atomic_load(&sample_walking) && i < PATIENCE; i++)
		sched_yield();
	if (atomic_load(&sample_walking))
		look_for_lost();
}

void agent_sample_fork_end(void)
{
	atomic_store(&sample_held, false);
}
