/* SPDX-License-Identifier: MIT */
/* cells.c - columns by name, and the value a row has in them. */
#include "agent/core/report/view.h"
#include "agent/core/base/suggest.h"

#include <errno.h>
#include <string.h>

static struct pmc_cell number(bool known, uint64_t value)
{
	return (struct pmc_cell){ .kind = known ? PMC_CELL_NUMBER : PMC_CELL_NULL,
				  .number = value };
}

static struct pmc_cell real(double value)
{
	return (struct pmc_cell){ .kind = PMC_CELL_REAL, .real = value };
}

static struct pmc_cell textn(const char *text, size_t len)
{
	return (struct pmc_cell){ .kind = PMC_CELL_TEXT, .text = text, .len = len };
}

static struct pmc_cell text(const char *string)
{
	return textn(string, strlen(string));
}

static struct pmc_cell label(const struct pmc_p_thread *thread)
{
	size_t len;
	const char *name = pmc_thread_label(thread, &len);

	return textn(name, len);
}

static struct pmc_cell start(struct pmc_view *view, const struct pmc_p_thread *thread)
{
	struct pmc_out out;

	if (thread->symbol[0])
		return text(thread->symbol);
	pmc_out_to_mem(&out, view->text, sizeof(view->text));
	pmc_thread_start(thread, &out);
	return textn(view->text, out.len);
}

#define X(name, shown, value) #name,
const char *const pmc_thread_fields[] = {
#include "agent/core/report/fields.def"
};
#undef X
const unsigned pmc_n_thread_fields = sizeof(pmc_thread_fields) / sizeof(pmc_thread_fields[0]);

enum { IN_NONE, IN_CSV, IN_BOTH };
#define X(name, shown, value) shown,
static const unsigned char shown_in[] = {
#include "agent/core/report/fields.def"
};
#undef X

bool pmc_field_in_csv(unsigned field)
{
	return shown_in[field] != IN_NONE;
}

bool pmc_field_in_json(unsigned field)
{
	return shown_in[field] == IN_BOTH;
}

struct pmc_cell pmc_cell_field(struct pmc_view *view, unsigned field, const struct pmc_p_thread *t)
{
	const struct pmc_thread_fixed *f = &t->fixed;
	const struct pmc_p_process *p = t->process;
#define X(name, shown, value) FIELD_##name,
	enum {
#include "agent/core/report/fields.def"
	};
#undef X

	switch (field) {
#define X(name, shown, value)                                                                      \
	case FIELD_##name:                                                                         \
		return value;
#include "agent/core/report/fields.def"
#undef X
	default:
		return number(false, 0);
	}
}

enum {
	GROUP_KEY,
	GROUP_THREADS,
	GROUP_CPU_NS,
	GROUP_CPU,
	GROUP_FAULTS,
	GROUP_SWITCHES,
	GROUP_CALLS,
	GROUP_SELF_CPU_NS,
};
const char *const pmc_group_fields[] = { "key", "threads", "cpu_ns", "cpu", "faults", "switches",
					 "calls", "self_cpu_ns" };
const unsigned pmc_n_group_fields = sizeof(pmc_group_fields) / sizeof(pmc_group_fields[0]);

const struct pmc_part_name pmc_thread_parts[] = {
	{ "", PMC_PART_VALUE },
	{ ".raw", PMC_PART_RAW },
	{ ".enabled_ns", PMC_PART_ENABLED },
	{ ".running_ns", PMC_PART_RUNNING },
	{ ".state", PMC_PART_STATE },
};
const unsigned pmc_n_thread_parts = sizeof(pmc_thread_parts) / sizeof(pmc_thread_parts[0]);

const struct pmc_part_name pmc_group_parts[] = {
	{ ".sum", PMC_PART_VALUE }, { ".min", PMC_PART_MIN },	    { ".mean", PMC_PART_MEAN },
	{ ".max", PMC_PART_MAX },   { ".stddev", PMC_PART_STDDEV }, { ".state", PMC_PART_STATE },
	{ ".self", PMC_PART_SELF },
};
const unsigned pmc_n_group_parts = sizeof(pmc_group_parts) / sizeof(pmc_group_parts[0]);

unsigned pmc_view_group_parts(const struct pmc_view *view)
{
	return pmc_n_group_parts - (view->options->by != PMC_BY_REGION);
}

