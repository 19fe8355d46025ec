/* SPDX-License-Identifier: MIT */
/*
 * pmc/counter.h - perf counters and groups of them: open, control, read.
 *
 * 	struct pmc_counter_event event;
 * 	struct pmc_counter *counter;
 * 	uint64_t count;
 *
 * 	pmc_counter_event_parse(&event, "page-faults", NULL);
 * 	pmc_counter_open(&counter, &event, NULL, NULL);
 * 	pmc_counter_enable(counter);
 * 	...
 * 	pmc_counter_read(counter, &count);
 * 	pmc_counter_close(counter);
 *
 * Functions return 0 or a negative errno (the kernel's, if the kernel refused); -EINVAL also means
 * that an argument is NULL. Handles belong to the caller until closed; every closer accepts NULL.
 * Threads may use different handles at the same time. One handle may be enabled, disabled and read
 * by several threads at once; adding to a group, resetting, releasing and closing need exclusive
 * use. Reading, enabling and disabling are async-signal-safe (but may change errno); the others are
 * not.
 *
 * What was not counted is an error, never 0: -EAGAIN: not enabled, or the thread has not run since;
 * -EBUSY: enabled, but the PMU never had room; -ENODATA: a pinned counter lost the PMU.
 *
 * Descriptors are close-on-exec. If the program closes one and its number is used again, functions
 * return -EBADF. In a child of fork() a handle is still the parent's counter.
 *
 * Source: perf_event_open(2) and kernel/events/core.c.
 */
#ifndef PMC_COUNTER_H
#define PMC_COUNTER_H

#include <linux/perf_event.h>
#include <pmc/api.h>
#include <pmc/counter_event.h>
#include <pmc/dump.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

PMC_API_BEGIN

struct pmc_counter;
struct pmc_group;

/* The event. */
enum pmc_target {
	/* The thread `pid` (0: the calling thread) alone, on any CPU or on `cpu`. Of a process with
	 * several threads that is the first, not the others. */
	PMC_TARGET_PID = 0,
	PMC_TARGET_ANY,	   /* everything on `cpu` (required) */
	PMC_TARGET_CGROUP, /* threads of the cgroup on `cpu` (required) */
	/* The process `pid` (0: the calling one): its thread and all that it starts from now on
	 * (inherit and inherit_thread; Linux 5.13). -EOPNOTSUPP: it has several threads already,
	 * which no single counter counts: open one for each in /proc/PID/task. */
	PMC_TARGET_PROCESS,
};

/*
 * Options of an open. Start from PMC_OPEN_INIT or pmc_open_options_init(): the calling thread, any
 * CPU, disabled, user and kernel mode as permitted, no sampling. Members have the names of struct
 * perf_event_attr, described in perf_event_open(2); those that differ are explained here. A member
 * unknown to the running kernel is refused, and pmc_failure.what names it.
 */
struct pmc_open_options {
	uint32_t size; /* of this struct in bytes, for later versions */

	/* Target. */
	enum pmc_target target;
	pid_t pid;     /* a thread or process ID; 0: the caller's */
	int cpu;       /* -1: any */
	int cgroup_fd; /* the open directory of a cgroup; remains the caller's */

	/* Added to the times and the id, which are always read: PERF_FORMAT_LOST (Linux 6.0),
	 * PERF_FORMAT_GROUP. */
	uint64_t read_format;

	/* When it counts. */
	bool enabled; /* counts at once; else pmc_counter_enable() starts it */
	bool enable_on_exec;
	bool remove_on_exec;
	bool inherit;
	bool inherit_stat;
	bool inherit_thread; /* with inherit: threads only, not forked children */
	bool pinned;
	bool exclusive;

	/* If kernel mode is not permitted to this user, count user mode only, unless the event or
	 * exclude_user or exclude_kernel chooses. True in PMC_OPEN_INIT. pmc_counter_scope() is the
	 * result. Events that occur in the kernel only, as context-switches, are refused (-EACCES).
	 */
	bool user_if_denied;

	/* Modes that it does not count. */
	bool exclude_user;
	bool exclude_kernel;
	bool exclude_hv;
	bool exclude_idle;
	bool exclude_host;
	bool exclude_guest;
	bool exclude_callchain_user;
	bool exclude_callchain_kernel;

	/* Records other than samples. */
	bool mmap;
	bool mmap2; /* with mmap or mmap_data: longer records */
	bool mmap_data;
	bool build_id; /* with mmap2 */
	bool comm;
	bool comm_exec; /* with comm: marks those caused by exec */
	bool task;
	bool context_switch;
	bool namespaces;
	bool ksymbol;
	bool bpf_event;
	bool cgroup;
	bool text_poke;
	bool sample_id_all;

