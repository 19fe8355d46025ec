/* SPDX-License-Identifier: MIT */
/*
 * fuzz_format.c - the kernel's small files about PMUs and tracepoints: the pieces of the input are
 * their contents, which event strings, pmctl list and pmc/tracepoint.h read.
 *
 * No event is opened: list_try is replaced.
 *
 * prog-flags: -Wl,--wrap=list_try
 */
#include "lib/event/event.h"
#include "tests/fuzz/fuzz.h"
#include "tools/list/list.h"

#include <fcntl.h>
#include <ftw.h>
#include <pmc/tracepoint.h>
#include <sys/stat.h>

static char root[256];

static const struct pmc_event_roots roots = { "sys", "trace", true };

static const char *const directories[] = {
	"sys",	 "sys/pmu",	 "sys/pmu/format",   "sys/pmu/events",
	"trace", "trace/events", "trace/events/sys", "trace/events/sys/point",
};

static const char *const files[] = {
	"sys/pmu/events/event",
	"sys/pmu/format/a",
	"sys/pmu/format/b",
	"sys/pmu/type",
	"sys/pmu/events/event.scale",
	"sys/pmu/events/event.unit",
	"sys/pmu/cpumask",
	"sys/pmu/cpus",
	"sys/pmu/format/c",
	"sys/pmu/events/other",
	"trace/events/sys/point/id",
	"trace/available_events",
	"trace/events/sys/point/format",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct list_answer __wrap_list_try(struct list *list, const struct pmc_event *event, int cpu);

struct list_answer __wrap_list_try(struct list *list, const struct pmc_event *event, int cpu)
{
	FUZZ_CHECK(list && event && cpu >= -1);
	return (struct list_answer){ .available = (event->config & 1) != 0 };
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void clean(void)
{
	if (chdir("/") == 0)
		nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *tmp = getenv("TMPDIR");

	(void)argc;
	(void)argv;
	snprintf(root, sizeof(root), "%s/pmc-fuzz.XXXXXX", tmp ? tmp : "/tmp");
	FUZZ_CHECK(mkdtemp(root) && chdir(root) == 0);
	atexit(clean);
	for (size_t i = 0; i < COUNT(directories); i++)
		FUZZ_CHECK(mkdir(directories[i], 0700) == 0);
	return 0;
}

/* An empty piece is a missing file. */
static void write_file(const char *path, const char *text)
{
	size_t len = strlen(text);
	int fd;

	if (!len) {
		unlink(path);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FUZZ_CHECK(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
}

static void parse(const char *text)
{
	struct pmc_parse_error error = { .error = 0 };
	struct pmc_arena arena = { 0 };
	struct pmc_events events = { 0 };

	if (pmc_events_parse(text, &roots, &arena, &events, &error)) {
		FUZZ_CHECK(error.error != 0 && error.text[0]);
		FUZZ_CHECK(error.offset <= strlen(text));
		for (const char *c = error.text; *c; c++)
			FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
	} else {
		FUZZ_CHECK(events.count > 0 && events.count <= PMC_EVENTS_MAX);
		FUZZ_CHECK(events.list[0].name && events.list[0].unit && events.list[0].pmu);
	}
	pmc_arena_free(&arena);
}

/* The text as a format, and the rest of the input as a sample. */
static void decode(const char *format, const uint8_t *data, size_t size)
{
	struct pmc_record record = { .type = PERF_RECORD_SAMPLE, .present = PERF_SAMPLE_RAW };
	struct pmc_tracepoint *tracepoint;
	unsigned char *raw = malloc(size ? size : 1);
	char text[128];

	FUZZ_CHECK(raw);
	memcpy(raw, data, size);
	record.sample.raw = (struct pmc_record_span){ .data = raw, .size = size };
	if (!pmc_tracepoint_parse(&tracepoint, format, strlen(format), NULL)) {
		pmc_tracepoint_print(tracepoint, &record, text, sizeof(text));
		for (size_t i = 0; i < pmc_tracepoint_count(tracepoint); i++) {
			const struct pmc_tracepoint_field *field = pmc_tracepoint_at(tracepoint, i);

			FUZZ_CHECK(field->name[0] && field->type[0]);
			pmc_tracepoint_text(field, &record, text, sizeof(text));
			FUZZ_CHECK(strlen(text) < sizeof(text));
		}
		pmc_tracepoint_free(tracepoint);
	}
	free(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const events[] = {
		"pmu/event/",
		"pmu/event,a=1,b=0x7f/",
		"pmu/a=0xffffffffffffffff/",
		"pmu/c,b/u",
		"pmu/other,a=3/:k",
		"sys:point",
		"{pmu/a=1/,sys:point}",
	};
	struct list list = { .roots = roots };

	for (size_t i = 0; i < COUNT(files); i++) {
		char *text = fuzz_piece(&data, &size);

		write_file(files[i], text);
		if (i == COUNT(files) - 1)
			decode(text, data, size);
		free(text);
	}
	for (size_t i = 0; i < COUNT(events); i++)
		parse(events[i]);
	list_init(&list);
	list_sysfs(&list);
	list_tracepoints(&list);
	for (unsigned i = 0; i < list.n; i++)
		FUZZ_CHECK(list.rows[i].name && list.rows[i].type && list.rows[i].description);
	list_free(&list);
	return 0;
}
