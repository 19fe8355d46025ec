/* SPDX-License-Identifier: MIT */
/*
 * regions CASE [ARG] - runs the named case of correct or incorrect region marking.
 * prog-flags: -Iinclude */
#include <pmc/region.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long sink;

static void burn(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}

static void join(pthread_t *threads, int n)
{
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* ---- nest: three deep, in N threads; each level does more than the error of the estimated cost
 * ---- */
static void *nested(void *arg)
{
	pmc_region_begin("outer");
	for (int i = 0; i < 5; i++) {
		burn(20000);
		pmc_region_begin("middle");
		burn(20000);
		pmc_region_begin("inner");
		burn(100000);
		pmc_region_end();
		pmc_region_end();
	}
	pmc_region_end();
	return arg;
}

static int nest(const char *arg)
{
	int n = arg ? atoi(arg) : 4;
	pthread_t threads[256];

	for (int i = 0; i < n && i < 256; i++)
		pthread_create(&threads[i], NULL, nested, NULL);
	join(threads, n < 256 ? n : 256);
	return 0;
}

/* ---- recurse: a region inside itself, directly and through another ---- */
static void recursion(int depth)
{
	pmc_region_begin("recursion");
	burn(100000);
	if (depth > 1) {
		pmc_region_begin("step");
		recursion(depth - 1);
		pmc_region_end();
	}
	pmc_region_end();
}

static int recurse(const char *arg)
{
	recursion(arg ? atoi(arg) : 10);
	return 0;
}

/* ---- unbalanced: more ends than begins, more begins than ends ---- */
static void *leaves_open(void *arg)
{
	pmc_region_begin("left open");
	pmc_region_begin("left open too");
	burn(100000);
	return arg;
}

static int unbalanced(const char *arg)
{
	pthread_t thread;

	(void)arg;
	pmc_region_end();
	pmc_region_begin("fine");
	pmc_region_end();
	pmc_region_end();
	pmc_region_end();
	pthread_create(&thread, NULL, leaves_open, NULL);
	join(&thread, 1);
	pmc_region_begin("open at exit");
	burn(100000);
	return 0;
}

/* ---- cancel: a thread that is cancelled inside two regions ---- */
static sem_t inside;

static void *waits(void *arg)
{
	pmc_region_begin("cancelled");
	pmc_region_begin("waiting");
	sem_post(&inside);
	for (;;)
		pause();
	return arg;
}

static int cancel(const char *arg)
{
	pthread_t thread;

	(void)arg;
	sem_init(&inside, 0, 0);
	pthread_create(&thread, NULL, waits, NULL);
	sem_wait(&inside);
	pthread_cancel(thread);
	join(&thread, 1);
	return 0;
}

/* ---- cut: the process ends while another thread is inside a region ---- */
static int cut(const char *arg)
{
	pthread_t thread;

	(void)arg;
	sem_init(&inside, 0, 0);
	pthread_create(&thread, NULL, waits, NULL);
	sem_wait(&inside);
	return 0;
}

/* ---- names: the same name at different places, changing names at one place, odd names ---- */
static int names(const char *arg)
{
	static char a[] = "same", b[] = "same", buffer[16], longer[1001];

	(void)arg;
	for (int i = 0; i < 3; i++) {
		pmc_region_begin(i % 2 ? a : b);
		pmc_region_end();
		snprintf(buffer, sizeof(buffer), "number %d", i);
		pmc_region_begin(buffer);
		memset(buffer, 'x', 3); /* read during the call only */
		pmc_region_end();
	}
	memset(longer, 'n', sizeof(longer) - 1);
	pmc_region_begin(longer);
	pmc_region_end();
	pmc_region_begin(NULL);
	pmc_region_begin("");
	pmc_region_end();
	pmc_region_end();
	pmc_region_begin("quote\" comma, \xff line\n");
	pmc_region_end();
	return 0;
}

/* ---- lengths: names with a common prefix, aligned, and at the end of mapped memory ---- */
static int lengths(const char *arg)
{
	enum { PAGE = 65536, MOST = 24 };
	char *page =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = page + PAGE;

	(void)arg;
	mprotect(end, PAGE, PROT_NONE);
	for (int i = 0; i < 2 * MOST; i++) {
		int len = i < MOST ? i + 1 : 2 * MOST - i;

		memset(page, 'a', (size_t)len);
		page[len] = '\0';
		memcpy(end - len - 1, page, (size_t)len + 1);
		for (int k = 0; k < 4; k++) {
			pmc_region_begin(k % 2 ? end - len - 1 : page);
			pmc_region_end();
		}
		page[len] = 'z';
	}
	return 0;
}

/* ---- deep and many: beyond the limits ---- */
static int deep(const char *arg)
{
	int n = arg ? atoi(arg) : 3000;

	pmc_region_begin("top");
	for (int i = 0; i < n; i++)
		pmc_region_begin("deep");
	for (int i = 0; i < n; i++)
		pmc_region_end();
	pmc_region_end();
	pmc_region_begin("after");
	pmc_region_end();
	return 0;
}

static int many(const char *arg)
{
	int n = arg ? atoi(arg) : 2000;
	char name[32];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < n; i++) {
			snprintf(name, sizeof(name), "region %d", i);
			pmc_region_begin(name);
			pmc_region_end();
		}
	return 0;
}

