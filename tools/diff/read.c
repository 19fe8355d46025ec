/* SPDX-License-Identifier: MIT */
/* read.c - dumps to rows: each dump is folded by the key, and is one sample of its side. */
#include "tools/report/read.h"
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/diff/diff.h"
#include "tools/report/samples.h"
#include "tools/report/symbols.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The least change of times and of counts in a table: a clock that ticks 100 times a second, and
 * what differs between two runs of any program. */
enum { LEAST_NS = 10000000, LEAST_COUNT = 100 };

static struct diff_column *add_column(struct diff *diff, const char *name, bool is_time)
{
	struct diff_column *column = &diff->columns[diff->n_columns++];

	*column = (struct diff_column){ .name = name,
					.is_time = is_time,
					.least = is_time ? LEAST_NS : LEAST_COUNT };
	return column;
}

struct diff_column *diff_event_column(struct diff *diff, unsigned side, const char *label,
				      const struct pmc_p_event *event)
{
	const unsigned room = sizeof(diff->columns) / sizeof(diff->columns[0]);

	struct diff_column *column = NULL;

	for (unsigned c = DIFF_EVENTS; c < diff->n_columns && !column; c++)
		if (!strcmp(diff->columns[c].name, label))
			column = &diff->columns[c];
	if (!column && diff->n_columns < room) {
		label = pmc_arena_strdup(&diff->arena, label);
		column = label ? add_column(diff, label, !strcmp(event->unit, "ns")) : NULL;
	}
	if (column)
		column->scopes[side] |= 1u << event->def.scope;
	/* Joules and the like: there is no number below which a change is small. */
	if (column && !column->is_time && event->unit[0])
		column->least = 0;
	return column;
}

int diff_init_row(struct diff *diff, struct diff_row *row, const char *key)
{
	row->key = row->label = pmc_arena_strdup(&diff->arena, key);
	for (unsigned side = 0; side < 2; side++)
		row->samples[side] = pmc_arena_alloc(
			&diff->arena, diff->n_files[side] * sizeof(*row->samples[0]));
	return diff->arena.failed ? -ENOMEM : 0;
}

struct diff_row *diff_find_row(struct diff *diff, const char *key)
{
	struct pmc_arena *arena = &diff->arena;
	struct diff_row *row;

	HASH_FIND_STR(diff->by_key, key, row);
	if (row)
		return row;
	row = pmc_arena_alloc(arena, sizeof(*row));
	if (!row || diff_init_row(diff, row, key))
		return NULL;
	HASH_ADD_KEYPTR(hh, diff->by_key, row->key, strlen(row->key), row);
	row->next = diff->rows;
	diff->rows = row;
	diff->n_rows++;
	return row;
}

static diff_number value_of(const struct diff_sample *sample, unsigned column)
{
	return column < sample->n ? sample->values[column] : NAN;
}

void diff_add(struct diff_sample *sample, unsigned column, diff_number more)
{
	if (column >= sample->n) {
		diff_number *values = realloc(sample->values, (column + 1) * sizeof(*values));

		/* Then the value is unknown. */
		if (!values)
			return;
		for (unsigned c = sample->n; c <= column; c++)
			values[c] = NAN;
		sample->values = values;
		sample->n = column + 1;
	}
	sample->values[column] =
		isnan(sample->values[column]) ? more : sample->values[column] + more;
}

