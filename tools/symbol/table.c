/* SPDX-License-Identifier: MIT */
/*
 * table.c - functions sorted by address: of a module's symbol tables, stubs of calls to other
 * modules, and code that was compiled at run time, from the file /tmp/perf-PID.map that Java,
 * Node.js, .NET, Python and others write (lines of "START SIZE NAME", in hexadecimal), and from a
 * jitdump (tools/perf/Documentation/jitdump-specification.txt of Linux).
 */
#include "tools/symbol/elf.h"
#include "tools/symbol/private.h"
#include "lib/base/file.h"
#include "lib/base/sort.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pmc/dump.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- lists ---------------------------------------------------------------------------------- */

void symbol_list_add(struct pmc_arena *arena, struct symbol_list *list, uint64_t start,
		     uint64_t end, const void *of)
{
	list->list = pmc_arena_grow(arena, list->list, list->n, &list->room, sizeof(*list->list));
	list->list[list->n++] = (struct symbol_range){ start, end, of };
}

static bool is_sized(const struct symbol_range *range)
{
	return range->of && range->end > range->start;
}

/* Names with a size come after labels at the same start: OCaml marks that of a module's code. */
static int by_start(const void *a, const void *b, const void *arg)
{
	const struct symbol_range *x = a, *y = b;

	(void)arg;
	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return is_sized(x) - is_sized(y);
}

void symbol_list_sort(struct pmc_arena *arena, struct symbol_list *list)
{
	struct symbol_range *scratch = pmc_arena_alloc(arena, list->n * sizeof(*scratch));

	pmc_sort(list->list, scratch, list->n, sizeof(*scratch), by_start, NULL);
}

const struct symbol_range *symbol_list_find(const struct symbol_list *list, uint64_t address)
{
	enum { AROUND = 8 };
	size_t low = 0, high = list->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (list->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* One that lies in others may have ended before the address. */
	for (size_t i = low; i > 0 && low - i < AROUND; i--)
		if (address < list->list[i - 1].end)
			return &list->list[i - 1];
	return NULL;
}

/* ---- symbol tables -------------------------------------------------------------------------- */

Elf_Scn *symbol_section(Elf *elf, const char *wanted, GElf_Shdr *header)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, header) ? elf_strptr(elf, names, header->sh_name) : NULL;

		if (name && !strcmp(name, wanted))
			return scn;
	}
	return NULL;
}

static bool is_code(Elf *elf, GElf_Word section)
{
	GElf_Shdr header;
	Elf_Scn *scn = elf ? elf_getscn(elf, section) : NULL;

	return scn && gelf_getshdr(scn, &header) && header.sh_flags & SHF_EXECINSTR;
}

/* Functions of assembly code may have neither type nor size. Names with '$' mark instructions and
 * data on ARM. */
static bool is_function(const GElf_Sym *symbol, GElf_Word section, Elf *elf, const char *name)
{
	const int type = GELF_ST_TYPE(symbol->st_info);

	if (!name || !name[0] || section == SHN_UNDEF)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && name[0] != '$' && is_code(elf, section);
}

static void add(struct symbols *symbols, struct symbol_module *module, uint64_t start, uint64_t end,
		const char *raw)
{
	symbol_list_add(&symbols->arena, &module->table, start, end, raw);
}

static int64_t signed_at(const char *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Stripped files still have the bounds of their functions, for exceptions: .eh_frame_hdr lists
 * starts, sorted, and their descriptions in .eh_frame. Only the form that linkers write is read:
 * 32-bit offsets, and both sections in one segment. */
static void add_bounds(struct symbols *symbols, struct symbol_module *module, Elf *elf,
		       const GElf_Phdr *phdr)
{
	enum { HEAD = 12, DESCRIPTION = 16 };
	static const uint8_t form[] = { 1, 0x1b, 0x03, 0x3b };
	const int64_t from = (int64_t)phdr->p_offset;
	const uint64_t base = phdr->p_vaddr; /* anything in a damaged file: sums may wrap */
	size_t size;
	const char *image = elf_rawfile(elf, &size);

	if (!image || phdr->p_offset > size || phdr->p_filesz > size - phdr->p_offset ||
	    phdr->p_filesz < HEAD || memcmp(image + from, form, sizeof(form)) != 0)
		return;
	for (size_t at = HEAD; at + 8 <= phdr->p_filesz; at += 8) {
		const uint64_t start = base + (uint64_t)signed_at(image + from + at);
		const int64_t offset = signed_at(image + from + at + 4);
		const char *description = image + from + offset;
		uint64_t length = 0;

		if (from + offset >= 0 && (uint64_t)(from + offset) + DESCRIPTION <= size &&
		    base + (uint64_t)(offset + 8 + signed_at(description + 8)) == start)
			length = (uint32_t)signed_at(description + 12);
		add(symbols, module, start, start + length, NULL);
	}
}

static void read_bounds(struct symbols *symbols, struct symbol_module *module)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module->dwfl_module, &bias);
	size_t n = 0;

	if (!elf || elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_GNU_EH_FRAME)
			add_bounds(symbols, module, elf, &phdr);
	}
}

