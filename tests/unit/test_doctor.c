/* SPDX-License-Identifier: MIT */
/* test_doctor.c - what the doctor reads from made-up machines, and how it judges them. */
#include "tools/doctor.h"
#include "tools/tool_probe.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

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
		   const char *remedy)
{
	struct doctor_finding finding = judge(facts, name);

	if (finding.status != status)
		fail_msg("%s: %s (%s), not %s", name, doctor_status_name(finding.status),
			 finding.detail, doctor_status_name(status));
	if (!remedy && finding.remedy[0])
		fail_msg("%s: a remedy where none is needed: %s", name, finding.remedy);
	if (remedy && !strstr(finding.remedy, remedy))
		fail_msg("%s: remedy is '%s', not '%s'", name, finding.remedy, remedy);
}

static const struct doctor_facts good = {
	.pmus = "cpu",
	.has_paranoid = true,
	.paranoid = 1,
	.uid = 1000,
	.nofile_soft = 1024,
	.nofile_hard = 1 << 20,
	.tracefs_mounted = true,
	.tracefs_readable = true,
};

static void a_good_machine(void **state)
{
	(void)state;
	assert_true(doctor_hardware(&good));
	for (unsigned i = 0; i < doctor_n_checks; i++)
		expect(&good, doctor_checks[i].name, DOCTOR_OK, NULL);
}

static void a_vm_without_pmu(void **state)
{
	struct doctor_facts facts = good;

	(void)state;
	facts.pmus[0] = '\0';
	facts.vm = true;
	facts.cycles = facts.cycles_user = -ENOENT;
	assert_false(doctor_hardware(&facts));
	expect(&facts, "pmu", DOCTOR_BLOCKS, "pmu=on");
	expect(&facts, "cycles", DOCTOR_BLOCKS, "pmu=on");
	expect(&facts, "virtual-machine", DOCTOR_LIMITS, "pmu=on");
	expect(&facts, "software-events", DOCTOR_OK, NULL);
	facts.vm = false;
	expect(&facts, "pmu", DOCTOR_BLOCKS, "dmesg");
	expect(&facts, "virtual-machine", DOCTOR_OK, NULL);
}

static void levels_of_paranoia(void **state)
{
	struct doctor_facts facts = good;

	(void)state;
	facts.paranoid = -1;
	expect(&facts, "perf_event_paranoid", DOCTOR_OK, NULL);
	facts.paranoid = 2;
	facts.cycles = facts.software = -EACCES;
	assert_true(doctor_hardware(&facts));
	expect(&facts, "perf_event_paranoid", DOCTOR_LIMITS, "sysctl kernel.perf_event_paranoid=1");
	expect(&facts, "capability", DOCTOR_LIMITS, "--ambient-caps=+perfmon");
	expect(&facts, "cycles", DOCTOR_LIMITS, "sysctl");
	expect(&facts, "software-events", DOCTOR_LIMITS, "sysctl");
	facts.paranoid = 4;
	facts.cycles_user = facts.software_user = -EACCES;
	assert_false(doctor_hardware(&facts));
	expect(&facts, "perf_event_paranoid", DOCTOR_BLOCKS, "sysctl");
	expect(&facts, "cycles", DOCTOR_BLOCKS, "sysctl");
	expect(&facts, "perf_event_open", DOCTOR_BLOCKS, "sysctl");
	facts = good;
	facts.paranoid = 4;
	facts.cap_perfmon = true;
	expect(&facts, "perf_event_paranoid", DOCTOR_OK, NULL);
	expect(&facts, "capability", DOCTOR_OK, NULL);
	facts.has_paranoid = false;
	expect(&facts, "perf_event_paranoid", DOCTOR_BLOCKS, "CONFIG_PERF_EVENTS");
}

