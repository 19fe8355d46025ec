/* SPDX-License-Identifier: MIT */
/* utf8.h - text of unknown origin: decoding, terminal width, and making it harmless. */
#pragma once

#include "lib/base/out.h"

/* The code point at text: its length in bytes, or 0 if these bytes are no UTF-8 (overlong,
 * surrogate, cut off, beyond U+10FFFF). len must be > 0. */
size_t pmc_utf8_decode(const char *text, size_t len, uint32_t *code);

/* Terminal columns of a code point: 0, 1 or 2; -1 if it must not reach a terminal as it is
 * (controls, direction overrides, invisible format characters). */
int pmc_utf8_width(uint32_t code);

/* Where text that is too wide loses its characters. */
enum pmc_cut { PMC_CUT_END, PMC_CUT_MIDDLE, PMC_CUT_LEFT };

/* Prints text with everything dangerous or invalid as \xNN or \u{NNNN}, in at most `columns`
 * columns (0: no limit) with an ellipsis where it was cut. `ascii`: every character above 0x7e is
 * escaped too, the ellipsis is "...". Returns the width. */
int pmc_utf8_fit(struct pmc_out *out, const char *text, size_t len, int columns, enum pmc_cut cut,
		 bool ascii);
/* The same with PMC_CUT_END and UTF-8. */
int pmc_utf8_safe(struct pmc_out *out, const char *text, size_t len, int columns);

/* Whether text is valid and harmless: pmc_utf8_safe prints it as it is. */
bool pmc_utf8_is_safe(const char *text);

/* Prints text as one word of a shell command, quoted where needed: 'a b', and $'a\x1bb' if it is
 * not safe or, with `ascii`, not ASCII. A name that starts with a dash gets "./". */
void pmc_utf8_shell(struct pmc_out *out, const char *text, bool ascii);

/* Prints text as a cell of CSV: quoted where needed, harmless to terminals and spreadsheets. */
void pmc_csv_text(struct pmc_out *out, const char *text, size_t len);

/* Prints key="text" as a label of the text formats of Prometheus and OpenMetrics. */
void pmc_prometheus_label(struct pmc_out *out, const char *key, const char *text, size_t len);

/* Terminal width of valid, harmless text. */
int pmc_utf8_columns(const char *text, size_t len);
