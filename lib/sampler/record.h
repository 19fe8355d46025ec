/* SPDX-License-Identifier: MIT */
/*
 * record.h - private to the record decoder: a cursor over the 8-byte words of a record.
 *
 * Private to this folder.
 *
 * Reading beyond the end sets `bad` and gives zeros, so that decoders check once, at the end.
 */
#pragma once

#include <pmc/record.h>

struct record_cursor {
	const uint64_t *at, *end;
	bool bad;
};

static inline size_t record_left(const struct record_cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* The next n words, or NULL and a bad cursor. n is not trusted. */
static inline const uint64_t *record_take(struct record_cursor *c, uint64_t n)
{
	const uint64_t *words = c->at;

	if (c->bad || n > record_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return words;
}

static inline uint64_t record_take_u64(struct record_cursor *c)
{
	const uint64_t *word = record_take(c, 1);

	return word ? *word : 0;
}

/* Two values that share a word; a is the one at the lower address. */
static inline void record_take_u32x2(struct record_cursor *c, uint32_t *a, uint32_t *b)
{
	const uint32_t *halves = (const uint32_t *)record_take(c, 1);

	*a = halves ? halves[0] : 0;
	*b = halves ? halves[1] : 0;
}

/* Bytes of the sample_id trailer that records other than samples end with. */
unsigned pmc_record_trailer_bytes(const struct perf_event_attr *attr);

/* Offsets in bytes of the time and the PERF_SAMPLE_IDENTIFIER of a record that is not decoded yet;
 * -1: none. */
int pmc_record_time_at(const struct perf_event_attr *attr, uint32_t type, unsigned size);
int pmc_record_identifier_at(uint32_t type, unsigned size);
