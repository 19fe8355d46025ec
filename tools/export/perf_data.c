/* SPDX-License-Identifier: MIT */
/*
 * perf_data.c - perf.data files, as perf record writes them.
 *
 * A dump has numbers of samples by thread and stack, and perhaps by time: each sample becomes a
 * record with an equal share of the weight, at its time, or at the start of its thread. Source:
 * tools/perf/Documentation/perf.data-file-format.txt of the kernel.
 */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "tools/cli/pmctl.h"
#include "tools/export/export.h"
#include "tools/symbol/symbol.h"

#include <linux/perf_event.h>

/* Linux 5.12; older headers lack it. */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

/* A mapping of this name is that of the kernel; perf reads its symbols from /proc/kallsyms. */
#define PERF_KERNEL_MAP "[kernel.kallsyms]"

enum { PERF_FEATURE_EVENT_DESC = 12, PERF_FILE_HEAD_BYTES = 104, PERF_BUILD_ID_BYTES = 20 };

/* ---- where modules are, and numbers of processes on different hosts ------------------------- */

/* A module has the same addresses in all processes: one mapping of its file from offset 0. */
struct perf_module {
	const struct pmc_p_module *module;
	uint64_t start, bytes;
	uint64_t mapped_in; /* the process of perf_data.n_processes that has it already */
	UT_hash_handle hh;
};

/* Where process numbers are unique at a time: a PID namespace of a boot of a host. */
struct perf_space {
	const char *host, *boot_id;
	uint64_t pid_namespace;
};

enum { PERF_SPACES_MOST = 512 };

/* A thread at a time, as every record has it. */
struct perf_who {
	uint32_t pid, tid;
	uint64_t time_ns; /* not 0 */
};

/* Deeper than any stack that is recorded; hostile dumps have deeper ones. */
enum { PERF_RECORD_WORDS = 1024 };

struct perf_record {
	unsigned words; /* with the head */
	uint64_t word[PERF_RECORD_WORDS];
};

struct perf_data {
	struct export *export;
	struct perf_module *modules;
	/* The kernel of this boot, at its own addresses; one of another machine is like any module.
	 * NULL: it is not in the dump. */
	const struct pmc_p_module *kernel;
	struct perf_space spaces[PERF_SPACES_MOST];
	unsigned n_spaces;
	uint64_t n_processes; /* that were begun */
	/* The head has sizes of what follows, so the records are made twice: without `out` they are
	 * counted only. */
	struct pmc_out *out;
	uint64_t bytes;
	struct perf_record record;
	uint64_t samples_a_record;
	/* The section that is being written. */
	const struct pmc_p_process *process;
	const struct pmc_p_row *row; /* NULL: it is not in the dump */
	bool in_thread, left_out;
	int space;
	struct perf_who main, thread;
};

/* Addresses of JIT or unknown code are below, as a dump has 48 bits of them. */
#define MODULES_START (UINT64_C(1) << 48)
/* More than any file has. */
#define MODULE_BYTES (UINT64_C(1) << 40)
#define KERNEL_HALF  (UINT64_C(0xffff) << 48) /* which dumps leave out */

/* Linux has no PID from here on. */
#define NUMBERS_OF_SPACE  4194304u
#define NUMBER_OF_UNKNOWN (NUMBERS_OF_SPACE - 1)

static bool is_kernel(const struct pmc_p_module *module)
{
	return module && !strcmp(module->path, SYMBOL_KERNEL);
}

/* perf looks for symbols by their offset in the file. Where the file is not known, most have the
 * same numbers as addresses. */
static uint64_t file_offset(const struct perf_data *p, const struct pmc_p_stack *stack, unsigned i)
{
	const struct pmc_p_frame *frame = &stack->frames[i];
	uint64_t offset;

	if (is_kernel(frame->module))
		return frame->address & (MODULE_BYTES - 1);
	if (!names_file_offset(p->export->names, stack->process, frame, &offset))
		offset = frame->address;
	return offset < MODULE_BYTES ? offset : MODULE_BYTES - 1;
}

static struct perf_module *module_of(struct perf_data *p, const struct pmc_p_module *of)
{
	struct pmc_arena *arena = &p->export->arena;
	struct perf_module *module;

	HASH_ENTRY(p->modules, module, &of, module);
	if (!module->bytes)
		module->start = MODULES_START + (HASH_COUNT(p->modules) - 1) * MODULE_BYTES;
	module->bytes = MODULE_BYTES;
	return module;
}