/* ---- the procedure linkage table ------------------------------------------------------------ */

/* The address in the global offset table that each jump slot's relocation fills, with the offset of
 * the target's name. */
static void read_slots(struct symbols *symbols, struct symbol_module *module, Elf *elf,
		       struct symbol_list *slots)
{
	GElf_Shdr rela, table;
	Elf_Scn *scn = symbol_section(elf, ".rela.plt", &rela);
	Elf_Data *list = scn ? elf_getdata(scn, NULL) : NULL;
	Elf_Scn *names = list && rela.sh_entsize ? elf_getscn(elf, rela.sh_link) : NULL;
	Elf_Data *targets = names && gelf_getshdr(names, &table) ? elf_getdata(names, NULL) : NULL;

	for (size_t i = 0; targets && i < list->d_size / rela.sh_entsize; i++) {
		GElf_Rela to;
		GElf_Sym symbol;

		if (gelf_getrela(list, (int)i, &to) &&
		    (GELF_R_TYPE(to.r_info) == R_X86_64_JUMP_SLOT ||
		     GELF_R_TYPE(to.r_info) == R_AARCH64_JUMP_SLOT) &&
		    gelf_getsym(targets, (int)GELF_R_SYM(to.r_info), &symbol) && symbol.st_name)
			symbol_list_add(&symbols->arena, slots, to.r_offset, to.r_offset + 8,
					(void *)(uintptr_t)symbol.st_name);
	}
	if (targets)
		module->stub_strings = table.sh_link;
	symbol_list_sort(&symbols->arena, slots);
}

/* The slot that the code at an address jumps through; 0: no stub. endbr64, bnd, jmp *slot(%rip). */
static uint64_t slot_of_x86(const uint8_t *code, size_t bytes, uint64_t address)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = bytes >= sizeof(endbr) && !memcmp(code, endbr, sizeof(endbr)) ? 4 : 0;

	at += at < bytes && code[at] == 0xf2;
	if (bytes < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	return address + at + 6 + (uint64_t)signed_at((const char *)code + at + 2);
}

