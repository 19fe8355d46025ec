/* SPDX-License-Identifier: MIT */
/* test_capture_machine.c - captures of commands about a machine: list and doctor. */
#include "tests/unit/capture.h"
#include "lib/base/proc.h"
#include "tests/unit/made_facts.h"
#include "tests/unit/made_machine.h"
#include "tools/list/list.h"

#include <linux/capability.h>

#define N(list) (sizeof(list) / sizeof((list)[0]))

/* ---- list -------------------------------------------------------------------------------------
 */

void __wrap_list_pfm(struct list *list);
void __wrap_list_pfm(struct list *list)
{
}

void __wrap_list_tracepoints(struct list *list);
void __wrap_list_tracepoints(struct list *list)
{
	static const char *const names[] = { "sched:sched_switch", "sched:\033[1m" };

	for (unsigned i = 0; i < N(names); i++) {
		const struct list_row row = { .name = names[i],
					      .type = "tracepoint",
					      .description = "tracepoint",
					      .answer = { i == 0, i ? "run as root" : NULL,
							  NULL } };

		if (list_wants(list, names[i]))
			list_add(list, &row);
	}
}

bool __wrap_pmc_run_delay(uint32_t tid, uint64_t *ns);
bool __wrap_pmc_run_delay(uint32_t tid, uint64_t *ns)
{
	return true;
}

static void of_list(void **state)
{
	static const char *const lines[] = {
		"pmctl list",
		"pmctl list *miss*",
		"pmctl list *miss* --json",
		"pmctl list *miss* --where available=no",
		"pmctl list *miss* --where type=hardware --columns name,available --format csv",
		"pmctl list *miss* --sort name --top 3 --format markdown",
		"pmctl list --fit cycles --sort name",
		"pmctl list no-such-*",
		"pmctl list no-such-* --json",
		"pmctl list --fit cycles,instructions,branches",
		"pmctl list --fit "
		"cycles,instructions,branches,branch-misses,cache-misses,page-faults",
		"pmctl list --fit cycles,instructions,branches,branch-misses,cache-misses --json",
		"pmctl list --pmu-db data/apple-m2-events.tsv --fit "
		"INST_ALL,RETIRE_UOP,INST_BRANCH",
		"pmctl list --pmu-db data/apple-m2-events.tsv --fit INST_ALL,CORE_ACTIVE_CYCLE "
		"--json",
		"pmctl list --pmu-db data/apple-m2-events.tsv",
	};

	capture_begin();
	capture_list(lines, N(lines), "");
	machine_without_pmu = true;
	capture_run("pmctl list cycles");
	capture_run("pmctl list cycles --format jsonl");
	capture_run("pmctl list page-faults");
	capture_run("pmctl list --fit cycles,instructions");
	machine_without_pmu = false;
	capture_end("list");
}

/* ---- doctor -----------------------------------------------------------------------------------
 */

static struct doctor_facts facts;

const struct doctor_facts *__wrap_doctor_gather(void);
const struct doctor_facts *__wrap_doctor_gather(void)
{
	return &facts;
}

static void of_doctor(void **state)
{
	static const char *const line[] = { "pmctl doctor" };

	facts = good;
	facts.here.paranoid = 2;
	facts.cycles = facts.software = facts.system_wide = -EACCES;
	facts.ptrace_scope = 1;
	facts.counters_free = 5;
	facts.nmi_watchdog = 1;
	capture_widths("doctor", line, 1, NULL);
	capture_begin();
	capture_run("pmctl doctor --json");
	capture_run("pmctl doctor --format csv");
	capture_run("pmctl doctor --format jsonl");
	capture_run("pmctl doctor --format markdown");
	facts = good;
	no_pmu(&facts);
	facts.here.vm = "kvm";
	facts.here.container = "docker";
	capture_run("pmctl doctor");
	facts = good;
	facts.here.filtered = PMC_YES;
	all_opens(&facts, -EPERM);
	capture_run("pmctl doctor");
	capture_run("pmctl doctor --by thread");
	capture_end("doctor.once");
}

static int set_up(void **state)
{
	fake_reset(state);
	kernel.group_size = kernel.counters = 4;
	kernel.missing = PERF_COUNT_HW_STALLED_CYCLES_FRONTEND;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_list),
		cmocka_unit_test(of_doctor),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
