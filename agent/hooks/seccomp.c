/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c - sees seccomp filters that the host installs, before they are active, and exit_group
 * (QEMU). Overrides: syscall.
 *
 * Filters are installed by prctl (thread.c) or, as in libseccomp, by syscall(SYS_seccomp): libc has
 * no function for it. The agent's own calls of syscall() bypass this hook: the linker wraps them
 * (--wrap=syscall) into jumps to libc's.
 *
 * Programs for an older libc close and duplicate descriptors by syscall(), too: see fd.c. Browsers
 * reset all handlers by it in the child of a fork: a tick would kill the child.
 */
#include "agent/hooks/hooks.h"
#include "lib/base/file.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH /* since Linux 5.11 */
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

/* libc's, for the agent's own calls. Beside data that is written at the start, unlike .bss of what
 * is compiled without LTO. */
__attribute__((section(".data"))) long (*agent_libc_syscall)(long, ...);
long agent_watched_syscall(long number, ...);

/* syscall() itself: calls that are not watched go to libc's by a jump, with their arguments in the
 * registers. Before the constructor libc's address is unknown. */
#define TEXT_OF(number) #number
#define TEXT(number)	TEXT_OF(number)
/* clang-format off */
#if defined(__x86_64__)
#define ENTRY	      "endbr64\n"
#define WATCH(number) "cmp $" TEXT(number) ", %rdi\n je agent_watched_syscall\n"
#define WATCH_DUP2    WATCH(SYS_dup2)
#define JUMP	      "mov agent_libc_syscall(%rip), %r11\n" \
		      "test %r11, %r11\n jz agent_watched_syscall\n jmp *%r11\n"
#elif defined(__aarch64__)
#define ENTRY	      "hint #34\n" /* bti c */
#define WATCH(number) "cmp x0, #" TEXT(number) "\n b.eq agent_watched_syscall\n"
#define WATCH_DUP2
#define JUMP	      "adrp x16, agent_libc_syscall\n ldr x16, [x16, #:lo12:agent_libc_syscall]\n" \
		      "cbz x16, agent_watched_syscall\n br x16\n"
#else
#error "syscall: a jump through agent_libc_syscall is needed here"
#endif

__asm__(".text\n"
	".globl syscall, __wrap_syscall\n"
	".hidden __wrap_syscall\n"
	".type syscall, %function\n"
	".type __wrap_syscall, %function\n"
	".p2align 4\n"
	"syscall:\n"
	".cfi_startproc\n"
	ENTRY WATCH(SYS_prctl) WATCH(SYS_seccomp) WATCH(SYS_exit_group) WATCH(SYS_rt_sigaction)
	WATCH(SYS_close) WATCH(SYS_close_range) WATCH_DUP2 WATCH(SYS_dup3)
	".cfi_endproc\n"
	".size syscall, . - syscall\n"
	"__wrap_syscall:\n"
	".cfi_startproc\n"
	ENTRY JUMP
	".cfi_endproc\n"
	".size __wrap_syscall, . - __wrap_syscall\n");
/* clang-format on */

void agent_syscall_init(void)
{
	*(void **)(void *)&agent_libc_syscall = dlsym(RTLD_NEXT, "syscall");
}

/* ---- a filter of the host, tested in a throwaway clone before it is installed ---------------- */

/* A test that cannot be made (RLIMIT_NPROC, an earlier filter) counts as failed. */
struct trial {
	long call[7];
	_Atomic bool fails, lives;
	_Alignas(16) char inner_stack[2048];
};

static void nothing(void *arg)
{
	(void)arg;
}

/* System calls for rows and the dump. */
static void write_rows(void)
{
	const struct timespec zero = { 0, 0 };
	struct pmc_usage usage;
	uint64_t ns, mask = 0;
	uint32_t word = 0;
	char name[16];
	struct stat st;
	void *map;
	int fd;

	syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);
	syscall(SYS_gettid);
	syscall(SYS_getpid);
	syscall(SYS_getppid);
	syscall(SYS_geteuid);
	pmc_usage_thread(&usage);
	pmc_thread_cpu_ns(0, &ns);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
	syscall(SYS_rt_sigpending, &mask, sizeof(mask));
	mask = 0;
	syscall(SYS_rt_sigtimedwait, &mask, NULL, &zero, sizeof(mask));
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	sched_yield();
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map != MAP_FAILED)
		munmap(map, 4096);
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	syscall(SYS_fstat, fd, &st);
	syscall(SYS_newfstatat, AT_FDCWD, "/dev/null", &st, 0);
	syscall(SYS_fcntl, fd, F_GETFD);
	(void)!syscall(SYS_write, fd, name, 1);
	(void)!syscall(SYS_read, fd, name, 1);
	(void)!syscall(SYS_pread64, fd, name, 1, 0);
	syscall(SYS_getdents64, fd, name, sizeof(name));
	syscall(SYS_close, fd);
}

