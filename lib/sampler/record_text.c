/* SPDX-License-Identifier: MIT */
/* record_text.c - a record as one line of text, from the tables that decode it. */
#include "lib/base/utf8.h"

#include <errno.h>
#include <pmc/record.h>
#include <string.h>

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

/* ---- fields of samples and trailers -------------------------------------------------------- */

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

static void field_tid(struct pmc_out *out, const struct pmc_record *r)
{
	pmc_outf(out, " pid=%d tid=%d", (int)r->pid, (int)r->tid);
}

static void field_cpu(struct pmc_out *out, const struct pmc_record *r)
{
	put_number(out, "cpu", r->cpu);
}

static void field_callchain(struct pmc_out *out, const struct pmc_record *r)
{
	put_name(out, "callchain");
	put_words(out, r->sample.callchain, r->sample.n_callchain);
}

static void field_branch_stack(struct pmc_out *out, const struct pmc_record *r)
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
		field_##name(out, record);
#define PART(bit, name, take, put)                                                                 \
	if (fields & (bit))                                                                        \
		put_##put(out, #name, &record->sample.name);
#include "lib/sampler/record_fields.def"
}

/* ---- bodies of other records --------------------------------------------------------------- */

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

static void text_take_exec(struct pmc_out *out, const struct pmc_record *r)
{
	put_number(out, "exec", r->comm.exec);
}

static void text_take_counts(struct pmc_out *out, const struct pmc_record *r)
{
	put_read(out, "read", &r->counts.read);
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

static void text_take_ksymbol(struct pmc_out *out, const struct pmc_record *r)
{
	pmc_outf(out, " len=%u ksym_type=%u flags=%u", r->ksymbol.len, r->ksymbol.ksym_type,
		 r->ksymbol.flags);
}

static void text_take_bpf(struct pmc_out *out, const struct pmc_record *r)
{
	pmc_outf(out, " bpf_type=%u flags=%u id=%u tag=", r->bpf.bpf_type, r->bpf.flags, r->bpf.id);
	if (r->bpf.tag)
		pmc_out_hex_bytes(out, r->bpf.tag, 8);
}

static void text_take_text_poke(struct pmc_out *out, const struct pmc_record *r)
{
	pmc_outf(out, " old=%zu bytes new=%zu bytes", r->text_poke.old_bytes.size,
		 r->text_poke.new_bytes.size);
}

static void text_take_callchain(struct pmc_out *out, const struct pmc_record *r)
{
	put_name(out, "callchain");
	put_words(out, r->deferred.callchain, r->deferred.n_callchain);
}

static void put_body(struct pmc_out *out, const struct pmc_record *record)
{
	switch (record->type) {
#define U64(member) put_number(out, #member, record->member);
#define U32X2(a, b)                                                                                \
	put_number(out, #a, record->a);                                                            \
	put_number(out, #b, record->b);
#define STRING(member) put_string(out, #member, record->member);
#define CALL(function) text_##function(out, record);
#define RECORD(number, name, fields)                                                               \
	case number:                                                                               \
		fields break;
#include "lib/sampler/record_types.def"
#undef RECORD
	default:
		put_bytes(out, "body", &record->unknown);
	}
}

/* Whether the body names the thread: then the trailer's thread is left out. */
static bool has_own_thread(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_READ:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_NAMESPACES:
		return true;
	}
	return false;
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
