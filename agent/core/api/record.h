/* SPDX-License-Identifier: MIT */
/*
 * record.h - what the parts of the record decoder share: a cursor over words, and their entries.
 *
 * Everything in a record is made of 8-byte words; a cursor that is asked for more than is left
 * turns bad and gives zeros from then on, so that decoders check once, at the end.
 */
#ifndef PMC_CORE_API_RECORD_H
#define PMC_CORE_API_RECORD_H

#include <pmc/record.h>

struct pmc_cursor {
	const uint64_t *at, *end;
	bool bad;
};

static inline size_t pmc_cursor_left(const struct pmc_cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* The next n words, or NULL and a bad cursor. n is not trusted. */
static inline const uint64_t *pmc_cursor_take(struct pmc_cursor *c, uint64_t n)
{
	const uint64_t *words = c->at;

	if (c->bad || n > pmc_cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return words;
}

static inline uint64_t pmc_cursor_u64(struct pmc_cursor *c)
{
	const uint64_t *word = pmc_cursor_take(c, 1);

	return word ? *word : 0;
}

/* Two values that share a word; a is the one at the lower address. */
static inline void pmc_cursor_u32x2(struct pmc_cursor *c, uint32_t *a, uint32_t *b)
{
	const uint32_t *halves = (const uint32_t *)pmc_cursor_take(c, 1);

	*a = halves ? halves[0] : 0;
	*b = halves ? halves[1] : 0;
}

/* A reading laid out by read_format. */
void pmc_cursor_read(struct pmc_cursor *c, uint64_t read_format, struct pmc_record_read *read);

/* The fields of a sample; what is left of the cursor afterwards is 0 if the attr fits. The kernel
 * leaves out branch counters (or hw_idx) of a sample that has none, and does not say so:
 * `lean_branches` tells to take them as left out. Returns whether it matters. */
bool pmc_record_decode_sample(struct pmc_cursor *c, bool lean_branches, struct pmc_record *record);

/* The body of any other record, `c` ending before the sample_id trailer. */
void pmc_record_decode_body(struct pmc_cursor *c, struct pmc_record *record);

/* Bytes of the sample_id trailer that records other than samples end with. */
unsigned pmc_record_trailer_bytes(const struct perf_event_attr *attr);

/* Where a record of this type has its time and its PERF_SAMPLE_IDENTIFIER: offset in bytes from
 * its start, or -1. For readers that order or assign records before they decode them. */
int pmc_record_time_at(const struct perf_event_attr *attr, uint32_t type, unsigned size);
int pmc_record_identifier_at(uint32_t type, unsigned size);

#endif
