/* SPDX-License-Identifier: MIT */
/* settings.c - what the PMC_* variables say of this process, checked and copied. */
#include "agent/process/process.h"

const char *agent_copy(const char *text)
{
	return text ? pmc_arena_strdup(&agent.arena, text) : NULL;
}

void agent_refuse(const char *variable, const char *value, const char *why)
{
	static char off[] = "PMC_JOB=off";
	struct pmc_out out;

	pmc_log(PMC_LOG_ERROR, "%s=%s: %s (the program runs uncounted)", variable, value, why);
	pmc_out_to_mem(&out, pmc_agent_control.why, sizeof(pmc_agent_control.why));
	pmc_outf(&out, "%s=%s: %s", variable, value, why);
	agent.job_text = off;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool agent_selected(int argc, char **argv)
{
	const char *names[2] = { base_name(agent.exe), argc > 0 ? base_name(argv[0]) : "" };
	const char *only = agent.config.only, *skip = agent.config.skip;

	if (skip && (pmc_glob_list(skip, names[0]) || pmc_glob_list(skip, names[1])))
		return false;
	return !only || pmc_glob_list(only, names[0]) || pmc_glob_list(only, names[1]);
}

int32_t agent_find_rank(char *const *envp)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					     "MV2_COMM_WORLD_RANK", "SLURM_PROCID" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = pmc_env(envp, names[i]);
		uint64_t rank;

		if (text && pmc_number(text, INT32_MAX, &rank))
			return (int32_t)rank;
	}
	return -1;
}

const char *agent_absolute_out(const char *pattern)
{
	char text[PATH_MAX], cwd[PATH_MAX];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	if (*pattern != '/' && getcwd(cwd, sizeof(cwd))) {
		for (const char *p = cwd; *p; p++)
			pmc_outf(&out, *p == '%' ? "%%%%" : "%c", *p);
		pmc_out_char(&out, '/');
	}
	agent_out_expand(&out, pattern, "jt");
	return pmc_arena_strdup(&agent.arena, text);
}

static bool out_is_valid(const char *pattern)
{
	for (; pattern && *pattern; pattern++)
		if (*pattern == '%' && (!*++pattern || !strchr("phrejt%", *pattern)))
			return false;
	return true;
}

static void own_config(struct pmc_config *config)
{
	config->events = agent_copy(config->events);
	config->out = agent_copy(config->out);
	config->only = agent_copy(config->only);
	config->skip = agent_copy(config->skip);
	config->report.file = agent_copy(config->report.file);
	config->sample.event = agent_copy(config->sample.event);
}

bool agent_configure(char *const *envp)
{
	struct pmc_config_error error;

	if (pmc_config_from_env(envp, &agent.config, &error) != 0) {
		struct pmc_out out;
		char why[160];

		pmc_out_to_mem(&out, why, sizeof(why));
		pmc_outf(&out, "invalid value; accepted: %s", error.accepted);
		agent_refuse(error.variable, error.value, why);
		return false;
	}
	if (!out_is_valid(agent.config.out)) {
		agent_refuse("PMC_OUT", agent.config.out,
			     "invalid %; accepted: %p %h %e %r %j %t %%, as in pmc-%h-%p.pmc");
		return false;
	}
	own_config(&agent.config);
	pmc_log_level = agent.config.log;
	return true;
}

void agent_tell_misspelt(char *const *envp)
{
	for (; envp && *envp; envp++) {
		const char *near = pmc_config_misspelt(*envp);

		if (near)
			pmc_log(PMC_LOG_WARN, "%s: unknown variable; did you mean %s?", *envp,
				near);
	}
}
