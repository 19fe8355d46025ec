/* SPDX-License-Identifier: MIT */
/*
 * sample_modules.c - reads memory that may not be there; and the modules that were seen in stacks,
 * each with its MODULE frame.
 *
 * Another thread may unmap or protect memory at any time, so nothing is tested and then read: the
 * kernel copies, by process_vm_readv on the own process, which fails where a load would fault. It
 * copies blocks, some of which are kept for the rest of the walk. Reads are confined to the stack,
 * upwards from the current frame, and to the module that is examined.
 *
 * The loader's _dl_find_object takes no lock and is async-signal-safe (glibc 2.35). A module is
 * known by its mapping. dlclose may put another one there: after it, known ones are compared with
 * their frame once more. Two threads that add a module at once leave it there twice.
 */
#include "agent/sample/private.h"

#include <elf.h>
#include <link.h>
#include <sys/uio.h>

#include "agent/base/poison.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* The red zone below the stack pointer, and more. */
#define BELOW ((uintptr_t)4096)
/* Words read for one stack: some 20 for each frame, and more where a table is searched. */
#define BUDGET 400000u

void sample_memory_init(struct sample_memory *memory, uintptr_t stack)
{
	memory->stack = stack;
	memory->from = memory->to = 0;
	/* Once the main thread has ended the process's ID does not lead to its memory. */
	memory->pid = agent_self ? (pid_t)agent_self->tid : agent.pid;
	memset(memory->blocks, 0, sizeof(memory->blocks));
	memory->next = 0;
	memory->budget = BUDGET;
}

static bool in_stack(const struct sample_memory *memory, uintptr_t at)
{
	const uintptr_t low = memory->stack - BELOW;

	return at >= low && at - low < SAMPLE_STACK_MOST;
}

/* Copies the block at that address, of the stack also those above it: their frames are next. The
 * call costs more than the bytes. */
static const uint8_t *copy(struct sample_memory *memory, uintptr_t block)
{
	const unsigned n = in_stack(memory, block) ? SAMPLE_AHEAD : 1;
	const unsigned first = (memory->next + n - 1) / n * n % SAMPLE_BLOCKS;
	struct iovec to = { memory->copies[first], n * SAMPLE_BLOCK };
	struct iovec from = { (void *)block, n * SAMPLE_BLOCK };
	/* Fewer bytes where a page cannot be read. */
	long bytes = pmc_sys6(SYS_process_vm_readv, memory->pid, &to, 1, &from, 1, 0);

	memory->next = first + n;
	for (unsigned i = 0; i < n; i++)
		memory->blocks[first + i] =
			bytes >= (long)((i + 1) * SAMPLE_BLOCK) ? block + i * SAMPLE_BLOCK : 0;
	return memory->blocks[first] ? memory->copies[first] : NULL;
}

/* A copy of the block at that address; NULL: it cannot be read. */
static const uint8_t *block_at(struct sample_memory *memory, uintptr_t block)
{
	for (unsigned i = 0; i < SAMPLE_BLOCKS; i++)
		if (memory->blocks[i] == block)
			return memory->copies[i];
	return block && sample_reads ? copy(memory, block) : NULL;
}

/* Whether it is in a module, perhaps another one than the last. */
static bool in_module(struct sample_memory *memory, uintptr_t at, size_t n)
{
	struct agent_dl_object object;

	if (at >= memory->from && at + n <= memory->to)
		return true;
	if (!sample_object(at, &object))
		return false;
	sample_memory_module(memory, (uintptr_t)object.map_start, (uintptr_t)object.map_end);
	return at + n <= memory->to;
}

static bool permitted(struct sample_memory *memory, uintptr_t at, size_t n)
{
	if (at + n < at || !memory->budget--)
		return false;
	return in_stack(memory, at) || in_module(memory, at, n);
}

bool sample_bytes(struct sample_memory *memory, uintptr_t at, void *to, size_t n)
{
	bool all = permitted(memory, at, n);

	for (size_t done = 0, part; all && done < n; done += part) {
		const size_t offset = (at + done) % SAMPLE_BLOCK;
		const uint8_t *block = block_at(memory, at + done - offset);

		part = n - done < SAMPLE_BLOCK - offset ? n - done : SAMPLE_BLOCK - offset;
		all = block != NULL;
		if (all)
			memcpy((uint8_t *)to + done, block + offset, part);
	}
	if (!all)
		memset(to, 0, n);
	return all;
}

bool sample_word(struct sample_memory *memory, uintptr_t at, uint64_t *word)
{
	return sample_bytes(memory, at, word, sizeof(*word));
}

/* ---- modules --------------------------------------------------------------------------------- */

/* How often a module may have been replaced. */
static _Atomic uint32_t closes;

void agent_sample_closed(void)
{
	atomic_fetch_add(&closes, 1);
	sample_dwarf_closed();
}

bool sample_object(uintptr_t address, struct agent_dl_object *object)
{
	return real__dl_find_object && real__dl_find_object((void *)address, object) == 0;
}

