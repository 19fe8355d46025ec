/* SPDX-License-Identifier: MIT */
/*
 * screen.c - draws on a terminal with ncurses, and runs until a key or a signal ends it.
 *
 * Signals come through a descriptor (live_wait), so none of the handlers of ncurses ever runs.
 * Text is made harmless before it gets here: nothing from a process reaches the terminal as is.
 */
#include "lib/base/clock.h"
#include "lib/base/utf8.h"
#include "tools/top/top.h"

#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

/* A macro of term.h. */
#undef columns

/* The first table comes soon, whatever the interval. */
#define FIRST_NS 300000000u

/* Of lines and columns that are drawn. */
#define MOST_SIZE 1000

enum { RUNS = 1, WAITS, DISK };

/* ---- the terminal --------------------------------------------------------------------------- */

static int refuse(const char *why)
{
	return tool_fail(EXIT_FAIL, "%s; use pmctl stat --per-thread -I 1s -p PID, or pmctl top -b",
			 why);
}

/* 0, or the exit code. *keys: where keys come from. */
static int open_terminal(struct top_job *job, SCREEN **terminal, FILE **keys)
{
	const char *term = getenv("TERM");
	int error;

	if (!isatty(STDOUT_FILENO))
		return refuse("the output is not a terminal");
	if (!term || !*term || setupterm(NULL, STDOUT_FILENO, &error) != OK || !cursor_address)
		return refuse("TERM names no terminal that can move its cursor");
	/* A locale that is not installed has no characters but those of ASCII. */
	if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
		job->flags.rows.screen.ascii |= !setlocale(LC_CTYPE, "C.UTF-8");
	*keys = isatty(STDIN_FILENO) ? stdin : fopen("/dev/tty", "re");
	if (!*keys)
		return refuse("there is no terminal to read keys from");
	use_tioctl(TRUE);
	*terminal = newterm(NULL, stdout, *keys);
	if (!*terminal)
		return refuse("the terminal cannot be used");
	set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	if (job->flags.rows.screen.color && has_colors() && start_color() == OK &&
	    use_default_colors() == OK) {
		init_pair(RUNS, COLOR_GREEN, -1);
		init_pair(WAITS, COLOR_YELLOW, -1);
		init_pair(DISK, COLOR_RED, -1);
	} else {
		job->flags.rows.screen.color = false;
	}
	return 0;
}

/* ncurses keeps sizes as short: it crashed at 65535 columns. */
static int bounded(unsigned short size)
{
	return size < MOST_SIZE ? size : MOST_SIZE;
}

static void resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(bounded(size.ws_row), bounded(size.ws_col));
	clearok(curscr, TRUE);
}

