/* SPDX-License-Identifier: MIT */
/* access.c - judges who may count here: levels, capabilities, filters, namespaces. */
#include "tools/doctor/doctor.h"
#include "tools/cli/try_open.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>

static bool has_cap(const struct doctor_facts *facts, unsigned cap)
{
	return facts->here.effective >> cap & 1 && facts->here.user_namespace != PMC_YES;
}

/* CAP_PERFMON is not enough for Debian's level 3 and above. */
static bool unbound(const struct doctor_facts *facts)
{
	return facts->here.perfmon == PMC_YES &&
	       (facts->here.paranoid < 3 || has_cap(facts, CAP_SYS_ADMIN) ||
		facts->software_user == 0);
}

static bool filter_refuses(const struct doctor_facts *facts)
{
	int error = facts->software_user;

	return facts->here.filtered == PMC_YES &&
	       (error == -EPERM || error == -ENOSYS || error == TOOL_PROBE_KILLED ||
		(error == -EACCES && (unbound(facts) || facts->here.paranoid < 3)));
}

static void mend_filter(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	const char *kind = facts->here.container;

	if (kind && (!strcmp(kind, "docker") || !strcmp(kind, "podman")))
		doctor_words(finding,
			     "%s run --cap-add PERFMON ..., or --security-opt seccomp=unconfined",
			     kind);
	else if (kind && !strcmp(kind, "kubernetes"))
		doctor_words(finding, "in the pod's securityContext: capabilities.add: [PERFMON], "
				      "or seccompProfile.type: Unconfined");
	else
		doctor_words(finding, "start it without that filter; in a container --security-opt "
				      "seccomp=unconfined, in a systemd unit "
				      "SystemCallFilter=perf_event_open");
}

static void mend_paranoid(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	doctor_sysctl(facts, finding, "kernel.perf_event_paranoid=1");
}

/* The cause of a perf_event_open that fails for the simplest of events. */
void doctor_mend_syscall(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	int error = facts->software_user;

	if (filter_refuses(facts))
		mend_filter(facts, finding);
	else if (error == -ENOSYS)
		doctor_words(finding, "a kernel with CONFIG_PERF_EVENTS=y");
	else if (error == -EMFILE)
		doctor_command(facts, finding, "sudo prlimit --pid $$ --nofile=65536:65536");
	else if (error == -ENFILE)
		doctor_sysctl(facts, finding, "fs.file-max=1000000");
	else if (doctor_refused(error) && facts->here.paranoid >= 2 && !unbound(facts))
		mend_paranoid(facts, finding);
	else if (doctor_refused(error))
		doctor_command(facts, finding, "sudo dmesg | grep -iE 'avc|denied|lockdown'");
	else
		doctor_todo(facts, finding, error, PMC_CALL_OPEN);
}

void doctor_judge_syscall(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	static const struct perf_event_attr simplest = { .type = PERF_TYPE_SOFTWARE,
							 .exclude_kernel = 1 };
	char why[256];

	if (facts->software_user == 0) {
		doctor_say(finding, DOCTOR_OK, "the call works");
		return;
	}
	doctor_say(finding, DOCTOR_BLOCKS, "the call fails (%s)",
		   doctor_error(facts, facts->software_user, &simplest, why, sizeof(why)));
	doctor_mend_syscall(facts, finding);
}

void doctor_judge_system_wide(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	int error = facts->system_wide;

	if (error == 0) {
		doctor_say(finding, DOCTOR_OK, "whole CPUs can be counted");
	} else if (facts->software_user != 0 || error == DOCTOR_UNTRIED) {
		doctor_say(finding, DOCTOR_BLOCKS, "not to be tried: perf_event_open fails");
		doctor_mend_syscall(facts, finding);
	} else {
		doctor_say(finding, DOCTOR_LIMITS, "only own programs, not whole CPUs or cgroups%s",
			   doctor_refused(error) ? "" : " (CPU clock does not open on this CPU)");
		if (doctor_refused(error))
			doctor_sysctl(facts, finding, "kernel.perf_event_paranoid=0");
	}
}

