/* SPDX-License-Identifier: MIT */
/* config.c - parses the settings of config.def. */
#include "lib/base/config.h"
#include "lib/base/labels.h"
#include "lib/base/number.h"
#include "lib/base/suggest.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <string.h>

static const struct {
	char name[7];
	uint8_t number;
} signals[] = {
	{ "HUP", SIGHUP },	 { "INT", SIGINT },	  { "QUIT", SIGQUIT },
	{ "ILL", SIGILL },	 { "TRAP", SIGTRAP },	  { "ABRT", SIGABRT },
	{ "BUS", SIGBUS },	 { "FPE", SIGFPE },	  { "KILL", SIGKILL },
	{ "USR1", SIGUSR1 },	 { "SEGV", SIGSEGV },	  { "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE },	 { "ALRM", SIGALRM },	  { "TERM", SIGTERM },
	{ "CHLD", SIGCHLD },	 { "CONT", SIGCONT },	  { "STOP", SIGSTOP },
	{ "TSTP", SIGTSTP },	 { "TTIN", SIGTTIN },	  { "TTOU", SIGTTOU },
	{ "URG", SIGURG },	 { "XCPU", SIGXCPU },	  { "XFSZ", SIGXFSZ },
	{ "PROF", SIGPROF },	 { "VTALRM", SIGVTALRM }, { "WINCH", SIGWINCH },
	{ "IO", SIGIO },	 { "SYS", SIGSYS },
#ifdef SIGPWR /* not on every OS */
	{ "PWR", SIGPWR },
#endif
#ifdef SIGSTKFLT
	{ "STKFLT", SIGSTKFLT },
#endif
};

/* The whole text as a small number; -1 if it is anything else. */
static int number(const char *text)
{
	uint64_t value;

	return pmc_number(text, 999, &value) ? (int)value : -1;
}

#ifndef SIGRTMIN /* macOS has none */
#define SIGRTMIN NSIG
#define SIGRTMAX (NSIG - 1)
#endif

/* RTMIN, RTMIN+3, RTMAX-1. */
static int real_time_signal(const char *text)
{
	bool min = strncmp(text, "RTMIN", 5) == 0;
	int value = -1;

	if (min || strncmp(text, "RTMAX", 5) == 0)
		value = text[5] == (min ? '+' : '-') ? number(text + 6) : text[5] == '\0' ? 0 : -1;
	if (value < 0)
		return -EINVAL;
	value = min ? SIGRTMIN + value : SIGRTMAX - value;
	return value >= SIGRTMIN && value <= SIGRTMAX ? value : -EINVAL;
}

int pmc_signal_number(const char *text)
{
	int value = number(text);

	/* 32 and 33 are reserved by the C library. */
	if (value >= 0)
		return value && value <= SIGRTMAX && (value < 32 || value >= SIGRTMIN) ? value :
											 -EINVAL;
	if (strncmp(text, "SIG", 3) == 0)
		text += 3;
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcmp(text, signals[i].name) == 0)
			return signals[i].number;
	return real_time_signal(text);
}

const struct pmc_knob pmc_knobs[] = {
#define X(field, type, env, flag, letter, argument, def, values, help) { env, def, values },
#include "lib/base/config.def"
#undef X
};
const char *const pmc_knob_flags[] = {
#define X(field, type, env, flag, letter, argument, def, values, help) flag,
#include "lib/base/config.def"
#undef X
};
const unsigned pmc_n_knobs = sizeof(pmc_knobs) / sizeof(pmc_knobs[0]);

static int parse_TEXT(const char *value, pmc_config_TEXT *to)
{
	*to = value;
	return 0;
}

static int parse_PATTERN(const char *value, pmc_config_PATTERN *to)
{
	*to = value;
	for (; *value; value++)
		if (*value == '%' && (!*++value || !strchr("phrejt%", *value)))
			return -EINVAL;
	return 0;
}

static int parse_LABEL(const char *value, pmc_config_LABEL *to)
{
	*to = value;
	return pmc_labels_valid(value) ? 0 : -EINVAL;
}

/* The row of the word that value's first len bytes are, or -EINVAL. */
static int choice(const char *value, size_t len, const char *const *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strlen(words[i]) == len && memcmp(value, words[i], len) == 0)
			return (int)i;
	return -EINVAL;
}