/* As the shell expects it: with the default action of SIGTSTP. */
static void stop(void)
{
	sigset_t set;

	def_prog_mode();
	endwin();
	signal(SIGTSTP, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	reset_prog_mode();
	resize();
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void put_line(const struct top_job *job, int line, const char *text, size_t len,
		     attr_t attributes)
{
	struct pmc_out out = PMC_OUT_MEM(4096);
	int width;

	if (line >= LINES)
		return;
	width = pmc_utf8_fit(&out, text, len, COLS, PMC_CUT_END, job->flags.rows.screen.ascii);
	if (attributes & A_REVERSE)
		pmc_out_pad(&out, ' ', COLS - width);
	attrset(attributes);
	mvaddnstr(line, 0, out.buf, (int)out.len);
	attrset(A_NORMAL);
}

static void put_lines(const struct top_job *job, const char *text)
{
	for (int line = 0; *text; line++) {
		size_t len = strcspn(text, "\n");

		put_line(job, line, text, len, A_NORMAL);
		text += len + (text[len] == '\n');
	}
}

static attr_t colour_of(const struct top_job *job, const struct top_row *row)
{
	const struct live_span *span = &row->span;

	if (!job->flags.rows.screen.color || !row->known)
		return A_NORMAL;
	if (row->states['D'])
		return (attr_t)COLOR_PAIR(DISK);
	if (span->delay_ns * 4 > row->ns)
		return (attr_t)COLOR_PAIR(WAITS);
	return span->cpu_ns * 4 > row->ns ? (attr_t)COLOR_PAIR(RUNS) : A_NORMAL;
}

/* The head, with the column that is sorted by in bold. */
static void draw_head(const struct top_screen *screen)
{
	const struct table *table = &screen->layout.table;
	struct pmc_out out = PMC_OUT_MEM(4096);
	int at = 0;

	table_put_head(table, &out);
	put_line(screen->job, 1, out.buf, out.len - 1, A_REVERSE);
	for (unsigned i = 0; i < table->n; i++) {
		const struct table_place *place = &table->places[i];

		if (place->hidden)
			continue;
		if (!strcmp(place->column->name, screen->job->rows.sort))
			mvchgat(1, at, place->width, A_REVERSE | A_BOLD | A_UNDERLINE, 0, NULL);
		at += place->width + table->gap;
	}
}

static void draw_table(struct top_screen *screen)
{
	struct top_job *job = screen->job;
	const unsigned selected = top_selected(screen);
	char text[4096];
	struct pmc_out out;

	screen->height = LINES > 3 ? (unsigned)LINES - 3 : 0;
	/* Rows may have become fewer. */
	if (screen->first + screen->height > job->rows.n)
		screen->first = job->rows.n > screen->height ? job->rows.n - screen->height : 0;
	top_layout_make(&screen->layout, job, screen->first, screen->height, COLS);
	draw_head(screen);
	for (unsigned i = 0; i < screen->layout.table.n_rows; i++) {
		const unsigned r = screen->first + i;

		pmc_out_to_mem(&out, text, sizeof(text));
		table_put_rows(&screen->layout.table, i, i + 1, &out);
		put_line(job, (int)i + 2, text, out.len - 1,
			 r == selected && screen->selected ? A_REVERSE :
							     colour_of(job, job->rows.list[r]));
	}
}

static void draw_foot(const struct top_screen *screen)
{
	static const char *const questions[] = { "", "filter: ", "CSV file: ", "dump: " };
	struct pmc_out out = PMC_OUT_MEM(512);

	if (screen->prompt) {
		pmc_out_str(&out, questions[screen->prompt]);
		pmc_utf8_fit(&out, screen->input, strlen(screen->input), 0, PMC_CUT_END,
			     screen->job->flags.rows.screen.ascii);
		pmc_out_char(&out, '_');
	} else if (screen->message[0]) {
		pmc_utf8_fit(&out, screen->message, strlen(screen->message), 0, PMC_CUT_END,
			     screen->job->flags.rows.screen.ascii);
	} else if (screen->ending) {
		pmc_out_str(&out, "the command has got SIGTERM and has not ended  q: kill it");
	} else {
		pmc_out_str(&out, screen->paused ? "PAUSED, Space: go on  " : "");
		pmc_out_str(&out, "q quit  h help  < > sort  t p P rows  / filter  Enter zoom  ");
		if (screen->view == TOP_TABLE && screen->layout.left_out)
			pmc_outf(&out, "h h: %u more columns", screen->layout.left_out);
		else
			pmc_out_str(&out, "Space pause  w CSV");
	}
	put_line(screen->job, LINES - 1, out.buf, out.len, A_NORMAL);
}

static void draw(struct top_screen *screen)
{
	struct top_job *job = screen->job;
	struct pmc_out out = PMC_OUT_MEM(16384);

	if (job->watch.note[0])
		snprintf(screen->message, sizeof(screen->message), "%.255s", job->watch.note);
	job->watch.note[0] = '\0';
	erase();
	if (screen->view == TOP_TABLE) {
		top_put_title(job, job->flags.rows.screen.ascii, &out);
		put_line(job, 0, out.buf, out.len, A_BOLD);
		draw_table(screen);
	} else {
		if (screen->view == TOP_ZOOM)
			top_put_zoom(screen, &out);
		else
			top_put_help(screen, &out);
		put_lines(job, out.buf);
	}
	draw_foot(screen);
	refresh();
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* Keeps the table as text, for the end: the threads will be gone then. */
static void keep_last(struct top_job *job, struct pmc_out *last, char *room, size_t size)
{
	pmc_out_to_mem(last, room, size);
	top_put_table(job, COLS, LINES > 3 ? (unsigned)LINES - 3 : UINT_MAX, last);
}

static void take_keys(struct top_screen *screen)
{
	int key;

	while ((key = getch()) != ERR)
		if (key == 'L' - '@')
			clearok(curscr, TRUE);
		else if (key != KEY_RESIZE) /* left by resizeterm() */
			top_press(screen, key);
}

static bool step(struct top_screen *screen, enum live_event event)
{
	struct top_job *job = screen->job;
	const bool was_paused = screen->paused;

	switch (event) {
	case LIVE_INPUT:
		take_keys(screen);
		if (was_paused && !screen->paused) {
			top_watch_skip(&job->watch);
			top_remake(screen);
		}
		break;
	case LIVE_RESIZED:
		resize();
		break;
	case LIVE_STOP:
		stop();
		top_watch_skip(&job->watch);
		top_remake(screen);
		break;
	case LIVE_TIME:
		if (screen->paused)
			break;
		if (!top_step(job))
			return false;
		if (screen->view == TOP_ZOOM)
			top_inside_read(screen);
		if (job->flags.count && --job->flags.count == 0)
			screen->quit = job->counted = true;
		break;
	case LIVE_ENDED:
		return false;
	}
	return true;
}

int top_screen(struct top_job *job)
{
	static char room[256 << 10];
	struct top_screen screen = { .job = job };
	SCREEN *terminal = NULL;
	struct pmc_out last = pmc_out_mem(room, sizeof(room));
	bool going = true;
	FILE *keys = NULL;
	int code = open_terminal(job, &terminal, &keys);

	if (code)
		return code;
	if (job->flags.interval_ns > FIRST_NS)
		job->next_ns = pmc_now_ns() + FIRST_NS;
	top_rows_make(&job->rows, &job->watch, &job->look);
	job->wait.input = fileno(keys);
	while (going && !screen.quit) {
		enum live_event event;

		draw(&screen);
		event = top_wait(job);
		going = step(&screen, event);
		if (going && event == LIVE_TIME && !screen.paused)
			keep_last(job, &last, room, sizeof(room));
	}
	endwin();
	delscreen(terminal);
	pmc_arena_free(&screen.layout.arena);
	top_inside_close(&screen.inside);
	if (keys != stdin)
		fclose(keys);
	/* The alternate screen is gone. */
	if (!screen.quit && !screen.ending)
		fwrite(room, 1, last.len, stdout);
	return 0;
}
