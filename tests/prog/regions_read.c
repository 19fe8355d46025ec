/* SPDX-License-Identifier: MIT */
/*
 * regions_read EVENT - regions "outer" (2 calls, the second with a recursion) and "inner" (5), of
 * the main thread, beside another thread that is in "inner" meanwhile; then what the thread reads
 * of its own: a line "CODE calls open cpu self_cpu count self_count enabled running" for outer,
 * inner, inner without an event, a region of the other thread, an event that is not counted, and
 * inner in a child of fork that was in it twice. CODE: 0 or the name of the error.
 *
 * prog-flags: -Iinclude */
#include <pmc/region.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void touch(size_t pages)
{
	const size_t bytes = pages * (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)at)[i] = 1;
	munmap(at, bytes);
}

static void inner(size_t pages)
{
	pmc_region_begin("inner");
	touch(pages);
	pmc_region_end();
}

static void outer(int depth)
{
	pmc_region_begin("outer");
	touch(50);
	for (int i = 0; i < 2; i++)
		inner(100);
	if (depth)
		outer(depth - 1);
	pmc_region_end();
}

static void *other(void *arg)
{
	pmc_region_begin("other");
	inner(1000);
	pmc_region_end();
	return arg;
}

static void print(const char *name, const char *event)
{
	struct pmc_region_sum sum;
	const int code = pmc_region_read(name, event, &sum);

	printf("%s %" PRIu64 " %" PRIu64, code ? strerrorname_np(-code) : "0", sum.calls, sum.open);
	if (sum.has_cpu)
		printf(" %" PRIu64 " %" PRIu64, sum.cpu_ns, sum.self_cpu_ns);
	if (sum.has_count)
		printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, sum.count, sum.self_count,
		       sum.enabled_ns, sum.running_ns);
	printf("\n");
}

int main(int argc, char **argv)
{
	const char *event = argc > 1 ? argv[1] : NULL;
	pthread_t thread;

	pthread_create(&thread, NULL, other, NULL);
	outer(0);
	outer(1);
	inner(1);
	pthread_join(thread, NULL);
	print("outer", event);
	print("inner", event);
	print("inner", NULL);
	print("other", event);
	print("inner", "no-such-event");
	fflush(stdout);
	if (fork() == 0) {
		pmc_region_begin("inner");
		inner(7);
		print("inner", event);
		pmc_region_end();
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
