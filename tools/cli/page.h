/* SPDX-License-Identifier: MIT */
/* page.h - pages that need nothing but a browser, and no scripts. */
#pragma once

#include "lib/base/show.h"

#include <stddef.h>

/* Up to the heading; css: styles beside those of all pages. */
void tool_page_begin(struct pmc_out *out, const char *title, const char *css);
/* Text of unknown origin, cut to so many columns (0: not). */
void tool_page_text(struct pmc_out *out, const char *text, int columns);
void tool_page_end(struct pmc_out *out);
