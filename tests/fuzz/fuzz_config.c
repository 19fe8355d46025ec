/* SPDX-License-Identifier: MIT */
/*
 * fuzz_config.c - the environment of a foreign program: PMC_JOB first, then PMC_* settings, each
 * ended by a NUL byte; the plan in PMC_JOB is decoded and must be the same after encoding it again.
 */
#include "agent/base/agent.h"
#include "lib/base/config.h"
#include "lib/plan/plan.h"
#include "tests/fuzz/fuzz.h"

/* job.c also writes the agent's own job. */
struct agent agent;
bool agent_has_delay(uint64_t start_ns)
{
	return start_ns != 0;
}

#define SETTINGS_MAX 32
#define TEXT_ROOM    (256u << 10)

static void check_plan(const char *text, size_t len)
{
	static char once[TEXT_ROOM], twice[TEXT_ROOM];
	struct pmc_arena arena = { 0 };
	struct pmc_plan plan, again;
	struct pmc_out out;

	if (pmc_plan_decode(text, len, &arena, &plan) == 0) {
		FUZZ_CHECK(plan.count <= PMC_EVENTS_MAX && plan.opened <= plan.count);
		FUZZ_CHECK(plan.groups <= plan.opened);
		for (unsigned g = 0; g < plan.groups; g++)
			FUZZ_CHECK(plan.first[g] < plan.first[g + 1] &&
				   plan.first[g + 1] <= plan.opened);
		pmc_out_to_mem(&out, once, sizeof(once));
		pmc_plan_encode(&plan, &out);
		if (!out.error) {
			FUZZ_CHECK(pmc_plan_decode(once, strlen(once), &arena, &again) == 0);
			FUZZ_CHECK(again.hash == plan.hash && again.opened == plan.opened);
			pmc_out_to_mem(&out, twice, sizeof(twice));
			pmc_plan_encode(&again, &out);
			FUZZ_CHECK(!out.error && !strcmp(once, twice));
		}
	}
	pmc_arena_free(&arena);
}

static void check_settings(char *const *environment)
{
	struct pmc_config_error error = { 0 };
	struct pmc_config config;

	if (pmc_config_from_env(environment, &config, &error))
		FUZZ_CHECK(error.variable && error.value && *error.value && error.accepted);
	FUZZ_CHECK(config.interval == 0 || config.interval >= 1000000);
	if (config.only)
		pmc_glob_list(config.only, "program");
	if (config.skip)
		pmc_glob_list(config.skip, "a program [of an odd] name*");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *job_text = fuzz_piece(&data, &size), *environment[SETTINGS_MAX + 1];
	struct agent_reported reported;
	struct agent_job job;
	unsigned n = 0;

	if (agent_job_parse(job_text, &job) == 0) {
		FUZZ_CHECK(job.path >= job_text && job.path <= job_text + strlen(job_text));
		FUZZ_CHECK(job.plan + job.plan_len < job.path);
		check_plan(job.plan, job.plan_len);
	}
	agent_job_parse_first(job_text, &reported);
	agent_text_hash(job_text);
	while (size && n < SETTINGS_MAX)
		environment[n++] = fuzz_piece(&data, &size);
	environment[n] = NULL;
	check_settings(environment);
	while (n)
		free(environment[--n]);
	free(job_text);
	return 0;
}
