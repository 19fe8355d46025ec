/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.c - tracepoints: loading from tracefs, parsing formats, fields, values in samples.
 *
 * A dynamic field holds its position as two 16-bit halves: the offset of the data, counted from the
 * start of the record (__data_loc) or from the end of the field (__rel_loc), and above it the
 * number of bytes; include/trace/stages/stage6_event_callback.h.
 */
#include "lib/base/arena.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "lib/counter/counter.h"
#include "lib/event/source.h"

#include <errno.h>
#include <pmc/tracepoint.h>
#include <stdlib.h>
#include <string.h>

struct pmc_tracepoint {
	struct pmc_arena arena; /* of the fields and strings */
	uint64_t id;
	const char *system, *name, *print_format;
	struct pmc_tracepoint_field *fields;
	size_t count, room;
};

/* ---- types --------------------------------------------------------------------------------*/

static bool starts(struct event_span span, const char *word)
{
	size_t len = strlen(word);

	return span.len >= len && !memcmp(span.at, word, len);
}

static struct event_span without(struct event_span span, const char *word)
{
	return starts(span, word) ? event_trim(event_skip(span, strlen(word))) : span;
}

/* The size of an element type of a dynamic array, which the format does not give: u8, __s16,
 * int32_t, and the names of C and of the kernel. */
static unsigned bytes_of(struct event_span type)
{
	static const struct {
		const char *type;
		unsigned bytes;
	} names[] = {
		{ "char", 1 },
		{ "bool", 1 },
		{ "short", 2 },
		{ "int", 4 },
		{ "", 4 },
		{ "pid_t", 4 },
		{ "dev_t", 4 },
		{ "long long", 8 },
		{ "dma_addr_t", 8 },
		{ "long", sizeof(long) },
		{ "size_t", sizeof(long) },
		{ "cpumask_t", sizeof(long) },
	};
	const bool has_sign = starts(type, "unsigned") || starts(type, "signed ");
	struct event_span rest = without(without(without(type, "__"), "unsigned"), "signed ");
	uint64_t bits;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (event_span_is(rest, names[i].type) && (rest.len || has_sign))
			return names[i].bytes;
	rest = without(without(without(without(rest, "u"), "s"), "int"), "__");
	if (rest.len > 2 && !memcmp(rest.at + rest.len - 2, "_t", 2))
		rest.len -= 2;
	return event_number(rest, &bits) && bits <= 64 ? (unsigned)bits / 8 : 0;
}

