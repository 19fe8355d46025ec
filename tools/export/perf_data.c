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
#include "lib/base/utf8.h"

#include <errno.h>
#include <stdlib.h>

/* ---- where modules are, and numbers of processes on different hosts ------------------------- */

/* A module has the same addresses in all processes: one mapping of its file from offset 0. */
struct perf_module {
	const struct pmc_p_module *module;
	uint64_t start, bytes; /* start 0: there is no room for it */
	uint64_t mapped_in;    /* the process of perf_layout.process that has it already */
	UT_hash_handle hh;
};

/* Where process numbers are unique at a time: a PID namespace of a boot of a host. */
struct perf_space {
	const char *host, *boot_id;
	uint64_t pid_namespace;
};

enum { PERF_SPACES_MOST = 512 };

struct perf_layout {
	struct export *export;
	struct perf_module *modules;
	struct perf_space spaces[PERF_SPACES_MOST];
	unsigned n_spaces;
	uint64_t process; /* counts processes as they are written */
};

/* Addresses of code in no file are below, as a dump has 48 bits of them. */
#define MODULES_START	 (UINT64_C(1) << 48)
#define MODULES_END	 (UINT64_C(1) << 62)
#define FILE_OFFSET_MOST (UINT64_C(1) << 47)
#define PAGE_BYTES	 UINT64_C(65536)

/* Linux has no PID from here on. */
#define NUMBERS_OF_SPACE  4194304u
#define NUMBER_OF_UNKNOWN (NUMBERS_OF_SPACE - 1)

/* perf looks for symbols by their offset in the file. Where the file is not known, most have the
 * same numbers as addresses. */
static uint64_t file_offset(const struct perf_layout *layout, const struct pmc_p_stack *stack,
			    unsigned i)
{
	const struct pmc_p_frame *frame = &stack->frames[i];
	uint64_t offset;

	if (!names_file_offset(layout->export->names, stack->process, frame, &offset))
		offset = frame->address;
	return offset < FILE_OFFSET_MOST ? offset : FILE_OFFSET_MOST - 1;
}

static struct perf_module *find_module(const struct perf_layout *layout,
				       const struct pmc_p_module *module)
{
	struct perf_module *found;

	HASH_FIND_PTR(layout->modules, &module, found);
	return found;
}

static int measure(struct perf_layout *layout, const struct pmc_p_stack *stack)
{
	struct pmc_arena *arena = &layout->export->arena;

	for (unsigned i = 0; i < stack->depth; i++) {
		const struct pmc_p_module *of = stack->frames[i].module;
		struct perf_module *module = of ? find_module(layout, of) : NULL;
		uint64_t bytes;

		if (!of || names_skip(stack, i))
			continue;
		if (!module) {
			module = pmc_arena_alloc(arena, sizeof(*module));
			if (!module)
				return -ENOMEM;
			module->module = of;
			HASH_ADD_PTR(layout->modules, module, module);
		}
		bytes = (file_offset(layout, stack, i) / PAGE_BYTES + 1) * PAGE_BYTES;
		module->bytes = bytes > module->bytes ? bytes : module->bytes;
	}
	return 0;
}

/* Finds the addresses of all modules of the samples. 0 or -ENOMEM. */
static int perf_layout_init(struct perf_layout *layout, struct export *export)
{
	const struct pmc_profile *profile = export->profile;
	uint64_t next = MODULES_START;
	int error = 0;

	layout->export = export;
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		const struct pmc_p_samples *of = profile->samples[i];

		if (export_event_of(export, of) < 0)
			continue;
		for (uint64_t k = 0; !error && k < of->n; k++)
			if (of->list[k].stack)
				error = measure(layout, of->list[k].stack);
	}
	for (struct perf_module *at = layout->modules; at; at = at->hh.next) {
		if (at->bytes > MODULES_END - next)
			continue;
		at->start = next;
		next += at->bytes;
	}
	return error;
}

/* The module of a frame; NULL: it has none, or there is no room. */
static struct perf_module *perf_layout_module(const struct perf_layout *layout,
					      const struct pmc_p_frame *frame)
{
	struct perf_module *module = frame->module ? find_module(layout, frame->module) : NULL;

	return module && module->start ? module : NULL;
}

