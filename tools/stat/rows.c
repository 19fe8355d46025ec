/* SPDX-License-Identifier: MIT */
/* rows.c - groups, the rows that sum them, and the row of what no thread's row has. */
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "tools/stat/stat.h"

#include <limits.h>
#include <sys/sysinfo.h>

/* Clocks that are not read at the same time differ. schedstat of a thread on a CPU lags by a tick.
 */
#define SLACK_NS 1000000u
/* CPU time of a switch that task-clock lacks, at most. */
#define SWITCH_NS 10000u

struct stat_row *stat_row(struct stat_job *stat, const struct stat_key *key)
{
	struct pmc_arena *arena = &stat->arena;
	const size_t counts = (stat->live.view.count + 1) * sizeof(struct pmc_count);
	struct stat_row *row;

	HASH_FIND(hh, stat->by_key, key, sizeof(*key), row);
	if (row && !row->ended)
		return row;
	if (row)
		HASH_DEL(stat->by_key, row);
	row = tool_realloc(NULL, sizeof(*row) + counts);
	*row = (struct stat_row){ .key = *key, .seen = true, .shown = true };
	row->counts = (struct pmc_count *)(row + 1);
	HASH_ADD(hh, stat->by_key, key, sizeof(*key), row);
	stat->rows = pmc_arena_grow(arena, stat->rows, stat->n_rows, &stat->rows_room,
				    sizeof(*stat->rows));
	return stat->rows[stat->n_rows++] = row;
}

/* CPU time of a row until now. task-clock lacks the switches themselves, and schedstat what a
 * thread has had since it was put on a CPU, up to a tick. */
static uint64_t ran(struct stat_row *row)
{
	row->ran_ns += row->clock_ns - row->ran_clock_ns;
	row->ran_clock_ns = row->clock_ns;
	if (row->sum.cpu_ns > row->ran_ns)
		row->ran_ns = row->sum.cpu_ns;
	return row->ran_ns;
}

/* The part of its CPU time that its task-clock stands for. That of a thread that has started since
 * the start lacks what it ran before its events were opened, which is known at its first reading,
 * but for what schedstat then lags behind. Later the switches hide how much that was. */
static uint64_t counted(struct stat_row *row)
{
	const bool first = !row->ran_ns;
	const uint64_t ns = ran(row), lacks = pmc_sub_sat(ns, row->clock_ns),
		       switches = row->task.slices;

	if (!row->later)
		return ns;
	if (first)
		row->missed_switches = switches;
	if (lacks > row->missed_ns + (switches - row->missed_switches) * SWITCH_NS)
		row->missed_ns = lacks - (switches - row->missed_switches) * SWITCH_NS;
	return ns - row->missed_ns;
}

bool stat_row_is_over(const struct stat_job *stat, const struct stat_row *row)
{
	return stat->target == STAT_PROCESS && row->task.pid && !row->seen;
}

void stat_drop_rows(struct stat_job *stat)
{
	unsigned kept = 1;

	for (unsigned r = 1; r < stat->n_rows; r++) {
		struct stat_row *row = stat->rows[r], *same;

		if (!stat_row_is_over(stat, row)) {
			stat->rows[kept++] = row;
			continue;
		}
		HASH_FIND(hh, stat->by_key, &row->key, sizeof(row->key), same);
		if (same == row)
			HASH_DEL(stat->by_key, row);
		stat->dropped_clock_ns += counted(row);
		stat->dropped_ns += row->ran_ns;
		live_groups_free(&row->groups);
		live_task_close(&row->task, &stat->budget);
		free(row);
	}
	stat->n_rows = stat->n_rows ? kept : 0;
}

/* ---- readings ------------------------------------------------------------------------------- */

static void read_clock(const struct stat_job *stat, const struct live_group *group,
		       struct stat_row *row)
{
	if (stat->clock >= group->first && stat->clock - group->first < group->n &&
	    group->now.running_ns >= group->now.enabled_ns)
		row->clock_ns = group->words[stat->clock - group->first];
}

/* A thread was on a CPU for this long between the last reading of its waits and its end. */
static void end_row(struct stat_row *row)
{
	const uint64_t since_ns = row->clock_ns - row->clock_read_ns;
	const uint64_t lag_ns = pmc_sub_sat(row->clock_ns, row->sum.cpu_ns);

	row->sum.lacks |= since_ns > 0;
	row->sum.cpu_ns += since_ns > lag_ns ? since_ns : lag_ns;
	row->sum.ns += row->sum.ns > row->before.ns ? since_ns : 0;
}

void stat_read_row(const struct stat_job *stat, struct stat_row *row)
{
	bool was_open = false;

	for (unsigned g = 0; g < row->groups.n; g++) {
		struct live_group *group = &row->groups.list[g];

		was_open |= group->fds != NULL;
		if (live_group_read(group))
			read_clock(stat, group, row);
		if (!row->seen)
			live_group_close(group);
	}
	if (!row->seen && was_open)
		end_row(row);
}

void stat_step(struct stat_job *stat)
{
	stat->before_ns = stat->now_ns;
	stat->rest.before = stat->rest.sum;
	stat->rest.clock_before_ns = stat->rest.clock_ns;
	for (unsigned r = 0; r < stat->n_rows; r++) {
		stat->rows[r]->before = stat->rows[r]->sum;
		stat->rows[r]->shown = stat->rows[r]->seen;
		for (unsigned g = 0; g < stat->rows[r]->groups.n; g++)
			live_group_step(&stat->rows[r]->groups.list[g]);
	}
}

/* The kernel ends the events of a process that gets other rights by an exec (begin_new_exec() in
 * fs/exec.c), and those of every process before it frees its memory. Ordinary programs lack up to
 * 25 % by the latter, if they do nothing but fork, and pmctl's child some ms before its exec. */
