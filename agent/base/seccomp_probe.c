/* SPDX-License-Identifier: MIT */
/*
 * seccomp_probe.c - finds out whether perf_event_open may be called at all.
 *
 * A seccomp filter may answer it by killing the process. So under a filter the first attempt is
 * made by a throwaway clone that shares nothing but memory: its death is not ours.
 */
#include "agent/base/seccomp_probe.h"
#include "agent/base/agent.h"
#include "agent/base/throwaway_clone.h"
#include "agent/core/base/clock.h"
#include "agent/core/count/group.h"
#include "agent/core/base/sys.h"
#include "agent/output/file.h"
#include "agent/base/note.h"
#include "agent/process/exit_report.h"
#include "agent/process/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse(struct pmc_attr *attr, int leader)
{
	(void)attr, (void)leader;
	return -EPERM;
}

static void try_once(void *arg)
{
	struct pmc_attr attr;
	struct pmc_planned clock = { .event = { .type = PERF_TYPE_SOFTWARE,
						.config = PERF_COUNT_SW_TASK_CLOCK } };

	(void)arg;
	pmc_group_attr(&clock, PMC_GROUP_OWN, true, &attr);
	int fd = pmc_group_probe(&attr, -1);

	if (fd >= 0)
		syscall(SYS_close, fd);
}

/* Its own frame: inlined, every thread would pay for that stack. */
__attribute__((noinline)) static bool survives(void)
{
	_Alignas(16) char stack[4096];

	return agent_apart(try_once, NULL, stack, sizeof(stack)) == 1;
}

/* The mode that was looked at last, and what came of it. */
static _Atomic int mode_seen;
static _Atomic bool allowed = true;

/* Threads that come at the same time look each for itself: until one knows, none may try. */
__attribute__((noinline, cold)) static void look_at(int mode)
{
	int saved = errno;
	bool good;

	if (atomic_load(&mode_seen) == mode)
		return;
	good = survives();
	if (atomic_exchange(&allowed, good) && !good)
		agent_note(NOTE_SECCOMP_KILL);
	atomic_store(&mode_seen, mode);
	errno = saved;
}

bool agent_perf_allowed(void)
{
	int mode = (int)pmc_sys1(SYS_prctl, PR_GET_SECCOMP);

	if (mode > 0)
		look_at(mode);
	return atomic_load(&allowed);
}

bool agent_perf_allowed_known(void)
{
	int mode = (int)pmc_sys1(SYS_prctl, PR_GET_SECCOMP);

	return (mode <= 0 || atomic_load(&mode_seen) == mode) && atomic_load(&allowed);
}

void agent_perf_filtered(void)
{
	atomic_store(&mode_seen, 0);
}

/* Under the filter, in a clone: every kind of system call that rows, dump and report need. */
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
	if (agent_apart(try_filtered, call, stack, sizeof(stack)) != 0)
		return;
	agent_note(NOTE_SECCOMP_SILENT);
	agent_final(PMC_RUNNING, 0);
	if (agent.first)
		agent_report();
}

pmc_probe_open agent_probe(void)
{
	return agent_perf_allowed() ? pmc_group_probe : refuse;
}
