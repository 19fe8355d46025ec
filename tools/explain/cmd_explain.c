/* SPDX-License-Identifier: MIT */
/*
 * cmd_explain.c - pmctl explain: runs a command with what the rules need, or reads dumps, and says
 * what slows each pool of threads.
 */
#include "lib/base/json.h"
#include "lib/base/sort.h"
#include "tools/cli/flags.h"
#include "tools/explain/explain.h"
#include "tools/live/task.h"
#include "tools/live/wait.h"
#include "tools/profile/profile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct request {
	int json;
	bool verbose;
	uint64_t top;
	const char *pids, *name;
	uint64_t duration_ns;
	char **command;
	const char **files;
	unsigned n_files;
	const char *dump;   /* of the command */
	char dir[PATH_MAX]; /* of a dump that is not kept; "" */
};

#define FLAG_OPTIONS struct request

static const char *const formats[] = { "table", "json" };

const struct tool_flag cmd_explain_flags[] = {
	FLAG_PROCESSES(pids, "running processes and their threads: 12,34"),
	FLAG_NAMED(name, "processes whose program has that name, as -p"),
	FLAG_DURATION(duration_ns, "how long running processes are watched (default: 10s)"),
	FLAG_WORD(0, "--format", "FORMAT", json, formats, "output"),
	FLAG_CONSTANT(0, "--json", json, 1, "output and errors as JSON"),
	FLAG_BOOL('v', "--verbose", verbose, "the arithmetic behind each gain"),
	FLAG_TOP(top, "number of findings; 0: all"),
	FLAG_OUTPUT(dump, "dump to keep"),
	OPERAND_TAIL(command),
	OPERAND_LIST(files, n_files),
	FLAG_END,
};

/* ---- the command --------------------------------------------------------------------------- */

/* The name of the dump as pmctl run -o takes it: % stands for a pattern there. */
static const char *literal(const char *path)
{
	char *text = tool_realloc(NULL, 2 * strlen(path) + 1), *to = text;

	do {
		if (*path == '%')
			*to++ = '%';
		*to++ = *path;
	} while (*path++);
	return text;
}

/* Records the command for the rules, from outside if it cannot load the agent. Waits need the
 * kernel's switch records of root. */
static int run_command(const struct request *request)
{
	const char *const outside[] = { "profile", "-o", request->dump, "--" };
	const char *const flags[] = { "run",
				      "-e",
				      "@default,run-delay,system-time,cpu-migrations,"
				      "dTLB-load-misses",
				      "--sample=task-clock/499",
				      "--report",
				      "off",
				      "-o",
				      literal(request->dump),
				      geteuid() == 0 ? "--off-cpu" : "--",
				      "--" };
	const bool inside = run_loads_agent(request->command[0]);
	int n = inside ? 9 + (geteuid() == 0) : 4, words = 0;
	const char **argv;

	off_cpu_kernel = true;
	while (request->command[words])
		words++;
	argv = tool_realloc(NULL, (size_t)(n + words + 1) * sizeof(*argv));
	memcpy(argv, inside ? flags : outside, (size_t)n * sizeof(*argv));
	memcpy(argv + n, request->command, (size_t)(words + 1) * sizeof(*argv));
	return (inside ? cmd_run : cmd_profile)(n + words, (char **)(void *)argv);
}

/* In a child: pmctl run ends as its command did, perhaps by a signal. *status: of wait. */
static int run(const struct request *request, int *status)
{
	struct tool_child child;

	fflush(NULL);
	child.pid = fork();
	if (child.pid < 0)
		return tool_fail(EXIT_OURS, "cannot start a process: %s", strerror(errno));
	if (!child.pid) {
		const int code = run_command(request);

		fflush(NULL);
		_exit(code);
	}
	live_wait_child(&child);
	*status = child.status;
	return 0;
}

/* A dump in a directory of its own, which is removed at the end. */
static int make_dump(struct request *request)
{
	static char path[PATH_MAX + 16];
	int code;

	if (request->dump)
		return 0;
	code = tool_make_dir(request->dir, "explain", " or add -o FILE");
	if (code)
		return code;
	snprintf(path, sizeof(path), "%s/dump.pmc", request->dir);
	request->dump = path;
	return 0;
}

