/* SPDX-License-Identifier: MIT */
/* columns.c - the columns of pmctl stat, in the order of CSV, and the cells of a line. */
#include "lib/base/clock.h"
#include "lib/dump/words.h"
#include "tools/stat/stat.h"

#include <stdio.h>
#include <string.h>

#define OF(by)	(1u << (by))
#define THREADS (OF(BY_THREAD) | OF(BY_POOL))
#define ANY	UINT_MAX
#define COMMAND OF(BY_TOTAL)

enum field {
#define X(name, ...) FIELD_##name,
#include "tools/stat/columns.def"
#undef X
	FIELDS
};

/* ---- columns ------------------------------------------------------------------------------ */

static void add(struct stat_job *stat, struct table_column column)
{
	/* A head goes on over intervals whose numbers are longer or shorter. */
	static const unsigned char least[] = {
		[TABLE_COUNT] = 7, [TABLE_NS] = 6, [TABLE_RATIO] = 5, [TABLE_TEXT] = 12
	};

	if (column.unit < sizeof(least) && stat->interval_ns)
		column.least = least[column.unit];
	column.kept = true;
	column.place = stat->n_columns;
	stat->columns[stat->n_columns++] = column;
}

static void add_fields(struct stat_job *stat, enum field from, enum field to)
{
	static const struct pmc_scale seconds = { 1e9, 3, "s" };
	static const struct {
		const char *name, *head;
		unsigned char kind, unit;
		unsigned by; /* kinds of rows that have it, as bits */
		bool shown;
	} fields[] = {
#define X(name, head, kind, unit, rows, shown, cell)                                               \
	{ #name, head, STAT_##kind, TABLE_##unit, rows, shown },
#include "tools/stat/columns.def"
#undef X
	};

	for (enum field f = from; f < to; f++) {
		const enum stat_column_kind kind = fields[f].kind;
		const bool usage = fields[f].by == COMMAND;

		if (!(fields[f].by & OF(stat->by)) || (usage && stat->target != STAT_COMMAND) ||
		    (f == FIELD_pid && stat->target != STAT_PROCESS && !stat->cmd))
			continue;
		add(stat, (struct table_column){
				  .name = fields[f].name,
				  .head = fields[f].head,
				  .kind = kind,
				  .unit = fields[f].unit,
				  .decimals = 2,
				  .index = f,
				  .when = fields[f].shown,
				  .scale = f == FIELD_time_ns ? &seconds : NULL,
				  /* Without --events the waits are what rows of threads are for. */
				  .drop = kind == STAT_KEY    ? TABLE_STAYS :
					  kind == STAT_AT     ? TABLE_DROP_METRIC :
					  f <= FIELD_oncpu_ns ? TABLE_DROP_LAST :
					  stat->events	      ? TABLE_DROP_USAGE :
								TABLE_DROP_EVENT,
				  .blank = kind == STAT_KEY || kind == STAT_AT || usage,
			  });
	}
}

/* Columns of waits, from the same counters of the scheduler, have these. */
static bool is_wait(const struct stat_job *stat, const struct pmc_event_def *def)
{
	if (!stat_has_waits(stat) || def->type == PMC_TYPE_OS)
		return stat_has_waits(stat) && def->config == PMC_OS_RUN_DELAY;
	return def->type == PERF_TYPE_SOFTWARE && (def->config == PERF_COUNT_SW_TASK_CLOCK ||
						   def->config == PERF_COUNT_SW_CONTEXT_SWITCHES);
}

static const char *head_of(struct stat_job *stat, const struct pmc_p_event *event)
{
	const bool user =
		event->def.flags & PMC_EVENT_FELL_BACK && event->def.scope == PMC_SCOPE_USER;

	return pmc_arena_format(&stat->arena, "%s%s",
				strcmp(event->name, "instructions") ? event->name : "instr",
				user ? ":u" : "");
}

static void add_event(struct stat_job *stat, unsigned e)
{
	static const struct {
		const char *suffix;
		unsigned char unit;
	} parts[] = {
		[STAT_RAW] = { ".raw", TABLE_COUNT },
		[STAT_ENABLED] = { ".enabled_ns", TABLE_NS },
		[STAT_RUNNING] = { ".running_ns", TABLE_NS },
		[STAT_STATE] = { ".state", TABLE_TEXT },
		[STAT_SCOPE] = { ".scope", TABLE_TEXT },
	};
	const struct pmc_p_event *event = &stat->live.view.events[e];
	struct table_column column = {
		.name = event->name,
		.head = head_of(stat, event),
		.scale_unit = event->unit,
		.kind = STAT_EVENT,
		.index = e,
		.unit = strcmp(event->unit, "ns") ? TABLE_COUNT : TABLE_NS,
		.when = !is_wait(stat, &event->def),
		/* Events that metrics show in fewer columns go first, and those asked for last. */
		.drop = stat->events ? TABLE_DROP_EVENT :
			event->def.type == PERF_TYPE_HARDWARE &&
					event->def.config > PERF_COUNT_HW_INSTRUCTIONS ?
				       TABLE_DROP_INPUT :
				       TABLE_DROP_USAGE,
	};

	add(stat, column);
	column.head = column.scale_unit = NULL;
	column.when = false;
	for (column.part = STAT_RAW; column.part <= STAT_SCOPE; column.part++) {
		column.suffix = parts[column.part].suffix;
		column.unit = parts[column.part].unit;
		add(stat, column);
	}
}

static void add_metrics(struct stat_job *stat)
{
	for (unsigned m = 0; m < pmc_n_metrics; m++)
		if (!pmc_metric_is_accounting(m) && pmc_metric_applies(m, &stat->live.view))
			add(stat, (struct table_column){
					  .name = pmc_metrics[m].name,
					  .head = pmc_metrics[m].column,
					  .kind = STAT_METRIC,
					  .index = m,
					  .unit = TABLE_RATIO,
					  .decimals = (unsigned char)pmc_metrics[m].decimals,
					  .when = live_shows_metric(&stat->live, m),
					  .drop = TABLE_DROP_METRIC });
}

/* Of tables: what was asked for comes first. */
static void choose_shown(struct stat_job *stat, struct table_column *shown)
{
	const enum stat_column_kind kinds[] = { STAT_KEY,
						STAT_CPU_USE,
						stat->events ? STAT_EVENT : STAT_WAIT,
						stat->events ? STAT_WAIT : STAT_EVENT,
						STAT_METRIC,
						STAT_AT };

	stat->shown = shown;
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (unsigned i = 0; i < stat->n_columns; i++)
			if (stat->columns[i].kind == kinds[k] && stat->columns[i].when)
				shown[stat->n_shown++] = stat->columns[i];
}

int stat_columns(struct stat_job *stat)
{
	const size_t room = FIELDS + pmc_n_metrics + stat->live.view.count * 6;
	struct table chosen = { .arena = &stat->arena };
	int code;

	stat->columns = pmc_arena_alloc(&stat->arena, room * sizeof(*stat->columns));
	add_fields(stat, 0, FIELD_cpus);
	for (unsigned e = 0; e < stat->live.view.count; e++)
		add_event(stat, e);
	if (stat_clock(stat) >= 0)
		add_fields(stat, FIELD_cpus, FIELD_oncpu_ns);
	add_metrics(stat);
	add_fields(stat, FIELD_oncpu_ns, FIELDS);
	choose_shown(stat, pmc_arena_alloc(&stat->arena, room * sizeof(*stat->columns)));
	chosen.columns = stat->columns;
	chosen.n_columns = stat->n_columns;
	code = tool_rows_choose(&stat->output, &chosen, 0);
	stat->data = chosen.columns;
	stat->n_data = chosen.n_columns;
	if (stat->output.choice.columns) {
		stat->shown = stat->data;
		stat->n_shown = stat->n_data;
	}
	/* The first column of the key. */
	for (unsigned i = stat->n_shown; i-- > 0;)
		if (stat->shown[i].kind == STAT_KEY && stat->shown[i].index >= FIELD_cpu)
			stat->label = stat->shown[i].index;
	return code;
}

static bool is_chosen(const struct stat_job *stat, enum field field)
{
	for (unsigned i = 0; i < stat->n_data; i++)
		if (stat->data[i].index == field && stat->data[i].kind != STAT_EVENT &&
		    stat->data[i].kind != STAT_METRIC)
			return true;
	return false;
}

void stat_choose_files(struct stat_job *stat)
{
	const struct table_choice *choice = &stat->output.choice;

	if (!choice->columns || choice->sort || choice->n_where || stat->prometheus)
		return;
	stat->budget.no_switches = !is_chosen(stat, FIELD_voluntary_switches) &&
				   !is_chosen(stat, FIELD_involuntary_switches);
	stat->budget.no_wchan = !is_chosen(stat, FIELD_blocked_at);
}

/* ---- cells -------------------------------------------------------------------------------- */

struct table_cell stat_event_cell(const struct stat_lines *lines, unsigned event)
{
	const struct live_events *live = &lines->stat->live;
	struct table_cell cell = live_event_cell(live, lines->at->counts, event);
	const bool lacks = lines->stat->lacks_ns ||
			   (lines->at->lacks_counts && (int)event != stat_clock(lines->stat));

	cell.partial = lacks && cell.kind != CELL_NULL && live_event_is_open(live, event);
	return cell;
}

enum pmc_state stat_event_state(const struct stat_lines *lines, unsigned event)
{
	return stat_event_cell(lines, event).partial ? PMC_PARTIAL : lines->at->counts[event].state;
}

static struct table_cell part_cell(const struct stat_lines *lines,
				   const struct table_column *column)
{
	const struct live_events *live = &lines->stat->live;
	const struct pmc_count *count = &lines->at->counts[column->index];

	switch ((enum stat_part)column->part) {
	case STAT_VALUE:
		return stat_event_cell(lines, column->index);
	case STAT_RAW:
		return cell_number(pmc_count_has_value(count), count->raw);
	case STAT_ENABLED:
		return cell_number(true, count->enabled_ns);
	case STAT_RUNNING:
		return cell_number(true, count->running_ns);
	case STAT_STATE:
		return cell_text(pmc_state_name(stat_event_state(lines, column->index)));
	default:
		return cell_text(pmc_scope_name(live->view.events[column->index].def.scope));
	}
}

static struct table_cell cpus_cell(const struct stat_lines *lines)
{
	const unsigned clock = (unsigned)stat_clock(lines->stat);
	const struct pmc_count *count = &lines->at->counts[clock];
	struct table_cell cell;

	if (!lines->ns || !pmc_count_has_value(count))
		return cell_null();
	cell = cell_real((double)pmc_count_value(count) / (double)lines->ns, TABLE_DECIMALS);
	cell.partial = stat_event_cell(lines, clock).partial;
	return cell;
}

static struct table_cell place_cell(const struct stat_lines *lines)
{
	const struct stat_row *line = lines->at;
	const struct live_place *most = live_place_most(line->places);
	static char text[LIVE_WCHAN + 8];
	uint64_t all = 0;

	if (line->task.pid && !lines->cumulative)
		return cell_text(line->task.wchan[0] ? line->task.wchan : NULL);
	for (unsigned i = 0; i < LIVE_PLACES; i++)
		all += line->places[i].ns;
	if (!all || !lines->labels)
		return cell_text(all ? most->name : NULL);
	snprintf(text, sizeof(text), "%s %u %%", most->name,
		 (unsigned)((double)most->ns * 100 / (double)all + 0.5));
	return cell_text(text);
}

/* Waits and switches. */
static struct table_cell at_least(const struct stat_row *line, uint64_t value)
{
	struct table_cell cell = cell_number(line->span.ns, value);

	cell.partial = line->span.lacks;
	return cell;
}

static struct table_cell part_of_key(int value)
{
	return cell_number(value >= 0, (uint64_t)value);
}

static struct table_cell field_cell(const struct stat_lines *lines, enum field field)
{
	const struct stat_job *stat = lines->stat;
	const struct stat_row *line = lines->at;
	const bool all = line->span.ns;
	const pid_t pid = line->task.pid	? line->task.pid :
			  stat->n_processes > 1 ? 0 :
			  stat->pid		? stat->pid :
						  stat->child_pid;

	switch (field) {
#define X(name, head, kind, unit, rows, shown, cell)                                               \
	case FIELD_##name:                                                                         \
		return cell;
#include "tools/stat/columns.def"
#undef X
	default:
		return cell_null();
	}
}

struct table_cell stat_cell(void *arg, const struct table_column *column)
{
	const struct stat_lines *lines = arg;
	const struct stat_job *stat = lines->stat;

	if (lines->labels && column->kind == STAT_KEY) {
		if (lines->at->label && column->index == stat->label)
			return cell_text(lines->at->label);
		if (stat->by == BY_THREAD && column->index == FIELD_name && lines->at->name &&
		    !lines->at->name[0])
			return cell_text("(unnamed)");
	}
	switch ((enum stat_column_kind)column->kind) {
	case STAT_EVENT:
		return part_cell(lines, column);
	case STAT_METRIC:
		return live_metric_cell(&stat->live, lines->at->counts, column->index);
	default:
		return field_cell(lines, (enum field)column->index);
	}
}
