/* SPDX-License-Identifier: MIT */
/* elf.h - sections of ELF files, where elfutils are. Private to this folder. */
#pragma once

#include <gelf.h>

/* table.c. The section of that name; NULL: none. */
Elf_Scn *symbol_section(Elf *elf, const char *wanted, GElf_Shdr *header);
