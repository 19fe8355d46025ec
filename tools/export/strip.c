/* SPDX-License-Identifier: MIT */
/*
 * strip.c - of a page: what each thread, or pool of many, did over time, by samples with times, or
 * by the CPU time between snapshots.
 */
#include "lib/base/json.h"
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "tools/export/export.h"

enum {
	STRIP_STEPS = 200,
	STRIP_LANES_MOST = 40, /* those with most CPU time; of more threads pools are shown */
};

struct lane {
	const struct pmc_p_row *thread; /* of a pool: one of them */
	const char *pool;
	uint64_t sum;		     /* CPU time, while no lane is shown */
	uint64_t *cpu_ns, *waits_ns; /* of each step; NULL: it is not shown */
};

struct strip {
	struct export *export;
	struct pmc_thread_buf buf;
	struct pmc_union united;
	struct pmc_fold fold;
	struct lane *lanes; /* NULL: rows are only counted */
	bool are_pools;
	uint64_t step_ns, end_ns;
};

/* ns of CPU time or waiting, spread evenly over a time since the start of the job. */
static void spread(const struct strip *strip, uint64_t *steps, uint64_t from, uint64_t to,
		   uint64_t ns)
{
	const double each = (double)ns / (double)(to - from);

	for (uint64_t i = from / strip->step_ns; i < STRIP_STEPS && from < to; i++) {
		const uint64_t next = (i + 1) * strip->step_ns, end = next < to ? next : to;

		steps[i] += (uint64_t)(each * (double)(end - from) + 0.5);
		from = end;
	}
}

/* What the thread of the row did until a time of the clock. */
static void add(struct strip *strip, const struct pmc_p_row *row, bool waits, uint64_t from,
		uint64_t to, uint64_t ns)
{
	const struct pmc_p_thread *thread =
		pmc_profile_thread(strip->export->profile, row, &strip->buf);
	const uint64_t start = thread->process->job_start_ns;
	const struct pmc_fold_row *of;
	struct lane *lane;

	from = pmc_sub_sat(from, start);
	to = pmc_sub_sat(to, start);
	if (to <= from)
		return;
	of = pmc_fold_find(&strip->fold, thread);
	strip->end_ns = to > strip->end_ns ? to : strip->end_ns;
	if (!strip->lanes)
		return;
	lane = &strip->lanes[of->index];
	lane->thread = row;
	lane->pool = of->label;
	if (lane->cpu_ns)
		spread(strip, waits ? lane->waits_ns : lane->cpu_ns, from, to, ns);
	else
		lane->sum += waits ? 0 : ns;
}

/* By the event with most samples that is of work, and waits. */
static void add_samples(struct strip *strip)
{
	const struct pmc_profile *profile = strip->export->profile;
	const struct export_event *work = NULL;

	for (unsigned i = 0; i < strip->export->n_events; i++) {
		const struct export_event *event = &strip->export->events[i];

		if (!pmc_is_off_cpu(event->event) && (!work || event->samples > work->samples))
			work = event;
	}
	for (uint64_t i = 0; i < profile->n_timed_lists; i++) {
		const struct pmc_p_samples *list = profile->timed[i];
		const bool waits = list->event && pmc_is_off_cpu(list->event);

		if (!list->row || !list->event ||
		    (!waits && (!work || strcmp(list->event->name, work->event->name) != 0)))
			continue;
		for (uint64_t k = 0; k < list->n; k++) {
			const struct pmc_p_sample *sample = &list->list[k];
			const uint64_t ns = export_sample_ns(list, sample);
			const uint64_t step = sample->time_ns - sample->time_ns % PMC_TIMES_STEP_NS;

			/* Several that ended in a step of the clock are somewhere in it. */
			if (ns <= PMC_TIMES_STEP_NS)
				add(strip, list->row, waits, step, step + PMC_TIMES_STEP_NS, ns);
			else
				add(strip, list->row, waits, pmc_sub_sat(sample->time_ns, ns),
				    sample->time_ns, ns);
		}
	}
}

