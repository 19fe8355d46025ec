/* SPDX-License-Identifier: MIT */
/*
 * thread.c - what happens at a thread's begin and end.
 *
 * The end is a TSD destructor: it runs after return, pthread_exit and cancellation alike. Where the
 * host has destructors too it re-arms itself to the last round, so that those are counted.
 */
#include "agent/thread/thread.h"
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/core/base/clock.h"
#include "agent/core/count/group.h"
#include "agent/core/base/sys.h"
#include "agent/output/file.h"
#include "agent/base/real.h"
#include "agent/base/note.h"
#include "agent/base/seccomp_probe.h"
#include "agent/thread/inherit_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REGISTRY_CAPACITY (1u << 17)
#define SMALL_ROW	  640u
/* The end of a thread without groups takes 1 or 2 us, more where its row begins a page. */
#define END_MOST_NS 20000u
/* All of the first so many are timed, then one of so many. */
#define END_TIMED 16u
/* No error of the kernel's: it was not asked. */
#define AGENT_NOT_ALLOWED 1

void (*_Atomic agent_thread_ending)(void);
static __thread unsigned rounds;
static pthread_key_t key;

static void at_thread_end(void *arg)
{
	int saved = errno;

	if (atomic_load_explicit(&agent.key_destructors, memory_order_relaxed) &&
	    ++rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(key, arg) == 0) {
		errno = saved;
		return;
	}
	if (agent_self && atomic_load(&pmc_agent_control.state) == PMC_CONTROL_ON)
		agent_thread_end(agent_self, PMC_THREAD_EXITED);
	else if (agent_self)
		/* The process ends and its last rows are being read, ours too: a thread that were
		 * gone by then would have no CPU time. */
		agent_final_wait();
	agent_self = NULL;
	errno = saved;
}

bool agent_thread_move_fd(int fd)
{
	uint32_t high = atomic_load(&agent_registry.high);
	int *place = NULL;

	for (uint32_t i = 0; i < high && !place; i++) {
		struct slot *slot = registry_slot(&agent_registry, i);

		place = registry_find_fd(&agent_registry, slot, fd);
	}
	if (!place)
		place = agent_totals_find(fd);
	if (!place)
		return false;
	/* Without a number to spare the count is lost, not the host's call. */
	*place = agent_fds_move(fd);
	return true;
}

/* Whether the mapping takes more than a small part of the address space the host may have. */
static bool crowds_out(const struct registry *registry)
{
	struct rlimit space;

	return syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &space) == 0 &&
	       space.rlim_cur != RLIM_INFINITY && registry->map_bytes > space.rlim_cur / 64;
}

/*
 * glibc goes through the keys of a block in order, after our destructor through all that are left.
 * Ours is the last of the first block, so that this happens before the row is read, and the host's
 * keys have the numbers they would have had. Beyond that block a value would take malloc.
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
	/* Under a small RLIMIT_AS fewer threads are better than none. */
	for (uint32_t capacity = REGISTRY_CAPACITY; capacity >= 64; capacity /= 4) {
		error = registry_init(&agent_registry, agent.plan.groups, agent.plan.opened,
				      capacity);
		if (!error && !crowds_out(&agent_registry))
			return 0;
		registry_fini(&agent_registry);
	}
	return -ENOMEM;
}

