/* SPDX-License-Identifier: MIT */
/*
 * command_line.c - see command_line.h.
 *
 * Masked are the values of NAME=VALUE, --NAME=VALUE and --NAME VALUE, also inside an argument (sh
 * -c, query strings), where NAME contains one of the words below, and the passwords of URLs. Words
 * of a secret are found inside others (storepass, APIKEY, keyboard): a value that is masked for
 * nothing does less harm than a secret that is shown.
 */
#include "lib/dump/command_line.h"
#include "lib/base/number.h"

#include <stdbool.h>
#include <string.h>

#define MASK  "***"
#define SPACE " \t\r\n"

static const char *const words[] = { "pass", "token", "secret", "key", "credential" };

static bool is_name(char c)
{
	return pmc_is_alnum(c) || c == '_' || c == '-' || c == '.';
}

static bool begins(const char *text, const char *end, const char *word)
{
	while (*word && text < end && pmc_lower(*text) == *word) {
		text++;
		word++;
	}
	return !*word;
}

static bool is_secret(const char *name, const char *end)
{
	for (const char *at = name; at < end; at++)
		for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (begins(at, end, words[i]))
				return true;
	return false;
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* -NAME or --NAME, perhaps in quotes, whose value is the next word. */
static bool is_flag(const char *word, const char *end)
{
	const char *at;

	if (end - word > 2 && is_quote(*word) && end[-1] == *word) {
		word++;
		end--;
	}
	at = word;
	while (at < end && is_name(*at))
		at++;
	return *word == '-' && end - word > 2 && at == end && is_secret(word, end);
}

/* The end of a value inside an argument. */
static const char *value_end(const char *value)
{
	const char *end;

	if (is_quote(*value)) {
		end = strchr(value + 1, *value);
		return end ? end + 1 : value + strlen(value);
	}
	return value + strcspn(value, SPACE "\"';&,");
}

/* Whether the value after the '=' at `equals` is a secret; *end: the end of the value. */
static bool is_assigned(const char *arg, const char *equals, const char **end)
{
	const char *name = equals;

	while (name > arg && is_name(name[-1]))
		name--;
	if (!is_secret(name, equals))
		return false;
	if (name == arg)
		*end = equals + strlen(equals);
	else if (is_quote(name[-1]) && !is_quote(equals[1]))
		*end = equals + strcspn(equals, (const char[]){ name[-1], '\0' });
	else
		*end = value_end(equals + 1);
	return true;
}

/* Finds the password in the URL whose host part starts at `host`. */
static bool has_password(const char *host, const char **from, const char **end)
{
	const char *stop = host + strcspn(host, "/?#\"'" SPACE), *colon, *at = stop;

	while (at > host && *at != '@')
		at--;
	colon = memchr(host, ':', (size_t)(at - host));
	if (!colon)
		return false;
	*from = colon + 1;
	*end = at;
	return true;
}

static void put_masked(struct pmc_out *out, const char *arg)
{
	const char *at = arg, *word = arg, *shown = arg, *from, *end;

	while (*at) {
		bool found = false;

		from = at + 1;
		if (*at == '=') {
			found = is_assigned(arg, at, &end);
		} else if (strncmp(at, "://", 3) == 0) {
			found = has_password(at + 3, &from, &end);
		} else if (strchr(SPACE, *at)) {
			from = at + strspn(at, SPACE);
			found = is_flag(word, at) && *from && strncmp(from, "--", 2) != 0;
			end = found ? value_end(from) : from;
			word = from;
		}
		if (found) {
			pmc_out_bytes(out, shown, (size_t)(from - shown));
			pmc_out_str(out, MASK);
			shown = at = end;
		} else {
			at++;
		}
	}
	pmc_out_str(out, shown);
}

void pmc_command_line(struct pmc_out *out, char *const *argv, enum pmc_args how)
{
	bool secret = false;

	for (int i = 0; argv[i] && (i == 0 || how != PMC_ARGS_NAME); i++) {
		const char *arg = argv[i];

		if (i)
			pmc_out_char(out, ' ');
		if (how == PMC_ARGS_FULL)
			pmc_out_str(out, arg);
		else if (secret && strncmp(arg, "--", 2) != 0)
			pmc_out_str(out, MASK);
		else
			put_masked(out, arg);
		secret = i && is_flag(arg, arg + strlen(arg));
	}
}
