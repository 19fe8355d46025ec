/* SPDX-License-Identifier: MIT */
/* json_process.c - a process as members of a JSON object: what is known of it, its coverage, notes.
 */
#include "tools/view/view.h"

/* "lost": its rows are there, but no frame of the process. */
static void json_ended(struct pmc_json *json, const struct pmc_p_process *process)
{
	char text[24];
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	switch (process->fixed.how_ended) {
	case PMC_ENDED_EXIT:
		pmc_out_str(&out, "exit");
		if (!(process->fixed.flags & PMC_PROCESS_NO_STATUS))
			pmc_outf(&out, ":%u", process->fixed.how_code);
		break;
	case PMC_ENDED_SIGNAL:
		pmc_outf(&out, "signal:%u", process->fixed.how_code);
		break;
	case PMC_ENDED_EXEC:
		pmc_out_str(&out, "exec");
		break;
	default:
		pmc_out_str(&out, "running");
		break;
	}
	pmc_json_str(json, "how_ended", process->known ? text : "lost");
}

static void json_coverage(struct pmc_json *json, const struct pmc_p_process *process)
{
	const struct pmc_process_fixed *fixed = &process->fixed;
	uint64_t newest_ns, seen = fixed->threads_seen;
	bool whole = process->known && !pmc_process_end_unseen(process, &newest_ns);
	bool on = !pmc_process_never_on(fixed);

	if (!whole && seen < process->n_threads)
		seen = process->n_threads;
	pmc_json_object(json, "coverage");
	pmc_json_u64(json, "threads_seen", seen);
	pmc_json_u64(json, "threads_counted", process->threads_counted);
	pmc_json_array(json, "threads_uncounted");
	for (unsigned i = 0; i < process->n_uncounted; i++) {
		pmc_json_object(json, NULL);
		pmc_json_str(json, "reason", pmc_reason_text(process->uncounted[i].reason));
		pmc_json_u64(json, "count", process->uncounted[i].count);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
	pmc_json_known(json, "cpu_ns", whole && on, fixed->cpu_ns);
	pmc_json_known(json, "attributed_cpu_ns", on || process->attributed_cpu_ns,
		       process->attributed_cpu_ns);
	pmc_json_known(json, "descendants_cpu_ns", process->descendants.has_cpu,
		       process->descendants.cpu_ns);
	pmc_json_known(json, "before_agent_cpu_ns", process->known && on, fixed->pre_cpu_ns);
	pmc_json_known(json, "overhead_ns", whole && on, fixed->overhead_ns);
	pmc_json_object_end(json);
}

static void json_notes(struct pmc_json *json, const struct pmc_p_process *process)
{
	pmc_json_array(json, "notes");
	for (unsigned i = 0; i < process->n_notes; i++) {
		const struct pmc_p_note *note = &process->notes[i];

		pmc_json_object(json, NULL);
		pmc_json_u64(json, "code", note->fixed.code);
		pmc_json_str(json, "level", note->fixed.level ? "warning" : "info");
		pmc_json_u64(json, "count", note->fixed.count);
		pmc_json_str(json, "text", note->text);
		pmc_json_object_end(json);
	}
	pmc_json_array_end(json);
}

static void json_remainder(struct pmc_view *view, struct pmc_json *json, const char *key,
			   const struct pmc_p_remainder *remainder)
{
	pmc_view_json_events(view, json, key, remainder->set, remainder->counts);
}

void pmc_view_json_process(struct pmc_view *view, struct pmc_json *json,
			   const struct pmc_p_process *process)
{
	static const char *const inherit[] = { "off", "clock", "full", "auto" };
	const struct pmc_process_fixed *fixed = &process->fixed;
	bool known = process->known;
	bool usage = known && !pmc_process_never_on(fixed);
	bool switches = usage && !(fixed->flags & PMC_PROCESS_NO_SWITCHES);

	pmc_json_str(json, "host", known ? process->host : NULL);
	pmc_json_str(json, "boot_id", known ? process->boot_id : NULL);
	pmc_json_known(json, "pid", known, fixed->pid);
	pmc_json_known(json, "ppid", known, fixed->ppid);
	pmc_json_bool(json, "after_exec", process->origin != process);
	pmc_json_str(json, "exe", known ? process->exe : NULL);
	pmc_json_str(json, "cmdline", known ? process->cmdline : NULL);
	pmc_json_known(json, "start_ns", known, fixed->start_ns);
	pmc_json_known(json, "end_ns", known && fixed->end_ns, fixed->end_ns);
	json_ended(json, process);
	pmc_json_bool(json, "left_children", fixed->flags & PMC_PROCESS_LEFT);
	pmc_json_known(json, "rank", known && fixed->rank >= 0, (uint64_t)fixed->rank);
	pmc_json_known(json, "minor_faults", usage, fixed->minor_faults);
	pmc_json_known(json, "major_faults", usage, fixed->major_faults);
	pmc_json_known(json, "voluntary_switches", switches, fixed->voluntary_switches);
	pmc_json_known(json, "involuntary_switches", switches, fixed->involuntary_switches);
	pmc_json_known(json, "max_rss_bytes", known, fixed->max_rss_bytes);
	json_coverage(json, process);
	pmc_json_str(json, "inherit_mode", known ? inherit[fixed->inherit_mode & 3] : NULL);
	json_remainder(view, json, "unattributed", &process->unattributed);
	json_remainder(view, json, "descendants", &process->descendants);
	json_remainder(view, json, "machine", &process->machine);
	json_notes(json, process);
}
