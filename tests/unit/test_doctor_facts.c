/* SPDX-License-Identifier: MIT */
/* test_doctor_facts.c - facts of pmctl doctor: from made-up machines and by trying this one. */
#include "tools/doctor/facts.h"
#include "tools/cli/try_open.h"
#include "tests/unit/unit.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(const char *dir, const char *name, const char *text)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "mkdir -p \"$(dirname %s/%s)\" && printf -- '%s' > %s/%s", dir, name, text, dir,
		 name);
	assert_int_equal(system(command), 0);
}

static void remove_tree(const char *dir)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static void reading(void **state)
{
	char dir[] = "/tmp/pmc-doctor-XXXXXX", proc[64], sys[64];
	struct pmc_roots roots = { proc, sys, dir };
	struct doctor_facts facts;

	assert_non_null(mkdtemp(dir));
	snprintf(proc, sizeof(proc), "%s/proc", dir);
	snprintf(sys, sizeof(sys), "%s/sys", dir);

	doctor_read(&roots, &facts);
	assert_string_equal(facts.pmus, "");
	assert_true(facts.here.paranoid == PMC_LEVEL_UNKNOWN && !facts.here.vm);
	assert_false(facts.tracefs_mounted);
	assert_true(facts.nmi_watchdog == DOCTOR_NONE && facts.rdpmc == DOCTOR_NONE &&
		    facts.ptrace_scope == DOCTOR_NONE && facts.user_access == DOCTOR_NONE);
	assert_true(facts.nofile_hard > 0);
	assert_true(facts.agent_dir[0] == '/');
	assert_int_equal(facts.cycles, DOCTOR_UNTRIED);

	put(proc, "sys/kernel/perf_event_paranoid", "-1\n");
	put(proc, "sys/kernel/nmi_watchdog", "1\n");
	put(proc, "sys/kernel/yama/ptrace_scope", "1\n");
	put(proc, "sys/kernel/perf_user_access", "0\n");
	put(sys, "bus/event_source/devices/cpu_core/cpus", "0-7\n");
	put(sys, "bus/event_source/devices/cpu_core/rdpmc", "2\n");
	put(sys, "bus/event_source/devices/uncore_imc/cpumask", "0\n");
	put(sys, "bus/event_source/devices/software/type", "1\n");
	put(sys, "kernel/tracing/events/sched/sched_switch/id", "314\n");
	put(dir, ".dockerenv", "x");
	doctor_read(&roots, &facts);
	assert_string_equal(facts.pmus, "cpu_core");
	assert_int_equal(facts.here.paranoid, -1);
	assert_string_equal(facts.here.container, "docker");
	assert_int_equal(facts.nmi_watchdog, 1);
	assert_true(facts.ptrace_scope == 1 && facts.user_access == 0 && facts.rdpmc == 2);
	assert_non_null(strstr(facts.rdpmc_file, "/cpu_core/rdpmc"));
	assert_true(facts.tracefs_mounted && facts.tracefs_readable && !facts.tracefs_names);
	put(sys, "kernel/tracing/available_events", "sched:sched_switch\n");
	doctor_read(&roots, &facts);
	assert_true(facts.tracefs_readable && facts.tracefs_names);

	/* Mounted, but not readable by this user. */
	put(sys, "kernel/tracing/events/sched/sched_switch/id", "");
	doctor_read(&roots, &facts);
	assert_true(facts.tracefs_mounted && !facts.tracefs_readable);
	remove_tree(dir);
}

static void processes_with_perf_events(void **state)
{
	char dir[] = "/tmp/doctor-XXXXXX";
	struct doctor_facts facts = { 0 };
	static const struct {
		const char *pid, *name, *target;
	} processes[] = {
		{ "17", "perf", "anon_inode:[perf_event]" },
		{ "18", "cat", "/dev/null" },
		{ "19", "self", "anon_inode:[perf_event]" },
	};

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
	memset(&facts, 0, sizeof(facts));
	doctor_find_holders(dir, 19, &facts);
	assert_string_equal(facts.holders, "17 (perf)");
	assert_true(facts.n_holders == 1 && facts.first_holder == 17 && facts.holds_itself);
	memset(&facts, 0, sizeof(facts));
	doctor_find_holders(dir, 0, &facts);
	assert_int_equal(facts.n_holders, 2);
	assert_false(facts.holds_itself);
	doctor_find_holders("/nonexistent", 0, &facts);
	assert_string_equal(facts.holders, "");
	remove_tree(dir);
}

static void versions_of_agents(void **state)
{
	char version[32];

	assert_false(doctor_agent_version("/nonexistent", version));
	assert_false(doctor_agent_version("/dev/null", version));
	assert_false(doctor_agent_version("/etc/passwd", version));
	/* An executable that is no agent. */
	assert_false(doctor_agent_version("/proc/self/exe", version));
	assert_string_equal(version, "");
}

static void probing(void **state)
{
	struct doctor_facts facts = { 0 };
	const struct perf_event_attr none = { .type = 0x7ffffff0, .size = sizeof(none) };

	doctor_try(&facts);
	assert_true(facts.software_user <= 0 && facts.cycles <= 0);
	/* An event that opens in both modes opens in user mode. */
	assert_true(facts.software != 0 || facts.software_user == 0);
	assert_true(tool_perf_try(&none) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading),
		cmocka_unit_test(processes_with_perf_events),
		cmocka_unit_test(versions_of_agents),
		cmocka_unit_test(probing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