/* ---- fork: the child is inside regions that its parent opened ---- */
static int forks(const char *arg)
{
	int status;
	pid_t child;

	pmc_region_begin("across");
	pmc_region_begin("before");
	burn(10000000);
	pmc_region_end();
	/* By the fork system call, without the handlers of libc. */
	child = arg ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
	if (child == 0) {
		pmc_region_begin("child");
		burn(100000);
		pmc_region_end();
		pmc_region_end();
		exit(0);
	}
	waitpid(child, &status, 0);
	pmc_region_end();
	return status;
}

/* ---- exec: one that fails, then one that succeeds ---- */
static int execs(const char *arg)
{
	static char too_long[200 << 10];

	(void)arg;
	memset(too_long, 'x', sizeof(too_long) - 1);
	pmc_region_begin("around");
	pmc_region_begin("failed exec");
	burn(100000);
	execl("/nonexistent/program", "program", (char *)NULL);
	execl("/bin/true", "true", too_long, (char *)NULL);
	burn(100000);
	pmc_region_end();
	burn(100000);
	execl("/bin/true", "true", (char *)NULL);
	return 1;
}

/* ---- signals: a handler that marks regions, at any moment ---- */
static volatile sig_atomic_t signals;

static void on_signal(int signal)
{
	(void)signal;
	errno = 4711;
	pmc_region_begin("handler");
	pmc_region_begin("in the handler");
	pmc_region_end();
	pmc_region_end();
	if (errno != 4711)
		_exit(3);
	signals++;
}

static int handler(const char *arg)
{
	long pairs = arg ? atol(arg) : 200000;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, 50 }, { 0, 50 } };
	long before = 0;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (long i = 0; i < pairs || signals < 100; i++) {
		pmc_region_begin("main outer");
		pmc_region_begin("main inner");
		pmc_region_end();
		pmc_region_end();
		before++;
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("%ld %d\n", before, (int)signals);
	return 0;
}

/* ---- crash: inside a region ---- */
static int crash(const char *arg)
{
	(void)arg;
	pmc_region_begin("crash");
	burn(100000);
	raise(SIGSEGV);
	return 0;
}

/* ---- unseen: a thread whose start the agent does not see: libc's pthread_create, called directly
 * ---- */
static void *unseen_thread(void *arg)
{
	pmc_region_begin("unseen");
	burn(100000);
	pmc_region_end();
	return arg;
}

