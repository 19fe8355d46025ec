/* SPDX-License-Identifier: MIT */
/* screen.h - the screen of pmctl top: what it shows, and its keys. Private to this folder. */
#ifndef PMC_TOOLS_TOP_SCREEN_H
#define PMC_TOOLS_TOP_SCREEN_H

#include "tools/top/top.h"

enum top_view { TOP_TABLE, TOP_ZOOM, TOP_HELP, TOP_HELP_COLUMNS };
enum top_prompt { TOP_NO_PROMPT, TOP_ASK_FILTER, TOP_ASK_CSV, TOP_ASK_DUMP };

#define TOP_INSIDE 32

/* Sums of a marked region, and its last interval. */
struct top_region {
	char name[128];
	uint64_t calls, open, cpu_ns, self_ns;
	bool has_rates;
	double calls_per_s, cpu_pct, self_pct;
};

struct top_inside_event {
	char name[96];
	bool known, is_ns;
	double value;
};

/* What the agent knows of the thread that is shown alone. */
struct top_inside {
	bool known;
	uint64_t number; /* of the thread; 0: none */
	uint64_t read_ns;
	unsigned n_events; /* since the thread's start */
	struct top_inside_event events[TOP_INSIDE];
	unsigned n, more; /* by CPU time; left out */
	struct top_region regions[TOP_INSIDE];
};

struct top_screen {
	struct top_job *job;
	enum top_view view;
	uint64_t zoomed;   /* number of the thread */
	uint64_t selected; /* key of a row; 0: none */
	unsigned first;	   /* row at the top */
	unsigned height;   /* rows that there is room for */
	bool paused, quit;
	bool ending;	   /* the command has got SIGTERM: its end is waited for */
	char message[256]; /* until the next key */
	enum top_prompt prompt;
	pid_t asked; /* process to dump */
	char input[256];
	struct top_layout layout;
	struct top_inside inside; /* of `zoomed` */
};

/* keys.c: applies a key of <ncurses.h>. */
void top_key(struct top_screen *screen, int key);
/* The row of the selection, or the first one; UINT_MAX: there are no rows. */
unsigned top_selected(const struct top_screen *screen);
/* Rows after a change of what is shown. */
void top_remake(struct top_screen *screen);

/* inside.c: task NULL: none. */
void top_inside_read(struct top_inside *inside, const struct top_task *task);
void top_put_regions(const struct top_inside *inside, struct pmc_out *out);

/* zoom.c: lines of text. */
const struct top_task *top_zoomed(const struct top_screen *screen);
void top_put_zoom(const struct top_screen *screen, int width, struct pmc_out *out);
/* One page, keys or columns, of at most 23 lines. */
void top_put_help(const struct top_screen *screen, struct pmc_out *out);

/* dump.c: the message says what became of it. */
void top_dump(struct top_screen *screen, pid_t pid, const char *file);

/* csv.c: writes the rows that are not filtered out; the message says what was written, or why not.
 */
void top_write_csv(struct top_screen *screen, const char *path);

#endif
