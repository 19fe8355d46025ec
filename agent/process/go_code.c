/* SPDX-License-Identifier: MIT */
/*
 * go_code.c - whether code of the program runs on small stacks: that of Go, OCaml 5, Erlang and
 * Poly/ML. The agent knows no other run times of that kind.
 *
 * Go runs on stacks of some kilobytes and requires that signal handlers use alternate stacks, which
 * it gives each of its threads. Its linker marks each program and library by a note,
 * .note.go.buildid. A library starts Go's runtime in a thread that its initialiser creates: before
 * that thread runs, pthread_create's hook has looked at the module of its start routine.
 */
#include "agent/process/process.h"

#include <link.h>
#include <sys/auxv.h>

#define FIRST_PAGE  4096u /* of a module, which its first segment includes */
#define GO_BUILD_ID 4	  /* Go's cmd/link: ELF_NOTE_GOBUILDID_TAG */

static bool has_go_note(const char *notes, size_t bytes)
{
	ElfW(Nhdr) note;

	for (size_t at = 0; bytes - at >= sizeof(note);) {
		const char *name = notes + at + sizeof(note);
		size_t left = bytes - at - sizeof(note), length;

		memcpy(&note, notes + at, sizeof(note));
		if (note.n_namesz > left || note.n_descsz > left)
			return false;
		if (note.n_type == GO_BUILD_ID && note.n_namesz == 4 && !memcmp(name, "Go", 3))
			return true;
		length = ((note.n_namesz + 3ul) & ~3ul) + ((note.n_descsz + 3ul) & ~3ul);
		if (length > left)
			return false;
		at += sizeof(note) + length;
	}
	return false;
}

/* Whether the note lies in a segment that is loaded and readable. */
static bool is_loaded(const ElfW(Phdr) * parts, unsigned n, const ElfW(Phdr) * note)
{
	for (unsigned i = 0; i < n; i++)
		if (parts[i].p_type == PT_LOAD && (parts[i].p_flags & PF_R) &&
		    note->p_vaddr >= parts[i].p_vaddr &&
		    note->p_vaddr - parts[i].p_vaddr <= parts[i].p_filesz &&
		    note->p_memsz <= parts[i].p_filesz - (note->p_vaddr - parts[i].p_vaddr))
			return true;
	return false;
}

static bool is_go(const char *bias, const ElfW(Phdr) * parts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (parts[i].p_type == PT_NOTE && is_loaded(parts, n, &parts[i]) &&
		    has_go_note(bias + parts[i].p_vaddr, parts[i].p_memsz))
			return true;
	return false;
}

static bool is_go_program(void)
{
	const unsigned n = (unsigned)getauxval(AT_PHNUM);
	const ElfW(Phdr) *parts = (const void *)getauxval(AT_PHDR);

	for (unsigned i = 0; parts && i < n; i++)
		if (parts[i].p_type == PT_PHDR)
			return is_go((const char *)parts - parts[i].p_vaddr, parts, n);
	return false;
}

/* The others have alternate stacks for their own handlers, and export a function that only they
 * have: the loader looks for it. dlsym() allocates memory where it finds nothing, too early for
 * sanitizers. */
extern AGENT_API __attribute__((weak)) const char caml_try_realloc_stack[], enif_make_atom[],
	polymain[];

bool agent_has_small_stacks(void)
{
	return is_go_program() || caml_try_realloc_stack || enif_make_atom || polymain;
}

bool agent_is_go_code(const void *address)
{
	struct agent_place place;
	const char *start =
		agent_find_place(address, &place) ? (const char *)address - place.offset : NULL;
	const ElfW(Ehdr) *head = (const void *)start;
	const ElfW(Phdr) * parts;

	/* patchelf puts program headers at the end of a file, where they may not be loaded. */
	if (!start || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phoff + head->e_phnum * sizeof(*parts) > FIRST_PAGE)
		return false;
	parts = (const void *)(start + head->e_phoff);
	for (unsigned i = 0; i < head->e_phnum; i++)
		if (parts[i].p_type == PT_LOAD)
			return is_go(start - (parts[i].p_vaddr - parts[i].p_offset), parts,
				     head->e_phnum);
	return false;
}
