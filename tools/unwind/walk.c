/* SPDX-License-Identifier: MIT */
/*
 * walk.c - call stacks from user registers and a copy of the stack, by unwind tables.
 *
 * libdw finds and executes the rules for an address, which is slow, so their results are kept for
 * each address. Values of registers are computed here: rules are DWARF expressions, nearly always
 * "at the frame's address plus a number".
 */
#include "tools/symbol/symbol.h"
#include "tools/unwind/private.h"

#include <asm/perf_regs.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

enum { RULES_MOST = 200000, VALUES_MOST = 16 };

/* The CPU's registers: their numbers in perf, by those in DWARF. Callees may use the others without
 * saving them. */
#if defined(__x86_64__)
#define REGISTERS 17
#define SP	  7
#define PC	  16
#define FP	  6
static const uint8_t perf_of[REGISTERS] = {
	PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,	PERF_REG_X86_SI,
	PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,  PERF_REG_X86_R8,	PERF_REG_X86_R9,
	PERF_REG_X86_R10, PERF_REG_X86_R11, PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14,
	PERF_REG_X86_R15, PERF_REG_X86_IP,
};
#elif defined(__aarch64__)
#define REGISTERS 33
#define SP	  31
#define PC	  32
#define FP	  29
static const uint8_t perf_of[REGISTERS] = { 0,	1,  2,	3,  4,	5,  6,	7,  8,	9,  10,
					    11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
#else /* stacks by frame pointers only */
#define REGISTERS 1
#define SP	  0
#define PC	  0
#define FP	  0
static const uint8_t perf_of[REGISTERS];
#endif

uint64_t unwind_registers(void)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < REGISTERS; i++)
		mask |= UINT64_C(1) << perf_of[i];
	return PC ? mask : 0;
}

uint64_t unwind_pointers(void)
{
	return PC ? UINT64_C(1) << perf_of[SP] | UINT64_C(1) << perf_of[PC] : 0;
}

/* A frame as words of a stack have it. */
static uint64_t word_of(struct unwind *unwind, const struct unwind_image *image, uint64_t pc)
{
	const struct unwind_map *map = unwind_maps_find(&image->maps, pc);
	const struct unwind_module *module = map ? map->module : NULL;
	const uint64_t mask = PMC_STACK_ADDRESS(UINT64_MAX);

	if (!module)
		return (uint64_t)PMC_NO_MODULE << 48 | (pc & mask);
	if (!module->is_found)
		unwind_find_file(unwind, image, map);
	return (uint64_t)module->index << 48 |
	       (symbols_address(unwind->symbols, module->file, pc - map->start + map->file_offset) &
		mask);
}

/* Code without frame pointers uses their register for something else, so what is found there may be
 * no address of code. Without any mapping nothing is known of the process. */
static bool is_code(const struct unwind_image *image, uint64_t pc)
{
	return !image->maps.n || unwind_maps_find(&image->maps, pc);
}

/* Below these functions of Go there is nothing, whatever the frame pointer is (runtime.topofstack()
 * in its source). */
static bool is_end_in_go(struct unwind *unwind, uint64_t word)
{
	static const char *const names[] = { "runtime.goexit", "runtime.mcall", "runtime.mstart",
					     "runtime.rt0_go", NULL };

	return unwind_is_named(unwind, word, names);
}

/* They call the next function on another stack, which the copy does not have. */
static bool is_switch_in_go(struct unwind *unwind, uint64_t word)
{
	static const char *const names[] = { "runtime.systemstack", "runtime.morestack",
					     "runtime.asmcgocall", NULL };

	return unwind_is_named(unwind, word, names);
}

/* ---- what the kernel has found: its own functions, and callers by frame pointers ------------ */

enum { CHAIN_KERNEL = 1, CHAIN_USER = 2 };

