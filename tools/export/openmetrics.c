/* SPDX-License-Identifier: MIT */
/*
 * openmetrics.c - counters and waits of each thread and process as text for Prometheus, in the form
 * of OpenMetrics 1.0 or of Prometheus 0.0.4.
 *
 * Source: the OpenMetrics specification, and "Exposition formats" of Prometheus. The label `image`
 * tells program images of one process ID apart.
 */
#include "lib/base/utf8.h"
#include "tools/export/export.h"
#include "tools/table/histogram.h"

struct metrics {
	struct export *export;
	struct pmc_out *out;
	bool prometheus;
	struct pmc_thread_buf buf;
	const struct family *begun; /* of put_value(): the newest that has samples */
};

/* Values of one name, which are of one unit and stand in one piece. */
struct family {
	const char *name; /* ends with its unit, if it has one */
	const char *unit;
	const char *help;
	bool of_process;
	size_t at;	/* where the value, a uint64_t, is in the fixed part; times in ns */
	uint32_t lacks; /* flag of rows without it; with PMC_THREAD_SWITCHES they have it */
	enum { COUNTER, GAUGE, HISTOGRAM } type;
};

#define THREAD(field)  false, offsetof(struct pmc_thread_fixed, field)
#define PROCESS(field) true, offsetof(struct pmc_process_fixed, field)

static const struct family families[] = {
	{ "pmc_process_cpu_seconds", "seconds", "CPU time of a process image.", PROCESS(cpu_ns), 0,
	  COUNTER },
	{ "pmc_process_max_rss_bytes", "bytes", "Peak resident memory.", PROCESS(max_rss_bytes), 0,
	  GAUGE },
	{ "pmc_thread_cpu_seconds", "seconds", "CPU time of a thread.", THREAD(cpu_ns),
	  PMC_THREAD_NO_CPU | PMC_THREAD_LEAST_CPU, COUNTER },
	{ "pmc_thread_minor_faults", "", "Page faults without I/O.", THREAD(minor_faults),
	  PMC_THREAD_NO_RUSAGE, COUNTER },
	{ "pmc_thread_major_faults", "", "Page faults with I/O.", THREAD(major_faults),
	  PMC_THREAD_NO_RUSAGE, COUNTER },
	{ "pmc_thread_voluntary_switches", "", "Context switches to wait.",
	  THREAD(voluntary_switches), PMC_THREAD_NO_RUSAGE | PMC_THREAD_SWITCHES, COUNTER },
	{ "pmc_thread_involuntary_switches", "", "Context switches by preemption.",
	  THREAD(involuntary_switches), PMC_THREAD_NO_RUSAGE | PMC_THREAD_SWITCHES, COUNTER },
};

static void begin_family(struct metrics *m, const struct family *family)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };
	/* Of a counter 0.0.4 names the samples. */
	const char *suffix = m->prometheus && family->type == COUNTER ? "_total" : "";

	pmc_outf(m->out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	pmc_outf(m->out, "# TYPE %s%s %s\n", family->name, suffix, types[family->type]);
	if (*family->unit && !m->prometheus)
		pmc_outf(m->out, "# UNIT %s %s\n", family->name, family->unit);
}

/* thread NULL: of the process. */
static void put_labels(struct pmc_out *out, const struct pmc_p_process *process,
		       const struct pmc_p_thread *thread)
{
	const char *name;
	size_t len;

	pmc_prometheus_label(out, "host", process->host, strlen(process->host));
	pmc_outf(out, ",pid=\"%u\",image=\"", process->fixed.pid);
	pmc_out_hex_bytes(out, process->identity, 4);
	pmc_out_str(out, "\",");
	pmc_prometheus_label(out, "exe", process->exe, strlen(process->exe));
	if (process->fixed.rank >= 0)
		pmc_outf(out, ",rank=\"%d\"", process->fixed.rank);
	if (!thread)
		return;
	name = pmc_thread_label(thread, &len);
	pmc_outf(out, ",tid=\"%u\",seq=\"%llu\",", thread->fixed.tid,
		 (unsigned long long)thread->fixed.seq);
	pmc_prometheus_label(out, "thread", name, len);
}

/* A sample up to its last label. */
static void begin_sample(struct metrics *m, const struct family *family,
			 const struct pmc_p_process *process, const struct pmc_p_thread *thread)
{
	pmc_outf(m->out, "%s%s{", family->name, family->type == COUNTER ? "_total" : "");
	put_labels(m->out, process, thread);
}

static void end_sample(struct metrics *m, const char *unit, uint64_t value)
{
	if (!strcmp(unit, "seconds"))
		pmc_outf(m->out, "} %llu.%09llu\n", (unsigned long long)(value / 1000000000),
			 (unsigned long long)(value % 1000000000));
	else
		pmc_outf(m->out, "} %llu\n", (unsigned long long)value);
}

/* thread NULL: of the process. */
static void put_value(struct metrics *m, const struct family *family,
		      const struct pmc_p_process *process, const struct pmc_p_thread *thread)
{
	const uint32_t flags = thread ? thread->fixed.flags & family->lacks : 0;
	const bool known = thread ? !flags || flags & PMC_THREAD_SWITCHES :
				    process->known && (family->type != COUNTER ||
						       !pmc_process_never_on(&process->fixed));
	uint64_t value;

	if (!known)
		return;
	memcpy(&value,
	       (thread ? (const char *)&thread->fixed : (const char *)&process->fixed) + family->at,
	       sizeof(value));
	/* A peak of 0 is an unknown one. */
	if (!value && family->type == GAUGE)
		return;
	if (m->begun != family)
		begin_family(m, family);
	m->begun = family;
	begin_sample(m, family, process, thread);
	end_sample(m, family->unit, value);
}

