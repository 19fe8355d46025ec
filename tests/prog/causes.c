/* SPDX-License-Identifier: MIT */
/*
 * causes.c - causes CAUSE [MS]: a program that is slow for one known reason, or for none.
 *
 * prog-flags: -pthread
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;
static long ms = 400, cpus;

static long now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* CPU time of the calling thread. */
NOINLINE static void compute(long us)
{
	for (long end = now_us(CLOCK_THREAD_CPUTIME_ID) + us;
	     now_us(CLOCK_THREAD_CPUTIME_ID) < end;)
		for (unsigned i = 0; i < 5000; i++)
			sink += i;
}

struct start {
	long index;
	void (*each)(long index);
};

static void *start_worker(void *arg)
{
	const struct start *start = arg;
	char name[16];

	snprintf(name, sizeof(name), "worker-%ld", start->index);
	prctl(PR_SET_NAME, name);
	start->each(start->index);
	return NULL;
}

/* Threads worker-0 to worker-(n-1), joined. */
static void work(long n, void (*each)(long index))
{
	pthread_t threads[256];
	struct start starts[256];

	for (long i = 0; i < n; i++) {
		starts[i] = (struct start){ i, each };
		if (pthread_create(&threads[i], NULL, start_worker, &starts[i]))
			exit(3);
	}
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* ---- causes ------------------------------------------------------------------------------ */

static void equal(long index)
{
	(void)index;
	compute(ms * 1000);
}

static void unequal(long index)
{
	compute(ms * (index ? 150 : 1000));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void with_lock(long index)
{
	(void)index;
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&mutex);
		usleep((useconds_t)(ms * 5));
		pthread_mutex_unlock(&mutex);
		compute(ms * 2);
	}
}

/* As Python does. */
NOINLINE static void take_gil(void)
{
	pthread_mutex_lock(&mutex);
	sink++;
}

NOINLINE static void with_gil(long index)
{
	(void)index;
	for (int i = 0; i < 20; i++) {
		take_gil();
		usleep((useconds_t)(ms * 5));
		pthread_mutex_unlock(&mutex);
	}
}

NOINLINE static void with_timed_lock(long index)
{
	struct timespec end;

	(void)index;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	for (long i = 0; i < ms / 20; i++) {
		pthread_mutex_timedlock(&mutex, &end);
		compute(10000);
		pthread_mutex_unlock(&mutex);
		usleep(1);
	}
}

/* Each thread has the same file open for itself. */
NOINLINE static void with_file_lock(long index)
{
	static int file = -1;
	char path[32];
	int fd;

	(void)index;
	pthread_mutex_lock(&mutex);
	if (file < 0)
		file = memfd_create("locked", 0);
	pthread_mutex_unlock(&mutex);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = open(path, O_RDWR);
	for (long i = 0; i < ms / 20; i++) {
		flock(fd, LOCK_EX);
		compute(10000);
		flock(fd, LOCK_UN);
		usleep(1);
	}
}

/* A lock of the program's own: who has the byte of a pipe. */
static int token[2];

NOINLINE static void token_lock_acquire(void)
{
	char byte;

	while (read(token[0], &byte, 1) != 1)
		;
}

static void make_token(void)
{
	if (pipe(token) || write(token[1], "", 1) != 1)
		exit(3);
}

NOINLINE static void with_own_lock(long index)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)index;
	pthread_once(&once, make_token);
	for (int i = 0; i < 20; i++) {
		token_lock_acquire();
		usleep((useconds_t)(ms * 5));
		if (write(token[1], "", 1) != 1)
			exit(3);
		compute(ms * 2);
	}
}

static pthread_spinlock_t spinlock;

NOINLINE static void with_spinlock(long index)
{
	(void)index;
	for (int i = 0; i < 200; i++) {
		pthread_spin_lock(&spinlock);
		compute(ms * 3);
		pthread_spin_unlock(&spinlock);
		compute(20);
	}
}

static int done;

/* Little work once in a millisecond, until the main thread is done. */
static void on_call(long index)
{
	(void)index;
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		compute(50);
		usleep(1000);
	}
}

static void *call(void *arg)
{
	work(3, on_call);
	return arg;
}

static sem_t sems[2];

