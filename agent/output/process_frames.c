/* SPDX-License-Identifier: MIT */
/* process_frames.c - PROCESS and EVENTSET frames of this process image. Async-signal-safe. */
#include "agent/output/output.h"

#include <sys/wait.h>

#include "agent/base/poison.h"

static void carry(uint64_t cpu_ns, uint64_t delay_ns, const struct pmc_usage *usage,
		  uint64_t words[ACCOUNT_WORDS])
{
	struct account_words carried = { .of[ACCOUNT_CPU] = cpu_ns, .of[ACCOUNT_DELAY] = delay_ns };

	account_put_usage(&carried, usage);
	memcpy(words, carried.of, sizeof(carried.of));
}

void agent_publish_process(void)
{
	const bool counting = atomic_load(&pmc_agent_control.counting);
	struct account_side side;

	agent_publish_image();
	pmc_agent_control.process.pid_namespace =
		agent.first ? agent.owner_ns : agent_pid_namespace();
	pmc_agent_control.process.cpus = pmc_cpus();
	carry(agent.reported.thread_cpu_ns, agent.reported.thread_delay_ns, &agent.reported.thread,
	      pmc_agent_control.carried_thread);
	carry(agent.reported.process_cpu_ns, 0, &agent.reported.process,
	      pmc_agent_control.carried_process);
	account_open(&side, 1, pmc_agent_control.carried_process, !counting);
	side.base[ACCOUNT_WALL] = side.at[ACCOUNT_WALL] = agent.start_ns;
	account_write(&pmc_agent_control.account, &side);
	if (!counting)
		atomic_fetch_add(&pmc_agent_control.switched, 1);
}

void agent_process_words(struct account_words *now, struct pmc_usage *usage)
{
	pmc_usage_process(usage);
	account_put_usage(now, usage);
	now->of[ACCOUNT_CPU] = pmc_process_cpu_ns();
	now->of[ACCOUNT_OVERHEAD] = atomic_load(&pmc_agent_control.overhead_ns);
	now->of[ACCOUNT_WALL] = pmc_now_ns();
	now->unknown = 0;
}

/* Whether child processes run that write to the same dump. One that has ended, and was not waited
 * for, cannot be stopped any more: with such children only, the kernel says ECHILD. */
static bool leaves_children(void)
{
	const char *out = agent.config.out;
	static siginfo_t info; /* not looked at */

	return !(agent.out && out && strstr(out, "%p")) && agent_permitted_last(AGENT_WAIT) &&
	       pmc_sys5(SYS_waitid, P_ALL, 0, &info, AGENT_WAIT_FLAGS, NULL) == 0;
}

void agent_process_frame(struct pmc_frame_buf *buf, uint64_t snapshot, enum pmc_ended how, int code)
{
	/* In the free end of the buffer, not on what may be a small signal stack. */
	struct {
		struct pmc_process_fixed fixed;
		struct account_words now;
		struct account_side side;
		struct pmc_usage usage;
	} *room = (void *)((char *)buf->data + ((buf->cap - sizeof(*room)) & ~(size_t)7));
	const struct reader reader = agent_reader(snapshot);
	struct pmc_process_fixed *fixed = &room->fixed;

	agent.text.boot_id = agent_boot_id();
	*fixed = pmc_agent_control.process;
	agent_process_words(&room->now, &room->usage);
	snapshot_process(&reader, &room->now, &room->side, fixed);
	fixed->ppid = (uint32_t)syscall(SYS_getppid);
	fixed->max_rss_bytes = room->usage.max_rss_bytes;
	fixed->children_cpu_ns = pmc_children_cpu_ns();
	fixed->end_ns = how == PMC_RUNNING ? 0 : fixed->time_ns;
	fixed->how_ended = (uint8_t)how;
	fixed->how_code = (uint8_t)code;
	if ((how == PMC_ENDED_EXIT || how == PMC_ENDED_SIGNAL) && leaves_children())
		fixed->flags |= PMC_PROCESS_LEFT;
	pmc_build_process(buf, agent.identity, snapshot, fixed, &agent.text);
}
