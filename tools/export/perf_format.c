/* SPDX-License-Identifier: MIT */
/* perf_format.c - records of perf.data files, in the byte order of this machine. */
#include "tools/export/perf_format.h"
#include "lib/base/utf8.h"

void perf_record_u32s(struct perf_record *record, uint32_t a, uint32_t b)
{
	const uint32_t pair[] = { a, b };

	perf_record_raw(record, pair, sizeof(pair));
}

void perf_record_begin(struct perf_record *record, unsigned type, unsigned misc)
{
	const uint32_t type_field = type;
	const uint16_t misc_field = (uint16_t)misc;

	record->words = 1;
	memcpy(record->word, &type_field, sizeof(type_field));
	memcpy((char *)record->word + 4, &misc_field, sizeof(misc_field));
}

void perf_record_raw(struct perf_record *record, const void *bytes, size_t n)
{
	const unsigned words = (unsigned)((n + 7) / 8);

	record->word[record->words + words - 1] = 0;
	memcpy(&record->word[record->words], bytes, n);
	record->words += words;
}

void perf_record_text(struct perf_record *record, const char *text, size_t len, size_t cap)
{
	char safe[4096];
	struct pmc_out out;

	pmc_out_to_mem(&out, safe, cap);
	pmc_utf8_safe(&out, text, len, 0);
	perf_record_raw(record, safe, out.len + 1);
}

void perf_record_who(struct perf_record *record, const struct perf_who *who, uint64_t id)
{
	perf_record_u32s(record, who->pid, who->tid);
	perf_record_u64(record, who->time_ns);
	perf_record_u64(record, id);
}

void perf_record_end(struct perf_record *record, struct perf_writer *writer)
{
	const uint16_t size = (uint16_t)(record->words * 8);

	memcpy((char *)record->word + 6, &size, sizeof(size));
	perf_bytes(writer, record->word, size);
}
