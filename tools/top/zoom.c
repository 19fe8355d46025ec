/* SPDX-License-Identifier: MIT */
/* zoom.c - one thread: its last minute as a graph, and what it did since its start; the help. */
#include "lib/base/utf8.h"
#include "lib/dump/words.h"
#include "tools/top/screen.h"

#include <string.h>

#define GRAPH_LINES 8

const struct top_task *top_zoomed(const struct top_screen *screen)
{
	const struct top_watch *watch = &screen->job->watch;

	for (unsigned i = 0; i < watch->n; i++)
		for (unsigned t = 0; t < watch->processes[i]->n; t++)
			if (watch->processes[i]->tasks[t]->number == screen->zoomed)
				return watch->processes[i]->tasks[t];
	return NULL;
}

/* Eighths of a line, of a graph of GRAPH_LINES lines. */
static unsigned eighths(uint64_t us, uint64_t most)
{
	uint64_t n = most ? (us * GRAPH_LINES * 8 + most / 2) / most : 0;

	return n < GRAPH_LINES * 8 ? (unsigned)n : GRAPH_LINES * 8;
}

static void put_dot(unsigned line, unsigned cpu, unsigned both, bool ascii, struct pmc_out *out)
{
	static const char *const parts[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇" };
	const unsigned low = line * 8;

	if (cpu >= low + 8)
		pmc_out_str(out, ascii ? "#" : "█");
	else if (both > low && both >= low + 4 && both - cpu >= 4)
		pmc_out_str(out, ascii ? "." : "░");
	else if (cpu > low)
		pmc_out_str(out, ascii ? (cpu >= low + 4 ? "#" : "_") : parts[cpu - low - 1]);
	else
		pmc_out_char(out, ' ');
}

static void put_graph(const struct top_watch *watch, const struct top_task *task, int width,
		      bool ascii, struct pmc_out *out)
{
	const unsigned room = width > 10 ? (unsigned)width - 8 : 2;
	const unsigned n = watch->slots < room ? watch->slots : room;
	const uint64_t most = watch->slot_ns / 1000;

	for (int line = GRAPH_LINES - 1; line >= 0; line--) {
		pmc_outf(out, "%5s ", line == GRAPH_LINES - 1 ? "100 %" : line == 0 ? "0 %" : "");
		for (unsigned ago = n; ago-- > 0;) {
			const unsigned slot = top_slot(watch, ago);
			const uint64_t cpu = task->cpu_us[slot], delay = task->delay_us[slot];

			put_dot((unsigned)line, eighths(cpu, most), eighths(cpu + delay, most),
				ascii, out);
		}
		pmc_out_char(out, '\n');
	}
	pmc_outf(out, "      %s on a CPU   %s waiting for a CPU", ascii ? "#" : "█",
		 ascii ? "." : "░");
	pmc_outf(out, "   (last %u s)\n", (unsigned)(n * (watch->slot_ns / 1000000) / 1000));
}

/* Values in two columns, so that regions have room below. */
struct pairs {
	struct pmc_out *out;
	bool second;
};

static void put_value(struct pairs *pairs, const char *what, const struct pmc_out *value)
{
	pmc_outf(pairs->out, "  %-22s %s", what, value->buf);
	if (pairs->second)
		pmc_out_char(pairs->out, '\n');
	else
		pmc_out_pad(pairs->out, ' ', 14 - (int)value->len);
	pairs->second = !pairs->second;
}

static void put_number(struct pairs *pairs, const char *what, uint64_t number)
{
	char text[64];
	struct pmc_out value;

	pmc_out_to_mem(&value, text, sizeof(text));
	pmc_show_integer(&value, number);
	put_value(pairs, what, &value);
}

static void put_time(struct pairs *pairs, const char *what, uint64_t ns)
{
	char text[64];
	struct pmc_out value;

	pmc_out_to_mem(&value, text, sizeof(text));
	pmc_show_time(&value, (double)ns, "us");
	put_value(pairs, what, &value);
}

static void put_events(struct pairs *pairs, const struct top_inside *inside)
{
	for (unsigned e = 0; e < inside->n_events; e++) {
		const struct top_inside_event *event = &inside->events[e];
		char dash[] = "-";
		const struct pmc_out none = { .buf = dash, .len = 1 };

		if (!event->known)
			put_value(pairs, event->name, &none);
		else if (event->is_ns)
			put_time(pairs, event->name, pmc_nearest_integer(event->value));
		else
			put_number(pairs, event->name, pmc_nearest_integer(event->value));
	}
}

void top_put_zoom(const struct top_screen *screen, int width, struct pmc_out *out)
{
	const struct top_watch *watch = &screen->job->watch;
	const struct top_task *task = top_zoomed(screen);
	const bool ascii = screen->job->screen.ascii;
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
	pmc_out_str(out, "\n\n");
	put_graph(watch, task, width, ascii, out);
	pmc_out_str(out, "\n since its start\n");
	put_time(&pairs, "on a CPU", live->waits.cpu_ns);
	put_time(&pairs, "waiting for a CPU", live->waits.delay_ns);
	put_number(&pairs, "voluntary switches", live->waits.voluntary);
	put_number(&pairs, "involuntary switches", live->waits.involuntary);
	put_number(&pairs, "minor page faults", live->stat.minor_faults);
	put_number(&pairs, "major page faults", live->stat.major_faults);
	if (screen->inside.known && screen->inside.number == task->number)
		put_events(&pairs, &screen->inside);
	if (pairs.second)
		pmc_out_char(out, '\n');
	if (screen->inside.number == task->number)
		top_put_regions(&screen->inside, out);
}

static void put_left_out(const struct top_screen *screen, struct pmc_out *out)
{
	const struct table *table = &screen->layout.table;
	unsigned n = 0;

	if (!screen->layout.left_out)
		return;
	pmc_out_str(out, "\nno room for: ");
	for (unsigned i = 0; i < table->n; i++)
		if (table->places[i].hidden)
			pmc_outf(out, "%s%s", n++ ? ", " : "", table->places[i].head);
	pmc_out_str(out, "\n(shown in a wider terminal; w writes all columns)\n");
}

void top_put_help(const struct top_screen *screen, struct pmc_out *out)
{
	static const struct help {
		const char *name, *what;
	} keys[] = {
#define X(keys, what) { keys, what },
#include "tools/top/keys.def"
#undef X
	}, columns[] = {
#define X(id, name, head, folded, unit, width, priority, doc) { name, doc },
#include "tools/top/columns.def"
#undef X
	};
	const bool is_keys = screen->view == TOP_HELP;
	const struct help *list = is_keys ? keys : columns;
	const size_t n =
		is_keys ? sizeof(keys) / sizeof(*keys) : sizeof(columns) / sizeof(*columns);

	pmc_out_str(out, is_keys ? "keys\n" : "columns\n");
	for (size_t i = 0; i < n; i++)
		pmc_outf(out, "  %-14s %s\n", list[i].name, list[i].what);
	if (!is_keys)
		put_left_out(screen, out);
	pmc_out_str(out,
		    is_keys ? "\nh: the columns   any other key: back\n" : "\nany key: back\n");
}
