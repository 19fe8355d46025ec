/* SPDX-License-Identifier: MIT */
/* process.h - a process image: start, snapshots, fork, exec, signals, end. */
#pragma once

#include "agent/region/region.h"
#include "agent/thread/thread.h"

/* ---- start.c ---- */
/* In the constructor. Sets pmc_agent_control.state to PMC_CONTROL_ON unless the agent is to stay
 * dormant here. */
void agent_start(int argc, char **argv, char **envp);
/* Faults and switches since `before` are the agent's own: neither the row of the main thread nor
 * the process gets them. Before agent_publish_process(). */
void agent_leave_out(const struct pmc_usage *before);

/* ---- settings.c ---- */
/* Reads PMC_* into agent.config, with copies of the texts, and the rank and labels. False: a value
 * is invalid, and refused. */
bool agent_configure(char *const *envp);
/* Logs one line, and keeps the agent dormant here and silent in descendants. */
void agent_refuse(const char *variable, const char *value, const char *why);
/* Logs a line for each variable whose name is nearly one of PMC_*. */
void agent_tell_misspelt(char *const *envp);
/* Says what runs here: fills agent.text.exe, cmdline, host and measured. */
void agent_read_program(const char *exe, int argc, char **argv);
/* In its first process: the job's ID, and where its dump is. */
void agent_begin_job(char *const *envp);
/* The same after agent_file_path: opens PMC_OUT, or does without, and prepares the report. */
void agent_begin_outputs(char *const *envp);
/* Whether LD_PRELOAD names the agent. */
bool agent_env_preloads(char *const *envp);
/* Copies envp into list (zeroed, with room for two more), with job_text in place of its PMC_JOB and
 * first: programs that set their title take the room up to the end of the last entry, which may not
 * lie elsewhere. Async-signal-safe. */
char **agent_env_copy(char **list, char *const *envp, char *job_text);
/* Such a copy with agent.job_text, in the arena. NULL: without memory, or without the text. */
char **agent_env_with_job(char *const *envp);
static inline bool agent_env_is_job(const char *entry)
{
	return strncmp(entry, "PMC_JOB=", 8) == 0;
}
/* A copy in the arena, NULL of NULL, "" without memory: programs that set their process title
 * overwrite the environment they were started with. */
const char *agent_copy(const char *text);

/* ---- leave.c ---- */
/* Before the process ends: writes the final rows and the report, once. If another thread is doing
 * that, waits for it, and if that one handles a fatal signal, for the end of the process.
 * Async-signal-safe. */
void agent_leave(enum pmc_ended how, int code);

/* In a forked child: its end has not begun, and it keeps no copy of stderr. */
void agent_leave_forked(void);
/* On macOS: the process ends with this status, which the last rows may not have. */
void agent_left_with(int status);

/* ---- fork.c ---- */
/* While single-threaded. 0 or -errno. */
int agent_fork_init(void);

/* ---- snapshot.c ---- */
/* All functions are async-signal-safe and need little stack. */

/* The final rows of all threads, totals, notes, process. Called by agent_leave only. */
void agent_final(enum pmc_ended how, int code);
/* The current rows of the live threads. */
void agent_snapshot(void);

/* Like agent_final, before an exec; agent_exec_failed undoes it. */
void agent_before_exec(void);
void agent_exec_failed(void);

/* ---- tick.c ---- */
/* The timer of a thread. */
void agent_timer_start(struct slot *slot);
/* Before main: starts the timers of PMC_INTERVAL and PMC_DELAY. */
void agent_tick_start(void);
/* In a forked child, which has no timers. */
void agent_tick_forked(void);
/* The agent's own signal has come from a timer. context: ucontext_t. Async-signal-safe. */
void agent_tick_signal(const void *context);
/* The number of the agent's signal has changed; 0: none is left. */
void agent_tick_moved(int signo);
/* Before an exec: no snapshot starts any more, and no signal stays pending for the new image. */
void agent_tick_hold(void);
/* After a failed exec. */
void agent_tick_let(void);
/* The host is about to install a seccomp filter, which may kill for timer and signal calls, or to
 * emulate system calls: stops the timers and sampling. */
void agent_tick_filtered(void);

