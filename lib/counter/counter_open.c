/* SPDX-License-Identifier: MIT */
/*
 * counter_open.c - what to open, opening, adopting, releasing and closing counters, and the reasons
 * for failures.
 *
 * For an option that it refuses the kernel returns just E2BIG or EINVAL (perf_copy_attr() and
 * perf_event_open() in kernel/events/core.c). So the open is repeated with one option less each
 * time; the option whose absence makes it succeed is named.
 */
#include "lib/base/out.h"
#include "lib/counter/counter.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Readings of a process's threads, until those that were joined are gone. */
#define JOINED_POLLS 100u

/* ---- failures -----------------------------------------------------------------------------*/

int counter_fail(struct pmc_failure *failure, int error, const char *what, const char *format, ...)
{
	struct pmc_out out;
	va_list args;

	if (!failure)
		return error;
	memset(failure, 0, sizeof(*failure));
	failure->error = -error;
	pmc_out_to_mem(&out, failure->what, sizeof(failure->what));
	pmc_out_str(&out, what);
	pmc_out_to_mem(&out, failure->advice, sizeof(failure->advice));
	va_start(args, format);
	pmc_voutf(&out, format, args);
	va_end(args);
	return error;
}

int counter_fail_call(struct pmc_failure *failure, int error, const char *what,
		      const struct pmc_tried *tried)
{
	char text[sizeof(failure->advice)];
	struct pmc_here here;

	if (!failure)
		return error;
	pmc_here_read(&here, NULL);
	return counter_fail(failure, error, what, "%s",
			    pmc_advice_text(error, tried, &here, text, sizeof(text)));
}

void counter_fail_open(struct pmc_failure *failure, int error, const char *what,
		       const struct counter_meaning *meanings)
{
	const struct pmc_tried tried = { .call = PMC_CALL_READ };

	while (meanings->error && meanings->error != error)
		meanings++;
	if (meanings->error)
		counter_fail(failure, error, what, "%s", meanings->text);
	else
		counter_fail_call(failure, error, what, &tried);
}

/* ---- what to open: options converted and checked ------------------------------------------- */

COUNTER_EXPORT(pmc_open_options, pmc_open_options_init, PMC_OPEN_INIT)

static bool is_by_pid(const struct pmc_open_options *open)
{
	return open->target == PMC_TARGET_PID || open->target == PMC_TARGET_PROCESS;
}

static int check_target(const struct pmc_open_options *open, struct pmc_failure *failure)
{
	if (open->target > PMC_TARGET_PROCESS)
		return counter_fail(failure, -EINVAL, "target",
				    "not a target; use PMC_TARGET_PID, _ANY, _CGROUP or _PROCESS");
	if (open->cpu < -1)
		return counter_fail(failure, -EINVAL, "cpu", "%d is not a CPU; -1 means any CPU",
				    open->cpu);
	if (is_by_pid(open) && open->pid < 0)
		return counter_fail(failure, -EINVAL, "pid",
				    "%d is not a thread ID; to count a whole CPU, use "
				    "PMC_TARGET_ANY",
				    (int)open->pid);
	if (!is_by_pid(open) && open->cpu < 0)
		return counter_fail(failure, -EINVAL, "cpu",
				    "this target needs a CPU; give one, or open every CPU by "
				    "pmc_counter_cpus_open() or pmc_sampler_set_open()");
	if (open->target == PMC_TARGET_CGROUP && open->cgroup_fd < 0)
		return counter_fail(failure, -EBADF, "cgroup_fd",
				    "not a descriptor; open the directory of the cgroup");
	return 0;
}

