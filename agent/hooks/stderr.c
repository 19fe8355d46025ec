/* SPDX-License-Identifier: MIT */
/*
 * stderr.c - keeps stderr open for the report of a program that closes it. Overrides: fclose.
 *
 * xz, sort and all of coreutils close stderr before they exit, to check that their output was
 * written. The job's first process then keeps a copy for its report. Only there, only for
 * fclose(stderr), and not across a fork: a daemon detaches by fork, close or dup2, and a copy in it
 * would keep `$(cmd 2>&1)` waiting.
 */
#include "agent/base/real.h"
#include "agent/base/agent.h"
#include "agent/base/fork_guard.h"
#include "agent/process/process.h"

AGENT_API int fclose(FILE *stream)
{
	if (stream == stderr && agent_active()) {
		int saved = errno;

		agent_report_keep_stderr();
		errno = saved;
	}
	return REAL(fclose)(stream);
}
