/* SPDX-License-Identifier: MIT */
/* json.c - a profile as JSON: every process, every row, null where nothing is known. */
#include "lib/base/labels.h"
#include "tools/view/view.h"

#include <errno.h>

/* ---- events -------------------------------------------------------------------------------*/

static inline void put_member(struct pmc_out *out, const char *key, const char *text)
{
	pmc_out_str(out, key);
	pmc_json_quoted(out, text, strlen(text));
}

static inline void put_known(struct pmc_out *out, bool known, uint64_t value)
{
	if (known)
		pmc_out_u64(out, value);
	else
		pmc_out_bytes(out, "null", 4);
}

static void put_event(const struct pmc_view *view, struct pmc_out *out,
		      const struct pmc_p_event *event, const struct pmc_count *count)
{
	struct pmc_advice here;
	bool has_value = pmc_count_has_value(count), has_times = has_value || count->enabled_ns;
	double scale = pmc_event_scale(event);
	uint64_t value = has_value ? pmc_count_value(count) : 0;
	double scaled = (double)value * scale;

	put_member(out, "{\"name\":", event->name);
	pmc_out_str(out, ",\"value\":");
	if (has_value && scale != 1 && pmc_out_fixed_fits(scaled))
		pmc_out_fixed(out, scaled, TABLE_SCALED_DECIMALS);
	else
		put_known(out, has_value && scale == 1, value);
	pmc_out_str(out, ",\"raw\":");
	put_known(out, has_value, count->raw);
	pmc_out_str(out, ",\"enabled_ns\":");
	put_known(out, has_times, count->enabled_ns);
	pmc_out_str(out, ",\"running_ns\":");
	put_known(out, has_times, count->running_ns);
	pmc_outf(out, ",\"scope\":\"%s\",\"state\":\"%s\"", pmc_scope_name(event->def.scope),
		 pmc_state_name(count->state));
	if (event->core_type[0])
		put_member(out, ",\"core_type\":", event->core_type);
	else
		pmc_out_str(out, ",\"core_type\":null");
	if (event->unit[0])
		put_member(out, ",\"unit\":", event->unit);
	if (event->cpus[0])
		put_member(out, ",\"cpus\":", event->cpus);
	if (!has_value && count->error)
		put_member(out, ",\"reason\":",
			   pmc_view_advise(view, &event->def, count->error, &here) ?
				   here.means :
				   pmc_reason_text(count->error));
	pmc_out_char(out, '}');
}

static bool is_chosen(const struct pmc_columns *chosen, unsigned kind, unsigned index)
{
	for (unsigned i = 0; i < chosen->n; i++)
		if (chosen->list[i].kind == kind && chosen->list[i].index == index)
			return true;
	return false;
}

/* A part of a sum is a member of an object that has the column's name. */
static void prepare_column(struct pmc_view *view, struct table_column *column)
{
	const bool part = column->kind != PMC_COL_METRIC && column->suffix && column->suffix[0];
	const char *name = part ? column->suffix + 1 : column->name;
	const size_t cap = 6 * strlen(name) + 8;
	struct pmc_out out;

	pmc_out_to_mem(&out, pmc_arena_alloc(view->arena, cap), cap);
	put_member(&out, ",", name);
	pmc_out_char(&out, ':');
	column->member = out.buf;
}

/* Makes those of --columns the members of rows, and of the objects in them. */
static int choose(struct pmc_view *view, const struct pmc_columns *from)
{
	struct pmc_columns *const lists[] = { &view->of_threads, &view->of_groups };
	struct pmc_columns chosen = { 0 };

	for (unsigned l = 0; l < 2; l++)
		for (unsigned i = 0; i < lists[l]->n; i++)
			prepare_column(view, &lists[l]->list[i]);
	view->json_events = pmc_arena_alloc(view->arena, view->events.set.count + 1);
	for (unsigned i = 0; i < view->events.set.count; i++)
		view->json_events[i] = !view->options->columns;
	if (!view->options->columns)
		return 0;
	if (pmc_columns_choose(view, from, &chosen))
		return -EINVAL;
	for (unsigned i = 0; i < view->events.set.count; i++)
		view->json_events[i] = is_chosen(&chosen, PMC_COL_EVENT, i);
	for (unsigned l = 0; l < 2; l++)
		for (unsigned i = 0; i < lists[l]->n; i++) {
			struct table_column *column = &lists[l]->list[i];

			column->json = is_chosen(&chosen, column->kind, column->index) &&
				       (column->kind != PMC_COL_METRIC || !column->part);
		}
	return 0;
}

