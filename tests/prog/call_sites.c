/* SPDX-License-Identifier: MIT */
/* call_sites: sleeps 4 x 50 ms from several call sites of one function, then 120 ms elsewhere. */
/* prog-flags: -fno-optimize-sibling-calls */
#include <unistd.h>

__attribute__((noinline, noclone)) static void often(unsigned us)
{
	usleep(us);
	usleep(us + 1);
	usleep(us + 2);
	usleep(us + 3);
}

__attribute__((noinline, noclone)) static void once(void)
{
	usleep(120000);
	__asm__ volatile("");
}

int main(void)
{
	often(50000);
	once();
	return 0;
}