/* ---- signals.c ---- */
/* Installs the handlers for fatal signals and for PMC_DUMP. While single-threaded. */
void agent_signals_init(void);
/* sigaction(2) for the host, which sees SIG_DFL in place of the agent's handlers. */
int agent_signal_action(int signo, const struct sigaction *action, struct sigaction *old);
/* The host has changed an action by an older call: makes *was what it must see. */
void agent_signal_changed(int signo, const struct sigaction *action, struct sigaction *was);
/* The host has called siginterrupt(). */
void agent_signal_restarts(int signo, bool restarts);
/* Replaces the agent's handler by SIG_DFL; false if there is none. */
bool agent_signal_forget(int signo);
/* Does so for all fatal signals: the agent stops. */
void agent_signals_forget(void);
/* The host has given the calling thread this alternate stack. If the agent's handlers do not fit,
 * they leave alternate stacks alone from here on. */
void agent_signal_stack(const stack_t *stack);
/* Go code may run from here on: all of the agent's handlers use alternate stacks. */
void agent_signal_go_code(void);

/* Reserves a signal for the agent's timers and sampling events, the first free one from this number
 * on (0: the lowest); 0: none is free. */
int agent_own_signal_take(int from);
/* Its number; 0: none. */
int agent_own_signal(void);
/* The host changes or queries the disposition of a signal. True: it was the agent's signal, and the
 * call has been handled; *old is set in either case. */
bool agent_own_signal_action(int signo, const struct sigaction *action, struct sigaction *old);
/* The same for rt_sigaction(2), with the kernel's struct: 0 or -errno of the call; AGENT_NOT_OWN:
 * the kernel has to make it. */
#define AGENT_NOT_OWN 1
long agent_own_signal_call(int signo, const void *action, void *old, size_t bytes);
/* The calling thread starts: the mask that it inherited may hide a former number. */
void agent_own_signal_begin(void);
/* The host's pthread_sigmask. */
int agent_own_signal_mask(int how, const sigset_t *set, sigset_t *old);
/* Takes SIGIO as well, if the host has not: the kernel sends it to a sampled thread whose signal
 * cannot be queued (RLIMIT_SIGPENDING), and its default action ends the program. */
void agent_own_signal_take_unqueued(void);
/* Before an exec: drops those signals of this thread that are pending. */
void agent_own_signal_drop(void);
/* Right before an exec, in a vfork child too: gives the kernel the host's action and mask of the
 * signal, which a new image inherits if it is ignored or blocked. */
void agent_own_signal_show(void);
/* After a failed exec, not in a vfork child, to which the agent sends none. */
void agent_own_signal_hide(void);

/* ---- go_code.c ---- */
/* Whether code of the program runs on small stacks, so that handlers must use alternate ones. */
bool agent_has_small_stacks(void);
/* Whether the module of the address contains Go code. Not async-signal-safe. */
bool agent_is_go_code(const void *address);

/* ---- report.c ---- */
/* How long the end of the program waits for a reader that takes nothing. After a fault the other
 * threads run on until the report is written. */
extern int agent_report_patience_ms;
#define AGENT_FAULT_PATIENCE_MS 10

/* While single-threaded: records which file stderr is, and the path of PMC_REPORT=...=FILE. */
void agent_report_init(char *const *envp);
/* Whether this descriptor is the file that stderr was at the start; false without a report. If 2 is
 * another one, it may be a file of the program, and no line of the log may be written. */
bool agent_is_first_stderr(int fd);
/* The same, and the report goes there. */
bool agent_report_is_stderr(int fd);
/* Where the report goes; negative: nowhere. The caller closes it unless it is 2. */
int agent_report_open(void);
void agent_report_print(int fd);

/* ---- leave.c ---- */
/* All but faults, of the calling thread; returns the mask before. */
uint64_t agent_block_signals(void);
/* The descriptor to write the report to, which the caller closes if it is another one than fd, of
 * this mode. */
int agent_report_unblocked(int fd, mode_t mode);
/* The host is about to close stderr: keeps a copy if the report goes there. */
void agent_report_keep_stderr(void);

/* ---- darwin/signals.c ---- */
typedef void mac_handler(int signo);

/* In place of sigaction(2) and signal(3) on macOS, for the program: SIG_DFL stands for a handler of
 * the agent. */
int mac_sigaction(int signo, const struct sigaction *action, struct sigaction *old);
mac_handler *mac_signal(int signo, mac_handler *handler);
