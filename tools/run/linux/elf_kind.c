/* SPDX-License-Identifier: MIT */
/* elf_kind.c - checks from a program's file whether the agent can be preloaded. */
#include "tools/cli/pmctl.h"
#include "tools/rows/fold.h"
#include "tools/run/program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The loader's path, a string in the mapped file; NULL: none, or damaged. */
static const char *interpreter(Elf *elf)
{
	size_t n = 0, bytes = 0;
	const char *raw = elf_rawfile(elf, &bytes);

	if (elf_getphdrnum(elf, &n) != 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_INTERP)
			continue;
		if (!raw || phdr.p_offset >= bytes || phdr.p_filesz > bytes - phdr.p_offset ||
		    !memchr(raw + phdr.p_offset, '\0', phdr.p_filesz))
			return NULL;
		return raw + phdr.p_offset;
	}
	return NULL;
}

static void read_needed(const char *name, struct elf_facts *facts)
{
	if (starts(name, "libasan.so"))
		facts->asan = true;
	else if (strcmp(name, "libc.so.6") == 0)
		facts->libc = ELF_GLIBC;
	else if (strcmp(name, "libc.so") == 0 || starts(name, "libc.musl-"))
		facts->libc = ELF_MUSL;
}

static void read_dynamic(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, struct elf_facts *facts)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && shdr->sh_entsize ? data->d_size / shdr->sh_entsize : 0;

	for (size_t i = 0; i < n; i++) {
		GElf_Dyn dyn;
		const char *name;

		if (!gelf_getdyn(data, (int)i, &dyn) || dyn.d_tag == DT_NULL)
			return;
		if (dyn.d_tag != DT_NEEDED)
			continue;
		name = elf_strptr(elf, shdr->sh_link, dyn.d_un.d_val);
		if (name)
			read_needed(name, facts);
	}
}

static void read_elf(Elf *elf, const GElf_Ehdr *ehdr, const char *path, struct elf_facts *facts)
{
	const char *loader = interpreter(elf);
	const char *name;
	Elf_Scn *scn = NULL;
	size_t names = 0;

	elf_getshdrstrndx(elf, &names);
	facts->machine = ehdr->e_machine;
	/* A loader run as a command (ld.so ./app) obeys LD_PRELOAD. */
	facts->dynamic = loader || (ehdr->e_type == ET_DYN && starts(pmc_base_name(path), "ld-"));
	if (loader)
		facts->libc = starts(pmc_base_name(loader), "ld-musl-") ? ELF_MUSL : ELF_GLIBC;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type == SHT_DYNAMIC)
			read_dynamic(elf, scn, &shdr, facts);
		name = elf_strptr(elf, names, shdr.sh_name);
		facts->go |= name && strcmp(name, ".go.buildinfo") == 0;
	}
}

int elf_read(const char *path, struct elf_facts *facts)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int result = -ENOEXEC;
	GElf_Ehdr ehdr;
	Elf *elf;

	memset(facts, 0, sizeof(*facts));
	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &ehdr)) {
		read_elf(elf, &ehdr, path, facts);
		result = 0;
	}
	elf_end(elf);
	close(fd);
	return result;
}

bool run_is_go(const char *path)
{
	struct elf_facts facts;

	return elf_read(path, &facts) == 0 && facts.go;
}

/* Whether exec sets AT_SECURE, so that the loader ignores LD_PRELOAD. */
static bool is_secure(const char *path)
{
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID)))
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return true;
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
		return true;
	/* Root gains nothing from file capabilities: no AT_SECURE. */
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static enum program_kind judge(const struct program *program, const struct elf_facts *agent)
{
	const struct elf_facts *facts = &program->facts;

	if (facts->machine != agent->machine)
		return PROGRAM_FOREIGN;
	if (!facts->dynamic)
		return PROGRAM_STATIC;
	if (is_secure(program->image))
		return PROGRAM_SECURE;
	if (facts->libc && agent->libc && facts->libc != agent->libc)
		return PROGRAM_LIBC;
	return PROGRAM_OK;
}

/* An exec that changes credentials, or of an unreadable file, removes all counters from the
 * process: begin_new_exec in the kernel's fs/exec.c. */
static bool is_hidden(const struct program *program)
{
	struct stat st;

	if (program->kind == PROGRAM_UNREADABLE)
		return geteuid() != 0;
	if (program->kind != PROGRAM_SECURE || stat(program->image, &st) != 0)
		return false;
	if (!(st.st_mode & (S_ISUID | S_ISGID)))
		return geteuid() != 0;
	return ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	       ((st.st_mode & S_ISGID) && st.st_gid != getegid());
}

void elf_look(const char *command, const struct elf_facts *agent, struct program *program)
{
	if (!program_find(command, program))
		return;
	if (elf_read(program->image, &program->facts) == 0)
		program->kind = judge(program, agent);
	else if (is_secure(program->image))
		program->kind = PROGRAM_SECURE;
	program->hidden = is_hidden(program);
}

int program_look(const char *command, const char *agent, struct program *program)
{
	struct elf_facts facts;
	int error = elf_read(agent, &facts);

	if (!error && command)
		elf_look(command, &facts, program);
	return error;
}

const char *const program_obstacle[PROGRAM_KINDS] = {
	[PROGRAM_STATIC] = "is statically linked and cannot load the agent",
	[PROGRAM_FOREIGN] = "has another architecture than the agent",
	[PROGRAM_LIBC] = "uses another C library than the agent",
	[PROGRAM_SECURE] =
		"is setuid, setgid or has file capabilities: the loader ignores LD_PRELOAD",
};