/* adrp x16, page; ldr x17, [x16, offset]. */
static uint64_t slot_of_arm(const uint8_t *code, size_t bytes, uint64_t address)
{
	uint32_t adrp, ldr;
	int64_t pages;

	if (bytes < 8)
		return 0;
	memcpy(&adrp, code, 4);
	memcpy(&ldr, code + 4, 4);
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return 0;
	/* 21 bits with a sign: two low ones, then 19. */
	pages = (int64_t)((uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 43) >> 43;
	return (address & ~UINT64_C(0xfff)) + ((uint64_t)pages << 12) + (ldr >> 10 & 0xfff) * 8;
}

/* Up to and with br x17. */
static size_t bytes_of_arm(const uint8_t *code, size_t bytes)
{
	static const uint8_t branch[] = { 0x20, 0x02, 0x1f, 0xd6 };
	size_t at = 8;

	while (at < 24 && at + 4 <= bytes && memcmp(code + at, branch, 4) != 0)
		at += 4;
	return at + 4;
}

/* Stubs of calls to other modules have no symbols: each is known by the slot that it jumps through.
 * They are in .plt, behind a part that finds the target at the first call, or in .plt.sec where the
 * CPU checks targets of jumps (IBT). On ARM a stub may begin with such a check, and sizes differ.
 */
static void read_stubs_of(struct symbols *symbols, struct symbol_module *module, Elf *elf,
			  const char *section, const struct symbol_list *slots)
{
	GElf_Shdr plt;
	GElf_Ehdr head;
	Elf_Scn *scn = symbol_section(elf, section, &plt);
	Elf_Data *data = scn && plt.sh_type == SHT_PROGBITS ? elf_getdata(scn, NULL) : NULL;
	const uint8_t *code = data ? data->d_buf : NULL;
	const bool arm = gelf_getehdr(elf, &head) && head.e_machine == EM_AARCH64;
	static const uint8_t bti_c[] = { 0x5f, 0x24, 0x03, 0xd5 };

	for (size_t at = 0; code && at < data->d_size; at += arm ? 4 : 16) {
		const size_t left = data->d_size - at;
		const uint64_t address = plt.sh_addr + at;
		const uint64_t target = arm ? slot_of_arm(code + at, left, address) :
					      slot_of_x86(code + at, left, address);
		const struct symbol_range *slot = target ? symbol_list_find(slots, target) : NULL;
		const bool checks = arm && at >= 4 && !memcmp(code + at - 4, bti_c, 4);

		if (slot && slot->start == target)
			symbol_list_add(&symbols->arena, &module->stubs, address - (checks ? 4 : 0),
					address + (arm ? bytes_of_arm(code + at, left) : 16),
					slot->of);
	}
}

static void read_stubs(struct symbols *symbols, struct symbol_module *module)
{
	struct symbol_list slots = { .n = 0 };
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module->dwfl_module, &bias);

	if (!elf)
		return;
	read_slots(symbols, module, elf, &slots);
	if (!slots.n)
		return;
	read_stubs_of(symbols, module, elf, ".plt", &slots);
	read_stubs_of(symbols, module, elf, ".plt.sec", &slots);
	symbol_list_sort(&symbols->arena, &module->stubs);
}

const char *symbol_stub_name(struct symbols *symbols, struct symbol_module *module,
			     uint64_t address, uint64_t *start)
{
	const struct symbol_range *stub = symbol_list_find(&module->stubs, address);
	char text[SYMBOL_NAME_MOST], name[SYMBOL_NAME_MOST + 8];
	GElf_Addr bias;
	const char *raw = stub ? elf_strptr(dwfl_module_getelf(module->dwfl_module, &bias),
					    module->stub_strings, (size_t)(uintptr_t)stub->of) :
				 NULL;

	if (!raw || !raw[0])
		return NULL;
	*start = stub->start;
	snprintf(name, sizeof(name), "%.*s@plt", SYMBOL_NAME_MOST - 1,
		 symbols_demangle(raw, text, sizeof(text)) ? text : raw);
	return symbols_text(symbols, name);
}

/* Bytes that a symbol without a size covers. Of 6400 such functions and labels in the assembly code
 * of libx264, libavcodec, libcrypto and libc four are longer, where functions with a size start.
 * Stripped libraries keep the few labels that they export: behind x264_8_trellis_coefn are 225 KB
 * of other functions, without a symbol. */
#define UNSIZED_MOST 8192

/* Of equal starts the last one stays; bounds without a name are left out within a function that has
 * one: assembly code may have several. A function without a size ends where the next one starts,
 * `most` bytes away or less. */
static void sort(struct symbols *symbols, struct symbol_list *table, uint64_t most)
{
	uint64_t named_end = 0;
	size_t kept = 0;

	symbol_list_sort(&symbols->arena, table);
	for (size_t i = 0; i < table->n; i++) {
		const struct symbol_range *range = &table->list[i];

		if (range->of && range->end > named_end)
			named_end = range->end;
		if ((i + 1 == table->n || range->start != range[1].start) &&
		    (range->of || range->start >= named_end))
			table->list[kept++] = *range;
	}
	table->n = kept;
	for (size_t i = 0; i + 1 < kept; i++) {
		struct symbol_range *range = &table->list[i];

		if (range->end > range->start)
			continue;
		range->end = range[1].start;
		if (range->of && range->end - range->start > most)
			range->end = range->start + most;
	}
}

