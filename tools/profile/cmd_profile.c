/* SPDX-License-Identifier: MIT */
/*
 * cmd_profile.c - pmctl profile: where any program computes and waits, recorded from outside.
 *
 * Two events on each thread and CPU: one that samples work on the CPU, and context switches, whose
 * samples have the stacks of waits. Their result is a dump like that of the agent.
 */
#include "lib/base/advice.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "tools/cli/flags.h"
#include "tools/cli/progress.h"
#include "tools/profile/private.h"
#include "tools/report/report.h"
#include "tools/rings/rings.h"
#include "tools/rows/packed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct job {
	const char *pids, *name, *cgroup, *event, *output;
	pid_t tid;
	bool machine, on_cpu, off_cpu, histogram, wakers;
	uint64_t frequency, stack_bytes;
	enum { UNWIND_AUTO, UNWIND_DWARF, UNWIND_FP } unwind;
	int width, top;
	bool wide;
	unsigned char keys[PMC_KEYS_MOST + 1]; /* of the rows of the table; none: functions */

	struct rings rings;
	struct live_tids processes;
	struct prof prof;
	struct pmc_counter_event sampled;
	struct pmc_event_def on;       /* the same, as the dump has it */
	bool reads;		       /* each sample has the event's count */
	struct pmc_tracepoint *waking; /* NULL: who ends waits is not recorded */
	bool user_only;		       /* the kernel's work may not be observed */
	const char *path;	       /* of the dump */
	bool exists, is_old;	       /* the dump was there, with frames of another recording */
	bool replaced;		       /* which are kept under another name */
	bool for_caller;	       /* who reads the dump at once, and prints */
};

/* ---- flags ---------------------------------------------------------------------------------- */

#define FLAG_OPTIONS struct job

static const char *const unwinders[] = {
	[UNWIND_AUTO] = "auto", [UNWIND_DWARF] = "dwarf", [UNWIND_FP] = "fp"
};

/* A recording has no regions, and its intervals are those of report --every. */
static const char *const profile_keys[] = {
#define X(name, alias, value, doc)                                                                 \
	[value] = value != PMC_BY_TIME && value != PMC_BY_REGION ? #name : NULL,
#include "tools/rows/by.def"
#undef X
};

const struct tool_flag cmd_profile_flags[] = {
	FLAG_PROCESSES(pids, "processes with all that they start: 12,34"),
	FLAG_NAMED(name, "processes whose program has that name, as -p"),
	FLAG_ID('t', "--tid", "TID", tid, "thread", "this thread alone"),
	FLAG_MACHINE(machine, "everything on all CPUs"),
	FLAG_TEXT(0, "--cgroup", "NAME", cgroup, "a cgroup, by path or by name below its mount"),
	FLAG_TEXT('e', "--event", "EVENT", event,
		  "event to sample (default: cycles, else task-clock)"),
	FLAG_NUMBER('F', "--frequency", "HZ", frequency, 1, 100000,
		    "samples in a second of CPU time (default: 997)"),
	FLAG_DURATION(rings.duration_ns, "end of the recording (default: SIGINT, or CMD's end)"),
	FLAG_BOOL(0, "--on-cpu", on_cpu, "samples on CPU only"),
	FLAG_BOOL(0, "--off-cpu", off_cpu, "waits only"),
	FLAG_BOOL(0, "--wakers", wakers, "who ended each wait, too, for --by waker (root)"),
	FLAG_WORD(0, "--unwind", "HOW", unwind, unwinders,
		  "user stacks by unwind tables or frame pointers"),
	FLAG_NUMBER(0, "--stack-size", "BYTES", stack_bytes, 512, UNWIND_STACK_MOST,
		    "copy of each user stack (default: 8192)"),
	FLAG_OUTPUT(output, "dump to write (default: a table of functions)"),
	FLAG_BY_KEYS(keys, profile_keys, .aliases = pmc_by_aliases),
	FLAG_TOP(top, "number of rows of the table (default: 20)"),
	FLAG_BOOL(0, "--histogram", histogram, "lengths of waits below a table of threads"),
	FLAG_WIDTH(width),
	FLAG_BOOL(0, "--wide", wide, "all columns of the table, however wide"),
	OPERAND_NO_NUMBER,
	OPERAND_COMMAND(rings.command),
	FLAG_END,
};

