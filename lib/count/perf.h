/* SPDX-License-Identifier: MIT */
/*
 * perf.h - perf_event_open(2), its ioctls and its readings; nothing else makes these calls.
 *
 * Implemented in lib/count/linux/perf.c. Async-signal-safe: raw system calls, the caller's
 * memory, no state. errno is not preserved.
 */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* perf_event_attr up to config3, which older headers lack (PERF_ATTR_SIZE_VER8). */
struct pmc_attr {
	struct perf_event_attr base;
	uint64_t config3;
};

/* Sets the attr's size and opens it: a close-on-exec descriptor or -errno. leader: -1, or the
 * descriptor of the group's leader. */
int pmc_perf_open(struct pmc_attr *attr, int pid, int cpu, int leader, unsigned long flags);
/* The same in two steps, for an attr that is opened often. */
void pmc_perf_size(struct pmc_attr *attr);
int pmc_perf_open_sized(const struct pmc_attr *attr, int pid, int cpu, int leader,
			unsigned long flags);
/* Opens an event of the calling thread on any CPU: pmc_perf_open_self(), or a function that refuses
 * where a seccomp filter would kill, or a test's double. A descriptor or -errno. */
typedef int (*pmc_perf_opener)(struct pmc_attr *attr, int leader);
int pmc_perf_open_self(struct pmc_attr *attr, int leader);
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
/* Reads a reading of n events. 0, or as above; -EIO also if it is too short. */
int pmc_perf_read(int fd, uint64_t read_format, unsigned n, uint64_t *words);

struct pmc_perf_head {
	uint64_t n, enabled_ns, running_ns;
};

struct pmc_perf_value {
	uint64_t value, id, lost;
};

/* Decodes a reading ("Reading results" of perf_event_open(2), also in PERF_SAMPLE_READ and
 * PERF_RECORD_READ). Stores the first `max` of head->n values; members that the format lacks are
 * 0. Returns the words it took; -EINVAL: it overruns. */
int pmc_perf_decode(const uint64_t *words, size_t n_words, uint64_t read_format,
		    struct pmc_perf_head *head, struct pmc_perf_value *values, unsigned max);
/* One value of a group's reading. */
void pmc_perf_decode_value(const uint64_t *words, uint64_t read_format,
			   struct pmc_perf_value *value);
