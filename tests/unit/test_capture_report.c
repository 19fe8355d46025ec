/* SPDX-License-Identifier: MIT */
/* test_capture_report.c - captures of commands that read dumps: report, diff, export, merge. */
#include "tests/unit/capture.h"
#include "tests/unit/capture_dumps.h"

static char dir[] = "/tmp/pmc-capture-XXXXXX";

static void save(const char *name, size_t len)
{
	char path[64];
	FILE *file;

	assert_false(made.overflow);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(made.data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	capture_dir = dir;
	for (unsigned run = 0; run < 6; run++) {
		char name[] = "old-1.pmc";

		memcpy(name, run < 3 ? "old" : "new", 3);
		name[4] = (char)('1' + run % 3);
		dump_server(run, run >= 3);
		save(name, made.len);
	}
	dump_plain();
	save("plain.pmc", made.len);
	save("torn.pmc", made.len - 40);
	save("empty.pmc", 0);
	dump_samples(0);
	save("samples.pmc", made.len);
	dump_samples(40);
	save("more.pmc", made.len);
	dump_steps();
	save("steps.pmc", made.len);
	dump_ranks();
	save("ranks.pmc", made.len);
	dump_hybrid();
	save("hybrid.pmc", made.len);
	dump_hostile();
	save("hostile.pmc", made.len);
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

#define CAPTURE(lines, more) capture_list(lines, N(lines), more)

#define AT_WIDTHS(name, lines) capture_widths(name, lines, N(lines), " --width ")

static void server(void **state)
{
	static const char *const views[] = {
		"pmctl report old-1.pmc",
		"pmctl report old-1.pmc --by thread --top 5",
		"pmctl report old-1.pmc --by thread --top 0 --where name=io*",
		"pmctl report old-1.pmc --by pool",
		"pmctl report old-1.pmc --by start",
		"pmctl report old-1.pmc --by process",
		"pmctl report old-1.pmc --by region",
		"pmctl report old-1.pmc --where name=db* --where cpu=1*",
		"pmctl report old-1.pmc --columns thread,tid,cpu,%,cycles,IPC,vol --top 6",
		"pmctl report old-1.pmc --timeline --where name=io*",
	};
	static const char *const once[] = {
		"pmctl report old-1.pmc --wide --top 40",
		"pmctl report old-1.pmc --by pool --wide --top 1",
		"pmctl report old-1.pmc --by name --top 4",
		"pmctl report old-1.pmc --by exe",
		"pmctl report old-1.pmc --by pool --sort instructions --top 2",
		"pmctl report old-1.pmc --by host",
		"pmctl report old-1.pmc --by rank",
		"pmctl report old-1.pmc --sort name --top 4",
		"pmctl report old-1.pmc --sort n --by pool --top 4",
		"pmctl report old-1.pmc --where state=live",
		"pmctl report old-1.pmc --where pid=12100",
		"pmctl report old-1.pmc --where name=nobody",
		"pmctl report old-1.pmc --where pool=db-pool",
		"pmctl report old-1.pmc --by pool --where name=db*",
		"pmctl report old-1.pmc --by pool --columns key,n,cpu_ns,share,faults",
		"pmctl report old-1.pmc new-1.pmc --by pool",
	};

	AT_WIDTHS("report-server", views);
	capture_begin();
	CAPTURE(once, "");
	capture_end("report-server.once");
	capture_begin();
	capture_locale = "C";
	capture_run("pmctl report old-1.pmc");
	capture_run("pmctl report ranks.pmc --by rank --wide");
	capture_run("pmctl report steps.pmc --timeline --by pool");
	capture_run("pmctl report samples.pmc --by path");
	capture_run("pmctl report hostile.pmc");
	capture_run("pmctl diff old-1.pmc new-1.pmc --top 2");
	capture_locale = NULL;
	capture_end("ascii");
}

static void server_data(void **state)
{
	static const char *const csv[] = {
		"pmctl report old-1.pmc --format csv --where name=[sgul]*",
		"pmctl report old-1.pmc --format csv --by pool --where name=[dhi]*",
		"pmctl report old-1.pmc --format csv --by region",
		"pmctl report old-1.pmc --format csv --columns name,cpu_ns,cycles,ipc --top 5",
		"pmctl report old-1.pmc --format csv --by name --where name=io* --sort cpu",
	};

	capture_begin();
	CAPTURE(csv, "");
	capture_end("report-server.csv");
	capture_begin();
	capture_run("pmctl report old-1.pmc --format json --where name=[gul]*");
	capture_run("pmctl report old-1.pmc --format json --by region --where name=log");
	capture_end("report-server.json");
}

static void small(void **state)
{
	static const char *const views[] = {
		"pmctl report plain.pmc",
		"pmctl report plain.pmc --by pool",
		"pmctl report steps.pmc",
		"pmctl report steps.pmc --timeline",
		"pmctl report steps.pmc --timeline --by thread",
		"pmctl report steps.pmc --timeline --by pool",
		"pmctl report ranks.pmc",
		"pmctl report ranks.pmc --by rank",
		"pmctl report ranks.pmc --by process",
		"pmctl report hybrid.pmc",
		"pmctl report hybrid.pmc --wide",
		"pmctl report hostile.pmc",
		"pmctl report hostile.pmc --by start",
	};
	static const char *const csv[] = {
		"pmctl report plain.pmc --format csv",
		"pmctl report steps.pmc --format csv --timeline --where name=pool-1",
		"pmctl report ranks.pmc --format csv --by rank",
		"pmctl report ranks.pmc --format csv --by host",
		"pmctl report hybrid.pmc --format csv",
		"pmctl report hostile.pmc --format csv",
	};
	static const char *const json[] = {
		"pmctl report plain.pmc --format json --by pool",
		"pmctl report plain.pmc --format json --top 1",
		"pmctl report steps.pmc --format json --timeline --where name=pool-1",
		"pmctl report ranks.pmc --format json --by rank --where host=node1",
		"pmctl report hybrid.pmc --format json",
		"pmctl report hostile.pmc --format json",
	};

	AT_WIDTHS("report-small", views);
	capture_begin();
	CAPTURE(csv, "");
	capture_end("report-small.csv");
	capture_begin();
	CAPTURE(json, "");
	capture_end("report-small.json");
}

static void samples(void **state)
{
	static const char *const views[] = {
		"pmctl report samples.pmc",
		"pmctl report samples.pmc --by start",
		"pmctl report samples.pmc --by function",
		"pmctl report samples.pmc --by line",
		"pmctl report samples.pmc --by module",
		"pmctl report samples.pmc --by path",
		"pmctl report samples.pmc --by path --bottom-up",
		"pmctl report samples.pmc --by function --event off-cpu",
		"pmctl report samples.pmc --by path --event off-cpu",
		"pmctl report samples.pmc --by function --where name=pool*",
	};
	static const char *const once[] = {
		"pmctl report samples.pmc --by pool",
		"pmctl report samples.pmc --columns thread,wait --histogram",
		"pmctl report samples.pmc --histogram --by line",
		"pmctl report samples.pmc --by function --event page-faults",
		"pmctl report samples.pmc --by function --top 2",
		"pmctl report samples.pmc --by function --sort total",
		"pmctl report samples.pmc --by function --columns key,self,total,module",
		"pmctl report samples.pmc --by function --event cycles",
	};
	static const char *const csv[] = {
		"pmctl report samples.pmc --format csv",
		"pmctl report samples.pmc --format csv --histogram",
		"pmctl report samples.pmc --format csv --histogram --by pool",
		"pmctl report samples.pmc --format csv --by function",
		"pmctl report samples.pmc --format csv --by line",
		"pmctl report samples.pmc --format csv --by path",
		"pmctl report samples.pmc --format folded --by path",
		"pmctl report samples.pmc --format folded --by path --event off-cpu",
	};
	static const char *const json[] = {
		"pmctl report samples.pmc --format json",
		"pmctl report samples.pmc --format json --by function",
		"pmctl report samples.pmc --format json --by line",
		"pmctl report samples.pmc --format json --by path",
	};

	AT_WIDTHS("report-samples", views);
	capture_begin();
	CAPTURE(once, "");
	capture_end("report-samples.once");
	capture_begin();
	CAPTURE(csv, "");
	capture_end("report-samples.csv");
	capture_begin();
	CAPTURE(json, "");
	capture_end("report-samples.json");
}

static void diff(void **state)
{
	static const char *const views[] = {
		"pmctl diff old-1.pmc new-1.pmc --top 2",
		"pmctl diff old-1.pmc old-2.pmc --vs new-1.pmc new-2.pmc new-3.pmc --top 2",
		"pmctl diff plain.pmc ranks.pmc --top 2",
		"pmctl diff samples.pmc more.pmc",
		"pmctl diff samples.pmc more.pmc --by function",
		"pmctl diff samples.pmc more.pmc --by module --event page-faults",
	};
	static const char *const once[] = {
		"pmctl diff old-1.pmc old-2.pmc",
		"pmctl diff old-1.pmc old-2.pmc --vs old-3.pmc --top 1",
		"pmctl diff old-1.pmc new-1.pmc --by name --top 1",
		"pmctl diff plain.pmc ranks.pmc --by exe",
		"pmctl diff ranks.pmc steps.pmc --by rank",
		"pmctl diff ranks.pmc steps.pmc --by host",
		"pmctl diff samples.pmc more.pmc --by line",
		"pmctl diff old-1.pmc new-1.pmc --all --top 1",
		"pmctl diff old-1.pmc new-1.pmc --sort delta_pct --top 3",
		"pmctl diff old-1.pmc new-1.pmc --where key=db-* --columns key,name,side,delta_pct",
		"pmctl diff old-1.pmc new-1.pmc --where key=db-pool",
		"pmctl diff old-1.pmc new-1.pmc --sort key --format json",
		("pmctl diff old-1.pmc old-2.pmc --vs new-1.pmc new-2.pmc --top 1 --format "
		 "markdown"),
		"pmctl diff hostile.pmc hybrid.pmc --top 2",
		"pmctl diff old-1.pmc new-1.pmc --by function",
		"pmctl diff old-1.pmc new-1.pmc --top 1 --fail-above 5",
	};
	static const char *const data[] = {
		"pmctl diff plain.pmc ranks.pmc --format csv",
		"pmctl diff old-1.pmc old-2.pmc --vs new-1.pmc new-2.pmc --format csv --top 1",
		"pmctl diff samples.pmc more.pmc --by function --format csv",
		("pmctl diff samples.pmc more.pmc --by function --format jsonl --where "
		 "name=task-clock*"),
		"pmctl diff steps.pmc ranks.pmc --format json",
		"pmctl diff samples.pmc more.pmc --by function --format json",
	};

	AT_WIDTHS("diff", views);
	capture_begin();
	CAPTURE(once, "");
	capture_end("diff.once");
	capture_begin();
	CAPTURE(data, "");
	capture_end("diff.data");
}

static void exports(void **state)
{
	static const char *const lines[] = {
		"pmctl export samples.pmc --to folded",
		"pmctl export samples.pmc --to folded --event off-cpu",
		"pmctl export samples.pmc --to speedscope",
		"pmctl export ranks.pmc --to chrome",
		"pmctl export hybrid.pmc --to openmetrics",
		"pmctl export ranks.pmc --to csv",
		"pmctl export plain.pmc --to jsonl",
		"pmctl export samples.pmc --to jsonl",
		"pmctl export plain.pmc --to folded",
	};

	capture_begin();
	CAPTURE(lines, "");
	capture_end("export");
}

/* Inputs and flags that are refused, and what is said of them. */
static void refused(void **state)
{
	static const char *const lines[] = {
		"pmctl report",
		"pmctl report missing.pmc",
		"pmctl report empty.pmc",
		"pmctl report torn.pmc",
		"pmctl report torn.pmc --format json --by thread --top 1",
		"pmctl report plain.pmc missing.pmc",
		"pmctl report plain.pmc --by colour",
		"pmctl report plain.pmc --sort cycels",
		"pmctl report plain.pmc --where cpu",
		"pmctl report plain.pmc --where colour=red",
		"pmctl report plain.pmc --columns name,colour",
		"pmctl report plain.pmc --format xml",
		"pmctl report plain.pmc --format json --columns name",
		"pmctl report plain.pmc --by function,thread",
		"pmctl report plain.pmc --by path --sort self",
		"pmctl report plain.pmc --timeline --top 3",
		"pmctl report plain.pmc --timeline --by region",
		"pmctl report samples.pmc --by path --bottom-up --format folded",
		"pmctl report old-1.pmc --by region --format json --top x",
		"pmctl diff plain.pmc",
		"pmctl diff plain.pmc plain.pmc --by thread",
		"pmctl diff plain.pmc missing.pmc --format json",
		"pmctl export plain.pmc",
		"pmctl export plain.pmc --to svg",
		"pmctl export plain.pmc --to folded --event cycles",
	};

	capture_begin();
	CAPTURE(lines, "");
	capture_end("refused");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server),  cmocka_unit_test(server_data), cmocka_unit_test(small),
		cmocka_unit_test(samples), cmocka_unit_test(diff),	  cmocka_unit_test(exports),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
