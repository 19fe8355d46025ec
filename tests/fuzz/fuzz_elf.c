/* SPDX-License-Identifier: MIT */
/*
 * fuzz_elf.c - a program's file as pmctl run checks it, and a module's file as pmctl report reads
 * it for functions and lines. The first eight bytes are the address to look up.
 */
#include "tests/fuzz/fuzz.h"
#include "tools/run/elf_kind.h"
#include "tools/symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_program program;
	struct elf_facts facts;
	const struct symbol_place *place;
	struct symbol_module *module;
	struct symbols *symbols;
	char path[64];
	uint64_t address;
	int fd;

	if (size < sizeof(address))
		return 0;
	memcpy(&address, data, sizeof(address));
	fd = fuzz_file(data + sizeof(address), size - sizeof(address));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (elf_read(path, &facts) == 0) {
		elf_look(path, &facts, &program);
	}
	FUZZ_CHECK(symbols_new(&symbols, NULL) == 0);
	module = symbols_module(symbols, path, NULL, 0);
	symbols_function(symbols, module, address);
	place = symbols_at(symbols, module, address);
	FUZZ_CHECK(place->n > 0 && !place->frames[place->n - 1].inlined);
	symbols_free(symbols);
	close(fd);
	return 0;
}
