/* SPDX-License-Identifier: MIT */
/* test_mac_doctor.c - pmctl doctor of macOS against doubles of its calls. */
#include "tests/unit/mac_double.h"
#include "tests/unit/tool_run.h"
#include "tools/doctor/mac_facts.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>

const struct pmc_mac_calls pmc_mac_system = DOUBLE_CALLS(double_usage);

static struct {
	bool intel, translated, vm, no_texts, no_agent;
	int sip_error;
	uint32_t sip;
	const char *self; /* a shell script: what pmctl does under the agent */
} mac;
static char dir[64], script[80];

static bool number(const char *name, int *value)
{
	*value = strcmp(name, "hw.optional.arm64") == 0	     ? !mac.intel :
		 strcmp(name, "sysctl.proc_translated") == 0 ? mac.translated :
		 strcmp(name, "kern.hv_vmm_present") == 0    ? mac.vm :
							       (int)0xa5a5a5a5;
	return *value != (int)0xa5a5a5a5;
}

static bool text(const char *name, char *to, size_t bytes)
{
	memset(to, 0xa5, bytes);
	if (!mac.no_texts)
		snprintf(to, bytes, "%s", name[0] == 'm' ? "Apple M2" : "14.5");
	return !mac.no_texts;
}

static int sip(uint32_t *config)
{
	*config = mac.sip_error ? 0xa5a5a5a5 : mac.sip;
	return mac.sip_error;
}

static bool self(char path[PATH_MAX])
{
	FILE *file = fopen(script, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", mac.self);
	fclose(file);
	snprintf(path, PATH_MAX, "%s", script);
	return chmod(script, 0755) == 0;
}

const struct doctor_mac_calls doctor_mac_system = { number, text, sip, self };

bool __wrap_tool_find_agent(char in[PATH_MAX], char found[PATH_MAX]);
bool __wrap_tool_find_agent(char in[PATH_MAX], char found[PATH_MAX])
{
	snprintf(in, PATH_MAX, "/opt");
	snprintf(found, PATH_MAX, "/opt/libpmcagent.dylib");
	return !mac.no_agent;
}

static void begin(void)
{
	double_reset(2);
	memset(&mac, 0, sizeof(mac));
	mac.self = "[ \"$DYLD_INSERT_LIBRARIES\" = /opt/libpmcagent.dylib ] && [ $1 = --version ] "
		   "&& echo >$PMC_OUT";
}

static struct tool_run result;

/* The check has this status, and its line this text. */
static void expect(const char *check, const char *status, const char *part)
{
	char want[64];
	const char *at;

	PMCTL(&result, "doctor");
	snprintf(want, sizeof(want), "%-20s  %-6s  ", check, status);
	at = strstr(result.out, want);
	if (!at || !strstr(at, part))
		print_message("%s%s: not %s, %s\n", result.out, check, status, part);
	assert_non_null(at);
	assert_non_null(strstr(at, part));
	assert_true(strstr(at, part) < strchr(at, '\n') || strchr(at, '\n')[1] == ' ');
}

static void a_mac_that_counts(void **state)
{
	begin();
	expect("processor", "ok", "Apple M2, Apple silicon");
	expect("macos", "ok", "14.5");
	expect("cycles", "ok", "2 performance levels");
	expect("root", "limits", "fix: sudo pmctl doctor");
	expect("kperf", "ok", "loaded");
	expect("events", "ok", "kpep");
	expect("system-integrity", "limits", "/bin");
	expect("insertion", "ok", "loads the agent");
	assert_int_equal(result.code, 0);
	mac_double.root = true;
	mac.sip = 4;
	expect("root", "ok", "yes");
	expect("kperf", "ok", "and counts");
	expect("system-integrity", "ok", "off");
	assert_int_equal(doctor_gather()->kpep_reason, 0);
	assert_int_equal(mac_double.live_db, 0);
	assert_int_equal(mac_double.forced, 0);
	assert_int_equal(mac_double.counting, 0);
	mac.intel = true;
	expect("processor", "ok", "Intel");
	mac.translated = true;
	expect("processor", "limits", "Rosetta");
}

static void what_fails_is_explained(void **state)
{
	begin();
	mac_double.self_error = -ENOTSUP;
	mac.vm = mac.no_texts = true;
	mac.sip_error = -1;
	expect("cycles", "blocks", "ENOTSUP");
	expect("virtual-machine", "limits", "without counters");
	expect("macos", "ok", "unknown");
	expect("system-integrity", "ok", "unknown");
	assert_int_equal(result.code, 1);
	mac_double.self_error = -EPERM;
	expect("cycles", "blocks", "thread_selfcounts");
	begin();
	mac_double.levels_error = -EINVAL;
	expect("macos", "limits", "macOS 13");
	expect("cycles", "ok", "cycles");
	begin();
	mac_double.no_kperf = true;
	expect("kperf", "limits", "cannot be loaded");
	expect("events", "limits", "framework");
	begin();
	mac_double.db_error = 6;
	expect("events", "limits", "database");
	begin();
	mac_double.root = true;
	mac_double.force_errno = EBUSY;
	expect("kperf", "limits", "another program holds");
	mac_double.force_errno = EACCES;
	expect("kperf", "limits", "another program holds");
	mac_double.force_errno = EPERM;
	expect("kperf", "limits", "not even to root");
	mac_double.force_errno = EIO;
	expect("kperf", "limits", "does not count");
	mac.intel = true;
	expect("kperf", "limits", "not in the database");
}

static void the_agent_is_tried(void **state)
{
	begin();
	mac.self = ":";
	expect("insertion", "limits", "ignored");
	mac.self = "kill -9 $$";
	expect("insertion", "limits", "ended by the loader");
	mac.no_agent = true;
	expect("insertion", "limits", "not tried");
	expect("agent", "limits", "neither in /opt");
	assert_int_equal(result.code, 0);
}

static void events_can_be_required(void **state)
{
	begin();
	PMCTL(&result, "doctor", "--require", "cycles,instructions");
	assert_int_equal(result.code, 0);
	assert_non_null(strstr(result.out, "each counted"));
	PMCTL(&result, "doctor", "--require", "INST_ALL", "--json");
	assert_int_equal(result.code, 1);
	assert_non_null(strstr(result.out, "sudo pmctl doctor --require INST_ALL"));
	PMCTL(&result, "doctor", "--require", "cache-misses");
	assert_int_equal(result.code, 1);
	PMCTL(&result, "doctor", "--require", "no such event");
	assert_int_equal(result.code, 2);
	mac_double.root = true;
	PMCTL(&result, "doctor", "--require", "INST_ALL");
	assert_int_equal(result.code, 0);
}

static int set_up(void **state)
{
	strcpy(dir, "/tmp/mac-doctor-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(script, sizeof(script), "%s/pmctl", dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(script);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mac_that_counts),
		cmocka_unit_test(what_fails_is_explained),
		cmocka_unit_test(the_agent_is_tried),
		cmocka_unit_test(events_can_be_required),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
