/* SPDX-License-Identifier: MIT */
/*
 * file.c - opens the dump and appends whole frames to it, one write each.
 *
 * Safe in signal handlers and in any thread: raw system calls, no lock. If two threads open the
 * file at the same time, the loser closes its descriptor.
 */
#include "agent/output/file.h"
#include "agent/base/agent.h"
#include "agent/base/fdspace.h"
#include "agent/output/pending_frames.h"
#include "agent/core/dump/frame.h"
#include "agent/core/base/log.h"
#include "agent/core/base/out.h"
#include "agent/core/base/sys.h"
#include "agent/base/note.h"
#include "agent/output/process_frames.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/prctl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

AGENT_ROOMY static char file_path[PATH_MAX];
static struct {
	_Atomic int fd; /* -1: not open; -2: cannot be */
	_Atomic bool headed, failed;
	bool stream; /* a pipe or device, which cannot be read back */
	dev_t dev;
	ino_t ino;
	_Atomic bool marked; /* the descriptor carries MARK */
	uint64_t start;
} file = { .fd = -1 };

static int sys_open(const char *path, int flags)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

void agent_file_path(void)
{
	struct pmc_out out;
	const char *base = agent.exe ? strrchr(agent.exe, '/') : NULL;

	pmc_out_to_mem(&out, file_path, sizeof(file_path));
	pmc_agent_control.out[0] = '\0';
	if (!agent.out) {
		pmc_out_str(&out, agent.private_dump ? agent.private_dump : "");
		return;
	}
	for (const char *p = agent.out; *p; p++) {
		if (*p != '%') {
			pmc_out_char(&out, *p);
			continue;
		}
		switch (*++p) {
		case 'p':
			pmc_out_u64(&out, (uint64_t)agent.pid);
			break;
		case 'h':
			pmc_out_str(&out, agent.host);
			break;
		case 'e':
			pmc_out_str(&out, base ? base + 1 : "unknown");
			break;
		case 'r':
			pmc_out_i64(&out, agent.rank < 0 ? 0 : agent.rank);
			break;
		case '%':
			pmc_out_char(&out, '%');
			break;
		case '\0':
			p--;
			break;
		}
	}
	memcpy(pmc_agent_control.out, file_path, out.len + 1);
}

/* 0 if the file may be appended to: it is empty or a dump. */
static int check_contents(int fd, struct stat *st)
{
	struct stat again;
	uint8_t head[PMC_MAGIC_BYTES];
	long n = 0;

	if (fstat(fd, st) != 0)
		return -errno;
	if (!S_ISREG(st->st_mode) || st->st_size == 0)
		return 0;
	fd = sys_open(file_path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return fd;
	if (fstat(fd, &again) == 0 && again.st_dev == st->st_dev && again.st_ino == st->st_ino)
		n = syscall(SYS_pread64, fd, head, sizeof(head), 0L);
	syscall(SYS_close, fd);
	return pmc_is_dump(head, n) ? 0 : -ENOTSUP;
}

/*
 * The F_SETSIG number of the dump's descriptor, which never sends a signal (no O_ASYNC): reading it
 * is the cheapest test that the number still is the dump's. fstat is another, but since Linux 6.13
 * a file whose times were queried gets new ones at the next write: each row would change the inode,
 * 1,800 instructions.
 */
#define MARK 61

/* A seccomp filter may permit only some commands of fcntl. */
static void mark(int fd)
{
	atomic_store(&file.marked, pmc_sys1(SYS_prctl, PR_GET_SECCOMP) == 0 &&
					   pmc_sys3(SYS_fcntl, fd, F_SETSIG, MARK) == 0);
}

void agent_file_filtered(void)
{
	atomic_store(&file.marked, false);
}

static int open_file(void)
{
	/* Write-only: not a reader of our own pipe. Non-blocking: the host must not wait here. */
	int fd = -ENOENT, moved, flags = O_WRONLY | O_APPEND | O_NONBLOCK;
	struct stat st;

	if (!file_path[0])
		return -ENOENT;
	/* A private dump that its owner has removed is not created again: nobody would read it. */
	if (agent.out || agent.first || agent_job_owner_alive())
		flags |= O_CREAT;
	fd = sys_open(file_path, flags);
	if (fd < 0)
		return fd;
	int error = check_contents(fd, &st);

	if (error) {
		syscall(SYS_close, fd);
		return error;
	}
	/* Not waiting: a dump signal may have interrupted the thread that holds the lock. */
	moved = agent_fds_window_try();
	if (moved >= 0) {
		moved = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, moved);
		agent_fds_window_close();
	}
	if (moved >= 0) {
		syscall(SYS_close, fd);
		fd = moved;
	}
	agent_fds_mark(&fd, 1);
	file.stream = !S_ISREG(st.st_mode);
	file.dev = st.st_dev;
	file.ino = st.st_ino;
	file.start = (uint64_t)st.st_size;
	mark(fd);
	return fd;
}

