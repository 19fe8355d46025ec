/* SPDX-License-Identifier: MIT */
/*
 * rows.c - rows of threads and processes where no agent makes them.
 *
 * A thread that lives on is read in /proc before and after the recording. The CPU time and the
 * switches of one that ended are those of its records; its faults and run delay are unknown. Where
 * records were lost, those until then are of /proc; if it had ended, its CPU time is a lower bound,
 * and its switches are unknown. Where a thread switches often, its CPU time is that of /proc, too,
 * up to 100 ms before its end.
 */
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/dump/command_line.h"
#include "tools/live/task.h"
#include "tools/profile/private.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SNAPSHOT       2
#define NOTE_UNSEEN    1002 /* 1000 and 1001 are those of pmctl run */
#define NOTE_PREEMPTED 1003

/* ---- images ------------------------------------------------------------------------------- */

static const char *command_text(struct prof *prof, char *const *argv)
{
	char text[PMC_COMMAND_LINE_BYTES];
	struct pmc_out out = pmc_out_mem(text, sizeof(text));

	pmc_command_line(&out, argv, prof->args);
	return pmc_arena_strndup(&prof->arena, out.buf, out.len);
}

/* NULL: it cannot be read, or has no arguments. */
static const char *read_command(struct prof *prof, uint32_t pid)
{
	enum { ARGS_MOST = 1000 };
	char text[PMC_COMMAND_LINE_BYTES], *argv[ARGS_MOST + 1];
	const ssize_t n = pmc_file_read(text, sizeof(text), "/proc/%u/cmdline", pid);
	unsigned argc = 0;

	for (ssize_t at = 0; at < n && argc < ARGS_MOST; at += (ssize_t)strlen(text + at) + 1)
		argv[argc++] = text + at;
	argv[argc] = NULL;
	return argc ? command_text(prof, argv) : NULL;
}

/* The program as /proc has it, if `exe` is NULL or still it: records are read up to 100 ms after
 * they were written. */