static void remove_dump(const struct request *request)
{
	if (!request->dir[0])
		return;
	unlink(request->dump);
	rmdir(request->dir);
}

/* ---- output -------------------------------------------------------------------------------- */

#define LINE(...) tool_wrapped_line(tool_columns(STDOUT_FILENO), __VA_ARGS__)

static void put_list(const char *head, const char *const *list)
{
	struct pmc_out line = PMC_OUT_MEM(2048);

	for (; *list; list++)
		pmc_outf(&line, "%s%s", line.len ? "; " : "", *list);
	if (line.len)
		LINE("   %-11s%s", head, line.buf);
}

/* What stands before a remedy that has not the gain of the advice. */
static const char *instead_of(const struct finding *finding)
{
	return !finding->instead ? "" : finding->gain > 1 ? "; or without that gain " : "; or ";
}

static void put_finding(const struct finding *finding, bool verbose)
{
	char gain[64] = "";

	LINE(" %s: %s", finding->pool, finding->text);
	put_list("evidence", finding->evidence);
	put_list("not", finding->excluded);
	put_list("unknown", finding->unknown);
	if (finding->gain > 1)
		snprintf(gain, sizeof(gain),
			 finding->estimate ? ": some %.1f times as fast, by that estimate" :
					     ": at most %.1f times as fast",
			 finding->gain);
	LINE("   %-11s%s%s%s%s", "try", finding->advice, gain, instead_of(finding),
	     finding->instead ? finding->instead : "");
	if (verbose && finding->gain > 1)
		LINE("   %-11s%s", "gain", finding->arithmetic);
}

/* None of which is most of it. */
static const char *parts_of(const struct facts *facts, const struct pool_facts *pool)
{
	const double life = (double)pool->all_life / 100, cpu = (double)pool->cpu / life,
		     delay = (double)pool->delay / life;

	if (!pool->all_life)
		return NULL;
	return explain_text(facts->arena,
			    pool->has_delay ? "%s computes %.0f %% of its time, waits for a CPU "
					      "%.0f %%, and for other things %.0f %%" :
					      "%s computes %.0f %% of its time, waits for a CPU at "
					      "least %.0f %%, and for that or other things "
					      "%.0f %%",
			    explain_title(facts, pool), cpu, delay, fmax(100 - cpu - delay, 0));
}

/* What a pool did with its time, if anything for most of it; NULL: nothing of note. */
static const char *state_of(const struct facts *facts, const struct pool_facts *pool)
{
	const double life = (double)pool->all_life, cpu = (double)pool->cpu / life,
		     waits = (double)pool->any.ns / life, futexes = (double)pool->futexes / life,
		     blocked = (double)pmc_sub_sat(pool->all_life, pool->cpu + pool->delay) / life;
	/* One thread has the work of the whole pool. */
	const bool one = pool->threads > 1 && (double)pool->most_cpu >= 0.5 * (double)facts->wall;
	const char *name = explain_title(facts, pool);
	const bool active = pool->idle && pool->active.function;
	const char *place = active ? pool->active.function : pool->any.function;

	if (pool->stopped > pool->all_life)
		return explain_text(facts->arena, "%s was stopped, by a signal or a debugger",
				    name);
	if ((double)pool->cpu < 0.05 * (double)facts->cpu && pool->all_life < facts->wall / 2)
		return NULL;
	if (cpu >= 0.5 && !(one && (double)pool->most_cpu > 0.8 * (double)pool->cpu))
		return explain_text(facts->arena,
				    "%s computes %.0f %% of its time: pmctl profile, then "
				    "pmctl report --by function, shows where",
				    name, 100 * cpu);
	if (one)
		return explain_text(
			facts->arena,
			"one thread of %s computes %.0f %% of the time, the others together "
			"%.0f %%: pmctl profile, then pmctl report --by thread,function, shows "
			"where",
			name, 100 * (double)pool->most_cpu / (double)facts->wall,
			100 * (double)(pool->cpu - pool->most_cpu) / (double)facts->wall);
	if (pool->has_places && waits >= 0.5)
		return explain_text(facts->arena, "%s waits %.0f %% of its time%s%s%.200s", name,
				    100 * (waits > 1 ? 1 : waits),
				    pool->futexes > pool->any.ns / 2 ?
					    explain_text(facts->arena,
							 ", %.0f %% for conditions, semaphores, "
							 "futexes or locks of the kernel",
							 100 * futexes) :
					    "",
				    active ? ", those that also compute most in " :
				    place  ? ", most in " :
					     "",
				    place ? place : "");
	if (!pool->has_places && blocked >= 0.5)
		return explain_text(
			facts->arena, "%s waits %.0f %% of its time, unknown where%s%.200s%s", name,
			100 * blocked, facts->target ? ": pmctl profile --off-cpu " : "",
			facts->target ? facts->target : "",
			!facts->target	     ? "" :
			profile_has_kernel() ? " shows it" :
					       " shows it, as root");
	return parts_of(facts, pool);
}

