/* SPDX-License-Identifier: MIT */
/*
 * thread.c - the start and the end of a thread.
 *
 * The end is a destructor of thread-specific data: it runs after return, pthread_exit and
 * cancellation. If the host has destructors too, it re-arms itself until the last round, so that
 * those are counted.
 */
#include "agent/thread/thread.h"
#include "agent/base/real.h"

#include <linux/prctl.h>

/* Upper bound for the end of a thread without groups; usually 1 or 2 us. */
#define END_MOST_NS 20000u

__thread struct slot *agent_self;
static __thread unsigned rounds;
static pthread_key_t key;

/* Threads in the agent's work at their start or end. */
static _Atomic unsigned inside;

/* False: the agent has stopped, for a filter that kills for its calls, or for the end of the
 * process. */
static bool enter(void)
{
	atomic_fetch_add(&inside, 1);
	if (agent_is_on())
		return true;
	atomic_fetch_sub(&inside, 1);
	return false;
}

void agent_threads_settle(void)
{
	for (unsigned i = 0; atomic_load(&inside) && i < AGENT_PATIENCE; i++)
		pmc_wait_between(i);
}

/* The agent's overhead at the end of a thread. Without groups two readings of the CPU clock would
 * be a large part of it: the wall clock is used, up to END_MOST_NS (more means preemption). */
static uint64_t end_clock(bool groups)
{
	return groups ? agent_overhead_clock() : pmc_now_ns();
}

__attribute__((noinline)) void agent_thread_switch(struct slot *slot, unsigned long request)
{
	const struct snapshot_groups groups = agent_groups_of(slot);

	agent_groups_switch(&groups, request);
}

void agent_thread_stop(struct slot *slot)
{
	if (slot->n_fds && agent.plan.stops)
		agent_thread_switch(slot, PERF_EVENT_IOC_DISABLE);
}

void agent_thread_go_on(struct slot *slot)
{
	const _Atomic uint32_t *counting = &pmc_agent_control.counting;

	if (slot->n_fds && agent.plan.stops && atomic_load(counting))
		agent_thread_switch(slot, PERF_EVENT_IOC_ENABLE);
	/* By pmctl ctl stop, just now. */
	if (!atomic_load(counting))
		agent_thread_stop(slot);
}

static void end_thread(struct slot *slot)
{
	const size_t need = SNAPSHOT_ROW_BYTES(agent.plan.groups, agent.plan.opened);
	bool groups = slot->n_fds > 0;
	uint64_t start, ns, snapshot;
	struct pmc_frame_buf buf;

	agent_tick_thread(slot, false);
	agent_thread_stop(slot);
	start = end_clock(groups);
	agent_regions_end();
	agent_sample_end(slot);
	registry_close(slot);
	registry_ended(&agent_registry, slot->tid);
	agent_self = NULL;
	if (atomic_load(&agent.named_threads))
		pmc_sys2(SYS_prctl, PR_GET_NAME, slot->name); /* covers all ways to name it */
	/* As much stack as the row takes: a page of it more would be a page fault. */
	pmc_frame_buf_init(&buf, __builtin_alloca_with_align(need, 64), need);
	agent_file_begin();
	snapshot = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;
	agent_row(&buf, slot, snapshot, true, NULL, PMC_THREAD_EXITED);
	agent_file_append(buf.data, buf.len);
	agent_thread_frames(slot, snapshot);
	agent_sample_release(slot);
	registry_release(&agent_registry, slot);
	ns = end_clock(groups) - start;
	agent_overhead_add(groups || ns < END_MOST_NS ? ns : END_MOST_NS);
}

static void at_thread_end(void *arg)
{
	int saved = errno;

	if (atomic_load(&agent.key_destructors) && ++rounds < PTHREAD_DESTRUCTOR_ITERATIONS &&
	    pthread_setspecific(key, arg) == 0) {
		errno = saved;
		return;
	}
	if (agent_self && enter()) {
		end_thread(agent_self);
		atomic_fetch_sub(&inside, 1);
	} else if (agent_self) {
		/* The final snapshot is reading this slot: the CPU clock of a thread that has gone
		 * cannot be read. */
		agent_ending_wait(AGENT_WRITTEN);
	}
	agent_self = NULL;
	errno = saved;
}

