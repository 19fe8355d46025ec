/* SPDX-License-Identifier: MIT */
/*
 * start.c - a process image on macOS: start, snapshots, fork, exec.
 *
 * PMC_JOB is "mac1:<job, 32 hex digits>:<pid of the first process>:[r]<o|p><path>": o for the
 * pattern of PMC_OUT, p for the private dump of a job without one; r: the kernel has refused events
 * of kperf.
 */
#include "agent/process/process.h"
#include "agent/thread/mac_threads.h"

#include <crt_externs.h>
#include <mach-o/dyld.h>
#include <pthread.h>
#include <stdlib.h>

enum { JOB_TEXT = PATH_MAX + 80 };

/* The kernel has refused events of kperf, here or in a process above. */
static bool refused;

/* Settings that this system cannot follow. The program is counted without them. */
static void name_ignored(void)
{
	const struct pmc_config *config = &agent.config;
	const struct {
		bool set;
		const char *variable, *why;
	} ignored[] = {
		{ config->interval, "PMC_INTERVAL",
		  "macOS has no timer of CPU time beside those of the program: no periodic "
		  "snapshots are taken; name a signal by PMC_DUMP and send it" },
		{ !config->start, "PMC_START",
		  "counting cannot be switched on from outside on macOS: it is on from the start" },
		{ config->delay, "PMC_DELAY",
		  "macOS has no timer beside those of the program: counting is on from the start" },
		{ config->sample.on, "PMC_SAMPLE",
		  "there is no sampling on macOS: counts only; use Instruments for samples" },
		{ config->stacks, "PMC_STACKS", "there are no call stacks on macOS" },
		{ config->inherit != PMC_INHERIT_AUTO, "PMC_INHERIT",
		  "macOS has no inherit groups; counts of the process are always known" },
	};

	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (ignored[i].set)
			pmc_log(PMC_LOG_WARN, "%s: %s", ignored[i].variable, ignored[i].why);
}

const char *agent_private_path(char *const *envp)
{
	const char *dir = pmc_env(envp, "TMPDIR");
	char text[PATH_MAX];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	pmc_outf(&out, "%s/pmc-", dir && *dir == '/' ? dir : "/tmp");
	pmc_out_hex_bytes(&out, agent.job, sizeof(agent.job));
	pmc_outf(&out, "-%d.job", (int)agent.pid);
	return agent_copy(text);
}

void agent_identity(uint8_t identity[16])
{
	arc4random_buf(identity, 16);
}

/* False: PMC_JOB is damaged or of another version. */
static bool parse_job(const char *text)
{
	uint64_t owner = 0;

	if (strncmp(text, "mac1:", 5) != 0 || !pmc_number_bytes(text + 5, 16, agent.job) ||
	    text[37] != ':')
		return false;
	text += 38;
	if (!pmc_number_take(&text, NULL, 10, &owner) || text[0] != ':')
		return false;
	refused = text[1] == 'r';
	text += refused;
	if (text[1] != 'o' && text[1] != 'p')
		return false;
	agent.owner = (pid_t)owner;
	if (text[1] == 'o')
		agent.out = agent_copy(text + 2);
	else
		agent.private_dump = agent_copy(text + 2);
	return true;
}

static void make_job_text(void)
{
	char text[JOB_TEXT];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	pmc_out_str(&out, "PMC_JOB=mac1:");
	pmc_out_hex_bytes(&out, agent.job, sizeof(agent.job));
	pmc_outf(&out, ":%d:%s%c%s", (int)agent.owner, refused ? "r" : "", agent.out ? 'o' : 'p',
		 agent.out ? agent.out : agent.private_dump);
	agent.job_text = out.error ? NULL : pmc_arena_strdup(&agent.arena, text);
}

/* False: an agent above refused its settings. */
static bool join_job(char *const *envp)
{
	const char *text = pmc_env(envp, "PMC_JOB");

	if (text && strcmp(text, "off") == 0)
		return false;
	if (text && parse_job(text)) {
		agent.first = agent.after_exec = agent.owner == agent.pid;
		return true;
	}
	name_ignored();
	/* No snapshots need a dump. */
	agent.config.interval = 0;
	agent_begin_job(envp);
	return true;
}

/* An event of kperf that is not counted. */
static enum agent_note note_of(uint32_t reason)
{
	switch (reason) {
	case EPERM:
		if (!pmc_mac_system.is_root())
			return NOTE_MAC_ROOT;
		refused = true;
		return NOTE_MAC_EVENT_REFUSED;
	case EBUSY:
		return NOTE_MAC_BUSY;
	case PMC_REASON_NO_EVENT:
		return NOTE_MAC_NOT_FOUND;
	case PMC_REASON_CONFLICT:
		return NOTE_MAC_CONFLICT;
	case PMC_REASON_NO_KPERF:
		return NOTE_MAC_KPERF;
	default:
		return NOTE_MAC_FAILED;
	}
}

static void note_what_is_missing(void)
{
	const struct pmc_mac *mac = &mac_job.mac;

	if (mac->no_counts)
		agent_note(mac->no_counts == PMC_REASON_NO_COUNTERS ? NOTE_MAC_VM :
								      NOTE_MAC_FAILED);
	else if (!mac->levels)
		agent_note(NOTE_MAC_OLD);
	for (unsigned i = agent.plan.opened; i < agent.plan.count; i++)
		if (pmc_mac_kind(&agent.plan.events[i].event) == PMC_MAC_KPEP)
			agent_note(note_of((uint32_t)agent.plan.events[i].error));
}

