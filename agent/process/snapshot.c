/* SPDX-License-Identifier: MIT */
/* snapshot.c - appends the current state to the dump: rows, totals, notes, process. */
#include "agent/process/process.h"
#include "agent/base/agent.h"
#include "agent/core/base/clock.h"
#include "agent/output/file.h"
#include "agent/base/note.h"
#include "agent/region/region.h"
#include "agent/sample/sample.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/poison.h"
#include "agent/output/process_frames.h"
#include "agent/thread/thread.h"

#define CHUNK ((size_t)64 << 10)
/* The frames, and the usage of one thread. */
#define SINK_BYTES (CHUNK + sizeof(struct pmc_usage))
/* Room for the frames of the process itself: totals, notes, event sets. */
#define TAIL ((size_t)40 << 10)
/* Threads alive at the end of a process whose faults and switches are read from /proc. */
#define TASKS_READ_MOST 1024u

/* A snapshot has only rows and notes that changed since the last one, as most of many threads
 * sleep. || Frames are collected in memory: a process whose frames fit creates no private dump. */
struct sink {
	struct pmc_frame_buf buf;
};

static void drain(struct sink *sink)
{
	if (sink->buf.len == 0)
		return;
	agent_file_begin();
	agent_file_append(sink->buf.data, sink->buf.len);
	sink->buf.len = 0;
}

static void make_room(struct sink *sink, size_t bytes)
{
	if (sink->buf.cap - sink->buf.len < bytes)
		drain(sink);
}

/* An adopted thread ends without notice; its last snapshot remains its row. */
static bool adopted_is_gone(const struct slot *slot)
{
	uint64_t ns;

	return (slot->flags & PMC_THREAD_ADOPTED) && !pmc_thread_cpu_ns((int)slot->tid, &ns);
}

/* Faults, switches and times of another thread, at the end of the process and for OS events. At
 * 20 us each they are too expensive for other snapshots, and for very many threads. The result is
 * behind the frames, since the stack may be a small signal stack. */
__attribute__((noinline)) static const struct pmc_usage *usage_of(struct sink *sink, uint32_t tid)
{
	static unsigned tasks_read; /* at the end, in one thread */
	struct pmc_usage *usage = (struct pmc_usage *)(sink->buf.data + sink->buf.cap);

	if (!agent.plan.os && (atomic_load(&pmc_agent_control.state) != PMC_CONTROL_DONE ||
			       tasks_read++ >= TASKS_READ_MOST))
		return NULL;
	return pmc_usage_of_task(tid, (char *)sink->buf.data + sink->buf.len,
				 sink->buf.cap - sink->buf.len, usage) ?
		       usage :
		       NULL;
}

/* Not inlined: the stack frames would add up, perhaps on a small signal stack. */
__attribute__((noinline)) static void regions(struct sink *sink, struct slot *slot,
					      uint64_t snapshot)
{
	uint32_t record = 0;

	do {
		make_room(sink, REGION_FRAME_BYTES);
	} while (agent_region_next(&sink->buf, slot, snapshot, &record));
}

/* Not inlined, like regions(). */
__attribute__((noinline)) static void samples(struct sink *sink, struct slot *slot,
					      uint64_t snapshot)
{
	uint32_t part = 0;

	do {
		make_room(sink, SAMPLE_FRAME_BYTES);
	} while (agent_sample_next(&sink->buf, slot, snapshot, &part));
}

__attribute__((noinline)) static void stacks(struct sink *sink, uint64_t snapshot)
{
	const uint32_t lost = agent_file_lost();

	/* After a lost write they begin anew: that is for the next snapshot. */
	do {
		make_room(sink, SAMPLE_FRAME_BYTES);
	} while (agent_file_lost() == lost && agent_sample_tables_next(&sink->buf, snapshot));
}

static void rows(struct sink *sink, uint64_t snapshot, enum pmc_thread_state state)
{
	uint32_t high = atomic_load(&agent_registry.high);
	uint32_t me = (uint32_t)syscall(SYS_gettid);

	for (uint32_t i = 0; i < high; i++) {
		struct slot *slot = registry_slot(&agent_registry, i);

		if (!registry_pin(slot))
			continue;
		make_room(sink, AGENT_ROW_BYTES + PMC_TASK_ROOM);
		if (adopted_is_gone(slot))
			registry_retire(slot);
		else if (agent_row(&sink->buf, slot, snapshot, slot->tid == me,
				   slot->tid == me ? NULL : usage_of(sink, slot->tid), state)) {
			regions(sink, slot, snapshot);
			samples(sink, slot, snapshot);
		}
		registry_unpin(&agent_registry, slot);
	}
}

