/* SPDX-License-Identifier: MIT */
/*
 * attach.h - access from outside to a running process that has the agent.
 *
 * Private to this folder.
 *
 * No thread of the process is interrupted. Its memory is untrusted input, like a file, and it may
 * end, call exec, or lose its process ID to another process at any time: everything is read and
 * written through descriptors that are opened first. Functions that return `int` return 0, the
 * exit code after printing the error, or ATTACH_AGAIN.
 */
#pragma once

#include "lib/live/control.h"
#include "lib/live/registry.h"
#include "lib/snapshot/snapshot.h"
#include "tools/attach/agent.h"
#include "tools/live/task.h"

#include <stdio.h>
#include <sys/types.h>

/* A file mapped from its beginning. */
struct attach_image {
	uint64_t start, end;
	char *path;
};

/* The threads in /proc/PID/task. */
struct attach_task {
	pid_t pid;     /* in the PID namespace of pmctl */
	uint32_t tid;  /* in the thread's own */
	uint32_t slot; /* from 1; 0: no copied one is of this thread */
};
struct attach_tasks {
	struct attach_task *list; /* by tid */
	size_t n, room;
};

/* Nothing was printed: the process called exec while it was being read, its agent is starting, or,
 * with ATTACH_PATIENT, it has no agent that is counting. */
#define ATTACH_AGAIN (-1)

enum {
	ATTACH_WRITE = 1,
	/* The process had an agent before. It may be between an exec and the start of the next
	 * agent, or ending. */
	ATTACH_PATIENT = 2,
};

/* How long threads wait for a CPU, by their readings so far. All zero: none yet. */
struct attach_waits {
	struct pmc_map list; /* struct attach_wait by the thread's ID */
	struct pmc_arena *arena;
};

struct attach {
	pid_t pid;
	/* -1: not open. They stay with the process when its ID is reused. */
	int dir; /* /proc/PID */
	int pidfd;
	/* The same; of a live thread if the main thread has ended. */
	int image, files;
	int mem;	  /* /proc/PID/mem: the memory of the program that ran at the open */
	uint64_t address; /* of the control block, in that process; 0: none of its own */
	struct pmc_control control;
	struct attach_image *images;
	size_t n_images, image_room;
	struct attach_tasks tasks; /* listed before the slots were copied */
	/* A copy of the registry and of the slots of live threads; a slot that changed while being
	 * copied is left out. */
	struct registry registry;
	uint64_t slots_address;
	struct reader reader; /* of these copies */
	void *copies[COPY_KINDS];
	uint32_t n_slots, room;
	uint32_t *index; /* of each copied slot in the process's registry */
	bool other_pid_namespace;
	bool patient; /* ATTACH_PATIENT */
	/* Set by who takes several snapshots; NULL: run delay lacks waits that have not ended. */
	struct attach_waits *waits;
};

/* ---- pid.c: the processes of a command line ---- */
struct attach_targets {
	const char *pid;
	const char *pids;  /* -p PID,PID */
	const char *tree;  /* --tree PID: that process and its descendants */
	const char *named; /* --name GLOB: on the program's name */
	bool many;	   /* errors of single processes are one warning */
};
#define ATTACH_TARGET_FLAGS(targets)                                                               \
	FLAG_PROCESSES(targets.pids, "processes", .agent = true),                                  \
		FLAG_TEXT(0, "--tree", "PID", targets.tree, "a process and its descendants",       \
			  .once = "process ID", .agent = true),                                    \
		FLAG_NAMED(targets.named, "processes whose program has this name", .agent = true)

/* A process ID from the command line. The ID of a `pmctl run` becomes that of the program it
 * measures, and a warning says so. */
int attach_pid(const char *text, pid_t *pid);
/* Lists the processes, without pmctl itself. 0, or the exit code with the error printed. usage:
 * where no process is given. */
int attach_find(struct attach_targets *targets, const char *usage, struct live_tids *found);
/* Calls act for each process, until the first error if there is only one. 0, or the exit code with
 * the error printed. */
int attach_each(struct attach_targets *targets, const char *usage, int (*act)(pid_t pid, void *arg),
		void *arg);

/* Errors of `failed` of n processes, of which the first has this text: the exit code if all failed.
 */
int attach_left_out(unsigned failed, unsigned n, const char *why);

/* ---- attach.c: errors that are printed; each returns EXIT_FAIL ---- */
int attach_gone(pid_t pid);
/* Prints the reason for which memory cannot be read, or returns ATTACH_AGAIN. */
int attach_no_memory(const struct attach *target, int error);

