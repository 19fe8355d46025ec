/* SPDX-License-Identifier: MIT */
/*
 * storm THREADS SIGNALS [SEED]: threads start and end and processes fork and exec while SIGUSR2 is
 * sent SIGNALS times to the process and its threads. Each thread has its own descriptors and checks
 * that no other code reads from them. Unless an agent handles SIGUSR2 (PMC_DUMP), the program
 * survives only with SIGNALS 0.
 */
#include "burn.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

static unsigned long n_threads, n_signals;
static unsigned seed = 1;
static atomic_ulong done, bad, sent;
static atomic_int ended;

static void expect(int condition)
{
	atomic_fetch_add(&bad, !condition);
}

/* A pipe and an eventfd: each byte written is read exactly once. */
static void own_fds(uint64_t token)
{
	uint64_t got = 0;
	int ends[2];
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (pipe(ends) || event < 0) {
		expect(0);
		return;
	}
	expect(write(ends[1], &token, 8) == 8 && write(event, &token, 8) == 8);
	burn_thread_ms(0);
	expect(read(ends[0], &got, 8) == 8 && got == token);
	expect(read(event, &got, 8) == 8 && got == token);
	expect(read(event, &got, 8) == -1 && errno == EAGAIN);
	expect(close(event) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
}

static void *worker(void *arg)
{
	own_fds((uint64_t)(uintptr_t)arg + 1);
	atomic_fetch_add(&done, 1);
	return arg;
}

static void *sender(void *arg)
{
	/* On average one signal for each part of the work, whichever thread receives it. */
	for (unsigned long i = 0; i < n_signals; i++) {
		unsigned long due = i * n_threads / n_signals;

		while (atomic_load(&done) < due && !atomic_load(&ended))
			burn_thread_ms(0);
		if (i % 2)
			kill(getpid(), SIGUSR2);
		else
			pthread_kill(pthread_self(), SIGUSR2);
		atomic_fetch_add(&sent, 1);
	}
	return arg;
}

static void child(unsigned how)
{
	int status = -1;
	pid_t pid = how % 3 == 2 ? vfork() : fork();

	if (!pid && how % 3 == 0) {
		pthread_t thread;

		/* The agent of a forked child has installed its handler for the signal. */
		if (n_signals)
			kill(getpid(), SIGUSR2);
		if (pthread_create(&thread, NULL, worker, NULL) == 0)
			pthread_join(thread, NULL);
		_exit(atomic_load(&bad) ? 9 : 3);
	}
	if (!pid) {
		execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
		_exit(127);
	}
	expect(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 3);
}

int main(int argc, char **argv)
{
	enum { AT_ONCE = 4 };
	pthread_t threads[AT_ONCE], from;
	sigset_t usr2;

	n_threads = argc > 1 ? strtoul(argv[1], NULL, 10) / AT_ONCE * AT_ONCE : 400;
	n_signals = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	if (argc > 3)
		seed = (unsigned)strtoul(argv[3], NULL, 10);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	if (n_signals && pthread_create(&from, NULL, sender, NULL))
		return 1;
	for (unsigned long i = 0; i < n_threads; i += AT_ONCE) {
		/* Where main blocks the signal, its threads get it: they inherit the present mask.
		 */
		for (unsigned k = 0; k < AT_ONCE; k++)
			if (pthread_create(&threads[k], NULL, worker, (void *)(i + k)))
				return 1;
		pthread_sigmask(rand_r(&seed) % 2 ? SIG_BLOCK : SIG_UNBLOCK, &usr2, NULL);
		for (unsigned k = 0; k < AT_ONCE; k++)
			pthread_join(threads[k], NULL);
		pthread_sigmask(SIG_UNBLOCK, &usr2, NULL);
		own_fds(i + 1);
		if (rand_r(&seed) % 25 == 0)
			child((unsigned)rand_r(&seed));
	}
	atomic_store(&ended, 1);
	if (n_signals)
		pthread_join(from, NULL);
	printf("storm: %lu threads, %lu bad\n", atomic_load(&done), atomic_load(&bad));
	return atomic_load(&bad) ? 1 : 0;
}