static void filters(void **state)
{
	struct doctor_facts facts = good;

	(void)state;
	facts.seccomp = 2;
	expect(&facts, "seccomp", DOCTOR_OK, NULL);
	facts.cycles = facts.cycles_user = facts.software = facts.software_user = -EPERM;
	expect(&facts, "seccomp", DOCTOR_BLOCKS, "--cap-add PERFMON");
	expect(&facts, "perf_event_open", DOCTOR_BLOCKS, "seccomp=unconfined");
	facts.cycles = facts.cycles_user = facts.software = facts.software_user = TOOL_PROBE_KILLED;
	assert_false(doctor_hardware(&facts));
	expect(&facts, "seccomp", DOCTOR_BLOCKS, "seccomp=unconfined");
	assert_non_null(strstr(judge(&facts, "seccomp").detail, "kills"));
	facts.seccomp = 0;
	facts.software_user = -ENOSYS;
	expect(&facts, "seccomp", DOCTOR_OK, NULL);
	expect(&facts, "perf_event_open", DOCTOR_BLOCKS, "CONFIG_PERF_EVENTS");
}

static void small_things(void **state)
{
	struct doctor_facts facts = good;

	(void)state;
	facts.nmi_watchdog = true;
	expect(&facts, "nmi-watchdog", DOCTOR_LIMITS, "nmi_watchdog=0");
	facts.nofile_hard = 1024;
	expect(&facts, "file-descriptors", DOCTOR_LIMITS, "65536");
	facts.tracefs_readable = false;
	expect(&facts, "tracefs", DOCTOR_LIMITS, "remount");
	facts.tracefs_mounted = false;
	expect(&facts, "tracefs", DOCTOR_LIMITS, "mount -t tracefs");
	/* No PMU: the watchdog cannot hold a counter of it. */
	facts.cycles = facts.cycles_user = -ENOENT;
	expect(&facts, "nmi-watchdog", DOCTOR_OK, NULL);
}

/* A remedy wherever something stands in the way and something can be done. */
static void limits_have_remedies(void **state)
{
	static const int errors[] = { 0, -EACCES, -EPERM, -ENOENT, -ENOSYS, TOOL_PROBE_KILLED };
	struct doctor_facts facts = good;

	(void)state;
	for (int bits = 0; bits < 6 * 16; bits++) {
		facts = good;
		facts.cycles = facts.cycles_user = errors[bits % 6];
		facts.vm = bits / 6 & 1;
		facts.pmus[0] = bits / 6 & 2 ? 'c' : '\0';
		facts.paranoid = bits / 6 & 4 ? 3 : 1;
		facts.seccomp = bits / 6 & 8 ? 2 : 0;
		for (unsigned i = 0; i < doctor_n_checks; i++)
			judge(&facts, doctor_checks[i].name);
		if (judge(&facts, "pmu").status != DOCTOR_OK)
			assert_true(judge(&facts, "pmu").remedy[0]);
	}
}

static void put(const char *dir, const char *name, const char *text)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "mkdir -p \"$(dirname %s/%s)\" && printf -- '%s' > %s/%s", dir, name, text, dir,
		 name);
	assert_int_equal(system(command), 0);
}