static void take_row(struct diff *diff, struct diff_row *row, unsigned side, unsigned sample,
		     const struct pmc_fold_row *from, const struct pmc_union *u)
{
	struct diff_sample *to = &row->samples[side][sample];

	row->there[side] = true;
	if (from->cpu.rows)
		diff_add(to, DIFF_CPU, from->cpu.sum);
	diff_add(to, DIFF_THREADS, from->threads);
	/* The total has what single rows lack beside them. */
	if (from->usage_rows == from->rows || (row == &diff->total && from->usage_rows)) {
		diff_add(to, DIFF_FAULTS, (double)(from->minor_faults + from->major_faults));
		diff_add(to, DIFF_VOLUNTARY, from->voluntary_switches);
		diff_add(to, DIFF_INVOLUNTARY, from->involuntary_switches);
	}
	for (unsigned i = 0; i < u->set.count; i++) {
		enum pmc_state state = pmc_fold_state(&from->events[i], from->rows);
		struct diff_column *column;

		if (state != PMC_COUNTED && state != PMC_SCALED)
			continue;
		column = diff_event_column(diff, side, u->columns[i]->label, &u->set.events[i]);
		if (!column)
			continue;
		row->scaled |= state == PMC_SCALED;
		diff_add(to, (unsigned)(column - diff->columns),
			 from->events[i].sum * (diff_number)pmc_event_scale(&u->set.events[i]));
	}
}

/* What no row has, as a row of its own; `rest` has its CPU time, faults and switches. */
static int take_remainder(struct diff *diff, unsigned side, unsigned sample, const char *key,
			  const struct pmc_p_remainder *remainder, struct pmc_p_thread *rest,
			  struct pmc_union *u)
{
	const struct pmc_thread_fixed *fixed = &rest->fixed;
	struct pmc_fold_row sums = { .label = key };
	struct diff_row *to;

	if (!remainder->set && !fixed->cpu_ns && !fixed->minor_faults && !fixed->major_faults &&
	    !fixed->voluntary_switches && !fixed->involuntary_switches)
		return 0;
	rest->set = remainder->set;
	rest->counts = remainder->counts;
	to = diff_find_row(diff, key);
	if (!to || pmc_fold_init(&sums, u))
		return -ENOMEM;
	pmc_fold_add(&sums, u, rest, false);
	sums.threads = 0;
	take_row(diff, to, side, sample, &sums, u);
	take_row(diff, &diff->total, side, sample, &sums, u);
	return 0;
}

static int take_remainders(struct diff *diff, unsigned side, unsigned sample,
			   const struct pmc_profile *profile, struct pmc_union *u)
{
	int error = 0;

	for (uint64_t p = 0; p < profile->n_processes && !error; p++) {
		const struct pmc_p_process *process = profile->processes[p];
		struct pmc_p_thread rest = { 0 };

		rest.fixed.cpu_ns = pmc_sub_sat(process->fixed.cpu_ns, process->attributed_cpu_ns);
		if (!pmc_process_usage_rest(process, &rest.fixed))
			rest.fixed.flags = PMC_THREAD_NO_RUSAGE;
		if (pmc_process_never_on(&process->fixed))
			rest.fixed.flags |= PMC_THREAD_NO_CPU;
		error = take_remainder(diff, side, sample, "unattributed", &process->unattributed,
				       &rest, u);
		rest = (struct pmc_p_thread){ .fixed.flags = PMC_THREAD_NO_RUSAGE };
		if (process->descendants.has_cpu)
			rest.fixed.cpu_ns = process->descendants.cpu_ns;
		if (!error)
			error = take_remainder(diff, side, sample, "descendants",
					       &process->descendants, &rest, u);
	}
	return error;
}