static void json_events(struct pmc_view *view, struct pmc_json *json, const char *key,
			const struct pmc_p_set_view *set, const struct pmc_count *counts)
{
	const uint16_t *map =
		set && view->options->columns ? pmc_union_map(&view->events, set) : NULL;
	bool some = false;

	pmc_json_array(json, key);
	for (unsigned i = 0; set && counts && i < set->count; i++) {
		if (map && (map[i] == PMC_NO_COLUMN || !view->json_events[map[i]]))
			continue;
		if (some)
			pmc_out_char(view->out, ',');
		some = true;
		put_event(view, view->out, &set->events[i], &counts[i]);
	}
	pmc_json_array_end(json);
}

/* ---- rows ---------------------------------------------------------------------------------*/

/* member: `,"NAME":` */
static void put_value(struct pmc_json *json, const char *member, const struct table_cell *cell)
{
	pmc_out_str(json->out, member + !json->need_comma);
	table_put_json(json->out, cell);
	json->need_comma = true;
}

/* Of several keys: they are in an object of their own. */
static bool is_one_key(const struct pmc_view *view, const struct table_column *column)
{
	return column->kind == PMC_COL_KEY && view->n_outer && column->index != PMC_ALL_KEYS;
}

/* Columns as members of the current object, and a list of those that are lower bounds. */
static void put_cells(struct pmc_view *view, struct pmc_json *json,
		      const struct table_column *column, unsigned n, const struct pmc_row *row)
{
	const char *partial[32];
	unsigned n_partial = 0;

	for (const struct table_column *end = column + n; column < end; column++) {
		struct table_cell cell;

		if (column->kind == PMC_COL_CPU || !column->json || is_one_key(view, column))
			continue;
		cell = pmc_cell(view, column, row);
		put_value(json, column->member, &cell);
		if (cell.partial && cell.kind != CELL_NULL && n_partial < 32)
			partial[n_partial++] = column->name;
	}
	if (!n_partial)
		return;
	pmc_json_array(json, "partial");
	for (unsigned i = 0; i < n_partial; i++)
		pmc_json_str(json, NULL, partial[i]);
	pmc_json_array_end(json);
}

static void json_metrics(struct pmc_view *view, struct pmc_json *json,
			 const struct pmc_columns *columns, const struct pmc_row *row)
{
	const struct table_column *list = columns->list + columns->first_metric;
	const unsigned n = columns->n - columns->first_metric;
	unsigned char states[64];
	bool estimates = false;

	pmc_json_object(json, "metrics");
	for (unsigned i = 0; i < n; i++) {
		struct table_cell cell = { .kind = CELL_NULL };

		if (list[i].json) {
			cell = pmc_cell(view, &list[i], row);
			put_value(json, list[i].member, &cell);
		}
		states[i] = cell.estimate;
		estimates |= cell.estimate != PMC_RATIO_EXACT;
	}
	pmc_json_object_end(json);
	if (!estimates)
		return;
	pmc_json_object(json, "metric_states");
	for (unsigned i = 0; i < n; i++)
		if (states[i] != PMC_RATIO_EXACT)
			pmc_json_str(json, list[i].name, pmc_ratio_state_name(states[i]));
	pmc_json_object_end(json);
}

static void json_row(struct pmc_view *view, struct pmc_json *json, const struct pmc_row *row)
{
	const struct pmc_p_set_view *set;
	struct pmc_count none[PMC_SET_EVENTS_MAX];
	const struct pmc_count *counts = pmc_union_counts(&view->events, row->thread, &set, none);

	put_cells(view, json, view->of_threads.list, view->of_threads.n_fields, row);
	json_events(view, json, "events", set, counts);
	json_metrics(view, json, &view->of_threads, row);
}