static uint64_t perf_layout_address(const struct perf_layout *layout,
				    const struct pmc_p_stack *stack, unsigned i)
{
	const struct perf_module *module = perf_layout_module(layout, &stack->frames[i]);

	return module ? module->start + file_offset(layout, stack, i) : stack->frames[i].address;
}

/* Number of the process's space; -1: there are too many. */
static int perf_layout_space(struct perf_layout *layout, const struct pmc_p_process *process)
{
	const struct perf_space space = { process->host, process->boot_id,
					  process->fixed.pid_namespace };

	for (unsigned i = 0; i < layout->n_spaces; i++) {
		const struct perf_space *known = &layout->spaces[i];

		if (known->pid_namespace == space.pid_namespace &&
		    !strcmp(known->host, space.host) && !strcmp(known->boot_id, space.boot_id))
			return (int)i;
	}
	if (layout->n_spaces == PERF_SPACES_MOST)
		return -1;
	layout->spaces[layout->n_spaces] = space;
	return (int)layout->n_spaces++;
}

/* A PID or TID of that space; 0: it is not known. */
static uint32_t perf_layout_number(unsigned space, uint32_t number)
{
	number %= NUMBERS_OF_SPACE;
	return space * NUMBERS_OF_SPACE + (number ? number : NUMBER_OF_UNKNOWN);
}

/* ---- records -------------------------------------------------------------------------------- */

/* Where the file goes. The head has sizes of what follows, so the records are made twice: without
 * `out` they are counted only. */
struct perf_writer {
	struct pmc_out *out;
	uint64_t bytes;
};

static inline void perf_bytes(struct perf_writer *writer, const void *bytes, size_t n)
{
	writer->bytes += n;
	if (writer->out)
		pmc_out_bytes(writer->out, bytes, n);
}

static inline void perf_u64(struct perf_writer *writer, uint64_t value)
{
	perf_bytes(writer, &value, sizeof(value));
}

static inline void perf_u32s(struct perf_writer *writer, uint32_t a, uint32_t b)
{
	const uint32_t pair[] = { a, b };

	perf_bytes(writer, pair, sizeof(pair));
}

/* A thread at a time, as every record has it. */
struct perf_who {
	uint32_t pid, tid;
	uint64_t time_ns; /* not 0 */
};

/* Deeper than any stack that is recorded; hostile dumps have deeper ones. */
enum { PERF_RECORD_WORDS = 1024, PERF_DEPTH_MOST = PERF_RECORD_WORDS - 16 };

struct perf_record {
	unsigned words; /* with the head */
	uint64_t word[PERF_RECORD_WORDS];
};

static void perf_record_u64(struct perf_record *record, uint64_t value)
{
	record->word[record->words++] = value;
}

static void perf_record_begin(struct perf_record *record, unsigned type, unsigned misc)
{
	const uint32_t type_field = type;
	const uint16_t misc_field = (uint16_t)misc;

	record->words = 1;
	memcpy(record->word, &type_field, sizeof(type_field));
	memcpy((char *)record->word + 4, &misc_field, sizeof(misc_field));
}

static void perf_record_raw(struct perf_record *record, const void *bytes, size_t n)
{
	const unsigned words = (unsigned)((n + 7) / 8);

	record->word[record->words + words - 1] = 0;
	memcpy(&record->word[record->words], bytes, n);
	record->words += words;
}

static void perf_record_u32s(struct perf_record *record, uint32_t a, uint32_t b)
{
	const uint32_t pair[] = { a, b };

	perf_record_raw(record, pair, sizeof(pair));
}

/* Escaped, and cut to cap - 1 bytes. cap: at most 4096. */
static void perf_record_text(struct perf_record *record, const char *text, size_t len, size_t cap)
{
	char safe[4096];
	struct pmc_out out;

	pmc_out_to_mem(&out, safe, cap);
	pmc_utf8_safe(&out, text, len, 0);
	perf_record_raw(record, safe, out.len + 1);
}

/* Samples have `who` elsewhere. */
static void perf_record_who(struct perf_record *record, const struct perf_who *who, uint64_t id)
{
	perf_record_u32s(record, who->pid, who->tid);
	perf_record_u64(record, who->time_ns);
	perf_record_u64(record, id);
}

static void perf_record_end(struct perf_record *record, struct perf_writer *writer)
{
	const uint16_t size = (uint16_t)(record->words * 8);

	memcpy((char *)record->word + 6, &size, sizeof(size));
	perf_bytes(writer, record->word, size);
}

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