static void reading(void **state)
{
	char dir[] = "/tmp/pmc-doctor-XXXXXX", proc[64], sys[64], command[64];
	struct doctor_roots roots = { proc, sys, dir };
	struct doctor_facts facts;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(proc, sizeof(proc), "%s/proc", dir);
	snprintf(sys, sizeof(sys), "%s/sys", dir);

	doctor_read(&roots, &facts);
	assert_string_equal(facts.pmus, "");
	assert_false(facts.has_paranoid || facts.vm || facts.container || facts.cap_perfmon ||
		     facts.nmi_watchdog || facts.tracefs_mounted);
	assert_true(facts.nofile_hard > 0);

	put(proc, "sys/kernel/perf_event_paranoid", "-1\\n");
	put(proc, "sys/kernel/nmi_watchdog", "1\\n");
	put(proc, "self/status",
	    "Name:\\tx\\nCapEff:\\t0000004000000000\\nSeccomp:\\t2\\n"
	    "Seccomp_filters:\\t7\\n");
	put(proc, "cpuinfo", "processor: 0\\nflags\\t\\t: fpu vme hypervisor lahf_lm\\nbugs:\\n");
	put(sys, "bus/event_source/devices/cpu_core/cpus", "0-7\\n");
	put(sys, "bus/event_source/devices/uncore_imc/cpumask", "0\\n");
	put(sys, "bus/event_source/devices/software/type", "1\\n");
	put(sys, "kernel/tracing/events/sched/sched_switch/id", "314\\n");
	put(dir, ".dockerenv", "x");
	doctor_read(&roots, &facts);
	assert_string_equal(facts.pmus, "cpu_core");
	assert_true(facts.has_paranoid && facts.paranoid == -1);
	assert_true(facts.vm && facts.container && facts.cap_perfmon && facts.nmi_watchdog);
	assert_int_equal(facts.seccomp, 2);
	assert_true(facts.tracefs_mounted && facts.tracefs_readable);

	/* The word elsewhere is not the flag. */
	put(proc, "cpuinfo", "flags: fpu\\nnote: a hypervisor\\n");
	doctor_read(&roots, &facts);
	assert_false(facts.vm);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static void counters_and_who_has_them(void **state)
{
	char dir[] = "/tmp/doctor-XXXXXX", list[128], small[16], command[64];
	struct doctor_facts facts = good;
	static const struct {
		const char *pid, *name, *target;
	} processes[] = {
		{ "17", "perf", "anon_inode:[perf_event]" },
		{ "18", "cat", "/dev/null" },
		{ "19", "self", "anon_inode:[perf_event]" },
	};

	(void)state;
	facts.counters = facts.counters_free = 6;
	expect(&facts, "counters", DOCTOR_OK, NULL);
	facts.counters_free = 5;
	expect(&facts, "counters", DOCTOR_LIMITS, "sudo pmctl doctor");
	facts.nmi_watchdog = true;
	expect(&facts, "counters", DOCTOR_LIMITS, "nmi_watchdog=0");
	/* Two are gone: the watchdog has but one. */
	facts.counters_free = 4;
	strcpy(facts.holders, "17 (perf)");
	expect(&facts, "counters", DOCTOR_LIMITS, "end the program");
	assert_non_null(strstr(judge(&facts, "counters").detail, "2 of 6"));
	assert_non_null(strstr(judge(&facts, "counters").detail, "17 (perf)"));

	assert_non_null(mkdtemp(dir));
	put(dir, "self/comm", "no number\n");
	for (unsigned i = 0; i < 3; i++) {
		char path[96];

		snprintf(path, sizeof(path), "%s/comm", processes[i].pid);
		put(dir, path, processes[i].name);
		snprintf(path, sizeof(path), "%s/fd/x", processes[i].pid);
		put(dir, path, "");
		snprintf(path, sizeof(path), "%s/%s/fd/3", dir, processes[i].pid);
		assert_int_equal(symlink(processes[i].target, path), 0);
	}
	doctor_holders(dir, 19, list, sizeof(list));
	assert_string_equal(list, "17 (perf)");
	doctor_holders(dir, 0, small, sizeof(small));
	/* Cut to whole names. */
	assert_true(strcmp(small, "17 (perf)") == 0 || strcmp(small, "19 (self)") == 0);
	doctor_holders("/nonexistent", 0, list, sizeof(list));
	assert_string_equal(list, "");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static void probing(void **state)
{
	struct doctor_facts facts = good;
	const struct perf_event_attr none = { .type = 0x7ffffff0, .size = sizeof(none) };

	(void)state;
	doctor_try(&facts);
	assert_true(facts.software_user <= 0 && facts.cycles <= 0);
	/* What opens for all opens for user mode alone. */
	assert_true(facts.software != 0 || facts.software_user == 0);
	assert_true(tool_perf_try(&none) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_machine),
		cmocka_unit_test(a_vm_without_pmu),
		cmocka_unit_test(levels_of_paranoia),
		cmocka_unit_test(filters),
		cmocka_unit_test(small_things),
		cmocka_unit_test(limits_have_remedies),
		cmocka_unit_test(reading),
		cmocka_unit_test(counters_and_who_has_them),
		cmocka_unit_test(probing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
