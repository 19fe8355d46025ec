/* SPDX-License-Identifier: MIT */
/* csv.h - see csv.c. */
#pragma once

#include "lib/base/out.h"

#include <stddef.h>

void pmc_csv_text(struct pmc_out *out, const char *text, size_t len);
