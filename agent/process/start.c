/* SPDX-License-Identifier: MIT */
/*
 * start.c - decides what this process counts and where it writes, and starts the agent.
 *
 * Runs in the constructor, before those of other libraries: there is one thread, and libc works
 * except for getenv.
 */
#include "agent/process/process.h"
#include "agent/base/real.h"
#include "lib/base/proc.h"

#include <sys/auxv.h>

/* Overhead that cannot be measured from inside: the loader maps and links the agent before it runs,
 * the last frames are written and its memory is freed after its last look at the clock. Bench
 * measures a quarter of the time that exec and loader need for a small program; the limit is for
 * programs with many libraries of their own. */
#define UNSEEN_SHARE   4u
#define UNSEEN_MOST_NS 200000u
/* CPU time before the agent that one thread has used. */
#define LOADER_NS 10000000u

/* False: PMC_JOB is damaged or was not written by an agent. */
static bool parse_job(const char *text, struct agent_job *job)
{
	if (agent_job_parse(text, job) != 0)
		return false;
	memcpy(agent.job, job->fixed.id, 16);
	agent.owner = (pid_t)job->fixed.owner;
	agent.owner_ns = job->fixed.owner_ns;
	return !job->private_dump || agent_private_is_ours(job->path);
}

/* Joins the job of PMC_JOB, or starts one. */
static bool join_job(char *const *envp, struct agent_job *job)
{
	const char *text = pmc_env(envp, "PMC_JOB");

	if (text && strcmp(text, "off") == 0)
		return false;
	if (text && parse_job(text, job)) {
		if (agent_job_is_own(&job->fixed.reported))
			agent.reported = job->fixed.reported;
		agent.pid_namespace = agent.reported.pid_namespace;
		memcpy(agent.boot_id, job->fixed.boot_id, AGENT_BOOT_ID - 1);
		agent.first = agent.owner == agent.pid && agent.owner_ns == agent_pid_namespace();
		agent.covered = !agent.first;
		agent.after_exec = agent.first;
		if (job->private_dump)
			agent.private_dump = agent_copy(job->path);
		else
			agent.out = agent_copy(job->path);
		return true;
	}
	memset(job, 0, sizeof(*job));
	if (text && agent_job_parse_first(text, &job->fixed.reported) &&
	    agent_job_is_own(&job->fixed.reported))
		agent.reported = job->fixed.reported;
	agent.owner_ns = agent_pid_namespace();
	agent_begin_job(envp);
	return true;
}

AGENT_APART static bool plan_events(const struct agent_job *job)
{
	const char *text = agent.config.events ? agent.config.events : pmc_events_default;
	struct pmc_parse_error error;
	struct pmc_events events;

	agent.events_hash = agent_text_hash(text);
	if (job->path && job->fixed.events == agent.events_hash && agent_permitted(AGENT_PERF) &&
	    pmc_plan_decode(job->plan, job->plan_len, &agent.arena, &agent.plan) == 0)
		return true;
	if (pmc_events_parse(text, NULL, &agent.arena, &events, &error) != 0) {
		agent_refuse("PMC_EVENTS", text, error.text);
		return false;
	}
	/* getrusage(2) is of the own thread, and /proc too expensive for snapshots of all of them.
	 */
	pmc_events_account(&events, !agent.config.interval && !agent.config.dump);
	return pmc_plan_make(&events, agent_probe(), &agent.arena, &agent.plan) == 0;
}

static void note_events(void)
{
	bool unfiltered = false, refused = false, denied = false;

	for (unsigned i = 0; i < agent.plan.count; i++) {
		const struct pmc_planned *planned = &agent.plan.events[i];

		unfiltered |= planned->event.asked_scope &&
			      pmc_event_filter(&planned->event) == PMC_UNFILTERED;
		refused |= planned->state == PMC_NOT_PERMITTED;
		denied |= planned->error == EPERM || planned->error == ENOSYS;
	}
	denied = denied && agent_is_filtered();
	if (unfiltered)
		agent_note(NOTE_UNFILTERED);
	if ((refused || denied) && agent_permitted(AGENT_PERF)) /* else noted already */
		agent_note(denied ? NOTE_SECCOMP_REFUSED : NOTE_REFUSED);
}

AGENT_APART static bool plan_samples(void)
{
	char why[256];

	if (agent_sample_configure(why) == 0)
		return true;
	agent_refuse("PMC_SAMPLE", agent.config.sample.event, why);
	return false;
}

AGENT_APART static void read_program(int argc, char **argv)
{
	char exe[PATH_MAX];
	long n = pmc_sys4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	agent_read_program(exe, argc, argv);
}

