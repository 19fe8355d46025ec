/* SPDX-License-Identifier: MIT */
/*
 * fuzz_record.c - arbitrary bytes in a ring, walked and decoded with an arbitrary attr.
 *
 * The input starts with a struct recipe; the rest are records, as many as fit into the ring. Unless
 * the recipe has `raw`, their sizes are corrected, as otherwise little more than the first record
 * would be reached. The ring is walked twice: record by record, and through a sampler set.
 */
#include "lib/sampler/sampler.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>

struct recipe {
	uint64_t sample_type, regs_user, regs_intr;
	uint32_t branch_sample_type;
	uint8_t read_format;
	uint8_t sample_id_all;
	uint8_t ring; /* size: 64 << ring % 11 */
	uint8_t raw;
	uint16_t start, reserved[3];
};

static uint64_t sum;
static unsigned char joined[PMC_RING_RECORD_MAX] __attribute__((aligned(8)));

static void touch(const void *data, size_t size, const struct pmc_record *record)
{
	const unsigned char *at = data, *begin = record->bytes;

	FUZZ_CHECK(!size || (at >= begin && at + size <= begin + record->size));
	for (size_t i = 0; i < size; i++)
		sum += at[i];
}

static void touch_span(const struct pmc_record_span *span, const struct pmc_record *record)
{
	touch(span->data, span->size, record);
}

static void touch_text(const char *text, const struct pmc_record *record)
{
	touch(text, strlen(text) + 1, record);
}

static void touch_read(const struct pmc_record_read *read, const struct pmc_record *record)
{
	struct pmc_record_value value;

	FUZZ_CHECK(read->n <= record->size / 8);
	for (uint64_t i = 0; i < read->n; i++) {
		FUZZ_CHECK(pmc_record_read_value(read, i, &value) == 0);
		sum += value.value + value.id + value.lost;
	}
	FUZZ_CHECK(pmc_record_read_value(read, read->n, &value) == -ENOENT);
}

static void touch_regs(const struct pmc_record_regs *regs, const struct pmc_record *record)
{
	uint64_t value;

	for (unsigned i = 0; i < 66; i++) {
		bool there = i < 64 && regs->abi && (regs->mask >> i & 1);

		FUZZ_CHECK(pmc_record_reg(regs, i, &value) == (there ? 0 : -ENOENT));
		sum += value;
	}
	if (regs->values)
		touch(regs->values, 8 * (size_t)__builtin_popcountll(regs->mask), record);
}

static void touch_sample(const struct pmc_record *r)
{
	const struct pmc_record_sample *s = &r->sample;

	FUZZ_CHECK(r->present == (r->attr->sample_type & (PERF_SAMPLE_MAX - 1)));
	if (r->present & PERF_SAMPLE_READ)
		touch_read(&s->read, r);
	touch(s->callchain, 8 * s->n_callchain, r);
	touch_span(&s->raw, r);
	touch(s->branches.entries, sizeof(*s->branches.entries) * s->branches.n, r);
	if (s->branches.counters)
		touch(s->branches.counters, 8 * s->branches.n, r);
	touch_regs(&s->regs_user, r);
	touch_regs(&s->regs_intr, r);
	touch_span(&s->stack_user, r);
	touch_span(&s->aux, r);
	sum += s->weight.full + s->data_src.val;
}

static void touch_record(const struct pmc_record *r)
{
	char text[200];

	pmc_record_text(r, text, sizeof(text));
	FUZZ_CHECK(strlen(text) < sizeof(text));
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		touch_sample(r);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		touch_text(r->mmap.filename, r);
		touch_span(&r->mmap.build_id, r);
		break;
	case PERF_RECORD_COMM:
		touch_text(r->comm.comm, r);
		break;
	case PERF_RECORD_READ:
		touch_read(&r->counts.read, r);
		break;
	case PERF_RECORD_NAMESPACES:
		touch(r->namespaces.links, 16 * r->namespaces.n, r);
		break;
	case PERF_RECORD_KSYMBOL:
		touch_text(r->ksymbol.name, r);
		break;
	case PERF_RECORD_BPF_EVENT:
		touch(r->bpf.tag, 8, r);
		break;
	case PERF_RECORD_CGROUP:
		touch_text(r->cgroup.path, r);
		break;
	case PERF_RECORD_TEXT_POKE:
		touch_span(&r->text_poke.old_bytes, r);
		touch_span(&r->text_poke.new_bytes, r);
		break;
	case PMC_RECORD_CALLCHAIN_DEFERRED:
		touch(r->deferred.callchain, 8 * r->deferred.n_callchain, r);
		break;
	default:
		if (!pmc_record_name(r->type))
			touch_span(&r->unknown, r);
	}
}

