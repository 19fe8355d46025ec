/* SPDX-License-Identifier: MIT */
/*
 * complete.c - says for a process that cannot say it how it ended: killed, or without agent.
 *
 * What wait4 told goes into the dump as a newer PROCESS frame, so that every later reader of the
 * file knows it too.
 */
#include "agent/core/dump/build.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FRAME_BYTES (256u << 10)
/* Codes from 1000 are pmctl's; the agent's are below. */
#define NOTE_NO_AGENT 1000

/* `alone`: the process had no other image before, so that its clock speaks for this one. */
static void put_ending(struct pmc_process_fixed *fixed, const struct run_child *child, bool alone)
{
	fixed->end_ns = child->end_ns;
	fixed->time_ns = child->end_ns;
	if (WIFSIGNALED(child->status)) {
		fixed->how_ended = PMC_ENDED_SIGNAL;
		fixed->how_code = (uint8_t)WTERMSIG(child->status);
	} else {
		fixed->how_ended = PMC_ENDED_EXIT;
		fixed->how_code = (uint8_t)WEXITSTATUS(child->status);
	}
	if (alone && child->cpu_ns > fixed->cpu_ns)
		fixed->cpu_ns = child->cpu_ns;
}

static void complete_known(struct pmc_frame_buf *buf, const struct run *run,
			   const struct pmc_p_process *known, bool alone)
{
	const struct pmc_process_text text = { known->host, known->boot_id, known->exe,
					       known->cmdline };
	struct pmc_process_fixed fixed = known->fixed;

	put_ending(&fixed, &run->child, alone);
	pmc_build_process(buf, known->identity, known->snapshot + 1, &fixed, &text);
}

static void read_boot_id(char id[40])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, id, 36);

	if (fd >= 0)
		close(fd);
	id[n > 0 ? n : 0] = '\0';
}

/* Arguments joined by one space, cut where the room ends. */
static void join(char **cmd, char *text, size_t room)
{
	char *at = text, *end = text + room - 1;

	for (; *cmd && at < end; cmd++) {
		at = stpncpy(at, *cmd, (size_t)(end - at));
		if (cmd[1] && at < end)
			*at++ = ' ';
	}
	*at = '\0';
}

/* Who the child is to those of its descendants that have an agent; else somebody new. */
static bool find_identity(const struct run *run, const struct pmc_profile *profile,
			  uint8_t identity[16], uint8_t job[16])
{
	static const uint8_t nobody[16];

	if (getrandom(identity, 16, 0) != 16 || getrandom(job, 16, 0) != 16)
		return false;
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (!process->known || (process->fixed.flags & PMC_PROCESS_FIRST))
			continue;
		memcpy(job, process->fixed.job, 16);
		if (process->fixed.ppid == (uint32_t)run->child.pid &&
		    memcmp(process->fixed.parent_identity, nobody, 16) != 0)
			memcpy(identity, process->fixed.parent_identity, 16);
	}
	return true;
}

static void describe_unseen(struct pmc_frame_buf *buf, const struct run *run,
			    const struct pmc_profile *profile)
{
	const struct run_child *child = &run->child;
	const char *why = elf_obstacle(run->program.kind);
	const struct pmc_note_fixed note = { .code = NOTE_NO_AGENT, .level = 1, .count = 1 };
	struct pmc_process_fixed fixed = {
		.pid = (uint32_t)child->pid,
		.ppid = (uint32_t)getpid(),
		.start_ns = child->start_ns,
		.minor_faults = (uint64_t)child->usage.ru_minflt,
		.major_faults = (uint64_t)child->usage.ru_majflt,
		.voluntary_switches = (uint64_t)child->usage.ru_nvcsw,
		.involuntary_switches = (uint64_t)child->usage.ru_nivcsw,
		.max_rss_bytes = (uint64_t)child->usage.ru_maxrss * 1024,
		.inherit_mode = run_has_totals(run) ? PMC_INHERIT_FULL : PMC_INHERIT_OFF,
		.flags = PMC_PROCESS_FIRST,
		.rank = -1,
	};
	uint8_t identity[16];
	char host[256] = "", boot_id[40], cmdline[4096], text[PATH_MAX + 256];
	const struct pmc_process_text names = { host, boot_id, run->program.path, cmdline };

	if (!find_identity(run, profile, identity, fixed.job))
		return;
	if (!why)
		why = WIFSIGNALED(child->status) ? "was killed before anything of it was written" :
						   "did not load the agent";
	gethostname(host, sizeof(host) - 1);
	read_boot_id(boot_id);
	join(run->cmd, cmdline, sizeof(cmdline));
	put_ending(&fixed, child, true);
	pmc_build_process(buf, identity, 1, &fixed, &names);
	run_totals_frames(run, profile, identity, buf);
	snprintf(text, sizeof(text),
		 "%s %s; no thread rows%s, and its faults and switches include those of the "
		 "children it waited for",
		 run->program.image, why,
		 run_has_totals(run) ?
			 ", its counts include those of programs it started that have no rows" :
		 run_is_hidden(run) ? ", and the kernel lets no counter of another user see it" :
				      "");
	pmc_build_note(buf, identity, 1, &note, text);
}

bool run_dump_complete(struct run *run, const struct pmc_profile *profile,
		       const struct pmc_p_process *known, bool alone, const char *file)
{
	struct pmc_frame_buf buf;
	void *room = aligned_alloc(8, FRAME_BYTES);
	ssize_t n = -1;
	int fd = -1;

	if (!room)
		return false;
	pmc_frame_buf_init(&buf, room, FRAME_BYTES);
	if (known)
		complete_known(&buf, run, known, alone);
	else
		describe_unseen(&buf, run, profile);
	fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && buf.len)
		n = write(fd, buf.data, buf.len);
	if (n != (ssize_t)buf.len)
		tool_warn("the dump does not say how %s ended: cannot write to %s: %s", run->cmd[0],
			  file, strerror(fd < 0 || n < 0 ? errno : ENOSPC));
	if (fd >= 0)
		close(fd);
	free(room);
	return n > 0 && n == (ssize_t)buf.len;
}
