/* SPDX-License-Identifier: MIT */
/* test_tracepoint.c - pmc/tracepoint.h: made-up formats and records, and those of this kernel. */
#include "tests/unit/counter_try.h"

#include <dirent.h>
#include <pmc/sampler.h>
#include <pmc/tracepoint.h>

static const char made_format[] =
	"name: made\n"
	"ID: 372\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:u8 flags;\toffset:28;\tsize:1;\tsigned:0;\n"
	"\tfield:s16 small;\toffset:30;\tsize:2;\tsigned:1;\n"
	"\tfield:u64 big;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * pointer;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] text;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc u16[] list;\toffset:52;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 fixed[2];\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:struct thing odd;\toffset:64;\tsize:3;\tsigned:0;\n"
	"\tfield:char label[TASK_COMM_LEN];\toffset:67;\tsize:4;\tsigned:0;\n"
	"\n"
	"print fmt: \"comm=%s\", REC->comm\n";

/* The raw data of made_format: 71 bytes, then the dynamic fields. */
static struct {
	unsigned char bytes[96];
} data;

static void put(size_t at, const void *from, size_t size)
{
	memcpy(data.bytes + at, from, size);
}

#define PUT(at, type, value) put(at, &(type){ value }, sizeof(type))

static struct pmc_record record_of(size_t size)
{
	struct pmc_record record = { .type = PERF_RECORD_SAMPLE, .present = PERF_SAMPLE_RAW };

	memset(&data, 0, sizeof(data));
	PUT(0, uint16_t, 372);
	PUT(4, int32_t, 12);
	put(8, "exactly 16 bytes", 16);
	PUT(24, int32_t, -7);
	PUT(28, uint8_t, 200);
	PUT(30, int16_t, -2);
	PUT(32, uint64_t, UINT64_MAX - 1);
	PUT(40, uint64_t, 0xffff888000000010);
	PUT(48, uint32_t, 6u << 16 | 72);
	PUT(52, uint32_t, 4u << 16 | (78 - 56));
	PUT(56, uint32_t, 1);
	PUT(60, uint32_t, 4000000000u);
	put(64, "\x00\xff\x12", 3);
	put(67, "ab", 3);
	put(72, "a\n\x1b\\z", 6);
	PUT(78, uint16_t, 5);
	PUT(80, uint16_t, 65535);
	record.sample.raw = (struct pmc_record_span){ .data = data.bytes, .size = size };
	return record;
}

static struct pmc_tracepoint *made(void)
{
	struct pmc_tracepoint *tracepoint;
	struct pmc_failure why;

	if (pmc_tracepoint_parse(&tracepoint, made_format, sizeof(made_format) - 1, &why))
		fail_msg("%s: %s", why.what, why.advice);
	return tracepoint;
}