struct search {
	const char *name;
	size_t len;
	char nearest[96];
	unsigned distance;
};

/* Whether base + suffix is the name looked for; remembers the nearest miss. */
static bool tried(struct search *search, const char *base, const char *suffix)
{
	char full[sizeof(search->nearest)];
	struct pmc_out out;
	unsigned distance;

	pmc_out_to_mem(&out, full, sizeof(full));
	pmc_out_str(&out, base);
	pmc_out_str(&out, suffix);
	if (out.error) /* longer than any suggestion: only an exact match counts */
		return search->len == strlen(base) + strlen(suffix) &&
		       !memcmp(search->name, base, strlen(base)) &&
		       !memcmp(search->name + strlen(base), suffix, strlen(suffix));
	if (search->len == out.len && !memcmp(search->name, full, out.len))
		return true;
	distance = pmc_distance(search->name, search->len, full, out.len,
				pmc_distance_limit(search->len));
	if (distance < search->distance) {
		search->distance = distance;
		memcpy(search->nearest, full, sizeof(full));
	}
	return false;
}

static const char *problem_text(struct pmc_view *view, const struct search *search)
{
	char buf[256];
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, sizeof(buf));
	pmc_outf(&out, "no column \"%.*s\"", search->len > 96 ? 96 : (int)search->len,
		 search->name);
	if (search->nearest[0])
		pmc_outf(&out, "; the nearest is \"%s\"", search->nearest);
	else
		pmc_out_str(&out, "; the first line of --format csv names them all");
	/* The caller reads it when the view is gone. */
	return pmc_arena_strndup(&view->profile->arena, buf, out.len);
}

int pmc_ref_find(struct pmc_view *view, bool groups, const char *name, size_t len,
		 struct pmc_ref *ref)
{
	struct search search = { .name = name, .len = len };
	const char *const *fields = groups ? pmc_group_fields : pmc_thread_fields;
	unsigned n_fields = groups ? pmc_n_group_fields : pmc_n_thread_fields;
	const struct pmc_part_name *parts = groups ? pmc_group_parts : pmc_thread_parts;
	unsigned n_parts = groups ? pmc_n_group_parts : pmc_n_thread_parts;

	search.distance = pmc_distance_limit(len) + 1;
	*ref = (struct pmc_ref){ .kind = groups ? PMC_REF_GROUP : PMC_REF_FIELD };
	for (ref->index = 0; ref->index < n_fields; ref->index++)
		if (tried(&search, fields[ref->index], ""))
			return 0;
	ref->kind = PMC_REF_EVENT;
	/* Of a group too the bare name is the value: its sum. */
	for (ref->index = 0; ref->index < view->events.set.count; ref->index++)
		if (tried(&search, view->events.columns[ref->index]->label, ""))
			return 0;
	for (unsigned part = 0; part < n_parts; part++) {
		ref->part = parts[part].part;
		for (ref->index = 0; ref->index < view->events.set.count; ref->index++)
			if (tried(&search, view->events.columns[ref->index]->label,
				  parts[part].suffix))
				return 0;
	}
	*ref = (struct pmc_ref){ .kind = PMC_REF_METRIC };
	for (ref->index = 0; ref->index < pmc_n_metrics; ref->index++)
		if (tried(&search, pmc_metrics[ref->index].name, ""))
			return 0;
	view->problem = problem_text(view, &search);
	return -EINVAL;
}

static struct pmc_cell scaled(double value, bool whole, double scale)
{
	if (scale == 1 && whole)
		return number(true, (uint64_t)value);
	return real(value * scale);
}

/* Rows that are no threads (unattributed, total) are summed without their spread. */
static bool lacks_spread(const struct pmc_fold_stat *stat, enum pmc_part part)
{
	return (part == PMC_PART_MIN || part == PMC_PART_MEAN || part == PMC_PART_MAX ||
		part == PMC_PART_STDDEV) &&
	       stat->sum && stat->mean == 0;
}