static int unseen(const char *arg)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	pthread_t thread;

	(void)arg;
	*(void **)&create = libc ? dlsym(libc, "pthread_create") : NULL;
	if (!create || create(&thread, NULL, unseen_thread, NULL) != 0)
		return 1;
	join(&thread, 1);
	return 0;
}

/* ---- churn: N threads one after the other ---- */
static void *one(void *arg)
{
	pmc_region_begin("one");
	pmc_region_begin(arg);
	pmc_region_end();
	pmc_region_end();
	return arg;
}

static int churn(const char *arg)
{
	int n = arg ? atoi(arg) : 1000;
	pthread_t thread;

	for (int i = 0; i < n; i++) {
		pthread_create(&thread, NULL, one, i % 2 ? "odd" : "even");
		join(&thread, 1);
	}
	return 0;
}

/* ---- serve: stays inside a region until standard input ends; with ARG, a child process does */
static int serve(const char *arg)
{
	int status;
	pid_t child;

	pmc_region_begin("serving");
	if (arg) {
		pmc_region_begin("parent");
		pmc_region_end();
		child = fork();
		if (child != 0) {
			waitpid(child, &status, 0);
			pmc_region_end();
			return status;
		}
	}
	for (int i = 0; i < 3; i++) {
		pmc_region_begin("request");
		burn(100000);
		pmc_region_end();
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	pmc_region_end();
	return 0;
}

/* ---- stay: N threads that wait inside five entries of a region, with others ended, until standard
 * input ends ---- */
static pthread_barrier_t there;

static void dive(int depth, int wait)
{
	pmc_region_begin("dive");
	burn(1000);
	if (depth > 1) {
		pmc_region_begin("step");
		dive(depth - 1, wait);
		pmc_region_end();
	} else if (wait) {
		pmc_region_begin("leaf");
		pmc_region_end();
		pthread_barrier_wait(&there);
		pthread_barrier_wait(&there);
	}
	pmc_region_end();
}

static void *stays(void *arg)
{
	nested(arg);
	dive(3, 0);
	pmc_region_begin("staying");
	nested(arg);
	dive(5, 1);
	pmc_region_end();
	return arg;
}

static int stay(const char *arg)
{
	int n = arg ? atoi(arg) : 4;
	pthread_t threads[256];

	n = n < 256 ? n : 256;
	pthread_barrier_init(&there, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, stays, NULL) != 0)
			return 1;
	pthread_barrier_wait(&there);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	pthread_barrier_wait(&there);
	join(threads, n);
	return 0;
}

/* ---- busy: N threads that mark regions until standard input ends ---- */
static volatile int busy_now = 1;

static void *marks(void *arg)
{
	char name[32];

	for (int i = 0; busy_now; i++) {
		pmc_region_begin("all");
		/* New names are registered, too, for a while. */
		snprintf(name, sizeof(name), "name %d", i % 50);
		pmc_region_begin(name);
		burn(2000); /* more than the error of the estimated cost of marking */
		pmc_region_end();
		pmc_region_begin("none");
		pmc_region_end();
		pmc_region_end();
	}
	return arg;
}

static int busy(const char *arg)
{
	int n = arg ? atoi(arg) : 4;
	pthread_t threads[256];

	n = n < 256 ? n : 256;
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, marks, NULL) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	busy_now = 0;
	join(threads, n);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const char *arg);
} cases[] = {
	{ "nest", nest },     { "recurse", recurse }, { "unbalanced", unbalanced },
	{ "cancel", cancel }, { "cut", cut },	      { "names", names },
	{ "deep", deep },     { "many", many },	      { "fork", forks },
	{ "exec", execs },    { "handler", handler }, { "crash", crash },
	{ "unseen", unseen }, { "churn", churn },     { "serve", serve },
	{ "stay", stay },     { "busy", busy },	      { "lengths", lengths },
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name))
			return cases[i].run(argc > 2 ? argv[2] : NULL);
	fprintf(stderr, "usage: regions CASE [ARG]\n");
	return 2;
}
