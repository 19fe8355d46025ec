/* SPDX-License-Identifier: MIT */
/* read.c - dumps to rows: each dump is folded by the key, and is one value of its side. */
#include "lib/base/number.h"
#include "tools/diff/diff.h"
#include "tools/report/report.h"

#include <stdio.h>
#include <string.h>

/* The least change of times, counts and samples in a table: a clock that ticks 100 times a second,
 * what differs between two runs of any program, and chance. */
enum { LEAST_NS = 10000000, LEAST_COUNT = 100, LEAST_SAMPLES = 10 };

/* Few in practice; of a hostile dump's further ones no samples are compared. */
enum { EVENTS_MOST = 16 };

struct dump {
	struct diff *diff;
	unsigned side, at; /* at: of all runs */
	struct pmc_profile *profile;
	struct pmc_arena arena;
};

/* ---- rows and columns --------------------------------------------------------------------- */

static struct diff_column *add_column(struct diff *diff, const char *name, const char *head,
				      bool is_time)
{
	struct diff_column *column = &diff->columns[diff->n_columns++];

	*column = (struct diff_column){ .name = name,
					.head = head,
					.is_time = is_time,
					.least = is_time ? LEAST_NS : LEAST_COUNT };
	return column;
}

/* The column of an event that the dump has; NULL: there are too many. */
static struct diff_column *event_column(struct dump *dump, const char *label,
					const struct pmc_p_event *event)
{
	struct diff *diff = dump->diff;
	const unsigned room = sizeof(diff->columns) / sizeof(diff->columns[0]);
	struct diff_column *column = NULL;

	for (unsigned c = DIFF_EVENTS; c < diff->n_columns && !column; c++)
		if (!strcmp(diff->columns[c].name, label))
			column = &diff->columns[c];
	if (!column && diff->n_columns < room) {
		label = pmc_arena_strdup(&diff->arena, label);
		column = add_column(diff, label, label, !strcmp(event->unit, "ns"));
	}
	if (column)
		column->scopes[dump->side] |= 1u << event->def.scope;
	/* Joules and the like: there is no number below which a change is small. */
	if (column && !column->is_time && event->unit[0])
		column->least = 0;
	return column;
}

static struct diff_row *find_row(struct diff *diff, const char *key)
{
	struct pmc_arena *arena = &diff->arena;
	struct diff_row *row;

	HASH_FIND_STR(diff->rows, key, row);
	if (row)
		return row;
	row = pmc_arena_alloc(arena, sizeof(*row));
	row->key = row->label = pmc_arena_strdup(arena, key);
	HASH_ADD_KEYPTR(hh, diff->rows, row->key, strlen(row->key), row);
	return row;
}

void diff_add(struct diff *diff, struct diff_row *row, unsigned column, unsigned dump,
	      diff_number more)
{
	diff_number *sums;

	for (; row->n <= column; row->n++)
		row->sums = pmc_arena_grow(&diff->arena, row->sums, row->n, &row->room,
					   sizeof(*row->sums));
	sums = row->sums[column];
	if (!sums) {
		sums = pmc_arena_alloc(&diff->arena, diff->n_dumps * sizeof(*sums));
		for (unsigned i = 0; i < diff->n_dumps; i++)
			sums[i] = NAN;
		row->sums[column] = sums;
	}
	sums[dump] = isnan(sums[dump]) ? more : sums[dump] + more;
}

static diff_number sum_in(const struct diff_row *row, unsigned column, unsigned dump)
{
	const diff_number *sums = diff_sums(row, column);

	return sums ? sums[dump] : (diff_number)NAN;
}

diff_number diff_value(const struct diff *diff, const struct diff_row *row, unsigned column,
		       unsigned dump)
{
	const diff_number value = sum_in(row, column, dump);

	if (isnan(value) && isnan(sum_in(row, DIFF_THREADS, dump)) &&
	    !isnan(sum_in(&diff->total, column, dump)))
		return 0;
	return value;
}

/* Adds to a row of the dump (NULL: none), and to the total, which has what is in several rows
 * once: `own`. */
static void add_own(struct dump *dump, struct diff_row *row, unsigned column, diff_number value,
		    diff_number own)
{
	if (row)
		diff_add(dump->diff, row, column, dump->at, value);
	diff_add(dump->diff, &dump->diff->total, column, dump->at, own);
}

static void add(struct dump *dump, struct diff_row *row, unsigned column, diff_number value)
{
	add_own(dump, row, column, value, value);
}