static bool is_integer_size(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* The kind of a field of this base type; is_array: [] behind the name or the type. */
static void set_kind(struct pmc_tracepoint_field *field, struct event_span base, bool is_array,
		     uint64_t elements)
{
	bool is_struct = starts(base, "struct ") || starts(base, "union ");

	base = without(without(base, "const "), "volatile ");
	/* A bitmap of CPUs is declared without []. */
	is_array |= field->is_dynamic;
	field->is_pointer = event_has(base, '*') && !is_array;
	if (!is_array && is_integer_size(field->size) && (!is_struct || field->is_pointer)) {
		field->kind = PMC_TRACEPOINT_INTEGER;
		field->element_bytes = field->size;
	} else if (is_array && event_span_is(base, "char")) {
		field->kind = PMC_TRACEPOINT_STRING;
		field->element_bytes = 1;
	} else if (is_array && !is_struct) {
		field->element_bytes = bytes_of(base);
		if (!field->is_dynamic && elements && field->size % elements == 0)
			field->element_bytes = field->size / (uint32_t)elements;
		field->kind = is_integer_size(field->element_bytes) ? PMC_TRACEPOINT_ARRAY :
								      PMC_TRACEPOINT_BYTES;
	}
	if (field->kind == PMC_TRACEPOINT_BYTES)
		field->element_bytes = 0;
}

/* ---- declarations -------------------------------------------------------------------------*/

/* "char prev_comm[16]", "__data_loc char[] msg", "const char * filename". */
static int set_declaration(struct pmc_tracepoint *tracepoint, struct pmc_tracepoint_field *field,
			   struct event_span text)
{
	struct event_span base, name, array = { NULL, 0 };
	uint64_t elements = 0;
	size_t end = text.len;

	if (end && text.at[end - 1] == ']') {
		while (end && text.at[end - 1] != '[')
			end--;
		if (!end)
			return -EPROTO;
		end--;
		array = (struct event_span){ text.at + end, text.len - end };
		event_number((struct event_span){ array.at + 1, array.len - 2 }, &elements);
	}
	name = (struct event_span){ text.at + end, 0 };
	while (name.at > text.at && (pmc_is_alnum(name.at[-1]) || name.at[-1] == '_')) {
		name.at--;
		name.len++;
	}
	base = event_trim((struct event_span){ text.at, (size_t)(name.at - text.at) });
	if (!name.len || !base.len)
		return -EPROTO;
	field->name = pmc_arena_strndup(&tracepoint->arena, name.at, name.len);
	field->type = pmc_arena_format(&tracepoint->arena, "%.*s%.*s", (int)base.len, base.at,
				       (int)array.len, array.at);
	if (!field->name || !field->type)
		return -ENOMEM;
	field->is_dynamic =
		field->size == 4 && (starts(base, "__data_loc ") || starts(base, "__rel_loc "));
	base = without(without(base, "__data_loc "), "__rel_loc ");
	if (base.len > 2 && !memcmp(base.at + base.len - 2, "[]", 2)) {
		base.len -= 2;
		array.len = 2;
	}
	set_kind(field, event_trim(base), array.len != 0, elements);
	field->is_common = !strncmp(field->name, "common_", 7);
	return 0;
}

static const char *copy(struct pmc_tracepoint *tracepoint, struct event_span text)
{
	return pmc_arena_strndup(&tracepoint->arena, text.at, text.len);
}

/* The number of "word:NUMBER". */
static bool take_number(struct event_span *rest, const char *word, uint64_t *value)
{
	struct event_span item = event_trim(event_split(rest, ';'));

	return starts(item, word) && event_number(event_skip(item, strlen(word)), value);
}

static int add_field(struct pmc_tracepoint *tracepoint, struct event_span line)
{
	struct event_span declaration = event_trim(event_split(&line, ';'));
	struct pmc_tracepoint_field *fields, *field;
	uint64_t offset, size, is_signed = 0;
	int error;

	if (!line.at || !take_number(&line, "offset:", &offset) || !line.at ||
	    !take_number(&line, "size:", &size) || offset > UINT16_MAX || size > UINT16_MAX)
		return -EPROTO;
	if (line.at)
		take_number(&line, "signed:", &is_signed);
	fields = pmc_arena_grow(&tracepoint->arena, tracepoint->fields, tracepoint->count,
				&tracepoint->room, sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	tracepoint->fields = fields;
	field = &fields[tracepoint->count];
	*field = (struct pmc_tracepoint_field){ .offset = (uint32_t)offset,
						.size = (uint32_t)size,
						.is_signed = is_signed };
	error = set_declaration(tracepoint, field, event_skip(declaration, strlen("field:")));
	tracepoint->count += !error;
	return error;
}

/* Fills an empty tracepoint from the text of a format file. 0, -EPROTO with *line_number the number
 * of the line that cannot be parsed (0: a part is missing), or -ENOMEM. */
static int parse_format(struct pmc_tracepoint *tracepoint, const char *text, size_t size,
			unsigned *line_number)
{
	struct event_span rest = { text, size };
	bool has_id = false;
	unsigned number = 0;

	*line_number = 0;
	tracepoint->print_format = "";
	while (rest.at) {
		struct event_span line = event_trim(event_split(&rest, '\n'));
		int error = 0;

		number++;
		if (starts(line, "name:")) {
			tracepoint->name = copy(tracepoint, without(line, "name:"));
		} else if (starts(line, "ID:")) {
			has_id = event_number(without(line, "ID:"), &tracepoint->id);
			error = has_id ? 0 : -EPROTO;
		} else if (starts(line, "print fmt:")) {
			tracepoint->print_format = copy(tracepoint, without(line, "print fmt:"));
		} else if (starts(line, "field:")) {
			error = add_field(tracepoint, line);
		}
		if (tracepoint->arena.failed)
			return -ENOMEM;
		if (error) {
			*line_number = number;
			return error;
		}
	}
	return has_id && tracepoint->name && tracepoint->count ? 0 : -EPROTO;
}

/* ---- loading ------------------------------------------------------------------------------*/

/* The kernel's largest format files have some 20 KB. */
#define FORMAT_MAX ((size_t)1 << 20)

static int parse(struct pmc_tracepoint **tracepoint, const char *system, const char *text,
		 size_t size, const char *what, struct pmc_failure *failure)
{
	struct pmc_tracepoint *made = calloc(1, sizeof(*made));
	unsigned line = 0;
	int error = -ENOMEM;

	if (made)
		made->system = pmc_arena_strdup(&made->arena, system);
	if (made && made->system)
		error = parse_format(made, text, size, &line);
	if (!error) {
		*tracepoint = made;
		return 0;
	}
	pmc_tracepoint_free(made);
	if (error == -ENOMEM)
		return counter_fail(failure, error, what, "out of memory");
	return counter_fail(failure, error, what,
			    line ? "line %u of the format is not understood; please report it" :
				   "the format lacks its name, ID or fields; please report it",
			    line);
}

int pmc_tracepoint_parse(struct pmc_tracepoint **tracepoint, const char *text, size_t size,
			 struct pmc_failure *failure)
{
	if (!tracepoint)
		return counter_fail(failure, -EINVAL, "tracepoint", "NULL");
	*tracepoint = NULL;
	if (!text)
		return counter_fail(failure, -EINVAL, "text", "NULL");
	return parse(tracepoint, "", text, size, "format", failure);
}

int pmc_tracepoint_load(struct pmc_tracepoint **tracepoint, const char *system, const char *name,
			struct pmc_failure *failure)
{
	const struct pmc_event_roots roots = { 0 };
	struct pmc_counter_event event;
	int error, size = -ENOMEM;
	char *text;

	if (!tracepoint)
		return counter_fail(failure, -EINVAL, "tracepoint", "NULL");
	*tracepoint = NULL;
	if (!system || !name)
		return counter_fail(failure, -EINVAL, system ? "name" : "system", "NULL");
	error = pmc_counter_event_tracepoint(&event, system, name, failure);
	if (error)
		return error;
	text = malloc(FORMAT_MAX);
	if (text)
		size = pmc_file_read(text, FORMAT_MAX, "%s/events/%s/%s/format",
				     event_tracefs(&roots), system, name);
	if (size < 0)
		error = counter_fail(failure, size, name, "cannot read its format file in tracefs");
	else
		error = parse(tracepoint, system, text, (size_t)size, name, failure);
	free(text);
	return error;
}

void pmc_tracepoint_free(struct pmc_tracepoint *tracepoint)
{
	if (!tracepoint)
		return;
	pmc_arena_free(&tracepoint->arena);
	free(tracepoint);
}

/* ---- what it is ---------------------------------------------------------------------------*/

int pmc_tracepoint_event(const struct pmc_tracepoint *tracepoint, struct pmc_counter_event *event)
{
	if (!tracepoint)
		return -EINVAL;
	return pmc_counter_event_tracepoint_id(event, tracepoint->id);
}

const char *pmc_tracepoint_system(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->system : "";
}

const char *pmc_tracepoint_name(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->name : "";
}

uint64_t pmc_tracepoint_id(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->id : 0;
}

const char *pmc_tracepoint_print_format(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->print_format : "";
}

size_t pmc_tracepoint_count(const struct pmc_tracepoint *tracepoint)
{
	return tracepoint ? tracepoint->count : 0;
}

const struct pmc_tracepoint_field *pmc_tracepoint_at(const struct pmc_tracepoint *tracepoint,
						     size_t index)
{
	return tracepoint && index < tracepoint->count ? &tracepoint->fields[index] : NULL;
}

const struct pmc_tracepoint_field *pmc_tracepoint_find(const struct pmc_tracepoint *tracepoint,
						       const char *name)
{
	for (size_t i = 0; tracepoint && name && i < tracepoint->count; i++)
		if (!strcmp(tracepoint->fields[i].name, name))
			return &tracepoint->fields[i];
	return NULL;
}

/* ---- bytes --------------------------------------------------------------------------------*/

static int raw_of(const struct pmc_record *record, struct pmc_record_span *raw)
{
	if (!record || record->type != PERF_RECORD_SAMPLE || !(record->present & PERF_SAMPLE_RAW))
		return -EINVAL;
	*raw = record->sample.raw;
	return 0;
}

static int cut_out(const struct pmc_record_span *raw, uint64_t offset, uint64_t size,
		   struct pmc_record_span *bytes)
{
	if (offset > raw->size || size > raw->size - offset)
		return -EPROTO;
	*bytes = (struct pmc_record_span){ .data = raw->data + offset, .size = size };
	return 0;
}

int pmc_tracepoint_bytes(const struct pmc_tracepoint_field *field, const struct pmc_record *record,
			 struct pmc_record_span *bytes)
{
	struct pmc_record_span raw;
	uint32_t position;
	uint64_t start = 0;
	int error;

	if (!field)
		return -ENOENT;
	error = bytes ? raw_of(record, &raw) : -EINVAL;
	if (!error)
		error = cut_out(&raw, field->offset, field->size, bytes);
	if (error || !field->is_dynamic)
		return error;
	memcpy(&position, bytes->data, sizeof(position));
	if (!strncmp(field->type, "__rel_loc", 9))
		start = (uint64_t)field->offset + field->size;
	return cut_out(&raw, start + (position & 0xffff), position >> 16, bytes);
}

int pmc_tracepoint_of(const struct pmc_record *record, uint64_t *id)
{
	struct pmc_record_span raw;
	uint16_t type; /* common_type */
	int error = id ? raw_of(record, &raw) : -EINVAL;

	if (error)
		return error;
	if (raw.size < sizeof(type))
		return -EPROTO;
	memcpy(&type, raw.data, sizeof(type));
	*id = type;
	return 0;
}

/* ---- integers -----------------------------------------------------------------------------*/

static int64_t integer_at(const unsigned char *data, uint32_t size, bool is_signed)
{
	uint64_t value = 0;
	unsigned unused = 64 - 8 * size;

	memcpy(&value, data, size);
	return is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

/* The bytes of an integer, or of an array of them. */
static int elements(const struct pmc_tracepoint_field *field, const struct pmc_record *record,
		    struct pmc_record_span *bytes)
{
	int error = pmc_tracepoint_bytes(field, record, bytes);

	if (error)
		return error;
	return field->kind == PMC_TRACEPOINT_INTEGER || field->kind == PMC_TRACEPOINT_ARRAY ?
		       0 :
		       -EINVAL;
}

int pmc_tracepoint_integer(const struct pmc_tracepoint_field *field,
			   const struct pmc_record *record, int64_t *value)
{
	if (field && field->kind != PMC_TRACEPOINT_INTEGER)
		return -EINVAL;
	return pmc_tracepoint_element(field, record, 0, value);
}

int pmc_tracepoint_length(const struct pmc_tracepoint_field *field, const struct pmc_record *record,
			  size_t *n)
{
	struct pmc_record_span bytes;
	int error = elements(field, record, &bytes);

	if (error || !n)
		return error ? error : -EINVAL;
	*n = bytes.size / field->element_bytes;
	return 0;
}

int pmc_tracepoint_element(const struct pmc_tracepoint_field *field,
			   const struct pmc_record *record, size_t index, int64_t *value)
{
	struct pmc_record_span bytes;
	int error = elements(field, record, &bytes);

	if (error || !value)
		return error ? error : -EINVAL;
	if (index >= bytes.size / field->element_bytes)
		return -ERANGE;
	*value = integer_at(bytes.data + index * field->element_bytes, field->element_bytes,
			    field->is_signed);
	return 0;
}

/* ---- text ---------------------------------------------------------------------------------*/

static size_t length_of(const struct pmc_record_span *bytes)
{
	return bytes->size ? strnlen((const char *)bytes->data, bytes->size) : 0;
}

int pmc_tracepoint_string(const struct pmc_tracepoint_field *field, const struct pmc_record *record,
			  char *text, size_t size)
{
	struct pmc_record_span bytes;
	struct pmc_out out;
	int error = pmc_tracepoint_bytes(field, record, &bytes);

	if (!text || !size)
		return -EINVAL;
	pmc_out_to_mem(&out, text, size);
	if (error)
		return error;
	if (field->kind != PMC_TRACEPOINT_STRING)
		return -EINVAL;
	pmc_out_bytes(&out, (const char *)bytes.data, length_of(&bytes));
	return out.error;
}

static void put_integer(struct pmc_out *out, const struct pmc_tracepoint_field *field,
			const unsigned char *data)
{
	int64_t value = integer_at(data, field->element_bytes, field->is_signed);

	if (field->is_pointer)
		pmc_outf(out, "0x%llx", (unsigned long long)value);
	else if (field->is_signed)
		pmc_out_i64(out, value);
	else
		pmc_out_u64(out, (uint64_t)value);
}

static int put_value(struct pmc_out *out, const struct pmc_tracepoint_field *field,
		     const struct pmc_record *record)
{
	struct pmc_record_span bytes;
	int error = pmc_tracepoint_bytes(field, record, &bytes);

	if (error)
		return error;
	switch (field->kind) {
	case PMC_TRACEPOINT_INTEGER:
		put_integer(out, field, bytes.data);
		break;
	case PMC_TRACEPOINT_STRING:
		/* A thread's name must not move a terminal's cursor or forge a line. */
		pmc_utf8_safe(out, (const char *)bytes.data, length_of(&bytes), 0);
		break;
	case PMC_TRACEPOINT_ARRAY:
		pmc_out_char(out, '{');
		for (size_t i = 0; i < bytes.size / field->element_bytes; i++) {
			pmc_out_str(out, i ? "," : "");
			put_integer(out, field, bytes.data + i * field->element_bytes);
		}
		pmc_out_char(out, '}');
		break;
	default:
		pmc_out_hex_bytes(out, bytes.data, bytes.size);
	}
	return 0;
}

int pmc_tracepoint_text(const struct pmc_tracepoint_field *field, const struct pmc_record *record,
			char *text, size_t size)
{
	struct pmc_out out;
	int error;

	if (!text || !size)
		return -EINVAL;
	pmc_out_to_mem(&out, text, size);
	error = put_value(&out, field, record);
	return error ? error : out.error;
}

int pmc_tracepoint_print(const struct pmc_tracepoint *tracepoint, const struct pmc_record *record,
			 char *text, size_t size)
{
	struct pmc_out out;

	if (!tracepoint || !text || !size)
		return -EINVAL;
	pmc_out_to_mem(&out, text, size);
	for (size_t i = 0; i < tracepoint->count; i++) {
		const struct pmc_tracepoint_field *field = &tracepoint->fields[i];
		int error;

		if (field->is_common)
			continue;
		pmc_outf(&out, "%s%s=", out.len ? " " : "", field->name);
		error = put_value(&out, field, record);
		if (error)
			return error;
	}
	return out.error;
}
