/* SPDX-License-Identifier: MIT */
/*
 * cmd_run.c - pmctl run: runs a command under the agent and reports its process tree.
 *
 * Signals of the terminal reach the command anyway, as a member of the process group: those are not
 * forwarded. Forwarded signals are blocked and taken synchronously, without handlers: the child
 * cannot be reaped between a check of its state and a signal to it.
 */
#include "lib/base/clock.h"
#include "lib/event/event.h"
#include "tools/cli/flags.h"
#include "tools/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the file of the command -------------------------------------------------------------- */

bool program_find(const char *command, struct program *program)
{
	memset(program, 0, sizeof(*program));
	program->kind = PROGRAM_NOT_FOUND;
	if (!tool_find_command_file(command, program->path))
		return false;
	memcpy(program->image, program->path, sizeof(program->image));
	tool_follow_scripts(program->image);
	program->kind = PROGRAM_UNREADABLE;
	return true;
}

/* ---- flags and PMC_* variables, checked before anything is started -------------------------- */

/* The event of PMC_SAMPLE, if it names one. */
static int check_sample(struct run *run, const char *source, const struct pmc_config_sample *sample)
{
	struct pmc_events events;
	char why[PMC_SAMPLE_WHY];
	const char *refusal;
	int code;

	if (!sample->on || !sample->event_len)
		return 0;
	code = tool_parse_events(source,
				 pmc_arena_strndup(&run->arena, sample->event, sample->event_len),
				 &run->arena, &events);
	refusal = code ? NULL : pmc_sample_refusal(&events.list[0], sample, why);
	return refusal ? tool_fail(EXIT_USAGE, "%s '%s': %s", source, sample->event, refusal) :
			 code;
}

static int refuse_value(const char *source, const char *value, const char *accepted)
{
	return tool_fail(EXIT_USAGE, "invalid value of %s: '%s'; give %s", source, value, accepted);
}

/* `--sample CMD`: an optional value is the next argument, unless that begins with a dash. */
static bool is_command(struct run *run, const struct tool_args *args)
{
	struct pmc_parse_error error;
	struct pmc_events events;
	char path[PATH_MAX];

	return args->value == args->argv[args->at - 1] &&
	       pmc_events_parse(args->value, NULL, &run->arena, &events, &error) &&
	       tool_find_command_file(args->value, path) && tool_is_program(path);
}

/* Sets the flag's PMC_* variable, which the agent reads. */
static int set_knob(void *to, const struct tool_args *args)
{
	struct run *run = to;
	const char *flag = args->flag, *value = args->value;
	struct pmc_config scratch = { .sample = { .on = false } };
	struct pmc_events events;
	unsigned i = 0;
	int code;

	run->out_flag |= tool_args_is(args, "--output");
	run->interval_flag |= tool_args_is(args, "--interval");
	run->sample_flag |= tool_args_is(args, "--sample");
	run->unwind_flag |= tool_args_is(args, "--unwind");
	while (strcmp(pmc_knob_flags[i], flag) != 0)
		i++;
	if (args->row->argument[0] == '[' && is_command(run, args))
		return tool_fail(EXIT_USAGE,
				 "invalid value of %s: '%s' is a program, not an event; give "
				 "%s=EVENT, or %s -- in front of the command",
				 flag, value, flag, flag);
	if (!*value || pmc_config_set(&scratch, i, value) != 0)
		return refuse_value(flag, value, pmc_config_accepted(i, value));
	if (strcmp(pmc_knobs[i].env, "PMC_EVENTS") == 0)
		code = tool_parse_events(flag, value, &run->arena, &events);
	else
		code = check_sample(run, flag, &scratch.sample);
	if (!code)
		setenv(pmc_knobs[i].env, value, 1);
	return code;
}

#define FLAG_OPTIONS struct run

const struct tool_flag cmd_run_flags[] = {
#define X(field, type, env, flag, key, takes, fallback, values, text)                              \
	FLAG_CALL(key, flag, takes, set_knob, text, .def = fallback, .accepted = values),
#include "lib/base/config.def"
#undef X
	FLAG_ROW(0, "--agent", "FILE", "agent to preload instead of the one beside pmctl",
		 FLAG_TYPE_FILE, agent_flag),
	FLAG_BOOL(0, "--append", append,
		  "append to an existing -o FILE instead of keeping FILE.old"),
#ifndef TOOL_WITHOUT_PERF_EVENTS
	FLAG_BOOL(0, "--off-cpu", off_cpu_wanted, "call stacks of waits and how long they lasted"),
#endif
	FLAG_BOOL(0, "--wide", wide, "all columns of the report, however wide the table"),
	FLAG_BOOL(0, "--strict", strict, "refusal to start CMD if an event cannot be counted"),
	FLAG_BOOL('n', NULL, plan_only,
		  "plan of groups, counters and descriptors, without running CMD"),
	OPERAND_COMMAND(cmd),
	FLAG_END,
};