/* A parser of words, in the order of their values. */
#define WORDS(type, ...)                                                                           \
	static int parse_##type(const char *value, pmc_config_##type *to)                          \
	{                                                                                          \
		static const char *const words[] = { __VA_ARGS__ };                                \
		int which = choice(value, strlen(value), words, sizeof(words) / sizeof(*words));   \
                                                                                                   \
		if (which < 0)                                                                     \
			return which;                                                              \
		*to = (pmc_config_##type)which;                                                    \
		return 0;                                                                          \
	}

WORDS(INHERIT, "off", "clock", "full", "auto")
WORDS(ARGS, "full", "masked", "name")
WORDS(UNWIND, "dwarf", "fp")
WORDS(LOG, "error", "warn", "info", "debug")
WORDS(SWITCH, "off", "on")

/* Without a rate. */
#define SAMPLE_HZ 997u

static bool is_switches(const char *event, size_t len)
{
	static const char *const switches[] = { "context-switches", "cs" };

	return choice(event, len, switches, 2) >= 0;
}

static bool is_digits(const char *value)
{
	return *value && !value[strspn(value, "0123456789")];
}

/* A rate behind a colon, as modifiers are. */
static bool has_colon_rate(const char *value)
{
	const char *colon = strrchr(value, ':');

	return colon && is_digits(colon + 1) && !value[strcspn(value, "@/")];
}

static int parse_SAMPLE(const char *value, pmc_config_SAMPLE *to)
{
	const char *rate = strrchr(value, '@');
	uint64_t number;

	*to = (pmc_config_SAMPLE){ .on = false };
	if (strcmp(value, "off") == 0)
		return 0;
	*to = (pmc_config_SAMPLE){ .on = true, .frequency = SAMPLE_HZ };
	if (!*value || strcmp(value, "on") == 0)
		return 0;
	if (is_digits(value) || has_colon_rate(value))
		return -EINVAL;
	to->event = value;
	to->event_len = strlen(value);
	if (!rate)
		rate = strrchr(value, '/');
	/* A slash at the end closes the terms of a PMU. */
	if (rate && (*rate == '@' || rate[1])) {
		const bool is_period = *rate == '@';

		if (!pmc_number(rate + 1, is_period ? UINT64_MAX >> 1 : PMC_SAMPLE_HZ_MOST,
				&number) ||
		    !number)
			return -EINVAL;
		to->period = is_period ? number : 0;
		to->frequency = is_period ? 0 : number;
		to->event_len = (size_t)(rate - value);
	}
	return to->event_len && !is_switches(value, to->event_len) ? 0 : -EINVAL;
}

const char *const pmc_report_kinds[] = {
	"auto", "off", "summary", "threads", "json", "csv", "html"
};

static int parse_REPORT(const char *value, pmc_config_REPORT *to)
{
	size_t len = strcspn(value, "=");
	int kind = choice(value, len, pmc_report_kinds, PMC_REPORT_HTML + 1);

	if (kind < 0 || (value[len] && !value[len + 1]))
		return -EINVAL;
	to->kind = (enum pmc_report_kind)kind;
	to->file = value[len] ? value + len + 1 : NULL;
	return 0;
}

int pmc_config_time(const char *value, uint64_t unit_ns, uint64_t *ns)
{
	const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "", unit_ns },	 { "ns", 1 },	      { "us", 1000 },
		      { "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000u } };
	uint64_t whole, part = 0, scale = 1;
	const char *p = value;

	if (!pmc_number_take(&p, NULL, 10, &whole))
		return -EINVAL;
	if (*p == '.')
		for (p++; pmc_is_digit(*p) && scale < 1000000000; p++, scale *= 10)
			part = part * 10 + (uint64_t)(*p - '0');
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(p, units[i].name) != 0)
			continue;
		if (whole > UINT64_MAX / 2 / units[i].ns)
			return -EINVAL;
		*ns = whole * units[i].ns + part * units[i].ns / scale;
		return 0;
	}
	return -EINVAL;
}

static int parse_TIME(const char *value, pmc_config_TIME *to)
{
	return pmc_config_time(value, 1000000, to);
}

