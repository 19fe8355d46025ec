/* SPDX-License-Identifier: MIT */
/* units.h - values and texts as bench and diff print them. */
#ifndef PMC_TOOLS_BENCH_UNITS_H
#define PMC_TOOLS_BENCH_UNITS_H

#include "lib/base/out.h"

#include <stdbool.h>

enum bench_unit { BENCH_NS, BENCH_BYTES, BENCH_COUNT };

/* Four significant digits and a unit: "1.234 ms", "12.30 MB", "4.560 G". */
void bench_show(struct pmc_out *out, double value, enum bench_unit unit);

/* On which side a thread is: "both", "gone" (not in the second) or "new". */
const char *bench_presence(bool in_first, bool in_second);

/* Calls write(arg, out) for standard output; what is for people becomes ASCII where the locale is
 * not UTF-8. 0 or -errno. */
int bench_to_stdout(bool for_people, void (*write)(const void *arg, struct pmc_out *out),
		    const void *arg);

#endif
