/* SPDX-License-Identifier: MIT */
/* table.h - values and the list of a table. Private to this folder. */
#ifndef PMC_TOOLS_STAT_TABLE_H
#define PMC_TOOLS_STAT_TABLE_H

#include "tools/stat/stat.h"

/* Names come from sysfs, tracefs and the kernel. Returns the width. */
int stat_put_name(struct pmc_out *out, const char *name);
void stat_put_right(struct pmc_out *out, const char *text, int width);
void stat_event_text(const struct stat_job *stat, const struct stat_row *row, unsigned e,
		     char *text, size_t cap);
void stat_metric_text(const struct stat_job *stat, const struct stat_row *row, unsigned m,
		      char *text, size_t cap);
/* The sum of the target. */
void stat_list(struct stat_job *stat);

#endif
