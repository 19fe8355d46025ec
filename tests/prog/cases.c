/* SPDX-License-Identifier: MIT */
/*
 * cases NAME [ARG]: runs the named test case, with a known number of threads and processes.
 *
 * Output and exit status of a case are the same in every run, so that runs can be compared.
 */
#include "burn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pthread_barrier_t started;
static char **args;
static volatile int *volatile nowhere = (volatile int *)8;

#define FAIL(what)                                                                                 \
	do {                                                                                       \
		perror(what);                                                                      \
		exit(99);                                                                          \
	} while (0)

static void *work(void *arg)
{
	burn_thread_ms(2);
	return arg;
}

static void *forever(void *arg)
{
	pthread_barrier_wait(&started);
	for (;;)
		pause();
	return arg;
}

static void __attribute__((noreturn)) never_ends(void)
{
	for (;;)
		pause();
}

static pthread_t begin(void *(*start)(void *), void *arg)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, start, arg);
	if (errno)
		FAIL("pthread_create");
	return thread;
}

/* n threads, one after another. */
static void threads(int n)
{
	for (int i = 0; i < n; i++)
		pthread_join(begin(work, NULL), NULL);
}

/* n threads that wait for the end of the process. */
static void live(unsigned n)
{
	pthread_barrier_init(&started, NULL, n + 1);
	for (unsigned i = 0; i < n; i++)
		begin(forever, NULL);
	pthread_barrier_wait(&started);
}

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static void reap(pid_t pid)
{
	int status;

	if (pid < 0)
		FAIL("fork");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			FAIL("waitpid");
	printf("child %s %d\n", WIFSIGNALED(status) ? "signal" : "exit",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fflush(stdout);
}

/* ---- fork ---------------------------------------------------------------------------------- */
static int fork_threads(void)
{
	live(4);
	pid_t pid = fork();

	if (!pid) {
		/* A child of a multi-threaded program: async-signal-safe calls only, then 2
		 * threads, which glibc permits. */
		threads(2);
		exit(3);
	}
	reap(pid);
	return 0;
}

static int fork_only(void)
{
	pid_t pid = fork();

	work(NULL);
	if (!pid)
		return 5;
	reap(pid);
	return 0;
}

static int fork_low(void)
{
	pid_t pid = _Fork();

	work(NULL);
	if (!pid)
		_exit(5);
	reap(pid);
	return 0;
}

static int fork_raw(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	work(NULL);
	if (!pid)
		_exit(5);
	reap(pid);
	return 0;
}

static int fork_killed(void)
{
	pid_t pid = fork();

	if (!pid) {
		threads(1);
		kill(getpid(), SIGTERM);
		pause();
	}
	reap(pid);
	return 0;
}

/* ARG: a file that the daemon creates before it ends. */
static int daemonise(void)
{
	struct rlimit limit;
	pid_t pid = fork();

	if (pid) {
		reap(pid);
		return 0;
	}
	setsid();
	if (fork())
		_exit(0);
	getrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = 0; fd < (int)limit.rlim_cur; fd++)
		close(fd);
	/* As a daemon does: descriptors 0 to 2 become /dev/null again. */
	int null = open("/dev/null", O_RDWR);
	int out = null == 0 ? dup(null) : -1, err = dup(null);

	threads(2);
	int done = open(args[0], O_WRONLY | O_CREAT | O_TRUNC, 0600);

	dprintf(done, "%d %d %d %d\n", null, out, err, done);
	close(done);
	return 0;
}

/* ---- exec ---------------------------------------------------------------------------------- */
static int leaf(void)
{
	threads(1);
	say("leaf");
	return 4;
}

static int exec_threads(void)
{
	live(3);
	execl("/proc/self/exe", "cases", "leaf", (char *)NULL);
	FAIL("execl");
}