/* Combinations that the kernel would accept with another meaning, or without any. */
static int check(const struct pmc_open_options *open, struct pmc_failure *failure)
{
	const uint64_t type = open->sample_type;

	if (open->sample_period && open->sample_freq)
		return counter_fail(failure, -EINVAL, "sample_freq",
				    "set either sample_freq or sample_period");
	if (open->wakeup_events && open->wakeup_watermark)
		return counter_fail(failure, -EINVAL, "wakeup_watermark",
				    "set either wakeup_watermark or wakeup_events");
	if (open->precise_ip > 3)
		return counter_fail(failure, -EINVAL, "precise_ip", "must be 0, 1, 2 or 3");
#define NEEDS(member, bit)                                                                         \
	if (open->member && !(type & (bit)))                                                       \
		return counter_fail(failure, -EINVAL, #member,                                     \
				    "has no effect alone; add " #bit " to sample_type");
	NEEDS(sample_regs_user, PERF_SAMPLE_REGS_USER)
	NEEDS(sample_regs_intr, PERF_SAMPLE_REGS_INTR)
	NEEDS(sample_stack_user, PERF_SAMPLE_STACK_USER)
	NEEDS(branch_sample_type, PERF_SAMPLE_BRANCH_STACK)
#undef NEEDS
	return check_target(open, failure);
}

int counter_request_make(struct counter_request *request, const struct pmc_counter_event *event,
			 const struct pmc_open_options *open, struct pmc_failure *failure)
{
	const struct pmc_open_options defaults = PMC_OPEN_INIT;
	const unsigned char *bytes;

	memset(request, 0, sizeof(*request));
	if (event)
		request->event = *event;
	for (size_t i = 0; event && i < sizeof(event->reserved) / sizeof(event->reserved[0]); i++)
		if (event->reserved[i])
			return counter_fail(failure, -E2BIG, counter_event_name(event),
					    "the event is not initialised, or of a newer libpmc");
	if (!open)
		open = &defaults;
	bytes = (const unsigned char *)open;
	/* A struct above a page is uninitialised memory. */
	if (open->size < offsetof(struct pmc_open_options, read_format) || open->size > 4096)
		return counter_fail(failure, -EINVAL, "struct pmc_open_options",
				    "not initialised; start from PMC_OPEN_INIT");
	/* A program built with a newer header; checked as in perf_copy_attr(). */
	for (size_t i = sizeof(*open); i < open->size; i++)
		if (bytes[i])
			return counter_fail(
				failure, -E2BIG, "struct pmc_open_options",
				"an option is set that this libpmc does not know; it is "
				"older than the program");
	memcpy(&request->open, open, open->size < sizeof(*open) ? open->size : sizeof(*open));
	if (event && counter_filter(event) == PMC_KERNEL_ONLY &&
	    (open->exclude_kernel || event->exclude_kernel))
		return counter_fail(failure, -EOPNOTSUPP, counter_event_name(event),
				    "it occurs in the kernel only and would read 0; leave out :u "
				    "and exclude_kernel, or have kernel mode permitted: sysctl "
				    "kernel.perf_event_paranoid=1");
	return check(&request->open, failure);
}

int counter_request_each_cpu(struct counter_request *request, const struct pmc_counter_event *event,
			     const struct pmc_open_options *options, struct pmc_failure *failure)
{
	const struct pmc_open_options defaults = PMC_OPEN_INIT;
	struct pmc_open_options open = options ? *options : defaults;
	int error;

	open.cpu = 0;
	error = counter_request_make(request, event, &open, failure);
	if (!error && request->open.target == PMC_TARGET_PID && request->open.pid == 0)
		request->open.target = PMC_TARGET_ANY;
	return error;
}

bool counter_may_fall_back(const struct counter_request *request)
{
	const struct pmc_open_options *open = &request->open;
	const struct pmc_counter_event *event = &request->event;

	return open->user_if_denied && !event->asked_scope && !event->exclude_user &&
	       !event->exclude_kernel && !open->exclude_user && !open->exclude_kernel &&
	       counter_filter(event) != PMC_KERNEL_ONLY;
}

/* ---- the call -----------------------------------------------------------------------------*/

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
	attr->base.inherit |= open->target == PMC_TARGET_PROCESS;
	attr->base.inherit_thread |= open->target == PMC_TARGET_PROCESS;
	attr->base.pinned |= event->pinned;
	attr->base.exclude_user |= event->exclude_user;
	attr->base.exclude_kernel |= event->exclude_kernel;
	attr->base.exclude_hv |= event->exclude_kernel;
	pmc_perf_size(attr);
	if (open->change_attr)
		open->change_attr(&attr->base, open->change_arg);
}

static struct pmc_tried tried_of(const struct pmc_open_options *open)
{
	const bool cgroup = open->target == PMC_TARGET_CGROUP, any = open->target == PMC_TARGET_ANY;

