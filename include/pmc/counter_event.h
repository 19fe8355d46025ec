/* SPDX-License-Identifier: MIT */
/*
 * pmc/counter_event.h - what a counter counts: events of every kind that Linux has.
 *
 * Each function fills a struct pmc_counter_event, which is plain data: copy it, keep it, change
 * it, open it as often as wanted. Nothing is opened here. Thread-safe; not for signal handlers
 * (those that take names read sysfs or tracefs). Functions return 0 or a negative errno; what a
 * struct pmc_failure says of it is valid until the next call that is given the same struct.
 *
 * Sources: perf_event_open(2); kernel/events/core.c, kernel/trace/trace_event_perf.c; the format
 * files of Documentation/ABI/testing/sysfs-bus-event_source-devices-format.
 */
#ifndef PMC_COUNTER_EVENT_H
#define PMC_COUNTER_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Why something failed, in words. Filled by every function that takes one, on failure only; a
 * NULL pointer asks for nothing, and saves the tries that find out which option it was. */
struct pmc_failure {
	int error;	  /* errno, positive */
	char what[64];	  /* the option, event, PMU or field concerned; "" if unknown */
	char advice[320]; /* what it means and what to do, one line; never empty */
};

/* An event. All zero but for what is set; the first six are of struct perf_event_attr. */
struct pmc_counter_event {
	uint32_t type;
	uint32_t bp_type; /* breakpoints: HW_BREAKPOINT_* */
	uint64_t config;
	uint64_t config1; /* of probes: the address of the caller's string, valid till opened */
	uint64_t config2;
	uint64_t config3;    /* kernels from 6.3 on */
	bool exclude_user;   /* ":k" was given in text */
	bool exclude_kernel; /* ":u" was given in text */
	bool pinned;	     /* ":D" was given in text */
	double scale;	     /* count * scale is in `unit`; 1 unless sysfs says otherwise */
	char unit[24];	     /* "" if it is just a number; "ns" for clocks; sysfs' .unit */
};

/* Any event string that pmctl and PMC_EVENTS understand, one of them: "cycles",
 * "L1-dcache-load-misses", "r1c2", "cpu/event=0xc0,umask=1/", "sched:sched_switch", names of
 * libpfm4, each with ":u" (user), ":k" (kernel), ":D" (pinned). -ENOENT: no such event, PMU or
 * field; -EINVAL: malformed, or not one event (a set; on hybrid CPUs a generic name, which is one
 * for each type of core); -ENOMEM. */
int pmc_counter_event_parse(struct pmc_counter_event *event, const char *text,
			    struct pmc_failure *failure);

/* PERF_COUNT_HW_*, PERF_COUNT_SW_*; the kernel judges the number when the event is opened. */
int pmc_counter_event_hardware(struct pmc_counter_event *event, uint64_t id);
int pmc_counter_event_software(struct pmc_counter_event *event, uint64_t id);
/* PERF_COUNT_HW_CACHE_*, _OP_*, _RESULT_*. -EINVAL: one of them is beyond 8 bits. */
int pmc_counter_event_cache(struct pmc_counter_event *event, uint32_t cache, uint32_t op,
			    uint32_t result);
/* The core PMU's own encoding. */
int pmc_counter_event_raw(struct pmc_counter_event *event, uint64_t config, uint64_t config1,
			  uint64_t config2);

/* A tracepoint by the number in events/SYSTEM/NAME/id of tracefs, or by name; the latter looks
 * at /sys/kernel/tracing and at /sys/kernel/debug/tracing. -ENOENT: there is none of that name;
 * -EACCES: tracefs is closed to this user; -ENODEV: it is not mounted. */
int pmc_counter_event_tracepoint_id(struct pmc_counter_event *event, uint64_t id);
int pmc_counter_event_tracepoint(struct pmc_counter_event *event, const char *system,
				 const char *name, struct pmc_failure *failure);

/* Accesses to an address: type is HW_BREAKPOINT_R, _W, _RW or _X of <linux/hw_breakpoint.h>,
 * length 1, 2, 4 or 8 bytes; 0 becomes sizeof(long), which is what _X wants. -EINVAL: no such
 * type or length. */
int pmc_counter_event_breakpoint(struct pmc_counter_event *event, uint32_t type, uint64_t address,
				 uint64_t length);

/* Passes of a kernel function, at symbol + offset or at an address; `ret`: returns from it
 * instead. The symbol's string is kept by address. -ENOENT: this kernel has no kprobes for perf. */
int pmc_counter_event_kprobe(struct pmc_counter_event *event, bool ret, const char *symbol,
			     uint64_t offset, struct pmc_failure *failure);
int pmc_counter_event_kprobe_address(struct pmc_counter_event *event, bool ret, uint64_t address,
				     struct pmc_failure *failure);
/* Passes of the instruction at `offset` in the file `path` (an offset in the file, not an
 * address); `ret`: returns from the function that starts there. The path is kept by address. */
int pmc_counter_event_uprobe(struct pmc_counter_event *event, bool ret, const char *path,
			     uint64_t offset, struct pmc_failure *failure);

/* A field of a PMU's events, as its format files name it. */
struct pmc_counter_field {
	const char *name;
	uint64_t value;
};

/* An event of any PMU in sysfs, by the PMU's own format files: n fields (n may be 0), into any
 * bits of config to config3; fields that are not given are 0. -ENOENT: no such PMU or field;
 * -EINVAL: the value has more bits than the field. */
int pmc_counter_event_pmu(struct pmc_counter_event *event, const char *pmu,
			  const struct pmc_counter_field *fields, size_t n,
			  struct pmc_failure *failure);
/* The same in text, as "event=0xc0,umask=1", numbers decimal or 0x hexadecimal, or with the name
 * of one of the PMU's events in sysfs. */
int pmc_counter_event_fields(struct pmc_counter_event *event, const char *pmu, const char *fields,
			     struct pmc_failure *failure);
/* x86: a model-specific register that the kernel counts, as "tsc", "aperf", "mperf", "smi".
 * -ENOENT: this machine does not list it. */
int pmc_counter_event_msr(struct pmc_counter_event *event, const char *name,
			  struct pmc_failure *failure);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
