/* SPDX-License-Identifier: MIT */
/*
 * made_machine.h - a machine whose time, files, threads and counters a test has made: commands that
 * measure print the same everywhere, and at once.
 *
 * Four CPUs, and a server with four pools of threads and a child process. The clock advances when a
 * command waits. Functions __wrap_NAME take the place of NAME (see the Makefile).
 */
#ifndef PMC_TESTS_UNIT_MADE_MACHINE_H
#define PMC_TESTS_UNIT_MADE_MACHINE_H

#include "lib/base/advice.h"
#include "lib/base/file.h"
#include "tests/unit/fake_pmu.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"
#include "tools/live/events.h"
#include "tools/live/task.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define MS 1000000ull

enum { SERVER = 1234, HELPER = 1300, COMMAND = 1400, MACHINE_CPUS = 4, CPU_ID = 1 << 30 };

static bool machine_without_pmu;
static uint64_t machine_ns = 5000 * MS;

/* ---- threads: their state as a function of time ---------------------------------------------- */

struct machine_thread {
	pid_t pid, tid;
	const char *name, *wchan;
	char state;
	unsigned cpu_permille, delay_permille, voluntary_per_s, involuntary_per_s, ipc_pct;
	uint64_t born_ms, dies_ms; /* dies_ms 0: never */
};

static const struct machine_thread machine_threads[] = {
	{ SERVER, 1234, "server", "do_epoll_wait", 'S', 10, 1, 40, 1, 80, 1000, 0 },
	{ SERVER, 1235, "db-pool-1", "", 'R', 900, 90, 20, 300, 90, 1100, 0 },
	{ SERVER, 1236, "db-pool-2", "", 'R', 600, 390, 20, 300, 95, 1100, 0 },
	{ SERVER, 1237, "db-pool-3", "futex_wait", 'S', 300, 40, 500, 3, 110, 1100, 0 },
	{ SERVER, 1238, "io-1", "io_schedule", 'D', 50, 5, 900, 0, 60, 1200, 0 },
	{ SERVER, 1239, "io-2", "io_schedule", 'D', 45, 5, 850, 0, 62, 1200, 0 },
	{ SERVER, 1240, "http-1", "do_epoll_wait", 'S', 0, 0, 0, 0, 100, 1300, 0 },
	{ SERVER, 1241, "late\033[1m", "hrtimer_nanosleep", 'S', 70, 2, 11, 5, 120, 6500, 0 },
	{ SERVER, 1242, "short", "", 'R', 500, 0, 9, 2, 130, 1300, 6700 },
	{ HELPER, 1300, "helper", "pipe_read", 'S', 120, 8, 77, 2, 140, 2000, 0 },
	{ HELPER, 1301, "", "", 'R', 400, 0, 1, 40, 150, 2000, 0 },
	{ COMMAND, 1400, "app", "", 'R', 830, 10, 4, 12, 170, 5000, 6500 },
};
#define MACHINE_THREADS (sizeof(machine_threads) / sizeof(machine_threads[0]))

static inline bool machine_alive(const struct machine_thread *t)
{
	return t->born_ms * MS <= machine_ns && (!t->dies_ms || machine_ns < t->dies_ms * MS);
}

static inline uint64_t machine_age(const struct machine_thread *t, uint64_t at_ns)
{
	uint64_t end = t->dies_ms && t->dies_ms * MS < at_ns ? t->dies_ms * MS : at_ns;

	return end > t->born_ms * MS ? end - t->born_ms * MS : 0;
}

static inline struct live_span machine_waits(const struct machine_thread *t, uint64_t at_ns)
{
	const uint64_t ns = machine_age(t, at_ns);

	return (struct live_span){ .cpu_ns = ns / 1000 * t->cpu_permille,
				   .delay_ns = ns / 1000 * t->delay_permille,
				   .voluntary = ns * t->voluntary_per_s / (1000 * MS),
				   .involuntary = ns * t->involuntary_per_s / (1000 * MS),
				   .user_ns = ns / 1000 * t->cpu_permille / 10 * 7,
				   .system_ns = ns / 1000 * t->cpu_permille / 10 * 3 };
}

