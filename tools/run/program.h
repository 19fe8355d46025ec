/* SPDX-License-Identifier: MIT */
/*
 * program.h - whether a program can load the agent, checked before it is started.
 *
 * Private to this folder.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

enum program_kind {
	PROGRAM_OK,	    /* nothing found that keeps the loader from loading the agent */
	PROGRAM_NOT_FOUND,  /* no such command in PATH, or no such file */
	PROGRAM_UNREADABLE, /* not readable (mode 0711) or of unknown format: unknown */
	PROGRAM_STATIC,	    /* no loader */
	PROGRAM_FOREIGN,    /* of another architecture than the agent */
	PROGRAM_LIBC,	    /* of another C library than the agent (musl against glibc) */
	PROGRAM_SECURE,	    /* gains privileges by its start: the loader ignores the agent */
	/* macOS only */
	PROGRAM_PROTECTED, /* System Integrity Protection: the loader ignores the agent */
	PROGRAM_HARDENED,  /* hardened runtime: the loader ignores the agent */
	PROGRAM_VALIDATED, /* library validation: the loader ends the program */
	PROGRAM_ARM64E,	   /* arm64e only: the loader ends the program */
	PROGRAM_KINDS,
};

enum elf_libc { ELF_LIBC_UNKNOWN, ELF_GLIBC, ELF_MUSL };

/* Facts from an ELF file. */
struct elf_facts {
	int machine;  /* EM_* */
	bool dynamic; /* has a loader, or is one */
	enum elf_libc libc;
	bool asan; /* needs libasan.so, which aborts if a library is preloaded before it */
};

struct program {
	enum program_kind kind;
	bool hidden;		/* the kernel refuses every counter of this user on it */
	char path[PATH_MAX];	/* of the command as found in PATH */
	char image[PATH_MAX];	/* the file that runs: the interpreter, if path is a script */
	struct elf_facts facts; /* of image, where it is an ELF file that could be read */
};

/* Examines the command as execvp finds it, for the library `agent`. command NULL: the agent only.
 * 0, or -errno if the agent cannot be read; -ENOEXEC: it is not a library of this system. */
int program_look(const char *command, const char *agent, struct program *program);
/* Why the program cannot load the agent, as a predicate of its name; NULL: no reason known. */
extern const char *const program_obstacles[PROGRAM_KINDS];
static inline const char *program_obstacle(enum program_kind kind)
{
	return program_obstacles[kind];
}

/* ---- program.c ---------------------------------------------------------------------------- */
/* Fills path and image, and sets kind to NOT_FOUND or UNREADABLE. False: not found. */
bool program_find(const char *command, struct program *program);
/* Whether what was found is an executable file. */
bool program_can_start(const struct program *program);

/* ---- linux/elf_kind.c --------------------------------------------------------------------- */
/* 0, or -errno; -ENOEXEC: not an ELF file. */
int elf_read(const char *path, struct elf_facts *facts);
/* program_look() for an agent with these facts. */
void elf_look(const char *command, const struct elf_facts *agent, struct program *program);
