/* SPDX-License-Identifier: MIT */
/*
 * file.c - opens the dump and appends whole frames to it, one write each.
 *
 * Safe in signal handlers and in any thread: raw system calls, no lock. If two threads open the
 * file at the same time, the loser closes its descriptor.
 */
#include "agent/output/output.h"
#include "lib/base/file.h"
#include "lib/dump/output.h"

#include <sched.h>
#include <sys/auxv.h>

const char *agent_file_name = "";
static struct {
	_Atomic int fd; /* -1: not open; -2: cannot be */
	_Atomic bool headed;
	_Atomic uint32_t lost;
	dev_t dev;
	ino_t ino;
	_Atomic bool marked; /* the descriptor carries MARK */
	/* The root directory at the open: after a chroot the path may name another file. */
	dev_t root_dev;
	ino_t root_ino;
	_Atomic bool full;
	_Atomic bool filtered; /* a seccomp filter was installed since the start */
	bool of_root;	       /* the file belongs to root */
} file = { .fd = -1 };

/* ---- frames that wait to be written --------------------------------------------------------- */

AGENT_ROOMY static uint8_t room[128 << 10];
static size_t used;
static __thread char me;
static char *_Atomic owner;

static bool lock(void)
{
	char *nobody = NULL;

	return atomic_compare_exchange_strong(&owner, &nobody, &me);
}

static bool pending_put(const void *frames, size_t len)
{
	bool fits;

	if (!lock())
		return false;
	fits = len <= sizeof(room) - used;
	if (fits) {
		memcpy(room + used, frames, len);
		/* agent_file_waiting() may interrupt this. */
		atomic_signal_fence(memory_order_seq_cst);
		used += len;
	}
	atomic_store(&owner, NULL);
	return fits;
}

static const void *pending_take(size_t *len)
{
	*len = 0;
	for (unsigned i = 0; i < 1000 && used && atomic_load(&owner) != &me; i++) {
		if (lock()) {
			*len = used;
			return room;
		}
		sched_yield();
	}
	return NULL;
}

static void pending_done(void)
{
	used = 0;
	atomic_store(&owner, NULL);
}

void agent_file_path(void)
{
	struct pmc_out out = pmc_out_mem(pmc_agent_control.out, sizeof(pmc_agent_control.out));

	agent_file_name = agent.out	     ? pmc_agent_control.out :
			  agent.private_dump ? agent.private_dump :
					       "";
	if (!agent.out)
		return;
	agent_out_expand(&out, agent.out, "phre%");
	agent_out_directory(pmc_agent_control.out);
}

/*
 * The F_SETSIG number of the dump's descriptor, which never sends a signal (no O_ASYNC): reading it
 * is the cheapest test that the number still is the dump's. fstat is another, but since Linux 6.13
 * a file whose times were queried gets new ones at the next write: each row would change the inode,
 * 1,800 instructions.
 */
#define MARK PMC_CONTROL_OUT_MARK

void agent_file_filtered(void)
{
	atomic_store(&file.marked, false);
	atomic_store(&file.filtered, true);
}

bool agent_file_is_filtered(void)
{
	return atomic_load(&file.filtered);
}

/* pmctl dump writes to a duplicate of the descriptor, never to a path named by this process. */
static void publish(void)
{
	int fd = atomic_load(&file.fd);

	atomic_store(&pmc_agent_control.out_fd, fd >= 0 ? fd + 1 : 0);
}

