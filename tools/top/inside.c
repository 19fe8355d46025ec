/* SPDX-License-Identifier: MIT */
/* inside.c - what the agent knows of one thread: its exact row so far, and its marked regions. */
#include "lib/base/clock.h"
#include "lib/base/utf8.h"
#include "tools/rows/fold.h"
#include "lib/base/sort.h"
#include "lib/dump/words.h"
#include "tools/top/screen.h"

#include <stdlib.h>
#include <string.h>

static void take_counts(struct top_inside *inside, const struct pmc_p_thread *thread)
{
	inside->n_events = 0;
	for (unsigned e = 0; thread->set && e < thread->set->count; e++) {
		const struct pmc_p_event *event = &thread->set->events[e];
		struct top_inside_event *to = &inside->events[inside->n_events];
		struct pmc_out out;

		if (inside->n_events == TOP_INSIDE)
			break;
		pmc_out_to_mem(&out, to->name, sizeof(to->name));
		pmc_utf8_fit(&out, event->name, strlen(event->name), 21, PMC_CUT_END, false);
		to->is_ns = !strcmp(event->unit, "ns");
		to->known = pmc_count_has_value(&thread->counts[e]);
		to->value = (double)pmc_count_value(&thread->counts[e]) * pmc_event_scale(event);
		inside->n_events++;
	}
}

static const struct top_region *find(const struct top_region *list, unsigned n, const char *name)
{
	for (unsigned r = 0; r < n; r++)
		if (!strcmp(list[r].name, name))
			return &list[r];
	return NULL;
}

/* By inclusive CPU time. */
static int compare(const void *a, const void *b, const void *arg)
{
	const struct top_region *x = a, *y = b;

	(void)arg;
	return x->cpu_ns > y->cpu_ns ? -1 : x->cpu_ns < y->cpu_ns;
}

/* The largest ones are kept, with their rates since the last reading. */
static void take_regions(struct top_inside *inside, const struct pmc_profile *profile, bool again)
{
	struct top_region *all = calloc(2 * (profile->n_regions + 1), sizeof(*all));
	const uint64_t now = pmc_now_ns(), ns = now - inside->read_ns;
	unsigned n = 0;

	for (uint64_t i = 0; all && i < profile->n_regions; i++) {
		const struct pmc_p_region *region = profile->regions[i];
		struct top_region *to = &all[n++];
		const struct top_region *was;
		struct pmc_out out;

		pmc_out_to_mem(&out, to->name, sizeof(to->name));
		pmc_utf8_fit(&out, region->name, region->name_len, 24, PMC_CUT_END, false);
		to->calls = region->fixed.calls;
		to->open = region->fixed.open;
		to->cpu_ns = region->cpu_ns;
		to->self_ns = region->self_cpu_ns;
		was = again ? find(inside->regions, inside->n, to->name) : NULL;
		if (!was || !ns)
			continue;
		to->has_rates = true;
		to->calls_per_s = (double)pmc_sub_sat(to->calls, was->calls) * 1e9 / (double)ns;
		to->cpu_pct = 100.0 * (double)pmc_sub_sat(to->cpu_ns, was->cpu_ns) / (double)ns;
		to->self_pct = 100.0 * (double)pmc_sub_sat(to->self_ns, was->self_ns) / (double)ns;
	}
	if (all)
		pmc_sort(all, all + n, n, sizeof(*all), compare, NULL);
	inside->n = n < TOP_INSIDE ? n : TOP_INSIDE;
	inside->more = n - inside->n;
	if (all)
		memcpy(inside->regions, all, inside->n * sizeof(*all));
	inside->read_ns = now;
	free(all);
}

static void take(struct top_inside *inside, const struct pmc_frame_buf *frames, bool again)
{
	const struct pmc_profile_options options = { .timeline = false };
	struct pmc_thread_buf thread;
	struct pmc_profile profile;

	pmc_profile_init(&profile, &options);
	pmc_profile_add_buffer(&profile, frames->data, frames->len);
	pmc_profile_finish(&profile);
	if (profile.n_threads) {
		take_counts(inside, pmc_profile_thread(&profile, profile.threads[0], &thread));
		take_regions(inside, &profile, again);
	}
	pmc_profile_free(&profile);
}

void top_inside_read(struct top_inside *inside, const struct top_task *task)
{
	struct attach *agent = task && task->has_slot ? task->process->agent : NULL;
	const bool again = task && inside->number == task->number;
	struct pmc_frame_buf frames = { .data = NULL };
	struct attach_thread thread;
	char why[ATTACH_WHY];

	inside->known = agent && attach_agent_look(agent, why) &&
			attach_agent_thread(agent, task->task.tid, &thread) &&
			attach_agent_frames(agent, &thread, &frames, why);
	if (inside->known)
		take(inside, &frames, again);
	inside->number = inside->known ? task->number : 0;
	free(frames.data);
}

static void put_right(struct pmc_out *out, const char *text, size_t len, int width)
{
	pmc_out_pad(out, ' ', width - (int)len);
	pmc_out_bytes(out, text, len);
}

/* "-" before there is an interval. */
static void put_rate(struct pmc_out *out, const struct top_region *region, double value,
		     int decimals, int width)
{
	char cell[64];
	struct pmc_out text;

	pmc_out_to_mem(&text, cell, sizeof(cell));
	if (region->has_rates)
		pmc_out_fixed(&text, value, decimals);
	else
		pmc_out_char(&text, '-');
	put_right(out, cell, text.len, width);
}

static void put_region(const struct top_region *region, struct pmc_out *out)
{
	char cell[64];
	struct pmc_out text;

	pmc_outf(out, " %s", region->name);
	pmc_out_pad(out, ' ', 24 - pmc_utf8_columns(region->name, strlen(region->name)));
	put_rate(out, region, region->calls_per_s, 0, 10);
	put_rate(out, region, region->cpu_pct, 1, 7);
	put_rate(out, region, region->self_pct, 1, 8);
	pmc_out_to_mem(&text, cell, sizeof(cell));
	pmc_show_time(&text, (double)region->cpu_ns, "us");
	put_right(out, cell, text.len, 13);
	pmc_out_to_mem(&text, cell, sizeof(cell));
	pmc_show_integer(&text, region->calls);
	put_right(out, cell, text.len, 13);
	pmc_out_str(out, region->open ? "  open\n" : "\n");
}

void top_put_regions(const struct top_inside *inside, struct pmc_out *out)
{
	if (!inside->known || !inside->n)
		return;
	pmc_out_str(out, "\n marked regions             calls/s   CPU%   self%     CPU time"
			 "        calls\n");
	for (unsigned r = 0; r < inside->n; r++)
		put_region(&inside->regions[r], out);
	if (inside->more)
		pmc_outf(out, " and %u more\n", inside->more);
}
