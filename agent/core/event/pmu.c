/* SPDX-License-Identifier: MIT */
/* pmu.c - pmu/field=value,event,.../ by what sysfs says of the PMU. */
#include "agent/core/event/source.h"
#include "agent/core/base/out.h"

#include <errno.h>
#include <string.h>

#define TERMS_MAX 32
#define FILE_MAX  1024

struct term {
	struct event_span name, value;
	bool has_value;
};

struct pmu_parse {
	struct event_parse *parse;
	struct event_span pmu;
	struct pmc_event *event;
	struct term terms[TERMS_MAX];
	unsigned n_terms;
	const struct term *alias; /* the term that is a named event */
	const char *at;		  /* what a refusal points at */
};

/* ---- fields ------------------------------------------------------------------------------*/

static uint64_t *config_of(struct pmc_event *event, struct event_span name)
{
	return event_span_is(name, "config")  ? &event->config :
	       event_span_is(name, "config1") ? &event->config1 :
	       event_span_is(name, "config2") ? &event->config2 :
	       event_span_is(name, "config3") ? &event->config3 :
						NULL;
}

/* "config1:0-7,32-35" to the word it names and a mask. */
static bool format_parse(struct pmc_event *event, struct event_span text, uint64_t **word,
			 uint64_t *mask)
{
	*word = config_of(event, event_split(&text, ':'));
	*mask = 0;
	if (!*word || !text.len)
		return false;
	while (text.len) {
		struct event_span last = event_split(&text, ','), first = event_split(&last, '-');
		uint64_t low, high;

		if (!event_number(event_trim(first), &low))
			return false;
		high = low;
		if (last.len && !event_number(event_trim(last), &high))
			return false;
		if (low > high || high > 63)
			return false;
		*mask |= (high - low == 63 ? UINT64_MAX : (UINT64_C(1) << (high - low + 1)) - 1)
			 << low;
	}
	return true;
}

/* The value's bits, lowest first, into the mask's bits, lowest first. False: it is too large. */
static bool scatter(uint64_t *word, uint64_t mask, uint64_t value)
{
	*word &= ~mask;
	for (; mask; mask &= mask - 1) {
		if (value & 1)
			*word |= mask & -mask;
		value >>= 1;
	}
	return !value;
}

static void try_name(const char *name, void *arg)
{
	if (!strchr(name, '.'))
		event_nearest_try(arg, "", name, "");
}

static int unknown_field(struct pmu_parse *p, struct event_span name)
{
	struct event_shown field, pmu;
	struct event_nearest nearest;
	char path[PMC_PATH_MAX], hint[EVENT_NAME_MAX + 32];
	struct pmc_out out;

	event_nearest_init(&nearest, name);
	for (int i = 0; i < 2; i++) {
		pmc_out_to_mem(&out, path, sizeof(path));
		pmc_outf(&out, "%s/%.*s/%s", p->parse->roots.sysfs, (int)p->pmu.len, p->pmu.at,
			 i ? "format" : "events");
		if (!out.error)
			pmc_dir_visit(path, try_name, &nearest);
	}
	return event_fail(p->parse, PMC_PARSE_UNKNOWN_FIELD, p->at,
			  "PMU '%s' has no field or event '%s'%s", event_show(&pmu, p->pmu),
			  event_show(&field, name),
			  event_nearest_text(&nearest, hint, sizeof(hint)));
}

static int set_field(struct pmu_parse *p, const struct term *term)
{
	struct event_shown name, value;
	uint64_t number = 1, mask = 0, *word;
	char format[128];
	int rc = -ENOENT;

	if (term->has_value && !event_number(term->value, &number))
		return event_fail(p->parse, PMC_PARSE_BAD_VALUE, p->at,
				  "value '%s' of field '%s' is no number of up to 64 bits, decimal "
				  "or 0x hexadecimal",
				  event_show(&value, term->value), event_show(&name, term->name));
	if (event_is_file_name(term->name))
		rc = pmc_file_read(format, sizeof(format), "%s/%.*s/format/%.*s",
				   p->parse->roots.sysfs, (int)p->pmu.len, p->pmu.at,
				   (int)term->name.len, term->name.at);
	if (rc >= 0) {
		struct event_span text = { format, (size_t)rc };

		if (!format_parse(p->event, text, &word, &mask))
			return event_fail(p->parse, PMC_PARSE_UNKNOWN_FIELD, p->at,
					  "the kernel's format of field '%s', '%s', is not "
					  "understood",
					  event_show(&name, term->name), event_show(&value, text));
		if (!scatter(word, mask, number))
			return event_fail(p->parse, PMC_PARSE_BAD_VALUE, p->at,
					  "value '%s' of field '%s' does not fit its %u bits",
					  event_show(&value, term->value),
					  event_show(&name, term->name),
					  (unsigned)__builtin_popcountll(mask));
		return 0;
	}
	word = config_of(p->event, term->name);
	if (word && term->has_value) {
		*word = number;
		return 0;
	}
	/* How often to sample says nothing about what to count; sysfs events carry it too. */
	if (term->has_value &&
	    (event_span_is(term->name, "period") || event_span_is(term->name, "freq")))
		return 0;
	if (!term->has_value) {
		struct pmc_event raw = { 0 };

		rc = event_raw(p->parse, term->name, &raw);
		/* The term may stand in a file of sysfs: an offset is one of the user's text. */
		if (rc < 0) {
			p->parse->error->offset = (size_t)(p->at - p->parse->text);
			return rc;
		}
		if (rc == EVENT_FOUND) {
			p->event->config = raw.config;
			return 0;
		}
	}
	return unknown_field(p, term->name);
}