__attribute__((cold)) static bool prepare(int argc, char **argv, char **envp)
{
	struct agent_job job;

	if (!agent_configure(envp) || !join_job(envp, &job))
		return false;
	if (agent.first && !agent.after_exec)
		agent_tell_misspelt(envp);
	agent.preloaded = agent_env_preloads(envp);
	read_program(argc, argv);
	if (!agent.first && (!agent.measured || !agent.config.follow))
		return false;
	if (!plan_events(&job) || !plan_samples())
		return false;
	/* Only for root, which may give up its privilege later, as servers do. */
	if (getauxval(AT_EUID) == 0 &&
	    pmc_plan_user(&agent.plan, &agent.arena, &agent.user_plan) != 0)
		return false;
	note_events();
	agent_fds_init();
	if (agent_fork_init() != 0 || agent_threads_init() != 0) {
		pmc_log(PMC_LOG_WARN,
			"no memory for the table of threads (ulimit -v) (the program runs "
			"uncounted)");
		return false;
	}
	if (!agent.first || agent.after_exec)
		agent_identity(agent.identity);
	agent_file_path();
	agent_file_take(&job.fixed.dump);
	if (!agent.first) {
		agent_file_open();
		return true;
	}
	agent_begin_outputs(envp);
	agent_boot_id(); /* for the job's other processes */
	if (agent.after_exec) {
		agent_file_open();
	} else {
		char *text = pmc_arena_alloc(&agent.arena, AGENT_JOB_TEXT);

		agent.job_text = text && agent_job_text(text, false, NULL) ? text : NULL;
		if (text)
			pmc_arena_shrink(&agent.arena, text, strlen(text) + 1);
	}
	return true;
}

/* Fills the control block, which pmctl reads from outside. */
static void publish(void)
{
	struct pmc_control *c = &pmc_agent_control;

	c->pid = agent.pid;
	memcpy(c->identity, agent.identity, 16);
	c->registry = (uint64_t)(uintptr_t)&agent_registry;
	for (unsigned g = 0; g <= agent.plan.readings; g++)
		c->first[g] = (uint16_t)agent.plan.first[g];
	c->accounts = (uint8_t)(agent.plan.readings - agent.plan.groups);
	for (unsigned i = agent.plan.opened; i < c->first[agent.plan.readings]; i++) {
		const struct pmc_event *event = &agent.plan.events[i].event;

		c->accounted[i] =
			(uint8_t)(event->config | (event->type == PMC_TYPE_OS ? ACCOUNTED_OS : 0));
		c->usage |= pmc_event_account(event->type, event->config) == PMC_ACCOUNT_USAGE;
	}
	c->os = agent.plan.os;
	c->eventset = agent.plan.hash;
	c->eventset_frame = (uint64_t)(uintptr_t)agent.plan.frame;
	c->eventset_bytes = agent.plan.frame_bytes;
	c->user_eventset = agent.user_plan.hash;
	c->user_frame = (uint64_t)(uintptr_t)agent.user_plan.frame;
	c->user_bytes = agent.user_plan.frame_bytes;
	c->exe = (uint64_t)(uintptr_t)agent.text.exe;
	c->cmdline = (uint64_t)(uintptr_t)agent.text.cmdline;
	c->labels = (uint64_t)(uintptr_t)agent.text.labels;
	c->counting = agent.config.start && !agent.config.delay;
	if (!c->counting)
		agent_note(NOTE_NO_COUNTING);
}

void agent_leave_out(const struct pmc_usage *before)
{
	struct pmc_usage now, *left_out[] = { &agent.reported.thread, &agent.reported.process };

	pmc_usage_thread(&now);
	for (unsigned i = 0; i < 2; i++) {
		left_out[i]->minor_faults += now.minor_faults - before->minor_faults;
		left_out[i]->major_faults += now.major_faults - before->major_faults;
		left_out[i]->voluntary_switches +=
			now.voluntary_switches - before->voluntary_switches;
		left_out[i]->involuntary_switches +=
			now.involuntary_switches - before->involuntary_switches;
	}
}

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Programs that write their title over the environment add up the lengths of its entries. Where
 * PMC_JOB lies elsewhere, some (vsftpd, uWSGI) clear so many bytes behind the end of the stack, so
 * there is memory. The kernel puts the name of the program and 8 bytes at that end
 * (create_elf_tables() in fs/binfmt_elf.c). */
