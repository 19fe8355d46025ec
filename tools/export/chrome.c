/* SPDX-License-Identifier: MIT */
/*
 * chrome.c - the Trace Event Format: each thread's life, its stacks over time, and its rates
 * between snapshots.
 *
 * Source: "Trace Event Format" of the Chromium project. Times are in microseconds from the start of
 * the job.
 */
#include "lib/base/json.h"
#include "lib/base/number.h"
#include "tools/export/export.h"

struct chrome {
	struct export *export;
	struct pmc_json json;
	struct pmc_thread_buf now, before;
	char label[32]; /* of the thread whose rates are written */
	bool hosts;	/* more than one: process IDs may be equal */
	uint64_t at;	/* in the processes */
};

static double us(const struct pmc_p_process *process, uint64_t ns)
{
	return (double)pmc_sub_sat(ns, process->job_start_ns) / 1000;
}

/* Processes are in the order of their machines. */
static bool has_hosts(const struct pmc_profile *profile)
{
	const uint64_t n = profile->n_processes;

	return n && strcmp(profile->processes[0]->node, profile->processes[n - 1]->node) != 0;
}

/* With several hosts a number from 1 in the order of the rows, which come process by process. */
static uint64_t pid_of(struct chrome *c, const struct pmc_p_process *process)
{
	while (c->export->profile->processes[c->at] != process)
		c->at = (c->at + 1) % c->export->profile->n_processes;
	return c->hosts ? c->at + 1 : process->fixed.pid;
}

static void begin(struct chrome *c, const char *phase, const char *name,
		  const struct pmc_p_process *process)
{
	pmc_json_line(&c->json);
	pmc_json_object(&c->json, NULL);
	pmc_json_str(&c->json, "ph", phase);
	pmc_json_str(&c->json, "name", name);
	pmc_json_u64(&c->json, "pid", pid_of(c, process));
}

static void end(struct chrome *c)
{
	pmc_json_object_end(&c->json);
	pmc_json_object_end(&c->json);
}

static void put_process(struct chrome *c, const struct pmc_p_process *process)
{
	struct pmc_out out = PMC_OUT_MEM(512);

	pmc_outf(&out, "%.300s", pmc_base_name(process->exe));
	if (c->hosts)
		pmc_outf(&out, " on %.100s, process %u", process->host, process->fixed.pid);
	begin(c, "M", "process_name", process);
	pmc_json_object(&c->json, "args");
	pmc_json_str(&c->json, "name", out.buf);
	end(c);
}

/* Keys of an object are unique: of an event that was asked for twice the first. */
static bool is_repeated(const struct pmc_p_set_view *set, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (!strcmp(set->events[k].name, set->events[i].name))
			return true;
	return false;
}

static void put_counts(struct chrome *c, const struct pmc_p_thread *thread)
{
	for (unsigned i = 0; thread->set && i < thread->set->count; i++)
		if (pmc_count_has_value(&thread->counts[i]) && !is_repeated(thread->set, i))
			pmc_json_u64(&c->json, thread->set->events[i].name,
				     pmc_count_value(&thread->counts[i]));
}

static void put_life(struct chrome *c, const struct pmc_p_thread *thread)
{
	const struct pmc_p_process *process = thread->process;
	size_t len;
	const char *name = pmc_thread_label(thread, &len);
	const uint64_t until = pmc_thread_until(thread);
	const uint64_t start =
		thread->fixed.start_ns ? thread->fixed.start_ns : process->fixed.start_ns;
	struct pmc_out text = PMC_OUT_MEM(64);

	begin(c, "M", "thread_name", process);
	pmc_json_u64(&c->json, "tid", thread->fixed.tid);
	pmc_json_object(&c->json, "args");
	pmc_json_strn(&c->json, "name", name, len);
	end(c);
	pmc_out_bytes(&text, name, len);
	begin(c, "X", text.buf, process);
	pmc_json_u64(&c->json, "tid", thread->fixed.tid);
	pmc_json_double(&c->json, "ts", us(process, start));
	pmc_json_double(&c->json, "dur", (double)pmc_sub_sat(until, start) / 1000);
	pmc_json_object(&c->json, "args");
	if (!(thread->fixed.flags & PMC_THREAD_NO_CPU))
		pmc_json_u64(&c->json, "cpu_ns", thread->fixed.cpu_ns);
	put_counts(c, thread);
	end(c);
}

/* ---- stacks over time ----------------------------------------------------------------------- */

