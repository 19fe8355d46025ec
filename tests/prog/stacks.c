/* SPDX-License-Identifier: MIT */
/*
 * stacks shared|handler|unmapped|coroutines: threads compute on or beside unusual stacks, and check
 * their results. shared: all threads have set one alternate signal stack. handler: there is also a
 * handler that uses it. unmapped: there is, and they have set one that does not exist any more.
 * coroutines: they switch between stacks of 16 KiB.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
	THREADS = 4,
	STACK = 64 << 10,
	SMALL = 16 << 10,
	COROUTINES = 8,
	ROUNDS = 640000,
	STEPS = 80000
};

static const char *mode;
static char *alternate;

static void set_alternate(void)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = STACK };

	if (!strcmp(mode, "unmapped")) {
		stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
		sigaltstack(&stack, NULL);
		munmap(stack.ss_sp, STACK);
		return;
	}
	sigaltstack(&stack, NULL);
}

/* Many values live in registers at any time. */
__attribute__((noinline)) static uint64_t mix(uint64_t seed)
{
	uint64_t a = seed, b = ~seed, c = seed * 3, d = seed * 5, e = seed * 7, f = seed * 11;

	for (unsigned i = 0; i < 400; i++) {
		a = a * 6364136223846793005u + b;
		b ^= c >> 7;
		c += d * 31;
		d ^= e << 3;
		e += f ^ a;
		f = f * 2862933555777941757u + i;
	}
	return a ^ b ^ c ^ d ^ e ^ f;
}

struct coroutine {
	ucontext_t context, back;
	uint64_t sum;
};
static __thread struct coroutine *now;

static void steps(void)
{
	struct coroutine *self = now;

	for (unsigned i = 0; i < STEPS / COROUTINES; i++) {
		self->sum += mix(i);
		swapcontext(&self->context, &self->back);
	}
}

static uint64_t by_coroutines(void)
{
	static __thread struct coroutine all[COROUTINES];
	uint64_t sum = 0;

	for (unsigned i = 0; i < COROUTINES; i++) {
		getcontext(&all[i].context);
		all[i].context.uc_stack.ss_sp = mmap(NULL, SMALL, PROT_READ | PROT_WRITE,
						     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		all[i].context.uc_stack.ss_size = SMALL;
		all[i].context.uc_link = &all[i].back;
		makecontext(&all[i].context, steps, 0);
	}
	for (unsigned round = 0; round <= STEPS / COROUTINES; round++)
		for (unsigned i = 0; i < COROUTINES; i++) {
			now = &all[i];
			swapcontext(&now->back, &now->context);
		}
	for (unsigned i = 0; i < COROUTINES; i++)
		sum += all[i].sum;
	return sum;
}

static uint64_t straight(unsigned rounds)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < rounds; i++)
		sum += mix(i);
	return sum;
}

static void *work(void *arg)
{
	if (!strcmp(mode, "coroutines")) {
		*(uint64_t *)arg = by_coroutines();
		return NULL;
	}
	set_alternate();
	*(uint64_t *)arg = straight(ROUNDS);
	return NULL;
}

static void nothing(int signo)
{
	(void)signo;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_ONSTACK };
	uint64_t sums[THREADS], want;
	pthread_t threads[THREADS];
	unsigned wrong = 0;

	mode = argc > 1 ? argv[1] : "shared";
	if (!strcmp(mode, "handler") || !strcmp(mode, "unmapped"))
		sigaction(SIGUSR2, &action, NULL);
	alternate = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, &sums[i]) != 0)
			return 1;
	want = strcmp(mode, "coroutines") ? straight(ROUNDS) :
					    COROUTINES * straight(STEPS / COROUTINES);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		wrong += sums[i] != want;
	}
	printf("%s: %u wrong\n", mode, wrong);
	return 0;
}
