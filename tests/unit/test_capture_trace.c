/* SPDX-License-Identifier: MIT */
/* test_capture_trace.c - captures of trace, with made tracepoints and records. */
#include "tests/unit/capture.h"
#include "tests/unit/made_machine.h"
#include "tools/trace/trace.h"

#include <fcntl.h>

#define N(list) (sizeof(list) / sizeof((list)[0]))

/* ---- tracepoints ------------------------------------------------------------------------------
 */

#define FIELD(type, name, offset, size, is_signed)                                                 \
	"\tfield:" type " " name ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";" \
	"\n"
#define FORMAT(name, id, fields, print)                                                            \
	"name: " name "\nID: " #id "\nformat:\n" FIELD("unsigned short", "common_type", 0, 2, 0)   \
		FIELD("unsigned char", "common_flags", 2, 1, 0)                                    \
			FIELD("unsigned char", "common_preempt_count", 3, 1, 0)                    \
				FIELD("int", "common_pid", 4, 4, 1) "\n" fields "\nprint fmt: "    \
								    "" print "\n"
#define WAKE_FIELDS                                                                                \
	FIELD("char", "comm[16]", 8, 16, 0)                                                        \
	FIELD("pid_t", "pid", 24, 4, 1)                                                            \
	FIELD("int", "prio", 28, 4, 1) FIELD("int", "target_cpu", 32, 4, 1)
#define WAKE_PRINT                                                                                 \
	"\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "             \
	"REC->target_cpu"

enum { ID_SWITCH = 300, ID_WAKEUP, ID_WAKEUP_NEW, ID_FORK, ID_WAKING, ID_EXEC, ID_OPENAT };

static const struct {
	const char *name, *format;
} made_points[] = {
	{ "sched:sched_switch",
	  FORMAT("sched_switch", 300,
		 FIELD("char", "prev_comm[16]", 8, 16, 0) FIELD("pid_t", "prev_pid", 24, 4, 1)
			 FIELD("int", "prev_prio", 28, 4, 1) FIELD("long", "prev_state", 32, 8, 1)
				 FIELD("char", "next_comm[16]", 40, 16, 0)
					 FIELD("pid_t", "next_pid", 56, 4, 1)
						 FIELD("int", "next_prio", 60, 4, 1),
		 "\"%s\", REC->prev_comm") },
	{ "sched:sched_wakeup", FORMAT("sched_wakeup", 301, WAKE_FIELDS, WAKE_PRINT) },
	{ "sched:sched_wakeup_new", FORMAT("sched_wakeup_new", 302, WAKE_FIELDS, WAKE_PRINT) },
	{ "sched:sched_process_fork",
	  FORMAT("sched_process_fork", 303,
		 FIELD("char", "parent_comm[16]", 8, 16, 0) FIELD("pid_t", "parent_pid", 24, 4, 1)
			 FIELD("char", "child_comm[16]", 28, 16, 0)
				 FIELD("pid_t", "child_pid", 44, 4, 1),
		 "\"child_pid=%d\", REC->child_pid") },
	{ "sched:sched_waking", FORMAT("sched_waking", 304, WAKE_FIELDS, WAKE_PRINT) },
	{ "sched:sched_process_exec",
	  FORMAT("sched_process_exec", 305,
		 FIELD("pid_t", "pid", 12, 4, 1) FIELD("pid_t", "old_pid", 16, 4, 1),
		 "\"pid=%d\", REC->pid") },
	{ "syscalls:sys_enter_openat",
	  FORMAT("sys_enter_openat", 306,
		 FIELD("int", "__syscall_nr", 8, 4, 1) FIELD("int", "dfd", 16, 8, 0) FIELD(
			 "const char *", "filename", 24, 8, 0) FIELD("int", "flags", 32, 8, 0),
		 "\"dfd: 0x%08lx, filename: 0x%08lx, flags: 0x%08lx\", "
		 "((unsigned long)(REC->dfd)), ((unsigned long)(REC->filename)), "
		 "((unsigned long)(REC->flags))") },
};

