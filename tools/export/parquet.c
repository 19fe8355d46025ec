/* SPDX-License-Identifier: MIT */
/*
 * parquet.c - files of Apache Parquet: pages, dictionaries, and their footer in Thrift.
 *
 * Source: the Parquet format 2.10 (parquet.thrift, Encodings.md, LogicalTypes.md), and "Thrift
 * compact protocol encoding". Numbers are little-endian there, as on all hosts of pmctl.
 */
#include "tools/export/parquet.h"
#include "lib/base/hash.h"
#include "lib/base/utf8.h"
#include "tools/export/bytes.h"
#include "tools/rows/zstd.h"

/* A row group with this much text in its dictionaries is complete. */
#define TEXT_MOST (32u << 20)
/* Longer texts have no place in statistics. */
#define STATISTIC_MOST 64

/* ---- compression ---------------------------------------------------------------------------- */

static void compress(const struct export_bytes *from, struct export_bytes *to)
{
	const size_t room = pmc_zstd_bound(from->len);

	to->len = 0;
	to->len = pmc_zstd_compress(export_more(to, room), room, from->data, from->len);
	/* With enough room nothing but memory can be missing. */
	if (!to->len)
		pmc_arena_exhausted();
}

/* ---- Thrift, compact protocol --------------------------------------------------------------- */

