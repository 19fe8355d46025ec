/* SPDX-License-Identifier: MIT */
/* test_config.c - every knob from an environment: defaults, good values, refusals. */
#include "lib/base/config.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

static int read_env(const char **env, struct pmc_config *config, struct pmc_config_error *error)
{
	return pmc_config_from_env((char *const *)(uintptr_t)env, config, error);
}

static void empty_environment_is_the_defaults(void **state)
{
	const char *none[] = { NULL }, *empty[] = { "PMC_LOG=", "PMC_EVENTS=", NULL };
	const char **envs[] = { none, empty };

	for (unsigned i = 0; i < 2; i++) {
		struct pmc_config_error error;
		struct pmc_config config;

		assert_int_equal(read_env(envs[i], &config, &error), 0);
		assert_null(config.events);
		assert_int_equal(config.inherit, PMC_INHERIT_AUTO);
		assert_int_equal(config.report.kind, PMC_REPORT_AUTO);
		assert_null(config.report.file);
		assert_int_equal(config.log, PMC_LOG_WARN);
	}
}

static void values_are_understood(void **state)
{
	const char *env[] = {
		"X=1",		 "PMC_INHERIT=clock", "PMC_REPORT=json=/tmp/a=b", "PMC_EVENTS=a,b",
		"PMC_LOG=debug", "PMC_ONLYX=no",      "PMC_ONLY=cc1*,ld",	  NULL
	};
	struct pmc_config_error error;
	struct pmc_config config;

	assert_int_equal(read_env(env, &config, &error), 0);
	assert_int_equal(config.inherit, PMC_INHERIT_CLOCK);
	assert_int_equal(config.report.kind, PMC_REPORT_JSON);
	assert_string_equal(config.report.file, "/tmp/a=b");
	assert_string_equal(config.events, "a,b");
	assert_int_equal(config.log, PMC_LOG_DEBUG);
	assert_string_equal(config.only, "cc1*,ld");
}

static void misspelt_variables_have_a_suggestion(void **state)
{
	static const char *const none[] = { "PMC_EVENTS=x", "PMC_JOB=x", "PMC_",  "PMC_=",
					    "PMC_ROOT=x",   "XMC_OUT=",	 "PATH=/" };

	assert_string_equal(pmc_config_misspelt("PMC_EVENT=cycles"), "PMC_EVENTS");
	assert_string_equal(pmc_config_misspelt("PMC_OUTT=x"), "PMC_OUT");
	assert_string_equal(pmc_config_misspelt("PMC_SAMPEL"), "PMC_SAMPLE");
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_null(pmc_config_misspelt(none[i]));
}

static void what_is_not_understood_is_named(void **state)
{
	static const char *const bad[] = {
		"PMC_INHERIT=yes",  "PMC_INHERIT=FULL", "PMC_REPORT=xml",
		"PMC_REPORT=json=", "PMC_REPORT=jso",	"PMC_REPORT=threads,json",
		"PMC_LOG=verbose",  "PMC_LOG=4",	"PMC_INHERIT=full "
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *env[] = { bad[i], "PMC_EVENTS=still-read", NULL };
		struct pmc_config_error error;
		struct pmc_config config;

		assert_int_equal(read_env(env, &config, &error), -EINVAL);
		assert_memory_equal(error.variable, bad[i], strlen(error.variable));
		assert_string_equal(error.value, strchr(bad[i], '=') + 1);
		assert_true(strlen(error.accepted) > 3);
		assert_string_equal(config.events, "still-read");
	}
}

