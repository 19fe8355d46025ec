/* SPDX-License-Identifier: MIT */
/* pmu.c - judges what can be counted here: PMU, counters, software events. */
#include "tools/doctor/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct perf_event_attr cycles = { .type = PERF_TYPE_HARDWARE };
static const struct perf_event_attr cycles_user = { .type = PERF_TYPE_HARDWARE,
						    .exclude_kernel = 1 };

bool doctor_hardware(const struct doctor_facts *facts)
{
	return (facts->cycles == 0 || facts->cycles_user == 0) && facts->cycles_run != PMC_NO;
}

static bool opens(const struct doctor_facts *facts)
{
	return facts->cycles == 0 || facts->cycles_user == 0;
}

/* Of a machine whose kernel drives no PMU. */
static void mend_pmu(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (!facts->here.vm) {
		doctor_command(facts, finding, "sudo dmesg | grep -i 'performance events'");
		doctor_hint(finding, "it tells what the kernel found; the firmware may hide it");
		return;
	}
	doctor_words(finding, "give the guest a PMU: qemu -cpu host,pmu=on; libvirt "
			      "<feature><pmu state='on'/></feature>; in a cloud, a metal instance "
			      "or a type with performance counters");
}

void doctor_judge_pmu(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->pmus[0]) {
		doctor_say(finding, DOCTOR_OK, "the kernel drives the processor's PMU: %s",
			   facts->pmus);
		return;
	}
	/* The list in sysfs may be hidden where the counters are not. */
	if (opens(facts)) {
		doctor_say(finding, DOCTOR_OK, "not listed in sysfs, but hardware events open");
		return;
	}
	if (facts->here.core_pmu == PMC_UNKNOWN && doctor_refused(facts->cycles_user)) {
		doctor_say(finding, DOCTOR_LIMITS,
			   "unknown: /sys/bus/event_source is not there, and the kernel refuses to "
			   "try");
		doctor_command(facts, finding, "sudo mount -t sysfs sysfs /sys");
		return;
	}
	doctor_say(finding, DOCTOR_BLOCKS,
		   "there is no processor PMU in /sys/bus/event_source/devices");
	mend_pmu(facts, finding);
}

void doctor_judge_cycles(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	int error = facts->cycles_user;
	char why[256];

	if (opens(facts) && facts->cycles_run == PMC_NO) {
		doctor_say(finding, DOCTOR_BLOCKS, "cycles open and count nothing%s%s",
			   facts->counters_free ? "" : ": every counter is taken; by ",
			   facts->counters_free ? "" :
			   facts->holders[0]	? facts->holders :
						  "somebody whom this user cannot see");
		if (facts->counters_free)
			mend_pmu(facts, finding);
	} else if (facts->cycles == 0) {
		doctor_say(finding, DOCTOR_OK, "cycles can be counted in user and kernel mode");
	} else if (error == 0) {
		doctor_say(finding, DOCTOR_LIMITS, "cycles can be counted in user mode only (%s)",
			   doctor_error(facts, facts->cycles, &cycles, why, sizeof(why)));
		if (doctor_refused(facts->cycles))
			doctor_sysctl(facts, finding, "kernel.perf_event_paranoid=1");
	} else {
		doctor_say(finding, DOCTOR_BLOCKS, "cycles cannot be counted (%s)",
			   doctor_error(facts, error, &cycles_user, why, sizeof(why)));
		if (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV)
			mend_pmu(facts, finding);
		else
			doctor_mend_syscall(facts, finding);
	}
}

void doctor_judge_counters(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	unsigned held = facts->counters - facts->counters_free;
	const char *itself = facts->holds_itself ? "; this pmctl was started with some open" : "";

	if (facts->counters == 0) {
		doctor_say(finding, DOCTOR_OK, "none that could be tried");
		return;
	}
	if (facts->counters_dead) {
		doctor_say(finding, DOCTOR_LIMITS,
			   "%u events count at once, though the kernel runs %u: the hypervisor's "
			   "host needs the rest itself and does not tell, so they stay at 0; "
			   "pmcagent takes no more than count",
			   facts->counters_free - facts->counters_dead, facts->counters_free);
		doctor_words(finding,
			     "on the host: sysctl -w kernel.nmi_watchdog=0, if it is that");
		return;
	}
	if (facts->counters_free >= facts->counters) {
		doctor_say(finding, DOCTOR_OK, "%u events such as instructions run at once",
			   facts->counters);
		return;
	}
	if (facts->nmi_watchdog == 1 && held == 1) {
		/* Some kernels watch without a counter and do not tell. */
		doctor_say(finding, DOCTOR_LIMITS, "1 of %u is held by the NMI watchdog%s%s",
			   facts->counters,
			   facts->holders[0] ? ", or by others; perf events are open in " : "",
			   facts->holders);
		doctor_sysctl(facts, finding, "kernel.nmi_watchdog=0");
		return;
	}
	if (facts->holders[0]) {
		char where[32] = "";

		if (facts->held_cpu >= 0)
			snprintf(where, sizeof(where), " on CPU %d", facts->held_cpu);
		doctor_say(finding, DOCTOR_LIMITS,
			   "%u of %u are held by others%s; perf events are open in %s%s", held,
			   facts->counters, where, facts->holders, itself);
		if (facts->n_holders == 1) {
			doctor_command(facts, finding, "sudo kill %u", facts->first_holder);
			doctor_hint(finding, "if it may end; else wait for it");
		} else {
			doctor_words(finding, "end the one that counts whole CPUs (perf, a "
					      "profiler, a monitor)");
		}
	} else if (facts->holds_itself) {
		doctor_say(finding, DOCTOR_LIMITS,
			   "%u of %u are held by perf events that this "
			   "pmctl was started with",
			   held, facts->counters);
		doctor_words(finding,
			     "start it from a program that closes its perf events on exec");
	} else if (facts->uid == 0) {
		doctor_say(finding, DOCTOR_LIMITS,
			   "%u of %u are held by the kernel itself (KVM, a BPF program, the "
			   "watchdog) or by another container",
			   held, facts->counters);
		doctor_words(finding, "bpftool prog show; on the host of the container, pmctl "
				      "doctor");
	} else {
		doctor_say(finding, DOCTOR_LIMITS,
			   "%u of %u are held by somebody whom this user cannot see", held,
			   facts->counters);
		doctor_command(facts, finding, "sudo pmctl doctor");
		doctor_hint(finding, "it sees every process");
	}
}

