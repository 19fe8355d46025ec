/* SPDX-License-Identifier: MIT */
/* zoom.c - one thread: its last minute, and what it did since its start; with the agent its exact
 * row so far, and its marked regions. */
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "tools/rows/fold.h"
#include "tools/top/top.h"

#include <stdlib.h>
#include <string.h>

/* NULL: it has ended. */
static const struct top_task *zoomed(const struct top_screen *screen)
{
	const struct top_watch *watch = &screen->job->watch;

	for (const struct top_process *process = watch->processes; process;
	     process = process->hh.next)
		for (unsigned t = 0; t < process->n; t++)
			if (process->tasks[t]->number == screen->zoomed)
				return process->tasks[t];
	return NULL;
}

/* ---- values, in two columns, so that regions have room below --------------------------------- */

struct pairs {
	struct pmc_out *out;
	bool second;
};

static void put_value(struct pairs *pairs, const char *what, bool known, bool is_ns, uint64_t value)
{
	struct pmc_out cell = PMC_OUT_MEM(64);

	if (!known)
		pmc_out_char(&cell, '-');
	else if (is_ns)
		pmc_show_time(&cell, (double)value, "us");
	else
		pmc_show_integer(&cell, value);
	pmc_outf(pairs->out, "  %-22s %s", what, cell.buf);
	if (pairs->second)
		pmc_out_char(pairs->out, '\n');
	else
		pmc_out_pad(pairs->out, ' ', 14 - (int)cell.len);
	pairs->second = !pairs->second;
}

static void put_counts(const struct pmc_p_thread *thread, bool ascii, struct pmc_out *out)
{
	struct pairs pairs = { .out = out };

	for (unsigned e = 0; thread->set && e < thread->set->count; e++) {
		const struct pmc_p_event *event = &thread->set->events[e];
		const struct pmc_count *count = &thread->counts[e];
		struct pmc_out fitted = PMC_OUT_MEM(96);

		pmc_utf8_fit(&fitted, event->name, strlen(event->name), 21, PMC_CUT_END, ascii);
		put_value(&pairs, fitted.buf, pmc_count_has_value(count),
			  !strcmp(event->unit, "ns"),
			  pmc_nearest_integer((double)pmc_count_value(count) *
					      pmc_event_scale(event)));
	}
	pmc_out_str(out, pairs.second ? "\n" : "");
}

/* ---- marked regions ------------------------------------------------------------------------- */

#define MOST_REGIONS 32

static struct table_cell rate_cell(uint64_t now, uint64_t was, double factor)
{
	return cell_real((double)pmc_sub_sat(now, was) * factor, 1);
}

enum { NAME, CALLS_PER_S, CPU, SELF, TIME, OPEN, CALLS, N_COLUMNS };

static const struct table_column columns[N_COLUMNS] = {
	{ .name = "marked regions", .unit = TABLE_TEXT, .index = NAME, .least = 24, .most = 24 },
	{ .name = "calls/s", .unit = TABLE_WHOLE, .index = CALLS_PER_S, .least = 8, .kept = true },
	{ .name = "CPU%", .unit = TABLE_RATIO, .index = CPU, .decimals = 1, .kept = true },
	{ .name = "self%", .unit = TABLE_RATIO, .index = SELF, .decimals = 1, .kept = true },
	{ .name = "CPU time", .unit = TABLE_NS, .index = TIME },
	{ .name = "open", .unit = TABLE_TEXT, .index = OPEN, .blank = true },
	{ .name = "calls", .unit = TABLE_WHOLE, .index = CALLS },
};

/* before: the profile of the last reading, ns ago; NULL: none. */
static void set_cells(const struct pmc_p_region *region, const struct pmc_profile *before,
		      uint64_t ns, struct table_cell cells[N_COLUMNS])
{
	const struct pmc_region_fixed *now = &region->fixed;

	cells[NAME] = cell_text(region->name);
	cells[TIME] = cell_number(true, now->cpu_ns);
	cells[OPEN] = cell_text(now->open ? "open" : NULL);
	cells[CALLS] = cell_number(true, now->calls);
	cells[CALLS_PER_S] = cells[CPU] = cells[SELF] = cell_null();
	for (uint64_t r = 0; ns && before && r < before->n_regions; r++) {
		const struct pmc_region_fixed *was = &before->regions[r]->fixed;

		if (strcmp(before->regions[r]->name, region->name) != 0)
			continue;
		cells[CALLS_PER_S] = rate_cell(now->calls, was->calls, 1e9 / (double)ns);
		cells[CPU] = rate_cell(now->cpu_ns, was->cpu_ns, 100 / (double)ns);
		cells[SELF] = rate_cell(now->self_cpu_ns, was->self_cpu_ns, 100 / (double)ns);
		return;
	}
}

/* Those with the most CPU time, with their rates since the last reading. */
static void put_regions(const struct top_screen *screen, const struct pmc_profile *now, uint64_t ns,
			struct pmc_out *out)
{
	const struct table_choice choice = { .sort = "CPU time", .top = MOST_REGIONS };
	struct pmc_arena arena = { 0 };
	struct table_cells cells = { .n = N_COLUMNS };
	struct table table = {
		.columns = columns,
		.n_columns = N_COLUMNS,
		.n_rows = now->n_regions,
		.screen = screen->job->flags.rows.screen,
		.arena = &arena,
		.indent = 1,
		.wide = true,
	};
	const char *problem;