/* ---- threads ------------------------------------------------------------------------------ */

static void take_row(struct dump *dump, const char *key, const struct pmc_fold_row *from,
		     const struct pmc_union *u)
{
	struct diff *diff = dump->diff;
	struct diff_row *row = find_row(diff, key);
	/* A region has what those inside it have. */
	const struct pmc_fold_row *own = from->self ? from->self : from;

	row->there[dump->side] = diff->total.there[dump->side] = true;
	if (from->cpu.rows)
		add_own(dump, row, DIFF_CPU, from->cpu.sum, own->cpu.sum);
	add(dump, row, DIFF_THREADS, from->self ? from->calls : from->threads);
	/* The total has what single threads lack beside them. */
	if (from->usage_rows || from->usage_least)
		add(dump, from->usage_rows >= from->rows ? row : NULL, DIFF_FAULTS,
		    (double)(from->usage.minor_faults + from->usage.major_faults));
	if (from->switch_rows || from->usage_least) {
		struct diff_row *whole = from->switch_rows >= from->rows ? row : NULL;

		add(dump, whole, DIFF_VOLUNTARY, from->usage.voluntary_switches);
		add(dump, whole, DIFF_INVOLUNTARY, from->usage.involuntary_switches);
	}
	for (unsigned i = 0; i < u->set.count; i++) {
		enum pmc_state state = pmc_fold_state(&from->events[i], from->rows);
		struct diff_column *column;
		diff_number scale;

		/* The rest of several processes adds up as far as it is known. */
		if (state != PMC_COUNTED && state != PMC_SCALED &&
		    !(state == PMC_PARTIAL && !from->threads))
			continue;
		column = event_column(dump, u->columns[i].label, &u->set.events[i]);
		if (!column)
			continue;
		diff->scaled |= state == PMC_SCALED;
		scale = pmc_event_scale(&u->set.events[i]);
		add_own(dump, row, (unsigned)(column - diff->columns), from->events[i].sum * scale,
			own->events[i].sum * scale);
	}
}

static void take_threads(struct dump *dump)
{
	struct pmc_groups groups;

	pmc_groups_make(dump->profile, dump->diff->outer, dump->diff->by, &dump->arena, &groups);
	for (const struct pmc_fold_row *row = groups.rows; row; row = row->next)
		take_row(dump, row->label, row, groups.events);
	if (dump->diff->by == PMC_BY_REGION)
		return;
	if (groups.unattributed)
		take_row(dump, "unattributed", groups.unattributed, groups.events);
	if (groups.descendants)
		take_row(dump, "descendants", groups.descendants, groups.events);
}

/* ---- samples ------------------------------------------------------------------------------ */

static struct diff_row *sample_row(struct diff *diff, const struct pmc_sample_row *from)
{
	char room[512];
	/* A module may be in another directory on the other side. */
	const bool whole = diff->by != PMC_BY_MODULE;
	const char *key = pmc_sample_key(from, diff->by, whole, room, sizeof(room));
	struct diff_row *row = find_row(diff, key);

	if (diff->by == PMC_BY_LINE && row->label == row->key)
		row->label = pmc_arena_strdup(
			&diff->arena, pmc_sample_key(from, diff->by, false, room, sizeof(room)));
	return row;
}

/* As a report shows it: of rows, and of what has none. */
static uint64_t all_cpu_ns(struct dump *dump)
{
	struct pmc_groups groups;
	uint64_t ns = 0;

	pmc_groups_make(dump->profile, dump->diff->outer, PMC_BY_PROCESS, &dump->arena, &groups);
	for (const struct pmc_fold_row *row = groups.rows; row; row = row->next)
		pmc_add_sat(&ns, row->cpu.sum);
	if (groups.unattributed)
		pmc_add_sat(&ns, groups.unattributed->cpu.sum);
	if (groups.descendants)
		pmc_add_sat(&ns, groups.descendants->cpu.sum);
	return ns;
}

/* Adds the rows of one event. Functions of one name are one row: modules may differ in their
 * paths. */
