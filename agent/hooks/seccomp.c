/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c - programs that put seccomp filters on themselves, or name a thread in the same
 * way. Overrides: syscall.
 *
 * By prctl (name.c), or by syscall(SYS_seccomp), which is how libseccomp does it: libc has no
 * function for it. The agent's own calls of syscall() do not come here: the linker wraps them
 * (--wrap=syscall), and they go straight to libc's.
 */
#include "agent/hooks/hooks.h"
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/base/fork_guard.h"
#include "agent/base/real.h"
#include "agent/base/seccomp_probe.h"
#include "agent/process/seccomp_filter.h"

#include <dlfcn.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

/* libc's, for the agent's own calls; set before the first of them. */
long (*agent_libc_syscall)(long, ...);

/* A jump and no more: the arguments are where they belong. */
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

static long straight(long number, const long a[6])
{
	if (!agent_libc_syscall)
		agent_syscall_init();
	return agent_libc_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define COLLECT(number, a)                                                                         \
	long a[6];                                                                                 \
	va_list args;                                                                              \
	va_start(args, number);                                                                    \
	for (unsigned i = 0; i < 6; i++)                                                           \
		a[i] = va_arg(args, long);                                                         \
	va_end(args)

static bool installs_filter(long number, const long a[6])
{
	if (number == SYS_prctl)
		return a[0] == PR_SET_SECCOMP && a[1] != 0;
	return number == SYS_seccomp &&
	       (a[0] == SECCOMP_SET_MODE_STRICT || a[0] == SECCOMP_SET_MODE_FILTER);
}

/* On all threads, also on one that was about to open its groups. */
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
	result = straight(number, args);
	/* A second filter does not show in the mode: what was allowed is asked again. */
	if (filter && result >= 0)
		agent_perf_filtered();
	agent_fds_let(held);
	if (number == SYS_prctl && args[0] == PR_SET_NAME && result == 0)
		agent_name_given((const char *)args[1]);
	return result;
}

AGENT_API long syscall(long number, ...)
{
	COLLECT(number, a);
	return agent_filtering_call(number, a);
}