	/* Sampling: every sample_period events or sample_freq times a second. */
	bool aux_output;
	bool write_backward;
	bool use_clockid;   /* `clockid` is valid */
	bool sigtrap;	    /* a synchronous SIGTRAP instead of a sample; needs remove_on_exec */
	uint8_t precise_ip; /* 0 to 3 */
	uint64_t sample_period;
	uint64_t sample_freq;
	uint64_t sample_type;	     /* PERF_SAMPLE_* */
	uint64_t branch_sample_type; /* PERF_SAMPLE_BRANCH_* */
	uint64_t sample_regs_user;   /* mask of <asm/perf_regs.h>: user registers */
	uint64_t sample_regs_intr;   /* the same: registers at the interrupt */
	uint64_t sig_data;	     /* siginfo's si_perf_data */
	uint32_t sample_stack_user;  /* bytes, a multiple of 8 */
	uint32_t wakeup_events;	     /* this or the next */
	uint32_t wakeup_watermark;   /* bytes */
	uint32_t aux_watermark;	     /* bytes */
	uint32_t aux_sample_size;    /* bytes */
	int32_t clockid;	     /* CLOCK_*; with use_clockid */
	uint16_t sample_max_stack;   /* frames */

	/* Unless NULL, called with the complete attr right before each open, to set members that
	 * have no option here. attr->size bytes are valid and may be changed. Called again if the
	 * cause of a failed open is searched. */
	void (*change_attr)(struct perf_event_attr *attr, void *arg);
	void *change_arg;
};

static inline struct pmc_open_options pmc_open_options_init(void)
{
	struct pmc_open_options open;

	memset(&open, 0, sizeof(open));
	open.size = sizeof(open);
	open.cpu = -1;
	open.user_if_denied = true;
	return open;
}
#ifdef __cplusplus
#define PMC_OPEN_INIT (pmc_open_options_init())
#else
#define PMC_OPEN_INIT                                                                              \
	{                                                                                          \
		.size = sizeof(struct pmc_open_options), .cpu = -1, .user_if_denied = 1            \
	}
#endif

/* ---- one counter ------------------------------------------------------------------------- */

/* A reading of one counter. */
struct pmc_counter_reading {
	uint64_t count;	     /* raw, since the last reset */
	uint64_t enabled_ns; /* since the last reset; 0 without has_times */
	uint64_t running_ns;
	uint64_t id;   /* the kernel's; 0 without has_id */
	uint64_t lost; /* samples dropped since the open; 0 without has_lost */
	bool has_times, has_id, has_lost;
	uint8_t reserved[21];
};

/* Opens one counter. options NULL: PMC_OPEN_INIT; failure NULL: no explanation. *counter is NULL on
 * failure. Errors are those of perf_event_open(2); for E2BIG, EINVAL and EOPNOTSUPP failure->what
 * names the refused option, found by opening without it; else the event. -EINVAL also: `options` is
 * not initialised, or members exclude each other. */
int pmc_counter_open(struct pmc_counter **counter, const struct pmc_counter_event *event,
		     const struct pmc_open_options *options, struct pmc_failure *failure);
/* Makes a counter of a descriptor opened elsewhere with `attr` (attr->size bytes of it are read).
 * On success the counter owns the descriptor. A group member with PERF_FORMAT_GROUP reads its own
 * count only with PERF_FORMAT_ID, else its leader's. -EBADF, -ENOTTY: not a perf event. */
int pmc_counter_adopt(struct pmc_counter **counter, int fd, const struct perf_event_attr *attr);
/* Frees the counter and returns its descriptor, now the caller's. -EBUSY: a group member; dup(2)
 * the descriptor instead. */
int pmc_counter_release(struct pmc_counter *counter);
/* Closes and frees. Does nothing to group members: they are closed with their group. */
void pmc_counter_close(struct pmc_counter *counter);

/* The descriptor, which remains the counter's: for poll, mmap and other ioctls. */
int pmc_counter_fd(const struct pmc_counter *counter);
/* The attr given to the kernel, valid as long as the counter. Its size is that of the library's
 * headers. */
const struct perf_event_attr *pmc_counter_attr(const struct pmc_counter *counter);
/* The kernel's id of the event in samples and group readings. */
int pmc_counter_id(const struct pmc_counter *counter, uint64_t *id);
/* Modes that are counted: PMC_SCOPE_USER after a fall-back (user_if_denied). Clocks count all modes
 * in any case. */
