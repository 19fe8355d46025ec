/* SPDX-License-Identifier: MIT */
/* record_sample.c - the fields of a sample, each at its place in record_fields.def. */
#include "agent/core/api/record.h"
#include "agent/core/count/perf.h"

struct sample {
	struct pmc_cursor *c;
	const struct perf_event_attr *attr;
	struct pmc_record *record;
	bool lean_branches;
	bool optional; /* there was a part that the kernel may leave out without a word */
};

void pmc_cursor_read(struct pmc_cursor *c, uint64_t read_format, struct pmc_record_read *read)
{
	struct pmc_perf_head head = { .n = 0 };
	int used = c->bad ? -1 :
			    pmc_perf_decode(c->at, pmc_cursor_left(c), read_format, &head, NULL, 0);

	if (used < 0) {
		c->bad = true;
		return;
	}
	*read = (struct pmc_record_read){
		.read_format = read_format,
		.n = head.n,
		.enabled_ns = head.enabled_ns,
		.running_ns = head.running_ns,
		.words = pmc_cursor_take(c, (uint64_t)used),
	};
}

static void field_identifier(struct sample *s)
{
	s->record->identifier = pmc_cursor_u64(s->c);
}

static void field_ip(struct sample *s)
{
	s->record->sample.ip = pmc_cursor_u64(s->c);
}

static void field_tid(struct sample *s)
{
	pmc_cursor_u32x2(s->c, &s->record->pid, &s->record->tid);
}

static void field_time(struct sample *s)
{
	s->record->time = pmc_cursor_u64(s->c);
}

static void field_addr(struct sample *s)
{
	s->record->sample.addr = pmc_cursor_u64(s->c);
}

static void field_id(struct sample *s)
{
	s->record->id = pmc_cursor_u64(s->c);
}

static void field_stream_id(struct sample *s)
{
	s->record->stream_id = pmc_cursor_u64(s->c);
}

static void field_cpu(struct sample *s)
{
	uint32_t reserved;

	pmc_cursor_u32x2(s->c, &s->record->cpu, &reserved);
}

static void field_period(struct sample *s)
{
	s->record->sample.period = pmc_cursor_u64(s->c);
}

static void field_read(struct sample *s)
{
	pmc_cursor_read(s->c, s->attr->read_format, &s->record->sample.read);
}

static void field_callchain(struct sample *s)
{
	uint64_t n = pmc_cursor_u64(s->c);

	s->record->sample.callchain = pmc_cursor_take(s->c, n);
	s->record->sample.n_callchain = s->c->bad ? 0 : n;
}

/* { u32 size; char data[size]; }, of which the kernel makes whole words. */
static void field_raw(struct sample *s)
{
	const uint32_t *size = (const uint32_t *)s->c->at;

	if (!pmc_cursor_take(s->c, 1))
		return;
	if (*size > 4)
		pmc_cursor_take(s->c, ((uint64_t)*size + 4 + 7) / 8 - 1);
	s->record->sample.raw = (struct pmc_record_span){
		.data = (const unsigned char *)(size + 1),
		.size = *size,
	};
}

static void field_branch_stack(struct sample *s)
{
	struct pmc_record_branches *b = &s->record->sample.branches;
	uint64_t flags = s->attr->branch_sample_type;
	uint64_t n = pmc_cursor_u64(s->c), words = sizeof(struct perf_branch_entry) / 8;

	b->hw_idx = UINT64_MAX;
	/* Without a branch stack the kernel writes nr = 0 and no more. */
	if (flags & PERF_SAMPLE_BRANCH_HW_INDEX) {
		s->optional |= n == 0;
		if (n || !s->lean_branches)
			b->hw_idx = pmc_cursor_u64(s->c);
	}
	if (n > pmc_cursor_left(s->c) / words)
		s->c->bad = true;
	b->entries = (const struct perf_branch_entry *)pmc_cursor_take(s->c, n * words);
	/* Only some PMUs have counters to give. */
	if (n && (flags & PMC_SAMPLE_BRANCH_COUNTERS)) {
		s->optional = true;
		if (!s->lean_branches)
			b->counters = pmc_cursor_take(s->c, n);
	}
	b->n = s->c->bad ? 0 : n;
}

static void take_regs(struct sample *s, uint64_t mask, struct pmc_record_regs *regs)
{
	regs->abi = pmc_cursor_u64(s->c);
	regs->mask = mask;
	if (regs->abi != PERF_SAMPLE_REGS_ABI_NONE)
		regs->values = pmc_cursor_take(s->c, (uint64_t)__builtin_popcountll(mask));
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
	uint64_t size = pmc_cursor_u64(s->c);

	if (size > pmc_cursor_left(s->c) * 8)
		s->c->bad = true;
	span->data = (const unsigned char *)pmc_cursor_take(s->c, (size + 7) / 8);
	span->size = s->c->bad ? 0 : size;
}

static void field_stack_user(struct sample *s)
{
	struct pmc_record_span *stack = &s->record->sample.stack_user;
	uint64_t copied;

	take_sized(s, stack);
	if (!stack->size)
		return;
	copied = pmc_cursor_u64(s->c);
	if (copied > stack->size)
		s->c->bad = true;
	stack->size = copied;
}

static void field_weight(struct sample *s)
{
	s->record->sample.weight.full = pmc_cursor_u64(s->c);
}

static void field_weight_struct(struct sample *s)
{
	field_weight(s);
}

static void field_data_src(struct sample *s)
{
	s->record->sample.data_src.val = pmc_cursor_u64(s->c);
}

static void field_transaction(struct sample *s)
{
	s->record->sample.transaction = pmc_cursor_u64(s->c);
}

static void field_phys_addr(struct sample *s)
{
	s->record->sample.phys_addr = pmc_cursor_u64(s->c);
}

static void field_cgroup(struct sample *s)
{
	s->record->sample.cgroup = pmc_cursor_u64(s->c);
}

static void field_data_page_size(struct sample *s)
{
	s->record->sample.data_page_size = pmc_cursor_u64(s->c);
}

static void field_code_page_size(struct sample *s)
{
	s->record->sample.code_page_size = pmc_cursor_u64(s->c);
}

static void field_aux(struct sample *s)
{
	take_sized(s, &s->record->sample.aux);
}

bool pmc_record_decode_sample(struct pmc_cursor *c, bool lean_branches, struct pmc_record *record)
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
#include "agent/core/api/record_fields.def"
#undef FIELD
	return s.optional;
}
