/* SPDX-License-Identifier: MIT */
/* histogram.h - lengths of waits as a table, CSV, JSON and text for Prometheus. */
#pragma once

#include "lib/base/histogram.h"
#include "tools/table/table.h"

enum { TABLE_HISTOGRAM_ROWS = 10 }; /* threads or groups of them that are in tables */

/* A thread; of several threads numbers and host are null. */
struct table_histogram_row {
	const char *name; /* good until it is added */
	size_t len;
	struct table_cell host, pid, tid;
};

/* A line of a table is a power of 2, a row of CSV a bucket. */
struct table_histograms {
	struct pmc_arena *arena;
	struct pmc_out *out;
	enum table_format format;
	struct pmc_screen screen;
	int indent;  /* of lines of the table */
	bool places; /* with host and pid */
	/* private: */
	struct table table;
	struct table_cells cells;
	size_t room;
};

void table_histograms_begin(struct table_histograms *to);
/* Waits of a kind; of CSV they are printed. */
void table_histograms_add(struct table_histograms *to, const struct table_histogram_row *row,
			  const char *wait, const struct pmc_histogram *of);
/* Prints the table, if there are any, with an empty line in front. */
void table_histograms_end(struct table_histograms *to);

/* Pairs of the largest time of a bucket, in ns, and its number of waits. */
struct pmc_json;
void table_histogram_json(struct pmc_json *json, const char *key, const struct pmc_histogram *of);
/* The same as a cell, good until the next one. */
struct table_cell table_histogram_cell(const struct pmc_histogram *of);
/* As Prometheus and OpenMetrics have histograms, in seconds, with these labels. */
void table_histogram_prometheus(struct pmc_out *out, const char *labels,
				const struct pmc_histogram *of, uint64_t sum_ns);
