/* SPDX-License-Identifier: MIT */
/*
 * holds CASE - calls that keep the agent from opening events block, or do not return, while threads
 * start: cancel (pthread_cancel in close), jump (siglongjmp out of close and dup2), flush (fork
 * waits for a lock of stdio), fifo (the child of posix_spawn opens a FIFO). full: opens files at
 * the limit of descriptors. taken NUMBER: takes numbers from this one on, and reads its own pipe
 * there.
 *
 * Prints what it has done.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static atomic_bool stop;
static atomic_uint started;

static void *nothing(void *arg)
{
	for (volatile int i = 0; i < 20000; i++)
		;
	started++;
	return arg;
}

static void *start_threads(void *arg)
{
	pthread_t thread;

	while (!stop)
		if (pthread_create(&thread, NULL, nothing, NULL) == 0)
			pthread_join(thread, NULL);
	return arg;
}

static pthread_t begin(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) != 0)
		exit(1);
	return thread;
}

/* Until threads have been started since, or for ever. */
static void await_starts(unsigned n)
{
	const unsigned before = started;

	while (started - before < n)
		usleep(100);
}

static void *close_for_ever(void *arg)
{
	for (;;)
		close(-1);
	return arg;
}

static void cancel(void)
{
	for (unsigned i = 0; i < 300; i++) {
		const pthread_t closer = begin(close_for_ever);

		await_starts(2);
		pthread_cancel(closer);
		pthread_join(closer, NULL);
	}
	await_starts(10);
	puts("300 threads cancelled");
}

static sigjmp_buf out_of_call;
static atomic_bool has_environment; /* of out_of_call */
static volatile unsigned jumps;

static void jump(int signo)
{
	(void)signo;
	jumps++;
	siglongjmp(out_of_call, 1);
}

static void *interrupt(void *arg)
{
	while (!stop) {
		usleep(200);
		if (has_environment)
			pthread_kill(*(pthread_t *)arg, SIGUSR1);
	}
	return NULL;
}

static void jump_out(void)
{
	static pthread_t me; /* read until the end */
	pthread_t interrupter;

	me = pthread_self();
	signal(SIGUSR1, jump);
	pthread_create(&interrupter, NULL, interrupt, &me);
	sigsetjmp(out_of_call, 1);
	has_environment = true;
	while (jumps < 1000) {
		close(-1);
		dup2(0, 100);
		close(100);
	}
	signal(SIGUSR1, SIG_IGN);
	await_starts(10);
	puts("1000 jumps");
}

static int pipes[2];

static void *drain(void *arg)
{
	char bytes[4096];

	usleep(100000);
	while (read(pipes[0], bytes, sizeof(bytes)) > 0)
		;
	return arg;
}

static void *flush(void *arg)
{
	fflush(NULL);
	return arg;
}

static void *fork_once(void *arg)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return arg;
}

/* fork waits for flush, flush for drain, which starts last. */
static void flush_beside_fork(void)
{
	pthread_t flusher, forker, drainer;
	static char bytes[1 << 17], room[1 << 18];
	FILE *file;

	if (pipe(pipes) != 0 || !(file = fdopen(pipes[1], "w")))
		exit(1);
	setvbuf(file, room, _IOFBF, sizeof(room));
	fwrite(bytes, sizeof(bytes), 1, file);
	flusher = begin(flush);
	usleep(100000);
	forker = begin(fork_once);
	usleep(100000);
	drainer = begin(drain);
	pthread_join(forker, NULL);
	pthread_join(flusher, NULL);
	fclose(file);
	pthread_join(drainer, NULL);
	puts("flushed");
}

static void *spawn(void *arg)
{
	posix_spawn_file_actions_t actions;
	char *words[] = { "true", NULL };
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "holds.fifo", O_WRONLY, 0);
	if (posix_spawnp(&pid, "true", &actions, NULL, words, environ) == 0)
		waitpid(pid, NULL, 0);
	return arg;
}

static void *open_fifo(void *arg)
{
	close(open("holds.fifo", O_RDONLY));
	return arg;
}

static void spawn_with_fifo(void)
{
	pthread_t spawner, opener;

	unlink("holds.fifo");
	if (mkfifo("holds.fifo", 0600) != 0)
		exit(1);
	spawner = begin(spawn);
	usleep(100000);
	opener = begin(open_fifo);
	pthread_join(opener, NULL);
	pthread_join(spawner, NULL);
	puts("spawned");
}

static void full(void)
{
	unsigned above = 0;
	struct rlimit limit;
	int fd;

	getrlimit(RLIMIT_NOFILE, &limit);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	for (const unsigned before = started; started - before < 2000;)
		if ((fd = open("/dev/null", O_RDONLY)) >= 0) {
			above += fd >= (int)limit.rlim_cur;
			close(fd);
		}
	printf("%u files above the limit\n", above);
}

static void take(int first)
{
	unsigned seed = 1, bad = 0;
	char bytes[16];

	if (pipe(pipes) != 0 || fcntl(pipes[0], F_SETFL, O_NONBLOCK) != 0)
		exit(1);
	for (unsigned i = 0; i < 20000; i++) {
		const int fd = first + rand_r(&seed) % 24;

		bad += dup2(pipes[0], fd) != fd;
		bad += write(pipes[1], "0123456789", 10) != 10;
		if (rand_r(&seed) % 2)
			usleep((unsigned)rand_r(&seed) % 200);
		bad += read(fd, bytes, sizeof(bytes)) != 10 || memcmp(bytes, "0123456789", 10) != 0;
		close(fd);
	}
	printf("%u of 20000 reads are wrong\n", bad);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t starters[2];

	if (!strcmp(how, "flush"))
		flush_beside_fork();
	if (!strcmp(how, "fifo"))
		spawn_with_fifo();
	if (!strcmp(how, "flush") || !strcmp(how, "fifo"))
		return 0;
	for (int i = 0; i < 2; i++)
		starters[i] = begin(start_threads);
	if (!strcmp(how, "cancel"))
		cancel();
	if (!strcmp(how, "jump"))
		jump_out();
	if (!strcmp(how, "full"))
		full();
	if (!strcmp(how, "taken"))
		take(argc > 2 ? atoi(argv[2]) : 1000);
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(starters[i], NULL);
	return 0;
}
