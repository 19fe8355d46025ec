/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - appends the current state to the dump: rows, totals, notes, process.
 *
 * A snapshot has only rows and notes that changed since the last one, as most of many threads
 * sleep. Frames are collected in memory: a process whose frames fit creates no private dump.
 */
#include "agent/process/process.h"
#include "lib/base/file.h"
#include "lib/base/proc.h"

#include <linux/futex.h>

#include "agent/base/poison.h"

/* Room for the frames of the process itself: totals, notes, event sets. */
#define TAIL ((size_t)40 << 10)
/* Threads alive at the end of a process whose faults and switches are read from /proc. */
#define TASKS_READ_MOST 1024u
/* They are not read if a CPU time of TASK_READ_US for each would delay the end of the process by
 * more than TASKS_READ_US, since others run on its CPUs.
 * Fewer than FEW_THREADS are read in any case. */
#define FEW_THREADS   16u
#define TASK_READ_US  50u
#define TASKS_READ_US 20000u
/* How long the end of a process waits for rows of threads that are ending: they may have lost their
 * CPU to others. */
#define ROWS_WAIT_NS UINT64_C(200000000)
/* At a fatal signal: the interrupted thread may hold a lock that ending threads wait for. */
#define ROWS_WAIT_SIGNAL_NS UINT64_C(20000000)

/* An adopted thread ends without notice; its last snapshot remains its row. */
static bool adopted_is_gone(const struct slot *slot)
{
	uint64_t ns;

	return (slot->flags & PMC_THREAD_ADOPTED) && !pmc_thread_cpu_ns((int)slot->tid, &ns);
}

/* At the end of a crowded process: no files of other threads are read. */
static bool is_crowded;

/* With several running threads for each CPU, a thread that has used up its time slice waits while
 * all others use theirs. Reading the files takes several slices: the end of a process with 200
 * threads that compute would take seconds. /proc/loadavg has the number of running threads as its
 * fourth field. Not inlined, for a small signal stack. */
