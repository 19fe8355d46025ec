/* SPDX-License-Identifier: MIT */
/* report_profile.h - profiles for tests of the report, made of frames as a dump has them. */
#ifndef PMC_TESTS_REPORT_PROFILE_H
#define PMC_TESTS_REPORT_PROFILE_H

#include "agent/core/dump/build.h"
#include "agent/core/base/out.h"
#include "agent/core/profile/profile.h"
#include "agent/core/report/report.h"

#include <stdio.h>
#include <stdlib.h>
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

static inline void made_process(unsigned id, const struct pmc_process_fixed *fixed,
				const char *host, const char *exe, const char *cmdline)
{
	const struct pmc_process_text text = { host, "boot", exe, cmdline };

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
	memset(fixed.name, 0, sizeof(fixed.name));
	memcpy(fixed.name, name, strnlen(name, sizeof(fixed.name)));
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

	pmc_begin_total(&made, made_identity(id), ++made_snapshot, &fixed);
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

static inline void made_profile(struct pmc_profile *profile, bool timeline)
{
	const struct pmc_profile_options options = { .timeline = timeline };

	if (made.overflow || pmc_profile_init(profile, &options) ||
	    pmc_profile_add_buffer(profile, made.data, made.len) || pmc_profile_finish(profile))
		abort();
}

/* The report as text, valid for the next seven reports too; *result: the result of pmc_report. */
static inline char *made_report(struct pmc_profile *profile,
				const struct pmc_report_options *options, int *result,
				const char **problem)
{
	static char texts[8][8 << 20];
	static unsigned last;
	char *text = texts[++last % 8];
	struct pmc_out out;
	const char *ignored;

	pmc_out_to_mem(&out, text, sizeof(texts[0]));
	*result = pmc_report(profile, options, &out, problem ? problem : &ignored);
	if (options->format == PMC_FORMAT_TABLE && strstr(text, " \n")) {
		fprintf(stderr, "lines end in blanks:\n%s", text);
		abort();
	}
	return text;
}

/* Compares with tests/golden/NAME; with PMC_GOLDEN=write in the environment writes it instead. */
static inline bool made_golden(const char *text, const char *name)
{
	static char want[1 << 20];
	char path[256];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	if (getenv("PMC_GOLDEN")) {
		file = fopen(path, "w");
		if (!file)
			return false;
		fputs(text, file);
		return fclose(file) == 0;
	}
	file = fopen(path, "r");
	if (!file) {
		fprintf(stderr, "cannot open %s\n", path);
		return false;
	}
	n = fread(want, 1, sizeof(want) - 1, file);
	fclose(file);
	want[n] = '\0';
	if (strcmp(want, text) == 0)
		return true;
	fprintf(stderr, "--- %s\n%s--- but got\n%s---\n", path, want, text);
	return false;
}

#endif
