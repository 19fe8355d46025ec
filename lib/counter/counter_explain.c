/* SPDX-License-Identifier: MIT */
/* counter_explain.c - the meaning of a failed reading or control of an open counter. */
#include "lib/counter/counter.h"
#include "lib/base/advice.h"

#include <errno.h>

/* Errors of this library, and errors with another meaning than at an open. */
static const char *meaning(const struct pmc_counter *counter, int error)
{
	struct pmc_counter_reading reading;

	switch (error) {
	case -EAGAIN:
		return "it is not enabled, or its thread has not run since; enable it before the "
		       "work that it is to count";
	case -EBUSY:
		if (pmc_counter_read_full(counter, &reading) != -EBUSY)
			return "it belongs to a group or to a sampler; close that first";
		return "it was enabled, but never had a counter of the PMU: others hold them, or "
		       "its group is larger than the PMU; pmctl doctor names the others";
	case -EBADF:
		return "its descriptor was closed, and may be another file's by now; close "
		       "descriptors of counters only by pmc_counter_close()";
	case -EOVERFLOW:
		return "the scaled count exceeds 64 bits; use the raw count and the times";
	case -ENOSPC:
		return "the group has more members than the array has room for; times->n is their "
		       "number";
	case -ENOTSUP:
		return "it was not opened with PERF_FORMAT_GROUP; read it alone";
	case -ENOENT:
		return "the group has no members; add one";
	case -EINVAL:
		return "an argument is NULL or invalid for this event, as a period for one that "
		       "does not sample";
	case -EIO:
		return "its reading does not have the format of its attr; was it adopted with "
		       "another one?";
	}
	return NULL;
}

void pmc_counter_explain(const struct pmc_counter *counter, int error, struct pmc_failure *failure)
{
	const struct pmc_tried tried = { .call = PMC_CALL_READ };
	char text[sizeof(failure->advice)];
	struct pmc_here here;
	const char *known;

	error = error > 0 ? -error : error;
	if (!failure)
		return;
	if (!counter) {
		counter_fail(failure, error, "counter", "it is NULL; open it first");
		return;
	}
	known = meaning(counter, error);
	if (!known) {
		pmc_here_read(&here, NULL);
		known = pmc_advice_text(error, &tried, &here, text, sizeof(text));
	}
	counter_fail(failure, error, counter->name, "%s", known);
}
