/* SPDX-License-Identifier: MIT */
/*
 * pmc/counter_event.h - the events a counter can count.
 *
 * Each function fills a struct pmc_counter_event, which is plain data and may be copied, changed
 * and opened any number of times. Nothing is opened here. Thread-safe, not async-signal-safe
 * (functions that take names read sysfs or tracefs). Functions return 0 or a negative errno.
 *
 * Sources: perf_event_open(2); kernel/events/core.c, kernel/trace/trace_event_perf.c;
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-format.
 */
#ifndef PMC_COUNTER_EVENT_H
#define PMC_COUNTER_EVENT_H

#include <linux/perf_event.h>
#include <pmc/api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PMC_API_BEGIN

/* The explanation of a failure. Functions that take one fill it on failure only. With NULL the
 * tries that find the refused option are left out. */
struct pmc_failure {
	int error;	  /* errno, positive */
	char what[64];	  /* the option or event that failed; "" if unknown */
	char advice[320]; /* cause and fix in one line; never empty */
	uint32_t reserved[7];
};

/* An event. The first six members are those of struct perf_event_attr. */
struct pmc_counter_event {
	uint32_t type;
	uint32_t bp_type; /* breakpoints: HW_BREAKPOINT_* */
	uint64_t config;
	uint64_t config1; /* of probes: the address of the caller's string, used when opened */
	uint64_t config2;
	uint64_t config3;     /* Linux 6.3 */
	uint64_t reserved[4]; /* 0; room for config4 */
	bool exclude_user;    /* ":k" was given in text */
	bool exclude_kernel;  /* ":u" was given in text */
	bool pinned;	      /* ":D" was given in text */
	bool asked_scope;     /* user or kernel mode was chosen explicitly: see user_if_denied */
	uint8_t filter;	      /* reserved for the library */
	char unit[27];	      /* from sysfs; "ns" for clocks; "" for plain counts */
	double scale;	      /* count * scale is in `unit`; from sysfs, else 1 */
	char name[64];	      /* for messages, cut to fit: "cycles:u", "sched:sched_switch" */
};

/* One event string as for pmctl and PMC_EVENTS: "cycles", "L1-dcache-load-misses", "r1c2",
 * "cpu/event=0xc0,umask=1/", "sched:sched_switch", names of libpfm4; each with ":u" (user), ":k"
 * (kernel), ":D" (pinned). -ENOENT: unknown event, PMU or field. -EINVAL: malformed, or not one
 * event (a set; on hybrid CPUs a generic name, which is one event per core type). Of tracepoints:
 * -EACCES, -ENODEV as pmc_counter_event_tracepoint(). -ENOMEM. */
int pmc_counter_event_parse(struct pmc_counter_event *event, const char *text,
			    struct pmc_failure *failure);

/* PERF_COUNT_HW_*, PERF_COUNT_SW_*. Opening the event checks the number. */
int pmc_counter_event_hardware(struct pmc_counter_event *event, uint64_t id);
int pmc_counter_event_software(struct pmc_counter_event *event, uint64_t id);
/* PERF_COUNT_HW_CACHE_*, _OP_*, _RESULT_*. -EINVAL: one exceeds 8 bits. */
int pmc_counter_event_cache(struct pmc_counter_event *event, uint32_t cache, uint32_t op,
			    uint32_t result);
/* A raw encoding of the core PMU. */
int pmc_counter_event_raw(struct pmc_counter_event *event, uint64_t config, uint64_t config1,
			  uint64_t config2);

/* A tracepoint by the number in events/SYSTEM/NAME/id of tracefs, or by name (looked up in
 * /sys/kernel/tracing and /sys/kernel/debug/tracing). -ENOENT: unknown name. -EACCES: no permission
 * to read tracefs. -ENODEV: tracefs is not mounted. */
int pmc_counter_event_tracepoint_id(struct pmc_counter_event *event, uint64_t id);
int pmc_counter_event_tracepoint(struct pmc_counter_event *event, const char *system,
				 const char *name, struct pmc_failure *failure);

/* Accesses to an address. type: HW_BREAKPOINT_R, _W, _RW or _X of <linux/hw_breakpoint.h>. length:
 * 1, 2, 4 or 8 bytes; 0 means sizeof(long), as _X requires. -EINVAL: unknown type or length. */
int pmc_counter_event_breakpoint(struct pmc_counter_event *event, uint32_t type, uint64_t address,
				 uint64_t length);

enum pmc_probe {
	PMC_PROBE_ENTRY = 0, /* executions of the instruction */
	PMC_PROBE_RETURN,    /* returns of the function that starts there */
};

/* A kernel instruction at symbol + offset or at an address. The string is not copied: it must live
 * until the event is opened. -ENOENT: the kernel has no kprobes for perf. */
int pmc_counter_event_kprobe(struct pmc_counter_event *event, enum pmc_probe probe,
			     const char *symbol, uint64_t offset, struct pmc_failure *failure);
int pmc_counter_event_kprobe_address(struct pmc_counter_event *event, enum pmc_probe probe,
				     uint64_t address, struct pmc_failure *failure);
/* The instruction at the file offset `offset` of `path`. The path is not copied: it must live until
 * the event is opened. */
int pmc_counter_event_uprobe(struct pmc_counter_event *event, enum pmc_probe probe,
			     const char *path, uint64_t offset, struct pmc_failure *failure);

/* A field of a PMU's events, by the name of its format file. */
struct pmc_counter_field {
	const char *name;
	uint64_t value;
};

/* An event of a PMU in sysfs by n fields of its format files (n may be 0); other fields are 0.
 * -ENOENT: unknown PMU or field. -EINVAL: the value has more bits than the field. */
int pmc_counter_event_pmu(struct pmc_counter_event *event, const char *pmu,
			  const struct pmc_counter_field *fields, size_t n,
			  struct pmc_failure *failure);
/* The same as text: "event=0xc0,umask=1", decimal or 0x hexadecimal, or the name of one of the
 * PMU's events in sysfs. */
int pmc_counter_event_fields(struct pmc_counter_event *event, const char *pmu, const char *fields,
			     struct pmc_failure *failure);
/* A field of the PMU's format files. */
struct pmc_counter_format {
	const char *name;   /* "umask" */
	const char *format; /* its bits: "config:8-15" */
	unsigned n_bits;    /* the greatest value is 2^n_bits - 1 */
	unsigned reserved[5];
};

/* Calls visit for each field of a PMU's events, in the order of the directory; the struct is valid
 * during the call. -ENOENT: unknown PMU. */
int pmc_counter_event_formats(const char *pmu,
			      void (*visit)(const struct pmc_counter_format *format, void *arg),
			      void *arg, struct pmc_failure *failure);

/* x86: a model-specific register, as "tsc", "aperf", "mperf", "smi". -ENOENT: not listed in sysfs.
 */
int pmc_counter_event_msr(struct pmc_counter_event *event, const char *name,
			  struct pmc_failure *failure);

PMC_API_END

#endif
