/* SPDX-License-Identifier: MIT */
/* print.h - records in the kernel's own words: its print formats. Private to this folder. */
#ifndef PMC_TOOLS_TRACE_PRINT_H
#define PMC_TOOLS_TRACE_PRINT_H

#include <pmc/tracepoint.h>
#include <stddef.h>

struct trace_print;

/* NULL: no memory. */
struct trace_print *trace_print_new(void);
/* Accepts NULL. */
void trace_print_free(struct trace_print *print);

/* Reads the format file of a tracepoint from tracefs. One that fails is not evaluated. */
void trace_print_load(struct trace_print *print, const char *system, const char *name);
/* The same from `size` bytes of a format file. */
void trace_print_parse(struct trace_print *print, const char *system, const char *text,
		       size_t size);

/* The record as text, valid until the next call; it may hold characters that are not for terminals.
 * NULL: the tracepoint's format is not known, calls a function of the kernel, or does not fit the
 * record. */
const char *trace_print_text(struct trace_print *print, const struct pmc_tracepoint *tracepoint,
			     const struct pmc_record *record);

#endif
