/* SPDX-License-Identifier: MIT */
/*
 * children KIND END - starts a child that uses 200 ms of CPU time, and waits for it. KIND: fork,
 * _Fork, vfork or clone; END: exit, call (syscall()), raw (by an instruction of its own), or kill
 * (SIGKILL). */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void raw_exit(void)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a"((long)SYS_exit_group), "D"(0L));
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_exit_group;
	register long status __asm__("x0") = 0;

	__asm__ volatile("svc 0" : : "r"(number), "r"(status));
#endif
}

static void burn(void)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 200000000);
}

static void child(const char *end)
{
	burn();
	if (!strcmp(end, "kill"))
		syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	if (!strcmp(end, "raw"))
		raw_exit();
	if (!strcmp(end, "call"))
		syscall(SYS_exit_group, 0);
	_exit(0);
}

int main(int argc, char **argv)
{
	pid_t pid = 0;

	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "fork"))
		pid = fork();
	else if (!strcmp(argv[1], "_Fork"))
		pid = _Fork();
	else if (!strcmp(argv[1], "clone"))
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	else
		pid = vfork();
	if (pid == 0)
		child(argv[2]);
	return pid < 0 || waitpid(pid, NULL, 0) != pid;
}
