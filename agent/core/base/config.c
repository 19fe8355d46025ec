/* SPDX-License-Identifier: MIT */
/* config.c - reads the knobs of config.def; one small parser per type. */
#include "agent/core/base/config.h"
#include "agent/core/base/number.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },   { "INT", SIGINT },	      { "QUIT", SIGQUIT },     { "ILL", SIGILL },
	{ "TRAP", SIGTRAP }, { "ABRT", SIGABRT },     { "BUS", SIGBUS },       { "FPE", SIGFPE },
	{ "KILL", SIGKILL }, { "USR1", SIGUSR1 },     { "SEGV", SIGSEGV },     { "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE }, { "ALRM", SIGALRM },     { "TERM", SIGTERM },     { "CHLD", SIGCHLD },
	{ "CONT", SIGCONT }, { "STOP", SIGSTOP },     { "TSTP", SIGTSTP },     { "TTIN", SIGTTIN },
	{ "TTOU", SIGTTOU }, { "URG", SIGURG },	      { "XCPU", SIGXCPU },     { "XFSZ", SIGXFSZ },
	{ "PROF", SIGPROF }, { "VTALRM", SIGVTALRM }, { "WINCH", SIGWINCH },   { "IO", SIGIO },
	{ "PWR", SIGPWR },   { "SYS", SIGSYS },	      { "STKFLT", SIGSTKFLT },
};

/* The whole text as a small number; -1 if it is anything else. */
static int number(const char *text)
{
	uint64_t value;

	return pmc_number(text, 999, &value) ? (int)value : -1;
}

int pmc_signal_number(const char *text)
{
	int value = number(text);

	if (value < 0) {
		if (strncmp(text, "SIG", 3) == 0)
			text += 3;
		for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			if (strcmp(text, signals[i].name) == 0)
				return signals[i].number;
		if (strncmp(text, "RTMIN", 5) == 0)
			value = text[5] == '+' ? number(text + 6) : text[5] == '\0' ? 0 : -1;
		else if (strncmp(text, "RTMAX", 5) == 0)
			value = text[5] == '-' ? number(text + 6) : text[5] == '\0' ? 0 : -1;
		if (value < 0)
			return -EINVAL;
		value = strncmp(text, "RTMIN", 5) == 0 ? SIGRTMIN + value : SIGRTMAX - value;
		return value >= SIGRTMIN && value <= SIGRTMAX ? value : -EINVAL;
	}
	/* 32 and 33 are the C library's own. */
	return value >= 1 && value <= SIGRTMAX && (value < 32 || value >= SIGRTMIN) ? value :
										      -EINVAL;
}

const struct pmc_knob pmc_knobs[] = {
#define X(field, type, env, flag, letter, def, values, help)                                       \
	{ env, flag, letter, def, values, help },
#include "agent/core/base/config.def"
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
	const char *file = strchr(value, '=');
	size_t len = file ? (size_t)(file - value) : strlen(value);

	for (unsigned i = 0; i < 5; i++) {
		if (strlen(names[i]) != len || strncmp(value, names[i], len) != 0)
			continue;
		if (file && !file[1])
			return -EINVAL;
		to->kind = (enum pmc_report_kind)i;
		to->file = file ? file + 1 : NULL;
		return 0;
	}
	return -EINVAL;
}

static int parse_SWITCH(const char *value, pmc_config_SWITCH *to)
{
	static const char *const names[] = { "off", "on" };
	int which = choice(value, names, 2);

	if (which < 0)
		return which;
	*to = which == 1;
	return 0;
}

/* Digits, perhaps with a fraction, and a unit: 250ms, 1.5s, 2m. A bare 0 needs none. */
static int parse_TIME(const char *value, pmc_config_TIME *to)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 },
		      { "us", 1000 },
		      { "ms", 1000000 },
		      { "s", 1000000000 },
		      { "m", 60000000000u } };
	uint64_t whole, part = 0, scale = 1;
	const char *p = value;

	if (!pmc_number_take(&p, NULL, 10, &whole))
		return -EINVAL;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9' && scale < 1000000000; p++, scale *= 10)
			part = part * 10 + (uint64_t)(*p - '0');
	if (!*p && whole == 0 && part == 0) {
		*to = 0;
		return 0;
	}
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(p, units[i].name) != 0)
			continue;
		if (whole > UINT64_MAX / 2 / units[i].ns)
			return -EINVAL;
		*to = whole * units[i].ns + part * units[i].ns / scale;
		return 0;
	}
	return -EINVAL;
}

static int parse_INTERVAL(const char *value, pmc_config_INTERVAL *to)
{
	uint64_t ns;

	if (parse_TIME(value, &ns) != 0 || ns < 1000000)
		return -EINVAL;
	*to = ns;
	return 0;
}

static int parse_SIGNAL(const char *value, pmc_config_SIGNAL *to)
{
	int signo = pmc_signal_number(value);

	switch (signo) {
	case SIGKILL:
	case SIGSTOP:
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGTRAP:
	case SIGSYS:
	case SIGABRT:
		return -EINVAL;
	}
	if (signo < 0)
		return signo;
	*to = signo;
	return 0;
}

int pmc_config_set(struct pmc_config *config, unsigned knob, const char *value)
{
	unsigned row = 0;

#define X(field, type, env, flag, letter, def, values, help)                                       \
	if (row++ == knob)                                                                         \
		return parse_##type(value, &config->field);
#include "agent/core/base/config.def"
#undef X
	return -EINVAL;
}

const char *pmc_env(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	/* The first letter first: some thirty names are looked up at each start. */
	for (; envp && *envp; envp++)
		if (**envp == *name && strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
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