static int by_time(const void *a, const void *b, const void *arg)
{
	const struct pool_facts *x = *(const struct pool_facts *const *)a,
				*y = *(const struct pool_facts *const *)b;

	(void)arg;
	if (x->cpu != y->cpu)
		return (y->cpu > x->cpu) - (y->cpu < x->cpu);
	return (y->any.ns > x->any.ns) - (y->any.ns < x->any.ns);
}

/* The states of pools, those with most CPU time first. */
enum { STATES = 3 };
static void find_states(const struct facts *facts, const char *list[STATES + 1])
{
	const size_t bytes = (facts->n_pools + 1) * sizeof(struct pool_facts *);
	const struct pool_facts **order = pmc_arena_alloc(facts->arena, bytes);
	unsigned n = 0;

	for (uint64_t i = 0; i < facts->n_pools; i++)
		order[i] = &facts->pools[i];
	pmc_sort(order, pmc_arena_alloc(facts->arena, bytes), facts->n_pools, sizeof(*order),
		 by_time, NULL);
	for (uint64_t i = 0; i < facts->n_pools && n < STATES; i++) {
		list[n] = state_of(facts, order[i]);
		n += list[n] != NULL;
	}
	list[n] = NULL;
}

/* A thing is unknown of the run if it is unknown of one of its pools that use a CPU. */
static void find_unknown(const struct facts *facts, const char *list[EXPLAIN_LINES])
{
	struct pool_facts all = { .has_delay = facts->has_delay, .has_waits = facts->has_waits };

	for (uint64_t i = 0; i < facts->n_pools; i++) {
		all.has_places |= facts->pools[i].has_places;
		all.mixed |= facts->pools[i].mixed;
	}
	explain_unknown(facts, &all, list);
}

static void put_nothing(const struct facts *facts)
{
	const char *unknown[EXPLAIN_LINES] = { NULL }, *states[STATES + 1];

	if (!facts->threads) {
		LINE(" no thread rows to judge (pmctl report shows the reason); pmctl explain -p "
		     "PID needs no agent, nor does pmctl profile -o FILE -- CMD, then pmctl "
		     "explain FILE");
		return;
	}
	puts(" nothing stands out");
	find_states(facts, states);
	for (const char **state = states; *state; state++)
		LINE(" %s", *state);
	find_unknown(facts, unknown);
	put_list("unknown", unknown);
}

/* Pools without a finding that perhaps wait for a CPU. */
static void put_not_judged(const struct facts *facts, const struct finding *list, unsigned n)
{
	for (uint64_t i = 0; i < facts->n_pools; i++) {
		const struct pool_facts *pool = &facts->pools[i];
		const char *unknown[EXPLAIN_LINES] = { NULL };
		bool found = pool->has_delay || !explain_matters(facts, pool);

		for (unsigned k = 0; k < n && !found; k++)
			found = list[k].of == pool;
		if (found)
			continue;
		LINE(" %s: no cause found", explain_title(facts, pool));
		explain_unknown(facts, pool, unknown);
		put_list("unknown", unknown);
	}
}

