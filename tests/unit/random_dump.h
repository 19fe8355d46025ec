/* SPDX-License-Identifier: MIT */
/* random_dump.h - dumps for property tests: random frames of every kind, from a printed seed. */
#ifndef PMC_TESTS_RANDOM_DUMP_H
#define PMC_TESTS_RANDOM_DUMP_H

#include "lib/dump/frame.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t seed;

static inline uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1dull;
}

static inline unsigned below(unsigned n)
{
	return (unsigned)((rnd() >> 20) % n);
}

static inline void seed_from_environment(void)
{
	const char *given = getenv("PMC_TEST_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) << 20 | 1;
	print_message("# PMC_TEST_SEED=%#llx\n", (unsigned long long)seed);
}

struct dump {
	uint8_t *data;
	size_t len;
};

static inline void dump_append(struct dump *dump, const void *bytes, size_t len)
{
	dump->data = realloc(dump->data, dump->len + len + 1);
	assert_non_null(dump->data);
	if (len)
		memcpy(dump->data + dump->len, bytes, len);
	dump->len += len;
}

static inline void dump_free(struct dump *dump)
{
	free(dump->data);
	*dump = (struct dump){ NULL, 0 };
}

/* A frame of a later version of the format: known header, unknown content. */
static inline void reseal(uint8_t *frame, uint8_t version, uint8_t type)
{
	struct pmc_frame_head head;

	memcpy(&head, frame, sizeof(head));
	head.version = version;
	head.type = type;
	memcpy(frame, &head, sizeof(head));
	head.hash = XXH3_64bits(frame + 16, head.size - 16);
	memcpy(frame, &head, sizeof(head));
}

static inline void random_identity(uint8_t identity[16])
{
	static const uint8_t some[5] = { 0x00, 0x01, 0x7f, 0x80, 0xff };

	memset(identity, 0, 16);
	identity[0] = some[below(5)];
	identity[15] = 1;
}

static inline void random_readings(struct pmc_frame_buf *buf, unsigned groups)
{
	for (unsigned g = 0; g < groups; g++) {
		struct pmc_reading reading = { .enabled_ns = 100,
					       .running_ns = 50 + below(51),
					       .n = 1 + below(3) };
		uint64_t values[3] = { rnd(), rnd(), rnd() };

		if (below(8) == 0)
			reading = (struct pmc_reading){ .error = 1 + below(4) };
		pmc_put_reading(buf, &reading, values);
	}
}

/* A random frame with one of few keys, so that some frames supersede others. */
static inline void random_frame(struct dump *dump)
{
	static uint64_t memory[512];
	static const char *const texts[] = { "", "a", "b", "a note of some length" };
	struct pmc_frame_buf buf;
	uint8_t identity[16];
	uint64_t snapshot = 1 + below(6);

	pmc_frame_buf_init(&buf, memory, sizeof(memory));
	random_identity(identity);
	switch (below(15)) {
	case 0: {
		struct pmc_process_fixed fixed = { .pid = below(3),
						   .rank = -1,
						   .time_ns = below(4) };

		pmc_frame_begin(&buf, PMC_FRAME_PROCESS, identity, snapshot, &fixed, sizeof(fixed));
		for (unsigned i = 0; i < 4; i++)
			pmc_frame_str(&buf, texts[below(4)], 1);
		break;
	}
	case 1: {
		struct pmc_total_fixed fixed = { .kind = (uint8_t)(1 + below(2)), .n_groups = 1 };

		pmc_frame_begin(&buf, PMC_FRAME_TOTAL, identity, snapshot, &fixed, sizeof(fixed));
		random_readings(&buf, 1);
		break;
	}
	case 2: {
		struct pmc_note_fixed fixed = { .code = below(2), .count = below(5) };
		const char *text = texts[below(4)];

		pmc_frame_begin(&buf, PMC_FRAME_NOTE, identity, snapshot, &fixed, sizeof(fixed));
		pmc_frame_str(&buf, text, strlen(text));
		break;
	}
	case 3: {
		struct pmc_site_fixed fixed = { .offset = below(4) };

		pmc_frame_begin(&buf, PMC_FRAME_SITE, NULL, 0, &fixed, sizeof(fixed));
		pmc_frame_str(&buf, "module", 6);
		pmc_frame_str(&buf, "symbol", 6);
		break;
	}
	case 4:
	case 5: {
		struct pmc_region_fixed fixed = { .seq = below(2),
						  .calls = below(5),
						  .time_ns = below(3),
						  .n_groups = (uint16_t)below(3) };
		const char *text = texts[below(4)];

		pmc_frame_begin(&buf, PMC_FRAME_REGION, identity, snapshot, &fixed, sizeof(fixed));
		pmc_frame_str(&buf, text, strlen(text));
		random_readings(&buf, 4 * fixed.n_groups);
		break;
	}
	case 6: {
		struct pmc_module_fixed fixed = { 0 };

		pmc_frame_begin(&buf, PMC_FRAME_MODULE, NULL, 0, &fixed, sizeof(fixed));
		pmc_frame_str(&buf, texts[below(4)], 1);
		pmc_frame_str(&buf, "\1\2", 2);
		break;
	}
	case 7: {
		struct pmc_stacks_fixed fixed = { .n_modules = 1, .n_stacks = 1 };
		struct pmc_stack_def def = { .id = below(4), .depth = (uint16_t)below(3) };
		uint64_t words[3] = { rnd(), below(5), (uint64_t)PMC_NO_MODULE << 48 };

		pmc_frame_begin(&buf, PMC_FRAME_STACKS, identity, snapshot, &fixed, sizeof(fixed));
		pmc_frame_bytes(&buf, words, sizeof(words[0]));
		pmc_put_stack(&buf, &def, words + 1);
		break;
	}
	case 8:
	case 9: {
		struct pmc_samples_fixed fixed = { .seq = below(3),
						   .time_ns = below(3),
						   .part = below(3),
						   .n = below(3),
						   .n_groups = (uint16_t)below(2),
						   .flags = (uint16_t)below(8) };
		struct pmc_waker waker = { .seq = below(3), .tid = below(3) };
		struct pmc_sample samples[2] = { { below(4), below(9), rnd() >> 20 },
						 { below(4), below(9), rnd() >> 20 } };

		pmc_frame_begin(&buf, PMC_FRAME_SAMPLES, identity, snapshot, &fixed, sizeof(fixed));
		random_readings(&buf, fixed.n_groups);
		pmc_frame_bytes(&buf, samples, fixed.n * sizeof(samples[0]));
		if (below(2))
			memcpy(waker.identity, identity, sizeof(waker.identity));
		if (below(8))
			pmc_frame_bytes(&buf, &waker, sizeof(waker));
		break;
	}
	case 10: {
		struct pmc_names_fixed fixed = { .module = below(2), .n_texts = 1, .n_places = 1 };
		struct pmc_place_def def = { .address = below(5), .n_functions = 1 };
		struct pmc_place_function function = { .name = below(3), .file = below(2) };

		pmc_frame_begin(&buf, PMC_FRAME_NAMES, identity, 0, &fixed, sizeof(fixed));
		pmc_frame_str(&buf, texts[below(4)], 1);
		pmc_put_place(&buf, &def, &function);
		break;
	}
	case 11: {
		struct pmc_samples_fixed fixed = { .seq = below(3),
						   .part = below(3),
						   .n = below(3) };
		struct pmc_timed_sample samples[2] = {
			{ below(9), below(4), below(9), rnd() >> 20 },
			{ rnd() >> 20, below(4), below(9), rnd() >> 20 }
		};

		pmc_frame_begin(&buf, PMC_FRAME_TIMES, identity, snapshot, &fixed, sizeof(fixed));
		pmc_frame_bytes(&buf, samples, fixed.n * sizeof(samples[0]));
		break;
	}
	default: {
		struct pmc_thread_fixed fixed = { .seq = below(5),
						  .cpu_ns = below(20),
						  .n_groups = (uint16_t)below(3) };

		pmc_frame_begin(&buf, PMC_FRAME_THREAD, identity, snapshot, &fixed, sizeof(fixed));
		random_readings(&buf, fixed.n_groups);
		break;
	}
	}
	assert_true(pmc_frame_end(&buf) != 0);
	if (below(30) == 0)
		reseal((uint8_t *)memory, below(2) ? 1 : 2, (uint8_t)(4 + below(200)));
	dump_append(dump, memory, buf.len);
}

static inline struct dump random_dump(unsigned frames)
{
	struct dump dump = { NULL, 0 };

	for (unsigned i = 0; i < frames; i++)
		random_frame(&dump);
	return dump;
}

#endif