/* The sum in the column `first`, and its statistics in the columns after it. */
static void json_stat(struct pmc_view *view, struct pmc_json *json, unsigned first,
		      const struct pmc_row *row)
{
	const struct table_column *column = &view->of_groups.list[first];

	do {
		struct table_cell cell = pmc_cell(view, column, row);

		put_value(json, column->part ? column->member : ",\"sum\":", &cell);
		column++;
	} while (column->part > PMC_PART_VALUE && column->part <= PMC_PART_LARGEST);
}

static void json_group_event(struct pmc_view *view, struct pmc_json *json, unsigned first,
			     const struct pmc_row *row)
{
	const struct table_column *column = &view->of_groups.list[first];
	const struct pmc_p_event *event = &view->events.set.events[column->index];
	const struct pmc_fold_stat *stat = &row->sums->events[column->index];
	bool mixed = view->events.columns[column->index].mixed_scope;
	struct pmc_out *out = view->out;

	pmc_out_str(out, json->need_comma ? "," : "");
	put_member(out, "{\"name\":", event->name);
	pmc_out_str(out, ",\"state\":\"");
	pmc_out_str(out, pmc_state_name(pmc_fold_state(stat, row->sums->rows)));
	pmc_out_char(out, '"');
	json->need_comma = true;
	json_stat(view, json, first, row);
	if (row->sums->self) {
		struct table_cell cell;

		while (column->part != PMC_PART_SELF)
			column++;
		cell = pmc_cell(view, column, row);
		put_value(json, column->member, &cell);
	}
	pmc_out_str(out, ",\"counted_rows\":");
	pmc_out_u64(out, stat->rows);
	pmc_out_str(out, ",\"rows\":");
	pmc_out_u64(out, row->sums->rows);
	pmc_json_str(json, "scope", mixed ? NULL : pmc_scope_name(event->def.scope));
	pmc_json_str(json, "core_type", event->core_type[0] ? event->core_type : NULL);
	pmc_out_char(out, '}');
}

static void json_keys(struct pmc_view *view, struct pmc_json *json, const struct pmc_row *row)
{
	const struct pmc_columns *columns = &view->of_groups;
	bool any = false;

	for (unsigned i = 0; i < columns->n_fields; i++) {
		const struct table_column *column = &columns->list[i];
		struct table_cell cell;

		if (!column->json || !is_one_key(view, column))
			continue;
		if (!any)
			pmc_json_object(json, "keys");
		any = true;
		cell = pmc_cell(view, column, row);
		put_value(json, column->member, &cell);
	}
	if (any)
		pmc_json_object_end(json);
}

static void json_group(struct pmc_view *view, struct pmc_json *json, const struct pmc_row *row)
{
	const struct pmc_columns *columns = &view->of_groups;

	put_cells(view, json, columns->list, columns->n_fields, row);
	json_keys(view, json, row);
	if (row->sample)
		return;
	for (unsigned i = 1; i < columns->n; i++) {
		if (columns->list[i].kind != PMC_COL_CPU || columns->list[i].part != PMC_PART_MIN)
			continue;
		/* Its sum is the column in front. */
		if (!columns->list[i - 1].json && !columns->list[i].json)
			continue;
		pmc_json_object(json,
				columns->list[i].index == PMC_FIELD_cpu_ns ? "cpu" : "outside_mpi");
		json_stat(view, json, i - 1, row);
		pmc_json_object_end(json);
	}
	pmc_json_array(json, "events");
	for (unsigned i = 0; i < columns->n; i++)
		if (columns->list[i].kind == PMC_COL_EVENT &&
		    columns->list[i].part == PMC_PART_VALUE &&
		    view->json_events[columns->list[i].index])
			json_group_event(view, json, i, row);
	pmc_json_array_end(json);
	json_metrics(view, json, columns, row);
}

/* ---- regions ------------------------------------------------------------------------------*/

