/* SPDX-License-Identifier: MIT */
/* settings.c - what the PMC_* variables say of this process, checked and copied. */
#include "agent/process/process.h"
#include "lib/dump/command_line.h"
#include "lib/base/labels.h"

#include <sys/utsname.h>

const char *agent_copy(const char *text)
{
	const char *copy = text ? pmc_arena_strdup(&agent.arena, text) : NULL;

	return text && !copy ? "" : copy;
}

void agent_refuse(const char *variable, const char *value, const char *why)
{
	static char off[] = "PMC_JOB=off";
	struct pmc_out out = pmc_out_mem(pmc_agent_control.why, sizeof(pmc_agent_control.why));

	pmc_log(PMC_LOG_ERROR, "%s=%s: %s (the program runs uncounted)", variable, value, why);
	pmc_outf(&out, "%s=%s: %s", variable, value, why);
	agent.job_text = off;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_named(const char *globs, const char *as)
{
	return pmc_glob_list(globs, base_name(agent.text.exe)) ||
	       pmc_glob_list(globs, base_name(as));
}

/* PMC_OUT for the whole job: absolute, with %j and %t expanded; each process expands the rest. */
AGENT_APART static const char *absolute_out(const char *pattern)
{
	char text[PATH_MAX], cwd[PATH_MAX];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	if (*pattern != '/' && getcwd(cwd, sizeof(cwd))) {
		for (const char *p = cwd; *p; p++)
			pmc_outf(&out, *p == '%' ? "%%%%" : "%c", *p);
		pmc_out_char(&out, '/');
	}
	agent_out_expand(&out, pattern, "jt");
	return agent_copy(text);
}

AGENT_APART bool agent_configure(char *const *envp)
{
	struct pmc_config *config = &agent.config;
	struct pmc_config_error error;
	char labels[PMC_LABELS_BYTES];
	struct pmc_out out;

	if (pmc_config_from_env(envp, config, &error) != 0) {
		char why[160];

		pmc_out_to_mem(&out, why, sizeof(why));
		pmc_outf(&out, "invalid value; accepted: %s", error.accepted);
		agent_refuse(error.variable, error.value, why);
		return false;
	}
	config->events = agent_copy(config->events);
	config->out = agent_copy(config->out);
	config->only = agent_copy(config->only);
	config->skip = agent_copy(config->skip);
	config->report.file = agent_copy(config->report.file);
	config->sample.event = agent_copy(config->sample.event);
	pmc_out_to_mem(&out, labels, sizeof(labels));
	agent.rank = pmc_labels(&out, envp, config->label);
	agent.text.labels = agent_copy(labels);
	pmc_log_level = config->log;
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

AGENT_APART void agent_read_program(const char *exe, int argc, char **argv)
{
	static char *none[] = { NULL };
	const char *as = argc > 0 ? argv[0] : "";
	char text[PMC_COMMAND_LINE_BYTES];
	struct utsname host;
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	agent.text.exe = agent_copy(*exe ? exe : as);
	pmc_command_line(&out, argc > 0 ? argv : none, agent.config.args);
	agent.text.cmdline = agent_copy(text);
	agent.text.host = agent_copy(uname(&host) == 0 ? host.nodename : "");
	agent.measured = !(agent.config.skip && is_named(agent.config.skip, as)) &&
			 (!agent.config.only || is_named(agent.config.only, as));
}

void agent_begin_job(char *const *envp)
{
	/* One for both: the job is known by its first process. */
	agent_identity(agent.identity);
	memcpy(agent.job, agent.identity, sizeof(agent.job));
	agent.first = true;
	agent.owner = agent.pid;
	if (!agent.config.out && (agent.config.dump || agent.config.interval))
		agent.config.out = "pmc-%h-%p.pmc";
	if (agent.config.out)
		agent.out = absolute_out(agent.config.out);
	else
		agent.private_dump = agent_private_path(envp);
}

void agent_begin_outputs(char *const *envp)
{
	if (agent.out && agent_file_check() != 0) {
		/* There is still a report. */
		agent.out = NULL;
		agent.private_dump = agent_private_path(envp);
		agent_file_path();
	}
	agent_report_init(envp);
}

bool agent_env_preloads(char *const *envp)
{
	const char *list = pmc_env(envp, "LD_PRELOAD");

	return list && strstr(list, "pmcagent");
}

char **agent_env_copy(char **list, char *const *envp, char *job_text)
{
	size_t at = 0;

	list[at++] = job_text;
	for (size_t i = 0; envp && envp[i]; i++)
		if (!agent_env_is_job(envp[i]))
			list[at++] = envp[i];
	return list;
}

char **agent_env_with_job(char *const *envp)
{
	char **list;
	size_t n = 0;

	while (envp && envp[n])
		n++;
	list = agent.job_text ? pmc_arena_alloc(&agent.arena, (n + 2) * sizeof(*list)) : NULL;
	return list ? agent_env_copy(list, envp, agent.job_text) : NULL;
}
