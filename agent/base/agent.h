/* SPDX-License-Identifier: MIT */
/*
 * agent.h - the state of this process that the agent's files share, and what they build on.
 *
 * Rules in host threads: raw system calls or calls that are no cancellation point; no malloc, no
 * stdio; errno is restored before returning to the host; any failure becomes a note, never the
 * host's problem.
 */
#pragma once

#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/config.h"
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "lib/plan/plan.h"
#include "lib/snapshot/snapshot.h"
#include "lib/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define AGENT_API __attribute__((visibility("default")))
/* For large tables of which most programs touch little: apart from the data that every process
 * touches at its start, where each page costs a microsecond. */
#ifdef __ELF__
#define AGENT_ROOMY __attribute__((section(".bss.roomy")))
#else
#define AGENT_ROOMY
#endif

/* For steps of the start that have a large buffer: not inlined, they use the same pages of the
 * stack one after the other. */
#define AGENT_APART __attribute__((noinline))

/* Snapshot number of the header frames, which come first whenever they are written. */
#define AGENT_HEADER_SNAPSHOT 1u

#define AGENT_BOOT_ID 40u

/* The report of this process by the image before an exec: the clock and usage of the thread that
 * called exec go on as those of the new main thread. */
struct agent_reported {
	uint64_t pid; /* 0: nothing */
	uint64_t thread_cpu_ns, process_cpu_ns, thread_delay_ns;
	struct pmc_usage thread, process;
	uint64_t dump_start; /* where the frames of the job start in its dump */
	uint64_t exec_ns;    /* when that was: the new image starts then; 0: unknown */
	uint64_t pid_namespace;
};

/* The dump's descriptor, open over the exec of a program whose user may not open its path. */
struct agent_passed {
	uint64_t dev, ino;
	uint32_t number; /* plus 1; 0: none */
	uint32_t unused;
};

struct agent_job_fixed {
	uint8_t id[16];
	uint64_t owner;	   /* pid of the first process */
	uint64_t owner_ns; /* inode of its pid namespace: a pid means nothing elsewhere */
	uint64_t events;   /* hash of the PMC_EVENTS text that the plan was made from */
	char boot_id[AGENT_BOOT_ID];
	struct agent_reported reported;
	struct agent_passed dump;
};

/* The contents of PMC_JOB; job.c describes the text. */
struct agent_job {
	struct agent_job_fixed fixed;
	bool private_dump;
	const char *path;
	const char *plan;
	size_t plan_len;
};

struct agent {
	bool first;	 /* the job's first process */
	bool after_exec; /* the first process, after an exec of its own */
	bool covered;	 /* counted by the first process's exec group */
	bool forked;
	bool preloaded; /* by LD_PRELOAD */
	bool measured;	/* selected by PMC_ONLY and PMC_SKIP */
	pid_t pid;
	int32_t rank;
	uint8_t identity[16], parent[16], job[16];
	uint64_t start_ns;
	uint64_t pre_cpu_ns;		/* process CPU time before the agent started */
	struct agent_reported reported; /* by the image before an exec: not to be reported again */
	struct pmc_config config;
	enum pmc_inherit inherit;
	struct pmc_plan plan;	      /* of every thread */
	struct pmc_plan user_plan;    /* of threads after a loss of privilege; may be empty */
	struct pmc_plan inherit_plan; /* of the inherit groups if it is another one; hash 0: none */
	struct pmc_plan uncore_plan;  /* hash 0: no uncore events */
	struct pmc_process_text text;
	const char *out; /* absolute pattern; NULL: the job's private dump */
	const char *private_dump;
	char *job_text; /* PMC_JOB for the environment; NULL: leave the environment as it is */
	uint64_t pid_namespace;		/* its inode; 0: not read yet */
	char boot_id[AGENT_BOOT_ID];	/* "": not read yet */
	pid_t owner;			/* the job's first process */
	uint64_t owner_ns, events_hash; /* see struct agent_job */
	int exit_status;
	_Atomic uint64_t next_seq;
	_Atomic bool key_destructors; /* the host has destructors of thread-specific data */
	_Atomic bool named_threads;   /* the host has named a thread */
	struct pmc_arena arena;	      /* filled while single-threaded */
};

extern struct agent agent;
/* State and counters that pmctl reads from outside. */
extern struct pmc_control pmc_agent_control;
extern struct registry agent_registry;
/* The calling thread's slot; NULL: it has none, or its row is written. */
extern __thread struct slot *agent_self;

/* Of this process. snapshot: number of the frames. */
static inline struct reader agent_reader(uint64_t snapshot)
{
	return (struct reader){ .control = &pmc_agent_control,
				.registry = &agent_registry,
				.snapshot = snapshot };
}

/* The clock for time spent in agent code, which adds up to the overhead of the agent. CPU time of
 * the thread: wall time would include preemption. */
uint64_t agent_overhead_clock(void);

#ifdef __linux__
/* Sets the signal mask of the calling thread, all 64 bits; returns the one before. */
static inline uint64_t agent_mask_set(uint64_t mask)
{
	uint64_t before = 0;

	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof(mask));
	return before;
}
#endif