static void json_pair(struct pmc_view *view, struct pmc_json *json,
		      const struct pmc_p_region *region)
{
	bool known = region->fixed.flags & PMC_REGION_COST;

	pmc_json_object(json, "pair");
	pmc_json_known(json, "cpu_ns", known, region->fixed.around_cpu_ns);
	pmc_json_str(json, "read",
		     region->fixed.flags & PMC_REGION_USER_READS ? "user" : "system-call");
	json_events(view, json, "events", region->set, region->around);
	pmc_json_object_end(json);
}

static void json_region(struct pmc_view *view, struct pmc_json *json,
			const struct pmc_p_region *region)
{
	const struct pmc_p_process *process = region->process;
	struct pmc_thread_buf buf;

	pmc_json_strn(json, "region", region->name, region->name_len);
	pmc_json_str(json, "host", process->known ? process->host : NULL);
	pmc_json_known(json, "pid", process->known, process->fixed.pid);
	pmc_json_known(
		json, "tid", region->row,
		region->row ? pmc_profile_thread(view->profile, region->row, &buf)->fixed.tid : 0);
	pmc_json_u64(json, "seq", region->fixed.seq);
	pmc_json_u64(json, "calls", region->fixed.calls);
	pmc_json_u64(json, "open", region->fixed.open);
	pmc_json_known(json, "cpu_ns", pmc_region_has_cpu(region), region->fixed.cpu_ns);
	pmc_json_known(json, "self_cpu_ns", pmc_region_has_cpu(region), region->fixed.self_cpu_ns);
	json_events(view, json, "events", region->set, region->counts);
	json_events(view, json, "self", region->set, region->self_counts);
	json_pair(view, json, region);
}

/* ---- samples ------------------------------------------------------------------------------*/

static void json_sampling(struct pmc_view *view, struct pmc_json *json)
{
	const struct pmc_view_samples *samples = &view->samples;

	pmc_json_object(json, "sampling");
	pmc_json_str(json, "event", samples->event ? samples->event->name : NULL);
	pmc_json_str(json, "unit",
		     samples->event && samples->event->unit[0] ? samples->event->unit : NULL);
	pmc_json_known(json, "period", samples->period, samples->period);
	pmc_json_known(json, "frequency", samples->frequency, samples->frequency);
	pmc_json_u64(json, "samples", samples->samples);
	pmc_json_u64(json, "weight", samples->weight);
	pmc_json_known(json, "value", samples->has_value, samples->value);
	pmc_json_u64(json, "lost", samples->lost);
	pmc_json_u64(json, "throttled", samples->throttled);
	pmc_json_u64(json, "incomplete", samples->incomplete);
	pmc_json_u64(json, "estimated", samples->estimated);
	pmc_json_object_end(json);
}

/* ---- processes ------------------------------------------------------------------------------*/

void pmc_process_ended(const struct pmc_p_process *process, char text[PMC_ENDED_BYTES])
{
	struct pmc_out out = pmc_out_mem(text, PMC_ENDED_BYTES);

	if (!process->known || pmc_process_is_gone(process)) {
		pmc_out_str(&out, "lost");
		return;
	}
	switch (process->fixed.how_ended) {
	case PMC_ENDED_EXIT:
		pmc_out_str(&out, "exit");
		if (!(process->fixed.flags & PMC_PROCESS_NO_STATUS))
			pmc_outf(&out, ":%u", process->fixed.how_code);
		break;
	case PMC_ENDED_SIGNAL:
		pmc_outf(&out, "signal:%u", process->fixed.how_code);
		break;
	case PMC_ENDED_EXEC:
		pmc_out_str(&out, "exec");
		break;
	default:
		pmc_out_str(&out, "running");
		break;
	}
}

