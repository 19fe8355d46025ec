/* SPDX-License-Identifier: MIT */
/*
 * pmc/tracepoint.h - the fields of tracepoints: their names, types and values in samples.
 *
 * 	struct pmc_tracepoint *switches;
 * 	struct pmc_counter_event event;
 * 	int64_t pid;
 *
 * 	pmc_tracepoint_load(&switches, "sched", "sched_switch", NULL);
 * 	pmc_tracepoint_event(switches, &event);
 * 	...
 * 	pmc_tracepoint_integer(pmc_tracepoint_find(switches, "prev_pid"), &record, &pid);
 *
 * A sample with PERF_SAMPLE_RAW has the tracepoint's fields as the kernel's format file lays them
 * out (events/SYSTEM/NAME/format of tracefs). The file is read and parsed here; no other library is
 * needed. Records are not trusted: nothing outside the raw data is read.
 *
 * Functions return 0 or a negative errno. Loading, parsing and freeing allocate; all others are
 * thread-safe and async-signal-safe.
 */
#ifndef PMC_TRACEPOINT_H
#define PMC_TRACEPOINT_H

#include <pmc/api.h>
#include <pmc/counter_event.h>
#include <pmc/record.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PMC_API_BEGIN

struct pmc_tracepoint;

enum pmc_tracepoint_kind {
	PMC_TRACEPOINT_BYTES = 0, /* a struct, or of unknown type */
	PMC_TRACEPOINT_INTEGER,	  /* 1, 2, 4 or 8 bytes: also enums, bool and pointers */
	PMC_TRACEPOINT_STRING,	  /* an array of char, fixed or dynamic */
	PMC_TRACEPOINT_ARRAY,	  /* an array of integers, fixed or dynamic */
};

/* A field; belongs to its tracepoint. */
struct pmc_tracepoint_field {
	const char *name; /* "prev_comm" */
	const char *type; /* the declaration without the name: "char[16]", "__data_loc u64[]" */
	uint32_t offset;  /* bytes from the start of the raw data */
	uint32_t size;	  /* bytes at that place; a dynamic field has its position there */
	uint32_t element_bytes; /* of integers, strings and arrays; else 0 */
	uint8_t kind;		/* enum pmc_tracepoint_kind */
	bool is_signed;
	bool is_dynamic; /* __data_loc or __rel_loc: elsewhere in the record, of varying size */
	bool is_pointer;
	bool is_common; /* one of the fields that every tracepoint begins with, "common_pid" */
	uint8_t reserved[23];
};

/*
 * Reads and parses the format of a tracepoint from tracefs. *tracepoint is NULL on failure.
 * -ENOENT: unknown name. -EACCES: no permission to read tracefs. -ENODEV: tracefs is not mounted.
 * -EPROTO: the format file cannot be parsed. -ENOMEM. failure may be NULL.
 */
int pmc_tracepoint_load(struct pmc_tracepoint **tracepoint, const char *system, const char *name,
			struct pmc_failure *failure);
/* The same from `size` bytes of a format file, for example of another machine; the system is "". */
int pmc_tracepoint_parse(struct pmc_tracepoint **tracepoint, const char *text, size_t size,
			 struct pmc_failure *failure);
/* Accepts NULL. Fields and strings of the tracepoint are invalid afterwards. */
void pmc_tracepoint_free(struct pmc_tracepoint *tracepoint);

/* The event to open: pmc_counter_open() with sample_period 1 and PERF_SAMPLE_RAW gives samples. */
int pmc_tracepoint_event(const struct pmc_tracepoint *tracepoint, struct pmc_counter_event *event);
/* "sched", "sched_switch", the number in the id file, and the format's "print fmt" with its
 * arguments (C expressions; "" if there is none). */
const char *pmc_tracepoint_system(const struct pmc_tracepoint *tracepoint);
const char *pmc_tracepoint_name(const struct pmc_tracepoint *tracepoint);
uint64_t pmc_tracepoint_id(const struct pmc_tracepoint *tracepoint);
const char *pmc_tracepoint_print_format(const struct pmc_tracepoint *tracepoint);

/* The fields in the order of the format file, common fields first; NULL beyond the last. */
size_t pmc_tracepoint_count(const struct pmc_tracepoint *tracepoint);
const struct pmc_tracepoint_field *pmc_tracepoint_at(const struct pmc_tracepoint *tracepoint,
						     size_t index);
/* The field of that name; NULL: none. Functions that take a field return -ENOENT for NULL, so one
 * check of a value covers both. */
const struct pmc_tracepoint_field *pmc_tracepoint_find(const struct pmc_tracepoint *tracepoint,
						       const char *name);

/* ---- values -------------------------------------------------------------------------------
 * -ENOENT: field is NULL. -EINVAL: the record is not a sample with PERF_SAMPLE_RAW, or the field is
 * of another kind. -EPROTO: the field lies outside the raw data (the sample is of another
 * tracepoint, or damaged). */

/* The id of the tracepoint that the sample is of, for streams of several. */
int pmc_tracepoint_of(const struct pmc_record *record, uint64_t *id);

/* An integer, sign-extended if the field is signed. An unsigned one of 64 bits is to be cast. */
int pmc_tracepoint_integer(const struct pmc_tracepoint_field *field,
			   const struct pmc_record *record, int64_t *value);
/* A string: copied up to its NUL, with a NUL at the end. -ENOSPC: cut to fit `size` bytes. */
int pmc_tracepoint_string(const struct pmc_tracepoint_field *field, const struct pmc_record *record,
			  char *text, size_t size);
/* The number of elements of an array (1 for an integer), and element `index`. -ERANGE: there are
 * fewer. */
int pmc_tracepoint_length(const struct pmc_tracepoint_field *field, const struct pmc_record *record,
			  size_t *n);
int pmc_tracepoint_element(const struct pmc_tracepoint_field *field,
			   const struct pmc_record *record, size_t index, int64_t *value);
/* The bytes of a field of any kind, not copied; of a dynamic one those that its position names. */
int pmc_tracepoint_bytes(const struct pmc_tracepoint_field *field, const struct pmc_record *record,
			 struct pmc_record_span *bytes);

/* The value as text: "-3", "0xffff888012345678" (pointers), "bash", "{1,2,3}", "00ff12" (bytes).
 * Control characters, direction overrides and invalid bytes in strings are escaped as \x1b.
 * -ENOSPC: cut. */
int pmc_tracepoint_text(const struct pmc_tracepoint_field *field, const struct pmc_record *record,
			char *text, size_t size);
/* All fields but the common ones: "prev_comm=bash prev_pid=7 ...". -ENOSPC: cut. */
int pmc_tracepoint_print(const struct pmc_tracepoint *tracepoint, const struct pmc_record *record,
			 char *text, size_t size);

PMC_API_END

#endif
