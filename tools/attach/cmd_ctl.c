/* SPDX-License-Identifier: MIT */
/*
 * cmd_ctl.c - pmctl ctl: starts, stops and resets the counters of a running process.
 *
 * The exec group goes on as it is: what it counts are processes of their own, whose rows are
 * subtracted from it.
 */
#include "agent/core/base/clock.h"
#include "agent/core/count/group.h"
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum action { START, STOP, RESET };
static const char *const actions[] = { "start", "stop", "reset" };

/* A thread younger than this may have looked at the switch just before we turned it. */
#define YOUNG_NS 100000000u

struct switching {
	struct attach *target;
	enum action action;
	unsigned threads, uncounted;
	/* What live rows lose by a reset: the thread group has to lose as much. In its layout. */
	uint64_t lost[3 * PMC_EVENTS_MAX];
};

static uint64_t slot_address(const struct attach *target, uint32_t index)
{
	return target->slots_address + (uint64_t)index * target->registry.slot_bytes;
}

static bool still_there(const struct attach *target, uint32_t index, const struct slot *slot)
{
	struct slot now;

	return attach_read(target->pid, slot_address(target, index), &now, sizeof(now)) == 0 &&
	       (now.word & ~0xffffu) == SLOT_LIVE && now.seq == slot->seq;
}

/* What the groups say now, in the layout of a base. False: not all could be read. */
static bool read_all(const struct attach *target, const struct attach_groups *groups,
		     uint64_t base[3 * PMC_EVENTS_MAX])
{
	for (unsigned g = 0; g < groups->groups; g++) {
		uint64_t words[PMC_GROUP_WORDS(PMC_EVENTS_MAX)];
		unsigned first = groups->first[g], n = groups->first[g + 1] - first;
		struct pmc_reading reading;
		uint32_t error;
		int fd = attach_group_dup(target, groups->fds[first], groups->ids[g], &error);

		if (fd < 0)
			return false;
		pmc_group_read(fd, groups->ids[g], n, &reading, words);
		close(fd);
		if (!reading.n)
			return false;
		/* 1 ns stays: a thread that does not run from here on has counted 0, which is not
		 * the same as a group that never was on. */
		base[2 * g] = reading.enabled_ns - (reading.enabled_ns > 0);
		base[2 * g + 1] = reading.running_ns - (reading.running_ns > 0);
		memcpy(base + 2 * groups->groups + first, words, n * sizeof(*words));
	}
	return true;
}

static bool reset_slot(struct switching *s, uint32_t index, struct slot *slot,
		       const struct attach_groups *groups)
{
	static const uint64_t zero[3 * PMC_EVENTS_MAX];
	const struct attach *target = s->target;
	unsigned n = 2 * groups->groups + groups->first[groups->groups];
	uint64_t base[3 * PMC_EVENTS_MAX];
	uint64_t at = slot_address(target, index) + offsetof(struct slot, data) +
		      target->registry.n_groups * sizeof(uint64_t);

	if (!read_all(target, groups, base) || !still_there(target, index, slot) ||
	    attach_write(target->pid, at, base, n * sizeof(*base)) != 0)
		return false;
	/* Its thread ended and another one has the slot: that one starts at 0. */
	if (!still_there(target, index, slot)) {
		(void)attach_write(target->pid, at, zero, n * sizeof(*zero));
		return false;
	}
	for (unsigned i = 0; i < n; i++)
		s->lost[i] += base[i] - groups->base[i];
	return true;
}

static bool switch_groups(const struct switching *s, const struct attach_groups *groups)
{
	bool all = true;

	for (unsigned g = 0; g < groups->groups; g++) {
		uint32_t error;
		int fd = attach_group_dup(s->target, groups->fds[groups->first[g]], groups->ids[g],
					  &error);

		if (fd < 0 ||
		    (s->action == START ? pmc_group_enable(fd) : pmc_group_disable(fd)) != 0)
			all = false;
		if (fd >= 0)
			close(fd);
	}
	return all;
}

/* Threads that began since `since` (0: all). */
static void switch_threads(struct switching *s, uint64_t since)
{
	struct attach *target = s->target;

	for (uint32_t i = 0; i < target->n_slots; i++) {
		struct slot *slot = registry_slot(&target->registry, i);
		struct attach_groups groups;
		bool done;

		if ((slot->word & ~0xffffu) != SLOT_LIVE || slot->start_ns < since)
			continue;
		attach_groups_of(target, slot, &groups);
		done = s->action == RESET ? reset_slot(s, i, slot, &groups) :
					    switch_groups(s, &groups);
		if (since)
			continue;
		s->threads += done;
		s->uncounted += !done;
	}
}

