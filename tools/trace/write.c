/* SPDX-License-Identifier: MIT */
/* write.c - a record as a line of text, fields or JSON, or as four lines; the totals at the end. */
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "tools/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define VALUE_BYTES 8192
/* Of a name, a PID and a TID; and of a tracepoint. */
enum { TASK_COLUMNS = 26, EVENT_COLUMNS = 25 };

/* ---- text and fields ---------------------------------------------------------------------- */

/* Names come from tracefs. */
static void put_name(struct pmc_out *out, const char *name)
{
	pmc_utf8_safe(out, name, strlen(name), 0);
}

static void put_field(struct pmc_out *out, const struct pmc_tracepoint_field *field,
		      const struct pmc_record *record)
{
	char text[VALUE_BYTES];
	int error = pmc_tracepoint_text(field, record, text, sizeof(text));

	pmc_out_str(out, error && error != -ENOSPC ? "?" : text);
}

/* Keys of the record itself. A field of such a name has a prefix, as in bpftrace. */
static bool is_own_key(const char *name)
{
	static const char *const keys[] = { "time_ns", "cpu", "pid", "tid", "event", "stack" };

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(name, keys[i]))
			return true;
	return false;
}

/* ---- values as people know them ------------------------------------------------------------ */

/* As the kernel's print format has it: TASK_* of include/linux/sched.h. */
static void put_state(struct pmc_out *out, int64_t state)
{
	static const char letters[] = "SDTtXZPI";

	for (unsigned i = 0; letters[i]; i++)
		if (state >> i & 1) {
			pmc_out_char(out, letters[i]);
			return;
		}
	pmc_out_str(out, state >> (sizeof(letters) - 1) & 1 ? "R+" : "R");
}