__attribute__((noinline)) static void look_for_crowd(void)
{
	const uint64_t threads = atomic_load(&agent_registry.high);
	const unsigned cpus = pmc_agent_control.process.cpus;
	uint64_t running;
	char text[80];
	const char *at = text;

	if (threads < FEW_THREADS || !cpus ||
	    pmc_file_read_at(AT_FDCWD, "/proc/loadavg", text, sizeof(text)) <= 0)
		return;
	for (unsigned i = 0; i < 3 && at; i++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	is_crowded = at && pmc_number_take(&at, NULL, 10, &running) && running > 2 * cpus &&
		     threads * TASK_READ_US * running / cpus > TASKS_READ_US;
}

/* Faults, switches and times of another thread, at the end of the process and for OS events. At
 * 20 us each they are too expensive for other snapshots, and for very many threads. The result is
 * behind the frames, since the stack may be a small signal stack. */
__attribute__((noinline)) static const struct pmc_usage *usage_of(struct pmc_frame_buf *buf,
								  uint32_t tid)
{
	static unsigned tasks_read; /* at the end, in one thread */
	struct pmc_usage *usage = (struct pmc_usage *)(buf->data + buf->cap);

	if (is_crowded)
		return NULL;
	if (!agent.plan.os && !pmc_agent_control.usage &&
	    (atomic_load(&pmc_agent_control.state) != PMC_CONTROL_DONE ||
	     tasks_read++ >= TASKS_READ_MOST))
		return NULL;
	return pmc_usage_of_task(tid, (char *)buf->data + buf->len, buf->cap - buf->len, usage) ?
		       usage :
		       NULL;
}

/* Appends frames until `next` has no more. Not inlined: the stack frames would add up, perhaps on a
 * small signal stack. */
__attribute__((noinline)) static void
parts(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot, size_t most_bytes,
      bool (*next)(struct pmc_frame_buf *, struct slot *, uint64_t, uint32_t *))
{
	uint32_t part = 0;

	do {
		agent_buf_room(buf, most_bytes);
	} while (next(buf, slot, snapshot, &part));
}

static void regions_and_samples(struct pmc_frame_buf *buf, struct slot *slot, uint64_t snapshot)
{
	parts(buf, slot, snapshot, REGION_FRAME_BYTES, agent_region_next);
	parts(buf, slot, snapshot, SAMPLE_FRAME_BYTES, agent_sample_next);
}

__attribute__((noinline)) static void stacks(struct pmc_frame_buf *buf, uint64_t snapshot)
{
	const uint32_t lost = agent_file_lost();

	/* After a lost write they begin anew: that is for the next snapshot. */
	do {
		agent_buf_room(buf, SAMPLE_FRAME_BYTES);
	} while (agent_file_lost() == lost && agent_sample_tables_next(buf, snapshot));
}

void agent_thread_frames(struct slot *slot, uint64_t snapshot)
{
	const bool regions = agent_region_has(slot);
	struct pmc_frame_buf buf;

	if (!regions && !agent_sample_has(slot))
		return;
	if (!agent_buf_open(&buf, AGENT_CHUNK)) {
		if (regions)
			agent_note(NOTE_REGION_MEMORY);
		return;
	}
	regions_and_samples(&buf, slot, snapshot);
	stacks(&buf, snapshot);
	agent_buf_close(&buf);
}

/* A thread that is ending writes its last row itself, unless the end of the process cuts it off. */
static void await_row(const struct slot *slot, uint64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	uint32_t word;

	/* A futex that nobody wakes, since filters that allow threads allow it. */
	while (registry_is_ending(word = atomic_load(&slot->word)) && pmc_now_ns() < until_ns)
		pmc_sys4(SYS_futex, &slot->word, FUTEX_WAIT_PRIVATE, word, &pause);
}

static void rows(struct pmc_frame_buf *buf, uint64_t snapshot, enum pmc_thread_state state,
		 uint64_t wait_ns)
{
	const uint64_t until_ns = pmc_now_ns() + wait_ns;
	uint32_t high = atomic_load(&agent_registry.high);
	uint32_t me = 0;

	for (uint32_t i = 0; i < high; i++) {
		struct slot *slot = registry_slot(&agent_registry, i);

		const bool pinned = registry_pin(slot);

		if (!pinned && !(wait_ns && registry_is_ending(atomic_load(&slot->word))))
			continue;
		if (!me)
			me = (uint32_t)syscall(SYS_gettid);
		if (!pinned) {
			/* A handler of the host may have interrupted this thread's end. */
			if (slot->tid != me)
				await_row(slot, until_ns);
			continue;
		}
		agent_buf_room(buf,
			       SNAPSHOT_ROW_BYTES(PMC_EVENTS_MAX, PMC_EVENTS_MAX) + PMC_TASK_ROOM);
		if (adopted_is_gone(slot))
			registry_retire(slot);
		else if (agent_row(buf, slot, snapshot, slot->tid == me,
				   slot->tid == me ? NULL : usage_of(buf, slot->tid), state))
			regions_and_samples(buf, slot, snapshot);
		registry_unpin(&agent_registry, slot);
	}
}

/* start: of the work for this snapshot, by agent_overhead_clock(). The last snapshot counts twice:
 * writing it takes about as long as building it. */
static void all(struct pmc_frame_buf *buf, uint64_t start, enum pmc_thread_state state,
		enum pmc_ended how, int code)
{
	uint64_t snapshot = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;

	if (agent.measured) {
		/* The end of the buffer is free: rows are built at its start. */
		agent_adopt((char *)buf->data + buf->cap - 4096, 4096);
		rows(buf, snapshot, state,
		     how == PMC_RUNNING	     ? 0 :
		     how == PMC_ENDED_SIGNAL ? ROWS_WAIT_SIGNAL_NS :
					       ROWS_WAIT_NS);
	}
	stacks(buf, snapshot);
	agent_buf_room(buf, TAIL);
	/* Totals are read after the rows that are subtracted from them. */
	agent_inherit_frames(buf, snapshot);
	agent_notes_frames(buf, snapshot, how != PMC_RUNNING);
	agent_overhead_add((agent_overhead_clock() - start) << (how != PMC_RUNNING));
	agent_process_frame(buf, snapshot, how, code);
	/* At the start and the end of a process image; see agent_process_header. */
	if (agent.plan.hash && how != PMC_RUNNING)
		pmc_plan_frame(&agent.plan, buf);
}

/* The report of the first process has no rows of its descendants. */
static void note_own_dumps(void)
{
	const char *out = agent.config.out;

	if (agent.first && agent.out && out && strstr(out, "%p") && pmc_children_cpu_ns())
		agent_note(NOTE_OWN_DUMPS);
}

void agent_final(enum pmc_ended how, int code)
{
	const uint64_t start = agent_overhead_clock();
	struct pmc_frame_buf buf;

	atomic_store(&pmc_agent_control.state, PMC_CONTROL_DONE);
	note_own_dumps();
	look_for_crowd();
	if (!agent_buf_open(&buf, AGENT_CHUNK))
		return;
	agent_file_follow();
	if (agent_self) {
		struct slot *self = agent_self;
		uint64_t snapshot = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;

		agent_thread_stop(self);
		agent_sample_end(self);
		agent_regions_last();
		regions_and_samples(&buf, self, snapshot);
		/* The calling thread ends here; the others are cut short. */
		registry_close(self);
		agent_row(&buf, self, snapshot, true, NULL,
			  how == PMC_ENDED_SIGNAL ? PMC_THREAD_KILLED : PMC_THREAD_EXITED);
		registry_ended(&agent_registry, self->tid);
		/* A thread that is adopted now may get the slot. */
		agent_sample_release(self);
		registry_release(&agent_registry, self);
		agent_self = NULL;
	}
	all(&buf, start, how == PMC_ENDED_SIGNAL ? PMC_THREAD_KILLED : PMC_THREAD_LIVE, how, code);
	/* A short process needs one write only. */
	agent_file_no_header();
	agent_buf_close(&buf);
}

static void take_snapshot(void)
{
	struct pmc_frame_buf buf;

	if (!agent_buf_open(&buf, AGENT_CHUNK))
		return;
	if (agent_file_takes_snapshot()) {
		agent_file_begin();
		all(&buf, agent_overhead_clock(), PMC_THREAD_LIVE, PMC_RUNNING, 0);
	} else {
		agent_notes_frames(&buf, atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1,
				   false);
	}
	agent_buf_close(&buf);
}

void agent_snapshot(void)
{
	const _Atomic uint32_t *counting = &pmc_agent_control.counting;
	struct slot *self = agent_self;
	/* The groups of the calling thread do not count the snapshot that it takes. */
	const bool pauses = self && agent.plan.groups && atomic_load(counting);

	if (pauses)
		agent_thread_switch(self, PERF_EVENT_IOC_DISABLE);
	take_snapshot();
	/* pmctl ctl stop may have come in between, or may come now. */
	if (pauses && atomic_load(counting))
		agent_thread_switch(self, PERF_EVENT_IOC_ENABLE);
	if (pauses && !atomic_load(counting))
		agent_thread_switch(self, PERF_EVENT_IOC_DISABLE);
}

void agent_before_exec(void)
{
	struct pmc_frame_buf buf;

	agent_tick_hold();
	/* Rows that pmctl reads from now on would be newer than the final ones. */
	atomic_fetch_add(&pmc_agent_control.leaving, 1);
	if (!agent_buf_open(&buf, AGENT_CHUNK))
		return;
	agent_regions_before_exec();
	all(&buf, agent_overhead_clock(), PMC_THREAD_EXEC, PMC_ENDED_EXEC, 0);
	agent_file_no_header();
	agent_buf_close(&buf);
	agent_file_flush();
	/* The kernel closes its events after those of the exec group have begun: not all may fit.
	 */
	if (agent_self)
		agent_thread_stop(agent_self);
}

void agent_exec_failed(void)
{
	if (agent_self)
		agent_thread_go_on(agent_self);
	agent_regions_exec_failed();
	/* Newer than the frames with state exec; the rows follow when the threads end. */
	agent_process_state(atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1, PMC_RUNNING, 0);
	atomic_fetch_sub(&pmc_agent_control.leaving, 1);
	agent_tick_let();
}