static int parse(struct job *job, int argc, char **argv)
{
	unsigned char outer[PMC_KEYS_MOST] = { 0 };
	enum pmc_fold_by by;
	int code, targets;

	job->frequency = 997;
	job->stack_bytes = UNWIND_STACK_BYTES;
	job->top = -1;
	code = tool_args_parse(argc, argv, job);
	if (code)
		return code;
	targets = (job->pids || job->name) + !!job->tid + job->machine + !!job->cgroup +
		  !!job->rings.command;
	if (targets != 1)
		return tool_fail(EXIT_USAGE,
				 "%s; give one of -p PID, --name GLOB, -t TID, -a, --cgroup NAME "
				 "and -- CMD",
				 targets ? "more than one target" : "no target");
	code = report_set_keys(job->keys, outer, &by);
	if (code)
		return code;
	if (job->on_cpu && job->off_cpu)
		job->on_cpu = job->off_cpu = false;
	if (job->histogram && (job->on_cpu || pmc_by_samples(by)))
		return tool_fail(EXIT_USAGE,
				 "--histogram has waits of threads and groups of threads; leave "
				 "out %s%s",
				 job->on_cpu ? "--on-cpu" : "--by ",
				 job->on_cpu ? "" : pmc_by_names[by]);
	job->wakers |= memchr(job->keys, PMC_BY_WAKER, PMC_KEYS_MOST) != NULL;
	if (job->on_cpu && job->wakers)
		return tool_fail(EXIT_USAGE, "%s is of waits; leave out --on-cpu",
				 by == PMC_BY_WAKER ? "--by waker" : "--wakers");
	if (job->off_cpu && job->event)
		return tool_fail(EXIT_USAGE, "--off-cpu takes no samples of events; leave out -e");
	if (job->event && !strcmp(job->event, "off-cpu"))
		return tool_fail(EXIT_USAGE, "off-cpu is not sampled: waits are recorded without "
					     "-e, alone with --off-cpu");
	if (job->output && !strcmp(job->output, "-"))
		return tool_fail(EXIT_USAGE, "a dump is not written to a pipe; give -o FILE");
	return 0;
}

/* ---- events --------------------------------------------------------------------------------- */

static bool takes_samples(const struct job *job)
{
	return !job->off_cpu;
}

/* Stacks of waits are those of switches, which happen in the kernel. */
static bool takes_waits(const struct job *job)
{
	return !job->on_cpu && !job->user_only;
}

static void sampling_options(const struct job *job, struct pmc_open_options *options)
{
	options->sample_period = 0;
	options->sample_freq = job->frequency;
	options->sample_type |= PERF_SAMPLE_PERIOD | (job->reads ? PERF_SAMPLE_READ : 0);
	options->exclude_kernel = job->user_only;
	options->exclude_hv = job->user_only;
	options->user_if_denied = false;
	unwind_options_stack(&job->prof.unwind, options);
}

/* Of the machine: an event of a thread has whom the thread wakes, not who wakes it. Events of a
 * command start with its exec, this one does not. */
static int open_waking(struct job *job, struct ring *ring, struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event event;
	const int error = pmc_tracepoint_event(job->waking, &event);

	if (error)
		return error;
	rings_options(&job->rings, ring, 0, &options);
	options.target = PMC_TARGET_ANY;
	options.enabled = job->rings.command != NULL;
	options.sample_type |= PERF_SAMPLE_RAW;
	return rings_add(&job->rings, ring, &event, &options, why);
}

/* Records of threads, switches and mappings. The sampled event may be switched off. */
static int open_records(struct job *job, struct ring *ring, pid_t tid, struct pmc_failure *why)
{
	struct pmc_open_options options;
	struct pmc_counter_event event;
	const int error = pmc_counter_event_parse(&event, "dummy", why);

	rings_options(&job->rings, ring, tid, &options);
	options.exclude_kernel = job->user_only;
	options.exclude_hv = job->user_only;
	prof_options_always(&options);
	return error ? error : rings_add(&job->rings, ring, &event, &options, why);
}

