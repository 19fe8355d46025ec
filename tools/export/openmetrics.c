/* SPDX-License-Identifier: MIT */
/*
 * openmetrics.c - OpenMetrics text: counters of each thread and process, as Prometheus reads them.
 *
 * Source: the OpenMetrics 1.0 specification. The label `image` tells program images of one process
 * ID apart.
 */
#include "lib/base/utf8.h"
#include "tools/export/export.h"

#include <errno.h>

struct metrics {
	struct export *export;
	struct pmc_out *out;
	struct pmc_thread_buf buf;
};

static void put_label(struct pmc_out *out, const char *key, const char *value, size_t len)
{
	char text[8192];
	struct pmc_out safe;

	pmc_out_to_mem(&safe, text, sizeof(text));
	pmc_utf8_safe(&safe, value, len, 0);
	pmc_outf(out, "%s=\"", key);
	for (size_t i = 0; i < safe.len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			pmc_out_char(out, '\\');
		pmc_out_char(out, text[i]);
	}
	pmc_out_char(out, '"');
}

static void put_process(struct pmc_out *out, const struct pmc_p_process *process)
{
	put_label(out, "host", process->host, strlen(process->host));
	pmc_outf(out, ",pid=\"%u\",image=\"", process->fixed.pid);
	pmc_out_hex_bytes(out, process->identity, 4);
	pmc_out_str(out, "\",");
	put_label(out, "exe", process->exe, strlen(process->exe));
	if (process->fixed.rank >= 0)
		pmc_outf(out, ",rank=\"%d\"", process->fixed.rank);
}

static void put_thread(struct pmc_out *out, const struct pmc_p_thread *thread)
{
	size_t len;
	const char *name = pmc_thread_label(thread, &len);

	put_process(out, thread->process);
	pmc_outf(out, ",tid=\"%u\",seq=\"%llu\",", thread->fixed.tid,
		 (unsigned long long)thread->fixed.seq);
	put_label(out, "thread", name, len);
}

static void begin(struct pmc_out *out, const char *name, const char *type, const char *unit,
		  const char *help)
{
	pmc_outf(out, "# TYPE %s %s\n", name, type);
	if (*unit)
		pmc_outf(out, "# UNIT %s %s\n", name, unit);
	pmc_outf(out, "# HELP %s %s\n", name, help);
}

static void put_seconds(struct pmc_out *out, uint64_t ns)
{
	pmc_outf(out, "} %llu.%09llu\n", (unsigned long long)(ns / 1000000000),
		 (unsigned long long)(ns % 1000000000));
}

/* ---- processes --------------------------------------------------------------------------- */

static void put_processes(struct metrics *m)
{
	const struct pmc_profile *profile = m->export->profile;
	struct pmc_out *out = m->out;

	begin(out, "pmc_process_cpu_seconds", "counter", "seconds", "CPU time of a process image.");
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		if (!profile->processes[i]->known ||
		    pmc_process_never_on(&profile->processes[i]->fixed))
			continue;
		pmc_out_str(out, "pmc_process_cpu_seconds_total{");
		put_process(out, profile->processes[i]);
		put_seconds(out, profile->processes[i]->fixed.cpu_ns);
	}
	begin(out, "pmc_process_max_rss_bytes", "gauge", "bytes", "Peak resident memory.");
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		if (!profile->processes[i]->known)
			continue;
		pmc_out_str(out, "pmc_process_max_rss_bytes{");
		put_process(out, profile->processes[i]);
		pmc_outf(out, "} %llu\n",
			 (unsigned long long)profile->processes[i]->fixed.max_rss_bytes);
	}
}

/* ---- threads ----------------------------------------------------------------------------- */

static void put_cpu(struct metrics *m)
{
	const struct pmc_profile *profile = m->export->profile;

	begin(m->out, "pmc_thread_cpu_seconds", "counter", "seconds", "CPU time of a thread.");
	for (uint64_t i = 0; i < profile->n_threads; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(profile, profile->threads[i], &m->buf);

		if (thread->fixed.flags & PMC_THREAD_NO_CPU)
			continue;
		pmc_out_str(m->out, "pmc_thread_cpu_seconds_total{");
		put_thread(m->out, thread);
		put_seconds(m->out, thread->fixed.cpu_ns);
	}
}

static uint64_t usage(const struct pmc_thread_fixed *fixed, unsigned which)
{
	const uint64_t values[] = { fixed->minor_faults, fixed->major_faults,
				    fixed->voluntary_switches, fixed->involuntary_switches };

	return values[which];
}

static void put_usage(struct metrics *m)
{
	static const char *const kinds[][2] = {
		{ "pmc_thread_minor_faults", "Page faults without I/O." },
		{ "pmc_thread_major_faults", "Page faults with I/O." },
		{ "pmc_thread_voluntary_switches", "Context switches to wait." },
		{ "pmc_thread_involuntary_switches", "Context switches by preemption." },
	};
	const struct pmc_profile *profile = m->export->profile;

	for (unsigned kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
		begin(m->out, kinds[kind][0], "counter", "", kinds[kind][1]);
		for (uint64_t i = 0; i < profile->n_threads; i++) {
			const struct pmc_p_thread *thread =
				pmc_profile_thread(profile, profile->threads[i], &m->buf);

			if (thread->fixed.flags & PMC_THREAD_NO_RUSAGE)
				continue;
			pmc_outf(m->out, "%s_total{", kinds[kind][0]);
			put_thread(m->out, thread);
			pmc_outf(m->out, "} %llu\n",
				 (unsigned long long)usage(&thread->fixed, kind));
		}
	}
}

static void put_event(struct metrics *m, const struct pmc_p_thread *thread, unsigned which)
{
	const struct pmc_count *count = &thread->counts[which];
	const struct pmc_p_event *event = &thread->set->events[which];
	const bool scaled = count->state == PMC_SCALED;
	const double scale = pmc_event_scale(event);
	double value;

	if (!pmc_count_has_value(count))
		return;
	value = (double)pmc_count_value(count) * scale;
	if (scale != 1 && !pmc_out_fixed_fits(value))
		return;
	pmc_out_str(m->out, "pmc_thread_event_total{");
	put_thread(m->out, thread);
	pmc_outf(m->out, ",position=\"%u\",", which);
	put_label(m->out, "event", event->name, strlen(event->name));
	if (*event->unit) {
		pmc_out_char(m->out, ',');
		put_label(m->out, "unit", event->unit, strlen(event->unit));
	}
	pmc_outf(m->out, ",state=\"%s\"} ", scaled ? "scaled" : "counted");
	if (scale == 1)
		pmc_out_u64(m->out, pmc_count_value(count));
	else
		pmc_out_fixed(m->out, value, 6);
	pmc_out_char(m->out, '\n');
}

static void put_events(struct metrics *m)
{
	const struct pmc_profile *profile = m->export->profile;

	begin(m->out, "pmc_thread_event", "counter", "",
	      "Count of an event in a thread; scaled: it was multiplexed.");
	for (uint64_t i = 0; i < profile->n_threads; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(profile, profile->threads[i], &m->buf);

		for (unsigned k = 0; thread->set && k < thread->set->count; k++)
			put_event(m, thread, k);
	}
}

int export_openmetrics(struct export *export)
{
	struct metrics *m = pmc_arena_alloc(&export->arena, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->export = export;
	m->out = export->out;
	put_processes(m);
	put_cpu(m);
	put_usage(m);
	put_events(m);
	pmc_out_str(export->out, "# EOF\n");
	return 0;
}
