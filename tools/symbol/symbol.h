/* SPDX-License-Identifier: MIT */
/*
 * symbol.h - functions and source lines of code addresses, from ELF files, DWARF, Go's tables
 * and perf maps.
 *
 * A module is opened when its first address is looked up, and each address is looked up once. Text
 * is as found in the files: escape it before printing. For one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct symbols;
struct symbol_module;

struct symbol_frame {
	const char *function; /* demangled; NULL: unknown. Equal texts are one pointer. */
	const char *file;     /* NULL: unknown; the same */
	unsigned line;	      /* 0: unknown */
	bool inlined;	      /* into the function of the next frame */
};

/* Where an address lies: at least one frame, the innermost first. */
struct symbol_place {
	const struct symbol_frame *frames;
	unsigned n;
	uint64_t start; /* of the function, which may be known without its name; 0: unknown */
};

enum symbol_status {
	SYMBOL_OPEN,
	SYMBOL_MISSING,	  /* no such file here */
	SYMBOL_DIFFERS,	  /* the file here has another build ID */
	SYMBOL_BAD,	  /* it is no ELF file that can be read */
	SYMBOL_TOO_LARGE, /* a perf map above SYMBOL_PERF_MAP_MOST, or above the free memory */
};

enum { SYMBOL_ID_MOST = 64 };

#define SYMBOL_PERF_MAP_MOST (INT64_C(1) << 30)

/* `root` comes before the paths of modules and debug files; NULL: none. */
struct symbols *symbols_new(const char *root);
void symbols_free(struct symbols *symbols);

/* A root directory of other processes, as of a container, opened with O_PATH and kept open: modules
 * that have no file of their build here are looked for below it, by all symbols of this process. At
 * most SYMBOL_ROOTS_MOST are taken. False: too many. */
#define SYMBOL_ROOTS_MOST 64
bool symbols_add_root(int fd);
/* Whether the file at a path has that build ID. */
bool symbols_is_build(const char *path, const uint8_t *id, unsigned id_bytes);
/* The build ID of a file below such a directory. Returns its bytes; 0: none, or no such file. */
unsigned symbols_file_id(int root, const char *path, uint8_t id[SYMBOL_ID_MOST]);

/* Gives a module its file where its path no longer leads to that, as of a program that was upgraded
 * while it runs. All symbols of this process use it: for modules of its build ID, or of the
 * module's path and no build ID. The descriptor is kept. False, and it is closed: it is not the
 * module's file, or SYMBOL_FILES_MOST are kept. */
#define SYMBOL_FILES_MOST 256
bool symbols_add_file(struct symbol_module *module, int fd);
/* Whether such a file is kept of a path, for modules without a build ID. */
bool symbols_has_file(const char *path);
/* Keeps open files that were removed, replaced or renamed since they were opened. */
void symbols_keep_files(struct symbols *symbols);

/* A process of another user, or with another root (-1: none) and number there: its perf map is
 * read, too, by all symbols of this process. */
void symbols_add_process(pid_t pid, uid_t owner, int root, pid_t number);

/* The jitdump of a process, which says the same as its perf map. */
void symbols_add_jit_dump(pid_t pid, const char *path);

/* The kernel, whose build ID is that of the boot, as text: its code is elsewhere after each boot.
 */
#define SYMBOL_KERNEL "[kernel]"
/* Behind the names of its functions. */
#define SYMBOL_KERNEL_MARK " [k]"
/* False: unknown. */
bool symbols_boot_id(char text[64]);

/* The module of a path and build ID; the ID may be empty where none is known. "[vdso]" is the
 * kernel's. NULL where symbols are not supported (macOS). */
struct symbol_module *symbols_module(struct symbols *symbols, const char *path, const uint8_t *id,
				     unsigned id_bytes);
/* The perf map of a process, /tmp/perf-PID.map: code that was compiled at run time. It is read if
 * this user, root or the process's user owns it. */
struct symbol_module *symbols_perf_map(struct symbols *symbols, pid_t pid);

/* Of this module only the functions are wanted, which its symbol table has: its DWARF, perhaps many
 * megabytes, is not read. */
void symbols_functions_only(struct symbol_module *module);
/* A place for an address as the module's symbol table has it; in a perf map, as the process had it.
 * Never NULL; without symbols it has one frame of unknown function. */
const struct symbol_place *symbols_at(struct symbols *symbols, struct symbol_module *module,
				      uint64_t address);
/* The function that starts at `offset` from where the module begins in memory, by the symbol table;
 * NULL: none does. */
const char *symbols_function(struct symbols *symbols, struct symbol_module *module,
			     uint64_t offset);
/* The address of the first of the kernel's functions of that name, with SYMBOL_KERNEL_MARK; 0:
 * there is none. */
uint64_t symbols_kernel_find(struct symbols *symbols, struct symbol_module *module,
			     const char *name);
/* Where in the module's file the address is, by its segments. False: that is not known. */
bool symbols_file_offset(struct symbols *symbols, struct symbol_module *module, uint64_t address,
			 uint64_t *offset);
/* The address of a byte of the file; the offset itself where that is not known. */
uint64_t symbols_address(struct symbols *symbols, struct symbol_module *module, uint64_t offset);
/* Unwind rules of the module's code, for libdw; NULL: there are none. */
struct Dwarf_CFI_s *symbols_unwind_rules(struct symbols *symbols, struct symbol_module *module);
/* How far the stack pointer is below the return address at an address in a function of Go. False:
 * that is not known. */
bool symbols_go_frame(struct symbols *symbols, struct symbol_module *module, uint64_t address,
		      uint64_t *bytes);
/* Its build ID: as it was given, else of the file, once it is open. */
const uint8_t *symbols_id(const struct symbol_module *module, unsigned *bytes);
/* Opens the module. */
enum symbol_status symbols_status(struct symbols *symbols, struct symbol_module *module);
const char *symbols_path(const struct symbol_module *module);
bool symbols_is_perf_map(const struct symbol_module *module);
/* A text as the pointer that functions and files have for it. */
const char *symbols_text(struct symbols *symbols, const char *text);

/* Whether a file became shorter while it was read: names in it may be missing. */
bool symbols_shrunk(void);
/* The C++ or Rust name in `text`, cut to cap - 1 bytes. 0: it is no mangled name, and text is
 * unchanged. */
unsigned symbols_demangle(const char *name, char *text, unsigned cap);
