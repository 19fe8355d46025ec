/* SPDX-License-Identifier: MIT */
/* process_frames.c - PROCESS and EVENTSET frames of this process image. Async-signal-safe. */
#include "agent/output/output.h"
#include "lib/base/file.h"
#include "lib/dump/frame.h"

#include <dirent.h>

#include "agent/base/poison.h"

/* Static: the frames are also built on small signal stacks. */
static const char *boot_id(void)
{
	static char text[40];

	if (!text[0])
		pmc_file_read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text));
	return text;
}

static void carry(uint64_t cpu_ns, uint64_t delay_ns, const struct pmc_usage *usage,
		  uint64_t words[ACCOUNT_WORDS])
{
	struct account_words carried = { .of[ACCOUNT_CPU] = cpu_ns, .of[ACCOUNT_DELAY] = delay_ns };

	account_put_usage(&carried, usage);
	memcpy(words, carried.of, sizeof(carried.of));
}

/* The fields that do not change while this image runs. */
void agent_publish_process(void)
{
	struct pmc_process_fixed *fixed = &pmc_agent_control.process;
	const bool counting = atomic_load(&pmc_agent_control.counting);
	struct account_side side;

	*fixed = (struct pmc_process_fixed){
		.pid = (uint32_t)agent.pid,
		.start_ns = agent.start_ns,
		.pre_cpu_ns = agent.pre_cpu_ns,
		.eventset = agent.plan.hash,
		.inherit_mode = (uint8_t)agent.inherit,
		.flags = (uint8_t)((agent.first ? PMC_PROCESS_FIRST : 0) |
				   (agent.covered ? PMC_PROCESS_COVERED : 0) |
				   (agent.forked ? PMC_PROCESS_FORKED : 0)),
		.rank = agent.rank,
	};
	memcpy(fixed->parent_identity, agent.parent, 16);
	memcpy(fixed->job, agent.job, 16);
	fixed->pid_namespace = agent.first ? agent.owner_ns : agent_pid_namespace();
	carry(agent.reported.thread_cpu_ns, agent.reported.thread_delay_ns, &agent.reported.thread,
	      pmc_agent_control.carried_thread);
	carry(agent.reported.process_cpu_ns, 0, &agent.reported.process,
	      pmc_agent_control.carried_process);
	account_open(&side, 1, pmc_agent_control.carried_process, !counting);
	side.base[ACCOUNT_WALL] = side.at[ACCOUNT_WALL] = agent.start_ns;
	account_write(&pmc_agent_control.account, &side);
	if (!counting)
		atomic_fetch_add(&pmc_agent_control.switched, 1);
}

void agent_process_words(struct account_words *now, struct pmc_usage *usage)
{
	pmc_usage_process(usage);
	account_put_usage(now, usage);
	now->of[ACCOUNT_CPU] = pmc_process_cpu_ns();
	now->of[ACCOUNT_OVERHEAD] = atomic_load(&pmc_agent_control.overhead_ns);
	now->of[ACCOUNT_WALL] = pmc_now_ns();
	now->unknown = 0;
}

/* ---- child processes ------------------------------------------------------------------------ */

/*
 * Whether child processes run, from /proc, which takes no system calls but those that rows need: a
 * seccomp filter may kill for waitid(2). That would also report a child that has ended instead of
 * one that runs. proc(5): task/TID/children (CONFIG_PROC_CHILDREN), fields 3 and 9 of stat.
 */

/* Threads whose children are read, which takes 1 ms. The kernel gives the children of an ended
 * thread to another thread of the process. */
enum { TASKS_MOST = 256 };

/* PF_EXITING of the kernel's include/linux/sched.h. */
#define EXITING 4

/* Reads dir/name/file. pmc_outf() would take too much of a small signal stack. */
static bool read_file(const char *dir, const char *name, size_t len, const char *file, char *room,
		      size_t bytes)
{
	struct pmc_out path;

	pmc_out_to_mem(&path, room, bytes);
	pmc_out_str(&path, dir);
	pmc_out_bytes(&path, name, len);
	pmc_out_str(&path, file);
	return pmc_file_read_at(AT_FDCWD, room, room, bytes) > 0;
}