static int exec_fails(void)
{
	static char *argv[] = { (char *)"x", NULL };
	char *const *volatile nowhere = (char *const *)8;

	threads(1);
	errno = 0;
	execve("/nonexistent/program", argv, argv + 1);
	printf("execve: %d\n", errno == ENOENT);
	errno = 0;
	execve("/bin/true", argv, nowhere);
	printf("execve, no address of an environment: %d\n", errno == EFAULT);
	errno = 0;
	execvp("no-such-program-at-all", argv);
	printf("execvp: %d\n", errno == ENOENT);
	errno = 0;
	execl("/etc/passwd", "passwd", (char *)NULL);
	printf("execl: %d\n", errno == EACCES);
	threads(1);
	return 0;
}

static void exec_way(const char *way)
{
	char *const argv[] = { (char *)"cases", (char *)"leaf", NULL };
	char *const envp[] = { (char *)"ONLY=this", NULL };
	const char *self = args[0];
	int fd = open(self, O_RDONLY | O_CLOEXEC);

	if (!strcmp(way, "execve"))
		execve(self, argv, environ);
	if (!strcmp(way, "execv"))
		execv(self, argv);
	if (!strcmp(way, "execvp"))
		execvp(self, argv);
	if (!strcmp(way, "execvpe"))
		execvpe(self, argv, environ);
	if (!strcmp(way, "execl"))
		execl(self, "cases", "leaf", (char *)NULL);
	if (!strcmp(way, "execle"))
		execle(self, "cases", "leaf", (char *)NULL, environ);
	if (!strcmp(way, "execlp"))
		execlp(self, "cases", "leaf", (char *)NULL);
	if (!strcmp(way, "fexecve"))
		fexecve(fd, argv, environ);
	if (!strcmp(way, "execveat"))
		execveat(fd, "", argv, environ, AT_EMPTY_PATH);
	if (!strcmp(way, "empty-env"))
		execve(self, argv, envp);
	_exit(127);
}

static int exec_all(void)
{
	static const char *const ways[] = {
		"execve", "execv",  "execvp",  "execvpe",  "execl",
		"execle", "execlp", "fexecve", "execveat", "empty-env"
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		pid_t pid = fork();

		if (!pid)
			exec_way(ways[i]);
		reap(pid);
	}
	return 0;
}

static int vfork_exec(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = vfork();

		if (!pid) {
			/* The second one fails, with the parent's memory. */
			execl(i ? "/nonexistent" : args[0], "cases", "leaf", (char *)NULL);
			_exit(7);
		}
		reap(pid);
		threads(1);
	}
	return 0;
}

static int by_system(void)
{
	int status = system("exit 6");

	printf("system: %d\n", WEXITSTATUS(status));
	return 0;
}

static int by_popen(void)
{
	char line[32] = "";
	FILE *f = popen("echo from the child; exit 2", "r");

	if (!f || !fgets(line, sizeof(line), f))
		FAIL("popen");
	printf("popen: %s", line);
	printf("pclose: %d\n", WEXITSTATUS(pclose(f)));
	return 0;
}

static int by_spawn(void)
{
	char *const argv[] = { (char *)"cases", (char *)"leaf", NULL };
	pid_t pid;

	errno = posix_spawn(&pid, args[0], NULL, NULL, argv, environ);
	if (errno)
		FAIL("posix_spawn");
	reap(pid);
	return 0;
}

/* ---- ends ---------------------------------------------------------------------------------- */
static void *exits(void *arg)
{
	burn_thread_ms(2);
	_exit(9);
	return arg;
}

static int exit_thread(void)
{
	live(2);
	say("main waits");
	begin(exits, NULL);
	never_ends();
}

static int exit_running(void)
{
	live(4);
	say("exit while 4 run");
	exit(6);
}

static int quick(void)
{
	threads(1);
	quick_exit(8);
}

static int aborts(void)
{
	live(2);
	say("abort");
	abort();
}

static int faults(void)
{
	live(2);
	say("fault");
	*nowhere = 1;
	return 0;
}

static void *faulting(void *arg)
{
	burn_thread_ms(2);
	*nowhere = 1;
	return arg;
}

static int faults_thread(void)
{
	live(2);
	say("fault in a thread");
	begin(faulting, NULL);
	never_ends();
}

static int term_default(void)
{
	live(2);
	say("TERM");
	kill(getpid(), SIGTERM);
	never_ends();
}

static volatile sig_atomic_t got;

