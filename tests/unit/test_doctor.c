/* SPDX-License-Identifier: MIT */
/* test_doctor.c - the checks of pmctl doctor: for each cause its status and its fix. */
#include "tests/unit/made_facts.h"
#include "tools/cli/try_open.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const statuses[] = { "ok", "limits", "blocks" };

static struct doctor_finding judge(const struct doctor_facts *facts, const char *name)
{
	struct doctor_finding finding = { .status = DOCTOR_OK };

	for (unsigned i = 0; i < doctor_n_checks; i++) {
		if (strcmp(doctor_checks[i].name, name) != 0)
			continue;
		doctor_checks[i].judge(facts, &finding);
		assert_true(finding.detail[0]);
		return finding;
	}
	fail_msg("there is no check %s", name);
	return finding;
}

static void expect(const struct doctor_facts *facts, const char *name, enum doctor_status status,
		   const char *fix)
{
	struct doctor_finding finding = judge(facts, name);

	if (finding.status != status)
		fail_msg("%s: %s (%s), not %s", name, statuses[finding.status], finding.detail,
			 statuses[status]);
	if (!fix && finding.fix[0])
		fail_msg("%s: unexpected fix: %s", name, finding.fix);
	if (fix && !strstr(finding.fix, fix))
		fail_msg("%s: the fix is '%s', not '%s'", name, finding.fix, fix);
}

static void a_good_machine(void **state)
{
	assert_true(doctor_hardware(&good));
	for (unsigned i = 0; i < doctor_n_checks; i++)
		expect(&good, doctor_checks[i].name, DOCTOR_OK, NULL);
}

static void a_vm_without_pmu(void **state)
{
	struct doctor_facts facts = good;

	no_pmu(&facts);
	facts.here.vm = "kvm";
	assert_false(doctor_hardware(&facts));
	expect(&facts, "pmu", DOCTOR_BLOCKS, "pmu=on");
	expect(&facts, "cycles", DOCTOR_BLOCKS, "pmu=on");
	expect(&facts, "virtual-machine", DOCTOR_LIMITS, "pmu=on");
	assert_non_null(strstr(judge(&facts, "virtual-machine").detail, "kvm"));
	expect(&facts, "software-events", DOCTOR_OK, NULL);
	facts.here.vm = NULL;
	expect(&facts, "pmu", DOCTOR_BLOCKS, "dmesg");
	expect(&facts, "virtual-machine", DOCTOR_OK, NULL);
	/* A PMU whose events open but do not count. */
	facts = good;
	facts.here.vm = "virtualbox";
	facts.cycles_run = PMC_NO;
	assert_false(doctor_hardware(&facts));
	expect(&facts, "cycles", DOCTOR_BLOCKS, "pmu=on");
}

static void perf_event_paranoid_levels(void **state)
{
	struct doctor_facts facts = good;

	facts.here.paranoid = -1;
	expect(&facts, "perf_event_paranoid", DOCTOR_OK, NULL);
	facts.here.paranoid = 1;
	facts.system_wide = -EACCES;
	expect(&facts, "perf_event_paranoid", DOCTOR_OK, NULL);
	expect(&facts, "system-wide", DOCTOR_LIMITS, "kernel.perf_event_paranoid=0");
	facts.here.paranoid = 2;
	facts.cycles = facts.software = -EACCES;
	assert_true(doctor_hardware(&facts));
	expect(&facts, "perf_event_paranoid", DOCTOR_LIMITS,
	       "sudo sysctl -w kernel.perf_event_paranoid=1");
	expect(&facts, "capability", DOCTOR_LIMITS, "--ambient-caps=+perfmon");
	expect(&facts, "cycles", DOCTOR_LIMITS, "sysctl");
	expect(&facts, "software-events", DOCTOR_LIMITS, "sysctl");
	facts.here.paranoid = 4;
	/* Mainline kernels treat 4 as 2. */
	expect(&facts, "perf_event_paranoid", DOCTOR_LIMITS, "sysctl");
	all_opens(&facts, -EACCES);
	assert_false(doctor_hardware(&facts) || doctor_anything(&facts));
	expect(&facts, "perf_event_paranoid", DOCTOR_BLOCKS, "sysctl");
	expect(&facts, "cycles", DOCTOR_BLOCKS, "sysctl");
	expect(&facts, "perf_event_open", DOCTOR_BLOCKS, "sysctl");
	expect(&facts, "locked-memory", DOCTOR_LIMITS, "sysctl");
	/* Debian's level 3 needs CAP_SYS_ADMIN; CAP_PERFMON is not enough. */
	facts.here.perfmon = PMC_YES;
	facts.here.effective = 1ull << CAP_PERFMON;
	expect(&facts, "perf_event_paranoid", DOCTOR_BLOCKS, "sysctl");
	facts = good;
	facts.here.paranoid = 4;
	facts.here.perfmon = PMC_YES;
	facts.here.effective = 1ull << CAP_SYS_ADMIN;
	expect(&facts, "perf_event_paranoid", DOCTOR_OK, NULL);
	expect(&facts, "capability", DOCTOR_OK, NULL);
	facts.here.paranoid = PMC_LEVEL_UNKNOWN;
	all_opens(&facts, -ENOSYS);
	expect(&facts, "perf_event_paranoid", DOCTOR_BLOCKS, "CONFIG_PERF_EVENTS");
}

