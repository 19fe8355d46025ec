/* SPDX-License-Identifier: MIT */
/* names.c - functions and lines of addresses in a dump; module+offset where there is no name. */
#include "tools/report/names.h"
#include "lib/base/file.h"
#include "lib/base/map.h"
#include "lib/base/out.h"
#include "tools/cli/pmctl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Bytes of a spot that tell it from others. */
#define SPOT_KEY offsetof(struct spot, kind)

struct address_key {
	const struct pmc_p_process *process; /* NULL: in a file of a known build */
	const struct pmc_p_module *module;   /* NULL: JIT or unknown code */
	uint64_t address;
	uint64_t by; /* enum names_by */
};

/* Samples of all spots, and of those that lack something. */
struct names_counts {
	bool by_line;
	uint64_t samples, unknown, nameless, lineless;
	const struct spot *most_nameless, *most_lineless; /* where most of them are */
};

struct report_names {
	struct pmc_arena arena, of_dump; /* of_dump: what is known by pointers into the profile */
	struct symbols *symbols;
	bool has_root;
	char host[256], boot_id[64];
	struct spot *spots;
	struct pmc_map addresses; /* struct spots by struct address_key; in of_dump */
	struct pmc_map paths;	  /* text by struct pmc_p_stack *; in of_dump */
	struct spot_list path;	  /* room of make_path() */
	struct pmc_map unnamed;	  /* modules with addresses without a name, by themselves */
	const char *changed;	  /* path of a file that is not the one that was measured */
	struct names_counts counts;
};

struct report_names *report_names_new(const char *root)
{
	struct pmc_arena arena = { 0 };
	struct report_names *names = pmc_arena_alloc(&arena, sizeof(*names));

	names->symbols = symbols_new(root);
	names->arena = arena;
	names->has_root = root != NULL;
	gethostname(names->host, sizeof(names->host) - 1);
	pmc_file_read(names->boot_id, sizeof(names->boot_id), "/proc/sys/kernel/random/boot_id");
	return names;
}

void report_names_next(struct report_names *names)
{
	pmc_arena_free(&names->of_dump);
	names->addresses = names->paths = (struct pmc_map){ NULL };
}

void report_names_free(struct report_names *names)
{
	struct pmc_arena arena;

	if (!names)
		return;
	report_names_next(names);
	symbols_free(names->symbols);
	arena = names->arena; /* which has the names, too */
	pmc_arena_free(&arena);
}

/* ---- spots ------------------------------------------------------------------------------- */

static struct spot *find_spot(struct report_names *names, const struct spot *key)
{
	struct pmc_arena *arena = &names->arena;
	struct spot *spot;

	HASH_FIND(hh, names->spots, key, SPOT_KEY, spot);
	if (spot)
		return spot;
	spot = pmc_arena_alloc(arena, sizeof(*spot));
	*spot = *key;
	spot->index = HASH_COUNT(names->spots);
	HASH_ADD_KEYPTR(hh, names->spots, spot, SPOT_KEY, spot);
	return spot;
}

const struct spot *names_next_spot(const struct report_names *names, const struct spot *spot)
{
	return spot ? spot->hh.next : names->spots;
}

struct spot *names_word(struct report_names *names, const char *word)
{
	return find_spot(names, &(struct spot){ .function = symbols_text(names->symbols, word),
						.module = "",
						.file = "" });
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
			    const struct symbol_place *place, unsigned i, enum names_by by)
{
	const struct symbol_frame *frame = &place->frames[i];
	struct spot key = { .function = frame->function, .module = module, .file = "" };
	struct spot *spot;

	if (place->start)
		address = place->start;
	if (!key.function)
		key.function = offset_in(names, module, address);
	names->counts.by_line = by == NAMES_LINE;
	if (by != NAMES_FUNCTION && frame->file) {
		key.file = frame->file;
		key.line = frame->line;
	}
	spot = find_spot(names, &key);
	if (!frame->function)
		spot->kind = SPOT_UNNAMED;
	return spot;
}

