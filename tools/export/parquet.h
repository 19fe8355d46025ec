/* SPDX-License-Identifier: MIT */
/*
 * parquet.h - files of Apache Parquet with flat rows. Private to this folder.
 *
 * A row group has at most PARQUET_ROWS rows, a column of it one page of data, compressed by zstd,
 * and its least and greatest value. Texts are in dictionaries. All columns are optional.
 */
#pragma once

#include "lib/base/arena.h"
#include "lib/base/out.h"

/* What DuckDB reads at a time; a page of numbers is then just below 1 MB. */
#define PARQUET_ROWS 122880

enum parquet_type {
	PARQUET_BOOL,
	PARQUET_U32,
	PARQUET_U64,
	PARQUET_DOUBLE, /* finite, not negative: their bits are in the order of the numbers */
	PARQUET_TIME,	/* ms since 1970 */
	PARQUET_TEXT,	/* any bytes; those that are no harmless UTF-8 are escaped */
};

struct parquet_value {
	bool known; /* false: null */
	uint64_t number;
	double real;
	const char *text; /* of `number` bytes */
};

struct parquet_column {
	const char *name;
	enum parquet_type type;
	struct parquet_value (*value)(const void *row);
};

struct parquet;

/* In memory of the arena; pmc_zstd_load() has succeeded. */
struct parquet *parquet_new(struct pmc_arena *arena, const struct parquet_column *columns,
			    unsigned n);
void parquet_free(struct parquet *parquet);
/* One file after the other. Errors stick in `out`. */
void parquet_begin(struct parquet *parquet, struct pmc_out *out);
void parquet_row(struct parquet *parquet, const void *row);
/* With metadata: a key and its text; NULL: none. Flushes. */
void parquet_end(struct parquet *parquet, const char *key, const char *text, size_t len);
