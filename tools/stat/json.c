/* SPDX-License-Identifier: MIT */
/* json.c - rows as JSON lines, and as CSV with a line for each event. */
#include "lib/base/csv.h"
#include "lib/base/json.h"
#include "lib/dump/words.h"
#include "tools/stat/stat.h"

#include <math.h>
#include <string.h>

static uint64_t interval_of(const struct stat_job *stat, bool summary)
{
	return stat->now_ns - (summary || stat->cumulative ? stat->begin_ns : stat->before_ns);
}

static void put_value(struct pmc_json *json, const char *key, double value)
{
	if (value >= 0 && value < 9e15 && value == floor(value))
		pmc_json_u64(json, key, (uint64_t)value);
	else
		pmc_json_double(json, key, value);
}

static void put_event(struct pmc_json *json, const struct stat_job *stat,
		      const struct stat_row *row, unsigned e, uint64_t ns)
{
	const struct pmc_p_event *event = &stat->live.view.events[e];
	const struct pmc_count *count = &row->counts[e];
	double value;
	bool known;

	known = live_value(&stat->live, row->counts, e, &value);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "name", event->name);
	put_value(json, "value", known ? value : NAN);
	if (known)
		pmc_json_u64(json, "raw", count->raw);
	else
		pmc_json_null(json, "raw");
	pmc_json_str(json, "unit", event->unit);
	pmc_json_double(json, "per_second", known && ns ? value * 1e9 / (double)ns : NAN);
	pmc_json_u64(json, "enabled_ns", count->enabled_ns);
	pmc_json_u64(json, "running_ns", count->running_ns);
	pmc_json_str(json, "scope", pmc_scope_name(event->def.scope));
	pmc_json_str(json, "state", pmc_state_name(count->state));
	pmc_json_object_end(json);
}

static void put_key(struct pmc_json *json, const struct stat_job *stat, const struct stat_row *row)
{
	const struct stat_key *key = &row->key;
	const struct {
		const char *name;
		int value;
	} parts[] = { { "cpu", key->cpu },
		      { "socket", key->socket },
		      { "core", key->core },
		      { "node", key->node },
		      { "tid", key->tid } };

	if (stat->target == STAT_PROCESS || stat->child_pid)
		pmc_json_u64(
			json, "pid",
			(uint64_t)(stat->target == STAT_PROCESS ? stat->pid : stat->child_pid));
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].value >= 0)
			pmc_json_u64(json, parts[i].name, (uint64_t)parts[i].value);
	if (key->tid >= 0 || row == &stat->rest)
		pmc_json_str(json, "name", row->name);
	if (row->threads) {
		pmc_json_str(json, "pool", row->name);
		pmc_json_u64(json, "threads", row->threads);
	}
}

