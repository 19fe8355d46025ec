/* SPDX-License-Identifier: MIT */
/*
 * print.c - by libtraceevent: functions of the kernel, from /proc/kallsyms, and print formats of
 * tracepoints, which are C expressions.
 *
 * The library trusts records: their fields are compared with their size before it gets them, and
 * zeros are behind them for strings without an end.
 */
#include "tools/trace/trace.h"
#include "lib/base/file.h"
#include "lib/event/source.h"
#include "tools/cli/pmctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

/* ---- functions ------------------------------------------------------------------------------ */

static struct tep_handle *read_functions(void)
{
	struct tep_handle *functions = tep_alloc();
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[48], type;
	unsigned long long start;

	while (functions && file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %c %47s", &start, &type, name) == 3 && start &&
		    strchr("tTwW", type))
			(void)tep_register_function(functions, name, start, NULL);
	if (file)
		fclose(file);
	return functions;
}

const char *trace_function_at(uint64_t address, uint64_t *start)
{
	static struct tep_handle *functions; /* for the rest of the process */

	functions = functions ? functions : read_functions();
	if (functions && start)
		*start = tep_find_function_address(functions, address);
	return functions ? tep_find_function(functions, address) : NULL;
}

/* ---- print formats -------------------------------------------------------------------------- */

#define FILE_BYTES ((size_t)4 << 20)
#define RAW_BYTES  ((size_t)64 << 10) /* PERF_SAMPLE_RAW of one record is shorter */

struct trace_print {
	struct tep_handle *tep;
	struct trace_seq text;
	char raw[RAW_BYTES + 8];
};

/* For %ps. */
static char *find_function(void *arg, unsigned long long *address, char **module)
{
	uint64_t start = *address;
	const char *name = trace_function_at(*address, &start);

	(void)arg, (void)module;
	*address = start;
	return (char *)name;
}

char *trace_read_tracefs(const char *path, size_t *size)
{
	const struct pmc_event_roots roots = { 0 };
	char *text = tool_realloc(NULL, FILE_BYTES + 2);
	int n = pmc_file_read(text, FILE_BYTES, "%s/%s", event_tracefs(&roots), path);

	*size = n < 0 ? 0 : (size_t)n;
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n + 1] = '\0';
	return text;
}

struct trace_print *trace_print_new(void)
{
	struct trace_print *print = tool_realloc(NULL, sizeof(*print));
	char *strings;
	size_t size;

	trace_seq_init(&print->text);
	print->tep = tep_alloc();
	if (!print->tep || tep_set_function_resolver(print->tep, find_function, NULL))
		pmc_arena_exhausted();
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(print->tep, sizeof(long));
	/* Strings of the kernel that records name by their address. */
	strings = trace_read_tracefs("printk_formats", &size);
	if (strings)
		tep_parse_printk_formats(print->tep, strings);
	free(strings);
	return print;
}

void trace_print_free(struct trace_print *print)
{
	if (!print)
		return;
	tep_free(print->tep);
	trace_seq_destroy(&print->text);
	free(print);
}

void trace_print_parse(struct trace_print *print, const char *system, const char *text, size_t size)
{
	(void)tep_parse_event(print->tep, text, size, system);
}

void trace_print_load(struct trace_print *print, const char *system, const char *name)
{
	char path[PMC_PATH_MAX], *text;
	size_t size;

	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	text = trace_read_tracefs(path, &size);
	if (text)
		trace_print_parse(print, system, text, size);
	free(text);
}

static bool fits(const struct pmc_tracepoint *tracepoint, const struct pmc_record *record)
{
	const struct pmc_tracepoint_field *field;
	struct pmc_record_span bytes;

	for (size_t i = 0; (field = pmc_tracepoint_at(tracepoint, i)); i++)
		if (pmc_tracepoint_bytes(field, record, &bytes))
			return false;
	return true;
}

const char *trace_print_text(struct trace_print *print, const struct pmc_tracepoint *tracepoint,
			     const struct pmc_record *record)
{
	struct tep_event *event = tep_find_event(print->tep, (int)pmc_tracepoint_id(tracepoint));
	const struct pmc_record_span *raw = &record->sample.raw;
	struct tep_record copy = { .data = print->raw, .cpu = (int)record->cpu };

	if (!event || event->flags & TEP_EVENT_FL_FAILED || !fits(tracepoint, record) ||
	    raw->size > RAW_BYTES)
		return NULL;
	memcpy(print->raw, raw->data, raw->size);
	memset(print->raw + raw->size, 0, sizeof(print->raw) - RAW_BYTES);
	copy.size = copy.record_size = (int)raw->size;
	trace_seq_reset(&print->text);
	tep_print_event(print->tep, &print->text, &copy, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&print->text);
	return print->text.state == TRACE_SEQ__GOOD ? print->text.buffer : NULL;
}
