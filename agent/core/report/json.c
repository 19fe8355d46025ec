/* SPDX-License-Identifier: MIT */
/* json.c - a profile as JSON: every process, every row, null where nothing is known. */
#include "agent/core/report/view.h"

#include <errno.h>
#include <string.h>

static void json_known(struct pmc_json *json, const char *key, bool known, uint64_t value)
{
	if (known)
		pmc_json_u64(json, key, value);
	else
		pmc_json_null(json, key);
}

static void json_cell(struct pmc_json *json, const char *key, const struct pmc_cell *cell)
{
	if (cell->kind == PMC_CELL_NUMBER)
		pmc_json_u64(json, key, cell->number);
	else if (cell->kind == PMC_CELL_REAL)
		pmc_json_double(json, key, cell->real);
	else if (cell->kind == PMC_CELL_TEXT)
		pmc_json_strn(json, key, cell->text, cell->len);
	else
		pmc_json_null(json, key);
}

void pmc_view_json_event(struct pmc_json *json, const struct pmc_p_event *event,
			 const struct pmc_count *count)
{
	bool has_value = pmc_count_has_value(count);
	bool has_times = has_value || count->enabled_ns;
	double scale = pmc_event_scale(event);

	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", event->name);
	if (has_value && scale != 1)
		pmc_json_double(json, "value", (double)pmc_count_value(count) * scale);
	else
		json_known(json, "value", has_value, has_value ? pmc_count_value(count) : 0);
	json_known(json, "raw", has_value, count->raw);
	json_known(json, "enabled_ns", has_times, count->enabled_ns);
	json_known(json, "running_ns", has_times, count->running_ns);
	pmc_json_str(json, "scope", pmc_scope_name(event->def.scope));
	pmc_json_str(json, "state", pmc_state_name(count->state));
	pmc_json_str(json, "core_type", event->core_type[0] ? event->core_type : NULL);
	if (event->unit[0])
		pmc_json_str(json, "unit", event->unit);
	if (event->cpus && event->cpus[0])
		pmc_json_str(json, "cpus", event->cpus);
	if (!has_value && count->error)
		pmc_json_str(json, "reason", pmc_reason_text(count->error));
	pmc_json_object_end(json);
}

static void json_remainder(struct pmc_json *json, const char *key,
			   const struct pmc_p_remainder *remainder)
{
	pmc_json_array(json, key);
	for (unsigned i = 0; remainder->set && remainder->counts && i < remainder->set->count; i++)
		pmc_view_json_event(json, &remainder->set->events[i], &remainder->counts[i]);
	pmc_json_array_end(json);
}

static void json_ended(struct pmc_json *json, const struct pmc_p_process *process)
{
	char text[24];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	switch (process->fixed.how_ended) {
	case PMC_ENDED_EXIT:
		pmc_outf(&out, "exit:%u", process->fixed.how_code);
		break;
	case PMC_ENDED_SIGNAL:
		pmc_outf(&out, "signal:%u", process->fixed.how_code);
		break;
	case PMC_ENDED_EXEC:
		pmc_out_str(&out, "exec");
		break;
	case PMC_ENDED_LOST:
		pmc_out_str(&out, "lost");
		break;
	default:
		pmc_out_str(&out, "running");
		break;
	}
	pmc_json_str(json, "how_ended", process->known ? text : "lost");
}

