/* SPDX-License-Identifier: MIT */
/* record_body.c - decoding the bodies of all records but samples. */
#include "agent/core/api/sampler/record.h"

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

static void take_mapping(struct record_cursor *c, struct pmc_record_mmap *m)
{
	record_take_u32x2(c, &m->pid, &m->tid);
	m->addr = record_take_u64(c);
	m->len = record_take_u64(c);
	m->file_offset = record_take_u64(c);
}

static void body_mmap(struct record_cursor *c, struct pmc_record *record)
{
	take_mapping(c, &record->mmap);
	record->mmap.filename = take_string(c);
}

static void body_mmap2(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_mmap *m = &record->mmap;
	const uint64_t *file;

	take_mapping(c, m);
	file = record_take(c, 3);
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
	record_take_u32x2(c, &m->prot, &m->flags);
	m->filename = take_string(c);
}

static void body_lost(struct record_cursor *c, struct pmc_record *record)
{
	record->lost.id = record_take_u64(c);
	record->lost.lost = record_take_u64(c);
}

static void body_lost_samples(struct record_cursor *c, struct pmc_record *record)
{
	record->lost.lost = record_take_u64(c);
}

static void body_comm(struct record_cursor *c, struct pmc_record *record)
{
	record_take_u32x2(c, &record->comm.pid, &record->comm.tid);
	record->comm.comm = take_string(c);
	record->comm.exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void body_task(struct record_cursor *c, struct pmc_record *record)
{
	record_take_u32x2(c, &record->task.pid, &record->task.ppid);
	record_take_u32x2(c, &record->task.tid, &record->task.ptid);
	record->task.time = record_take_u64(c);
}

static void body_throttle(struct record_cursor *c, struct pmc_record *record)
{
	record->throttle.time = record_take_u64(c);
	record->throttle.id = record_take_u64(c);
	record->throttle.stream_id = record_take_u64(c);
}

static void body_read(struct record_cursor *c, struct pmc_record *record)
{
	record_take_u32x2(c, &record->counts.pid, &record->counts.tid);
	record_take_read(c, record->attr->read_format, &record->counts.read);
}

static void body_aux(struct record_cursor *c, struct pmc_record *record)
{
	record->aux.offset = record_take_u64(c);
	record->aux.size = record_take_u64(c);
	record->aux.flags = record_take_u64(c);
}

static void body_itrace(struct record_cursor *c, struct pmc_record *record)
{
	record_take_u32x2(c, &record->itrace.pid, &record->itrace.tid);
}

static void body_switch(struct record_cursor *c, struct pmc_record *record)
{
	(void)c;
	record->context_switch.out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
	record->context_switch.preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
}

static void body_switch_cpu_wide(struct record_cursor *c, struct pmc_record *record)
{
	body_switch(c, record);
	record_take_u32x2(c, &record->context_switch.other_pid, &record->context_switch.other_tid);
}

static void body_namespaces(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_namespaces *ns = &record->namespaces;
	uint64_t words = sizeof(struct perf_ns_link_info) / 8;

	record_take_u32x2(c, &ns->pid, &ns->tid);
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

static void body_ksymbol(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_ksymbol *k = &record->ksymbol;
	uint32_t type_flags;

	k->addr = record_take_u64(c);
	record_take_u32x2(c, &k->len, &type_flags);
	split(type_flags, &k->ksym_type, &k->flags);
	k->name = take_string(c);
}

static void body_bpf(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_bpf *b = &record->bpf;
	uint32_t type_flags;

	record_take_u32x2(c, &type_flags, &b->id);
	split(type_flags, &b->bpf_type, &b->flags);
	b->tag = (const unsigned char *)record_take(c, 1);
}

static void body_cgroup(struct record_cursor *c, struct pmc_record *record)
{
	record->cgroup.id = record_take_u64(c);
	record->cgroup.path = take_string(c);
}

static void body_text_poke(struct record_cursor *c, struct pmc_record *record)
{
	struct pmc_record_text_poke *t = &record->text_poke;
	const unsigned char *bytes;
	uint16_t lens[2] = { 0, 0 };

	t->addr = record_take_u64(c);
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

static void body_hw_id(struct record_cursor *c, struct pmc_record *record)
{
	record->hw_id.hw_id = record_take_u64(c);
}

static void body_deferred(struct record_cursor *c, struct pmc_record *record)
{
	record->deferred.cookie = record_take_u64(c);
	record->deferred.n_callchain = record_take_u64(c);
	record->deferred.callchain = record_take(c, record->deferred.n_callchain);
}

/* Never called: record.c decodes samples by their fields. */
static void body_sample(struct record_cursor *c, struct pmc_record *record)
{
	(void)record;
	c->bad = true;
}

static void body_unknown(struct pmc_record *record)
{
	record->unknown = (struct pmc_record_span){
		.data = (const unsigned char *)record->bytes + sizeof(struct perf_event_header),
		.size = record->size - sizeof(struct perf_event_header),
	};
}

void pmc_record_decode_body(struct record_cursor *c, struct pmc_record *record)
{
	switch (record->type) {
#define RECORD(number, name, decoder)                                                              \
	case number:                                                                               \
		body_##decoder(c, record);                                                         \
		break;
#include "agent/core/api/sampler/record_types.def"
#undef RECORD
	default:
		body_unknown(record);
	}
}