/* A call that goes on. */
struct call {
	const struct spot *spot;
	uint64_t start_ns;
};

struct chart {
	struct chrome *c;
	const struct pmc_p_process *process;
	uint32_t tid;
	struct pmc_arena *arena;
	struct spot_list spots;
	struct call *calls; /* the outermost first */
	size_t n, room;
	uint64_t end_ns; /* of the last sample or wait */
};

/* Ends the calls from the n-th on. */
static void close_calls(struct chart *chart, size_t n)
{
	struct chrome *c = chart->c;

	while (chart->n > n) {
		const struct call *call = &chart->calls[--chart->n];

		begin(c, "X", call->spot->function, chart->process);
		pmc_json_u64(&c->json, "tid", chart->tid);
		pmc_json_double(&c->json, "ts", us(chart->process, call->start_ns));
		pmc_json_double(&c->json, "dur",
				(double)pmc_sub_sat(chart->end_ns, call->start_ns) / 1000);
		pmc_json_object(&c->json, "args");
		pmc_json_str(&c->json, "module", call->spot->module);
		end(c);
	}
}

/* A sample or wait of `ns` until its time: the callers that it shares with the one before go on. */
static void add_to_chart(struct chart *chart, const struct pmc_p_sample *sample, uint64_t ns)
{
	struct spot_list *spots = &chart->spots;
	uint64_t start = pmc_sub_sat(sample->time_ns, ns);
	size_t same = 0;

	/* A gap, as of a wait for a CPU. */
	if (start > chart->end_ns + PMC_TIMES_STEP_NS)
		close_calls(chart, 0);
	else
		start = chart->end_ns;
	names_of_stack(chart->c->export->names, sample->stack, NAMES_FUNCTION, true, spots);
	while (same < chart->n && same < spots->n &&
	       chart->calls[same].spot == spots->list[spots->n - 1 - same])
		same++;
	close_calls(chart, same);
	for (; same < spots->n; same++) {
		chart->calls = pmc_arena_grow(chart->arena, chart->calls, chart->n, &chart->room,
					      sizeof(*chart->calls));
		chart->calls[chart->n++] = (struct call){ spots->list[spots->n - 1 - same], start };
	}
	if (sample->time_ns > start)
		chart->end_ns = sample->time_ns;
}

/* Samples on the CPU and waits of a thread, which are lists side by side, by time. */
static void put_chart(struct chrome *c, struct pmc_p_samples **lists, uint64_t n_lists)
{
	const struct pmc_p_thread *thread =
		pmc_profile_thread(c->export->profile, lists[0]->row, &c->now);
	struct chart chart = { .c = c,
			       .process = lists[0]->process,
			       .tid = thread->fixed.tid,
			       .arena = &c->export->arena,
			       .end_ns = thread->fixed.start_ns };
	uint64_t *at = pmc_arena_alloc(chart.arena, n_lists * sizeof(*at));

	for (;;) {
		const struct pmc_p_samples *first = NULL;
		uint64_t of = 0;

		for (uint64_t i = 0; i < n_lists; i++)
			if (at[i] < lists[i]->n &&
			    (!first ||
			     lists[i]->list[at[i]].time_ns < first->list[at[of]].time_ns)) {
				first = lists[i];
				of = i;
			}
		if (!first)
			break;
		add_to_chart(&chart, &first->list[at[of]],
			     export_sample_ns(first, &first->list[at[of]]));
		at[of]++;
	}
	close_calls(&chart, 0);
}

static void put_charts(struct chrome *c)
{
	const struct pmc_profile *profile = c->export->profile;

	for (uint64_t i = 0, n; i < profile->n_timed_lists; i += n) {
		struct pmc_p_samples **lists = profile->timed + i;

		for (n = 1; i + n < profile->n_timed_lists; n++)
			if (lists[n]->row != lists[0]->row)
				break;
		if (lists[0]->row && c->export->names)
			put_chart(c, lists, n);
	}
}

/* ---- rates ------------------------------------------------------------------------------- */

/* `event` NULL: CPUs. */
static void put_rate(struct chrome *c, const struct pmc_p_thread *thread,
		     const struct pmc_p_event *event, uint64_t at_ns, double rate)
{
	struct pmc_out out = PMC_OUT_MEM(512);

	pmc_outf(&out, "%s %u: ", c->label, thread->fixed.tid);
	if (event)
		pmc_outf(&out, "%.280s%s%.40s per second", event->name, *event->unit ? " in " : "",
			 event->unit);
	else
		pmc_out_str(&out, "CPUs");
	begin(c, "C", out.buf, thread->process);
	pmc_json_double(&c->json, "ts", us(thread->process, at_ns));
	pmc_json_object(&c->json, "args");
	pmc_json_double(&c->json, "value", rate);
	end(c);
}

