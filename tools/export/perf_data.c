/* SPDX-License-Identifier: MIT */
/*
 * perf_data.c - perf.data files, as perf record writes them.
 *
 * A dump has numbers of samples by thread and stack: each sample becomes a record with an equal
 * share of the weight, at the start of its thread. Source: tools/perf/Documentation/
 * perf.data-file-format.txt and include/uapi/linux/perf_event.h of the kernel.
 */
#include "lib/base/number.h"
#include "tools/cli/pmctl.h"
#include "tools/export/export.h"
#include "tools/export/perf_format.h"
#include "tools/export/perf_layout.h"

#include <errno.h>
#include <stdlib.h>

/* More samples share records. */
#define RECORDS_MOST 1000000

enum { COMM_BYTES = 16, PATH_BYTES = 4096 };

struct perf_data {
	struct export *export;
	struct perf_layout layout;
	struct perf_writer writer;
	struct perf_record record;
	uint64_t samples_a_record;
	/* What is being written. */
	const struct pmc_p_process *process;
	const struct pmc_p_row *row; /* NULL: it is not in the dump */
	bool in_thread, left_out;
	int space;
	struct perf_who main, thread;
};

static uint64_t time_of(uint64_t ns, uint64_t from)
{
	ns = ns > from ? ns : from;
	return ns < INT64_MAX ? ns : INT64_MAX;
}

/* ---- processes and threads --------------------------------------------------------------- */

static void put_fork(struct perf_data *p, const struct perf_who *who, uint32_t parent)
{
	struct perf_record *record = &p->record;

	perf_record_begin(record, PERF_FORK, PERF_MISC_EXEC);
	perf_record_u32s(record, who->pid, parent);
	perf_record_u32s(record, who->tid, parent);
	perf_record_u64(record, who->time_ns);
	perf_record_who(record, who, 1);
	perf_record_end(record, &p->writer);
}

static void put_comm(struct perf_data *p, const struct perf_who *who, unsigned misc,
		     const char *name, size_t len)
{
	struct perf_record *record = &p->record;

	perf_record_begin(record, PERF_COMM, misc);
	perf_record_u32s(record, who->pid, who->tid);
	perf_record_text(record, len ? name : "(unknown)", len ? len : 9, COMM_BYTES);
	perf_record_who(record, who, 1);
	perf_record_end(record, &p->writer);
}

static void put_module(struct perf_data *p, const struct perf_module *module)
{
	enum { READ_EXEC = 5, PRIVATE = 2 };
	const struct pmc_p_module *of = module->module;
	const bool has_id = of->build_id_len && of->build_id_len <= PERF_BUILD_ID_BYTES;
	struct perf_record *record = &p->record;
	uint8_t id[4 + PERF_BUILD_ID_BYTES] = { 0 };

	if (has_id) {
		id[0] = (uint8_t)of->build_id_len;
		memcpy(id + 4, of->build_id, of->build_id_len);
	}
	perf_record_begin(record, PERF_MMAP2, PERF_MISC_USER | (has_id ? PERF_MISC_BUILD_ID : 0));
	perf_record_u32s(record, p->main.pid, p->main.tid);
	perf_record_u64(record, module->start);
	perf_record_u64(record, module->bytes);
	perf_record_u64(record, 0);
	perf_record_raw(record, id, sizeof(id));
	perf_record_u32s(record, READ_EXEC, PRIVATE);
	perf_record_text(record, of->path, strlen(of->path), PATH_BYTES);
	perf_record_who(record, &p->main, 1);
	perf_record_end(record, &p->writer);
}

static void begin_process(struct perf_data *p, const struct pmc_p_process *process)
{
	const char *name = pmc_base_name(process->exe);
	/* An exec keeps the process. */
	const bool forked = process->origin == process;

	p->process = process;
	p->in_thread = false;
	p->layout.process++;
	p->space = perf_layout_space(&p->layout, process);
	p->left_out |= p->space < 0;
	if (p->space < 0)
		return;
	p->main.pid = perf_layout_number((unsigned)p->space, process->fixed.pid);
	p->main.tid = p->main.pid;
	p->main.time_ns = time_of(process->fixed.start_ns, 1);
	if (forked)
		put_fork(p, &p->main, perf_layout_number((unsigned)p->space, process->fixed.ppid));
	put_comm(p, &p->main, forked ? 0 : PERF_MISC_EXEC, name, strlen(name));
}

static void begin_thread(struct perf_data *p, const struct pmc_p_row *row)
{
	struct pmc_thread_buf buf;
	const struct pmc_thread_fixed unknown = { .tid = 0 }, *fixed = &unknown;

	p->row = row;
	p->in_thread = true;
	if (row)
		fixed = &pmc_profile_thread(p->export->profile, row, &buf)->fixed;
	p->thread.pid = p->main.pid;
	p->thread.tid = perf_layout_number((unsigned)p->space, fixed->tid);
	p->thread.time_ns = time_of(fixed->start_ns, p->main.time_ns);
	if (p->thread.tid != p->main.tid)
		put_fork(p, &p->thread, p->main.pid);
	put_comm(p, &p->thread, 0, fixed->name, strnlen(fixed->name, sizeof(fixed->name)));
}