static inline const struct machine_thread *machine_find(pid_t tid)
{
	for (unsigned i = 0; i < MACHINE_THREADS; i++)
		if (machine_threads[i].tid == tid)
			return &machine_threads[i];
	return NULL;
}

/* Cycles at 3 GHz, and what comes with them. */
static inline uint64_t machine_event(const struct pmc_event *event, uint64_t cpu_ns,
				     uint64_t switches, unsigned ipc_pct)
{
	const uint64_t cycles = 3 * cpu_ns, instructions = cycles / 100 * ipc_pct;
	const uint64_t hardware[] = {
		cycles,	       instructions,	 cycles / 90,
		cycles / 1700, instructions / 5, instructions / 400,
		cycles / 30,   cycles / 12,	 cycles / 4,
	};
	const uint64_t software[] = { cpu_ns,	     cpu_ns,	      cpu_ns / 300000,	switches,
				      switches / 40, cpu_ns / 310000, cpu_ns / 90000000 };

	if (event->type == PERF_TYPE_HARDWARE)
		return event->config < 9 ? hardware[event->config] : 0;
	return event->type == PERF_TYPE_SOFTWARE && event->config < 7 ? software[event->config] : 0;
}

/* ---- time, files, this process --------------------------------------------------------------- */

uint64_t __wrap_pmc_now_ns(void);
uint64_t __wrap_pmc_now_ns(void)
{
	return machine_ns;
}

int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *wait, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *wait, const sigset_t *mask)
{
	for (nfds_t i = 0; i < n; i++)
		fds[i].revents = 0;
	machine_ns +=
		wait ? (uint64_t)wait->tv_sec * 1000 * MS + (uint64_t)wait->tv_nsec : 100 * MS;
	return 0;
}

int __wrap_pmc_file_read(char *text, size_t cap, const char *format, ...);
int __wrap_pmc_file_read(char *text, size_t cap, const char *format, ...)
{
	char path[256], file[64];
	va_list args;
	unsigned cpu;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	text[0] = '\0';
	if (!strcmp(path, "/sys/devices/system/cpu/online"))
		return snprintf(text, cap, "0-%d", MACHINE_CPUS - 1);
	if (sscanf(path, "/sys/devices/system/cpu/cpu%u/topology/%63s", &cpu, file) != 2)
		return -ENOENT;
	return snprintf(text, cap, "%u", strcmp(file, "core_id") ? cpu / 2 : cpu % 2);
}

/* The PMU "cpu": no hybrid machine. */
int __wrap_pmc_path_exists(const char *format, ...);
int __wrap_pmc_path_exists(const char *format, ...)
{
	static const char cpu[] = "/sys/bus/event_source/devices/cpu";
	char path[256];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return !strcmp(path, cpu) || !strncmp(path, "/proc/1", 7) ? 0 : -ENOENT;
}

int __wrap_pmc_dir_visit(void (*visit)(const char *name, void *arg), void *arg, const char *format,
			 ...);
int __wrap_pmc_dir_visit(void (*visit)(const char *name, void *arg), void *arg, const char *format,
			 ...)
{
	char path[256], node[16];
	va_list args;
	unsigned cpu;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (!strcmp(path, "/proc")) {
		visit("1234", arg);
		visit("1300", arg);
	} else if (sscanf(path, "/sys/devices/system/cpu/cpu%u", &cpu) == 1) {
		snprintf(node, sizeof(node), "node%u", cpu / 2);
		visit(node, arg);
	} else if (!strcmp(path, "/sys/bus/event_source/devices")) {
		visit("cpu", arg);
	}
	return 0;
}

void __wrap_pmc_here_read(struct pmc_here *here, const struct pmc_roots *roots);
void __wrap_pmc_here_read(struct pmc_here *here, const struct pmc_roots *roots)
{
	*here = (struct pmc_here){ .paranoid = 2,
				   .max_sample_rate = 100000,
				   .user_namespace = PMC_NO,
				   .perfmon = PMC_NO,
				   .core_pmu = machine_without_pmu ? PMC_NO : PMC_YES,
				   .filtered = PMC_NO };
}

