/* SPDX-License-Identifier: MIT */
/*
 * cmd_ctl.c - pmctl ctl: starts, stops and resets the counters of running processes.
 *
 * The exec group is left alone: it counts other processes, whose rows are subtracted from it.
 */
#include "lib/base/clock.h"
#include "lib/base/config.h"
#include "lib/count/group.h"
#include "tools/attach/attach.h"
#include "tools/cli/flags.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum action { START, STOP, RESET, STATUS, ACTIONS };

static const char *const actions[] = { "start", "stop", "reset", "status" };

/* A thread younger than this may have read control.counting just before it was changed. */
#define YOUNG_NS 100000000u

/* ---- accounts ---------------------------------------------------------------------------- */

static uint64_t address_of(const struct attach *target, const struct slot *slot)
{
	return (uintptr_t)target->registry.accounts +
	       reader_index(&target->reader, slot) * sizeof(*target->registry.accounts);
}

static void read_account(const struct attach *target, const struct slot *slot,
			 struct account *account, struct account_side *side)
{
	memset(account, 0, sizeof(*account));
	if (attach_read(target, address_of(target, slot), account, sizeof(*account)) != 0 ||
	    !account_read(account, slot->seq + 1, side))
		snapshot_account_open(&target->reader, slot, false, side);
}

static bool write_account(const struct attach *target, uint64_t address,
			  const struct account *account, const struct account_side *side)
{
	const uint32_t number = account->number + 1;

	return attach_write(target, address + offsetof(struct account, sides[number & 1]), side,
			    sizeof(*side)) == 0 &&
	       attach_write(target, address + offsetof(struct account, number), &number,
			    sizeof(number)) == 0;
}

static void (*const change[])(struct account_side *side, const struct account_words *now) = {
	[START] = account_start,
	[STOP] = account_stop,
	[RESET] = account_reset,
};

static bool is_sampling(const struct attach *target)
{
	const struct sample_tables *tables = snapshot_tables(&target->reader);

	return tables && tables->like.eventset;
}

/* The count of the thread's sampling event: time enabled, time running, value. Not changed if
 * that cannot be read. */
static void read_sampled(const struct attach *target, const struct slot *slot, uint64_t sampled[3])
{
	const struct sample_thread *thread =
		is_sampling(target) ? snapshot_sample_thread(&target->reader, slot) : NULL;
	struct pmc_reading reading;
	uint64_t value;

	if (!thread)
		return;
	value = snapshot_sampled(&target->reader, thread, &reading);
	if (!reading.n)
		return;
	/* 1 ns remains, as of groups: the event has counted 0. */
	sampled[0] = reading.enabled_ns - (reading.enabled_ns > 0);
	sampled[1] = reading.running_ns - (reading.running_ns > 0);
	sampled[2] = value;
}

/* *lost: the sum of the values that rows of live threads had, which a reset subtracts from the
 * process. */
static bool switch_account(const struct attach *target, enum action action, const struct slot *slot,
			   struct account_words *lost)
{
	struct account_words now, values;
	struct account_side side;
	struct account account;

	read_account(target, slot, &account, &side);
	if (!attach_thread_words(target, slot->tid, &now))
		return false;
	values = now;
	account_values(&side, &values);
	change[action](&side, &now);
	if (action == RESET)
		read_sampled(target, slot, side.sampled);
	/* If another thread has taken the slot, its account is that thread's. */
	if (!write_account(target, address_of(target, slot), &account, &side))
		return false;
	for (unsigned i = 0; i < ACCOUNT_WORDS; i++)
		lost->of[i] += values.of[i];
	lost->unknown |= values.unknown;
	return true;
}

static void switch_process(const struct attach *target, enum action action,
			   const struct account_words *lost)
{
	const uint64_t at = target->address + offsetof(struct pmc_control, account);
	struct account_words now;
	struct account_side side;
	struct account account;

	if (attach_read(target, at, &account, sizeof(account)) != 0 ||
	    !account_read(&account, 1, &side))
		return;
	attach_process_words(target, &now);
	if (action != RESET) {
		change[action](&side, &now);
	} else {
		/* Rows of ended threads keep their values, so only values of live rows are
		 * subtracted from the process. */
		for (unsigned i = ACCOUNT_MINOR; i < ACCOUNT_WORDS; i++)
			side.base[i] += lost->of[i];
		side.base[ACCOUNT_CPU] += lost->of[ACCOUNT_CPU];
		side.unknown |= lost->unknown;
		side.base[ACCOUNT_WALL] =
			side.stopped ? side.at[ACCOUNT_WALL] : now.of[ACCOUNT_WALL];
		side.base[ACCOUNT_OVERHEAD] =
			side.stopped ? side.at[ACCOUNT_OVERHEAD] : now.of[ACCOUNT_OVERHEAD];
		side.reset_ns = now.of[ACCOUNT_WALL];
	}
	write_account(target, at, &account, &side);
}