	return (struct pmc_tried){ .placed = true,
				   .cgroup = cgroup,
				   .pid = cgroup ? open->cgroup_fd :
					  any	 ? -1 :
						   open->pid,
				   .cpu = open->cpu };
}

/* The descriptor of a request, or -errno. */
static int try_open(const struct counter_request *request, const struct pmc_counter *leader,
		    struct pmc_attr *attr)
{
	const struct pmc_tried tried = tried_of(&request->open);

	attr_of(request, leader, attr);
	return pmc_perf_open(attr, tried.pid, tried.cpu, leader ? leader->fd : -1,
			     tried.cgroup ? PERF_FLAG_PID_CGROUP : 0);
}

/* ---- which option -------------------------------------------------------------------------*/

static const struct option {
	const char *name;
	size_t at, size;
	uint64_t mask;
} refusable[] = {
#define OPTION(member, name, mask)                                                                 \
	{ name, offsetof(struct counter_request, member),                                          \
	  sizeof(((struct counter_request *)0)->member), mask },
#define SAME(member)	    OPTION(open.member, #member, UINT64_MAX)
#define BITS(member, bits)  OPTION(open.member, #bits, bits)
#define OTHER(member, name) OPTION(member, name, UINT64_MAX)
#include "lib/counter/counter_option.def"
};

#define N_OPTIONS (sizeof(refusable) / sizeof(refusable[0]))

/* Removes the option from the request. Returns whether it was set. */
static bool take_out(struct counter_request *request, const struct option *option)
{
	unsigned char *member = (unsigned char *)request + option->at;
	uint64_t bits = 0, rest;

	memcpy(&bits, member, option->size);
	rest = bits & ~option->mask;
	memcpy(member, &rest, option->size);
	return rest != bits;
}

static bool is_of(const struct pmc_counter_event *event, const char *pmu)
{
	struct pmc_counter_event any;

	return pmc_counter_event_pmu(&any, pmu, NULL, 0, NULL) == 0 && any.type == event->type;
}

/* Whether the target is a process that has several threads, or may have: the kernel counts one, and
 * those that it starts later. A thread that was joined is still there for a moment. */
static bool has_threads(const struct pmc_open_options *open)
{
	struct stat tasks;
	char path[32];
	struct pmc_out out = pmc_out_mem(path, sizeof(path));

	if (open->target != PMC_TARGET_PROCESS)
		return false;
	pmc_outf(&out, "/proc/%d/task", open->pid ? (int)open->pid : (int)getpid());
	for (unsigned i = 0; i < JOINED_POLLS; i++, sched_yield())
		/* Links of the directory: two, and one for each thread. */
		if (stat(path, &tasks) == 0 && tasks.st_nlink <= 3)
			return false;
	return true;
}

/* Errors about a name, thread or descriptor in the request. */
static bool blame_given(const struct counter_request *request, int error,
			struct pmc_failure *failure)
{
	const char *name = (const char *)(uintptr_t)request->event.config1;
	const struct pmc_open_options *open = &request->open;
	const char *event = counter_event_name(&request->event);

	if (error == -EBADF && open->target == PMC_TARGET_CGROUP)
		counter_fail(failure, error, "cgroup_fd",
			     "not the directory of a cgroup; open one in /sys/fs/cgroup");
	else if (error == -EOPNOTSUPP && has_threads(open))
		counter_fail(failure, error, "pid",
			     "the process has several threads, or /proc cannot be read, and a "
			     "counter follows one thread and those that it starts later; open one "
			     "for each thread in /proc/PID/task by PMC_TARGET_PID");
	else if (error == -ESRCH && is_by_pid(open))
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

void counter_advise(const struct counter_request *request, bool sibling, int error,
		    struct pmc_failure *failure)
{
	struct pmc_tried tried = tried_of(&request->open);
	struct pmc_attr attr;

