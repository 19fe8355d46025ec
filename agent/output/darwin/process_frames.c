/* SPDX-License-Identifier: MIT */
/* process_frames.c - the PROCESS and EVENTSET frames of this process image on macOS. */
#include "agent/output/output.h"

#include <sys/sysctl.h>

static const char *boot_id(void)
{
	static char text[40];
	size_t bytes = sizeof(text) - 1;

	if (!text[0] && sysctlbyname("kern.bootsessionuuid", text, &bytes, NULL, 0) != 0)
		text[0] = '\0';
	return text;
}

/* The usage of the process before this image: after an exec the kernel's counts go on. */
static struct {
	uint64_t cpu_ns;
	struct pmc_usage usage;
} before;

void agent_publish_process(void)
{
	uint64_t cpu_ns = pmc_process_cpu_ns(), own_ns;

	agent_publish_image();
	memset(&before, 0, sizeof(before));
	pmc_thread_cpu_ns(0, &own_ns);
	if (cpu_ns <= own_ns)
		return;
	before.cpu_ns = cpu_ns - own_ns;
	pmc_usage_process(&before.usage);
}

void agent_process_frame(struct pmc_frame_buf *buf, uint64_t snapshot, enum pmc_ended how, int code)
{
	struct pmc_process_fixed fixed = pmc_agent_control.process;
	struct pmc_usage usage;

	agent.text.boot_id = boot_id();
	pmc_usage_process(&usage);
	fixed.ppid = (uint32_t)getppid();
	fixed.time_ns = pmc_now_ns();
	fixed.end_ns = how == PMC_RUNNING ? 0 : fixed.time_ns;
	fixed.cpu_ns = pmc_sub_sat(pmc_process_cpu_ns(), before.cpu_ns);
	fixed.minor_faults = pmc_sub_sat(usage.minor_faults, before.usage.minor_faults);
	fixed.major_faults = pmc_sub_sat(usage.major_faults, before.usage.major_faults);
	fixed.voluntary_switches =
		pmc_sub_sat(usage.voluntary_switches, before.usage.voluntary_switches);
	fixed.involuntary_switches =
		pmc_sub_sat(usage.involuntary_switches, before.usage.involuntary_switches);
	fixed.max_rss_bytes = usage.max_rss_bytes;
	fixed.children_cpu_ns = pmc_children_cpu_ns();
	fixed.how_ended = (uint8_t)how;
	fixed.how_code = (uint8_t)(code < 0 ? 0 : code);
	fixed.flags |= code < 0 ? PMC_PROCESS_NO_STATUS : 0;
	fixed.threads_seen = atomic_load(&pmc_agent_control.seen);
	fixed.threads_counted = fixed.threads_seen - atomic_load(&pmc_agent_control.uncounted);
	pmc_build_process(buf, agent.identity, snapshot, &fixed, &agent.text);
}