static void json_coverage(struct pmc_json *json, const struct pmc_p_process *process)
{
	const struct pmc_process_fixed *fixed = &process->fixed;
	uint64_t newest_ns, seen = fixed->threads_seen;
	bool whole = process->known && !pmc_view_end_unseen(process, &newest_ns);

	if (!whole && seen < process->n_threads)
		seen = process->n_threads;
	pmc_json_object(json, "coverage");
	json_known(json, "threads_seen", true, seen);
	pmc_json_u64(json, "threads_counted", process->threads_counted);
	pmc_json_array(json, "threads_uncounted");
	for (unsigned i = 0; i < process->n_uncounted; i++) {
		pmc_json_object(json, NULL);
		pmc_json_str(json, "reason", pmc_reason_text(process->uncounted[i].reason));
		pmc_json_u64(json, "count", process->uncounted[i].count);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	json_known(json, "cpu_ns", whole, fixed->cpu_ns);
	pmc_json_u64(json, "attributed_cpu_ns", process->attributed_cpu_ns);
	json_known(json, "before_agent_cpu_ns", process->known, fixed->pre_cpu_ns);
	json_known(json, "overhead_ns", whole, fixed->overhead_ns);
	pmc_json_object_end(json);
}

static void json_process(struct pmc_json *json, const struct pmc_p_process *process)
{
	static const char *const inherit[] = { "off", "clock", "full", "auto" };
	const struct pmc_process_fixed *fixed = &process->fixed;
	bool known = process->known;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "host", known ? process->host : NULL);
	pmc_json_str(json, "boot_id", known ? process->boot_id : NULL);
	json_known(json, "pid", known, fixed->pid);
	json_known(json, "ppid", known, fixed->ppid);
	pmc_json_str(json, "exe", known ? process->exe : NULL);
	pmc_json_str(json, "cmdline", known ? process->cmdline : NULL);
	json_known(json, "start_ns", known, fixed->start_ns);
	json_known(json, "end_ns", known && fixed->end_ns, fixed->end_ns);
	json_ended(json, process);
	json_known(json, "rank", known && fixed->rank >= 0, (uint64_t)fixed->rank);
	json_known(json, "minor_faults", known, fixed->minor_faults);
	json_known(json, "major_faults", known, fixed->major_faults);
	json_known(json, "voluntary_switches", known, fixed->voluntary_switches);
	json_known(json, "involuntary_switches", known, fixed->involuntary_switches);
	json_known(json, "max_rss_bytes", known, fixed->max_rss_bytes);
	json_coverage(json, process);
	pmc_json_str(json, "inherit_mode", known ? inherit[fixed->inherit_mode & 3] : NULL);
	json_remainder(json, "unattributed", &process->unattributed);
	json_remainder(json, "descendants", &process->descendants);
	json_remainder(json, "machine", &process->machine);
	pmc_json_array(json, "notes");
	for (unsigned i = 0; i < process->n_notes; i++) {
		pmc_json_object(json, NULL);
		pmc_json_u64(json, "code", process->notes[i]->fixed.code);
		pmc_json_str(json, "level", process->notes[i]->fixed.level ? "warning" : "info");
		pmc_json_u64(json, "count", process->notes[i]->fixed.count);
		pmc_json_str(json, "text", process->notes[i]->text);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	pmc_json_object_end(json);
}

/* Every event the thread was meant to count, also where it has no counts at all. */
static void json_events(struct pmc_view *view, struct pmc_json *json,
			const struct pmc_p_thread *thread)
{
	const struct pmc_p_set_view *set = pmc_union_set_of(&view->events, thread);

	pmc_json_array(json, "events");
	for (unsigned i = 0; set && i < set->count; i++) {
		struct pmc_count none = { .state = set->events[i].def.state,
					  .error = set->events[i].def.error };

		if (none.state == PMC_COUNTED) {
			none.state = PMC_NOT_COUNTED;
			none.error = thread->fixed.reason;
		}
		pmc_view_json_event(json, &set->events[i],
				    thread->set && thread->counts ? &thread->counts[i] : &none);
	}
	pmc_json_array_end(json);
}

static void json_metrics(struct pmc_view *view, struct pmc_json *json,
			 const struct pmc_fold_row *row)
{
	double value;

	pmc_json_object(json, "metrics");
	for (unsigned i = 0; i < pmc_n_metrics; i++) {
		if (!view->metric_applies[i])
			continue;
		if (pmc_view_metric(view, i, row, 0, &value))
			pmc_json_double(json, pmc_metrics[i].name, value);
		else
			pmc_json_null(json, pmc_metrics[i].name);
	}
	pmc_json_object_end(json);
}

static void json_thread(struct pmc_view *view, struct pmc_json *json,
			const struct pmc_p_thread *thread)
{
	pmc_json_line(json);
	pmc_json_object(json, NULL);
	for (unsigned i = 0; i < pmc_n_thread_fields; i++) {
		struct pmc_cell cell;

		if (!pmc_field_in_json(i))
			continue;
		cell = pmc_cell_field(view, i, thread);
		json_cell(json, pmc_thread_fields[i], &cell);
	}
	json_events(view, json, thread);
	json_metrics(view, json, pmc_view_row(view, thread));
	pmc_json_object_end(json);
}

static void json_stat(struct pmc_json *json, const struct pmc_fold_stat *stat, double scale,
		      uint64_t rows)
{
	static const struct {
		const char *name;
		enum pmc_part part;
	} parts[] = { { "sum", PMC_PART_VALUE },
		      { "min", PMC_PART_MIN },
		      { "mean", PMC_PART_MEAN },
		      { "max", PMC_PART_MAX },
		      { "stddev", PMC_PART_STDDEV } };

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct pmc_cell cell = pmc_cell_stat(stat, scale, parts[i].part, rows);

		json_cell(json, parts[i].name, &cell);
	}
}

