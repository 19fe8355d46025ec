/* SPDX-License-Identifier: MIT */
/* attach.c - finds the agent in a running process and copies its control block and registry. */
#include "tools/attach/attach.h"
#include "tools/cli/list.h"
#include "tools/cli/pmctl.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Slots are copied in pieces of this size. */
#define PIECE ((size_t)64 << 10)
/* Live slots beyond twice the number of threads that /proc lists: threads that started since. */
#define NEWBORN 1024
/* After an exec: that many further tries, with pauses. */
#define TRIES	 100
#define PAUSE_NS 1000000

/* ---- open ---------------------------------------------------------------------------------*/
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

int attach_open(struct attach *target, pid_t pid, unsigned flags)
{
	int error = attach_enter(target, pid, flags & ATTACH_WRITE);

	target->patient = flags & ATTACH_PATIENT;
	if (error)
		return attach_no_entry(target, error);
	error = attach_maps(target);
	if (error)
		return attach_no_memory(target, error);
	if (!target->address)
		return target->patient ? ATTACH_AGAIN : attach_no_agent(target);
	target->other_pid_namespace = !same_namespace(target);
	return read_control(target);
}

static void forget_slots(struct attach *target)
{
	free(target->registry.slots);
	free(target->index);
	target->registry.slots = NULL;
	target->index = NULL;
	target->n_slots = target->room = 0;
	attach_tasks_close(&target->tasks);
}

void attach_close(struct attach *target)
{
	attach_leave(target);
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

int attach_act(pid_t pid, unsigned flags, int (*act)(struct attach *target, void *arg), void *arg)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct attach target;
	int code = ATTACH_AGAIN;

	for (unsigned try = 0; try <= TRIES && code == ATTACH_AGAIN; try++) {
		if (try)
			nanosleep(&pause, NULL);
		/* After an exec the agent may not be loaded yet: between the first try and the
		 * last one its absence is no error. */
		code = attach_open(&target, pid, flags | (try % TRIES ? ATTACH_PATIENT : 0));
		if (!code)
			code = act(&target, arg);
		attach_close(&target);
	}
	return code != ATTACH_AGAIN || flags & ATTACH_PATIENT ?
		       code :
		       tool_fail(EXIT_FAIL,
				 "process %d keeps calling exec, or its agent is still starting; "
				 "try again later",
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
	size_t words = 3 * registry->n_groups + registry->n_fds + (registry->n_fds + 1) / 2;
	size_t least = sizeof(struct slot) + words * sizeof(uint64_t);

	return registry->n_groups <= PMC_EVENTS_MAX && registry->n_fds <= PMC_EVENTS_MAX &&
	       registry->set_words == words && registry->slot_bytes >= least &&
	       registry->slot_bytes < least + 64 && registry->slot_bytes % 8 == 0 &&
	       registry->capacity <= REGISTRY_CAPACITY && registry->high <= registry->capacity &&
	       first_is_sound(target->control.first, registry->n_groups) &&
	       target->control.first[registry->n_groups] == registry->n_fds;
}

/* Room for one more slot. Memory grows with the slots that are kept, not with the size that the
 * registry claims. */
static void reserve(struct attach *target)
{
	if (target->n_slots < target->room)
		return;
	target->room = target->room ? 2 * target->room : 64;
	target->index = tool_realloc(target->index, target->room * sizeof(*target->index));
	target->registry.slots =
		tool_realloc(target->registry.slots, target->room * target->registry.slot_bytes);
}

/* Keeps slots `from` to `to` that are equal in two copies. */
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
		reserve(target);
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
		.copy = attach_copy,
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
