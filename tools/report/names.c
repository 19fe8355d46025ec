/* SPDX-License-Identifier: MIT */
/* names.c - functions and lines of addresses in a dump; module+offset where there is no name. */
#include "tools/report/names.h"
#include "agent/core/base/file.h"
#include "agent/core/base/out.h"
#include "tools/cli/pmctl.h"
#include "tools/symbol/symbol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct spot_key {
	const char *function, *module, *file;
	uint64_t line;
};

struct known_spot {
	struct spot_key key;
	struct spot spot;
	UT_hash_handle hh;
};

struct address_key {
	const void *module; /* of the symbolizer; NULL: in no file */
	uint64_t address;
	uint64_t lines;
};

struct known_address {
	struct address_key key;
	struct spots spots;
	UT_hash_handle hh;
};

struct known_path {
	const struct pmc_p_stack *stack;
	const char *text;
	UT_hash_handle hh;
};

struct report_names {
	struct pmc_arena arena;
	struct symbols *symbols;
	bool has_root;
	char host[256], boot_id[64];
	struct known_spot *spots;
	struct known_address *addresses;
	struct known_path *paths;
	uint64_t n_spots;
};

int report_names_new(struct report_names **to, const char *root)
{
	struct report_names *names = calloc(1, sizeof(*names));

	*to = names;
	if (!names || symbols_new(&names->symbols, root)) {
		free(names);
		*to = NULL;
		return -ENOMEM;
	}
	names->has_root = root != NULL;
	gethostname(names->host, sizeof(names->host) - 1);
	pmc_file_read(names->boot_id, sizeof(names->boot_id), "/proc/sys/kernel/random/boot_id");
	return 0;
}

void report_names_free(struct report_names *names)
{
	if (!names)
		return;
	symbols_free(names->symbols);
	pmc_arena_free(&names->arena);
	free(names);
}

/* ---- spots ------------------------------------------------------------------------------- */

/* Texts of a key are compared by their address: the symbolizer has each text once. */
static struct spot *find_spot(struct report_names *names, const struct spot_key *key)
{
	struct pmc_arena *arena = &names->arena;
	struct known_spot *known;

	HASH_FIND(hh, names->spots, key, sizeof(*key), known);
	if (known)
		return &known->spot;
	known = pmc_arena_alloc(arena, sizeof(*known));
	if (!known)
		return NULL;
	known->key = *key;
	known->spot = (struct spot){ .function = key->function,
				     .module = key->module,
				     .file = key->file,
				     .line = (unsigned)key->line,
				     .index = names->n_spots++ };
	HASH_ADD(hh, names->spots, key, sizeof(*key), known);
	return &known->spot;
}

struct spot *names_word(struct report_names *names, const char *word)
{
	return find_spot(names,
			 &(struct spot_key){ symbols_text(names->symbols, word), "", "", 0 });
}

/* Of stripped files the start of the function stands for all of it. */
static const char *offset_in(struct report_names *names, const char *module, uint64_t address)
{
	char text[512];

	snprintf(text, sizeof(text), "%.440s+0x%llx", pmc_base_name(module),
		 (unsigned long long)address);
	return symbols_text(names->symbols, text);
}

static struct spot *spot_of(struct report_names *names, const char *module, uint64_t address,
			    const struct symbol_place *place, unsigned i, bool lines)
{
	const struct symbol_frame *frame = &place->frames[i];
	struct spot_key key = { frame->function, module, "", 0 };

	if (!key.function)
		key.function =
			offset_in(names, module, place->start && !lines ? place->start : address);
	if (lines && frame->file) {
		key.file = frame->file;
		key.line = frame->line;
	}
	return key.function ? find_spot(names, &key) : NULL;
}

/* ---- frames ------------------------------------------------------------------------------ */

static bool is_local(const struct report_names *names, const struct pmc_p_process *process)
{
	return process->known && !strcmp(process->host, names->host);
}

/* Code in no file has a name in the perf map of its process, while this machine has it. */
static struct symbol_module *module_of(struct report_names *names,
				       const struct pmc_p_process *process,
				       struct pmc_p_module *module)
{
	if (!module)
		return is_local(names, process) && !strcmp(process->boot_id, names->boot_id) ?
			       symbols_perf_map(names->symbols, (pid_t)process->fixed.pid) :
			       NULL;
	/* Another machine's file of that path may be another one. */
	if (!module->build_id_len && !names->has_root && !is_local(names, process))
		return NULL;
	if (!module->user)
		module->user = symbols_module(names->symbols, module->path, module->build_id,
					      (unsigned)module->build_id_len);
	return module->user;
}