/* The flags are in the environment by now. */
static int check_environment(struct run *run)
{
	struct pmc_config_error error;
	struct pmc_events events;
	int code = 0;

	run_label();
	if (pmc_config_from_env(environ, &run->config, &error) != 0)
		return refuse_value(error.variable, error.value, error.accepted);
	if (run->config.report.kind == PMC_REPORT_HTML && !run->config.report.file)
		return refuse_value("--report", "html", "html=FILE");
	if (run->config.report.file && !strcmp(run->config.report.file, "-"))
		return tool_fail(EXIT_USAGE, "cannot write the report to standard output: the "
					     "command writes there; name a file behind '='");
	if (run->config.out && !strcmp(run->config.out, "-"))
		return tool_fail(EXIT_USAGE, "cannot write the dump to standard output: the "
					     "command writes there; name a file with -o");
	if (run->append && !run->config.out)
		return tool_fail(EXIT_USAGE, "--append needs a dump; add -o FILE");
	if (run->unwind_flag && !run->config.sample.on && !run->config.stacks &&
	    !run->off_cpu_wanted)
		tool_warn("--unwind has no effect: nothing is sampled; add --sample, --off-cpu or "
			  "--stacks on");
	if (run->config.events)
		code = tool_parse_events("PMC_EVENTS", run->config.events, &run->arena, &events);
	return code ? code : check_sample(run, "PMC_SAMPLE", &run->config.sample);
}

static int parse_flags(struct run *run, int argc, char **argv)
{
	int code;

	/* Variables of an enclosing job: this run is a job of its own. */
	if (getenv("PMC_JOB")) {
		unsetenv("PMC_OUT");
		unsetenv("PMC_REPORT");
	}
	unsetenv("PMC_JOB");
	run->cmd = argv + argc;
	code = tool_args_parse(argc, argv, run);
	if (code)
		return code;
	if (!*run->cmd && !run->plan_only)
		return tool_fail(EXIT_USAGE, "no command; pmctl run [flags] -- CMD [ARG...]");
	return check_environment(run);
}

/* ---- the command: started, sent signals, waited for ----------------------------------------- */

static const int forwarded[] = { SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
				 SIGCONT, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU };

/* Never runs, the signals are blocked. */
static void quiet(int sig)
{
	(void)sig;
}

void run_block_signals(struct run_signals *waiting)
{
	static const int ignored[] = { SIGCONT, SIGWINCH };
	struct sigaction handled = { .sa_handler = quiet }, was;

	sigemptyset(&waiting->set);
	sigaddset(&waiting->set, SIGCHLD);
	for (unsigned i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&waiting->set, forwarded[i]);
	/* Of signals whose default is to be ignored, macOS keeps only those with a handler pending;
	 * exec sets handlers to the default. With an inherited SIG_IGN of SIGCHLD the kernel would
	 * reap the child. */
	sigaction(SIGCHLD, &handled, NULL);
	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (sigaction(ignored[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(ignored[i], &handled, NULL);
	sigprocmask(SIG_BLOCK, &waiting->set, &waiting->mask_was);
}

/* Reaps the child if it has ended: true. If job control stopped it, stops pmctl too, so that a
 * shell sees its job as stopped. */
static bool check(struct run_child *child)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid == 0)
		return false;
	if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED) {
		child->end_ns = pmc_now_ns();
		child->user = info.si_uid;
		run_reap(child);
		return true;
	}
	/* Not its end, if it has ended since: the SIGCHLD of that is pending. */
	if (waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG) == 0 &&
	    (info.si_status == SIGTSTP || info.si_status == SIGTTIN || info.si_status == SIGTTOU))
		kill(getpid(), SIGSTOP);
	return false;
}

/* SIGCONT to the process group has continued the child by itself. */
static bool was_continued(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid == pid;
}

static void forward(pid_t pid, int sig)
{
	if (sig == SIGCONT && was_continued(pid))
		return;
	kill(pid, sig);
	if (sig == SIGCONT)
		was_continued(pid);
}

static void wait_for(struct run_signals *waiting, struct run *run)
{
	struct run_child *child = &run->child;
	/* It may have ended before SIGCHLD was blocked. */
	bool ended = check(child);
	uint64_t until_ns = 0;

	while (!ended) {
		bool from_terminal = false;
		int sig;

		if (pmc_now_ns() >= until_ns)
			until_ns = run_end_delays(run);
		sig = run_next_signal(&waiting->set, until_ns, &from_terminal);
		if (sig == SIGCHLD)
			ended = check(child);
		else if (sig > 0 && !from_terminal)
			forward(child->pid, sig);
	}
	pmc_arena_free(&run->delays.found.arena);
	free(run->delays.list);
}

static int run_child(struct run *run)
{
	struct run_signals waiting;
	int code;

	run_watch_prepare(run);
	run->child.start_ns = pmc_now_ns();
	code = run_start(&waiting, run);
	if (!code)
		wait_for(&waiting, run);
	off_cpu_stop(run->off_cpu);
	/* Only the report is left: a signal ends pmctl. */
	if (!code)
		sigprocmask(SIG_SETMASK, &waiting.mask_was, NULL);
	return code;
}

