/* SPDX-License-Identifier: MIT */
/* bench_view.h - what the forms of a bench's results share; private to agent/core/api. */
#ifndef PMC_CORE_API_BENCH_VIEW_H
#define PMC_CORE_API_BENCH_VIEW_H

#include "agent/core/base/out.h"

#include <pmc/bench.h>

bool bench_has_value(const struct pmc_bench_count *count);
/* Why count i of the result has none: one line, in text, cut to its size. Returns it. */
#define BENCH_WHY_BYTES 320
const char *bench_why(const struct pmc_bench *bench, const struct pmc_bench_result *result,
		      size_t i, char *text, size_t bytes);

/* bench_table.c: a table in Markdown, and notes below it. */
void bench_markdown(const struct pmc_bench *bench, struct pmc_out *out);

#endif
