/* SPDX-License-Identifier: MIT */
/* list.c - the sum of one target as a list, and the values that tables have too. */
#include "lib/base/utf8.h"
#include "lib/dump/words.h"
#include "tools/stat/table.h"

#include <stdio.h>
#include <string.h>

int stat_put_name(struct pmc_out *out, const char *name)
{
	return pmc_utf8_fit(out, name, strlen(name), 0, PMC_CUT_END, true);
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

void stat_put_right(struct pmc_out *out, const char *text, int width)
{
	pmc_out_pad(out, ' ', width - (int)strlen(text));
	pmc_out_str(out, text);
}

void stat_event_text(const struct stat_job *stat, const struct stat_row *row, unsigned e,
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

void stat_metric_text(const struct stat_job *stat, const struct stat_row *row, unsigned m,
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

static void put_event(struct stat_job *stat, unsigned e, uint64_t ns)
{
	const struct pmc_p_event *event = &stat->live.view.events[e];
	const struct pmc_count *count = &stat->rows[0].counts[e];
	struct pmc_out *out = &stat->out;
	double value, cpus = stat_cpus(stat, stat->rows, ns);
	char text[256], why[320];
	bool known, clock = !strcmp(event->unit, "ns");
	const char *unit;

	known = live_value(&stat->live, stat->rows->counts, e, &value);
	if (known)
		stat_event_text(stat, stat->rows, e, text, sizeof(text));
	stat_put_right(out, known ? text : pmc_state_name(count->state), 18);
	pmc_out_char(out, ' ');
	unit = !known ? "" : clock ? "ms" : event->unit;
	pmc_out_pad(out, ' ', 7 - pmc_utf8_fit(out, unit, strlen(unit), 6, PMC_CUT_END, true));
	pmc_out_pad(out, ' ', 24 - stat_put_name(out, event->name));
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

void stat_list(struct stat_job *stat)
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
		stat_metric_text(stat, stat->rows, m, text, sizeof(text));
		stat_put_right(out, text, 18);
		pmc_outf(out, "        %s\n", pmc_metrics[m].column);
	}
	pmc_out_char(out, '\n');
	snprintf(text, sizeof(text), "%llu.%06llu", (unsigned long long)(ns / 1000000000u),
		 (unsigned long long)(ns / 1000 % 1000000u));
	stat_put_right(out, text, 18);
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
