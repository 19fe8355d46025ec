/* SPDX-License-Identifier: MIT */
/*
 * fuzz_elf.c - a program's file as pmctl run checks it, and a module's file as pmctl report reads
 * it for function names. The first eight bytes are the address to look up.
 */
#include "tests/fuzz/fuzz.h"
#include "tools/run/elf_kind.h"
#include "tools/report/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_program program;
	struct elf_facts facts;
	char path[64], name[64];
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
	memset(name, 0x5a, sizeof(name));
	FUZZ_CHECK(symbols_lookup(path, address, name, sizeof(name)) < sizeof(name));
	close(fd);
	return 0;
}
