/* SPDX-License-Identifier: MIT */
/* html.h - what is in the page of export_html(). Private to this folder. */
#ifndef PMC_TOOLS_EXPORT_HTML_H
#define PMC_TOOLS_EXPORT_HTML_H

#include "lib/base/json.h"
#include "tools/export/export.h"

/* Bounds of the page. */
enum {
	HTML_ROWS_MOST = 2000,	 /* of a table; the others are one row */
	HTML_THREADS_MOST = 200, /* with a flame graph of their own; of more, pools have one */
	HTML_BOXES_MOST = 50000, /* of an event */
};
#define HTML_LEAST_SHARE 0.0001 /* of a thread's or pool's samples, of a box */

/* ---- html_roots.c ------------------------------------------------------------------------ */

/* What has flame graphs of its own: threads or pools, and one for all the others. */
struct html_root {
	const char *thread; /* NULL: a pool, or the others */
	const char *pool;   /* NULL: the others */
	uint32_t tid, pid;
	const char *host;
	uint64_t samples;
	bool kept;
	struct pmc_fold_row row; /* its label is its number: the outermost name of its paths */
};

struct html_roots {
	bool are_pools;
	struct html_root **of; /* of each entry of profile->samples; NULL: not exported */
	struct html_root *list;
	unsigned n;
};

int html_find_roots(struct export *export, struct html_roots *roots);

/* ---- html_flames.c ----------------------------------------------------------------------- */
/* The members "roots" and "flames". */
int html_flames(struct export *export, struct pmc_json *json);

#endif