/* When a thread ran is known where it has several rows, or lived for a short time only. */
static void add_snapshots(struct strip *strip)
{
	enum { SHORT = 20 }; /* so many in the whole time */
	const struct pmc_profile *profile = strip->export->profile;
	struct pmc_thread_buf buf;
	uint64_t cpu_ns = 0, from = 0, whole = 0;
	bool any = false;

	for (uint64_t i = 0; i < profile->n_timeline; i++)
		any |= i && pmc_same_thread(profile->timeline[i - 1], profile->timeline[i]);
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];
		const uint64_t life = pmc_sub_sat(process->fixed.time_ns, process->job_start_ns);

		whole = life > whole ? life : whole;
	}
	if (!any)
		return;

	for (uint64_t i = 0; i < profile->n_timeline; i++) {
		const struct pmc_p_row *row = profile->timeline[i];
		const struct pmc_p_thread *now = pmc_profile_thread(profile, row, &buf);
		const uint64_t to = now->fixed.end_ns ? now->fixed.end_ns : now->fixed.time_ns;
		const bool first = !i || !pmc_same_thread(profile->timeline[i - 1], row);
		const bool last = i + 1 == profile->n_timeline ||
				  !pmc_same_thread(row, profile->timeline[i + 1]);

		if (first && last && pmc_sub_sat(to, now->fixed.start_ns) > whole / SHORT)
			continue;
		if (first) {
			cpu_ns = 0;
			from = now->fixed.start_ns;
		}
		if (from && !(now->fixed.flags & PMC_THREAD_NO_CPU))
			add(strip, row, false, from, to, pmc_sub_sat(now->fixed.cpu_ns, cpu_ns));
		cpu_ns = now->fixed.cpu_ns;
		from = to;
	}
}

static void add_all(struct strip *strip)
{
	if (strip->export->profile->n_timed_lists)
		add_samples(strip);
	else
		add_snapshots(strip);
}

static void count_rows(struct strip *strip, enum pmc_fold_by by)
{
	pmc_union_init(&strip->united, &strip->export->arena);
	pmc_fold_begin(&strip->fold, &strip->united, NULL, by);
	add_all(strip);
	pmc_fold_end(&strip->fold);
}

static int by_sum(const void *a, const void *b, const void *arg)
{
	const struct lane *const *x = a, *const *y = b;

	(void)arg;
	return ((*x)->sum < (*y)->sum) - ((*x)->sum > (*y)->sum);
}

static void put_steps(struct pmc_json *json, const char *name, const uint64_t *steps, uint64_t n)
{
	pmc_json_array(json, name);
	for (uint64_t i = 0; i < n; i++)
		pmc_json_u64(json, NULL, steps[i]);
	pmc_json_array_end(json);
}

static void put_lane(struct strip *strip, const struct lane *lane, struct pmc_json *json)
{
	const uint64_t steps = (strip->end_ns + strip->step_ns - 1) / strip->step_ns;

	export_put_owner(strip->export, strip->are_pools ? NULL : lane->thread, lane->pool, json);
	put_steps(json, "cpu_ns", lane->cpu_ns, steps);
	put_steps(json, "waits_ns", lane->waits_ns, steps);
	pmc_json_object_end(json);
}

void export_strip(struct export *export, struct pmc_json *json)
{
	struct strip strip = { .export = export };
	struct pmc_arena *arena = &export->arena;
	struct lane **list, **scratch;
	uint64_t n, n_shown;

	count_rows(&strip, PMC_BY_THREAD);
	strip.are_pools = strip.fold.n_rows > STRIP_LANES_MOST;
	if (strip.are_pools)
		count_rows(&strip, PMC_BY_POOL);
	n = strip.fold.n_rows;
	strip.step_ns = strip.end_ns / STRIP_STEPS + 1;
	/* Times are known to that. */
	if (export->profile->n_timed_lists && strip.step_ns < PMC_TIMES_STEP_NS)
		strip.step_ns = PMC_TIMES_STEP_NS;
	strip.lanes = pmc_arena_alloc(arena, (n + 1) * sizeof(*strip.lanes));
	add_all(&strip);
	list = pmc_arena_alloc(arena, (n + 1) * sizeof(*list));
	scratch = pmc_arena_alloc(arena, (n + 1) * sizeof(*scratch));
	for (uint64_t i = 0; i < n; i++)
		list[i] = &strip.lanes[i];
	pmc_sort(list, scratch, n, sizeof(*list), by_sum, NULL);
	n_shown = n < STRIP_LANES_MOST ? n : STRIP_LANES_MOST;
	for (uint64_t i = 0; i < n_shown; i++) {
		list[i]->cpu_ns = pmc_arena_alloc(arena, STRIP_STEPS * sizeof(uint64_t));
		list[i]->waits_ns = pmc_arena_alloc(arena, STRIP_STEPS * sizeof(uint64_t));
	}
	add_all(&strip);
	pmc_json_line(json);
	pmc_json_object(json, "strip");
	pmc_json_u64(json, "step_ns", strip.step_ns);
	pmc_json_u64(json, "all", n);
	pmc_json_bool(json, "waits", export->profile->n_timed_lists > 0);
	pmc_json_array(json, "lanes");
	for (uint64_t i = 0; i < n_shown; i++)
		put_lane(&strip, list[i], json);
	pmc_json_array_end(json);
	pmc_json_object_end(json);
}
