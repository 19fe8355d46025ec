/* SPDX-License-Identifier: MIT */
/* record_sample.c - decoding the fields of a sample in the order of record_fields.def. */
#include "lib/sampler/record.h"
#include "lib/count/perf.h"

struct sample {
	struct record_cursor *c;
	const struct perf_event_attr *attr;
	struct pmc_record *record;
	bool lean_branches;
	bool optional; /* a part that the kernel may leave out without saying so */
};

void record_take_read(struct record_cursor *c, uint64_t read_format, struct pmc_record_read *read)
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

static void field_read(struct sample *s)
{
	record_take_read(s->c, s->attr->read_format, &s->record->sample.read);
}

static void field_callchain(struct sample *s)
{
	uint64_t n = record_take_u64(s->c);

	s->record->sample.callchain = record_take(s->c, n);
	s->record->sample.n_callchain = s->c->bad ? 0 : n;
}

/* { u32 size; char data[size]; }, padded to whole words. */
static void field_raw(struct sample *s)
{
	const uint32_t *size = (const uint32_t *)s->c->at;

	if (!record_take(s->c, 1))
		return;
	if (*size > 4)
		record_take(s->c, ((uint64_t)*size + 4 + 7) / 8 - 1);
	s->record->sample.raw = (struct pmc_record_span){
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

static void take_regs(struct sample *s, uint64_t mask, struct pmc_record_regs *regs)
{
	regs->abi = record_take_u64(s->c);
	regs->mask = mask;
	if (regs->abi != PERF_SAMPLE_REGS_ABI_NONE)
		regs->values = record_take(s->c, (uint64_t)__builtin_popcountll(mask));
}

static void field_regs_user(struct sample *s)
{
	take_regs(s, s->attr->sample_regs_user, &s->record->sample.regs_user);
}

static void field_regs_intr(struct sample *s)
{
	take_regs(s, s->attr->sample_regs_intr, &s->record->sample.regs_intr);
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

static void field_stack_user(struct sample *s)
{
	struct pmc_record_span *stack = &s->record->sample.stack_user;
	uint64_t copied;

	take_sized(s, stack);
	if (!stack->size)
		return;
	copied = record_take_u64(s->c);
	if (copied > stack->size)
		s->c->bad = true;
	stack->size = copied;
}

static void field_aux(struct sample *s)
{
	take_sized(s, &s->record->sample.aux);
}

bool pmc_record_decode_sample(struct record_cursor *c, bool lean_branches,
			      struct pmc_record *record)
{
	struct sample s = {
		.c = c,
		.attr = record->attr,
		.record = record,
		.lean_branches = lean_branches,
	};
	uint64_t type = record->attr->sample_type;

	record->present = 0;
#define FIELD(bit, name)                                                                           \
	if (type & (bit)) {                                                                        \
		field_##name(&s);                                                                  \
		record->present |= (bit);                                                          \
	}
#define WORD(bit, name, member)                                                                    \
	if (type & (bit)) {                                                                        \
		record->member = record_take_u64(c);                                               \
		record->present |= (bit);                                                          \
	}
#include "lib/sampler/record_fields.def"
#undef WORD
#undef FIELD
	return s.optional;
}
