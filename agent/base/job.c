/* SPDX-License-Identifier: MIT */
/*
 * job.c - writes and parses PMC_JOB, the only variable that the agent puts into the environment.
 *
 * 1:<job>:<owner pid>:<owner's pid namespace>:<events hash>:<reported>:<plan>:<p|o><path>
 * All numbers are in hex. <reported> is empty or the numbers of struct agent_reported. <plan> is
 * the plan's EVENTSET frame in hex, or empty. The path comes last, unquoted: p for the job's
 * private dump, o for the absolute PMC_OUT. "off" keeps agents in descendants dormant.
 */
#include "agent/base/job.h"
#include "agent/base/agent.h"
#include "agent/core/base/arena.h"
#include "agent/core/base/number.h"
#include "agent/core/base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT_BYTES ((size_t)64 << 10)
#define FEW_BYTES  ((size_t)2 << 10)

static bool hex(const char **at, uint64_t *value, char end)
{
	return pmc_number_take(at, NULL, 16, value) && *(*at)++ == end;
}

/* The numbers of a struct agent_reported, in the order of the text. */
enum { N_REPORTED = 11 };

static void reported_numbers(struct agent_reported *r, uint64_t *to[N_REPORTED])
{
	uint64_t *const all[N_REPORTED] = {
		&r->pid,
		&r->thread_cpu_ns,
		&r->process_cpu_ns,
		&r->thread.minor_faults,
		&r->thread.major_faults,
		&r->thread.voluntary_switches,
		&r->thread.involuntary_switches,
		&r->process.minor_faults,
		&r->process.major_faults,
		&r->process.voluntary_switches,
		&r->process.involuntary_switches,
	};

	memcpy(to, all, sizeof(all));
}

static bool parse_reported(const char **at, struct agent_reported *reported)
{
	uint64_t *to[N_REPORTED];

	if (**at == ':') {
		(*at)++;
		return true;
	}
	reported_numbers(reported, to);
	for (unsigned i = 0; i < N_REPORTED; i++)
		if (!hex(at, to[i], i + 1 < N_REPORTED ? ',' : ':'))
			return false;
	return true;
}

int agent_job_parse(const char *text, struct agent_job *job)
{
	uint64_t owner;
	const char *end;

	memset(job, 0, sizeof(*job));
	if (strncmp(text, "1:", 2) != 0)
		return -EINVAL;
	text += 2;
	if (!pmc_number_bytes(text, sizeof(job->id), job->id) || text[2 * sizeof(job->id)] != ':')
		return -EINVAL;
	text += 2 * sizeof(job->id) + 1;
	if (!hex(&text, &owner, ':') || !hex(&text, &job->owner_ns, ':') ||
	    !hex(&text, &job->events, ':') || !parse_reported(&text, &job->reported))
		return -EINVAL;
	job->owner = (int)owner;
	end = strchr(text, ':');
	if (!end || (end[1] != 'p' && end[1] != 'o'))
		return -EINVAL;
	job->plan = text;
	job->plan_len = (size_t)(end - text);
	job->private_dump = end[1] == 'p';
	job->path = end + 2;
	return 0;
}

static void put_reported(struct pmc_out *out)
{
	struct agent_reported now = { .pid = (uint64_t)agent.pid };
	uint64_t *from[N_REPORTED];

	pmc_thread_cpu_ns(0, &now.thread_cpu_ns);
	now.process_cpu_ns = pmc_process_cpu_ns();
	pmc_usage_thread(&now.thread);
	pmc_usage_process(&now.process);
	reported_numbers(&now, from);
	for (unsigned i = 0; i < N_REPORTED; i++) {
		if (i)
			pmc_out_char(out, ',');
		pmc_out_hex(out, *from[i]);
	}
}

static int put_text(struct pmc_out *out, bool with_reported)
{
	pmc_out_str(out, "PMC_JOB=1:");
	pmc_out_hex_bytes(out, agent.job, 16);
	pmc_outf(out, ":%x:%llx:%llx:", (unsigned)agent.owner, (unsigned long long)agent.owner_ns,
		 (unsigned long long)agent.events_hash);
	if (with_reported)
		put_reported(out);
	pmc_out_char(out, ':');
	pmc_plan_encode(&agent.plan, out);
	pmc_outf(out, ":%c%s", agent.out ? 'o' : 'p',
		 agent.out	    ? agent.out :
		 agent.private_dump ? agent.private_dump :
				      "");
	return out->error;
}

char *agent_job_text(void)
{
	struct pmc_out out;
	char *text;

	text = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text == MAP_FAILED)
		return NULL;
	pmc_out_to_mem(&out, text, TEXT_BYTES);
	if (put_text(&out, true) == 0)
		return text;
	munmap(text, TEXT_BYTES);
	return NULL;
}

char *agent_job_first_text(void)
{
	struct pmc_out out;

	/* Usually the small size is enough, which the arena has mapped already. */
	for (size_t bytes = FEW_BYTES;; bytes = TEXT_BYTES) {
		char *text = pmc_arena_alloc(&agent.arena, bytes);

		if (!text)
			return NULL;
		pmc_out_to_mem(&out, text, bytes);
		if (put_text(&out, false) == 0)
			return text;
		if (bytes == TEXT_BYTES)
			return NULL;
	}
}

void agent_job_text_free(char *text)
{
	munmap(text, TEXT_BYTES);
}

uint64_t agent_pid_namespace(void)
{
	char text[40]; /* pid:[4026531836] */
	long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", text, sizeof(text) - 1);
	const char *at = n > 5 ? text + 5 : text;
	uint64_t inode = 0;

	/* Not by stat(2), which makes the kernel allocate an inode for it. */
	pmc_number_take(&at, text + (n > 0 ? n : 0), 10, &inode);
	return inode;
}

bool agent_job_owner_alive(void)
{
	struct pmc_out out;
	char path[40], exe[8];

	/* The owner's pid is not known in another pid namespace. */
	if (agent_pid_namespace() != agent.owner_ns)
		return true;
	/* EPERM: alive, but another user's. */
	if (syscall(SYS_kill, agent.owner, 0) != 0)
		return errno == EPERM;
	/* A zombie has no program. */
	pmc_out_to_mem(&out, path, sizeof(path));
	pmc_outf(&out, "/proc/%d/exe", (int)agent.owner);
	return syscall(SYS_readlinkat, AT_FDCWD, path, exe, sizeof(exe)) >= 0 || errno != ENOENT;
}

uint64_t agent_text_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

void agent_identity(uint8_t identity[16])
{
	const unsigned nonblock = 1; /* GRND_NONBLOCK */
	uint64_t seed[2];

	if (syscall(SYS_getrandom, identity, 16UL, nonblock) == 16)
		return;
	/* Early at boot the pool is empty: time and pid are the best there is. */
	seed[0] = pmc_now_ns();
	seed[1] = (uint64_t)agent.pid * 0x9e3779b97f4a7c15u;
	memcpy(identity, seed, 16);
}
