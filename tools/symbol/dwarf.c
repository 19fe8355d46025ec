/* SPDX-License-Identifier: MIT */
/*
 * dwarf.c - functions, inlined functions and lines of an address from DWARF.
 *
 * libdw's own search for the functions around an address walks through all of a compile unit each
 * time, which takes milliseconds in C++. Here a unit's functions are listed once.
 */
#include "tools/symbol/private.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <string.h>

/* A compile unit in the list of its module; its functions, which are DIEs, are listed when an
 * address in it is looked up. */
struct unit {
	Dwarf_Die die, lines; /* of a split unit: its content; the skeleton, which has the lines */
	struct symbol_list functions;
	bool listed;
};

struct units {
	struct symbol_list list;
	uint64_t bias;
};

enum { NESTED_MOST = 32, BLOCKS_MOST = 256 };

/* ---- functions of a unit ----------------------------------------------------------------- */

/* The DIE behind this one, on the same level. In a valid file it lies further on; DIEs that refer
 * to earlier ones would make a walk endless. */
static bool next_sibling(Dwarf_Die *die)
{
	const Dwarf_Off was = dwarf_dieoffset(die);
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= was)
		return false;
	*die = next;
	return true;
}

static void add_ranges(struct pmc_arena *arena, struct symbol_list *list, Dwarf_Die *die,
		       const void *of)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start < end)
			symbol_list_add(arena, list, start, end, of);
}

/* Functions stand below the unit, its namespaces and, in some compilers' files, its types. */
static void list_functions(struct pmc_arena *arena, struct unit *unit, Dwarf_Die *parent,
			   unsigned depth)
{
	Dwarf_Die die, *kept;

	if (depth > NESTED_MOST || dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			kept = pmc_arena_alloc(arena, sizeof(*kept));
			*kept = die;
			add_ranges(arena, &unit->functions, &die, kept);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			list_functions(arena, unit, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (next_sibling(&die));
}

static const Dwarf_Die *find_function(struct pmc_arena *arena, struct unit *unit,
				      Dwarf_Addr address)
{
	const struct symbol_range *found;

	if (!unit->listed) {
		unit->listed = true;
		list_functions(arena, unit, &unit->die, 0);
		symbol_list_sort(arena, &unit->functions);
	}
	found = symbol_list_find(&unit->functions, address);
	return found ? found->of : NULL;
}

/* ---- units of a module ------------------------------------------------------------------- */

static struct units *list_units(struct pmc_arena *arena, struct symbol_module *module)
{
	struct units *units = pmc_arena_alloc(arena, sizeof(*units));
	Dwarf_Die *die = NULL, split;
	uint8_t kind;

	while ((die = dwfl_module_nextcu(module->dwfl_module, die, &units->bias))) {
		struct unit *unit = pmc_arena_alloc(arena, sizeof(*unit));

		unit->die = unit->lines = *die;
		/* The content of a skeleton is in a file of its own (.dwo). */
		if (dwarf_cu_info(die->cu, NULL, &kind, NULL, &split, NULL, NULL, NULL) == 0 &&
		    kind == DW_UT_skeleton && split.cu)
			unit->die = split;
		add_ranges(arena, &units->list, &unit->lines, unit);
	}
	symbol_list_sort(arena, &units->list);
	return units;
}

/* `address` becomes one of DWARF. */
static struct unit *find_unit(struct pmc_arena *arena, struct symbol_module *module,
			      uint64_t *address)
{
	const struct symbol_range *found;

	if (!module->units)
		module->units = list_units(arena, module);
	*address -= module->units->bias;
	found = symbol_list_find(&module->units->list, *address);
	return found ? (struct unit *)found->of : NULL;
}

/* ---- frames ------------------------------------------------------------------------------ */

static const char *name_of(struct symbols *symbols, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	name = name ? name : dwarf_diename(die);
	return name ? symbol_name(symbols, name) : NULL;
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute found;
	Dwarf_Word value;

	return dwarf_attr(die, attribute, &found) && dwarf_formudata(&found, &value) == 0 ? value :
											    0;
}

/* The DIEs around an address within a function, the innermost last: inlined functions only. */
static unsigned find_inlined(const Dwarf_Die *function, Dwarf_Addr address, Dwarf_Die *inlined,
			     unsigned most)
{
	Dwarf_Die die = *function, child;
	unsigned n = 0;

	for (unsigned depth = 0; depth < BLOCKS_MOST && n < most; depth++) {
		bool inside = false;

		if (dwarf_child(&die, &child) != 0)
			break;
		do {
			const int tag = dwarf_tag(&child);

			inside = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
				  tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
				 dwarf_haspc(&child, address) > 0;
		} while (!inside && next_sibling(&child));
		if (!inside)
			break;
		if (dwarf_tag(&child) == DW_TAG_inlined_subroutine)
			inlined[n++] = child;
		die = child;
	}
	return n;
}

/* Where the innermost frame is in the source. */
static void set_line(struct symbols *symbols, struct unit *unit, Dwarf_Addr address,
		     struct symbol_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->lines, address);
	const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number = 0;

	if (!file || dwarf_lineno(line, &number) != 0)
		return;
	frame->file = symbols_text(symbols, file);
	frame->line = number > 0 ? (unsigned)number : 0;
}

static void set_call(struct symbols *symbols, struct unit *unit, Dwarf_Die *inlined,
		     struct symbol_frame *frame)
{
	const Dwarf_Word file = number_of(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	const char *name;
	size_t n;

	frame->line = (unsigned)number_of(inlined, DW_AT_call_line);
	if (dwarf_getsrcfiles(&unit->die, &files, &n) != 0 || file >= n)
		return;
	name = dwarf_filesrc(files, file, NULL, NULL);
	frame->file = name ? symbols_text(symbols, name) : NULL;
}

unsigned symbol_dwarf_frames(struct symbols *symbols, struct symbol_module *module,
			     uint64_t address, struct symbol_frame *frames, unsigned most)
{
	struct pmc_arena *arena = &symbols->arena;
	struct unit *unit = module->dwfl_module ? find_unit(arena, module, &address) : NULL;
	Dwarf_Die inlined[NESTED_MOST], function;
	const Dwarf_Die *found;
	unsigned n = 0;

	if (!unit || !most)
		return 0;
	found = find_function(arena, unit, address);
	memset(frames, 0, sizeof(*frames));
	set_line(symbols, unit, address, frames);
	if (!found)
		return frames->file ? 1 : 0;
	n = find_inlined(found, address, inlined, most - 1 < NESTED_MOST ? most - 1 : NESTED_MOST);
	for (unsigned i = 0; i < n; i++) {
		Dwarf_Die *die = &inlined[n - 1 - i];

		frames[i].function = name_of(symbols, die);
		frames[i].inlined = true;
		frames[i + 1] = (struct symbol_frame){ 0 };
		set_call(symbols, unit, die, &frames[i + 1]);
	}
	function = *found;
	frames[n].function = name_of(symbols, &function);
	return n + 1;
}
