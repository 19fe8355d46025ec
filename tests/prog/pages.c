/* SPDX-License-Identifier: MIT */
/* pages N: touches N new pages of memory. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000) * page;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	madvise(p, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += page)
		((volatile char *)p)[at] = 1;
	return 0;
}