static bool ends_in(const char *text, const char *end)
{
	const size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

/* The text at an address of the process, which may have changed since. */
static bool put_path(struct pmc_out *out, pid_t pid, uint64_t address)
{
	const size_t page = 4096, n = page - address % page;
	char text[PATH_MAX];
	const struct iovec to = { text, sizeof(text) };
	const struct iovec from[] = { { (void *)(uintptr_t)address, n },
				      { (void *)(uintptr_t)(address + n), page - n } };
	const ssize_t got = process_vm_readv(pid, &to, 1, from, 2, 0);
	const char *end = got > 0 ? memchr(text, '\0', (size_t)got) : NULL;

	/* Of memory that was used for something else since. */
	if (!end || end == text || !pmc_utf8_is_safe(text))
		return false;
	pmc_out_char(out, '"');
	pmc_utf8_safe(out, text, (size_t)(end - text), 0);
	pmc_out_char(out, '"');
	return true;
}

/* False: it is printed as in other formats. */
static bool put_known(struct pmc_out *out, const struct trace_point *point,
		      const struct pmc_tracepoint_field *field, const struct pmc_record *record)
{
	const char *name = field->name;
	char octal[32];
	int64_t value;

	if (field->kind != PMC_TRACEPOINT_INTEGER ||
	    pmc_tracepoint_integer(field, record, &value) != 0)
		return false;
	if (point->prev_pid && !strcmp(name, "prev_state"))
		put_state(out, value);
	else if (!point->syscall)
		return false;
	else if (field->is_pointer)
		return (ends_in(name, "name") || ends_in(name, "path")) &&
		       put_path(out, (pid_t)record->pid, (uint64_t)value);
	else if (ends_in(name, "dfd") && (int32_t)value == AT_FDCWD)
		pmc_out_str(out, "AT_FDCWD");
	else if (ends_in(name, "dfd"))
		pmc_out_i64(out, (int32_t)value);
	else if (!strcmp(name, "flags"))
		pmc_outf(out, "0x%llx", (unsigned long long)value);
	else if (!strcmp(name, "mode")) {
		snprintf(octal, sizeof(octal), "%#llo", (unsigned long long)value);
		pmc_out_str(out, octal);
	} else
		return false;
	return true;
}

static void put_fields(struct trace *trace, const struct trace_point *point,
		       const struct pmc_record *record)
{
	const bool text = trace->rows.format == TRACE_TEXT;
	const bool line = trace->rows.format == TRACE_FIELDS;
	struct pmc_out *out = &trace->rows.out;
	const struct pmc_tracepoint_field *field;

	for (size_t i = 0; (field = pmc_tracepoint_at(point->tracepoint, i)); i++) {
		if (field->is_common || (text && !strcmp(field->name, "__syscall_nr")))
			continue;
		pmc_out_str(out, line && is_own_key(field->name) ? " args." : " ");
		put_name(out, field->name);
		pmc_out_char(out, '=');
		if (!text || !put_known(out, point, field, record))
			put_field(out, field, record);
	}
}

/* An exiting thread has no TID any more, but sched_switch has its number. */
static int64_t tid_of(const struct trace_point *point, const struct pmc_record *record)
{
	int64_t tid = (int32_t)record->tid;

	if (tid < 0)
		pmc_tracepoint_integer(point->prev_pid, record, &tid);
	return tid;
}

/* `after`: between the lines of functions if `before` is empty, else behind each. */
static void put_stack(struct trace *trace, const struct pmc_record *record, const char *before,
		      const char *after)
{
	struct trace_frame_names names;

	if (!trace->stacks)
		return;
	trace_stack_of(trace, record, &names);
	for (unsigned i = 0; i < names.n; i++) {
		pmc_out_str(&trace->rows.out, before);
		put_name(&trace->rows.out, names.list[i]);
		if (*before || i + 1 < names.n)
			pmc_out_str(&trace->rows.out, after);
	}
}

/* The kernel's own text, or fields. */
static void put_printed(struct trace *trace, const struct trace_point *point,
			const struct pmc_record *record)
{
	const char *printed = trace_print_text(trace->print, point->tracepoint, record);

	if (printed) {
		/* A thread's name must not move a terminal's cursor or forge a line. */
		pmc_out_char(&trace->rows.out, ' ');
		pmc_utf8_safe(&trace->rows.out, printed, strlen(printed), 0);
	} else {
		put_fields(trace, point, record);
	}
}

static void put_record(struct trace *trace, const struct trace_point *point,
		       const struct pmc_record *record)
{
	struct pmc_out *out = &trace->rows.out;

	pmc_outf(out, "TID: %lld, PID: %d\nTIME: %llu", (long long)tid_of(point, record),
		 (int)record->pid, (unsigned long long)record->time);
	if (point->prev_pid) {
		pmc_out_str(out, "\nPrevPID: ");
		put_field(out, point->prev_pid, record);
		pmc_out_str(out, " PrevComm: ");
		put_field(out, point->prev_comm, record);
		pmc_out_str(out, " NextComm: ");
		put_field(out, point->next_comm, record);
		pmc_out_str(out, " NextPID:");
		put_field(out, point->next_pid, record);
	} else {
		pmc_out_char(out, '\n');
		put_name(out, point->name);
		put_printed(trace, point, record);
	}
	pmc_out_char(out, '\n');
	put_stack(trace, record, "\t", "\n");
	pmc_out_char(out, '\n');
}

static void put_line(struct trace *trace, const struct trace_point *point,
		     const struct pmc_record *record)
{
	struct pmc_out *out = &trace->rows.out;

	pmc_outf(out,
		 "time_ns=%llu cpu=%u pid=%d tid=%lld event=", (unsigned long long)record->time,
		 record->cpu, (int)record->pid, (long long)tid_of(point, record));
	put_name(out, point->name);
	put_fields(trace, point, record);
	if (trace->stacks)
		pmc_out_str(out, " stack=");
	put_stack(trace, record, "", ";");
	pmc_out_char(out, '\n');
}

/* ---- text --------------------------------------------------------------------------------- */

struct trace_name {
	uint32_t tid;
	bool known;
	char comm[TRACE_NAME_BYTES]; /* "": not known */
	UT_hash_handle hh;
};

/* The name of a thread, NULL: to be read from /proc, if there is none yet. */
static struct trace_name *name_of(struct trace *trace, uint32_t pid, uint32_t tid, const char *comm)
{
	struct pmc_arena *arena = &trace->arena;
	struct trace_name *name;

	HASH_ENTRY(trace->names, tid, &tid, name);
	if (name->known && !comm)
		return name;
	name->known = true;
	if (comm)
		snprintf(name->comm, sizeof(name->comm), "%s", comm);
	else if (!tid)
		strcpy(name->comm, "swapper");
	else if (pmc_file_read(name->comm, sizeof(name->comm), "/proc/%u/task/%u/comm", pid, tid) <
		 0)
		name->comm[0] = '\0';
	name->comm[strcspn(name->comm, "\n")] = '\0';
	return name;
}

void trace_name_take(struct trace *trace, const struct pmc_record *record)
{
	if (trace->rows.format != TRACE_TEXT || trace->summary)
		return;
	if (record->type == PERF_RECORD_COMM)
		(void)name_of(trace, 0, record->comm.tid, record->comm.comm);
	/* A thread begins with the name of the one that starts it. */
	if (record->type == PERF_RECORD_FORK)
		(void)name_of(trace, 0, record->task.tid,
			      name_of(trace, record->task.ppid, record->task.ptid, NULL)->comm);
}

static void put_task(struct trace *trace, const struct trace_point *point,
		     const struct pmc_record *record)
{
	const int64_t tid = tid_of(point, record);
	const char *comm;
	char text[VALUE_BYTES];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	if (point->prev_comm) {
		put_field(&out, point->prev_comm, record);
	} else {
		comm = name_of(trace, record->pid, record->tid, NULL)->comm;
		pmc_utf8_safe(&out, comm[0] ? comm : "?", strlen(comm[0] ? comm : "?"), 0);
	}
	/* An exiting thread has no PID any more. */
	if ((int32_t)record->pid < 0)
		pmc_outf(&out, ":?/%lld", (long long)tid);
	else
		pmc_outf(&out, ":%u/%lld", record->pid, (long long)tid);
	pmc_out_bytes(&trace->rows.out, text, out.len);
	pmc_out_pad(&trace->rows.out, ' ', TASK_COLUMNS - pmc_utf8_columns(text, out.len));
}

static void put_text(struct trace *trace, const struct trace_point *point,
		     const struct pmc_record *record)
{
	struct pmc_out *out = &trace->rows.out;
	const size_t len = strlen(point->name);
	uint64_t us;

	trace->first_ns = trace->first_ns ? trace->first_ns : record->time;
	us = pmc_sub_sat(record->time, trace->first_ns) / 1000;
	pmc_outf(out, "%5llu.%06llu [%03u] ", (unsigned long long)us / 1000000,
		 (unsigned long long)us % 1000000, record->cpu);
	put_task(trace, point, record);
	pmc_out_char(out, ' ');
	put_name(out, point->name);
	pmc_out_pad(out, ' ', len < EVENT_COLUMNS ? (int)(EVENT_COLUMNS - len) : 0);
	if (point->prev_pid || point->syscall || !point->tracepoint)
		put_fields(trace, point, record);
	else
		put_printed(trace, point, record);
	pmc_out_char(out, '\n');
	put_stack(trace, record, "\t", "\n");
	if (trace->stacks)
		pmc_out_char(out, '\n');
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void put_json_integer(struct pmc_json *json, const char *key,
			     const struct pmc_tracepoint_field *field, int64_t value)
{
	if (field->is_signed)
		pmc_json_i64(json, key, value);
	else
		pmc_json_u64(json, key, (uint64_t)value);
}

static void put_json_field(struct pmc_json *json, const struct pmc_tracepoint_field *field,
			   const struct pmc_record *record)
{
	struct pmc_record_span bytes;
	char text[VALUE_BYTES];
	int64_t value;
	size_t n = 0;

	if (pmc_tracepoint_bytes(field, record, &bytes)) {
		pmc_json_null(json, field->name);
	} else if (field->kind == PMC_TRACEPOINT_STRING) {
		if (bytes.size)
			n = strnlen((const char *)bytes.data, bytes.size);
		pmc_json_strn(json, field->name, n ? (const char *)bytes.data : "", n);
	} else if (field->kind == PMC_TRACEPOINT_INTEGER && !field->is_pointer &&
		   !pmc_tracepoint_integer(field, record, &value)) {
		put_json_integer(json, field->name, field, value);
	} else if (field->kind == PMC_TRACEPOINT_ARRAY && !field->is_pointer &&
		   !pmc_tracepoint_length(field, record, &n)) {
		pmc_json_array(json, field->name);
		for (size_t i = 0; i < n; i++)
			if (!pmc_tracepoint_element(field, record, i, &value))
				put_json_integer(json, NULL, field, value);
		pmc_json_array_end(json);
	} else {
		/* Pointers, which exceed the precision of JSON readers, and bytes. */
		pmc_tracepoint_text(field, record, text, sizeof(text));
		pmc_json_str(json, field->name, text);
	}
}

static void put_json(struct trace *trace, const struct trace_point *point,
		     const struct pmc_record *record)
{
	const struct pmc_tracepoint_field *field;
	struct trace_frame_names names;
	struct pmc_json json;

	pmc_json_init(&json, &trace->rows.out);
	pmc_json_object(&json, NULL);
	pmc_json_u64(&json, "time_ns", record->time);
	pmc_json_u64(&json, "cpu", record->cpu);
	pmc_json_i64(&json, "pid", (int32_t)record->pid);
	pmc_json_i64(&json, "tid", tid_of(point, record));
	pmc_json_str(&json, "event", point->name);
	pmc_json_object(&json, "fields");
	for (size_t i = 0; (field = pmc_tracepoint_at(point->tracepoint, i)); i++)
		if (!field->is_common)
			put_json_field(&json, field, record);
	pmc_json_object_end(&json);
	if (trace->stacks) {
		trace_stack_of(trace, record, &names);
		pmc_json_array(&json, "stack");
		trace_stack_json(&json, &names);
		pmc_json_array_end(&json);
	}
	pmc_json_object_end(&json);
	pmc_out_char(&trace->rows.out, '\n');
}

/* ---- records, losses, totals -------------------------------------------------------------- */

void trace_write(struct trace *trace, const struct pmc_record *record)
{
	static const struct trace_point unknown = { .name = "unknown" };
	const struct trace_point *point = trace_point_of(trace, record);

	point = point ? point : &unknown;
	if (trace->rows.format == TRACE_JSON)
		put_json(trace, point, record);
	else if (trace->rows.format == TRACE_FIELDS)
		put_line(trace, point, record);
	else if (trace->rows.format == TRACE_RECORD)
		put_record(trace, point, record);
	else
		put_text(trace, point, record);
}

void trace_write_loss(struct trace *trace, const struct ring *ring, uint64_t lost)
{
	if (trace->summary)
		return;
	if (trace->rows.format == TRACE_JSON)
		pmc_outf(&trace->rows.out, "{\"lost\":%llu,\"cpu\":%d}\n", (unsigned long long)lost,
			 ring->cpu);
	else if (trace->rows.format == TRACE_FIELDS)
		pmc_outf(&trace->rows.out, "lost=%llu cpu=%d\n", (unsigned long long)lost,
			 ring->cpu);
}

static void put_totals(struct pmc_out *out, const struct trace *trace, uint64_t records,
		       uint64_t lost)
{
	pmc_outf(out, "pmctl trace: %llu record%s, %llu lost", (unsigned long long)records,
		 records == 1 ? "" : "s", (unsigned long long)lost);
	if (trace->rings.late)
		pmc_outf(out, ", %llu out of order", (unsigned long long)trace->rings.late);
	pmc_out_char(out, '\n');
	for (unsigned r = 0; r < trace->rings.n; r++)
		if (trace->rings.list[r].lost)
			pmc_outf(out, "  CPU %d: %llu record%s, %llu lost\n",
				 trace->rings.list[r].cpu,
				 (unsigned long long)trace->rings.list[r].records,
				 trace->rings.list[r].records == 1 ? "" : "s",
				 (unsigned long long)trace->rings.list[r].lost);
}

static void put_json_totals(struct pmc_out *out, const struct trace *trace, uint64_t records,
			    uint64_t lost)
{
	struct pmc_json json;

	pmc_json_init(&json, out);
	pmc_json_object(&json, NULL);
	pmc_json_bool(&json, "summary", true);
	pmc_json_u64(&json, "records", records);
	pmc_json_u64(&json, "lost", lost);
	pmc_json_u64(&json, "late", trace->rings.late);
	if (trace->summary)
		pmc_json_u64(&json, "asleep", trace->summary->asleep);
	pmc_json_array(&json, "cpus");
	for (unsigned r = 0; r < trace->rings.n; r++) {
		pmc_json_object(&json, NULL);
		pmc_json_i64(&json, "cpu", trace->rings.list[r].cpu);
		pmc_json_u64(&json, "records", trace->rings.list[r].records);
		pmc_json_u64(&json, "lost", trace->rings.list[r].lost);
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	pmc_json_object_end(&json);
	pmc_out_char(out, '\n');
}

uint64_t trace_lost(const struct trace *trace)
{
	uint64_t lost = 0;

	for (unsigned r = 0; r < trace->rings.n; r++)
		lost += trace->rings.list[r].lost;
	return lost;
}

void trace_write_totals(const struct trace *trace)
{
	const uint64_t lost = trace_lost(trace);
	char room[4096];
	struct pmc_out out;
	uint64_t records = 0;

	for (unsigned r = 0; r < trace->rings.n; r++)
		records += trace->rings.list[r].records;
	pmc_out_to_fd(&out, STDERR_FILENO, room, sizeof(room));
	if (trace->rows.format == TRACE_JSON)
		put_json_totals(&out, trace, records, lost);
	else
		put_totals(&out, trace, records, lost);
	(void)pmc_out_flush(&out);
}
