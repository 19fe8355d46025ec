/* SPDX-License-Identifier: MIT */
/* exit_report.c - the report that the job's first process prints at its end, on macOS. */
#include "agent/base/agent.h"
#include "lib/base/file.h"
#include "lib/base/out.h"
#include "agent/process/process.h"

#include <sys/stat.h>
#include <unistd.h>

/* poll alone decides: opening /dev/fd/2 gives the same open file. */
int agent_report_unblocked(int fd, struct pmc_out *out)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		out->patience_ms = AGENT_REPORT_PATIENCE_MS;
	return fd;
}

void agent_report_abandon(void)
{
	if (agent.first && !agent.out && agent.private_dump)
		unlink(agent.private_dump);
}

void agent_report(bool in_clone)
{
	int fd;

	(void)in_clone;
	if (!agent.first)
		return;
	fd = agent_report_open();
	if (fd >= 0)
		agent_report_print(fd);
	if (fd > 2)
		pmc_fd_close(fd);
	agent_report_abandon();
}
