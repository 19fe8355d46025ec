/* SPDX-License-Identifier: MIT */
/*
 * sample_thread.c - the event that is sampled: chosen from PMC_SAMPLE; opened, switched and closed
 * in each thread.
 */
#include "agent/sample/private.h"

#include "agent/base/poison.h"

/* Where the handler takes a tenth of the period at most. */
#define AHEAD_PERIOD_NS 500000u

/* ---- which event ----------------------------------------------------------------------------- */

struct sample_event sample_event;
bool sample_reads;

static struct pmc_event event;
static struct pmc_plan plan; /* of the event alone, with sample_event.attr */

static void make_attr(void)
{
	const struct pmc_config_sample *asked = &agent.config.sample;
	const bool clock = pmc_event_is_clock(&event);
	struct pmc_attr *attr = &sample_event.attr;

	/* A signal for an overflow in the kernel would interrupt system calls of the program. */
	pmc_perf_sample_attr(&event, asked, attr);
	attr->base.remove_on_exec = 1;
	attr->base.wakeup_events = 1;
	sample_event.period = attr->base.freq ? 0 : attr->base.sample_period;
	sample_tables.like.frequency = asked->frequency;
	sample_tables.like.period = asked->period;
	/* Clocks count kernel mode, too, in which no samples are taken: a reading would put that
	 * time on the next sample. */
	sample_event.by_reading = !clock;
	/* A clock that goes on spares the kernel stopping and starting a timer at each sample. */
	sample_event.ahead = clock && sample_event.period >= AHEAD_PERIOD_NS ? 2 : 1;
}

static int parse(const char *name, char why[256])
{
	struct pmc_parse_error error = { .error = 0 };
	struct pmc_events events;

	why[0] = '\0';
	if (pmc_events_parse(name, NULL, &agent.arena, &events, &error) != 0) {
		memcpy(why, error.text, sizeof(error.text));
		return -EINVAL;
	}
	event = events.list[0];
	event.pinned = false;
	make_attr();
	return 0;
}

/* 0 or -errno. */
static int try_open(void)
{
	int fd, error;
	uint64_t id;

	if (!agent_permitted(AGENT_PERF))
		return -EPERM;
	error = pmc_perf_group_open(&sample_event.attr, 1, &PMC_PERF_SELF, &fd, &id);
	if (error == -EINVAL && sample_event.attr.base.remove_on_exec) {
		sample_event.attr.base.remove_on_exec = 0; /* Linux before 5.13 */
		error = pmc_perf_group_open(&sample_event.attr, 1, &PMC_PERF_SELF, &fd, &id);
	}
	if (!error)
		pmc_perf_group_close(&fd, 1);
	return error;
}

bool agent_sample_wanted(void)
{
	return agent.config.sample.on || agent.config.stacks;
}

int agent_sample_configure(char why[256])
{
	const struct pmc_config_sample *asked = &agent.config.sample;
	char *name;
	int error;

	if (!asked->on)
		return 0;
	name = asked->event_len ? pmc_arena_strndup(&agent.arena, asked->event, asked->event_len) :
				  pmc_arena_strdup(&agent.arena, "cycles");
	if (!name)
		return 0;
	error = parse(name, why);
	if (error)
		return asked->event_len ? error : 0;
	if (pmc_sample_refusal(&event, asked, why))
		return -EINVAL;
	error = try_open();
	if (error && !asked->event_len && parse("task-clock", why) == 0)
		error = try_open();
	sample_event.on = !error;
	if (error)
		agent_note(NOTE_SAMPLE_EVENT);
	return 0;
}

/* With its EVENTSET frame, for all dumps. */
static void make_plan(void)
{
	const bool unfiltered = pmc_event_filter(&event) == PMC_UNFILTERED;
	static struct pmc_planned planned;

	planned.event = event;
	planned.event.scale = 1;
	planned.scope = unfiltered ? PMC_SCOPE_ALL : PMC_SCOPE_USER;
	planned.flags = unfiltered ? PMC_EVENT_UNFILTERED : 0;
	plan.events = &planned;
	plan.count = plan.readings = plan.first[1] = 1;
	if (sample_event.on && pmc_plan_seal(&plan, &agent.arena) == 0) {
		sample_tables.like.eventset = plan.hash;
		sample_tables.eventset_frame = (uint64_t)(uintptr_t)plan.frame;
		sample_tables.eventset_bytes = plan.frame_bytes;
	}
	plan.attrs = &sample_event.attr;
}

/* ---- of each thread -------------------------------------------------------------------------- */

static _Atomic int signal_number; /* 0: no sampling */

struct sample_thread *sample_of(const struct slot *slot)
{
	struct sample_thread *threads = sample_area(AREA_THREADS);

	return threads ? &threads[registry_index(&agent_registry, slot)] : NULL;
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

	if (!atomic_load(&signal_number))
		return true;
	handled = sample_event.ahead - atomic_exchange(&thread->left, sample_event.ahead);
	if (handled > 0)
		pmc_perf_ioctl(fd, PERF_EVENT_IOC_REFRESH, (void *)(intptr_t)handled);
	return handled > 0;
}

