/* SPDX-License-Identifier: MIT */
/* units.c - see units.h. */
#include "tools/bench/units.h"

#include <math.h>
#include <string.h>

void bench_show(struct pmc_out *out, double value, enum bench_unit unit)
{
	static const char *const units[][6] = {
		[BENCH_NS] = { "ns", "µs", "ms", "s", NULL },
		[BENCH_BYTES] = { "B", "kB", "MB", "GB", "TB", NULL },
		[BENCH_COUNT] = { "", "k", "M", "G", "T", NULL },
	};
	unsigned i = 0;
	int decimals;

	for (; fabs(value) >= 999.95 && units[unit][i + 1]; i++)
		value /= 1000;
	decimals = fabs(value) < 9.9995 ? 3 : fabs(value) < 99.995 ? 2 : 1;
	/* Whole numbers of what has no parts. */
	if (i == 0 && value == floor(value))
		decimals = 0;
	pmc_out_fixed(out, value, decimals);
	pmc_out_str(out, units[unit][i][0] ? " " : "");
	pmc_out_str(out, units[unit][i]);
}

void bench_csv_text(struct pmc_out *out, const char *text)
{
	pmc_out_char(out, '"');
	if (strchr("=+-@", text[0]) && text[0])
		pmc_out_char(out, '\'');
	for (; *text; text++) {
		if (*text == '"')
			pmc_out_char(out, '"');
		pmc_out_char(out, *text);
	}
	pmc_out_char(out, '"');
}
