/* SPDX-License-Identifier: MIT */
/*
 * complete.c - writes how the command ended to its dump if it was killed or had no agent, from the
 * start or after an exec.
 *
 * The result of wait4 becomes a newer PROCESS frame, for every later reader of the file.
 */
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "lib/dump/build.h"
#include "lib/dump/command_line.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAME_BYTES (256u << 10)
/* Codes of notes: the agent's are below 1000, pmctl's from there. */
#define NOTE_NO_AGENT 1000
#define NOTE_KILLED   1001

static void put_status(struct pmc_process_fixed *fixed, const struct run_child *child)
{
	fixed->flags &= (uint8_t)~PMC_PROCESS_NO_STATUS;
	if (WIFSIGNALED(child->status)) {
		fixed->how_ended = PMC_ENDED_SIGNAL;
		fixed->how_code = (uint8_t)WTERMSIG(child->status);
	} else {
		fixed->how_ended = PMC_ENDED_EXIT;
		fixed->how_code = (uint8_t)WEXITSTATUS(child->status);
	}
}

static void put_ending(struct pmc_process_fixed *fixed, const struct run_child *child)
{
	fixed->end_ns = child->end_ns;
	fixed->time_ns = child->end_ns;
	put_status(fixed, child);
}

static void put_how(char *text, size_t cap, const struct run_child *child)
{
	if (WIFSIGNALED(child->status))
		snprintf(text, cap, "was killed by signal %d (%s)", WTERMSIG(child->status),
			 strsignal(WTERMSIG(child->status)));
	else
		snprintf(text, cap, "ended by a system call that the agent did not see");
}

/* Why there is no row of a program that nothing is known to keep from loading the agent. */
static void put_no_rows(char *text, size_t cap, const struct run_child *child)
{
	char how[100];

	put_how(how, sizeof(how), child);
	if (WIFSIGNALED(child->status))
		snprintf(text, cap, "%s before it wrote rows, or did not load the agent", how);
	else
		snprintf(text, cap, "did not load the agent");
}

/* From values of the whole process those of its other images in the dump. */
static void subtract_others(struct pmc_process_fixed *fixed, const struct pmc_profile *profile,
			    const struct pmc_p_process *itself)
{
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_process_fixed *image = &profile->processes[i]->fixed;

		if (profile->processes[i] == itself || image->pid != fixed->pid ||
		    memcmp(image->job, fixed->job, 16) != 0)
			continue;
		fixed->cpu_ns = pmc_sub_sat(fixed->cpu_ns, image->cpu_ns);
		fixed->minor_faults = pmc_sub_sat(fixed->minor_faults, image->minor_faults);
		fixed->major_faults = pmc_sub_sat(fixed->major_faults, image->major_faults);
		fixed->voluntary_switches =
			pmc_sub_sat(fixed->voluntary_switches, image->voluntary_switches);
		fixed->involuntary_switches =
			pmc_sub_sat(fixed->involuntary_switches, image->involuntary_switches);
	}
}

/* An image whose last frames are older than its end. */
static void complete_killed(struct pmc_frame_buf *buf, const struct run *run,
			    const struct pmc_profile *profile, const struct pmc_p_process *known,
			    struct pmc_process_fixed *fixed)
{
	const struct pmc_note_fixed note = { .code = NOTE_KILLED, .level = 1, .count = 1 };
	struct pmc_process_fixed whole = *fixed;
	char how[100], text[PATH_MAX + 256];

	whole.cpu_ns = run->child.cpu_ns;
	subtract_others(&whole, profile, known);
	/* wait4's CPU time includes time in which counting was off. */
	if (!fixed->off_ns && whole.cpu_ns > fixed->cpu_ns)
		fixed->cpu_ns = whole.cpu_ns;
	if (pmc_process_never_on(fixed))
		fixed->off_ns = run->child.end_ns - fixed->start_ns;
	/* wait4's include those of the children it waited for. */
	fixed->flags |= PMC_PROCESS_NO_SWITCHES;
	put_ending(fixed, &run->child);
	put_how(how, sizeof(how), &run->child);
	snprintf(text, sizeof(text),
		 "%s %s: threads that ran then have no row, or one as of the last snapshot",
		 known->exe, how);
	pmc_build_note(buf, known->identity, known->snapshot + 1, &note, text);
}

static void complete_known(struct pmc_frame_buf *buf, const struct run *run,
			   const struct pmc_profile *profile, const struct pmc_p_process *known)
{
	const struct pmc_process_text text = { known->host, known->boot_id, known->exe,
					       known->cmdline };
	struct pmc_process_fixed fixed = known->fixed;

	/* PMC_PROCESS_NO_STATUS: the rest is known. */
	if (fixed.how_ended == PMC_ENDED_EXIT)
		put_status(&fixed, &run->child);
	else
		complete_killed(buf, run, profile, known, &fixed);
	pmc_build_process(buf, known->identity, known->snapshot + 1, &fixed, &text);
}