static void take_event(struct dump *dump, const struct pmc_p_event *event,
		       const struct pmc_sample_fold *fold)
{
	const double unit = pmc_event_scale(event);
	struct diff *diff = dump->diff;
	struct diff_sampled *sampled = &diff->sampled[dump->side];
	struct diff_column *columns[2]; /* NULL: there is no room for it */
	uint64_t samples = 0, weight = 0, value = 0, cpu_ns;

	if (!sampled->event)
		sampled->event = pmc_arena_strdup(&diff->arena, event->name);
	for (uint64_t i = 0; i < fold->n_lists; i++) {
		const struct pmc_p_samples *of = fold->lists[i];

		pmc_add_sat(&samples, of->samples);
		pmc_add_sat(&weight, of->weight);
		if (strcmp(sampled->event, event->name) != 0)
			continue;
		pmc_add_sat(&sampled->samples, of->samples);
		pmc_add_sat(&sampled->weight, of->weight);
		pmc_add_sat(&sampled->incomplete, of->fixed.truncated);
		if (of->count && pmc_count_has_value(of->count))
			pmc_add_sat(&value, pmc_count_value(of->count));
	}
	sampled->is_cpu |= value && pmc_is_user_clock(event);
	cpu_ns = value && pmc_is_user_clock(event) ? all_cpu_ns(dump) : 0;
	pmc_add_sat(&sampled->value, cpu_ns > value ? cpu_ns : value);
	for (unsigned i = 0; i < 2; i++) {
		char name[512];

		snprintf(name, sizeof(name), "%.480s %s", event->name, i ? "total" : "self");
		columns[i] = event_column(dump, name, event);
		if (columns[i])
			columns[i]->least =
				samples ? LEAST_SAMPLES * (double)weight / (double)samples * unit :
					  0;
	}
	for (uint64_t i = 0; i < fold->n_rows; i++) {
		const struct pmc_sample_row *from = fold->rows[i];
		struct diff_row *row = sample_row(diff, from);

		row->there[dump->side] = diff->total.there[dump->side] = true;
		for (unsigned c = 0; c < 2; c++) {
			const unsigned column = (unsigned)(columns[c] - diff->columns);

			if (!columns[c])
				continue;
			diff_add(diff, row, column, dump->at,
				 (c ? from->total : from->self) * unit);
			/* Each sample is once in the sum of self, also the total of totals. */
			diff_add(diff, &diff->total, column, dump->at, from->self * unit);
		}
	}
}

/* Without --event waits are compared only if there is nothing else. */
static bool is_wanted(const struct diff *diff, const struct pmc_p_event *event, bool waits)
{
	if (!event)
		return false;
	return diff->event ? !strcmp(event->name, diff->event) : waits || !pmc_is_off_cpu(event);
}

static void take_samples(struct dump *dump)
{
	struct pmc_p_samples **samples = dump->profile->samples;
	const uint64_t n = dump->profile->n_samples;
	struct diff *diff = dump->diff;
	struct pmc_sample_fold fold = { .by = diff->by, .arena = &dump->arena };
	unsigned events = 0;
	bool waits = true;

	if (!diff->names)
		diff->names = report_names_new(diff->root);
	report_names_next(diff->names);
	fold.lists = pmc_arena_alloc(&dump->arena, (n + 1) * sizeof(*fold.lists));
	for (uint64_t i = 0; i < n && waits; i++)
		waits = !samples[i]->event || pmc_is_off_cpu(samples[i]->event);
	for (uint64_t i = 0; i < n && events < EVENTS_MOST; i++) {
		const struct pmc_p_event *event = samples[i]->event;
		bool seen = false;

		if (!is_wanted(diff, event, waits))
			continue;
		fold.n_lists = 0;
		for (uint64_t k = 0; k < n && !seen; k++) {
			if (!samples[k]->event || strcmp(samples[k]->event->name, event->name) != 0)
				continue;
			seen = k < i;
			fold.lists[fold.n_lists++] = samples[k];
		}
		if (seen)
			continue;
		events++;
		report_fold_samples(&fold, diff->names);
		take_event(dump, event, &fold);
	}
}

void diff_end(struct diff *diff)
{
	if (diff->names)
		report_names_warn(diff->names, REPORT_NAMES_FIX);
	report_names_free(diff->names);
	diff->names = NULL;
}

/* ---- dumps -------------------------------------------------------------------------------- */

