/* SPDX-License-Identifier: MIT */
/*
 * group.h - perf_event_open(2), its ioctls and readings; and groups of events on one thread or CPU.
 *
 * Implemented in lib/count/linux/group.c; nothing else makes these calls. Async-signal-safe: raw
 * system calls, the caller's memory, no state. Functions return 0 or -errno; errno is not
 * preserved. Descriptors of groups start and end at -1.
 */
#pragma once

#include "lib/event/event.h"

#include <linux/perf_event.h>
#include <pmc/record.h>

/* perf_event_attr up to config3, which older headers lack (PERF_ATTR_SIZE_VER8). */
struct pmc_attr {
	struct perf_event_attr base;
	uint64_t config3;
};

/* Sets the attr's size. An attr of size 0 has the members of PERF_ATTR_SIZE_VER0. */
void pmc_perf_size(struct pmc_attr *attr);
/* A close-on-exec descriptor or -errno. leader: -1, or the descriptor of the group's leader. */
int pmc_perf_open(const struct pmc_attr *attr, int pid, int cpu, int leader, unsigned long flags);
/* Opens an event of the calling thread on any CPU: pmc_perf_open_self(), or a function that refuses
 * where a seccomp filter would kill, or a test's double. A descriptor or -errno. */
typedef int (*pmc_perf_opener)(struct pmc_attr *attr, int leader);
static inline int pmc_perf_open_self(struct pmc_attr *attr, int leader)
{
	return pmc_perf_open(attr, 0, -1, leader, 0);
}
/* The result of ioctl(2) (>= 0), or -errno. */
int pmc_perf_ioctl(int fd, unsigned long request, void *arg);

/* The longest reading: the kernel refuses a sibling that would exceed it with E2BIG, see
 * perf_event_validate_size() in kernel/events/core.c. */
#define PMC_PERF_WORDS_MAX (16 * 1024 / sizeof(uint64_t))

/* Words in a reading; n, the number of events, counts only with PERF_FORMAT_GROUP. */
size_t pmc_perf_read_words(uint64_t read_format, unsigned n);
/* Reads at most n_words: the number read, or -errno. -ENODATA: none, as of a pinned group that the
 * PMU cannot run. -EIO: not whole words. -ECHILD: an inherited copy differs from the group; while a
 * copy ends this is temporary, and retried for at most some ten milliseconds. */
int pmc_perf_read_some(int fd, uint64_t *words, size_t n_words);

struct pmc_perf_head {
	uint64_t n, enabled_ns, running_ns;
};

/* Decodes a reading ("Reading results" of perf_event_open(2), also in PERF_SAMPLE_READ and
 * PERF_RECORD_READ). Stores the first `max` of head->n values; members that the format lacks are
 * 0. Returns the words it took; -EINVAL: it overruns. */
int pmc_perf_decode(const uint64_t *words, size_t n_words, uint64_t read_format,
		    struct pmc_perf_head *head, struct pmc_record_value *values, unsigned max);
/* One value of a group's reading. */
void pmc_perf_decode_value(const uint64_t *words, uint64_t read_format,
			   struct pmc_record_value *value);

/* ---- groups ------------------------------------------------------------------------------ */

enum pmc_perf_group_kind {
	PMC_PERF_GROUP_OWN,	/* inherit=0: one thread or CPU */
	PMC_PERF_GROUP_THREADS, /* inherit=1, inherit_thread=1: all threads of the process */
	PMC_PERF_GROUP_PLAIN,	/* inherit=1: threads and forked children; kernels before 5.13 */
	PMC_PERF_GROUP_EXEC,	/* inherit=1, disabled, enable_on_exec: exec'd descendants */
	PMC_PERF_GROUP_CGROUP,	/* inherit=0: pid is the descriptor of a cgroup, on one CPU */
};

/* The attr of one event of an own group that counts this scope. Leaders are disabled, and pinned
 * if the event is. */
void pmc_perf_group_attr(const struct pmc_event *event, enum pmc_scope scope, bool leader,
			 struct pmc_attr *attr);

/* The attr of an event that is sampled in user mode, as asked. */
void pmc_perf_sample_attr(const struct pmc_event *event, const struct pmc_config_sample *asked,
			  struct pmc_attr *attr);

/* The target of a group. */
struct pmc_perf_target {
	enum pmc_perf_group_kind kind;
	int pid, cpu; /* as of perf_event_open(2) */
	int move_to;  /* > 0: each descriptor is moved to the lowest free number from this on */
	bool (*before_move)(int fd); /* of the leader; false: there is none (EMFILE); or NULL */
};
/* An own group of the calling thread. */
#define PMC_PERF_SELF ((const struct pmc_perf_target){ .cpu = -1 })

/* Opens n events as one group into fds[0..n), the leader first and disabled. The attrs are those of
 * an own group; other kinds change a copy. *id gets the leader's kernel id. On failure nothing is
 * left open. */
int pmc_perf_group_open(const struct pmc_attr *attrs, unsigned n,
			const struct pmc_perf_target *target, int *fds, uint64_t *id);
/* By the leader alone. With PERF_IOC_FLAG_GROUP siblings stay stopped after a second round of
 * disable and enable, until the thread's next context switch (Linux 6.18). */
static inline int pmc_perf_group_enable(int leader)
{
	return pmc_perf_ioctl(leader, PERF_EVENT_IOC_ENABLE, NULL);
}
static inline int pmc_perf_group_disable(int leader)
{
	return pmc_perf_ioctl(leader, PERF_EVENT_IOC_DISABLE, NULL);
}

/* Words in a reading of n events. */
#define PMC_PERF_GROUP_WORDS(n) (3 + 2 * (n))

/* Whether the descriptor is that event (id 0: any): the program may have closed it by a system call
 * that nobody saw, and opened a file of its own, which a read would wait for, or take data from. */
bool pmc_perf_is_event(int fd, uint64_t id);

/* Reads the group: its times into *reading, its values into words[0..n). If the descriptor no
 * longer is the group (id), or a pinned group lost its counters, reading->error says so and n is
 * 0. */
void pmc_perf_group_read(int leader, uint64_t id, unsigned n, struct pmc_reading *reading,
			 uint64_t *words);
void pmc_perf_group_close(int *fds, unsigned n);