/* ---- groups -------------------------------------------------------------------------------*/
struct switching {
	struct attach *target;
	enum action action;
	unsigned threads, uncounted;
	struct account_words lost_words; /* of the rows of live threads, before the switch */
	/* The counts that a reset takes from the rows of live threads and so from the thread group,
	 * laid out like set_base(). */
	uint64_t lost[3 * PMC_EVENTS_MAX];
};

/* Reads all groups into `base`, laid out like set_base(). False: one could not be read. */
static bool read_all(struct attach *target, const struct snapshot_groups *groups,
		     uint64_t base[3 * PMC_EVENTS_MAX])
{
	for (unsigned g = 0; g < groups->groups; g++) {
		uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];
		unsigned first = groups->first[g], n = groups->first[g + 1] - first;
		struct pmc_reading reading;

		attach_group_read(target, groups->fds[first], groups->ids[g], n, &reading, words);
		if (!reading.n)
			return false;
		/* 1 ns remains: a thread that does not run after the reset has counted 0; with
		 * time enabled 0 it would be not-counted. */
		base[2 * g] = reading.enabled_ns - (reading.enabled_ns > 0);
		base[2 * g + 1] = reading.running_ns - (reading.running_ns > 0);
		memcpy(base + 2 * groups->groups + first, words, n * sizeof(*words));
	}
	return true;
}

static bool reset_slot(struct switching *s, struct slot *slot, const struct snapshot_groups *groups)
{
	static const uint64_t zero[3 * PMC_EVENTS_MAX];
	struct attach *target = s->target;
	unsigned n = 2 * groups->groups + groups->first[groups->groups];
	uint64_t base[3 * PMC_EVENTS_MAX];
	uint64_t at = attach_slot_address(target, slot) + offsetof(struct slot, data) +
		      target->registry.n_groups * sizeof(uint64_t);

	if (!read_all(target, groups, base) || !attach_is_alive(target, slot) ||
	    attach_write(target, at, base, n * sizeof(*base)) != 0)
		return false;
	/* Reused by another thread in the meantime: that one starts at 0. */
	if (!attach_is_alive(target, slot)) {
		(void)attach_write(target, at, zero, n * sizeof(*zero));
		return false;
	}
	for (unsigned i = 0; i < n; i++)
		s->lost[i] += base[i] - groups->base[i];
	return true;
}

static bool switch_groups(const struct switching *s, const struct snapshot_groups *groups)
{
	bool all = true;

	for (unsigned g = 0; g < groups->groups; g++) {
		uint32_t error;
		int fd = attach_group_dup(s->target, groups->fds[groups->first[g]], groups->ids[g],
					  &error);

		if (fd < 0 || (s->action == START ? pmc_perf_group_enable(fd) :
						    pmc_perf_group_disable(fd)) != 0)
			all = false;
		if (fd >= 0)
			close(fd);
	}
	return all;
}

/* Applies the action to threads that started at `since` or later; only those of the first pass,
 * since = 0, are counted. */
static void switch_threads(struct switching *s, uint64_t since)
{
	struct attach *target = s->target;

	for (uint32_t i = 0; i < target->n_slots; i++) {
		struct slot *slot = registry_slot(&target->registry, i);
		struct snapshot_groups groups;
		bool done, accounted;

		if ((slot->word & ~0xffffu) != SLOT_LIVE || slot->start_ns < since)
			continue;
		groups = snapshot_groups_of(&target->reader, slot);
		accounted = switch_account(target, s->action, slot, &s->lost_words);
		if (!groups.groups)
			done = accounted;
		else
			done = s->action == RESET ? reset_slot(s, slot, &groups) :
						    switch_groups(s, &groups);
		if (since)
			continue;
		s->threads += done;
		s->uncounted += !done;
	}
}

static void write_base(const struct switching *s, size_t offset,
		       const struct pmc_control_totals *totals, unsigned n)
{
	(void)attach_write(s->target,
			   s->target->address + offset + offsetof(struct pmc_control_totals, base),
			   totals->base, n * sizeof(totals->base[0]));
}

/* Rows of ended threads keep their counts, and the thread group contains them: it loses only what
 * the live rows lose. */
