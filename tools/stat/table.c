/* SPDX-License-Identifier: MIT */
/* table.c - intervals and rows as a table, the sum of one target as a list. */
#include "agent/core/report/words.h"
#include "tools/stat/stat.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HEAD_EVERY 20 /* lines, on what has no height */

static const char *head_of(const struct stat_job *stat, unsigned e, char *text, size_t cap)
{
	const struct pmc_p_event *event = &stat->live.view.events[e];
	const char *unit = strcmp(event->unit, "ns") ? event->unit : "ms";

	snprintf(text, cap, "%s%s%s", event->name, *unit ? " " : "", unit);
	return text;
}

/* Clocks in ms; what has a scale, such as energy, with decimals. */
static void put_number(struct pmc_out *out, const struct pmc_p_event *event, double value)
{
	if (!strcmp(event->unit, "ns"))
		pmc_out_fixed(out, value / 1e6, 2);
	else if (event->unit[0])
		pmc_out_fixed(out, value, 2);
	else
		pmc_show_integer(out, pmc_nearest_integer(value));
}

static void put_right(struct pmc_out *out, const char *text, int width)
{
	pmc_out_pad(out, ' ', width - (int)strlen(text));
	pmc_out_str(out, text);
}

static void event_text(const struct stat_job *stat, const struct stat_row *row, unsigned e,
		       char *text, size_t cap)
{
	const struct pmc_count *count = &row->counts[e];
	struct pmc_out out;
	double value;
	bool known;

	pmc_out_to_mem(&out, text, cap);
	known = live_value(&stat->live, row->counts, e, &value);
	if (!known) {
		pmc_out_char(&out, '-');
		return;
	}
	if (count->state == PMC_SCALED)
		pmc_out_char(&out, '~');
	put_number(&out, &stat->live.view.events[e], value);
}

static void metric_text(const struct stat_job *stat, const struct stat_row *row, unsigned m,
			char *text, size_t cap)
{
	struct pmc_out out;
	bool estimate;
	double value;

	pmc_out_to_mem(&out, text, cap);
	if (!live_metric(&stat->live, row->counts, m, &value, &estimate)) {
		pmc_out_char(&out, '-');
		return;
	}
	if (estimate)
		pmc_out_char(&out, '~');
	pmc_out_fixed(&out, value, pmc_metrics[m].decimals);
}

/* ---- columns ------------------------------------------------------------------------------ */

static const char *row_name(const struct stat_job *stat, const struct stat_row *row, char *text,
			    size_t cap)
{
	const struct stat_key *key = &row->key;

	if (row == stat->rows)
		snprintf(text, cap, "total");
	else if (key->tid >= 0)
		snprintf(text, cap, "%d %s", key->tid, row->name);
	else if (key->cpu >= 0)
		snprintf(text, cap, "cpu %d", key->cpu);
	else if (key->core >= 0)
		snprintf(text, cap, "core %d/%d", key->socket, key->core);
	else if (key->socket >= 0)
		snprintf(text, cap, "socket %d", key->socket);
	else
		snprintf(text, cap, "node %d", key->node);
	/* Names of threads are any bytes. */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 127)
			*c = '?';
	return text;
}

static int width_of(const char *head)
{
	return strlen(head) > 12 ? (int)strlen(head) + 2 : 14;
}

static const char *const wait_heads[] = { "on cpu ms", "run delay ms", "blocked ms", "vol",
					  "invol" };
#define N_WAITS (sizeof(wait_heads) / sizeof(wait_heads[0]))

