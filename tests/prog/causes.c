/* SPDX-License-Identifier: MIT */
/*
 * causes.c - causes CAUSE [MS]: a program that is slow for one known reason, or for none.
 *
 * prog-flags: -pthread
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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
	for (long end = now_us(CLOCK_MONOTONIC) + ms * 1000; now_us(CLOCK_MONOTONIC) < end;)
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
	for (long i = 0; i < ms / 2; i++)
		if (system("exec /bin/true"))
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
	for (long i = 0; i < ms / 10; i++) {
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

int main(int argc, char **argv)
{
	const char *cause = argc > 1 ? argv[1] : "";

	ms = argc > 2 ? atol(argv[2]) : ms;
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpus = cpus > 128 ? 128 : cpus;
	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	if (!strcmp(cause, "cpu-starved"))
		work(2 * cpus, equal);
	else if (!strcmp(cause, "imbalance"))
		work(cpus < 2 ? 2 : cpus, unequal);
	else if (!strcmp(cause, "lock"))
		work(4, with_lock);
	else if (!strcmp(cause, "spin"))
		work(2, with_spinlock);
	else if (!strcmp(cause, "serial"))
		serial();
	else if (!strcmp(cause, "handoff"))
		handoff();
	else if (!strcmp(cause, "turns"))
		turns();
	else if (!strcmp(cause, "short-lived"))
		short_lived();
	else if (!strcmp(cause, "processes"))
		processes();
	else if (!strcmp(cause, "page-faults"))
		page_faults();
	else if (!strcmp(cause, "allocator"))
		allocator();
	else if (!strcmp(cause, "one"))
		compute(ms * 1000);
	else if (!strcmp(cause, "pair"))
		work(cpus, equal);
	else if (!strcmp(cause, "sleeper"))
		sleeper();
	else if (!strcmp(cause, "copier"))
		copier();
	else
		return 2;
	return 0;
}