static void the_format_gives_names_types_and_kinds(void **state)
{
	static const struct {
		const char *name, *type;
		unsigned kind, element_bytes;
		bool is_signed, is_dynamic, is_pointer;
	} want[] = {
		{ "common_type", "unsigned short", PMC_TRACEPOINT_INTEGER, 2, 0, 0, 0 },
		{ "common_pid", "int", PMC_TRACEPOINT_INTEGER, 4, 1, 0, 0 },
		{ "comm", "char[16]", PMC_TRACEPOINT_STRING, 1, 0, 0, 0 },
		{ "pid", "pid_t", PMC_TRACEPOINT_INTEGER, 4, 1, 0, 0 },
		{ "flags", "u8", PMC_TRACEPOINT_INTEGER, 1, 0, 0, 0 },
		{ "small", "s16", PMC_TRACEPOINT_INTEGER, 2, 1, 0, 0 },
		{ "big", "u64", PMC_TRACEPOINT_INTEGER, 8, 0, 0, 0 },
		{ "pointer", "const char *", PMC_TRACEPOINT_INTEGER, 8, 0, 0, 1 },
		{ "text", "__data_loc char[]", PMC_TRACEPOINT_STRING, 1, 0, 1, 0 },
		{ "list", "__rel_loc u16[]", PMC_TRACEPOINT_ARRAY, 2, 0, 1, 0 },
		{ "fixed", "u32[2]", PMC_TRACEPOINT_ARRAY, 4, 0, 0, 0 },
		{ "odd", "struct thing", PMC_TRACEPOINT_BYTES, 0, 0, 0, 0 },
		{ "label", "char[TASK_COMM_LEN]", PMC_TRACEPOINT_STRING, 1, 0, 0, 0 },
	};
	const size_t n = sizeof(want) / sizeof(want[0]);
	struct pmc_tracepoint *tracepoint = made();
	struct pmc_counter_event event;

	assert_int_equal(pmc_tracepoint_count(tracepoint), n);
	for (size_t i = 0; i < n; i++) {
		const struct pmc_tracepoint_field *field = pmc_tracepoint_at(tracepoint, i);

		assert_string_equal(field->name, want[i].name);
		assert_string_equal(field->type, want[i].type);
		assert_int_equal(field->kind, want[i].kind);
		assert_int_equal(field->element_bytes, want[i].element_bytes);
		assert_int_equal(field->is_signed, want[i].is_signed);
		assert_int_equal(field->is_dynamic, want[i].is_dynamic);
		assert_int_equal(field->is_pointer, want[i].is_pointer);
		assert_int_equal(field->is_common, i < 2);
		assert_ptr_equal(field, pmc_tracepoint_find(tracepoint, want[i].name));
	}
	assert_null(pmc_tracepoint_at(tracepoint, n));
	assert_null(pmc_tracepoint_find(tracepoint, "com"));
	assert_string_equal(pmc_tracepoint_system(tracepoint), "");
	assert_string_equal(pmc_tracepoint_name(tracepoint), "made");
	assert_string_equal(pmc_tracepoint_print_format(tracepoint), "\"comm=%s\", REC->comm");
	assert_int_equal(pmc_tracepoint_id(tracepoint), 372);
	assert_int_equal(pmc_tracepoint_event(tracepoint, &event), 0);
	assert_int_equal(event.type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(event.config, 372);
	pmc_tracepoint_free(tracepoint);
}

static void a_record_gives_values(void **state)
{
	static const struct {
		const char *name;
		int64_t value;
	} integers[] = {
		{ "common_pid", 12 }, { "pid", -7 }, { "flags", 200 },
		{ "small", -2 },      { "big", -2 }, { "pointer", (int64_t)0xffff888000000010 },
	};
	struct pmc_tracepoint *tracepoint = made();
	struct pmc_record record = record_of(sizeof(data));
	struct pmc_record_span bytes;
	char text[256];
	int64_t value;
	uint64_t id;
	size_t n;

	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
		assert_int_equal(
			pmc_tracepoint_integer(pmc_tracepoint_find(tracepoint, integers[i].name),
					       &record, &value),
			0);
		assert_int_equal(value, integers[i].value);
	}
#define FIELD(name) pmc_tracepoint_find(tracepoint, name)
	assert_int_equal(pmc_tracepoint_string(FIELD("comm"), &record, text, sizeof(text)), 0);
	assert_string_equal(text, "exactly 16 bytes");
	assert_int_equal(pmc_tracepoint_string(FIELD("comm"), &record, text, 5), -ENOSPC);
	assert_string_equal(text, "exac");
	assert_int_equal(pmc_tracepoint_string(FIELD("text"), &record, text, sizeof(text)), 0);
	assert_string_equal(text, "a\n\x1b\\z");
	assert_int_equal(pmc_tracepoint_string(FIELD("label"), &record, text, sizeof(text)), 0);
	assert_string_equal(text, "ab");
	assert_int_equal(pmc_tracepoint_length(FIELD("list"), &record, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(pmc_tracepoint_element(FIELD("list"), &record, 1, &value), 0);
	assert_int_equal(value, 65535);
	assert_int_equal(pmc_tracepoint_element(FIELD("list"), &record, 2, &value), -ERANGE);
	assert_int_equal(pmc_tracepoint_element(FIELD("fixed"), &record, 1, &value), 0);
	assert_int_equal(value, 4000000000);
	assert_int_equal(pmc_tracepoint_bytes(FIELD("odd"), &record, &bytes), 0);
	assert_int_equal(bytes.size, 3);
	assert_ptr_equal(bytes.data, data.bytes + 64);
	assert_int_equal(pmc_tracepoint_of(&record, &id), 0);
	assert_int_equal(id, 372);
	assert_int_equal(pmc_tracepoint_print(tracepoint, &record, text, sizeof(text)), 0);
	assert_string_equal(text, "comm=exactly 16 bytes pid=-7 flags=200 small=-2 "
				  "big=18446744073709551614 pointer=0xffff888000000010 "
				  "text=a\\x0a\\x1b\\z list={5,65535} fixed={1,4000000000} "
				  "odd=00ff12 label=ab");
	assert_int_equal(pmc_tracepoint_print(tracepoint, &record, text, 8), -ENOSPC);
	assert_string_equal(text, "comm=ex");
	pmc_tracepoint_free(tracepoint);
}

/* Records truncated at every length, and positions beyond the end. */
static void damaged_records_are_errors(void **state)
{
	struct pmc_tracepoint *tracepoint = made();
	struct pmc_record record;
	char text[256];
	int64_t value;

	for (size_t size = 0; size < 82; size++) {
		record = record_of(size);
		assert_int_equal(pmc_tracepoint_print(tracepoint, &record, text, sizeof(text)),
				 -EPROTO);
		assert_int_equal(pmc_tracepoint_integer(FIELD("pid"), &record, &value),
				 size < 28 ? -EPROTO : 0);
	}
	record = record_of(sizeof(data));
	PUT(48, uint32_t, UINT32_MAX);
	assert_int_equal(pmc_tracepoint_string(FIELD("text"), &record, text, sizeof(text)),
			 -EPROTO);
	record.type = PERF_RECORD_LOST;
	assert_int_equal(pmc_tracepoint_integer(FIELD("pid"), &record, &value), -EINVAL);
	record = record_of(sizeof(data));
	record.present = PERF_SAMPLE_IP;
	assert_int_equal(pmc_tracepoint_integer(FIELD("pid"), &record, &value), -EINVAL);
	record = record_of(sizeof(data));
	assert_int_equal(pmc_tracepoint_integer(FIELD("nothing"), &record, &value), -ENOENT);
	assert_int_equal(pmc_tracepoint_integer(FIELD("comm"), &record, &value), -EINVAL);
	assert_int_equal(pmc_tracepoint_string(FIELD("pid"), &record, text, sizeof(text)), -EINVAL);
	pmc_tracepoint_free(tracepoint);
}

static void bad_formats_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"name: x\n",
		"name: x\nID: 1\n",
		"ID: 1\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\nID: one\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a;\n",
		"name: x\nID: 1\n\tfield:a;\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a];\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a;\toffset:-1;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a;\toffset:99999;\tsize:4;\tsigned:1;\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pmc_tracepoint *tracepoint = (void *)1;
		struct pmc_failure why = { 0 };

		assert_int_equal(pmc_tracepoint_parse(&tracepoint, bad[i], strlen(bad[i]), &why),
				 -EPROTO);
		assert_null(tracepoint);
		assert_true(why.advice[0]);
	}
}

