/* SPDX-License-Identifier: MIT */
/* scan.c - parameters of commands: -L NAME=A,B,C runs a command with each value for {NAME}. */
#include "tools/bench/bench.h"

enum { COMBINATIONS_MOST = 1000, NAME_MOST = 60 };

/* "A,B,C"; a comma behind a backslash is part of a value. */
static void read_values(struct bench *bench, struct bench_parameter *parameter, char *text)
{
	char *to = text;

	parameter->values =
		pmc_arena_alloc(&bench->arena, (strlen(text) + 1) * sizeof(*parameter->values));
	parameter->values[parameter->n++] = text;
	for (; *text; text++) {
		if (*text == ',') {
			*to++ = '\0';
			parameter->values[parameter->n++] = to;
			continue;
		}
		text += text[0] == '\\' && text[1] == ',';
		*to++ = *text;
	}
	*to = '\0';
}

/* "1..4" */
static void warn_of_range(const struct bench_parameter *parameter, const char *value)
{
	static const char digits[] = "0123456789";
	const char *at = value + strspn(value, digits);

	if (at == value || strncmp(at, "..", 2) != 0)
		return;
	at += 2;
	if (*at && !at[strspn(at, digits)])
		tool_warn("-L %s: %s is one value; name each number (-L %s=1,2,3)", parameter->name,
			  value, parameter->name);
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

bool bench_has_token(const char *text)
{
	while ((text = strchr(text, '{'))) {
		const size_t len = strspn(++text, letters);

		if (len && text[len] == '}')
			return true;
	}
	return false;
}

static int read_scan(struct bench *bench, const char *text)
{
	struct bench_parameter *parameter = &bench->parameters[bench->n_parameters];
	const size_t len = strspn(text, letters);

	if (!len || len > NAME_MOST || text[len] != '=' || !text[len + 1])
		return tool_fail(EXIT_USAGE,
				 "invalid -L '%.60s'; give NAME=A,B,C, a name of at most %d "
				 "letters, digits, - and _",
				 text, NAME_MOST);
	parameter->name = pmc_arena_strndup(&bench->arena, text, len);
	parameter->token = pmc_arena_format(&bench->arena, "{%s}", parameter->name);
	read_values(bench, parameter, pmc_arena_strdup(&bench->arena, text + len + 1));
	for (unsigned i = 0; i < parameter->n; i++)
		warn_of_range(parameter, parameter->values[i]);
	bench->n_parameters++;
	bench->n_combinations *= parameter->n;
	if (bench->n_combinations > COMBINATIONS_MOST)
		return tool_fail(EXIT_USAGE, "-L has more than %d combinations; give fewer values",
				 COMBINATIONS_MOST);
	return 0;
}

int bench_read_scans(struct bench *bench)
{
	int code = 0;

	bench->parameters =
		pmc_arena_alloc(&bench->arena, (bench->n_scans + 1) * sizeof(*bench->parameters));
	bench->n_combinations = 1;
	for (unsigned i = 0; i < bench->n_scans && !code; i++)
		code = read_scan(bench, bench->scans[i]);
	return code;
}

static bool is_in(const char *text, const struct bench_parameter *parameter)
{
	return text && strstr(text, parameter->token);
}

static bool are_in(char *const *words, const struct bench_parameter *parameter)
{
	while (*words && !is_in(*words, parameter))
		words++;
	return *words;
}

const char **bench_values(struct bench *bench, char *const *words, uint64_t k)
{
	const char **values =
		pmc_arena_alloc(&bench->arena, (bench->n_parameters + 1) * sizeof(*values));
	uint64_t n = 1;

	/* The last parameter changes from each command to the next. */
	for (unsigned p = bench->n_parameters; p-- > 0;) {
		struct bench_parameter *parameter = &bench->parameters[p];

		if (!are_in(words, parameter) && !is_in(bench->prepare, parameter))
			continue;
		parameter->used = true;
		values[p] = parameter->values[k / n % parameter->n];
		n *= parameter->n;
	}
	return k < n ? values : NULL;
}

char *bench_fill(struct bench *bench, const char *text, const char *const *values)
{
	size_t most = 1, room;
	struct pmc_out out;

	for (unsigned p = 0; p < bench->n_parameters; p++)
		most = values[p] && strlen(values[p]) > most ? strlen(values[p]) : most;
	room = strlen(text) * most + 1;
	pmc_out_to_mem(&out, pmc_arena_alloc(&bench->arena, room), room);
	while (*text) {
		size_t len = 0;

		for (unsigned p = 0; p < bench->n_parameters && !len; p++) {
			const char *token = bench->parameters[p].token;

			len = strncmp(text, token, strlen(token)) ? 0 : strlen(token);
			pmc_out_str(&out, len ? values[p] : "");
		}
		pmc_out_bytes(&out, text, !len);
		text += len ? len : 1;
	}
	return out.buf;
}

const char *bench_form(struct bench *bench, const char *text, char *const *words)
{
	for (unsigned p = 0; p < bench->n_parameters; p++) {
		const struct bench_parameter *parameter = &bench->parameters[p];

		if (is_in(bench->prepare, parameter) && !are_in(words, parameter))
			text = pmc_arena_format(&bench->arena, "%.800s (%s=%s)", text,
						parameter->name, parameter->token);
	}
	return text;
}

int bench_check_scans(const struct bench *bench)
{
	for (unsigned p = 0; p < bench->n_parameters; p++) {
		const struct bench_parameter *parameter = &bench->parameters[p];

		if (!parameter->used)
			return tool_fail(EXIT_USAGE,
					 "-L %s: no command has %s; write it where the "
					 "values belong",
					 parameter->name, parameter->token);
		if (is_in(bench->setup, parameter) || is_in(bench->cleanup, parameter))
			return tool_fail(EXIT_USAGE,
					 "--setup and --cleanup run once for all commands; use "
					 "%s in --prepare",
					 parameter->token);
	}
	return 0;
}