/* Callers' addresses are those behind the call. */
static unsigned take_chain(struct unwind *unwind, const struct unwind_image *image,
			   const struct pmc_record *record, unsigned parts, uint64_t *words,
			   uint16_t *flags)
{
	const struct pmc_record_sample *sample = &record->sample;
	bool kernel = false, called = false;
	unsigned depth = 0, found = 0;

	for (uint64_t i = 0; i < sample->n_callchain; i++) {
		const uint64_t pc = sample->callchain[i] - called;

		if (sample->callchain[i] >= (uint64_t)PERF_CONTEXT_MAX) {
			kernel = sample->callchain[i] == (uint64_t)PERF_CONTEXT_KERNEL;
			called = false;
			continue;
		}
		found++;
		if (!(parts & (kernel ? CHAIN_KERNEL : CHAIN_USER)))
			continue;
		if (depth == PMC_STACK_DEPTH_MAX || (!kernel && found == unwind->chain_most))
			*flags |= PMC_STACK_TRUNCATED;
		if (depth == PMC_STACK_DEPTH_MAX)
			break;
		if (!kernel && called && !is_code(image, pc)) {
			if (!is_end_in_go(unwind, words[depth - 1]))
				*flags |= PMC_STACK_BROKEN;
			break;
		}
		called = true;
		if (!kernel)
			*flags |= PMC_STACK_FP;
		if (!kernel)
			words[depth++] = word_of(unwind, image, pc);
		else if (unwind->kernel)
			words[depth++] =
				(uint64_t)unwind->kernel->index << 48 | PMC_STACK_ADDRESS(pc);
	}
	return depth;
}

/* ---- rules -------------------------------------------------------------------------------- */

/* Where the caller's value of a register is. */
enum source {
	SOURCE_NONE,
	SOURCE_KEPT,	/* in the same register */
	SOURCE_STACK,	/* at the frame's address and an offset */
	SOURCE_COMPUTED /* by an expression */
};

struct saved {
	unsigned number;
	enum source source;
	int64_t offset;
};

struct unwind_rule {
	struct {
		const struct unwind_module *module;
		uint64_t address;
	} key;
	Dwarf_Frame *frame; /* NULL: there are no rules for the address */
	bool signal;	    /* of the code that a signal handler returns to */
	/* The frame's address is that register and the offset; REGISTERS: by an expression. */
	unsigned cfa_register;
	int64_t cfa_offset;
	struct saved back, *saved; /* the return address; registers that are not kept */
	unsigned n_saved;
	uint32_t kept; /* their bits, as in struct walk */
	/* Without rules, in Go: how far the stack pointer is below the return address. */
	bool go;
	uint64_t go_bytes;
	UT_hash_handle hh;
};

static struct saved saved_of(Dwarf_Frame *frame, unsigned number)
{
	struct saved saved = { .number = number, .source = SOURCE_COMPUTED };
	Dwarf_Op memory[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, (int)number, memory, &ops, &n) != 0)
		return saved;
	if (!n) {
		saved.source = ops ? SOURCE_NONE : SOURCE_KEPT;
	} else if (ops[0].atom == DW_OP_call_frame_cfa &&
		   (n == 1 || (n == 2 && ops[1].atom == DW_OP_plus_uconst))) {
		saved.source = SOURCE_STACK;
		saved.offset = n == 2 ? (int64_t)ops[1].number : 0;
	}
	return saved;
}

static void read_rule(struct unwind_rule *rule, struct pmc_arena *arena)
{
	const int back = dwarf_frame_info(rule->frame, NULL, NULL, &rule->signal);
	struct saved saved;
	Dwarf_Op *ops;
	size_t n;

	rule->back = saved_of(rule->frame, back < 0 ? PC : (unsigned)back);
	rule->saved = pmc_arena_alloc(arena, REGISTERS * sizeof(saved));
	for (unsigned i = 0; i < REGISTERS; i++) {
		saved = saved_of(rule->frame, i);
		if (i != PC && saved.source == SOURCE_KEPT)
			rule->kept |= 1u << i;
		else if (i != PC && saved.source != SOURCE_NONE)
			rule->saved[rule->n_saved++] = saved;
	}
	rule->cfa_register = REGISTERS;
	if (dwarf_frame_cfa(rule->frame, &ops, &n) == 0 && n == 1 && ops->atom == DW_OP_bregx &&
	    ops->number < REGISTERS) {
		rule->cfa_register = (unsigned)ops->number;
		rule->cfa_offset = (int64_t)ops->number2;
	}
}