static void find_kernel(struct perf_data *p)
{
	const struct pmc_profile *profile = p->export->profile;
	char boot_id[64];

	if (!symbols_boot_id(boot_id))
		return;
	for (uint64_t i = 0; i < profile->n_modules; i++) {
		const struct pmc_p_module *module = profile->modules[i];

		if (is_kernel(module) && module->build_id_len == strlen(boot_id) &&
		    !memcmp(module->build_id, boot_id, module->build_id_len))
			p->kernel = module;
	}
}

static uint64_t address_of(struct perf_data *p, const struct pmc_p_stack *stack, unsigned i)
{
	const struct pmc_p_frame *frame = &stack->frames[i];

	if (!frame->module)
		return frame->address;
	if (frame->module == p->kernel)
		return frame->address | KERNEL_HALF;
	return module_of(p, frame->module)->start + file_offset(p, stack, i);
}

/* Number of the process's space; -1: there are too many. */
static int space_of(struct perf_data *p, const struct pmc_p_process *process)
{
	const struct perf_space space = { process->host, process->boot_id,
					  process->fixed.pid_namespace };

	for (unsigned i = 0; i < p->n_spaces; i++) {
		const struct perf_space *known = &p->spaces[i];

		if (known->pid_namespace == space.pid_namespace &&
		    !strcmp(known->host, space.host) && !strcmp(known->boot_id, space.boot_id))
			return (int)i;
	}
	if (p->n_spaces == PERF_SPACES_MOST)
		return -1;
	p->spaces[p->n_spaces] = space;
	return (int)p->n_spaces++;
}

/* A PID or TID of that space; 0: it is not known. */
static uint32_t number_in(unsigned space, uint32_t number)
{
	number %= NUMBERS_OF_SPACE;
	return space * NUMBERS_OF_SPACE + (number ? number : NUMBER_OF_UNKNOWN);
}

/* ---- records -------------------------------------------------------------------------------- */

static void put_u64(struct perf_record *record, uint64_t value)
{
	record->word[record->words++] = value;
}

static void put_u32s(struct perf_record *record, uint32_t a, uint32_t b)
{
	const uint32_t pair[] = { a, b };

	memcpy(&record->word[record->words++], pair, sizeof(pair));
}

static void begin(struct perf_record *record, uint32_t type, uint16_t misc)
{
	record->words = 0;
	put_u32s(record, type, misc);
}

static void put_bytes(struct perf_record *record, const void *bytes, size_t n)
{
	const unsigned words = (unsigned)((n + 7) / 8);

	record->word[record->words + words - 1] = 0;
	memcpy(&record->word[record->words], bytes, n);
	record->words += words;
}

/* Escaped, and cut to cap - 1 bytes. cap: at most 4096. */
static void put_text(struct perf_record *record, const char *text, size_t len, size_t cap)
{
	char safe[4096];
	struct pmc_out out = pmc_out_mem(safe, cap);

	pmc_utf8_safe(&out, text, len, 0);
	put_bytes(record, safe, out.len + 1);
}

/* Samples have `who` elsewhere. */
static void put_who(struct perf_record *record, const struct perf_who *who, uint64_t id)
{
	put_u32s(record, who->pid, who->tid);
	put_u64(record, who->time_ns);
	put_u64(record, id);
}

/* More samples share records. */
#define RECORDS_MOST 1000000

enum { COMM_BYTES = 16, PATH_BYTES = 4096 };

static void put_words(struct perf_data *p)
{
	p->bytes += p->record.words * 8;
	if (p->out)
		pmc_out_bytes(p->out, (const char *)p->record.word, p->record.words * 8);
}

static void end(struct perf_data *p)
{
	const uint16_t size = (uint16_t)(p->record.words * 8);

	memcpy((char *)p->record.word + 6, &size, sizeof(size));
	put_words(p);
}

static uint64_t time_of(uint64_t ns, uint64_t from)
{
	ns = ns > from ? ns : from;
	return ns < INT64_MAX ? ns : INT64_MAX;
}

/* ---- processes and threads --------------------------------------------------------------- */

static void put_fork(struct perf_data *p, const struct perf_who *who, uint32_t parent)
{
	struct perf_record *record = &p->record;

	begin(record, PERF_RECORD_FORK, PERF_RECORD_MISC_COMM_EXEC);
	put_u32s(record, who->pid, parent);
	put_u32s(record, who->tid, parent);
	put_u64(record, who->time_ns);
	put_who(record, who, 1);
	end(p);
}