static void put_family(struct metrics *m, const struct family *family)
{
	const struct pmc_profile *profile = m->export->profile;

	for (uint64_t i = 0; family->of_process && i < profile->n_processes; i++)
		put_value(m, family, profile->processes[i], NULL);
	for (uint64_t i = 0; !family->of_process && i < profile->n_threads; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(profile, profile->threads[i], &m->buf);

		put_value(m, family, thread->process, thread);
	}
}

/* ---- events: a family for each unit ------------------------------------------------------- */

static void put_event(struct metrics *m, const struct family *family,
		      const struct pmc_p_thread *thread, unsigned which)
{
	const struct pmc_count *count = &thread->counts[which];
	const struct pmc_p_event *event = &thread->set->events[which];
	const double scale = pmc_event_scale(event);
	double value;
	char unit[32];

	pmc_event_metric_unit(event, unit);
	if (!pmc_count_has_value(count) || strcmp(unit, family->unit) != 0)
		return;
	value = (double)pmc_count_value(count) * scale;
	if (scale != 1 && !pmc_out_fixed_fits(value))
		return;
	begin_sample(m, family, thread->process, thread);
	pmc_outf(m->out, ",position=\"%u\",", which);
	pmc_prometheus_label(m->out, "event", event->name, strlen(event->name));
	pmc_outf(m->out, ",state=\"%s\"", count->state == PMC_SCALED ? "scaled" : "counted");
	if (scale == 1) {
		end_sample(m, unit, pmc_count_value(count));
		return;
	}
	pmc_out_str(m->out, "} ");
	pmc_out_fixed(m->out, export_is_time(event) ? value / 1e9 : value, 6);
	pmc_out_char(m->out, '\n');
}

static void put_events(struct metrics *m, const char *unit)
{
	const struct pmc_profile *profile = m->export->profile;
	struct pmc_out name = PMC_OUT_MEM(64);
	const struct family family = {
		.name = name.buf,
		.unit = unit,
		.help = "An event in a thread; scaled: it was multiplexed."
	};

	pmc_outf(&name, "pmc_thread_event%s%s", *unit ? "_" : "", unit);
	begin_family(m, &family);
	for (uint64_t i = 0; i < profile->n_threads; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(profile, profile->threads[i], &m->buf);

		for (unsigned k = 0; thread->set && k < thread->set->count; k++)
			put_event(m, &family, thread, k);
	}
}

/* Whether an event in front of this one in the sets has its unit. */
static bool is_known(const struct pmc_profile *profile, const struct pmc_p_event *event,
		     const char *unit)
{
	char other[32];

	for (unsigned s = 0; s < profile->n_sets; s++)
		for (unsigned i = 0; i < profile->sets[s]->count; i++) {
			if (&profile->sets[s]->events[i] == event)
				return false;
			pmc_event_metric_unit(&profile->sets[s]->events[i], other);
			if (!strcmp(other, unit))
				return true;
		}
	return false;
}

/* ---- waits -------------------------------------------------------------------------------- */

static void put_waits(struct metrics *m, const struct pmc_p_thread *thread, const char *wait,
		      const struct pmc_p_samples *of)
{
	struct pmc_arena arena = { 0 };
	struct pmc_fold_waits waits = { .rows = 0 };
	const size_t room =
		6 * (strlen(thread->process->host) + strlen(thread->process->exe)) + 512;
	struct pmc_out labels = pmc_out_mem(pmc_arena_alloc(&arena, room), room);

	if (of) {
		pmc_fold_add_waits(&waits, &arena, of);
		put_labels(&labels, thread->process, thread);
		pmc_outf(&labels, ",wait=\"%s\"", wait);
		table_histogram_prometheus(m->out, labels.buf, &waits.lengths, waits.ns);
	}
	pmc_arena_free(&arena);
}

static void put_histograms(struct metrics *m)
{
	static const struct family family = {
		.name = "pmc_wait_seconds",
		.unit = "seconds",
		.help = "Waits of a thread off the CPU, and for a CPU "
			"after preemptions.",
		.type = HISTOGRAM
	};
	const struct pmc_profile *profile = m->export->profile;
	bool any = false;

	for (uint64_t i = 0; i < profile->n_threads; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(profile, profile->threads[i], &m->buf);

		if (!any && (thread->waits || thread->delays))
			begin_family(m, &family);
		any |= thread->waits || thread->delays;
		put_waits(m, thread, "off-cpu", thread->waits);
		put_waits(m, thread, "preempted", thread->delays);
	}
}

static void put_metrics(struct export *export, bool prometheus)
{
	const struct pmc_profile *profile = export->profile;
	struct metrics m = { .export = export, .out = export->out, .prometheus = prometheus };
	char unit[32];

	for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		put_family(&m, &families[i]);
	for (unsigned s = 0; s < profile->n_sets; s++)
		for (unsigned i = 0; i < profile->sets[s]->count; i++) {
			pmc_event_metric_unit(&profile->sets[s]->events[i], unit);
			if (!is_known(profile, &profile->sets[s]->events[i], unit))
				put_events(&m, unit);
		}
	put_histograms(&m);
}

void export_openmetrics(struct export *export)
{
	put_metrics(export, false);
	pmc_out_str(export->out, "# EOF\n");
}

void export_prometheus(struct export *export)
{
	put_metrics(export, true);
}
