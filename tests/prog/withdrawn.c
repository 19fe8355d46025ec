/* SPDX-License-Identifier: MIT */
/*
 * withdrawn: a thread runs code without unwind tables, in which the frame pointer is a general
 * register with an address above the thread's stack. There another thread keeps a chain of frames
 * in memory that it withdraws and gives back all the time. `withdrawn MS`: for so much CPU time.
 */
#include "burn.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STACK  ((size_t)256 << 10)
#define PAGE   ((size_t)64 << 10)
#define FRAMES 120u

static char *base;
static long ms;
static atomic_bool stop;
static void (*spin)(const void *);

#if defined(__x86_64__)
/* push %rbp; mov %rdi, %rbp; mov $2^20, %ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xfd, 0xb9, 0,    0,	 0x10,
				0,    0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };
#else
static const uint8_t code[1];
#endif

static void *run(void *unused)
{
	const long long end = raw_clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000LL;

	while (raw_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		spin(base + STACK);
	return unused;
}

static void *withdraw(void *unused)
{
	uintptr_t *frames = (uintptr_t *)(base + STACK);

	while (!atomic_load(&stop)) {
		mprotect(frames, PAGE, PROT_READ | PROT_WRITE);
		for (unsigned i = 0; i < FRAMES; i++) {
			frames[4 * i] = (uintptr_t)&frames[4 * (i + 1)];
			frames[4 * i + 1] = (uintptr_t)withdraw;
		}
		mprotect(frames, PAGE, PROT_NONE);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t threads[2];
	void *text;

	ms = argc > 1 ? atol(argv[1]) : 1000;
	base = mmap(NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	text = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (sizeof(code) == 1 || base == MAP_FAILED || text == MAP_FAILED)
		return 77;
	memcpy(text, code, sizeof(code));
	memcpy(&spin, &text, sizeof(spin));
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, base, STACK) ||
	    pthread_create(&threads[0], NULL, withdraw, NULL) ||
	    pthread_create(&threads[1], &attr, run, NULL))
		return 1;
	pthread_join(threads[1], NULL);
	atomic_store(&stop, true);
	pthread_join(threads[0], NULL);
	puts("done");
	return 0;
}
