/* SPDX-License-Identifier: MIT */
/*
 * perf_format.h - numbers and records of perf.data files. Private to this folder.
 *
 * Source: include/uapi/linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt
 * of the kernel. The numbers are here because macOS has no such header.
 */
#pragma once

#include "lib/base/out.h"

enum { PERF_TYPE_IS_SOFTWARE = 1, PERF_TYPE_IS_TRACEPOINT = 2, PERF_SOFTWARE_SWITCHES = 3 };

enum {
	PERF_HAS_IP = 1 << 0,
	PERF_HAS_TID = 1 << 1,
	PERF_HAS_TIME = 1 << 2,
	PERF_HAS_CALLCHAIN = 1 << 5,
	PERF_HAS_PERIOD = 1 << 8,
	PERF_HAS_IDENTIFIER = 1 << 16,
};

/* Bits of perf_event_attr. */
#define PERF_EXCLUDE_KERNEL	    (UINT64_C(1) << 5)
#define PERF_ATTR_COMM		    (UINT64_C(1) << 9)
#define PERF_ATTR_FREQ		    (UINT64_C(1) << 10)
#define PERF_ATTR_INHERIT_STAT	    (UINT64_C(1) << 11)
#define PERF_ATTR_TASK		    (UINT64_C(1) << 13)
#define PERF_SAMPLE_ID_ALL	    (UINT64_C(1) << 18)
#define PERF_EXCLUDE_KERNEL_CALLERS (UINT64_C(1) << 21)
#define PERF_ATTR_MMAP2		    (UINT64_C(1) << 23)
#define PERF_ATTR_COMM_EXEC	    (UINT64_C(1) << 24)

enum { PERF_COMM = 3, PERF_FORK = 7, PERF_READ = 8, PERF_SAMPLE = 9, PERF_MMAP2 = 10 };
enum {
	PERF_MISC_KERNEL = 1,
	PERF_MISC_USER = 2,
	PERF_MISC_EXEC = 1 << 13,
	PERF_MISC_BUILD_ID = 1 << 14
};

/* Values of read_format. */
enum { PERF_READ_ENABLED = 1, PERF_READ_RUNNING = 2, PERF_READ_ID = 4 };

/* They precede addresses of a call chain. */
#define PERF_CALLERS_IN_KERNEL ((uint64_t)-128)
#define PERF_CALLERS_IN_USER   ((uint64_t)-512)

/* A mapping of this name is that of the kernel; perf reads its symbols from /proc/kallsyms. */
#define PERF_KERNEL_MAP "[kernel.kallsyms]"

enum { PERF_FEATURE_EVENT_DESC = 12 };
enum { PERF_FILE_HEAD_BYTES = 104, PERF_ATTR_BYTES = 64, PERF_BUILD_ID_BYTES = 20 };
