/* SPDX-License-Identifier: MIT */
/* keys.c - what each key does, and the help. */
#include "lib/dump/output.h"
#include "tools/top/top.h"

#include <errno.h>
#include <fcntl.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ESCAPE 27

void top_remake(struct top_screen *screen)
{
	top_rows_make(&screen->job->rows, &screen->job->watch, &screen->job->look);
}

/* ---- selection ------------------------------------------------------------------------------ */

unsigned top_selected(const struct top_screen *screen)
{
	const struct top_rows *rows = &screen->job->rows;

	for (unsigned r = 0; r < rows->n; r++)
		if (rows->list[r]->key == screen->selected)
			return r;
	return rows->n ? 0 : UINT_MAX;
}

static void move_by(struct top_screen *screen, long n)
{
	const struct top_rows *rows = &screen->job->rows;
	long row = (long)top_selected(screen) + n;

	if (!rows->n)
		return;
	row = row < 0 ? 0 : row >= (long)rows->n ? (long)rows->n - 1 : row;
	screen->selected = rows->list[row]->key;
	if ((unsigned)row < screen->first)
		screen->first = (unsigned)row;
	if (screen->height && (unsigned)row >= screen->first + screen->height)
		screen->first = (unsigned)row - screen->height + 1;
}

/* ---- order and rows ------------------------------------------------------------------------- */

static void sort_by(struct top_screen *screen, const char *column)
{
	struct top_look *look = &screen->job->look;

	snprintf(look->sort, sizeof(look->sort), "%s", column);
	look->reverse = false;
	top_remake(screen);
}

/* By the next column on the screen in that direction. */
static void sort_beside(struct top_screen *screen, int step)
{
	const struct table *table = &screen->layout.table;
	const char *shown[256] = { NULL };
	unsigned n = 0, at = 0;

	for (unsigned i = 0; i < table->n && n < 256; i++) {
		if (table->places[i].hidden || table->places[i].column->hidden)
			continue;
		shown[n] = table->places[i].column->name;
		if (!strcmp(shown[n], screen->job->rows.sort))
			at = n;
		n++;
	}
	if (n)
		sort_by(screen, shown[(at + n + (unsigned)step) % n]);
}

static void fold(struct top_screen *screen, enum top_by by)
{
	screen->job->look.by = by;
	screen->first = 0;
	top_remake(screen);
}

/* ---- views ---------------------------------------------------------------------------------- */

static void enter(struct top_screen *screen)
{
	struct top_look *look = &screen->job->look;
	const unsigned at = top_selected(screen);
	const struct top_row *row = at != UINT_MAX ? screen->job->rows.list[at] : NULL;

	if (screen->view == TOP_ZOOM) {
		screen->view = TOP_TABLE;
	} else if (row && !row->children) {
		if (look->by != TOP_THREAD) {
			top_look_inside(look, row);
			fold(screen, look->by);
			return;
		}
		screen->zoomed = row->task->number;
		screen->view = TOP_ZOOM;
		top_inside_read(screen);
	}
}

static void back(struct top_screen *screen)
{
	struct top_look *look = &screen->job->look;

	if (screen->view != TOP_TABLE) {
		screen->view = TOP_TABLE;
	} else if (look->only) {
		screen->selected = look->only;
		top_look_outside(look);
		fold(screen, look->by);
	} else if (look->filter[0]) {
		look->filter[0] = '\0';
		top_remake(screen);
	}
}

