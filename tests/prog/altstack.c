/* SPDX-License-Identifier: MIT */
/* altstack SIGNAL...: per SIGNAL a child with two threads raises it with an alternate stack.
 * Prints how many more bytes of that stack were used than with an empty handler. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 256 << 10, PAINT = 0xa5 };

static void nothing(int signo)
{
	(void)signo;
}

static pthread_barrier_t both;

static void *sleep_on(void *arg)
{
	pthread_barrier_wait(&both);
	for (;;)
		pause();
	return arg;
}

static long taken(unsigned char *stack, int signo, void (*handler)(int))
{
	const stack_t alternate = { .ss_sp = stack, .ss_size = BYTES };
	struct sigaction action;
	pthread_t thread;
	long untouched = 0;
	pid_t pid;

	memset(stack, PAINT, BYTES);
	pid = fork();
	if (pid == 0) {
		memset(&action, 0, sizeof(action));
		action.sa_handler = handler;
		action.sa_flags = SA_ONSTACK;
		if (handler)
			sigaction(signo, &action, NULL);
		pthread_barrier_init(&both, NULL, 2);
		if (pthread_create(&thread, NULL, sleep_on, NULL) != 0)
			_exit(1);
		pthread_barrier_wait(&both);
		sigaltstack(&alternate, NULL);
		raise(signo);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	while (untouched < BYTES && stack[untouched] == PAINT)
		untouched++;
	return BYTES - untouched;
}

int main(int argc, char **argv)
{
	unsigned char *stack =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long frame;

	if (stack == MAP_FAILED)
		return 1;
	frame = taken(stack, SIGUSR1, nothing);
	for (int i = 1; i < argc; i++)
		printf("%ld\n", taken(stack, atoi(argv[i]), NULL) - frame);
	return frame > 0 ? 0 : 1;
}