/* Ended threads keep their rows, and the thread group has them: it loses what the rows lose. */
static void reset_total(struct switching *s)
{
	struct pmc_control_totals *totals = &s->target->control.threads;
	unsigned n = 2 * totals->groups + totals->first[totals->groups];

	if (!totals->groups || totals->eventset != s->target->control.eventset)
		return;
	for (unsigned i = 0; i < n; i++)
		totals->base[i] += s->lost[i];
	(void)attach_write(s->target->pid,
			   s->target->address + offsetof(struct pmc_control, threads) +
				   offsetof(struct pmc_control_totals, base),
			   totals->base, n * sizeof(totals->base[0]));
}

static void switch_total(const struct switching *s)
{
	const struct pmc_control *control = &s->target->control;
	struct attach_groups groups;

	/* PMC_INHERIT=clock: rows are taken off it by their CPU time, which goes on. */
	if (s->action == STOP && control->threads.eventset != control->eventset)
		return;
	attach_groups_of_total(&control->threads, &groups);
	switch_groups(s, &groups);
}

/* What counts for the whole machine is no row's: it goes with the threads, and starts anew. */
static void switch_machine(struct switching *s)
{
	struct pmc_control_totals *totals = &s->target->control.machine;
	unsigned n = 2 * totals->groups + totals->first[totals->groups];
	struct attach_groups groups;

	attach_groups_of_total(totals, &groups);
	if (s->action != RESET)
		switch_groups(s, &groups);
	else if (totals->groups && read_all(s->target, &groups, totals->base))
		(void)attach_write(s->target->pid,
				   s->target->address + offsetof(struct pmc_control, machine) +
					   offsetof(struct pmc_control_totals, base),
				   totals->base, n * sizeof(totals->base[0]));
}

static int turn_switch(struct switching *s)
{
	struct attach *target = s->target;
	uint32_t counting = s->action == START, switched = target->control.switched + 1;

	if (attach_write(target->pid, target->address + offsetof(struct pmc_control, switched),
			 &switched, sizeof(switched)) != 0 ||
	    attach_write(target->pid, target->address + offsetof(struct pmc_control, counting),
			 &counting, sizeof(counting)) != 0)
		return attach_gone(target->pid);
	return 0;
}

static int apply(struct switching *s)
{
	uint64_t begin = pmc_now_ns();
	int code = s->action == RESET ? 0 : turn_switch(s);

	/* After the switch is turned: who is not in it will look at it. */
	if (!code)
		code = attach_look_again(s->target);
	if (code)
		return code;
	/* The total is never on for less than a row. */
	if (s->action == START)
		switch_total(s);
	switch_threads(s, 0);
	if (s->action != RESET) {
		code = attach_look_again(s->target);
		if (!code)
			switch_threads(s, begin > YOUNG_NS ? begin - YOUNG_NS : 1);
	}
	if (s->action == STOP)
		switch_total(s);
	else if (s->action == RESET)
		reset_total(s);
	switch_machine(s);
	return code;
}

static int report(const struct switching *s)
{
	static const char *const done[] = { "started", "stopped", "reset to 0" };
	pid_t pid = s->target->pid;

	if (!s->target->registry.n_groups)
		return tool_fail(EXIT_FAIL,
				 "no perf event is counted in process %d; CPU time, faults and "
				 "switches cannot be switched (pmctl doctor tells what stands in "
				 "the way)",
				 pid);
	if (!s->threads && s->uncounted)
		return tool_fail(EXIT_FAIL, "none of the %u threads of process %d has counters",
				 s->uncounted, pid);
	printf("process %d: counters %s in %u thread%s", pid, done[s->action], s->threads,
	       s->threads == 1 ? "" : "s");
	if (s->uncounted)
		printf("; %u without counters, or just ended", s->uncounted);
	putchar('\n');
	return 0;
}

static int parse(int argc, char **argv, pid_t *pid, enum action *action)
{
	const char *near;
	int code;

	for (int i = 1; i < argc; i++)
		if (argv[i][0] == '-')
			return tool_fail(EXIT_USAGE,
					 "there is no flag '%s'; pmctl ctl PID start|stop|reset",
					 argv[i]);
	if (argc != 3)
		return tool_fail(EXIT_USAGE, "it takes a process and what to do: "
					     "pmctl ctl PID start|stop|reset");
	code = attach_pid(argv[1], pid);
	if (code)
		return code;
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(argv[2], actions[i]) == 0) {
			*action = (enum action)i;
			return 0;
		}
	}
	near = tool_nearest(argv[2], actions, 3);
	return tool_fail(EXIT_USAGE, "ctl does not know '%s'; %s%s%s", argv[2],
			 near ? "did you mean '" : "it takes start, stop or reset",
			 near ? near : "", near ? "'?" : "");
}

int cmd_ctl(int argc, char **argv)
{
	struct attach target;
	struct switching s = { .target = &target };
	pid_t pid;
	int code;

	if (tool_wants_help("ctl", argc, argv))
		return EXIT_OK;
	code = parse(argc, argv, &pid, &s.action);
	if (code)
		return code;
	code = attach_open(&target, pid);
	if (!code)
		code = attach_look(&target);
	if (!code)
		code = apply(&s);
	if (!code)
		code = report(&s);
	attach_close(&target);
	return code;
}
