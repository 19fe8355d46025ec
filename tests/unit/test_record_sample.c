/* SPDX-License-Identifier: MIT */
/* test_record_sample.c - made-up samples with single fields and random sets of fields, whole and
 * truncated. */
#include "tests/unit/unit.h"

#include <pmc/record.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t words[8192];
static unsigned n_words;
static struct perf_event_attr attr;
static uint32_t random_state = 4711;

static uint32_t rnd(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

static void u64(uint64_t value)
{
	words[n_words++] = value;
}

static void u32x2(uint32_t a, uint32_t b)
{
	uint32_t both[2] = { a, b };

	memcpy(&words[n_words++], both, 8);
}

static void bytes(unsigned n, unsigned seed)
{
	unsigned char *to = (unsigned char *)&words[n_words];

	for (unsigned i = 0; i < n; i++)
		to[i] = (unsigned char)(seed + i);
	n_words += (n + 7) / 8;
}

static void are_bytes(const struct pmc_record_span *span, unsigned n, unsigned seed)
{
	assert_int_equal(span->size, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(span->data[i], (unsigned char)(seed + i));
}

/* The expected values of fields with a length. */
struct made {
	unsigned callchain, raw, branches, stack, dyn, aux, group;
	bool no_user_regs, no_branch_stack, no_counters;
};

static unsigned each_of(uint64_t format)
{
	return 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
}

/* The layout of the kernel's perf_output_sample(), written independently of the decoder. */
static void make(const struct made *m)
{
	struct perf_event_header header = { .type = PERF_RECORD_SAMPLE };
	uint64_t type = attr.sample_type, format = attr.read_format;

	memset(words, 0xbb, sizeof(words));
	n_words = 1;
	if (type & PERF_SAMPLE_IDENTIFIER)
		u64(1);
	if (type & PERF_SAMPLE_IP)
		u64(2);
	if (type & PERF_SAMPLE_TID)
		u32x2(3, 4);
	if (type & PERF_SAMPLE_TIME)
		u64(5);
	if (type & PERF_SAMPLE_ADDR)
		u64(6);
	if (type & PERF_SAMPLE_ID)
		u64(7);
	if (type & PERF_SAMPLE_STREAM_ID)
		u64(8);
	if (type & PERF_SAMPLE_CPU)
		u32x2(9, 0);
	if (type & PERF_SAMPLE_PERIOD)
		u64(10);
	if (type & PERF_SAMPLE_READ) {
		u64(format & PERF_FORMAT_GROUP ? m->group : 11);
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			u64(12);
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			u64(13);
		if (format & PERF_FORMAT_GROUP)
			for (unsigned i = 0; i < m->group * each_of(format); i++)
				u64(14 + i);
		else
			for (unsigned i = 1; i < each_of(format); i++)
				u64(14 + i);
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		u64(m->callchain);
		for (unsigned i = 0; i < m->callchain; i++)
			u64(1000 + i);
	}
	if (type & PERF_SAMPLE_RAW) {
		u32x2(m->raw, 0);
		n_words--;
		for (unsigned i = 0; i < m->raw; i++)
			((unsigned char *)&words[n_words])[4 + i] = (unsigned char)(30 + i);
		n_words += (4 + m->raw + 7) / 8;
	}
	if (type & PERF_SAMPLE_BRANCH_STACK && m->no_branch_stack) {
		u64(0);
	} else if (type & PERF_SAMPLE_BRANCH_STACK) {
		u64(m->branches);
		if (attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			u64(15);
		for (unsigned i = 0; i < m->branches; i++)
			u64(2000 + i), u64(3000 + i), u64(1);
		if (attr.branch_sample_type & PMC_SAMPLE_BRANCH_COUNTERS && !m->no_counters)
			for (unsigned i = 0; i < m->branches; i++)
				u64(4000 + i);
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		u64(m->no_user_regs ? PERF_SAMPLE_REGS_ABI_NONE : PERF_SAMPLE_REGS_ABI_64);
		for (unsigned i = 0; i < 64 && !m->no_user_regs; i++)
			if (attr.sample_regs_user >> i & 1)
				u64(5000 + i);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		u64(m->stack);
		bytes(m->stack, 40);
		if (m->stack)
			u64(m->dyn);
	}
	if (type & PERF_SAMPLE_WEIGHT)
		u64(16);
	if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		u64((uint64_t)19 << 48 | (uint64_t)18 << 32 | 17);
	if (type & PERF_SAMPLE_DATA_SRC)
		u64(20);
	if (type & PERF_SAMPLE_TRANSACTION)
		u64(21);
	if (type & PERF_SAMPLE_REGS_INTR) {
		u64(PERF_SAMPLE_REGS_ABI_32);
		for (unsigned i = 0; i < 64; i++)
			if (attr.sample_regs_intr >> i & 1)
				u64(6000 + i);
	}
	if (type & PERF_SAMPLE_PHYS_ADDR)
		u64(22);
	if (type & PERF_SAMPLE_CGROUP)
		u64(23);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		u64(24);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		u64(25);
	if (type & PERF_SAMPLE_AUX) {
		u64(m->aux);
		bytes(m->aux, 50);
	}
	header.size = (uint16_t)(n_words * 8);
	memcpy(words, &header, 8);
}

#define HAS(bit, member, value)                                                                    \
	assert_int_equal(member, attr.sample_type &PERF_SAMPLE_##bit ? (value) : 0)

static void is_read(const struct made *m, const struct pmc_record_read *read)
{
	uint64_t format = attr.read_format;
	bool group = format & PERF_FORMAT_GROUP;

	assert_int_equal(read->n, group ? m->group : 1);
	assert_int_equal(read->enabled_ns, format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 12 : 0);
	assert_int_equal(read->running_ns, format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 13 : 0);
	for (unsigned i = 0; i < read->n; i++) {
		struct pmc_record_value value;
		unsigned at = 14 + i * each_of(format);

		assert_int_equal(pmc_record_read_value(read, i, &value), 0);
		assert_int_equal(value.value, group ? at++ : 11);
		if (!group)
			at++;
		assert_int_equal(value.id, format & PERF_FORMAT_ID ? at++ : 0);
		assert_int_equal(value.lost, format & PERF_FORMAT_LOST ? at : 0);
	}
}

static void is_branches(const struct made *m, const struct pmc_record_branches *b)
{
	bool has_idx = attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX && !m->no_branch_stack;
	bool has_counters = attr.branch_sample_type & PMC_SAMPLE_BRANCH_COUNTERS &&
			    !m->no_counters && m->branches && !m->no_branch_stack;

	assert_int_equal(b->n, m->no_branch_stack ? 0 : m->branches);
	assert_int_equal(b->hw_idx, has_idx ? 15 : UINT64_MAX);
	assert_int_equal(b->counters != NULL, has_counters);
	for (unsigned i = 0; i < b->n; i++) {
		assert_int_equal(b->entries[i].from, 2000 + i);
		assert_int_equal(b->entries[i].to, 3000 + i);
		assert_int_equal(b->entries[i].mispred, 1);
		if (has_counters)
			assert_int_equal(b->counters[i], 4000 + i);
	}
}

static void is_regs(const struct pmc_record_regs *regs, uint64_t mask, uint64_t base, bool none)
{
	assert_int_equal(regs->mask, mask);
	for (unsigned i = 0; i < 70; i++) {
		bool there = i < 64 && (mask >> i & 1) && !none;
		uint64_t value;

		assert_int_equal(pmc_record_reg(regs, i, &value), there ? 0 : -ENOENT);
		assert_int_equal(value, there ? base + i : 0);
	}
}

static void is(const struct made *m, const struct pmc_record *r)
{
	const struct pmc_record_sample *s = &r->sample;
	uint64_t type = attr.sample_type;

	assert_int_equal(r->present, type);
	HAS(IDENTIFIER, r->identifier, 1);
	HAS(IP, s->ip, 2);
	HAS(TID, r->pid, 3);
	HAS(TID, r->tid, 4);
	HAS(TIME, r->time, 5);
	HAS(ADDR, s->addr, 6);
	HAS(ID, r->id, 7);
	HAS(STREAM_ID, r->stream_id, 8);
	HAS(CPU, r->cpu, 9);
	HAS(PERIOD, s->period, 10);
	HAS(CALLCHAIN, s->n_callchain, m->callchain);
	for (unsigned i = 0; i < s->n_callchain; i++)
		assert_int_equal(s->callchain[i], 1000 + i);
	HAS(DATA_SRC, s->data_src.val, 20);
	HAS(TRANSACTION, s->transaction, 21);
	HAS(PHYS_ADDR, s->phys_addr, 22);
	HAS(CGROUP, s->cgroup, 23);
	HAS(DATA_PAGE_SIZE, s->data_page_size, 24);
	HAS(CODE_PAGE_SIZE, s->code_page_size, 25);
	if (type & PERF_SAMPLE_WEIGHT)
		assert_int_equal(s->weight.full, 16);
	HAS(WEIGHT_STRUCT, s->weight.var2_w, 18);
	HAS(WEIGHT_STRUCT, s->weight.var3_w, 19);
	if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		assert_int_equal(s->weight.var1_dw, 17);
	are_bytes(&s->raw, type & PERF_SAMPLE_RAW ? m->raw : 0, 30);
	are_bytes(&s->stack_user, type & PERF_SAMPLE_STACK_USER && m->stack ? m->dyn : 0, 40);
	are_bytes(&s->aux, type & PERF_SAMPLE_AUX ? m->aux : 0, 50);
	if (type & PERF_SAMPLE_READ)
		is_read(m, &s->read);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		is_branches(m, &s->branches);
	if (type & PERF_SAMPLE_REGS_USER)
		is_regs(&s->regs_user, attr.sample_regs_user, 5000, m->no_user_regs);
	if (type & PERF_SAMPLE_REGS_INTR)
		is_regs(&s->regs_intr, attr.sample_regs_intr, 6000, false);
}

/* Decodes as made; truncated after any word, it is an error, and nothing is read past the end. */
static void check(const struct made *m)
{
	struct pmc_record record;
	unsigned all;

	make(m);
	all = n_words;
	for (unsigned n = 1; n <= all; n++) {
		uint64_t *copy = malloc(n * 8);
		uint16_t size = (uint16_t)(n * 8);
		int error;

		memcpy(copy, words, n * 8);
		memcpy((char *)copy + offsetof(struct perf_event_header, size), &size, 2);
		error = pmc_record_decode(copy, n * 8, &attr, &record);
		if (n == all) {
			assert_int_equal(error, 0);
			is(m, &record);
		} else if (attr.branch_sample_type) {
			/* Without counters a shorter sample may be valid. */
			assert_true(error == 0 || error == -EPROTO);
		} else {
			assert_int_equal(error, -EPROTO);
		}
		free(copy);
	}
}

static const struct made plain = {
	.callchain = 3, .raw = 12, .branches = 2, .stack = 24, .dyn = 17, .aux = 16, .group = 3
};

static struct perf_event_attr attr_of(uint64_t type)
{
	return (struct perf_event_attr){ .sample_type = type,
					 .sample_id_all = 1,
					 .sample_regs_user = 0xff0fff,
					 .sample_regs_intr = 1ull << 63 | 5 };
}

static void each_field_alone(void **state)
{
	attr = attr_of(0);
	check(&plain);
	for (uint64_t bit = 1; bit < PERF_SAMPLE_MAX; bit <<= 1) {
		attr = attr_of(bit);
		check(&plain);
	}
}

static void fields_of_any_length_in_any_mixture(void **state)
{
	for (unsigned i = 0; i < 3000; i++) {
		struct made m = { .callchain = rnd() % 20,
				  .raw = 4 + rnd() % 5 * 8,
				  .branches = rnd() % 5,
				  .stack = rnd() % 4 * 8,
				  .aux = rnd() % 40,
				  .group = rnd() % 4,
				  .no_user_regs = rnd() % 4 == 0 };

		m.dyn = m.stack ? rnd() % (m.stack + 1) : 0;
		attr = attr_of((rnd() | (uint64_t)rnd() << 12) & (PERF_SAMPLE_MAX - 1));
		attr.read_format = rnd() % PERF_FORMAT_MAX;
		/* The kernel refuses both at once. */
		attr.sample_type &=
			~(uint64_t)(rnd() % 2 ? PERF_SAMPLE_WEIGHT : PERF_SAMPLE_WEIGHT_STRUCT);
		check(&m);
	}
}

static void what_the_kernel_leaves_out_of_branches_is_noticed(void **state)
{
	static const uint64_t flags[] = { PERF_SAMPLE_BRANCH_HW_INDEX, PMC_SAMPLE_BRANCH_COUNTERS,
					  PERF_SAMPLE_BRANCH_HW_INDEX |
						  PMC_SAMPLE_BRANCH_COUNTERS };

	for (unsigned i = 0; i < 3 * 16; i++) {
		struct made m = plain;

		m.branches = i / 3 % 2 ? 4 : 0;
		m.no_branch_stack = i / 6 % 2;
		m.no_counters = i / 12 % 2;
		attr = attr_of(PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_STACK_USER |
			       (i / 24 ? PERF_SAMPLE_AUX : 0));
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | flags[i % 3];
		check(&m);
	}
}

/* Replaces each length in a record by invalid ones. */
static void lengths_that_lie_are_refused(void **state)
{
	static const uint64_t fields[] = { PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_RAW,
					   PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_STACK_USER,
					   PERF_SAMPLE_AUX };
	static const uint64_t lies[] = { 100,		0x1fffffffffffffff, 0x2000000000000000,
					 UINT64_MAX,	0x0aaaaaaaaaaaaaab, 0xfffffffc,
					 UINT64_MAX - 7 };

	for (unsigned f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
		for (unsigned l = 0; l < sizeof(lies) / sizeof(*lies); l++) {
			struct pmc_record record;

			attr = attr_of(fields[f]);
			make(&plain);
			words[1] = lies[l];
			/* The size of raw data is 32 bits. */
			if (fields[f] == PERF_SAMPLE_RAW && (uint32_t)lies[l] <= plain.raw)
				continue;
			assert_int_equal(pmc_record_decode(words, n_words * 8, &attr, &record),
					 -EPROTO);
			assert_int_equal(record.present, 0);
		}
	}
	/* More bytes copied than the size of the dump of the stack. */
	attr = attr_of(PERF_SAMPLE_STACK_USER);
	make(&plain);
	words[n_words - 1] = 25;
	struct pmc_record record;
	assert_int_equal(pmc_record_decode(words, n_words * 8, &attr, &record), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_alone),
		cmocka_unit_test(fields_of_any_length_in_any_mixture),
		cmocka_unit_test(what_the_kernel_leaves_out_of_branches_is_noticed),
		cmocka_unit_test(lengths_that_lie_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