static void put_comm(struct perf_data *p, const struct perf_who *who, unsigned misc,
		     const char *name, size_t len)
{
	struct perf_record *record = &p->record;

	begin(record, PERF_RECORD_COMM, misc);
	put_u32s(record, who->pid, who->tid);
	put_text(record, len ? name : "(unknown)", len ? len : 9, COMM_BYTES);
	put_who(record, who, 1);
	end(p);
}

/* A mapping of code with its build ID. */
static void put_map(struct perf_data *p, unsigned misc, const struct perf_who *who,
		    const struct perf_module *map)
{
	enum { READ_EXEC = 5, PRIVATE = 2 };
	const struct pmc_p_module *of = map->module;
	const bool has_id = of->build_id_len && of->build_id_len <= PERF_BUILD_ID_BYTES;
	struct perf_record *record = &p->record;
	uint8_t id[4 + PERF_BUILD_ID_BYTES] = { 0 };

	if (has_id) {
		id[0] = (uint8_t)of->build_id_len;
		memcpy(id + 4, of->build_id, of->build_id_len);
	}
	begin(record, PERF_RECORD_MMAP2,
	      (uint16_t)(misc | (has_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0)));
	put_u32s(record, who->pid, who->tid);
	put_u64(record, map->start);
	put_u64(record, map->bytes);
	put_u64(record, 0);
	put_bytes(record, id, sizeof(id));
	put_u32s(record, READ_EXEC, PRIVATE);
	put_text(record, of->path, strlen(of->path), PATH_BYTES);
	put_who(record, who, 1);
	end(p);
}

static void put_kernel(struct perf_data *p)
{
	/* Of the note of ELF with its ID: sizes of name and ID, type, and name. */
	static const char head[16] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU";
	const struct perf_who everyone = { UINT32_MAX, 0, 1 };
	struct pmc_p_module kernel = { .path = PERF_KERNEL_MAP };
	const struct perf_module map = { .module = &kernel,
					 .start = KERNEL_HALF,
					 .bytes = UINT64_MAX - KERNEL_HALF };
	char notes[4096];
	const int n = pmc_file_read(notes, sizeof(notes), "/sys/kernel/notes");
	const char *note = n > 0 ? memmem(notes, (size_t)n, head, sizeof(head)) : NULL;

	if (note && notes + n - note >= (int)sizeof(head) + PERF_BUILD_ID_BYTES) {
		kernel.build_id = (const uint8_t *)note + sizeof(head);
		kernel.build_id_len = PERF_BUILD_ID_BYTES;
	}
	put_map(p, PERF_RECORD_MISC_KERNEL, &everyone, &map);
}

static void begin_process(struct perf_data *p, const struct pmc_p_process *process)
{
	const char *name = pmc_base_name(process->exe);
	/* An exec keeps the process. */
	const bool forked = process->origin == process;

	p->process = process;
	p->in_thread = false;
	p->n_processes++;
	p->space = space_of(p, process);
	p->left_out |= p->space < 0;
	if (p->space < 0)
		return;
	p->main.pid = number_in((unsigned)p->space, process->fixed.pid);
	p->main.tid = p->main.pid;
	p->main.time_ns = time_of(process->fixed.start_ns, 1);
	if (forked)
		put_fork(p, &p->main, number_in((unsigned)p->space, process->fixed.ppid));
	put_comm(p, &p->main, forked ? 0 : PERF_RECORD_MISC_COMM_EXEC, name, strlen(name));
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
	p->thread.tid = number_in((unsigned)p->space, fixed->tid);
	p->thread.time_ns = time_of(fixed->start_ns, p->main.time_ns);
	if (p->thread.tid != p->main.tid)
		put_fork(p, &p->thread, p->main.pid);
	put_comm(p, &p->thread, 0, fixed->name, strnlen(fixed->name, sizeof(fixed->name)));
}

/* ---- samples ----------------------------------------------------------------------------- */

static void put_new_modules(struct perf_data *p, const struct pmc_p_stack *stack)
{
	for (unsigned i = 0; stack && i < stack->depth; i++) {
		const struct pmc_p_module *of = stack->frames[i].module;
		struct perf_module *module;

		if (!of || of == p->kernel || names_skip(stack, i))
			continue;
		module = module_of(p, of);
		if (module->mapped_in == p->n_processes)
			continue;
		module->mapped_in = p->n_processes;
		put_map(p, PERF_RECORD_MISC_USER, &p->main, module);
	}
}

