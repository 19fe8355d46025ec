/* SPDX-License-Identifier: MIT */
/* pmu.c - parses pmu/field=value,event,.../ by the files of the PMU in sysfs. */
#include "agent/core/event/source.h"
#include "agent/core/base/number.h"
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
	const struct term *alias; /* the term that names an event */
	const char *at;		  /* position of errors */
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

/* Parses a format such as "config1:0-7,32-35" into a word and a mask. */
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

/* Deposits the value's bits into the bits of the mask. False: the value has more. */
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
	struct event_nearest nearest;
	char path[PMC_PATH_MAX];
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
			  "unknown field or event '%s' of PMU '%s'%s", event_show(p->parse, name),
			  event_show(p->parse, p->pmu), event_nearest_text(&nearest));
}

static int set_field(struct pmu_parse *p, const struct term *term)
{
	uint64_t number = 1, mask = 0, *word;
	char format[128];
	int rc = -ENOENT;

	if (term->has_value && !event_number(term->value, &number))
		return event_fail(p->parse, PMC_PARSE_BAD_VALUE, p->at,
				  "value '%s' of field '%s': not a decimal or 0x number of 64 bits",
				  event_show(p->parse, term->value),
				  event_show(p->parse, term->name));
	if (event_is_file_name(term->name))
		rc = pmc_file_read(format, sizeof(format), "%s/%.*s/format/%.*s",
				   p->parse->roots.sysfs, (int)p->pmu.len, p->pmu.at,
				   (int)term->name.len, term->name.at);
	if (rc >= 0) {
		struct event_span text = { format, (size_t)rc };

		if (!format_parse(p->event, text, &word, &mask))
			return event_fail(p->parse, PMC_PARSE_UNKNOWN_FIELD, p->at,
					  "field '%s': unknown format '%s' in sysfs",
					  event_show(p->parse, term->name),
					  event_show(p->parse, text));
		if (!scatter(word, mask, number))
			return event_fail(p->parse, PMC_PARSE_BAD_VALUE, p->at,
					  "value '%s' of field '%s': more than %u bits",
					  event_show(p->parse, term->value),
					  event_show(p->parse, term->name),
					  (unsigned)__builtin_popcountll(mask));
		return 0;
	}
	word = config_of(p->event, term->name);
	if (word && term->has_value) {
		*word = number;
		return 0;
	}
	/* Sampling settings, which events in sysfs carry too, do not change a count. */
	if (term->has_value &&
	    (event_span_is(term->name, "period") || event_span_is(term->name, "freq")))
		return 0;
	if (!term->has_value) {
		struct pmc_event raw = { 0 };

		rc = event_raw(p->parse, term->name, &raw);
		/* The term may be from a sysfs file; the offset is in the user's text. */
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

static long double power_of_ten(unsigned n)
{
	long double power = 1;

	while (n-- > 0)
		power *= 10;
	return power;
}

/* A decimal such as 2.3283064365386962890625e-10. strtod() would depend on the locale. */
static bool decimal(struct event_span text, double *value)
{
	const char *p = text.at, *end = text.at + text.len;
	int digits = 0, exponent = 0;
	uint64_t more = 0;
	long double sum = 0;
	bool point = false, negative;

	for (; p < end && (*p == '.' ? !point : *p >= '0' && *p <= '9'); p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		sum = sum * 10 + (*p - '0');
		exponent -= point;
		digits++;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		negative = ++p < end && *p == '-';
		if (p < end && (*p == '-' || *p == '+'))
			p++;
		if (!pmc_number_take(&p, end, 10, &more) || more > 400)
			return false;
		exponent += negative ? -(int)more : (int)more;
	}
	if (!digits || p != end || digits > 400)
		return false;
	*value = (double)(exponent < 0 ? sum / power_of_ten((unsigned)-exponent) :
					 sum * power_of_ten((unsigned)exponent));
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
						  "event '%s': no value for '%s'; add %s=1",
						  event_show(p->parse, name),
						  event_show(p->parse, term.name),
						  event_show(p->parse, term.name));
			continue;
		}
		rc = set_field(p, &term);
		if (rc)
			return rc;
	}
	rc = read_event_file(p, name, ".scale", text, sizeof(text));
	if (rc >= 0 && !decimal((struct event_span){ text, (size_t)rc }, &p->event->scale))
		return event_fail(p->parse, PMC_PARSE_BAD_VALUE, p->at,
				  "event '%s': unknown scale in sysfs", event_show(p->parse, name));
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
	bool more = true;

	if (!event_trim(body).len)
		return event_fail(p->parse, PMC_PARSE_SYNTAX, body.at,
				  "'%s': no event between the slashes", event_show(p->parse, item));
	while (more) {
		struct term *term = &p->terms[p->n_terms];
		struct event_span value;

		if (p->n_terms == TERMS_MAX)
			return event_fail(p->parse, PMC_PARSE_SYNTAX, body.at,
					  "'%s': more than %d fields", event_show(p->parse, item),
					  TERMS_MAX);
		more = event_has(body, ',');
		value = event_trim(event_split(&body, ','));
		*term = (struct term){ .has_value = event_has(value, '=') };
		term->name = event_trim(event_split(&value, '='));
		term->value = event_trim(value);
		if (!term->name.len)
			return event_fail(p->parse, PMC_PARSE_SYNTAX, term->name.at,
					  "'%s': missing field", event_show(p->parse, item));
		p->at = term->name.at;
		if (is_named_event(p, term)) {
			if (p->alias)
				return event_fail(
					p->parse, PMC_PARSE_SYNTAX, p->at,
					"'%s' and '%s' are two events: write one item for each",
					event_show(p->parse, p->alias->name),
					event_show(p->parse, term->name));
			p->alias = term;
		}
		p->n_terms++;
	}
	return 0;
}

