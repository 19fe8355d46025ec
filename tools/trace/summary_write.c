/* SPDX-License-Identifier: MIT */
/* summary_write.c - the threads of --summary as a table or as JSON lines. */
#include "agent/core/base/clock.h"
#include "agent/core/base/json.h"
#include "agent/core/base/utf8.h"
#include "tools/cli/pmctl.h"
#include "tools/trace/summary.h"

#include <stdlib.h>

#define MOST_ROWS 40

static void put_json(struct pmc_out *out, const struct trace_thread *t)
{
	struct pmc_json json;
	unsigned last = 64;

	while (last && !t->waits[last])
		last--;
	pmc_json_init(&json, out, false);
	pmc_json_object(&json, NULL);
	if (t->pid)
		pmc_json_u64(&json, "pid", t->pid);
	else
		pmc_json_null(&json, "pid");
	pmc_json_u64(&json, "tid", t->tid);
	pmc_json_str(&json, "name", t->name);
	pmc_json_u64(&json, "oncpu_ns", t->oncpu_ns);
	pmc_json_u64(&json, "run_delay_ns", t->delay_ns);
	pmc_json_object(&json, "blocked_ns");
	for (unsigned i = 0; i < TRACE_BLOCKED_KINDS; i++)
		if (t->blocked_ns[i])
			pmc_json_u64(&json, trace_blocked_names[i], t->blocked_ns[i]);
	pmc_json_object_end(&json);
	pmc_json_u64(&json, "switches", t->waited + t->preempted);
	pmc_json_u64(&json, "voluntary_switches", t->waited);
	pmc_json_u64(&json, "involuntary_switches", t->preempted);
	pmc_json_u64(&json, "longest_wait_ns", t->longest_ns);
	pmc_json_array(&json, "wait_log2_us");
	for (unsigned i = 0; i <= last; i++)
		pmc_json_u64(&json, NULL, t->waits[i]);
	pmc_json_array_end(&json);
	pmc_json_object_end(&json);
	pmc_out_char(out, '\n');
}

static void put_ms(struct pmc_out *out, uint64_t ns)
{
	char text[32];
	struct pmc_out cell;

	pmc_out_to_mem(&cell, text, sizeof(text));
	pmc_out_fixed(&cell, (double)ns / 1e6, 1);
	pmc_outf(out, " %10s", text);
}

static void put_row(struct pmc_out *out, const struct trace_thread *t)
{
	uint64_t other = t->blocked_ns[2] + t->blocked_ns[3] + t->blocked_ns[4];
	int width = pmc_utf8_safe(out, t->name, strlen(t->name), 0);

	pmc_out_pad(out, ' ', 16 - width);
	pmc_outf(out, " %8u", t->tid);
	put_ms(out, t->oncpu_ns);
	put_ms(out, t->delay_ns);
	put_ms(out, t->longest_ns);
	put_ms(out, t->blocked_ns[0]);
	put_ms(out, t->blocked_ns[1]);
	put_ms(out, other);
	pmc_outf(out, " %8llu %8llu\n", (unsigned long long)t->waited,
		 (unsigned long long)t->preempted);
}

static void put_all(struct trace *trace, struct trace_thread *const *rows, size_t n,
		    uint64_t wall_ns)
{
	struct pmc_out *out = &trace->out;

	if (trace->format == TRACE_JSON) {
		for (size_t i = 0; i < n; i++)
			put_json(out, rows[i]);
		return;
	}
	pmc_outf(out, "%zu threads in %llu ms; times in ms\n\n", n,
		 (unsigned long long)(wall_ns / 1000000));
	pmc_outf(out, "%-16s %8s %10s %10s %10s %10s %10s %10s %8s %8s\n", "thread", "tid",
		 "on CPU", "run delay", "longest", "sleep", "disk", "other", "vol", "invol");
	for (size_t i = 0; i < n && i < MOST_ROWS; i++)
		put_row(out, rows[i]);
	if (n > MOST_ROWS)
		pmc_outf(out, "%zu more threads: --format json has all\n", n - MOST_ROWS);
}

/* Most CPU time first. */
static int order(const void *a, const void *b)
{
	const struct trace_thread *left = *(struct trace_thread *const *)a;
	const struct trace_thread *right = *(struct trace_thread *const *)b;

	if (left->oncpu_ns != right->oncpu_ns)
		return left->oncpu_ns < right->oncpu_ns ? 1 : -1;
	return left->tid < right->tid ? -1 : left->tid > right->tid;
}

int trace_summary_end(struct trace *trace)
{
	struct trace_summary *summary = trace->summary;
	struct trace_thread **rows;
	uint64_t now = pmc_now_ns();
	size_t n = 0, i = 0;

	for (struct trace_thread *t = summary->last; t; t = t->next)
		n += t->wanted && (t->preempted + t->waited || t->state == THREAD_RUNNING);
	rows = calloc(n + 1, sizeof(struct trace_thread *));
	if (!rows || summary->failed) {
		free(rows);
		return tool_fail(EXIT_FAIL, "out of memory");
	}
	for (struct trace_thread *t = summary->last; t; t = t->next) {
		if (!t->wanted || !(t->preempted + t->waited || t->state == THREAD_RUNNING))
			continue;
		trace_thread_settle(t, now);
		rows[i++] = t;
	}
	qsort(rows, n, sizeof(struct trace_thread *), order);
	put_all(trace, rows, n, now - summary->start_ns);
	free(rows);
	return 0;
}
