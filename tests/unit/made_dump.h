/* SPDX-License-Identifier: MIT */
/* made_dump.h - dumps for tests, made of frames as an agent writes them. */
#ifndef PMC_TESTS_MADE_DUMP_H
#define PMC_TESTS_MADE_DUMP_H

#include "lib/dump/frame.h"

#include <string.h>

struct made_event {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint16_t group; /* PMC_NO_GROUP: not opened */
	uint8_t state;
	uint32_t error;
	const char *unit, *core_type;
	uint8_t scope;
	uint16_t flags;
	double scale;
};

struct made_value { /* of one group */
	uint64_t enabled, running;
	uint32_t error;
	unsigned n;
	uint64_t values[8];
};

static uint64_t made_buffer[1 << 20];
static struct pmc_frame_buf made;
static uint64_t made_snapshot;

static inline void made_begin(void)
{
	pmc_frame_buf_init(&made, made_buffer, sizeof(made_buffer));
	made_snapshot = 0;
}

static inline const uint8_t *made_identity(unsigned n)
{
	static uint8_t identity[16];

	memset(identity, 0, sizeof(identity));
	identity[0] = (uint8_t)n;
	identity[15] = 7;
	return identity;
}

static inline uint64_t made_set(const struct made_event *events, unsigned n)
{
	unsigned n_groups = 0;

	for (unsigned i = 0; i < n; i++)
		if (events[i].group != PMC_NO_GROUP && events[i].group + 1u > n_groups)
			n_groups = events[i].group + 1u;
	pmc_begin_eventset(&made, n, n_groups);
	for (unsigned i = 0; i < n; i++) {
		struct pmc_event_def def = {
			.type = events[i].type,
			.config = events[i].config,
			.group = events[i].group,
			.state = events[i].state,
			.error = events[i].error,
			.scope = events[i].scope,
			.flags = events[i].flags,
			.scale = events[i].scale != 0 ? events[i].scale : 1,
			.position = (uint16_t)i,
		};

		pmc_put_event(&made, &def, events[i].name, events[i].unit, events[i].core_type);
	}
	return pmc_frame_end(&made);
}

/* Of the processes made from here on. */
static const char *made_labels __attribute__((unused)) = "";

static inline void made_process(unsigned id, const struct pmc_process_fixed *fixed,
				const char *host, const char *exe, const char *cmdline)
{
	const struct pmc_process_text text = { host, host, exe, cmdline, made_labels };

	pmc_build_process(&made, made_identity(id), ++made_snapshot, fixed, &text);
}

static inline void made_readings(const struct made_value *values, unsigned n)
{
	for (unsigned g = 0; g < n; g++) {
		struct pmc_reading reading = { .enabled_ns = values[g].enabled,
					       .running_ns = values[g].running,
					       .error = values[g].error,
					       .n = values[g].n };

		pmc_put_reading(&made, &reading, values[g].values);
	}
}

static inline void made_thread(unsigned id, struct pmc_thread_fixed fixed, const char *name,
			       const struct made_value *values, unsigned n_groups)
{
	const size_t len = strlen(name);

	memset(fixed.name, 0, sizeof(fixed.name));
	memcpy(fixed.name, name, len < sizeof(fixed.name) ? len : sizeof(fixed.name));
	fixed.n_groups = (uint16_t)n_groups;
	pmc_begin_thread(&made, made_identity(id), ++made_snapshot, &fixed);
	made_readings(values, n_groups);
	pmc_frame_end(&made);
}

static inline void made_total(unsigned id, uint8_t kind, uint64_t set,
			      const struct made_value *values, unsigned n_groups)
{
	struct pmc_total_fixed fixed = {
		.kind = kind, .n_groups = (uint16_t)n_groups, .time_ns = 9, .eventset = set
	};

	pmc_frame_begin(&made, PMC_FRAME_TOTAL, made_identity(id), ++made_snapshot, &fixed,
			sizeof(fixed));
	made_readings(values, n_groups);
	pmc_frame_end(&made);
}

static inline void made_note(unsigned id, uint32_t code, uint64_t count, const char *text)
{
	struct pmc_note_fixed fixed = { .code = code, .count = count };

	pmc_build_note(&made, made_identity(id), ++made_snapshot, &fixed, text);
}

static inline uint64_t made_site(const char *module, const char *symbol, uint64_t offset)
{
	return pmc_build_site(&made, offset, module, symbol);
}

#endif