const char *agent_file_fix(int error)
{
	switch (-error) {
	case ENOTSUP:
		return "the file exists and is not a dump; name another file or remove it";
	case ENOENT:
		return "its directory does not exist; create it or name an absolute path";
	case EACCES:
	case EPERM:
		return "no permission to write there; name another place";
	case EROFS:
		return "the file system is read-only; name another place";
	case EISDIR:
		return "it is a directory; name a file in it";
	case ELOOP:
		return "it is a symbolic link, which is not followed; name the file itself";
	case ENAMETOOLONG:
		return "the name is too long; name a shorter path";
	case ENXIO:
		return "the pipe has no reader; start its reader first";
	case ENOSPC:
	case EDQUOT:
		return "the disk is full; free space or name another place";
	default:
		return "it cannot be opened for writing; name another file";
	}
}

int agent_file_check(void)
{
	int fd = open_file();

	if (fd < 0) {
		pmc_log(PMC_LOG_ERROR,
			"PMC_OUT=%s: %s (the program runs, but this run is not kept)", file_path,
			agent_file_fix(fd));
		agent_note(NOTE_OUT_REFUSED);
		return fd;
	}
	file.fd = fd;
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
		if (fd >= 0) {
			agent_fds_unmark(&fd, 1);
			syscall(SYS_close, fd);
		}
		return expected;
	}
	return fd;
}

static inline int ready(void)
{
	int fd = atomic_load(&file.fd);

	return fd != -1 ? fd : open_now();
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

static void consume(uint64_t signals)
{
	const struct timespec zero = { 0, 0 };

	if (signals)
		syscall(SYS_rt_sigtimedwait, &signals, NULL, &zero, sizeof(signals));
}

static __thread volatile bool writing; /* in shielded_write */
static _Atomic bool shield;	       /* the agent's handler of SIGXFSZ is installed */

void agent_file_shield(bool stands)
{
	atomic_store(&shield, stands);
}

bool agent_file_writing(void)
{
	return writing;
}

/*
 * Whether a write needs no blocked signals. Writing to a file raises only SIGXFSZ, which the
 * agent's handler ignores if it is installed; blocking costs two system calls, a tenth of the end
 * of a thread without groups. Only at a thread's end: a live thread may have a SIGXFSZ of its own
 * pending, or leave the write by a handler that jumps. And only until a write fails: the host may
 * be changing the handler right then.
 */
static bool shielded(void)
{
	return !agent_self && !file.stream &&
	       !atomic_load_explicit(&file.failed, memory_order_relaxed) &&
	       atomic_load_explicit(&shield, memory_order_relaxed);
}

static ssize_t shielded_write(int fd, const void *data, size_t len, int *error)
{
	const bool outer = writing; /* a dump signal may have interrupted it */
	ssize_t n;

	writing = true;
	n = pmc_sys3(SYS_write, fd, data, len);
	writing = outer;
	*error = n < 0 ? (int)-n : 0;
	/* If the host has blocked the signal it is pending now. */
	if (*error == EFBIG)
		consume(1ull << (SIGXFSZ - 1));
	return n;
}

#define WRITE_SIGNALS (1ull << (SIGXFSZ - 1) | 1ull << (SIGPIPE - 1))

void agent_write_guard_begin(struct agent_write_guard *guard)
{
	const uint64_t set = WRITE_SIGNALS;

	*guard = (struct agent_write_guard){ 0 };
	pmc_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &set, &guard->mask, sizeof(set));
	if (guard->mask & set)
		syscall(SYS_rt_sigpending, &guard->pending, sizeof(guard->pending));
}

void agent_write_guard_end(const struct agent_write_guard *guard, bool failed)
{
	uint64_t now = 0;

	if (failed)
		syscall(SYS_rt_sigpending, &now, sizeof(now));
	consume(now & WRITE_SIGNALS & ~guard->pending);
	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &guard->mask, NULL, sizeof(guard->mask));
}

