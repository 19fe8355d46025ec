/* SPDX-License-Identifier: MIT */
/*
 * elf_kind.h - whether a program can load the agent, checked before it is started.
 *
 * Private to this folder.
 */
#ifndef PMC_TOOLS_RUN_ELF_KIND_H
#define PMC_TOOLS_RUN_ELF_KIND_H

#include <limits.h>
#include <stdbool.h>

enum elf_kind {
	ELF_OK,		/* nothing found that keeps the loader from loading the agent */
	ELF_NOT_FOUND,	/* no such command in PATH, or no such file */
	ELF_UNREADABLE, /* not readable (mode 0711) or of unknown format: unknown */
	ELF_STATIC,	/* no loader */
	ELF_FOREIGN,	/* of another architecture than the agent */
	ELF_LIBC,	/* of another C library than the agent (musl against glibc) */
	ELF_SECURE,	/* setuid, setgid or file capabilities: the loader ignores LD_PRELOAD */
};

enum elf_libc { ELF_LIBC_UNKNOWN, ELF_GLIBC, ELF_MUSL };

/* Facts from an ELF file. */
struct elf_facts {
	int machine;  /* EM_* */
	bool dynamic; /* has a loader, or is one */
	enum elf_libc libc;
	bool asan; /* needs libasan.so, which aborts if a library is preloaded before it */
};

struct elf_program {
	enum elf_kind kind;
	char path[PATH_MAX];	/* of the command as found in PATH */
	char image[PATH_MAX];	/* the ELF file that runs: the interpreter, if path is a script */
	struct elf_facts facts; /* of image, where it could be read */
};

/* 0, or -errno; -ENOEXEC: not an ELF file. */
int elf_read(const char *path, struct elf_facts *facts);

/* Examines the command as execvp finds it. `agent`: facts of the library to preload. */
void elf_look(const char *command, const struct elf_facts *agent, struct elf_program *program);

/* Why the program cannot load the agent, as a predicate of its name; NULL: no reason known. */
const char *elf_obstacle(enum elf_kind kind);

#endif