/* Waits for the main thread most of the time, and sleeps. */
static void *wait_and_sleep(void *arg)
{
	for (long i = 0; i < ms / 20; i++) {
		sem_wait(&sems[0]);
		usleep(5000);
	}
	return arg;
}

static void waiting(void)
{
	pthread_t thread;

	if (sem_init(&sems[0], 0, 0) || pthread_create(&thread, NULL, wait_and_sleep, NULL))
		exit(3);
	for (long i = 0; i < ms / 20; i++) {
		usleep(20000);
		sem_post(&sems[0]);
	}
	pthread_join(thread, NULL);
}

static void serial(void)
{
	pthread_t caller;

	if (pthread_create(&caller, NULL, call, NULL))
		exit(3);
	compute(ms * 1000);
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	pthread_join(caller, NULL);
}

static int there[2], back[2];

static void *answer(void *arg)
{
	char byte;

	prctl(PR_SET_NAME, "answer");
	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	return arg;
}

static void handoff(void)
{
	pthread_t thread;
	char byte = 0;

	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		exit(3);
	for (long i = 0; i < ms * 60; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			exit(3);
	close(there[1]);
	pthread_join(thread, NULL);
}

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_passed = PTHREAD_COND_INITIALIZER;
static long turn;

/* Every second turn is that of the thread. */
static void *take_turns(void *own)
{
	const long last = ms * 100;

	prctl(PR_SET_NAME, "turns");
	pthread_mutex_lock(&turn_lock);
	while (turn < last) {
		if (turn % 2 == (long)own) {
			turn++;
			pthread_cond_signal(&turn_passed);
		} else {
			pthread_cond_wait(&turn_passed, &turn_lock);
		}
	}
	pthread_cond_broadcast(&turn_passed);
	pthread_mutex_unlock(&turn_lock);
	return own;
}

/* Four threads with a lock, the others idle until these are done. */
static void lock_among_idle(long index)
{
	for (int i = 0; index < 4 && i < 4; i++)
		with_lock(index);
	pthread_mutex_lock(&turn_lock);
	turn += index < 4;
	while (turn < 4)
		pthread_cond_wait(&turn_passed, &turn_lock);
	pthread_cond_broadcast(&turn_passed);
	pthread_mutex_unlock(&turn_lock);
}

static pthread_mutex_t row_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t row_freed = PTHREAD_COND_INITIALIZER;
static int row_held;

static __attribute__((noinline)) void await_row(void)
{
	struct timespec until = { .tv_sec = time(NULL) + 100 };

	pthread_mutex_lock(&row_lock);
	while (row_held)
		pthread_cond_timedwait(&row_freed, &row_lock, &until);
	row_held = 1;
	pthread_mutex_unlock(&row_lock);
}

static __attribute__((noinline)) void update_row(void)
{
	await_row();
	compute(1000);
	usleep(3000);
	pthread_mutex_lock(&row_lock);
	row_held = 0;
	pthread_cond_signal(&row_freed);
	pthread_mutex_unlock(&row_lock);
}

/* As in a server: four threads wait for a row, the others for clients. */
static void rows(long index)
{
	for (long i = 0; index < 4 && i < ms / 20; i++)
		update_row();
	pthread_mutex_lock(&turn_lock);
	turn += index < 4;
	while (turn < 4)
		pthread_cond_wait(&turn_passed, &turn_lock);
	pthread_cond_broadcast(&turn_passed);
	pthread_mutex_unlock(&turn_lock);
}

static void turns(void)
{
	pthread_t threads[2];

	for (long i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, take_turns, (void *)i))
			exit(3);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void *nothing(void *arg)
{
	return arg;
}

static void short_lived(void)
{
	pthread_t thread;

	for (long i = 0; i < ms * 20; i++)
		if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
			exit(3);
}

static void processes(void)
{
	char *argv[] = { "true", NULL };
	pid_t pid;

	for (long i = 0; i < ms / 2 + 10; i++)
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) ||
		    waitpid(pid, NULL, 0) != pid)
			exit(3);
}

static void page_faults(void)
{
	const size_t bytes = 4 << 20;

	for (long end = now_us(CLOCK_MONOTONIC) + ms * 1000; now_us(CLOCK_MONOTONIC) < end;) {
		char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		madvise(memory, bytes, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < bytes; i += 4096)
			memory[i] = 1;
		munmap(memory, bytes);
	}
}