/* ---- named events -------------------------------------------------------------------------*/

/* A decimal such as 2.3283064365386962890625e-10, whatever the locale. */
static bool decimal(struct event_span text, double *value)
{
	struct event_span rest = text;
	long double sum = 0;
	long exponent = 0, more = 0;
	bool point = false, any = false, negative = false;
	size_t i = 0;

	for (; i < rest.len; i++) {
		char c = rest.at[i];

		if (c == '.' && !point) {
			point = true;
			continue;
		}
		if (c < '0' || c > '9')
			break;
		any = true;
		/* What a long double cannot hold anyway is only counted. */
		if (sum < 1e17L) {
			sum = sum * 10 + (c - '0');
			exponent -= point;
		} else {
			exponent += !point;
		}
	}
	if (i < rest.len && (rest.at[i] == 'e' || rest.at[i] == 'E')) {
		i++;
		if (i < rest.len && (rest.at[i] == '-' || rest.at[i] == '+'))
			negative = rest.at[i++] == '-';
		if (i == rest.len)
			return false;
		for (; i < rest.len && rest.at[i] >= '0' && rest.at[i] <= '9' && more < 1000; i++)
			more = more * 10 + (rest.at[i] - '0');
	}
	if (!any || i != rest.len)
		return false;
	exponent += negative ? -more : more;
	if (exponent < -400 || exponent > 400)
		return false;
	for (; exponent > 0; exponent--)
		sum *= 10;
	if (exponent < 0) {
		long double unit = 1;

		for (; exponent < 0; exponent++)
			unit *= 10;
		sum /= unit;
	}
	*value = (double)sum;
	return true;
}

static int read_event_file(struct pmu_parse *p, struct event_span name, const char *suffix,
			   char *text, size_t cap)
{
	if (!event_is_file_name(name))
		return -ENOENT;
	return pmc_file_read(text, cap, "%s/%.*s/events/%.*s%s", p->parse->roots.sysfs,
			     (int)p->pmu.len, p->pmu.at, (int)name.len, name.at, suffix);
}

static bool is_named_event(struct pmu_parse *p, const struct term *term)
{
	char text[FILE_MAX];

	return !term->has_value && !event_has(term->name, '.') &&
	       read_event_file(p, term->name, "", text, sizeof(text)) >= 0;
}

static const struct term *find_term(const struct pmu_parse *p, struct event_span name)
{
	for (unsigned i = 0; i < p->n_terms; i++)
		if (p->terms[i].has_value && p->terms[i].name.len == name.len &&
		    !memcmp(p->terms[i].name.at, name.at, name.len))
			return &p->terms[i];
	return NULL;
}

static int apply_named_event(struct pmu_parse *p)
{
	struct event_span name = p->alias->name, rest;
	struct event_shown shown, field;
	char text[FILE_MAX];
	int rc = read_event_file(p, name, "", text, sizeof(text));

	if (rc < 0)
		return unknown_field(p, name);
	rest = (struct event_span){ text, (size_t)rc };
	while (rest.len) {
		struct event_span value = event_trim(event_split(&rest, ','));
		struct term term = { .has_value = event_has(value, '=') };

		term.name = event_trim(event_split(&value, '='));
		term.value = event_trim(value);
		if (event_span_is(term.value, "?")) {
			if (!find_term(p, term.name))
				return event_fail(p->parse, PMC_PARSE_BAD_VALUE, p->at,
						  "event '%s' needs a value for '%s', as in %s=1",
						  event_show(&shown, name),
						  event_show(&field, term.name), field.text);
			continue;
		}
		rc = set_field(p, &term);
		if (rc)
			return rc;
	}
	rc = read_event_file(p, name, ".scale", text, sizeof(text));
	if (rc >= 0 && !decimal((struct event_span){ text, (size_t)rc }, &p->event->scale))
		return event_fail(p->parse, PMC_PARSE_BAD_VALUE, p->at,
				  "the kernel's scale of event '%s' is not understood",
				  event_show(&shown, name));
	rc = read_event_file(p, name, ".unit", text, sizeof(text));
	if (rc > 0) {
		p->event->unit = pmc_arena_strndup(p->parse->arena, text, (size_t)rc);
		if (!p->event->unit)
			return -ENOMEM;
	}
	return 0;
}

/* ---- the whole ----------------------------------------------------------------------------*/

