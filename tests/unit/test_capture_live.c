/* SPDX-License-Identifier: MIT */
/* test_capture_live.c - captures of commands that watch threads: stat and top. */
#include "tests/unit/capture.h"
#include "tests/unit/made_machine.h"

#define CAPTURE(lines) capture_list(lines, sizeof(lines) / sizeof((lines)[0]), "")

static int set_up(void **state)
{
	fake_reset(state);
	kernel.group_size = kernel.counters = 4;
	kernel.missing = PERF_COUNT_HW_STALLED_CYCLES_FRONTEND;
	return 0;
}

static void of_stat(void **state)
{
	static const char *const views[] = {
		"pmctl stat -- ./app",
		"pmctl stat -I 500ms -- ./app",
		"pmctl stat -p 1234 -I 1s -n 3",
		"pmctl stat -p 1234 -I 1s -n 2 -e cycles,instructions,cache-misses,page-faults",
		"pmctl stat -p 1234 -I 1s -n 3 --per-thread",
		"pmctl stat -p 1234 -I 2s -n 1 --by pool",
		"pmctl stat -t 1236 -I 1s -n 2",
		"pmctl stat -a -I 1s -n 1",
		"pmctl stat -a -I 1s -n 2 --per-cpu",
		"pmctl stat -a -I 1s -n 1 --per-socket -e cpu-clock,cycles,instructions",
	};
	static const char *const data[] = {
		"pmctl stat --format csv -e cycles,page-faults,run-delay -- ./app",
		"pmctl stat --format csv -p 1234 -I 1s -n 1 -e cycles,task-clock --per-thread",
		"pmctl stat --format csv -a -I 1s -n 1 --per-socket -e cpu-clock,cycles",
		"pmctl stat --format json -e cycles,page-faults,user-time -- ./app",
		"pmctl stat --format json -p 1234 -I 1s -n 2 -e cycles,instructions",
		"pmctl stat --format json -p 1234 -I 1s -n 1 -e cycles --by pool",
		"pmctl stat --format json -a -I 1s -n 1 --per-core -e cpu-clock",
		"pmctl stat --format jsonl -p 1234 -I 1s -n 1 -e cycles,task-clock --by thread "
		"--sort cpu "
		"--top 2 --where name=db* --columns name,cpu,cycles,cpus",
		("pmctl stat --format csv -p 1234 -I 1s -n 2 --by pool --where pool=db* "
		 "--columns time_ns,pool,threads,cycles,cycles.state,vol,at"),
	};
	static const char *const once[] = {
		"pmctl stat -p 1234 -I 1s -n 2 --by pool --cumulative",
		/* The last interval is short. */
		"pmctl stat -I 749950us -e task-clock,cycles,page-faults -- ./app",
		"pmctl stat -a -I 1s -n 1 --per-core",
		"pmctl stat -a -I 1s -n 1 --per-node -e cpu-clock,cycles,instructions",
		"pmctl stat -p 1234 -I 1s -n 2 --by thread --sort cpu --top 3 --where tid=123* "
		"--columns time,thread,tid,cpu,vol,cycles,IPC",
		"pmctl stat -p 1234 -I 1s -n 1 --by pool --sort vol --top 2 --format markdown "
		"--columns "
		"pool,n,cpu,vol,invol",
		"pmctl stat --format markdown -e cycles,instructions,task-clock -- ./app",
		"pmctl stat",
		"pmctl stat -p 1234 --by thread --columns thread,cpuz",
		"pmctl stat -p 1234 --by thread --where tid",
		"pmctl stat -p 1234 --top 3",
		"pmctl stat -p 1234 --by function",
		"pmctl stat -p 1234 --per-cpu",
		"pmctl stat -p 1234 -n 3",
		"pmctl stat -p 1234 -I 0.1",
		"pmctl stat -p x",
		"pmctl stat --by pool -- ./app",
	};

	capture_widths("stat", views, sizeof(views) / sizeof(views[0]), NULL);
	capture_begin();
	CAPTURE(data);
	capture_end("stat.data");
	capture_begin();
	CAPTURE(once);
	machine_without_pmu = true;
	capture_run("pmctl stat -- ./app");
	capture_run("pmctl stat -p 1234 -I 1s -n 2");
	capture_run("pmctl stat -p 1234 -I 1s -n 1 --per-thread -e cycles,task-clock");
	capture_run("pmctl stat -e cycles -- ./app");
	capture_run("pmctl stat -e cycles,page-faults --format json -- ./app");
	machine_without_pmu = false;
	capture_end("stat.once");
}

static void of_top(void **state)
{
	static const char *const views[] = {
		"pmctl top -b -n 2 1234",
		"pmctl top -b -n 1 --by pool 1234",
		"pmctl top -b -n 1 --by process 1234",
		"pmctl top -b -n 1 -a",
		"pmctl top -b -n 1 -s delay -r 1234",
		"pmctl top -b -n 1 --filter db --by thread 1234",
		"pmctl top -b -n 1 -e cycles,instructions,branch-misses,run-delay 1234",
	};
	static const char *const once[] = {
		"pmctl top -b -n 2 --format csv --where delay=[1-9]* 1234",
		"pmctl top -b -n 1 --format jsonl --top 2 --columns name,cpu,vol,cycles,ipc "
		"1234",
		"pmctl top -b -n 1 --format markdown --by pool --columns pool,threads,cpu,where "
		"--where threads=2 1234",
		"pmctl top -b --columns name,cup 1234",
		"pmctl top --format csv 1234",
		"pmctl top -b",
		"pmctl top -b -n 1 -s colour 1234",
		"pmctl top -b -n 1 --by function 1234",
	};

	capture_widths("top", views, sizeof(views) / sizeof(views[0]), NULL);
	capture_begin();
	CAPTURE(once);
	machine_without_pmu = true;
	capture_run("pmctl top -b -n 1 1234");
	capture_run("pmctl top -b -n 1 -e cycles 1234");
	machine_without_pmu = false;
	capture_locale = "C";
	capture_run("pmctl top -b -n 3 --by thread 1234");
	capture_locale = NULL;
	capture_end("top.once");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_stat),
		cmocka_unit_test(of_top),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
