/* SPDX-License-Identifier: MIT */
/* parts.c - what pmctl works with: the agent and its version, libpfm4. */
#include "tools/doctor/doctor.h"
#include "tools/run/run.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* agent/base/version.c puts it there. */
#define VERSION_SECTION ".pmc.version"

static bool version_of(Elf *elf, char version[32])
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		data = name && strcmp(name, VERSION_SECTION) == 0 ? elf_rawdata(section, NULL) :
								    NULL;
		if (!data || !data->d_buf || data->d_size == 0)
			continue;
		snprintf(version, 32, "%.*s", (int)(data->d_size < 31 ? data->d_size : 31),
			 (const char *)data->d_buf);
		return version[0] != '\0';
	}
	return false;
}

bool doctor_agent_version(const char *path, char version[32])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool found = false;
	Elf *elf;

	version[0] = '\0';
	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		found = version_of(elf, version);
	elf_end(elf);
	close(fd);
	return found;
}

/* The name that event/pfm.c loads it by. What it says of its version is 4.0 in every release; its
 * file's name tells more. */
static void find_pfm(struct doctor_facts *facts)
{
	void *library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	void *function = library ? dlsym(library, "pfm_initialize") : NULL;
	Dl_info info;

	if (function && (!dladdr(function, &info) || !realpath(info.dli_fname, facts->pfm)))
		strcpy(facts->pfm, "libpfm.so.4");
	if (library)
		dlclose(library);
}

void doctor_parts(struct doctor_facts *facts)
{
	char tried[2][PATH_MAX + 64];

	if (run_look_for_agent(facts->agent, tried) == 0)
		doctor_agent_version(facts->agent, facts->agent_version);
	snprintf(facts->agent_dir, sizeof(facts->agent_dir), "%.*s", PATH_MAX - 1, tried[0]);
	dirname(facts->agent_dir);
	find_pfm(facts);
}