static bool plan_events(void)
{
	const char *text = agent.config.events ? agent.config.events : pmc_events_default;
	struct pmc_parse_error error;
	struct pmc_events events;

	if (pmc_events_parse(text, NULL, &agent.arena, &events, &error) != 0) {
		agent_refuse("PMC_EVENTS", text, error.text);
		return false;
	}
	pmc_mac_open(&mac_job.mac);
	mac_job.mac.refused_above = refused;
	if (pmc_mac_plan_make(&mac_job.mac, &events, !agent.first, &agent.arena, &agent.plan) ||
	    pmc_mac_plan_totals(&agent.plan, &agent.arena, &mac_job.totals))
		return false;
	note_what_is_missing();
	return true;
}

static bool prepare(int argc, char **argv, char **envp)
{
	char exe[PATH_MAX];
	uint32_t room = sizeof(exe);

	if (!agent_configure(envp) || !join_job(envp))
		return false;
	agent_read_program(_NSGetExecutablePath(exe, &room) == 0 ? exe : "", argc, argv);
	if (!agent.first && (!agent.measured || !agent.config.follow))
		return false;
	if (!plan_events())
		return false;
	if (!agent.first || agent.after_exec)
		agent_identity(agent.identity);
	agent_file_path();
	if (!agent.first)
		return true;
	agent_begin_outputs(envp);
	return true;
}

void agent_start(int argc, char **argv, char **envp)
{
	char ***environment = _NSGetEnviron(), **with;
	int saved = errno;

	/* The loader drops DYLD_* for setuid programs; if loaded in one, stay dormant. */
	if (issetugid())
		return;
	agent.pid = getpid();
	pmc_thread_cpu_ns(0, &agent.pre_cpu_ns);
	agent.start_ns = pmc_now_ns();
	atomic_store(&pmc_agent_control.snapshot, AGENT_HEADER_SNAPSHOT);
	if (prepare(argc, argv, envp)) {
		make_job_text();
		agent.start_ns -= agent.pre_cpu_ns < agent.start_ns ? agent.pre_cpu_ns : 0;
		agent_publish_process();
		mac_totals_begin();
		atomic_store(&pmc_agent_control.state, PMC_CONTROL_ON);
		if (agent.measured)
			mac_thread_begin(pmc_mac_system.self_tid(), true);
	}
	with = agent_env_with_job(*environment);
	if (with)
		*environment = with;
	errno = saved;
}

/* Rows, totals, notes and the process. Async-signal-safe; in a mapping, since the stack may be that
 * of signals. */
static void all(enum pmc_thread_state state, enum pmc_ended how, int code)
{
	uint64_t snapshot = atomic_fetch_add(&pmc_agent_control.snapshot, 1) + 1;
	struct pmc_frame_buf buf;

	if (!agent_buf_open(&buf, (size_t)64 << 10))
		return;
	if (agent.measured) {
		mac_threads_rows(&buf, snapshot, pmc_mac_system.self_tid(), state);
		/* Totals are read after the rows that are subtracted from them. */
		mac_totals_frame(&buf, snapshot);
	}
	agent_notes_frames(&buf, snapshot, how != PMC_RUNNING);
	agent_process_frame(&buf, snapshot, how, code);
	agent_buf_close(&buf);
}

void agent_snapshot(void)
{
	if (agent_active() && agent_file_takes_snapshot())
		all(PMC_THREAD_LIVE, PMC_RUNNING, 0);
}

void agent_final(enum pmc_ended how, int code)
{
	const bool killed = how == PMC_ENDED_SIGNAL;

	/* The calling thread ends here; the others are cut short. */
	mac_thread_end(pmc_mac_system.self_tid(), killed ? PMC_THREAD_KILLED : PMC_THREAD_EXITED);
	all(killed ? PMC_THREAD_KILLED : PMC_THREAD_LIVE, how, code);
	atomic_store(&pmc_agent_control.state, PMC_CONTROL_DONE);
	pmc_mac_close(&mac_job.mac);
}

void agent_before_exec(void)
{
	all(PMC_THREAD_EXEC, PMC_ENDED_EXEC, 0);
}

void agent_exec_failed(void)
{
	all(PMC_THREAD_LIVE, PMC_RUNNING, 0);
}

/* In the child, after libc's own handlers. */
static void forked(void)
{
	if (!agent_is_on())
		return;
	pmc_mac_forked(&mac_job.mac);
	memcpy(agent.parent, agent.identity, sizeof(agent.parent));
	agent_identity(agent.identity);
	agent.pid = getpid();
	agent.first = false;
	agent.forked = true;
	agent.pre_cpu_ns = 0;
	agent.start_ns = pmc_now_ns();
	atomic_store(&pmc_agent_control.snapshot, AGENT_HEADER_SNAPSHOT);
	agent_leave_forked();
	agent_notes_forget();
	mac_threads_forget();
	agent_start_routines_forked();
	agent_file_forked();
	agent_publish_process();
	mac_totals_begin();
	if (agent.measured)
		mac_thread_begin(pmc_mac_system.self_tid(), true);
}

int agent_fork_init(void)
{
	return -pthread_atfork(NULL, NULL, forked);
}

/* Handlers of pthread_atfork see each child with memory of its own. */
bool agent_active(void)
{
	return agent_is_on() && getpid() == agent.pid;
}