static int stat_path(const char *path, struct stat *st)
{
	return (int)pmc_sys4(SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

static void opened(int fd, const struct stat *st)
{
	file.dev = st->st_dev;
	file.ino = st->st_ino;
	file.of_root = st->st_uid == 0;
	/* After an exec of its own the first process has frames from before it. */
	if (!agent.after_exec || agent.reported.dump_start > (uint64_t)st->st_size)
		agent.reported.dump_start = (uint64_t)st->st_size;
	/* A seccomp filter may permit only some commands of fcntl. */
	atomic_store(&file.marked,
		     !agent_is_filtered() && pmc_sys3(SYS_fcntl, fd, F_SETSIG, MARK) == 0);
}

static int open_plain(void)
{
	struct stat st;
	int fd;

	if (!agent_file_name[0])
		return -ENOENT;
	/* A private dump that its owner has removed is not created again: nobody would read it. */
	fd = pmc_dump_open(agent_file_name, agent.out || agent.first || agent_job_owner_alive(),
			   &st);
	if (fd < 0)
		return fd;
	opened(fd, &st);
	if (agent.out && stat_path("/", &st) == 0) {
		file.root_dev = st.st_dev;
		file.root_ino = st.st_ino;
	}
	return fd;
}

/* error: of the open by the path. */
static int open_taken(int error)
{
	const bool refused = error == -EACCES || error == -EPERM || error == -ENOENT ||
			     error == -EROFS || error == -EUSERS;
	struct stat st;
	int fd = refused ? agent_taken_fd(&st) : -1;

	if (fd < 0 || !st.st_nlink)
		return error;
	opened(fd, &st);
	agent_fds_mark(&fd, 1);
	return fd;
}

int agent_file_pass(bool other_user, struct agent_passed *dump)
{
	struct stat st;
	int fd = agent_taken_fd(&st);
	const bool again = fd >= 0;

	*dump = (struct agent_passed){ .number = 0 };
	if (!again) {
		fd = atomic_load(&file.fd);
		if (!other_user || fd < 0 || !file.of_root || agent_file_is_filtered() ||
		    !agent_file_is(fd) || pmc_sys3(SYS_fcntl, fd, F_SETFD, 0) != 0)
			return -1;
		st.st_dev = file.dev;
		st.st_ino = file.ino;
	}
	*dump = (struct agent_passed){ st.st_dev, st.st_ino, (uint32_t)fd + 1, 0 };
	return again ? -1 : fd;
}

void agent_file_unpass(int fd)
{
	if (fd >= 0)
		pmc_sys3(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
}

/* Opens the dump at a high descriptor number. */
static int open_file(void)
{
	int fd = open_plain(), moved;

	if (fd < 0)
		return open_taken(fd);
	moved = agent_fds_move(fd);
	if (moved >= 0) {
		syscall(SYS_close, fd);
		fd = moved;
	} else {
		agent_fds_mark(&fd, 1);
	}
	return fd;
}

int agent_file_check(void)
{
	int fd = open_file();

	if (fd < 0) {
		pmc_log(PMC_LOG_ERROR,
			"PMC_OUT=%s: %s (the program runs, but this run is not kept)",
			agent_file_name, agent_file_fix(fd));
		agent_note(NOTE_OUT_REFUSED);
		return fd;
	}
	file.fd = fd;
	publish();
	return 0;
}

__attribute__((noinline, cold)) static int open_now(void)
{
	int fd = open_file(), expected = -1;

	if (fd < 0) {
		agent_note(NOTE_FILE_OPEN);
		fd = -2;
	}
	if (!atomic_compare_exchange_strong(&file.fd, &expected, fd)) {
		if (fd >= 0 && fd != agent_taken_number()) {
			agent_fds_unmark(&fd, 1);
			syscall(SYS_close, fd);
		}
		return expected;
	}
	publish();
	return fd;
}

static inline int ready(void)
{
	int fd = atomic_load(&file.fd);

	return fd != -1 ? fd : open_now();
}

void agent_file_open(void)
{
	if (agent.out || (agent.after_exec && getauxval(AT_EUID) == 0))
		ready();
}

void agent_file_begin(void)
{
	if (!atomic_load_explicit(&file.headed, memory_order_relaxed) &&
	    !atomic_exchange(&file.headed, true))
		agent_process_header();
}

void agent_file_no_header(void)
{
	atomic_store_explicit(&file.headed, true, memory_order_relaxed);
}

#define WRITE_SIGNALS (1ull << (SIGXFSZ - 1) | 1ull << (SIGPIPE - 1))
/* A terminal takes the output of a background process if this is blocked; it is never raised. */
#define STOP_SIGNAL (1ull << (SIGTTOU - 1))

void agent_write_guard_begin(struct agent_write_guard *guard)
{
	const uint64_t set = WRITE_SIGNALS | STOP_SIGNAL;

	*guard = (struct agent_write_guard){ 0 };
	pmc_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &set, &guard->mask, sizeof(set));
	if (guard->mask & WRITE_SIGNALS)
		syscall(SYS_rt_sigpending, &guard->pending, sizeof(guard->pending));
}

void agent_write_guard_end(const struct agent_write_guard *guard, bool failed)
{
	const struct timespec zero = { 0, 0 };
	uint64_t now = 0;

	if (failed)
		syscall(SYS_rt_sigpending, &now, sizeof(now));
	now &= WRITE_SIGNALS & ~guard->pending;
	if (now)
		syscall(SYS_rt_sigtimedwait, &now, NULL, &zero, sizeof(now));
	if (~guard->mask & (WRITE_SIGNALS | STOP_SIGNAL))
		pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &guard->mask, NULL, sizeof(guard->mask));
}

bool agent_file_is(int fd)
{
	struct stat st;

	if (atomic_load_explicit(&file.marked, memory_order_relaxed))
		return pmc_sys3(SYS_fcntl, fd, F_GETSIG, 0) == MARK;
	return pmc_sys2(SYS_fstat, fd, &st) == 0 && st.st_dev == file.dev && st.st_ino == file.ino;
}

__attribute__((noinline, cold)) static int another(int fd)
{
	agent_note(NOTE_FILE_REPLACED);
	agent_fds_unmark(&fd, 1);
	atomic_compare_exchange_strong(&file.fd, &fd, -1);
	return ready();
}

/* After a rename (logrotate) or a deletion: creates the dump again under its name, at the same
 * descriptor, so that a concurrent writer uses either file. */
void agent_file_follow(void)
{
	int fd = atomic_load(&file.fd), now, error;
	struct stat st;

	/* Not under a seccomp filter: newfstatat was not tested there. */
	if (!agent.out || fd < 0 || !atomic_load(&file.marked) || !agent_file_is(fd))
		return;
	/* This user cannot create it again. */
	if (fd == agent_taken_number())
		return;
	error = stat_path(agent_file_name, &st);
	if (error == 0 && st.st_dev == file.dev && st.st_ino == file.ino)
		return;
	/* A worker with another user ID may not search the directory. Only a deletion can be seen.
	 */
	if (error == -EACCES && pmc_sys2(SYS_fstat, fd, &st) == 0 && st.st_nlink)
		return;
	if (stat_path("/", &st) != 0 || st.st_dev != file.root_dev || st.st_ino != file.root_ino)
		return;
	now = open_plain();
	if (now < 0) {
		agent_note(NOTE_FILE_GONE);
		return;
	}
	syscall(SYS_dup3, now, fd, O_CLOEXEC);
	syscall(SYS_close, now);
	agent_note(NOTE_FILE_RENAMED);
	atomic_store(&file.headed, false);
	atomic_fetch_add(&file.lost, 1);
}

bool agent_file_takes_snapshot(void)
{
	int fd = ready();
	struct stat st;

	agent_file_follow();
	if (!agent.config.out_max || fd < 0 || pmc_sys2(SYS_fstat, fd, &st) != 0)
		return true;
	if ((uint64_t)st.st_size < agent.config.out_max) {
		atomic_store(&file.full, false);
		return true;
	}
	if (!atomic_exchange(&file.full, true))
		agent_note(NOTE_OUT_MAX);
	return false;
}

/* False: not all of it was written. A frame cut short is damaged; readers skip it. */
static bool write_to(int fd, const void *frames, size_t len)
{
	struct agent_write_guard guard;
	const uint8_t *at = frames;
	long n = 0;

	agent_write_guard_begin(&guard);
	while (len > 0 && ((n = pmc_sys3(SYS_write, fd, at, len)) > 0 || n == -EINTR)) {
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	agent_write_guard_end(&guard, n == -EFBIG);
	if (len > 0) {
		agent_note(NOTE_FILE_WRITE);
		atomic_fetch_add_explicit(&file.lost, 1, memory_order_relaxed);
	}
	return len == 0;
}

static bool write_out(const void *frames, size_t len)
{
	bool done;
	int fd;

	agent_fds_use_begin();
	fd = ready();
	if (fd >= 0 && !agent_file_is(fd))
		fd = another(fd);
	done = fd >= 0 && write_to(fd, frames, len);
	agent_fds_use_end();
	return done;
}

void agent_file_flush(void)
{
	size_t len;
	const void *frames = pending_take(&len);

	if (!len)
		return;
	write_out(frames, len);
	pending_done();
}

/* Not inlined: it would cost the direct write stack. */
__attribute__((noinline)) static bool keep(const void *frames, size_t len)
{
	if (pending_put(frames, len))
		return true;
	agent_file_flush();
	return pending_put(frames, len);
}

void agent_file_append(const void *frames, size_t len)
{
	size_t old;

	/* Frames of a first process without PMC_OUT are only for its own report, which a killed
	 * process does not make. */
	if (agent.first && !agent.out && keep(frames, len))
		return;
	if (write_out(frames, len) || !agent.first)
		return;
	/* The newest of what cannot be written is still in the report. */
	if (!pending_put(frames, len) && pending_take(&old)) {
		pending_done();
		pending_put(frames, len);
	}
}

const void *agent_file_waiting(size_t *len)
{
	const void *frames = pending_take(len);

	/* A handler that interrupted this thread's pending_put(). */
	if (!frames && atomic_load(&owner) == &me) {
		*len = used;
		frames = room;
	}
	return frames;
}

uint32_t agent_file_lost(void)
{
	return atomic_load_explicit(&file.lost, memory_order_relaxed);
}

int agent_file_fd(void)
{
	return atomic_load(&file.fd);
}

int agent_file_read(bool *named)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
	const int now = atomic_load(&file.fd);
	int fd = pmc_fd_open(AT_FDCWD, agent_file_name, flags, 0), mine;
	struct stat st;

	*named = fd >= 0;
	if (!*named && agent_file_is(now))
		fd = pmc_fd_reopen(now);
	if (fd < 0 && (mine = agent_taken_fd(&st)) >= 0)
		fd = (int)pmc_sys3(SYS_fcntl, mine, F_DUPFD_CLOEXEC, 0);
	return fd;
}

bool agent_file_move(int fd)
{
	const bool is_taken = fd >= 0 && agent_taken_number() == fd;
	int moved, old = fd;

	if (fd < 0 || (atomic_load(&file.fd) != fd && !is_taken))
		return false;
	moved = agent_fds_move(fd);
	if (is_taken)
		agent_taken_moved(moved);
	agent_fds_unmark(&fd, 1);
	/* If that is -1 the next append opens the file again. */
	atomic_compare_exchange_strong(&file.fd, &old, moved);
	publish();
	return true;
}

void agent_file_forked(void)
{
	int fd = atomic_load(&file.fd), kept = agent_taken_number();

	agent_fds_mark(&fd, 1);
	agent_fds_mark(&kept, 1);
	atomic_store(&file.headed, false);
	pending_done();
	if (!agent.out || !strchr(agent.out, '%')) {
		if (fd == -2)
			atomic_store(&file.fd, -1);
		return;
	}
	if (fd >= 0 && fd != kept && agent_file_is(fd))
		syscall(SYS_close, fd);
	atomic_store(&file.fd, -1);
	agent_file_path();
	agent_file_open();
}