/* ---- frames ------------------------------------------------------------------------------ */

static bool is_local(const struct report_names *names, const struct pmc_p_process *process)
{
	return process->known && !strcmp(process->host, names->host);
}

/* Whether the file at the path of a module without a build ID is that of the process, as far as
 * this machine can tell. */
static bool is_same_file(struct report_names *names, const struct pmc_p_process *process,
			 const struct pmc_p_module *module)
{
	if (!is_local(names, process))
		return false;
	if (symbols_has_file(module->path))
		return true;
	if (strcmp(process->boot_id, names->boot_id) != 0 ||
	    symbols_unchanged(module->path, process->fixed.start_ns))
		return true;
	names->changed = symbols_text(names->symbols, module->path);
	return false;
}

/* JIT-compiled code has a name in the perf map of its process, while this machine has it. */
static struct symbol_module *module_of(struct report_names *names,
				       const struct pmc_p_process *process,
				       struct pmc_p_module *module)
{
	if (!module)
		return is_local(names, process) && !strcmp(process->boot_id, names->boot_id) ?
			       symbols_perf_map(names->symbols, (pid_t)process->fixed.pid) :
			       NULL;
	if (!module->build_id_len && !names->has_root && !is_same_file(names, process, module))
		return NULL;
	if (!module->user)
		module->user = symbols_module(names->symbols, module->path, module->build_id,
					      (unsigned)module->build_id_len);
	if (!module->is_innermost && module->user)
		symbols_functions_only(module->user);
	return module->user;
}

const char *names_start(struct report_names *names, const struct pmc_profile *profile,
			const struct pmc_p_process *process, const char *path, uint64_t offset)
{
	const bool booted = !strcmp(process->boot_id, names->boot_id);
	const struct pmc_p_module *build = NULL;
	struct symbol_module *module;
	unsigned builds = 0;

	if (!is_local(names, process))
		return NULL;
	for (uint64_t i = 0; i < profile->n_modules; i++) {
		const struct pmc_p_module *next = profile->modules[i];

		if (strcmp(next->path, path) != 0 || !next->build_id_len)
			continue;
		/* One build may be there twice: by a link and by its file. */
		builds += !build || build->build_id_len != next->build_id_len ||
			  memcmp(build->build_id, next->build_id, next->build_id_len) != 0;
		build = next;
	}
	/* Rows do not say which of two builds is theirs. */
	if (builds != 1 && !symbols_unchanged(path, booted ? process->fixed.start_ns : 0))
		return NULL;
	module = builds == 1 ? symbols_module(names->symbols, path, build->build_id,
					      (unsigned)build->build_id_len) :
			       symbols_module(names->symbols, path, NULL, 0);
	return module ? symbols_function(names->symbols, module, offset) : NULL;
}

unsigned names_knowledge(const struct symbol_place *place)
{
	unsigned most = 0;

	for (unsigned i = 0; i < place->n; i++) {
		const struct symbol_frame *frame = &place->frames[i];
		const unsigned known = frame->file ? 2 : frame->function ? 1 : 0;

		most = known > most ? known : most;
	}
	return most;
}

/* The names of the dump, with texts that are compared by their address. */
static void take_kept(struct report_names *names, const struct pmc_p_place *kept,
		      struct symbol_place *place)
{
	struct symbol_frame *frames = pmc_arena_alloc(&names->of_dump, kept->n * sizeof(*frames));

	for (unsigned i = 0; i < kept->n; i++) {
		const struct pmc_p_function *from = &kept->functions[i];

		frames[i] = (struct symbol_frame){
			.function = from->name ? symbols_text(names->symbols, from->name) : NULL,
			.file = from->file ? symbols_text(names->symbols, from->file) : NULL,
			.line = from->line,
			.inlined = from->inlined,
		};
	}
	*place = (struct symbol_place){ frames, kept->n, kept->start };
}

static void note_unnamed(struct report_names *names, struct symbol_module *module)
{
	struct symbol_module **known =
		pmc_map_at(&names->unnamed, &names->arena, &module, sizeof(module), sizeof(module));

	*known = module;
}