static bool runs(const char *pid, size_t len, char *room, size_t bytes)
{
	const char *at;
	unsigned field = 2;
	uint64_t flags;

	if (!read_file("/proc/", pid, len, "/stat", room, bytes))
		return false;
	/* Field 2, the name, may contain parentheses and spaces. */
	at = strrchr(room, ')');
	if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return false;
	while (*at && field < 9)
		field += *at++ == ' ';
	return pmc_number_take(&at, NULL, 10, &flags) && !(flags & EXITING);
}

static bool has_running(const char *task, char *room, size_t bytes)
{
	const char *list = room;
	size_t len;

	if (!read_file("/proc/self/task/", task, strlen(task), "/children", room, bytes / 2))
		return false;
	for (; (len = strcspn(list, " ")); list += len + (list[len] == ' '))
		if (runs(list, len, room + bytes / 2, bytes / 2))
			return true;
	return false;
}

/* Whether child processes run, other than those that are ending. Uses 1 KiB or more of room, which
 * is aligned as a uint64_t. noinline: frames are built later, and the host's signal stack may be
 * small. */
__attribute__((noinline)) static bool agent_children_run(char *room, size_t bytes)
{
	const size_t half = bytes / 2 & ~(size_t)7;
	unsigned tasks = 0;
	bool found = false;
	long n;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while (!found && tasks < TASKS_MOST && (n = syscall(SYS_getdents64, fd, room, half)) > 0) {
		for (long at = 0; at < n && !found && tasks < TASKS_MOST;) {
			const struct dirent64 *entry = (const void *)(room + at);

			at += entry->d_reclen;
			if (entry->d_name[0] == '.')
				continue;
			found = has_running(entry->d_name, room + half, half);
			tasks++;
		}
	}
	syscall(SYS_close, fd);
	return found;
}

/* Whether child processes run that write to the same dump. The free part of buf, up to `end`, is
 * used. */
static bool leaves_children(const struct pmc_frame_buf *buf, const void *end)
{
	const char *out = agent.config.out;
	const size_t used = (buf->len + 7) & ~(size_t)7;
	char *room = (char *)buf->data + used;

	return !(agent.out && out && strstr(out, "%p")) && room < (const char *)end &&
	       agent_children_run(room, (size_t)((const char *)end - room));
}

void agent_process_frame(struct pmc_frame_buf *buf, uint64_t snapshot, enum pmc_ended how, int code)
{
	/* In the free end of the buffer, not on what may be a small signal stack. */
	struct {
		struct pmc_process_fixed fixed;
		struct account_words now;
		struct account_side side;
		struct pmc_usage usage;
	} *room = (void *)((char *)buf->data + ((buf->cap - sizeof(*room)) & ~(size_t)7));
	const struct reader reader = agent_reader(snapshot);
	struct pmc_process_fixed *fixed = &room->fixed;
	const struct pmc_process_text text = {
		.host = agent.host,
		.boot_id = boot_id(),
		.exe = agent.exe,
		.cmdline = agent.cmdline,
	};

	*fixed = pmc_agent_control.process;
	agent_process_words(&room->now, &room->usage);
	snapshot_process(&reader, &room->now, &room->side, fixed);
	fixed->ppid = (uint32_t)syscall(SYS_getppid);
	fixed->max_rss_bytes = room->usage.max_rss_bytes;
	fixed->children_cpu_ns = pmc_children_cpu_ns();
	fixed->end_ns = how == PMC_RUNNING ? 0 : fixed->time_ns;
	fixed->how_ended = (uint8_t)how;
	fixed->how_code = (uint8_t)code;
	if ((how == PMC_ENDED_EXIT || how == PMC_ENDED_SIGNAL) && leaves_children(buf, room))
		fixed->flags |= PMC_PROCESS_LEFT;
	pmc_build_process(buf, agent.identity, snapshot, fixed, &text);
}
