/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c - sees seccomp filters that the host installs, before they are active, and exit_group
 * (QEMU). Overrides: syscall.
 *
 * Filters are installed by prctl (thread.c) or, as in libseccomp, by syscall(SYS_seccomp): libc has
 * no function for it. The agent's own calls of syscall() bypass this hook: the linker wraps them
 * (--wrap=syscall) into jumps to libc's.
 */
#include "agent/hooks/hooks.h"

#include <dlfcn.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdarg.h>

long (*agent_libc_syscall)(long, ...);
long agent_watched_syscall(long number, ...);

/* syscall() itself: calls that are not watched go to libc's by a jump, with their arguments in the
 * registers. Before the constructor libc's address is unknown. */
#define TEXT_OF(number) #number
#define TEXT(number)	TEXT_OF(number)
/* clang-format off */
#if defined(__x86_64__)
#define ENTRY	      "endbr64\n"
#define WATCH(number) "cmp $" TEXT(number) ", %rdi\n je agent_watched_syscall\n"
#define JUMP	      "mov agent_libc_syscall(%rip), %r11\n" \
		      "test %r11, %r11\n jz agent_watched_syscall\n jmp *%r11\n"
#elif defined(__aarch64__)
#define ENTRY	      "hint #34\n" /* bti c */
#define WATCH(number) "cmp x0, #" TEXT(number) "\n b.eq agent_watched_syscall\n"
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
	ENTRY WATCH(SYS_prctl) WATCH(SYS_seccomp) WATCH(SYS_exit_group)
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

static long libc_syscall(long number, const long a[6])
{
	if (!agent_libc_syscall)
		agent_syscall_init();
	return agent_libc_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static bool installs_filter(long number, const long a[6])
{
	if (number == SYS_prctl)
		return a[0] == PR_SET_SECCOMP && a[1] != 0;
	return number == SYS_seccomp &&
	       (a[0] == SECCOMP_SET_MODE_STRICT || a[0] == SECCOMP_SET_MODE_FILTER);
}

/* For all threads (TSYNC): one of them may be about to open its groups. */
static bool is_for_all(long number, const long a[6])
{
	return number == SYS_seccomp && (a[1] & SECCOMP_FILTER_FLAG_TSYNC);
}

long agent_filtering_call(long number, const long args[6])
{
	bool filter = installs_filter(number, args) && agent_active(), held;
	long result;

	if (filter)
		agent_before_filter(number, args);
	/* Also where the agent has stopped: a thread may be about to open its groups. */
	held = filter && is_for_all(number, args) && agent_fds_hold();
	result = libc_syscall(number, args);
	agent_fds_let(held);
	if (number == SYS_prctl && args[0] == PR_SET_NAME && result == 0)
		agent_name_given((const char *)args[1]);
	return result;
}

long agent_watched_syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_exit_group)
		agent_leave(PMC_ENDED_EXIT, (int)a[0] & 0xff, false);
	return agent_filtering_call(number, a);
}
