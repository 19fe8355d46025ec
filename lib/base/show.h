/* SPDX-License-Identifier: MIT */
/* show.h - numbers, units and lines as people read them, and what they are printed on.
 * Async-signal-safe. */
#pragma once

#include "lib/base/out.h"

/* The nearest integer, 0 to 2^64 - 1: forged dumps hold any value. */
static inline uint64_t pmc_nearest_integer(double value)
{
	if (!(value > 0))
		return 0;
	return value < 1.8e19 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

/* One unit and one number of decimals for all numbers of a column, from the largest. */
struct pmc_scale {
	double divisor;
	int decimals;
	const char *unit; /* "ms", "M"; "": none */
};
void pmc_scale_time(struct pmc_scale *scale, double most_ns, const char *micro);
/* real: some are no whole numbers. */
void pmc_scale_count(struct pmc_scale *scale, double most, bool real);
/* As many decimals as give a value at most four digits. */
int pmc_decimals_for(double value);
/* -12.30, 4,358; nan and inf as pmc_out_fixed(). */
void pmc_show_scaled(struct pmc_out *out, const struct pmc_scale *scale, double value);

void pmc_show_integer(struct pmc_out *out, uint64_t value); /* 9,980, however long */
void pmc_show_count(struct pmc_out *out, uint64_t n, const char *one, const char *many);
void pmc_show_number(struct pmc_out *out, double value); /* 1.71G, 61,220 */
/* 0.57 s, 12.3 ms; `micro` is the unit's sign: "µs" or "us". */
void pmc_show_time(struct pmc_out *out, double ns, const char *micro);
/* 99.6, or 100; 99.9 for what is not quite 100, <0.1 for what is not quite 0. */
void pmc_show_percent(struct pmc_out *out, double percent);
/* " (1.98 CPUs)"; <0.01 for what is not quite 0. */
void pmc_show_cpus(struct pmc_out *out, double cpus);
/* A line, broken between words where the screen ends; what follows is indented, and keeps its
 * space. */
void pmc_show_indented(struct pmc_out *out, const char *line, int width, int indent);
static inline void pmc_show_wrapped(struct pmc_out *out, const char *line, int width)
{
	pmc_show_indented(out, line, width, 2);
}

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
