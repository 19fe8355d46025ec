/* SPDX-License-Identifier: MIT */
/* seccomp_filter.c - tries a filter of the host's in a throwaway clone before it is installed. */
#include "agent/base/agent.h"
#include "agent/base/note.h"
#include "agent/base/throwaway_clone.h"
#include "agent/core/base/clock.h"
#include "agent/output/file.h"
#include "agent/process/process.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In a clone, under the filter: makes every system call that rows, dump and report need. */
static void try_filtered(void *arg)
{
	const long *call = arg;
	struct pmc_usage usage;
	uint64_t ns, mask = 0;
	char name[16];
	struct stat st;
	void *map;
	int fd;

	if (syscall(call[0], call[1], call[2], call[3], call[4], call[5], call[6]) < 0)
		return;
	syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	syscall(SYS_gettid);
	syscall(SYS_getpid);
	syscall(SYS_getppid);
	pmc_usage_thread(&usage);
	pmc_thread_cpu_ns(0, &ns);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map != MAP_FAILED)
		munmap(map, 4096);
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	syscall(SYS_fstat, fd, &st);
	syscall(SYS_fcntl, fd, F_GETFD);
	(void)!syscall(SYS_write, fd, name, 1);
	(void)!syscall(SYS_read, fd, name, 1);
	syscall(SYS_getdents64, fd, name, sizeof(name));
	syscall(SYS_close, fd);
}

void agent_before_filter(long number, const long args[6])
{
	long call[7] = { number, args[0], args[1], args[2], args[3], args[4], args[5] };
	_Alignas(16) char stack[4096];

	agent_file_filtered();
	if (agent_throwaway_clone(try_filtered, call, stack, sizeof(stack)) != 0)
		return;
	agent_note(NOTE_SECCOMP_SILENT);
	agent_final(PMC_RUNNING, 0);
	agent_report(false);
}