enum { THRIFT_TRUE = 1, THRIFT_FALSE, THRIFT_I8, THRIFT_I32 = 5, THRIFT_I64, THRIFT_BINARY = 8 };
enum { THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

struct thrift {
	struct export_bytes to;
	unsigned depth;
	unsigned last[8]; /* field of each open struct; its fields come in order */
};

static void thrift_field(struct thrift *thrift, unsigned id, unsigned type)
{
	unsigned *last = &thrift->last[thrift->depth];

	*export_more(&thrift->to, 1) = (uint8_t)((id - *last) << 4 | type);
	*last = id;
}

/* An element of a list has no field. */
static void thrift_open(struct thrift *thrift)
{
	thrift->last[++thrift->depth] = 0;
}

static void thrift_close(struct thrift *thrift)
{
	*export_more(&thrift->to, 1) = 0;
	thrift->depth--;
}

static void thrift_struct(struct thrift *thrift, unsigned id)
{
	thrift_field(thrift, id, THRIFT_STRUCT);
	thrift_open(thrift);
}

static void thrift_empty(struct thrift *thrift, unsigned id)
{
	thrift_struct(thrift, id);
	thrift_close(thrift);
}

/* No number in Parquet's structs is negative: zigzag doubles them. */
static void thrift_i32(struct thrift *thrift, unsigned id, uint32_t value)
{
	thrift_field(thrift, id, THRIFT_I32);
	export_varint(&thrift->to, (uint64_t)value << 1);
}

static void thrift_i64(struct thrift *thrift, unsigned id, uint64_t value)
{
	thrift_field(thrift, id, THRIFT_I64);
	export_varint(&thrift->to, value << 1);
}

static void thrift_bool(struct thrift *thrift, unsigned id, bool value)
{
	thrift_field(thrift, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

static void thrift_bytes(struct thrift *thrift, unsigned id, const void *bytes, size_t len)
{
	thrift_field(thrift, id, THRIFT_BINARY);
	export_varint(&thrift->to, len);
	export_put(&thrift->to, bytes, len);
}

static void thrift_text(struct thrift *thrift, unsigned id, const char *text)
{
	thrift_bytes(thrift, id, text, strlen(text));
}

static void thrift_list(struct thrift *thrift, unsigned id, unsigned type, size_t n)
{
	thrift_field(thrift, id, THRIFT_LIST);
	*export_more(&thrift->to, 1) = (uint8_t)((n < 15 ? n : 15) << 4 | type);
	if (n >= 15)
		export_varint(&thrift->to, n);
}

/* ---- types ---------------------------------------------------------------------------------- */

enum { BOOLEAN = 0, INT32 = 1, INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6 };
enum { UTF8 = 0, TIMESTAMP_MILLIS = 9, UINT_32 = 13, UINT_64 = 14, NO_CONVERTED = 255 };
enum { LOGICAL_STRING = 1, LOGICAL_TIMESTAMP = 8, LOGICAL_INTEGER = 10 };
enum { PLAIN = 0, RLE = 3, RLE_DICTIONARY = 8 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { ZSTD = 6, OPTIONAL = 1 };

static const struct {
	uint8_t physical, converted, bytes;
} types[] = {
	[PARQUET_BOOL] = { BOOLEAN, NO_CONVERTED, 1 },
	[PARQUET_U32] = { INT32, UINT_32, 4 },
	[PARQUET_U64] = { INT64, UINT_64, 8 },
	[PARQUET_DOUBLE] = { DOUBLE, NO_CONVERTED, 8 },
	[PARQUET_TIME] = { INT64, TIMESTAMP_MILLIS, 8 },
	[PARQUET_TEXT] = { BYTE_ARRAY, UTF8, 4 },
};

static void put_logical(struct thrift *thrift, enum parquet_type type)
{
	thrift_struct(thrift, 10);
	if (type == PARQUET_TEXT) {
		thrift_empty(thrift, LOGICAL_STRING);
	} else if (type == PARQUET_TIME) {
		thrift_struct(thrift, LOGICAL_TIMESTAMP);
		thrift_bool(thrift, 1, true); /* adjusted to UTC */
		thrift_struct(thrift, 2);
		thrift_empty(thrift, 1); /* milliseconds */
		thrift_close(thrift);
		thrift_close(thrift);
	} else {
		thrift_struct(thrift, LOGICAL_INTEGER);
		thrift_field(thrift, 1, THRIFT_I8);
		*export_more(&thrift->to, 1) = (uint8_t)(8 * types[type].bytes);
		thrift_bool(thrift, 2, false); /* signed */
		thrift_close(thrift);
	}
	thrift_close(thrift);
}

/* ---- columns -------------------------------------------------------------------------------- */

struct text {
	uint32_t number; /* in the dictionary */
	UT_hash_handle hh;
	char bytes[]; /* with a NUL behind them; they have none */
};

struct chunk {
	/* Of rows with one, as a page has them; of texts their numbers, 4 bytes each. */
	struct export_bytes values;
	uint32_t n;			 /* values */
	uint8_t known[PARQUET_ROWS / 8]; /* a bit for each row */
	uint64_t least, greatest;
	struct pmc_arena arena; /* of the texts */
	struct text *texts, *last;
};

struct parquet {
	const struct parquet_column *columns;
	unsigned n_columns;
	struct chunk *chunks;
	uint32_t rows;		   /* of the row group */
	size_t text_bytes;	   /* in its dictionaries */
	uint64_t all_rows, offset; /* of the file */
	uint32_t n_groups;
	struct pmc_out *out;
	struct thrift groups; /* descriptions of row groups, for the footer */
	struct thrift header; /* of a page; then the footer */
	struct export_bytes page, packed, safe;
};

/* Most texts are that of the row before. */
static uint32_t number_of(struct parquet *parquet, struct chunk *chunk, const char *bytes,
			  size_t len)
{
	struct pmc_arena *arena = &chunk->arena;
	struct text *text = chunk->last;

	if (text && text->hh.keylen == len && !memcmp(text->bytes, bytes, len))
		return text->number;
	HASH_FIND(hh, chunk->texts, bytes, len, text);
	if (!text) {
		text = pmc_arena_alloc(arena, sizeof(*text) + len + 1);
		text->number = HASH_COUNT(chunk->texts);
		memcpy(text->bytes, bytes, len);
		HASH_ADD_KEYPTR(hh, chunk->texts, text->bytes, len, text);
		parquet->text_bytes += sizeof(uint32_t) + len;
	}
	chunk->last = text;
	return text->number;
}

static bool is_printable(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && text[i] >= 0x20 && text[i] < 0x7f)
		i++;
	return i == len;
}

/* Readers refuse what is no UTF-8, and print everything else. */
static uint32_t take_text(struct parquet *parquet, struct chunk *chunk, const char *text,
			  size_t len)
{
	struct export_bytes *safe = &parquet->safe;
	struct pmc_out out;

	if (!is_printable(text, len)) {
		/* An escape takes up to ten bytes. */
		safe->len = 0;
		export_more(safe, 10 * len + 1);
		pmc_out_to_mem(&out, (char *)safe->data, safe->len);
		pmc_utf8_safe(&out, text, len, 0);
		text = (const char *)safe->data;
		len = out.len;
	}
	return number_of(parquet, chunk, text, len);
}

static void put_number(struct chunk *chunk, uint64_t value, size_t bytes)
{
	export_put(&chunk->values, &value, sizeof(value));
	chunk->values.len -= sizeof(value) - bytes;
}

static void put_bit(struct chunk *chunk, uint64_t value)
{
	if (chunk->n % 8 == 0)
		*export_more(&chunk->values, 1) = 0;
	chunk->values.data[chunk->n / 8] |= (uint8_t)(value << chunk->n % 8);
}

static void take_value(struct parquet *parquet, unsigned column, const struct parquet_value *value)
{
	const enum parquet_type type = parquet->columns[column].type;
	struct chunk *chunk = &parquet->chunks[column];
	uint8_t *known = &chunk->known[parquet->rows / 8];
	uint64_t bits = value->number;

	*known = (uint8_t)((parquet->rows % 8 ? *known : 0) | value->known << parquet->rows % 8);
	if (!value->known)
		return;
	if (type == PARQUET_TEXT)
		bits = take_text(parquet, chunk, value->text, value->number);
	else if (type == PARQUET_DOUBLE)
		memcpy(&bits, &value->real, sizeof(bits));
	if (!chunk->n || bits < chunk->least)
		chunk->least = bits;
	if (!chunk->n || bits > chunk->greatest)
		chunk->greatest = bits;
	if (type == PARQUET_BOOL)
		put_bit(chunk, bits);
	else
		put_number(chunk, bits, types[type].bytes);
	chunk->n++;
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* Numbers of texts as a run of packed bits, in groups of eight; what is missing in the last group
 * is 0. */
static void put_texts(struct export_bytes *to, const struct chunk *chunk)
{
	const uint32_t last = HASH_COUNT(chunk->texts) - 1, groups = (chunk->n + 7) / 8;
	const unsigned width = last ? 32 - (unsigned)__builtin_clz(last) : 1;
	uint64_t bits = 0;
	unsigned have = 0;
	uint8_t *at;

	*export_more(to, 1) = (uint8_t)width;
	export_varint(to, (uint64_t)groups << 1 | 1);
	at = export_more(to, (size_t)groups * width);
	for (uint32_t i = 0; i < 8 * groups; i++) {
		uint32_t word = 0;

		if (i < chunk->n)
			memcpy(&word, chunk->values.data + i * sizeof(word), sizeof(word));
		bits |= (uint64_t)word << have;
		for (have += width; have >= 8; have -= 8, bits >>= 8)
			*at++ = (uint8_t)bits;
	}
}

/* Which rows have a value, as one run or a bit each, and the values. */
static void make_page(struct parquet *parquet, const struct chunk *chunk)
{
	const uint32_t groups = (parquet->rows + 7) / 8;
	struct export_bytes *page = &parquet->page;
	uint32_t len;

	page->len = 0;
	export_more(page, sizeof(len));
	if (chunk->n == parquet->rows) {
		export_varint(page, (uint64_t)parquet->rows << 1);
		*export_more(page, 1) = 1;
	} else {
		export_varint(page, (uint64_t)groups << 1 | 1);
		export_put(page, chunk->known, groups);
	}
	len = (uint32_t)(page->len - sizeof(len));
	memcpy(page->data, &len, sizeof(len));
	if (chunk->texts)
		put_texts(page, chunk);
	else
		export_put(page, chunk->values.data, chunk->values.len);
}

/* Where pages of a column are, and their size. */
struct extent {
	uint64_t dictionary, data;
	uint64_t raw, packed;
};

static void put_page(struct parquet *parquet, unsigned type, uint32_t n, unsigned encoding,
		     struct extent *extent)
{
	struct thrift *header = &parquet->header;

	compress(&parquet->page, &parquet->packed);
	header->to.len = 0;
	thrift_open(header);
	thrift_i32(header, 1, type);
	thrift_i32(header, 2, (uint32_t)parquet->page.len);
	thrift_i32(header, 3, (uint32_t)parquet->packed.len);
	thrift_struct(header, type == DATA_PAGE ? 5 : 7);
	thrift_i32(header, 1, n);
	thrift_i32(header, 2, encoding);
	if (type == DATA_PAGE) {
		thrift_i32(header, 3, RLE); /* definition levels */
		thrift_i32(header, 4, RLE); /* repetition levels */
	}
	thrift_close(header);
	thrift_close(header);
	pmc_out_bytes(parquet->out, (const char *)header->to.data, header->to.len);
	pmc_out_bytes(parquet->out, (const char *)parquet->packed.data, parquet->packed.len);
	extent->raw += header->to.len + parquet->page.len;
	extent->packed += header->to.len + parquet->packed.len;
}

/* ---- row groups ----------------------------------------------------------------------------- */

/* A text of the statistics; NULL: there is none, or one is too long. */
static const char *extreme(const struct chunk *chunk, bool greatest)
{
	const struct text *most = chunk->texts;

	for (const struct text *at = most; at; at = at->hh.next) {
		if (at->hh.keylen > STATISTIC_MOST)
			return NULL;
		if ((strcmp(at->bytes, most->bytes) > 0) == greatest)
			most = at;
	}
	return most ? most->bytes : NULL;
}

static void put_statistics(struct parquet *parquet, const struct chunk *chunk,
			   enum parquet_type type)
{
	struct thrift *groups = &parquet->groups;
	const char *greatest = extreme(chunk, true);

	thrift_struct(groups, 12);
	thrift_i64(groups, 3, parquet->rows - chunk->n);
	if (greatest) {
		thrift_text(groups, 5, greatest);
		thrift_text(groups, 6, extreme(chunk, false));
	} else if (type != PARQUET_TEXT && chunk->n) {
		thrift_bytes(groups, 5, &chunk->greatest, types[type].bytes);
		thrift_bytes(groups, 6, &chunk->least, types[type].bytes);
	}
	thrift_close(groups);
}

/* Returns its size without compression. */
static uint64_t put_chunk(struct parquet *parquet, unsigned column)
{
	const enum parquet_type type = parquet->columns[column].type;
	struct chunk *chunk = &parquet->chunks[column];
	const bool texts = chunk->texts;
	struct extent extent = { .dictionary = parquet->offset };
	struct thrift *groups = &parquet->groups;

	if (texts) {
		parquet->page.len = 0;
		for (const struct text *at = chunk->texts; at; at = at->hh.next) {
			const uint32_t len = at->hh.keylen;

			export_put(&parquet->page, &len, sizeof(len));
			export_put(&parquet->page, at->bytes, len);
		}
		put_page(parquet, DICTIONARY_PAGE, HASH_COUNT(chunk->texts), PLAIN, &extent);
	}
	extent.data = parquet->offset + extent.packed;
	make_page(parquet, chunk);
	put_page(parquet, DATA_PAGE, parquet->rows, texts ? RLE_DICTIONARY : PLAIN, &extent);

	thrift_open(groups);
	thrift_i64(groups, 2, 0); /* deprecated */
	thrift_struct(groups, 3);
	thrift_i32(groups, 1, types[type].physical);
	thrift_list(groups, 2, THRIFT_I32, texts ? 3 : 2);
	export_varint(&groups->to, PLAIN << 1);
	export_varint(&groups->to, RLE << 1);
	if (texts)
		export_varint(&groups->to, RLE_DICTIONARY << 1);
	thrift_list(groups, 3, THRIFT_BINARY, 1);
	export_varint(&groups->to, strlen(parquet->columns[column].name));
	export_put(&groups->to, parquet->columns[column].name,
		   strlen(parquet->columns[column].name));
	thrift_i32(groups, 4, ZSTD);
	thrift_i64(groups, 5, parquet->rows);
	thrift_i64(groups, 6, extent.raw);
	thrift_i64(groups, 7, extent.packed);
	thrift_i64(groups, 9, extent.data);
	if (texts)
		thrift_i64(groups, 11, extent.dictionary);
	put_statistics(parquet, chunk, type);
	thrift_close(groups);
	thrift_close(groups);
	parquet->offset += extent.packed;
	return extent.raw;
}

static void end_group(struct parquet *parquet)
{
	const uint64_t from = parquet->offset;
	struct thrift *groups = &parquet->groups;
	uint64_t raw = 0;

	if (!parquet->rows)
		return;
	thrift_open(groups);
	thrift_list(groups, 1, THRIFT_STRUCT, parquet->n_columns);
	for (unsigned i = 0; i < parquet->n_columns; i++)
		raw += put_chunk(parquet, i);
	thrift_i64(groups, 2, raw);
	thrift_i64(groups, 3, parquet->rows);
	thrift_i64(groups, 5, from);
	thrift_i64(groups, 6, parquet->offset - from);
	thrift_close(groups);
	parquet->all_rows += parquet->rows;
	parquet->n_groups++;
	parquet->rows = 0;
	parquet->text_bytes = 0;
	for (unsigned i = 0; i < parquet->n_columns; i++) {
		struct chunk *chunk = &parquet->chunks[i];

		chunk->n = 0;
		chunk->values.len = 0;
		chunk->texts = chunk->last = NULL;
		pmc_arena_free(&chunk->arena);
	}
}

void parquet_row(struct parquet *parquet, const void *row)
{
	for (unsigned i = 0; i < parquet->n_columns; i++) {
		const struct parquet_value value = parquet->columns[i].value(row);

		take_value(parquet, i, &value);
	}
	if (++parquet->rows == PARQUET_ROWS || parquet->text_bytes > TEXT_MOST)
		end_group(parquet);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Memory that is not used is not touched. */
struct parquet *parquet_new(struct pmc_arena *arena, const struct parquet_column *columns,
			    unsigned n)
{
	struct parquet *parquet = pmc_arena_alloc(arena, sizeof(*parquet));

	*parquet = (struct parquet){ .columns = columns, .n_columns = n };
	parquet->chunks = pmc_arena_alloc(arena, n * sizeof(*parquet->chunks));
	return parquet;
}

void parquet_free(struct parquet *parquet)
{
	if (!parquet)
		return;
	for (unsigned i = 0; i < parquet->n_columns; i++) {
		pmc_arena_free(&parquet->chunks[i].arena);
		free(parquet->chunks[i].values.data);
	}
	free(parquet->groups.to.data);
	free(parquet->header.to.data);
	free(parquet->page.data);
	free(parquet->packed.data);
	free(parquet->safe.data);
}

static const char magic[] = { 'P', 'A', 'R', '1' };

void parquet_begin(struct parquet *parquet, struct pmc_out *out)
{
	parquet->out = out;
	parquet->all_rows = 0;
	parquet->n_groups = 0;
	parquet->groups.to.len = 0;
	parquet->offset = sizeof(magic);
	pmc_out_bytes(out, magic, sizeof(magic));
}

static void put_schema(struct thrift *footer, const struct parquet_column *columns, unsigned n)
{
	thrift_list(footer, 2, THRIFT_STRUCT, n + 1);
	thrift_open(footer);
	thrift_text(footer, 4, "schema");
	thrift_i32(footer, 5, n);
	thrift_close(footer);
	for (unsigned i = 0; i < n; i++) {
		const enum parquet_type type = columns[i].type;

		thrift_open(footer);
		thrift_i32(footer, 1, types[type].physical);
		thrift_i32(footer, 3, OPTIONAL);
		thrift_text(footer, 4, columns[i].name);
		if (types[type].converted != NO_CONVERTED) {
			thrift_i32(footer, 6, types[type].converted);
			put_logical(footer, type);
		}
		thrift_close(footer);
	}
}

void parquet_end(struct parquet *parquet, const char *key, const char *text, size_t len)
{
	struct thrift *footer = &parquet->header;
	uint32_t bytes;

	end_group(parquet);
	footer->to.len = 0;
	thrift_open(footer);
	thrift_i32(footer, 1, 2); /* version */
	put_schema(footer, parquet->columns, parquet->n_columns);
	thrift_i64(footer, 3, parquet->all_rows);
	thrift_list(footer, 4, THRIFT_STRUCT, parquet->n_groups);
	export_put(&footer->to, parquet->groups.to.data, parquet->groups.to.len);
	if (key) {
		thrift_list(footer, 5, THRIFT_STRUCT, 1);
		thrift_open(footer);
		thrift_text(footer, 1, key);
		thrift_bytes(footer, 2, text, len);
		thrift_close(footer);
	}
	thrift_text(footer, 6, "pmctl version " PMC_VERSION);
	/* Order of the least and greatest values: that of the types. */
	thrift_list(footer, 7, THRIFT_STRUCT, parquet->n_columns);
	for (unsigned i = 0; i < parquet->n_columns; i++) {
		thrift_open(footer);
		thrift_empty(footer, 1);
		thrift_close(footer);
	}
	thrift_close(footer);
	bytes = (uint32_t)footer->to.len;
	pmc_out_bytes(parquet->out, (const char *)footer->to.data, footer->to.len);
	pmc_out_bytes(parquet->out, (const char *)&bytes, sizeof(bytes));
	pmc_out_bytes(parquet->out, magic, sizeof(magic));
	pmc_out_flush(parquet->out);
}