static void on_signal(int signo)
{
	got = signo;
}

static int term_handled(void)
{
	struct sigaction action = { .sa_handler = on_signal }, old;

	sigaction(SIGTERM, &action, &old);
	printf("old %s\n", old.sa_handler == SIG_DFL && !old.sa_flags ? "default" : "not default");
	live(2);
	kill(getpid(), SIGTERM);
	while (!got)
		sched_yield();
	printf("got %d\n", got);
	printf("signal %s\n", signal(SIGTERM, SIG_DFL) == on_signal ? "mine" : "not mine");
	printf("signal %s\n", signal(SIGHUP, SIG_IGN) == SIG_DFL ? "default" : "not default");
	printf("signal %s\n", signal(SIGHUP, SIG_DFL) == SIG_IGN ? "ignored" : "not ignored");
	/* Every signal whose disposition can be queried has the default. */
	for (int signo = 1; signo < 32; signo++)
		if (sigaction(signo, NULL, &old) == 0 && old.sa_handler != SIG_DFL)
			printf("%d is not default\n", signo);
	fflush(stdout);
	return 3;
}

static int term_ignored(void)
{
	signal(SIGTERM, SIG_IGN);
	kill(getpid(), SIGTERM);
	say("alive");
	return 0;
}

/* The functions of System V, which libc does not build on its public sigaction. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static const char *named(void (*handler)(int))
{
	return handler == SIG_DFL   ? "default" :
	       handler == SIG_IGN   ? "ignored" :
	       handler == SIG_HOLD  ? "held" :
	       handler == SIG_ERR   ? "error" :
	       handler == on_signal ? "mine" :
				      "other";
}

static void tell_action(const char *what, int signo)
{
	struct sigaction now = { .sa_handler = SIG_DFL };
	sigset_t mask;

	sigaction(signo, NULL, &now);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	printf("%s %d: %s %x %d\n", what, signo, named(now.sa_handler), (unsigned)now.sa_flags,
	       sigismember(&mask, signo));
}

extern void (*bsd_signal(int signo, void (*handler)(int)))(int);

static int sysv_signals(void)
{
	const int signos[] = {
		SIGTERM, SIGUSR1, SIGSEGV, SIGPIPE, SIGCHLD, SIGRTMIN, SIGRTMIN + 1
	};

	for (unsigned i = 0; i < sizeof(signos) / sizeof(signos[0]); i++) {
		const int signo = signos[i];

		printf("hold %s", named(sigset(signo, SIG_HOLD)));
		printf(" %s", named(sigset(signo, SIG_HOLD)));
		printf(" %s", named(sigset(signo, on_signal)));
		printf(" %s", named(sigset(signo, on_signal)));
		printf(" %s\n", named(sigset(signo, SIG_DFL)));
		tell_action("sigset", signo);
		printf("%d %d", sighold(signo), sigrelse(signo));
		printf(" %d", sigignore(signo));
		tell_action(" sigignore", signo);
		printf("%s", named(sigset(signo, SIG_DFL)));
		printf(" %d", siginterrupt(signo, 0));
		tell_action(" siginterrupt", signo);
		printf("%d", siginterrupt(signo, 1));
		tell_action(" siginterrupt", signo);
		printf("%s", named(ssignal(signo, on_signal)));
		printf(" %s", named(bsd_signal(signo, SIG_IGN)));
		printf(" %s", named(sysv_signal(signo, SIG_DFL)));
		printf(" %s", named(ssignal(signo, SIG_DFL)));
		tell_action(" ssignal", signo);
	}
	printf("%s", named(sigset(0, SIG_HOLD)));
	printf(" %s", named(sigset(65, on_signal)));
	printf(" %s %d", named(sigset(SIGKILL, SIG_IGN)), errno);
	printf(" %d %d %d\n", sighold(0), sigrelse(65), sigignore(SIGKILL));
	/* The default action again: it ends the program. */
	say("TERM");
	kill(getpid(), SIGTERM);
	never_ends();
}

/* A handler that calls the one before it, if there is one. */
static void (*before)(int);