/* Counters from then on, for some seconds: rates by what was counted since `before` (NULL: since
 * the thread's start). 0 seconds: for good, as a counter keeps its value until the next one. */
static void put_counters(struct chrome *c, const struct pmc_p_thread *before,
			 const struct pmc_p_thread *now, uint64_t at_ns, double seconds)
{
	const double factor = seconds > 0 ? 1 / seconds : 0;
	const bool same = before && before->set == now->set;
	const uint64_t ahead_ns = before ? 0 : pmc_delay_before_start(now);

	if (!(now->fixed.flags & PMC_THREAD_NO_CPU) &&
	    !(before && pmc_thread_has_begun(&before->fixed) &&
	      before->fixed.flags & PMC_THREAD_NO_CPU))
		put_rate(c, now, NULL, at_ns,
			 factor / 1e9 *
				 (double)pmc_sub_sat(now->fixed.cpu_ns,
						     before ? before->fixed.cpu_ns : 0));
	for (unsigned i = 0; now->set && i < now->set->count; i++) {
		const struct pmc_p_event *event = &now->set->events[i];
		uint64_t was = 0;

		if (!pmc_count_has_value(&now->counts[i]) || is_repeated(now->set, i) ||
		    (before && (!same || !pmc_count_has_value(&before->counts[i]))))
			continue;
		if (same)
			was = pmc_count_value(&before->counts[i]);
		else if (event->def.type == PMC_TYPE_OS && event->def.config == PMC_OS_RUN_DELAY)
			was = ahead_ns;
		put_rate(c, now, event, at_ns,
			 factor * pmc_event_scale(event) *
				 (double)pmc_sub_sat(pmc_count_value(&now->counts[i]), was));
	}
}

static uint64_t last_ns(const struct pmc_p_thread *thread)
{
	return thread->fixed.end_ns ? thread->fixed.end_ns : thread->fixed.time_ns;
}

/* The snapshots of a thread, from row i up to `end`. Its last name is that of all its counters. */
static void put_rates_of(struct chrome *c, uint64_t i, uint64_t end)
{
	const struct pmc_profile *profile = c->export->profile;
	struct pmc_p_row *const *rows = profile->timeline;
	struct pmc_out label = pmc_out_mem(c->label, sizeof(c->label));
	const struct pmc_p_thread *before = NULL, *now;
	size_t len;
	const char *name =
		pmc_thread_label(pmc_profile_thread(profile, rows[end - 1], &c->now), &len);

	pmc_out_bytes(&label, name, len);
	for (; i < end; i++) {
		uint64_t from;

		now = pmc_profile_thread(profile, rows[i], &c->now);
		from = before ? before->fixed.time_ns : now->fixed.start_ns;
		if (from && last_ns(now) > from)
			put_counters(c, before, now, from, (double)(last_ns(now) - from) / 1e9);
		before = pmc_profile_thread(profile, rows[i], &c->before);
	}
	put_counters(c, NULL, before, last_ns(before), 0);
}

static void put_rates(struct chrome *c)
{
	const struct pmc_profile *profile = c->export->profile;

	for (uint64_t i = 0, end; i < profile->n_timeline; i = end) {
		for (end = i + 1; end < profile->n_timeline; end++)
			if (!pmc_same_thread(profile->timeline[i], profile->timeline[end]))
				break;
		put_rates_of(c, i, end);
	}
}

void export_chrome(struct export *export)
{
	const struct pmc_profile *profile = export->profile;
	struct chrome chrome = { .export = export, .hosts = has_hosts(profile) };
	struct chrome *c = &chrome;

	pmc_json_init(&c->json, export->out);
	pmc_json_object(&c->json, NULL);
	pmc_json_str(&c->json, "displayTimeUnit", "ms");
	pmc_json_array(&c->json, "traceEvents");
	for (uint64_t i = 0; i < profile->n_processes; i++)
		put_process(c, profile->processes[i]);
	for (uint64_t i = 0; i < profile->n_threads; i++)
		put_life(c, pmc_profile_thread(profile, profile->threads[i], &c->now));
	put_charts(c);
	put_rates(c);
	pmc_json_array_end(&c->json);
	pmc_json_object_end(&c->json);
	pmc_out_char(export->out, '\n');
}
