/* SPDX-License-Identifier: MIT */
/* usurp DUMP FILE: between two threads, replaces the descriptor of DUMP by FILE with a dup3 system
 * call, which the agent cannot interpose. */
#include "inline_call.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	return arg;
}

static int run(char *name)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, work, name) || pthread_join(thread, NULL);
}

static int number_of(const char *path)
{
	for (int fd = 0; fd < 65536; fd++) {
		char link[32], to[4096];
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, to, sizeof(to) - 1);
		if (n > 0 && (size_t)n == strlen(path) && !memcmp(to, path, (size_t)n))
			return fd;
	}
	return -1;
}

int main(int argc, char **argv)
{
	int fd, dump;

	if (argc != 3 || run("before"))
		return 2;
	dump = number_of(argv[1]);
	fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	if (dump < 0 || fd < 0 || inline_call(SYS_dup3, fd, dump, 0) != dump || run("after"))
		return 1;
	printf("%lld bytes\n", (long long)lseek(fd, 0, SEEK_END));
	return 0;
}