static void read_table(struct symbols *symbols, struct symbol_module *module)
{
	int n = dwfl_module_getsymtab(module->dwfl_module);

	read_bounds(symbols, module);
	read_stubs(symbols, module);
	symbol_go_read(symbols, module);
	/* Global symbols, which come last, go before others of one address. */
	for (int i = 1; i < n; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		GElf_Word section;
		Elf *elf;
		const char *name = dwfl_module_getsym_info(module->dwfl_module, i, &symbol,
							   &address, &section, &elf, NULL);

		if (is_function(&symbol, section, elf, name))
			add(symbols, module, address, address + symbol.st_size, name);
	}
	sort(symbols, &module->table, UNSIZED_MOST);
}

const struct symbol_range *symbol_table_find(struct symbols *symbols, struct symbol_module *module,
					     uint64_t address)
{
	if (!module->has_table && module->dwfl_module)
		read_table(symbols, module);
	module->has_table = true;
	return symbol_list_find(&module->table, address);
}

/* ---- perf maps ------------------------------------------------------------------------------ */

static void add_compiled(struct symbols *symbols, struct symbol_module *module, char *line)
{
	uint64_t start, size;
	int name = 0;

	line[strcspn(line, "\n")] = '\0';
	/* Code that is compiled again is appended: the last line counts. */
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &size, &name) == 2 && line[name] &&
	    start + size >= start)
		add(symbols, module, start, start + size, symbols_text(symbols, line + name));
}

static enum symbol_status
read_lines(struct symbols *symbols, struct symbol_module *module, FILE *file,
	   void (*add_line)(struct symbols *symbols, struct symbol_module *module, char *line))
{
	/* The program may write on while the file is read. */
	int64_t left = SYMBOL_PERF_MAP_MOST;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while (left >= 0 && (n = getline(&line, &room, file)) > 0) {
		left -= n;
		if (left >= 0)
			add_line(symbols, module, line);
	}
	free(line);
	/* Without memory getline returns -1 and sets neither flag. */
	return left >= 0 && (feof(file) || ferror(file)) ? SYMBOL_OPEN : SYMBOL_TOO_LARGE;
}

/* Only code that is loaded has names; the last one at an address counts. */
static enum symbol_status read_jit_dump(struct symbols *symbols, struct symbol_module *module,
					FILE *file)
{
	enum { MAGIC = 0x4a695444, LOAD = 0 };
	struct {
		uint32_t magic, version, bytes, machine, reserved, pid;
		uint64_t time, flags;
	} head;
	struct {
		uint32_t id, bytes;
		uint64_t time;
	} record;
	struct {
		uint32_t pid, tid;
		uint64_t vma, start, size, index;
	} load;
	char name[SYMBOL_NAME_MOST];

	if (fread(&head, sizeof(head), 1, file) != 1 || head.magic != MAGIC ||
	    head.bytes < sizeof(head) || fseeko(file, head.bytes, SEEK_SET) != 0)
		return SYMBOL_BAD;
	while (fread(&record, sizeof(record), 1, file) == 1 && record.bytes >= sizeof(record)) {
		const size_t left = record.bytes - sizeof(record);
		const off_t next = ftello(file) + (off_t)left;
		size_t n;

		if (record.id == LOAD && left >= sizeof(load)) {
			n = left - sizeof(load);
			n = n < sizeof(name) - 1 ? n : sizeof(name) - 1;
			if (fread(&load, sizeof(load), 1, file) != 1 ||
			    fread(name, 1, n, file) != n)
				break;
			name[n] = '\0';
			if (name[0] && load.start + load.size >= load.start)
				add(symbols, module, load.start, load.start + load.size,
				    symbols_text(symbols, name));
		}
		/* Behind the code itself. */
		if (fseeko(file, next, SEEK_SET) != 0)
			break;
	}
	return SYMBOL_OPEN;
}

/* Of others, with another root, or with a jitdump. */
static struct known_process {
	pid_t pid, number;
	uid_t owner;
	int root;
	const char *jit_dump; /* as the process names it; NULL: none */
} processes[1024];
static unsigned n_processes;

static struct known_process *find_process(pid_t pid)
{
	for (unsigned i = 0; i < n_processes && i < 1024; i++)
		if (processes[i].pid == pid)
			return &processes[i];
	return NULL;
}

void symbols_add_process(pid_t pid, uid_t owner, int root, pid_t number)
{
	struct known_process *process = find_process(pid);

	/* Of more, the first ones are forgotten. */
	if (!process)
		process = &processes[n_processes++ % 1024];
	*process = (struct known_process){ pid, number, owner, root, NULL };
}

