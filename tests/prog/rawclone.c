/* SPDX-License-Identifier: MIT */
/* rawclone MS [MAIN_MS]: a thread from the clone system call uses MS ms of CPU, main MAIN_MS. */
#include "burn.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static long ms;
static volatile int alive = 1;

static int work(void *arg)
{
	(void)arg;
	burn_thread_ms(ms);
	return 0;
}

int main(int argc, char **argv)
{
	const size_t stack_size = 64 * 1024;
	char *stack;
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		    CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;

	ms = argc > 1 ? strtol(argv[1], NULL, 10) : 200;
	stack = mmap(NULL, stack_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return 1;
	if (clone(work, stack + stack_size, flags, NULL, NULL, NULL, &alive) < 0)
		return 1;
	burn_thread_ms(argc > 2 ? strtol(argv[2], NULL, 10) : 0);
	while (alive)
		syscall(SYS_futex, &alive, FUTEX_WAIT, 1, NULL, NULL, 0);
	puts("raw clone done");
	return 0;
}
