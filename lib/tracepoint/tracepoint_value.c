/* SPDX-License-Identifier: MIT */
/*
 * tracepoint_value.c - values of fields in the raw data of samples, and as text.
 *
 * A dynamic field holds its position as two 16-bit halves: the offset of the data, counted from the
 * start of the record (__data_loc) or from the end of the field (__rel_loc), and above it the
 * number of bytes; include/trace/stages/stage6_event_callback.h.
 */
#include "lib/tracepoint/tracepoint.h"
#include "lib/base/utf8.h"

#include <errno.h>
#include <string.h>

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

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	memcpy((unsigned char *)&value + 8 - size, data, size);
#else
	memcpy(&value, data, size);
#endif
	return is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static bool has_elements(const struct pmc_tracepoint_field *field)
{
	return field->kind == PMC_TRACEPOINT_INTEGER || field->kind == PMC_TRACEPOINT_ARRAY;
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
	int error = pmc_tracepoint_bytes(field, record, &bytes);

	if (error)
		return error;
	if (!has_elements(field) || !n)
		return -EINVAL;
	*n = bytes.size / field->element_bytes;
	return 0;
}

int pmc_tracepoint_element(const struct pmc_tracepoint_field *field,
			   const struct pmc_record *record, size_t index, int64_t *value)
{
	struct pmc_record_span bytes;
	int error = pmc_tracepoint_bytes(field, record, &bytes);

	if (error)
		return error;
	if (!has_elements(field) || !value)
		return -EINVAL;
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
	int error = pmc_tracepoint_bytes(field, record, &bytes);
	size_t len;

	if (!text || !size)
		return -EINVAL;
	text[0] = '\0';
	if (error)
		return error;
	if (field->kind != PMC_TRACEPOINT_STRING)
		return -EINVAL;
	len = length_of(&bytes);
	memcpy(text, bytes.data, len < size ? len : size - 1);
	text[len < size ? len : size - 1] = '\0';
	return len < size ? 0 : -ENOSPC;
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