static int open_on(void *arg, struct ring *ring, pid_t tid, struct pmc_failure *why)
{
	struct job *job = arg;
	struct pmc_open_options options;
	int error = 0;

	if (job->waking && !ring->sampler)
		error = open_waking(job, ring, why);
	if (!error && takes_samples(job)) {
		rings_options(&job->rings, ring, tid, &options);
		sampling_options(job, &options);
		error = rings_add(&job->rings, ring, &job->sampled, &options, why);
	}
	if (error)
		return error;
	if (!takes_waits(job))
		return open_records(job, ring, tid, why);
	return prof_throttle_open(&job->prof, &job->rings, ring, tid, why);
}

/* Clocks count all modes, also where only some are sampled. */
static void describe_event(struct job *job, const struct pmc_counter *counter)
{
	const struct pmc_counter_event *event = &job->sampled;
	const bool all = pmc_counter_scope(counter) == PMC_SCOPE_ALL;

	job->on = (struct pmc_event_def){ .type = event->type,
					  .scope = (uint8_t)pmc_counter_scope(counter),
					  .config = event->config,
					  .config1 = event->config1,
					  .config2 = event->config2,
					  .config3 = event->config3,
					  .scale = 1 };
	if (all && pmc_counter_attr(counter)->exclude_kernel)
		job->on.flags |= PMC_EVENT_UNFILTERED;
	if (job->user_only && !job->event)
		job->on.flags |= PMC_EVENT_FELL_BACK;
}

static bool is_of_time(const struct job *job)
{
	return !strcmp(job->sampled.unit, "ns");
}

/* The kernel's periods of these are right. */
static bool is_of_pmu(const struct job *job)
{
	return job->sampled.type != PERF_TYPE_SOFTWARE &&
	       job->sampled.type != PERF_TYPE_TRACEPOINT &&
	       job->sampled.type != PERF_TYPE_BREAKPOINT;
}

/* Whether an event can sample here, as tried on this process. */
static int try_event(struct job *job, const char *name, struct pmc_failure *why)
{
	struct pmc_open_options options = PMC_OPEN_INIT;
	struct pmc_counter *counter;
	int error = pmc_counter_event_parse(&job->sampled, name, why);

	if (error)
		return error;
	job->reads = !is_of_time(job) && !is_of_pmu(job);
	options.inherit = !job->tid && !job->prof.machine;
	options.sample_type = PERF_SAMPLE_TID;
	sampling_options(job, &options);
	error = pmc_counter_open(&counter, &job->sampled, &options, why);
	if (error && job->reads) { /* Linux before 6.13: not if they are inherited */
		job->reads = false;
		options.sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
		error = pmc_counter_open(&counter, &job->sampled, &options, why);
	}
	if (error)
		return error;
	describe_event(job, counter);
	pmc_counter_close(counter);
	return 0;
}

static int choose_event(struct job *job)
{
	struct pmc_failure why;
	int error;

	if (!takes_samples(job))
		return 0;
	error = try_event(job, job->event ? job->event : "cycles", &why);
	if (error && !job->event)
		error = try_event(job, job->prof.machine ? "cpu-clock" : "task-clock", &why);
	if (error)
		return tool_fail(rings_failed(&job->rings), "cannot sample %s: %s", why.what,
				 why.advice);
	/* Where two events count switches, the kernel samples the one with a fixed period only. */
	if (takes_waits(job) && job->sampled.type == PERF_TYPE_SOFTWARE &&
	    job->sampled.config == PERF_COUNT_SW_CONTEXT_SWITCHES)
		return tool_fail(rings_failed(&job->rings),
				 "cannot sample %s: waits have every switch already; leave out -e, "
				 "or give --on-cpu",
				 job->event);
	return 0;
}