static bool is_of_kernel(const struct perf_data *p, const struct pmc_p_frame *frame)
{
	return frame->module && frame->module == p->kernel;
}

static void put_records(struct perf_data *p, const struct pmc_p_sample *sample, unsigned event)
{
	enum { IP = 2, PERIOD = 5, DEPTH = 6, CHAIN = 8 }; /* words */
	const uint64_t n = (sample->count + p->samples_a_record - 1) / p->samples_a_record;
	const struct pmc_p_stack *stack = sample->stack;
	struct perf_record *record = &p->record;

	const uint64_t contexts[] = { PERF_CONTEXT_USER, PERF_CONTEXT_KERNEL };
	bool in_kernel = stack && stack->depth && is_of_kernel(p, &stack->frames[0]);

	begin(record, PERF_RECORD_SAMPLE,
	      in_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	put_u64(record, event + 1);
	put_u64(record, 0);
	put_u32s(record, p->thread.pid, p->thread.tid);
	put_u64(record, time_of(sample->time_ns, p->thread.time_ns));
	put_u64(record, 0);
	put_u64(record, 0);
	put_u64(record, contexts[in_kernel]);
	for (unsigned i = 0; stack && i < stack->depth && record->words < PERF_RECORD_WORDS - 2;
	     i++) {
		if (names_skip(stack, i))
			continue;
		if (in_kernel != is_of_kernel(p, &stack->frames[i])) {
			in_kernel = !in_kernel;
			put_u64(record, contexts[in_kernel]);
		}
		put_u64(record, p->out ? address_of(p, stack, i) : 0);
	}
	if (record->words == CHAIN)
		put_u64(record, 0);
	record->word[IP] = record->word[CHAIN];
	record->word[DEPTH] = record->words - DEPTH - 1;
	if (!p->out)
		p->bytes += n * record->words * 8;
	for (uint64_t i = 0; p->out && i < n; i++) {
		record->word[PERIOD] = sample->weight / n + (i < sample->weight % n);
		end(p);
	}
}

/* The count of the thread, for perf report -T; unknown: what its samples add up to. */
static void put_read(struct perf_data *p, const struct export_list *list)
{
	const struct pmc_count *count = list->of->count;
	const bool known = count && pmc_count_has_value(count) &&
			   !(list->of->fixed.flags & PMC_SAMPLES_SHARED);
	struct perf_record *record = &p->record;

	begin(record, PERF_RECORD_READ, 0);
	put_u32s(record, p->thread.pid, p->thread.tid);
	put_u64(record, known ? pmc_count_value(count) : list->of->weight);
	put_u64(record, known ? count->enabled_ns : 0);
	put_u64(record, known ? count->running_ns : 0);
	put_u64(record, list->event + 1);
	put_who(record, &p->thread, list->event + 1);
	end(p);
}

static void put_data(struct perf_data *p)
{
	p->process = NULL;
	if (p->kernel)
		put_kernel(p);
	for (uint64_t i = 0; i < p->export->n_lists; i++) {
		const struct export_list *list = &p->export->lists[i];
		const struct pmc_p_samples *of = list->of;

		if (of->process != p->process)
			begin_process(p, of->process);
		if (p->space < 0)
			continue;
		if (!p->in_thread || of->row != p->row)
			begin_thread(p, of->row);
		for (uint64_t k = 0; k < of->n; k++) {
			put_new_modules(p, of->list[k].stack);
			put_records(p, &of->list[k], list->event);
		}
		put_read(p, list);
	}
}

/* ---- head and features ------------------------------------------------------------------- */

static void put_attr(struct perf_data *p, unsigned index)
{
	const struct pmc_event_def *def = &p->export->events[index].event->def;
	const struct export_list *first = p->export->lists;
	struct perf_event_attr attr = {
		.type = def->type,
		.size = PERF_ATTR_SIZE_VER0,
		.config = def->config,
		.config1 = def->config1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			       PERF_FORMAT_ID,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.mmap2 = 1,
		.inherit_stat = 1,
		/* perf warns where samples of the kernel may be there without its symbols. */
		.exclude_kernel = !p->kernel,
		.exclude_callchain_kernel = !p->kernel,
	};

	while (first->event != index)
		first++;
	attr.freq = first->of->fixed.frequency != 0;
	attr.sample_freq = attr.freq ? first->of->fixed.frequency : first->of->fixed.period;
	/* perf refuses a tracepoint without its format; perf script shows no stacks of its event
	 * `dummy`. */
	if (attr.type == PMC_TYPE_OS || attr.type == PERF_TYPE_TRACEPOINT) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	}
	put_bytes(&p->record, &attr, attr.size);
}