static int take_profile(struct diff *diff, unsigned side, unsigned sample,
			const struct pmc_profile *profile)
{
	struct pmc_arena arena = { 0 };
	struct pmc_thread_buf buf;
	struct pmc_union u;
	struct pmc_fold fold;
	int error = pmc_union_init(&u, &arena);

	for (unsigned s = 0; s < profile->n_sets && !error; s++)
		error = pmc_union_add(&u, profile->sets[s], true);
	for (uint64_t p = 0; p < profile->n_processes && !error; p++) {
		error = pmc_union_add(&u, profile->processes[p]->unattributed.set, false);
		if (!error)
			error = pmc_union_add(&u, profile->processes[p]->descendants.set, false);
	}
	if (!error) {
		pmc_fold_begin(&fold, &u, diff->by);
		for (uint64_t t = 0; t < profile->n_threads && !error; t++)
			error = pmc_fold_thread(
				&fold, pmc_profile_thread(profile, profile->threads[t], &buf));
		error = error ? error : pmc_fold_end(&fold);
	}
	for (const struct pmc_fold_row *row = error ? NULL : fold.rows; row; row = row->next) {
		struct diff_row *to = diff_find_row(diff, row->label);

		if (!to) {
			error = -ENOMEM;
			break;
		}
		take_row(diff, to, side, sample, row, &u);
		take_row(diff, &diff->total, side, sample, row, &u);
	}
	if (!error)
		error = take_remainders(diff, side, sample, profile, &u);
	pmc_arena_free(&arena);
	return error;
}

/* One run must not count as several: its values would look more certain than they are. Processes
 * in the same dump and ranks of one job differ in identity. */
static int warn_repeated(struct diff *diff, unsigned side, unsigned sample,
			 const struct pmc_profile *profile)
{
	struct pmc_arena *arena = &diff->arena;
	struct diff_process *seen;

	for (uint64_t p = 0; p < profile->n_processes && !diff->repeated[side]; p++) {
		const uint8_t *identity = profile->processes[p]->identity;

		HASH_FIND(hh, diff->processes[side], identity, sizeof(seen->identity), seen);
		if (seen) {
			tool_warn("%s and %s have a process in common: one run counts as two; "
				  "name each run once per side",
				  diff->files[side][seen->sample], diff->files[side][sample]);
			diff->repeated[side] = true;
			break;
		}
		seen = pmc_arena_alloc(arena, sizeof(*seen));
		if (!seen)
			return -ENOMEM;
		memcpy(seen->identity, identity, sizeof(seen->identity));
		seen->sample = sample;
		HASH_ADD(hh, diff->processes[side], identity, sizeof(seen->identity), seen);
	}
	return 0;
}

/* What the side is of: hosts, a command, time without counting. */
static void take_processes(struct diff *diff, unsigned side, const struct pmc_profile *profile)
{
	for (uint64_t p = 0; p < profile->n_processes; p++) {
		const struct pmc_p_process *process = profile->processes[p];
		const char *host = process->host, *old = diff->hosts[side];
		char text[1024];

		if (!diff->commands[side] && *process->cmdline)
			diff->commands[side] = pmc_arena_strdup(&diff->arena, process->cmdline);
		if (process->fixed.off_ns > diff->off_ns[side])
			diff->off_ns[side] = process->fixed.off_ns;
		if (!*host || (old && strstr(old, host)) || (old && strlen(old) > 512))
			continue;
		snprintf(text, sizeof(text), "%s%s%.256s", old ? old : "", old ? "," : "", host);
		diff->hosts[side] = pmc_arena_strdup(&diff->arena, text);
	}
}

static int take_by_names(struct diff *diff, unsigned side, unsigned sample,
			 const struct pmc_profile *profile)
{
	struct report_names *names;
	int error = report_names_new(&names, diff->root);

	if (error)
		return error;
	error = diff_take_samples(diff, side, sample, profile, names);
	if (!error)
		report_names_warn(names, REPORT_NAMES_FIX);
	report_names_free(names);
	return error;
}

static int read_sample(struct diff *diff, unsigned side, unsigned sample)
{
	const struct pmc_profile_options options = { .timeline = false };
	const char *file = diff->files[side][sample];
	struct pmc_profile profile;
	int code, error = pmc_profile_init(&profile, &options);

	if (error)
		return tool_fail(EXIT_FAIL, "%s", strerror(-error));
	code = report_read_file(&profile, file);
	if (!code) {
		error = pmc_profile_finish(&profile);
		if (!error) {
			symbols_resolve(&profile, NULL);
			take_processes(diff, side, &profile);
			error = warn_repeated(diff, side, sample, &profile);
		}
		if (!error) {
			error = pmc_by_samples(diff->by) ?
					take_by_names(diff, side, sample, &profile) :
					take_profile(diff, side, sample, &profile);
		}
		if (error)
			code = tool_fail(EXIT_FAIL, "cannot hold %s in memory: %s", file,
					 strerror(-error));
	}
	pmc_profile_free(&profile);
	return code;
}