/* Of equals the dump. Only it knows what ran where no build ID says which file that was. */
void names_place(struct report_names *names, const struct pmc_p_process *process,
		 const struct pmc_p_frame *frame, struct symbol_place *place, bool *in_dump)
{
	static const struct symbol_frame unknown;
	const struct pmc_p_place *kept = pmc_profile_place(process, frame);
	const struct symbol_place *now;
	struct symbol_module *module;
	unsigned known;

	*in_dump = kept != NULL;
	*place = (struct symbol_place){ .frames = &unknown, .n = 1 };
	if (kept)
		take_kept(names, kept, place);
	known = names_knowledge(place);
	if (kept && !names->has_root &&
	    (known == 2 || !pmc_is_known_build(frame) ||
	     (known && frame->module &&
	      (!frame->module->is_innermost || !strcmp(frame->module->path, SYMBOL_KERNEL)))))
		return;
	module = module_of(names, process, frame->module);
	if (!module)
		return;
	now = symbols_at(names->symbols, module, frame->address);
	if (!kept || names_knowledge(now) >= known + !names->has_root) {
		*place = *now;
		*in_dump = false;
	}
	/* A dump with names has none where there was none to keep. */
	if (!kept && !names_knowledge(place))
		note_unnamed(names, module);
}

bool names_file_offset(struct report_names *names, const struct pmc_p_process *process,
		       const struct pmc_p_frame *frame, uint64_t *offset)
{
	struct symbol_module *module =
		frame->module ? module_of(names, process, frame->module) : NULL;

	if (module && symbols_status(names->symbols, module) != SYMBOL_OPEN)
		note_unnamed(names, module);
	return module && symbols_file_offset(names->symbols, module, frame->address, offset);
}

static void find_spots(struct report_names *names, const struct pmc_p_process *process,
		       const struct pmc_p_frame *frame, enum names_by by, struct spots *spots)
{
	/* Equal paths are one text, also of several builds of a program. */
	const char *module = symbols_text(names->symbols, frame->module ? frame->module->path : "");
	struct symbol_place place = { .n = 1 };
	bool in_dump;

	if (by != NAMES_MODULE || !*module)
		names_place(names, process, frame, &place, &in_dump);
	/* Only a hostile dump has several names for such an address. */
	if (by == NAMES_MODULE || !place.frames[0].function)
		place.n = 1;
	spots->n = place.n;
	spots->list = pmc_arena_alloc(&names->of_dump, place.n * sizeof(*spots->list));
	if (by == NAMES_MODULE && *module) {
		spots->list[0] = find_spot(
			names, &(struct spot){ .function = module, .module = module, .file = "" });
	} else if (by == NAMES_MODULE && names_knowledge(&place)) {
		spots->list[0] = names_word(names, "[jit]");
	} else if (by == NAMES_MODULE || (!frame->module && !place.frames[0].function)) {
		spots->list[0] = names_word(names, NAMES_UNKNOWN);
		if (by != NAMES_MODULE)
			spots->list[0]->kind = SPOT_UNKNOWN;
	} else {
		for (unsigned i = 0; i < place.n; i++)
			spots->list[i] = spot_of(names, module, frame->address, &place, i, by);
	}
}

const struct spots *names_of_frame(struct report_names *names, const struct pmc_p_process *process,
				   const struct pmc_p_frame *frame, enum names_by by)
{
	const struct address_key key = { pmc_is_known_build(frame) ? NULL : process, frame->module,
					 frame->address, by };
	struct spots *spots =
		pmc_map_at(&names->addresses, &names->of_dump, &key, sizeof(key), sizeof(*spots));

	if (!spots->n)
		find_spots(names, process, frame, by, spots);
	return spots;
}

static bool in_agent(const struct pmc_p_frame *frame)
{
	return frame->module && !strcmp(pmc_base_name(frame->module->path), "libpmcagent.so");
}