static int find_waking(struct job *job)
{
	struct pmc_failure why;

	if (live_other_numbers())
		return tool_fail(rings_failed(&job->rings), "cannot record who ends waits: %s",
				 live_other_numbers());
	if (pmc_tracepoint_load(&job->waking, "sched", "sched_waking", &why))
		return tool_fail(rings_failed(&job->rings), "cannot record who ends waits: %s",
				 why.advice);
	live_waking_init(&job->prof.waking, job->waking);
	job->rings.machine = !job->rings.command;
	for (unsigned i = 0; i < N_NO_THREADS; i++)
		snprintf(job->prof.no_thread[i].row.name, sizeof(job->prof.no_thread[i].row.name),
			 "%s", live_no_threads[i]);
	return 0;
}

/* ---- records -------------------------------------------------------------------------------- */

static void take(void *arg, const struct pmc_record *record)
{
	struct job *job = arg;

	prof_take(&job->prof, record);
}

static void lose(void *arg, struct ring *ring, uint64_t lost)
{
	struct job *job = arg;

	/* Of waits that last until now, some may have ended meanwhile. */
	prof_lose(&job->prof, lost, ring->last_ns,
		  job->rings.stopped_ns ? job->rings.stopped_ns : pmc_now_ns());
}

static bool show_progress(void *arg)
{
	struct job *job = arg;

	tool_progress_step(pmc_now_ns() - job->prof.start_ns);
	if (job->rings.stopped_ns)
		return true;
	if (!prof_read_again(&job->prof) && job->prof.throttle.beside)
		return false;
	if (!job->user_only)
		prof_throttle_check(&job->prof, &job->rings);
	return true;
}

/* What all threads had together. Of a thread all CPUs' events are enabled while it runs on one. */
static int read_event(struct job *job)
{
	struct pmc_reading *sum = &job->prof.reading;
	unsigned n_rings = 0;

	for (unsigned r = 0; r < job->rings.n; r++) {
		const struct ring *ring = &job->rings.list[r];

		n_rings += ring->n_counters != 0;
		for (size_t i = 0; i < ring->n_counters; i++) {
			struct pmc_counter_reading reading = { .count = 0 };
			int error;

			if (!pmc_counter_attr(ring->counters[i])->freq)
				continue;
			error = pmc_counter_read_full(ring->counters[i], &reading);
			if (error && error != -EAGAIN && error != -EBUSY)
				return error;
			pmc_add_sat(&job->prof.value, error ? 0 : reading.count);
			sum->enabled_ns += reading.enabled_ns;
			sum->running_ns += reading.running_ns;
		}
	}
	if (!job->prof.machine && n_rings)
		sum->enabled_ns /= n_rings;
	/* Others are not multiplexed; the times are the same but for moments. */
	if (!is_of_pmu(job) || sum->running_ns >= sum->enabled_ns - sum->enabled_ns / 1000)
		sum->enabled_ns = sum->running_ns = 1;
	return 0;
}

static void stopped(void *arg)
{
	struct job *job = arg;
	const int error = takes_samples(job) && !is_of_time(job) ? read_event(job) : 0;

	job->prof.reading.n = !error;
	job->prof.reading.error = (uint32_t)-error;
	prof_read_last(&job->prof);
}

/* ---- the recording -------------------------------------------------------------------------- */

static int find_target(struct job *job)
{
	int code = 0;

	if (job->pids || job->name)
		code = live_find(job->pids, job->name, &job->processes);
	if (job->processes.n)
		job->rings.processes = &job->processes;
	if (job->cgroup)
		code = live_cgroup_open(job->cgroup, &job->rings.cgroup_fd);
	job->rings.thread = job->tid;
	return code;
}

/* The threads that there are when the events are open: each has a row. */
static void add_targets(struct job *job)
{
	struct live_tids tids = { .n = 0 };

	if (job->tid)
		prof_add_target(&job->prof, job->tid);
	if (job->processes.n)
		live_trees_read(&job->processes, &tids);
	else if (job->rings.cgroup_fd)
		live_cgroup_threads(job->rings.cgroup_fd, &tids);
	/* The main thread of a process is its first. */
	for (int others = 0; others < 2; others++)
		for (unsigned i = 0; i < tids.n; i++)
			if (live_is_thread(tids.list[i]) == others)
				prof_add_target(&job->prof, tids.list[i]);
	live_tids_free(&tids);
	prof_start(&job->prof);
}

