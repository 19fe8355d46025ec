/* SPDX-License-Identifier: MIT */
/* process.c - PROCESS and EVENTSET frames of this process image. Async-signal-safe. */
#include "agent/process.h"
#include "agent/agent.h"
#include "agent/core/clock.h"
#include "agent/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static size_t boot_id(char text[37])
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/sys/kernel/random/boot_id",
			      O_RDONLY | O_CLOEXEC);
	long n = 0;

	if (fd >= 0) {
		n = syscall(SYS_read, fd, text, 36);
		syscall(SYS_close, fd);
	}
	return n > 0 ? (size_t)n : 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void agent_process_frame(struct pmc_frame_buf *buf, uint64_t snapshot, enum pmc_ended how, int code)
{
	struct pmc_process_fixed fixed = {
		.pid = (uint32_t)agent.pid,
		.ppid = (uint32_t)syscall(SYS_getppid),
		.start_ns = agent.start_ns,
		.cpu_ns = less(pmc_process_cpu_ns(), agent.reported.process_cpu_ns),
		.pre_cpu_ns = agent.pre_cpu_ns,
		.threads_seen = atomic_load(&agent.seen),
		.threads_counted = atomic_load(&agent.counted),
		.self_ns = atomic_load(&agent.self_ns),
		.eventset = agent.plan.hash,
		.how_ended = (uint8_t)how,
		.how_code = (uint8_t)code,
		.inherit_mode = (uint8_t)agent.inherit,
		.rank = agent.rank,
	};
	struct pmc_usage usage;
	struct utsname host;
	char boot[37];

	pmc_usage_process(&usage);
	fixed.minor_faults = less(usage.minor_faults, agent.reported.process.minor_faults);
	fixed.major_faults = less(usage.major_faults, agent.reported.process.major_faults);
	fixed.voluntary_switches =
		less(usage.voluntary_switches, agent.reported.process.voluntary_switches);
	fixed.involuntary_switches =
		less(usage.involuntary_switches, agent.reported.process.involuntary_switches);
	fixed.max_rss_bytes = usage.max_rss_bytes;
	fixed.time_ns = pmc_now_ns();
	fixed.end_ns = how == PMC_RUNNING ? 0 : fixed.time_ns;
	fixed.flags = (uint8_t)((agent.first ? PMC_PROCESS_FIRST : 0) |
				(agent.covered ? PMC_PROCESS_COVERED : 0) |
				(agent.forked ? PMC_PROCESS_FORKED : 0));
	memcpy(fixed.parent_identity, agent.parent, 16);
	memcpy(fixed.job, agent.job, 16);
	if (uname(&host) != 0)
		host.nodename[0] = '\0';

	pmc_frame_begin(buf, PMC_FRAME_PROCESS, agent.identity, snapshot, &fixed, sizeof(fixed));
	pmc_frame_str(buf, host.nodename, strlen(host.nodename));
	pmc_frame_str(buf, boot, boot_id(boot));
	pmc_frame_str(buf, agent.exe, strlen(agent.exe));
	pmc_frame_str(buf, agent.cmdline, strlen(agent.cmdline));
	pmc_frame_end(buf);
}

void agent_eventset_frame(struct pmc_frame_buf *buf)
{
	if (agent.plan.hash)
		pmc_plan_frame(&agent.plan, buf);
}

void agent_process_header(void)
{
	_Alignas(8) uint8_t room[6144];
	struct pmc_frame_buf buf;

	pmc_frame_buf_init(&buf, room, sizeof(room));
	agent_process_frame(&buf, AGENT_HEADER_SNAPSHOT, PMC_RUNNING, 0);
	agent_file_append(buf.data, buf.len);
	/* A long event list does not fit a small thread's stack: it was framed at the start. */
	agent_file_append(agent.eventset_frame, agent.eventset_bytes);
}
