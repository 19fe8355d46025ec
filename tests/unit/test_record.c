/* SPDX-License-Identifier: MIT */
/* test_record.c - made-up records of every type and with every field, whole and truncated. */
#include "tests/unit/unit.h"

#include <pmc/record.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 4096

static uint64_t words[MAX_WORDS];
static unsigned n_words;
static struct perf_event_attr attr;

static void start(uint32_t type, uint16_t misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };

	memset(words, 0xaa, sizeof(words));
	memcpy(words, &header, 8);
	n_words = 1;
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

static void text(const char *s)
{
	size_t len = strlen(s) + 1;

	memset(&words[n_words], 0, (len + 7) / 8 * 8);
	memcpy(&words[n_words], s, len);
	n_words += (unsigned)(len + 7) / 8;
}

static void set_size(unsigned in_words)
{
	uint16_t size = (uint16_t)(in_words * 8);

	memcpy((char *)words + offsetof(struct perf_event_header, size), &size, 2);
}

#define TRAILER                                                                                    \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static void trailer(void)
{
	if (!attr.sample_id_all)
		return;
	if (attr.sample_type & PERF_SAMPLE_TID)
		u32x2(901, 902);
	if (attr.sample_type & PERF_SAMPLE_TIME)
		u64(903);
	if (attr.sample_type & PERF_SAMPLE_ID)
		u64(904);
	if (attr.sample_type & PERF_SAMPLE_STREAM_ID)
		u64(905);
	if (attr.sample_type & PERF_SAMPLE_CPU)
		u32x2(906, 0);
	if (attr.sample_type & PERF_SAMPLE_IDENTIFIER)
		u64(904);
}

static void has_trailer(const struct pmc_record *r)
{
	assert_int_equal(r->present, attr.sample_id_all ? attr.sample_type & TRAILER : 0);
	assert_int_equal(r->pid, r->present & PERF_SAMPLE_TID ? 901 : 0);
	assert_int_equal(r->tid, r->present & PERF_SAMPLE_TID ? 902 : 0);
	assert_int_equal(r->time, r->present & PERF_SAMPLE_TIME ? 903 : 0);
	assert_int_equal(r->id, r->present & PERF_SAMPLE_ID ? 904 : 0);
	assert_int_equal(r->stream_id, r->present & PERF_SAMPLE_STREAM_ID ? 905 : 0);
	assert_int_equal(r->cpu, r->present & PERF_SAMPLE_CPU ? 906 : 0);
	assert_int_equal(r->identifier, r->present & PERF_SAMPLE_IDENTIFIER ? 904 : 0);
}

/* Decodes a copy of the exact size, so that a sanitizer detects a read past the end. */
static uint64_t *copy;
static int decode(struct pmc_record *record)
{
	free(copy);
	copy = malloc(n_words * 8);
	memcpy(copy, words, n_words * 8);
	return pmc_record_decode(copy, n_words * 8, &attr, record);
}

/* Decodes the record; each truncation of it is an error. */
static void whole_from(struct pmc_record *record, unsigned shortest)
{
	unsigned all = n_words;

	for (n_words = 1; n_words < all; n_words++) {
		set_size(n_words);
		assert_int_equal(decode(record), n_words < shortest ? -EPROTO : 0);
		assert_int_equal(record->size, n_words * 8);
		if (n_words < shortest)
			assert_int_equal(record->present, 0);
		/* A size beyond the end of the data. */
		set_size(n_words + 1);
		assert_int_equal(decode(record), -EBADMSG);
	}
	set_size(all);
	assert_int_equal(decode(record), 0);
	assert_int_equal(record->size, all * 8);
	assert_ptr_equal(record->bytes, copy);
	assert_ptr_equal(record->attr, &attr);
	assert_null(record->counter);
}

static void whole(struct pmc_record *record)
{
	whole_from(record, n_words);
}