static void json_group(struct pmc_view *view, struct pmc_json *json, const struct pmc_fold_row *row)
{
	const struct pmc_p_set_view *set = &view->events.set;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "key", row->label);
	pmc_json_u64(json, "threads", row->threads);
	if (row->self) {
		pmc_json_u64(json, "calls", row->calls);
		json_known(json, "self_cpu_ns", row->self->cpu.rows, row->self->cpu.sum);
	}
	json_known(json, "cpu_ns", row->cpu.rows, row->cpu.sum);
	pmc_json_object(json, "cpu");
	json_stat(json, &row->cpu, 1, row->rows);
	pmc_json_object_end(json);
	pmc_json_array(json, "events");
	for (unsigned i = 0; i < set->count; i++) {
		const struct pmc_fold_stat *stat = &row->events[i];
		bool mixed = view->events.columns[i]->mixed_scope;

		pmc_json_object(json, NULL);
		pmc_json_str(json, "name", set->events[i].name);
		pmc_json_str(json, "state", pmc_state_name(pmc_fold_state(stat, row->rows)));
		json_stat(json, stat, set->events[i].def.scale, row->rows);
		if (row->self) {
			struct pmc_cell cell =
				pmc_cell_stat(&row->self->events[i], set->events[i].def.scale,
					      PMC_PART_VALUE, row->self->rows);

			json_cell(json, "self", &cell);
		}
		pmc_json_u64(json, "counted_rows", stat->rows);
		pmc_json_u64(json, "rows", row->rows);
		pmc_json_str(json, "scope",
			     mixed ? NULL : pmc_scope_name(set->events[i].def.scope));
		pmc_json_str(json, "core_type",
			     set->events[i].core_type[0] ? set->events[i].core_type : NULL);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	json_metrics(view, json, row);
	pmc_json_object_end(json);
}

static int json_rows(struct pmc_view *view, struct pmc_json *json)
{
	const struct pmc_report_options *options = view->options;
	struct pmc_p_row **threads = view->threads;
	const struct pmc_fold_row **groups = NULL;
	uint64_t n = view->n_threads, n_groups = 0, top = pmc_view_top(view);
	int err = 0;

	if (options->by != PMC_BY_NONE)
		err = pmc_view_groups(view, &view->groups, top, &groups, &n_groups);
	else if (options->sort || top)
		err = pmc_view_threads(view, top, &threads, &n);
	if (err)
		return err;
	pmc_json_array(json, "threads");
	for (uint64_t i = 0; i < n && !options->summary; i++)
		json_thread(view, json, pmc_view_thread(view, threads[i]));
	pmc_json_array_end(json);
	pmc_json_array(json, "groups");
	for (uint64_t i = 0; i < n_groups; i++)
		json_group(view, json, groups[i]);
	pmc_json_array_end(json);
	pmc_view_json_regions(view, json);
	return 0;
}

int pmc_view_json(struct pmc_view *view)
{
	struct pmc_profile *profile = view->profile;
	struct pmc_json json;
	int err;

	pmc_json_init(&json, view->out, false);
	pmc_json_object(&json, NULL);
	pmc_json_u64(&json, "pmc", 1);
	pmc_json_array(&json, "processes");
	for (uint64_t i = 0; i < profile->n_processes; i++)
		json_process(&json, profile->processes[i]);
	pmc_json_array_end(&json);
	err = json_rows(view, &json);
	pmc_json_u64(&json, "damaged_frames", profile->damaged_frames);
	pmc_json_object_end(&json);
	pmc_out_char(view->out, '\n');
	return err;
}