static bool sink_open(struct sink *sink)
{
	void *map =
		mmap(NULL, SINK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return false;
	pmc_frame_buf_init(&sink->buf, map, CHUNK);
	return true;
}

static void all(struct sink *sink, enum pmc_thread_state state, enum pmc_ended how, int code)
{
	uint64_t start = agent_overhead_clock(),
		 snapshot = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;

	if (agent.measured) {
		/* The end of the buffer is free: rows are built at its start. */
		agent_adopt((char *)sink->buf.data + sink->buf.cap - 4096, 4096);
		rows(sink, snapshot, state);
	}
	stacks(sink, snapshot);
	make_room(sink, TAIL);
	/* Totals are read after the rows that are subtracted from them. */
	agent_inherit_frames(&sink->buf, snapshot);
	agent_notes_frames(&sink->buf, snapshot, how != PMC_RUNNING);
	agent_overhead_add(agent_overhead_clock() - start);
	agent_process_frame(&sink->buf, snapshot, how, code);
	/* At the start and the end of a process image; see agent_process_header. */
	if (agent.plan.hash && how != PMC_RUNNING)
		pmc_plan_frame(&agent.plan, &sink->buf);
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
	struct sink sink;

	atomic_store(&pmc_agent_control.state, PMC_CONTROL_DONE);
	note_own_dumps();
	if (!sink_open(&sink))
		return;
	agent_file_follow();
	if (agent_self) {
		struct slot *self = agent_self;
		uint64_t snapshot = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;

		agent_sample_end(self);
		agent_regions_last();
		regions(&sink, self, snapshot);
		samples(&sink, self, snapshot);
		/* The calling thread ends here; the others are cut short. */
		registry_close(self);
		agent_row(&sink.buf, self, snapshot, true, NULL,
			  how == PMC_ENDED_SIGNAL ? PMC_THREAD_KILLED : PMC_THREAD_EXITED);
		registry_ended(&agent_registry, self->tid);
		/* A thread that is adopted now may get the slot. */
		agent_sample_release(self);
		registry_release(&agent_registry, self);
		agent_self = NULL;
	}
	all(&sink, how == PMC_ENDED_SIGNAL ? PMC_THREAD_KILLED : PMC_THREAD_LIVE, how, code);
	/* A short process needs one write only. */
	agent_file_no_header();
	drain(&sink);
	munmap(sink.buf.data, SINK_BYTES);
	agent_file_tidy();
}

/* The groups of the calling thread do not count the snapshot that it takes. Not inlined, like
 * resume_own(): the signal stack may be small. */
__attribute__((noinline)) static bool pause_own(struct slot *self)
{
	struct agent_groups groups;

	if (!self || !agent.plan.groups || !atomic_load(&pmc_agent_control.counting))
		return false;
	groups = agent_groups_of(self);
	agent_groups_disable(&groups);
	return true;
}

__attribute__((noinline)) static void resume_own(struct slot *self)
{
	const struct agent_groups groups = agent_groups_of(self);

	/* pmctl ctl stop may have come in between, or may come now. */
	if (atomic_load(&pmc_agent_control.counting))
		agent_groups_enable(&groups);
	if (!atomic_load(&pmc_agent_control.counting))
		agent_groups_disable(&groups);
}

static void take_snapshot(void)
{
	struct sink sink;

	if (!sink_open(&sink))
		return;
	if (agent_file_takes_snapshot()) {
		agent_file_begin();
		all(&sink, PMC_THREAD_LIVE, PMC_RUNNING, 0);
	} else {
		agent_notes_frames(&sink.buf, atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1,
				   false);
	}
	drain(&sink);
	munmap(sink.buf.data, SINK_BYTES);
}

void agent_snapshot(void)
{
	struct slot *self = agent_self;
	bool paused = pause_own(self);

	take_snapshot();
	if (paused)
		resume_own(self);
}

void agent_before_exec(void)
{
	struct sink sink;

	agent_tick_hold();
	/* Rows that pmctl reads from now on would be newer than the final ones. */
	atomic_fetch_add(&pmc_agent_control.leaving, 1);
	if (!sink_open(&sink))
		return;
	agent_regions_before_exec();
	all(&sink, PMC_THREAD_EXEC, PMC_ENDED_EXEC, 0);
	agent_file_no_header();
	drain(&sink);
	agent_file_flush();
	munmap(sink.buf.data, SINK_BYTES);
}

void agent_exec_failed(void)
{
	agent_regions_exec_failed();
	/* Newer than the frames with state exec; the rows follow when the threads end. */
	agent_process_state(atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1, PMC_RUNNING, 0);
	atomic_fetch_sub(&pmc_agent_control.leaving, 1);
	agent_tick_let();
}