void doctor_judge_paranoid(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	int level = facts->here.paranoid;

	if (level == PMC_LEVEL_UNKNOWN) {
		doctor_say(finding, facts->software_user == 0 ? DOCTOR_OK : DOCTOR_BLOCKS,
			   "/proc/sys/kernel/perf_event_paranoid is missing: no perf events in "
			   "this kernel, or /proc is not mounted");
		if (facts->software_user != 0)
			doctor_words(finding, "a kernel with CONFIG_PERF_EVENTS=y");
	} else if (unbound(facts)) {
		doctor_say(finding, DOCTOR_OK, "%d, which does not bind this user", level);
	} else if (level <= 1) {
		doctor_say(finding, DOCTOR_OK,
			   "%d: own programs may be counted, the kernel included", level);
	} else if (level == 2) {
		doctor_say(finding, DOCTOR_LIMITS,
			   "2: own programs may be counted in user mode only");
		mend_paranoid(facts, finding);
	} else if (facts->software_user == 0) {
		/* Mainline has no level above 2. */
		doctor_say(finding, DOCTOR_LIMITS,
			   "%d: own programs may be counted in user mode only (to this kernel it "
			   "is as 2)",
			   level);
		mend_paranoid(facts, finding);
	} else {
		doctor_say(finding, DOCTOR_BLOCKS, "%d: only privileged users may open perf events",
			   level);
		mend_paranoid(facts, finding);
	}
}

void doctor_judge_capability(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	const struct pmc_here *here = &facts->here;

	if (here->perfmon == PMC_YES) {
		doctor_say(finding, DOCTOR_OK, "%s%s (uid %u)",
			   has_cap(facts, CAP_SYS_ADMIN) ? "CAP_SYS_ADMIN, which includes "
							   "CAP_PERFMON" :
							   "CAP_PERFMON",
			   has_cap(facts, CAP_SYS_PTRACE) ? ", and CAP_SYS_PTRACE" :
							    "; not CAP_SYS_PTRACE",
			   facts->uid);
		return;
	}
	if (here->paranoid != PMC_LEVEL_UNKNOWN && here->paranoid <= 1) {
		doctor_say(finding, DOCTOR_OK,
			   "neither CAP_PERFMON nor CAP_SYS_ADMIN, nor needed for own programs");
		return;
	}
	doctor_say(finding, DOCTOR_LIMITS,
		   "neither CAP_PERFMON nor CAP_SYS_ADMIN that counts here (uid %u, effective set "
		   "%llx)",
		   facts->uid, (unsigned long long)here->effective);
	if (here->user_namespace == PMC_YES) {
		mend_paranoid(facts, finding);
		return;
	}
	/* A capability on the file would make the loader drop LD_PRELOAD; ambient ones do not. */
	doctor_command(facts, finding,
		       "sudo setpriv --reuid=\"$(id -u)\" --regid=\"$(id -g)\" --keep-groups "
		       "--inh-caps=+perfmon --ambient-caps=+perfmon \"$SHELL\"");
	doctor_hint(finding,
		    "a shell whose programs may count; level 3 and above wants the sysctl");
}

void doctor_judge_user_namespace(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	const struct pmc_here *here = &facts->here;

	if (here->user_namespace != PMC_YES) {
		doctor_say(finding, DOCTOR_OK,
			   here->user_namespace == PMC_NO ? "the machine's own" :
							    "/proc/self/ns/user does not tell");
		return;
	}
	if (here->paranoid != PMC_LEVEL_UNKNOWN && here->paranoid <= 1) {
		doctor_say(finding, DOCTOR_OK, "one of its own; level %d asks for no capability",
			   here->paranoid);
		return;
	}
	doctor_say(finding, DOCTOR_LIMITS,
		   "one of its own, in which capabilities do not count for perf events%s",
		   facts->uid == 0 ? ", root's neither" : "");
	mend_paranoid(facts, finding);
}