uint64_t stat_lacks_ns(const struct stat_job *stat)
{
	const struct live_groups *groups = &stat->rows[0]->groups;
	const uint64_t used =
		pmc_timeval_ns(&stat->usage.ru_utime) + pmc_timeval_ns(&stat->usage.ru_stime);
	uint64_t lacks;

	if (stat->target != STAT_COMMAND || !groups->n)
		return 0;
	lacks = pmc_sub_sat(used, groups->list[0].now.enabled_ns);
	return lacks > used / 4 + LIVE_TICK_NS ? lacks : 0;
}

/* ---- CPU time of the process that no row of its threads has ------------------------------------
 * Of threads that ended before they were found, and of others before they were found or after their
 * last reading. */

int stat_clock(const struct stat_job *stat)
{
	const uint64_t clock = stat->cgroup ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_TASK_CLOCK;

	for (unsigned e = 0; e < stat->live.view.count; e++) {
		const struct pmc_event_def *def = &stat->live.view.events[e].def;

		if (def->type == PERF_TYPE_SOFTWARE && def->config == clock &&
		    (stat->target != STAT_MACHINE || stat->cgroup))
			return (int)e;
	}
	return -1;
}

uint64_t stat_processes_ns(struct stat_job *stat)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < stat->n_processes; p++) {
		struct stat_process *process = &stat->processes[p];
		const uint64_t ns = process->ended ? 0 : live_process_cpu_ns(process->pid);

		if (ns)
			process->cpu_ns = ns;
		else if (!stat->unread_ns)
			stat->unread_ns = stat->budget.now_ns - stat->read_ns;
		sum += process->cpu_ns;
	}
	return sum;
}

void stat_rest_start(struct stat_job *stat)
{
	const struct live_events *live = &stat->live;
	struct stat_row *rest = &stat->rest;
	const int clock = stat_clock(stat);

	stat->clock = UINT_MAX;
	if (!stat_has_waits(stat))
		return;
	for (unsigned i = 0; i < live->plan.opened && !stat->refused; i++)
		if ((int)live->view_of[i] == clock &&
		    live->view.events[clock].def.scope == PMC_SCOPE_ALL)
			stat->clock = i;
	*rest = (struct stat_row){ .key = STAT_NO_KEY, .name = "(ended threads)" };
	rest->counts =
		pmc_arena_alloc(&stat->arena, (live->view.count + 1) * sizeof(*rest->counts));
	if (stat->target == STAT_PROCESS)
		stat->process_ns = stat_processes_ns(stat);
}

/* Never falls, so that the intervals add up. */
void stat_rest_read(struct stat_job *stat, uint64_t process_ns)
{
	const uint64_t slack =
		stat->clock == UINT_MAX ? (uint64_t)get_nprocs() * LIVE_TICK_NS : SLACK_NS;
	uint64_t cpu = pmc_sub_sat(process_ns, stat->process_ns), clock = cpu;
	struct live_span *rest = &stat->rest.sum;

	if (!process_ns || !stat->process_ns)
		return;
	cpu = pmc_sub_sat(cpu, stat->dropped_ns);
	clock = pmc_sub_sat(clock, stat->dropped_clock_ns);
	for (unsigned r = 1; r < stat->n_rows; r++) {
		struct stat_row *row = stat->rows[r];

		clock = pmc_sub_sat(clock, counted(row));
		cpu = pmc_sub_sat(cpu, row->ran_ns);
	}
	if (cpu > rest->cpu_ns + slack)
		rest->cpu_ns = cpu;
	if (stat->clock != UINT_MAX && clock > stat->rest.clock_ns + slack)
		stat->rest.clock_ns = clock;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static void set_span(struct stat_row *row, bool cumulative)
{
	row->span = cumulative ? row->sum : live_span_since(&row->sum, &row->before);
}

void stat_sum(struct stat_job *stat, bool cumulative)
{
	const struct live_events *live = &stat->live;
	struct stat_row *rest = &stat->rest;
	const uint64_t rest_ns = rest->clock_ns - (cumulative ? 0 : rest->clock_before_ns);
	const struct live_span of_command = {
		.ns = stat->now_ns - stat->begin_ns,
		.user_ns = pmc_timeval_ns(&stat->usage.ru_utime),
		.system_ns = pmc_timeval_ns(&stat->usage.ru_stime),
	};

	for (unsigned r = 0; r < stat->n_rows; r++) {
		struct stat_row *row = stat->rows[r];

		set_span(row, cumulative);
		live_counts_clear(live, row->counts);
		if (row->span.ns)
			live_counts_os(live, &row->span, true, row->counts);
		for (unsigned g = 0; g < row->groups.n; g++)
			live_group_add(&row->groups.list[g], live, cumulative, row->counts);
	}
	/* At least 0 is not known. */
	for (unsigned e = 0; stat->lacks_ns && e < live->view.count; e++)
		if (!stat->rows[0]->counts[e].raw && live_event_is_open(live, e))
			stat->rows[0]->counts[e].state = PMC_NOT_COUNTED;
	/* These times are known at its end. */
	if (stat->target == STAT_COMMAND && stat->ended)
		live_counts_os(live, &of_command, false, stat->rows[0]->counts);
	set_span(rest, cumulative);
	rest->shown = rest_ns || rest->span.cpu_ns;
	if (rest->counts)
		live_counts_clear(live, rest->counts);
	if (rest_ns)
		rest->counts[live->view_of[stat->clock]] =
			(struct pmc_count){ .state = PMC_COUNTED,
					    .raw = rest_ns,
					    .enabled_ns = rest_ns,
					    .running_ns = rest_ns };
}