static void allocator(void)
{
	static void *volatile kept[512];

#ifdef M_TRIM_THRESHOLD
	/* Not page faults: memory is kept. */
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
	for (long end = now_us(CLOCK_MONOTONIC) + ms * 1000; now_us(CLOCK_MONOTONIC) < end;)
		for (unsigned i = 0; i < 100000; i++) {
			void *volatile *at = &kept[(i * 2654435761u) >> 23];

			free(*at);
			*at = malloc(i % 1500 + 1);
		}
}

static void sleeper(void)
{
	for (long i = 0; i < ms / 20; i++) {
		usleep(10000);
		compute(100);
	}
}

static void copier(void)
{
	static char block[65536];
	FILE *from = fopen("/dev/zero", "r"), *to = fopen("/dev/null", "w");

	for (long end = now_us(CLOCK_MONOTONIC) + ms * 1000;
	     from && to && now_us(CLOCK_MONOTONIC) < end;)
		fwrite(block, 1, fread(block, 1, sizeof(block), from), to);
}

/* ---- variants ---------------------------------------------------------------------------- */

static long now_ms(void)
{
	return now_us(CLOCK_MONOTONIC) / 1000;
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

NOINLINE static void with_rwlock(long index)
{
	for (int i = 0; i < 20; i++) {
		if (index)
			pthread_rwlock_rdlock(&rwlock);
		else
			pthread_rwlock_wrlock(&rwlock);
		usleep((useconds_t)(index ? 100 : ms * 40));
		pthread_rwlock_unlock(&rwlock);
		compute(ms * 2);
	}
}

/* All work is done under the lock. */
NOINLINE static void convoy(long index)
{
	(void)index;
	for (int i = 0; i < 40; i++) {
		pthread_mutex_lock(&mutex);
		compute(ms * 5);
		pthread_mutex_unlock(&mutex);
		usleep(100);
	}
}

static void over_sockets(void)
{
	int pair[2];
	pthread_t thread;
	char byte = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		exit(3);
	there[0] = back[1] = pair[1];
	if (pthread_create(&thread, NULL, answer, NULL))
		exit(3);
	for (long i = 0; i < ms * 60; i++)
		if (write(pair[0], &byte, 1) != 1 || read(pair[0], &byte, 1) != 1)
			exit(3);
	shutdown(pair[0], SHUT_RDWR);
	pthread_join(thread, NULL);
}

static void *post(void *own)
{
	const long at = (long)own;

	for (long i = 0; i < ms * 50; i++) {
		sem_wait(&sems[at]);
		sem_post(&sems[!at]);
	}
	return own;
}

static void semaphores(void)
{
	pthread_t thread;

	sem_init(&sems[0], 0, 1);
	sem_init(&sems[1], 0, 0);
	if (pthread_create(&thread, NULL, post, (void *)1L))
		exit(3);
	post(NULL);
	pthread_join(thread, NULL);
}

static void forks(void)
{
	for (long i = 0; i < ms / 2; i++) {
		const pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static void *compute_once(void *arg)
{
	compute(100);
	return arg;
}

/* Each with a little work. */
static void bursts(void)
{
	pthread_t threads[8];

	for (long i = 0; i < ms; i++) {
		for (int k = 0; k < 8; k++)
			if (pthread_create(&threads[k], NULL, i % 2 ? nothing : compute_once, NULL))
				exit(3);
		for (int k = 0; k < 8; k++)
			pthread_join(threads[k], NULL);
	}
}

static void large_blocks(void)
{
	const size_t bytes = 3 << 20;

#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
	for (long end = now_ms() + ms; now_ms() < end;) {
		char *volatile block = malloc(bytes);

		madvise((void *)(((unsigned long)block + 4095) & ~4095ul), bytes - 8192,
			MADV_NOHUGEPAGE);
		for (size_t i = 0; i < bytes; i += 4096)
			block[i] = 1;
		free(block);
	}
}

/* Pages of a file that are copied when they are written to. */
static void copied_pages(void)
{
	const size_t bytes = 2 << 20;
	FILE *file = tmpfile();

	if (!file || ftruncate(fileno(file), (off_t)bytes))
		exit(3);
	for (long end = now_ms() + ms; now_ms() < end;) {
		char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);

		for (size_t i = 0; i < bytes; i += 4096)
			at[i] = 1;
		munmap(at, bytes);
	}
}

/* Memory that is given back, and used again. */
static void returned_pages(long index)
{
	const size_t bytes = 1 << 20;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)index;
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (long end = now_ms() + ms; now_ms() < end;) {
		for (size_t i = 0; i < bytes; i += 4096)
			memory[i] = 1;
		madvise(memory, bytes, MADV_DONTNEED);
	}
}

static void clear_blocks(long index)
{
	void *kept[64] = { 0 };

	for (long end = now_ms() + ms; now_ms() < end;)
		for (unsigned i = 0; i < 50000; i++) {
			const unsigned at = (i * 2654435761u + (unsigned)index) >> 26;

			free(kept[at]);
			kept[at] = calloc(1, i % 300 + 1);
		}
	for (int i = 0; i < 64; i++)
		free(kept[i]);
}

static void growing(void)
{
	for (long end = now_ms() + ms; now_ms() < end;)
		for (unsigned i = 0; i < 200; i++) {
			char *volatile text = NULL;

			for (size_t bytes = 1; bytes < 2000; bytes += 7)
				text = realloc(text, bytes);
			free(text);
		}
}

static void *yield(void *arg)
{
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		sched_yield();
	return arg;
}

static void yielding(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, yield, NULL))
		exit(3);
	compute(ms * 1000);
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/* A server that takes 10 ms for an answer. */
static void serve(int at)
{
	char byte;

	while (recv(at, &byte, 1, 0) == 1) {
		usleep(10000);
		if (send(at, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	_exit(0);
}

/* Calls for sockets alone, or those for all files. */
static void ask(int at, bool files)
{
	char byte = 0;

	for (long i = 0; i < ms / 8; i++) {
		compute(500);
		if ((files ? write(at, &byte, 1) : send(at, &byte, 1, 0)) != 1 ||
		    (files ? read(at, &byte, 1) : recv(at, &byte, 1, 0)) != 1)
			exit(3);
	}
	close(at);
	wait(NULL);
}

static void tcp_peer(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(name);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(server, (struct sockaddr *)&name, len) || listen(server, 1) ||
	    getsockname(server, (struct sockaddr *)&name, &len))
		exit(3);
	if (!fork()) {
		close(client);
		serve(accept(server, NULL, NULL));
	}
	if (connect(client, (struct sockaddr *)&name, len))
		exit(3);
	ask(client, true);
}

static void unix_peer(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		exit(3);
	if (!fork()) {
		close(pair[0]);
		serve(pair[1]);
	}
	close(pair[1]);
	ask(pair[0], false);
}

/* An idle server of a UNIX socket. */
static void accepts(long index)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	int server = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)index;
	/* Without a name it gets one of its own. */
	if (bind(server, (struct sockaddr *)&name, sizeof(name.sun_family)) || listen(server, 1) ||
	    setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    accept(server, NULL, NULL) != -1)
		exit(3);
}

