/* SPDX-License-Identifier: MIT */
/* summary_histogram.c - --histogram: how long waits for a CPU and blocked times lasted. */
#include "lib/base/utf8.h"
#include "tools/table/histogram.h"
#include "tools/trace/trace.h"

#include <string.h>

void trace_histogram_print(struct trace *trace, struct trace_thread *const *list,
			   const uint64_t *order, uint64_t n)
{
	const bool is_table = tool_rows_is_table(&trace->rows);
	struct table_histograms to = { .arena = &trace->arena,
				       .out = &trace->rows.out,
				       .format = (enum table_format)trace->rows.format,
				       .screen = trace->rows.screen };

	table_histograms_begin(&to);
	for (uint64_t i = 0; i < n && (i < TABLE_HISTOGRAM_ROWS || !is_table); i++) {
		const struct trace_thread *t = list[order[i]];
		const struct table_histogram_row row = { .name = t->name,
							 .len = strlen(t->name),
							 .tid = cell_number(!t->threads, t->tid) };

		table_histograms_add(&to, &row, "for a CPU", &t->delays);
		table_histograms_add(&to, &row, "blocked", &t->blocks);
	}
	table_histograms_end(&to);
}

static void put_series(struct pmc_out *out, const struct trace_thread *t, const char *wait,
		       const struct pmc_histogram *of, uint64_t sum_ns)
{
	struct pmc_out labels = PMC_OUT_MEM(256);

	pmc_prometheus_label(&labels, t->threads ? "pool" : "thread", t->name, strlen(t->name));
	if (!t->threads)
		pmc_outf(&labels, ",tid=\"%u\"", t->tid);
	pmc_outf(&labels, ",wait=\"%s\"", wait);
	table_histogram_prometheus(out, labels.buf, of, sum_ns);
}

void trace_histogram_prometheus(struct trace *trace, struct trace_thread *const *list,
				const uint64_t *order, uint64_t n)
{
	struct pmc_out *out = &trace->rows.out;

	pmc_out_str(out, "# HELP pmc_wait_seconds Waits for a CPU, and blocked times.\n"
			 "# TYPE pmc_wait_seconds histogram\n");
	for (uint64_t i = 0; i < n; i++) {
		const struct trace_thread *t = list[order[i]];

		put_series(out, t, "cpu", &t->delays, t->delay_ns);
		put_series(out, t, "blocked", &t->blocks, t->blocked_ns);
	}
}
