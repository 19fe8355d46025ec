/* SPDX-License-Identifier: MIT */
/*
 * perf.h - perf_event_open(2), its ioctls and its readings: the one place that makes these calls.
 *
 * Implemented in agent/core/count/linux/perf.c, pmc_scale in agent/core/profile/count.c. All of it
 * is async-signal-safe: raw system calls, the caller's memory, no state. errno is not kept: whoever
 * enters from a host does that once, at the edge.
 */
#ifndef PMC_CORE_COUNT_PERF_H
#define PMC_CORE_COUNT_PERF_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* perf_event_attr up to config3, which older headers lack (PERF_ATTR_SIZE_VER8). */
struct pmc_attr {
	struct perf_event_attr base;
	uint64_t config3;
};

/* Sets the attr's size and opens: a descriptor, close-on-exec whatever the flags, or -errno.
 * leader: -1, or the descriptor of the group's leader. */
int pmc_perf_open(struct pmc_attr *attr, int pid, int cpu, int leader, unsigned long flags);
/* The same in two steps: an attr that is opened often is given its size once. */
void pmc_perf_size(struct pmc_attr *attr);
int pmc_perf_open_sized(const struct pmc_attr *attr, int pid, int cpu, int leader,
			unsigned long flags);
/* Opens an event of the calling thread on any CPU: pmc_perf_open_self(), or a function that refuses
 * where a seccomp filter would kill, or a test's double. A descriptor or -errno. */
typedef int (*pmc_perf_opener)(struct pmc_attr *attr, int leader);
int pmc_perf_open_self(struct pmc_attr *attr, int leader);
/* What ioctl(2) returns (>= 0), or -errno. */
int pmc_perf_ioctl(int fd, unsigned long request, void *arg);

/* No group reading is longer: the kernel refuses (E2BIG) the sibling that would make it so, see
 * perf_event_validate_size() in kernel/events/core.c. */
#define PMC_PERF_WORDS_MAX (16 * 1024 / sizeof(uint64_t))

/* Words that a reading of n events takes; n counts only with PERF_FORMAT_GROUP. */
size_t pmc_perf_read_words(uint64_t read_format, unsigned n);
/* Reads at most so many words: how many came, or -errno. -ENODATA: none, a pinned group that
 * could not get on the PMU. -EIO: not whole words. -ECHILD: inherited, and a copy is not like it;
 * of one that is just ending it waits for the end, at most some ten milliseconds. */
int pmc_perf_read_some(int fd, uint64_t *words, size_t n_words);
/* Reads n events, pmc_perf_read_words() of them. 0, or as above; -EIO also if fewer came. */
int pmc_perf_read(int fd, uint64_t read_format, unsigned n, uint64_t *words);

struct pmc_perf_head {
	uint64_t n, enabled_ns, running_ns;
};

struct pmc_perf_value {
	uint64_t value, id, lost;
};

/* Decodes a reading laid out as "Reading results" of perf_event_open(2); PERF_SAMPLE_READ and
 * PERF_RECORD_READ are laid out so too. The first `max` values are stored, head->n says how many
 * there are; what the format lacks is 0. Returns the words it took; -EINVAL: it overruns. */
int pmc_perf_decode(const uint64_t *words, size_t n_words, uint64_t read_format,
		    struct pmc_perf_head *head, struct pmc_perf_value *values, unsigned max);

/* *value = raw * enabled / running, rounded to nearest, in 128 bits; raw itself if it ran all the
 * time. -EAGAIN: it never ran, *value is not set. -EOVERFLOW: *value is UINT64_MAX. */
int pmc_scale(uint64_t raw, uint64_t enabled, uint64_t running, uint64_t *value);

#endif