static void namespaces_and_containers(void **state)
{
	struct doctor_facts facts = good;

	facts.here.user_namespace = PMC_YES;
	facts.here.effective = 0x1ffffffffff;
	facts.uid = 0;
	facts.here.paranoid = 2;
	facts.cycles = facts.software = facts.system_wide = -EACCES;
	/* Root of a user namespace still needs sudo, and the hint names the place. */
	expect(&facts, "capability", DOCTOR_LIMITS, "sudo sysctl");
	assert_non_null(strstr(judge(&facts, "capability").hint, "outside"));
	assert_non_null(strstr(judge(&facts, "cycles").detail, "user namespace"));

	facts = good;
	facts.here.container = "docker";
	expect(&facts, "container", DOCTOR_OK, NULL);
	facts.here.filtered = PMC_YES;
	all_opens(&facts, -EPERM);
	expect(&facts, "container", DOCTOR_LIMITS, "docker run --security-opt seccomp=unconfined");
	expect(&facts, "seccomp", DOCTOR_BLOCKS, "docker run --security-opt seccomp=unconfined");
	facts.here.container = "kubernetes";
	expect(&facts, "seccomp", DOCTOR_BLOCKS, "securityContext");
	facts.here.filtered = PMC_NO;
	facts.here.paranoid = 3;
	all_opens(&facts, -EACCES);
	expect(&facts, "container", DOCTOR_LIMITS, "sysctl");
	assert_non_null(strstr(judge(&facts, "container").hint, "host"));
}

static void seccomp_filters(void **state)
{
	struct doctor_facts facts = good;

	facts.here.filtered = PMC_YES;
	expect(&facts, "seccomp", DOCTOR_OK, NULL);
	all_opens(&facts, -EPERM);
	expect(&facts, "seccomp", DOCTOR_BLOCKS, "filter");
	expect(&facts, "perf_event_open", DOCTOR_BLOCKS, "seccomp=unconfined");
	all_opens(&facts, -ENOSYS);
	expect(&facts, "seccomp", DOCTOR_BLOCKS, "seccomp=unconfined");
	assert_non_null(strstr(judge(&facts, "seccomp").detail, "hides"));
	all_opens(&facts, TOOL_PROBE_KILLED);
	assert_false(doctor_hardware(&facts));
	expect(&facts, "seccomp", DOCTOR_BLOCKS, "seccomp=unconfined");
	assert_non_null(strstr(judge(&facts, "seccomp").detail, "kills"));
	/* The level refuses, not the filter. */
	all_opens(&facts, -EACCES);
	facts.here.paranoid = 3;
	expect(&facts, "seccomp", DOCTOR_OK, NULL);
	expect(&facts, "perf_event_open", DOCTOR_BLOCKS, "sysctl");
	facts = good;
	all_opens(&facts, -ENOSYS);
	expect(&facts, "seccomp", DOCTOR_OK, NULL);
	expect(&facts, "perf_event_open", DOCTOR_BLOCKS, "CONFIG_PERF_EVENTS");
	all_opens(&facts, -EMFILE);
	expect(&facts, "perf_event_open", DOCTOR_BLOCKS, "prlimit");
}