/* Of the module and address of a word; NULL: it has no module. */
static const struct unwind_rule *rule_of(struct unwind *unwind, uint64_t word)
{
	struct pmc_arena *arena = &unwind->arena;
	struct unwind_module *module = unwind_module_at(unwind, word);
	struct unwind_rule *rule, key = { .key = { module, PMC_STACK_ADDRESS(word) } };
	Dwarf_CFI *cfi;

	if (!module)
		return NULL;
	HASH_FIND(hh, unwind->rules, &key.key, sizeof(key.key), rule);
	if (rule || HASH_COUNT(unwind->rules) >= RULES_MOST)
		return rule;
	rule = pmc_arena_alloc(arena, sizeof(*rule));
	rule->key = key.key;
	cfi = symbols_unwind_rules(unwind->symbols, module->file);
	if (cfi && dwarf_cfi_addrframe(cfi, key.key.address, &rule->frame) != 0)
		rule->frame = NULL;
	if (rule->frame)
		read_rule(rule, arena);
	else
		rule->go = symbols_go_frame(unwind->symbols, module->file, key.key.address,
					    &rule->go_bytes) &&
			   !is_end_in_go(unwind, word) && !is_switch_in_go(unwind, word);
	HASH_ADD(hh, unwind->rules, key, sizeof(rule->key), rule);
	return rule;
}

void unwind_rules_free(struct unwind *unwind)
{
	for (struct unwind_rule *rule = unwind->rules; rule; rule = rule->hh.next)
		free(rule->frame);
	unwind->rules = NULL;
}

/* ---- expressions -------------------------------------------------------------------------- */

struct walk {
	uint64_t registers[REGISTERS];
	uint32_t known; /* their bits, as REGISTERS is at most 33: all but the PC's */
	struct pmc_record_span stack;
	uint64_t bottom; /* address of the copy */
	uint64_t cfa;
	bool past_end;	/* a read was behind the copy */
	bool in_larger; /* where a larger copy would have it */
	bool blocked;	/* of the registers only two are known at the start */
	uint32_t tid;
};

static bool load(struct walk *walk, uint64_t address, uint64_t *value)
{
	const uint64_t at = address - walk->bottom;

	if (address < walk->bottom || walk->stack.size < sizeof(*value) ||
	    at > walk->stack.size - sizeof(*value)) {
		walk->past_end |= address >= walk->bottom;
		walk->in_larger |= address >= walk->bottom && at < UNWIND_STACK_MOST;
		return false;
	}
	memcpy(value, walk->stack.data + at, sizeof(*value));
	return true;
}

static bool get(const struct walk *walk, uint64_t number, uint64_t *value)
{
	if (number >= REGISTERS)
		return false;
	*value = walk->registers[number];
	return number == PC || walk->known & 1u << number;
}

/* Of DW_OP_*; a: below the top of the stack, b: the top. */
static bool compute(uint8_t atom, uint64_t a, uint64_t b, uint64_t *result)
{
	const int64_t x = (int64_t)a, y = (int64_t)b;
	const struct {
		uint8_t atom;
		uint64_t result;
	} operations[] = {
		{ DW_OP_plus, a + b },
		{ DW_OP_minus, a - b },
		{ DW_OP_and, a & b },
		{ DW_OP_or, a | b },
		{ DW_OP_mul, a * b },
		{ DW_OP_shl, b < 64 ? a << b : 0 },
		{ DW_OP_shr, b < 64 ? a >> b : 0 },
		{ DW_OP_eq, a == b },
		{ DW_OP_ne, a != b },
		{ DW_OP_ge, x >= y },
		{ DW_OP_gt, x > y },
		{ DW_OP_le, x <= y },
		{ DW_OP_lt, x < y },
	};

	for (unsigned i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (operations[i].atom == atom) {
			*result = operations[i].result;
			return true;
		}
	return false;
}

/* A word that the operation pushes by itself. */
static bool push(const struct walk *walk, const Dwarf_Op *op, uint64_t *value)
{
	const uint8_t atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
		*value = atom - DW_OP_lit0;
		return true;
	}
	if (atom >= DW_OP_const1u && atom <= DW_OP_consts) {
		*value = op->number;
		return true;
	}
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
		if (!get(walk, atom - DW_OP_breg0, value))
			return false;
		*value += op->number;
		return true;
	}
	if (atom == DW_OP_bregx) {
		if (!get(walk, op->number, value))
			return false;
		*value += op->number2;
		return true;
	}
	*value = walk->cfa;
	return atom == DW_OP_call_frame_cfa;
}