/* Work or a wait of the agent, as when it writes a row, also where the kernel does it. */
static bool is_of_agent(const struct pmc_p_stack *stack)
{
	unsigned i = 0;

	while (i < stack->depth && stack->frames[i].module &&
	       !strcmp(stack->frames[i].module->path, SYMBOL_KERNEL))
		i++;
	return i < stack->depth && in_agent(&stack->frames[i]);
}

bool names_skip(const struct pmc_p_stack *stack, unsigned i)
{
	return i && in_agent(&stack->frames[i]);
}

/* ---- stacks ------------------------------------------------------------------------------ */

static void add_spot(struct report_names *names, struct spot_list *spots, struct spot *spot)
{
	spots->list = pmc_arena_grow(&names->arena, spots->list, spots->n, &spots->room,
				     sizeof(*spots->list));
	spots->list[spots->n++] = spot;
}

void names_of_stack(struct report_names *names, const struct pmc_p_stack *stack, enum names_by by,
		    bool mark, struct spot_list *to)
{
	const bool agent = stack && is_of_agent(stack);
	const unsigned guessed = PMC_STACK_FP | PMC_STACK_BROKEN;
	const struct spot *unknown = names_word(names, NAMES_UNKNOWN);

	to->n = 0;
	if (agent)
		add_spot(names, to, names_word(names, "(agent)"));
	for (unsigned i = 0; stack && !agent && i < stack->depth; i++) {
		const struct spots *spots;

		if (names_skip(stack, i))
			continue;
		spots = names_of_frame(names, stack->process, &stack->frames[i], by);
		for (unsigned k = 0; k < spots->n; k++)
			add_spot(names, to, spots->list[k]);
	}
	/* Callers that no perf map names may be any words of the stack. */
	while (to->n > 1 && (stack->flags & guessed) == guessed && to->list[to->n - 1] == unknown)
		to->n--;
	if (!to->n)
		add_spot(names, to, names_word(names, "(no stack)"));
	else if (mark && !agent && stack->flags & (PMC_STACK_TRUNCATED | PMC_STACK_BROKEN))
		add_spot(names, to, names_word(names, NAMES_TRUNCATED));
}

/* ---- paths ------------------------------------------------------------------------------- */

static const char *make_path(struct report_names *names, const struct pmc_p_stack *stack)
{
	struct spot_list *spots = &names->path;
	bool is_main = false;
	struct pmc_out out = PMC_OUT_MEM(512);

	names_of_stack(names, stack, NAMES_FUNCTION, false, spots);
	for (size_t i = 0; i < spots->n && !is_main; i++) {
		pmc_outf(&out, "%s%s", i ? " < " : "", spots->list[i]->function);
		is_main = !strcmp(spots->list[i]->function, "main");
	}
	return pmc_arena_strndup(&names->of_dump, out.buf, out.len);
}

const char *report_path_of(const struct pmc_p_stack *stack, void *arg)
{
	struct report_names *names = arg;
	const char **text =
		pmc_map_at(&names->paths, &names->of_dump, &stack, sizeof(stack), sizeof(*text));

	if (!*text)
		*text = make_path(names, stack);
	return *text;
}

/* ---- warnings ---------------------------------------------------------------------------- */

/* Words such as "(no stack)" have no module. */
static bool is_lineless(const struct names_counts *counts, const struct spot *spot)
{
	return counts->by_line && spot->kind == SPOT_NAMED && spot->module[0] && !spot->file[0] &&
	       strcmp(spot->module, SYMBOL_KERNEL) != 0;
}

static void count_most(uint64_t samples, struct spot *spot, uint64_t *sum, const struct spot **most)
{
	pmc_add_sat(sum, samples);
	pmc_add_sat(&spot->samples, samples);
	if (!*most || spot->samples > (*most)->samples)
		*most = spot;
}