__attribute__((noinline)) static ssize_t guarded_write(int fd, const void *data, size_t len,
						       int *error)
{
	struct agent_write_guard guard;
	ssize_t n;

	agent_write_guard_begin(&guard);
	n = pmc_sys3(SYS_write, fd, data, len);
	*error = n < 0 ? (int)-n : 0;
	agent_write_guard_end(&guard, *error == EFBIG || *error == EPIPE);
	return n;
}

/* The host may have closed the number, and another file may have it now. */
static bool still_ours(int fd)
{
	struct stat st;

	if (atomic_load_explicit(&file.marked, memory_order_relaxed))
		return pmc_sys3(SYS_fcntl, fd, F_GETSIG, 0) == MARK;
	return pmc_sys2(SYS_fstat, fd, &st) == 0 && st.st_dev == file.dev && st.st_ino == file.ino;
}

/* A full pipe: waits 0.1 s for its reader, no longer, since the host waits with us. */
__attribute__((noinline, cold)) static bool has_room(int fd)
{
	struct pollfd poll = { .fd = fd, .events = POLLOUT };
	const struct timespec moment = { 0, 100000000 };

	return syscall(SYS_ppoll, &poll, 1, &moment, NULL, 0) == 1 && poll.revents == POLLOUT;
}

__attribute__((noinline, cold)) static void give_up(int fd, int error)
{
	agent_note(NOTE_FILE_WRITE);
	atomic_store(&file.failed, true);
	/* A stream cannot go on in the middle of a frame. A file can: that frame is damaged. */
	if (error != EAGAIN && error != EPIPE)
		return;
	if (!atomic_compare_exchange_strong(&file.fd, &fd, -2))
		return;
	agent_fds_unmark(&fd, 1);
	syscall(SYS_close, fd);
}

__attribute__((noinline, cold)) static int another(int fd)
{
	agent_note(NOTE_FILE_REPLACED);
	agent_fds_unmark(&fd, 1);
	atomic_compare_exchange_strong(&file.fd, &fd, -1);
	return ready();
}

static void write_out(const void *frames, size_t len)
{
	const uint8_t *at = frames;
	int fd = ready();

	if (fd >= 0 && !still_ours(fd))
		fd = another(fd);
	if (fd < 0)
		atomic_store(&file.failed, true);
	while (fd >= 0 && len > 0) {
		int error;
		ssize_t n = shielded() ? shielded_write(fd, at, len, &error) :
					 guarded_write(fd, at, len, &error);

		if (n < 0 && (error == EINTR || (error == EAGAIN && has_room(fd))))
			continue;
		if (n <= 0) {
			give_up(fd, error);
			return;
		}
		at += n;
		len -= (size_t)n;
	}
}

bool agent_file_incomplete(void)
{
	return atomic_load(&file.failed) || file.stream;
}

/* Frames of a first process without PMC_OUT are only for its own report, which a killed process
 * does not make. */
static bool may_wait(void)
{
	return agent.first && !agent.out;
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
	if (!may_wait() || !keep(frames, len))
		write_out(frames, len);
}

const void *agent_file_waiting(size_t *len)
{
	return pending_take(len);
}

void agent_file_tidy(void)
{
	/* Opening may have created the private dump again just after its owner removed it. */
	if (!agent.out && !agent.first && atomic_load(&file.fd) >= 0 && !agent_job_owner_alive())
		syscall(SYS_unlinkat, AT_FDCWD, file_path, 0);
}

bool agent_file_used(void)
{
	return atomic_load(&file.fd) >= 0;
}

uint64_t agent_file_start(void)
{
	return file.start;
}

const char *agent_file_name(void)
{
	return file_path;
}

int agent_file_fd(void)
{
	return atomic_load(&file.fd);
}

bool agent_file_move(int fd)
{
	int moved, old = fd;

	if (fd < 0 || atomic_load(&file.fd) != fd)
		return false;
	moved = agent_fds_move(fd);
	/* If that is -1 the next append opens the file again. */
	atomic_compare_exchange_strong(&file.fd, &old, moved);
	return true;
}

void agent_file_forked(void)
{
	int fd = atomic_load(&file.fd);

	agent_fds_mark(&fd, 1);
	atomic_store(&file.headed, false);
	atomic_store(&file.failed, false);
	pending_done();
	if (!agent.out || !strchr(agent.out, '%')) {
		if (fd == -2)
			atomic_store(&file.fd, -1);
		return;
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	atomic_store(&file.fd, -1);
	agent_file_path();
}