/* Names of events; attributes have none. Their place and size are the table of features. */
static void put_event_names(struct perf_data *p)
{
	enum { TABLE_WORDS = 2 };
	struct perf_record *record = &p->record;

	record->words = 0;
	put_u64(record, p->bytes + TABLE_WORDS * 8);
	put_u64(record, 0);
	put_u32s(record, p->export->n_events, PERF_ATTR_SIZE_VER0);
	for (unsigned i = 0; i < p->export->n_events; i++) {
		const struct pmc_p_event *event = p->export->events[i].event;
		struct pmc_out out = PMC_OUT_MEM(256);
		unsigned head;

		pmc_outf(&out, event->core_type[0] ? "%s/%s/" : "%s%s", event->core_type,
			 event->name);
		put_attr(p, i);
		head = record->words++;
		put_text(record, out.buf, out.len, out.cap);
		put_u64(record, i + 1);
		memcpy(&record->word[head], (uint32_t[]){ 1, (record->words - head - 2) * 8 }, 8);
	}
	record->word[1] = (record->words - TABLE_WORDS) * 8;
	put_words(p);
}

static void put_head(struct perf_data *p, uint64_t data_bytes)
{
	const unsigned n = p->export->n_events;
	const uint64_t attrs = PERF_FILE_HEAD_BYTES + 8 * n;
	const uint64_t attr_bytes = PERF_ATTR_SIZE_VER0 + 16;
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

	p->record.words = 0;
	put_bytes(&p->record, "PERFILE2", 8);
	put_bytes(&p->record, head, sizeof(head));
	for (unsigned i = 0; i < n; i++)
		put_u64(&p->record, i + 1);
	for (unsigned i = 0; i < n; i++) {
		put_attr(p, i);
		put_u64(&p->record, PERF_FILE_HEAD_BYTES + 8 * i);
		put_u64(&p->record, 8);
	}
	put_words(p);
}

/* perf looks up names in modules, and JIT or unknown code is in none. */
static void warn_of_names(struct export *export, uint64_t samples)
{
	const struct spot *unknown = names_word(export->names, NAMES_UNKNOWN);
	uint64_t n = 0;

	for (uint64_t i = 0; i < export->n_lists; i++) {
		const struct pmc_p_samples *of = export->lists[i].of;

		for (uint64_t k = 0; k < of->n; k++) {
			const struct pmc_p_stack *stack = of->list[k].stack;

			if (stack && stack->depth && !stack->frames[0].module &&
			    names_of_frame(export->names, stack->process, &stack->frames[0],
					   NAMES_FUNCTION)
					    ->list[0] != unknown)
				pmc_add_sat(&n, of->list[k].count);
		}
	}
	if (n)
		tool_warn("no names in perf for %llu of %llu samples: they are in JIT code; "
			  "pmctl report and all other formats with samples have the names",
			  (unsigned long long)n, (unsigned long long)samples);
}

void export_perf_data(struct export *export)
{
	struct perf_data *p = pmc_arena_alloc(&export->arena, sizeof(*p));
	uint64_t samples = 0, data_bytes;

	p->export = export;
	for (unsigned i = 0; i < export->n_events; i++)
		pmc_add_sat(&samples, export->events[i].samples);
	find_kernel(p);
	p->samples_a_record = samples / RECORDS_MOST + (samples % RECORDS_MOST != 0);
	if (p->samples_a_record > 1)
		tool_warn("a record stands for up to %llu of the %llu samples, with the sum of "
			  "their periods; export the events one by one with --event, or ask "
			  "pmctl report for the number of samples",
			  (unsigned long long)p->samples_a_record, (unsigned long long)samples);
	p->samples_a_record += !p->samples_a_record;
	warn_of_names(export, samples);
	put_data(p);
	if (p->left_out)
		tool_warn("samples of more than %d hosts: those of further hosts are left out; "
			  "export fewer dumps at a time",
			  PERF_SPACES_MOST);
	data_bytes = p->bytes;
	p->bytes = 0;
	p->out = export->out;
	put_head(p, data_bytes);
	put_data(p);
	put_event_names(p);
}