static void limits_and_parts(void **state)
{
	struct doctor_facts facts = good;

	facts.nmi_watchdog = 1;
	expect(&facts, "nmi-watchdog", DOCTOR_OK, NULL);
	facts.counters_free = 5;
	expect(&facts, "nmi-watchdog", DOCTOR_LIMITS, "kernel.nmi_watchdog=0");
	facts.counters_dead = 1;
	expect(&facts, "counters", DOCTOR_LIMITS, "on the host");
	assert_non_null(strstr(judge(&facts, "counters").detail, "4 events"));
	facts.nofile_hard = 1024;
	expect(&facts, "file-descriptors", DOCTOR_LIMITS, "65536");
	facts.tracefs_names = false;
	expect(&facts, "tracefs", DOCTOR_LIMITS, "chgrp");
	facts.tracefs_readable = false;
	expect(&facts, "tracefs", DOCTOR_LIMITS, "remount");
	facts.tracefs_mounted = false;
	expect(&facts, "tracefs", DOCTOR_LIMITS, "mount -t tracefs");
	facts.ring = -EPERM;
	expect(&facts, "locked-memory", DOCTOR_LIMITS, "--memlock=");
	facts.ring = 0;
	expect(&facts, "locked-memory", DOCTOR_OK, NULL);
	facts.here.max_sample_rate = 1000;
	expect(&facts, "sample-rate", DOCTOR_LIMITS, "kernel.perf_event_max_sample_rate=100000");
	facts.ptrace_scope = DOCTOR_NONE;
	expect(&facts, "ptrace", DOCTOR_OK, NULL);
	assert_non_null(strstr(judge(&facts, "ptrace").detail, "no Yama"));
	facts.ptrace_scope = 1;
	expect(&facts, "ptrace", DOCTOR_LIMITS, "kernel.yama.ptrace_scope=0");
	facts.ptrace_scope = 3;
	expect(&facts, "ptrace", DOCTOR_LIMITS, "--dump-signal");
	assert_false(judge(&facts, "ptrace").fix_is_command);
	facts.ptrace_scope = 2;
	facts.here.effective = 1ull << CAP_SYS_PTRACE;
	expect(&facts, "ptrace", DOCTOR_OK, NULL);
	facts.rdpmc = 0;
	expect(&facts, "user-access", DOCTOR_LIMITS,
	       "echo 1 | sudo tee /sys/bus/event_source/devices/cpu/rdpmc");
	facts.rdpmc = DOCTOR_NONE;
	facts.user_access = 0;
	expect(&facts, "user-access", DOCTOR_LIMITS, "kernel.perf_user_access=1");
	facts.user_access = 1;
	expect(&facts, "user-access", DOCTOR_OK, NULL);
	facts.pfm[0] = '\0';
	expect(&facts, "libpfm4", DOCTOR_LIMITS, "install libpfm4");
	strcpy(facts.agent_version, "0.0.1");
	expect(&facts, "agent", DOCTOR_LIMITS, "sudo cp libpmcagent.so '/usr/local/bin/'");
	facts.agent[0] = '\0';
	expect(&facts, "agent", DOCTOR_LIMITS, "libpmcagent.so");
	/* Root needs no sudo. */
	facts.uid = 0;
	assert_string_equal(judge(&facts, "ptrace").fix, "");
	facts.ptrace_scope = 1;
	facts.here.effective = 0;
	assert_string_equal(judge(&facts, "ptrace").fix, "sysctl -w kernel.yama.ptrace_scope=0");
	/* Without a PMU the watchdog holds no counter. */
	no_pmu(&facts);
	expect(&facts, "nmi-watchdog", DOCTOR_OK, NULL);
	expect(&facts, "user-access", DOCTOR_OK, NULL);
}

