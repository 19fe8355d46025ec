/* SPDX-License-Identifier: MIT */
/*
 * attach.c - access to a process that has the agent: descriptors, memory, control block, slots.
 *
 * Between two system calls a process ID may be reused. Descriptors of /proc/PID, of /proc/PID/mem
 * and the pidfd stay with the process and fail after its end.
 */
#include "lib/base/file.h"
#include "lib/base/proc.h"
#include "lib/count/group.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- errors for a process that ended or must not be read ------------------------------------ */

int attach_gone(pid_t pid)
{
	return tool_fail(EXIT_FAIL,
			 "process %d has ended; if PMC_OUT was set, its rows are in that dump",
			 pid);
}

static int no_agent(const struct attach *target)
{
	char exe[PATH_MAX];
	ssize_t n = readlinkat(target->image, "exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	if (attach_has_ended(target))
		return attach_gone(target->pid);
	return tool_fail(
		EXIT_FAIL,
		"no agent in process %d (%s): start the program with pmctl run -- CMD or with "
		"LD_PRELOAD=libpmcagent.so",
		target->pid, exe);
}

static int not_permitted(const struct attach *target)
{
	const bool dumping = tool_command_name && strcmp(tool_command_name, "dump") == 0;
	const char *why = "it belongs to another user, or is not dumpable; use sudo";
	char scope[16];

	pmc_file_read(scope, sizeof(scope), "/proc/sys/kernel/yama/ptrace_scope");
	if (atoi(scope) >= 3)
		why = "kernel.yama.ptrace_scope=3 forbids it; boot with another value";
	else if (geteuid() == 0)
		why = "pmctl lacks CAP_SYS_PTRACE, or is confined by a container or a security "
		      "module; run it outside";
	else if (atoi(scope) > 0)
		why = "kernel.yama.ptrace_scope forbids it, or it belongs to another user; use "
		      "sudo";
	return tool_fail(EXIT_FAIL, "cannot read process %d: %s%s", target->pid, why,
			 dumping ? ", or pmctl dump --signal if PMC_DUMP was set at its start" :
				   "");
}

int attach_no_memory(const struct attach *target, int error)
{
	if (attach_has_ended(target))
		return attach_gone(target->pid);
	if (error == -EPERM || error == -EACCES)
		return not_permitted(target);
	if (error == -ESRCH)
		return ATTACH_AGAIN;
	return tool_fail(EXIT_FAIL, "cannot read the memory of process %d: %s", target->pid,
			 strerror(-error));
}

static int no_entry(const struct attach *target, int error)
{
	if (target->pidfd >= 0)
		return attach_no_memory(target, error);
	return error == -ESRCH ? attach_gone(target->pid) :
				 tool_fail(EXIT_FAIL, "cannot open process %d: %s", target->pid,
					   strerror(-error));
}

/* ---- descriptors ---------------------------------------------------------------------------- */

#ifndef PIDFD_THREAD /* Linux 6.9 */
#define PIDFD_THREAD O_EXCL
#endif

bool attach_has_ended(const struct attach *target)
{
	return live_pidfd_ended(target->pidfd);
}

static bool is_zombie(int dir)
{
	struct pmc_proc_stat stat;
	char text[1024];

	return pmc_file_read_at(dir, "stat", text, sizeof(text)) > 0 &&
	       pmc_proc_stat(text, &stat) && strchr("ZX", stat.state);
}

/* /proc/PID can be read as long as its process has the ID, so a pidfd that was opened between
 * opening and reading it is of the same process. */
static bool is_there(int dir)
{
	return faccessat(dir, "stat", F_OK, 0) == 0;
}

static int open_dir(int at, const char *path)
{
	return openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The main thread has ended by pthread_exit: use memory and descriptors of the last thread that can
 * be used. */
static void enter_by_thread(const char *name, void *arg)
{
	struct attach *target = arg;
	char path[64];
	int dir, pidfd = -1;

	snprintf(path, sizeof(path), "task/%s", name);
	dir = open_dir(target->dir, path);
	if (dir >= 0 && !is_zombie(dir))
		pidfd = (int)syscall(SYS_pidfd_open, atoi(name), PIDFD_THREAD);
	if (pidfd >= 0 && is_there(dir)) {
		const int image = target->image, files = target->files;

		target->image = dir;
		target->files = pidfd;
		dir = image;
		pidfd = files;
	}
	pmc_fd_close(pidfd);
	pmc_fd_close(dir);
}

int attach_enter(struct attach *target, pid_t pid, bool writing)
{
	char path[64];

	memset(target, 0, sizeof(*target));
	target->pid = pid;
	target->dir = target->pidfd = target->image = target->files = target->mem = -1;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	target->dir = open_dir(AT_FDCWD, path);
	if (target->dir < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	target->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (target->pidfd < 0)
		return -errno;
	if (!is_there(target->dir))
		return -ESRCH;
	target->image = open_dir(target->dir, ".");
	target->files = fcntl(target->pidfd, F_DUPFD_CLOEXEC, 0);
	if (target->image < 0 || target->files < 0)
		return -errno;
	if (is_zombie(target->dir) && !attach_has_ended(target))
		pmc_dir_visit(enter_by_thread, target, "/proc/self/fd/%d/task", target->dir);
	target->mem = openat(target->image, "mem", (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	return target->mem < 0 ? -errno : 0;
}

static void leave(struct attach *target)
{
	int *const all[] = { &target->dir, &target->pidfd, &target->image, &target->files,
			     &target->mem };

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		pmc_fd_close(*all[i]);
		*all[i] = -1;
	}
}

/* ---- groups -------------------------------------------------------------------------------*/
/* The program may have reused the number: of a foreign pipe, reading would take data. */
int attach_group_dup(const struct attach *target, int fd, uint64_t id, uint32_t *error)
{
	uint64_t now = 0;
	int ours;

	if (fd < 0) {
		*error = EBADF;
		return -1;
	}
	ours = (int)syscall(SYS_pidfd_getfd, target->files, fd, 0);
	if (ours < 0) {
		*error = errno == EBADF ? PMC_REASON_RECYCLED : (uint32_t)errno;
		return -1;
	}
	if (pmc_perf_ioctl(ours, PERF_EVENT_IOC_ID, &now) != 0 || now != id) {
		close(ours);
		*error = PMC_REASON_RECYCLED;
		return -1;
	}
	return ours;
}

void attach_group_read(void *from, int fd, uint64_t id, unsigned n, struct pmc_reading *reading,
		       uint64_t *words)
{
	const struct attach *target = from;

	*reading = (struct pmc_reading){ .n = 0 };
	fd = attach_group_dup(target, fd, id, &reading->error);
	if (fd < 0)
		return;
	pmc_perf_group_read(fd, id, n, reading, words);
	close(fd);
}

/* ---- memory --------------------------------------------------------------------------------- */

#define PAGE 4096u
/* Bounds that no real process reaches: of /proc/PID/maps, and of data to search. */
#define MOST_MAPS   ((size_t)16 << 20)
#define MOST_SEARCH ((uint64_t)1 << 30)
/* Beyond the data segment of the agent. */
#define MOST_DATA ((uint64_t)1 << 20)

static int move(const struct attach *target, uint64_t address, char *at, size_t len, bool to_target)
{
	while (len > 0) {
		ssize_t n = to_target ? pwrite(target->mem, at, len, (off_t)address) :
					pread(target->mem, at, len, (off_t)address);

		/* 0 bytes: the process has ended or called exec. EIO: not mapped. */
		if (n <= 0)
			return n == 0 ? -ESRCH : errno == EIO || errno == EINVAL ? -EFAULT : -errno;
		at += n;
		address += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int attach_read(const struct attach *target, uint64_t address, void *to, size_t len)
{
	return move(target, address, to, len, false);
}

int attach_write(const struct attach *target, uint64_t address, const void *from, size_t len)
{
	return move(target, address, (char *)(uintptr_t)from, len, true);
}

static const void *copy_data(void *from, enum reader_copy kind, uint64_t address, size_t bytes)
{
	struct attach *target = from;
	/* An address and a size that the process claims. */
	void *copy = realloc(target->copies[kind], bytes + 1);

	if (!copy)
		return NULL;
	target->copies[kind] = copy;
	return attach_read(target, address, copy, bytes) == 0 ? copy : NULL;
}

int attach_read_text(const struct attach *target, uint64_t address, char *to, size_t cap)
{
	/* The read ends where memory is not mapped. */
	const ssize_t n = pread(target->mem, to, cap - 1, (off_t)address);

	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : -EFAULT;
}

/* ---- maps ---------------------------------------------------------------------------------*/
static void add_image(struct attach *target, uint64_t start, uint64_t end, const char *path)
{
	const size_t bytes = strlen(path) + 1;

	target->images = tool_list_grow(target->images, target->n_images, &target->image_room,
					sizeof(*target->images));
	target->images[target->n_images++] =
		(struct attach_image){ start, end, memcpy(tool_realloc(NULL, bytes), path, bytes) };
}

struct search {
	struct attach *target;
	uint64_t left;
	bool sound; /* target->address is that of a control block of this version */
};

/* Any program may have the magic in its data. A block of another version is kept for the message
 * that names the version, if no other block is found. */
static void consider(struct search *search, uint64_t address)
{
	struct attach *target = search->target;
	struct pmc_control head;
	bool sound;

	/* A candidate costs as much as reading a page. */
	search->left -= search->left < PAGE ? search->left : PAGE;
	if (attach_read(target, address, &head, offsetof(struct pmc_control, state)) != 0)
		return;
	sound = head.version == PMC_CONTROL_VERSION && head.bytes == sizeof(head);
	/* Another version of the agent, or other data with the magic. */
	if (!sound && (target->address || !head.version || head.version > 999 ||
		       head.bytes > sizeof(head) * 16))
		return;
	target->address = address;
	search->sound = sound;
}

/* Looks for the control block in the first MOST_DATA bytes of a data segment. */
static int find_control(struct search *search, uint64_t at, uint64_t end)
{
	static uint64_t words[8192];
	const uint64_t stop = end - at > MOST_DATA ? at + MOST_DATA : end;

	while (!search->sound && at < stop && search->left) {
		size_t len = stop - at < sizeof(words) ? stop - at : sizeof(words);
		int error = attach_read(search->target, at, words, len);

		/* A mapped data file, or a hole in a library. */
		if (error == -EFAULT)
			return 0;
		if (error)
			return error;
		for (size_t i = 0; !search->sound && search->left && i < len / sizeof(*words); i++)
			if (words[i] == PMC_CONTROL_MAGIC)
				consider(search, at + i * sizeof(*words));
		search->left -= len < search->left ? len : search->left;
		at += len;
	}
	return 0;
}

/* start-end perms offset dev inode path */
static int map_line(struct search *search, char *line)
{
	struct attach *target = search->target;
	struct attach_image *last = target->n_images ? &target->images[target->n_images - 1] : NULL;
	unsigned long long start, end, offset;
	char perms[5], *path;
	bool more;
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, perms, &offset, &at) != 4 ||
	    !at)
		return 0;
	path = line + at;
	path[strcspn(path, "\n")] = '\0';
	/* Data that is 0 at the start has no file, and lies behind the data that has. */
	more = last && (path[0] ? strcmp(last->path, path) == 0 && offset : start == last->end);
	if (more)
		last->end = end;
	else if (path[0] == '/' && !offset)
		add_image(target, start, end, path);
	return more && perms[1] == 'w' ? find_control(search, start, end) : 0;
}

FILE *attach_open_text(const struct attach *target, const char *name)
{
	int fd = openat(target->image, name, O_RDONLY | O_CLOEXEC);

	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file && fd >= 0)
		close(fd);
	return file;
}

int attach_maps(struct attach *target)
{
	FILE *file = attach_open_text(target, "maps");
	struct search search = { target, MOST_SEARCH, false };
	size_t room = 0, bytes = 0;
	char *line = NULL;
	int error = 0;

	if (!file)
		return -errno;
	errno = 0;
	while (!error && bytes < MOST_MAPS && getline(&line, &room, file) >= 0) {
		bytes += strlen(line);
		error = map_line(&search, line);
	}
	if (!error && ferror(file))
		error = -(errno ? errno : EIO);
	free(line);
	fclose(file);
	return error;
}

/* ---- /proc/PID/task -------------------------------------------------------------------------- */

bool attach_read_task(const struct attach *target, pid_t pid, const char *name, char *text,
		      size_t cap)
{
	char path[64];
	int n;

	snprintf(path, sizeof(path), "task/%d/%s", pid, name);
	n = pmc_file_read_at(target->dir, path, text, cap);
	return n > 0 || n == -EFBIG;
}

static int by_tid(const void *a, const void *b)
{
	const struct attach_task *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* tid: as gettid() returns it in the process, the innermost of the NSpid line. */
static void add_task(const char *name, void *arg)
{
	struct attach *target = arg;
	struct attach_tasks *tasks = &target->tasks;
	const pid_t pid = atoi(name);
	uint64_t tid = (uint64_t)pid;
	char text[4096];

	if (target->other_pid_namespace) {
		tid = 0;
		if (attach_read_task(target, pid, "status", text, sizeof(text)))
			pmc_proc_last(text, "NSpid", &tid);
	}
	tasks->list = tool_list_grow(tasks->list, tasks->n, &tasks->room, sizeof(*tasks->list));
	tasks->list[tasks->n++] = (struct attach_task){ .pid = pid, .tid = (uint32_t)tid };
}

int attach_tasks_open(struct attach *target)
{
	struct attach_tasks *tasks = &target->tasks;
	const int error = pmc_dir_visit(add_task, target, "/proc/self/fd/%d/task", target->dir);

	if (error)
		return error == -ENOENT || error == -ESRCH ?
			       attach_gone(target->pid) :
			       tool_fail(EXIT_FAIL, "cannot list the threads of process %d: %s",
					 target->pid, strerror(-error));
	if (tasks->n)
		qsort(tasks->list, tasks->n, sizeof(*tasks->list), by_tid);
	return 0;
}

struct attach_task *attach_task_of(const struct attach *target, uint32_t tid)
{
	const struct attach_task key = { .tid = tid };

	return target->tasks.n ?
		       bsearch(&key, target->tasks.list, target->tasks.n, sizeof(key), by_tid) :
		       NULL;
}

/* ---- the agent ------------------------------------------------------------------------------ */

/* Slots are copied in pieces of this size. */
#define PIECE ((size_t)64 << 10)
/* Live slots beyond twice the number of threads that /proc lists: threads that started since. */
#define NEWBORN 1024
/* After an exec: that many further tries, with pauses. */
#define TRIES	 100
#define PAUSE_NS 1000000

static int damaged(const struct attach *target)
{
	return tool_fail(EXIT_FAIL, "the agent data in process %d is damaged", target->pid);
}

static bool first_is_sound(const uint16_t *first, unsigned groups)
{
	if (groups > PMC_EVENTS_MAX || first[0] != 0 || first[groups] > PMC_EVENTS_MAX)
		return false;
	for (unsigned g = 0; g < groups; g++)
		if (first[g] >= first[g + 1])
			return false;
	return true;
}

static int read_control(struct attach *target)
{
	struct pmc_control *control = &target->control;
	int error = attach_read(target, target->address, control, sizeof(*control));

	if (error)
		return attach_no_memory(target, error);
	if (target->patient &&
	    (control->version != PMC_CONTROL_VERSION || control->bytes != sizeof(*control) ||
	     control->state != PMC_CONTROL_ON))
		return ATTACH_AGAIN;
	control->out[sizeof(control->out) - 1] = '\0';
	control->why[sizeof(control->why) - 1] = '\0';
	if (control->version != PMC_CONTROL_VERSION || control->bytes != sizeof(*control))
		return tool_fail(EXIT_FAIL,
				 "the agent in process %d has another version (%u, this pmctl "
				 "needs %d): use the pmctl of that agent",
				 target->pid, control->version, PMC_CONTROL_VERSION);
	if (control->state == PMC_CONTROL_STARTING)
		return ATTACH_AGAIN;
	if (control->state == PMC_CONTROL_OFF)
		return tool_fail(EXIT_FAIL, "the agent in process %d is dormant: %s", target->pid,
				 control->why[0] ? control->why :
						   "PMC_ONLY, PMC_SKIP or PMC_FOLLOW "
						   "excludes this program");
	if (control->state != PMC_CONTROL_ON)
		return tool_fail(EXIT_FAIL, "process %d is ending: its final rows are in its dump",
				 target->pid);
	if (!first_is_sound(control->threads.first, control->threads.groups) ||
	    !first_is_sound(control->execs.first, control->execs.groups) ||
	    !first_is_sound(control->uncore.first, control->uncore.groups) ||
	    control->dump_signal < 0 || control->dump_signal > SIGRTMAX)
		return damaged(target);
	return 0;
}

static bool same_namespace(const struct attach *target)
{
	struct stat ours, theirs;

	return fstatat(target->image, "ns/pid", &theirs, 0) != 0 ||
	       stat("/proc/self/ns/pid", &ours) != 0 ||
	       (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
}

/* A child of vfork has the memory of its parent, and so the parent's agent, which counts no thread
 * of the child; a forked child that the agent has not noticed has a copy of it. */
static int check_owner(struct attach *target)
{
	uint64_t pid = 0, owner = (uint64_t)target->control.pid;
	char text[16384];

	pmc_file_read_at(target->dir, "status", text, sizeof(text));
	if (!pmc_proc_last(text, "NStgid", &pid) || pid == owner)
		return 0;
	target->address = 0;
	if (target->patient)
		return ATTACH_AGAIN;
	/* Of an orphan PPid is a process that adopts orphans. */
	if (target->other_pid_namespace)
		pmc_proc_number(text, "PPid", &owner);
	return tool_fail(EXIT_FAIL,
			 "process %d has no agent of its own, only that of the process whose child "
			 "by vfork or clone it is; name that one, which is %d unless it has ended",
			 target->pid, (int)owner);
}

int attach_open(struct attach *target, pid_t pid, unsigned flags)
{
	int error = attach_enter(target, pid, flags & ATTACH_WRITE);

	target->patient = flags & ATTACH_PATIENT;
	if (error)
		return no_entry(target, error);
	error = attach_maps(target);
	if (error)
		return attach_no_memory(target, error);
	if (!target->address)
		return target->patient ? ATTACH_AGAIN : no_agent(target);
	target->other_pid_namespace = !same_namespace(target);
	error = read_control(target);
	return error ? error : check_owner(target);
}

static void forget_slots(struct attach *target)
{
	free(target->tasks.list);
	target->tasks = (struct attach_tasks){ .list = NULL };
	free(target->registry.slots);
	free(target->index);
	target->registry.slots = NULL;
	target->index = NULL;
	target->n_slots = target->room = 0;
}

void attach_close(struct attach *target)
{
	leave(target);
	for (size_t i = 0; i < target->n_images; i++)
		free(target->images[i].path);
	free(target->images);
	target->images = NULL;
	target->n_images = target->image_room = 0;
	forget_slots(target);
	for (unsigned kind = 0; kind < COPY_KINDS; kind++) {
		free(target->copies[kind]);
		target->copies[kind] = NULL;
	}
}

/* Whether the process started within the last second: its agent may not be loaded yet. */
static bool is_young(pid_t pid)
{
	struct pmc_proc_stat stat;
	struct timespec boot;
	char text[4096];

	return pmc_file_read(text, sizeof(text), "/proc/%d/stat", pid) > 0 &&
	       pmc_proc_stat(text, &stat) && clock_gettime(CLOCK_BOOTTIME, &boot) == 0 &&
	       stat.start_ticks * PMC_TICK_NS + 1000000000 > pmc_timespec_ns(&boot);
}

int attach_act(pid_t pid, unsigned flags, int (*act)(struct attach *target, void *arg), void *arg)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct attach target;
	const bool young = is_young(pid);
	bool patient;
	int code = ATTACH_AGAIN;

	for (unsigned try = 0; try <= TRIES && code == ATTACH_AGAIN; try++) {
		if (try)
			nanosleep(&pause, NULL);
		/* After an exec the agent may not be loaded yet: between the first try and the
		 * last one its absence is no error. */
		patient = try ? try < TRIES : young;
		code = attach_open(&target, pid, flags | (patient ? ATTACH_PATIENT : 0));
		if (!code)
			code = act(&target, arg);
		attach_close(&target);
	}
	return code != ATTACH_AGAIN || flags & ATTACH_PATIENT ?
		       code :
		       tool_fail(EXIT_FAIL,
				 "process %d is a kernel thread, keeps calling exec, or its agent "
				 "is still starting; try again later",
				 pid);
}

/* ---- copies -------------------------------------------------------------------------------*/
static enum slot_phase phase_of(const struct slot *slot)
{
	return (enum slot_phase)(slot->word & ~0xffffu);
}

/* Whether two copies of a slot agree: one alone may mix two threads. */
static bool steady(const struct attach *target, struct slot *a, struct slot *b)
{
	const struct registry *registry = &target->registry;

	return phase_of(a) == SLOT_LIVE && phase_of(b) == SLOT_LIVE && a->seq == b->seq &&
	       a->tid == b->tid && a->start_ns == b->start_ns &&
	       memcmp(set_ids(a->data), set_ids(b->data), registry->n_groups * sizeof(uint64_t)) ==
		       0 &&
	       memcmp(set_fds(registry, a->data), set_fds(registry, b->data),
		      registry->n_fds * sizeof(int)) == 0;
}

uint64_t attach_slot_address(const struct attach *target, const struct slot *slot)
{
	return target->slots_address +
	       (uint64_t)reader_index(&target->reader, slot) * target->registry.slot_bytes;
}

bool attach_is_alive(const struct attach *target, const struct slot *slot)
{
	struct slot now;

	return attach_read(target, attach_slot_address(target, slot), &now, sizeof(now)) == 0 &&
	       phase_of(&now) == SLOT_LIVE && now.seq == slot->seq;
}

static bool registry_is_sound(const struct attach *target, const struct registry *registry)
{
	const struct pmc_control *control = &target->control;
	size_t words = 3 * registry->n_groups + registry->n_fds + (registry->n_fds + 1) / 2;
	size_t least = sizeof(struct slot) + words * sizeof(uint64_t);

	return registry->n_groups <= PMC_EVENTS_MAX && registry->n_fds <= PMC_EVENTS_MAX &&
	       registry->set_words == words && registry->slot_bytes >= least &&
	       registry->slot_bytes < least + 64 && registry->slot_bytes % 8 == 0 &&
	       registry->capacity <= REGISTRY_CAPACITY && registry->high <= registry->capacity &&
	       control->accounts < PMC_ACCOUNTS &&
	       first_is_sound(control->first, registry->n_groups + control->accounts) &&
	       control->first[registry->n_groups] == registry->n_fds &&
	       control->first[registry->n_groups + control->accounts] - registry->n_fds <=
		       PMC_ACCOUNTED_MOST;
}

/* Keeps slots `from` to `to` that are equal in two copies. Memory grows with the slots that are
 * kept, not with the size that the registry claims. */
static int keep(struct attach *target, uint32_t from, uint32_t to, char *first, char *second)
{
	const size_t bytes = target->registry.slot_bytes;

	for (uint32_t i = from; i < to; i++, first += bytes, second += bytes) {
		struct slot *a = (void *)first, *b = (void *)second;
		struct attach_task *task;

		if (!steady(target, a, b))
			continue;
		/* An agent has at most as many rows as threads. */
		if (target->n_slots > 2 * target->tasks.n + NEWBORN)
			return damaged(target);
		if (target->n_slots == target->room) {
			target->room = target->room ? 2 * target->room : 64;
			target->index =
				tool_realloc(target->index, target->room * sizeof(*target->index));
			target->registry.slots =
				tool_realloc(target->registry.slots, target->room * bytes);
		}
		memcpy(target->registry.slots + target->n_slots * bytes, first, bytes);
		target->index[target->n_slots++] = i;
		task = attach_task_of(target, a->tid);
		if (task)
			task->slot = target->n_slots;
	}
	return 0;
}

static int read_slots(struct attach *target)
{
	static uint64_t first[PIECE / 8], second[PIECE / 8];
	const size_t bytes = target->registry.slot_bytes;
	const uint32_t high = target->registry.high, n = (uint32_t)(PIECE / bytes);
	int code = 0;

	for (uint32_t i = 0; !code && i < high; i += n) {
		uint32_t to = high - i < n ? high : i + n;
		uint64_t at = target->slots_address + i * bytes;
		int error = attach_read(target, at, first, (to - i) * bytes);

		if (!error)
			error = attach_read(target, at, second, (to - i) * bytes);
		code = error ? attach_no_memory(target, error) :
			       keep(target, i, to, (char *)first, (char *)second);
	}
	return code;
}

int attach_look_again(struct attach *target)
{
	struct registry *registry = &target->registry;
	int error, code;

	forget_slots(target);
	code = attach_tasks_open(target);
	if (code)
		return code;
	error = attach_read(target, target->control.registry, registry, sizeof(*registry));
	target->slots_address = (uint64_t)(uintptr_t)registry->slots;
	registry->slots = NULL;
	if (error)
		return attach_no_memory(target, error);
	if (!registry_is_sound(target, registry))
		return damaged(target);
	error = read_slots(target);
	target->reader = (struct reader){
		.control = &target->control,
		.registry = registry,
		.snapshot = target->control.snapshot,
		.from = target,
		.copy = copy_data,
		.read_group = attach_group_read,
		.index = target->index,
	};
	return error;
}

int attach_look(struct attach *target)
{
	int code = read_control(target);

	return code ? code : attach_look_again(target);
}

bool attach_same_image(const struct attach *target)
{
	struct pmc_control now;

	return attach_read(target, target->address, &now, sizeof(now)) == 0 &&
	       now.magic == PMC_CONTROL_MAGIC &&
	       memcmp(now.identity, target->control.identity, sizeof(now.identity)) == 0 &&
	       !now.leaving && !attach_has_ended(target);
}
