/* SPDX-License-Identifier: MIT */
/* jit.c [dump|memfd] - computes in code that it made at run time, which /tmp/perf-PID.map or a
 * jitdump, jit-PID.dump in the working directory, calls compiled_at_run_time; prints that path.
 * With memfd the code is in a file without a name, and nothing calls it anything. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The code is there under another name first, and there is a record of another kind. */
static void write_dump(const char *path, const void *code)
{
	static const char *const names[] = { "compiled_before", "compiled_at_run_time" };
	const uint32_t head[10] = { 0x4a695444, 1, sizeof(head), 62, 0, (uint32_t)getpid() };
	const uint32_t other[6] = { 2, sizeof(other) };
	FILE *file = fopen(path, "w+");

	fwrite(head, sizeof(head), 1, file);
	for (uint32_t i = 0; i < 2; i++) {
		const size_t len = strlen(names[i]) + 1;
		const uint32_t start[4] = { 0, (uint32_t)(56 + len + 128) };
		const uint64_t load[5] = { (uint64_t)getpid() << 32 | (uint32_t)getpid(),
					   (uintptr_t)code, (uintptr_t)code, 128, i };

		fwrite(start, sizeof(start), 1, file);
		fwrite(load, sizeof(load), 1, file);
		fwrite(names[i], len, 1, file);
		fwrite(code, 128, 1, file);
		fwrite(other, sizeof(other), 1, file);
	}
	fwrite(head, 5, 1, file); /* the record that is being written */
	fflush(file);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0) == MAP_FAILED)
		abort();
}

int main(int argc, char **argv)
{
	char path[64];
	const int shared = argc > 1 && !strcmp(argv[1], "memfd") ? memfd_create("code", 0) : -1;
	void *code = shared >= 0 && ftruncate(shared, 4096) ?
			     MAP_FAILED :
			     mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				  shared < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, shared, 0);
	long (*volatile jitted)(long) = (long (*)(long))code;
	FILE *map;

	memcpy(code, (const void *)(unsigned long)spin, 128);
	__builtin___clear_cache(code, (char *)code + 4096);
	snprintf(path, sizeof(path), argc > 1 ? "jit-%d.dump" : "/tmp/perf-%d.map", (int)getpid());
	if (argc > 1 && shared < 0) {
		write_dump(path, code);
	} else if (shared < 0) {
		map = fopen(path, "w");
		fprintf(map, "%lx 80 compiled_at_run_time\n", (unsigned long)code);
		fclose(map);
	}
	puts(path);
	return jitted(100000000) == 1;
}
