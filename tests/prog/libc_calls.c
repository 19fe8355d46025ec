/* SPDX-License-Identifier: MIT */
/* libc_calls.c - calls the functions that the agent interposes, and prints what they did; "again"
 * is printed by the image after an exec. prog-flags: -D_GNU_SOURCE -pthread */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t signals;
static _Atomic int destroyed;

static void handler(int signo)
{
	signals += signo == SIGUSR1 || signo == SIGUSR2;
}

static void destroy(void *value)
{
	destroyed += value != NULL;
}

static pthread_key_t key;
static tss_t tss;

static void *posix_thread(void *arg)
{
	pthread_setspecific(key, arg);
	return arg;
}

static int c11_thread(void *arg)
{
	tss_set(tss, arg);
	return 3;
}

static void threads(void)
{
	char name[16] = "";
	pthread_t thread;
	thrd_t c11;
	void *result = NULL;
	int number = 0;

	pthread_key_create(&key, destroy);
	tss_create(&tss, destroy);
	pthread_create(&thread, NULL, posix_thread, &number);
	pthread_join(thread, &result);
	thrd_create(&c11, c11_thread, &number);
	thrd_join(c11, &number);
	pthread_setname_np(pthread_self(), "given");
	prctl(PR_GET_NAME, name);
	printf("threads %d %d %d %s\n", result == &number, number, destroyed, name);
}

static void signal_calls(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, was;
	static char space[1 << 16];
	stack_t stack = { .ss_sp = space, .ss_size = sizeof(space) }, old;
	sigset_t set, before;

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR1, NULL, &was);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, &before);
	signal(SIGUSR2, handler);
	raise(SIGUSR2);
	sigaltstack(&stack, NULL);
	sigaltstack(NULL, &old);
	printf("signals %d %d %d %d %d\n", was.sa_handler == handler, (int)signals,
	       sigismember(&before, SIGUSR1), signal(SIGUSR2, SIG_DFL) == handler,
	       old.ss_sp == space && old.ss_size == sizeof(space));
}

static void descriptors(void)
{
	struct rlimit limit = { 100, 100 }, now = { 0, 0 };
	int copy = dup2(1, 50), same;
	FILE *file = fdopen(dup3(1, 51, 0), "w");
	int set = setrlimit(RLIMIT_NOFILE, &limit);

	getrlimit(RLIMIT_NOFILE, &now);
	same = close(copy) == 0 && close(copy) < 0 && errno == EBADF && fclose(file) == 0;
	printf("descriptors %d %d %d %d\n", copy, same, set, (int)now.rlim_cur);
}

static int status_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int forked(void (*end)(int), int status)
{
	pid_t pid = fork();

	if (pid == 0)
		end(status);
	return status_of(pid);
}

static void abort_with(int unused)
{
	(void)unused;
	signal(SIGABRT, SIG_DFL);
	abort();
}

static void exec_false(int unused)
{
	execlp("no-such-command-here", "x", (char *)NULL);
	if (errno == ENOENT)
		execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
	_exit(1);
	(void)unused;
}

static void processes(void)
{
	char *argv[] = { "sh", "-c", "exit 4", NULL }, line[16] = "";
	FILE *pipe = popen("echo piped", "r");
	pid_t pid = -1;
	int error = posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);
	int spawned = status_of(pid);

	if (pipe && !fgets(line, sizeof(line), pipe))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	printf("processes %d %d %d %s %d\n", error, spawned, WEXITSTATUS(system("exit 5")), line,
	       pipe ? pclose(pipe) : -1);
	printf("ends %d %d %d %d\n", forked(quick_exit, 6), forked(_exit, 7), forked(abort_with, 0),
	       forked(exec_false, 0));
}

int main(int argc, char **argv)
{
	char *again[] = { argv[0], "again", NULL };

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1) {
		printf("again %d\n", syscall(SYS_getpid) == getpid());
		return 8;
	}
	threads();
	signal_calls();
	descriptors();
	processes();
	execv("/proc/self/exe", again);
	return 1;
}
