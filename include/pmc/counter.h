/* SPDX-License-Identifier: MIT */
/*
 * pmc/counter.h - perf counters and groups of them: open, control, read.
 *
 *	struct pmc_counter_event event;
 *	struct pmc_counter *counter;
 *	uint64_t count;
 *
 *	pmc_counter_event_parse(&event, "page-faults", NULL);
 *	pmc_counter_open(&counter, &event, NULL, NULL);
 *	pmc_counter_enable(counter);
 *	...
 *	pmc_counter_read(counter, &count);
 *	pmc_counter_close(counter);
 *
 * Functions return 0 or a negative errno, the kernel's own wherever it was the kernel that
 * refused. Handles belong to the caller till closed; every closer accepts NULL. Different handles
 * may be used by different threads at once; one handle may be enabled, disabled and read by many,
 * while opening into a group, resetting, releasing and closing want it alone. Readings, enabling
 * and disabling are async-signal-safe (but may change errno); the others are not.
 *
 * Descriptors are close-on-exec. A count that the kernel never got round to is -EAGAIN, one that
 * a pinned event lost is -ENODATA: neither is ever told as 0.
 *
 * Source: perf_event_open(2), and kernel/events/core.c for what is not in the page.
 */
#ifndef PMC_COUNTER_H
#define PMC_COUNTER_H

#include <linux/perf_event.h>
#include <pmc/counter_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct pmc_counter;
struct pmc_counter_group;

/* Whom to count. */
enum pmc_target {
	PMC_TARGET_PID = 0, /* the thread `pid`, 0 the calling one, wherever it runs or on `cpu` */
	PMC_TARGET_ANY,	    /* everything that runs on `cpu`, which must be given */
	PMC_TARGET_CGROUP,  /* what runs on `cpu`, given, and is in the cgroup */
};

/*
 * How to open. Start from PMC_OPEN_INIT (or, in memory of another kind, pmc_open_init), which is:
 * the calling thread, any CPU, disabled, user and kernel as the event says, nothing sampled.
 * Members are named as those of struct perf_event_attr, where perf_event_open(2) says what each
 * does; those that differ are explained. A member the running kernel does not know is refused,
 * and pmc_failure.what names it.
 */
struct pmc_open {
	uint32_t size; /* of this struct, so that it may grow */

	/* Whom. */
	enum pmc_target target;
	pid_t pid;     /* a thread id; 0: the calling thread */
	int cpu;       /* -1: any */
	int cgroup_fd; /* an open directory of a cgroup; stays the caller's */

	/* What is read. The times and the id always are; these bits come on top:
	 * PERF_FORMAT_LOST (kernels from 6.0 on), PERF_FORMAT_GROUP. */
	uint64_t read_format;

	/* When it counts. */
	bool enabled; /* counts from the moment it is open; else pmc_counter_enable starts it */
	bool enable_on_exec;
	bool remove_on_exec;
	bool inherit;
	bool inherit_stat;
	bool inherit_thread; /* with inherit: threads only, no forked child */
	bool pinned;
	bool exclusive;

	/* What it leaves out. */
	bool exclude_user;
	bool exclude_kernel;
	bool exclude_hv;
	bool exclude_idle;
	bool exclude_host;
	bool exclude_guest;
	bool exclude_callchain_user;
	bool exclude_callchain_kernel;

	/* Records that are no samples. */
	bool mmap;
	bool mmap2; /* with mmap or mmap_data: their records in the longer form */
	bool mmap_data;
	bool build_id; /* with mmap2 */
	bool comm;
	bool comm_exec; /* with comm: marks those that come of exec */
	bool task;
	bool context_switch;
	bool namespaces;
	bool ksymbol;
	bool bpf_event;
	bool cgroup;
	bool text_poke;
	bool sample_id_all;

	/* Sampling: every sample_period events, or sample_freq times a second, not both. */
	bool aux_output;
	bool write_backward;
	bool use_clockid;   /* `clockid` below holds */
	bool sigtrap;	    /* a synchronous SIGTRAP instead of a sample; needs remove_on_exec */
	uint8_t precise_ip; /* 0 to 3 */
	uint64_t sample_period;
	uint64_t sample_freq;
	uint64_t sample_type;	     /* PERF_SAMPLE_* */
	uint64_t branch_sample_type; /* PERF_SAMPLE_BRANCH_* */
	uint64_t sample_regs_user;   /* mask of <asm/perf_regs.h>: at the return to user mode */
	uint64_t sample_regs_intr;   /* the same: at the interrupt; told apart from the above */
	uint64_t sig_data;	     /* siginfo's si_perf_data */
	uint32_t sample_stack_user;  /* bytes, a multiple of 8 */
	uint32_t wakeup_events;	     /* one of these two */
	uint32_t wakeup_watermark;   /* bytes */
	uint32_t aux_watermark;	     /* bytes */
	uint32_t aux_sample_size;    /* bytes */
	int32_t clockid;	     /* CLOCK_*; with use_clockid */
	uint16_t sample_max_stack;   /* frames */
};

