/* SPDX-License-Identifier: MIT */
/* attach.c - finds the agent in a running process and copies its control block and registry. */
#include "tools/attach/attach.h"
#include "agent/core/base/file.h"
#include "agent/core/base/hash.h"
#include "agent/core/base/number.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_SLOTS (1u << 20)
/* 2 s for the agent of a `pmctl run` to start. */
#define START_POLLS   200
#define START_POLL_US 10000

struct attach_tids {
	uint32_t tid;
	UT_hash_handle hh;
};

static bool same_program(pid_t a, pid_t b)
{
	struct stat st_a, st_b;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", a);
	if (stat(path, &st_a) != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", b);
	return stat(path, &st_b) == 0 && st_a.st_ino == st_b.st_ino && st_a.st_dev == st_b.st_dev;
}

/* Only the pmctl that is running now: any program can be named pmctl. Also its fork before exec. */
static bool is_run(pid_t pid)
{
	char cmdline[4096];
	ssize_t n;
	FILE *file;

	if (!same_program(pid, getpid()))
		return false;
	snprintf(cmdline, sizeof(cmdline), "/proc/%d/cmdline", pid);
	file = fopen(cmdline, "re");
	if (!file)
		return false;
	n = (ssize_t)fread(cmdline, 1, sizeof(cmdline) - 4, file);
	fclose(file);
	memset(cmdline + n, 0, 4);
	return strcmp(cmdline + strlen(cmdline) + 1, "run") == 0;
}

/* A job of our shell whose exec is still to come: `pmctl run ... & pmctl dump $!`. */
static bool is_fork_of_shell(pid_t pid)
{
	char parent[256];

	attach_status(pid, "PPid", parent);
	return atoi(parent) == getppid() && same_program(pid, getppid());
}

/* Follows more than one step: pmctl run -- pmctl run -- CMD. */
static pid_t program_of(pid_t pid)
{
	char children[4096];
	int child, n;

	while (is_run(pid) && pmc_file_read(children, sizeof(children), "/proc/%d/task/%d/children",
					    pid, pid) > 0) {
		/* The last one: those before it were started by the image that became pmctl. */
		for (char *at = children; sscanf(at, "%d%n", &child, &n) == 1; at += n)
			pid = child;
	}
	return pid;
}

/* Whether the agent has started, or the process may not be read. */
static bool has_started(pid_t pid)
{
	struct attach target = { .pid = pid, .pidfd = -1 };
	bool started = attach_maps(&target) != 0;
	uint32_t state;

	if (!started && target.address)
		started = attach_read(pid, target.address + offsetof(struct pmc_control, state),
				      &state, sizeof(state)) != 0 ||
			  state != PMC_CONTROL_OFF;
	attach_close(&target);
	return started;
}

int attach_pid(const char *text, pid_t *pid)
{
	pid_t program = 0;
	uint64_t value;

	if (!pmc_number(text, INT_MAX, &value) || value == 0)
		return tool_fail(EXIT_USAGE, "invalid process ID '%s'", text);
	*pid = (pid_t)value;
	for (unsigned i = 0; i < START_POLLS; i++) {
		program = program_of(*pid);
		if (!is_run(program) &&
		    (program == *pid ? !is_fork_of_shell(*pid) : has_started(program)))
			break;
		usleep(START_POLL_US);
	}
	if (is_run(program))
		return tool_fail(EXIT_FAIL,
				 "the program of pmctl run (process %d) has not started yet, or "
				 "has ended; try again",
				 *pid);
	if (program != *pid)
		tool_warn("process %d is pmctl run: acting on its child, process %d", *pid,
			  program);
	*pid = program;
	return 0;
}

/* ---- open ---------------------------------------------------------------------------------*/
static int no_pidfd(pid_t pid, int error)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (error == ESRCH)
		return tool_fail(EXIT_FAIL, "no such process: %d", pid);
	if (error == EINVAL || (error == ENOENT && access(path, F_OK) == 0))
		return tool_fail(EXIT_FAIL,
				 "%d is a thread ID: use the ID of its process (Tgid in %s/status)",
				 pid, path);
	return tool_fail(EXIT_FAIL, "cannot open process %d: %s", pid, strerror(error));
}

static int no_agent(const struct attach *target)
{
	char path[64], exe[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", target->pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	return tool_fail(
		EXIT_FAIL,
		"no agent in process %d (%s): start the program with pmctl run -- CMD or with "
		"LD_PRELOAD=libpmcagent.so",
		target->pid, exe[0] ? exe : "a kernel thread");
}

static int refused(const struct attach *target, int error)
{
	if (attach_is_zombie(target->pid) || error == -ESRCH)
		return attach_gone(target->pid);
	if (error == -EPERM || error == -EACCES)
		return attach_not_permitted(target->pid);
	return tool_fail(EXIT_FAIL, "cannot read the memory of process %d: %s", target->pid,
			 strerror(-error));
}

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
	int error = attach_read(target->pid, target->address, control, sizeof(*control));

	if (error)
		return refused(target, error);
	control->out[sizeof(control->out) - 1] = '\0';
	control->why[sizeof(control->why) - 1] = '\0';
	if (control->version != PMC_CONTROL_VERSION || control->bytes != sizeof(*control))
		return tool_fail(EXIT_FAIL,
				 "the agent in process %d has another version (%u, this pmctl "
				 "needs %d): use the pmctl of that agent",
				 target->pid, control->version, PMC_CONTROL_VERSION);
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
	    !first_is_sound(control->uncore.first, control->uncore.groups))
		return damaged(target);
	return 0;
}

