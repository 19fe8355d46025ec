/* SPDX-License-Identifier: MIT */
/*
 * json.h - the one JSON emitter, shared by agent and tools: streaming, no tree, no allocation.
 *
 * Writes commas, quotes and escapes; the caller keeps begin and end balanced. In an object every
 * value has a key, in an array key is NULL. Bytes that are not UTF-8 come out as U+FFFD. Where the
 * output is in HTML, < and & are escaped.
 */
#pragma once

#include "lib/base/out.h"

struct pmc_json {
	struct pmc_out *out;
	bool need_comma;
};

void pmc_json_init(struct pmc_json *json, struct pmc_out *out);
void pmc_json_object(struct pmc_json *json, const char *key);
void pmc_json_object_end(struct pmc_json *json);
void pmc_json_array(struct pmc_json *json, const char *key);
void pmc_json_array_end(struct pmc_json *json);
void pmc_json_str(struct pmc_json *json, const char *key, const char *text); /* NULL: null */
void pmc_json_strn(struct pmc_json *json, const char *key, const char *text, size_t len);
void pmc_json_u64(struct pmc_json *json, const char *key, uint64_t value);
void pmc_json_known(struct pmc_json *json, const char *key, bool known, uint64_t value);
void pmc_json_i64(struct pmc_json *json, const char *key, int64_t value);
/* PMC_JSON_DECIMALS digits after the point; null for nan, inf and beyond 1.8e19. */
#define PMC_JSON_DECIMALS 6
void pmc_json_double(struct pmc_json *json, const char *key, double value);
void pmc_json_bool(struct pmc_json *json, const char *key, bool value);
void pmc_json_null(struct pmc_json *json, const char *key);
/* Begins a value that the caller writes. */
void pmc_json_key(struct pmc_json *json, const char *key);
/* The next value starts on a new line. */
void pmc_json_line(struct pmc_json *json);
/* A string with its quotes and escapes, for callers that write their own punctuation. */
void pmc_json_quoted(struct pmc_out *out, const char *text, size_t len);
