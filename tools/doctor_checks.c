/* SPDX-License-Identifier: MIT */
/* doctor_checks.c - judges the facts: each check says ok, limits or blocks, why, and the remedy. */
#include "tools/doctor.h"
#include "tools/tool_probe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Below this many descriptors a program with many threads will not get its groups. */
#define FEW_FDS 4096

static void say(struct doctor_finding *finding, enum doctor_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void say(struct doctor_finding *finding, enum doctor_status status, const char *format, ...)
{
	va_list args;

	finding->status = status;
	va_start(args, format);
	vsnprintf(finding->detail, sizeof(finding->detail), format, args);
	va_end(args);
}

static void remedy(struct doctor_finding *finding, const char *text)
{
	snprintf(finding->remedy, sizeof(finding->remedy), "%s", text);
}

static const char *error_text(int error)
{
	return error == TOOL_PROBE_KILLED ? "killed by a seccomp filter" : strerror(-error);
}

static bool refused(int error)
{
	return error == -EACCES || error == -EPERM;
}

bool doctor_hardware(const struct doctor_facts *facts)
{
	return facts->cycles == 0 || facts->cycles_user == 0;
}

const char *doctor_status_name(enum doctor_status status)
{
	static const char *const names[] = { "ok", "limits", "blocks" };

	return names[status];
}

static const char sysctl_remedy[] =
	"sudo sysctl kernel.perf_event_paranoid=1   (to keep it: a file in /etc/sysctl.d)";
static const char vm_remedy[] = "give the guest a PMU: qemu -cpu host,pmu=on; libvirt "
				"<feature><pmu state='on'/></feature>; "
				"in a cloud, a metal instance or a type with performance counters";

static void judge_pmu(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->pmus[0]) {
		say(finding, DOCTOR_OK, "the kernel drives the processor's PMU: %s", facts->pmus);
		return;
	}
	/* The list in sysfs may be hidden where the counters are not. */
	if (doctor_hardware(facts)) {
		say(finding, DOCTOR_OK, "not listed in sysfs, but hardware events open");
		return;
	}
	say(finding, DOCTOR_BLOCKS, "there is no processor PMU in /sys/bus/event_source/devices");
	remedy(finding, facts->vm ? vm_remedy : "dmesg | grep -i 'performance events'");
}

static void judge_cycles(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->cycles == 0) {
		say(finding, DOCTOR_OK, "cycles can be counted in user and kernel mode");
		return;
	}
	if (facts->cycles_user == 0) {
		say(finding, DOCTOR_LIMITS, "cycles can be counted in user mode only (%s)",
		    error_text(facts->cycles));
		remedy(finding, sysctl_remedy);
		return;
	}
	if (facts->cycles_user == -ENOENT || facts->cycles_user == -EOPNOTSUPP) {
		say(finding, DOCTOR_BLOCKS,
		    "cycles cannot be counted: the kernel has no PMU for "
		    "it (%s)",
		    error_text(facts->cycles_user));
		remedy(finding, facts->vm ? vm_remedy : "dmesg | grep -i 'performance events'");
		return;
	}
	say(finding, DOCTOR_BLOCKS, "cycles cannot be counted: %s", error_text(facts->cycles_user));
	if (refused(facts->cycles_user))
		remedy(finding, sysctl_remedy);
}

static void judge_vm(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (!facts->vm) {
		say(finding, DOCTOR_OK, "no sign of a virtual machine");
	} else if (doctor_hardware(facts)) {
		say(finding, DOCTOR_OK, "a virtual machine, with a PMU");
	} else {
		say(finding, DOCTOR_LIMITS,
		    "a virtual machine: the hypervisor decides whether "
		    "there is a PMU");
		if (!facts->pmus[0])
			remedy(finding, vm_remedy);
	}
}

static void judge_paranoid(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (!facts->has_paranoid) {
		say(finding, DOCTOR_BLOCKS,
		    "/proc/sys/kernel/perf_event_paranoid is missing: no perf events in this "
		    "kernel, or /proc is not mounted");
		remedy(finding, "a kernel with CONFIG_PERF_EVENTS=y");
	} else if (facts->cap_perfmon) {
		say(finding, DOCTOR_OK, "%d, which does not bind this user", facts->paranoid);
	} else if (facts->paranoid <= 1) {
		say(finding, DOCTOR_OK, "%d: own programs may be counted, the kernel included",
		    facts->paranoid);
	} else if (facts->paranoid == 2) {
		say(finding, DOCTOR_LIMITS, "2: own programs may be counted in user mode only");
		remedy(finding, sysctl_remedy);
	} else {
		say(finding, DOCTOR_BLOCKS, "%d: only privileged users may open perf events",
		    facts->paranoid);
		remedy(finding, sysctl_remedy);
	}
}

static void judge_capability(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->cap_perfmon) {
		say(finding, DOCTOR_OK, "CAP_PERFMON or CAP_SYS_ADMIN is there (uid %u)",
		    facts->uid);
	} else if (facts->has_paranoid && facts->paranoid <= 1) {
		say(finding, DOCTOR_OK, "neither CAP_PERFMON nor CAP_SYS_ADMIN, nor needed");
	} else {
		say(finding, DOCTOR_LIMITS, "neither CAP_PERFMON nor CAP_SYS_ADMIN (uid %u)",
		    facts->uid);
		/* A capability on the file would make the loader drop LD_PRELOAD; ambient ones
		 * do not. */
		remedy(finding, "sudo setpriv --reuid=\"$(id -u)\" --inh-caps=+perfmon "
				"--ambient-caps=+perfmon pmctl run -- CMD");
	}
}