static void migrate(long index)
{
	for (long end = now_ms() + ms, i = index; now_ms() < end; i++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET((unsigned long)(i % cpus), &set);
		sched_setaffinity(0, sizeof(set), &set);
		compute(10);
	}
}

static void collect(long index)
{
	char name[16];

	snprintf(name, sizeof(name), "GC Thread#%ld", index);
	prctl(PR_SET_NAME, name);
	compute(ms * 1000);
}

static void few_large(long index)
{
	compute(index ? ms * 50 : ms * 800);
}

static void *compute_most(void *arg)
{
	compute(ms * 1000);
	return arg;
}

static void *sort(void *arg);

/* What the main thread does meanwhile is a part of the same work, or other work. */
static void beside(void *(*thread_does)(void *arg), long us)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_does, NULL))
		exit(3);
	compute(us);
	pthread_join(thread, NULL);
}

static void unequal_team(void)
{
	beside(compute_most, ms * 300);
}

static void equal_team(void)
{
	beside(compute_most, ms * 1000);
}

static void two_jobs(void)
{
	beside(sort, ms * 300);
}

static void pinned(long index)
{
	cpu_set_t set;

	(void)index;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	compute(ms * 500);
}

static void many_processes(void)
{
	for (long i = 0; i < 2 * cpus; i++)
		if (!fork()) {
			compute(ms * 1000);
			exit(0);
		}
	while (wait(NULL) > 0)
		;
}