	cells.cells =
		pmc_arena_alloc(&arena, (now->n_regions + 1) * N_COLUMNS * sizeof(*cells.cells));
	for (uint64_t r = 0; r < now->n_regions; r++)
		set_cells(now->regions[r], screen->inside.profile, ns, cells.cells + r * N_COLUMNS);
	table_set_cells(&table, &cells);
	if (now->n_regions && !table_apply(&table, &choice, 0, &problem)) {
		table_layout(&table);
		pmc_out_char(out, '\n');
		table_print(&table, TABLE_PLAIN, out);
		if (table.n_more)
			pmc_outf(out, " and %llu more\n", (unsigned long long)table.n_more);
	}
	pmc_arena_free(&arena);
}

/* ---- what the agent says -------------------------------------------------------------------- */

/* Makes the profile that of the last reading; NULL: there is none. */
static void keep_profile(struct top_inside *inside, struct pmc_profile *profile)
{
	if (inside->profile)
		pmc_profile_free(inside->profile);
	free(inside->profile);
	inside->profile = profile;
}

static void take(struct top_screen *screen, const struct pmc_frame_buf *frames)
{
	struct pmc_profile *profile = tool_realloc(NULL, sizeof(*profile));
	struct top_inside *inside = &screen->inside;
	const uint64_t now_ns = pmc_now_ns();
	struct pmc_thread_buf thread;
	struct pmc_out out = pmc_out_mem(inside->text, sizeof(inside->text));

	pmc_profile_init(profile, NULL);
	pmc_profile_add_buffer(profile, frames->data, frames->len);
	pmc_profile_finish(profile);
	if (profile->n_threads) {
		put_counts(pmc_profile_thread(profile, profile->threads[0], &thread),
			   screen->job->flags.rows.screen.ascii, &out);
		put_regions(screen, profile, now_ns - inside->read_ns, &out);
	}
	keep_profile(inside, profile);
	inside->read_ns = now_ns;
}

void top_inside_close(struct top_inside *inside)
{
	keep_profile(inside, NULL);
}

void top_inside_read(struct top_screen *screen)
{
	const struct top_task *task = zoomed(screen);
	struct attach *agent = task && task->has_slot ? task->process->agent : NULL;
	struct top_inside *inside = &screen->inside;
	struct pmc_frame_buf frames = { .data = NULL };
	struct attach_thread thread;
	char why[ATTACH_WHY];

	if (task && inside->number != task->number)
		keep_profile(inside, NULL);
	inside->number = 0;
	if (agent && attach_agent_look(agent, why) &&
	    attach_agent_thread(agent, task->task.tid, &thread) &&
	    attach_agent_frames(agent, &thread, &frames, why)) {
		take(screen, &frames);
		inside->number = task->number;
	}
	free(frames.data);
}

/* ---- all ------------------------------------------------------------------------------------ */

static void put_graph(const struct top_watch *watch, const char *what, const uint32_t *us,
		      bool ascii, struct pmc_out *out)
{
	pmc_outf(out, "  %-18s", what);
	top_put_sparkline(us, watch->slots, watch->slot_ns / 1000, ascii, out);
	pmc_out_char(out, '\n');
}

void top_put_zoom(const struct top_screen *screen, struct pmc_out *out)
{
	const struct top_watch *watch = &screen->job->watch;
	const struct top_task *task = zoomed(screen);
	const bool ascii = screen->job->flags.rows.screen.ascii;
	struct pairs pairs = { .out = out };
	const struct live_task *live;

	if (!task) {
		pmc_out_str(out, "the thread has ended; Esc: back\n");
		return;
	}
	live = &task->task;
	pmc_utf8_fit(out, live->stat.name, strlen(live->stat.name), 0, PMC_CUT_END, ascii);
	pmc_outf(out, "  thread %d of process %d, state %c", live->tid, live->pid,
		 live->stat.state);
	if (task->start[0])
		pmc_outf(out, ", start routine %s", task->start);
	if (live->wchan[0])
		pmc_outf(out, ", waits in %s", live->wchan);
	pmc_outf(out, "\n\n in the last %u s, of one CPU\n",
		 (unsigned)(watch->slots * (watch->slot_ns / 1000000) / 1000));
	put_graph(watch, "on a CPU", task->cpu_us, ascii, out);
	put_graph(watch, "waiting for a CPU", task->delay_us, ascii, out);
	pmc_out_str(out, "\n since its start\n");
	put_value(&pairs, "on a CPU", true, true, live->sum.cpu_ns);
	put_value(&pairs, "waiting for a CPU", true, true, live_delay_ns(live));
	put_value(&pairs, "voluntary switches", true, false, live->sum.voluntary);
	put_value(&pairs, "involuntary switches", true, false, live->sum.involuntary);
	put_value(&pairs, "minor page faults", true, false, live->sum.minor_faults);
	put_value(&pairs, "major page faults", true, false, live->sum.major_faults);
	if (screen->inside.number == task->number)
		pmc_out_str(out, screen->inside.text);
}
