/* SPDX-License-Identifier: MIT */
/* elf_kind.h - what stands between a program and the agent: told before it is started. */
#ifndef PMC_TOOLS_RUN_ELF_KIND_H
#define PMC_TOOLS_RUN_ELF_KIND_H

#include <limits.h>
#include <stdbool.h>

enum elf_kind {
	ELF_OK,		/* the loader will take the agent in, as far as can be seen */
	ELF_NOT_FOUND,	/* no such command in PATH, or no such file */
	ELF_UNREADABLE, /* may be run but not read (mode 0711), or no known format: nobody knows */
	ELF_STATIC,	/* no loader, nothing to preload into */
	ELF_FOREIGN,	/* of another architecture or word size than the agent */
	ELF_LIBC,	/* of another C library than the agent (musl against glibc) */
	ELF_SECURE,	/* setuid, setgid or with file capabilities: the loader drops LD_PRELOAD */
};

enum elf_libc { ELF_LIBC_UNKNOWN, ELF_GLIBC, ELF_MUSL };

/* What an ELF file says of itself. */
struct elf_facts {
	int machine, word_bits; /* EM_*, 32 or 64 */
	bool dynamic;		/* has a loader, or is one */
	enum elf_libc libc;
	bool asan; /* its AddressSanitizer refuses to start after a preloaded library */
};

struct elf_program {
	enum elf_kind kind;
	char path[PATH_MAX];	/* of the command as found in PATH */
	char image[PATH_MAX];	/* the ELF file that runs: the interpreter, if path is a script */
	struct elf_facts facts; /* of image, where it could be read */
};

/* 0, or -errno; -ENOEXEC if it is no ELF file. */
int elf_read(const char *path, struct elf_facts *facts);

/* Looks at the command as execvp would find it. `agent`: the facts of the library to preload. */
void elf_look(const char *command, const struct elf_facts *agent, struct elf_program *program);

/* Why there will be no thread rows, as a clause after the program's name; NULL if there is no
 * reason to think so. */
const char *elf_obstacle(enum elf_kind kind);

#endif
