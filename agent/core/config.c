/* SPDX-License-Identifier: MIT */
/* config.c - reads the knobs of config.def; one small parser per type. */
#include "agent/core/config.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>

const struct pmc_knob pmc_knobs[] = {
#define X(field, type, env, flag, letter, def, values, help)                                       \
	{ env, flag, letter, def, values, help },
#include "agent/core/config.def"
#undef X
};
const unsigned pmc_n_knobs = sizeof(pmc_knobs) / sizeof(pmc_knobs[0]);

static int parse_TEXT(const char *value, pmc_config_TEXT *to)
{
	*to = value;
	return 0;
}

static int choice(const char *value, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(value, names[i]) == 0)
			return (int)i;
	return -EINVAL;
}

static int parse_INHERIT(const char *value, pmc_config_INHERIT *to)
{
	static const char *const names[] = { "off", "clock", "full", "auto" };
	int which = choice(value, names, 4);

	if (which < 0)
		return which;
	*to = (enum pmc_inherit)which;
	return 0;
}

static int parse_LOG(const char *value, pmc_config_LOG *to)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	int which = choice(value, names, 4);

	if (which < 0)
		return which;
	*to = (enum pmc_log_level)which;
	return 0;
}

static int parse_REPORT(const char *value, pmc_config_REPORT *to)
{
	static const char *const names[] = { "auto", "off", "summary", "threads", "json" };
	size_t len = strcspn(value, "=");

	for (unsigned i = 0; i < 5; i++) {
		if (strlen(names[i]) != len || strncmp(value, names[i], len) != 0)
			continue;
		if (value[len] == '=' && value[len + 1] == '\0')
			return -EINVAL;
		to->kind = (enum pmc_report_kind)i;
		to->file = value[len] == '=' ? value + len + 1 : NULL;
		return 0;
	}
	return -EINVAL;
}

int pmc_config_set(struct pmc_config *config, unsigned knob, const char *value)
{
	unsigned row = 0;

#define X(field, type, env, flag, letter, def, values, help)                                       \
	if (row++ == knob)                                                                         \
		return parse_##type(value, &config->field);
#include "agent/core/config.def"
#undef X
	return -EINVAL;
}

const char *pmc_env(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

int pmc_config_from_env(char *const *envp, struct pmc_config *config,
			struct pmc_config_error *error)
{
	int result = 0;

	memset(config, 0, sizeof(*config));
	for (unsigned i = 0; i < pmc_n_knobs; i++) {
		const char *value = pmc_env(envp, pmc_knobs[i].env);

		if (pmc_knobs[i].def)
			pmc_config_set(config, i, pmc_knobs[i].def);
		/* Set and empty is what shells make of an unset one: the default. */
		if (!value || !*value)
			continue;
		if (pmc_config_set(config, i, value) == 0 || result)
			continue;
		*error = (struct pmc_config_error){ pmc_knobs[i].env, value, pmc_knobs[i].values };
		result = -EINVAL;
	}
	return result;
}

bool pmc_glob_list(const char *globs, const char *name)
{
	char one[256];

	while (*globs) {
		size_t len = strcspn(globs, ",");

		if (len > 0 && len < sizeof(one)) {
			memcpy(one, globs, len);
			one[len] = '\0';
			if (fnmatch(one, name, 0) == 0)
				return true;
		}
		globs += len + (globs[len] == ',');
	}
	return false;
}