static void judge_seccomp(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	const char *where = facts->container ? " (in a container)" : "";

	if (facts->seccomp == 0) {
		say(finding, DOCTOR_OK, "no filter%s", where);
	} else if (facts->software_user == TOOL_PROBE_KILLED) {
		say(finding, DOCTOR_BLOCKS, "a filter kills whoever calls perf_event_open%s",
		    where);
		remedy(finding, "start it without that filter; in docker: --security-opt "
				"seccomp=unconfined");
	} else if (refused(facts->software_user) || facts->software_user == -ENOSYS) {
		say(finding, DOCTOR_BLOCKS, "a filter, and perf_event_open is refused%s: %s", where,
		    error_text(facts->software_user));
		remedy(finding, "docker run --cap-add PERFMON, or --security-opt "
				"seccomp=unconfined");
	} else {
		say(finding, DOCTOR_OK, "a filter that lets perf_event_open through%s", where);
	}
}

static void judge_syscall(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	int error = facts->software_user;

	if (error == 0) {
		say(finding, DOCTOR_OK, "the call works");
		return;
	}
	say(finding, DOCTOR_BLOCKS, "the call fails: %s", error_text(error));
	if (error == -ENOSYS && facts->seccomp == 0)
		remedy(finding, "a kernel with CONFIG_PERF_EVENTS=y");
	else if (refused(error) && facts->has_paranoid && facts->paranoid > 2 &&
		 !facts->cap_perfmon)
		remedy(finding, sysctl_remedy);
	else if (error == -EMFILE)
		remedy(finding, "ulimit -n 65536");
	else if (facts->seccomp || refused(error))
		remedy(finding, "docker run --cap-add PERFMON, or --security-opt "
				"seccomp=unconfined");
}

static void judge_software(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->software == 0) {
		say(finding, DOCTOR_OK, "task-clock opens");
	} else if (facts->software_user == 0) {
		say(finding, DOCTOR_LIMITS, "software events open for user mode only (%s)",
		    error_text(facts->software));
		remedy(finding, sysctl_remedy);
	} else {
		say(finding, DOCTOR_BLOCKS,
		    "task-clock does not open: %s; CPU time, faults and "
		    "switches come from OS accounting",
		    error_text(facts->software_user));
	}
}

static void judge_nmi(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (!facts->nmi_watchdog || !doctor_hardware(facts)) {
		say(finding, DOCTOR_OK, "it takes no counter");
		return;
	}
	say(finding, DOCTOR_LIMITS, "it holds one counter of every CPU");
	remedy(finding, "sudo sysctl kernel.nmi_watchdog=0");
}

static void judge_counters(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	unsigned held = facts->counters - facts->counters_free;

	if (facts->counters == 0) {
		say(finding, DOCTOR_OK, "none that could be tried");
		return;
	}
	if (facts->counters_free >= facts->counters) {
		say(finding, DOCTOR_OK, "%u events such as instructions run at once",
		    facts->counters);
		return;
	}
	if (facts->nmi_watchdog && held == 1) {
		say(finding, DOCTOR_LIMITS, "1 of %u is held by the NMI watchdog", facts->counters);
		remedy(finding, "sudo sysctl kernel.nmi_watchdog=0");
		return;
	}
	say(finding, DOCTOR_LIMITS, "%u of %u are held by %s%s", held, facts->counters,
	    facts->holders[0] ? "others; perf events are open in " :
				"somebody whom this user cannot see",
	    facts->holders);
	remedy(finding, facts->holders[0] ?
				"end the program that counts the whole machine (perf, a profiler)" :
				"sudo pmctl doctor, which sees every process");
}

static void judge_fds(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->nofile_hard >= FEW_FDS) {
		say(finding, DOCTOR_OK, "limit %llu, can be raised to %llu",
		    (unsigned long long)facts->nofile_soft, (unsigned long long)facts->nofile_hard);
		return;
	}
	say(finding, DOCTOR_LIMITS,
	    "limit %llu, hard limit %llu: each thread needs one descriptor per event",
	    (unsigned long long)facts->nofile_soft, (unsigned long long)facts->nofile_hard);
	remedy(finding, "sudo prlimit --pid $$ --nofile=65536:65536");
}

static void judge_tracefs(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->tracefs_readable) {
		say(finding, DOCTOR_OK, "mounted; tracepoints can be looked up");
	} else if (facts->tracefs_mounted) {
		say(finding, DOCTOR_LIMITS,
		    "mounted, but not readable: tracepoint names are "
		    "unknown to this user");
		remedy(finding, "sudo mount -o remount,mode=755 /sys/kernel/tracing");
	} else {
		say(finding, DOCTOR_LIMITS,
		    "not mounted, or not visible: tracepoint names are "
		    "unknown");
		remedy(finding, "sudo mount -t tracefs nodev /sys/kernel/tracing");
	}
}

const struct doctor_check doctor_checks[] = {
#define X(name, function) { name, judge_##function },
#include "tools/doctor.def"
#undef X
};
const unsigned doctor_n_checks = sizeof(doctor_checks) / sizeof(doctor_checks[0]);
