/* SPDX-License-Identifier: MIT */
/* record.c - decoding a record: header, trailer, values, registers and names; and a line of text.
 */
#include "lib/base/utf8.h"
#include "lib/sampler/sampler.h"
#include "lib/count/group.h"

#include <errno.h>
#include <pmc/record.h>
#include <string.h>

/* A cursor over the 8-byte words of a record. Reading beyond the end sets `bad` and gives zeros, so
 * that decoders check once, at the end. */
struct record_cursor {
	const uint64_t *at, *end;
	bool bad;
};

static size_t record_left(const struct record_cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* The next n words, or NULL and a bad cursor. n is not trusted. */
static const uint64_t *record_take(struct record_cursor *c, uint64_t n)
{
	const uint64_t *words = c->at;

	if (c->bad || n > record_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return words;
}

static uint64_t record_take_u64(struct record_cursor *c)
{
	const uint64_t *word = record_take(c, 1);

	return word ? *word : 0;
}

/* Two values that share a word; a is the one at the lower address. */
static void record_take_u32x2(struct record_cursor *c, uint32_t *a, uint32_t *b)
{
	const uint32_t *halves = (const uint32_t *)record_take(c, 1);

	*a = halves ? halves[0] : 0;
	*b = halves ? halves[1] : 0;
}

#define TRAILER_FIELDS                                                                             \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* Bytes of the sample_id trailer that records other than samples end with. */
static unsigned trailer_bytes(const struct perf_event_attr *attr)
{
	if (!attr->sample_id_all)
		return 0;
	return 8 * (unsigned)__builtin_popcountll(attr->sample_type & TRAILER_FIELDS);
}

int pmc_record_time_at(const struct perf_event_attr *attr, uint32_t type, unsigned size)
{
	uint64_t fields = attr->sample_type, before;
	unsigned trailer = trailer_bytes(attr);
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

/* ---- samples -------------------------------------------------------------------------------- */

struct sample {
	struct record_cursor *c;
	const struct perf_event_attr *attr;
	struct pmc_record *record;
	bool lean_branches;
	bool optional; /* a part that the kernel may leave out without saying so */
};

/* A reading laid out by read_format. */
static void record_take_read(struct record_cursor *c, uint64_t read_format,
			     struct pmc_record_read *read)
{
	struct pmc_perf_head head = { .n = 0 };
	int used =
		c->bad ? -1 : pmc_perf_decode(c->at, record_left(c), read_format, &head, NULL, 0);

	if (used < 0) {
		c->bad = true;
		return;
	}
	*read = (struct pmc_record_read){
		.read_format = read_format,
		.n = head.n,
		.enabled_ns = head.enabled_ns,
		.running_ns = head.running_ns,
		.words = record_take(c, (uint64_t)used),
	};
}

static void field_tid(struct sample *s)
{
	record_take_u32x2(s->c, &s->record->pid, &s->record->tid);
}

static void field_cpu(struct sample *s)
{
	uint32_t reserved;

	record_take_u32x2(s->c, &s->record->cpu, &reserved);
}

static void take_read(struct sample *s, struct pmc_record_read *read)
{
	record_take_read(s->c, s->attr->read_format, read);
}

static void take_chain(struct record_cursor *c, const uint64_t **chain, uint64_t *n)
{
	*n = record_take_u64(c);
	*chain = record_take(c, *n);
	if (c->bad)
		*n = 0;
}

static void field_callchain(struct sample *s)
{
	take_chain(s->c, &s->record->sample.callchain, &s->record->sample.n_callchain);
}

/* { u32 size; char data[size]; }, padded to whole words. */
static void take_raw(struct sample *s, struct pmc_record_span *raw)
{
	const uint32_t *size = (const uint32_t *)s->c->at;

	if (!record_take(s->c, 1))
		return;
	if (*size > 4)
		record_take(s->c, ((uint64_t)*size + 4 + 7) / 8 - 1);
	*raw = (struct pmc_record_span){
		.data = (const unsigned char *)(size + 1),
		.size = *size,
	};
}

static void field_branch_stack(struct sample *s)
{
	struct pmc_record_branches *b = &s->record->sample.branches;
	uint64_t flags = s->attr->branch_sample_type;
	uint64_t n = record_take_u64(s->c), words = sizeof(struct perf_branch_entry) / 8;

	b->hw_idx = UINT64_MAX;
	/* Without a branch stack the kernel writes nr = 0 and nothing else. */
	if (flags & PERF_SAMPLE_BRANCH_HW_INDEX) {
		s->optional |= n == 0;
		if (n || !s->lean_branches)
			b->hw_idx = record_take_u64(s->c);
	}
	if (n > record_left(s->c) / words)
		s->c->bad = true;
	b->entries = (const struct perf_branch_entry *)record_take(s->c, n * words);
	/* Only some PMUs give counters. */
	if (n && (flags & PMC_SAMPLE_BRANCH_COUNTERS)) {
		s->optional = true;
		if (!s->lean_branches)
			b->counters = record_take(s->c, n);
	}
	b->n = s->c->bad ? 0 : n;
}

static void take_regs(struct sample *s, struct pmc_record_regs *regs)
{
	regs->abi = record_take_u64(s->c);
	regs->mask = regs == &s->record->sample.regs_user ? s->attr->sample_regs_user :
							    s->attr->sample_regs_intr;
	if (regs->abi != PERF_SAMPLE_REGS_ABI_NONE)
		regs->values = record_take(s->c, (uint64_t)__builtin_popcountll(regs->mask));
}

/* { u64 size; char data[size]; } in whole words. */
static void take_sized(struct sample *s, struct pmc_record_span *span)
{
	uint64_t size = record_take_u64(s->c);

	if (size > record_left(s->c) * 8)
		s->c->bad = true;
	span->data = (const unsigned char *)record_take(s->c, (size + 7) / 8);
	span->size = s->c->bad ? 0 : size;
}

static void take_stack(struct sample *s, struct pmc_record_span *stack)
{
	uint64_t copied;

	take_sized(s, stack);
	if (!stack->size)
		return;
	copied = record_take_u64(s->c);
	if (copied > stack->size)
		s->c->bad = true;
	stack->size = copied;
}

/* The fields of a sample; nothing is left of the cursor if the attr fits. The kernel leaves out
 * branch counters (or hw_idx) of a sample that has none without saying so: lean_branches assumes
 * that they are left out. Returns whether it makes a difference. */
static bool decode_fields(struct record_cursor *c, uint64_t type, bool lean_branches,
			  struct pmc_record *record)
{
	struct sample s = {
		.c = c,
		.attr = record->attr,
		.record = record,
		.lean_branches = lean_branches,
	};

	record->present = 0;
#define TAKE(bit, how)                                                                             \
	if (type & (bit)) {                                                                        \
		how;                                                                               \
		record->present |= (bit);                                                          \
	}
#define FIELD(bit, name)	   TAKE(bit, field_##name(&s))
#define PART(bit, name, take, put) TAKE(bit, take_##take(&s, &record->sample.name))
#define WORD(bit, name, member)	   TAKE(bit, record->member = record_take_u64(c))
#include "lib/sampler/record_fields.def"
	return s.optional;
}

/* struct sample_id: in the order of a sample, but for the identifier. */
static void decode_trailer(const uint64_t *at, struct pmc_record *record)
{
	const uint64_t type = record->attr->sample_type & TRAILER_FIELDS;
	struct record_cursor c = { .at = at, .end = at + __builtin_popcountll(type) };

	decode_fields(&c, type & ~(uint64_t)PERF_SAMPLE_IDENTIFIER, false, record);
	if (type & PERF_SAMPLE_IDENTIFIER)
		record->identifier = record_take_u64(&c);
	record->present = type;
}

/* ---- bodies of records but samples ---------------------------------------------------------- */

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
		memcpy(&m->maj, file, sizeof(uint32_t[2]));
		m->ino = file[1];
		m->ino_generation = file[2];
	}
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

static void take_tag(struct record_cursor *c, struct pmc_record *record)
{
	record->bpf.tag = (const unsigned char *)record_take(c, 1);
}

static void take_text_poke(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_text_poke *t = &record->text_poke;
	uint16_t lens[2] = { 0, 0 };
	const unsigned char *bytes = (const unsigned char *)c->at;

	/* Two u16 lengths; the bytes follow directly. */
	if (!record_take(c, 1))
		return;
	memcpy(lens, bytes, sizeof(lens));
	if (lens[0] + lens[1] > 4)
		record_take(c, (uint64_t)(4 + lens[0] + lens[1] + 7) / 8 - 1);
	t->old_bytes = (struct pmc_record_span){ .data = bytes + 4, .size = lens[0] };
	t->new_bytes = (struct pmc_record_span){ .data = bytes + 4 + lens[0], .size = lens[1] };
}

/* `c` ends before the sample_id trailer. */
static void decode_body(struct record_cursor *c, struct pmc_record *record)
{
	switch (record->type) {
#define U64(member)	  record->member = record_take_u64(c);
#define U32X2(a, b)	  record_take_u32x2(c, &record->a, &record->b);
#define WORD3(a, ...)	  *(uint64_t *)(void *)&record->a = record_take_u64(c);
#define STRING(member)	  record->member = take_string(c);
#define FLAG(member, bit) record->member = record->misc & (bit);
#define READ(member)	  record_take_read(c, record->attr->read_format, &record->member);
#define CHAIN(chain, n)	  take_chain(c, &record->chain, &record->n);
#define CALL(function)	  function(c, record);
#define RECORD(number, name, fields)                                                               \
	case number:                                                                               \
		fields break;
#include "lib/sampler/record_types.def"
	default:
		record->unknown = (struct pmc_record_span){
			.data = (const unsigned char *)record->bytes +
				sizeof(struct perf_event_header),
			.size = record->size - sizeof(struct perf_event_header),
		};
	}
}

static bool decode_sample(const uint64_t *words, unsigned n, struct pmc_record *record)
{
	struct record_cursor c = { .at = words + 1, .end = words + n };
	bool optional = decode_fields(&c, record->attr->sample_type, false, record);

	/* A sample fills its record: its size distinguishes the two forms. */
	if (optional && (c.bad || record_left(&c))) {
		struct record_cursor lean = { .at = words + 1, .end = words + n };
		struct pmc_record other = *record;

		memset(&other.sample, 0, sizeof(other.sample));
		decode_fields(&lean, record->attr->sample_type, true, &other);
		if (!lean.bad && !record_left(&lean)) {
			*record = other;
			return true;
		}
	}
	return !c.bad;
}

static bool decode_other(const uint64_t *words, unsigned n, struct pmc_record *record)
{
	unsigned trailer = trailer_bytes(record->attr) / 8;
	struct record_cursor c = { .at = words + 1 };

	/* A record of an unknown type may lack the trailer. */
	if (n < 1 + trailer && pmc_record_name(record->type))
		return false;
	if (n < 1 + trailer)
		trailer = 0;
	c.end = words + n - trailer;
	if (trailer)
		decode_trailer(c.end, record);
	decode_body(&c, record);
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
	uint64_t format;

	if (!read || !value)
		return -EINVAL;
	format = read->read_format;
	at = read->words;
	memset(value, 0, sizeof(*value));
	if (i >= read->n)
		return -ENOENT;
	if (format & PERF_FORMAT_GROUP)
		pmc_perf_decode_value(at + pmc_perf_read_words(format, (unsigned)i), format, value);
	else
		pmc_perf_decode(at, pmc_perf_read_words(format, 1), format, &head, value, 1);
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
	}
	return NULL;
}

const char *pmc_record_field_name(uint64_t bit)
{
	switch (bit) {
#define FIELD(number, name)                                                                        \
	case number:                                                                               \
		return #name;
#define PART(number, name, take, put) FIELD(number, name)
#define WORD(number, name, member)    FIELD(number, name)
#include "lib/sampler/record_fields.def"
	}
	return NULL;
}

/* The last component of the member's name. */
static const char *last_part(const char *member)
{
	const char *dot = strrchr(member, '.');

	return dot ? dot + 1 : member;
}

static void put_name(struct pmc_out *out, const char *member)
{
	pmc_outf(out, " %s=", last_part(member));
}

static bool is_address(const char *member)
{
	const char *name = last_part(member);
	size_t len = strlen(name);

	return !strcmp(name, "ip") || (len >= 4 && !strcmp(name + len - 4, "addr"));
}

static void put_number(struct pmc_out *out, const char *member, uint64_t value)
{
	put_name(out, member);
	if (is_address(member))
		pmc_outf(out, "0x%llx", (unsigned long long)value);
	else
		pmc_out_u64(out, value);
}

static void put_string(struct pmc_out *out, const char *member, const char *text)
{
	put_name(out, member);
	/* NULL: the record could not be decoded. */
	if (text)
		pmc_utf8_safe(out, text, strlen(text), 0);
}

/* ---- text: fields of samples and trailers --------------------------------------------------- */

static void put_words(struct pmc_out *out, const uint64_t *words, uint64_t n)
{
	pmc_out_char(out, '{');
	for (uint64_t i = 0; i < n && !out->error; i++)
		pmc_outf(out, "%s0x%llx", i ? "," : "", (unsigned long long)words[i]);
	pmc_out_char(out, '}');
}

static void put_read(struct pmc_out *out, const char *name, const struct pmc_record_read *read)
{
	struct pmc_record_value value;

	put_name(out, name);
	pmc_out_char(out, '{');
	for (uint64_t i = 0; !out->error && pmc_record_read_value(read, i, &value) == 0; i++)
		pmc_outf(out, "%s%llu", i ? "," : "", (unsigned long long)value.value);
	pmc_outf(out, "}/%llu/%llu", (unsigned long long)read->enabled_ns,
		 (unsigned long long)read->running_ns);
}

static void put_regs(struct pmc_out *out, const char *name, const struct pmc_record_regs *regs)
{
	put_name(out, name);
	put_words(out, regs->values, regs->values ? (uint64_t)__builtin_popcountll(regs->mask) : 0);
}

static void put_bytes(struct pmc_out *out, const char *name, const struct pmc_record_span *span)
{
	pmc_outf(out, " %s=%zu bytes", name, span->size);
}

static void text_tid(struct pmc_out *out, const struct pmc_record *r)
{
	pmc_outf(out, " pid=%d tid=%d", (int)r->pid, (int)r->tid);
}

static void text_cpu(struct pmc_out *out, const struct pmc_record *r)
{
	put_number(out, "cpu", r->cpu);
}

static void put_chain(struct pmc_out *out, const uint64_t *chain, uint64_t n)
{
	put_name(out, "callchain");
	put_words(out, chain, n);
}

static void text_callchain(struct pmc_out *out, const struct pmc_record *r)
{
	put_chain(out, r->sample.callchain, r->sample.n_callchain);
}

static void text_branch_stack(struct pmc_out *out, const struct pmc_record *r)
{
	put_name(out, "branches");
	pmc_out_char(out, '{');
	for (uint64_t i = 0; i < r->sample.branches.n && !out->error; i++)
		pmc_outf(out, "%s0x%llx>0x%llx", i ? "," : "",
			 (unsigned long long)r->sample.branches.entries[i].from,
			 (unsigned long long)r->sample.branches.entries[i].to);
	pmc_out_char(out, '}');
}

static void put_fields(struct pmc_out *out, const struct pmc_record *record, uint64_t fields)
{
#define WORD(bit, name, member)                                                                    \
	if (fields & (bit))                                                                        \
		put_number(out, #name, record->member);
#define FIELD(bit, name)                                                                           \
	if (fields & (bit))                                                                        \
		text_##name(out, record);
#define PART(bit, name, take, put)                                                                 \
	if (fields & (bit))                                                                        \
		put_##put(out, #name, &record->sample.name);
#include "lib/sampler/record_fields.def"
}

/* ---- text: bodies of other records ---------------------------------------------------------- */

static void text_take_file(struct pmc_out *out, const struct pmc_record *r)
{
	if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		put_name(out, "build_id");
		pmc_out_hex_bytes(out, r->mmap.build_id.data, r->mmap.build_id.size);
		return;
	}
	pmc_outf(out, " dev=%u:%u ino=%llu", r->mmap.maj, r->mmap.min,
		 (unsigned long long)r->mmap.ino);
}

static void text_take_switch(struct pmc_out *out, const struct pmc_record *r)
{
	pmc_out_str(out, r->context_switch.out ? " out" : " in");
	pmc_out_str(out, r->context_switch.preempted ? " preempted" : "");
}

static void text_take_namespaces(struct pmc_out *out, const struct pmc_record *r)
{
	put_name(out, "namespaces");
	pmc_out_char(out, '{');
	for (uint64_t i = 0; i < r->namespaces.n && !out->error; i++)
		pmc_outf(out, "%s%llu", i ? "," : "",
			 (unsigned long long)r->namespaces.links[i].ino);
	pmc_out_char(out, '}');
}

static void text_take_tag(struct pmc_out *out, const struct pmc_record *r)
{
	put_name(out, "tag");
	if (r->bpf.tag)
		pmc_out_hex_bytes(out, r->bpf.tag, 8);
}

static void text_take_text_poke(struct pmc_out *out, const struct pmc_record *r)
{
	pmc_outf(out, " old=%zu bytes new=%zu bytes", r->text_poke.old_bytes.size,
		 r->text_poke.new_bytes.size);
}

static void put_body(struct pmc_out *out, const struct pmc_record *record)
{
	switch (record->type) {
#define U64(member) put_number(out, #member, record->member);
#define U32X2(a, b)                                                                                \
	put_number(out, #a, record->a);                                                            \
	put_number(out, #b, record->b);
#define WORD3(a, b, c)                                                                             \
	U32X2(a, b)                                                                                \
	put_number(out, #c, record->c);
#define STRING(member)	  put_string(out, #member, record->member);
#define FLAG(member, bit) put_number(out, #member, record->member);
#define READ(member)	  put_read(out, #member, &record->member);
#define CHAIN(chain, n)	  put_chain(out, record->chain, record->n);
#define CALL(function)	  text_##function(out, record);
#define RECORD(number, name, fields)                                                               \
	case number:                                                                               \
		fields break;
#include "lib/sampler/record_types.def"
	default:
		put_bytes(out, "body", &record->unknown);
	}
}

/* Whether the body names the thread: then the trailer's thread is left out. */
static bool has_own_thread(uint32_t type)
{
	static const uint8_t types[] = { PERF_RECORD_MMAP,	   PERF_RECORD_MMAP2,
					 PERF_RECORD_COMM,	   PERF_RECORD_FORK,
					 PERF_RECORD_EXIT,	   PERF_RECORD_READ,
					 PERF_RECORD_ITRACE_START, PERF_RECORD_NAMESPACES };

	return type <= UINT8_MAX && memchr(types, (int)type, sizeof(types));
}

int pmc_record_text(const struct pmc_record *record, char *text, size_t size)
{
	const char *name;
	struct pmc_out out;

	if (!record || !text || !size)
		return -EINVAL;
	pmc_out_to_mem(&out, text, size);
	name = pmc_record_name(record->type);
	if (name)
		pmc_out_str(&out, name);
	else
		pmc_outf(&out, "type %u", record->type);
	put_fields(&out, record,
		   has_own_thread(record->type) ? record->present & ~(uint64_t)PERF_SAMPLE_TID :
						  record->present);
	if (record->type != PERF_RECORD_SAMPLE)
		put_body(&out, record);
	return out.error;
}