/* Those that a list of -e or --summary names. */
int __wrap_trace_find_points(struct trace *trace);
int __wrap_trace_find_points(struct trace *trace)
{
	trace->by_id = pmc_arena_alloc(&trace->arena, 65536 * sizeof(*trace->by_id));
	trace->points = pmc_arena_alloc(&trace->arena, N(made_points) * sizeof(*trace->points));
	if ((trace->rows.format == TRACE_TEXT || trace->rows.format == TRACE_RECORD) &&
	    !trace->summarize)
		trace->print = trace_print_new();
	for (unsigned i = 0; i < N(made_points); i++) {
		const char *format = made_points[i].format;
		struct trace_point *point = &trace->points[trace->n_points];
		bool named = false;

		for (unsigned l = 0; l < trace->n_lists; l++)
			named |= strstr(trace->lists[l].names, made_points[i].name) != NULL;
		if (!named)
			continue;
		assert_int_equal(
			pmc_tracepoint_parse(&point->tracepoint, format, strlen(format), NULL), 0);
		strcpy(point->name, made_points[i].name);
		point->syscall = !strncmp(point->name, "syscalls:", 9);
		if (i == 0) {
			point->prev_pid = pmc_tracepoint_find(point->tracepoint, "prev_pid");
			point->prev_comm = pmc_tracepoint_find(point->tracepoint, "prev_comm");
			point->next_pid = pmc_tracepoint_find(point->tracepoint, "next_pid");
			point->next_comm = pmc_tracepoint_find(point->tracepoint, "next_comm");
		} else if (trace->print) {
			trace_print_parse(trace->print, "made", format, strlen(format));
		}
		trace->by_id[ID_SWITCH + i] = (uint16_t)++trace->n_points;
	}
	return 0;
}

int __wrap_rings_open(struct rings *rings, bool follow);
int __wrap_rings_open(struct rings *rings, bool follow)
{
	rings->n = 2;
	rings->list = pmc_arena_alloc(&rings->arena, 2 * sizeof(*rings->list));
	assert_non_null(rings->list);
	for (int cpu = 0; cpu < 2; cpu++)
		rings->list[cpu] = (struct ring){ .cpu = cpu };
	return 0;
}

int __wrap_trace_summary_add_targets(struct trace_summary *summary,
				     const struct live_tids *processes);
int __wrap_trace_summary_add_targets(struct trace_summary *summary,
				     const struct live_tids *processes)
{
	return 0;
}

void __wrap_trace_summary_find_still(struct trace *trace);
void __wrap_trace_summary_find_still(struct trace *trace)
{
	trace->summary->asleep = 3;
}

/* ---- functions of the kernel ------------------------------------------------------------------
 */

const char *__wrap_trace_function_at(uint64_t address, uint64_t *start);
const char *__wrap_trace_function_at(uint64_t address, uint64_t *start)
{
	static const char *const functions[] = { "__schedule",	    "futex_wait",
						 "__x64_sys_futex", "io_schedule",
						 "__x64_sys_fsync", "do_syscall_64" };
	const uint64_t i = (address - 0xffffffff81000100) / 0x100;

	return i < N(functions) ? functions[i] : NULL;
}

/* ---- records ----------------------------------------------------------------------------------
 */

enum { RUNS = 0, SLEEPS = 1, IN_DISK = 2, ENDS = 0x10 }; /* of prev_state */
enum { MAIN = 11, IO = 12, POOL = 21 };

static struct trace *now_tracing;
static uint64_t begin_ns;

