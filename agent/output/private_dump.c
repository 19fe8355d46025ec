/* SPDX-License-Identifier: MIT */
/* private_dump.c - the dump of a job without PMC_OUT. Raw system calls. */
#include "agent/output/output.h"
#include "lib/base/file.h"
#include "lib/dump/output.h"

#include "agent/base/poison.h"

#define PREFIX	  "pmc-"
#define SUFFIX	  ".job"
#define NAME_ROOM 96

static const char *directory(char *const *envp)
{
	const char *const places[] = { pmc_env(envp, "TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };

	for (unsigned i = 0; i < 4; i++)
		if (places[i] && *places[i] == '/' &&
		    pmc_sys3(SYS_faccessat, AT_FDCWD, places[i], W_OK | X_OK) == 0)
			return places[i];
	return "/tmp";
}

static void put_name(struct pmc_out *out)
{
	pmc_out_str(out, PREFIX);
	pmc_out_hex_bytes(out, agent.job, 16);
	pmc_outf(out, "-%u-%llu" SUFFIX, (unsigned)agent.owner, (unsigned long long)agent.owner_ns);
}

const char *agent_private_path(char *const *envp)
{
	char text[PATH_MAX];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	pmc_outf(&out, "%s/", directory(envp));
	put_name(&out);
	return pmc_arena_strdup(&agent.arena, text);
}

bool agent_private_is_ours(const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[NAME_ROOM];
	struct pmc_out out = pmc_out_mem(name, sizeof(name));

	put_name(&out);
	return *path == '/' && strcmp(slash + 1, name) == 0;
}

/* Removes a dump of this user and nothing else. */
static bool remove_dump(const char *path)
{
	struct stat st;
	const int fd = pmc_dump_open(path, false, &st);

	if (fd < 0)
		return false;
	pmc_fd_close(fd);
	return pmc_sys3(SYS_unlinkat, AT_FDCWD, path, 0) == 0;
}

bool agent_private_remove(void)
{
	const char *path = agent.out ? NULL : agent.private_dump;

	return path && agent_private_is_ours(path) && remove_dump(path);
}

/* The first process's ID, in this PID namespace; 0: not such a name, or another namespace. */
static uint64_t owner_of(const char *name)
{
	const size_t before = strlen(PREFIX) + 32;
	uint8_t job[16];
	uint64_t pid, ns;

	if (strlen(name) < before || strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
	    !pmc_number_bytes(name + strlen(PREFIX), 16, job))
		return 0;
	name += before;
	if (*name++ != '-' || !pmc_number_take(&name, NULL, 10, &pid) || *name++ != '-' ||
	    !pmc_number_take(&name, NULL, 10, &ns) || strcmp(name, SUFFIX) != 0)
		return 0;
	return ns == agent.owner_ns && pid <= INT_MAX ? pid : 0;
}

static bool is_process(uint64_t pid)
{
	return pmc_path_exists("/proc/%llu", (unsigned long long)pid) == 0;
}

static void sweep(const char *name, void *unused)
{
	const char *own = agent.private_dump;
	const uint64_t owner = owner_of(name);
	char path[PATH_MAX];
	struct pmc_out out = pmc_out_mem(path, sizeof(path));

	(void)unused;
	if (!owner || is_process(owner))
		return;
	pmc_outf(&out, "%.*s/%s", (int)(strrchr(own, '/') - own), own, name);
	remove_dump(path);
}

void agent_private_sweep(void)
{
	const char *own = agent.private_dump;

	/* A seccomp filter may refuse these system calls; without /proc, processes look dead. */
	if (!agent_is_filtered() && is_process((uint64_t)agent.pid))
		pmc_dir_visit(sweep, NULL, "%.*s", (int)(strrchr(own, '/') - own), own);
}
