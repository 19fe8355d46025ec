/* SPDX-License-Identifier: MIT */
/*
 * go.c - functions and lines of a Go program, from the table that its run time has for stack
 * traces (.gopclntab), which stays in stripped files.
 *
 * The table is read as Go 1.2 and later write it for 64-bit CPUs (src/debug/gosym/pclntab.go and
 * src/runtime/symtab.go of Go): a header, names, source files, and for each function a structure
 * whose lists of varints map code to lines. Functions that were inlined are not looked up. All
 * offsets are as found in the file: each is checked where bytes are read.
 */
#include "tools/symbol/elf.h"
#include "tools/symbol/private.h"

#include <elfutils/libdwfl.h>
#include <string.h>

struct go_table {
	const uint8_t *data; /* from the header on, which all offsets are relative to */
	size_t bytes;
	enum { GO_2, GO_16, GO_18 } version; /* Go 1.2, 1.16, or 1.18 and later */
	unsigned word;			     /* bytes of the numbers in the list of functions */
	uint8_t quantum;		     /* bytes of the smallest instruction */
	uint64_t text;			     /* code that starts of functions are relative to */
	uint64_t n;			     /* functions */
	uint64_t list, functions, names, units, files, lines;
};

/* 0 outside the table. */
static uint64_t number(const struct go_table *go, uint64_t at, unsigned bytes)
{
	uint64_t value = 0;

	if (at <= go->bytes && go->bytes - at >= bytes)
		memcpy(&value, go->data + at, bytes);
	return value;
}

static const char *text(const struct go_table *go, uint64_t at)
{
	const size_t left = at < go->bytes ? go->bytes - at : 0;
	const size_t most = left < SYMBOL_NAME_MOST ? left : SYMBOL_NAME_MOST;

	return most && memchr(go->data + at, '\0', most) ? (const char *)go->data + at : NULL;
}

/* ---- where the table is --------------------------------------------------------------------- */

/* A number as the loader leaves it there: in a file that may be loaded anywhere, addresses are in
 * the relocations only. */
static uint64_t loaded(Elf *elf, uint64_t in_file, uint64_t address)
{
	GElf_Shdr header;
	Elf_Scn *scn = symbol_section(elf, ".rela.dyn", &header);
	Elf_Data *list = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Rela rela;

	for (size_t i = 0; list && header.sh_entsize && i < list->d_size / header.sh_entsize; i++)
		if (gelf_getrela(list, (int)i, &rela) && rela.r_offset == address)
			return (uint64_t)rela.r_addend;
	return in_file;
}

/* Where Go's code begins: in the header; since Go 1.26 in the description of the module; C code of
 * the program may come before it. */
static uint64_t find_text(Elf *elf, const struct go_table *go, uint64_t address)
{
	enum { IN_HEADER = 24, FIRST_CODE = 20 * 8, IN_MODULE = 22 * 8 };
	uint64_t start = loaded(elf, number(go, IN_HEADER, 8), address + IN_HEADER);
	struct go_table module = { .data = NULL };
	GElf_Shdr header;
	Elf_Scn *scn = start ? NULL : symbol_section(elf, ".go.module", &header);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	if (data && data->d_buf) {
		module.data = data->d_buf;
		module.bytes = data->d_size;
		start = loaded(elf, number(&module, IN_MODULE, 8), header.sh_addr + IN_MODULE);
		/* Another version may describe modules otherwise. */
		if (loaded(elf, number(&module, FIRST_CODE, 8), header.sh_addr + FIRST_CODE) !=
		    start + number(go, go->list, go->word))
			start = 0;
	}
	return start || !symbol_section(elf, ".text", &header) ? start : header.sh_addr;
}

/* False: there is no table. */
static bool read_header(struct go_table *go)
{
	enum { FIRST = 8, WORD = 8 };
	const uint8_t quantum = go->bytes < FIRST ? 0 : go->data[6];
	uint64_t last; /* of the offsets */

	switch (number(go, 0, 4)) {
	case 0xfffffffb:
		go->version = GO_2;
		break;
	case 0xfffffffa:
		go->version = GO_16;
		break;
	case 0xfffffff0:
	case 0xfffffff1:
		go->version = GO_18;
		break;
	default:
		return false;
	}
	if (number(go, 4, 2) || (quantum != 1 && quantum != 4) || go->data[7] != WORD)
		return false;
	go->quantum = quantum;
	go->word = go->version == GO_18 ? 4 : WORD;
	go->n = number(go, FIRST, WORD);
	if (go->version == GO_2) {
		go->list = FIRST + WORD;
	} else {
		last = FIRST + (go->version == GO_18 ? 7 : 6) * WORD;
		go->names = number(go, last - 4 * WORD, WORD);
		go->units = number(go, last - 3 * WORD, WORD);
		go->files = number(go, last - 2 * WORD, WORD);
		go->lines = number(go, last - WORD, WORD);
		go->list = go->functions = number(go, last, WORD);
	}
	/* Each has a start and an offset; the end of the last one follows. */
	if (go->list > go->bytes || go->n >= (go->bytes - go->list) / (2 * go->word))
		return false;
	if (go->version == GO_2)
		go->files = number(go, go->list + (2 * go->n + 1) * WORD, 4);
	return true;
}