/* Each call waits until it is in the file. */
static void synced(void)
{
	char name[] = "causes.XXXXXX";
	const int file = mkstemp(name);

	unlink(name);
	for (long end = now_ms() + ms; now_ms() < end;)
		if (write(file, name, sizeof(name)) != sizeof(name) || fsync(file))
			exit(3);
}

/* Reads pages of a file that are not in the page cache, by its mapping. */
static void mapped(long index)
{
	static char block[1 << 20];
	const size_t size = 16 * sizeof(block);
	char name[] = "causes.XXXXXX";
	const int file = mkstemp(name);
	unsigned at = (unsigned)index;

	unlink(name);
	for (unsigned i = 0; i < 16; i++)
		if (write(file, block, sizeof(block)) != sizeof(block))
			exit(3);
	if (fsync(file))
		exit(3);
	for (long end = now_ms() + ms; now_ms() < end;) {
		char *pages;

		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
		pages = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
		if (pages == MAP_FAILED || madvise(pages, size, MADV_RANDOM))
			exit(3);
		for (unsigned i = 0; i < 1000; i++) {
			at = at * 1103515245 + 12345;
			sink += (unsigned char)pages[at % size];
		}
		munmap(pages, size);
	}
}

/* ---- without a cause --------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sorter(void)
{
	static int list[100000];

	for (long end = now_ms() + ms; now_ms() < end;) {
		for (unsigned i = 0; i < 100000; i++)
			list[i] = (int)(i * 2654435761u);
		qsort(list, 100000, sizeof(*list), by_value);
	}
}

static void *sort(void *arg)
{
	sorter();
	return arg;
}

static void printer(void)
{
	FILE *to = fopen("/dev/null", "w");

	for (long end = now_ms() + ms; to && now_ms() < end;)
		for (int i = 0; i < 1000; i++)
			fprintf(to, "%d %f %s\n", i, i / 7.0, "text");
}

static void poller(void)
{
	int ends[2];

	if (pipe(ends))
		exit(3);
	for (long i = 0; i < ms / 20; i++) {
		struct pollfd wanted = { .fd = ends[0], .events = POLLIN };

		poll(&wanted, 1, 10);
		compute(200);
	}
}

/* Pieces of 5 ms are passed on. */
static void *consume(void *arg)
{
	char byte;

	while (read(there[0], &byte, 1) == 1)
		compute(5000);
	return arg;
}

static void pipeline(void)
{
	pthread_t thread;
	char byte = 0;

	if (pipe(there) || pthread_create(&thread, NULL, consume, NULL))
		exit(3);
	for (long i = 0; i < ms / 5; i++) {
		compute(5000);
		if (write(there[1], &byte, 1) != 1)
			exit(3);
	}
	close(there[1]);
	pthread_join(thread, NULL);
}

/* Until the other end has gone. */
static void serve_polled(int at)
{
	struct pollfd wanted = { .fd = at, .events = POLLIN };
	char byte;

	while (poll(&wanted, 1, -1) == 1 && read(at, &byte, 1) == 1 && write(at, &byte, 1) == 1)
		;
}

static void *start_server(void *at)
{
	prctl(PR_SET_NAME, "server");
	serve_polled(*(const int *)at);
	return NULL;
}

/* Two threads, each with a client of its own, which is another process. */
static void servers(void)
{
	int pair[2], ends[2];
	pthread_t thread;

	for (int i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			exit(3);
		if (!fork()) {
			char byte = 0;

			close(pair[0]);
			for (long k = 0; k < ms * (20 + i) && write(pair[1], &byte, 1) == 1; k++)
				if (poll(&(struct pollfd){ pair[1], POLLIN, 0 }, 1, -1) != 1 ||
				    read(pair[1], &byte, 1) != 1)
					exit(3);
			exit(0);
		}
		close(pair[1]);
		ends[i] = pair[0];
	}
	if (pthread_create(&thread, NULL, start_server, &ends[1]))
		exit(3);
	serve_polled(ends[0]);
	pthread_join(thread, NULL);
}