static void on_chained(int signo)
{
	if (before != SIG_DFL && before != SIG_IGN && before != SIG_HOLD)
		before(signo);
}

static int chained(void)
{
	before = sigset(SIGUSR1, on_chained);
	raise(SIGUSR1);
	say("alive");
	return 0;
}

/* ---- calls that are refused, and cancellation ---------------------------------------------- */

/* struct sigaction of the kernel. */
struct raw_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask[2];
};

static int raw_sigaction(int signo, const void *action, void *old, unsigned bytes)
{
	return syscall(SYS_rt_sigaction, signo, action, old, bytes) == 0 ? 0 : errno;
}

static int bad_calls(void)
{
	const int signos[] = { SIGUSR1, SIGRTMIN, SIGRTMIN + 1, SIGKILL };
	static char *argv[] = { (char *)"x", NULL };
	char *const *volatile no_args = NULL;
	const struct raw_action ignore = { .handler = SIG_IGN };
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *const one = (void *)1, *cut = page + 4096 - 8;
	struct raw_action was;

	munmap(page + 4096, 4096);
	for (unsigned i = 0; i < sizeof(signos) / sizeof(signos[0]); i++) {
		const int signo = signos[i];

		printf("%d: %d %d", signo, raw_sigaction(signo, one, NULL, 8),
		       raw_sigaction(signo, cut, NULL, 8));
		printf(" %d %d", raw_sigaction(signo, NULL, one, 8),
		       raw_sigaction(signo, &ignore, one, 8));
		printf(" %d %d", raw_sigaction(signo, &ignore, &was, 7),
		       raw_sigaction(signo, NULL, NULL, 16));
		printf(" %d", raw_sigaction(signo, one, &was, 7));
		memset(&was, 0xff, sizeof(was));
		raw_sigaction(signo, &ignore, NULL, 8);
		printf(" %d", raw_sigaction(signo, NULL, &was, 8));
		printf(" %s %lx %lx\n", signo != SIGKILL ? named(was.handler) : "", was.flags,
		       was.mask[0]);
		signal(signo, SIG_DFL);
	}
	for (int fd = -1; fd < 1; fd++) {
		errno = 0;
		fexecve(fd, argv, NULL);
		printf("fexecve %d %d", fd, errno);
		fexecve(fd, argv, argv + 1);
		printf(" %d", errno);
		fexecve(fd, no_args, argv + 1);
		printf(" %d\n", errno);
	}
	return 0;
}

static void *closes(void *arg)
{
	const int fd = open("/dev/null", O_RDONLY);

	pthread_cancel(pthread_self());
	printf("syscall %d\n", (int)syscall(SYS_close, fd));
	printf("syscall %d\n", (int)syscall(SYS_close, fd));
	fflush(stdout);
	close(open("/dev/null", O_RDONLY));
	say("not cancelled");
	return arg;
}

static int cancelled_close(void)
{
	void *result;

	pthread_join(begin(closes, NULL), &result);
	say(result == PTHREAD_CANCELED ? "cancelled" : "returned");
	return 0;
}

/* ---- threads and limits -------------------------------------------------------------------- */
static int unshares(void)
{
	printf("unshare: %d\n", unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
	threads(1);
	return 0;
}

static int limits(void)
{
	struct rlimit limit, old;

	threads(1);
	getrlimit(RLIMIT_NOFILE, &limit);
	printf("limit %ld %ld\n", (long)limit.rlim_cur, (long)limit.rlim_max);
	live(8);
	limit.rlim_cur = 100;
	printf("set %d\n", setrlimit(RLIMIT_NOFILE, &limit));
	threads(8);
	limit.rlim_cur = 90;
	printf("prlimit %d", prlimit(0, RLIMIT_NOFILE, &limit, &old));
	printf(" old %ld\n", (long)old.rlim_cur);
	fflush(stdout);
	int fd, last = -1;

	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	printf("last %d, then EMFILE %d\n", last, errno == EMFILE);
	for (fd = 3; fd <= last; fd++)
		close(fd);
	fflush(stdout);
	return system("ulimit -n");
}

static int cancelled(void)
{
	unsigned n = 0;

	for (int i = 0; i < 200; i++) {
		pthread_t thread = begin(work, NULL);
		void *result;

		pthread_cancel(thread);
		pthread_join(thread, &result);
		/* work() has no cancellation point, so the thread returns normally. */
		n += result == NULL;
	}
	printf("%u ended as they began\n", n);
	return 0;
}

static int fifo(void)
{
	struct sched_param param = { .sched_priority = 1 };
	pthread_attr_t attr;
	unsigned n = 0;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	for (int i = 0; i < 50; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, work, NULL))
			continue;
		/* With PMC_DUMP=USR2: snapshots while the thread ends. */
		for (int k = 0; args[0] && k < 3; k++)
			kill(getpid(), SIGUSR2);
		pthread_join(thread, NULL);
		n++;
	}
	printf("%u real-time threads\n", n);
	return 0;
}