static void emit(uint64_t us, unsigned cpu, int tid, void *data, size_t size, const uint64_t *chain,
		 unsigned n_chain)
{
	struct pmc_record record = {
		.type = PERF_RECORD_SAMPLE,
		.present = PERF_SAMPLE_RAW | (n_chain ? PERF_SAMPLE_CALLCHAIN : 0),
		.time = begin_ns + us * 1000,
		.cpu = cpu,
		.pid = tid ? MAIN : 0,
		.tid = (uint32_t)tid,
		.sample = { .raw = { .data = data, .size = size },
			    .callchain = chain,
			    .n_callchain = n_chain },
	};

	memcpy((char *)data + 4, &tid, 4);
	if (!trace_point_of(now_tracing, &record))
		return;
	now_tracing->rings.list[cpu].records++;
	if (now_tracing->summary)
		trace_summary_take(now_tracing, &record);
	else
		trace_write(now_tracing, &record);
}

static void put_name(unsigned char *at, int tid)
{
	char name[32];

	if (tid == 0 || tid == MAIN || tid == IO)
		snprintf(name, sizeof(name), "%s",
			 tid == 0    ? "swapper" :
			 tid == MAIN ? "main\033[1m" :
				       "io");
	else
		snprintf(name, sizeof(name), "pool-%d", tid - POOL + 1);
	memcpy(at, name, 16);
}

static void switched(uint64_t us, unsigned cpu, int prev, int64_t state, int next)
{
	static const uint64_t futex[] = { 0xffffffff81000180, 0xffffffff81000280,
					  0xffffffff81000380, 0xffffffff81000680 };
	static const uint64_t fsync[] = { 0xffffffff81000180, 0xffffffff81000480,
					  0xffffffff81000580, 0xffffffff81000680 };
	unsigned char data[64] = { ID_SWITCH & 0xff, ID_SWITCH >> 8 };

	put_name(data + 8, prev);
	memcpy(data + 24, &prev, 4);
	data[28] = data[60] = 120;
	memcpy(data + 32, &state, 8);
	put_name(data + 40, next);
	memcpy(data + 56, &next, 4);
	emit(us, cpu, prev, data, sizeof(data), state == IN_DISK ? fsync : futex, state ? 4 : 0);
}

static void woken(uint64_t us, unsigned cpu, int by, int id, int tid)
{
	unsigned char data[40] = { (unsigned char)id, (unsigned char)(id >> 8) };

	put_name(data + 8, tid);
	memcpy(data + 24, &tid, 4);
	data[28] = 120;
	data[32] = (unsigned char)cpu;
	emit(us, cpu, by, data, sizeof(data), NULL, 0);
}

static void opened(uint64_t us, unsigned cpu, int by)
{
	unsigned char data[40] = { ID_OPENAT & 0xff, ID_OPENAT >> 8 };

	data[8] = 1;
	memset(data + 16, 0xff, 8);
	data[16] = (unsigned char)AT_FDCWD;
	data[24] = 0x10;
	data[33] = 2;
	emit(us, cpu, by, data, sizeof(data), NULL, 0);
}

/* "main" hands work to each thread of a pool, and to "io", in rounds of a millisecond. */
static void emit_all(unsigned pool)
{
	uint64_t us = 10;

	switched(us, 0, 0, RUNS, MAIN);
	opened(us + 5, 0, MAIN);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < pool; i++) {
			const int tid = POOL + (int)i;

			woken(us + 20, 0, MAIN, ID_WAKING, tid);
			woken(us + 21, 0, MAIN, ID_WAKEUP, tid);
			switched(us + 60 + 7 * i, 1, 0, RUNS, tid);
			if (i % 2)
				switched(us + 200, 1, tid, RUNS, 0);
			if (i % 2)
				switched(us + 250, 1, 0, RUNS, tid);
			woken(us + 290, 1, tid, ID_WAKING, IO);
			woken(us + 291, 1, tid, ID_WAKEUP, IO);
			switched(us + 300 + 40 * (i % 3), 1, tid, SLEEPS, 0);
			us += 500;
		}
		switched(us, 1, 0, RUNS, IO);
		switched(us + 350, 1, IO, IN_DISK, 0);
		switched(us + 400, 0, MAIN, round == 2 ? ENDS : SLEEPS, 0);
		if (round == 2)
			break;
		woken(us + 900, 1, IO, ID_WAKING, MAIN);
		woken(us + 901, 1, IO, ID_WAKEUP, MAIN);
		us += 1000;
		switched(us, 0, 0, RUNS, MAIN);
	}
	trace_write_loss(now_tracing, &now_tracing->rings.list[1], 5);
	now_tracing->rings.list[1].lost = 5;
	machine_ns = begin_ns + (us + 500) * 1000;
	now_tracing->rings.stopped_ns = machine_ns;
}

