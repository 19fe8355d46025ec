/* SPDX-License-Identifier: MIT */
/* forkfds FORKS: forks while threads start and end (the first time before any thread). Prints how
 * many children had how many perf events open, and how many threads started with errno set. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic unsigned with_errno;

static void *short_lived(void *arg)
{
	if (errno)
		with_errno++;
	return arg;
}

static void *churn(void *arg)
{
	pthread_t thread;

	for (;;)
		if (pthread_create(&thread, NULL, short_lived, NULL) == 0)
			pthread_join(thread, NULL);
	return arg;
}

static int perf_events(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char to[64];
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, to, sizeof(to) - 1);

		to[len > 0 ? len : 0] = '\0';
		n += strstr(to, "perf_event") != NULL;
	}
	return n;
}

int main(int argc, char **argv)
{
	int forks = argc > 1 ? atoi(argv[1]) : 100, children[256] = { 0 };
	pthread_t thread;

	for (int i = 0; i < forks; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(perf_events());
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 1;
		children[WEXITSTATUS(status)]++;
		for (int k = 0; i == 0 && k < 4; k++)
			pthread_create(&thread, NULL, churn, NULL);
	}
	for (int i = 0; i < 256; i++)
		if (children[i])
			printf("%d children with %d\n", children[i], i);
	printf("%u threads with an errno\n", with_errno);
	fflush(stdout);
	_exit(0);
}