static bool evaluate(struct walk *walk, const Dwarf_Op *ops, size_t n, uint64_t *result,
		     bool *is_value)
{
	uint64_t values[VALUES_MOST];
	unsigned depth = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t *top = depth ? &values[depth - 1] : NULL, loaded;

		if (ops[i].atom == DW_OP_stack_value) {
			*is_value = true;
		} else if (top && ops[i].atom == DW_OP_plus_uconst) {
			*top += ops[i].number;
		} else if (top && ops[i].atom == DW_OP_deref) {
			if (!load(walk, *top, &loaded))
				return false;
			*top = loaded;
		} else if (depth >= 2 &&
			   compute(ops[i].atom, values[depth - 2], *top, &values[depth - 2])) {
			depth--;
		} else if (depth == VALUES_MOST || !push(walk, &ops[i], &values[depth])) {
			return false;
		} else {
			depth++;
		}
	}
	*result = depth ? values[depth - 1] : 0;
	return depth != 0;
}

/* ---- steps -------------------------------------------------------------------------------- */

/* The caller's register by an expression. */
static bool compute_register(struct walk *walk, const struct unwind_rule *rule, unsigned number,
			     uint64_t *value)
{
	Dwarf_Op memory[3], *ops;
	bool is_value = false;
	size_t n;

	if (dwarf_frame_register(rule->frame, (int)number, memory, &ops, &n) != 0)
		return false;
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return get(walk, ops[0].atom - DW_OP_reg0, value);
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return get(walk, ops[0].number, value);
	return evaluate(walk, ops, n, value, &is_value) && (is_value || load(walk, *value, value));
}

static bool recover(struct walk *walk, const struct unwind_rule *rule, const struct saved *saved,
		    uint64_t *value)
{
	switch (saved->source) {
	case SOURCE_KEPT:
		return get(walk, saved->number, value);
	case SOURCE_STACK:
		return load(walk, walk->cfa + (uint64_t)saved->offset, value);
	case SOURCE_COMPUTED:
		return compute_register(walk, rule, saved->number, value);
	default:
		return false;
	}
}

static bool find_frame(struct walk *walk, const struct unwind_rule *rule)
{
	bool is_value = true;
	Dwarf_Op *ops;
	size_t n;

	if (rule->cfa_register == REGISTERS)
		return dwarf_frame_cfa(rule->frame, &ops, &n) == 0 &&
		       evaluate(walk, ops, n, &walk->cfa, &is_value);
	if (!get(walk, rule->cfa_register, &walk->cfa))
		return false;
	walk->cfa += (uint64_t)rule->cfa_offset;
	return true;
}

enum step { STEP_ON, STEP_END, STEP_BROKEN };

/* Registers of the caller that the function has pushed, behind the frame pointer. */
static unsigned count_pushed(const struct unwind_rule *rule)
{
	unsigned count = 0;

	for (unsigned i = 0; i < rule->n_saved; i++)
		count += rule->saved[i].source == SOURCE_STACK && rule->saved[i].number != SP &&
			 rule->saved[i].number != FP;
	return count;
}

/* Of a blocked thread the frame pointer is unknown. It is where the first instructions of the
 * function have put it, if there is a return address above: behind a call, or to the code behind a
 * signal handler. */
static void find_pointer(struct unwind *unwind, const struct unwind_image *image, struct walk *walk,
			 const struct unwind_rule *rule, uint64_t pc)
{
	const uint64_t start =
		symbols_at(unwind->symbols, rule->key.module->file, rule->key.address)->start;
	const struct unwind_rule *back;
	uint64_t at, bytes;

	if (!start || !unwind_frame_bytes(walk->tid, pc - (rule->key.address - start), pc, &bytes))
		return;
	at = walk->registers[SP] + bytes + 8 * count_pushed(rule);
	if (at % 16 || !load(walk, at + 8, &pc) || !is_code(image, pc))
		return;
	back = rule_of(unwind, word_of(unwind, image, pc));
	if (!unwind_is_behind_call(walk->tid, pc) && !(back && back->signal))
		return;
	walk->registers[FP] = at;
	walk->known |= 1u << FP;
}

static bool needs_pointer(const struct walk *walk, const struct unwind_rule *rule)
{
	return walk->blocked && !(walk->known & 1u << FP) && rule->cfa_register == FP;
}

static enum step step_by_rule(struct walk *walk, const struct unwind_rule *rule)
{
	uint64_t values[REGISTERS], pc;
	uint32_t known = walk->known & rule->kept;

