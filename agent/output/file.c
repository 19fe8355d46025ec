/* SPDX-License-Identifier: MIT */
/*
 * file.c - opens the dump and appends whole frames to it, one write each.
 *
 * Safe in a signal handler and in any thread: raw system calls, no lock. Two threads that open at
 * once both open; the loser closes his.
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
	bool stream; /* a pipe or device: what was written cannot be read back */
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

/* Whether what is there already may be appended to: nothing, or a dump. */
static int look(int fd, struct stat *st)
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
 * The signal that our descriptor would send if it sent any (O_ASYNC): nobody else's has it, and to
 * ask for it is the cheapest way to tell that it still is ours. fstat does, too, but from Linux
 * 6.13 on a file whose times somebody asked for gets new ones with the next write: after an fstat
 * each row would be a change of the inode as well, 1,800 instructions.
 */
#define MARK 61

/* A seccomp filter may know fcntl's commands, and let only some of them pass. */
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
	/* Never a reader of our own pipe, and never one who waits: a host must not hang in us. */
	int fd = -ENOENT, moved, flags = O_WRONLY | O_APPEND | O_NONBLOCK;
	struct stat st;

	if (!file_path[0])
		return -ENOENT;
	/* A private dump that its owner removed is not made again: nobody would read it. */
	if (agent.out || agent.first || agent_job_owner_alive())
		flags |= O_CREAT;
	fd = sys_open(file_path, flags);
	if (fd < 0)
		return fd;
	int error = look(fd, &st);

	if (error) {
		syscall(SYS_close, fd);
		return error;
	}
	/* A dump signal may have interrupted whoever holds the lock. */
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

const char *agent_file_remedy(int error)
{
	switch (-error) {
	case ENOTSUP:
		return "exists and is no dump; it was left alone: name another file or remove it";
	case ENOENT:
		return "its directory does not exist: create it first, or name an absolute path";
	case EACCES:
	case EPERM:
		return "no permission to write there: name another place";
	case EROFS:
		return "the file system is read-only: name another place";
	case EISDIR:
		return "is a directory: name a file in it";
	case ELOOP:
		return "is a symbolic link, and those are not followed: name the file itself";
	case ENAMETOOLONG:
		return "the name is too long";
	case ENXIO:
		return "is a pipe that nobody reads: start its reader first";
	case ENOSPC:
	case EDQUOT:
		return "the disk is full";
	default:
		return "it cannot be opened for writing";
	}
}

int agent_file_check(void)
{
	int fd = open_file();

	if (fd < 0) {
		pmc_log(PMC_LOG_ERROR, "PMC_OUT=%s: %s (the program runs on, this run is not kept)",
			file_path, agent_file_remedy(fd));
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

void agent_file_whole(void)
{
	atomic_store_explicit(&file.headed, true, memory_order_relaxed);
}

/* One that was pending before is not ours. */
__attribute__((noinline, cold)) static void take_back(int signo, uint64_t before)
{
	const struct timespec zero = { 0, 0 };
	uint64_t mine = 1ull << (signo - 1) & ~before;

	if (mine)
		syscall(SYS_rt_sigtimedwait, &mine, NULL, &zero, sizeof(mine));
}

/* The calling thread writes to the dump, and a handler of ours is there for what that raises. */
static __thread volatile bool writing;

static _Atomic bool shield; /* our handler stands for SIGXFSZ */

void agent_file_shield(bool stands)
{
	atomic_store(&shield, stands);
}

bool agent_file_writing(void)
{
	return writing;
}

/*
 * A file raises nothing but SIGXFSZ, and while our handler stands for that one it need not be
 * blocked: two system calls that are a tenth of what the end of a thread without groups costs.
 * Only where the thread ends: another may have one pending that is its own, which could not be told
 * from ours, or be taken out of the write by a handler that jumps. And only until a write fails:
 * what the signal does then is not left to a handler that the host may be changing right now.
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
	/* Where the host has blocked it, it waits. */
	if (*error == EFBIG)
		take_back(SIGXFSZ, 0);
	return n;
}

/* Our own write must not kill the host: SIGXFSZ and SIGPIPE it raises are taken back. */
__attribute__((noinline)) static ssize_t guarded_write(int fd, const void *data, size_t len,
						       int *error)
{
	const uint64_t set = 1ull << (SIGXFSZ - 1) | 1ull << (SIGPIPE - 1);
	uint64_t old = 0, before = 0;
	ssize_t n;

	pmc_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &set, &old, sizeof(set));
	if (old & set)
		syscall(SYS_rt_sigpending, &before, sizeof(before));
	n = pmc_sys3(SYS_write, fd, data, len);
	*error = n < 0 ? (int)-n : 0;
	if (*error == EFBIG || *error == EPIPE)
		take_back(*error == EFBIG ? SIGXFSZ : SIGPIPE, before);
	pmc_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	return n;
}

/* The host may have closed our number, and something else may have it now. */
static bool still_ours(int fd)
{
	struct stat st;

	if (atomic_load_explicit(&file.marked, memory_order_relaxed))
		return pmc_sys3(SYS_fcntl, fd, F_GETSIG, 0) == MARK;
	return pmc_sys2(SYS_fstat, fd, &st) == 0 && st.st_dev == file.dev && st.st_ino == file.ino;
}

/* A full pipe: its reader may be slow, but it is not the host that waits for it. */
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
	/* A stream cannot be taken up in the middle of a frame. A file can: the frame is torn. */
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

/* Frames of a first process without PMC_OUT are for its own report: killed, it makes none. */
static bool may_wait(void)
{
	return agent.first && !agent.out;
}

void agent_file_flush(void)
{
	size_t len;
	const void *frames = backlog_take_all(&len);

	if (!len)
		return;
	write_out(frames, len);
	backlog_done();
}

/* Apart: what goes to the file at once shall not pay for it. */
__attribute__((noinline)) static bool keep(const void *frames, size_t len)
{
	if (backlog_put(frames, len))
		return true;
	agent_file_flush();
	return backlog_put(frames, len);
}

void agent_file_append(const void *frames, size_t len)
{
	if (!may_wait() || !keep(frames, len))
		write_out(frames, len);
}

const void *agent_file_waiting(size_t *len)
{
	return backlog_take_all(len);
}

void agent_file_tidy(void)
{
	/* Our open may have made the private dump again just after its owner removed it. */
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
	/* -1: it is opened again by the next append. */
	atomic_compare_exchange_strong(&file.fd, &old, moved);
	return true;
}

void agent_file_forked(void)
{
	int fd = atomic_load(&file.fd);

	agent_fds_mark(&fd, 1);
	atomic_store(&file.headed, false);
	atomic_store(&file.failed, false);
	backlog_forget();
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
