/* SPDX-License-Identifier: MIT */
/* write.c - a record as text, as a line of fields or of JSON; the totals at the end. */
#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "tools/trace/trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define VALUE_BYTES 8192

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

static void put_fields(struct pmc_out *out, const struct trace_point *point,
		       const struct pmc_record *record, bool line)
{
	const struct pmc_tracepoint_field *field;

	for (size_t i = 0; (field = pmc_tracepoint_at(point->tracepoint, i)); i++) {
		if (field->is_common)
			continue;
		pmc_out_str(out, line && is_own_key(field->name) ? " args." : " ");
		put_name(out, field->name);
		pmc_out_char(out, '=');
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

static void put_text(struct trace *trace, const struct trace_point *point,
		     const struct pmc_record *record)
{
	struct pmc_out *out = &trace->rows.out;
	const char *printed;

	pmc_out_str(out, "TID: ");
	pmc_out_i64(out, tid_of(point, record));
	pmc_out_str(out, ", PID: ");
	pmc_out_i64(out, (int32_t)record->pid);
	pmc_out_str(out, "\nTIME: ");
	pmc_out_u64(out, record->time);
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
		printed = trace_print_text(trace->print, point->tracepoint, record);
		if (printed) {
			/* A thread's name must not move a terminal's cursor or forge a line. */
			pmc_out_char(out, ' ');
			pmc_utf8_safe(out, printed, strlen(printed), 0);
		} else {
			put_fields(out, point, record, false);
		}
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
	put_fields(out, point, record, true);
	if (trace->stacks)
		pmc_out_str(out, " stack=");
	put_stack(trace, record, "", ";");
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

	pmc_json_init(&json, &trace->rows.out, false);
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
	else
		put_text(trace, point, record);
}

void trace_write_loss(struct trace *trace, const struct trace_ring *ring, uint64_t lost)
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
	if (trace->late)
		pmc_outf(out, ", %llu out of order", (unsigned long long)trace->late);
	pmc_out_char(out, '\n');
	for (unsigned r = 0; r < trace->n_rings; r++)
		if (trace->rings[r].lost)
			pmc_outf(out, "  CPU %d: %llu record%s, %llu lost\n", trace->rings[r].cpu,
				 (unsigned long long)trace->rings[r].records,
				 trace->rings[r].records == 1 ? "" : "s",
				 (unsigned long long)trace->rings[r].lost);
}

static void put_json_totals(struct pmc_out *out, const struct trace *trace, uint64_t records,
			    uint64_t lost)
{
	struct pmc_json json;

	pmc_json_init(&json, out, false);
	pmc_json_object(&json, NULL);
	pmc_json_bool(&json, "summary", true);
	pmc_json_u64(&json, "records", records);
	pmc_json_u64(&json, "lost", lost);
	pmc_json_u64(&json, "late", trace->late);
	if (trace->summary)
		pmc_json_u64(&json, "asleep", trace->summary->asleep);
	pmc_json_array(&json, "cpus");
	for (unsigned r = 0; r < trace->n_rings; r++) {
		if (!trace->rings[r].used)
			continue;
		pmc_json_object(&json, NULL);
		pmc_json_i64(&json, "cpu", trace->rings[r].cpu);
		pmc_json_u64(&json, "records", trace->rings[r].records);
		pmc_json_u64(&json, "lost", trace->rings[r].lost);
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	pmc_json_object_end(&json);
	pmc_out_char(out, '\n');
}

void trace_write_totals(const struct trace *trace)
{
	char room[4096];
	struct pmc_out out;
	uint64_t records = 0, lost = 0;

	for (unsigned r = 0; r < trace->n_rings; r++) {
		records += trace->rings[r].records;
		lost += trace->rings[r].lost;
	}
	pmc_out_to_fd(&out, STDERR_FILENO, room, sizeof(room));
	if (trace->rows.format == TRACE_JSON)
		put_json_totals(&out, trace, records, lost);
	else
		put_totals(&out, trace, records, lost);
	(void)pmc_out_flush(&out);
}
