/* SPDX-License-Identifier: MIT */
/*
 * program.h - whether a program can load the agent, checked before it is started.
 *
 * Private to this folder.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

struct elf_facts {
	int machine;  /* EM_* */
	bool dynamic; /* has a loader, or is one */
	enum elf_libc libc;
	bool asan; /* needs libasan.so, which aborts if a library is preloaded before it */
	bool go;   /* ends by a system call that the agent does not see: no rows */
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
extern const char *const program_obstacle[PROGRAM_KINDS];

/* ---- cmd_run.c ---------------------------------------------------------------------------- */
/* Fills path and image, and sets kind to NOT_FOUND or UNREADABLE. False: not found. */
bool program_find(const char *command, struct program *program);

/* ---- linux/elf_kind.c --------------------------------------------------------------------- */
/* 0, or -errno; -ENOEXEC: not an ELF file. */
int elf_read(const char *path, struct elf_facts *facts);
/* program_look() for an agent with these facts. */
void elf_look(const char *command, const struct elf_facts *agent, struct program *program);

/* ---- darwin/macho.c: formats as in <mach-o/loader.h>, <mach-o/fat.h> and <kern/cs_blobs.h>; plain
 * C on any system. The file is not trusted. ---- */
enum macho_cpu { MACHO_OTHER, MACHO_X86_64, MACHO_ARM64, MACHO_ARM64E, MACHO_CPUS };

/* Of one slice. */
struct macho_slice {
	bool present;
	bool dynamic;		    /* names a loader, or is a library */
	bool restricted;	    /* section __RESTRICT,__restrict */
	bool platform;		    /* signed by Apple as part of the system */
	uint32_t flags;		    /* of the code directory: MACHO_CS_* */
	bool allows_dyld_variables; /* entitlements */
	bool allows_other_libraries;
};

struct macho_facts {
	struct macho_slice slices[MACHO_CPUS]; /* by enum macho_cpu */
};

enum {
	MACHO_CS_FORCED_VALIDATION = 0x10,
	MACHO_CS_RESTRICT = 0x800,
	MACHO_CS_VALIDATION = 0x2000, /* library validation */
	MACHO_CS_RUNTIME = 0x10000,   /* hardened runtime */
};

/* 0, or -ENOEXEC: not a Mach-O file, or none that is whole up to the facts. */
int macho_read(const uint8_t *bytes, size_t n, struct macho_facts *facts);
/* The same for a file; also -errno of open and mmap. */
int macho_read_file(const char *path, struct macho_facts *facts);

/* The slice that the kernel starts; NULL: none. */
const struct macho_slice *macho_choose(const struct macho_facts *facts, bool apple_silicon,
				       enum macho_cpu *cpu);

/* The properties of a program's file beside its contents. */
struct macho_place {
	const char *path;   /* absolute, without symbolic links */
	bool gains_rights;  /* setuid or setgid */
	bool sip_flag;	    /* SF_RESTRICTED: System Integrity Protection */
	bool apple_silicon; /* of the machine */
};

/* Whether dyld loads the agent into the program. */
enum program_kind macho_judge(const struct macho_facts *program, const struct macho_facts *agent,
			      const struct macho_place *place);
