/* SPDX-License-Identifier: MIT */
/* fuzz_macho.c - a program's Mach-O file as pmctl run checks it on macOS. */
#include "tests/fuzz/fuzz.h"
#include "tools/run/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct macho_place place = { .path = "/app", .apple_silicon = size & 1 };
	struct macho_facts facts;
	enum macho_cpu cpu;

	if (macho_read(data, size, &facts) == 0) {
		macho_judge(&facts, &facts, &place);
		FUZZ_CHECK(!macho_choose(&facts, true, &cpu) || facts.slices[cpu].present);
	}
	return 0;
}