/* Of several dumps a side, those without samples. */
static void warn_sampleless(const struct diff *diff)
{
	for (unsigned side = 0; side < 2; side++)
		for (unsigned s = 0; diff->n_files[side] > 1 && s < diff->n_files[side]; s++)
			if (!diff->total.samples[side][s].n)
				tool_warn("%s has no samples: it is left out of the mean",
					  diff->files[side][s]);
}

int diff_read(struct diff *diff)
{
	static const char *const names[] = { "cpu_ns", "threads", "page_faults",
					     "voluntary_switches", "involuntary_switches" };
	int code = 0;

	for (unsigned c = 0; c < DIFF_EVENTS; c++)
		add_column(diff, names[c], c == DIFF_CPU);
	diff->columns[DIFF_THREADS].least = 1;
	if (diff_init_row(diff, &diff->total, "total") ||
	    diff_init_row(diff, &diff->others, "others"))
		return tool_fail(EXIT_FAIL, "out of memory");
	/* Every unreadable file is named. */
	for (unsigned side = 0; side < 2; side++)
		for (unsigned s = 0; s < diff->n_files[side]; s++)
			code = read_sample(diff, side, s) ? EXIT_FAIL : code;
	if (code || !pmc_by_samples(diff->by))
		return code;
	if (diff->n_columns == DIFF_EVENTS && diff->event)
		return tool_fail(EXIT_USAGE, "these dumps have no samples by event '%.60s'",
				 diff->event);
	if (diff->n_columns == DIFF_EVENTS)
		return tool_fail(EXIT_USAGE,
				 "these dumps have no samples; pmctl run --sample takes some");
	warn_sampleless(diff);
	return 0;
}

bool diff_values(const struct diff *diff, const struct diff_row *row, unsigned column,
		 struct diff_side sides[2])
{
	const struct diff_column *of = &diff->columns[column];
	struct bench_mean means[2];

	for (unsigned side = 0; side < 2; side++) {
		const struct diff_sample *of_all = diff->total.samples[side];
		unsigned n = diff->n_files[side];
		double *values = malloc((n + 1) * sizeof(*values));

		for (unsigned s = 0; s < n && values; s++) {
			const struct diff_sample *sample = &row->samples[side][s];
			diff_number value = value_of(sample, column);

			/* Threads and functions missing in a dump count as 0 there. */
			if (isnan(value) && isnan(value_of(sample, DIFF_THREADS)) &&
			    !isnan(value_of(&of_all[s], column)))
				value = 0;
			values[s] = (double)value;
			if (!isnan(value))
				sides[side].value = value;
		}
		bench_summarize(values, values ? n : 0, &sides[side].summary);
		free(values);
	}
	bench_means(&sides[0].summary, &sides[1].summary, means);
	for (unsigned side = 0; side < 2; side++)
		if (sides[side].summary.n != 1)
			sides[side].value = means[side].value;
	if (column >= DIFF_EVENTS && of->scopes[0] != of->scopes[1])
		return false;
	return sides[0].summary.n && sides[1].summary.n;
}

static void free_samples(const struct diff *diff, struct diff_row *row)
{
	for (unsigned side = 0; side < 2; side++)
		for (unsigned s = 0; row->samples[side] && s < diff->n_files[side]; s++)
			free(row->samples[side][s].values);
}

void diff_free_rows(struct diff *diff)
{
	for (struct diff_row *row = diff->rows; row; row = row->next)
		free_samples(diff, row);
	free_samples(diff, &diff->total);
	free_samples(diff, &diff->others);
}