/* Number of records before the ring is empty or damaged (*error). */
static uint64_t walk(struct pmc_ring *ring, const struct perf_event_attr *attr, int *error)
{
	struct perf_event_header header;
	struct pmc_record record;
	uint64_t at = ring->tail, n = 0;

	FUZZ_CHECK(pmc_ring_look(ring) == 0);
	while ((*error = pmc_ring_header(ring, at, &header)) == 0) {
		const void *bytes = pmc_ring_record(ring, at, header.size);
		/* A copy of the exact size, so that a read past the end is detected. */
		uint64_t *copy = malloc(header.size);
		int result;

		memcpy(copy, bytes, header.size);
		result = pmc_record_decode(copy, header.size, attr, &record);
		FUZZ_CHECK(result == 0 || result == -EPROTO);
		FUZZ_CHECK(record.type == header.type && record.size == header.size);
		if (!result)
			touch_record(&record);
		free(copy);
		at += header.size;
		n++;
	}
	FUZZ_CHECK(*error == -EBADMSG || at == ring->head);
	return n;
}

/* The same through a set, which orders records by time. */
static uint64_t walk_set(struct pmc_sampler *sampler, int *error)
{
	struct pmc_sampler_set *set;
	struct pmc_record record;
	uint64_t n = 0;
	int result;

	FUZZ_CHECK(pmc_sampler_set_new(&set, 0) == 0);
	FUZZ_CHECK(pmc_sampler_set_add(set, sampler) == 0);
	sampler->ended = -ENODATA;
	do {
		result = pmc_sampler_set_next(set, &record, NULL);
		n += result == 0 || result == -EPROTO;
		if (!result)
			touch_record(&record);
	} while (result == 0 || result == -EPROTO);
	*error = result;
	FUZZ_CHECK(sampler->ring.tail == sampler->at);
	pmc_sampler_set_free(set);
	return n;
}

/* Valid sizes and types. */
static void mend(unsigned char *data, size_t size)
{
	for (size_t at = 0; at + 8 <= size;) {
		struct perf_event_header header;

		memcpy(&header, data + at, 8);
		header.type %= 24;
		header.size &= 0xff8;
		if (header.size < 8)
			header.size = 8;
		if (header.size > size - at)
			header.size = (uint16_t)(size - at);
		memcpy(data + at, &header, 8);
		at += header.size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct perf_event_mmap_page page;
	struct recipe recipe;
	static unsigned char alive = 1;
	struct pmc_source source = { .detached = true };
	struct pmc_sampler *sampler;
	struct pmc_ring ring;
	unsigned char *records, *bytes;
	uint64_t room, n;
	int error, set_error;

	if (size < sizeof(recipe))
		return 0;
	memcpy(&recipe, data, sizeof(recipe));
	data += sizeof(recipe);
	room = 64ull << recipe.ring % 11;
	size = (size - sizeof(recipe)) & ~(size_t)7;
	size = size > room ? room : size;
	records = malloc(size + 8);
	memcpy(records, data, size);
	if (!recipe.raw)
		mend(records, size);

	source.attr.sample_type = recipe.sample_type;
	source.attr.sample_regs_user = recipe.regs_user;
	source.attr.sample_regs_intr = recipe.regs_intr;
	source.attr.branch_sample_type = recipe.branch_sample_type;
	source.attr.read_format = recipe.read_format;
	source.attr.sample_id_all = recipe.sample_id_all & 1;
	page.data_tail = recipe.start & ~7u;
	page.data_head = page.data_tail + size;
	bytes = aligned_alloc(8, room);
	for (size_t i = 0; i < size; i++)
		bytes[(page.data_tail + i) & (room - 1)] = records[i];

	FUZZ_CHECK(pmc_ring_init(&ring, &page, bytes, room, joined) == 0);
	n = walk(&ring, &source.attr, &error);
	source.attr.sample_type |= PERF_SAMPLE_TIME;
	source.attr.sample_id_all = 1;
	sampler = calloc(1, sizeof(*sampler));
	sampler->first = &source;
	sampler->alive = &alive;
	FUZZ_CHECK(pmc_ring_init(&sampler->ring, &page, bytes, room, joined) == 0);
	sampler->at = sampler->ring.tail;
	FUZZ_CHECK(walk_set(sampler, &set_error) == n);
	FUZZ_CHECK(set_error == (error == -EAGAIN ? -ENODATA : -EBADMSG));
	sampler->first = NULL;
	sampler->alive = NULL;
	pmc_sampler_close(sampler);
	free(bytes);
	free(records);
	return 0;
}
