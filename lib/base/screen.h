/* SPDX-License-Identifier: MIT */
/* screen.h - width, character set and colour of what a table is printed on. Async-signal-safe. */
#pragma once

#include <stdbool.h>

/* The place where a table is printed. All zero: 100 columns of UTF-8 without colour. */
struct pmc_screen {
	int width;
	bool ascii; /* the locale is not UTF-8 */
	bool color;
};

/* From the environment: LC_ALL, LC_CTYPE or LANG, COLUMNS, NO_COLOR. */
void pmc_screen_from_env(struct pmc_screen *screen, char *const *envp);
/* A terminal's own width wins; anything else gets no colour. */
void pmc_screen_of_fd(struct pmc_screen *screen, int fd);

static inline int pmc_screen_width(const struct pmc_screen *screen)
{
	return screen->width ? screen->width : 100;
}