static int record(struct job *job)
{
	static const struct rings_use use = {
		.verb = "profile",
		.open = open_on,
		.take = take,
		.lose = lose,
		.flush = show_progress,
		.stopped = stopped,
	};
	struct rings *rings = &job->rings;
	struct pmc_config config;
	struct pmc_config_error error;
	int code;

	if (pmc_config_from_env(environ, &config, &error) != 0)
		config.args = PMC_ARGS_MASKED;
	job->prof.args = config.args;
	job->prof.command = rings->command;
	job->user_only = !profile_has_kernel();
	unwind_init(&job->prof.unwind, job->unwind == UNWIND_FP);
	job->prof.unwind.both = job->unwind == UNWIND_AUTO;
	job->prof.unwind.stack_bytes = (unsigned)job->stack_bytes & ~7u;
	if (!job->user_only)
		unwind_add_kernel(&job->prof.unwind);
	else if (job->off_cpu || job->wakers)
		return tool_fail(rings_failed(rings),
				 "cannot record where threads wait: switches are in the kernel, "
				 "which this user may not observe; sysctl "
				 "kernel.perf_event_paranoid=1 or CAP_PERFMON permits it");
	else
		tool_warn("functions of the kernel%s cannot be recorded by this user; sysctl "
			  "kernel.perf_event_paranoid=1 or CAP_PERFMON permits it",
			  job->on_cpu ? "" : " and stacks of waits");
	rings->use = &use;
	rings->owner = job;
	rings->pages = unwind_pages(&job->prof.unwind);
	job->prof.makes_rows = true;
	job->prof.machine = job->machine || job->cgroup;
	job->prof.several = job->processes.n > 1;
	code = job->wakers ? find_waking(job) : 0;
	if (!code)
		code = choose_event(job);
	if (!code && takes_samples(job) && is_of_time(job) && !job->prof.machine) {
		job->prof.throttle.clock = &job->sampled;
		job->prof.throttle.clock_hz = job->frequency;
	}
	if (!code)
		code = rings_open(rings, true);
	if (code)
		return code;
	add_targets(job);
	/* The terminal is the command's, if there is one. */
	if (!rings->command)
		tool_progress_begin("recording", rings->duration_ns);
	code = rings_follow(rings);
	tool_progress_end();
	job->prof.stop_ns = rings->stopped_ns;
	prof_settle(&job->prof);
	return code;
}

/* ---- the dump ------------------------------------------------------------------------------- */

static int refuse_dump(const struct job *job, int error)
{
	return tool_fail(rings_failed(&job->rings), "cannot write %s: %s", job->path,
			 tool_output_why(error));
}

static void warn_of_name(const char *path)
{
	static const char *const others[] = { ".html", ".json", ".svg", ".folded" };
	const char *end = strrchr(path, '.');

	for (unsigned i = 0; end && i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(end, others[i]))
			tool_warn("%s will be a dump, in spite of its name: pmctl export --to html "
				  "-o PAGE %s makes a page of it",
				  path, path);
}

/* Before the recording, whose result would be lost otherwise. An old dump stays until then. */
static int open_dump(struct job *job, int *fd)
{
	struct stat st = { .st_size = 0 };

	job->path = job->output ? job->output : "memory";
	job->exists = access(job->path, F_OK) == 0;
	if (job->output)
		*fd = tool_open_dump(job->path, true, &st);
	job->is_old = *fd >= 0 && st.st_size;
	if (*fd >= 0)
		warn_of_name(job->path);
	return job->output && *fd < 0 ? refuse_dump(job, *fd) : 0;
}

static int replace_old(struct job *job, int *fd)
{
	int code = tool_keep_old(job->path, rings_failed(&job->rings), "");
	struct stat st;

	if (code)
		return code;
	close(*fd);
	*fd = tool_open_dump(job->path, true, &st);
	job->replaced = *fd >= 0;
	return *fd < 0 ? refuse_dump(job, *fd) : 0;
}