	if (!failure || blame_given(request, error, failure))
		return;
	attr_of(request, NULL, &attr);
	tried.attr = &attr.base;
	tried.sibling = sibling;
	tried.kernel_only = counter_filter(&request->event) == PMC_KERNEL_ONLY;
	counter_fail_call(failure, error, counter_event_name(&request->event), &tried);
}

/* Blames the option without which the open succeeds. */
static bool blame_option(const struct counter_request *request, const struct pmc_counter *leader,
			 int error, struct pmc_failure *failure)
{
	struct counter_request less = *request;
	struct pmc_attr attr;
	int fd;

	for (size_t i = 0; i < N_OPTIONS; i++) {
		if (!take_out(&less, &refusable[i]))
			continue;
		fd = try_open(&less, leader, &attr);
		if (fd < 0)
			continue;
		close(fd);
		counter_fail(failure, error, refusable[i].name,
			     "refused by this kernel, for this event or in combination with other "
			     "options; leave it out, or see perf_event_open(2) for what it needs");
		return true;
	}
	return false;
}

void counter_explain(const struct counter_request *request, const struct pmc_counter *leader,
		     int error, struct pmc_failure *failure)
{
	const bool any = error == -E2BIG || error == -EINVAL || error == -EOPNOTSUPP;

	if (failure && !blame_given(request, error, failure) &&
	    !(any && blame_option(request, leader, error, failure)))
		counter_advise(request, leader != NULL, error, failure);
}

/* ---- opening ------------------------------------------------------------------------------*/

static enum pmc_scope scope_of(const struct pmc_counter_event *event,
			       const struct perf_event_attr *attr)
{
	if (counter_filter(event) == PMC_UNFILTERED)
		return PMC_SCOPE_ALL;
	return attr->exclude_kernel ? PMC_SCOPE_USER :
	       attr->exclude_user   ? PMC_SCOPE_KERNEL :
				      PMC_SCOPE_ALL;
}

int counter_request_open(struct counter_request *request, const struct pmc_counter *leader,
			 bool may_fall_back, struct pmc_counter **counter,
			 struct pmc_failure *failure)
{
	const char *name = counter_event_name(&request->event);
	struct pmc_counter *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return counter_fail(failure, -ENOMEM, "memory", "out of memory");
	new->fd = try_open(request, leader, &new->attr);
	if ((new->fd == -EACCES || new->fd == -EPERM) && may_fall_back &&
	    counter_may_fall_back(request)) {
		request->event.exclude_kernel = true;
		new->fd = try_open(request, leader, &new->attr);
	}
	error = new->fd < 0 ? new->fd : pmc_perf_ioctl(new->fd, PERF_EVENT_IOC_ID, &new->id);
	/* After the open: a thread that starts in between has inherited it. */
	if (!error && has_threads(&request->open))
		error = -EOPNOTSUPP;
	if (error) {
		counter_free(new);
		counter_explain(request, leader, error, failure);
		return error;
	}
	/* The size of the header's struct, which pmc_counter_attr() returns. */
	new->attr.base.size = sizeof(new->attr.base);
	new->on_any_cpu = request->open.cpu < 0;
	new->filter = counter_filter(&request->event);
	new->scope = scope_of(&request->event, &new->attr.base);
	memcpy(new->name, name, strnlen(name, sizeof(new->name) - 1));
	*counter = new;
	return 0;
}

int pmc_counter_open(struct pmc_counter **counter, const struct pmc_counter_event *event,
		     const struct pmc_open_options *options, struct pmc_failure *failure)
{
	struct counter_request request;
	int error;

	if (!counter || !event)
		return counter_fail(failure, -EINVAL, counter ? "event" : "counter", "NULL");
	*counter = NULL;
	error = counter_request_make(&request, event, options, failure);
	return error ? error : counter_request_open(&request, NULL, true, counter, failure);
}

int pmc_counter_adopt(struct pmc_counter **counter, int fd, const struct perf_event_attr *attr)
{
	struct pmc_counter *new;
	uint64_t id;
	int error;

	if (!counter || !attr)
		return -EINVAL;
	*counter = NULL;
	if (fd < 0)
		return -EBADF;
	if (attr->size < PERF_ATTR_SIZE_VER0)
		return -EINVAL;
	/* Fails on descriptors that are not perf events. */
	error = pmc_perf_ioctl(fd, PERF_EVENT_IOC_ID, &id);
	if (error)
		return error;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->fd = fd;
	new->id = id;
	memcpy(&new->attr, attr, attr->size < sizeof(new->attr) ? attr->size : sizeof(new->attr));
	if (attr->read_format & PERF_FORMAT_GROUP && attr->read_format & PERF_FORMAT_ID)
		new->member_id = id;
	new->scope = scope_of(
		&(struct pmc_counter_event){ .type = attr->type, .config = attr->config }, attr);
	*counter = new;
	return 0;
}

int counter_check(const struct pmc_counter *counter)
{
	uint64_t id = 0;
	int error = pmc_perf_ioctl(counter->fd, PERF_EVENT_IOC_ID, &id);

	/* If a seccomp filter refuses the ioctl, the identity is unknown. */
	if (error == -EPERM || error == -EACCES || error == -ENOSYS)
		return 0;
	return error || id != counter->id ? -EBADF : 0;
}

void counter_free(struct pmc_counter *counter)
{
	/* A sampler that is closed later keeps the ring, but must not use the descriptor. */
	if (counter->held)
		*counter->held = NULL;
	/* Must not close another file that has the number now. */
	if (counter->fd >= 0 && (!counter->id || counter_check(counter) == 0))
		close(counter->fd);
	free(counter);
}

int pmc_counter_release(struct pmc_counter *counter)
{
	int fd = counter ? counter->fd : -EINVAL;

	if (!counter)
		return fd;
	if (counter->group || counter->held)
		return -EBUSY;
	counter->fd = -1;
	counter_free(counter);
	return fd;
}

void pmc_counter_close(struct pmc_counter *counter)
{
	if (counter && !counter->group)
		counter_free(counter);
}

int pmc_counter_fd(const struct pmc_counter *counter)
{
	return counter ? counter->fd : -EINVAL;
}

const struct perf_event_attr *pmc_counter_attr(const struct pmc_counter *counter)
{
	return counter ? &counter->attr.base : NULL;
}

int pmc_counter_id(const struct pmc_counter *counter, uint64_t *id)
{
	if (!counter || !id)
		return -EINVAL;
	*id = counter->id;
	return counter_check(counter);
}

enum pmc_scope pmc_counter_scope(const struct pmc_counter *counter)
{
	return counter ? counter->scope : PMC_SCOPE_ALL;
}

const char *pmc_counter_name(const struct pmc_counter *counter)
{
	return counter ? counter->name : "";
}

/* ---- failures of open counters -------------------------------------------------------------- */

/* Errors of this library, and errors with another meaning than at an open. */
static const struct counter_meaning meanings[] = {
	{ -EAGAIN, "it is not enabled, or its thread has not run since; enable it before the work "
		   "that it is to count" },
	{ -EBUSY, "it was enabled, but never had a counter of the PMU: others hold them, or its "
		  "group is larger than the PMU; pmctl doctor names the others" },
	{ -EBADF, "its descriptor was closed, and may be another file's by now; close descriptors "
		  "of counters only by pmc_counter_close()" },
	{ -EOVERFLOW, "the scaled count exceeds 64 bits; use the raw count and the times" },
	{ -ENOSPC, "the group has more members than the array has room for; times->n is their "
		   "number" },
	{ -ENOTSUP, "it was not opened with PERF_FORMAT_GROUP; read it alone" },
	{ -ENOENT, "the group has no members; add one" },
	{ -EEXIST, "it has a filter or a BPF program already, which the kernel does not replace; "
		   "open another counter" },
	{ -EINVAL, "an argument is NULL or invalid for this event, as a period for one that does "
		   "not sample" },
	{ -EIO, "its reading does not have the format of its attr; was it adopted with another "
		"one?" },
	{ 0 },
};

/* Whether it has been enabled, before a reset or after, and never was on the PMU. */
static bool never_ran(const struct pmc_counter *counter)
{
	struct pmc_perf_head head;

	return !counter_fetch(counter, &head, NULL, 0) && head.enabled_ns && !head.running_ns;
}

void pmc_counter_explain(const struct pmc_counter *counter, int error, struct pmc_failure *failure)
{
	error = error > 0 ? -error : error;
	if (!failure)
		return;
	if (!counter)
		counter_fail(failure, error, "counter", "it is NULL; open it first");
	else if (error == -EBUSY && (counter->group || counter->held) && !never_ran(counter))
		counter_fail(failure, error, counter->name,
			     "it belongs to a group or to a sampler; close that first");
	else
		counter_fail_open(failure, error, counter->name, meanings);
}