static void json_coverage(struct pmc_json *json, const struct pmc_p_process *process)
{
	const struct pmc_process_fixed *fixed = &process->fixed;
	uint64_t newest_ns, seen = fixed->threads_seen;
	bool whole = process->known && !pmc_process_end_unseen(process, &newest_ns);
	bool on = !pmc_process_never_on(fixed);

	if (!whole && seen < process->n_threads)
		seen = process->n_threads;
	pmc_json_object(json, "coverage");
	pmc_json_u64(json, "threads_seen", seen);
	pmc_json_u64(json, "threads_counted", process->threads_counted);
	pmc_json_array(json, "threads_uncounted");
	for (unsigned i = 0; i < process->n_uncounted; i++) {
		pmc_json_object(json, NULL);
		pmc_json_str(json, "reason", pmc_reason_text(process->uncounted[i].reason));
		pmc_json_u64(json, "count", process->uncounted[i].count);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	pmc_json_known(json, "cpu_ns", whole && on, fixed->cpu_ns);
	pmc_json_known(json, "attributed_cpu_ns", on || process->attributed_cpu_ns,
		       process->attributed_cpu_ns);
	pmc_json_known(json, "descendants_cpu_ns", process->descendants.has_cpu,
		       process->descendants.cpu_ns);
	pmc_json_known(json, "before_agent_cpu_ns", process->known && on, fixed->pre_cpu_ns);
	pmc_json_known(json, "overhead_ns", whole && on, fixed->overhead_ns);
	pmc_json_object_end(json);
}

/* Of several labels with one key the first is valid. No agent writes more than these bytes. */
static void json_labels(struct pmc_json *json, const char *labels)
{
	const char *at = labels, *key, *value;
	char name[PMC_LABELS_BYTES];
	size_t key_len, len, valid_len;

	pmc_json_object(json, "labels");
	while ((value = pmc_label_next(&at, &key, &key_len, &len)) &&
	       value - labels < PMC_LABELS_BYTES) {
		memcpy(name, key, key_len);
		name[key_len] = '\0';
		if (pmc_label(labels, name, &valid_len) == value)
			pmc_json_strn(json, name, value, len);
	}
	pmc_json_object_end(json);
}

static void json_notes(struct pmc_json *json, const struct pmc_p_process *process)
{
	pmc_json_array(json, "notes");
	for (unsigned i = 0; i < process->n_notes; i++) {
		const struct pmc_p_note *note = &process->notes[i];

		pmc_json_object(json, NULL);
		pmc_json_u64(json, "code", note->fixed.code);
		pmc_json_str(json, "level", note->fixed.level ? "warning" : "info");
		pmc_json_u64(json, "count", note->fixed.count);
		pmc_json_str(json, "text", note->text);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
}

static void json_process(struct pmc_view *view, struct pmc_json *json,
			 const struct pmc_p_process *process)
{
	static const char *const inherit[] = { "off", "clock", "full", "auto" };
	const struct pmc_process_fixed *fixed = &process->fixed;
	bool known = process->known;
	bool usage = known && !pmc_process_never_on(fixed);
	bool faults = usage && !(fixed->flags & PMC_PROCESS_NO_FAULTS);
	bool switches = usage && !(fixed->flags & PMC_PROCESS_NO_SWITCHES);
	char ended[PMC_ENDED_BYTES];

	pmc_json_str(json, "host", known ? process->host : NULL);
	pmc_json_str(json, "boot_id", known ? process->boot_id : NULL);
	pmc_json_known(json, "pid", known, fixed->pid);
	pmc_json_known(json, "ppid", known, fixed->ppid);
	pmc_json_bool(json, "after_exec", process->origin != process);
	pmc_json_str(json, "exe", known ? process->exe : NULL);
	pmc_json_str(json, "cmdline", known ? process->cmdline : NULL);
	pmc_json_known(json, "start_ns", known, fixed->start_ns);
	pmc_json_known(json, "end_ns", known && fixed->end_ns, fixed->end_ns);
	pmc_process_ended(process, ended);
	pmc_json_str(json, "how_ended", ended);
	pmc_json_bool(json, "left_children", fixed->flags & PMC_PROCESS_LEFT);
	pmc_json_known(json, "rank", known && fixed->rank >= 0, (uint64_t)fixed->rank);
	json_labels(json, process->labels);
	pmc_json_known(json, "minor_faults", faults, fixed->minor_faults);
	pmc_json_known(json, "major_faults", faults, fixed->major_faults);
	pmc_json_known(json, "voluntary_switches", switches, fixed->voluntary_switches);
	pmc_json_known(json, "involuntary_switches", switches, fixed->involuntary_switches);
	pmc_json_known(json, "max_rss_bytes", known && fixed->max_rss_bytes, fixed->max_rss_bytes);
	json_coverage(json, process);
	pmc_json_str(json, "inherit_mode", known ? inherit[fixed->inherit_mode & 3] : NULL);
	json_events(view, json, "unattributed", process->unattributed.set,
		    process->unattributed.counts);
	json_events(view, json, "descendants", process->descendants.set,
		    process->descendants.counts);
	json_events(view, json, "machine", process->machine.set, process->machine.counts);
	json_notes(json, process);
}

/* ---- the document -------------------------------------------------------------------------*/

/* Lines are objects of their own, with a type but for steps of a timeline. */
struct json_list {
	struct pmc_view *view;
	struct pmc_json json;
	bool lines;
	const char *type; /* of lines; NULL: none */
	struct pmc_lines *rows;
};

static struct pmc_json *next(struct json_list *list)
{
	if (list->lines)
		pmc_json_init(&list->json, list->view->out);
	else
		pmc_json_line(&list->json);
	pmc_json_object(&list->json, NULL);
	if (list->lines && list->type)
		pmc_json_str(&list->json, "type", list->type);
	return &list->json;
}

static void end(struct json_list *list)
{
	pmc_json_object_end(&list->json);
	if (list->lines)
		pmc_out_char(list->view->out, '\n');
}

static void begin_list(struct json_list *list, const char *name, const char *type)
{
	list->type = type;
	if (!list->lines)
		pmc_json_array(&list->json, name);
}

static void end_list(struct json_list *list)
{
	if (!list->lines)
		pmc_json_array_end(&list->json);
}

static void put_row(void *rows, uint64_t i)
{
	struct json_list *list = rows;
	struct pmc_lines *lines = list->rows;
	struct pmc_json *json = next(list);

	pmc_line_row(lines, i);
	if (lines->groups)
		json_group(list->view, json, &lines->row);
	else
		json_row(list->view, json, &lines->row);
	end(list);
}

static int json_rows(struct json_list *list, bool groups)
{
	int err;

	list->rows = pmc_arena_alloc(list->view->arena, sizeof(*list->rows));
	err = pmc_view_lines(list->view, groups, list->rows);
	return err ? err : pmc_print_rows(list->view, list->rows->n, put_row, list);
}

int pmc_view_json(struct pmc_view *view)
{
	const struct pmc_profile *profile = view->profile;
	/* --by with another key than threads: rows of groups alone. */
	const bool threads =
			   view->by == PMC_BY_NONE || (view->by == PMC_BY_THREAD && !view->n_outer),
		   document = view->options->format == PMC_FORMAT_JSON,
		   groups = document ? view->by != PMC_BY_NONE : !threads;
	struct json_list list = { .view = view, .lines = !document || view->options->timeline };
	int err = choose(view, threads ? &view->of_threads : &view->of_groups);

	if (err)
		return err;
	if (document && view->options->timeline)
		return json_rows(&list, false);
	pmc_json_init(&list.json, view->out);
	if (document) {
		pmc_json_object(&list.json, NULL);
		pmc_json_u64(&list.json, "pmc", 1);
	}
	begin_list(&list, "processes", "process");
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		json_process(view, next(&list), profile->processes[i]);
		end(&list);
	}
	end_list(&list);
	begin_list(&list, "threads", "thread");
	if (threads)
		err = json_rows(&list, false);
	end_list(&list);
	begin_list(&list, "groups", "group");
	if (!err && groups)
		err = json_rows(&list, true);
	end_list(&list);
	begin_list(&list, "regions", "region");
	for (uint64_t i = 0; i < view->n_regions && !err; i++) {
		json_region(view, next(&list), view->regions[i].region);
		end(&list);
	}
	end_list(&list);
	if (!document)
		return err;
	if (pmc_by_samples(view->by))
		json_sampling(view, &list.json);
	pmc_json_u64(&list.json, "damaged_frames", profile->damaged_frames);
	pmc_json_object_end(&list.json);
	pmc_out_char(view->out, '\n');
	return err;
}