static void unknown_tracepoints_are_not_found(void **state)
{
	struct pmc_tracepoint *tracepoint;
	struct pmc_failure why;

	if (!have_tracefs())
		skip();
	assert_int_equal(pmc_tracepoint_load(&tracepoint, "sched", "no_such", &why), -ENOENT);
	assert_string_equal(why.what, "sched:no_such");
	assert_null(tracepoint);
	assert_int_equal(pmc_tracepoint_load(&tracepoint, "..", "sched", NULL), -ENOENT);
}

/* Fields that a format file of this kernel has. */
static size_t fields_in(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[65536];
	size_t n = 0;

	while (file && fgets(line, sizeof(line), file))
		n += !strncmp(line, "\tfield:", 7);
	if (file)
		fclose(file);
	return n;
}

static void all_formats_of_this_kernel_are_understood(void **state)
{
	static const char root[] = "/sys/kernel/tracing/events";
	struct dirent **systems;
	int n, tracepoints = 0;

	if (!have_tracefs())
		skip();
	n = scandir(root, &systems, NULL, NULL);
	for (int i = 0; i < n; i++) {
		struct dirent **names;
		char path[1024];
		int m;

		snprintf(path, sizeof(path), "%s/%s", root, systems[i]->d_name);
		/* Events of ftrace have no ID: perf cannot open them. */
		m = systems[i]->d_name[0] == '.' || !strcmp(systems[i]->d_name, "ftrace") ?
			    -1 :
			    scandir(path, &names, NULL, NULL);
		for (int k = 0; k < m; k++) {
			struct pmc_tracepoint *tracepoint = NULL;
			struct pmc_failure why;

			snprintf(path, sizeof(path), "%s/%s/%s/format", root, systems[i]->d_name,
				 names[k]->d_name);
			if (names[k]->d_name[0] != '.' && fields_in(path)) {
				if (pmc_tracepoint_load(&tracepoint, systems[i]->d_name,
							names[k]->d_name, &why))
					fail_msg("%s: %s", path, why.advice);
				assert_int_equal(pmc_tracepoint_count(tracepoint), fields_in(path));
				tracepoints++;
			}
			pmc_tracepoint_free(tracepoint);
			free(names[k]);
		}
		if (m >= 0)
			free(names);
		free(systems[i]);
	}
	free(systems);
	print_message("%d tracepoints\n", tracepoints);
	assert_true(tracepoints > 100);
}