/* ---- samples ----------------------------------------------------------------------------- */

static void put_new_modules(struct perf_data *p, const struct pmc_p_stack *stack)
{
	for (unsigned i = 0; stack && i < stack->depth; i++) {
		struct perf_module *module = perf_layout_module(&p->layout, &stack->frames[i]);

		if (!module || module->mapped_in == p->layout.process || names_skip(stack, i))
			continue;
		module->mapped_in = p->layout.process;
		put_module(p, module);
	}
}

static void put_records(struct perf_data *p, const struct pmc_p_sample *sample, int event)
{
	const uint64_t n = (sample->count + p->samples_a_record - 1) / p->samples_a_record;
	const struct pmc_p_stack *stack = sample->stack;
	struct perf_record *record = &p->record;
	unsigned ip, period, depth;

	perf_record_begin(record, PERF_SAMPLE, PERF_MISC_USER);
	perf_record_u64(record, (uint64_t)event + 1);
	ip = record->words;
	perf_record_u64(record, 0);
	perf_record_u32s(record, p->thread.pid, p->thread.tid);
	perf_record_u64(record, p->thread.time_ns);
	period = record->words;
	perf_record_u64(record, 0);
	depth = record->words;
	perf_record_u64(record, 0);
	perf_record_u64(record, PERF_CALLERS_IN_USER);
	for (unsigned i = 0; stack && i < stack->depth && i < PERF_DEPTH_MOST; i++)
		if (!names_skip(stack, i))
			perf_record_u64(record, p->writer.out ?
							perf_layout_address(&p->layout, stack, i) :
							0);
	if (record->words == depth + 2)
		perf_record_u64(record, 0);
	record->word[ip] = record->word[depth + 2];
	record->word[depth] = record->words - depth - 1;
	if (!p->writer.out) {
		p->writer.bytes += n * record->words * 8;
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		record->word[period] = sample->weight / n + (i < sample->weight % n);
		perf_record_end(record, &p->writer);
	}
}

static void put_data(struct perf_data *p)
{
	const struct pmc_profile *profile = p->export->profile;

	p->process = NULL;
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_samples *of = profile->samples[i];
		const int event = export_event_of(p->export, of);

		if (event < 0)
			continue;
		if (of->process != p->process)
			begin_process(p, of->process);
		if (p->space < 0)
			continue;
		if (!p->in_thread || of->row != p->row)
			begin_thread(p, of->row);
		for (uint64_t k = 0; k < of->n; k++) {
			put_new_modules(p, of->list[k].stack);
			put_records(p, &of->list[k], event);
		}
	}
}

/* ---- head and features ------------------------------------------------------------------- */

static void put_attr(struct perf_data *p, int index)
{
	const struct pmc_profile *profile = p->export->profile;
	const struct pmc_event_def *def = &p->export->events[index]->def;
	const struct pmc_samples_fixed *rate = NULL;
	uint32_t type = def->type;
	uint64_t config = def->config;
	/* Samples are taken in user mode; perf warns where those of the kernel lack its symbols. */
	uint64_t flags = PERF_EXCLUDE_KERNEL | PERF_ATTR_COMM | PERF_ATTR_TASK |
			 PERF_SAMPLE_ID_ALL | PERF_EXCLUDE_KERNEL_CALLERS | PERF_ATTR_MMAP2 |
			 PERF_ATTR_COMM_EXEC;

	for (uint64_t i = 0; !rate && i < profile->n_samples; i++)
		if (export_event_of(p->export, profile->samples[i]) == index)
			rate = &profile->samples[i]->fixed;
	/* perf refuses a tracepoint without its format. */
	if (type == PMC_TYPE_OS || type == PERF_TYPE_IS_TRACEPOINT) {
		type = PERF_TYPE_IS_SOFTWARE;
		config = PERF_SOFTWARE_DUMMY;
	}
	if (rate->frequency)
		flags |= PERF_ATTR_FREQ;
	perf_u32s(&p->writer, type, PERF_ATTR_BYTES);
	perf_u64(&p->writer, config);
	perf_u64(&p->writer, rate->frequency ? rate->frequency : rate->period);
	perf_u64(&p->writer, PERF_HAS_IDENTIFIER | PERF_HAS_IP | PERF_HAS_TID | PERF_HAS_TIME |
				     PERF_HAS_PERIOD | PERF_HAS_CALLCHAIN);
	perf_u64(&p->writer, 0);
	perf_u64(&p->writer, flags);
	perf_u64(&p->writer, 0);
	perf_u64(&p->writer, def->config1);
}

