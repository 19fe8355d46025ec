/* SPDX-License-Identifier: MIT */
/*
 * raw_fds call|inline: closes all descriptors past libc, by syscall() or by an instruction, while
 * threads run, and opens pipes in their place. Then the threads end. Fails if a pipe was closed or
 * lost data, also in the child of a fork, or stays open when it is closed.
 *
 * raw_fds tsc: disables the time stamp counter, and ends with status 5.
 *
 * raw_fds limits: the limit of descriptors as sysconf() and children of vfork, clone and wordexp
 * see it, while threads start; fails if one differs from that at the start.
 *
 * raw_fds numbers: closes low numbers and takes them by dup2() while threads start; fails if one is
 * closed later.
 */
#include "inline_call.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

enum { THREADS = 4, PIPES = 40 };

static _Atomic int started, go;

static void *wait_to_go(void *arg)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	atomic_fetch_add(&started, 1);
	while (!go)
		nanosleep(&nap, NULL);
	return arg;
}

static int count_open(int pipes[PIPES][2])
{
	int n = 0;

	for (int i = 0; i < 2 * PIPES; i++)
		n += inline_call(SYS_fcntl, pipes[i / 2][i % 2], F_GETPIPE_SZ, 0) > 0;
	return n;
}

static int fds(int inlined)
{
	pthread_t threads[THREADS];
	int pipes[PIPES][2], bad = 0, status;
	char c = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, wait_to_go, NULL);
	while (started < THREADS)
		;
	if (inlined)
		inline_call(SYS_close_range, 3, 65535, 0);
	else
		syscall(SYS_close_range, 3, 65535, 0);
	for (int i = 0; i < PIPES; i++)
		if (pipe(pipes[i]) != 0 || write(pipes[i][1], "x", 1) != 1)
			return 2;
	if (fork() == 0)
		_exit(count_open(pipes));
	wait(&status);
	go = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PIPES; i++)
		bad += write(pipes[i][1], "y", 1) != 1 || read(pipes[i][0], &c, 1) != 1 || c != 'x';
	printf("%d of %d pipes are not as before\n", bad, PIPES);
	for (int i = 0; i < 2 * PIPES; i++)
		close(pipes[i / 2][i % 2]);
	printf("%d ends are open in a child, %d after close()\n", WEXITSTATUS(status),
	       count_open(pipes));
	return bad != 0;
}

static void *end_at_once(void *arg)
{
	return arg;
}

static void *storm(void *arg)
{
	pthread_t thread;

	while (!go)
		if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
			pthread_join(thread, NULL);
	return arg;
}

static struct rlimit at_start;

static int compare(void *unused)
{
	struct rlimit now = { 0, 0 };

	(void)unused;
	inline_call(SYS_getrlimit, RLIMIT_NOFILE, (long)&now, 0);
	inline_call(SYS_exit_group, now.rlim_cur != at_start.rlim_cur, 0, 0);
	return 0;
}

/* A child that calls no hook. Whether its limit differs. */
static bool differs_in_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status;

	waitpid(clone(compare, stack + sizeof(stack), SIGCHLD, NULL), &status, 0);
	return status != 0;
}

static bool differs_in_wordexp(const char *want)
{
	wordexp_t words;
	bool differs = wordexp("$(ulimit -n)", &words, 0) != 0 || strcmp(words.we_wordv[0], want);

	wordfree(&words);
	return differs;
}

static int limits(const char *self)
{
	pthread_t threads[2];
	int bad = 0, words = 0, status;
	char text[32];

	getrlimit(RLIMIT_NOFILE, &at_start);
	snprintf(text, sizeof(text), "%ld", (long)at_start.rlim_cur);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, storm, NULL);
	for (int i = 0; i < 100000; i++)
		bad += sysconf(_SC_OPEN_MAX) != (long)at_start.rlim_cur ||
		       getdtablesize() != (int)at_start.rlim_cur;
	printf("%d readings differ\n", bad);
	for (int i = 0; i < 500; i++) {
		const pid_t pid = vfork();

		if (pid == 0) {
			execl(self, self, "is", text, (char *)NULL);
			_exit(99);
		}
		waitpid(pid, &status, 0);
		bad += status != 0;
	}
	for (int i = 0; i < 300; i++) {
		bad += differs_in_clone();
		words += i % 2 && differs_in_wordexp(text);
	}
	/* Its child may start later than the agent waits for that, if it has to wait for a CPU. */
	if (words > 5)
		bad += words;
	go = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d readings and children differ\n", bad);
	return bad != 0;
}

static int numbers(void)
{
	enum { FIRST = 3, END = 12, TAKEN = 4, TIMES = 60000 };
	const int null = open("/dev/null", O_RDONLY), high = fcntl(null, F_DUPFD, 80);
	pthread_t threads[3];
	int bad = 0;

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, storm, NULL);
	for (int i = 0; i < TIMES; i++) {
		if (i % 2)
			close_range(FIRST, END - 1, 0);
		for (int fd = FIRST; fd < END; fd++)
			close(fd);
		for (int fd = FIRST; fd < FIRST + TAKEN; fd++)
			bad += dup2(high, fd) != fd;
		sched_yield();
		for (int fd = FIRST; fd < FIRST + TAKEN; fd++)
			bad += inline_call(SYS_fcntl, fd, F_GETFD, 0) < 0;
	}
	go = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d numbers are lost\n", bad);
	return bad != 0;
}

int main(int argc, char **argv)
{
	struct rlimit now;

	if (argc > 2 && !strcmp(argv[1], "is")) {
		getrlimit(RLIMIT_NOFILE, &now);
		return (long)now.rlim_cur != atol(argv[2]);
	}
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "limits"))
		return limits(argv[0]);
	if (!strcmp(argv[1], "numbers"))
		return numbers();
	if (!strcmp(argv[1], "tsc")) {
#ifdef __x86_64__
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
#endif
		return 5;
	}
	return fds(!strcmp(argv[1], "inline"));
}
