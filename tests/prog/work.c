/* SPDX-License-Identifier: MIT */
/*
 * work.c - CPU time in known functions, as the thread's CPU clock shows it.
 *
 * Works for a second of CPU time in tenth(), fifth(), rest() and zeros(), the last of which is in
 * the kernel, and prints "FUNCTION NS" for each. With the argument "attach" a thread does so until
 * standard input ends, another sleeps, and "ready" is printed first. With "exec CMD" it works, then
 * calls exec; with "exec-by-thread CMD" a thread of its does. With "deep" it does so below 60 calls
 * whose frames have 24 KB.
 *
 * prog-flags: -fno-omit-frame-pointer -fno-optimize-sibling-calls -mno-omit-leaf-frame-pointer
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORK __attribute__((noinline, noclone))
#define UNIT 400000u

static volatile unsigned sink;
static atomic_bool stop;

WORK static void spin(unsigned units)
{
	for (unsigned i = 0; i < units * UNIT; i++)
		sink += i;
	/* A leaf may have no frame otherwise. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
}

WORK void tenth(void)
{
	spin(1);
	__asm__ volatile("");
}

WORK void fifth(void)
{
	spin(2);
	__asm__ volatile("");
}

WORK void rest(void)
{
	spin(4);
	__asm__ volatile("");
}

WORK void zeros(void)
{
	static char room[1 << 16];
	const int fd = open("/dev/zero", O_RDONLY);

	for (unsigned i = 0; i < 400; i++)
		(void)!read(fd, room, sizeof(room));
	close(fd);
	__asm__ volatile("");
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = { { "tenth", tenth }, { "fifth", fifth }, { "rest", rest }, { "zeros", zeros } };
#define N (sizeof(parts) / sizeof(parts[0]))
static uint64_t spent[N];

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void work(uint64_t ns)
{
	const uint64_t end = cpu_ns() + ns;
	uint64_t at = cpu_ns(), now;

	while (at < end && !atomic_load(&stop))
		for (unsigned i = 0; i < N; i++) {
			parts[i].run();
			now = cpu_ns();
			spent[i] += now - at;
			at = now;
		}
}

WORK static unsigned deep(unsigned frames)
{
	volatile char room[400];

	room[frames] = 1;
	if (frames)
		return deep(frames - 1) + (unsigned)room[frames];
	work(200000000);
	return (unsigned)room[0];
}

static void print(void)
{
	for (unsigned i = 0; i < N; i++)
		printf("%s %llu\n", parts[i].name, (unsigned long long)spent[i]);
	fflush(stdout);
}

static void *worker(void *unused)
{
	work(UINT64_MAX / 2);
	return unused;
}

static void *caller(void *argv)
{
	char **words = argv;

	work(200000000);
	print();
	execvp(words[2], words + 2);
	return NULL;
}

static void *sleeper(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	char byte;

	if (argc > 1 && !strcmp(argv[1], "attach")) {
		pthread_create(&threads[0], NULL, worker, NULL);
		pthread_setname_np(threads[0], "worker");
		pthread_create(&threads[1], NULL, sleeper, NULL);
		pthread_setname_np(threads[1], "sleeper");
		puts("ready");
		fflush(stdout);
		while (read(0, &byte, 1) > 0)
			;
		atomic_store(&stop, true);
		pthread_join(threads[0], NULL);
		print();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "deep"))
		return deep(60) == 0;
	if (argc > 2 && !strcmp(argv[1], "exec-by-thread")) {
		pthread_create(&threads[0], NULL, caller, argv);
		pthread_join(threads[0], NULL);
	}
	if (argc > 2)
		caller(argv);
	work(1000000000);
	print();
	return 0;
}