enum pmc_scope pmc_counter_scope(const struct pmc_counter *counter);
/* The name of its event; "" if adopted. Valid as long as the counter. */
const char *pmc_counter_name(const struct pmc_counter *counter);
/* Explains the error of a reading or any other call on this counter: *failure gets the event and a
 * line of advice. Not async-signal-safe. */
void pmc_counter_explain(const struct pmc_counter *counter, int error, struct pmc_failure *failure);

/* This counter only. Members of a group count only while their leader is enabled. Enabling a member
 * of a running group of software events stops the group for a moment: Linux 6.18 would start the
 * member at the next context switch. */
int pmc_counter_enable(struct pmc_counter *counter);
int pmc_counter_disable(struct pmc_counter *counter);
/* Sets the count and the times to 0. (The kernel's reset keeps the times, which would falsify later
 * scaling; so the reading is kept and subtracted from later ones.) For a group member, readings of
 * the whole group are not affected. */
int pmc_counter_reset(struct pmc_counter *counter);
/* The same for the counter's whole group. Enabling and disabling act on the leader; a member that
 * was disabled on its own stays disabled. Of an adopted counter the leader is not known, so all
 * members are enabled; adopt the leader with PERF_FORMAT_GROUP and _ID, as otherwise some may start
 * at the next context switch. */
int pmc_counter_enable_group(struct pmc_counter *counter);
int pmc_counter_disable_group(struct pmc_counter *counter);
int pmc_counter_reset_group(struct pmc_counter *counter);

/* Enables a sampling counter for `overflows` more overflows. -EINVAL: not sampling, or inherited.
 */
int pmc_counter_refresh(struct pmc_counter *counter, int overflows);
/* Sets the period, or the frequency if opened with one. -EINVAL: 0, or not sampling. */
int pmc_counter_set_period(struct pmc_counter *counter, uint64_t period);
/* Attaches a loaded BPF program: to a tracepoint, kprobe or uprobe, or to the overflows of others.
 */
int pmc_counter_set_bpf(struct pmc_counter *counter, int program_fd);
/* Sets a tracepoint's filter, as "prev_pid == 0", or the address filters of a tracing PMU. -EINVAL:
 * invalid filter, or the event takes none. -EEXIST: a tracepoint has one, which the kernel does not
 * replace. */
int pmc_counter_set_filter(struct pmc_counter *counter, const char *filter);

/* The count since the last reset: exact if the counter was on the PMU all the time, else scaled by
 * enabled / running (in 128 bits, rounded to nearest). For a thread counted on one CPU that is an
 * estimate for all CPUs; pmc_counter_read_count_and_time() gives the raw count.
 * -EAGAIN: not enabled since the last reset, or the thread has not run since. -EBUSY: enabled, but
 * never on the PMU. -ENODATA: pinned, and lost the PMU. -EOVERFLOW: the scaled count exceeds 64
 * bits. -ECHILD: inherited, and a copy has other members (copies that are just ending are waited
 * for). -EBADF: the descriptor was closed. On failure *count is unchanged.
 */
int pmc_counter_read(const struct pmc_counter *counter, uint64_t *count);
/* The raw count and its times. Errors as above; with -EAGAIN and -EBUSY the times are set. */
int pmc_counter_read_count_and_time(const struct pmc_counter *counter, uint64_t *count,
				    uint64_t *enabled_ns, uint64_t *running_ns);
/* The whole reading. Errors as above; with -EAGAIN and -EBUSY *reading is set but its count is
 * invalid. */
int pmc_counter_read_full(const struct pmc_counter *counter, struct pmc_counter_reading *reading);
/* *scaled = count * enabled / running in 128 bits, rounded to nearest; the count if running >=
 * enabled. -EAGAIN: enabled is 0. -EBUSY: running is 0. -EOVERFLOW: more than 64 bits. */
int pmc_scale(uint64_t count, uint64_t enabled_ns, uint64_t running_ns, uint64_t *scaled);

/* ---- groups ------------------------------------------------------------------------------ */

/* Common to all members: they are on the PMU together or not at all. */
struct pmc_group_times {
	uint64_t n;	     /* members, including those beyond the caller's array */
	uint64_t enabled_ns; /* since the last reset */
	uint64_t running_ns;
	uint64_t reserved[5];
};

struct pmc_group_value {
	uint64_t count; /* raw, since the last reset */
	uint64_t id;
	uint64_t lost; /* 0 without PERF_FORMAT_LOST */
	uint64_t reserved;
};

