/* SPDX-License-Identifier: MIT */
/*
 * counter_option.c - opening with a struct pmc_open_options, and finding the option that the kernel
 * refused.
 *
 * The kernel returns just E2BIG or EINVAL (perf_copy_attr() and perf_event_open() in
 * kernel/events/core.c). So the open is repeated with one option less each time; the option whose
 * absence makes it succeed is named.
 */
#include "lib/base/advice.h"
#include "lib/counter/counter.h"
#include "lib/counter/counter_event.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void attr_of(const struct counter_request *request, const struct pmc_counter *leader,
		    struct pmc_attr *attr)
{
	const struct pmc_counter_event *event = &request->event;
	const struct pmc_open_options *open = &request->open;

	memset(attr, 0, sizeof(*attr));
	attr->config3 = event->config3;
	attr->base = (struct perf_event_attr){
		.type = event->type,
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.bp_type = event->bp_type,
		.read_format = open->read_format | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID,
		.disabled = !open->enabled && !leader,
		.freq = open->sample_freq != 0,
		.sample_period = open->sample_freq ? open->sample_freq : open->sample_period,
		.watermark = open->wakeup_watermark != 0,
		.wakeup_events =
			open->wakeup_watermark ? open->wakeup_watermark : open->wakeup_events,
		.use_clockid = open->use_clockid,
		.clockid = open->use_clockid ? open->clockid : 0,
#define SAME(member) .member = open->member,
#define BITS(member, bits)
#define OTHER(member, name)
#include "lib/counter/counter_option.def"
	};
	attr->base.pinned |= event->pinned;
	attr->base.exclude_user |= event->exclude_user;
	attr->base.exclude_kernel |= event->exclude_kernel;
	attr->base.exclude_hv |= event->exclude_kernel;
	pmc_perf_size(attr);
	if (open->change_attr)
		open->change_attr(&attr->base, open->change_arg);
}

static void target_of(const struct pmc_open_options *open, struct pmc_tried *tried,
		      unsigned long *flags)
{
	*flags = 0;
	tried->placed = true;
	tried->cpu = open->cpu;
	tried->pid = open->target == PMC_TARGET_ANY ? -1 : open->pid;
	if (open->target == PMC_TARGET_CGROUP) {
		tried->cgroup = true;
		tried->pid = open->cgroup_fd;
		*flags = PERF_FLAG_PID_CGROUP;
	}
}

int counter_try(const struct counter_request *request, const struct pmc_counter *leader,
		struct pmc_attr *attr)
{
	struct pmc_tried tried = { .call = PMC_CALL_OPEN };
	unsigned long flags;

	attr_of(request, leader, attr);
	target_of(&request->open, &tried, &flags);
	return pmc_perf_open_sized(attr, tried.pid, tried.cpu, leader ? leader->fd : -1, flags);
}

/* ---- which option -------------------------------------------------------------------------*/

static const struct option {
	const char *name;
	size_t at, size;
	uint64_t mask;
} options[] = {
#define OPTION(member, name, mask)                                                                 \
	{ name, offsetof(struct counter_request, member),                                          \
	  sizeof(((struct counter_request *)0)->member), mask },
#define SAME(member)	    OPTION(open.member, #member, 0)
#define BITS(member, bits)  OPTION(open.member, #bits, bits)
#define OTHER(member, name) OPTION(member, name, 0)
#include "lib/counter/counter_option.def"
};

#define N_OPTIONS (sizeof(options) / sizeof(options[0]))

/* Removes the option from the request. Returns whether it was set. */
static bool take_out(struct counter_request *request, const struct option *option)
{
	unsigned char *member = (unsigned char *)request + option->at;
	bool set = false;

	for (size_t i = 0; i < option->size && !option->mask; i++)
		set |= member[i] != 0;
	if (option->mask) {
		uint64_t bits;

		memcpy(&bits, member, sizeof(bits));
		set = bits & option->mask;
		bits &= ~option->mask;
		memcpy(member, &bits, sizeof(bits));
	} else {
		memset(member, 0, option->size);
	}
	return set;
}

static bool is_of(const struct pmc_counter_event *event, const char *pmu)
{
	struct pmc_counter_event any;

	return pmc_counter_event_pmu(&any, pmu, NULL, 0, NULL) == 0 && any.type == event->type;
}

