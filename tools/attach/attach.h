/* SPDX-License-Identifier: MIT */
/*
 * attach.h - a running process that has the agent, as seen and touched from outside.
 *
 * Nothing in the process is interrupted, and nothing it says is believed: its memory is input
 * like a file's. Functions that return `int` give 0, or the exit code after having told why.
 */
#ifndef PMC_TOOLS_ATTACH_ATTACH_H
#define PMC_TOOLS_ATTACH_ATTACH_H

#include "agent/core/base/arena.h"
#include "agent/core/live/control.h"
#include "agent/core/dump/frame.h"
#include "agent/core/live/registry.h"

#include <limits.h>
#include <sys/types.h>

/* A file mapped from its beginning. */
struct attach_image {
	uint64_t start, end;
	char *path;
};

struct attach {
	pid_t pid;
	int pidfd;	  /* -1: not open */
	uint64_t address; /* of the control block, in that process */
	struct pmc_control control;
	struct attach_image *images;
	size_t n_images;
	/* A copy of registry and slots; slots that were changing meanwhile are SLOT_FREE. */
	struct registry registry;
	uint64_t slots_address;
	uint32_t n_slots;
	struct attach_tids *tids; /* of all slots in use, also those left out */
	bool starting;		  /* some thread has a slot and no tid yet */
	bool other_pid_namespace;
	struct attach_sites *sites;
	struct pmc_arena arena;
};

/* ---- attach.c ---- */
/* A pid from the command line; usage error otherwise. */
int attach_pid(const char *text, pid_t *pid);
int attach_open(struct attach *target, pid_t pid);
void attach_close(struct attach *target);
/* The control block anew, then registry and slots. */
int attach_look(struct attach *target);
/* The slots once more. */
int attach_look_again(struct attach *target);
bool attach_knows(const struct attach *target, uint32_t tid);
/* Whether the process is still the one we attached to, of the same image. */
bool attach_same_image(struct attach *target);

/* ---- refuse.c ---- */
/* Tells why the kernel lets us not look into the process, and the remedy. */
int attach_not_permitted(pid_t pid);
int attach_gone(pid_t pid);
/* Whether the process has ended and only its parent does not know yet. */
bool attach_is_zombie(pid_t pid);

/* ---- memory.c: 0 or -errno ---- */
int attach_read(pid_t pid, uint64_t address, void *to, size_t len);
int attach_write(pid_t pid, uint64_t address, const void *from, size_t len);
struct attach_part {
	uint64_t address;
	void *to;
	size_t len;
};
#define ATTACH_PARTS 8
/* Up to ATTACH_PARTS pieces by one system call, in their order. */
int attach_read_parts(pid_t pid, const struct attach_part *parts, unsigned n);
/* Up to cap - 1 bytes, to the first NUL; always NUL-terminated. */
int attach_read_text(pid_t pid, uint64_t address, char *to, size_t cap);
/* Files mapped into the process. -errno of reading its maps. */
int attach_maps(struct attach *target);
/* A dynamic symbol of an image. -ENOENT: it has none of that name. */
int attach_symbol(pid_t pid, uint64_t base, const char *name, uint64_t *address);

/* ---- group.c ---- */
/* The groups of a slot or of an inherit group, as the process has them. */
struct attach_groups {
	unsigned groups;
	const uint16_t *first;
	const int *fds;
	const uint64_t *ids, *base;
};
void attach_groups_of(const struct attach *target, struct slot *slot, struct attach_groups *groups);
void attach_groups_of_total(const struct pmc_control_totals *totals, struct attach_groups *groups);
/* Our own descriptor of a group, proved to be that group; -1 with *error otherwise. */
int attach_group_dup(const struct attach *target, int fd, uint64_t id, uint32_t *error);
/* Their readings, less what a reset left, into the frame being built. *reason: see
 * agent/thread/row.c. */
void attach_groups_frame(const struct attach *target, struct pmc_frame_buf *buf,
			 const struct attach_groups *groups, uint32_t *reason);

/* ---- threads.c, process.c: frames. The buffer is grown by its owner ---- */
/* Bytes that any frame of this process takes at most, scratch included. */
#define ATTACH_FRAME_BYTES ((size_t)16 << 10)
struct attach_task {
	pid_t pid;    /* in our pid namespace */
	uint32_t tid; /* in its own */
};
struct attach_tasks {
	struct attach_task *list; /* by tid */
	size_t n;
	int fd; /* /proc/PID/task */
};
int attach_tasks_open(struct attach *target, struct attach_tasks *tasks);
void attach_tasks_close(struct attach_tasks *tasks);
void attach_row(struct attach *target, const struct attach_tasks *tasks, struct pmc_frame_buf *buf,
		struct slot *slot, bool own_sites);
/* A thread whose start the agent did not see; nothing if it is none such. */
void attach_adopted(struct attach *target, const struct attach_tasks *tasks,
		    const struct attach_task *task, struct pmc_frame_buf *buf);
/* TOTAL, EVENTSET and PROCESS frames. */
void attach_process_frames(struct attach *target, struct pmc_frame_buf *buf);
uint64_t attach_site(struct attach *target, struct pmc_frame_buf *buf, uint64_t address);

/* ---- out.c ---- */
struct attach_out {
	int fd;
	char path[PATH_MAX];
};
/* asked: -o, or NULL. */
int attach_out_open(struct attach *target, const char *asked, struct attach_out *out);
int attach_out_write(struct attach_out *out, const uint8_t *frames, size_t len);

/* ---- signal.c ---- */
/* Has the process dump by itself; prints where to. */
int attach_signal(pid_t pid);

#endif
