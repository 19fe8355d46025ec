/* SPDX-License-Identifier: MIT */
/*
 * call_tree.c - computes in a fixed tree of calls: 20 paths of equal shares.
 *
 *	call_tree [ROUNDS]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
/* No call is the last thing that a function does. */
#define RETURN __asm__ volatile("")

static volatile uint64_t sink;

NOINLINE static void spin(unsigned n)
{
	for (unsigned i = 0; i < n * 2000; i++)
		sink += i;
	RETURN;
}

NOINLINE static void hash(unsigned n)
{
	for (unsigned i = 0; i < n * 2000; i++)
		sink ^= i * 3;
	RETURN;
}

NOINLINE static void parse(void)
{
	spin(1);
	hash(1);
	RETURN;
}

NOINLINE static void store(void)
{
	hash(1);
	RETURN;
}

NOINLINE static void descend(unsigned depth)
{
	if (depth)
		descend(depth - 1);
	else
		spin(1);
	RETURN;
}

static inline __attribute__((always_inline)) void count(void)
{
	for (unsigned i = 0; i < 2000; i++)
		sink += i ^ 7;
}

NOINLINE static void round_of_work(void)
{
	parse();
	store();
	for (unsigned depth = 0; depth < 16; depth++)
		descend(depth);
	count();
	RETURN;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;

	for (unsigned i = 0; i < rounds; i++)
		round_of_work();
	return printf("%u rounds\n", rounds) < 0;
}