static void reset_thread_group(struct switching *s)
{
	struct pmc_control_totals *totals = &s->target->control.threads;
	unsigned n = 2 * totals->groups + totals->first[totals->groups];

	if (!totals->groups)
		return;
	/* With PMC_INHERIT=clock there is one task-clock, from which the CPU time of rows is
	 * subtracted. */
	for (unsigned i = 0; i < n; i++)
		totals->base[i] += totals->eventset == s->target->control.eventset ?
					   s->lost[i] :
					   s->lost_words.of[ACCOUNT_CPU];
	write_base(s, offsetof(struct pmc_control, threads), totals, n);
}

/* Of the thread group a reset is reset_thread_group(). */
static void switch_total(const struct switching *s, struct pmc_control_totals *totals)
{
	const unsigned n = 2 * totals->groups + totals->first[totals->groups];
	const struct snapshot_groups groups = snapshot_groups_of_total(totals);

	if (s->action != RESET)
		switch_groups(s, &groups);
	else if (totals->groups && read_all(s->target, &groups, totals->base))
		write_base(s, offsetof(struct pmc_control, uncore), totals, n);
}

static int write_control(const struct switching *s, size_t offset, uint32_t value)
{
	const struct attach *target = s->target;
	int error = attach_write(target, target->address + offset, &value, sizeof(value));

	return error ? attach_no_memory(target, error) : 0;
}

/* For threads that start from now on. */
static int set_counting(const struct switching *s)
{
	int code = write_control(s, offsetof(struct pmc_control, switched),
				 s->target->control.switched + 1);

	if (code || s->action == RESET)
		return code;
	return write_control(s, offsetof(struct pmc_control, counting), s->action == START);
}

static int apply(struct switching *s)
{
	uint64_t begin = pmc_now_ns();
	int code = set_counting(s);

	/* Only now: a thread that is not among these slots sees the new control.counting. */
	if (!code)
		code = attach_look_again(s->target);
	if (code)
		return code;
	/* Process and thread group start before the rows and stop after them, so that totals are
	 * never below the rows. */
	if (s->action == START) {
		switch_process(s->target, s->action, &s->lost_words);
		switch_total(s, &s->target->control.threads);
	}
	switch_threads(s, 0);
	if (s->action != RESET) {
		code = attach_look_again(s->target);
		if (!code)
			switch_threads(s, begin > YOUNG_NS ? begin - YOUNG_NS : 1);
	}
	if (s->action == STOP)
		switch_total(s, &s->target->control.threads);
	else if (s->action == RESET)
		reset_thread_group(s);
	if (s->action != START)
		switch_process(s->target, s->action, &s->lost_words);
	switch_total(s, &s->target->control.uncore);
	if (!code && s->action == RESET)
		code = write_control(s, offsetof(struct pmc_control, resets),
				     s->target->control.resets + 1);
	return code;
}

/* ---- PMC_DELAY ----------------------------------------------------------------------------- */

/* The agent comes first, at a tick of a thread that runs: it knows CPU times better. */
#define GRACE_NS 20000000u

/* An image of a process. */
struct delayed {
	uint64_t due_ns;  /* UINT64_MAX: never */
	uint32_t changes; /* starts and stops of counting when it was found */
};

static uint32_t changes(const struct pmc_control *control)
{
	return control->switched - control->resets;
}

/* PMC_START and PMC_DELAY in the environment that the program started with. */
static void read_delay(const struct attach *target, bool *start, uint64_t *delay_ns)
{
	FILE *file = attach_open_text(target, "environ");
	char *item[] = { NULL, NULL };
	struct pmc_config_error error;
	struct pmc_config config;
	size_t room = 0;

	while (file && getdelim(item, &room, '\0', file) > 0) {
		if (!strncmp(*item, "PMC_DELAY=", 10) &&
		    !pmc_config_from_env(item, &config, &error))
			*delay_ns = config.delay;
		if (!strncmp(*item, "PMC_START=", 10) &&
		    !pmc_config_from_env(item, &config, &error))
			*start = config.start;
	}
	free(*item);
	if (file)
		fclose(file);
}

/* A forked child starts with its parent, as its agent does. */
static struct delayed *find_delayed(const struct attach *target, struct attach_delays *delays)
{
	const struct pmc_process_fixed *fixed = &target->control.process;
	struct delayed *delayed = pmc_map_at(&delays->images, &delays->arena,
					     target->control.identity, 16, sizeof(*delayed));
	const struct delayed *parent =
		fixed->flags & PMC_PROCESS_FORKED ?
			pmc_map_find(&delays->images, fixed->parent_identity, 16) :
			NULL;
	uint64_t delay_ns = delays->delay_ns;
	bool start = true;

	if (delayed->due_ns)
		return delayed;
	read_delay(target, &start, &delay_ns);
	delayed->changes = changes(&target->control);
	delayed->due_ns = !start || !delay_ns ? UINT64_MAX :
			  parent	      ? parent->due_ns :
						fixed->start_ns + delay_ns + GRACE_NS;
	return delayed;
}

