/* SPDX-License-Identifier: MIT */
/*
 * shrunk.c - files that become shorter while they are read.
 *
 * libelf maps files. A read of a page that the file no longer has is a SIGBUS, at any place in
 * libdw. The handler puts a page of zeros there, as if the file had been damaged before.
 */
#include "tools/symbol/private.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t page;
static _Atomic bool shrunk;

bool symbols_shrunk(void)
{
	return atomic_load(&shrunk);
}

static void on_bus(int signo, siginfo_t *info, void *context)
{
	void *at = (void *)((uintptr_t)info->si_addr & ~(page - 1));
	const int saved = errno;

	(void)context;
	/* A private page replaces one of a file only: other memory has no such error. */
	if (info->si_code == BUS_ADRERR &&
	    mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != MAP_FAILED) {
		atomic_store(&shrunk, true);
	} else {
		/* From a process, or of the hardware. */
		signal(signo, SIG_DFL);
		raise(signo);
	}
	errno = saved;
}

void symbol_survive_shrinking(void)
{
	const struct sigaction action = { .sa_sigaction = on_bus,
					  .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct sigaction old;

	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(SIGBUS, &action, NULL);
}