void names_count(struct report_names *names, uint64_t samples, struct spot *spot)
{
	struct names_counts *counts = &names->counts;

	pmc_add_sat(&counts->samples, samples);
	if (spot->kind == SPOT_UNKNOWN)
		pmc_add_sat(&counts->unknown, samples);
	else if (spot->kind == SPOT_UNNAMED)
		count_most(samples, spot, &counts->nameless, &counts->most_nameless);
	else if (is_lineless(counts, spot))
		count_most(samples, spot, &counts->lineless, &counts->most_lineless);
}

/* In percent; 0: a few of many samples, which are not worth a line. */
static double share(const struct names_counts *counts, uint64_t samples)
{
	const double percent =
		counts->samples ? 100 * (double)samples / (double)counts->samples : 0;

	if (samples < 10 || percent < 10)
		return 0;
	/* Never rounded to 100: that means all. */
	return samples < counts->samples && percent > 99 ? 99 : percent;
}

/* The files are here, or the dump has the names that they had. */
static void warn_of_spots(const struct names_counts *counts)
{
	const double nameless = share(counts, counts->nameless);
	const double lineless = share(counts, counts->lineless);

	if (nameless > 0)
		tool_warn("%.0f %% of the samples are in functions without a name, such as %s: "
			  "install the debug symbols of its package, let DEBUGINFOD_URLS name a "
			  "server that has them, or --symfs a directory with the files",
			  nameless, counts->most_nameless->function);
	if (lineless > 0)
		tool_warn("%.0f %% of the samples are in functions without source lines, such as "
			  "%.200s: %s has no line information; compile it with -g, or install the "
			  "debug symbols of its package",
			  lineless, counts->most_lineless->function, counts->most_lineless->module);
}

void report_names_warn(struct report_names *names, const char *fix)
{
	static const char *const why[] = {
		[SYMBOL_MISSING] = "is not on this machine",
		[SYMBOL_DIFFERS] = "is not the file that was measured (its build ID differs)",
		[SYMBOL_BAD] = "cannot be read as an ELF file",
	};
	const double unknown = share(&names->counts, names->counts.unknown);
	const struct symbol_module *first = NULL;
	const char *mark = names->changed ? strstr(names->changed, " (deleted)") : NULL;
	enum symbol_status status = SYMBOL_OPEN;
	char more[64] = "";
	unsigned n = 0;

	if (symbols_shrunk())
		tool_warn("a program, library or debug file became shorter while it was read: some "
			  "functions have no names; run the report again");
	if (names->changed && (mark || access(names->changed, F_OK) != 0))
		tool_warn("%.*s was removed or replaced while the program ran: its functions have "
			  "no names; profile again with CAP_CHECKPOINT_RESTORE, which root has, "
			  "while the program runs, or start the program again",
			  mark ? (int)(mark - names->changed) : INT_MAX, names->changed);
	else if (names->changed)
		tool_warn("%s has changed since the program started, and has no build ID: its "
			  "functions have no names; %s",
			  names->changed, fix);
	if (unknown > 0)
		tool_warn("%.0f %% of the samples have no function: the code was compiled at run "
			  "time; let the program write a perf map (java "
			  "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit from JDK 17 on, "
			  "or while it runs jcmd PID Compiler.perfmap; node --perf-basic-prof; "
			  "erl +JPperf true; DOTNET_PerfMapEnabled=1)",
			  unknown);
	for (struct pmc_map_entry *at = names->unnamed.entries; at; at = at->hh.next) {
		struct symbol_module *module = *(struct symbol_module **)at->value;
		const enum symbol_status its = symbols_status(names->symbols, module);

		/* Perf maps are optional. */
		if (symbols_is_perf_map(module) || its == SYMBOL_OPEN)
			continue;
		if (!n++)
			first = module, status = its;
	}
	if (n > 1)
		snprintf(more, sizeof(more), ", nor those of %u more module%s", n - 1,
			 n == 2 ? "" : "s");
	if (n)
		tool_warn("%s %s: its functions have no names%s; %s", symbols_path(first),
			  why[status], more, fix);
	if (!n && !names->changed)
		warn_of_spots(&names->counts);
}
