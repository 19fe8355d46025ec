/* SPDX-License-Identifier: MIT */
/*
 * sample_modules.c - the modules that were seen in stacks, each with its MODULE frame.
 *
 * The loader's _dl_find_object takes no lock and is async-signal-safe (glibc 2.35). A module is
 * known by its mapping. dlclose may put another one there: after it, known ones are compared with
 * their frame once more. Two threads that add a module at once leave it there twice.
 */
#include "agent/sample/private.h"
#include "lib/dump/frame.h"

#include <elf.h>
#include <link.h>

#include "agent/base/poison.h"

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

/* Finds the note in [at, end). */
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

/* Builds the frame of a module in `room`. */
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
		path = agent.exe;
	pmc_frame_buf_init(buf, room, PMC_MODULE_BYTES);
	return pmc_build_module(buf, path, id, n);
}

/* Its number; PMC_NO_MODULE: there is no room. */
static unsigned add(struct sample_memory *memory, const struct agent_dl_object *object)
{
	uint64_t room[PMC_MODULE_BYTES / sizeof(uint64_t)], hash;
	uint32_t now = atomic_load(&closes), i, n, text;
	struct pmc_frame_buf buf;
	size_t most, most_text;
	struct sample_module *modules = sample_area(AREA_MODULES, sizeof(*modules), &most), *module;
	char *texts = sample_area(AREA_TEXT, 1, &most_text);

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
	if (n >= SAMPLE_MODULES || atomic_load(&sample_tables.text) + buf.len > most_text)
		return PMC_NO_MODULE;
	i = atomic_fetch_add(&sample_tables.modules, 1);
	text = atomic_fetch_add(&sample_tables.text, (uint32_t)buf.len);
	if (i >= SAMPLE_MODULES || text + buf.len > most_text)
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
	size_t most;
	struct sample_module *modules = sample_area(AREA_MODULES, sizeof(*modules), &most);
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