static bool find_spots(struct report_names *names, struct symbol_module *symbols,
		       const struct pmc_p_frame *frame, bool lines, struct spots *spots)
{
	static const struct symbol_frame unknown;
	static const struct symbol_place nowhere = { .frames = &unknown, .n = 1 };
	const char *module = frame->module ? frame->module->path : "";
	const struct symbol_place *place =
		symbols ? symbols_at(names->symbols, symbols, frame->address) : &nowhere;

	spots->n = place->n;
	spots->list = pmc_arena_alloc(&names->arena, place->n * sizeof(*spots->list));
	if (!spots->list)
		return false;
	if (!frame->module && !place->frames[0].function) {
		spots->list[0] = names_word(names, "(code in no file)");
		return spots->list[0] != NULL;
	}
	for (unsigned i = 0; i < place->n; i++) {
		spots->list[i] = spot_of(names, module, frame->address, place, i, lines);
		if (!spots->list[i])
			return false;
	}
	return true;
}

const struct spots *names_of_frame(struct report_names *names, const struct pmc_p_process *process,
				   const struct pmc_p_frame *frame, bool lines)
{
	struct pmc_arena *arena = &names->arena;
	struct symbol_module *symbols = module_of(names, process, frame->module);
	/* One that has no symbols still has a path. */
	struct address_key key = { symbols ? (const void *)symbols : frame->module, frame->address,
				   lines };
	struct known_address *known;

	HASH_FIND(hh, names->addresses, &key, sizeof(key), known);
	if (known)
		return &known->spots;
	known = pmc_arena_alloc(arena, sizeof(*known));
	if (!known || !find_spots(names, symbols, frame, lines, &known->spots))
		return NULL;
	known->key = key;
	HASH_ADD(hh, names->addresses, key, sizeof(key), known);
	return &known->spots;
}

static bool in_agent(const struct pmc_p_frame *frame)
{
	return frame->module && !strcmp(pmc_base_name(frame->module->path), "libpmcagent.so");
}

bool names_skip(const struct pmc_p_stack *stack, unsigned i)
{
	return i && in_agent(&stack->frames[i]);
}

bool names_agent_waits(const struct pmc_p_stack *stack)
{
	return stack->id >= PMC_STACK_OUTSIDE && stack->depth && in_agent(&stack->frames[0]);
}

/* ---- paths ------------------------------------------------------------------------------- */

static const char *make_path(struct report_names *names, const struct pmc_p_stack *stack)
{
	struct pmc_out out;
	char buf[512];

	pmc_out_to_mem(&out, buf, sizeof(buf));
	for (unsigned i = 0; i < stack->depth; i++) {
		const struct spots *spots;

		if (names_skip(stack, i))
			continue;
		spots = names_of_frame(names, stack->process, &stack->frames[i], false);
		if (!spots)
			return "";
		for (unsigned k = 0; k < spots->n; k++) {
			pmc_outf(&out, "%s%s", out.len ? " < " : "", spots->list[k]->function);
			if (!strcmp(spots->list[k]->function, "main"))
				return pmc_arena_strndup(&names->arena, buf, out.len);
		}
	}
	return pmc_arena_strndup(&names->arena, buf, out.len);
}

const char *report_path_of(const struct pmc_p_stack *stack, void *arg)
{
	struct report_names *names = arg;
	struct pmc_arena *arena = &names->arena;
	struct known_path *known;

	HASH_FIND_PTR(names->paths, &stack, known);
	if (known)
		return known->text;
	known = pmc_arena_alloc(arena, sizeof(*known));
	if (!known)
		return "";
	known->stack = stack;
	known->text = make_path(names, stack);
	if (!known->text)
		return "";
	HASH_ADD_PTR(names->paths, stack, known);
	return known->text;
}

/* ---- warnings ---------------------------------------------------------------------------- */

void report_names_warn(struct report_names *names)
{
	static const char *const why[] = {
		[SYMBOL_MISSING] = "is not on this machine",
		[SYMBOL_DIFFERS] = "is not the file that was measured (its build ID differs)",
		[SYMBOL_BAD] = "cannot be read as an ELF file",
	};
	struct symbol_module *module = NULL, *first = NULL;
	unsigned n = 0;

	if (symbols_shrunk())
		tool_warn("a program, library or debug file became shorter while it was read: some "
			  "functions have no names; run the report again");
	while ((module = symbols_next(names->symbols, module))) {
		/* Perf maps are optional. */
		if (symbols_is_perf_map(module) ||
		    symbols_status(names->symbols, module) == SYMBOL_OPEN)
			continue;
		first = first ? first : module;
		n++;
	}
	if (n == 1)
		tool_warn("%s %s: its functions have no names; --symfs names a directory with the "
			  "files of another machine",
			  symbols_path(first), why[symbols_status(names->symbols, first)]);
	else if (n)
		tool_warn("%s %s, and %u more modules have no names for a similar reason; --symfs "
			  "names a directory with the files of another machine",
			  symbols_path(first), why[symbols_status(names->symbols, first)], n - 1);
}
