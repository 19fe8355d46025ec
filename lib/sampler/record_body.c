/* SPDX-License-Identifier: MIT */
/* record_body.c - decoding the bodies of all records but samples. */
#include "lib/sampler/record.h"

#include <string.h>

/* A NUL-terminated string up to the end of the body. */
static const char *take_string(struct record_cursor *c)
{
	const char *text = (const char *)c->at;
	size_t room = record_left(c) * 8;

	if (c->bad || !room || !memchr(text, 0, room)) {
		c->bad = true;
		return NULL;
	}
	c->at = c->end;
	return text;
}

/* The file of a PERF_RECORD_MMAP2: its identity or its build id. */
static void take_file(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_mmap *m = &record->mmap;
	const uint64_t *file = record_take(c, 3);

	if (file && (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		const unsigned char *bytes = (const unsigned char *)file;

		/* u8 size, 3 unused bytes, up to 20 bytes of build id. */
		if (bytes[0] > 20)
			c->bad = true;
		m->build_id = (struct pmc_record_span){ .data = bytes + 4, .size = bytes[0] };
	} else if (file) {
		struct record_cursor ids = { .at = file, .end = file + 3 };

		record_take_u32x2(&ids, &m->maj, &m->min);
		m->ino = record_take_u64(&ids);
		m->ino_generation = record_take_u64(&ids);
	}
}

static void take_exec(struct record_cursor *c, struct pmc_record *record)
{
	(void)c;
	record->comm.exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void take_counts(struct record_cursor *c, struct pmc_record *record)
{
	record_take_read(c, record->attr->read_format, &record->counts.read);
}

static void take_switch(struct record_cursor *c, struct pmc_record *record)
{
	(void)c;
	record->context_switch.out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
	record->context_switch.preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
}

static void take_namespaces(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_namespaces *ns = &record->namespaces;
	uint64_t words = sizeof(struct perf_ns_link_info) / 8;

	ns->n = record_take_u64(c);
	if (ns->n > record_left(c) / words)
		c->bad = true;
	ns->links = (const struct perf_ns_link_info *)record_take(c, ns->n * words);
}

/* Two u16 in a u32, the one at the lower address first. */
static void split(uint32_t both, uint16_t *a, uint16_t *b)
{
	uint16_t halves[2];

	memcpy(halves, &both, sizeof(halves));
	*a = halves[0];
	*b = halves[1];
}

static void take_ksymbol(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_ksymbol *k = &record->ksymbol;
	uint32_t type_flags;

	record_take_u32x2(c, &k->len, &type_flags);
	split(type_flags, &k->ksym_type, &k->flags);
}

static void take_bpf(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_bpf *b = &record->bpf;
	uint32_t type_flags;

	record_take_u32x2(c, &type_flags, &b->id);
	split(type_flags, &b->bpf_type, &b->flags);
	b->tag = (const unsigned char *)record_take(c, 1);
}

static void take_text_poke(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_text_poke *t = &record->text_poke;
	const unsigned char *bytes;
	uint16_t lens[2] = { 0, 0 };

	bytes = (const unsigned char *)c->at;
	/* Two u16 lengths; the bytes follow directly. */
	if (!record_take(c, 1))
		return;
	memcpy(lens, bytes, sizeof(lens));
	if (lens[0] + lens[1] > 4)
		record_take(c, (uint64_t)(4 + lens[0] + lens[1] + 7) / 8 - 1);
	t->old_bytes = (struct pmc_record_span){ .data = bytes + 4, .size = lens[0] };
	t->new_bytes = (struct pmc_record_span){ .data = bytes + 4 + lens[0], .size = lens[1] };
}

static void take_callchain(struct record_cursor *c, struct pmc_record *record)
{
	record->deferred.n_callchain = record_take_u64(c);
	record->deferred.callchain = record_take(c, record->deferred.n_callchain);
}

void pmc_record_decode_body(struct record_cursor *c, struct pmc_record *record)
{
	switch (record->type) {
#define U64(member)    record->member = record_take_u64(c);
#define U32X2(a, b)    record_take_u32x2(c, &record->a, &record->b);
#define STRING(member) record->member = take_string(c);
#define CALL(function) function(c, record);
#define RECORD(number, name, fields)                                                               \
	case number:                                                                               \
		fields break;
#include "lib/sampler/record_types.def"
#undef RECORD
	default:
		record->unknown = (struct pmc_record_span){
			.data = (const unsigned char *)record->bytes +
				sizeof(struct perf_event_header),
			.size = record->size - sizeof(struct perf_event_header),
		};
	}
}