static int split_terms(struct pmu_parse *p, struct event_span body, struct event_span item)
{
	struct event_shown shown, other;
	bool more = true;

	if (!event_trim(body).len)
		return event_fail(p->parse, PMC_PARSE_SYNTAX, body.at,
				  "'%s' names no event between its slashes",
				  event_show(&shown, item));
	while (more) {
		struct term *term = &p->terms[p->n_terms];
		struct event_span value;

		if (p->n_terms == TERMS_MAX)
			return event_fail(p->parse, PMC_PARSE_SYNTAX, body.at,
					  "'%s' has more than %d fields", event_show(&shown, item),
					  TERMS_MAX);
		more = event_has(body, ',');
		value = event_trim(event_split(&body, ','));
		*term = (struct term){ .has_value = event_has(value, '=') };
		term->name = event_trim(event_split(&value, '='));
		term->value = event_trim(value);
		if (!term->name.len)
			return event_fail(p->parse, PMC_PARSE_SYNTAX, term->name.at,
					  "a field is missing in '%s'", event_show(&shown, item));
		p->at = term->name.at;
		if (is_named_event(p, term)) {
			if (p->alias)
				return event_fail(p->parse, PMC_PARSE_SYNTAX, p->at,
						  "'%s' and '%s' are two events: one each",
						  event_show(&shown, p->alias->name),
						  event_show(&other, term->name));
			p->alias = term;
		}
		p->n_terms++;
	}
	return 0;
}

static int set_name(struct pmu_parse *p, const struct term *term)
{
	if (!term->value.len)
		return event_fail(p->parse, PMC_PARSE_BAD_VALUE, p->at, "name= gives no name");
	p->event->name = pmc_arena_strndup(p->parse->arena, term->value.at, term->value.len);
	return p->event->name ? 0 : -ENOMEM;
}

static int find_pmu(struct pmu_parse *p)
{
	char text[32], hint[EVENT_NAME_MAX + 32];
	struct event_nearest nearest;
	struct event_shown shown;
	uint64_t type;
	int rc = -ENOENT;

	event_show(&shown, p->pmu);
	if (event_is_file_name(p->pmu))
		rc = pmc_file_read(text, sizeof(text), "%s/%s/type", p->parse->roots.sysfs,
				   shown.text);
	if (rc < 0) {
		event_nearest_init(&nearest, p->pmu);
		pmc_dir_visit(p->parse->roots.sysfs, try_name, &nearest);
		return event_fail(p->parse, PMC_PARSE_UNKNOWN_PMU, p->pmu.at,
				  "this machine has no PMU '%s'%s", shown.text,
				  event_nearest_text(&nearest, hint, sizeof(hint)));
	}
	if (!event_number((struct event_span){ text, (size_t)rc }, &type) || type > UINT32_MAX)
		return event_fail(p->parse, PMC_PARSE_UNKNOWN_PMU, p->pmu.at,
				  "the kernel's type of PMU '%s' is not understood", shown.text);
	p->event->type = (uint32_t)type;
	p->event->pmu = pmc_arena_strndup(p->parse->arena, p->pmu.at, p->pmu.len);
	return p->event->pmu ? 0 : -ENOMEM;
}

int event_pmu(struct event_parse *parse, struct event_span item, struct pmc_event *event)
{
	struct pmu_parse p = { .parse = parse, .event = event };
	struct event_span rest = item, body;
	struct event_shown shown;
	int rc;

	p.pmu = event_trim(event_split(&rest, '/'));
	if (!p.pmu.len)
		return event_fail(parse, PMC_PARSE_SYNTAX, item.at,
				  "'%s' names no PMU before its first slash",
				  event_show(&shown, item));
	if (!event_has(rest, '/'))
		return event_fail(parse, PMC_PARSE_SYNTAX, item.at, "'%s' lacks its closing slash",
				  event_show(&shown, item));
	body = event_split(&rest, '/');
	if (event_has(rest, '/'))
		return event_fail(parse, PMC_PARSE_SYNTAX, rest.at, "'%s' has too many slashes",
				  event_show(&shown, item));
	rc = find_pmu(&p);
	if (!rc)
		rc = split_terms(&p, body, item);
	if (!rc && p.alias) {
		p.at = p.alias->name.at;
		rc = apply_named_event(&p);
	}
	/* Fields beside a named event have the last word. */
	for (unsigned i = 0; !rc && i < p.n_terms; i++) {
		p.at = p.terms[i].name.at;
		if (&p.terms[i] == p.alias)
			continue;
		rc = p.terms[i].has_value && event_span_is(p.terms[i].name, "name") ?
			     set_name(&p, &p.terms[i]) :
			     set_field(&p, &p.terms[i]);
	}
	if (rc)
		return rc;
	/* perf writes cpu/.../u, other names take ":u": both are understood. */
	if (rest.len && rest.at[0] == ':') {
		rest.at++;
		rest.len--;
	} else if (!rest.len) {
		return EVENT_FOUND;
	}
	rc = event_modify(parse, rest, item, event);
	return rc ? rc : EVENT_FOUND;
}
