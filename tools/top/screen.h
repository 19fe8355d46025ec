/* SPDX-License-Identifier: MIT */
/* screen.h - the screen of pmctl top: what it shows, and its keys. Private to this folder. */
#ifndef PMC_TOOLS_TOP_SCREEN_H
#define PMC_TOOLS_TOP_SCREEN_H

#include "tools/top/top.h"

enum top_view { TOP_TABLE, TOP_ZOOM, TOP_HELP, TOP_HELP_COLUMNS };
enum top_prompt { TOP_NO_PROMPT, TOP_ASK_FILTER, TOP_ASK_CSV, TOP_ASK_DUMP };

struct top_screen {
	struct top_job *job;
	enum top_view view;
	uint64_t zoomed;   /* number of the thread */
	uint64_t selected; /* key of a row; 0: none */
	unsigned first;	   /* row at the top */
	unsigned height;   /* rows that there is room for */
	bool paused, quit;
	bool ending; /* the command has got SIGTERM: its end is waited for */
	char message[256]; /* until the next key */
	enum top_prompt prompt;
	pid_t asked; /* process to dump */
	char input[256];
	struct top_layout layout;
};

/* keys.c: applies a key of <ncurses.h>. */
void top_key(struct top_screen *screen, int key);
/* The row of the selection, or the first one; UINT_MAX: there are no rows. */
unsigned top_selected(const struct top_screen *screen);
/* Rows after a change of what is shown. */
void top_remake(struct top_screen *screen);

/* zoom.c: lines of text. */
void top_put_zoom(const struct top_screen *screen, int width, struct pmc_out *out);
/* One page, keys or columns, of at most 23 lines. */
void top_put_help(enum top_view page, struct pmc_out *out);

/* dump.c: the message says what became of it. */
void top_dump(struct top_screen *screen, pid_t pid, const char *file);

/* csv.c: writes the rows that are not filtered out; the message says what was written, or why not.
 */
void top_write_csv(struct top_screen *screen, const char *path);

#endif
