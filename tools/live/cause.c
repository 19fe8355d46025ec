/* SPDX-License-Identifier: MIT */
/* cause.c - the list of functions of the kernel that show what a thread waits for; see cause.h. */
#include "tools/live/cause.h"

#include <string.h>

/* Parts of names of functions, each list with a NULL behind it. The first cause that has a part of
 * the name counts: sock_poll is poll. */
static const struct {
	const char *name, *parts[16];
} causes[N_CAUSES] = {
	[CAUSE_OTHER] = { "other", { NULL } },
	[CAUSE_PAGE_FAULT] = { "page fault", { "page_fault" } },
	[CAUSE_LOCK] = { "lock", { "futex", "flock", "locks_", "semtimedop", "mutex", "rwsem" } },
	[CAUSE_PIPE] = { "pipe", { "pipe_" } },
	[CAUSE_POLL] = { "poll", { "poll", "select" } },
	[CAUSE_SOCKET] = { "socket",
			   { "sock_", "accept", "inet_", "unix_", "tcp_", "udp_", "sk_wait",
			     "sk_stream_wait", "skb_wait" } },
	[CAUSE_TIMER] = { "timer", { "nanosleep" } },
	[CAUSE_CHILD] = { "child", { "sys_wait", "kernel_wait", "vfork" } },
	[CAUSE_SIGNAL] = { "signal", { "sigtimedwait", "sigsuspend", "sys_pause" } },
	[CAUSE_TERMINAL] = { "terminal", { "tty_" } },
	[CAUSE_DISK] = { "disk",
			 { "io_schedule", "folio_wait", "wait_on_page", "wait_on_buffer",
			   "bit_wait_io", "submit_bio_wait", "jbd2_log_wait", "xfs_log_force",
			   "blkdev_direct", "iomap_dio_rw", "rq_qos_wait", "balance_dirty_pages",
			   "swap_read", "fsync", "ksys_sync" } },
};

enum live_cause live_cause_of(const char *function)
{
	for (unsigned cause = CAUSE_PAGE_FAULT; cause < N_CAUSES; cause++)
		for (const char *const *part = causes[cause].parts; *part; part++)
			if (strstr(function, *part))
				return (enum live_cause)cause;
	return CAUSE_OTHER;
}

const char *live_cause_name(enum live_cause cause)
{
	return causes[cause].name;
}