/* ---- descriptors ---- */
/* Opens the descriptors; 0 or -errno. With -EACCES from `mem`, `dir` and `pidfd` are open. */
int attach_enter(struct attach *target, pid_t pid, bool writing);
/* Whether all threads of the process have ended. */
bool attach_has_ended(const struct attach *target);
/* Duplicates a descriptor of the process if it is the group with this kernel ID; else -1, and
 * *error says why. */
int attach_group_dup(const struct attach *target, int fd, uint64_t id, uint32_t *error);
/* For struct reader. */
void attach_group_read(void *target, int fd, uint64_t id, unsigned n, struct pmc_reading *reading,
		       uint64_t *words);
/* A file of /proc/PID for reading; NULL: errno says why. */
FILE *attach_open_text(const struct attach *target, const char *name);

/* ---- memory: 0 or -errno; -ESRCH: the memory is gone, the process ended or called exec ---- */
int attach_read(const struct attach *target, uint64_t address, void *to, size_t len);
int attach_write(const struct attach *target, uint64_t address, const void *from, size_t len);
/* Copies up to cap - 1 bytes, to the first NUL; always NUL-terminated. */
int attach_read_text(const struct attach *target, uint64_t address, char *to, size_t cap);
/* Fills target->images with the files mapped into the process, and target->address if an agent's
 * control block is in the data of one; a block of this version is preferred. */
int attach_maps(struct attach *target);

/* ---- threads ---- */
int attach_tasks_open(struct attach *target);
/* NULL: it has started since, or has ended. */
struct attach_task *attach_task_of(const struct attach *target, uint32_t tid);
/* A file of /proc/PID/task/TID. False: it cannot be read. */
bool attach_read_task(const struct attach *target, pid_t pid, const char *name, char *text,
		      size_t cap);

/* ---- the agent ---- */
/* Opens the process and copies the control block; flags: ATTACH_WRITE, ATTACH_PATIENT. */
int attach_open(struct attach *target, pid_t pid, unsigned flags);
void attach_close(struct attach *target);
/* Copies the control block, the registry and the slots. */
int attach_look(struct attach *target);
/* Copies the registry and the slots again. */
int attach_look_again(struct attach *target);
/* Where the process has a copied slot. */
uint64_t attach_slot_address(const struct attach *target, const struct slot *slot);
/* Whether the thread of a copied slot has not ended. */
bool attach_is_alive(const struct attach *target, const struct slot *slot);
/* Opens the process, calls act and closes the process; repeats that for 100 ms on ATTACH_AGAIN,
 * which is returned with ATTACH_PATIENT only. */
int attach_act(pid_t pid, unsigned flags, int (*act)(struct attach *target, void *arg), void *arg);

/* ---- frames.c: frames, appended to a buffer that grows ---- */
/* Present values of the kernel. False: there is no such task. CPU time is that of schedstat: up to
 * a tick old for a running thread. */
bool attach_thread_words(const struct attach *target, uint32_t tid, struct account_words *now);
void attach_process_words(const struct attach *target, struct account_words *now);

/* The parts that were left out. */
struct attach_missing {
	uint32_t changing;     /* threads that changed their regions all the time */
	bool regions, samples; /* damaged */
	unsigned tries;	       /* left for regions that change */
};
/* Seconds for all threads; a tenth of a second for one. */
#define ATTACH_TRIES	 200000u
#define ATTACH_FEW_TRIES 2000u

/* Regions, row and samples of each slot of one look, then the frames of the process. own_file: they
 * are for another file than the dump of the process. */
int attach_collect(struct attach *target, struct attach_missing *missing, struct pmc_frame_buf *buf,
		   bool own_file);
/* Then the modules and stacks that these refer to, as far as they are not written. */
int attach_collect_stacks(struct attach *target, struct snapshot_written *written,
			  struct attach_missing *missing, struct pmc_frame_buf *buf);

/* The parts of these; for row and process the caller has made room: of the largest THREAD frame,
 * scratch space included. */
#define ATTACH_FRAME_BYTES ((size_t)16 << 10)
void attach_row(struct attach *target, struct pmc_frame_buf *buf, struct slot *slot,
		bool own_routines);
void attach_put_regions(struct attach *target, struct slot *slot, struct attach_missing *missing,
			struct pmc_frame_buf *buf);
void attach_put_samples(struct attach *target, struct slot *slot, struct attach_missing *missing,
			struct pmc_frame_buf *buf);
/* TOTAL, PROCESS and EVENTSET frames. */
void attach_process_frames(struct attach *target, struct pmc_frame_buf *buf);