static inline bool agent_is_on(void)
{
	return atomic_load(&pmc_agent_control.state) == PMC_CONTROL_ON;
}

static inline void agent_overhead_add(uint64_t ns)
{
	atomic_fetch_add_explicit(&pmc_agent_control.overhead_ns, ns, memory_order_relaxed);
}

/* ---- notes of the coverage summary: failures and special cases, counted by kind ---- */
enum agent_note {
#define X(name, code, level, text) NOTE_##name,
#include "agent/base/notes.def"
#undef X
	N_NOTES
};

/* Async-signal-safe. */
void agent_note(enum agent_note note);
/* For an attempt that was counted before it failed. Async-signal-safe. */
void agent_note_withdraw(enum agent_note note);
/* A NOTE frame for each kind that was counted: all, or those that changed since the last call. */
void agent_notes_frames(struct pmc_frame_buf *buf, uint64_t snapshot, bool all);
/* A line for each kind that was counted, for the summary. */
void agent_notes_print(struct pmc_out *out, int width);
/* In a forked child: drops the parent's notes. */
void agent_notes_forget(void);

/* ---- job.c ---- */
/* Room for the text, with "PMC_JOB=". */
#define AGENT_JOB_TEXT ((size_t)64 << 10)

/* 0, or -EINVAL if the text is malformed. Pointers point into text. */
int agent_job_parse(const char *text, struct agent_job *job);
/* Takes what pmctl run says where there is no job yet. False: it says nothing. */
bool agent_job_parse_first(const char *text, struct agent_reported *reported);
/* Writes "PMC_JOB=..." into room of AGENT_JOB_TEXT; for an exec with what this image has reported
 * and, unless NULL, the descriptor that it passes on. False: it does not fit. */
bool agent_job_text(char *text, bool with_reported, const struct agent_passed *dump);
/* Whether the report is of this process, and not of one that had its PID before: other processes
 * pass it on. */
bool agent_job_is_own(const struct agent_reported *reported);
/* At least how long ago the process started, known to 10 ms. Needs little stack; in one thread. */
bool agent_process_age(uint64_t *ns);
/* Whether the job's first process still runs; true if that cannot be known. */
bool agent_job_owner_alive(void);
/* These are read once in a job: forked children and images after an exec of their own get them from
 * their parent or the image before. "": unknown. */
uint64_t agent_pid_namespace(void);
const char *agent_boot_id(void);
uint64_t agent_text_hash(const char *text);
/* 128 random bits. */
void agent_identity(uint8_t identity[16]);

/* ---- fdspace.c ---- */
void agent_fds_init(void);
/* Grows the descriptor table while there is one thread: later that stalls all of them. */
void agent_fds_reserve(void);
/* Lets no descriptor be opened, until it is called again. Only while the process has one thread. */
void agent_fds_forbid(bool forbid);

/* Takes n from the agent's share. False: the share is used up. */
bool agent_fds_take(unsigned n);

/* Opens a window; returns the lowest number for the descriptors opened in it. */
int agent_fds_window_open(void);
/* Raises the limit until the window is closed, where these numbers need it, for moving fd there.
 * False: the host has few numbers left below its limit. */
bool agent_fds_raise(int fd);
void agent_fds_window_close(void);
bool agent_fds_opening(void); /* whether a window is open */
/* Opens groups from <= g < to of a plan in one window and marks their descriptors, which the caller
 * has taken from the agent's share. list and ids are those of group 0. A group that fails is left
 * out; returns 0, the first error, or if
 * seccomp does not permit perf_event_open AGENT_NOT_ALLOWED, which is no errno. */
#define AGENT_NOT_ALLOWED 1
int agent_groups_open(const struct pmc_plan *plan, unsigned from, unsigned to,
		      struct pmc_perf_target target, int *list, uint64_t *ids);
/* Until agent_fds_let, or until 20 ms have passed (before an exec 2 s) and another thread wants to
 * open a window, none is open and the limit is the host's. 0: a window did not close within 0.1 s.
 * Several threads may hold at the same time. They keep errno. */
uint64_t agent_fds_hold(void);
uint64_t agent_fds_hold_for_exec(void);
/* Attempts with pmc_wait_between(), 0.1 s. */
#define AGENT_PATIENCE 1000u
void agent_fds_let(uint64_t held);
/* Number of threads between begin and end: of a read or write by a number that may move meanwhile
 * (agent_fds_move). */
extern _Atomic unsigned agent_fds_users;
static inline void agent_fds_use_begin(void)
{
	atomic_fetch_add(&agent_fds_users, 1);
}
static inline void agent_fds_use_end(void)
{
	atomic_fetch_sub(&agent_fds_users, 1);
}
/* After a move: until no thread uses the old number, at most 0.1 s. */
void agent_fds_moved(void);
/* Whether a window or a fork is in progress, perhaps in the code that a signal interrupted. */
bool agent_fds_busy(void);
/* Opens no window for the next 5 ms, in which system() starts its child. */
void agent_fds_quiet(void);
/* The host has set its own limit. While no window is open. */
void agent_fds_limited(rlim_t soft, rlim_t hard);
/* In a vfork child: it has set a limit of its own. */
extern __thread bool agent_fds_child_limited;
/* In a vfork child about to exec: drops a limit raised by another thread's window, not one of its
 * own. Also where a window does not close. */