bool agent_thread_move_fd(int fd)
{
	uint32_t high = atomic_load(&agent_registry.high);
	int *place = NULL;

	for (uint32_t i = 0; i < high && !place; i++) {
		struct slot *slot = registry_slot(&agent_registry, i);
		int *fds = set_fds(&agent_registry, slot->data);

		for (unsigned k = 0; k < slot->n_fds && !place; k++)
			place = fds[k] == fd ? &fds[k] : NULL;
	}
	if (!place)
		place = agent_inherit_find(fd);
	if (!place)
		return false;
	/* -1 without a free number: the count is lost, the host's call succeeds. */
	*place = agent_fds_move(fd);
	agent_fds_unmark(&fd, 1);
	return true;
}

/*
 * Takes the last key of glibc's first block of 32: glibc runs destructors in the order of keys, so
 * ours runs after the others of that block, and the host gets the numbers it would have had. A key
 * beyond that block would make pthread_setspecific call malloc.
 */
static int make_key(void)
{
	enum { LAST = 31 };
	pthread_key_t spare[LAST];
	unsigned n = 0;
	int error;

	while ((error = REAL(pthread_key_create)(&key, at_thread_end)) == 0 && key < LAST &&
	       n < LAST)
		spare[n++] = key;
	if ((error || key > LAST) && n > 0) {
		if (!error)
			pthread_key_delete(key);
		key = spare[--n];
		error = 0;
	}
	while (n > 0)
		pthread_key_delete(spare[--n]);
	return -error;
}

int agent_threads_init(void)
{
	int error = make_key();

	if (error)
		return error;
	registry_closer = agent_fds_close;
	/* Smaller capacities for a small limit. */
	for (uint32_t capacity = REGISTRY_CAPACITY; capacity >= 64; capacity /= 4) {
		error = registry_init(&agent_registry, agent.plan.groups, agent.plan.opened,
				      capacity);
		if (!error && !agent_crowds_out(agent_registry.map_bytes, 64))
			return 0;
		registry_fini(&agent_registry);
	}
	return -ENOMEM;
}

struct slot *agent_thread_reserve(void)
{
	struct slot *slot = registry_alloc(&agent_registry);

	if (!slot) {
		agent_note(NOTE_REGISTRY_FULL);
		return NULL;
	}
	slot->seq = atomic_fetch_add(&agent.next_seq, 1);
	slot->created_by = agent_self ? agent_self->seq : PMC_NO_SEQ;
	/* A thread inherits its creator's name and signal mask. */
	if (agent_self)
		memcpy(slot->name, agent_self->name, sizeof(slot->name));
	slot->blocked = agent_self ? agent_self->blocked : 0;
	return slot;
}

void agent_thread_reserve_groups(struct slot *slot)
{
	unsigned n = agent.plan.opened;

	if (n == 0)
		return;
	if (agent_fds_take(n)) {
		slot->n_fds = n;
		return;
	}
	slot->reason = PMC_REASON_FD_BUDGET;
	agent_note(NOTE_FD_BUDGET);
}

static void open_groups(struct slot *slot)
{
	int *fds = set_fds(&agent_registry, slot->data);
	const struct pmc_plan *user = &agent.user_plan;
	int error;

	if (slot->n_fds == 0)
		return;
	error = agent_groups_open(&agent.plan, 0, agent.plan.groups, PMC_PERF_SELF, fds,
				  set_ids(slot->data));
	/* A server that has dropped root can still count user mode. */
	if ((error == -EACCES || error == -EPERM) && user->opened) {
		agent_fds_unmark(fds, agent.plan.opened);
		pmc_perf_group_close(fds, agent.plan.opened);
		error = agent_groups_open(user, 0, user->groups, PMC_PERF_SELF, fds,
					  set_ids(slot->data));
		slot->flags |= SLOT_USER_ONLY;
		agent_file_begin();
		agent_file_append(user->frame, user->frame_bytes);
	}
	if (error == AGENT_NOT_ALLOWED) {
		slot->reason = EPERM;
	} else if (error) {
		slot->reason = (uint32_t)-error;
		agent_note(NOTE_THREAD_OPEN);
	}
}

