/* SPDX-License-Identifier: MIT */
/* jit.c - computes in code that it made at run time, which /tmp/perf-PID.map calls
 * compiled_at_run_time; prints that path. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Copied: it calls nothing, and has no jumps out of itself. */
__attribute__((noinline, aligned(64))) static long spin(long n)
{
	long sum = 0;

	for (volatile long i = 0; i < n; i++)
		sum += i;
	return sum;
}

int main(void)
{
	char path[64];
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long (*volatile jitted)(long) = (long (*)(long))code;
	FILE *map;

	memcpy(code, (const void *)(unsigned long)spin, 128);
	__builtin___clear_cache(code, (char *)code + 4096);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	fprintf(map, "%lx 80 compiled_at_run_time\n", (unsigned long)code);
	fclose(map);
	puts(path);
	return jitted(100000000) == 1;
}