static void map_behind_stack(size_t bytes)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t end = name ? (uintptr_t)name + strlen(name) + 1 + 8 : 0;
	void *at = (void *)((end + page - 1) / page * page), *map;

	if (!end)
		return;
	map = mmap(at, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	/* Linux before 4.17 does not know the flag. */
	if (map != MAP_FAILED && map != at)
		munmap(map, bytes);
}

/* Sets PMC_JOB in the environment block of the kernel if that has an entry for it, which pmctl run
 * adds: Go's run time passes on this block, not libc's environment. Where there is room in place of
 * its text, as pmctl run leaves, the environment stays as it is: programs that write their title
 * over it add up the lengths of its entries, and others look for the auxiliary vector behind it. */
static void place_job(char **envp)
{
	size_t len;

	for (; agent.job_text && envp && *envp; envp++) {
		if (!agent_env_is_job(*envp))
			continue;
		len = strlen(agent.job_text);
		if (strlen(*envp) < len) {
			*envp = agent.job_text;
			continue;
		}
		memcpy(*envp, agent.job_text, len + 1);
		agent.job_text = NULL;
	}
	if (agent.job_text && envp)
		map_behind_stack(strlen(agent.job_text) + 1);
}

/* The arena's first block, without a system call; with room for PMC_JOB. */
AGENT_ROOMY static _Alignas(16) uint8_t first_block[160 << 10];

/* The main thread's row includes what the loader used and waited for, so it starts at the exec, or
 * where that is not known, earlier by the CPU time. Not by that of the process: a program that was
 * replaced by exec may have used it in several threads. */
static uint64_t start_of_image(uint64_t start, uint64_t own_ns)
{
	if (agent.reported.exec_ns && agent.reported.exec_ns < start)
		return agent.reported.exec_ns;
	if (agent.pre_cpu_ns > LOADER_NS) {
		pmc_thread_cpu_ns(0, &own_ns);
		if (!agent.after_exec)
			pmc_run_delay(0, &agent.reported.thread_delay_ns);
	}
	return pmc_sub_sat(start, agent.pre_cpu_ns < own_ns ? agent.pre_cpu_ns : own_ns);
}

void agent_start(int argc, char **argv, char **envp)
{
	uint64_t start = pmc_now_ns(), cpu_ns = pmc_process_cpu_ns();
	struct pmc_usage before;
	int saved = errno;
	bool prepared;

	pmc_usage_thread(&before);
	atomic_store(&pmc_agent_control.state, PMC_CONTROL_STARTING);
	/* Not as initialised data, which would cost a page copied from the file. */
	pmc_agent_control.magic = PMC_CONTROL_MAGIC;
	pmc_agent_control.version = PMC_CONTROL_VERSION;
	pmc_agent_control.bytes = sizeof(pmc_agent_control);
	/* Secure-execution programs get no preload from the loader; if loaded in one, stay dormant.
	 * musl's loader gives constructors no arguments, so argv and envp are undefined there. */
	if (getauxval(AT_SECURE) || agent_libc_is_other())
		goto out;
	/* Written before it is read, which would cost a second page fault. */
	agent.arena = (struct pmc_arena){ .head = NULL };
	pmc_arena_give(&agent.arena, first_block, sizeof(first_block));
	agent_real_init();
	agent.pid = (pid_t)syscall(SYS_getpid);
	agent.start_ns = start;
	atomic_store(&pmc_agent_control.snapshot, AGENT_HEADER_SNAPSHOT);
	prepared = prepare(argc, argv, envp);
	place_job(envp);
	if (!prepared)
		goto out;
	publish();
	agent.pre_cpu_ns = pmc_sub_sat(cpu_ns, agent.reported.process_cpu_ns);
	agent.start_ns = start_of_image(start, cpu_ns);
	if (agent.measured && agent.first)
		agent_inherit_open();
	if (agent.after_exec && agent.inherit != PMC_INHERIT_OFF)
		agent_note(NOTE_OWN_EXEC);
	agent_signals_init();
	agent_leave_out(&before);
	agent_publish_process();
	atomic_store(&pmc_agent_control.state, PMC_CONTROL_ON);
	/* CPU time: opening the first perf event of an idle system sleeps for milliseconds. */
	agent_overhead_add(pmc_process_cpu_ns() - cpu_ns);
	cpu_ns = agent.pre_cpu_ns / UNSEEN_SHARE;
	agent_overhead_add(cpu_ns < UNSEEN_MOST_NS ? cpu_ns : UNSEEN_MOST_NS);
	if (agent.measured)
		agent_thread_main(0);
out:
	if (atomic_load(&pmc_agent_control.state) == PMC_CONTROL_STARTING)
		atomic_store(&pmc_agent_control.state, PMC_CONTROL_OFF);
	errno = saved;
}
