/* SPDX-License-Identifier: MIT */
/*
 * openmetrics.c - counters of each thread and process as text for Prometheus, in the form of
 * OpenMetrics 1.0 or of Prometheus 0.0.4.
 *
 * Source: the OpenMetrics specification, and "Exposition formats" of Prometheus. The label `image`
 * tells program images of one process ID apart.
 */
#include "lib/base/utf8.h"
#include "tools/export/export.h"

struct metrics {
	struct export *export;
	struct pmc_out *out;
	bool prometheus;
	struct pmc_thread_buf buf;
};

/* Values of one name, which are of one unit and stand in one piece. */
struct family {
	const char *name; /* ends with its unit, if it has one */
	const char *unit;
	const char *help;
	size_t at;	/* where the value, a uint64_t, is in the fixed part; times in ns */
	uint32_t lacks; /* flag of rows without it */
	bool gauge;
};

#define THREAD(field)  offsetof(struct pmc_thread_fixed, field)
#define PROCESS(field) offsetof(struct pmc_process_fixed, field)

static const struct family of_processes[] = {
	{ "pmc_process_cpu_seconds", "seconds", "CPU time of a process image.", PROCESS(cpu_ns), 0,
	  false },
	{ "pmc_process_max_rss_bytes", "bytes", "Peak resident memory.", PROCESS(max_rss_bytes), 0,
	  true },
};

static const struct family of_threads[] = {
	{ "pmc_thread_cpu_seconds", "seconds", "CPU time of a thread.", THREAD(cpu_ns),
	  PMC_THREAD_NO_CPU, false },
	{ "pmc_thread_minor_faults", "", "Page faults without I/O.", THREAD(minor_faults),
	  PMC_THREAD_NO_RUSAGE, false },
	{ "pmc_thread_major_faults", "", "Page faults with I/O.", THREAD(major_faults),
	  PMC_THREAD_NO_RUSAGE, false },
	{ "pmc_thread_voluntary_switches", "", "Context switches to wait.",
	  THREAD(voluntary_switches), PMC_THREAD_NO_RUSAGE, false },
	{ "pmc_thread_involuntary_switches", "", "Context switches by preemption.",
	  THREAD(involuntary_switches), PMC_THREAD_NO_RUSAGE, false },
};

static void begin_family(struct metrics *m, const struct family *family)
{
	const char *type = family->gauge ? "gauge" : "counter";
	/* Of a counter 0.0.4 names the samples. */
	const char *suffix = m->prometheus && !family->gauge ? "_total" : "";

	pmc_outf(m->out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	pmc_outf(m->out, "# TYPE %s%s %s\n", family->name, suffix, type);
	if (*family->unit && !m->prometheus)
		pmc_outf(m->out, "# UNIT %s %s\n", family->name, family->unit);
}

/* A sample up to its last label; thread NULL: of the process. */
static void begin_sample(struct metrics *m, const struct family *family,
			 const struct pmc_p_process *process, const struct pmc_p_thread *thread)
{
	struct pmc_out *out = m->out;
	const char *name;
	size_t len;

	pmc_outf(out, "%s%s{", family->name, family->gauge ? "" : "_total");
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

static void end_sample(struct metrics *m, const char *unit, uint64_t value)
{
	if (!strcmp(unit, "seconds"))
		pmc_outf(m->out, "} %llu.%09llu\n", (unsigned long long)(value / 1000000000),
			 (unsigned long long)(value % 1000000000));
	else
		pmc_outf(m->out, "} %llu\n", (unsigned long long)value);
}

static uint64_t value_at(const struct family *family, const void *fixed)
{
	uint64_t value;

	memcpy(&value, (const char *)fixed + family->at, sizeof(value));
	return value;
}

static void put_of_processes(struct metrics *m, const struct family *family)
{
	const struct pmc_profile *profile = m->export->profile;

	begin_family(m, family);
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (!process->known || (!family->gauge && pmc_process_never_on(&process->fixed)))
			continue;
		begin_sample(m, family, process, NULL);
		end_sample(m, family->unit, value_at(family, &process->fixed));
	}
}

static void put_of_threads(struct metrics *m, const struct family *family)
{
	const struct pmc_profile *profile = m->export->profile;

	begin_family(m, family);
	for (uint64_t i = 0; i < profile->n_threads; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(profile, profile->threads[i], &m->buf);

		if (thread->fixed.flags & family->lacks)
			continue;
		begin_sample(m, family, thread->process, thread);
		end_sample(m, family->unit, value_at(family, &thread->fixed));
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

static void put_metrics(struct export *export, bool prometheus)
{
	const struct pmc_profile *profile = export->profile;
	struct metrics m = { .export = export, .out = export->out, .prometheus = prometheus };
	char unit[32];

	for (unsigned i = 0; i < sizeof(of_processes) / sizeof(of_processes[0]); i++)
		put_of_processes(&m, &of_processes[i]);
	for (unsigned i = 0; i < sizeof(of_threads) / sizeof(of_threads[0]); i++)
		put_of_threads(&m, &of_threads[i]);
	for (unsigned s = 0; s < profile->n_sets; s++)
		for (unsigned i = 0; i < profile->sets[s]->count; i++) {
			pmc_event_metric_unit(&profile->sets[s]->events[i], unit);
			if (!is_known(profile, &profile->sets[s]->events[i], unit))
				put_events(&m, unit);
		}
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