/* Further system calls for the report of the first process. */
static void print_report(char *stack, size_t bytes)
{
	struct pollfd none = { .fd = -1 };
	const struct timespec zero = { 0, 0 };
	struct stat st;
	stack_t now;

	if (pmc_fd_stat(2, &st) == 0 && S_ISSOCK(st.st_mode))
		syscall(SYS_sendto, -1, NULL, 0L, 0, NULL, 0);
	syscall(SYS_lseek, -1, 0L, SEEK_SET);
	syscall(SYS_unlinkat, AT_FDCWD, "", 0);
	syscall(SYS_ftruncate, -1, 0L);
	syscall(SYS_sigaltstack, NULL, &now);
	syscall(SYS_ppoll, &none, 1, &zero, NULL, 0);
	agent_throwaway_clone(nothing, NULL, stack, bytes);
}

/* In a clone, under the filter. */
static void try_filtered(void *arg)
{
	struct trial *trial = arg;
	const long *call = trial->call;
	struct agent_trial others = { .skip = AGENT_TIMER | AGENT_WAIT };

	if (syscall(call[0], call[1], call[2], call[3], call[4], call[5], call[6]) >= 0) {
		write_rows();
		if (agent.first)
			print_report(trial->inner_stack, sizeof(trial->inner_stack));
		/* Calls of the handler of fatal signals, with arguments that are refused. */
		syscall(SYS_rt_sigaction, SIGKILL, NULL, NULL, sizeof(uint64_t));
		syscall(SYS_rt_tgsigqueueinfo, -1, -1, 0, NULL);
		agent_try_calls(&others);
	} else {
		atomic_store(&trial->fails, true);
	}
	atomic_store(&trial->lives, true);
}

/* With a listener, system calls of this thread wait for another process, possibly without end. */
static bool has_listener(const long *call)
{
	return call[0] == SYS_seccomp && call[1] == SECCOMP_SET_MODE_FILTER &&
	       (call[2] & SECCOMP_FILTER_FLAG_NEW_LISTENER) && call[3];
}

/* The host is about to install a filter by this system call. If it kills for calls that the agent
 * makes, or cannot be tested, everything is written now and the agent stops. */
static void before_filter(long number, const long args[6])
{
	struct trial trial = {
		.call = { number, args[0], args[1], args[2], args[3], args[4], args[5] },
	};
	_Alignas(16) char stack[4096];

	if (!has_listener(trial.call))
		agent_throwaway_clone(try_filtered, &trial, stack, sizeof(stack));
	/* Nothing changes: libseccomp and browsers make such calls to learn what the kernel
	 * supports. */
	if (trial.fails)
		return;
	agent_file_filtered();
	agent_tick_filtered();
	agent_forbid(AGENT_WAIT);
	if (trial.lives)
		return;
	agent_note(NOTE_SECCOMP_SILENT);
	/* Threads that are about to open their groups see that it has ended, or this. */
	agent_forbid(AGENT_PERF);
	agent_leave(PMC_RUNNING, 0);
	agent_threads_settle();
	agent_signals_forget();
}

static bool installs_filter(long number, const long a[6])
{
	if (number == SYS_prctl)
		return a[0] == PR_SET_SECCOMP && a[1] != 0;
	return number == SYS_seccomp &&
	       (a[0] == SECCOMP_SET_MODE_STRICT || a[0] == SECCOMP_SET_MODE_FILTER);
}

long agent_filtering_call(long number, const long a[6], int (*prctl)(int, ...))
{
	bool filter = installs_filter(number, a) && agent_active();
	uint64_t held = 0;
	long result;

	if (filter)
		before_filter(number, a);
	/* The host emulates system calls of this thread, and would those of a tick, too (Wine). */
	if (number == SYS_prctl && a[0] == PR_SET_SYSCALL_USER_DISPATCH && a[1] && agent_active())
		agent_tick_filtered();
	/* For all threads, of which one may be about to open its groups, even where the agent has
	 * stopped. */
	if (filter && number == SYS_seccomp && (a[1] & SECCOMP_FILTER_FLAG_TSYNC))
		held = agent_fds_hold();
	/* The clock of the vDSO reads the time stamp counter. */
	if (number == SYS_prctl && a[0] == PR_SET_TSC && a[1] == PR_TSC_SIGSEGV)
		real_clock_gettime = NULL;
	if (!agent_libc_syscall)
		agent_syscall_init();
	result = prctl ? prctl((int)a[0], a[1], a[2], a[3], a[4]) :
			 agent_libc_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	agent_fds_let(held);
	if (number == SYS_prctl && a[0] == PR_SET_NAME && result == 0)
		agent_name_given((const char *)a[1]);
	return result;
}

/* libc's close() is a cancellation point, the system call is none. */
static int close_uncancelled(int fd)
{
	int was, result;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	result = agent_host_close(fd);
	pthread_setcancelstate(was, NULL);
	return result;
}

long agent_watched_syscall(long number, ...)
{
	long a[6], result;
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	switch (number) {
	case SYS_exit_group:
		agent_leave(PMC_ENDED_EXIT, (int)a[0] & 0xff);
		break;
	case SYS_rt_sigaction:
		result = agent_own_signal_call((int)a[0], (const void *)a[1], (void *)a[2],
					       (size_t)a[3]);
		if (result == AGENT_NOT_OWN)
			break;
		errno = result ? (int)-result : errno;
		return result ? -1 : 0;
	case SYS_close:
		return close_uncancelled((int)a[0]);
	case SYS_close_range:
		return agent_host_close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]);
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
		if (!agent_host_dup((int)a[0], (int)a[1]))
			return -1;
		break;
	}
	return agent_filtering_call(number, a, NULL);
}