static void put_head(struct stat_job *stat)
{
	struct pmc_out *out = &stat->out;
	char text[256];

	put_right(out, "time s", 12);
	if (stat->by != BY_TOTAL)
		pmc_outf(out, "  %-23s", stat->by == BY_THREAD ? "thread" : "row");
	if (stat->target != STAT_MACHINE || stat->cgroup)
		put_right(out, "CPUs", 8);
	for (unsigned e = 0; e < stat->live.view.count; e++) {
		head_of(stat, e, text, sizeof(text));
		put_right(out, text, width_of(text));
	}
	for (unsigned m = 0; m < pmc_n_metrics; m++)
		if (live_shows_metric(&stat->live, m))
			put_right(out, pmc_metrics[m].column, width_of(pmc_metrics[m].column));
	for (unsigned w = 0; stat->by == BY_THREAD && w < N_WAITS; w++)
		put_right(out, wait_heads[w], width_of(wait_heads[w]));
	pmc_out_char(out, '\n');
}

static void put_waits(struct stat_job *stat, const struct stat_row *row, bool cumulative)
{
	struct live_waits waits = { .known = false };
	char text[N_WAITS][32];
	uint64_t blocked = 0;

	if (stat_waits_of(stat, row, cumulative, &waits, &blocked)) {
		const double ns[3] = { (double)waits.cpu_ns, (double)waits.delay_ns,
				       (double)blocked };
		struct pmc_out out;

		for (unsigned w = 0; w < N_WAITS; w++) {
			pmc_out_to_mem(&out, text[w], sizeof(text[w]));
			if (w < 3)
				pmc_out_fixed(&out, ns[w] / 1e6, 2);
			else
				pmc_show_integer(&out,
						 w == 3 ? waits.voluntary : waits.involuntary);
		}
	}
	for (unsigned w = 0; w < N_WAITS; w++)
		put_right(&stat->out, waits.known ? text[w] : "-", width_of(wait_heads[w]));
}

static void put_line(struct stat_job *stat, const struct stat_row *row, uint64_t ns,
		     bool cumulative)
{
	struct pmc_out *out = &stat->out;
	double cpus = stat_cpus(stat, row, ns);
	char text[256], head[256];
	struct pmc_out time;

	pmc_out_to_mem(&time, text, sizeof(text));
	pmc_out_fixed(&time, (double)(stat->now_ns - stat->begin_ns) / 1e9, 3);
	put_right(out, text, 12);
	if (stat->by != BY_TOTAL)
		pmc_outf(out, "  %-23.23s", row_name(stat, row, text, sizeof(text)));
	if (stat->target != STAT_MACHINE || stat->cgroup) {
		pmc_out_to_mem(&time, text, sizeof(text));
		if (cpus >= 0)
			pmc_out_fixed(&time, cpus, 2);
		else
			pmc_out_char(&time, '-');
		put_right(out, text, 8);
	}
	for (unsigned e = 0; e < stat->live.view.count; e++) {
		event_text(stat, row, e, text, sizeof(text));
		put_right(out, text, width_of(head_of(stat, e, head, sizeof(head))));
	}
	for (unsigned m = 0; m < pmc_n_metrics; m++) {
		if (!live_shows_metric(&stat->live, m))
			continue;
		metric_text(stat, row, m, text, sizeof(text));
		put_right(out, text, width_of(pmc_metrics[m].column));
	}
	if (stat->by == BY_THREAD)
		put_waits(stat, row, cumulative);
	pmc_out_char(out, '\n');
	stat->lines++;
}