struct pmc_cell pmc_cell_stat(const struct pmc_fold_stat *stat, double scale, enum pmc_part part,
			      uint64_t rows)
{
	enum pmc_state state = pmc_fold_state(stat, rows);

	if (part == PMC_PART_STATE)
		return text(pmc_state_name(state));
	if (!stat->rows || lacks_spread(stat, part))
		return number(false, 0);
	switch (part) {
	case PMC_PART_MIN:
		return scale == 1 ? number(true, stat->min) :
				    scaled((double)stat->min, true, scale);
	case PMC_PART_MEAN:
		return scaled(stat->mean, false, scale);
	case PMC_PART_MAX:
		return scale == 1 ? number(true, stat->max) :
				    scaled((double)stat->max, true, scale);
	case PMC_PART_STDDEV:
		return scaled(pmc_fold_stddev(stat), false, scale);
	case PMC_PART_RAW:
		return number(true, stat->raw);
	case PMC_PART_ENABLED:
		return number(true, stat->enabled_ns);
	case PMC_PART_RUNNING:
		return number(true, stat->running_ns);
	default:
		return scale == 1 ? number(true, stat->sum) :
				    scaled((double)stat->sum, true, scale);
	}
}

bool pmc_view_metric(struct pmc_view *view, unsigned metric, const struct pmc_fold_row *row,
		     uint64_t wall_ns, double *value)
{
	struct pmc_metric_input input = {
		.set = &view->events.set,
		.counts = view->counts,
		.has_cpu = row->cpu.rows && row->cpu.rows == row->rows + row->cpu.extra,
		.has_switches = row->usage_rows && row->usage_rows == row->rows,
		.cpu_ns = row->cpu.sum -
			  (wall_ns || row->cpu.sum < row->early_ns ? 0 : row->early_ns),
		.wall_ns = wall_ns ? wall_ns : row->wall_ns,
		.switches = row->voluntary_switches + row->involuntary_switches,
	};

	if (view->counts_of != row)
		pmc_fold_counts(row, &view->events, view->counts, &view->counts_whole);
	view->counts_of = row;
	if (!view->counts_whole)
		input.has_cpu = input.has_switches = false;
	return pmc_metric_compute(metric, &input, value);
}

struct pmc_cell pmc_cell_row(struct pmc_view *view, const struct pmc_ref *ref,
			     const struct pmc_fold_row *row)
{
	double value;

	switch (ref->kind) {
	case PMC_REF_EVENT:
		if (ref->part == PMC_PART_SELF && !row->self)
			return number(false, 0);
		if (ref->part == PMC_PART_SELF)
			return pmc_cell_stat(&row->self->events[ref->index],
					     view->events.set.events[ref->index].def.scale,
					     PMC_PART_VALUE, row->self->rows);
		return pmc_cell_stat(&row->events[ref->index],
				     view->events.set.events[ref->index].def.scale, ref->part,
				     row->rows);
	case PMC_REF_METRIC:
		return pmc_view_metric(view, ref->index, row, 0, &value) ? real(value) :
									   number(false, 0);
	case PMC_REF_GROUP:
		break;
	default:
		return number(false, 0);
	}
	switch (ref->index) {
	case GROUP_KEY:
		return text(row->label);
	case GROUP_THREADS:
		return number(true, row->threads);
	case GROUP_FAULTS:
		return number(row->usage_rows, row->minor_faults + row->major_faults);
	case GROUP_SWITCHES:
		return number(row->usage_rows, row->voluntary_switches + row->involuntary_switches);
	case GROUP_CALLS:
		return number(row->self, row->calls);
	case GROUP_SELF_CPU_NS:
		return number(row->self && row->self->cpu.rows, row->self ? row->self->cpu.sum : 0);
	default:
		return number(row->cpu.rows, row->cpu.sum);
	}
}

const struct pmc_p_thread *pmc_view_thread(struct pmc_view *view, const struct pmc_p_row *row)
{
	return pmc_profile_thread(view->profile, row, &view->buf);
}

const struct pmc_fold_row *pmc_view_row(struct pmc_view *view, const struct pmc_p_thread *thread)
{
	view->counts_of = NULL;
	pmc_fold_clear(&view->scratch, &view->events);
	pmc_fold_add(&view->scratch, &view->events, thread, false);
	return &view->scratch;
}

struct pmc_cell pmc_cell_thread(struct pmc_view *view, const struct pmc_ref *ref,
				const struct pmc_p_thread *thread)
{
	if (ref->kind == PMC_REF_FIELD)
		return pmc_cell_field(view, ref->index, thread);
	return pmc_cell_row(view, ref, pmc_view_row(view, thread));
}
