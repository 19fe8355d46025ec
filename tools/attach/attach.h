/* SPDX-License-Identifier: MIT */
/*
 * attach.h - access from outside to a running process that has the agent.
 *
 * Private to this folder.
 *
 * No thread of the process is interrupted. Its memory is untrusted input, like a file. Functions
 * that return `int` return 0, or the exit code after printing the error.
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
	uint64_t address; /* of the control block, in that process; 0: none */
	struct pmc_control control;
	struct attach_image *images;
	size_t n_images;
	/* A copy of registry and slots; slots that changed while being copied are SLOT_FREE. */
	struct registry registry;
	uint64_t slots_address;
	uint32_t n_slots;
	struct attach_tids *tids; /* of all slots in use, changing ones included */
	bool starting;		  /* a thread has a slot and no tid yet */
	bool other_pid_namespace;
	struct attach_routine *routines;
	struct pmc_arena arena;
};

/* ---- attach.c ---- */
/* A process ID from the command line. The ID of a `pmctl run` becomes that of the program it
 * measures, and a warning says so. */
int attach_pid(const char *text, pid_t *pid);
int attach_open(struct attach *target, pid_t pid);
void attach_close(struct attach *target);
/* Copies the control block, the registry and the slots. */
int attach_look(struct attach *target);
/* Copies the registry and the slots again. */
int attach_look_again(struct attach *target);
/* Whether a slot has, or had a moment ago, a thread of this tid. */
bool attach_knows(const struct attach *target, uint32_t tid);
/* Whether the process still exists and has not called exec. */
bool attach_same_image(struct attach *target);

/* ---- refuse.c: /proc/PID/status, and errors that return EXIT_FAIL ---- */
/* A field of it, such as "VmHWM"; "": there is none. */
void attach_status(pid_t pid, const char *field, char value[256]);
/* Prints why the kernel denies access to the process, and the fix. */
int attach_not_permitted(pid_t pid);
int attach_gone(pid_t pid);
/* Whether the process has ended and its parent has not waited for it. */
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
/* Copies up to ATTACH_PARTS pieces by one system call, in this order. */
int attach_read_parts(pid_t pid, const struct attach_part *parts, unsigned n);
/* Copies up to cap - 1 bytes, to the first NUL; always NUL-terminated. */
int attach_read_text(pid_t pid, uint64_t address, char *to, size_t cap);
/* Fills target->images with the files mapped into the process, and target->address if the agent's
 * control block is in the data of one. */
int attach_maps(struct attach *target);

/* ---- group.c ---- */
/* Groups of a thread or of a total, with descriptors as numbered in the process. */
struct attach_groups {
	unsigned groups;
	const uint16_t *first;
	const int *fds;
	const uint64_t *ids, *base;
};
void attach_groups_of(const struct attach *target, struct slot *slot, struct attach_groups *groups);
void attach_groups_of_total(const struct pmc_control_totals *totals, struct attach_groups *groups);
/* Duplicates a descriptor of the process if it is the group with this kernel ID; else -1, and
 * *error says why. */
int attach_group_dup(const struct attach *target, int fd, uint64_t id, uint32_t *error);
/* Reads group g; reading->n is 0 on failure. False: the descriptor could not be duplicated. */
bool attach_group_read(const struct attach *target, const struct attach_groups *groups, unsigned g,
		       struct pmc_reading *reading, uint64_t *words);
/* Appends the readings, less their bases, to the frame being built. *reason: why groups are not
 * open; the first error is stored there if it was 0. */
void attach_groups_frame(const struct attach *target, struct pmc_frame_buf *buf,
			 const struct attach_groups *groups, uint32_t *reason);

/* ---- threads.c, process.c: frames, appended to a buffer that the caller grows ---- */
/* The largest THREAD and REGION frame, scratch space included. */
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
		struct slot *slot, bool own_routines);
/* Appends the row of a task if the agent did not see it start. */
void attach_adopted(struct attach *target, const struct attach_tasks *tasks,
		    const struct attach_task *task, struct pmc_frame_buf *buf);
/* Appends TOTAL, PROCESS and EVENTSET frames. */
void attach_process_frames(struct attach *target, struct pmc_frame_buf *buf);

/* ---- out.c ---- */
struct attach_out {
	int fd;
	char path[PATH_MAX];
};
/* path: of -o; NULL: the dump of the process, or a new file if it has none. */
int attach_out_open(struct attach *target, const char *path, struct attach_out *out);
int attach_out_write(struct attach_out *out, const uint8_t *frames, size_t len);

/* ---- signal.c ---- */
/* Sends the dump signal and prints the path of the dump when the snapshot is in it. */
int attach_signal(pid_t pid);

#endif