static int end_delay(struct attach *target, struct attach_delays *delays, uint64_t *due_ns)
{
	struct switching s = { .target = target, .action = START };
	const struct delayed *delayed = find_delayed(target, delays);
	int code;

	if (target->control.counting || delayed->changes != changes(&target->control))
		return 0;
	if (delayed->due_ns > pmc_now_ns()) {
		*due_ns = delayed->due_ns;
		return 0;
	}
	code = attach_look(target);
	return code ? code : apply(&s);
}

bool attach_end_delay(pid_t pid, struct attach_delays *delays, uint64_t *due_ns, char *why)
{
	struct attach target;
	int code;

	*due_ns = UINT64_MAX;
	tool_keep_errors(why, ATTACH_WHY);
	code = attach_open(&target, pid, ATTACH_WRITE | ATTACH_PATIENT);
	if (!code)
		code = end_delay(&target, delays, due_ns);
	if (code == ATTACH_AGAIN || target.pidfd < 0 || attach_has_ended(&target))
		code = 0;
	attach_close(&target);
	tool_keep_errors(NULL, 0);
	return !code;
}

/* ---- the command --------------------------------------------------------------------------- */

static int report(const struct switching *s)
{
	static const char *const done[] = { "started", "stopped", "reset to 0" };
	const bool groups = s->target->registry.n_groups,
		   events = groups || s->target->control.accounts, samples = is_sampling(s->target);
	pid_t pid = s->target->pid;

	if (groups && !s->threads && s->uncounted)
		return tool_fail(EXIT_FAIL,
				 "no counters to switch: none of the %u threads of process %d has "
				 "any; pmctl doctor shows what blocks them",
				 s->uncounted, pid);
	printf("process %d: %s%s %s in %u thread%s", pid,
	       events  ? "counters" :
	       samples ? "CPU time, faults, switches" :
			 "CPU time, faults and switches",
	       samples ? " and samples" : "", done[s->action], s->threads,
	       s->threads == 1 ? "" : "s");
	if (!events && !samples)
		printf("; no perf event is counted");
	else if (groups && s->uncounted)
		printf("; %u without counters, or just ended", s->uncounted);
	putchar('\n');
	return 0;
}

static int act(struct attach *target, void *arg)
{
	struct switching s = { .target = target, .action = *(const enum action *)arg };
	int code = attach_look(target);

	if (!code && s.action == STATUS)
		printf("process %d: counting is %s, %u thread%s\n", target->pid,
		       target->control.counting ? "on" : "off", target->n_slots,
		       target->n_slots == 1 ? "" : "s");
	if (code || s.action == STATUS)
		return code;
	code = apply(&s);
	return code ? code : report(&s);
}

static int ctl(pid_t pid, void *action)
{
	return attach_act(pid, *(const enum action *)action == STATUS ? 0 : ATTACH_WRITE, act,
			  action);
}

struct request {
	struct attach_targets targets;
	const char **words;
	unsigned n;
};

#define FLAG_OPTIONS struct request
#define USAGE                                                                                      \
	"a process ID and an action are required: pmctl ctl PID|--tree PID|--name GLOB "           \
	"start|stop|reset|status"

const struct tool_flag cmd_ctl_flags[] = {
	ATTACH_TARGET_FLAGS(targets),
	FLAG_LIST(0, NULL, "PID", words, n, NULL, .words = actions, .n_words = ACTIONS,
		  .agent = true),
	FLAG_END,
};

/* ACTIONS: none has this name. */
static enum action action_of(const char *word)
{
	enum action action = START;

	while (action < ACTIONS && strcmp(word, actions[action]) != 0)
		action++;
	return action;
}

int cmd_ctl(int argc, char **argv)
{
	struct request request = { .n = 0 };
	struct attach_targets *targets = &request.targets;
	enum action action;
	const char *word;
	int code = tool_args_parse(argc, argv, &request);

	if (code)
		return code;
	if (request.n != (targets->pids || targets->tree || targets->named ? 1 : 2))
		return tool_fail(EXIT_USAGE, USAGE);
	word = request.words[request.n - 1];
	/* In either order. */
	if (request.n == 2 && action_of(request.words[0]) < ACTIONS)
		word = request.words[0];
	if (request.n == 2)
		targets->pid = request.words[word == request.words[0]];
	action = action_of(word);
	if (action == ACTIONS)
		return tool_fail_unknown("unknown action", word,
					 tool_nearest(word, actions, ACTIONS),
					 "give start, stop, reset or status");
	return attach_each(targets, USAGE, ctl, &action);
}