static unsigned made_pool;

int __wrap_rings_follow(struct rings *rings);
int __wrap_rings_follow(struct rings *rings)
{
	struct trace *trace = rings->owner;
	static const int tids[] = { MAIN, IO, POOL };

	now_tracing = trace;
	begin_ns = machine_ns;
	for (unsigned i = 0; i < N(tids); i++) {
		unsigned char name[16];
		struct pmc_record record = { .type = PERF_RECORD_COMM };

		put_name(name, tids[i]);
		record.comm = (struct pmc_record_comm){ .pid = MAIN,
							.tid = (uint32_t)tids[i],
							.comm = (const char *)name };
		trace_name_take(trace, &record);
	}
	emit_all(made_pool);
	return 0;
}

/* ---- captures ---------------------------------------------------------------------------------
 */

static void records(void **state)
{
	static const char *const lines[] = {
		"pmctl trace -e sched:sched_switch,sched:sched_wakeup,syscalls:sys_enter_openat",
		"pmctl trace -e sched:sched_switch,syscalls:sys_enter_openat --format record",
		"pmctl trace -e sched:sched_wakeup,syscalls:sys_enter_openat --format fields",
		"pmctl trace -e sched:sched_switch,syscalls:sys_enter_openat --format json",
		"pmctl trace -e sched:sched_wakeup -- ./app",
		"pmctl trace",
		"pmctl trace -e sched:sched_switch --by pool",
		"pmctl trace -e sched:sched_switch -d 5x",
		"pmctl trace --summary -e sched:sched_switch",
	};

	made_pool = 1;
	capture_begin();
	capture_list(lines, N(lines), "");
	capture_end("trace");
}

/* The styles are those of tools/export/page.css. */
static void page(void **state)
{
	made_pool = 4;
	capture_begin();
	capture_run("pmctl trace --summary --by pool,waker --format html");
	capture_end("trace-page");
}

static void summary(void **state)
{
	static const char *const views[] = {
		"pmctl trace --summary",
		"pmctl trace --summary --by pool",
		"pmctl trace --summary --by pool,waker",
	};

	made_pool = 4;
	capture_widths("trace-summary", views, N(views), NULL);
	capture_begin();
	capture_run("pmctl trace --summary --format json");
	capture_run("pmctl trace --summary --format json --by pool");
	capture_run("pmctl trace --summary --format json --columns name,pid,blocked_ns,blocked_in "
		    "--where name=pool-* --sort name --top 2");
	capture_run("pmctl trace --summary --format json --by pool,waker --where cause=lock");
	capture_run("pmctl trace --summary --by pool --histogram --where name=pool-*");
	capture_run("pmctl trace --summary --by pool --histogram --format csv --where name=io");
	capture_run("pmctl trace --summary --by pool,waker --histogram");
	capture_run("pmctl trace --summary --by pool --format html");
	capture_run("pmctl trace --format html -e sched:sched_switch");
	made_pool = 22;
	capture_run("pmctl trace --summary");
	made_pool = 60;
	capture_run("pmctl trace --summary --by thread");
	capture_end("trace-summary.once");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),
		cmocka_unit_test(summary),
		cmocka_unit_test(page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
