/* SPDX-License-Identifier: MIT */
/* names.h - functions of addresses and stacks, for views of samples. */
#pragma once

#include "lib/base/hash.h"
#include "tools/report/report.h"
#include "tools/symbol/symbol.h"

/* Words of JIT or unknown code, which is in no file, and of stacks whose callers are missing. */
#define NAMES_UNKNOWN	"[unknown]"
#define NAMES_TRUNCATED "(truncated stack)"

/* A function, or a line of one, in which samples can be. Equal ones are one. */
struct spot {
	/* The key, as in struct pmc_sample_row. Its texts are compared by their address: the
	 * symbolizer has each text once. */
	const char *function, *module, *file;
	unsigned line;
	enum spot_kind {
		SPOT_NAMED,
		SPOT_UNNAMED, /* a function of which only the module and offset are known */
		SPOT_UNKNOWN, /* JIT or unknown code, without a name */
	} kind;
	uint64_t index;	  /* from 0, in the order of first use */
	uint64_t samples; /* of one without a name or line, as names_count() counts them */
	UT_hash_handle hh;
};

/* The part of a place that makes a spot. A function without a name is where it starts. */
enum names_by { NAMES_FUNCTION, NAMES_LINE, NAMES_MODULE, NAMES_FUNCTION_AND_LINE };

/* The functions of an address: at least one, the innermost inlined function first. */
struct spots {
	struct spot **list;
	unsigned n;
};

/* Where the address of a frame lies, by the dump or by files of this machine, whichever knows more;
 * *in_dump: by the dump. */
void names_place(struct report_names *names, const struct pmc_p_process *process,
		 const struct pmc_p_frame *frame, struct symbol_place *place, bool *in_dump);
/* Where in its module's file the address of a frame is. False: the file is not here. */
bool names_file_offset(struct report_names *names, const struct pmc_p_process *process,
		       const struct pmc_p_frame *frame, uint64_t *offset);
/* The start routine at an offset of a file that is here as the process had it: by the build ID in
 * the stacks of the dump, else because it has not changed since the process started; or NULL. */
const char *names_start(struct report_names *names, const struct pmc_profile *profile,
			const struct pmc_p_process *process, const char *path, uint64_t offset);
/* How much is known about a place: 0: no function, 1: a function, 2: its source line too. */
unsigned names_knowledge(const struct symbol_place *place);
const struct spots *names_of_frame(struct report_names *names, const struct pmc_p_process *process,
				   const struct pmc_p_frame *frame, enum names_by by);
/* Whether frame i of a stack is one of the agent's around main() or a start routine, which says
 * nothing about the program. The innermost frame is the agent's own cost. */
bool names_skip(const struct pmc_p_stack *stack, unsigned i);
/* Spots of a stack, the innermost first, in memory of the names. All zero is empty. */
struct spot_list {
	struct spot **list;
	size_t n, room;
};

/* Replaces the contents of the list. mark: NAMES_TRUNCATED is the outermost of such. */
void names_of_stack(struct report_names *names, const struct pmc_p_stack *stack, enum names_by by,
		    bool mark, struct spot_list *to);
/* The spot with the next index; from NULL: the first. NULL: there are no more. */
const struct spot *names_next_spot(const struct report_names *names, const struct spot *spot);
/* Counts samples that were taken in a spot, for report_names_warn(). */
void names_count(struct report_names *names, uint64_t samples, struct spot *spot);
/* A spot that is no function, such as "(no stack)". */
struct spot *names_word(struct report_names *names, const char *word);
