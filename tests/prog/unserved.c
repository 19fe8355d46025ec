/* SPDX-License-Identifier: MIT */
/*
 * unserved.c - a thread that sleeps, above whose stack is memory of a userfaultfd that nobody
 * serves: who reads it waits for ever. Prints "ready", or "none": this user may not have one.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES (256u << 10)

static void *sleeps(void *arg)
{
	pause();
	return arg;
}

int main(void)
{
	char *memory =
		mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range = { (uintptr_t)memory + BYTES, BYTES },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_attr_t attr;
	pthread_t thread;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return puts("none");
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, memory, BYTES);
	if (pthread_create(&thread, &attr, sleeps, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