static unsigned head_every(const struct stat_job *stat)
{
	struct winsize size;

	if (ioctl(stat->out.fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 4)
		return size.ws_row - 2u;
	return HEAD_EVERY;
}

static void put_rows(struct stat_job *stat, bool summary)
{
	uint64_t since = summary || stat->cumulative ? stat->begin_ns : stat->before_ns;

	if (stat->clear && isatty(stat->out.fd)) {
		pmc_out_str(&stat->out, "\033[H\033[2J");
		stat->headed = false;
	}
	if (!stat->headed || stat->lines >= head_every(stat)) {
		put_head(stat);
		stat->headed = true;
		stat->lines = 0;
	}
	for (unsigned r = 1; r < stat->n_rows; r++)
		if (stat->rows[r].seen || summary)
			put_line(stat, &stat->rows[r], stat->now_ns - since,
				 summary || stat->cumulative);
	if (stat->target != STAT_THREAD)
		put_line(stat, &stat->rows[0], stat->now_ns - since, summary || stat->cumulative);
}

/* ---- the sum ------------------------------------------------------------------------------ */

static void put_event(struct stat_job *stat, unsigned e, uint64_t ns)
{
	const struct pmc_p_event *event = &stat->live.view.events[e];
	const struct pmc_count *count = &stat->rows[0].counts[e];
	struct pmc_out *out = &stat->out;
	double value, cpus = stat_cpus(stat, stat->rows, ns);
	char text[256], why[320];
	bool known, clock = !strcmp(event->unit, "ns");

	known = live_value(&stat->live, stat->rows->counts, e, &value);
	if (known)
		event_text(stat, stat->rows, e, text, sizeof(text));
	put_right(out, known ? text : pmc_state_name(count->state), 18);
	pmc_outf(out, " %-6.6s %-24s", !known ? "" : clock ? "ms" : event->unit, event->name);
	if (!known && event->def.state) {
		live_events_why(&stat->live, e, why, sizeof(why));
		pmc_outf(out, "  %s", why);
	} else if (!known) {
		pmc_outf(out, "  %s", count->error ? pmc_reason_text(count->error) : "");
	} else if (clock && cpus >= 0 && event->def.type == PERF_TYPE_SOFTWARE) {
		pmc_out_str(out, "  ");
		pmc_out_fixed(out, cpus, 3);
		pmc_out_str(out, " CPUs");
	} else if (!clock && ns) {
		pmc_out_str(out, "  ");
		pmc_show_number(out, value * 1e9 / (double)ns);
		pmc_out_str(out, "/s");
	}
	if (known && event->def.scope != PMC_SCOPE_ALL)
		pmc_outf(out, "  %s mode", pmc_scope_name(event->def.scope));
	pmc_out_char(out, '\n');
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void put_list(struct stat_job *stat)
{
	uint64_t ns = stat->now_ns - stat->begin_ns;
	struct pmc_out *out = &stat->out;
	char text[64];

	pmc_out_char(out, '\n');
	for (unsigned e = 0; e < stat->live.view.count; e++)
		put_event(stat, e, ns);
	for (unsigned m = 0; m < pmc_n_metrics; m++) {
		if (!live_shows_metric(&stat->live, m))
			continue;
		metric_text(stat, stat->rows, m, text, sizeof(text));
		put_right(out, text, 18);
		pmc_outf(out, "        %s\n", pmc_metrics[m].column);
	}
	pmc_out_char(out, '\n');
	snprintf(text, sizeof(text), "%llu.%06llu", (unsigned long long)(ns / 1000000000u),
		 (unsigned long long)(ns / 1000 % 1000000u));
	put_right(out, text, 18);
	pmc_out_str(out, " s      elapsed");
	if (stat->target == STAT_COMMAND) {
		pmc_out_str(out, ", ");
		pmc_out_fixed(out, seconds(stat->usage.ru_utime), 6);
		pmc_out_str(out, " s user, ");
		pmc_out_fixed(out, seconds(stat->usage.ru_stime), 6);
		pmc_out_str(out, " s system");
	}
	pmc_out_str(out, "\n\n");
}

static bool any_scaled(const struct stat_job *stat)
{
	for (unsigned e = 0; e < stat->live.view.count; e++)
		if (stat->rows[0].counts[e].state == PMC_SCALED)
			return true;
	return false;
}

void stat_table(struct stat_job *stat, bool summary)
{
	if (summary && stat->by == BY_TOTAL) {
		put_list(stat);
	} else {
		if (summary && stat->interval_ns) {
			pmc_out_str(&stat->out, "\nsince the start:\n");
			stat->headed = false;
		}
		put_rows(stat, summary);
	}
	if (summary && any_scaled(stat))
		pmc_out_str(&stat->out, " ~ multiplexed: scaled to the whole time\n");
}
