/* SPDX-License-Identifier: MIT */
/* dump_build.h - small dumps for tests. */
#ifndef PMC_TESTS_DUMP_BUILD_H
#define PMC_TESTS_DUMP_BUILD_H

#include "lib/dump/frame.h"

#include <string.h>

static uint64_t build_memory[1 << 16];
static struct pmc_frame_buf build;

static inline void build_start(void)
{
	pmc_frame_buf_init(&build, build_memory, sizeof(build_memory));
}

static inline void build_str(const char *text)
{
	pmc_frame_str(&build, text, strlen(text));
}

/* Identities and jobs differ in one byte here. */
static inline const uint8_t *id(uint8_t byte)
{
	static uint8_t ids[8][16];
	static unsigned at;
	uint8_t *bytes = ids[at++ % 8];

	memset(bytes, 0, 16);
	bytes[0] = byte;
	return bytes;
}

struct ev {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint16_t group, position;
	uint8_t scope, state;
	uint32_t error;
	uint16_t flags;
};

static inline uint64_t build_set(const struct ev *events, uint16_t n, uint16_t groups)
{
	pmc_begin_eventset(&build, n, groups);
	for (uint16_t i = 0; i < n; i++) {
		const struct pmc_event_def def = {
			.type = events[i].type,
			.config = events[i].config,
			.group = events[i].group,
			.scope = events[i].scope,
			.state = events[i].state,
			.scale = 1.0,
			.position = events[i].position,
			.error = events[i].error,
			.flags = events[i].flags,
		};

		pmc_put_event(&build, &def, events[i].name, "", "");
	}
	return pmc_frame_end(&build);
}

/* One group of n values that always ran; with ran < 100 only for that many of 100 ns. */
static inline void build_reading(unsigned ran, uint32_t error, unsigned n, const uint64_t *values)
{
	const struct pmc_reading reading = {
		.enabled_ns = error ? 0 : 100,
		.running_ns = error ? 0 : ran,
		.error = error,
		.n = error ? 0 : n,
	};

	pmc_put_reading(&build, &reading, values);
}

static inline void build_process(uint8_t identity, uint64_t snapshot,
				 const struct pmc_process_fixed *fixed, const char *exe)
{
	const struct pmc_process_text text = { "host", "boot", exe, exe, "" };

	pmc_build_process(&build, id(identity), snapshot, fixed, &text);
}

static inline void build_note(uint8_t identity, uint64_t snapshot, uint32_t code, uint64_t count,
			      const char *text)
{
	const struct pmc_note_fixed fixed = { .code = code, .count = count };

	pmc_build_note(&build, id(identity), snapshot, &fixed, text);
}

struct thread_row {
	uint8_t identity;
	uint64_t snapshot, seq, cpu_ns, set;
	uint8_t flags;
	unsigned ran;	/* percent; 0: 100 */
	uint32_t error; /* of the reading; also the row's reason */
	unsigned n;
	uint64_t values[4];
};

static inline void build_row(struct thread_row row)
{
	const struct pmc_thread_fixed fixed = {
		.seq = row.seq,
		.tid = (uint32_t)row.seq + 100,
		.flags = row.flags,
		.n_groups = row.set != 0,
		.cpu_ns = row.cpu_ns,
		.eventset = row.set,
		.reason = row.error,
	};

	pmc_begin_thread(&build, id(row.identity), row.snapshot, &fixed);
	if (row.set)
		build_reading(row.ran ? row.ran : 100, row.error, row.n, row.values);
	pmc_frame_end(&build);
}

static inline void build_total(uint8_t identity, uint64_t snapshot, uint8_t kind, uint8_t flags,
			       uint64_t set, unsigned ran, uint64_t value)
{
	const struct pmc_total_fixed fixed = {
		.kind = kind,
		.flags = flags,
		.n_groups = 1,
		.eventset = set,
	};

	pmc_frame_begin(&build, PMC_FRAME_TOTAL, id(identity), snapshot, &fixed, sizeof(fixed));
	build_reading(ran, 0, 1, &value);
	pmc_frame_end(&build);
}

#endif