/* Every limit and every block has a fix. */
static void limits_have_fixes(void **state)
{
	static const int errors[] = { 0,       -EACCES, -EPERM,		  -ENOENT,
				      -ENOSYS, -EMFILE, TOOL_PROBE_KILLED };
	struct doctor_facts facts;

	for (int bits = 0; bits < 7 * 128; bits++) {
		facts = good;
		all_opens(&facts, errors[bits % 7]);
		if (errors[bits % 7] == -ENOENT) {
			all_opens(&facts, 0);
			no_pmu(&facts);
		}
		facts.here.vm = bits / 7 & 1 ? "kvm" : NULL;
		facts.pmus[0] = bits / 7 & 2 ? 'c' : '\0';
		facts.here.paranoid = bits / 7 & 4 ? 3 : 1;
		facts.here.filtered = bits / 7 & 8 ? PMC_YES : PMC_NO;
		facts.here.container = bits / 7 & 16 ? "podman" : NULL;
		facts.here.user_namespace = bits / 7 & 32 ? PMC_YES : PMC_NO;
		facts.here.perfmon = bits / 7 & 64 ? PMC_YES : PMC_NO;
		for (unsigned i = 0; i < doctor_n_checks; i++) {
			struct doctor_finding finding = judge(&facts, doctor_checks[i].name);

			if (finding.status != DOCTOR_OK && !finding.fix[0])
				fail_msg("%s %s (%d): %s: no fix", doctor_checks[i].name,
					 statuses[finding.status], bits, finding.detail);
			if (finding.status == DOCTOR_OK && finding.fix[0])
				fail_msg("%s is ok and has a fix", doctor_checks[i].name);
			assert_true(strlen(finding.detail) + 1 < sizeof(finding.detail));
			assert_true(strlen(finding.fix) + 1 < sizeof(finding.fix));
		}
	}
}

static void counters_and_their_holders(void **state)
{
	struct doctor_facts facts = good;
	facts.counters_free = 5;
	expect(&facts, "counters", DOCTOR_LIMITS, "sudo pmctl doctor");
	facts.uid = 0;
	expect(&facts, "counters", DOCTOR_LIMITS, "bpftool");
	facts.uid = 1000;
	facts.holds_itself = true;
	expect(&facts, "counters", DOCTOR_LIMITS, "closes its perf events");
	facts.holds_itself = false;
	facts.nmi_watchdog = 1;
	expect(&facts, "counters", DOCTOR_LIMITS, "nmi_watchdog=0");
	/* Either the watchdog or the process holds it. */
	strcpy(facts.holders, "17 (perf)");
	expect(&facts, "counters", DOCTOR_LIMITS, "nmi_watchdog=0");
	assert_non_null(strstr(judge(&facts, "counters").detail, "watchdog"));
	assert_non_null(strstr(judge(&facts, "counters").detail, "17 (perf)"));
	/* The watchdog holds only one. */
	facts.counters_free = 4;
	strcpy(facts.holders, "17 (perf)");
	facts.n_holders = 1;
	facts.first_holder = 17;
	expect(&facts, "counters", DOCTOR_LIMITS, "sudo kill 17");
	assert_non_null(strstr(judge(&facts, "counters").detail, "2 of 6"));
	assert_non_null(strstr(judge(&facts, "counters").detail, "17 (perf)"));
	facts.n_holders = 2;
	expect(&facts, "counters", DOCTOR_LIMITS, "end the process");
	/* All are held: nothing is counted. */
	facts.counters_free = 0;
	facts.cycles_run = PMC_NO;
	assert_false(doctor_hardware(&facts));
	expect(&facts, "cycles", DOCTOR_BLOCKS, "end the process");
	assert_non_null(strstr(judge(&facts, "cycles").detail, "17 (perf)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_machine),
		cmocka_unit_test(a_vm_without_pmu),
		cmocka_unit_test(perf_event_paranoid_levels),
		cmocka_unit_test(namespaces_and_containers),
		cmocka_unit_test(seccomp_filters),
		cmocka_unit_test(limits_and_parts),
		cmocka_unit_test(limits_have_fixes),
		cmocka_unit_test(counters_and_their_holders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
