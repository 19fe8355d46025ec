/* SPDX-License-Identifier: MIT */
/*
 * kinds KIND N [CMD...]: N instructions in places that are easily missed.
 *
 * raw   in a thread made by the clone system call
 * fork  in a forked child, and in a thread of that child
 * exec  here, then CMD in place of this program
 * kill  in three threads that end, then SIGKILL
 * wait  in three threads that stay; meanwhile CMD as a child, or SIGUSR2 to ourselves
 */
/* prog-flags: -Wl,-z,now */
#include "loop.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long n;
static pthread_barrier_t barrier;
static volatile int alive = 1;

static void *loop(void *arg)
{
	run_instructions(n);
	return arg;
}

static void *loop_and_stay(void *arg)
{
	run_instructions(n);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

static int loop_raw(void *arg)
{
	(void)arg;
	run_instructions(n);
	return 0;
}

static int threads(void *(*start)(void *), pthread_t list[3])
{
	for (int i = 0; i < 3; i++)
		if (pthread_create(&list[i], NULL, start, NULL))
			return 1;
	return 0;
}

static void join(const pthread_t list[3])
{
	for (int i = 0; i < 3; i++)
		pthread_join(list[i], NULL);
}

static int raw(void)
{
	const size_t size = 64 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED ||
	    clone(loop_raw, stack + size,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			  CLONE_CHILD_CLEARTID,
		  NULL, NULL, NULL, &alive) < 0)
		return 1;
	while (alive)
		syscall(SYS_futex, &alive, FUTEX_WAIT, 1, NULL, NULL, 0);
	return 0;
}

static int child_of(char **command)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (command) {
			execvp(command[0], command);
			_exit(127);
		}
		pthread_t thread;

		run_instructions(n);
		_exit(pthread_create(&thread, NULL, loop, NULL) || pthread_join(thread, NULL));
	}
	return pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0;
}

int main(int argc, char **argv)
{
	pthread_t list[3];

	if (argc < 3)
		return 2;
	n = strtoul(argv[2], NULL, 10);
	if (!strcmp(argv[1], "raw"))
		return raw();
	if (!strcmp(argv[1], "fork"))
		return child_of(NULL);
	if (!strcmp(argv[1], "exec")) {
		run_instructions(n);
		execvp(argv[3], argv + 3);
		return 127;
	}
	if (!strcmp(argv[1], "kill")) {
		if (threads(loop, list))
			return 1;
		join(list);
		kill(getpid(), SIGKILL);
	}
	pthread_barrier_init(&barrier, NULL, 4);
	if (threads(loop_and_stay, list))
		return 1;
	pthread_barrier_wait(&barrier);
	int failed = argc > 3 ? child_of(argv + 3) : raise(SIGUSR2);

	pthread_barrier_wait(&barrier);
	join(list);
	return failed;
}