/* The identity that descendants with an agent have for the child; else a new one. */
static bool find_identity(const struct run *run, const struct pmc_profile *profile,
			  uint8_t identity[16], uint8_t job[16])
{
	static const uint8_t nobody[16];

	if (getentropy(identity, 16) != 0 || getentropy(job, 16) != 0)
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

/* What wait4 says of the child. */
static struct pmc_process_fixed of_child(const struct run_child *child)
{
	struct pmc_process_fixed fixed = {
		.pid = (uint32_t)child->pid,
		.start_ns = child->start_ns,
		.cpu_ns = child->cpu_ns,
		.minor_faults = (uint64_t)child->usage.ru_minflt,
		.major_faults = (uint64_t)child->usage.ru_majflt,
		.voluntary_switches = (uint64_t)child->usage.ru_nvcsw,
		.involuntary_switches = (uint64_t)child->usage.ru_nivcsw,
		.max_rss_bytes = child->max_rss_bytes,
		.inherit_mode = PMC_INHERIT_OFF,
		.flags = PMC_PROCESS_FIRST,
	};

	put_ending(&fixed, child);
	return fixed;
}

/* The program after the last image's exec: of wait4's result, what the images do not have. */
static void complete_replaced(struct pmc_frame_buf *buf, const struct run *run,
			      const struct pmc_profile *profile, const struct pmc_p_process *before)
{
	const struct pmc_note_fixed note = { .code = NOTE_NO_AGENT, .level = 1, .count = 1 };
	const struct pmc_process_text names = { before->host, before->boot_id, "",
						before->cmdline };
	struct pmc_process_fixed fixed = of_child(&run->child);
	char why[200], text[400];
	uint8_t identity[16];

	if (getentropy(identity, sizeof(identity)) != 0)
		return;
	fixed.pid = before->fixed.pid;
	fixed.ppid = before->fixed.ppid;
	fixed.pid_namespace = before->fixed.pid_namespace;
	fixed.start_ns = before->fixed.end_ns;
	fixed.children_cpu_ns = before->fixed.children_cpu_ns;
	fixed.rank = before->fixed.rank;
	memcpy(fixed.job, before->fixed.job, sizeof(fixed.job));
	memcpy(fixed.parent_identity, before->fixed.parent_identity, 16);
	subtract_others(&fixed, profile, NULL);
	put_no_rows(why, sizeof(why), &run->child);
	snprintf(text, sizeof(text), "the program that it became by exec %s: no thread rows", why);
	pmc_build_process(buf, identity, 1, &fixed, &names);
	pmc_build_note(buf, identity, 1, &note, text);
}

static void complete_unknown(struct pmc_frame_buf *buf, const struct run *run,
			     const struct pmc_profile *profile)
{
	const struct run_child *child = &run->child;
	const char *obstacle = program_obstacle(run->program.kind);
	const struct pmc_note_fixed note = { .code = NOTE_NO_AGENT, .level = 1, .count = 1 };
	struct pmc_process_fixed fixed = of_child(child);
	uint8_t identity[16];
	struct pmc_out out;
	char host[256] = "", boot_id[40], cmdline[PMC_COMMAND_LINE_BYTES];
	char why[200], text[PATH_MAX + 400];
	const struct pmc_process_text names = { host, boot_id, run->program.path, cmdline };

	if (!find_identity(run, profile, identity, fixed.job))
		return;
	put_no_rows(why, sizeof(why), child);
	gethostname(host, sizeof(host) - 1);
	run_boot_id(boot_id, sizeof(boot_id));
	pmc_out_to_mem(&out, cmdline, sizeof(cmdline));
	pmc_command_line(&out, run->cmd, run->config.args);
	fixed.ppid = (uint32_t)getpid();
	fixed.rank = -1;
	if (run_has_totals(run))
		fixed.inherit_mode = PMC_INHERIT_FULL;
	pmc_build_process(buf, identity, 1, &fixed, &names);
	run_totals_frames(run, profile, identity, buf);
	snprintf(text, sizeof(text),
		 "%s %s: no thread rows; its faults and switches include those of the children it "
		 "waited for%s",
		 run->program.image, obstacle ? obstacle : why,
		 run_has_totals(run) ? ", its counts those of programs it started without rows" :
		 run->program.hidden ? "; the kernel refuses counters of other users on it" :
				       "");
	pmc_build_note(buf, identity, 1, &note, text);
}

static void warn_lost(const struct run *run, const struct pmc_profile *profile, const char *why)
{
	if (run_has_nothing(profile))
		tool_warn("nothing was recorded of %s: cannot write to %s: %s; name another file "
			  "by -o",
			  run->cmd[0], run->dump.file, why);
	else
		tool_warn("cannot write how %s ended to %s: %s", run->cmd[0], run->dump.file, why);
}

bool run_dump_complete(struct run *run, const struct pmc_profile *profile,
		       const struct pmc_p_process *known)
{
	const char *why;
	struct pmc_frame_buf buf;
	void *room = aligned_alloc(8, FRAME_BYTES);
	ssize_t n = -1;
	int fd = -1;

	if (!room)
		return false;
	pmc_frame_buf_init(&buf, room, FRAME_BYTES);
	if (known && known->fixed.how_ended == PMC_ENDED_EXEC)
		complete_replaced(&buf, run, profile, known);
	else if (known)
		complete_known(&buf, run, profile, known);
	else
		complete_unknown(&buf, run, profile);
	fd = run_dump_append(run, &why);
	if (fd >= 0 && buf.len) {
		n = write(fd, buf.data, buf.len);
		if (n != (ssize_t)buf.len)
			why = strerror(n < 0 ? errno : ENOSPC);
	}
	if (why)
		warn_lost(run, profile, why);
	if (fd >= 0)
		close(fd);
	free(room);
	return n > 0 && n == (ssize_t)buf.len;
}