static void print_text(const struct request *request, const struct facts *facts,
		       const struct finding *list, unsigned n, unsigned shown)
{
	printf(" %s wall · %s CPU", explain_time(facts->arena, facts->wall),
	       explain_time(facts->arena, facts->cpu));
	if (facts->cpus && facts->wall)
		printf(" (%.2f of %u CPUs)", (double)facts->cpu / (double)facts->wall, facts->cpus);
	printf(" · %llu thread%s in %llu pool%s\n\n", (unsigned long long)facts->threads,
	       facts->threads == 1 ? "" : "s", (unsigned long long)facts->n_pools,
	       facts->n_pools == 1 ? "" : "s");
	if (explain_has_unjudged(facts))
		LINE(" Threads without a row had %s of CPU time and cannot be judged "
		     "(pmctl report shows the reason)",
		     explain_time(facts->arena, facts->cpu - facts->judged));
	for (unsigned i = 0; i < shown; i++)
		put_finding(&list[i], request->verbose);
	if (shown < n)
		printf(" and %u more (--top)\n", n - shown);
	if (n)
		put_not_judged(facts, list, n);
	else
		put_nothing(facts);
}

static void put_texts(struct pmc_json *json, const char *key, const char *const *list)
{
	pmc_json_array(json, key);
	while (*list)
		pmc_json_str(json, NULL, *list++);
	pmc_json_array_end(json);
}