void symbols_add_jit_dump(pid_t pid, const char *path)
{
	if (!find_process(pid))
		symbols_add_process(pid, geteuid(), -1, pid);
	find_process(pid)->jit_dump = strdup(path);
}

static enum symbol_status read_of_process(struct symbols *symbols, struct symbol_module *module,
					  const struct known_process *process, const char *path,
					  bool is_jit_dump)
{
	enum symbol_status status = SYMBOL_BAD;
	struct stat st;
	FILE *file;
	/* Everybody can put a file of that name there. */
	const int fd = process && process->root >= 0 ? symbol_open_below(process->root, path) :
						       pmc_file_open_regular(path, O_NOFOLLOW);

	if (fd < 0)
		return fd == -EINVAL ? SYMBOL_DIFFERS : SYMBOL_MISSING;
	if (fstat(fd, &st) ||
	    (st.st_uid && st.st_uid != geteuid() && !(process && st.st_uid == process->owner)))
		status = SYMBOL_DIFFERS;
	else if (st.st_size > SYMBOL_PERF_MAP_MOST)
		status = SYMBOL_TOO_LARGE;
	else if ((file = fdopen(fd, "r"))) {
		status = is_jit_dump ? read_jit_dump(symbols, module, file) :
				       read_lines(symbols, module, file, add_compiled);
		fclose(file);
		return status;
	}
	close(fd);
	return status;
}

enum symbol_status symbol_perf_map_read(struct symbols *symbols, struct symbol_module *module)
{
	const struct known_process *process = find_process(module->pid);
	enum symbol_status status, dump = SYMBOL_MISSING;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map",
		 (int)(process ? process->number : module->pid));
	/* First: of one address the perf map has the name, which is read without a jitdump, too. */
	if (process && process->jit_dump)
		dump = read_of_process(symbols, module, process, process->jit_dump, true);
	status = read_of_process(symbols, module, process, path, false);
	sort(symbols, &module->table, UINT64_MAX);
	return dump == SYMBOL_MISSING || status == SYMBOL_OPEN ? status : dump;
}

/* ---- the kernel ----------------------------------------------------------------------------- */

/* "ffffffff81000000 T name", with the name of a kernel module in brackets behind it. There are some
 * hundred thousand. */
static void add_kernel(struct symbols *symbols, struct symbol_module *module, char *line)
{
	static const char mark[] = SYMBOL_KERNEL_MARK;
	char *rest, *name;
	uint64_t start = strtoull(line, &rest, 16);
	size_t len;

	if (!start || rest[0] != ' ' || !rest[1] || !strchr("tTwW", rest[1]) || rest[2] != ' ')
		return;
	len = strcspn(rest + 3, "\t\n");
	if (!len || len >= SYMBOL_NAME_MOST - sizeof(mark))
		return;
	name = pmc_arena_alloc(&symbols->arena, len + sizeof(mark));
	memcpy(name, rest + 3, len);
	memcpy(name + len, mark, sizeof(mark));
	start = PMC_STACK_ADDRESS(start);
	add(symbols, module, start, start, name);
}

enum symbol_status symbol_kernel_read(struct symbols *symbols, struct symbol_module *module)
{
	char boot_id[SYMBOL_ID_MOST];
	FILE *file;

	if (!symbols_boot_id(boot_id) || strlen(boot_id) != module->id_bytes ||
	    memcmp(module->id, boot_id, module->id_bytes) != 0)
		return SYMBOL_DIFFERS;
	file = fopen("/proc/kallsyms", "re");
	if (!file)
		return SYMBOL_MISSING;
	read_lines(symbols, module, file, add_kernel);
	fclose(file);
	module->functions_only = true;
	/* Addresses are hidden (kernel.kptr_restrict). */
	if (!module->table.n)
		return SYMBOL_MISSING;
	module->all = module->table;
	module->all.list =
		pmc_arena_alloc(&symbols->arena, module->all.n * sizeof(*module->all.list));
	memcpy(module->all.list, module->table.list, module->all.n * sizeof(*module->all.list));
	sort(symbols, &module->table, UINT64_MAX);
	return SYMBOL_OPEN;
}