/* ---- a command: ends after 1.5 s ---------------------------------------------------------------
 */

static uint64_t machine_child_ends_ns;

int __wrap_tool_child_start(struct tool_child *child, char **command);
int __wrap_tool_child_start(struct tool_child *child, char **command)
{
	child->pid = COMMAND;
	machine_child_ends_ns = machine_ns + 1500 * MS;
	return 0;
}

int __wrap_tool_child_go(struct tool_child *child, const char *name);
int __wrap_tool_child_go(struct tool_child *child, const char *name)
{
	return 0;
}

bool __wrap_tool_child_ended(struct tool_child *child, bool wait);
bool __wrap_tool_child_ended(struct tool_child *child, bool wait)
{
	if (wait && machine_ns < machine_child_ends_ns)
		machine_ns = machine_child_ends_ns;
	if (machine_ns >= machine_child_ends_ns)
		child->pid = 0;
	return !child->pid;
}

void __wrap_tool_child_drop(struct tool_child *child);
void __wrap_tool_child_drop(struct tool_child *child)
{
}

int __wrap_getrusage(int who, struct rusage *usage);
int __wrap_getrusage(int who, struct rusage *usage)
{
	*usage = (struct rusage){ .ru_utime = { 1, 200000 }, .ru_stime = { 0, 34567 } };
	return 0;
}

/* ---- counters ---------------------------------------------------------------------------------
 */

static const struct live_events *machine_events;

bool __wrap_tool_perf_killed(void);
bool __wrap_tool_perf_killed(void)
{
	return false;
}

int __wrap_tool_perf_open(struct pmc_attr *attr, int leader);
int __wrap_tool_perf_open(struct pmc_attr *attr, int leader)
{
	if (machine_without_pmu && attr->base.type != PERF_TYPE_SOFTWARE)
		return -ENOENT;
	return fake_open(attr, leader);
}

/* Since when groups count, by the place of their values. */
static struct {
	const uint64_t *words;
	uint64_t since_ns;
} machine_opened[256];
static unsigned machine_n_opened;

int __wrap_live_groups_open(struct live_groups *groups, const struct live_events *events,
			    enum pmc_perf_group_kind kind, pid_t pid, int cpu);
int __wrap_live_groups_open(struct live_groups *groups, const struct live_events *events,
			    enum pmc_perf_group_kind kind, pid_t pid, int cpu)
{
	const struct pmc_plan *plan = &events->plan;

	machine_events = events;
	for (unsigned g = 0; g < plan->groups; g++) {
		live_groups_take(groups, plan->first[g], plan->first[g + 1] - plan->first[g], -1,
				 cpu < 0 ? (uint64_t)pid : CPU_ID + (uint64_t)cpu);
		assert_true(machine_n_opened < 256);
		machine_opened[machine_n_opened].words = groups->list[groups->n - 1].words;
		machine_opened[machine_n_opened++].since_ns = machine_ns;
	}
	return 0;
}

static inline uint64_t machine_since(const struct live_group *group)
{
	unsigned i = machine_n_opened - 1;

	while (i && machine_opened[i].words != group->words)
		i--;
	return machine_opened[i].since_ns;
}

/* What a thread, or a CPU of which 70 % are in use, has counted. Returns the time for which it
 * could count. */
static inline uint64_t machine_count(uint64_t id, uint64_t at_ns, const struct pmc_event *event,
				     uint64_t *value)
{
	const struct machine_thread *t = machine_find((pid_t)id);
	const struct live_span waits = t ? machine_waits(t, at_ns) : (struct live_span){ 0 };
	/* cpu-clock counts idle time, too. */
	const bool idles = event->type == PERF_TYPE_SOFTWARE && event->config == 0;

	*value = t ? machine_event(event, waits.cpu_ns, waits.voluntary + waits.involuntary,
				   t->ipc_pct) :
		     machine_event(event, idles ? at_ns : at_ns / 10 * 7, at_ns / MS * (id % 8 + 1),
				   100 + 10 * (unsigned)(id % 8));
	return t ? waits.cpu_ns : at_ns;
}