#ifdef __cplusplus
/* Every member but size and cpu is 0. */
static inline struct pmc_open pmc_open_init(void)
{
	struct pmc_open open = {};

	open.size = sizeof(open);
	open.cpu = -1;
	return open;
}
#define PMC_OPEN_INIT (pmc_open_init())
#else
#define PMC_OPEN_INIT                                                                              \
	{                                                                                          \
		.size = sizeof(struct pmc_open), .cpu = -1                                         \
	}
static inline struct pmc_open pmc_open_init(void)
{
	const struct pmc_open open = PMC_OPEN_INIT;

	return open;
}
#endif

/* ---- one counter ------------------------------------------------------------------------- */

/* What one reading says. Raw count and times travel together. */
struct pmc_counter_reading {
	uint64_t count;	     /* raw, since the last reset */
	uint64_t enabled_ns; /* since the last reset; 0 without has_times */
	uint64_t running_ns;
	uint64_t id;   /* the kernel's; 0 without has_id */
	uint64_t lost; /* samples that were dropped, ever; 0 without has_lost */
	bool has_times, has_id, has_lost;
};

/* Opens one counter. open NULL: PMC_OPEN_INIT; failure NULL: no words. *counter is NULL on
 * failure. Errors: those of perf_event_open(2), with failure->what naming the option that the
 * kernel refused as far as tries without it tell (E2BIG, EINVAL, EOPNOTSUPP); -EINVAL also for
 * a struct that did not start from PMC_OPEN_INIT and for members that exclude each other. */
int pmc_counter_open(struct pmc_counter **counter, const struct pmc_counter_event *event,
		     const struct pmc_open *open, struct pmc_failure *failure);
/* fd in: makes a counter of a descriptor that perf_event_open gave somebody, who says with what
 * attr (its size member tells how much of it there is). The counter owns the descriptor from then
 * on, but not if this fails. Of a member with PERF_FORMAT_GROUP its own count is read if there is
 * PERF_FORMAT_ID too, else nothing tells it from its leader's. -EBADF, -ENOTTY: no perf event. */
int pmc_counter_adopt(struct pmc_counter **counter, int fd, const struct perf_event_attr *attr);
/* fd out: gives the descriptor to the caller and frees the counter. Returns the descriptor;
 * -EBUSY: it belongs to a group (dup(2) what pmc_counter_fd returns). */
int pmc_counter_release(struct pmc_counter *counter);
/* Closes and frees. Members of a group go with their group: this does nothing to them. */
void pmc_counter_close(struct pmc_counter *counter);

/* The descriptor, which stays the counter's: for poll, mmap, ioctls that are not here. */
int pmc_counter_fd(const struct pmc_counter *counter);
/* The configuration, as given to the kernel. Valid as long as the counter. (size is that of the
 * struct when the library was built: set it if a program with other headers copies it.) */
const struct perf_event_attr *pmc_counter_attr(const struct pmc_counter *counter);
/* The event's id in samples and group readings. */
int pmc_counter_id(const struct pmc_counter *counter, uint64_t *id);

/* This counter alone. In a group whose leader is disabled nothing counts. */
int pmc_counter_enable(struct pmc_counter *counter);
int pmc_counter_disable(struct pmc_counter *counter);
/* Counts from 0 again, times included (the kernel's own reset leaves those, which spoils what is
 * scaled later; here they are taken off every reading). Of a counter in a group the group's
 * readings go on as they were. */
int pmc_counter_reset(struct pmc_counter *counter);
/* The same for the whole group the counter is in. */
int pmc_counter_enable_group(struct pmc_counter *counter);
int pmc_counter_disable_group(struct pmc_counter *counter);
int pmc_counter_reset_group(struct pmc_counter *counter);

/* Enables a sampling counter for `overflows` more overflows. -EINVAL: not sampling, inherited. */
int pmc_counter_refresh(struct pmc_counter *counter, int overflows);
/* A new period, or frequency if it was opened with one. -EINVAL: 0, or not sampling. */
int pmc_counter_set_period(struct pmc_counter *counter, uint64_t period);
/* Attaches a loaded BPF program (tracepoints, kprobes, uprobes; overflows of others). */
int pmc_counter_set_bpf(struct pmc_counter *counter, int program_fd);
/* A tracepoint's filter, as "prev_pid == 0", or address filters of a tracing PMU. -EINVAL: not
 * understood, or the event takes none. */