static int print_json(const struct facts *facts, const struct finding *list, unsigned shown)
{
	static char room[64 << 10];
	const char *unknown[EXPLAIN_LINES] = { NULL }, *states[STATES + 1];
	struct pmc_json json;
	struct pmc_out out;
	int error;

	pmc_out_to_fd(&out, STDOUT_FILENO, room, sizeof(room));
	pmc_json_init(&json, &out);
	pmc_json_object(&json, NULL);
	pmc_json_u64(&json, "wall_ns", facts->wall);
	pmc_json_u64(&json, "cpu_ns", facts->cpu);
	pmc_json_u64(&json, "without_row_ns", pmc_sub_sat(facts->cpu, facts->judged));
	pmc_json_known(&json, "run_delay_ns", facts->has_delay, facts->delay);
	pmc_json_known(&json, "cpus", facts->cpus, facts->cpus);
	pmc_json_array(&json, "findings");
	for (unsigned i = 0; i < shown; i++) {
		const struct finding *finding = &list[i];

		pmc_json_line(&json);
		pmc_json_object(&json, NULL);
		pmc_json_str(&json, "pool", finding->pool);
		pmc_json_str(&json, "cause", finding->cause);
		pmc_json_str(&json, "text", finding->text);
		put_texts(&json, "evidence", finding->evidence);
		put_texts(&json, "excluded", finding->excluded);
		put_texts(&json, "unknown", finding->unknown);
		pmc_json_str(&json, "try",
			     explain_text(facts->arena, "%s%s%s", finding->advice,
					  instead_of(finding),
					  finding->instead ? finding->instead : ""));
		pmc_json_double(&json, "gain", finding->gain > 1 ? finding->gain : NAN);
		pmc_json_str(&json, "arithmetic", finding->gain > 1 ? finding->arithmetic : NULL);
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	find_states(facts, states);
	put_texts(&json, "states", states);
	find_unknown(facts, unknown);
	put_texts(&json, "unknown", unknown);
	pmc_json_object_end(&json);
	pmc_out_char(&out, '\n');
	error = pmc_out_flush(&out);
	return error ? tool_fail_write("to standard output", -error) : EXIT_OK;
}

static int print(const struct request *request, struct facts *facts)
{
	unsigned n, shown;
	const struct finding *list = explain_find(facts, &n);

	if (request->pids)
		facts->target = explain_text(facts->arena, "-p %s", request->pids);
	else if (request->name)
		facts->target = explain_text(facts->arena, "--name '%s'", request->name);
	shown = request->top && request->top < n ? (unsigned)request->top : n;
	if (request->json)
		return print_json(facts, list, shown);
	print_text(request, facts, list, n, shown);
	return EXIT_OK;
}

/* limit: of the cgroup while they were recorded; NULL: of dumps that the user named. */
static int explain_dumps(const struct request *request, const char *const *files, unsigned n_files,
			 const struct live_cpu_limit *limit)
{
	struct report_names *names = report_names_new(NULL);
	struct pmc_arena arena = { 0 };
	struct pmc_profile profile;
	struct facts facts;
	int code;

	pmc_profile_init(&profile, &(struct pmc_profile_options){ .timeline = false });
	code = report_read(&profile, files, n_files);
	if (!code) {
		pmc_profile_finish(&profile);
		code = explain_facts(&profile, names, &arena, &facts);
	}
	facts.dumped = !limit;
	if (!code && limit)
		facts.limit = *limit;
	if (!code) {
		facts.fault_ns = explain_fault_ns(&profile);
		facts.tick_ns = explain_tick_ns(&profile);
		code = print(request, &facts);
	}
	pmc_profile_free(&profile);
	report_names_free(names);
	pmc_arena_free(&arena);
	return code;
}

/* Without records of the kernel: as /proc shows them. */
static int explain_watched(const struct request *request)
{
	struct pmc_arena arena = { 0 };
	struct facts facts;
	int code =
		explain_watch(request->pids, request->name, request->duration_ns, &arena, &facts);

	if (!code) {
		facts.fault_ns = explain_fault_ns(NULL);
		facts.tick_ns = explain_tick_ns(NULL);
		code = print(request, &facts);
	}
	pmc_arena_free(&arena);
	return code;
}

static int explain_recorded(struct request *request)
{
	struct live_tids found = { .n = 0 };
	struct live_cpu_limit before, limit;
	int code = live_find(request->pids, request->name, &found);
	pid_t first;

	if (!code && make_dump(request))
		code = EXIT_FAIL;
	if (!code) {
		first = found.list[0];
		live_cpu_limit_read(first, &before);
		code = profile_running(&found, request->duration_ns, request->dump);
		live_cpu_limit_read(first, &limit);
		live_cpu_limit_since(&limit, &before);
	} else {
		live_tids_free(&found);
	}
	if (!code)
		code = explain_dumps(request, &request->dump, 1, &limit);
	remove_dump(request);
	return code;
}

static int explain_running(struct request *request)
{
	if (profile_has_kernel())
		return explain_recorded(request);
	if (request->dump)
		return tool_fail(EXIT_FAIL, "cannot record what the kernel does, so -o has no "
					    "dump to keep: run it as root, or without -o");
	return explain_watched(request);
}

static int explain_command(struct request *request)
{
	struct live_cpu_limit before, limit;
	int code = make_dump(request), status = 0;

	live_cpu_limit_read(getpid(), &before);
	if (!code)
		code = run(request, &status);
	live_cpu_limit_read(getpid(), &limit);
	live_cpu_limit_since(&limit, &before);
	/* The reason of pmctl run has been printed. */
	if (!code && WIFEXITED(status) && WEXITSTATUS(status) >= EXIT_OURS &&
	    access(request->dump, F_OK) != 0)
		code = WEXITSTATUS(status);
	else if (!code) {
		/* As pmctl stat: standard output may be data of the command. */
		fflush(stdout);
		if (!request->json)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		code = explain_dumps(request, &request->dump, 1, &limit);
	}
	remove_dump(request);
	return code ? code : tool_end_as(status);
}

int cmd_explain(int argc, char **argv)
{
	struct request request = { .name = NULL };
	const int code = tool_args_parse(argc, argv, &request);
	const bool command = request.command && *request.command;
	const bool running = request.pids || request.name;

	if (code)
		return code;
	if (!command && !running && !request.n_files)
		return tool_fail(EXIT_USAGE,
				 "nothing to explain; name dumps, -p PID, or -- and a command");
	if (command + running + (request.n_files != 0) > 1)
		return tool_fail(EXIT_USAGE, "dumps, running processes and a command cannot be "
					     "explained at once; name one of them");
	if (!command && !running && request.dump)
		return tool_fail(EXIT_USAGE, "-o keeps the dump of a command or of running "
					     "processes; add -- CMD or -p PID");
	if (request.n_files && request.files[0][strspn(request.files[0], "0123456789,")] == '\0' &&
	    access(request.files[0], F_OK) != 0)
		return tool_fail(EXIT_USAGE,
				 "there is no dump %s; name running processes with "
				 "-p %s",
				 request.files[0], request.files[0]);
	if (!running && request.duration_ns)
		return tool_fail(EXIT_USAGE, "-d is how long running processes are watched; name "
					     "them with -p PID or --name GLOB");
	request.duration_ns = request.duration_ns ? request.duration_ns : 10 * FLAG_S;
	if (command)
		return explain_command(&request);
	return running ? explain_running(&request) :
			 explain_dumps(&request, request.files, request.n_files, NULL);
}