static bool same_namespace(pid_t pid)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return stat(path, &theirs) != 0 || stat("/proc/self/ns/pid", &ours) != 0 ||
	       (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
}

int attach_open(struct attach *target, pid_t pid)
{
	int error;

	memset(target, 0, sizeof(*target));
	target->pid = pid;
	target->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (target->pidfd < 0)
		return no_pidfd(pid, errno);
	error = attach_maps(target);
	if (error)
		return refused(target, error);
	if (!target->address)
		return attach_is_zombie(pid) ? attach_gone(pid) : no_agent(target);
	target->other_pid_namespace = !same_namespace(pid);
	return read_control(target);
}

void attach_close(struct attach *target)
{
	if (target->pidfd >= 0)
		close(target->pidfd);
	target->pidfd = -1;
	for (size_t i = 0; i < target->n_images; i++)
		free(target->images[i].path);
	free(target->images);
	target->images = NULL;
	target->n_images = 0;
	free(target->registry.slots);
	target->registry.slots = NULL;
	pmc_arena_free(&target->arena);
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

static void know(struct attach *target, const struct slot *slot)
{
	struct pmc_arena *arena = &target->arena;
	struct attach_tids *known;

	if (phase_of(slot) == SLOT_FREE)
		return;
	if (phase_of(slot) == SLOT_RESERVED || !slot->tid)
		target->starting = true;
	HASH_FIND(hh, target->tids, &slot->tid, sizeof(slot->tid), known);
	if (known)
		return;
	known = pmc_arena_alloc(arena, sizeof(*known));
	if (!known)
		return;
	known->tid = slot->tid;
	HASH_ADD(hh, target->tids, tid, sizeof(known->tid), known);
}

static bool has_ended(const struct attach *target, uint32_t tid)
{
	/* An address in the other process, maybe a forged one. */
	uint64_t word, at = (uintptr_t)target->registry.ended + tid / 64 * sizeof(word);

	return tid < REGISTRY_TIDS && attach_read(target->pid, at, &word, sizeof(word)) == 0 &&
	       (word >> (tid % 64) & 1);
}

bool attach_knows(const struct attach *target, uint32_t tid)
{
	struct attach_tids *known;

	HASH_FIND(hh, target->tids, &tid, sizeof(tid), known);
	return known || has_ended(target, tid);
}

static bool registry_is_sound(const struct attach *target, const struct registry *registry)
{
	size_t words = 3 * registry->n_groups + registry->n_fds + (registry->n_fds + 1) / 2;
	size_t least = sizeof(struct slot) + words * sizeof(uint64_t);

	return registry->n_groups <= PMC_EVENTS_MAX && registry->n_fds <= PMC_EVENTS_MAX &&
	       registry->set_words == words && registry->slot_bytes >= least &&
	       registry->slot_bytes < least + 64 && registry->slot_bytes % 8 == 0 &&
	       registry->capacity <= MOST_SLOTS && registry->high <= registry->capacity &&
	       first_is_sound(target->control.first, registry->n_groups) &&
	       target->control.first[registry->n_groups] == registry->n_fds;
}

static int read_slots(struct attach *target, const char *second)
{
	struct registry *registry = &target->registry;

	for (uint32_t i = 0; i < target->n_slots; i++) {
		struct slot *a = registry_slot(registry, i);
		struct slot *b = (struct slot *)(void *)(second + i * registry->slot_bytes);

		know(target, a);
		know(target, b);
		if (!steady(target, a, b))
			a->word = SLOT_FREE;
	}
	return target->arena.failed ? tool_fail(EXIT_FAIL, "out of memory") : 0;
}

int attach_look_again(struct attach *target)
{
	struct registry *registry = &target->registry;
	char *first = NULL, *second = NULL;
	size_t bytes;
	int error, code;

	free(registry->slots);
	error = attach_read(target->pid, target->control.registry, registry, sizeof(*registry));
	target->slots_address = (uint64_t)(uintptr_t)registry->slots;
	registry->slots = NULL;
	if (error)
		return refused(target, error);
	if (!registry_is_sound(target, registry))
		return damaged(target);
	target->n_slots = registry->high;
	target->tids = NULL;
	target->starting = false;
	pmc_arena_free(&target->arena);
	target->routines = NULL;
	bytes = target->n_slots * registry->slot_bytes;
	first = malloc(bytes + 1);
	second = malloc(bytes + 1);
	if (!first || !second) {
		code = tool_fail(EXIT_FAIL, "out of memory");
		goto out;
	}
	error = attach_read(target->pid, target->slots_address, first, bytes);
	if (!error)
		error = attach_read(target->pid, target->slots_address, second, bytes);
	if (error) {
		code = refused(target, error);
		goto out;
	}
	registry->slots = first;
	first = NULL;
	code = read_slots(target, second);
out:
	free(first);
	free(second);
	return code;
}

int attach_look(struct attach *target)
{
	int code = read_control(target);

	return code ? code : attach_look_again(target);
}

bool attach_same_image(struct attach *target)
{
	struct pmc_control now;

	return attach_read(target->pid, target->address, &now, sizeof(now)) == 0 &&
	       now.magic == PMC_CONTROL_MAGIC &&
	       memcmp(now.identity, target->control.identity, sizeof(now.identity)) == 0 &&
	       syscall(SYS_pidfd_send_signal, target->pidfd, 0, NULL, 0) == 0;
}
