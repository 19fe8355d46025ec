/* SPDX-License-Identifier: MIT */
/*
 * fuzz_elf.c - a program's file as pmctl run looks at it before it starts one, and a module's as
 * pmctl report does for names of functions. The first eight bytes are the address looked for.
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