bool __wrap_live_group_read(struct live_group *group);
bool __wrap_live_group_read(struct live_group *group)
{
	const struct pmc_planned *events = &machine_events->plan.events[group->first];
	/* A second group of hardware events shares the counters. */
	const bool shares = events->group && events->event.type == PERF_TYPE_HARDWARE;
	const uint64_t since_ns = machine_since(group);
	uint64_t enabled = 0, now, before;

	if (!group->fds)
		return false;
	for (unsigned i = 0; i < group->n; i++) {
		enabled = machine_count(group->id, machine_ns, &events[i].event, &now) -
			  machine_count(group->id, since_ns, &events[i].event, &before);
		group->words[i] = shares ? (now - before) / 10 * 6 : now - before;
	}
	group->now.enabled_ns = enabled;
	group->now.running_ns = shares ? enabled / 10 * 6 : enabled;
	group->now.n = group->n;
	return true;
}

/* ---- /proc ------------------------------------------------------------------------------------
 */

int __wrap_live_tids_read(pid_t pid, struct live_tids *tids);
int __wrap_live_tids_read(pid_t pid, struct live_tids *tids)
{
	if (!tids->list)
		tids->list = malloc(MACHINE_THREADS * sizeof(*tids->list));
	assert_non_null(tids->list);
	tids->n = 0;
	for (unsigned i = 0; i < MACHINE_THREADS; i++)
		if (machine_threads[i].pid == pid && machine_alive(&machine_threads[i]))
			tids->list[tids->n++] = machine_threads[i].tid;
	return tids->n ? 0 : -ESRCH;
}

uint64_t __wrap_live_process_cpu_ns(pid_t pid);
uint64_t __wrap_live_process_cpu_ns(pid_t pid)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MACHINE_THREADS; i++)
		if (machine_threads[i].pid == pid)
			sum += machine_waits(&machine_threads[i], machine_ns).cpu_ns;
	return sum;
}

void __wrap_live_children_add(pid_t tid, struct live_tids *pids);
void __wrap_live_children_add(pid_t tid, struct live_tids *pids)
{
	if (tid == SERVER)
		pids->list[pids->n++] = HELPER;
}

/* The main threads alone. */
int __wrap_live_trees_read(const struct live_tids *pids, struct live_tids *tids);
int __wrap_live_trees_read(const struct live_tids *pids, struct live_tids *tids)
{
	tids->n = 0;
	for (unsigned i = 0; i < pids->n; i++) {
		live_tids_add(tids, pids->list[i]);
		if (pids->list[i] == SERVER)
			live_tids_add(tids, HELPER);
	}
	return 0;
}

bool __wrap_live_is_zombie(pid_t pid);
bool __wrap_live_is_zombie(pid_t pid)
{
	(void)pid;
	return false;
}

int __wrap_live_task_read(struct live_task *task, uint64_t since_ns, struct live_budget *budget);
int __wrap_live_task_read(struct live_task *task, uint64_t since_ns, struct live_budget *budget)
{
	const struct machine_thread *t = machine_find(task->tid);
	const struct live_span before = task->sum;
	const uint64_t born_ns = t ? t->born_ms * MS : 0;
	uint64_t from = task->read_ns;

	if (!t || !machine_alive(t))
		return -ESRCH;
	if (!from && since_ns && born_ns >= since_ns)
		from = born_ns;
	snprintf(task->stat.name, sizeof(task->stat.name), "%s", t->name);
	snprintf(task->wchan, sizeof(task->wchan), "%s", t->wchan);
	task->stat.state = t->state;
	task->sum = machine_waits(t, machine_ns);
	task->read_ns = machine_ns;
	task->known = from != 0;
	task->sum.ns = before.ns + machine_ns - from;
	task->sum.minor_faults = before.minor_faults + (task->sum.cpu_ns - before.cpu_ns) / 310000;
	task->span = live_span_since(&task->sum, &before);
	task->span.blocked_ns = task->span.ns - task->span.cpu_ns - task->span.delay_ns;
	return 0;
}

struct top_watch;
struct top_process;
void __wrap_top_agent_find(struct top_watch *watch, struct top_process *process);
void __wrap_top_agent_find(struct top_watch *watch, struct top_process *process)
{
}

#endif
