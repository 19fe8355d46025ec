/* SPDX-License-Identifier: MIT */
/* keys.c - what each key does; keys.def is their list for the help. */
#include "tools/top/screen.h"

#include <limits.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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
		if (rows->rows[r].key == screen->selected)
			return r;
	return rows->n ? 0 : UINT_MAX;
}

static void move_to(struct top_screen *screen, long row)
{
	const struct top_rows *rows = &screen->job->rows;

	if (!rows->n)
		return;
	row = row < 0 ? 0 : row >= (long)rows->n ? (long)rows->n - 1 : row;
	screen->selected = rows->rows[row].key;
	if ((unsigned)row < screen->first)
		screen->first = (unsigned)row;
	if (screen->height && (unsigned)row >= screen->first + screen->height)
		screen->first = (unsigned)row - screen->height + 1;
}

static bool move_key(struct top_screen *screen, int key)
{
	const long at = top_selected(screen) == UINT_MAX ? 0 : (long)top_selected(screen);
	const long page = screen->height > 1 ? screen->height - 1 : 1;

	switch (key) {
	case KEY_UP:
	case 'k':
		move_to(screen, at - 1);
		return true;
	case KEY_DOWN:
	case 'j':
		move_to(screen, at + 1);
		return true;
	case KEY_PPAGE:
		move_to(screen, at - page);
		return true;
	case KEY_NPAGE:
		move_to(screen, at + page);
		return true;
	case KEY_HOME:
		move_to(screen, 0);
		return true;
	case KEY_END:
		move_to(screen, LONG_MAX / 2);
		return true;
	default:
		return false;
	}
}

/* ---- order and rows ------------------------------------------------------------------------- */

/* The next column on the screen in that direction. */
static void sort_beside(struct top_screen *screen, int step)
{
	const struct table *table = &screen->layout.table;
	struct top_look *look = &screen->job->look;
	unsigned shown[256], n = 0, at = 0;

	for (unsigned i = 0; i < table->n && n < 256; i++) {
		if (table->places[i].hidden || table->places[i].column->index == TOP_HISTORY_)
			continue;
		if (table->places[i].column->index == look->sort)
			at = n;
		shown[n++] = table->places[i].column->index;
	}
	if (n)
		look->sort = shown[(at + n + (unsigned)step) % n];
	look->reverse = false;
	top_remake(screen);
}

static bool sort_key(struct top_screen *screen, int key)
{
	static const struct {
		char key;
		unsigned column;
	} keys[] = {
		{ 'C', TOP_CPU },	{ 'D', TOP_DELAY },	  { 'B', TOP_BLOCKED },
		{ 'V', TOP_VOLUNTARY }, { 'I', TOP_INVOLUNTARY }, { 'F', TOP_FAULTS },
		{ 'N', TOP_NAME },
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].key != key)
			continue;
		screen->job->look.sort = keys[i].column;
		screen->job->look.reverse = false;
		top_remake(screen);
		return true;
	}
	if (key == '<' || key == KEY_LEFT)
		sort_beside(screen, -1);
	else if (key == '>' || key == KEY_RIGHT)
		sort_beside(screen, 1);
	else
		return false;
	return true;
}

static void fold(struct top_screen *screen, enum top_by by)
{
	struct top_look *look = &screen->job->look;

	look->by = by;
	if (!top_column_applies(&screen->job->watch, look->sort, by))
		look->sort = TOP_CPU;
	screen->first = 0;
	top_remake(screen);
}

/* ---- zoom ----------------------------------------------------------------------------------- */

static void zoom(struct top_screen *screen)
{
	struct top_look *look = &screen->job->look;
	unsigned at = top_selected(screen);
	const struct top_row *row;

	if (at == UINT_MAX)
		return;
	row = &screen->job->rows.rows[at];
	if (look->by == TOP_THREAD) {
		screen->zoomed = row->task->number;
		screen->view = TOP_ZOOM;
		top_inside_read(&screen->inside, row->task);
		return;
	}
	top_look_inside(look, row);
	fold(screen, look->by);
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
		top_write_csv(screen, screen->input);
	} else {
		top_dump(screen, screen->asked, screen->input);
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
	struct attach *agent;
	char name[64], why[ATTACH_WHY];

	screen->asked = root && roots == 1 ? root->pid : 0;
	if (at != UINT_MAX && screen->selected && job->rows.rows[at].pid)
		screen->asked = job->rows.rows[at].pid;
	if (!screen->asked) {
		snprintf(screen->message, sizeof(screen->message), "select a row first");
		return;
	}
	agent = attach_agent_open(screen->asked, why);
	if (!agent && why[0])
		snprintf(screen->message, sizeof(screen->message), "%.250s", why);
	else if (!agent)
		snprintf(screen->message, sizeof(screen->message),
			 "no agent in process %d: start it with pmctl run", screen->asked);
	if (!agent)
		return;
	attach_agent_close(agent);
	snprintf(name, sizeof(name), "pmctl-top-%d.pmc", screen->asked);
	ask(screen, TOP_ASK_DUMP, name);
}

/* ---- all ------------------------------------------------------------------------------------ */

static bool is_help_key(int key)
{
	return key == 'h' || key == '?' || key == KEY_F(1);
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

void top_key(struct top_screen *screen, int key)
{
	struct top_look *look = &screen->job->look;

	screen->message[0] = '\0';
	if (screen->prompt) {
		type(screen, key);
		return;
	}
	if (screen->view == TOP_HELP || screen->view == TOP_HELP_COLUMNS) {
		screen->view =
			screen->view == TOP_HELP && is_help_key(key) ? TOP_HELP_COLUMNS : TOP_TABLE;
		return;
	}
	if (screen->view == TOP_ZOOM && key != 'q') {
		if (key == ESCAPE || key == '\n' || key == '\r' || key == KEY_ENTER ||
		    key == KEY_BACKSPACE || key == 127)
			screen->view = TOP_TABLE;
		else if (key == ' ')
			screen->paused = !screen->paused;
		return;
	}
	if (move_key(screen, key) || sort_key(screen, key))
		return;
	switch (key) {
	case 'q':
		quit(screen);
		break;
	case 'h':
	case '?':
	case KEY_F(1):
		screen->view = TOP_HELP;
		break;
	case ' ':
		screen->paused = !screen->paused;
		break;
	case 'r':
		look->reverse = !look->reverse;
		top_remake(screen);
		break;
	case 't':
		fold(screen, TOP_THREAD);
		break;
	case 'p':
		fold(screen, TOP_POOL);
		break;
	case 'P':
		fold(screen, TOP_PROCESS);
		break;
	case 'c':
		top_watch_commands(&screen->job->watch, !screen->job->watch.commands);
		top_remake(screen);
		break;
	case '/':
		ask(screen, TOP_ASK_FILTER, look->filter);
		break;
	case 'w':
		ask_csv(screen);
		break;
	case 'd':
		ask_dump(screen);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		zoom(screen);
		break;
	case ESCAPE:
	case KEY_BACKSPACE:
	case 127:
		back(screen);
		break;
	default:
		snprintf(screen->message, sizeof(screen->message), "h shows the keys");
	}
}
