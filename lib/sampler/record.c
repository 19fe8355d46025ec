/* SPDX-License-Identifier: MIT */
/* record.c - decoding a record: header, trailer, values, registers and names. */
#include "lib/sampler/record.h"
#include "lib/count/perf.h"

#include <errno.h>
#include <string.h>

#define TRAILER_FIELDS                                                                             \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

unsigned pmc_record_trailer_bytes(const struct perf_event_attr *attr)
{
	if (!attr->sample_id_all)
		return 0;
	return 8 * (unsigned)__builtin_popcountll(attr->sample_type & TRAILER_FIELDS);
}

/* struct sample_id: a word for each field. */
static void decode_trailer(const uint64_t *at, struct pmc_record *record)
{
	uint64_t type = record->attr->sample_type & TRAILER_FIELDS;
	struct record_cursor c = { .at = at, .end = at + __builtin_popcountll(type) };
	uint32_t unused;

	if (type & PERF_SAMPLE_TID)
		record_take_u32x2(&c, &record->pid, &record->tid);
	if (type & PERF_SAMPLE_TIME)
		record->time = record_take_u64(&c);
	if (type & PERF_SAMPLE_ID)
		record->id = record_take_u64(&c);
	if (type & PERF_SAMPLE_STREAM_ID)
		record->stream_id = record_take_u64(&c);
	if (type & PERF_SAMPLE_CPU)
		record_take_u32x2(&c, &record->cpu, &unused);
	if (type & PERF_SAMPLE_IDENTIFIER)
		record->identifier = record_take_u64(&c);
	record->present = type;
}

int pmc_record_time_at(const struct perf_event_attr *attr, uint32_t type, unsigned size)
{
	uint64_t fields = attr->sample_type, before;
	unsigned trailer = pmc_record_trailer_bytes(attr);
	int at;

	if (!(fields & PERF_SAMPLE_TIME))
		return -1;
	if (type == PERF_RECORD_SAMPLE) {
		before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;
		at = 8 + 8 * __builtin_popcountll(fields & before);
	} else {
		if (!trailer || size < 8 + trailer)
			return -1;
		at = (int)(size - trailer) + (fields & PERF_SAMPLE_TID ? 8 : 0);
	}
	return at + 8 <= (int)size ? at : -1;
}

int pmc_record_identifier_at(uint32_t type, unsigned size)
{
	if (size < 16)
		return -1;
	return type == PERF_RECORD_SAMPLE ? 8 : (int)size - 8;
}

static bool decode_sample(const uint64_t *words, unsigned n, struct pmc_record *record)
{
	struct record_cursor c = { .at = words + 1, .end = words + n };
	bool optional = pmc_record_decode_sample(&c, false, record);

	/* A sample fills its record: its size distinguishes the two forms. */
	if (optional && (c.bad || record_left(&c))) {
		struct record_cursor lean = { .at = words + 1, .end = words + n };
		struct pmc_record other = *record;

		memset(&other.sample, 0, sizeof(other.sample));
		pmc_record_decode_sample(&lean, true, &other);
		if (!lean.bad && !record_left(&lean)) {
			*record = other;
			return true;
		}
	}
	return !c.bad;
}

static bool decode_other(const uint64_t *words, unsigned n, struct pmc_record *record)
{
	unsigned trailer = pmc_record_trailer_bytes(record->attr) / 8;
	struct record_cursor c = { .at = words + 1 };

	/* A record of an unknown type may lack the trailer. */
	if (n < 1 + trailer && pmc_record_name(record->type))
		return false;
	if (n < 1 + trailer)
		trailer = 0;
	c.end = words + n - trailer;
	if (trailer)
		decode_trailer(c.end, record);
	pmc_record_decode_body(&c, record);
	/* Newer kernels append to bodies: ignored. */
	return !c.bad;
}

_Static_assert(sizeof(struct pmc_record_sample) <= sizeof(((struct pmc_record *)0)->room),
	       "the union's size does not depend on its members");

static void set_head(struct pmc_record *record, const struct perf_event_header *head,
		     const void *bytes, const struct perf_event_attr *attr)
{
	memset(record, 0, sizeof(*record));
	record->type = head->type;
	record->misc = head->misc;
	record->size = head->size;
	record->bytes = bytes;
	record->attr = attr;
}

int pmc_record_decode(const void *bytes, size_t size, const struct perf_event_attr *attr,
		      struct pmc_record *record)
{
	struct perf_event_header head;
	bool good;

	if (!bytes || !attr || !record)
		return -EINVAL;
	if ((uintptr_t)bytes % 8)
		return -EINVAL;
	if (size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	if (head.size < sizeof(head) || head.size % 8 || head.size > size)
		return -EBADMSG;
	set_head(record, &head, bytes, attr);
	if (head.type == PERF_RECORD_SAMPLE)
		good = decode_sample(bytes, head.size / 8, record);
	else
		good = decode_other(bytes, head.size / 8, record);
	/* A record that does not decode gives its header only. */
	if (!good)
		set_head(record, &head, bytes, attr);
	return good ? 0 : -EPROTO;
}

int pmc_record_read_value(const struct pmc_record_read *read, uint64_t i,
			  struct pmc_record_value *value)
{
	const uint64_t *at;
	struct pmc_perf_head head;
	struct pmc_perf_value one;
	uint64_t format;

	if (!read || !value)
		return -EINVAL;
	format = read->read_format;
	at = read->words;
	memset(value, 0, sizeof(*value));
	if (i >= read->n)
		return -ENOENT;
	if (format & PERF_FORMAT_GROUP) {
		at += pmc_perf_read_words(format, (unsigned)i);
		one = (struct pmc_perf_value){ .value = *at++ };
		if (format & PERF_FORMAT_ID)
			one.id = *at++;
		if (format & PERF_FORMAT_LOST)
			one.lost = *at;
	} else {
		pmc_perf_decode(at, pmc_perf_read_words(format, 1), format, &head, &one, 1);
	}
	*value = (struct pmc_record_value){ one.value, one.id, one.lost, 0 };
	return 0;
}

int pmc_record_reg(const struct pmc_record_regs *regs, unsigned reg, uint64_t *value)
{
	if (!regs || !value)
		return -EINVAL;
	*value = 0;
	if (regs->abi == PERF_SAMPLE_REGS_ABI_NONE || reg > 63 || !(regs->mask >> reg & 1))
		return -ENOENT;
	*value = regs->values[__builtin_popcountll(regs->mask & ((1ULL << reg) - 1))];
	return 0;
}

const char *pmc_record_name(uint32_t type)
{
	switch (type) {
#define RECORD(number, name, fields)                                                               \
	case number:                                                                               \
		return #name;
#include "lib/sampler/record_types.def"
#undef RECORD
	}
	return NULL;
}

const char *pmc_record_field_name(uint64_t bit)
{
	switch (bit) {
#define FIELD(number, name)                                                                        \
	case number:                                                                               \
		return #name;
#define WORD(number, name, member) FIELD(number, name)
#include "lib/sampler/record_fields.def"
#undef WORD
#undef FIELD
	}
	return NULL;
}