	if (!find_frame(walk, rule))
		return STEP_BROKEN;
	if (rule->back.source == SOURCE_NONE)
		return STEP_END;
	if (!recover(walk, rule, &rule->back, &pc))
		return STEP_BROKEN;
	/* All are of this function's registers. */
	for (unsigned i = 0; i < rule->n_saved; i++)
		if (recover(walk, rule, &rule->saved[i], &values[i]))
			known |= 1u << rule->saved[i].number;
	for (unsigned i = 0; i < rule->n_saved; i++)
		if (known & 1u << rule->saved[i].number)
			walk->registers[rule->saved[i].number] = values[i];
	if (!rule->signal) {
		walk->registers[SP] = walk->cfa;
		known |= 1u << SP;
	}
	walk->known = known;
	walk->registers[PC] = pc;
	return pc ? STEP_ON : STEP_END;
}

/* Code without rules, as a JIT compiler's or Go's, perhaps keeps frame pointers. That of the
 * outermost function is 0 (System V ABI, "Initial Stack and Register State"), and of the function
 * that starts a goroutine. */
static enum step step_by_pointer(struct walk *walk)
{
	uint64_t fp, caller, pc;

	if (!get(walk, FP, &fp))
		return STEP_BROKEN;
	if (!fp)
		return STEP_END;
	if (!load(walk, fp, &caller) || !load(walk, fp + 8, &pc))
		return STEP_BROKEN;
	walk->registers[FP] = caller;
	walk->registers[SP] = fp + 16;
	walk->registers[PC] = pc;
	walk->known = 1u << FP | 1u << SP;
	return pc ? STEP_ON : STEP_END;
}

/* Before a function of Go has set the frame pointer, and where it computes with that register, the
 * pointer does not lead to the caller; of a blocked thread it is unknown. The caller's is saved
 * below the return address. */
static bool step_by_go(struct walk *walk, const struct unwind_image *image,
		       const struct unwind_rule *rule)
{
	const uint64_t at = walk->registers[SP] + rule->go_bytes;
	uint64_t pc;

	if (!UNWIND_X86_64 || !rule->go || !load(walk, at, &pc) || !is_code(image, pc - 1))
		return false;
	if (rule->go_bytes)
		walk->known = load(walk, at - 8, &walk->registers[FP]) ? 1u << FP : 0;
	walk->known = (walk->known & 1u << FP) | 1u << SP;
	walk->registers[SP] = at + 8;
	walk->registers[PC] = pc;
	return true;
}

/* A trampoline, as CPython's for each function under -X perf, which keeps no frame pointer. */
static bool step_by_code(struct unwind *unwind, const struct unwind_image *image, struct walk *walk)
{
	const uint64_t at = walk->registers[PC];
	struct unwind_trampoline *known = &unwind->trampolines[at / 4 % UNWIND_TRAMPOLINES];
	uint64_t pc;

	if (known->pid != image->pid || known->address != at)
		*known = (struct unwind_trampoline){ image->pid, at,
						     unwind_bytes_behind(walk->tid, at) };
	if (!known->bytes || !load(walk, walk->registers[SP] + known->bytes, &pc) ||
	    !is_code(image, pc - 1))
		return false;
	walk->registers[SP] += known->bytes + 8;
	walk->registers[PC] = pc;
	return true;
}

static bool begin(struct walk *walk, const struct pmc_record_sample *sample)
{
	const struct pmc_record_regs *regs = &sample->regs_user;

	if (regs->abi != PERF_SAMPLE_REGS_ABI_64 ||
	    (regs->mask & unwind_pointers()) != unwind_pointers())
		return false;
	walk->blocked = regs->mask == unwind_pointers();
	for (unsigned i = 0; i < REGISTERS; i++)
		if (!pmc_record_reg(regs, perf_of[i], &walk->registers[i]) && i != PC)
			walk->known |= 1u << i;
	walk->stack = sample->stack_user;
	walk->bottom = walk->registers[SP];
	return true;
}

