/* SPDX-License-Identifier: MIT */
/* profile_try.h - the profile of a dump that a test builds. */
#ifndef PMC_TESTS_UNIT_PROFILE_TRY_H
#define PMC_TESTS_UNIT_PROFILE_TRY_H

#include "tools/rows/profile.h"
#include "tests/unit/dump_build.h"
#include "tests/unit/unit.h"
#include "tests/unit/unpack.h"

static struct pmc_profile profile;

static inline int profile_begin(void **state)
{
	build_start();
	return 0;
}

static inline int profile_end(void **state)
{
	pmc_profile_free(&profile);
	return 0;
}

#define PROFILE_TEST(function) cmocka_unit_test_setup_teardown(function, profile_begin, profile_end)

static inline void load_with(const struct pmc_profile_options *options)
{
	pmc_profile_init(&profile, options);
	pmc_profile_add_buffer(&profile, build.data, build.len);
	pmc_profile_finish(&profile);
}

static inline void load(void)
{
	load_with(NULL);
	assert_int_equal(profile.damaged_frames, 0);
}

static inline uint64_t one_event(void)
{
	static const struct ev event = { .name = "cycles" };

	return build_set(&event, 1, 1);
}

/* Of the first thread. */
static inline const struct pmc_count *count_of(unsigned event)
{
	return &unpack_row(&profile, profile.threads[0])->counts[event];
}

#endif