/* Of the main thread the process ID: in a forked child libc may still have the parent's tid. From
 * the kernel with groups: libc's answer takes no system call but more user-mode instructions. */
static uint32_t own_tid(const struct slot *slot)
{
	uint32_t tid = slot->flags & PMC_THREAD_MAIN ? (uint32_t)agent.pid :
		       slot->n_fds		     ? 0 :
						       pmc_thread_tid();

	return tid ? tid : (uint32_t)pmc_sys1(SYS_gettid, 0);
}

/* For a thread that starts while counting is off. */
static void set_account(struct slot *slot, bool stopped)
{
	const struct reader own = agent_reader(0);
	struct account_side side;

	snapshot_account_open(&own, slot, stopped, &side);
	account_write(&agent_registry.accounts[registry_index(&agent_registry, slot)], &side);
}

/* Counting may have been switched on since, before the slot was live. */
static void start_account(struct slot *slot)
{
	struct account_side side;

	if (!atomic_load(&pmc_agent_control.switched))
		return;
	agent_account(slot, &side);
	if (side.stopped)
		set_account(slot, false);
}

/*
 * Kernel time for copying the inherit groups at a clone, and for freeing them at the thread's end,
 * cannot be measured here. Estimate, from `make bench`: half the time that the thread needs to open
 * as many events.
 */
static uint64_t inherited_ns(const struct slot *slot, uint64_t own_ns)
{
	const struct pmc_control_totals *threads = &pmc_agent_control.threads,
					*execs = &pmc_agent_control.execs;
	unsigned inherited = threads->first[threads->groups] + execs->first[execs->groups];

	return own_ns * inherited / slot->n_fds / 2;
}

static void begin_thread(struct slot *slot)
{
	/* Without events the two system calls for the clock would be a large part of the cost. */
	uint64_t start = pmc_now_ns(), cpu_ns = slot->n_fds ? agent_overhead_clock() : 0;
	const struct snapshot_groups groups = agent_groups_of(slot);

	agent_self = slot;
	slot->tid = own_tid(slot);
	slot->start_ns = start;
	pthread_setspecific(key, slot);
	open_groups(slot);
	if (!atomic_load(&pmc_agent_control.counting))
		set_account(slot, true);
	registry_live(slot);
	/* Its creator may have named it before its tid was in the slot. */
	if (!slot->name[0] || atomic_load(&agent.named_threads))
		pmc_sys2(SYS_prctl, PR_GET_NAME, slot->name);
	if (slot->reason)
		atomic_fetch_add(&pmc_agent_control.uncounted, 1);
	atomic_fetch_add(&pmc_agent_control.seen, 1);
	if (slot->n_fds) {
		cpu_ns = agent_overhead_clock() - cpu_ns;
		agent_overhead_add(cpu_ns + inherited_ns(slot, cpu_ns));
	}
	agent_sample_begin(slot);
	/* After the agent's work, which they would count; a tick switches them. Not after
	 * PMC_START=off or pmctl ctl stop. */
	if (atomic_load(&pmc_agent_control.counting)) {
		start_account(slot);
		agent_groups_switch(&groups, PERF_EVENT_IOC_ENABLE);
		/* pmctl ctl stop may have come in between. */
		if (!atomic_load(&pmc_agent_control.counting)) {
			agent_groups_switch(&groups, PERF_EVENT_IOC_DISABLE);
			set_account(slot, true);
		}
	}
	agent_tick_thread(slot, true);
}

void agent_thread_begin(struct slot *slot)
{
	if (!enter())
		return;
	begin_thread(slot);
	atomic_fetch_sub(&inside, 1);
}

void agent_thread_main(uint8_t blocked)
{
	struct slot *slot = agent_thread_reserve();
	int saved = errno;

	if (!slot)
		return;
	agent_thread_reserve_groups(slot);
	slot->flags |= PMC_THREAD_MAIN;
	slot->blocked = blocked;
	/* The fork may have been in a destructor, and beside other threads. */
	rounds = 0;
	atomic_store(&inside, 0);
	agent_thread_begin(slot);
	/* The agent's start-up is part of the main thread. */
	slot->start_ns = agent.start_ns;
	errno = saved;
}
