/* SPDX-License-Identifier: MIT */
/* record_body.c - the bodies of all record types but samples. */
#include "agent/core/api/record.h"

#include <string.h>

/* A string that fills what is left, its end padded with NULs. */
static const char *take_string(struct pmc_cursor *c)
{
	const char *text = (const char *)c->at;
	size_t room = pmc_cursor_left(c) * 8;

	if (c->bad || !room || !memchr(text, 0, room)) {
		c->bad = true;
		return NULL;
	}
	c->at = c->end;
	return text;
}

static void body_mmap(struct pmc_cursor *c, struct pmc_record *record)
{
	struct pmc_record_mmap *m = &record->mmap;

	pmc_cursor_u32x2(c, &m->pid, &m->tid);
	m->addr = pmc_cursor_u64(c);
	m->len = pmc_cursor_u64(c);
	m->file_offset = pmc_cursor_u64(c);
	m->filename = take_string(c);
}

static void body_mmap2(struct pmc_cursor *c, struct pmc_record *record)
{
	struct pmc_record_mmap *m = &record->mmap;
	const uint64_t *file;

	pmc_cursor_u32x2(c, &m->pid, &m->tid);
	m->addr = pmc_cursor_u64(c);
	m->len = pmc_cursor_u64(c);
	m->file_offset = pmc_cursor_u64(c);
	file = pmc_cursor_take(c, 3);
	if (file && (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		const unsigned char *bytes = (const unsigned char *)file;

		/* u8 size, three bytes unused, 20 of room. */
		if (bytes[0] > 20)
			c->bad = true;
		m->build_id = (struct pmc_record_span){ .data = bytes + 4, .size = bytes[0] };
	} else if (file) {
		struct pmc_cursor ids = { .at = file, .end = file + 3 };

		pmc_cursor_u32x2(&ids, &m->maj, &m->min);
		m->ino = pmc_cursor_u64(&ids);
		m->ino_generation = pmc_cursor_u64(&ids);
	}
	pmc_cursor_u32x2(c, &m->prot, &m->flags);
	m->filename = take_string(c);
}

static void body_lost(struct pmc_cursor *c, struct pmc_record *record)
{
	record->lost.id = pmc_cursor_u64(c);
	record->lost.lost = pmc_cursor_u64(c);
}

static void body_lost_samples(struct pmc_cursor *c, struct pmc_record *record)
{
	record->lost.lost = pmc_cursor_u64(c);
}

static void body_comm(struct pmc_cursor *c, struct pmc_record *record)
{
	pmc_cursor_u32x2(c, &record->comm.pid, &record->comm.tid);
	record->comm.comm = take_string(c);
	record->comm.exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void body_task(struct pmc_cursor *c, struct pmc_record *record)
{
	pmc_cursor_u32x2(c, &record->task.pid, &record->task.ppid);
	pmc_cursor_u32x2(c, &record->task.tid, &record->task.ptid);
	record->task.time = pmc_cursor_u64(c);
}

static void body_throttle(struct pmc_cursor *c, struct pmc_record *record)
{
	record->throttle.time = pmc_cursor_u64(c);
	record->throttle.id = pmc_cursor_u64(c);
	record->throttle.stream_id = pmc_cursor_u64(c);
}

static void body_read(struct pmc_cursor *c, struct pmc_record *record)
{
	pmc_cursor_u32x2(c, &record->counts.pid, &record->counts.tid);
	pmc_cursor_read(c, record->attr->read_format, &record->counts.read);
}

static void body_aux(struct pmc_cursor *c, struct pmc_record *record)
{
	record->aux.offset = pmc_cursor_u64(c);
	record->aux.size = pmc_cursor_u64(c);
	record->aux.flags = pmc_cursor_u64(c);
}

static void body_itrace(struct pmc_cursor *c, struct pmc_record *record)
{
	pmc_cursor_u32x2(c, &record->itrace.pid, &record->itrace.tid);
}

static void body_switch(struct pmc_cursor *c, struct pmc_record *record)
{
	(void)c;
	record->context_switch.out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
	record->context_switch.preempted = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
}

static void body_switch_cpu_wide(struct pmc_cursor *c, struct pmc_record *record)
{
	body_switch(c, record);
	pmc_cursor_u32x2(c, &record->context_switch.other_pid, &record->context_switch.other_tid);
}

static void body_namespaces(struct pmc_cursor *c, struct pmc_record *record)
{
	struct pmc_record_namespaces *ns = &record->namespaces;
	uint64_t words = sizeof(struct perf_ns_link_info) / 8;

	pmc_cursor_u32x2(c, &ns->pid, &ns->tid);
	ns->n = pmc_cursor_u64(c);
	if (ns->n > pmc_cursor_left(c) / words)
		c->bad = true;
	ns->links = (const struct perf_ns_link_info *)pmc_cursor_take(c, ns->n * words);
}

static void body_ksymbol(struct pmc_cursor *c, struct pmc_record *record)
{
	struct pmc_record_ksymbol *k = &record->ksymbol;
	uint32_t type_flags;
	uint16_t halves[2];

	k->addr = pmc_cursor_u64(c);
	pmc_cursor_u32x2(c, &k->len, &type_flags);
	memcpy(halves, &type_flags, sizeof(halves));
	k->ksym_type = halves[0];
	k->flags = halves[1];
	k->name = take_string(c);
}

static void body_bpf(struct pmc_cursor *c, struct pmc_record *record)
{
	struct pmc_record_bpf *b = &record->bpf;
	uint32_t type_flags;
	uint16_t halves[2];

	pmc_cursor_u32x2(c, &type_flags, &b->id);
	memcpy(halves, &type_flags, sizeof(halves));
	b->bpf_type = halves[0];
	b->flags = halves[1];
	b->tag = (const unsigned char *)pmc_cursor_take(c, 1);
}

static void body_cgroup(struct pmc_cursor *c, struct pmc_record *record)
{
	record->cgroup.id = pmc_cursor_u64(c);
	record->cgroup.path = take_string(c);
}

static void body_text_poke(struct pmc_cursor *c, struct pmc_record *record)
{
	struct pmc_record_text_poke *t = &record->text_poke;
	const unsigned char *bytes;
	uint16_t lens[2] = { 0, 0 };

	t->addr = pmc_cursor_u64(c);
	bytes = (const unsigned char *)c->at;
	/* Two lengths, then the bytes at once, not at a word of their own. */
	if (!pmc_cursor_take(c, 1))
		return;
	memcpy(lens, bytes, sizeof(lens));
	if (lens[0] + lens[1] > 4)
		pmc_cursor_take(c, (uint64_t)(4 + lens[0] + lens[1] + 7) / 8 - 1);
	t->old_bytes = (struct pmc_record_span){ .data = bytes + 4, .size = lens[0] };
	t->new_bytes = (struct pmc_record_span){ .data = bytes + 4 + lens[0], .size = lens[1] };
}

static void body_hw_id(struct pmc_cursor *c, struct pmc_record *record)
{
	record->hw_id.hw_id = pmc_cursor_u64(c);
}

static void body_deferred(struct pmc_cursor *c, struct pmc_record *record)
{
	record->deferred.cookie = pmc_cursor_u64(c);
	record->deferred.n_callchain = pmc_cursor_u64(c);
	record->deferred.callchain = pmc_cursor_take(c, record->deferred.n_callchain);
}

/* Samples have no body of this kind; record.c sends them elsewhere. */
static void body_sample(struct pmc_cursor *c, struct pmc_record *record)
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

void pmc_record_decode_body(struct pmc_cursor *c, struct pmc_record *record)
{
	switch (record->type) {
#define RECORD(number, name, decoder)                                                              \
	case number:                                                                               \
		body_##decoder(c, record);                                                         \
		break;
#include "agent/core/api/record_types.def"
#undef RECORD
	default:
		body_unknown(record);
	}
}