static int set_name(struct pmu_parse *p, const struct term *term)
{
	if (!term->value.len)
		return event_fail(p->parse, PMC_PARSE_BAD_VALUE, p->at, "name= without a name");
	p->event->name = pmc_arena_strndup(p->parse->arena, term->value.at, term->value.len);
	return p->event->name ? 0 : -ENOMEM;
}

static int find_pmu(struct pmu_parse *p)
{
	char text[32];
	struct event_nearest nearest;
	uint64_t type;
	int rc = -ENOENT;

	if (event_is_file_name(p->pmu))
		rc = pmc_file_read(text, sizeof(text), "%s/%.*s/type", p->parse->roots.sysfs,
				   (int)p->pmu.len, p->pmu.at);
	if (rc < 0) {
		event_nearest_init(&nearest, p->pmu);
		pmc_dir_visit(p->parse->roots.sysfs, try_name, &nearest);
		return event_fail(p->parse, PMC_PARSE_UNKNOWN_PMU, p->pmu.at, "unknown PMU '%s'%s",
				  event_show(p->parse, p->pmu), event_nearest_text(&nearest));
	}
	if (!event_number((struct event_span){ text, (size_t)rc }, &type) || type > UINT32_MAX)
		return event_fail(p->parse, PMC_PARSE_UNKNOWN_PMU, p->pmu.at,
				  "PMU '%s': unknown type in sysfs", event_show(p->parse, p->pmu));
	p->event->type = (uint32_t)type;
	p->event->pmu = pmc_arena_strndup(p->parse->arena, p->pmu.at, p->pmu.len);
	return p->event->pmu ? 0 : -ENOMEM;
}

int event_pmu(struct event_parse *parse, struct event_span item, struct pmc_event *event)
{
	struct pmu_parse p = { .parse = parse, .event = event };
	struct event_span rest = item, body;
	int rc;

	p.pmu = event_trim(event_split(&rest, '/'));
	if (!p.pmu.len)
		return event_fail(parse, PMC_PARSE_SYNTAX, item.at,
				  "'%s': no PMU before the first slash", event_show(parse, item));
	if (!event_has(rest, '/'))
		return event_fail(parse, PMC_PARSE_SYNTAX, item.at, "'%s': missing closing slash",
				  event_show(parse, item));
	body = event_split(&rest, '/');
	if (event_has(rest, '/'))
		return event_fail(parse, PMC_PARSE_SYNTAX, rest.at, "'%s': too many slashes",
				  event_show(parse, item));
	rc = find_pmu(&p);
	if (!rc)
		rc = split_terms(&p, body, item);
	if (!rc && p.alias) {
		p.at = p.alias->name.at;
		rc = apply_named_event(&p);
	}
	/* Fields override those of a named event. */
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
	/* Both cpu/.../u and cpu/.../:u. */
	if (rest.len && rest.at[0] == ':') {
		rest.at++;
		rest.len--;
	} else if (!rest.len) {
		return EVENT_FOUND;
	}
	rc = event_modify(parse, rest, item, event);
	return rc ? rc : EVENT_FOUND;
}