void sample_disarm(int fd)
{
	if (atomic_load(&signal_number))
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

/* 0: it is not sampled. */
static int number_of(const struct slot *slot)
{
	return atomic_load(&signal_number) ? agent_own_signal_of(slot) : 0;
}

bool sample_open(struct slot *slot, struct sample_thread *thread)
{
	const struct pmc_perf_target target = { .pid = (int)slot->tid, .cpu = -1 };
	const int number = number_of(slot);
	int fd = -1;

	if (!number || !agent_fds_take(1))
		return false;
	if (agent_groups_open(&plan, 0, 1, target, &fd, &thread->id) != 0 ||
	    route(fd, slot, number) != 0) {
		agent_fds_close(&fd, 1);
		return false;
	}
	thread->off = thread->last = 0;
	atomic_store(&thread->left, 0);
	atomic_store(&thread->fd, fd + 1);
	return true;
}

void agent_sample_begin(struct slot *slot)
{
	struct sample_thread *thread = sample_of(slot);

	if (!thread || !atomic_load(&signal_number) || !sample_event.on ||
	    slot->flags & PMC_THREAD_ADOPTED)
		return;
	if (!sample_open(slot, thread)) {
		agent_note(NOTE_SAMPLE_OPEN);
		return;
	}
	/* If counting is switched on from outside, nobody arms it: samples are dropped until
	 * then. */
	if (!agent.config.delay || atomic_load(&pmc_agent_control.counting))
		arm(thread, atomic_load(&thread->fd) - 1);
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
	thread->enabled_ns += reading.enabled_ns;
	thread->running_ns += reading.running_ns;
	thread->value += words[0] - thread->off;
}

void sample_close(struct sample_thread *thread)
{
	int fd = atomic_load(&thread->fd) - 1;

	if (pmc_perf_is_event(fd, thread->id)) {
		sample_disarm(fd);
		read_last(thread, fd);
	}
	atomic_store(&thread->fd, 0);
	agent_fds_close(&fd, 1);
}

void agent_sample_end(struct slot *slot)
{
	struct sample_thread *thread;

	if (event_of(slot, &thread) >= 0)
		sample_close(thread);
	else if (thread)
		sample_timed_end(thread);
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
	thread->from_ns = thread->from_switches = thread->looked_ns = 0;
	thread->timed = thread->flags = 0;
	thread->samples = thread->lost = thread->truncated = thread->reset_ns = 0;
	thread->had = 0;
}

static void route_again(struct slot *slot)
{
	struct sample_thread *thread;
	int fd = event_of(slot, &thread), number = number_of(slot);

	if (fd < 0)
		return;
	if (!number || route(fd, slot, number) != 0)
		pmc_perf_group_disable(fd);
}

void agent_sample_route(struct slot *slot)
{
	/* A filter may kill for it. */
	if (atomic_load(&signal_number))
		route_again(slot);
}

void agent_sample_moved(int number)
{
	if (!sample_event.on || !atomic_load(&signal_number))
		return;
	if (!number)
		agent_note(NOTE_SAMPLE_STOPPED);
	atomic_store(&signal_number, number);
	registry_each(&agent_registry, route_again);
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
	struct sample_thread *threads = sample_area(AREA_THREADS);

	for (uint32_t i = 0; threads && i < high; i++) {
		if (atomic_load_explicit(&threads[i].fd, memory_order_relaxed) != fd + 1)
			continue;
		/* 0 without a free number: sampling of that thread ends. */
		atomic_store(&threads[i].fd, agent_fds_move(fd) + 1);
		agent_fds_unmark(&fd, 1);
		return true;
	}
	return false;
}

void agent_sample_forked(void)
{
	struct sample_thread *threads = sample_area(AREA_THREADS);
	uint32_t high = atomic_load(&agent_registry.high);

	if (!threads)
		return;
	for (uint32_t i = 0; i < high; i++)
		sample_counts_free(&threads[i]);
	sample_dwarf_forked();
	sample_area_forked();
}

/* ---- start ----------------------------------------------------------------------------------- */

void agent_sample_start(int signo)
{
	if (!agent_sample_wanted() || sample_area_init(agent_registry.capacity) != 0)
		return;
	if (agent.config.unwind == PMC_UNWIND_DWARF && !sample_dwarf_init())
		agent_note(NOTE_SAMPLE_FP);
	if (sample_event.on && !signo)
		agent_note(NOTE_SAMPLE_STOPPED);
	/* Found out here, so that handlers need not. */
	sample_reads = agent_permitted(AGENT_READ);
	make_plan();
	sample_tables.creation = agent.config.stacks;
	atomic_store(&signal_number, signo);
	if (signo)
		registry_each(&agent_registry, agent_sample_begin);
	pmc_agent_control.samples = (uint64_t)(uintptr_t)&sample_tables;
}