/* The number of a system call, and the thread that called it. */
static void a_sample_of_this_kernel_is_decoded(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_tracepoint *tracepoint;
	struct pmc_counter_event event;
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
	struct pmc_record record;
	int64_t value = 0;
	uint64_t id = 0;

	if (!have_tracefs() || !may_count())
		skip();
	assert_int_equal(pmc_tracepoint_load(&tracepoint, "syscalls", "sys_enter_getppid", NULL),
			 0);
	assert_int_equal(pmc_tracepoint_event(tracepoint, &event), 0);
	open.sample_period = 1;
	open.sample_type = PERF_SAMPLE_RAW;
	counter = must_open(&event, &open);
	assert_int_equal(pmc_sampler_open(&sampler, counter, 4, NULL), 0);
	pmc_counter_enable(counter);
	calls(1);
	pmc_counter_disable(counter);
	assert_int_equal(pmc_sampler_next(sampler, &record), 0);
	assert_int_equal(pmc_tracepoint_of(&record, &id), 0);
	assert_int_equal(id, pmc_tracepoint_id(tracepoint));
	assert_int_equal(pmc_tracepoint_integer(FIELD("__syscall_nr"), &record, &value), 0);
	assert_int_equal(value, SYS_getppid);
	assert_int_equal(pmc_tracepoint_integer(FIELD("common_pid"), &record, &value), 0);
	assert_int_equal(value, syscall(SYS_gettid));
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
	pmc_tracepoint_free(tracepoint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_format_gives_names_types_and_kinds),
		cmocka_unit_test(a_record_gives_values),
		cmocka_unit_test(damaged_records_are_errors),
		cmocka_unit_test(bad_formats_are_refused),
		cmocka_unit_test(unknown_tracepoints_are_not_found),
		cmocka_unit_test(all_formats_of_this_kernel_are_understood),
		cmocka_unit_test(a_sample_of_this_kernel_is_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
