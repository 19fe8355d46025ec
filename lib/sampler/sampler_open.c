/* SPDX-License-Identifier: MIT */
/* sampler_open.c - a ring on every online CPU, and the meaning of a sampler's errors. */
#include "lib/counter/counter.h"
#include "lib/sampler/sampler.h"
#include "lib/base/advice.h"

#include <errno.h>

/* ---- every CPU ----------------------------------------------------------------------------- */

/* Adds a ring that is closed with the set. */
static int add_cpu(struct pmc_sampler_set *set, const struct pmc_counter_event *event,
		   const struct pmc_open_options *options, unsigned pages,
		   struct pmc_failure *failure)
{
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
	int error = pmc_counter_open(&counter, event, options, failure);

	if (error)
		return error;
	error = pmc_sampler_open(&sampler, counter, pages, failure);
	if (error) {
		pmc_counter_close(counter);
		return error;
	}
	sampler->owned = counter;
	error = pmc_sampler_set_add(set, sampler);
	if (error) {
		counter_fail(failure, error, "pages", "a ring of 0 pages holds no records");
		pmc_sampler_close(sampler);
	}
	return error;
}

static int add_cpus(struct pmc_sampler_set *set, const struct pmc_counter_event *event,
		    struct pmc_open_options *options, unsigned pages, struct pmc_failure *failure)
{
	int error = 0;
	bool any = false;

	for (int cpu = counter_cpu_next(-1); cpu >= 0; cpu = counter_cpu_next(cpu)) {
		options->cpu = cpu;
		if (!counter_cpu_counts(event, cpu))
			continue;
		error = add_cpu(set, event, options, pages, failure);
		/* The CPU went offline. */
		if (error && (error != -ENODEV || counter_cpu_is_online(cpu)))
			return error;
		any |= !error;
	}
	return any ? 0 : counter_fail(failure, -ENODEV, event->name, "no online CPU counts it");
}

int pmc_sampler_set_open(struct pmc_sampler_set **set, const struct pmc_counter_event *event,
			 const struct pmc_open_options *options, unsigned pages,
			 struct pmc_failure *failure)
{
	struct counter_request request;
	struct pmc_open_options open;
	int error;

	if (!set || !event)
		return counter_fail(failure, -EINVAL, set ? "event" : "set", "NULL");
	*set = NULL;
	error = counter_request_each_cpu(&request, event, options, failure);
	if (error)
		return error;
	open = request.open;
	/* Options that ordering by time needs. The counters are started together at the end. */
	open.sample_type |= PERF_SAMPLE_TIME;
	open.sample_id_all = true;
	open.enabled = false;
	open.read_format |= PMC_READ_FORMAT_LOST;
	error = pmc_sampler_set_new(set, 0);
	if (error)
		return counter_fail(failure, error, "memory", "out of memory");
	error = add_cpus(*set, event, &open, pages, failure);
	if (error == -EINVAL && !(request.open.read_format & PMC_READ_FORMAT_LOST)) {
		/* Linux before 6.0. */
		open.read_format &= ~(uint64_t)PMC_READ_FORMAT_LOST;
		error = add_cpus(*set, event, &open, pages, failure);
	}
	if (!error && request.open.enabled)
		error = pmc_sampler_set_enable(*set);
	if (error) {
		pmc_sampler_set_free(*set);
		*set = NULL;
	}
	return error;
}

/* ---- errors -------------------------------------------------------------------------------- */

static const char *meaning(int error)
{
	switch (error) {
	case -EAGAIN:
		return "there is no record now; wait by pmc_sampler_next_wait()";
	case -ENODATA:
		return "no record will follow: the threads of all its counters have ended";
	case -EPROTO:
		return "the record cannot be decoded; call again for the next";
	case -EBADMSG:
		return "the ring is damaged: something other than this sampler has written to it; "
		       "close the sampler";
	case -EIO:
		return "its event is in error state, as after an exec of a setuid program; close "
		       "the sampler";
	case -EBADF:
		return "its counter was closed; close the sampler first";
	case -EBUSY:
		return "it is in a set, or its counter has another sampler; read by "
		       "pmc_sampler_set_next()";
	case -ESTALE:
		return "this is a child of fork(), where the ring is not mapped; open samplers "
		       "after the fork";
	case -EEXIST:
		return "the counter is attached already";
	case -ENOENT:
		return "it is not in this set, or the counter is not attached";
	case -EOPNOTSUPP:
		return "its counter lacks PMC_READ_FORMAT_LOST, or the counter cannot be read in "
		       "user space; use pmc_counter_read()";
	case -EINVAL:
		return "an argument is NULL, or the records of these counters cannot be told apart "
		       "or ordered: both need PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_TIME and "
		       "sample_id_all, and the same clock";
	}
	return NULL;
}

static void advise(const char *what, const struct pmc_tried *tried, int error,
		   struct pmc_failure *failure)
{
	char text[sizeof(failure->advice)];
	struct pmc_here here;

	if (!failure)
		return;
	pmc_here_read(&here, NULL);
	counter_fail(failure, error, what, "%s",
		     pmc_advice_text(error, tried, &here, text, sizeof(text)));
}

void pmc_sampler_advise(const char *what, const struct perf_event_attr *attr, int error,
			struct pmc_failure *failure)
{
	const struct pmc_tried tried = { .call = PMC_CALL_MMAP, .attr = attr };

	if (error == -EBADF)
		counter_fail(failure, error, what, "its descriptor was closed; open it again");
	else
		advise(what, &tried, error, failure);
}

void pmc_sampler_explain(const struct pmc_sampler *sampler, int error, struct pmc_failure *failure)
{
	const struct pmc_tried tried = { .call = PMC_CALL_READ };
	const char *known, *what;

	error = error > 0 ? -error : error;
	if (!failure)
		return;
	known = meaning(error);
	what = sampler && sampler->first->counter ? pmc_counter_name(sampler->first->counter) :
						    "sampler";
	if (known)
		counter_fail(failure, error, what, "%s", known);
	else
		advise(what, &tried, error, failure);
}