/* A command may ignore SIGTERM, or take its time: the screen stays until it has ended. */
static void quit(struct top_screen *screen)
{
	const pid_t child = screen->job->child.pid;

	if (child)
		kill(child, screen->ending ? SIGKILL : SIGTERM);
	screen->quit = !child;
	screen->ending = child;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Of the rows that are not filtered out. */
static void write_csv(struct top_screen *screen, const char *path)
{
	static char room[64 << 10];
	struct pmc_out out;
	int fd = tool_open_text(path), error = fd < 0 ? fd : pmc_text_empty(fd);

	if (!error) {
		pmc_out_to_fd(&out, fd, room, sizeof(room));
		top_put_data(screen->job, TABLE_CSV, true, &out);
		error = pmc_out_flush(&out);
	}
	if (fd >= 0 && close(fd) != 0 && !error)
		error = -errno;
	if (error)
		snprintf(screen->message, sizeof(screen->message), "cannot write %.150s: %s", path,
			 tool_output_why(error));
	else
		snprintf(screen->message, sizeof(screen->message), "%u rows written to %.150s",
			 screen->job->rows.n, path);
}

/* By pmctl dump, in a process of its own. The first line that it prints is the path of the dump, or
 * why there is none. */
static void write_dump(struct top_screen *screen, const char *file)
{
	char number[16];
	const char *argv[] = { "pmctl", "dump", number, "-o", file, NULL };
	struct tool_child child = { .pid = 0 };
	size_t len = 0, cap = sizeof(screen->message) - 1;
	int ends[2] = { -1, -1 }, error = pipe2(ends, O_CLOEXEC) ? errno : 0;
	const int io[] = { -1, ends[1], ends[1] };
	sigset_t none;
	struct tool_spawn spawn = {
		.argv = (char **)argv, .path = "/proc/self/exe", .io = io, .mask = &none
	};
	ssize_t n = 1;

	sigemptyset(&none);
	snprintf(number, sizeof(number), "%d", screen->asked);
	if (!error)
		error = tool_spawn(&spawn, &child.pid);
	close(ends[1]);
	while (!error && len < cap && n > 0) {
		n = read(ends[0], screen->message + len, cap - len);
		len += n > 0 ? (size_t)n : 0;
	}
	close(ends[0]);
	screen->message[len] = '\0';
	screen->message[strcspn(screen->message, "\n")] = '\0';
	if (error)
		snprintf(screen->message, cap, "cannot start pmctl dump");
	else if (tool_child_ended(&child, true) && child.status == 0)
		snprintf(screen->message, cap, "snapshot of process %d appended to %.150s",
			 screen->asked, file);
}

/* ---- the line that is typed ----------------------------------------------------------------- */

static void answer(struct top_screen *screen)
{
	struct top_look *look = &screen->job->look;
	const enum top_prompt prompt = screen->prompt;

	screen->prompt = TOP_NO_PROMPT;
	if (prompt == TOP_ASK_FILTER) {
		snprintf(look->filter, sizeof(look->filter), "%.63s", screen->input);
		screen->first = 0;
		top_remake(screen);
	} else if (!screen->input[0]) {
		return;
	} else if (prompt == TOP_ASK_CSV) {
		write_csv(screen, screen->input);
	} else {
		write_dump(screen, screen->input);
	}
}

static void type(struct top_screen *screen, int key)
{
	size_t len = strlen(screen->input);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		answer(screen);
	} else if (key == ESCAPE) {
		screen->prompt = TOP_NO_PROMPT;
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		/* All bytes of a character. */
		while (len && ((unsigned char)screen->input[--len] & 0xc0) == 0x80)
			;
		screen->input[len] = '\0';
	} else if (key == 'U' - '@') {
		screen->input[0] = '\0';
	} else if (key >= ' ' && key < 256 && key != 127 && len + 1 < sizeof(screen->input)) {
		screen->input[len] = (char)key;
		screen->input[len + 1] = '\0';
	}
}

static void ask(struct top_screen *screen, enum top_prompt prompt, const char *input)
{
	screen->prompt = prompt;
	snprintf(screen->input, sizeof(screen->input), "%s", input);
}

static void ask_csv(struct top_screen *screen)
{
	const time_t now = time(NULL);
	struct tm local;
	char name[64];

	localtime_r(&now, &local);
	strftime(name, sizeof(name), "pmctl-top-%Y%m%d-%H%M%S.csv", &local);
	ask(screen, TOP_ASK_CSV, name);
}

/* Of the selected row, or of what is watched. */
static void ask_dump(struct top_screen *screen)
{
	const struct top_job *job = screen->job;
	unsigned at = top_selected(screen), roots;
	const struct top_process *root = top_first_root(&job->watch, &roots);
	struct attach *agent = NULL;
	char name[64], why[ATTACH_WHY] = "select a row first";

	screen->asked = root && roots == 1 ? root->pid : 0;
	if (at != UINT_MAX && screen->selected && job->rows.list[at]->pid)
		screen->asked = job->rows.list[at]->pid;
	if (screen->asked)
		agent = attach_agent_open(screen->asked, why);
	if (agent) {
		attach_agent_close(agent);
		snprintf(name, sizeof(name), "pmctl-top-%d.pmc", screen->asked);
		ask(screen, TOP_ASK_DUMP, name);
	} else if (why[0]) {
		snprintf(screen->message, sizeof(screen->message), "%.250s", why);
	} else {
		snprintf(screen->message, sizeof(screen->message),
			 "no agent in process %d: start it with pmctl run", screen->asked);
	}
}

/* ---- all ------------------------------------------------------------------------------------ */

static bool is_help(int key)
{
	return key == 'h' || key == '?' || key == KEY_F(1);
}

