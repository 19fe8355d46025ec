/* SPDX-License-Identifier: MIT */
/* test_hostile.c - names with escape sequences in all fields of dumps, through the commands that
 * print them: nothing that a terminal interprets comes out. */
#include "lib/base/utf8.h"
#include "lib/dump/words.h"
#include "tests/unit/report_profile.h"
#include "tests/unit/samples_made.h"
#include "tests/unit/tool_run.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/perf_event.h>

/* ESC, CSI as one character of UTF-8 and as a byte, a direction override, line breaks. */
#define EVIL "\x1b]0;x\x07\xc2\x9b\x9b\xe2\x80\xae\n\r"

static const struct pmc_process_fixed process_like = {
	.pid = 10, .cpu_ns = 1000, .end_ns = 2000, .threads_seen = 3, .flags = PMC_PROCESS_FIRST
};

static void harmless(const char *text, const char *what)
{
	for (const char *at = text; *at;) {
		uint32_t code = 0;
		size_t n = pmc_utf8_decode(at, strlen(at), &code);

		if (!n || (code != '\n' && pmc_utf8_width(code) < 0))
			fail_msg("%s: byte %zu, 0x%02x, of\n%s", what, (size_t)(at - text),
				 (unsigned char)*at, text);
		at += n;
	}
}

/* Counted in two modes, sampled, and events that side `side` alone has. */
static uint64_t make_set(unsigned side)
{
	const struct made_event events[] = {
		{ .name = "both" EVIL,
		  .group = 0,
		  .unit = "u" EVIL,
		  .core_type = "c" EVIL,
		  .scope = side ? PMC_SCOPE_USER : PMC_SCOPE_ALL },
		{ .name = side ? "b" EVIL : "a" EVIL, .config = 1, .group = 0, .core_type = "" },
		{ .name = "not" EVIL,
		  .config = 2,
		  .group = PMC_NO_GROUP,
		  .core_type = "",
		  .state = PMC_NOT_SUPPORTED,
		  .error = 2 },
	};

	return made_set(events, 3);
}

static void make_dump(const char *path, unsigned side)
{
	static const char *const names[] = { "main" EVIL,
					     "\xc2\x9b"
					     "31m",
					     "=\xe2\x80\xae"
					     "x" };
	const struct made_value value = { 1000, 1000, 0, 2, { 5 + side, 7 } };
	const struct made_stack stack = { 1, 0, 2, { MADE_FRAME(0, 0x10), MADE_FRAME(0, 0x20) } };
	const struct pmc_sample sample = { .stack = 1, .count = 1, .weight = 100 };
	struct pmc_process_fixed process = process_like;
	uint64_t set, sampled, other, module, site;
	int fd;

	made_begin();
	set = make_set(side);
	sampled = made_set(&(struct made_event){ .name = "s" EVIL }, 1);
	other = made_set(&(struct made_event){ .name = "o" EVIL, .config = 1 }, 1);
	site = made_site("/lib/" EVIL ".so", "symbol" EVIL, 5);
	module = made_module("/opt/none/" EVIL ".so", "id");
	process.eventset = set;
	made_process(1 + side, &process, side ? "B" EVIL : "A" EVIL, "/bin/" EVIL, "program " EVIL);
	for (unsigned i = 0; i < 3; i++) {
		const struct pmc_thread_fixed fixed = { .seq = i,
							.tid = 10 + i,
							.cpu_ns = 300,
							.end_ns = 1000,
							.eventset = set,
							.start_site = site };

		made_thread(1 + side, fixed, names[i], &value, 1);
	}
	made_stacks(1 + side, &module, 1, &stack, 1);
	made_samples(1 + side,
		     (struct pmc_samples_fixed){
			     .seq = 1, .eventset = sampled, .period = 100, .samples = 2 },
		     1000, &sample, 1);
	made_samples(1 + side,
		     (struct pmc_samples_fixed){
			     .seq = 1, .eventset = other, .period = 100, .samples = 1 },
		     1000, &sample, 1);
	made_note(1 + side, 1, 1, "note " EVIL);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, made.data, made.len), made.len);
	close(fd);
}

static void dumps(void **state)
{
	static const char *const by[] = { "thread", "pool",   "name", "start",	  "process", "exe",
					  "host",   "region", "line", "function", "path" };
	static const char *const formats[] = { "table", "csv", "json" };
	char dir[] = "/tmp/pmc-hostile.XXXXXX", a[64], b[64];
	static struct tool_run run;

	assert_non_null(mkdtemp(dir));
	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/b", dir);
	make_dump(a, 0);
	make_dump(b, 1);
	for (unsigned f = 0; f < 3; f++) {
		for (unsigned i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
			PMCTL(&run, "report", "--by", by[i], "--format", formats[f], a, b);
			assert_int_equal(run.code, 0);
			harmless(run.out, by[i]);
			harmless(run.err, by[i]);
			/* Something was shown. */
			assert_non_null(strstr(run.out, i < 8 ? "\\u{9b}" : "samples") ?:
						strstr(run.out, "\\u009b"));
		}
		PMCTL(&run, "report", "--timeline", "--format", formats[f], a);
		harmless(run.out, "timeline");
		PMCTL(&run, "diff", "--by", "name", "--format", formats[f], a, b);
		assert_int_equal(run.code, 0);
		harmless(run.out, "diff");
	}
	PMCTL(&run, "report", "--timeline", "--by", "name", a);
	harmless(run.out, "timeline by name");
	PMCTL(&run, "diff", a, b);
	assert_non_null(strstr(run.out, "hosts differ"));
	assert_non_null(strstr(run.out, "different modes"));
	assert_non_null(strstr(run.out, "on side A only"));
	PMCTL(&run, "report", "--by", "function", a);
	assert_non_null(strstr(run.out, "samples by other events"));
	PMCTL(&run, "report", "--columns", "x" EVIL, a);
	assert_int_equal(run.code, 2);
	harmless(run.err, "an unknown column");
	unlink(a);
	unlink(b);
	rmdir(dir);
}

static void line_of_output(void **state)
{
	FILE *file = tmpfile();
	int saved = dup(STDOUT_FILENO);
	char text[256];

	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	tool_line("%s|%d", EVIL, 5);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	tool_run_read(file, text, sizeof(text));
	assert_string_equal(text, "\\x1b]0;x\\x07\\u{9b}\\x9b\\u{202e}\\x0a\\x0d|5\n");
}

static void cell_of_csv(void **state)
{
	static const struct {
		const char *text, *cell;
	} cases[] = {
		{ "plain", "plain" },
		{ "", "" },
		{ "a,\"b\"", "\"a,\"\"b\"\"\"" },
		{ "=1+1", "'=1+1" },
		{ "-5", "-5" },
		{ "@x\x1b,", "\"'@x\\x1b,\"" },
		{ "\xc2\x9b"
		  "31m",
		  "\\u{9b}31m" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char buf[64];
		struct pmc_out out;

		pmc_out_to_mem(&out, buf, sizeof(buf));
		pmc_csv_text(&out, cases[i].text, strlen(cases[i].text));
		assert_string_equal(buf, cases[i].cell);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dumps),
		cmocka_unit_test(line_of_output),
		cmocka_unit_test(cell_of_csv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