void agent_fds_exec_child(void);

/* Which numbers are the agent's. Lock-free. */
void agent_fds_mark(const int *list, unsigned n);
void agent_fds_unmark(const int *list, unsigned n);
bool agent_fds_ours(int fd);
extern _Atomic int agent_fds_highest; /* -1: none */
/* Whether it is a perf event, as far as a seccomp filter lets that be known: if not, the program
 * has closed the number past the hooks, and it may be a file of its own. */
bool agent_fds_is_event(int fd);
/* Unmarks, closes and gives back, not during a fork: the child would keep copies. */
void agent_fds_close(int *list, unsigned n);
/* Duplicates a descriptor to one of the agent's numbers; -1: there is none. Async-signal-safe. */
int agent_fds_move(int fd);
/* In a forked child: closes the copies of the parent's descriptors, but for `keep` (-1: none). */
void agent_fds_forked(int keep);

/* ---- probe.c ---- */
/* Runs work(arg) on the given stack in a clone that shares memory only, while the caller waits with
 * all signals blocked. The host's SIGCHLD handler and wait() do not see it. Returns 1 if the work
 * returned, 0 if the clone died, -1 if there could be no clone. Async-signal-safe. */
int agent_throwaway_clone(void (*work)(void *), void *arg, void *stack, size_t stack_bytes);

/* System calls that seccomp filters may kill for: timer_create, perf_event_open and its kin,
 * process_vm_readv on the own process, and waitid. */
enum agent_call { AGENT_TIMER = 1, AGENT_PERF = 2, AGENT_READ = 4, AGENT_WAIT = 8 };
#define AGENT_WAIT_FLAGS (WSTOPPED | WNOHANG | WNOWAIT | __WALL)

/* Whether this thread is under a seccomp filter. */
bool agent_is_filtered(void);
/* Whether a thread started long enough ago (20 ms) to have waited for a CPU, and files of /proc may
 * be opened. */
bool agent_has_delay(uint64_t start_ns);
/* Before main, where ticks or samples are wanted: filters that are there now are known ones. */
void agent_filters_at_start(void);
/* Whether they may be made. Probes the first filter that is there. Async-signal-safe. */
bool agent_permitted(enum agent_call call);
/* Forbids calls (bits of enum agent_call) from now on. */
void agent_forbid(unsigned calls);
/* Bits of calls: those to leave out, and those that returned. */
struct agent_trial {
	unsigned skip, returned;
};
/* In a throwaway clone: makes the calls, in the order of their bits. */
void agent_try_calls(void *trial);
/* Whether a filter was installed since the start without a hook seeing it; false under a filter
 * from before, where the kernel shows no difference. One system call. */
bool agent_unseen_filter(void);
/* At the end of the process, with at most one system call: not under a filter that was not seen. */
bool agent_permitted_last(enum agent_call call);
/* The probe for pmc_plan_make: perf_event_open, or its refusal where it is not permitted. */
pmc_perf_opener agent_probe(void);

/* ---- agent/process/fork.c ---- */
/* In a page with MADV_WIPEONFORK: reads 0 in a forked child that has not become a process of its
 * own yet. */
extern _Atomic uint32_t *agent_alive;
/* Whether hooks may act: the agent is on, and this is no vfork child. A forked child found here
 * (_Fork, raw clone) becomes a process of its own first. Keeps errno. */
bool agent_active(void);
/* The same without the system call that detects a vfork child, for functions that a vfork child may
 * not call. */
bool agent_active_unless_vfork(void);

/* ---- agent/process/leave.c ---- */
/* The steps of the end of the process, in order of time. */
enum agent_ending {
	AGENT_RUNS,
	AGENT_WRITES,  /* a thread writes the final rows */
	AGENT_WRITTEN, /* they are in the dump, or could not be written */
	AGENT_REPORTS, /* a thread prints the report */
	AGENT_REPORTED,
};

/* Waits until another thread has reached this step, at most two seconds. Returns at once if the end
 * has not begun, in a child that was forked or vforked during the end, and in a signal handler that
 * interrupted that thread. */
void agent_ending_wait(enum agent_ending step);

/* ---- limits.c ---- */
/* Whether a mapping takes more than this share (a 1/share) of the host's RLIMIT_AS or RLIMIT_DATA.
 */
bool agent_crowds_out(size_t bytes, unsigned share);

/* ---- own_libc.c ---- */
/* struct sigaction of the kernel: x86 needs the restorer, arm64 has it in the struct, unused. */
struct agent_kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};
/* sigaction(2), not intercepted by sanitizers. */
int agent_sigaction(int signo, const struct sigaction *action, struct sigaction *old);
bool agent_sigdefault(int signo); /* sets SIG_DFL; whether it could */
/* Whether the process runs on another C library than the one that the agent was built for. */
bool agent_libc_is_other(void);