/* What to give instead depends on what is wrong with it. */
static void values_of_samples(void **state)
{
	static const struct {
		const char *text, *accepted;
	} bad[] = {
		{ "PMC_SAMPLE=99", "task-clock/99" },
		{ "PMC_SAMPLE=1", "on, or" },
		{ "PMC_SAMPLE=task-clock:500", "EVENT/HZ" },
		{ "PMC_SAMPLE=task-clock:u:500", "EVENT/HZ" },
		{ "PMC_SAMPLE=task-clock/0", "100000 Hz" },
		{ "PMC_SAMPLE=/199", "EVENT/HZ" },
		{ "PMC_SAMPLE=task-clock@1ms", "in ns" },
		{ "PMC_SAMPLE=task-clock/100001", "100000 Hz" },
		{ "PMC_SAMPLE=cs@1", "--off-cpu" },
		{ "PMC_SAMPLE=context-switches", "--off-cpu" },
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *env[] = { bad[i].text, NULL };
		struct pmc_config_error error;
		struct pmc_config config;

		assert_int_equal(read_env(env, &config, &error), -EINVAL);
		assert_non_null(strstr(error.accepted, bad[i].accepted));
		assert_int_equal(!!strstr(error.accepted, "switch"),
				 !!strstr(bad[i].accepted, "off-cpu"));
	}
}

/* Without a unit times are milliseconds. */
static void times(void **state)
{
	const char *env[] = { "PMC_INTERVAL=1000", "PMC_DELAY=2.5", NULL };
	const char *bad[] = { "PMC_INTERVAL=0.5", NULL };
	struct pmc_config_error error;
	struct pmc_config config;

	assert_int_equal(read_env(env, &config, &error), 0);
	assert_int_equal(config.interval, 1000000000);
	assert_int_equal(config.delay, 2500000);
	assert_int_equal(read_env(bad, &config, &error), -EINVAL);
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes; /* 0: refused */
	} sizes[] = {
		{ "PMC_OUT_MAX=1", 1 },		  { "PMC_OUT_MAX=500M", 500ull << 20 },
		{ "PMC_OUT_MAX=2G", 2ull << 30 }, { "PMC_OUT_MAX=4T", 4ull << 40 },
		{ "PMC_OUT_MAX=0", 0 },		  { "PMC_OUT_MAX=G", 0 },
		{ "PMC_OUT_MAX=1g", 0 },	  { "PMC_OUT_MAX=1GB", 0 },
		{ "PMC_OUT_MAX=-1", 0 },	  { "PMC_OUT_MAX=9000000T", 0 },
	};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *env[] = { sizes[i].text, NULL };
		struct pmc_config_error error;
		struct pmc_config config;

		assert_int_equal(read_env(env, &config, &error), sizes[i].bytes ? 0 : -EINVAL);
		assert_int_equal(config.out_max, sizes[i].bytes);
	}
}

static void every_row_is_complete(void **state)
{
	for (unsigned i = 0; i < pmc_n_knobs; i++) {
		struct pmc_config config;

		assert_memory_equal(pmc_knobs[i].env, "PMC_", 4);
		assert_memory_equal(pmc_knob_flags[i], "--", 2);
		if (pmc_knobs[i].def)
			assert_int_equal(pmc_config_set(&config, i, pmc_knobs[i].def), 0);
		for (unsigned k = 0; k < i; k++) {
			assert_string_not_equal(pmc_knobs[i].env, pmc_knobs[k].env);
			assert_string_not_equal(pmc_knob_flags[i], pmc_knob_flags[k]);
		}
	}
}

static void globs(void **state)
{
	assert_true(pmc_glob_list("cc1*,ld", "cc1plus"));
	assert_true(pmc_glob_list("cc1*,ld", "ld"));
	assert_false(pmc_glob_list("cc1*,ld", "ld.bfd"));
	assert_false(pmc_glob_list(",,", ""));
	assert_true(pmc_glob_list(",,[ab]", "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_environment_is_the_defaults),
		cmocka_unit_test(values_are_understood),
		cmocka_unit_test(misspelt_variables_have_a_suggestion),
		cmocka_unit_test(what_is_not_understood_is_named),
		cmocka_unit_test(values_of_samples),
		cmocka_unit_test(times),
		cmocka_unit_test(sizes),
		cmocka_unit_test(every_row_is_complete),
		cmocka_unit_test(globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
