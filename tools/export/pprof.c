/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - pprof's profile.proto, as it is without compression: a sample for each thread and
 * stack.
 *
 * A location is a function and line, not an address: names are known already. Source: profile.proto
 * of pprof, and the encoding of Protocol Buffers.
 */
#include "lib/base/map.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "tools/export/bytes.h"
#include "tools/export/export.h"

/* ---- messages of Protocol Buffers ----------------------------------------------------------- */

enum { VARINT = 0, BYTES = 2 };

/* A field; numbers of 0 are left out, as they are the default. */
static void proto_number(struct export_bytes *proto, unsigned field, uint64_t value)
{
	if (!value)
		return;
	export_varint(proto, field << 3 | VARINT);
	export_varint(proto, value);
}

static void proto_bytes(struct export_bytes *proto, unsigned field, const void *bytes, size_t len)
{
	export_varint(proto, field << 3 | BYTES);
	export_varint(proto, len);
	export_put(proto, bytes, len);
}

/* A field that is a message, which is empty then. */
static void proto_message(struct export_bytes *proto, unsigned field, struct export_bytes *message)
{
	proto_bytes(proto, field, message->data, message->len);
	message->len = 0;
}

/* Fields of profile.proto. */
enum { SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING_TABLE };
enum { DURATION_NANOS = 10, PERIOD_TYPE, PERIOD };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM };
/* Fields 7 to 10 say that functions, files, lines and inlined functions are known. */
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_FUNCTIONS = 7, MAPPING_INLINED = 10 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE };
/* Without system_name (3): pprof would shorten a name that equals it, to one for several types. */
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };

struct pprof {
	struct export *export;
	struct export_bytes whole, message, part;
	struct pmc_map texts;			 /* their numbers, from 1 */
	struct export_pair *functions, *modules; /* a function has a file */
	struct spot_list spots;
};

/* Strings have to be UTF-8. */
static uint64_t text(struct pprof *p, const char *raw, size_t raw_len)
{
	char bytes[8192];
	struct pmc_out safe = pmc_out_mem(bytes, sizeof(bytes));
	uint64_t *number;

	pmc_utf8_safe(&safe, raw, raw_len, 0);
	number = pmc_map_at(&p->texts, &p->export->arena, bytes, safe.len, sizeof(*number));
	*number = *number ? *number : HASH_COUNT(p->texts.entries);
	return *number - 1;
}

static uint64_t str(struct pprof *p, const char *bytes)
{
	return text(p, bytes, strlen(bytes));
}

/* The message is complete: a field of the profile. What is written goes out in pieces. */
static void end_message(struct pprof *p, unsigned field)
{
	proto_message(&p->whole, field, &p->message);
	if (p->whole.len < 1 << 16)
		return;
	pmc_out_bytes(p->export->out, (const char *)p->whole.data, p->whole.len);
	p->whole.len = 0;
}

static void put_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	proto_number(&p->message, TYPE_TYPE, str(p, type));
	proto_number(&p->message, TYPE_UNIT, str(p, unit));
	end_message(p, field);
}

/* ---- functions, lines, modules ----------------------------------------------------------- */

/* Functions and modules have numbers from 1; 0: no module. */
static uint64_t module_of(struct pprof *p, const char *path)
{
	struct pmc_arena *arena = &p->export->arena;

	return *path ? export_pair_of(arena, &p->modules, path, NULL)->number : 0;
}

/* pprof takes the first module for the program. */
static void take_program(struct pprof *p)
{
	const struct pmc_profile *profile = p->export->profile;
	const struct pmc_p_samples *heaviest = p->export->lists[0].of;

	for (uint64_t i = 1; i < p->export->n_lists; i++)
		if (p->export->lists[i].of->samples > heaviest->samples)
			heaviest = p->export->lists[i].of;
	for (uint64_t i = 0; i < profile->n_modules && !p->modules; i++)
		if (!strcmp(profile->modules[i]->path, heaviest->process->exe))
			module_of(p, profile->modules[i]->path);
}

static void put_locations(struct pprof *p)
{
	struct pmc_arena *arena = &p->export->arena;
	const struct spot *spot = NULL;

	while ((spot = names_next_spot(p->export->names, spot))) {
		const struct export_pair *function =
			export_pair_of(arena, &p->functions, spot->function, spot->file);

		proto_number(&p->part, LINE_FUNCTION, function->number);
		proto_number(&p->part, LINE_LINE, spot->line);
		proto_number(&p->message, LOCATION_ID, spot->index + 1);
		proto_number(&p->message, LOCATION_MAPPING, module_of(p, spot->module));
		proto_message(&p->message, LOCATION_LINE, &p->part);
		end_message(p, LOCATION);
	}
}

static void put_functions(struct pprof *p)
{
	for (const struct export_pair *at = p->functions; at; at = at->hh.next) {
		proto_number(&p->message, FUNCTION_ID, at->number);
		proto_number(&p->message, FUNCTION_NAME, str(p, at->key.a));
		proto_number(&p->message, FUNCTION_FILE, str(p, at->key.b));
		end_message(p, FUNCTION);
	}
}