/* Errors about a name or descriptor in the request. */
static bool blame_given(const struct counter_request *request, int error,
			struct pmc_failure *failure)
{
	const char *name = (const char *)(uintptr_t)request->event.config1;
	const struct pmc_open_options *open = &request->open;
	const char *event = counter_event_name(&request->event);

	if (error == -EBADF && open->target == PMC_TARGET_CGROUP)
		counter_fail(failure, error, "cgroup_fd",
			     "not the directory of a cgroup; open one in /sys/fs/cgroup");
	else if (error == -ESRCH && open->target == PMC_TARGET_PID)
		counter_fail(
			failure, error, "pid",
			"there is no thread %d: it has ended, or never existed; give the ID of "
			"a running thread",
			(int)open->pid);
	else if ((error == -ENODEV || error == -EINVAL) && open->cpu >= 0 &&
		 !counter_cpu_is_online(open->cpu))
		counter_fail(failure, error, "cpu",
			     "CPU %d is offline or does not exist; /sys/devices/system/cpu/online "
			     "lists those that do",
			     open->cpu);
	else if (error == -ENOENT && name && is_of(&request->event, "uprobe"))
		counter_fail(failure, error, event, "no such file: %s", name);
	else if ((error == -ENOENT || error == -EINVAL || error == -EADDRNOTAVAIL) && name &&
		 is_of(&request->event, "kprobe"))
		counter_fail(failure, error, event,
			     "no kernel function %s, or it cannot be probed there; see "
			     "/proc/kallsyms",
			     name);
	else
		return false;
	return true;
}

/* The kernel's limit, with the header that a sample of the reading would have:
 * perf_event_validate_size() in kernel/events/core.c. */
static bool exceeds_reading(const struct pmc_counter *leader)
{
	const struct pmc_group *group = leader ? leader->group : NULL;
	const size_t others = 256;

	return group &&
	       8 * pmc_perf_read_words(leader->attr.base.read_format, (unsigned)group->count + 1) +
			       others >=
		       8 * PMC_PERF_WORDS_MAX;
}

void counter_advise(const struct counter_request *request, bool sibling, int error,
		    struct pmc_failure *failure)
{
	struct pmc_tried tried = { .call = PMC_CALL_OPEN,
				   .sibling = sibling,
				   .kernel_only =
					   counter_filter(&request->event) == PMC_KERNEL_ONLY };
	char text[sizeof(failure->advice)];
	struct pmc_here here;
	struct pmc_attr attr;
	unsigned long flags;

	if (!failure || blame_given(request, error, failure))
		return;
	attr_of(request, NULL, &attr);
	target_of(&request->open, &tried, &flags);
	tried.attr = &attr.base;
	pmc_here_read(&here, NULL);
	counter_fail(failure, error, counter_event_name(&request->event), "%s",
		     pmc_advice_text(error, &tried, &here, text, sizeof(text)));
}

/* Blames the option without which the open succeeds. */
static bool blame_option(const struct counter_request *request, const struct pmc_counter *leader,
			 int error, struct pmc_failure *failure)
{
	struct counter_request less = *request;
	struct pmc_attr attr;
	int fd;

	for (size_t i = 0; i < N_OPTIONS; i++) {
		if (!take_out(&less, &options[i]))
			continue;
		fd = counter_try(&less, leader, &attr);
		if (fd < 0)
			continue;
		close(fd);
		counter_fail(failure, error, options[i].name,
			     "refused by this kernel, for this event or in combination with other "
			     "options; leave it out, or see perf_event_open(2) for what it needs");
		return true;
	}
	return false;
}

void counter_explain(const struct counter_request *request, const struct pmc_counter *leader,
		     int error, struct pmc_failure *failure)
{
	if (!failure)
		return;
	if (error == -E2BIG && exceeds_reading(leader))
		counter_fail(failure, error, counter_event_name(&request->event),
			     "a reading of the group would exceed the kernel's limit of 16 KB; "
			     "split it into several groups");
	else if (blame_given(request, error, failure))
		return;
	else if ((error != -E2BIG && error != -EINVAL && error != -EOPNOTSUPP) ||
		 !blame_option(request, leader, error, failure))
		counter_advise(request, leader != NULL, error, failure);
}

/* ---- failures of open counters -------------------------------------------------------------- */

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