static void rarely_locked(long index)
{
	(void)index;
	for (int i = 0; i < 100; i++) {
		compute(ms * 10);
		pthread_mutex_lock(&mutex);
		compute(20);
		pthread_mutex_unlock(&mutex);
	}
}

static void copies(void)
{
	static char from[1 << 20], to[1 << 20];

	for (long end = now_ms() + ms; now_ms() < end;) {
		memcpy(to, from, sizeof(to));
		sink += (unsigned char)to[sink % sizeof(to)];
	}
}

/* ------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(void);
	long threads; /* that do `each`; 0: run, negative: times the CPUs */
	void (*each)(long index);
} cases[] = {
	{ "cpu-starved", NULL, -2, equal },
	{ "processes-starved", many_processes, 0, NULL },
	{ "pinned", NULL, 4, pinned },
	{ "imbalance", NULL, -1, unequal },
	{ "few-large", NULL, 4, few_large },
	{ "unequal-team", unequal_team, 0, NULL },
	{ "lock", NULL, 4, with_lock },
	{ "gil", NULL, 4, with_gil },
	{ "timed-lock", NULL, 4, with_timed_lock },
	{ "file-lock", NULL, 4, with_file_lock },
	{ "lock-among-idle", NULL, 24, lock_among_idle },
	{ "own-lock", NULL, 4, with_own_lock },
	{ "rwlock", NULL, 4, with_rwlock },
	{ "convoy", NULL, 3, convoy },
	{ "spin", NULL, 2, with_spinlock },
	{ "yielding", yielding, 0, NULL },
	{ "serial", serial, 0, NULL },
	{ "handoff", handoff, 0, NULL },
	{ "turns", turns, 0, NULL },
	{ "over-sockets", over_sockets, 0, NULL },
	{ "semaphores", semaphores, 0, NULL },
	{ "short-lived", short_lived, 0, NULL },
	{ "bursts", bursts, 0, NULL },
	{ "processes", processes, 0, NULL },
	{ "forks", forks, 0, NULL },
	{ "page-faults", page_faults, 0, NULL },
	{ "large-blocks", large_blocks, 0, NULL },
	{ "copied-pages", copied_pages, 0, NULL },
	{ "returned-pages", NULL, 1, returned_pages },
	{ "allocator", allocator, 0, NULL },
	{ "clear-blocks", NULL, 1, clear_blocks },
	{ "growing", growing, 0, NULL },
	{ "tcp-peer", tcp_peer, 0, NULL },
	{ "unix-peer", unix_peer, 0, NULL },
	{ "migrations", NULL, 1, migrate },
	{ "gc", NULL, 1, collect },
	{ "synced", synced, 0, NULL },
	{ "mapped", NULL, 1, mapped },
	{ "rows", NULL, 8, rows },
	/* Without one. */
	{ "one", NULL, 1, equal },
	{ "pair", NULL, -1, equal },
	{ "sleeper", sleeper, 0, NULL },
	{ "waiting", waiting, 0, NULL },
	{ "acceptor", NULL, 1, accepts },
	{ "copier", copier, 0, NULL },
	{ "sorter", sorter, 0, NULL },
	{ "printer", printer, 0, NULL },
	{ "poller", poller, 0, NULL },
	{ "pipeline", pipeline, 0, NULL },
	{ "servers", servers, 0, NULL },
	{ "equal-team", equal_team, 0, NULL },
	{ "two-jobs", two_jobs, 0, NULL },
	{ "rarely-locked", NULL, -1, rarely_locked },
	{ "copies", copies, 0, NULL },
};

int main(int argc, char **argv)
{
	ms = argc > 2 ? atol(argv[2]) : ms;
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpus = cpus > 64 ? 64 : cpus;
	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		const long n = cases[i].threads;

		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		if (!n)
			cases[i].run();
		else
			work(n > 0 ? n : n == -1 && cpus < 2 ? 2 : -n * cpus, cases[i].each);
		return 0;
	}
	return 2;
}