static void put_modules(struct pprof *p)
{
	for (const struct export_pair *at = p->modules; at; at = at->hh.next) {
		proto_number(&p->message, MAPPING_ID, at->number);
		proto_number(&p->message, MAPPING_FILENAME, str(p, at->key.a));
		/* pprof need not look names up in the binary. */
		for (unsigned i = MAPPING_FUNCTIONS; i <= MAPPING_INLINED; i++)
			proto_number(&p->message, i, 1);
		end_message(p, MAPPING);
	}
}

/* ---- samples ----------------------------------------------------------------------------- */

static void put_label(struct pprof *p, const char *key, uint64_t word, uint64_t number)
{
	proto_number(&p->part, LABEL_KEY, str(p, key));
	proto_number(&p->part, LABEL_STR, word);
	proto_number(&p->part, LABEL_NUM, number);
	proto_message(&p->message, SAMPLE_LABEL, &p->part);
}

static void put_labels(struct pprof *p, const struct pmc_p_samples *of)
{
	const struct pmc_p_process *process = of->process;
	struct pmc_thread_buf buf;
	const struct pmc_p_thread *thread;
	const char *name;
	size_t len;

	if (process->known) {
		put_label(p, "process", str(p, pmc_base_name(process->exe)), 0);
		put_label(p, "host", str(p, process->host), 0);
		put_label(p, "pid", 0, process->fixed.pid);
	}
	if (!of->row)
		return;
	thread = pmc_profile_thread(p->export->profile, of->row, &buf);
	name = pmc_thread_label(thread, &len);
	put_label(p, "thread", text(p, name, len), 0);
	put_label(p, "tid", 0, thread->fixed.tid);
}

static void put_sample(struct pprof *p, const struct export_list *list,
		       const struct pmc_p_sample *sample)
{
	names_of_stack(p->export->names, sample->stack, NAMES_FUNCTION_AND_LINE, true, &p->spots);
	for (size_t i = 0; i < p->spots.n; i++)
		export_varint(&p->part, p->spots.list[i]->index + 1);
	proto_message(&p->message, SAMPLE_LOCATION, &p->part);
	for (unsigned i = 0; i < p->export->n_events; i++) {
		export_varint(&p->part, i == list->event ? sample->count : 0);
		export_varint(&p->part, i == list->event ? sample->weight : 0);
	}
	proto_message(&p->message, SAMPLE_VALUE, &p->part);
	put_labels(p, list->of);
	end_message(p, SAMPLE);
}

static void put_head(struct pprof *p)
{
	const struct export *export = p->export;

	/* The first string has to be empty. */
	str(p, "");
	for (unsigned i = 0; i < export->n_events; i++) {
		const struct pmc_p_event *event = export->events[i].event;
		const char *unit = export_is_time(event) ? "nanoseconds" : "count";
		struct pmc_out name = PMC_OUT_MEM(300);

		pmc_outf(&name, "%s%s", export->n_events > 1 ? event->name : "samples",
			 export->n_events > 1 ? " samples" : "");
		put_type(p, SAMPLE_TYPE, name.buf, "count");
		put_type(p, SAMPLE_TYPE, event->name, unit);
	}
}

/* A clock has a period in any case. */
static uint64_t period_of(const struct pmc_p_samples *samples)
{
	const struct pmc_samples_fixed *fixed = &samples->fixed;

	return fixed->period || !fixed->frequency || !samples->event ||
			       !export_is_time(samples->event) ?
		       fixed->period :
		       1000000000 / fixed->frequency;
}

/* Of the only event, if all threads have the same. */
static void put_period(struct pprof *p)
{
	const struct export *export = p->export;
	const struct pmc_p_event *event = export->events[0].event;
	const uint64_t period = period_of(export->lists[0].of);

	for (uint64_t i = 0; i < export->n_lists; i++)
		if (period_of(export->lists[i].of) != period)
			return;
	if (export->n_events != 1 || !period)
		return;
	put_type(p, PERIOD_TYPE, event->name, export_is_time(event) ? "nanoseconds" : "count");
	proto_number(&p->whole, PERIOD, period);
}

static uint64_t duration(const struct pmc_profile *profile)
{
	uint64_t most = 0;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];
		const uint64_t end =
			process->fixed.end_ns ? process->fixed.end_ns : process->fixed.time_ns;
		const uint64_t ns = pmc_sub_sat(end, process->job_start_ns);

		most = process->known && ns > most ? ns : most;
	}
	return most;
}

void export_pprof(struct export *export)
{
	struct pprof p = { .export = export };

	put_head(&p);
	put_period(&p);
	proto_number(&p.whole, DURATION_NANOS, duration(export->profile));
	for (uint64_t i = 0; i < export->n_lists; i++)
		for (uint64_t k = 0; k < export->lists[i].of->n; k++)
			put_sample(&p, &export->lists[i], &export->lists[i].of->list[k]);
	take_program(&p);
	put_locations(&p);
	put_functions(&p);
	put_modules(&p);
	for (const struct pmc_map_entry *at = p.texts.entries; at; at = at->hh.next)
		proto_bytes(&p.whole, STRING_TABLE, at->hh.key, at->hh.keylen);
	pmc_out_bytes(export->out, (const char *)p.whole.data, p.whole.len);
	free(p.whole.data);
	free(p.message.data);
	free(p.part.data);
}
