/* SPDX-License-Identifier: MIT */
/*
 * taken.c - the dump's descriptor from an image before an exec, which another user than the file's
 * has: this one cannot open the path.
 *
 * PMC_JOB has its number. It has no FD_CLOEXEC, so that the programs that this one starts have it,
 * too, and is never closed by the agent.
 */
#include "agent/output/output.h"
#include "lib/base/file.h"
#include "lib/dump/frame.h"

#include "agent/base/poison.h"

static struct {
	_Atomic int number; /* plus 1; 0: none */
	dev_t dev;
	ino_t ino;
	bool marked; /* see agent/output/file.c */
} taken;

/* Whatever PMC_JOB says, nothing but a dump that an agent has opened is written to. */
static bool is_dump_of_agent(int fd, const struct agent_passed *dump)
{
	/* Under a filter, which may kill for these commands, there is no mark either. */
	const bool filtered = agent_is_filtered();
	uint8_t head[PMC_MAGIC_BYTES];
	struct stat st;

	if (pmc_sys2(SYS_fstat, fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    st.st_dev != dump->dev || st.st_ino != dump->ino)
		return false;
	if (!filtered &&
	    (pmc_sys3(SYS_fcntl, fd, F_GETSIG, 0) != PMC_CONTROL_OUT_MARK ||
	     (pmc_sys3(SYS_fcntl, fd, F_GETFL, 0) & (O_APPEND | O_ACCMODE)) != (O_APPEND | O_RDWR)))
		return false;
	return st.st_size ? pmc_is_dump(head, pmc_fd_read_at(fd, head, sizeof(head), 0)) :
			    !filtered;
}

void agent_file_take(const struct agent_passed *dump)
{
	const int fd = (int)(dump->number - 1);

	if (fd < 0 || !is_dump_of_agent(fd, dump))
		return;
	taken.number = fd + 1;
	taken.dev = dump->dev;
	taken.ino = dump->ino;
	taken.marked = !agent_is_filtered();
	agent_fds_mark(&fd, 1);
}

int agent_taken_number(void)
{
	return atomic_load_explicit(&taken.number, memory_order_relaxed) - 1;
}

int agent_taken_fd(struct stat *st)
{
	const bool marked = taken.marked && !agent_file_is_filtered();
	const int fd = agent_taken_number();

	if (fd < 0 || (marked && pmc_sys3(SYS_fcntl, fd, F_GETSIG, 0) != PMC_CONTROL_OUT_MARK) ||
	    pmc_sys2(SYS_fstat, fd, st) != 0 || st->st_dev != taken.dev || st->st_ino != taken.ino)
		return -1;
	return fd;
}

bool agent_file_is_taken(int fd)
{
	struct stat st;

	return fd >= 0 && fd == agent_taken_number() && agent_taken_fd(&st) >= 0;
}

void agent_taken_moved(int fd)
{
	atomic_store(&taken.number, fd + 1);
	pmc_sys3(SYS_fcntl, fd, F_SETFD, 0);
}