/* As programs do that set their title: it takes the room from the arguments up to the last entry of
 * the environment, as long as the entries are in order. */
static int title(void)
{
	char *end = args[-2];

	for (unsigned i = 0; environ[i]; i++)
		end = environ[i] + strlen(environ[i]) + 1;
	printf("the last entry is %s the arguments\n",
	       end > args[-2] && end < args[-2] + (8 << 20) ? "behind" : "not behind");
	return 0;
}

/* The kernel reads 15 bytes of a name: they may be the last ones of a page. */
static int edge_name(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *name = pages + page - 15;

	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
		FAIL("mmap");
	memcpy(name, "fifteen-letters", 15);
	if (prctl(PR_SET_NAME, name) || syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0))
		FAIL("prctl");
	return 0;
}

/* ---- what a library behind the agent (behind.c) sees --------------------------------------- */
static void leave_by_handler(int signo)
{
	_exit(signo == SIGTERM ? 20 : 99);
}

static int leaves(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(10);
	reap(pid);
	pid = fork();
	if (!pid)
		_Exit(11);
	reap(pid);
	pid = vfork();
	if (!pid)
		_exit(12);
	reap(pid);
	pid = fork();
	if (!pid) {
		signal(SIGTERM, leave_by_handler);
		raise(SIGTERM);
	}
	reap(pid);
	for (int i = 0; i < 3; i++) {
		pid = i == 2 ? vfork() : fork();
		if (!pid)
			exec_way(i ? "execve" : "fexecve");
		reap(pid);
	}
	printf("prctl %d\n", prctl(PR_SET_NAME, "leaves", 0, 0, 0));
	errno = 0;
	printf("prctl %d", prctl(-1, 0, 0, 0, 0));
	printf(" %d\n", errno == EINVAL);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{ "fork-threads", fork_threads },
	{ "fork-only", fork_only },
	{ "fork-low", fork_low },
	{ "fork-raw", fork_raw },
	{ "fork-killed", fork_killed },
	{ "daemon", daemonise },
	{ "leaf", leaf },
	{ "exec-threads", exec_threads },
	{ "exec-fails", exec_fails },
	{ "exec-all", exec_all },
	{ "vfork-exec", vfork_exec },
	{ "system", by_system },
	{ "popen", by_popen },
	{ "spawn", by_spawn },
	{ "exit-thread", exit_thread },
	{ "exit-running", exit_running },
	{ "quick", quick },
	{ "abort", aborts },
	{ "fault", faults },
	{ "fault-thread", faults_thread },
	{ "term-default", term_default },
	{ "term-handled", term_handled },
	{ "term-ignored", term_ignored },
	{ "sysv-signals", sysv_signals },
	{ "chained", chained },
	{ "bad-calls", bad_calls },
	{ "cancelled-close", cancelled_close },
	{ "unshare", unshares },
	{ "limits", limits },
	{ "cancelled", cancelled },
	{ "fifo", fifo },
	{ "edge-name", edge_name },
	{ "title", title },
	{ "leaves", leaves },
};

int main(int argc, char **argv)
{
	args = argv + 2;
	for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[1]))
			return cases[i].run();
	fprintf(stderr, "cases: no case %s\n", argc > 1 ? argv[1] : "");
	return 2;
}
