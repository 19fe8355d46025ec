/* SPDX-License-Identifier: MIT */
/*
 * test_api.c - every public function of libpmc with NULL and wrong arguments, with handles that
 * work, with handles whose descriptors the program closed, and in a child of fork.
 *
 * Nothing may crash, and each call has the result in the table. The functions of the table are
 * those of lib/libpmc.map.
 */
#include "tests/unit/counter_try.h"

#include <limits.h>
#include <pmc/bench.h>
#include <pmc/group.h>
#include <pmc/region.h>
#include <pmc/sampler.h>
#include <pmc/tracepoint.h>

enum state { OPEN, CLOSED, FORKED, NAME_ONLY };

#define ANY  INT_MAX /* 0, positive or a negative errno */
#define SKIP INT_MIN /* not called in this state */

static const struct pmc_group_typed_field rows[] = { { "faults", "page-faults", "", "" } };

struct fixture {
	struct pmc_counter_event event;
	struct pmc_open_options options;
	struct pmc_counter *counter, *spare, *other, *made;
	struct pmc_group *group, *made_group, *empty;
	struct pmc_counter_cpus *cpus, *made_cpus;
	struct pmc_sampler *sampler, *in_set, *made_sampler, *from;
	struct pmc_sampler_set *set, *made_set;
	struct pmc_group_typed typed, closed;
	struct pmc_tracepoint *tracepoint, *made_tracepoint;
	const struct pmc_tracepoint_field *field;
	struct pmc_bench *bench, *made_bench;
	struct pmc_failure why;
	struct pmc_counter_reading reading;
	struct pmc_group_times times;
	struct pmc_group_value values[4];
	struct pmc_group_typed_times typed_times;
	struct pmc_sampler_totals totals;
	struct pmc_bench_result result;
	struct pmc_region_sum region;
	struct pmc_record record, raw;
	struct pmc_record_read read;
	struct pmc_record_regs regs;
	struct pmc_record_value value;
	struct pmc_record_span span;
	uint64_t a, b, c, words[4];
	int64_t number;
	size_t size;
	int cpu;
	char text[128];
};

static const char format[] = "name: made\nID: 7\n"
			     "\tfield:char comm[8];\toffset:0;\tsize:8;\tsigned:0;\n"
			     "\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n";

static void nothing(void *arg, uint64_t ops)
{
}

static void see_format(const struct pmc_counter_format *f, void *arg)
{
}

static void must(int error)
{
	if (error)
		fail_msg("setup: %s", strerror(-error));
}

static void setup_handles(struct fixture *f)
{
	static const char comm_pid[12] = "name";

	memset(f, 0, sizeof(*f));
	f->event = software(PERF_COUNT_SW_PAGE_FAULTS);
	f->options = pmc_open_options_init();
	f->options.sample_period = 1;
	f->options.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	f->options.sample_id_all = true;
	must(pmc_counter_open(&f->counter, &f->event, &f->options, NULL));
	must(pmc_counter_open(&f->spare, &f->event, &f->options, NULL));
	must(pmc_counter_open(&f->other, &f->event, &f->options, NULL));
	must(pmc_sampler_open(&f->sampler, f->counter, 1, NULL));
	must(pmc_sampler_open(&f->in_set, f->other, 1, NULL));
	must(pmc_sampler_set_new(&f->set, 0));
	must(pmc_sampler_set_add(f->set, f->in_set));
	must(pmc_group_open(&f->group, &f->event, 1, NULL, NULL));
	must(pmc_group_open(&f->empty, NULL, 0, NULL, NULL));
	must(pmc_counter_cpus_open(&f->cpus, &f->event, 1, NULL, NULL));
	must(pmc_group_typed_open(&f->typed, rows, 1, 0, -1));
	must(pmc_bench_open(&f->bench,
			    &(struct pmc_bench_options){ .size = sizeof(struct pmc_bench_options),
							 .events = "page-faults" },
			    NULL));
	must(pmc_tracepoint_parse(&f->tracepoint, format, sizeof(format) - 1, NULL));
	f->raw = (struct pmc_record){ .type = PERF_RECORD_SAMPLE, .present = PERF_SAMPLE_RAW };
	f->raw.sample.raw = (struct pmc_record_span){ (const void *)comm_pid, sizeof(comm_pid) };
	f->record = f->raw;
	f->read = (struct pmc_record_read){ .n = 1, .words = f->words };
	f->regs = (struct pmc_record_regs){ .abi = 1, .mask = 1, .values = f->words };
	f->words[0] = PERF_RECORD_LOST | UINT64_C(24) << 48;
}

static void close_under(const struct pmc_counter *counter)
{
	close(pmc_counter_fd(counter));
}

/* As in a program that closes all its descriptors. */
static void close_descriptors(const struct fixture *f)
{
	close_under(f->counter);
	close_under(f->spare);
	close_under(f->other);
	close_under(pmc_group_at(f->group, 0));
	close_under(pmc_group_at(f->typed.counters, 0));
	for (size_t i = 0; i < pmc_counter_cpus_count(f->cpus); i++)
		close_under(pmc_group_at(pmc_counter_cpus_at(f->cpus, i, NULL), 0));
}