/* Reads the group that the counter leads (opened or adopted with PERF_FORMAT_GROUP). Values are in
 * the order in which members were added. At most `max` are stored; -ENOSPC: there are more,
 * times->n in all. -ENOTSUP: opened without PERF_FORMAT_GROUP. Other errors: pmc_counter_read(). */
int pmc_counter_read_group(const struct pmc_counter *leader, struct pmc_group_times *times,
			   struct pmc_group_value *values, size_t max);

/* Opens a group of n events (NULL, 0: an empty group). On failure no descriptor stays open and
 * failure->what names the event or option. The options apply to all; enabled, pinned, exclusive and
 * enable_on_exec to the leader, which is the first. With user_if_denied all members that do not
 * choose fall back to user mode, or none. */
int pmc_group_open(struct pmc_group **group, const struct pmc_counter_event *events, size_t n,
		   const struct pmc_open_options *options, struct pmc_failure *failure);
/* Adds a member; the first is the leader. On failure the group is unchanged. options NULL: those of
 * the group. *member (may be NULL) gets the counter, which is closed with the group. After a thread
 * has inherited the group the kernel refuses new members (-EINVAL), or readings are -ECHILD: add
 * members before starting threads. The times are those of the group: reset it after adding to a
 * running group. -E2BIG: a reading of the group would exceed the kernel's limit of 16 KB. */
int pmc_group_add(struct pmc_group *group, const struct pmc_counter_event *event,
		  const struct pmc_open_options *options, struct pmc_counter **member,
		  struct pmc_failure *failure);
void pmc_group_close(struct pmc_group *group);

size_t pmc_group_count(const struct pmc_group *group);
/* The members, from 0, the leader; NULL beyond the last. */
struct pmc_counter *pmc_group_at(const struct pmc_group *group, size_t index);
/* The index of the counter's value in a reading; -ENOENT: not a member. */
int pmc_group_index(const struct pmc_group *group, const struct pmc_counter *counter);

/* The whole group at once. -ENOENT: an empty group. */
int pmc_group_enable(struct pmc_group *group);
int pmc_group_disable(struct pmc_group *group);
/* Sets all counts and the times to 0. */
int pmc_group_reset(struct pmc_group *group);
/* As pmc_counter_read_group(). All values are of the same moment. */
int pmc_group_read(const struct pmc_group *group, struct pmc_group_times *times,
		   struct pmc_group_value *values, size_t max);
/* Scales a value of a reading by its times; see pmc_scale(). */
int pmc_group_scale(const struct pmc_group_times *times, const struct pmc_group_value *value,
		    uint64_t *count);
/* As pmc_counter_explain(). */
void pmc_group_explain(const struct pmc_group *group, int error, struct pmc_failure *failure);

/* ---- every CPU --------------------------------------------------------------------------- */

struct pmc_counter_cpus;

/* Opens a group of n events on every online CPU (of an uncore PMU: on those that count it). Of the
 * options `cpu` is ignored; the target is PMC_TARGET_ANY unless it is a cgroup, a process or a pid
 * other than 0. On failure nothing stays open. -ENODEV: no online CPU counts all of the events. */
int pmc_counter_cpus_open(struct pmc_counter_cpus **cpus, const struct pmc_counter_event *events,
			  size_t n, const struct pmc_open_options *options,
			  struct pmc_failure *failure);
void pmc_counter_cpus_close(struct pmc_counter_cpus *cpus);
/* The groups, one per CPU: their number, and the index-th with its CPU (NULL: not wanted). NULL
 * beyond the last. They are closed with the others. */
size_t pmc_counter_cpus_count(const struct pmc_counter_cpus *cpus);
struct pmc_group *pmc_counter_cpus_at(const struct pmc_counter_cpus *cpus, size_t index, int *cpu);
int pmc_counter_cpus_enable(struct pmc_counter_cpus *cpus);
int pmc_counter_cpus_disable(struct pmc_counter_cpus *cpus);
int pmc_counter_cpus_reset(struct pmc_counter_cpus *cpus);
/* Sums of counts and times over all CPUs, the events in order; ids are 0. pmc_group_scale() scales
 * a sum. Errors are those of pmc_counter_read_group(); -EAGAIN and -EBUSY only if they hold for all
 * CPUs. */
int pmc_counter_cpus_read(const struct pmc_counter_cpus *cpus, struct pmc_group_times *times,
			  struct pmc_group_value *values, size_t max);

PMC_API_END

#endif