static void warn_of_stacks(const struct unwind *unwind)
{
	const unsigned more = 4 * unwind->stack_bytes;

	if (unwind->shortened)
		tool_warn("%llu samples and waits have their innermost function only: they have "
			  "more different stacks than are kept; a lower -F or a shorter recording "
			  "has fewer",
			  (unsigned long long)unwind->shortened);
	if (unwind->beyond_copies > unwind->copies / 5 && unwind->stack_bytes < UNWIND_STACK_MOST)
		tool_warn("%.0f %% of the stacks are deeper than the %u bytes that are copied of "
			  "each: callers are missing; --stack-size %u copies more",
			  100.0 * (double)unwind->beyond_copies / (double)unwind->copies,
			  unwind->stack_bytes, more < UNWIND_STACK_MOST ? more : UNWIND_STACK_MOST);
}

static int write_dump(struct job *job, int fd)
{
	struct prof_writing w;

	prof_write_begin(&w, &job->prof, fd);
	w.frequency = job->frequency;
	w.of_time = is_of_time(job);
	if (takes_samples(job))
		w.on_set = prof_write_event(&w, &job->on, job->sampled.name, job->sampled.unit);
	prof_write_wait_events(&w);
	if (job->on_cpu)
		w.off_set = 0;
	prof_write_rows(&w);
	prof_write_end(&w);
	if (w.error)
		return tool_fail(rings_failed(&job->rings), "cannot write %s: %s%s", job->path,
				 strerror(w.error),
				 w.error == EFBIG ? "; ulimit -f limits files and memory" : "");
	if (job->prof.lost && !job->for_caller)
		tool_warn("%llu records were lost: samples and waits are missing; a lower -F or "
			  "--unwind fp makes fewer or smaller ones",
			  (unsigned long long)job->prof.lost);
	if (!job->for_caller)
		warn_of_stacks(&job->prof.unwind);
	if (job->prof.lacks_times)
		tool_warn("the times of %llu samples and waits were not kept: the recording is too "
			  "long for report --from and --to; a lower -F or --on-cpu makes fewer",
			  (unsigned long long)job->prof.lacks_times);
	return 0;
}

/* The keys of --by as a word; `usual` where there are none. */
static const char *keys_text(struct job *job, const char *usual)
{
	struct pmc_out by = PMC_OUT_MEM(256);

	for (const unsigned char *key = job->keys; *key; key++)
		pmc_outf(&by, "%s%s", by.len ? "," : "", pmc_by_names[*key]);
	return by.len ? pmc_arena_strdup(&job->prof.arena, by.buf) : usual;
}