static void teardown_handles(struct fixture *f)
{
	pmc_bench_close(f->made_bench);
	pmc_bench_close(f->bench);
	pmc_tracepoint_free(f->made_tracepoint);
	pmc_tracepoint_free(f->tracepoint);
	pmc_sampler_set_free(f->made_set);
	pmc_sampler_close(f->made_sampler);
	pmc_group_typed_close(&f->typed);
	pmc_counter_cpus_close(f->made_cpus);
	pmc_counter_cpus_close(f->cpus);
	pmc_group_close(f->made_group);
	pmc_group_close(f->empty);
	pmc_group_close(f->group);
	pmc_sampler_set_free(f->set);
	pmc_sampler_close(f->in_set);
	pmc_sampler_close(f->sampler);
	pmc_counter_close(f->made);
	pmc_counter_close(f->other);
	pmc_counter_close(f->spare);
	pmc_counter_close(f->counter);
}

static int pick(enum state state, int open, int closed, int forked)
{
	return state == OPEN ? open : state == CLOSED ? closed : forked;
}

/* Calls row i in this state. False: there is no such row. */
static bool call(struct fixture *f, unsigned i, enum state state, const char **name, int *got,
		 int *want)
{
	unsigned n = 0;

/* T: the results with handles that work, with closed descriptors, in a child. */
#define T(function, arguments, open, closed, forked)                                               \
	if (n++ == i) {                                                                            \
		*name = #function;                                                                 \
		*want = pick(state, open, closed, forked);                                         \
		if (state != NAME_ONLY && *want != SKIP)                                           \
			*got = (int)(function arguments);                                          \
		return true;                                                                       \
	}
/* V: a function without a result. */
#define V(function, arguments)                                                                     \
	if (n++ == i) {                                                                            \
		*name = #function;                                                                 \
		*want = *got = 0;                                                                  \
		if (state != NAME_ONLY)                                                            \
			function arguments;                                                        \
		return true;                                                                       \
	}
/* P: a function that returns a pointer; want: whether it is not NULL. */
#define P(function, arguments, result)                                                             \
	if (n++ == i) {                                                                            \
		*name = #function;                                                                 \
		*want = result;                                                                    \
		*got = state != NAME_ONLY ? (function arguments) != NULL : result;                 \
		return true;                                                                       \
	}
/* W: wrong arguments, the same result in each state. */
#define W(function, arguments, result) T(function, arguments, result, result, result)
#define NO			       -EINVAL
#define BAD			       -EBADF
#include "tests/unit/api_table.def"
	return false;
}

static int run(unsigned i, enum state state, const char **name, char *text, size_t size)
{
	struct fixture f;
	int got = 0, want = 0;
	bool any;

	setup_handles(&f);
	if (state == CLOSED)
		close_descriptors(&f);
	any = call(&f, i, state, name, &got, &want);
	if (any && want == SKIP)
		want = got;
	if (any && want != ANY && want != got)
		snprintf(text, size, "%s (row %u, state %d): want %d, got %d", *name, i, state,
			 want, got);
	if (any && want == ANY && got < -4095)
		snprintf(text, size, "%s (row %u, state %d): %d", *name, i, state, got);
	teardown_handles(&f);
	return any;
}

static void all_rows(enum state state)
{
	char text[256] = "";
	const char *name;

	for (unsigned i = 0; run(i, state, &name, text, sizeof(text)); i++)
		if (text[0])
			fail_msg("%s", text);
}

static void functions_with_handles_that_work(void **unused)
{
	all_rows(OPEN);
}

static void functions_with_closed_descriptors(void **unused)
{
	all_rows(CLOSED);
}

/* Handles opened by the parent and used by the child. */
static void functions_in_a_child_of_fork(void **unused)
{
	const char *name = "";
	bool more = true;

	for (unsigned i = 0; more; i++) {
		struct fixture f;
		int status;
		pid_t child;

		setup_handles(&f);
		child = fork();
		if (child == 0) {
			int got = 0, want = 0;
			bool any = call(&f, i, FORKED, &name, &got, &want);

			if (any && want != SKIP && want != ANY && want != got) {
				print_error("%s (row %u): want %d, got %d\n", name, i, want, got);
				_exit(1);
			}
			/* A child that closes its copies of the handles must not affect the
			 * parent's. */
			teardown_handles(&f);
			_exit(any ? 0 : 2);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFEXITED(status) || WEXITSTATUS(status) == 1)
			fail_msg("row %u: status %#x", i, (unsigned)status);
		more = WEXITSTATUS(status) == 0;
		assert_int_equal(pmc_counter_enable(f.counter), 0);
		assert_int_equal(pmc_group_enable(f.group), 0);
		teardown_handles(&f);
	}
}

static void the_table_has_every_function(void **unused)
{
	FILE *map = fopen("lib/libpmc.map", "re");
	char line[128], function[64];
	unsigned functions = 0;

	assert_non_null(map);
	while (fgets(line, sizeof(line), map)) {
		bool found = false;
		const char *name;
		int got, want;

		if (sscanf(line, " %63[a-z0-9_];", function) != 1 || strncmp(function, "pmc_", 4))
			continue;
		functions++;
		for (unsigned i = 0; !found && call(NULL, i, NAME_ONLY, &name, &got, &want); i++)
			found = !strcmp(name, function);
		if (!found)
			fail_msg("%s is not in api_table.def", function);
	}
	fclose(map);
	assert_true(functions > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_with_handles_that_work),
		cmocka_unit_test(functions_with_closed_descriptors),
		cmocka_unit_test(functions_in_a_child_of_fork),
		cmocka_unit_test(the_table_has_every_function),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