static void take_processes(struct dump *dump)
{
	struct diff *diff = dump->diff;
	const unsigned side = dump->side;

	if (dump->profile->n_jobs > diff->jobs[side])
		diff->jobs[side] = dump->profile->n_jobs;
	for (uint64_t p = 0; p < dump->profile->n_processes; p++) {
		const struct pmc_p_process *process = dump->profile->processes[p];
		const char *host = process->host, *old = diff->hosts[side];

		if (!diff->commands[side] && *process->cmdline)
			diff->commands[side] = pmc_arena_strdup(&diff->arena, process->cmdline);
		if (process->fixed.off_ns > diff->off_ns[side])
			diff->off_ns[side] = process->fixed.off_ns;
		if (!*host || (old && (strstr(old, host) || strlen(old) > 512)))
			continue;
		diff->hosts[side] = pmc_arena_format(&diff->arena, "%s%s%.256s", old ? old : "",
						     old ? "," : "", host);
	}
}

void diff_take(struct diff *diff, unsigned side, unsigned at, struct pmc_profile *profile)
{
	struct dump dump = { .diff = diff, .at = at, .side = side, .profile = profile };

	symbols_resolve(profile);
	take_processes(&dump);
	if (pmc_by_samples(diff->by))
		take_samples(&dump);
	else
		take_threads(&dump);
	pmc_arena_free(&dump.arena);
}

int diff_load_run(const struct diff_run *run, bool several, struct pmc_profile *profile,
		  bool *whole)
{
	int code;

	pmc_profile_init(profile, NULL);
	code = report_read(profile, run->paths, run->n_paths);
	if (!code)
		pmc_profile_finish(profile);
	*whole = !several || !profile->damaged_frames;
	if (!code && !*whole)
		tool_warn("%s is left out, since it is damaged", run->name);
	return code;
}

static int read_side(struct diff *diff, unsigned side, const struct diff_runs *runs)
{
	unsigned *n = &diff->n_files[side];
	int code = 0;

	*n = 0;
	for (unsigned i = 0; i < runs->n; i++) {
		const unsigned at = *n + (side ? diff->n_files[0] : 0);
		struct pmc_profile profile;
		bool whole;

		if (diff_load_run(&runs->list[i], runs->n > 1, &profile, &whole)) {
			code = EXIT_FAIL;
		} else if (whole) {
			diff_take(diff, side, at, &profile);
			diff->files[at] = runs->list[i].name;
			++*n;
		}
		pmc_profile_free(&profile);
	}
	if (!code && !*n)
		return tool_fail(EXIT_FAIL,
				 "all dumps of side %c are damaged; give whole ones, or two to "
				 "compare what is left of them",
				 side ? 'B' : 'A');
	return code;
}

/* Of several dumps a side, those without samples. */
static void warn_sampleless(const struct diff *diff)
{
	const unsigned n = diff->n_files[0] + diff->n_files[1];

	for (unsigned at = 0; at < n; at++) {
		bool some = diff->n_files[at >= diff->n_files[0]] == 1;

		for (unsigned c = DIFF_EVENTS; c < diff->n_columns && !some; c++)
			some = !isnan(sum_in(&diff->total, c, at));
		if (!some)
			tool_warn("%s has no samples: it is left out of the mean", diff->files[at]);
	}
}

void diff_start(struct diff *diff, unsigned n_dumps)
{
	diff->n_dumps = n_dumps;
	/* With heads as reports have them. */
	add_column(diff, "cpu_ns", "cpu", true);
	if (diff->by == PMC_BY_REGION)
		add_column(diff, "calls", "calls", false);
	else
		add_column(diff, "threads", "threads", false)->least = 1;
	add_column(diff, "page_faults", "page-faults", false);
	add_column(diff, "voluntary_switches", "vol", false);
	add_column(diff, "involuntary_switches", "invol", false);
	diff->total.key = diff->total.label = "total";
	diff->others.key = diff->others.label = "others";
}

int diff_read(struct diff *diff)
{
	struct diff_runs runs[2];
	unsigned n;
	int code = 0;

	for (unsigned side = 0; side < 2; side++)
		code = diff_find_runs(diff, diff_files(diff, side), diff->n_files[side],
				      diff->by_file, &runs[side]) ?
			       EXIT_FAIL :
			       code;
	if (code)
		return code;
	n = runs[0].n + runs[1].n;
	diff->values = pmc_arena_alloc(&diff->arena, n * sizeof(*diff->values));
	diff->files = pmc_arena_alloc(&diff->arena, n * sizeof(*diff->files));
	diff_start(diff, n);
	for (unsigned side = 0; side < 2; side++)
		code = read_side(diff, side, &runs[side]) ? EXIT_FAIL : code;
	diff_end(diff);
	if (!code && diff->by == PMC_BY_REGION && !diff->rows)
		return tool_fail(EXIT_USAGE, "these dumps have no regions; see pmc_region(3)");
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