static void read_program(struct prof *prof, struct prof_image *image, const char *exe)
{
	char text[4096], path[64];
	const char *command;
	uint64_t parent;
	cpu_set_t cpus;
	ssize_t n;

	if (!image->fixed.ppid &&
	    pmc_file_read(text, sizeof(text), "/proc/%u/status", image->fixed.pid) > 0 &&
	    pmc_proc_number(text, "PPid", &parent))
		image->fixed.ppid = (uint32_t)parent;
	snprintf(path, sizeof(path), "/proc/%u/exe", image->fixed.pid);
	n = readlink(path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (exe && strcmp(exe, text) != 0)
		return;
	image->exe = pmc_arena_strdup(&prof->arena, text);
	command = read_command(prof, image->fixed.pid);
	image->cmdline = command ? command : image->cmdline;
	if (sched_getaffinity((pid_t)image->fixed.pid, sizeof(cpus), &cpus) == 0)
		image->fixed.cpus = (uint32_t)CPU_COUNT(&cpus);
}

struct prof_image *prof_image_add(struct prof *prof, uint32_t pid, uint64_t start_ns, bool exec)
{
	struct pmc_arena *arena = &prof->arena;
	struct prof_image *old, *image = pmc_arena_alloc(arena, sizeof(*image));

	HASH_FIND(hh, prof->images, &pid, sizeof(pid), old);
	if (old) {
		HASH_DEL(prof->images, old);
		old->fixed.end_ns = old->fixed.end_ns ? old->fixed.end_ns : start_ns;
	}
	*image = (struct prof_image){ .fixed.pid = pid,
				      .fixed.ppid = old ? old->fixed.ppid : 0,
				      .fixed.start_ns = start_ns,
				      .fixed.rank = -1,
				      .exe = "",
				      .cmdline = "",
				      .parent = exec ? old : NULL,
				      .next = prof->last_image };
	if (exec && old)
		image->fixed.flags = old->fixed.flags & PMC_PROCESS_FIRST;
	else if (!prof->last_image && !prof->machine && !prof->several)
		image->fixed.flags = PMC_PROCESS_FIRST;
	if (getrandom(image->identity, sizeof(image->identity), GRND_NONBLOCK) < 0)
		memcpy(image->identity, &image, sizeof(image));
	prof->last_image = image;
	HASH_ADD(hh, prof->images, fixed.pid, sizeof(pid), image);
	return image;
}

struct prof_image *prof_image_of(struct prof *prof, uint32_t pid, uint64_t start_ns)
{
	struct prof_image *image;

	HASH_FIND(hh, prof->images, &pid, sizeof(pid), image);
	if (image)
		return image;
	image = prof_image_add(prof, pid, start_ns ? start_ns : prof->start_ns, true);
	read_program(prof, image, NULL);
	return image;
}

void prof_image_mapped(struct prof *prof, uint32_t pid, const char *path)
{
	struct prof_image *image;

	HASH_FIND(hh, prof->images, &pid, sizeof(pid), image);
	if (!image || *image->exe || *path != '/')
		return;
	image->exe = image->cmdline = pmc_arena_strdup(&prof->arena, path);
	read_program(prof, image, path);
	/* As it was given: /proc puts the interpreter in front of a script, until the command
	 * replaces itself by another program. */
	if (prof->command && !image->parent && image->fixed.flags & PMC_PROCESS_FIRST)
		image->cmdline = command_text(prof, prof->command);
}

bool prof_goes_on(struct prof *prof, struct prof_thread *thread)
{
	struct prof_image *image = thread->image;

	/* Any other program has mapped itself. */
	if (!thread->by_switches || *image->exe || thread->row.start_ns <= prof->lost_ns)
		return false;
	read_program(prof, image, NULL);
	image->unseen = thread->lacks_switches = !prof->machine;
	thread->by_switches = prof->machine; /* /proc has more */
	return true;
}

/* ---- readings ----------------------------------------------------------------------------- */

static bool read_sched(const struct prof_thread *thread, struct pmc_proc_sched *sched)
{
	char text[256];

	return pmc_file_read(text, sizeof(text), "/proc/%u/task/%u/schedstat", thread->pid,
			     thread->tid) > 0 &&
	       pmc_proc_schedstat(text, sched);
}

static void read_task(const struct prof_thread *thread, struct prof_reading *to)
{
	struct pmc_proc_sched sched;
	struct pmc_proc_stat now;
	char text[4096], stat[1024];

	*to = (struct prof_reading){ .known = false };
	if (!read_sched(thread, &sched))
		return;
	to->cpu_ns = sched.cpu_ns;
	to->delay_ns = sched.delay_ns;
	to->known = pmc_file_read(text, sizeof(text), "/proc/%u/task/%u/status", thread->pid,
				  thread->tid) > 0 &&
		    pmc_file_read(stat, sizeof(stat), "/proc/%u/task/%u/stat", thread->pid,
				  thread->tid) > 0 &&
		    pmc_task_status(text, thread->tid, &to->usage) &&
		    pmc_task_stat(stat, &to->usage) && pmc_proc_stat(stat, &now);
	to->state = to->known ? now.state : '\0';
}

#define READ_NS UINT64_C(100000000) /* between readings of CPU time */
#define OFTEN	50		    /* switches in that time */
#define TICK_NS UINT64_C(20000000)  /* of that */

static uint64_t switches_of(const struct prof_thread *thread)
{
	return thread->row.voluntary_switches + thread->row.involuntary_switches;
}

/* Time that a hypervisor has taken from all CPUs since boot. */
static uint64_t read_stolen(void)
{
	unsigned long long ticks = 0;
	char text[256];

	(void)pmc_file_read(text, sizeof(text), "/proc/stat");
	sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks);
	return ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

void prof_add_target(struct prof *prof, pid_t tid)
{
	struct pmc_proc_stat stat;
	struct prof_thread *thread;
	char text[4096];
	uint64_t pid;

	if (pmc_file_read(text, sizeof(text), "/proc/%d/status", tid) <= 0 ||
	    !pmc_proc_number(text, "Tgid", &pid) || !live_stat_read(tid, &stat))
		return;
	thread = prof_thread_add(prof, (uint32_t)pid, (uint32_t)tid, 0);
	snprintf(thread->row.name, sizeof(thread->row.name), "%.15s", stat.name);
	thread->stack = unwind_blocked(&prof->unwind, thread->pid, thread->tid);
	read_task(thread, &thread->before);
}

void prof_start(struct prof *prof)
{
	struct pmc_proc_stat stat;

	prof->start_ns = pmc_now_ns();
	prof->stolen_ns = read_stolen();
	for (struct prof_image *image = prof->last_image; image; image = image->next)
		image->fixed.start_ns = prof->start_ns;
	for (struct prof_thread *thread = prof->last; thread; thread = thread->next) {
		const uint64_t switches = thread->before.usage.voluntary_switches;

		read_task(thread, &thread->before);
		thread->no_record = thread->before.known && thread->before.state == 'R';
		live_delay_begin(&thread->delay, thread->before.cpu_ns, thread->before.delay_ns,
				 thread->no_record);
		if (!live_stat_read((pid_t)thread->tid, &stat) || stat.state == 'R')
			continue;
		thread->no_record = false;
		/* Another wait than that of the stack. */
		if (thread->before.usage.voluntary_switches != switches)
			thread->stack = NULL;
		thread->state = PROF_OFF;
		thread->waiting = true;
		thread->since_ns = prof->start_ns;
	}
}

/* It waited for a CPU since the start, unless it slept until then. The kernel has added the wait by
 * now, with what was before the start. */
void prof_first_switch(struct prof *prof, struct prof_thread *thread, uint64_t now_ns)
{
	const uint64_t ns = pmc_sub_sat(now_ns, prof->start_ns);
	struct pmc_proc_sched sched;

	thread->no_record = false;
	if (prof->lost_ns || !read_sched(thread, &sched) ||
	    sched.delay_ns - thread->before.delay_ns < ns - ns / 10)
		return;
	live_delay_read(&thread->delay, ns, thread->before.cpu_ns, sched.delay_ns, true);
	thread->preempted = true;
	thread->since_ns = prof->start_ns;
}

/* Both at the start and at the stop, and not asleep between. */
static bool could_run(const struct prof_thread *thread)
{
	const struct prof_reading *from = &thread->before, *to = &thread->after;

	return from->known && to->known && from->state == 'R' && to->state == 'R' &&
	       from->usage.voluntary_switches == to->usage.voluntary_switches;
}

bool prof_never_ran(const struct prof *prof, const struct prof_thread *thread)
{
	return could_run(thread) &&
	       thread->after.cpu_ns - thread->before.cpu_ns < (prof->stop_ns - prof->start_ns) / 2;
}

void prof_lose(struct prof *prof, uint64_t lost, uint64_t from_ns, uint64_t now_ns)
{
	pmc_add_sat(&prof->lost, lost);
	prof->lost_ns = now_ns;
	if (!prof->lost_from_ns || from_ns < prof->lost_from_ns)
		prof->lost_from_ns = from_ns ? from_ns : 1;
}

/* Records until now that are read later add no CPU time. */
static bool read_cpu(const struct prof *prof, struct prof_thread *thread)
{
	struct pmc_proc_sched sched;

	if (thread->row.end_ns || !thread->before.known || prof->stop_ns ||
	    !read_sched(thread, &sched))
		return false;
	thread->row.cpu_ns = pmc_sub_sat(sched.cpu_ns, thread->before.cpu_ns);
	thread->read_ns = pmc_now_ns();
	thread->read_switches = switches_of(thread);
	thread->state = PROF_UNKNOWN;
	thread->least_cpu = false;
	return true;
}

static void find_lost(const struct prof *prof, struct prof_thread *thread)
{
	const struct pmc_usage *from = &thread->before.usage;
	struct prof_reading now = { .known = false };

	if (thread->row.end_ns && thread->row.end_ns < prof->lost_from_ns)
		return;
	if (read_cpu(prof, thread))
		read_task(thread, &now);
	else
		thread->least_cpu = true;
	thread->lacks_switches |= !now.known;
	if (!now.known)
		return;
	thread->row.voluntary_switches = now.usage.voluntary_switches - from->voluntary_switches;
	thread->row.involuntary_switches =
		now.usage.involuntary_switches - from->involuntary_switches;
	thread->counted_ns = pmc_now_ns();
}

/* The scheduler counts the CPU time of a thread that preempts another from the wake-up on, some
 * microseconds before the record of the switch. */
static bool switches_often(const struct prof_thread *thread)
{
	return switches_of(thread) >= thread->read_switches + OFTEN;
}

static bool lives(const struct prof_thread *thread)
{
	return !thread->row.end_ns && (kill((pid_t)thread->tid, 0) == 0 || errno == EPERM);
}

bool prof_read_again(struct prof *prof)
{
	const uint64_t now_ns = pmc_now_ns();
	/* Records of threads that live may not have been taken yet. */
	bool any_lives = prof->n_lives != prof->read_lives;

	if (now_ns < prof->read_ns + READ_NS && !prof->stop_ns)
		return true;
	for (struct prof_thread *thread = prof->last; thread; thread = thread->next) {
		any_lives = any_lives || lives(thread);
		if (prof->lost_from_ns)
			find_lost(prof, thread);
		else if (switches_often(thread) || thread->image->unseen)
			(void)read_cpu(prof, thread);
	}
	prof->lost_from_ns = 0;
	prof->read_ns = now_ns;
	prof->read_lives = prof->n_lives;
	return any_lives;
}

void prof_read_last(struct prof *prof)
{
	for (struct prof_thread *thread = prof->last; thread; thread = thread->next)
		if (!thread->row.end_ns && thread->before.known)
			read_task(thread, &thread->after);
}

/* ---- frames ------------------------------------------------------------------------------- */

static void put_note(struct prof_writing *w, const struct prof_image *image, uint32_t code,
		     const char *text)
{
	const struct pmc_note_fixed note = { .code = code, .level = 1, .count = 1 };

	prof_write_room(w, 1024);
	pmc_build_note(&w->buf, image->identity, SNAPSHOT, &note, text);
}

static void put_unseen(struct prof_writing *w, struct prof_thread *thread)
{
	char text[250];

	thread->row.flags |= PMC_THREAD_LEAST_CPU;
	snprintf(text, sizeof(text),
		 "the kernel ends the events of a program that starts with other rights than its "
		 "user's (setuid, setgid): %.15s and its children are not recorded; pmctl profile "
		 "-a records them",
		 thread->row.name);
	put_note(w, thread->image, NOTE_UNSEEN, text);
}

/* Of a command and what it waited for the number is known. do_exit() of the kernel ends the events
 * of a thread before it frees the memory of the process. */
static void put_preempted(struct prof_writing *w, const struct prof_image *first)
{
	enum { FEW = 10 }; /* of pmctl, before the command */
	const struct prof *prof = w->prof;
	uint64_t seen = 0, missing;
	char text[250];

	for (const struct prof_thread *t = prof->last; t; t = t->next)
		pmc_add_sat(&seen, t->row.involuntary_switches);
	missing = pmc_sub_sat(prof->command_preempted, seen);
	if (prof->lost || missing <= FEW + seen / 50)
		return;
	snprintf(text, sizeof(text),
		 "%llu of %llu preemptions are in no row: the kernel does not record those in "
		 "which it takes a process down that has ended, as it frees its memory",
		 (unsigned long long)missing, (unsigned long long)prof->command_preempted);
	put_note(w, first, NOTE_PREEMPTED, text);
}

/* CPU time is added at ticks: what a thread on a CPU lacks until the next is no wait. */
static uint64_t delay_of(const struct prof *prof, struct prof_thread *thread)
{
	const struct pmc_thread_fixed *row = &thread->row;

	live_delay_read(&thread->delay, pmc_sub_sat(row->time_ns, row->start_ns),
			thread->after.cpu_ns, thread->after.delay_ns + thread->queued_ns,
			prof->lost_ns && could_run(thread));
	return thread->delay.delay_ns;
}

static void write_thread(struct prof_writing *w, struct prof_thread *thread)
{
	const struct pmc_reading reading = { .n = 1, .enabled_ns = 1, .running_ns = 1 };
	const struct pmc_usage *from = &thread->before.usage, *to = &thread->after.usage;
	struct pmc_process_fixed *process = &thread->image->fixed;
	struct pmc_thread_fixed *row = &thread->row;
	const struct prof_place place = { thread->image->identity, SNAPSHOT, row->seq };

	if (row->end_ns)
		thread->after.known = false;
	else if (!thread->after.known && thread->before.known)
		read_task(thread, &thread->after);
	row->tid = thread->tid;
	row->flags = thread->tid == thread->pid ? PMC_THREAD_MAIN : 0;
	row->state = !row->end_ns					       ? PMC_THREAD_LIVE :
		     thread->image->replaced && row->end_ns == process->end_ns ? PMC_THREAD_EXEC :
										 PMC_THREAD_EXITED;
	row->start_ns = row->start_ns ? row->start_ns : w->prof->start_ns;
	row->time_ns = row->end_ns ? row->end_ns : w->prof->stop_ns;
	row->created_by = PMC_NO_SEQ;
	if (thread->after.known) {
		row->flags |= PMC_THREAD_DELAY;
		row->delay_ns = delay_of(w->prof, thread);
		row->minor_faults = to->minor_faults - from->minor_faults;
		row->major_faults = to->major_faults - from->major_faults;
		row->eventset = process->eventset = w->delay_set;
		row->n_groups = 1;
	} else {
		row->flags |=
			PMC_THREAD_NO_RUSAGE | (thread->lacks_switches ? 0 : PMC_THREAD_SWITCHES);
		process->flags |= PMC_PROCESS_NO_SWITCHES | PMC_PROCESS_NO_FAULTS;
	}
	/* Also what was in records that were lost. */
	if (thread->after.known && !thread->by_switches) {
		row->cpu_ns = pmc_sub_sat(thread->after.cpu_ns, thread->before.cpu_ns);
		row->voluntary_switches = to->voluntary_switches - from->voluntary_switches;
		row->involuntary_switches = to->involuntary_switches - from->involuntary_switches;
	} else if (thread->least_cpu) {
		row->flags |= PMC_THREAD_LEAST_CPU;
	}
	if (thread->image->unseen)
		put_unseen(w, thread);
	prof_write_room(w, sizeof(*row) + 256);
	pmc_begin_thread(&w->buf, thread->image->identity, SNAPSHOT, row);
	if (row->n_groups)
		pmc_put_reading(&w->buf, &reading, &row->delay_ns);
	pmc_frame_end(&w->buf);
	prof_write_thread(w, &place, thread);
	pmc_add_sat(&process->cpu_ns, row->cpu_ns);
	process->minor_faults += row->minor_faults;
	process->major_faults += row->major_faults;
	process->voluntary_switches += row->voluntary_switches;
	process->involuntary_switches += row->involuntary_switches;
}

/* A child has the CPUs of its parent unless it chose others. */
static uint32_t cpus_of(const struct prof_image *image)
{
	while (image && !image->fixed.cpus)
		image = image->parent;
	return image ? image->fixed.cpus : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static void write_image(struct prof_writing *w, const struct prof_image *image,
			const uint8_t job[16])
{
	char boot_id[64] = "";
	struct utsname host;
	struct pmc_process_fixed fixed = image->fixed;
	const struct pmc_process_text text = { host.nodename, boot_id, image->exe, image->cmdline,
					       NULL };

	if (uname(&host) != 0)
		host.nodename[0] = '\0';
	pmc_file_read(boot_id, sizeof(boot_id), "/proc/sys/kernel/random/boot_id");
	fixed.time_ns = fixed.end_ns ? fixed.end_ns : w->prof->stop_ns;
	fixed.threads_counted = fixed.threads_seen;
	fixed.how_ended = !fixed.end_ns	  ? PMC_RUNNING :
			  image->replaced ? PMC_ENDED_EXEC :
					    PMC_ENDED_EXIT;
	if (image->unseen) { /* older than its row */
		fixed.time_ns = fixed.start_ns;
		fixed.how_ended = PMC_RUNNING;
	}
	fixed.flags |= PMC_PROCESS_NO_STATUS;
	fixed.pid_namespace = prof_namespace_of("self");
	fixed.cpus = cpus_of(image);
	memcpy(fixed.job, job, sizeof(fixed.job));
	if (image->parent)
		memcpy(fixed.parent_identity, image->parent->identity, 16);
	prof_write_room(w, 32768);
	pmc_build_process(&w->buf, image->identity, SNAPSHOT, &fixed, &text);
}

/* The command's CPU time has that of children that it waited for, and of no others. */
static bool is_one_process(const struct prof *prof)
{
	for (const struct prof_thread *t = prof->last; t; t = t->next)
		if (t->pid != prof->last->pid)
			return false;
	return true;
}

/* How much CPU time a thread's records may lack, in switches: after the record of its end, the
 * kernel ends its events, which takes 10 to 16 us as measured, and frees the memory of a process,
 * 50 us if that is little. A switch itself takes 0.1 us more than records have. /proc has all. */
static uint64_t lack_of(const struct prof_thread *thread)
{
	enum { END = 20, END_OF_PROCESS = 80 };
	const bool last = thread->row.end_ns == thread->image->fixed.end_ns;

	if (!thread->row.end_ns)
		return 0;
	return pmc_sub_sat(switches_of(thread), thread->read_switches) + (!last ? END :
									  thread->image->replaced ?
										  0 :
										  END_OF_PROCESS);
}

/* What the threads of a command lack, by wait4(2): in the frame of its first process, from which
 * reports subtract the rows. Starts and ends of few short processes lack some ms, too. */
static void set_missing(const struct prof *prof, uint64_t missing)
{
	enum { LEAST_NS = 10000000 };
	struct prof_image *first = prof->last_image;

	while (first && !(first->fixed.flags & PMC_PROCESS_FIRST))
		first = first->next;
	if (!first || missing < LEAST_NS)
		return;
	if (is_one_process(prof)) {
		first->fixed.cpu_ns = missing;
		return;
	}
	first->fixed.children_cpu_ns = prof->command_cpu_ns;
	for (const struct prof_thread *t = prof->last; t; t = t->next)
		if (t->pid == first->fixed.pid)
			first->fixed.children_cpu_ns =
				pmc_sub_sat(first->fixed.children_cpu_ns, t->row.cpu_ns);
}

/* The time from switch to switch lacks what lack_of() says, and has what a hypervisor took and
 * interrupts needed meanwhile. The CPU time of the command as a whole is right: what is missing is
 * divided by what threads lack, what is too much, if it was taken, by CPU time. More is missing for
 * other reasons, as if records were lost or much memory was freed: then no row gets a share, each
 * has the least that it used, and the rest is in none. */
static void correct_times(const struct prof *prof)
{
	enum { MOST_NS = 5000 }; /* a switch */
	uint64_t seen = 0, lacks = 0, missing, lost, taken;
	const uint64_t stolen = pmc_sub_sat(read_stolen(), prof->stolen_ns) + TICK_NS;
	bool least = false;

	for (const struct prof_thread *t = prof->last; t; t = t->next)
		if (t->row.end_ns) {
			pmc_add_sat(&seen, t->row.cpu_ns);
			lacks += lack_of(t);
			least |= t->least_cpu;
		}
	missing = pmc_sub_sat(prof->command_cpu_ns, seen);
	lost = missing < lacks * MOST_NS ? missing : lacks * MOST_NS;
	if (missing - lost > seen / 20) {
		for (struct prof_thread *t = prof->last; t; t = t->next)
			t->least_cpu |= t->row.end_ns != 0;
		set_missing(prof, missing);
		return;
	}
	taken = prof->command_cpu_ns ? pmc_sub_sat(seen, prof->command_cpu_ns) : 0;
	if ((taken > stolen && !is_one_process(prof)) || (taken < seen / 200 && lost < seen / 200))
		return;
	for (struct prof_thread *t = prof->last; t; t = t->next)
		if (t->row.end_ns && taken)
			t->row.cpu_ns = (uint64_t)((double)t->row.cpu_ns *
						   (double)prof->command_cpu_ns / (double)seen);
		else if (lacks && !least)
			t->row.cpu_ns +=
				(uint64_t)((double)lost * (double)lack_of(t) / (double)lacks);
}

void prof_write_rows(struct prof_writing *w)
{
	const struct prof *prof = w->prof;
	const struct prof_image *first = NULL;

	/* Of what was lost at the end. */
	(void)prof_read_again(w->prof);
	correct_times(prof);
	for (struct prof_thread *thread = prof->last; thread; thread = thread->next)
		write_thread(w, thread);
	for (const struct prof_image *image = prof->last_image; image; image = image->next)
		first = image;
	for (struct prof_image *image = prof->last_image; image; image = image->next)
		write_image(w, image, first->identity);
	if (first)
		put_preempted(w, first);
}