static bool find_table(Elf *elf, const char *name, bool anywhere, struct go_table *go)
{
	enum { ALIGNED = 16 };
	GElf_Shdr header;
	Elf_Scn *scn = symbol_section(elf, name, &header);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	for (size_t at = 0; data && data->d_buf && at < data->d_size; at += ALIGNED) {
		*go = (struct go_table){ .data = (const uint8_t *)data->d_buf + at,
					 .bytes = data->d_size - at };
		if (read_header(go)) {
			if (go->version == GO_18)
				go->text = find_text(elf, go, header.sh_addr + at);
			return true;
		}
		if (!anywhere)
			break;
	}
	return false;
}

/* ---- functions ------------------------------------------------------------------------------ */

static uint64_t start_of(const struct go_table *go, uint64_t i)
{
	return go->text + number(go, go->list + 2 * i * go->word, go->word);
}

/* A field behind the start in the structure of a function. */
static uint32_t field_of(const struct go_table *go, uint64_t i, unsigned offset)
{
	const uint64_t at = number(go, go->list + (2 * i + 1) * go->word, go->word);

	return (uint32_t)number(go, go->functions + at + go->word + offset, 4);
}

static const struct go_table *table_of(struct symbols *symbols, struct symbol_module *module)
{
	struct go_table go;
	GElf_Shdr header;
	GElf_Addr bias;
	Elf *elf;

	if (module->has_go || !module->dwfl_module)
		return module->go;
	module->has_go = true;
	elf = dwfl_module_getelf(module->dwfl_module, &bias);
	/* A linker of C may have put the table between other things. */
	if (elf && (find_table(elf, ".gopclntab", false, &go) ||
		    find_table(elf, ".data.rel.ro.gopclntab", false, &go) ||
		    (symbol_section(elf, ".go.buildinfo", &header) &&
		     find_table(elf, ".data.rel.ro", true, &go)))) {
		module->go = pmc_arena_alloc(&symbols->arena, sizeof(*module->go));
		*module->go = go;
	}
	return module->go;
}

void symbol_go_read(struct symbols *symbols, struct symbol_module *module)
{
	const struct go_table *go = table_of(symbols, module);

	for (uint64_t i = 0; go && i < go->n; i++) {
		const char *name = text(go, go->names + field_of(go, i, 0));

		if (name && name[0] && start_of(go, i) < start_of(go, i + 1))
			symbol_list_add(&symbols->arena, &module->table, start_of(go, i),
					start_of(go, i + 1), name);
	}
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* False: the table ends. */
static bool varint(const struct go_table *go, uint64_t *at, uint32_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 32 && *at < go->bytes; shift += 7) {
		const uint8_t byte = go->data[(*at)++];

		*value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The value at an address by the list at an offset: pairs of how the value changes and for how many
 * instructions it stays. −1: none. */
static int32_t value_at(const struct go_table *go, uint64_t at, uint64_t start, uint64_t address)
{
	uint32_t value = UINT32_MAX, change, length;

	for (uint64_t end = start; end <= address; end += (uint64_t)length * go->quantum) {
		if (!varint(go, &at, &change) || !varint(go, &at, &length) || !length ||
		    (!change && end != start))
			return -1;
		value += change & 1 ? ~(change >> 1) : change >> 1;
	}
	return (int32_t)value;
}

/* The number of the function; the number of functions: none is there. */
static uint64_t find(const struct go_table *go, uint64_t address)
{
	uint64_t low = 0, high = go->n;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (start_of(go, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < start_of(go, low) ? low - 1 : go->n;
}

void symbol_go_line(struct symbols *symbols, const struct symbol_module *module, uint64_t address,
		    struct symbol_frame *frame)
{
	enum { FILES = 16, LINES = 20, UNIT = 28 };
	const struct go_table *go = module->go;
	const uint64_t i = go ? find(go, address) : 0;
	uint64_t entry;
	const char *path;
	int32_t file, line;

	if (!go || i == go->n)
		return;
	file = value_at(go, go->lines + field_of(go, i, FILES), start_of(go, i), address);
	line = value_at(go, go->lines + field_of(go, i, LINES), start_of(go, i), address);
	if (file < 0 || line <= 0)
		return;
	entry = (uint64_t)file;
	if (go->version == GO_2)
		path = text(go, number(go, go->files + 4 * entry, 4));
	else
		path = text(go,
			    go->files +
				    number(go, go->units + 4 * (entry + field_of(go, i, UNIT)), 4));
	if (!path || !*path)
		return;
	frame->file = symbols_text(symbols, path);
	frame->line = (unsigned)line;
}

bool symbols_go_frame(struct symbols *symbols, struct symbol_module *module, uint64_t address,
		      uint64_t *bytes)
{
	enum { STACK = 12 };
	const struct go_table *go;
	int32_t depth;
	uint64_t i;

	symbols_status(symbols, module);
	go = table_of(symbols, module);
	i = go ? find(go, address) : 0;
	if (!go || i == go->n)
		return false;
	depth = value_at(go, go->lines + field_of(go, i, STACK), start_of(go, i), address);
	*bytes = (uint64_t)depth;
	return depth >= 0 && depth % 8 == 0;
}