/* Bytes, or with a suffix kibibytes and so on: 500M, 2G. */
static int parse_SIZE(const char *value, pmc_config_SIZE *to)
{
	static const char suffixes[] = "KMGT";
	const char *p = value, *suffix;
	unsigned shift = 0;
	uint64_t number;

	if (!pmc_number_take(&p, NULL, 10, &number) || !number)
		return -EINVAL;
	if (*p) {
		suffix = strchr(suffixes, *p++);
		if (!suffix || *p)
			return -EINVAL;
		shift = 10 * (unsigned)(suffix - suffixes + 1);
	}
	if (number > UINT64_MAX >> 1 >> shift)
		return -EINVAL;
	*to = number << shift;
	return 0;
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
	static const uint8_t never[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE,
					 SIGILL,  SIGTRAP, SIGSYS,  SIGABRT };
	const int signo = pmc_signal_number(value);

	if (signo < 0 || memchr(never, signo, sizeof(never)))
		return -EINVAL;
	*to = signo;
	return 0;
}

int pmc_config_set(struct pmc_config *config, unsigned knob, const char *value)
{
	unsigned row = 0;

#define X(field, type, env, flag, letter, argument, def, values, help)                             \
	if (row++ == knob)                                                                         \
		return parse_##type(value, &config->field);
#include "lib/base/config.def"
#undef X
	return -EINVAL;
}

const char *pmc_config_accepted(unsigned knob, const char *value)
{
	const char *accepted = pmc_knobs[knob].values;

	if (strcmp(pmc_knobs[knob].env, "PMC_SAMPLE") != 0)
		return accepted;
	if (is_switches(value, strcspn(value, "@/")))
		return "another event, such as task-clock: a signal at a switch would wake threads "
		       "that wait; pmctl run --off-cpu records waits";
	if (has_colon_rate(value))
		return "EVENT/HZ, such as task-clock/500: 500 samples per second of CPU time";
	return is_digits(value) ?
		       "on, or an event with that rate, such as task-clock/99: 99 samples "
		       "per second of CPU time" :
		       accepted;
}

const char *pmc_env(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++)
		if (**envp == *name && strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

/* The entries that start with PMC_, up to a NULL, so that few are searched for each variable; or
 * all entries if there are more than `most`. */
static char *const *own_entries(char *const *envp, char **own, size_t most)
{
	size_t n = 0;

	for (char *const *entry = envp; entry && *entry; entry++) {
		if (strncmp(*entry, "PMC_", 4) != 0)
			continue;
		if (n == most)
			return envp;
		own[n++] = *entry;
	}
	own[n] = NULL;
	return own;
}

int pmc_config_from_env(char *const *envp, struct pmc_config *config,
			struct pmc_config_error *error)
{
	enum { MOST = 63 };
	char *own[MOST + 1];
	int result = 0;

	memset(config, 0, sizeof(*config));
	envp = own_entries(envp, own, MOST);
	for (unsigned i = 0; i < pmc_n_knobs; i++) {
		const char *value = pmc_env(envp, pmc_knobs[i].env);

		if (pmc_knobs[i].def)
			pmc_config_set(config, i, pmc_knobs[i].def);
		/* Shells pass an unset variable on as an empty one. */
		if (!value || !*value)
			continue;
		if (pmc_config_set(config, i, value) == 0 || result)
			continue;
		*error = (struct pmc_config_error){ pmc_knobs[i].env, value,
						    pmc_config_accepted(i, value) };
		result = -EINVAL;
	}
	return result;
}

const char *pmc_config_misspelt(const char *entry)
{
	static const char prefix[] = "PMC_";
	const size_t skip = sizeof(prefix) - 1, len = strcspn(entry, "=");
	struct pmc_nearest nearest;

	if (strncmp(entry, prefix, skip) != 0)
		return NULL;
	pmc_nearest_init(&nearest, entry + skip, len - skip);
	for (unsigned i = 0; i < pmc_n_knobs; i++) {
		if (strlen(pmc_knobs[i].env) == len && !memcmp(pmc_knobs[i].env, entry, len))
			return NULL;
		pmc_nearest_try(&nearest, pmc_knobs[i].env + skip);
	}
	return nearest.name ? nearest.name - skip : NULL;
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
