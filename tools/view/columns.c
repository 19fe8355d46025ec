/* SPDX-License-Identifier: MIT */
/* columns.c - the columns of a view: those of columns.def, of its events and of its metrics. */
#include "tools/view/view.h"

#include <linux/perf_event.h>

enum {
	NONE,
	HIDDEN,
	PROCESS,
	CSV,
	BOTH,
	STEP,
	REGION,
	SAMPLED,
	MPI,
	WAITS,
	LENGTHS,
	ACROSS,
	N_SHOWN,
};

static const struct field {
	const char *name, *head;
	unsigned char unit, threads, groups, table;
} fields[] = {
#define X(name, head, unit, threads, groups, table, value)                                         \
	{ #name, head, TABLE_##unit, threads, groups, table },
#include "tools/view/columns.def"
#undef X
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

struct part {
	const char *suffix;
	enum pmc_part part;
	unsigned char unit; /* OF_VALUE: that of the value */
	const char *head;   /* in tables; NULL: the suffix */
};

enum { OF_VALUE = 0xff };

static const struct part thread_parts[] = {
	{ "", PMC_PART_VALUE, OF_VALUE, NULL },
	{ ".raw", PMC_PART_RAW, TABLE_COUNT, NULL },
	{ ".enabled_ns", PMC_PART_ENABLED, TABLE_NS, NULL },
	{ ".running_ns", PMC_PART_RUNNING, TABLE_NS, NULL },
	{ ".state", PMC_PART_STATE, TABLE_TEXT, NULL },
	{ ".scope", PMC_PART_SCOPE, TABLE_TEXT, NULL },
};
static const struct part group_parts[] = {
	{ ".sum", PMC_PART_VALUE, OF_VALUE, NULL },
	{ ".min", PMC_PART_MIN, OF_VALUE, NULL },
	{ ".mean", PMC_PART_MEAN, OF_VALUE, NULL },
	{ ".max", PMC_PART_MAX, OF_VALUE, NULL },
	{ ".stddev", PMC_PART_STDDEV, OF_VALUE, "σ" },
	{ ".imbalance", PMC_PART_IMBALANCE, TABLE_RATIO, "max/mean" },
	{ ".largest", PMC_PART_LARGEST, TABLE_TEXT, NULL },
	{ ".state", PMC_PART_STATE, TABLE_TEXT, NULL },
	{ ".scope", PMC_PART_SCOPE, TABLE_TEXT, NULL },
	{ ".self", PMC_PART_SELF, OF_VALUE, NULL },
};
enum { N_GROUP_PARTS = sizeof(group_parts) / sizeof(group_parts[0]) };

static bool has_part(const struct pmc_view *view, enum pmc_part part)
{
	return (part != PMC_PART_IMBALANCE && part != PMC_PART_LARGEST) || view->options->across;
}

static void add(struct pmc_columns *columns, const struct table_column *column)
{
	columns->list[columns->n] = *column;
	/* Names, IDs and numbers of rows have no value on purpose where they have none. */
	columns->list[columns->n++].blank |= column->unit <= TABLE_WHOLE;
}

const char *const pmc_by_names[PMC_N_BY] = {
#define X(name, alias, value, doc) [value] = #name,
#include "tools/rows/by.def"
#undef X
};
const char *const pmc_by_aliases[PMC_N_BY] = {
#define X(name, alias, value, doc) [value] = alias,
#include "tools/rows/by.def"
#undef X
};

static void find_shown(const struct pmc_view *view, bool there[N_SHOWN])
{
	const struct pmc_report_options *options = view->options;
	const struct pmc_profile *profile = view->profile;
	/* Steps and regions are parts of a thread, of which no samples are kept. */
	const uint64_t n = options->timeline || view->by == PMC_BY_REGION ? 0 : profile->n_samples;

	there[HIDDEN] = there[CSV] = there[BOTH] = true;
	there[STEP] = options->timeline;
	there[REGION] = view->by == PMC_BY_REGION;
	there[ACROSS] = options->across;
	for (uint64_t i = 0; i < n; i++) {
		const struct pmc_p_samples *samples = profile->samples[i];

		there[SAMPLED] |= samples->event && !pmc_is_off_cpu(samples->event);
		there[WAITS] |= (samples->fixed.flags & PMC_SAMPLES_LENGTHS) != 0;
	}
	there[LENGTHS] = there[WAITS];
	for (unsigned i = 0; i <= view->n_outer; i++)
		there[PROCESS] |= pmc_key_at(view, i) == PMC_BY_PROCESS ||
				  pmc_key_at(view, i) == PMC_BY_THREAD;
	there[MPI] = there[SAMPLED] && profile->has_mpi;
}

static const char *part_head(const struct pmc_view *view, const struct part *part)
{
	if (part->part != PMC_PART_LARGEST)
		return part->head && !(part->part == PMC_PART_STDDEV &&
				       view->options->screen.ascii) ?
			       part->head :
			       part->suffix + 1;
	return pmc_arena_format(view->arena, "max %s", pmc_by_names[view->options->across]);
}

/* --across shows the statistics of the time outside the MPI library in place of those of CPU time:
 * ranks that wait use CPU time, too. */
static void add_spread(struct pmc_view *view, unsigned field, bool leads,
		       struct pmc_columns *columns)
{
	for (unsigned p = 1; p < N_GROUP_PARTS; p++) {
		const struct part *part = &group_parts[p];

		if (part->part > PMC_PART_LARGEST || !has_part(view, part->part))
			continue;
		add(columns,
		    &(struct table_column){
			    .name = fields[field].name,
			    .suffix = part->suffix,
			    .head = part_head(view, part),
			    .kind = PMC_COL_CPU,
			    .index = field,
			    .part = part->part,
			    .unit = part->unit == OF_VALUE ? TABLE_NS : part->unit,
			    .when = leads ? LEAD : WIDE,
			    .drop = !view->options->across || part->part == PMC_PART_STDDEV ?
					    TABLE_DROP_SPREAD :
				    part->part < PMC_PART_STDDEV ? TABLE_DROP_EVENT :
								   TABLE_DROP_LAST,
			    .blank = true,
		    });
	}
}

static const char *plural(struct pmc_view *view, enum pmc_fold_by by)
{
	const char *name = pmc_by_names[by];

	return pmc_arena_format(view->arena, "%s%s", name,
				name[strlen(name) - 1] == 's' ? "es" : "s");
}

static void add_field(struct pmc_view *view, bool groups, unsigned i, const bool there[N_SHOWN],
		      struct pmc_columns *columns)
{
	static const unsigned char places[N_FIELDS] = {
		[PMC_FIELD_wait_ns] = 1,
		[PMC_FIELD_wait_p99_ns] = 2,
		[PMC_FIELD_longest_wait_ns] = 3,
		[PMC_FIELD_wait_p50_ns] = PMC_WAITS_PLACES,
		[PMC_FIELD_args] = 1,
		[PMC_FIELD_elapsed_ns] = PMC_WAITS_PLACES,
	};
	static const unsigned char drops[] = { [USAGE] = TABLE_DROP_USAGE,
					       [EXTRA] = TABLE_DROP_SPREAD,
					       [LAST] = TABLE_DROP_LAST,
					       [ALWAYS] = TABLE_STAYS,
					       [REST] = TABLE_DROP_USAGE };
	const unsigned shown = groups ? fields[i].groups : fields[i].threads;
	const unsigned when = fields[i].table;
	struct table_column column = {
		.name = fields[i].name,
		.head = fields[i].head,
		.kind = PMC_COL_FIELD,
		.index = i,
		.unit = fields[i].unit,
		.when = when < USAGE ? when : USAGE,
		.place = places[i],
		.drop = i == PMC_FIELD_elapsed_ns ? TABLE_DROP_USAGE : drops[when],
		.hidden = shown == HIDDEN || shown == LENGTHS || shown == PROCESS,
		.rest = when == REST,
		.blank = shown == PROCESS,
		.json = shown >= BOTH,
	};

	if (!there[shown] || (i == PMC_FIELD_at && !there[STEP]))
		return;
	/* Regions have none of these, only the line of all threads has. */
	if (view->by == PMC_BY_REGION && when == USAGE)
		column.drop = TABLE_DROP_SPREAD;
	if (i == PMC_FIELD_parts)
		column.head = plural(view, view->options->across);
	add(columns, &column);
	/* The spread of CPU time stands beside its sum. */
	if (groups && (i == PMC_FIELD_cpu_ns || i == PMC_FIELD_outside_mpi_ns))
		add_spread(view, i, (i == PMC_FIELD_cpu_ns) != (there[ACROSS] && there[MPI]),
			   columns);
}

/* In tables; NULL: as the name. */
static const char *event_head(struct pmc_view *view, unsigned i, const struct part *part)
{
	const char *name = view->events.columns[i].label;
	const bool value = part->part == PMC_PART_VALUE;
	const struct pmc_event_def *def = &view->events.set.events[i].def;
	const bool user = def->flags & PMC_EVENT_FELL_BACK && def->scope == PMC_SCOPE_USER;
	struct pmc_out out = PMC_OUT_MEM(128);

	if (value && !strcmp(name, "instructions"))
		name = "instr";
	else if (value && !user)
		return NULL;
	pmc_outf(&out, "%.100s%s", name, user ? ":u" : "");
	if (!value)
		pmc_outf(&out, " %s", part_head(view, part));
	return pmc_arena_strndup(view->arena, out.buf, out.len);
}

/* Whether some metric is made of this event and shows it in fewer columns. */
static bool is_input(struct pmc_view *view, unsigned event)
{
	struct pmc_event_def *def = &view->events.events[event].def;
	struct pmc_event_def kept = *def;
	bool input = false;

	/* Cycles and instructions are worth seeing for themselves. */
	if (def->type == PERF_TYPE_HARDWARE && def->config <= PERF_COUNT_HW_INSTRUCTIONS)
		return false;
	def->type = UINT32_MAX;
	for (unsigned i = 0; i < pmc_n_metrics && !input; i++)
		input = view->events.ratios >> i & 1 && !pmc_metric_applies(i, &view->events.set);
	*def = kept;
	return input;
}

static void add_event(struct pmc_view *view, bool groups, unsigned i, struct pmc_columns *columns)
{
	unsigned n = groups ? N_GROUP_PARTS - (view->by != PMC_BY_REGION) :
			      sizeof(thread_parts) / sizeof(thread_parts[0]);
	const struct part *parts = groups ? group_parts : thread_parts;
	const struct pmc_p_event *event = &view->events.set.events[i];
	const enum table_drop drop =
		event->core_type[0] || is_input(view, i) ? TABLE_DROP_INPUT : TABLE_DROP_EVENT;
	const unsigned char unit = !strcmp(event->unit, "ns") ? TABLE_NS : TABLE_COUNT;
	/* Counted for the whole machine: no row has it. */
	const bool uncore =
		event->def.flags & PMC_EVENT_UNCORE || event->def.error == PMC_REASON_UNCORE;

	for (unsigned p = 0; p < n; p++) {
		bool value = parts[p].part == PMC_PART_VALUE;
		bool word = parts[p].part == PMC_PART_STATE || parts[p].part == PMC_PART_SCOPE;
		struct table_column column = {
			.name = view->events.columns[i].label,
			.suffix = parts[p].suffix,
			.kind = PMC_COL_EVENT,
			.index = i,
			.part = parts[p].part,
			.unit = parts[p].unit != OF_VALUE ? parts[p].unit : unit,
			.when = value ? LEAD :
				word  ? NEVER :
					WIDE,
			.drop = !value ? TABLE_DROP_SPREAD : drop,
			.kept = value && view->requested[i] && !uncore,
		};

		if (!has_part(view, parts[p].part))
			continue;
		if (!groups && !value)
			column.when = NEVER;
		if (groups && column.when == WIDE && parts[p].part != PMC_PART_SELF)
			column.blank = true;
		if (column.unit == TABLE_COUNT)
			column.scale_unit = event->unit;
		if (column.when != NEVER)
			column.head = event_head(view, i, &parts[p]);
		add(columns, &column);
	}
}

/* Rows by which a column of samples has values or leads, as bits. */
enum {
	FUNCTIONS = 1 << PMC_BY_FUNCTION,
	LINES = 1 << PMC_BY_LINE,
	MODULES = 1 << PMC_BY_MODULE,
	PATHS = 1 << PMC_BY_PATH,
	WAKERS = 1 << PMC_BY_WAKER,
	NAMED = FUNCTIONS | LINES | PATHS,
	CODE = NAMED | MODULES,
	ALL = CODE | WAKERS,
};

static const struct sample_field {
	const char *name, *head;
	unsigned char unit;
	unsigned of, table;
} of_samples[] = {
#define X(name, head, unit, of, table, value) { #name, head, TABLE_##unit, of, table },
#include "tools/view/sample_columns.def"
#undef X
};

/* Waits are compared by their time: a table shows it, in place of weights. */
static bool leads(const struct pmc_view *view, unsigned i)
{
	const struct pmc_p_event *event = view->samples.event;
	const bool weight = i == PMC_SAMPLE_self || i == PMC_SAMPLE_total;

	return of_samples[i].table >> view->by & 1 &&
	       !(weight && !(event && pmc_is_off_cpu(event))) &&
	       !(i == PMC_SAMPLE_self_pct && view->options->inverted);
}

static void add_sample_columns(struct pmc_view *view, struct pmc_columns *columns)
{
	for (unsigned i = 0; i < sizeof(of_samples) / sizeof(of_samples[0]); i++) {
		const struct sample_field *field = &of_samples[i];

		/* The column of the key has its values. */
		if (!(field->of >> view->by & 1) ||
		    (view->n_outer && !strcmp(field->name, pmc_by_names[view->by])))
			continue;
		add(columns, &(struct table_column){
				     .name = field->name,
				     .head = field->head,
				     .kind = PMC_COL_SAMPLE,
				     .index = i,
				     .unit = field->unit,
				     .when = leads(view, i) ? LEAD : NEVER,
				     .drop = i == PMC_SAMPLE_threads ? TABLE_DROP_SPREAD :
					     i == PMC_SAMPLE_module  ? TABLE_DROP_INPUT :
								       TABLE_STAYS,
				     .json = true,
			     });
	}
}

/* Weights of nanoseconds are times. */
void pmc_columns_of_event(const struct pmc_view *view, struct pmc_columns *columns)
{
	const struct pmc_p_event *event = view->samples.event;
	const bool waker = view->by == PMC_BY_WAKER;
	const char *const heads[] = {
		[PMC_SAMPLE_samples] = "waits",
		[PMC_SAMPLE_total_samples] = "total waits",
		/* A waker calls nothing. */
		[PMC_SAMPLE_self] = waker ? "wait" : NULL,
		[PMC_SAMPLE_self_pct] = waker ? "%" : NULL,
	};

	for (unsigned i = 0; i < columns->n && event && !strcmp(event->unit, "ns"); i++) {
		struct table_column *column = &columns->list[i];

		if (column->kind != PMC_COL_SAMPLE)
			continue;
		if (column->index == PMC_SAMPLE_self || column->index == PMC_SAMPLE_total)
			column->unit = TABLE_NS;
		if (!pmc_is_off_cpu(event))
			continue;
		column->when = leads(view, column->index) ? LEAD : NEVER;
		if (column->index < sizeof(heads) / sizeof(heads[0]) && heads[column->index])
			column->head = heads[column->index];
	}
}

static void add_metrics(struct pmc_view *view, struct pmc_columns *columns)
{
	for (unsigned i = 0; i < pmc_n_metrics; i++) {
		const struct pmc_metric *metric = &pmc_metrics[i];
		struct table_column column = {
			.name = metric->name,
			.head = metric->column,
			.kind = PMC_COL_METRIC,
			.index = i,
			.unit = TABLE_RATIO,
			.decimals = (unsigned char)metric->decimals,
			.when = metric->table ? LEAD : WIDE,
			.drop = TABLE_DROP_METRIC,
			.json = true,
		};

		if (!pmc_metric_is_accounting(i) && !(view->events.ratios >> i & 1))
			continue;
		add(columns, &column);
		if (pmc_metric_is_accounting(i))
			continue;
		/* JSON has these in an object of their own. */
		column.suffix = ".state";
		column.head = NULL;
		column.part = PMC_PART_STATE;
		column.unit = TABLE_TEXT;
		column.when = NEVER;
		column.json = false;
		add(columns, &column);
	}
}

enum pmc_fold_by pmc_key_at(const struct pmc_view *view, unsigned i)
{
	return i < view->n_outer  ? (enum pmc_fold_by)view->outer[i] :
	       i == view->n_outer ? view->by :
				    PMC_BY_NONE;
}

/* One is named key, as the text of all of several is in JSON. */
static void add_keys(struct pmc_view *view, struct pmc_columns *columns)
{
	struct table_column column = {
		.name = "key", .kind = PMC_COL_KEY, .unit = TABLE_TEXT, .json = true
	};

	if (view->n_outer) {
		column.index = PMC_ALL_KEYS;
		column.hidden = true;
		add(columns, &column);
		column.hidden = false;
	}
	for (unsigned i = 0; i <= view->n_outer; i++) {
		const enum pmc_fold_by by = pmc_key_at(view, i);

		column.index = i;
		/* A line of a tree is a path. */
		column.head = by == PMC_BY_PATH ? "path" : pmc_by_names[by ? by : PMC_BY_THREAD];
		column.name = view->n_outer ? column.head : "key";
		if (by == PMC_BY_TIME)
			column.head = "time s";
		add(columns, &column);
	}
}

void pmc_columns_make(struct pmc_view *view, bool groups, struct pmc_columns *columns)
{
	unsigned events = view->events.set.count;
	bool there[N_SHOWN] = { false };

	find_shown(view, there);
	columns->list = pmc_arena_alloc(view->arena, (N_FIELDS + PMC_KEYS_MOST + 2 * N_GROUP_PARTS +
						      events * N_GROUP_PARTS + 2 * pmc_n_metrics) *
							     sizeof(*columns->list));
	if (groups)
		add_keys(view, columns);
	if (groups && pmc_by_samples(view->by)) {
		add_sample_columns(view, columns);
		for (unsigned i = PMC_FIELD_cmdline; i <= PMC_FIELD_args; i++)
			add_field(view, groups, i, there, columns);
		columns->n_fields = columns->first_metric = columns->n;
	} else {
		for (unsigned i = 0; i < N_FIELDS; i++)
			add_field(view, groups, i, there, columns);
		columns->n_fields = columns->n;
		for (unsigned i = 0; i < events; i++)
			add_event(view, groups, i, columns);
		columns->first_metric = columns->n;
		add_metrics(view, columns);
	}
}

/* ---- by name ----------------------------------------------------------------------------- */

const struct table_column *pmc_columns_find(struct pmc_view *view,
					    const struct pmc_columns *columns, const char *name,
					    size_t len)
{
	/* The profile's arena: the problem is read after the view is gone. */
	return table_find(columns->list, columns->n, name, len, &view->profile->arena,
			  &view->problem);
}

/* Says so where rows of the other kind have the column that these lack. */
static void name_owner(struct pmc_view *view, const struct pmc_columns *from)
{
	const bool groups = from->list == view->of_groups.list;
	const struct pmc_columns *other = groups ? &view->of_threads : &view->of_groups;
	struct pmc_arena *arena = view->arena;
	const char *name = view->options->columns, *none;
	size_t len = strcspn(name, ",");

	while (table_find(from->list, from->n, name, len, arena, &none)) {
		name += len + 1;
		len = strcspn(name, ",");
	}
	if (table_find(other->list, other->n, name, len, arena, &none))
		view->problem = pmc_arena_format(
			&view->profile->arena,
			groups ? "rows of this --by have no column '%.*s', those of threads do" :
				 "single threads have no column '%.*s', groups (--by) do",
			(int)len, name);
}

int pmc_columns_choose(struct pmc_view *view, const struct pmc_columns *from,
		       struct pmc_columns *chosen)
{
	const int err =
		table_choose(from->list, from->n, view->options->columns, &view->profile->arena,
			     &chosen->list, &chosen->n, &view->problem);

	if (err)
		name_owner(view, from);
	return err;
}