static int print_table(struct job *job, int fd)
{
	struct pmc_arena *arena = &job->prof.arena;
	const char *by = keys_text(job, job->histogram ? NULL : "function");
	const char *argv[16] = { "report" };
	int argc = 1;

	if (job->histogram)
		argv[argc++] = "--histogram";
	if (by) {
		argv[argc++] = "--by";
		argv[argc++] = by;
	}
	if (job->top >= 0) {
		argv[argc++] = "--top";
		argv[argc++] = pmc_arena_format(arena, "%d", job->top);
	}
	if (job->width) {
		argv[argc++] = "--width";
		argv[argc++] = pmc_arena_format(arena, "%d", job->width);
	}
	if (job->wide)
		argv[argc++] = "--wide";
	/* The command's own output is on the standard output. */
	if (job->rings.command) {
		argv[argc++] = "-o";
		argv[argc++] = "/dev/stderr";
	}
	if (lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
		return tool_fail(rings_failed(&job->rings), "cannot read the recording: %s",
				 strerror(errno));
	argv[argc++] = "-";
	return report_recording(argc, (char **)(void *)argv, "add -o run.pmc") ?
		       rings_failed(&job->rings) :
		       0;
}

/* Appends names of functions, while the programs and their perf maps are there. */
static void keep_names(struct job *job, int memory)
{
	const char *why = NULL;
	struct pmc_profile profile;
	int error;

	pmc_profile_init(&profile, &(struct pmc_profile_options){ .timeline = false });
	error = lseek(memory, 0, SEEK_SET) ? -errno : pmc_profile_add_fd(&profile, memory);
	pmc_profile_finish(&profile);
	why = error ? strerror(-error) : report_keep_names(&profile, memory);
	if (why)
		tool_warn("%s lacks names of functions: %s", job->path, why);
	pmc_profile_free(&profile);
}

/* Before the names, for which it may be interrupted, and then they. */
static int keep_dump(struct job *job, int memory, int fd)
{
	size_t at = 0;
	int error = pmc_pack(memory, &at, fd);

	if (!error && !job->for_caller) {
		keep_names(job, memory);
		error = pmc_pack(memory, &at, fd);
	}
	return error ? tool_fail(rings_failed(&job->rings), "cannot write %s: %s", job->path,
				 strerror(-error)) :
		       0;
}

/* Its events end some moments before it does; one that goes on, as after -d, is left alone. */
static void read_command(struct job *job)
{
	enum { TRIES = 50 };
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct rusage usage;

	if (!job->rings.command)
		return;
	for (const struct prof_thread *t = job->prof.last; t; t = t->next)
		if (!t->row.end_ns)
			return;
	for (unsigned i = 0; !tool_child_ended(&job->rings.child, false); i++) {
		if (i == TRIES)
			return;
		nanosleep(&nap, NULL);
	}
	if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return;
	job->prof.command_cpu_ns =
		pmc_timeval_ns(&usage.ru_utime) + pmc_timeval_ns(&usage.ru_stime);
	job->prof.command_preempted = (uint64_t)usage.ru_nivcsw;
}

/* The limit of a file's size is also that of memory; the command, which has begun, keeps it. */
static void lift_limit(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	if (setrlimit(RLIMIT_FSIZE, &limit) == 0 || getrlimit(RLIMIT_FSIZE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_FSIZE, &limit);
}

static int finish(struct job *job, int *fd)
{
	const int memory = memfd_create("profile", MFD_CLOEXEC);
	int code = job->is_old ? replace_old(job, fd) : 0;

	if (!job->output)
		lift_limit();
	read_command(job);
	if (!code)
		code = write_dump(job, memory);
	if (!code && job->output)
		code = keep_dump(job, memory, *fd);
	if (!code && !job->output)
		code = print_table(job, memory);
	else if (!code && !job->rings.command && !job->for_caller)
		tool_line("pmctl report --by %s %s shows where the time went",
			  keys_text(job, job->wakers ? "pool,waker" : "function"), job->path);
	pmc_fd_close(memory);
	return code;
}

static int profile(struct job *job)
{
	int fd = -1, code = find_target(job);

	if (!code)
		code = open_dump(job, &fd);
	if (!code)
		code = record(job);
	if (!code)
		code = finish(job, &fd);
	/* Nothing was recorded. */
	if (fd >= 0 && job->output && code && (!job->exists || job->replaced) &&
	    lseek(fd, 0, SEEK_END) == 0)
		unlink(job->path);
	if (fd >= 0)
		close(fd);
	if (!code && job->rings.command) {
		live_wait_child(&job->rings.child);
		code = tool_end_as(job->rings.child.status);
	}
	rings_close(&job->rings);
	if (job->rings.cgroup_fd)
		close(job->rings.cgroup_fd);
	prof_free(&job->prof);
	pmc_tracepoint_free(job->waking);
	live_tids_free(&job->processes);
	return code;
}

int cmd_profile(int argc, char **argv)
{
	struct job job = { .rings.child.socket = -1 };
	const int code = parse(&job, argc, argv);

	return code ? code : profile(&job);
}

bool profile_has_kernel(void)
{
	struct pmc_here here;

	pmc_here_read(&here, NULL);
	return here.paranoid <= 1 || here.perfmon == PMC_YES;
}

int profile_running(const struct live_tids *found, uint64_t duration_ns, const char *path)
{
	struct job job = { .processes = *found,
			   .event = "task-clock",
			   .frequency = 499,
			   .stack_bytes = UNWIND_STACK_BYTES / 2,
			   .output = path,
			   .for_caller = true,
			   .rings = { .child.socket = -1, .duration_ns = duration_ns } };

	return profile(&job);
}