/* ---- the agent and the environment ---------------------------------------------------------- */

static int find_agent(struct run *run)
{
	const char *agent = run->agent_flag;
	char dir[PATH_MAX], found[PATH_MAX];

	if (!agent && tool_find_agent(dir, found))
		agent = found;
	if (!agent)
		return tool_no_agent(EXIT_OURS, dir, "add --agent FILE");
	if (!realpath(agent, run->agent))
		return tool_fail(EXIT_OURS, "cannot use the agent %s: %s", agent, strerror(errno));
	if (strpbrk(run->agent, run_preload.separators))
		return tool_fail(EXIT_OURS,
				 "cannot use the agent %s: %s cannot name a path with a %s; copy "
				 "it elsewhere and add --agent FILE",
				 run->agent, TOOL_PRELOAD, run_preload.separator_names);
	return 0;
}

/* Linux, and the program can be recorded from outside. */
static bool is_for_profile(enum program_kind kind)
{
	return kind == PROGRAM_STATIC || kind == PROGRAM_FOREIGN || kind == PROGRAM_LIBC;
}

bool run_loads_agent(const char *command)
{
	char dir[PATH_MAX], agent[PATH_MAX];
	struct program program;

	return !tool_find_agent(dir, agent) || program_look(command, agent, &program) != 0 ||
	       !(is_for_profile(program.kind) || program.facts.go);
}

static bool is_first_preload(const char *agent)
{
	const char *old = getenv(TOOL_PRELOAD);
	size_t len = strlen(agent);

	return old && strncmp(old, agent, len) == 0 &&
	       (!old[len] || strchr(run_preload.separators, old[len]));
}

static int set_environment(struct run *run)
{
	const char *asan = getenv("ASAN_OPTIONS");

	if (run_preload.must_load && program_obstacle[run->program.kind])
		unsetenv(TOOL_PRELOAD);
	else if (!is_first_preload(run->agent))
		tool_prepend(TOOL_PRELOAD, run->agent);
	setenv("PMC_OUT", run->dump.path, 1);
	/* pmctl reports the whole tree. */
	setenv("PMC_REPORT", "off", 1);
	if (run->program.facts.asan && !(asan && strstr(asan, "verify_asan_link_order")))
		tool_prepend("ASAN_OPTIONS", "verify_asan_link_order=0");
	/* No job yet, but an entry that the agent can replace where the kernel has put it. */
	setenv("PMC_JOB", "", 1);
	return 0;
}

static int open_report(struct run *run)
{
	const char *file = run->config.report.file;
	int code;

	run->report_fd = STDERR_FILENO;
	if (!file)
		return 0;
	code = run_dump_refuse_overwrite(run, file);
	if (code)
		return code;
	run->report_fd = tool_open_text(file);
	if (run->report_fd < 0)
		return tool_fail(EXIT_OURS, "cannot write the report to %s: %s", file,
				 tool_output_why(run->report_fd));
	return 0;
}

/* Warns before the command's own output if there will be no thread rows. */
static int look_at_program(struct run *run)
{
	int error = program_look(*run->cmd, run->agent, &run->program);
	const char *obstacle;

	if (error)
		return tool_fail(EXIT_OURS, "cannot use the agent %s: %s", run->agent,
				 error == -ENOEXEC ? "it is not a shared library" :
						     strerror(-error));
	if (!*run->cmd)
		return 0;
	obstacle = program_obstacle[run->program.kind];
	if (obstacle)
		tool_warn("%s %s; totals only, no thread rows%s", run->program.image, obstacle,
			  run->program.hidden ?
				  "; the kernel refuses counters of other users on it" :
			  is_for_profile(run->program.kind) ? " (pmctl profile -- CMD has them)" :
							      "");
	return 0;
}

int cmd_run(int argc, char **argv)
{
	/* The report is opened before run_dump_open(), which may rename the existing dump. */
	enum { FIRST_EFFECT = 3 };
	static int (*const steps[])(struct run *) = {
		find_agent,    look_at_program, run_check_events, run_dump_name, open_report,
		run_dump_open, run_prepare,	set_environment,  run_child
	};
	const unsigned n = sizeof(steps) / sizeof(steps[0]);
	struct run *run = tool_realloc(NULL, sizeof(*run));
	int code;

	memset(run, 0, sizeof(*run));
	run->report_fd = -1;
	run->dump.lock = -1;
	code = parse_flags(run, argc, argv);
	for (unsigned i = 0; !code && i < (run->plan_only ? FIRST_EFFECT : n); i++)
		code = steps[i](run);
	if (!code && run->plan_only) {
		code = run_print_plan(run);
		goto out;
	}
	if (code == 0)
		run_print_report(run);
	run_dump_close(run);
	off_cpu_free(run->off_cpu);
	if (code == 0)
		code = tool_end_as(run->child.status);
out:
	if (run->report_fd > STDERR_FILENO)
		close(run->report_fd);
	pmc_arena_free(&run->arena);
	free(run);
	return code;
}
