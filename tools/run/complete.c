/* SPDX-License-Identifier: MIT */
/*
 * complete.c - writes how the command ended to its dump if it was killed or had no agent, from the
 * start or after an exec.
 *
 * The result of wait4 becomes a newer PROCESS frame, for every later reader of the file.
 */
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "lib/dump/frame.h"
#include "lib/dump/command_line.h"
#include "tools/cli/pmctl.h"
#include "tools/run/run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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

/* How it ended unseen; has_rows: of some threads. */
static const char *how(const struct run_child *child, bool has_rows, char text[200])
{
	if (!WIFSIGNALED(child->status))
		return has_rows ? "ended by a system call that the agent did not see" :
				  "did not load the agent";
	snprintf(text, 200, "was killed by signal %d (%s)%s", WTERMSIG(child->status),
		 strsignal(WTERMSIG(child->status)),
		 has_rows ? "" : " before it wrote rows, or did not load the agent");
	return text;
}

static void put_note(struct pmc_frame_buf *buf, const uint8_t identity[16], uint64_t snapshot,
		     uint32_t code, const char *format, ...) __attribute__((format(printf, 5, 6)));
static void put_note(struct pmc_frame_buf *buf, const uint8_t identity[16], uint64_t snapshot,
		     uint32_t code, const char *format, ...)
{
	const struct pmc_note_fixed note = { .code = code, .level = 1, .count = 1 };
	char text[PATH_MAX + 400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pmc_build_note(buf, identity, snapshot, &note, text);
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
	struct pmc_process_fixed whole = *fixed;
	char text[200];

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
	put_note(buf, known->identity, known->snapshot + 1, NOTE_KILLED,
		 "%s %s: threads that ran then have no row, or one as of the last snapshot",
		 known->exe, how(&run->child, true, text));
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

/* The frames of descendants with an agent for the child. */
static void find_identity(const struct run *run, const struct pmc_profile *profile,
			  uint8_t identity[16], uint8_t job[16])
{
	static const uint8_t nobody[16];

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];

		if (!process->known || (process->fixed.flags & PMC_PROCESS_FIRST))
			continue;
		memcpy(job, process->fixed.job, 16);
		if (process->fixed.ppid == (uint32_t)run->child.pid &&
		    memcmp(process->fixed.parent_identity, nobody, 16) != 0)
			memcpy(identity, process->fixed.parent_identity, 16);
	}
}

/* A process of its own, from wait4's result: the command, which had no agent, or the program after
 * the exec of the last image; then less what the images have. */
static void complete_new(struct pmc_frame_buf *buf, const struct run *run,
			 const struct pmc_profile *profile, const struct pmc_p_process *before)
{
	const struct run_child *child = &run->child;
	const char *obstacle = program_obstacle(run->program.kind);
	struct pmc_process_fixed fixed = {
		.pid = (uint32_t)child->pid,
		.ppid = (uint32_t)getpid(),
		.start_ns = child->start_ns,
		.cpu_ns = child->cpu_ns,
		.minor_faults = (uint64_t)child->usage.ru_minflt,
		.major_faults = (uint64_t)child->usage.ru_majflt,
		.voluntary_switches = (uint64_t)child->usage.ru_nvcsw,
		.involuntary_switches = (uint64_t)child->usage.ru_nivcsw,
		.max_rss_bytes = child->max_rss_bytes,
		.inherit_mode = !before && run_has_totals(run) ? PMC_INHERIT_FULL : PMC_INHERIT_OFF,
		.flags = PMC_PROCESS_FIRST,
		.rank = -1,
	};
	char host[256] = "", boot_id[40], cmdline[PMC_COMMAND_LINE_BYTES], text[200];
	struct pmc_process_text names = { host, boot_id, run->program.path, cmdline };
	uint8_t identity[16];
	struct pmc_out out;

	put_ending(&fixed, child);
	if (getentropy(identity, 16) != 0 || getentropy(fixed.job, 16) != 0)
		return;
	if (before) {
		fixed.pid = before->fixed.pid;
		fixed.ppid = before->fixed.ppid;
		fixed.pid_namespace = before->fixed.pid_namespace;
		fixed.start_ns = before->fixed.end_ns;
		fixed.children_cpu_ns = before->fixed.children_cpu_ns;
		fixed.rank = before->fixed.rank;
		memcpy(fixed.job, before->fixed.job, sizeof(fixed.job));
		memcpy(fixed.parent_identity, before->fixed.parent_identity, 16);
		subtract_others(&fixed, profile, NULL);
		names = (struct pmc_process_text){ before->host, before->boot_id, "",
						   before->cmdline };
		pmc_build_process(buf, identity, 1, &fixed, &names);
		put_note(buf, identity, 1, NOTE_NO_AGENT,
			 "the program that it became by exec %s: no thread rows",
			 how(child, false, text));
		return;
	}
	find_identity(run, profile, identity, fixed.job);
	gethostname(host, sizeof(host) - 1);
	run_boot_id(boot_id, sizeof(boot_id));
	pmc_out_to_mem(&out, cmdline, sizeof(cmdline));
	pmc_command_line(&out, run->cmd, run->config.args);
	pmc_build_process(buf, identity, 1, &fixed, &names);
	run_totals_frames(run, profile, identity, buf);
	put_note(buf, identity, 1, NOTE_NO_AGENT,
		 "%s %s: no thread rows; its faults and switches include those of the children it "
		 "waited for%s",
		 run->program.image, obstacle ? obstacle : how(child, false, text),
		 run_has_totals(run) ? ", its counts those of programs it started without rows" :
		 run->program.hidden ? "; the kernel refuses counters of other users on it" :
				       "");
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
	static uint64_t room[FRAME_BYTES / sizeof(uint64_t)];
	struct pmc_frame_buf buf;
	const char *why;
	ssize_t n = -1;
	int fd;

	pmc_frame_buf_init(&buf, room, FRAME_BYTES);
	if (known && known->fixed.how_ended != PMC_ENDED_EXEC)
		complete_known(&buf, run, profile, known);
	else
		complete_new(&buf, run, profile, known);
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
	return n > 0 && n == (ssize_t)buf.len;
}