void doctor_judge_seccomp(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	char why[256];

	if (facts->here.filtered != PMC_YES) {
		doctor_say(finding, DOCTOR_OK, "no filter");
	} else if (facts->software_user == TOOL_PROBE_KILLED) {
		doctor_say(finding, DOCTOR_BLOCKS, "a filter kills whoever calls perf_event_open");
		mend_filter(facts, finding);
	} else if (filter_refuses(facts)) {
		doctor_say(finding, DOCTOR_BLOCKS, "a filter, and perf_event_open is refused (%s)",
			   doctor_error(facts, facts->software_user, NULL, why, sizeof(why)));
		mend_filter(facts, finding);
	} else {
		doctor_say(finding, DOCTOR_OK, "a filter%s",
			   facts->software_user == 0 ? " that lets perf_event_open through" :
						       "; what refuses perf_event_open is another");
	}
}

void doctor_judge_container(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (!facts->here.container) {
		doctor_say(finding, DOCTOR_OK, "no sign of a container");
	} else if (facts->software_user == 0) {
		doctor_say(finding, DOCTOR_OK, "%s, which lets perf events through",
			   facts->here.container);
	} else {
		doctor_say(finding, DOCTOR_LIMITS, "%s; sysctls and filters are its host's",
			   facts->here.container);
		doctor_mend_syscall(facts, finding);
	}
}

void doctor_judge_lsm(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	const char *list = facts->lsm[0] ? facts->lsm : "the list is not visible";

	/* Only SELinux has rules for perf events; others may come by BPF. */
	if (facts->software_user == -EACCES && unbound(facts) && facts->here.filtered != PMC_YES) {
		doctor_say(finding, DOCTOR_BLOCKS,
			   "one of them refuses perf events, although the capability is there (%s)",
			   list);
		doctor_command(facts, finding, "sudo dmesg | grep -iE 'avc|denied'");
		return;
	}
	doctor_say(finding, DOCTOR_OK, "%s", list);
}

void doctor_judge_lockdown(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->here.lockdown != PMC_YES) {
		doctor_say(finding, DOCTOR_OK, "%s",
			   facts->here.lockdown == PMC_NO ? "not locked down" :
							    "not in this kernel, or not visible");
		return;
	}
	doctor_say(finding, DOCTOR_LIMITS,
		   "confidentiality: samples may not hold the kernel's registers, tracefs is shut");
	doctor_words(finding, "boot with lockdown=integrity");
}

void doctor_judge_ptrace(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	bool able = has_cap(facts, CAP_SYS_PTRACE);
	int scope = facts->ptrace_scope == DOCTOR_NONE ? -1 : (int)facts->ptrace_scope;

	if (scope <= 0) {
		doctor_say(finding, DOCTOR_OK, "%s; pmctl dump and ctl reach own programs%s",
			   scope == 0 ? "kernel.yama.ptrace_scope is 0" : "no Yama here",
			   able ? ", and others'" : "");
	} else if (scope >= 3) {
		doctor_say(finding, DOCTOR_LIMITS,
			   "kernel.yama.ptrace_scope is %d: pmctl dump and ctl reach nobody until "
			   "the next boot",
			   scope);
		doctor_words(finding, "use a dump signal: pmctl run --dump-signal USR2, then pmctl "
				      "dump --signal PID; set 0 in /etc/sysctl.d before the next "
				      "boot");
	} else if (able) {
		doctor_say(finding, DOCTOR_OK,
			   "kernel.yama.ptrace_scope is %d, which does not bind this user", scope);
	} else {
		doctor_say(finding, DOCTOR_LIMITS,
			   "kernel.yama.ptrace_scope is %d: pmctl dump and ctl reach %s", scope,
			   scope == 1 ? "own children only" : "nobody without CAP_SYS_PTRACE");
		doctor_sysctl(facts, finding, "kernel.yama.ptrace_scope=0");
	}
}
