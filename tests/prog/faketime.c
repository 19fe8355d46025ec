/* SPDX-License-Identifier: MIT */
/* faketime: a library whose clock_gettime shows a year more with each call, as libfaketime may. */
/* prog-flags: -shared -fPIC */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static atomic_int calls;
	long result = syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += 365L * 86400 * ++calls;
	return (int)result;
}
