/* SPDX-License-Identifier: MIT */
/*
 * macho.h - facts from a Mach-O file that decide whether dyld loads an inserted library.
 *
 * Plain C on any system; formats as in <mach-o/loader.h>, <mach-o/fat.h> and <kern/cs_blobs.h>. The
 * file is not trusted. Private to this folder.
 */
#pragma once

#include "tools/run/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
