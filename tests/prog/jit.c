/* SPDX-License-Identifier: MIT */
/* jit.c [dump|both|memfd] - computes in code that it made at run time, which /tmp/perf-PID.map or a
 * jitdump, jit-PID.dump in the working directory, calls compiled_at_run_time; prints that path. Of
 * both the jitdump calls it otherwise. With memfd the code is in a file without a name, and nothing
 * calls it anything. */
#include <fcntl.h>
#include <stdbool.h>
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
static void write_dump(const char *path, const void *code, const char *name)
{
	const char *const names[] = { "compiled_before", name };
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
	const char *mode = argc > 1 ? argv[1] : "";
	const bool both = !strcmp(mode, "both"), dump = both || !strcmp(mode, "dump");
	const int shared = !strcmp(mode, "memfd") ? memfd_create("code", 0) : -1;
	void *code = shared >= 0 && ftruncate(shared, 4096) ?
			     MAP_FAILED :
			     mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				  shared < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, shared, 0);
	long (*volatile jitted)(long) = (long (*)(long))code;
	FILE *map;

	memcpy(code, (const void *)(unsigned long)spin, 128);
	__builtin___clear_cache(code, (char *)code + 4096);
	if (dump) {
		snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
		write_dump(path, code, both ? "compiled_otherwise" : "compiled_at_run_time");
		puts(path);
	}
	if (shared < 0 && (both || !dump)) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
		map = fopen(path, "w");
		fprintf(map, "%lx 80 compiled_at_run_time\n", (unsigned long)code);
		fclose(map);
		puts(path);
	}
	return jitted(100000000) == 1;
}