static void every_type_with_and_without_trailer(struct pmc_record *r)
{
	start(PERF_RECORD_MMAP, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
	u32x2(1, 2), u64(3), u64(4), u64(5), text("/usr/lib/libc.so.6"), trailer();
	whole(r);
	assert_int_equal(r->type, PERF_RECORD_MMAP);
	assert_int_equal(r->misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
	assert_int_equal(r->mmap.pid, 1);
	assert_int_equal(r->mmap.tid, 2);
	assert_int_equal(r->mmap.addr, 3);
	assert_int_equal(r->mmap.len, 4);
	assert_int_equal(r->mmap.file_offset, 5);
	assert_string_equal(r->mmap.filename, "/usr/lib/libc.so.6");
	has_trailer(r);

	start(PERF_RECORD_MMAP2, 0);
	u32x2(1, 2), u64(3), u64(4), u64(5), u32x2(6, 7), u64(8), u64(9), u32x2(10, 11);
	text("[vdso]"), trailer();
	whole(r);
	assert_int_equal(r->mmap.file_offset, 5);
	assert_int_equal(r->mmap.maj, 6);
	assert_int_equal(r->mmap.min, 7);
	assert_int_equal(r->mmap.ino, 8);
	assert_int_equal(r->mmap.ino_generation, 9);
	assert_int_equal(r->mmap.prot, 10);
	assert_int_equal(r->mmap.flags, 11);
	assert_int_equal(r->mmap.build_id.size, 0);
	assert_string_equal(r->mmap.filename, "[vdso]");
	has_trailer(r);

	start(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	u32x2(1, 2), u64(3), u64(4), u64(5);
	memcpy(&words[n_words], "\x10...0123456789abcdefghij", 24);
	n_words += 3;
	u32x2(10, 11), text("x"), trailer();
	whole(r);
	assert_int_equal(r->mmap.build_id.size, 16);
	assert_memory_equal(r->mmap.build_id.data, "0123456789abcdef", 16);
	assert_int_equal(r->mmap.ino, 0);
	assert_int_equal(r->mmap.flags, 11);
	((unsigned char *)words)[40] = 21;
	assert_int_equal(decode(r), -EPROTO);

	start(PERF_RECORD_LOST, 0);
	u64(1), u64(2), trailer();
	whole(r);
	assert_int_equal(r->lost.id, 1);
	assert_int_equal(r->lost.lost, 2);
	has_trailer(r);

	start(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	u32x2(1, 2), text("fifteen letters"), trailer();
	whole(r);
	assert_int_equal(r->comm.pid, 1);
	assert_int_equal(r->comm.tid, 2);
	assert_string_equal(r->comm.comm, "fifteen letters");
	assert_true(r->comm.exec);
	has_trailer(r);

	for (uint32_t type = PERF_RECORD_EXIT; type <= PERF_RECORD_FORK; type += 3) {
		start(type, 0);
		u32x2(1, 2), u32x2(3, 4), u64(5), trailer();
		whole(r);
		assert_int_equal(r->task.pid, 1);
		assert_int_equal(r->task.ppid, 2);
		assert_int_equal(r->task.tid, 3);
		assert_int_equal(r->task.ptid, 4);
		assert_int_equal(r->task.time, 5);
		has_trailer(r);
	}

	for (uint32_t type = PERF_RECORD_THROTTLE; type <= PERF_RECORD_UNTHROTTLE; type++) {
		start(type, 0);
		u64(1), u64(2), u64(3), trailer();
		whole(r);
		assert_int_equal(r->throttle.time, 1);
		assert_int_equal(r->throttle.id, 2);
		assert_int_equal(r->throttle.stream_id, 3);
		has_trailer(r);
	}

	start(PERF_RECORD_AUX, 0);
	u64(1), u64(2), u64(PERF_AUX_FLAG_TRUNCATED), trailer();
	whole(r);
	assert_int_equal(r->aux.offset, 1);
	assert_int_equal(r->aux.size, 2);
	assert_int_equal(r->aux.flags, PERF_AUX_FLAG_TRUNCATED);
	has_trailer(r);

	start(PERF_RECORD_ITRACE_START, 0);
	u32x2(1, 2), trailer();
	whole(r);
	assert_int_equal(r->itrace.pid, 1);
	assert_int_equal(r->itrace.tid, 2);
	has_trailer(r);

	start(PERF_RECORD_LOST_SAMPLES, 0);
	u64(7), trailer();
	whole(r);
	assert_int_equal(r->lost.lost, 7);
	assert_int_equal(r->lost.id, 0);
	has_trailer(r);

	start(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT);
	trailer();
	whole(r);
	assert_true(r->context_switch.out);
	assert_false(r->context_switch.preempted);
	has_trailer(r);

	start(PERF_RECORD_SWITCH_CPU_WIDE,
	      PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	u32x2(1, 2), trailer();
	whole(r);
	assert_true(r->context_switch.out && r->context_switch.preempted);
	assert_int_equal(r->context_switch.other_pid, 1);
	assert_int_equal(r->context_switch.other_tid, 2);
	has_trailer(r);

	start(PERF_RECORD_NAMESPACES, 0);
	u32x2(1, 2), u64(2), u64(3), u64(4), u64(5), u64(6), trailer();
	whole(r);
	assert_int_equal(r->namespaces.pid, 1);
	assert_int_equal(r->namespaces.n, 2);
	assert_int_equal(r->namespaces.links[1].dev, 5);
	assert_int_equal(r->namespaces.links[1].ino, 6);
	has_trailer(r);
	words[2] = UINT64_MAX / 16 + 2; /* 16 bytes each overflows */
	assert_int_equal(decode(r), -EPROTO);

	start(PERF_RECORD_KSYMBOL, 0);
	u64(1);
	u32x2(2,
	      (uint32_t)PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER << 16 | PERF_RECORD_KSYMBOL_TYPE_OOL);
	text("bpf_prog_1"), trailer();
	whole(r);
	assert_int_equal(r->ksymbol.addr, 1);
	assert_int_equal(r->ksymbol.len, 2);
	assert_int_equal(r->ksymbol.ksym_type, PERF_RECORD_KSYMBOL_TYPE_OOL);
	assert_int_equal(r->ksymbol.flags, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	assert_string_equal(r->ksymbol.name, "bpf_prog_1");
	has_trailer(r);

	start(PERF_RECORD_BPF_EVENT, 0);
	u32x2(5u << 16 | PERF_BPF_EVENT_PROG_LOAD, 77), u64(0x0807060504030201), trailer();
	whole(r);
	assert_int_equal(r->bpf.bpf_type, PERF_BPF_EVENT_PROG_LOAD);
	assert_int_equal(r->bpf.flags, 5);
	assert_int_equal(r->bpf.id, 77);
	assert_memory_equal(r->bpf.tag, "\1\2\3\4\5\6\7\10", 8);
	has_trailer(r);

	start(PERF_RECORD_CGROUP, 0);
	u64(9), text("/user.slice"), trailer();
	whole(r);
	assert_int_equal(r->cgroup.id, 9);
	assert_string_equal(r->cgroup.path, "/user.slice");
	has_trailer(r);

	start(PERF_RECORD_TEXT_POKE, 0);
	u64(1);
	memcpy(&words[n_words], "\5\0\6\0oldbyNEWBYT\0", 16);
	n_words += 2, trailer();
	whole(r);
	assert_int_equal(r->text_poke.addr, 1);
	assert_int_equal(r->text_poke.old_bytes.size, 5);
	assert_memory_equal(r->text_poke.old_bytes.data, "oldby", 5);
	assert_int_equal(r->text_poke.new_bytes.size, 6);
	assert_memory_equal(r->text_poke.new_bytes.data, "NEWBYT", 6);
	has_trailer(r);

	start(PMC_RECORD_AUX_OUTPUT_HW_ID, 0);
	u64(33), trailer();
	whole(r);
	assert_int_equal(r->hw_id.hw_id, 33);
	has_trailer(r);

	start(PMC_RECORD_CALLCHAIN_DEFERRED, 0);
	u64(44), u64(2), u64(5), u64(6), trailer();
	whole(r);
	assert_int_equal(r->deferred.cookie, 44);
	assert_int_equal(r->deferred.n_callchain, 2);
	assert_int_equal(r->deferred.callchain[1], 6);
	has_trailer(r);

	/* A type of a later kernel: its bytes, and its trailer if it has one. */
	start(40, 3);
	u64(1), u64(2), u64(3), trailer();
	whole_from(r, 1);
	assert_int_equal(r->unknown.size, (n_words - 1) * 8);
	assert_memory_equal(r->unknown.data, words + 1, (n_words - 1) * 8);
	has_trailer(r);
	start(41, 0);
	whole(r);
	assert_int_equal(r->unknown.size, 0);
	assert_int_equal(r->present, 0);
}

static void every_type_decodes(void **state)
{
	static const uint64_t types[] = { 0,
					  TRAILER,
					  PERF_SAMPLE_TIME,
					  PERF_SAMPLE_TID,
					  PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU,
					  TRAILER | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ADDR };

	for (unsigned i = 0; i < 2 * sizeof(types) / sizeof(*types); i++) {
		struct pmc_record record;

		attr = (struct perf_event_attr){ .sample_type = types[i / 2],
						 .sample_id_all = i % 2 };
		every_type_with_and_without_trailer(&record);
	}
}

static void what_a_newer_kernel_adds_to_a_body_is_skipped(void **state)
{
	struct pmc_record r;

	attr = (struct perf_event_attr){ .sample_type = TRAILER, .sample_id_all = 1 };
	start(PERF_RECORD_LOST, 0);
	u64(1), u64(2), u64(0xdead), trailer();
	set_size(n_words);
	assert_int_equal(decode(&r), 0);
	assert_int_equal(r.lost.lost, 2);
	has_trailer(&r);
}

static void a_string_without_an_end_is_refused(void **state)
{
	struct pmc_record r;

	attr = (struct perf_event_attr){ .sample_type = PERF_SAMPLE_TIME, .sample_id_all = 1 };
	start(PERF_RECORD_COMM, 0);
	u32x2(1, 2), u64(0x4141414141414141), trailer();
	set_size(n_words);
	/* A string needs its own terminator: zeros in the trailer do not count. */
	assert_int_equal(decode(&r), -EPROTO);
}

static void reads_decode_in_every_format(void **state)
{
	for (unsigned format = 0; format < PERF_FORMAT_MAX; format++) {
		unsigned n = format & PERF_FORMAT_GROUP ? 3 : 1;
		struct pmc_record_value value;
		struct pmc_record r;

		attr = (struct perf_event_attr){ .read_format = format,
						 .sample_type = PERF_SAMPLE_TID,
						 .sample_id_all = 1 };
		start(PERF_RECORD_READ, 0);
		u32x2(1, 2);
		u64(format & PERF_FORMAT_GROUP ? n : 100);
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			u64(50);
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			u64(40);
		for (unsigned i = 0; i < n; i++) {
			if (format & PERF_FORMAT_GROUP)
				u64(100 + i);
			if (format & PERF_FORMAT_ID)
				u64(200 + i);
			if (format & PERF_FORMAT_LOST)
				u64(300 + i);
		}
		trailer();
		whole(&r);
		assert_int_equal(r.counts.tid, 2);
		assert_int_equal(r.counts.read.n, n);
		assert_int_equal(r.counts.read.enabled_ns,
				 format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 50 : 0);
		assert_int_equal(r.counts.read.running_ns,
				 format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 40 : 0);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(pmc_record_read_value(&r.counts.read, i, &value), 0);
			assert_int_equal(value.value, 100 + i);
			assert_int_equal(value.id, format & PERF_FORMAT_ID ? 200 + i : 0);
			assert_int_equal(value.lost, format & PERF_FORMAT_LOST ? 300 + i : 0);
		}
		assert_int_equal(pmc_record_read_value(&r.counts.read, n, &value), -ENOENT);
		has_trailer(&r);
		if (format & PERF_FORMAT_GROUP) {
			words[2] = UINT64_MAX;
			assert_int_equal(decode(&r), -EPROTO);
		}
	}
}

static void names_are_those_of_the_tables(void **state)
{
	for (uint32_t type = 1; type <= PMC_RECORD_CALLCHAIN_DEFERRED; type++)
		assert_non_null(pmc_record_name(type));
	assert_null(pmc_record_name(0));
	assert_null(pmc_record_name(PMC_RECORD_CALLCHAIN_DEFERRED + 1));
	assert_string_equal(pmc_record_name(PERF_RECORD_SWITCH_CPU_WIDE), "switch_cpu_wide");
	for (uint64_t bit = 1; bit < PERF_SAMPLE_MAX; bit <<= 1)
		assert_non_null(pmc_record_field_name(bit));
	assert_null(pmc_record_field_name(PERF_SAMPLE_MAX));
	assert_null(pmc_record_field_name(0));
	assert_string_equal(pmc_record_field_name(PERF_SAMPLE_BRANCH_STACK), "branch_stack");
}

static void bytes_that_hold_no_record_are_refused(void **state)
{
	static const uint16_t sizes[] = { 0, 1, 7, 9, 12, 40 };
	struct pmc_record r;

	start(PERF_RECORD_LOST, 0);
	u64(1), u64(2);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memcpy((char *)words + offsetof(struct perf_event_header, size), &sizes[i], 2);
		assert_int_equal(pmc_record_decode(words, 24, &attr, &r), -EBADMSG);
	}
	set_size(n_words);
	assert_int_equal(pmc_record_decode(words, 7, &attr, &r), -EBADMSG);
	assert_int_equal(pmc_record_decode((char *)words + 4, 24, &attr, &r), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_decodes),
		cmocka_unit_test(what_a_newer_kernel_adds_to_a_body_is_skipped),
		cmocka_unit_test(a_string_without_an_end_is_refused),
		cmocka_unit_test(reads_decode_in_every_format),
		cmocka_unit_test(names_are_those_of_the_tables),
		cmocka_unit_test(bytes_that_hold_no_record_are_refused),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(copy);
	return failed;
}
