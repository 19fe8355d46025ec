/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c - sees seccomp filters that the host installs, before they are active. Overrides:
 * syscall.
 *
 * Filters are installed by prctl (thread.c) or, as in libseccomp, by syscall(SYS_seccomp): libc has
 * no function for it. The agent's own calls of syscall() bypass this hook: the linker wraps them
 * (--wrap=syscall) into jumps to libc's.
 */
#include "agent/hooks/hooks.h"
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/base/fork_guard.h"
#include "agent/process/process.h"

#include <dlfcn.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

long (*agent_libc_syscall)(long, ...);

/* Only a jump: the arguments stay in their registers. */
#if defined(__x86_64__)
__asm__(".text\n"
	".globl __wrap_syscall\n"
	".hidden __wrap_syscall\n"
	".type __wrap_syscall, @function\n"
	"__wrap_syscall:\n"
	"	jmp *agent_libc_syscall(%rip)\n"
	".size __wrap_syscall, . - __wrap_syscall\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl __wrap_syscall\n"
	".hidden __wrap_syscall\n"
	".type __wrap_syscall, @function\n"
	"__wrap_syscall:\n"
	"	adrp x16, agent_libc_syscall\n"
	"	ldr x16, [x16, #:lo12:agent_libc_syscall]\n"
	"	br x16\n"
	".size __wrap_syscall, . - __wrap_syscall\n");
#else
#error "__wrap_syscall: a jump through agent_libc_syscall is needed here"
#endif

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
	held = filter && is_for_all(number, args) && agent_active() && agent_fds_hold();
	result = libc_syscall(number, args);
	agent_fds_let(held);
	if (number == SYS_prctl && args[0] == PR_SET_NAME && result == 0)
		agent_name_given((const char *)args[1]);
	return result;
}

AGENT_API long syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return agent_filtering_call(number, a);
}