static size_t find_note(struct sample_memory *memory, uintptr_t at, uintptr_t end, uint8_t id[64])
{
	ElfW(Nhdr) note;
	char name[4];

	while (at + sizeof(note) <= end && sample_bytes(memory, at, &note, sizeof(note))) {
		uintptr_t text = at + sizeof(note), bytes = text + ((note.n_namesz + 3ul) & ~3ul);

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(name) &&
		    sample_bytes(memory, text, name, sizeof(name)) && !memcmp(name, "GNU", 4) &&
		    note.n_descsz <= 64 && sample_bytes(memory, bytes, id, note.n_descsz))
			return note.n_descsz;
		at = bytes + ((note.n_descsz + 3ul) & ~3ul);
	}
	return 0;
}

static size_t find_build_id(struct sample_memory *memory, const struct agent_dl_object *object,
			    uint8_t id[64])
{
	const uintptr_t start = (uintptr_t)object->map_start, end = (uintptr_t)object->map_end;
	ElfW(Ehdr) head;
	ElfW(Phdr) part;
	size_t n = 0;

	if (!sample_bytes(memory, start, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	for (unsigned i = 0; i < head.e_phnum && !n; i++) {
		uintptr_t at = start + head.e_phoff + i * sizeof(part);

		if (!sample_bytes(memory, at, &part, sizeof(part)))
			break;
		at = object->map->l_addr + part.p_vaddr;
		if (part.p_type == PT_NOTE && at >= start && at < end)
			n = find_note(memory, at, at + part.p_memsz < end ? at + part.p_memsz : end,
				      id);
	}
	return n;
}

static uint64_t build(struct sample_memory *memory, const struct agent_dl_object *object,
		      struct pmc_frame_buf *buf, uint64_t *room)
{
	const char *path = object->map->l_name;
	uint8_t id[64];
	size_t n;

	sample_memory_module(memory, (uintptr_t)object->map_start, (uintptr_t)object->map_end);
	n = find_build_id(memory, object, id);
	/* The loader's name of the program is "" or argv[0]. */
	if (strncmp(path, "linux-vdso", 10) == 0)
		path = "[vdso]";
	else if (!strchr(path, '/'))
		path = agent.text.exe;
	pmc_frame_buf_init(buf, room, PMC_MODULE_BYTES);
	return pmc_build_module(buf, path, id, n);
}

/* Its number; PMC_NO_MODULE: there is no room. */
static unsigned add(struct sample_memory *memory, const struct agent_dl_object *object)
{
	uint64_t room[PMC_MODULE_BYTES / sizeof(uint64_t)], hash;
	uint32_t now = atomic_load(&closes), i, n, text;
	struct pmc_frame_buf buf;
	struct sample_module *modules = sample_area(AREA_MODULES), *module;
	char *texts = sample_area(AREA_TEXT);

	hash = build(memory, object, &buf, room);
	n = atomic_load(&sample_tables.modules);
	for (i = 0; i < n && i < SAMPLE_MODULES; i++) {
		module = &modules[i];
		if (!atomic_load_explicit(&module->ready, memory_order_acquire) ||
		    module->start != (uintptr_t)object->map_start || module->hash != hash)
			continue;
		atomic_store(&module->closes, now);
		return i;
	}
	if (n >= SAMPLE_MODULES || atomic_load(&sample_tables.text) + buf.len > SAMPLE_TEXT_BYTES)
		return PMC_NO_MODULE;
	i = atomic_fetch_add(&sample_tables.modules, 1);
	text = atomic_fetch_add(&sample_tables.text, (uint32_t)buf.len);
	if (i >= SAMPLE_MODULES || text + buf.len > SAMPLE_TEXT_BYTES)
		return PMC_NO_MODULE;
	module = &modules[i];
	memcpy(texts + text, buf.data, buf.len);
	module->text = text;
	module->text_bytes = (uint32_t)buf.len;
	module->start = (uintptr_t)object->map_start;
	module->end = (uintptr_t)object->map_end;
	module->bias = object->map->l_addr;
	module->hash = hash;
	atomic_store(&module->closes, now);
	atomic_store_explicit(&module->ready, 1, memory_order_release);
	return i;
}

uint64_t sample_place(struct sample_memory *memory, uintptr_t address)
{
	const uint64_t unknown = (uint64_t)PMC_NO_MODULE << 48 | PMC_STACK_ADDRESS(address);
	uint32_t now = atomic_load(&closes), n = atomic_load(&sample_tables.modules);
	struct sample_module *modules = sample_area(AREA_MODULES);
	struct agent_dl_object object;
	unsigned i;

	if (!sample_object(address, &object))
		return unknown;
	for (i = 0; i < n && i < SAMPLE_MODULES; i++)
		if (modules[i].start == (uintptr_t)object.map_start &&
		    atomic_load_explicit(&modules[i].ready, memory_order_acquire) &&
		    atomic_load(&modules[i].closes) == now)
			break;
	if (i >= n || i >= SAMPLE_MODULES)
		i = add(memory, &object);
	if (i == PMC_NO_MODULE)
		return unknown;
	return (uint64_t)i << 48 | PMC_STACK_ADDRESS(address - modules[i].bias);
}
