/* SPDX-License-Identifier: MIT */
/* counter_failure.c - filling a struct pmc_failure. */
#include "agent/core/api/counter/counter.h"
#include "agent/core/base/out.h"

#include <string.h>

int counter_fail(struct pmc_failure *failure, int error, const char *what, const char *format, ...)
{
	struct pmc_out out;
	va_list args;

	if (!failure)
		return error;
	failure->error = -error;
	pmc_out_to_mem(&out, failure->what, sizeof(failure->what));
	pmc_out_str(&out, what);
	pmc_out_to_mem(&out, failure->advice, sizeof(failure->advice));
	va_start(args, format);
	pmc_voutf(&out, format, args);
	va_end(args);
	return error;
}
