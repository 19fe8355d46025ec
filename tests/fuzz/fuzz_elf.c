/* SPDX-License-Identifier: MIT */
/*
 * fuzz_elf.c - a program's file as pmctl run checks it, and a module's file as pmctl report reads
 * it for functions, and for lines and stacks of Go. The first eight bytes are the address to look
 * up.
 *
 * With FUZZ_LIBDW set, for other lines and inlined frames too. Most findings of those are libdw's:
 * 0.188 reads past the end of damaged line tables (docs/CONTRIBUTING.md, "Fuzzing").
 */
#include "tests/fuzz/fuzz.h"
#include "tools/run/program.h"
#include "tools/symbol/private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct program program;
	struct symbol_frame frame = { .line = 0 };
	struct elf_facts facts;
	struct symbol_module *module;
	struct symbols *symbols;
	char path[64];
	uint64_t address, bytes;
	int fd;

	if (size < sizeof(address))
		return 0;
	memcpy(&address, data, sizeof(address));
	fd = fuzz_file(data + sizeof(address), size - sizeof(address));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (elf_read(path, &facts) == 0) {
		elf_look(path, &facts, &program);
	}
	symbols = symbols_new(NULL);
	module = symbols_module(symbols, path, NULL, 0);
	symbols_function(symbols, module, address);
	symbol_go_line(symbols, module, address, &frame);
	FUZZ_CHECK(!frame.file == !frame.line);
	FUZZ_CHECK(!symbols_go_frame(symbols, module, address, &bytes) || bytes % 8 == 0);
	if (getenv("FUZZ_LIBDW")) {
		const struct symbol_place *place = symbols_at(symbols, module, address);

		FUZZ_CHECK(place->n > 0 && !place->frames[place->n - 1].inlined);
	}
	symbols_free(symbols);
	close(fd);
	return 0;
}
