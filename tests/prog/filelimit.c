/* SPDX-License-Identifier: MIT */
/*
 * filelimit HOW: threads end with RLIMIT_FSIZE at 8 KiB, then the program itself writes beyond it.
 *
 * HOW is the state of SIGXFSZ: default, ignored, handled or blocked; turns: all of them in
 * sequence; pending: blocked and pending; changed: another thread keeps changing its action. Prints
 * how often the signal was caught and whether it is pending. sent: sends SIGXFSZ to each of 20
 * children, in which threads keep ending, and prints how many it killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 200

static volatile sig_atomic_t caught;

static void count(int signo)
{
	(void)signo;
	caught++;
}

/* An exec of a program writes the rows first, in a thread that runs on if it fails. */
static void *nothing(void *arg)
{
	return arg;
}

static int threads(void)
{
	static char too_long[200 << 10];

	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
			return 1;
	}
	memset(too_long, 'x', sizeof(too_long) - 1);
	execl("/bin/true", "true", too_long, (char *)NULL);
	return 0;
}

static void set(void (*handler)(int), int how)
{
	sigset_t mask;

	signal(SIGXFSZ, handler);
	sigemptyset(&mask);
	sigaddset(&mask, SIGXFSZ);
	sigprocmask(how, &mask, NULL);
}

static int pending(void)
{
	sigset_t now;

	sigpending(&now);
	return sigismember(&now, SIGXFSZ);
}

static int turn(const char *how)
{
	static const struct {
		const char *name;
		void (*handler)(int);
		int mask;
	} all[] = { { "default", SIG_DFL, SIG_UNBLOCK },
		    { "ignored", SIG_IGN, SIG_UNBLOCK },
		    { "handled", count, SIG_UNBLOCK },
		    { "blocked", SIG_DFL, SIG_BLOCK } };

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(how, "turns") && strcmp(how, all[i].name))
			continue;
		set(all[i].handler, all[i].mask);
		if (threads())
			return 1;
		printf("%s: caught %d pending %d\n", all[i].name, (int)caught, pending());
	}
	return 0;
}

static volatile sig_atomic_t done;

static void *changes(void *arg)
{
	while (!done) {
		signal(SIGXFSZ, count);
		signal(SIGXFSZ, SIG_DFL);
	}
	return arg;
}

static int changed(void)
{
	pthread_t thread;
	int failed;

	if (threads() || pthread_create(&thread, NULL, changes, NULL))
		return 1;
	failed = threads() || threads();
	done = 1;
	pthread_join(thread, NULL);
	printf("changed: caught %d\n", (int)caught);
	return failed;
}

static void *takes_it(void *arg)
{
	set(SIG_DFL, SIG_UNBLOCK);
	return arg;
}

static int sent(void)
{
	int ended = 0;

	set(SIG_DFL, SIG_BLOCK);
	for (int i = 0; i < 20; i++) {
		int status = 0, ms = 0;
		pid_t child = fork();
		pthread_t thread;

		while (!child)
			if (!pthread_create(&thread, NULL, takes_it, NULL))
				pthread_join(thread, NULL);
		usleep(20000);
		kill(child, SIGXFSZ);
		while (waitpid(child, &status, WNOHANG) == 0 && ms++ < 1000)
			usleep(1000);
		ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ;
		if (ms > 1000) {
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
		}
	}
	printf("%d ended\n", ended);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "default";
	struct rlimit limit = { 8192, 8192 };
	static char data[16384];
	ssize_t n;
	int fd;

	if (!strcmp(how, "sent"))
		return sent();
	if (setrlimit(RLIMIT_FSIZE, &limit) || turn(how))
		return 1;
	/* Again, after all dispositions have been used. */
	if (!strcmp(how, "turns") && (turn("handled") || turn("default")))
		return 1;
	if (!strcmp(how, "changed") && changed())
		return 1;
	if (!strcmp(how, "pending")) {
		set(SIG_DFL, SIG_BLOCK);
		raise(SIGXFSZ);
		if (turn("blocked"))
			return 1;
	}
	fflush(stdout);
	fd = open("mine", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	n = write(fd, data, sizeof(data));
	n += write(fd, data, 1);
	printf("wrote %zd, %s; caught %d pending %d\n", n, strerror(errno), (int)caught, pending());
	return 0;
}