/* Rows by which a key moves the selection; 0: it does not. */
static long rows_of(const struct top_screen *screen, int key)
{
	const long page = screen->height > 1 ? screen->height - 1 : 1;
	const struct {
		int key;
		long rows;
	} moves[] = {
		{ KEY_UP, -1 },
		{ 'k', -1 },
		{ KEY_DOWN, 1 },
		{ 'j', 1 },
		{ KEY_PPAGE, -page },
		{ KEY_NPAGE, page },
		{ KEY_HOME, -LONG_MAX / 2 },
		{ KEY_END, LONG_MAX / 2 },
	};

	for (unsigned i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		if (moves[i].key == key)
			return moves[i].rows;
	return 0;
}

static void press_table(struct top_screen *screen, int key)
{
	static const char letters[] = "CDBVIFN", by[] = "tpP";
	static const char *const sorted[] = { "cpu",   "delay",	      "blocked", "vol",
					      "invol", "page-faults", "name" };
	struct top_job *job = screen->job;
	const bool ascii = key > 0 && key < 128;

	if (rows_of(screen, key)) {
		move_by(screen, rows_of(screen, key));
	} else if (key == '<' || key == KEY_LEFT) {
		sort_beside(screen, -1);
	} else if (key == '>' || key == KEY_RIGHT) {
		sort_beside(screen, 1);
	} else if (key == 'r') {
		job->look.reverse = !job->look.reverse;
		top_remake(screen);
	} else if (key == 'c') {
		top_watch_commands(&job->watch, !job->watch.commands);
		top_remake(screen);
	} else if (key == '/') {
		ask(screen, TOP_ASK_FILTER, job->look.filter);
	} else if (key == 'w') {
		ask_csv(screen);
	} else if (key == 'd') {
		ask_dump(screen);
	} else if (is_help(key)) {
		screen->view = TOP_HELP;
	} else if (ascii && strchr(by, key)) {
		fold(screen, TOP_THREAD + (enum top_by)(strchr(by, key) - by));
	} else if (ascii && strchr(letters, key)) {
		sort_by(screen, sorted[strchr(letters, key) - letters]);
	} else {
		snprintf(screen->message, sizeof(screen->message), "h shows the keys");
	}
}

/* Keys of the table and of the view of one thread, then of the table alone. */
static void press(struct top_screen *screen, int key)
{
	switch (key) {
	case 'q':
		quit(screen);
		break;
	case ' ':
		screen->paused = !screen->paused;
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		enter(screen);
		break;
	case ESCAPE:
	case KEY_BACKSPACE:
	case 127:
		back(screen);
		break;
	default:
		if (screen->view == TOP_TABLE)
			press_table(screen, key);
	}
}

void top_press(struct top_screen *screen, int key)
{
	screen->message[0] = '\0';
	if (screen->prompt)
		type(screen, key);
	else if (screen->view == TOP_HELP && is_help(key))
		screen->view = TOP_HELP_COLUMNS;
	else if (screen->view == TOP_HELP || screen->view == TOP_HELP_COLUMNS)
		screen->view = TOP_TABLE;
	else
		press(screen, key);
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
	static const struct line {
		const char *name, *what;
	} of_keys[] = {
		{ "q", "quit, and end a command with SIGTERM; again: with SIGKILL" },
		{ "h ?", "this help; again: the columns" },
		{ "Space", "pause and go on" },
		{ "< >", "sort by the column to the left or right" },
		{ "r", "reverse the order" },
		{ "C D B V I F N", "sort by CPU, run delay, blocked, vol, invol, faults, name" },
		{ "t p P", "rows: threads, pools, processes" },
		{ "c", "show and hide the command lines of processes" },
		{ "/", "filter by name: a word or a glob; empty: all" },
		{ "Up Down", "select a row; also PgUp, PgDn, Home, End" },
		{ "Enter", "the threads of a pool or process; one thread's last minute" },
		{ "Esc", "back" },
		{ "w", "write the rows to a CSV file" },
		{ "d", "append a snapshot to a dump, if the process has the agent" },
	}, of_columns[] = {
#define X(id, name, head, unit, width, priority, has, cell, doc) { name, doc },
#include "tools/top/columns.def"
#undef X
	};
	const bool is_keys = screen->view == TOP_HELP;
	const struct line *list = is_keys ? of_keys : of_columns;
	const size_t n =
		is_keys ? sizeof(of_keys) / sizeof(*list) : sizeof(of_columns) / sizeof(*list);

	pmc_out_str(out, is_keys ? "keys\n" : "columns\n");
	for (size_t i = is_keys ? 0 : TOP_NAME; i < n; i++)
		if (is_keys || i < TOP_WAIT_P50 || i > TOP_LOST ||
		    (i < TOP_WAIT_HISTOGRAM && screen->job->watch.waits))
			pmc_outf(out, "  %-14s %s\n", list[i].name, list[i].what);
	if (!is_keys)
		put_left_out(screen, out);
	pmc_out_str(out,
		    is_keys ? "\nh: the columns   any other key: back\n" : "\nany key: back\n");
}
