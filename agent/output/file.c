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
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

AGENT_ROOMY static char file_path[PATH_MAX];
static struct {
	_Atomic int fd; /* -1: not open; -2: cannot be */
	_Atomic bool headed;
	_Atomic uint32_t lost;
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

void agent_out_expand(struct pmc_out *out, const char *pattern, const char *letters)
{
	const char *base = agent.exe ? strrchr(agent.exe, '/') : NULL;
	struct timespec now;

	for (const char *p = pattern; *p; p++) {
		if (p[0] != '%' || !p[1]) {
			pmc_out_char(out, *p);
			continue;
		}
		p++;
		if (!strchr(letters, *p)) {
			pmc_out_bytes(out, p - 1, 2);
			continue;
		}
		switch (*p) {
		case 'j':
			pmc_out_hex_bytes(out, agent.job, 8);
			break;
		case 't':
			clock_gettime(CLOCK_REALTIME, &now);
			pmc_out_u64(out, (uint64_t)now.tv_sec);
			break;
		case 'p':
			pmc_out_u64(out, (uint64_t)agent.pid);
			break;
		case 'h':
			pmc_out_str(out, agent.host);
			break;
		case 'e':
			pmc_out_str(out, base ? base + 1 : "unknown");
			break;
		case 'r':
			pmc_out_i64(out, agent.rank < 0 ? 0 : agent.rank);
			break;
		default:
			pmc_out_char(out, '%');
		}
	}
}

void agent_file_path(void)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, file_path, sizeof(file_path));
	pmc_agent_control.out[0] = '\0';
	if (!agent.out) {
		pmc_out_str(&out, agent.private_dump ? agent.private_dump : "");
		return;
	}
	agent_out_expand(&out, agent.out, "phre%");
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
	if (!S_ISREG(st->st_mode))
		return -ENOTSUP;
	if (st->st_size == 0)
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
#define MARK PMC_CONTROL_OUT_MARK

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

/* pmctl dump writes to a duplicate of the descriptor, never to a path that this process names. */
static void publish(void)
{
	int fd = atomic_load(&file.fd);

	atomic_store(&pmc_agent_control.out_fd, fd >= 0 ? fd + 1 : 0);
}

static int open_file(void)
{
	/* Non-blocking: opening a pipe, which is refused, must not wait for its reader. */
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
	moved = agent_fds_move(fd);
	if (moved >= 0) {
		syscall(SYS_close, fd);
		fd = moved;
	} else {
		agent_fds_mark(&fd, 1);
	}
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
	case ENXIO: /* a pipe without a reader */
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
		if (fd >= 0) {
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
	if (agent.out)
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

static void consume(uint64_t signals)
{
	const struct timespec zero = { 0, 0 };

	if (signals)
		syscall(SYS_rt_sigtimedwait, &signals, NULL, &zero, sizeof(signals));
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

/* The host may have closed the number, and another file may have it now. */
static bool still_ours(int fd)
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

/* False: not all of it was written. A frame cut short is damaged; readers skip it. */
static bool write_out(const void *frames, size_t len)
{
	struct agent_write_guard guard;
	const uint8_t *at = frames;
	int fd = ready();
	long n = 0;

	if (fd >= 0 && !still_ours(fd))
		fd = another(fd);
	if (fd < 0)
		return false;
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
	size_t old;

	if (may_wait() && keep(frames, len))
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
	return pending_take_last(len);
}

uint32_t agent_file_lost(void)
{
	return atomic_load_explicit(&file.lost, memory_order_relaxed);
}

void agent_file_tidy(void)
{
	/* Opening may have created the private dump again just after its owner removed it. */
	if (!agent.out && !agent.first && atomic_load(&file.fd) >= 0 && !agent_job_owner_alive())
		syscall(SYS_unlinkat, AT_FDCWD, file_path, 0);
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
	agent_fds_unmark(&fd, 1);
	/* If that is -1 the next append opens the file again. */
	atomic_compare_exchange_strong(&file.fd, &old, moved);
	publish();
	return true;
}

void agent_file_forked(void)
{
	int fd = atomic_load(&file.fd);

	agent_fds_mark(&fd, 1);
	atomic_store(&file.headed, false);
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
	agent_file_open();
}