/* in_larger: whether a larger copy has callers that were not found. */
static unsigned walk_stack(struct unwind *unwind, const struct unwind_image *image,
			   const struct pmc_record *record, uint64_t *words, unsigned most,
			   uint16_t *flags, bool *in_larger)
{
	struct walk walk = { .tid = record->tid };
	enum step step = STEP_ON;
	bool inside = true; /* the instruction was executing, it did not call */
	unsigned depth = 0;

	if (!begin(&walk, &record->sample))
		return 0;
	while (step == STEP_ON && depth < most) {
		const uint64_t pc = walk.registers[PC] - !inside, sp = walk.registers[SP];
		const uint64_t word = word_of(unwind, image, pc);
		const struct unwind_rule *rule = rule_of(unwind, word);

		words[depth++] = word;
		if (rule && rule->frame) {
			if (needs_pointer(&walk, rule))
				find_pointer(unwind, image, &walk, rule, pc);
			step = step_by_rule(&walk, rule);
		} else if (rule && (inside || !(walk.known & 1u << FP)) &&
			   step_by_go(&walk, image, rule)) {
			step = STEP_ON;
		} else if (!rule && !inside && step_by_code(unwind, image, &walk)) {
			step = STEP_ON;
		} else {
			*flags |= PMC_STACK_FP;
			step = step_by_pointer(&walk);
		}
		inside = rule && rule->signal;
		/* Stacks grow downwards; a leaf may have no frame. */
		if (step == STEP_ON && walk.registers[SP] <= sp && !inside &&
		    (depth > 1 || walk.registers[SP] < sp))
			step = STEP_BROKEN;
		if (step == STEP_ON && !is_code(image, walk.registers[PC] - !inside))
			step = STEP_BROKEN;
		if (step == STEP_BROKEN && is_end_in_go(unwind, word))
			step = STEP_END;
		else if (step == STEP_BROKEN && is_switch_in_go(unwind, word))
			walk.past_end = true;
	}
	if (step == STEP_ON || (step == STEP_BROKEN && walk.past_end))
		*flags |= PMC_STACK_TRUNCATED;
	else if (step == STEP_BROKEN)
		*flags |= PMC_STACK_BROKEN;
	*in_larger =
		step == STEP_BROKEN && walk.in_larger && walk.stack.size >= unwind->stack_bytes;
	return depth;
}

/* Whether nothing of interest called the function: it starts threads or programs, and the C library
 * that has it mostly keeps no frame pointers. */
static bool is_outermost(struct unwind *unwind, uint64_t word)
{
	static const char *const names[] = { "__libc_start", "start_thread", NULL };
	const struct unwind_rule *rule = rule_of(unwind, word);

	return !rule || !rule->frame || unwind_is_named(unwind, word, names);
}

/* Beyond the copy of the stack: the callers that the kernel has found by frame pointers, from the
 * frame on up to which most frames are the same. Returns the depth. */
static unsigned go_on(struct unwind *unwind, const struct unwind_image *image,
		      const struct pmc_record *record, uint64_t *words, unsigned depth,
		      unsigned most, uint16_t *flags)
{
	uint64_t chain[PMC_STACK_DEPTH_MAX];
	uint16_t found = 0;
	const unsigned n = take_chain(unwind, image, record, CHAIN_USER, chain, &found);
	unsigned at = n, longest = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned same = 0;

		while (same <= i && same < depth && chain[i - same] == words[depth - 1 - same])
			same++;
		if (same > longest) {
			longest = same;
			at = i + 1;
		}
	}
	if (at == n)
		return depth;
	while (at < n && depth < most)
		words[depth++] = chain[at++];
	*flags |= PMC_STACK_FP;
	if (at == n && !(found & (PMC_STACK_TRUNCATED | PMC_STACK_BROKEN)) &&
	    is_outermost(unwind, words[depth - 1]))
		*flags &= (uint16_t)~PMC_STACK_TRUNCATED;
	return depth;
}

unsigned unwind_walk(struct unwind *unwind, const struct unwind_image *image,
		     const struct pmc_record *record, uint64_t *words, uint16_t *flags)
{
	const bool copy = record->present & PERF_SAMPLE_STACK_USER;
	unsigned n, depth = 0;
	bool in_larger = false;

	if (record->present & PERF_SAMPLE_CALLCHAIN)
		depth = take_chain(unwind, image, record,
				   copy ? CHAIN_KERNEL : CHAIN_KERNEL | CHAIN_USER, words, flags);
	if (!copy)
		return depth;
	n = walk_stack(unwind, image, record, words + depth, PMC_STACK_DEPTH_MAX - depth, flags,
		       &in_larger);
	if (unwind->both && *flags & PMC_STACK_TRUNCATED)
		n = go_on(unwind, image, record, words + depth, n, PMC_STACK_DEPTH_MAX - depth,
			  flags);
	unwind->copies++;
	depth += n;
	unwind->beyond_copies +=
		in_larger && *flags & PMC_STACK_TRUNCATED && depth < unwind->chain_most;
	return depth;
}