/* Names of events; attributes have none. */
static void put_event_names(struct perf_data *p)
{
	const int n = (int)p->export->n_events;

	perf_u32s(&p->writer, (uint32_t)n, PERF_ATTR_BYTES);
	for (int i = 0; i < n; i++) {
		const struct pmc_p_event *event = p->export->events[i];
		struct perf_record *name = &p->record;
		char text[256];
		struct pmc_out out;

		pmc_out_to_mem(&out, text, sizeof(text));
		pmc_outf(&out, event->core_type[0] ? "%s/%s/" : "%s%s", event->core_type,
			 event->name);
		name->words = 0;
		perf_record_text(name, text, out.len, sizeof(text));
		put_attr(p, i);
		perf_u32s(&p->writer, 1, name->words * 8);
		perf_bytes(&p->writer, name->word, name->words * 8);
		perf_u64(&p->writer, (uint64_t)i + 1);
	}
}

static void put_head(struct perf_data *p, uint64_t data_bytes)
{
	const uint64_t n = p->export->n_events;
	const uint64_t attrs = PERF_FILE_HEAD_BYTES + 8 * n;
	const uint64_t attr_bytes = PERF_ATTR_BYTES + 16;
	const uint64_t head[] = {
		PERF_FILE_HEAD_BYTES,
		attr_bytes,
		attrs,
		n * attr_bytes,
		attrs + n * attr_bytes,
		data_bytes,
		0,
		0,
		UINT64_C(1) << PERF_FEATURE_EVENT_DESC,
		0,
		0,
		0,
	};

	perf_bytes(&p->writer, "PERFILE2", 8);
	perf_bytes(&p->writer, head, sizeof(head));
	for (uint64_t i = 0; i < n; i++)
		perf_u64(&p->writer, i + 1);
	for (uint64_t i = 0; i < n; i++) {
		put_attr(p, (int)i);
		perf_u64(&p->writer, PERF_FILE_HEAD_BYTES + 8 * i);
		perf_u64(&p->writer, 8);
	}
}

static uint64_t event_names_bytes(struct perf_data *p)
{
	const struct perf_writer writer = p->writer;
	uint64_t bytes;

	p->writer = (struct perf_writer){ .out = NULL };
	put_event_names(p);
	bytes = p->writer.bytes;
	p->writer = writer;
	return bytes;
}

static uint64_t count_samples(const struct export *export)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < export->profile->n_samples; i++) {
		const struct pmc_p_samples *of = export->profile->samples[i];

		for (uint64_t k = 0; export_event_of(export, of) >= 0 && k < of->n; k++)
			pmc_add_sat(&n, of->list[k].count);
	}
	return n;
}

/* perf looks up names in modules, and code in no file is in none. */
static void warn_of_names(struct export *export, uint64_t samples)
{
	const struct spot *unknown = names_word(export->names, "(code in no file)");
	uint64_t n = 0;

	for (uint64_t i = 0; i < export->profile->n_samples; i++) {
		const struct pmc_p_samples *of = export->profile->samples[i];

		for (uint64_t k = 0; export_event_of(export, of) >= 0 && k < of->n; k++) {
			const struct pmc_p_stack *stack = of->list[k].stack;
			const struct spots *spots;

			if (!stack || !stack->depth || stack->frames[0].module)
				continue;
			spots = names_of_frame(export->names, stack->process, &stack->frames[0],
					       NAMES_FUNCTION);
			if (spots && spots->list[0] != unknown)
				pmc_add_sat(&n, of->list[k].count);
		}
	}
	if (n)
		tool_warn("no names in perf for %llu of %llu samples: their code is in no file; "
			  "pmctl report and all other formats with samples have the names",
			  (unsigned long long)n, (unsigned long long)samples);
}

static int write_file(struct perf_data *p)
{
	const uint64_t samples = count_samples(p->export);
	uint64_t data_bytes;
	int error = perf_layout_init(&p->layout, p->export);

	if (error)
		return error;
	p->samples_a_record = samples / RECORDS_MOST + (samples % RECORDS_MOST != 0);
	if (p->samples_a_record > 1)
		tool_warn("a record stands for up to %llu of the %llu samples, with the sum of "
			  "their periods; export the events one by one with --event, or ask "
			  "pmctl report for the number of samples",
			  (unsigned long long)p->samples_a_record, (unsigned long long)samples);
	p->samples_a_record += !p->samples_a_record;
	warn_of_names(p->export, samples);
	put_data(p);
	if (p->left_out)
		tool_warn("samples of more than %d hosts: those of further hosts are left out; "
			  "export fewer dumps at a time",
			  PERF_SPACES_MOST);
	data_bytes = p->writer.bytes;
	p->writer = (struct perf_writer){ .out = p->export->out };
	put_head(p, data_bytes);
	put_data(p);
	/* The table of features has one. */
	perf_u64(&p->writer, p->writer.bytes + 16);
	perf_u64(&p->writer, event_names_bytes(p));
	put_event_names(p);
	return p->export->arena.failed ? -ENOMEM : 0;
}

int export_perf_data(struct export *export)
{
	struct perf_data *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return -ENOMEM;
	p->export = export;
	error = write_file(p);
	free(p);
	return error;
}
