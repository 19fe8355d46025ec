/* SPDX-License-Identifier: MIT */
/*
 * pmc_spawn.c - pmc-spawn PATH ARG0 [ARG...] [PATH ARG0 [ARG...]]...: starts commands again and
 * again and measures each run.
 *
 * One process starts all of them: the scheduler may keep each of several on another CPU, and one
 * CPU may be busier.
 *
 * A process of its own without libc, because Linux carries the peak resident memory of whoever
 * calls execve over into the new program (setmax_mm_hiwater_rss in the kernel's fs/exec.c). Started
 * from pmctl, no command would seem smaller than pmctl. The socket at number 3 brings a request for
 * each run and takes its result; numbers 0 to 2 and the environment are the command's.
 */
#include "lib/base/clock.h"
#include "lib/base/sys.h"
#include "tools/bench/helper/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

static volatile int exec_error;

static uint64_t now(void)
{
	struct timespec ts;

	pmc_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return pmc_timespec_ns(&ts);
}

/* As vfork(2): the child uses this memory until its exec. It becomes a process group of its own, so
 * that what it starts can be killed with it. If this process is killed, the command is killed too,
 * unless it is a setuid program. */
__attribute__((noinline)) static long start(const char *path, char **argv, char **envp)
{
	long self = pmc_sys1(SYS_getpid, 0);
	long pid = pmc_sys5(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);

	if (pid != 0)
		return pid;
	pmc_sys2(SYS_setpgid, 0, 0);
	pmc_sys2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	if (pmc_sys1(SYS_getppid, 0) != self)
		pmc_sys1(SYS_exit, 127);
	exec_error = (int)-pmc_sys3(SYS_execve, path, argv, envp);
	pmc_sys1(SYS_exit, 127);
	__builtin_unreachable();
}

/* Waits for the end of the process, the end of its time, or pmctl's order to kill it. */
static enum spawn_stop wait_for(long pid, uint64_t timeout_ns)
{
	struct timespec left = { (time_t)(timeout_ns / 1000000000u),
				 (long)(timeout_ns % 1000000000u) };
	struct pollfd fds[2] = { { .fd = SPAWN_SOCKET, .events = POLLIN },
				 { .fd = -1, .events = POLLIN } };
	enum spawn_stop stop = SPAWN_ENDED;
	long n;

	/* Without pidfd_open (before Linux 5.3, or a seccomp filter) nothing can stop the command.
	 */
	fds[1].fd = (int)pmc_sys2(SYS_pidfd_open, pid, 0);
	if (fds[1].fd < 0)
		return SPAWN_ENDED;
	do {
		n = pmc_sys5(SYS_ppoll, fds, 2, timeout_ns ? &left : NULL, NULL, 0);
	} while (n == -EINTR);
	if (n == 0)
		stop = SPAWN_TIMED_OUT;
	else if (n > 0 && !fds[1].revents)
		stop = SPAWN_KILLED;
	/* The process may have left its group. */
	if (stop) {
		pmc_sys2(SYS_kill, -pid, SIGKILL);
		pmc_sys4(SYS_pidfd_send_signal, fds[1].fd, SIGKILL, NULL, 0);
	}
	pmc_sys1(SYS_close, fds[1].fd);
	return stop;
}

static void run(const struct spawn_request *request, const char *path, char **argv, char **envp,
		struct spawn_result *result)
{
	struct rusage usage;
	uint64_t from;
	long pid, n;

	*result = (struct spawn_result){ 0 };
	exec_error = 0;
	/* The standard input from its start, if it is a file. */
	pmc_sys3(SYS_lseek, 0, 0, 0);
	from = now();
	pid = start(path, argv, envp);
	if (pid < 0) {
		result->error = (int32_t)-pid;
		return;
	}
	result->stopped = (int32_t)wait_for(pid, request->timeout_ns);
	do {
		n = pmc_sys4(SYS_wait4, pid, &result->status, 0, &usage);
	} while (n == -EINTR);
	result->wall_ns = now() - from;
	result->error = exec_error;
	result->user_ns = pmc_timeval_ns(&usage.ru_utime);
	result->sys_ns = pmc_timeval_ns(&usage.ru_stime);
	result->peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* Computes and touches memory, for some 0.8 ms: how long it takes tells the machine's speed in this
 * session. */
static void work(void)
{
	enum { STEPS = 300000, BYTES = 1 << 20, PAGE = 4096 };
	const long at = pmc_sys6(SYS_mmap, 0, BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (uint64_t i = 0, x = 1; i < STEPS; i++) {
		x = x * 6364136223846793005u + i;
		__asm__ volatile("" : "+r"(x));
	}
	for (long i = 0; at > 0 && i < BYTES; i += PAGE)
		*(volatile char *)(at + i) = 1;
}

__attribute__((used, noreturn)) static void serve(long *stack)
{
	char **argv = (char **)(stack + 1), **envp = argv + stack[0] + 1;
	struct spawn_request request;
	struct spawn_result result;

	if (stack[0] == 2)
		work();
	pmc_sys3(SYS_fcntl, SPAWN_SOCKET, F_SETFD, FD_CLOEXEC);
	/* From here on an exec is the command's. */
	pmc_sys3(SYS_write, SPAWN_SOCKET, "", 1);
	while (stack[0] > 2 && pmc_sys3(SYS_read, SPAWN_SOCKET, &request, sizeof(request)) ==
				       (long)sizeof(request)) {
		char **words = argv + request.first, *next;

		if (request.n_words < 2 ||
		    request.first + (uint64_t)request.n_words > (uint64_t)stack[0])
			break;
		next = words[request.n_words];
		words[request.n_words] = NULL;
		run(&request, words[0], words + 1, envp, &result);
		words[request.n_words] = next;
		pmc_sys3(SYS_write, SPAWN_SOCKET, &result, sizeof(result));
	}
	pmc_sys1(SYS_exit_group, 0);
	__builtin_unreachable();
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall "
	"serve\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x0, sp\n\tbl serve\n");
#else
#error "pmc-spawn has no entry point for this processor"
#endif
