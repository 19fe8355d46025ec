/* SPDX-License-Identifier: MIT */
/*
 * job.c - writes and parses PMC_JOB, the only variable that the agent puts into the environment.
 *
 * 2:<struct agent_job_fixed>:<plan>:<p|o><path>
 * The struct, at an exec by another user with the descriptor that is left open
 * (agent/output/taken.c), and the plan, its EVENTSET frame or empty, are packed (pmc_out_packed).
 * The path comes last, unquoted: p for the job's private dump, o for the absolute PMC_OUT. "off"
 * keeps agents in descendants dormant. pmctl run starts the first process with nothing, or with 0
 * and ten numbers: its pid, the time of the exec, and of before it run delay, CPU time, minor and
 * major faults, voluntary and involuntary switches, user time and system time; spaces leave room
 * for the job's.
 */
#include "agent/base/agent.h"
#include "lib/base/file.h"
#include "lib/base/proc.h"

int agent_job_parse(const char *text, struct agent_job *job)
{
	const char *end;

	memset(job, 0, sizeof(*job));
	if (strncmp(text, "2:", 2) != 0)
		return -EINVAL;
	text += 2;
	end = strchr(text, ':');
	if (!end || pmc_number_unpack(text, (size_t)(end - text), (uint8_t *)&job->fixed,
				      sizeof(job->fixed)) != sizeof(job->fixed))
		return -EINVAL;
	text = end + 1;
	end = strchr(text, ':');
	if (!end || (end[1] != 'p' && end[1] != 'o'))
		return -EINVAL;
	job->plan = text;
	job->plan_len = (size_t)(end - text);
	job->private_dump = end[1] == 'p';
	job->path = end + 2;
	return 0;
}

bool agent_job_parse_first(const char *text, struct agent_reported *reported)
{
	struct agent_reported *r = reported;
	uint64_t *const words[] = {
		&r->pid,
		&r->exec_ns,
		&r->thread_delay_ns,
		&r->thread_cpu_ns,
		&r->thread.minor_faults,
		&r->thread.major_faults,
		&r->thread.voluntary_switches,
		&r->thread.involuntary_switches,
		&r->thread.user_ns,
		&r->thread.system_ns,
	};

	*r = (struct agent_reported){ .pid = 0 };
	if (*text++ != '0')
		return false;
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (*text++ != ':' || !pmc_number_take(&text, NULL, 10, words[i]))
			return false;
	r->process_cpu_ns = r->thread_cpu_ns;
	r->process = r->thread;
	while (*text == ' ')
		text++;
	return !*text;
}

/* Static, for a small signal stack. */
bool agent_process_age(uint64_t *ns)
{
	static char text[512];
	static struct pmc_proc_stat stat;
	struct timespec boot;

	pmc_file_read_at(AT_FDCWD, "/proc/self/stat", text, sizeof(text));
	if (!pmc_proc_stat(text, &stat) || clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
		return false;
	*ns = pmc_sub_sat(pmc_timespec_ns(&boot), (stat.start_ticks + 1) * PMC_TICK_NS);
	return true;
}

bool agent_job_is_own(const struct agent_reported *reported)
{
	const uint64_t second = 1000000000, ago_ns = pmc_sub_sat(pmc_now_ns(), reported->exec_ns);
	uint64_t age_ns;

	if (reported->pid != (uint64_t)agent.pid)
		return false;
	/* No PID is used again that soon. */
	return ago_ns < second || !agent_process_age(&age_ns) || age_ns + second > ago_ns;
}

static void fill_reported(struct agent_reported *now)
{
	/* First: what comes after it belongs to the new image. */
	now->exec_ns = pmc_now_ns();
	now->pid = (uint64_t)agent.pid;
	now->dump_start = agent.reported.dump_start;
	pmc_thread_cpu_ns(0, &now->thread_cpu_ns);
	now->process_cpu_ns = pmc_process_cpu_ns();
	pmc_usage_thread(&now->thread);
	now->thread_delay_ns = 0;
	if (agent.plan.os & 1u << PMC_OS_RUN_DELAY || agent_has_delay(agent.start_ns))
		pmc_run_delay(0, &now->thread_delay_ns);
	pmc_usage_process(&now->process);
	now->pid_namespace = agent.pid_namespace;
}

bool agent_job_text(char *text, bool with_reported, const struct agent_passed *dump)
{
	struct agent_job_fixed fixed = {
		.owner = (uint64_t)agent.owner,
		.owner_ns = agent.owner_ns,
		.events = agent.events_hash,
	};
	struct pmc_out out = pmc_out_mem(text, AGENT_JOB_TEXT);

	memcpy(fixed.id, agent.job, sizeof(fixed.id));
	memcpy(fixed.boot_id, agent.boot_id, sizeof(fixed.boot_id));
	if (with_reported)
		fill_reported(&fixed.reported);
	if (dump)
		fixed.dump = *dump;
	pmc_out_str(&out, "PMC_JOB=2:");
	pmc_out_packed(&out, (const uint8_t *)&fixed, sizeof(fixed));
	pmc_out_char(&out, ':');
	pmc_plan_encode(&agent.plan, &out);
	pmc_outf(&out, ":%c", agent.out ? 'o' : 'p');
	pmc_out_str(&out, agent.out ? agent.out : agent.private_dump ? agent.private_dump : "");
	return out.error == 0;
}

static uint64_t read_pid_namespace(void)
{
	char text[40]; /* pid:[4026531836] */
	long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", text, sizeof(text) - 1);
	const char *at = n > 5 ? text + 5 : text;
	uint64_t inode = 0;

	/* Not by stat(2), which makes the kernel allocate an inode for it. */
	pmc_number_take(&at, text + (n > 0 ? n : 0), 10, &inode);
	return inode;
}

uint64_t agent_pid_namespace(void)
{
	if (!agent.pid_namespace)
		agent.pid_namespace = read_pid_namespace();
	return agent.pid_namespace;
}

const char *agent_boot_id(void)
{
	enum { DIGITS = 36 }; /* without the newline: one read */

	if (!agent.boot_id[0])
		pmc_file_read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", agent.boot_id,
				 DIGITS + 1);
	return agent.boot_id;
}

bool agent_job_owner_alive(void)
{
	char path[40], exe[8];
	struct pmc_out out = pmc_out_mem(path, sizeof(path));

	/* The owner's pid is not known in another pid namespace. */
	if (agent_pid_namespace() != agent.owner_ns)
		return true;
	/* EPERM: alive, but another user's. */
	if (syscall(SYS_kill, agent.owner, 0) != 0)
		return errno == EPERM;
	/* A zombie has no program. */
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

	if (syscall(SYS_getrandom, identity, 16UL, nonblock) == 16)
		return;
	/* Early at boot the pool is empty: time and pid are the best there is. */
	memcpy(identity, (uint64_t[]){ pmc_now_ns(), (uint64_t)agent.pid * 0x9e3779b97f4a7c15u },
	       16);
}