static void name_now(char name[16])
{
	/* A system call of 0.1 µs; sees every way a thread may have been named. */
	pmc_sys2(SYS_prctl, PR_GET_NAME, name);
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
	/* A thread begins with its creator's name. */
	if (agent_self)
		memcpy(slot->name, agent_self->name, sizeof(slot->name));
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

static int open_plan(struct slot *slot, const struct pmc_plan *plan, int *fds)
{
	int error = 0, move_to = agent_fds_window_open();

	/* Within the window, which no filter for all threads comes into. */
	if (!agent_perf_allowed()) {
		agent_fds_window_close();
		return AGENT_NOT_ALLOWED;
	}
	for (unsigned g = 0; g < plan->groups; g++) {
		int failed = pmc_plan_open_group(plan, g, PMC_GROUP_OWN, 0, -1, move_to,
						 fds + plan->first[g], &set_ids(slot->data)[g]);

		error = error ? error : failed;
	}
	/* Nor a fork: a child closes the copies that are marked. */
	agent_fds_mark(fds, plan->opened);
	agent_fds_window_close();
	return error;
}

static void open_groups(struct slot *slot, int *fds)
{
	const struct pmc_plan *user = &agent.user_plan;
	int error;

	if (slot->n_fds == 0)
		return;
	error = open_plan(slot, &agent.plan, fds);
	/* A server that has given up root may still count user mode. */
	if ((error == -EACCES || error == -EPERM) && user->opened) {
		agent_fds_unmark(fds, agent.plan.opened);
		pmc_group_close(fds, agent.plan.opened);
		error = open_plan(slot, user, fds);
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

static inline void enable_groups(const int *fds)
{
	const struct pmc_plan *plan = &agent.plan;

	for (unsigned g = 0; g < plan->groups; g++)
		if (fds[plan->first[g]] >= 0)
			pmc_group_enable(fds[plan->first[g]]);
}

void agent_thread_enable(struct slot *slot)
{
	enable_groups(set_fds(&agent_registry, slot->data));
}

static void disable_groups(const int *fds)
{
	const struct pmc_plan *plan = &agent.plan;

	for (unsigned g = 0; g < plan->groups; g++)
		if (fds[plan->first[g]] >= 0)
			pmc_group_disable(fds[plan->first[g]]);
}

/* The thread that forked asks the kernel: libc may not know yet that it has another tid. Where
 * user mode is counted libc would be dearer: its answer takes no system call, but instructions. */
static uint32_t own_tid(const struct slot *slot)
{
	uint32_t tid = slot->n_fds || slot->flags & PMC_THREAD_MAIN ? 0 : pmc_thread_tid();

	return tid ? tid : (uint32_t)pmc_sys1(SYS_gettid, 0);
}

void agent_thread_begin(struct slot *slot)
{
	/* Two more system calls would be a good part of what a thread without events costs. */
	uint64_t start = pmc_now_ns(), cpu_ns = slot->n_fds ? agent_self_clock() : 0;
	int *fds = set_fds(&agent_registry, slot->data);

	agent_self = slot;
	slot->tid = own_tid(slot);
	slot->start_ns = start;
	if (!slot->name[0])
		name_now(slot->name);
	pthread_setspecific(key, slot);
	open_groups(slot, fds);
	registry_live(slot);
	/* PMC_START=off, or pmctl ctl stop: the groups wait. */
	if (atomic_load(&pmc_agent_control.counting)) {
		enable_groups(fds);
		/* A stop from outside may have passed between the two. */
		if (!atomic_load(&pmc_agent_control.counting))
			disable_groups(fds);
	}
	/* What can wait until the thread counts does: the less of it is outside the rows, the less
	 * is unattributed. */
	if (slot->reason)
		atomic_fetch_add_explicit(&pmc_agent_control.uncounted, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&pmc_agent_control.seen, 1, memory_order_relaxed);
	if (slot->n_fds)
		agent_self_add(agent_self_clock() - cpu_ns);
}

void agent_thread_main(void)
{
	struct slot *slot = agent_thread_reserve();

	int saved = errno;

	if (!slot)
		return;
	agent_thread_reserve_groups(slot);
	slot->flags |= PMC_THREAD_MAIN;
	/* It may have forked in one of its destructors. */
	rounds = 0;
	agent_thread_begin(slot);
	/* Our own start-up is the main thread's time too. */
	slot->start_ns = agent.start_ns;
	errno = saved;
}

/*
 * Two readings of the CPU clock are a good part of what the end of a thread without groups costs.
 * It goes by the wall clock, up to a bound: beyond that another thread had the CPU. Even that is
 * read for some of them only, which stand for the others.
 */
static uint64_t end_clock(bool groups, uint64_t seq)
{
	if (groups)
		return agent_self_clock();
	return seq < END_TIMED || seq % END_TIMED == 0 ? pmc_now_ns() : 0;
}

static void end_cost(bool groups, uint64_t seq, uint64_t start)
{
	uint64_t ns = end_clock(groups, seq) - start;

	if (groups)
		agent_self_add(ns);
	else if (ns)
		agent_self_add((seq < END_TIMED ? 1 : END_TIMED) *
			       (ns < END_MOST_NS ? ns : END_MOST_NS));
}

static void end_in(struct slot *slot, enum pmc_thread_state state, void *room, size_t bytes)
{
	bool groups = slot->n_fds > 0;
	uint64_t seq = slot->seq, start = end_clock(groups, seq), snapshot;
	void (*ending)(void) = atomic_load(&agent_thread_ending);
	struct pmc_frame_buf buf;

	if (ending)
		ending();
	registry_close(slot);
	registry_ended(&agent_registry, slot->tid);
	agent_self = NULL;
	if (atomic_load_explicit(&agent.named_threads, memory_order_relaxed))
		name_now(slot->name);
	pmc_frame_buf_init(&buf, room, bytes);
	agent_file_begin();
	snapshot = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;
	agent_row(&buf, slot, snapshot, true, NULL, state, 0);
	agent_file_append(buf.data, buf.len);
	registry_release(&agent_registry, slot);
	end_cost(groups, seq, start);
}

/* Each in a frame of its own: a row of many events must not cost every thread a page of stack. */
__attribute__((noinline)) static void end_small(struct slot *slot, enum pmc_thread_state state)
{
	_Alignas(8) uint8_t room[SMALL_ROW];

	end_in(slot, state, room, sizeof(room));
}

__attribute__((noinline)) static void end_large(struct slot *slot, enum pmc_thread_state state)
{
	_Alignas(8) uint8_t room[AGENT_ROW_BYTES];

	end_in(slot, state, room, sizeof(room));
}

void agent_thread_end(struct slot *slot, enum pmc_thread_state state)
{
	size_t need = AGENT_LINE + AGENT_ROW_HEAD + agent.plan.groups * sizeof(struct pmc_reading) +
		      (agent.plan.opened + PMC_GROUP_WORDS(agent.plan.opened)) * sizeof(uint64_t);

	if (need <= SMALL_ROW)
		end_small(slot, state);
	else
		end_large(slot, state);
}
