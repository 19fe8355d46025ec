/* SPDX-License-Identifier: MIT */
/*
 * perf_format.h - numbers and records of perf.data files. Private to this folder.
 *
 * Source: include/uapi/linux/perf_event.h and tools/perf/Documentation/perf.data-file-format.txt
 * of the kernel. The numbers are here because macOS has no such header.
 */
#pragma once

#include "lib/base/out.h"

enum { PERF_TYPE_IS_SOFTWARE = 1, PERF_TYPE_IS_TRACEPOINT = 2, PERF_SOFTWARE_DUMMY = 9 };

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
#define PERF_ATTR_TASK		    (UINT64_C(1) << 13)
#define PERF_SAMPLE_ID_ALL	    (UINT64_C(1) << 18)
#define PERF_EXCLUDE_KERNEL_CALLERS (UINT64_C(1) << 21)
#define PERF_ATTR_MMAP2		    (UINT64_C(1) << 23)
#define PERF_ATTR_COMM_EXEC	    (UINT64_C(1) << 24)

enum { PERF_COMM = 3, PERF_FORK = 7, PERF_SAMPLE = 9, PERF_MMAP2 = 10 };
enum { PERF_MISC_USER = 2, PERF_MISC_EXEC = 1 << 13, PERF_MISC_BUILD_ID = 1 << 14 };

#define PERF_CALLERS_IN_USER ((uint64_t)-512) /* precedes the addresses of a call chain */

enum { PERF_FEATURE_EVENT_DESC = 12 };
enum { PERF_FILE_HEAD_BYTES = 104, PERF_ATTR_BYTES = 64, PERF_BUILD_ID_BYTES = 20 };

/* Where the file goes. The head has sizes of what follows, so the records are made twice: without
 * `out` they are counted only. */
struct perf_writer {
	struct pmc_out *out;
	uint64_t bytes;
};

static inline void perf_bytes(struct perf_writer *writer, const void *bytes, size_t n)
{
	writer->bytes += n;
	if (writer->out)
		pmc_out_bytes(writer->out, bytes, n);
}

static inline void perf_u64(struct perf_writer *writer, uint64_t value)
{
	perf_bytes(writer, &value, sizeof(value));
}

static inline void perf_u32s(struct perf_writer *writer, uint32_t a, uint32_t b)
{
	const uint32_t pair[] = { a, b };

	perf_bytes(writer, pair, sizeof(pair));
}

/* A thread at a time, as every record has it. */
struct perf_who {
	uint32_t pid, tid;
	uint64_t time_ns; /* not 0 */
};

/* Deeper than any stack that is recorded; hostile dumps have deeper ones. */
enum { PERF_RECORD_WORDS = 1024, PERF_DEPTH_MOST = PERF_RECORD_WORDS - 16 };

struct perf_record {
	unsigned words; /* with the head */
	uint64_t word[PERF_RECORD_WORDS];
};

void perf_record_begin(struct perf_record *record, unsigned type, unsigned misc);
static inline void perf_record_u64(struct perf_record *record, uint64_t value)
{
	record->word[record->words++] = value;
}
void perf_record_u32s(struct perf_record *record, uint32_t a, uint32_t b);
void perf_record_raw(struct perf_record *record, const void *bytes, size_t n);
/* Escaped, and cut to cap - 1 bytes. cap: at most 4096. */
void perf_record_text(struct perf_record *record, const char *text, size_t len, size_t cap);
/* Samples have `who` elsewhere. */
void perf_record_who(struct perf_record *record, const struct perf_who *who, uint64_t id);
void perf_record_end(struct perf_record *record, struct perf_writer *writer);