int pmc_counter_set_filter(struct pmc_counter *counter, const char *filter);

/* The count since the last reset: exact if the counter was on the PMU all the time, else scaled
 * by enabled / running in 128 bits, rounded to nearest. (Of a thread on one CPU: as if it had been
 * there all the time; how often it really was is the raw count, pmc_counter_read_count_and_time.)
 * -EAGAIN: not scheduled yet; -ENODATA: pinned and in error; -EOVERFLOW: scaled it has more than 64
 * bits; -ECHILD: inherited, and a copy does not match (one that is just ending is waited for);
 * -EIO: not the reading its attr promises.
 * On failure *count is as it was.
 */
int pmc_counter_read(const struct pmc_counter *counter, uint64_t *count);
/* The raw count and its times. Errors as above; with -EAGAIN the times are set all the same. */
int pmc_counter_read_count_and_time(const struct pmc_counter *counter, uint64_t *count,
				    uint64_t *enabled_ns, uint64_t *running_ns);
/* All of it. Errors as above; with -EAGAIN *reading is set, its count meaning nothing. */
int pmc_counter_read_full(const struct pmc_counter *counter, struct pmc_counter_reading *reading);

/* ---- groups ------------------------------------------------------------------------------ */

/* Of every member the same: they are on the PMU together or not at all. */
struct pmc_group_times {
	uint64_t n;	     /* members, whether or not all fitted the caller's array */
	uint64_t enabled_ns; /* since the last reset */
	uint64_t running_ns;
};

struct pmc_group_value {
	uint64_t count; /* raw, since the last reset */
	uint64_t id;
	uint64_t lost; /* 0 unless PERF_FORMAT_LOST was asked for */
};

/* Reads the group that the counter leads: opened with PERF_FORMAT_GROUP in read_format, or
 * adopted so. Values come in the order the members joined. At most `max` are stored: -ENOSPC if
 * there are more, times->n says how many. -ENOTSUP: the counter has not that format. Otherwise as
 * pmc_counter_read. */
int pmc_counter_read_group(const struct pmc_counter *leader, struct pmc_group_times *times,
			   struct pmc_group_value *values, size_t max);

/* A group of n events (none: NULL, 0), all or nothing: on failure no descriptor stays open, and
 * failure->what names the event or option. `open` holds for all, the leader's part of it
 * (enabled, pinned, exclusive, enable_on_exec) for the first. */
int pmc_counter_group_open(struct pmc_counter_group **group, const struct pmc_counter_event *events,
			   size_t n, const struct pmc_open *open, struct pmc_failure *failure);
/* One more member, the first is the leader; the group is as it was on failure. open NULL: the
 * group's. member, may be NULL, gets the counter, which lives and dies with the group. Once
 * anything has inherited the group the kernel refuses more of it (EINVAL) or its readings are
 * -ECHILD: add first, start threads later. Times are those of the whole group: reset it if the
 * member came late. */
int pmc_counter_group_add(struct pmc_counter_group *group, const struct pmc_counter_event *event,
			  const struct pmc_open *open, struct pmc_counter **member,
			  struct pmc_failure *failure);
void pmc_counter_group_close(struct pmc_counter_group *group);

size_t pmc_counter_group_count(const struct pmc_counter_group *group);
/* The members, from 0, the leader; NULL beyond the last. */
struct pmc_counter *pmc_counter_group_at(const struct pmc_counter_group *group, size_t index);
/* Where the counter's value is in a reading; -ENOENT: it is no member. */
int pmc_counter_group_index(const struct pmc_counter_group *group,
			    const struct pmc_counter *counter);

/* The whole group at once. An empty group: -ENOENT. */
int pmc_counter_group_enable(struct pmc_counter_group *group);
int pmc_counter_group_disable(struct pmc_counter_group *group);
/* Every member counts from 0 again, and the times too. */
int pmc_counter_group_reset(struct pmc_counter_group *group);
/* As pmc_counter_read_group. All values are of the same moment. */
int pmc_counter_group_read(const struct pmc_counter_group *group, struct pmc_group_times *times,
			   struct pmc_group_value *values, size_t max);
/* raw * enabled / running as pmc_counter_read does it. -EAGAIN, -EOVERFLOW. */
int pmc_group_value_scale(const struct pmc_group_times *times, const struct pmc_group_value *value,
			  uint64_t *count);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