static uint64_t nanoseconds(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static void put_places(struct pmc_json *json, const struct stat_row *row)
{
	pmc_json_object(json, "blocked_in");
	for (unsigned i = 0; i < STAT_PLACES && row->places[i].ns; i++)
		pmc_json_u64(json, row->places[i].name, row->places[i].ns);
	pmc_json_object_end(json);
}

struct wait {
	const char *name, *unit;
	uint64_t value, ns;
	bool known;
};
#define N_WAITS 5

/* How many there are: of rows of threads. */
static unsigned list_waits(const struct stat_job *stat, const struct stat_row *row, bool summary,
			   struct wait waits[N_WAITS])
{
	struct live_span span = { .ns = 0 };
	const enum stat_known known =
		stat_has_waits(stat) ?
			stat_waits_of(stat, row, summary || stat->cumulative, &span) :
			NOT_KNOWN;
	const bool all = known == ALL_KNOWN;

	waits[0] = (struct wait){ "oncpu_ns", "ns", span.cpu_ns, span.ns, known };
	waits[1] = (struct wait){ "run_delay_ns", "ns", span.delay_ns, span.ns, all };
	waits[2] = (struct wait){ "blocked_ns", "ns", span.blocked_ns, span.ns, all };
	waits[3] = (struct wait){ "voluntary_switches", "", span.voluntary, span.ns, all };
	waits[4] = (struct wait){ "involuntary_switches", "", span.involuntary, span.ns, all };
	return stat_has_waits(stat) ? N_WAITS : 0;
}

static void put_row(struct stat_job *stat, const struct stat_row *row, bool summary)
{
	uint64_t ns = interval_of(stat, summary);
	double cpus = stat_cpus(stat, row, ns), value;
	struct wait waits[N_WAITS];
	const unsigned n_waits = list_waits(stat, row, summary, waits);
	struct pmc_json json;
	bool estimate;

	pmc_json_init(&json, &stat->out, false);
	pmc_json_object(&json, NULL);
	pmc_json_u64(&json, "time_ns", stat->now_ns - stat->begin_ns);
	pmc_json_u64(&json, "interval_ns", ns);
	put_key(&json, stat, row);
	pmc_json_array(&json, "events");
	for (unsigned e = 0; e < stat->live.view.count; e++)
		put_event(&json, stat, row, e, ns);
	pmc_json_array_end(&json);
	pmc_json_object(&json, "metrics");
	if (cpus >= 0)
		pmc_json_double(&json, "cpus", cpus);
	for (unsigned m = 0; m < pmc_n_metrics; m++)
		if (!pmc_metric_is_accounting(m) && pmc_metric_applies(m, &stat->live.view))
			pmc_json_double(
				&json, pmc_metrics[m].name,
				live_metric(&stat->live, row->counts, m, &value, &estimate) ?
					value :
					NAN);
	pmc_json_object_end(&json);
	for (unsigned w = 0; w < n_waits; w++) {
		if (waits[w].known)
			pmc_json_u64(&json, waits[w].name, waits[w].value);
		else
			pmc_json_null(&json, waits[w].name);
	}
	if (!summary && row->task && row->task->wchan[0])
		pmc_json_str(&json, "blocked_at", row->task->wchan);
	if (summary && row->places[0].ns)
		put_places(&json, row);
	if (summary && stat->target == STAT_COMMAND) {
		pmc_json_u64(&json, "user_ns", nanoseconds(stat->usage.ru_utime));
		pmc_json_u64(&json, "system_ns", nanoseconds(stat->usage.ru_stime));
	}
	if (summary)
		pmc_json_bool(&json, "summary", true);
	pmc_json_object_end(&json);
	pmc_out_char(&stat->out, '\n');
}

/* The total comes last. */
static void each_row(struct stat_job *stat, bool summary,
		     void (*put)(struct stat_job *stat, const struct stat_row *row, bool summary))
{
	unsigned n;
	const struct stat_row *rows = stat_shown(stat, &n);

	for (unsigned r = 0; r < n; r++)
		if (rows[r].seen || rows[r].shown || summary)
			put(stat, &rows[r], summary);
	if (stat_rest_shown(stat, summary || stat->cumulative))
		put(stat, &stat->rest, summary);
	if (stat->target != STAT_THREAD)
		put(stat, &stat->rows[0], summary);
}

void stat_json(struct stat_job *stat, bool summary)
{
	each_row(stat, summary, put_row);
}

/* ---- CSV ---------------------------------------------------------------------------------- */

static void put_csv_number(struct pmc_out *out, int value)
{
	pmc_out_char(out, ',');
	if (value >= 0)
		pmc_out_u64(out, (uint64_t)value);
}

/* The fields before the value. */
static void put_csv_start(struct stat_job *stat, const struct stat_row *row, bool summary,
			  const char *name)
{
	struct pmc_out *out = &stat->out;

	pmc_outf(out, "%llu,%llu,%s", (unsigned long long)(stat->now_ns - stat->begin_ns),
		 (unsigned long long)interval_of(stat, summary), summary ? "yes" : "no");
	put_csv_number(out, row->key.cpu);
	put_csv_number(out, row->key.socket);
	put_csv_number(out, row->key.core);
	put_csv_number(out, row->key.node);
	put_csv_number(out, row->key.tid);
	pmc_out_char(out, ',');
	pmc_csv_text(out, row->name, strlen(row->name));
	pmc_out_char(out, ',');
	pmc_csv_text(out, name, strlen(name));
	pmc_out_char(out, ',');
}

static void put_csv_waits(struct stat_job *stat, const struct stat_row *row, bool summary)
{
	struct wait waits[N_WAITS];
	const unsigned n = list_waits(stat, row, summary, waits);

	for (unsigned w = 0; w < n; w++) {
		put_csv_start(stat, row, summary, waits[w].name);
		if (waits[w].known)
			pmc_out_u64(&stat->out, waits[w].value);
		pmc_outf(&stat->out, ",%s,%s,%llu,%llu\n", waits[w].unit,
			 pmc_state_name(waits[w].known ? PMC_COUNTED : PMC_NOT_COUNTED),
			 (unsigned long long)waits[w].ns, (unsigned long long)waits[w].ns);
	}
}

static void put_csv_row(struct stat_job *stat, const struct stat_row *row, bool summary)
{
	struct pmc_out *out = &stat->out;

	for (unsigned e = 0; e < stat->live.view.count; e++) {
		const struct pmc_p_event *event = &stat->live.view.events[e];
		const struct pmc_count *count = &row->counts[e];
		double value;
		bool known;

		known = live_value(&stat->live, row->counts, e, &value);
		put_csv_start(stat, row, summary, event->name);
		if (known)
			pmc_out_fixed(out, value, value == floor(value) ? 0 : 6);
		pmc_out_char(out, ',');
		pmc_csv_text(out, event->unit, strlen(event->unit));
		pmc_outf(out, ",%s,%llu,%llu\n", pmc_state_name(count->state),
			 (unsigned long long)count->enabled_ns,
			 (unsigned long long)count->running_ns);
	}
	put_csv_waits(stat, row, summary);
}

void stat_csv(struct stat_job *stat, bool summary)
{
	if (!stat->headed)
		pmc_out_str(&stat->out, "time_ns,interval_ns,summary,cpu,socket,core,node,tid,name,"
					"event,value,unit,state,enabled_ns,running_ns\n");
	stat->headed = true;
	each_row(stat, summary, put_csv_row);
}