void doctor_judge_width(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->width)
		doctor_say(finding, DOCTOR_OK, "%u bits; the kernel adds them up to 64",
			   facts->width);
	else if (facts->counters)
		doctor_say(finding, DOCTOR_OK,
			   "the kernel does not tell; it adds the counts up to 64 bits");
	else
		doctor_say(finding, DOCTOR_OK, "no counter to ask about");
}

void doctor_judge_nmi(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->nmi_watchdog != 1) {
		doctor_say(finding, DOCTOR_OK, "%s: it takes no counter",
			   facts->nmi_watchdog == 0 ? "off" : "not in this kernel");
		return;
	}
	/* Without a PMU it runs on a timer; so it does where the buddy detector is built in. */
	if (!opens(facts) || (facts->counters && facts->counters_free >= facts->counters)) {
		doctor_say(finding, DOCTOR_OK, "on, and takes no counter");
		return;
	}
	doctor_say(finding, DOCTOR_LIMITS, "it holds one counter of every CPU");
	doctor_sysctl(facts, finding, "kernel.nmi_watchdog=0");
}

void doctor_judge_user_access(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (!opens(facts)) {
		doctor_say(finding, DOCTOR_OK, "no counter to read");
	} else if (facts->rdpmc == 0) {
		doctor_say(finding, DOCTOR_LIMITS, "reading a counter takes a system call: %s is 0",
			   facts->rdpmc_file);
		doctor_command(facts, finding, "echo 1 | %stee %s", facts->uid ? "sudo " : "",
			       facts->rdpmc_file);
	} else if (facts->rdpmc != DOCTOR_NONE) {
		doctor_say(finding, DOCTOR_OK, "a program may read its own counters (rdpmc is %d)",
			   (int)facts->rdpmc);
	} else if (facts->user_access == 0) {
		doctor_say(finding, DOCTOR_LIMITS,
			   "reading a counter takes a system call: "
			   "kernel.perf_user_access is 0");
		doctor_sysctl(facts, finding, "kernel.perf_user_access=1");
	} else if (facts->user_access != DOCTOR_NONE) {
		doctor_say(finding, DOCTOR_OK,
			   "a program may read its own counters "
			   "(kernel.perf_user_access is 1)");
	} else {
		doctor_say(finding, DOCTOR_OK, "this kernel has no switch for it");
	}
}

void doctor_judge_vm(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (!facts->here.vm) {
		doctor_say(finding, DOCTOR_OK, "no sign of a virtual machine");
	} else if (opens(facts) || facts->pmus[0]) {
		doctor_say(finding, DOCTOR_OK, "a virtual machine (%s), with a PMU",
			   facts->here.vm);
	} else {
		doctor_say(finding, DOCTOR_LIMITS,
			   "a virtual machine (%s): the hypervisor decides whether there is a PMU",
			   facts->here.vm);
		mend_pmu(facts, finding);
	}
}

void doctor_judge_software(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	static const struct perf_event_attr clock = { .type = PERF_TYPE_SOFTWARE },
					    user = { .type = PERF_TYPE_SOFTWARE,
						     .exclude_kernel = 1 };
	char why[256];

	if (facts->software == 0) {
		doctor_say(finding, DOCTOR_OK, "task-clock opens");
	} else if (facts->software_user == 0) {
		doctor_say(finding, DOCTOR_LIMITS, "they count user mode only (%s)",
			   doctor_error(facts, facts->software, &clock, why, sizeof(why)));
		if (doctor_refused(facts->software))
			doctor_sysctl(facts, finding, "kernel.perf_event_paranoid=1");
	} else {
		doctor_say(finding, DOCTOR_BLOCKS,
			   "task-clock does not open (%s); CPU time, faults and switches come from "
			   "OS accounting",
			   doctor_error(facts, facts->software_user, &user, why, sizeof(why)));
		doctor_mend_syscall(facts, finding);
	}
}
