/* SPDX-License-Identifier: MIT */
/*
 * bench.c - opening a bench, and its benchmarks: warm-up, batch size, samples, results; see
 * pmc/bench.h.
 *
 * The groups run all the time and are read before and after each call: that disturbs the work less
 * than starting and stopping them. What the readings and the call itself add to the difference is
 * measured once and subtracted.
 */
#include "lib/bench/bench.h"
#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "lib/count/group.h"
#include "lib/counter/counter.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define MS	    UINT64_C(1000000)
#define SAMPLES_MAX 1000000

COUNTER_EXPORT(pmc_bench_case, pmc_bench_case_init, PMC_BENCH_CASE_INIT)
COUNTER_EXPORT(pmc_bench_options, pmc_bench_options_init, PMC_BENCH_INIT)

static int options_of(const struct pmc_bench_options *from, struct pmc_bench_options *to)
{
	*to = (struct pmc_bench_options)PMC_BENCH_INIT;
	if (from && from->size != sizeof(*from))
		return -EINVAL;
	if (from)
		*to = *from;
	to->events = to->events ? to->events : PMC_BENCH_EVENTS;
	to->warmup_ns = to->warmup_ns ? to->warmup_ns : 50 * MS;
	to->sample_ns = to->sample_ns ? to->sample_ns : MS;
	to->total_ns = to->total_ns ? to->total_ns : 500 * MS;
	to->min_samples = to->min_samples ? to->min_samples : 10;
	if (!to->max_samples)
		to->max_samples = to->min_samples > 10000 ? to->min_samples : 10000;
	if (to->min_samples < 2 || to->max_samples < to->min_samples ||
	    to->max_samples > SAMPLES_MAX)
		return -EINVAL;
	return 0;
}

/* Results are in the order of the options; events per core type are adjacent. */
static int order_events(struct pmc_bench *bench)
{
	const struct pmc_plan *plan = &bench->plan;
	unsigned n = 0;

	bench->order = pmc_arena_alloc(&bench->arena, sizeof(*bench->order) * (plan->count + 1));
	if (!bench->order)
		return -ENOMEM;
	for (unsigned position = 0; n < plan->count; position++)
		for (unsigned i = 0; i < plan->count; i++)
			if (plan->events[i].event.position == position)
				bench->order[n++] = i;
	return 0;
}

static int plan_make(struct pmc_bench *bench, struct pmc_failure *failure)
{
	struct pmc_parse_error wrong;
	struct pmc_events events;
	int error;

	bench->options.events = pmc_arena_strdup(&bench->arena, bench->options.events);
	if (!bench->options.events)
		return -ENOMEM;
	error = pmc_events_parse(bench->options.events, NULL, &bench->arena, &events, &wrong);
	if (error)
		return counter_fail(failure, error, bench->options.events, "%s", wrong.text);
	error = pmc_plan_make(&events, pmc_perf_open_self, &bench->arena, &bench->plan);
	return error ? error : order_events(bench);
}

int pmc_bench_open(struct pmc_bench **bench, const struct pmc_bench_options *options,
		   struct pmc_failure *failure)
{
	struct pmc_bench *made;
	int kept = errno, error;

	if (!bench)
		return counter_fail(failure, -EINVAL, "bench", "NULL");
	*bench = NULL;
	made = calloc(1, sizeof(*made));
	error = made ? options_of(options, &made->options) : -ENOMEM;
	if (error == -ENOMEM)
		counter_fail(failure, error, "", "out of memory");
	else if (error)
		counter_fail(failure, error, "options",
			     "begin with PMC_BENCH_INIT; 2 <= min_samples <= max_samples <= %d",
			     SAMPLES_MAX);
	else
		error = plan_make(made, failure);
	if (error)
		pmc_bench_close(made);
	else
		*bench = made;
	errno = kept;
	return error;
}

void pmc_bench_close(struct pmc_bench *bench)
{
	if (!bench)
		return;
	pmc_arena_free(&bench->arena);
	free(bench);
}

int pmc_bench_set_baseline(struct pmc_bench *bench, size_t index)
{
	if (!bench)
		return -EINVAL;
	if (index >= bench->n)
		return -ENOENT;
	bench->baseline = index;
	return 0;
}

size_t pmc_bench_n_results(const struct pmc_bench *bench)
{
	return bench ? bench->n : 0;
}

/* Of a case with a parameter, the result of its name and that value. NULL: there is none. */
static const struct bench_result *baseline_of(const struct pmc_bench *bench,
					      const struct pmc_bench_result *result)
{
	const struct bench_result *baseline = &bench->results[bench->baseline];
	const char *parameter = baseline->of.parameter;

	if (!parameter)
		return baseline;
	for (size_t i = 0; i < bench->n; i++) {
		const struct pmc_bench_result *of = &bench->results[i].of;

		if (of->parameter && !strcmp(of->name, baseline->of.name) && result->parameter &&
		    !strcmp(of->parameter, result->parameter) && of->value == result->value)
			return &bench->results[i];
	}
	return NULL;
}

/* The interval is the wider one of the samples and of parts of both series, and has an allowance
 * for changes of the machine's speed: 3 % from one series to the other, and what was seen. */
static void compare(const struct bench_result *baseline, const struct bench_result *result,
		    struct pmc_bench_result *to)
{
	const struct bench_mean parts[2] = { baseline->parts, result->parts };
	struct bench_mean means[2];
	const double drifts[] = { BENCH_DRIFT_PCT / 100.0, baseline->of.drift, result->of.drift };
	double ci, wide;

	bench_means(&baseline->time, &result->time, means);
	if (!(means[0].value > 0 && means[1].value > 0))
		return;
	to->speedup = means[0].value / means[1].value;
	ci = bench_ratio_ci(means);
	wide = parts[0].value > 0 && parts[1].value > 0 ? bench_ratio_ci(parts) : 0;
	ci = ci > wide ? ci * ci : wide * wide;
	for (int i = 0; i < 3; i++)
		ci += drifts[i] * drifts[i];
	ci = pmc_square_root(ci);
	to->speedup_low = to->speedup / (1 + ci);
	to->speedup_high = to->speedup * (1 + ci);
	to->significant = to->speedup_low > 1 || to->speedup_high < 1;
}

int pmc_bench_get(const struct pmc_bench *bench, size_t index, struct pmc_bench_result *to)
{
	const struct bench_result *baseline;

	if (!bench || !to)
		return -EINVAL;
	if (index >= bench->n)
		return -ENOENT;
	*to = bench->results[index].of;
	to->speedup = to->speedup_low = to->speedup_high = NAN;
	baseline = baseline_of(bench, to);
	to->baseline = baseline == &bench->results[index];
	if (baseline)
		compare(baseline, &bench->results[index], to);
	return 0;
}

#define CALIBRATIONS 64

/* An event in one sample. */
struct value {
	uint64_t count; /* scaled if the state is PMC_SCALED */
	enum pmc_state state;
};

struct readings {
	struct pmc_reading groups[PMC_EVENTS_MAX];
	uint64_t values[PMC_EVENTS_MAX];
};

/* A thread and its counters; events are in plan order. */
struct member {
	struct team *team;
	struct pmc_bench_sample sample;
	pthread_t thread; /* not of the first, which is the caller */
	struct {
		int error; /* -errno if it could not be opened */
		uint64_t id;
	} groups[PMC_EVENTS_MAX];
	int fds[PMC_EVENTS_MAX];
	struct readings before, after;
	uint64_t begun_ns, ended_ns;
};

struct team {
	const struct pmc_bench_case *what;
	const struct pmc_plan *plan; /* NULL: nothing is counted yet */
	pmc_bench_sample_fn run;
	void (*task)(struct member *); /* of all members; NULL: end */
	unsigned n, tasks;	       /* members; tasks so far */
	unsigned done, ready;	       /* members that did the task; that are about to run */
	uint64_t cost_ns, cost[PMC_EVENTS_MAX]; /* of the readings themselves */
	struct member *members;
};

/* ---- threads --------------------------------------------------------------------------------*/

/* Waits without sleep: the kernel keeps threads that run on CPUs of their own, while those that it
 * wakes up often share one, and start late. */
static void wait_for(const unsigned *number, unsigned least)
{
	while (__atomic_load_n(number, __ATOMIC_ACQUIRE) < least)
		sched_yield();
}

static void *work(void *arg)
{
	struct member *member = arg;
	struct team *team = member->team;

	for (unsigned k = 1;; k++) {
		wait_for(&team->tasks, k);
		if (!team->task)
			return NULL;
		team->task(member);
		__atomic_fetch_add(&team->done, 1, __ATOMIC_RELEASE);
	}
}

/* Every member does the task in its own thread. */
static void all_do(struct team *team, void (*task)(struct member *))
{
	team->task = task;
	team->ready = team->done = 0;
	__atomic_fetch_add(&team->tasks, 1, __ATOMIC_RELEASE);
	task(team->members);
	wait_for(&team->done, team->n - 1);
}

static int team_start(struct team *team, int64_t value, struct pmc_arena *arena)
{
	const unsigned n = team->what->threads ? team->what->threads : 1;
	int error = 0;

	team->members = pmc_arena_alloc(arena, n * sizeof(*team->members));
	if (!team->members)
		return -ENOMEM;
	for (; team->n < n && !error; team->n += !error) {
		struct member *member = &team->members[team->n];

		*member = (struct member){
			.team = team, .sample = { .value = value, .thread = team->n, .threads = n }
		};
		error = team->n ? -pthread_create(&member->thread, NULL, work, member) : 0;
	}
	return error;
}

static void team_end(struct team *team)
{
	team->task = NULL;
	__atomic_fetch_add(&team->tasks, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < team->n; i++) {
		if (i)
			pthread_join(team->members[i].thread, NULL);
		pmc_perf_group_close(team->members[i].fds, team->plan ? team->plan->opened : 0);
	}
}

/* ---- one sample -----------------------------------------------------------------------------*/

static void counters_open(struct member *member)
{
	const struct pmc_plan *plan = member->team->plan;

	for (unsigned g = 0; g < plan->groups; g++) {
		int *fds = member->fds + plan->first[g];
		int error =
			pmc_plan_open_group(plan, g, &PMC_PERF_SELF, fds, &member->groups[g].id);

		member->groups[g].error = error ? error : pmc_perf_group_enable(*fds);
	}
}

static void read_all(const struct member *member, struct readings *readings)
{
	const struct pmc_plan *plan = member->team->plan;
	uint64_t words[PMC_PERF_GROUP_WORDS(PMC_EVENTS_MAX)];

	for (unsigned g = 0; plan && g < plan->groups; g++) {
		struct pmc_reading *reading = &readings->groups[g];
		int leader = member->fds[plan->first[g]];

		*reading = (struct pmc_reading){ .error = (uint32_t)-member->groups[g].error };
		if (reading->error)
			continue;
		pmc_perf_group_read(leader, member->groups[g].id,
				    plan->first[g + 1] - plan->first[g], reading, words);
		memcpy(readings->values + plan->first[g], words, reading->n * sizeof(*words));
		/* A pinned group that lost its counters: try to get them back for the next sample.
		 */
		if (reading->error == PMC_REASON_PINNED)
			pmc_perf_group_enable(leader);
	}
}

static void call(struct member *member)
{
	struct team *team = member->team;

	__atomic_fetch_add(&team->ready, 1, __ATOMIC_ACQ_REL);
	wait_for(&team->ready, team->n);
	read_all(member, &member->before);
	member->begun_ns = pmc_now_ns();
	team->run(team->what->arg, &member->sample);
	member->ended_ns = pmc_now_ns();
	read_all(member, &member->after);
}

/* Adds event i of a member. A sum has the worst of the states. */
static void add_value(const struct member *member, unsigned i, struct value *sum)
{
	const unsigned group = member->team->plan->events[i].group;
	const struct pmc_reading *from = &member->before.groups[group];
	const struct pmc_reading *to = &member->after.groups[group];
	uint64_t enabled = to->enabled_ns - from->enabled_ns;
	uint64_t running = to->running_ns - from->running_ns, count;

	if (from->error || to->error ||
	    pmc_scaled(member->after.values[i] - member->before.values[i], enabled, running,
		       &count))
		sum->state = PMC_NOT_COUNTED;
	else if (running < enabled && sum->state == PMC_COUNTED)
		sum->state = PMC_SCALED;
	if (sum->state != PMC_NOT_COUNTED)
		sum->count += count;
}

/* Of all members, less the cost of the readings. */
static uint64_t measure_call(struct team *team, struct value *values)
{
	uint64_t begun_ns = UINT64_MAX, ended_ns = 0;

	all_do(team, call);
	for (const struct member *m = team->members; m < team->members + team->n; m++) {
		begun_ns = m->begun_ns < begun_ns ? m->begun_ns : begun_ns;
		ended_ns = m->ended_ns > ended_ns ? m->ended_ns : ended_ns;
	}
	for (unsigned i = 0; team->plan && i < team->plan->opened; i++) {
		values[i] = (struct value){ .state = PMC_COUNTED };
		for (unsigned m = 0; m < team->n; m++)
			add_value(&team->members[m], i, &values[i]);
		values[i].count = pmc_sub_sat(values[i].count, team->cost[i]);
	}
	return pmc_sub_sat(ended_ns - begun_ns, team->cost_ns);
}

static uint64_t sample(struct team *team, uint64_t ops, struct value *values)
{
	const struct pmc_bench_case *what = team->what;
	uint64_t time_ns;

	for (unsigned m = 0; m < team->n; m++)
		team->members[m].sample.ops = ops;
	if (what->setup)
		what->setup(what->arg, &team->members->sample);
	time_ns = measure_call(team, values);
	if (what->teardown)
		what->teardown(what->arg, &team->members->sample);
	return time_ns;
}

static void nothing(void *arg, const struct pmc_bench_sample *sample)
{
	(void)arg;
	(void)sample;
	/* Keeps the compiler from dropping the call. */
	__asm__ volatile("" : : : "memory");
}

/* The cost is the least of many samples: at least that much is spent every time. */
static void team_count(struct team *team, const struct pmc_plan *plan)
{
	uint64_t least_ns = UINT64_MAX, least[PMC_EVENTS_MAX];
	struct value values[PMC_EVENTS_MAX];

	team->plan = plan;
	all_do(team, counters_open);
	memset(least, 0xff, sizeof(least));
	team->run = nothing;
	for (unsigned k = 0; k < CALIBRATIONS; k++) {
		uint64_t time_ns = measure_call(team, values);

		least_ns = time_ns < least_ns ? time_ns : least_ns;
		for (unsigned i = 0; i < plan->opened; i++)
			if (values[i].state == PMC_COUNTED && values[i].count < least[i])
				least[i] = values[i].count;
	}
	team->run = team->what->run;
	team->cost_ns = least_ns;
	for (unsigned i = 0; i < plan->opened; i++)
		team->cost[i] = least[i] == UINT64_MAX ? 0 : least[i];
}

/* ---- all samples ----------------------------------------------------------------------------*/

#define OPS_MAX	   (UINT64_C(1) << 40)
#define GROWTH_MAX 10

/* Finds the number of operations that lasts sample_ns while warming up. The shorter of at least two
 * calls decides, since another program may have had the CPU. 0: no number does. */
static uint64_t grow(const struct pmc_bench_options *options, struct team *team)
{
	uint64_t begun = pmc_now_ns(), least = UINT64_MAX, ops = 1;
	unsigned calls = 0;

	for (;;) {
		uint64_t took = sample(team, ops, NULL), factor;
		bool warm = pmc_now_ns() - begun >= options->warmup_ns;

		least = took < least ? took : least;
		calls++;
		if (least >= options->sample_ns) {
			if (warm && calls >= 2)
				return ops;
			continue;
		}
		if (ops > OPS_MAX)
			return 0;
		/* A tenth more than the estimate, in sixteenths. */
		factor = options->sample_ns * 18 / (least + 1);
		if (factor > 16 * GROWTH_MAX)
			factor = 16 * GROWTH_MAX;
		ops = ops * factor / 16 > ops ? ops * factor / 16 : ops + 1;
		least = UINT64_MAX;
		calls = 0;
	}
}

struct samples {
	const struct team *team;
	uint64_t n, ops; /* samples; operations in each, of all threads */
	unsigned opened;
	uint64_t *times;
	struct value *values; /* `opened` of every sample */
};

static int samples_take(const struct pmc_bench *bench, struct team *team, struct pmc_arena *arena,
			struct samples *samples)
{
	const struct pmc_bench_options *options = &bench->options;
	uint64_t max = options->max_samples, begun = pmc_now_ns();

	samples->opened = bench->plan.opened;
	samples->times = pmc_arena_alloc(arena, sizeof(*samples->times) * max);
	samples->values =
		pmc_arena_alloc(arena, sizeof(*samples->values) * max * (samples->opened + 1));
	if (arena->failed)
		return -ENOMEM;
	while (samples->n < max &&
	       (samples->n < options->min_samples || pmc_now_ns() - begun < options->total_ns)) {
		samples->times[samples->n] =
			sample(team, samples->ops, samples->values + samples->n * samples->opened);
		samples->n++;
	}
	samples->ops *= team->n;
	return 0;
}

/* ---- results --------------------------------------------------------------------------------*/

static struct pmc_bench_stat stat_of(const struct bench_summary *summary)
{
	return (struct pmc_bench_stat){ .median = summary->median,
					.mean = summary->mean,
					.stddev = summary->stddev,
					.min = summary->min,
					.max = summary->max };
}

/* Event i of the plan. For a multiplexed event the samples in which it ran all the time are exact;
 * scaled samples are added only if those are too few. */
static void count_of(const struct pmc_bench *bench, const struct samples *samples, unsigned i,
		     double *per_op, struct pmc_bench_count *count)
{
	const struct pmc_planned *planned = &bench->plan.events[i];
	struct bench_summary summary;

	*count = (struct pmc_bench_count){
		.event = planned->event.name,
		.unit = planned->event.unit,
		.core_type = planned->event.core_type ? planned->event.core_type : "",
		.scope = (enum pmc_scope)planned->scope,
		.state = (enum pmc_state)planned->state,
		.error = planned->error,
	};
	for (uint64_t k = 0; k < samples->n; k++)
		per_op[k] = NAN;
	count->samples_per_op = per_op;
	if (planned->group == PMC_NO_GROUP)
		return;
	for (unsigned m = 0; m < samples->team->n && !count->error; m++)
		count->error = -samples->team->members[m].groups[planned->group].error;
	count->state = PMC_NOT_COUNTED;
	for (unsigned s = 0; s < 2 && count->samples < bench->options.min_samples; s++)
		for (uint64_t k = 0; k < samples->n; k++) {
			const struct value *value = &samples->values[k * samples->opened + i];

			if (value->state != (s ? PMC_SCALED : PMC_COUNTED))
				continue;
			per_op[k] = (double)value->count / (double)samples->ops;
			count->total += value->count;
			count->samples++;
			count->state = value->state;
		}
	bench_summarize(per_op, samples->n, &summary);
	count->per_op = stat_of(&summary);
}

/* Of the first counts with a value. */
static double ipc_of(const struct pmc_bench *bench, const struct pmc_bench_count *counts)
{
	static const enum pmc_input inputs[2] = { PMC_INPUT_INSTRUCTIONS, PMC_INPUT_CYCLES };
	const struct pmc_bench_count *of[2] = { NULL };

	for (unsigned i = 0; i < 2 * bench->plan.count; i++) {
		const unsigned k = i / 2;
		const struct pmc_event *event = &bench->plan.events[bench->order[k]].event;

		if (!of[i % 2] && counts[k].samples &&
		    pmc_is_input(inputs[i % 2], event->type, event->config, event->name))
			of[i % 2] = &counts[k];
	}
	if (!of[0] || !of[1] || of[1]->per_op.mean <= 0 || of[0]->scope != of[1]->scope ||
	    strcmp(of[0]->core_type, of[1]->core_type))
		return NAN;
	return of[0]->per_op.mean / of[1]->per_op.mean;
}

const char *bench_unstable(const struct pmc_bench_result *result, double *share)
{
	const struct pmc_bench_stat *time = &result->time_ns;

	if ((*share = result->drift) > 0.05 || *share < -0.05)
		return "drift";
	if ((*share = result->mad_ns / time->median) > 0.05)
		return "MAD";
	return (*share = time->stddev / time->mean) > 0.25 ? "σ" : NULL;
}

int bench_result_judge(struct bench_result *result)
{
	struct pmc_bench_result *of = &result->of;
	double share;

	bench_summarize(of->samples_ns, of->samples, &result->time);
	result->parts = bench_mean_of_parts(of->samples_ns, of->samples);
	of->time_ns = stat_of(&result->time);
	of->mad_ns = result->time.mad;
	of->outliers = result->time.outliers;
	of->drift = bench_drift(of->samples_ns, of->samples);
	of->unstable = bench_unstable(of, &share);
	if (of->time_ns.median > 0) {
		of->ops_per_s = 1e9 / of->time_ns.median;
		of->bytes_per_s = of->ops_per_s * (double)of->bytes_per_op;
	}
	return result->time.n ? 0 : -ENOMEM;
}

static int result_make(struct pmc_bench *bench, const struct samples *samples,
		       struct bench_result *result)
{
	struct pmc_bench_result *of = &result->of;
	unsigned n = bench->plan.count;
	struct pmc_bench_count *counts = pmc_arena_alloc(&bench->arena, sizeof(*counts) * (n + 1));
	double *per_op = pmc_arena_alloc(&bench->arena, sizeof(double) * samples->n * (n + 1));

	if (!counts || !per_op)
		return -ENOMEM;
	for (unsigned k = 0; k < n; k++)
		count_of(bench, samples, bench->order[k], per_op + (k + 1) * samples->n,
			 &counts[k]);
	for (uint64_t k = 0; k < samples->n; k++)
		per_op[k] = (double)samples->times[k] / (double)samples->ops;
	of->ops_per_sample = samples->ops;
	of->samples = samples->n;
	of->samples_ns = per_op;
	of->n_counts = n;
	of->counts = counts;
	of->ipc = ipc_of(bench, counts);
	return bench_result_judge(result);
}

static int measure(struct pmc_bench *bench, const struct pmc_bench_case *what,
		   struct bench_result *result)
{
	struct pmc_arena scratch = { 0 };
	struct team team = { .what = what, .run = what->run };
	struct samples samples = { .team = &team };
	int error = team_start(&team, result->of.value, &scratch);

	if (!error)
		samples.ops = grow(&bench->options, &team);
	if (!error && !samples.ops)
		error = -ERANGE;
	if (!error) {
		team_count(&team, &bench->plan);
		error = samples_take(bench, &team, &scratch, &samples);
	}
	if (!error)
		error = result_make(bench, &samples, result);
	team_end(&team);
	pmc_arena_free(&scratch);
	return error;
}

static int run_value(struct pmc_bench *bench, const struct pmc_bench_case *what, int64_t value)
{
	struct bench_result *results, result = { .of.value = value };
	int error;

	result.of.threads = what->threads ? what->threads : 1;
	result.of.bytes_per_op = what->bytes_per_op;
	result.of.name = pmc_arena_strdup(&bench->arena, what->name);
	if (what->parameter)
		result.of.parameter = pmc_arena_strdup(&bench->arena, what->parameter);
	error = bench->arena.failed ? -ENOMEM : measure(bench, what, &result);
	/* `run` may have run benchmarks itself. */
	results = pmc_arena_grow(&bench->arena, bench->results, bench->n, &bench->room,
				 sizeof(*results));
	bench->results = results ? results : bench->results;
	if (!error && !results)
		error = -ENOMEM;
	if (!error)
		results[bench->n++] = result;
	return error;
}

int pmc_bench_run_case(struct pmc_bench *bench, const struct pmc_bench_case *what)
{
	int kept = errno, error = 0;

	if (!bench || !what || what->size != sizeof(*what) || !what->name || !what->run ||
	    what->threads > 1024 || !what->parameter != !what->n_values ||
	    (what->n_values && !what->values))
		return -EINVAL;
	if (!what->parameter)
		error = run_value(bench, what, 0);
	for (size_t i = 0; i < what->n_values && !error; i++)
		error = run_value(bench, what, what->values[i]);
	errno = kept;
	return error;
}

struct simple {
	pmc_bench_fn run;
	void *arg;
};

static void run_simple(void *arg, const struct pmc_bench_sample *sample)
{
	const struct simple *simple = arg;

	simple->run(simple->arg, sample->ops);
}

int pmc_bench_run(struct pmc_bench *bench, const char *name, pmc_bench_fn run, void *arg,
		  uint64_t bytes_per_op)
{
	struct simple simple = { run, arg };

	return pmc_bench_run_case(bench,
				  &(struct pmc_bench_case){ .size = sizeof(struct pmc_bench_case),
							    .name = name,
							    .run = run ? run_simple : NULL,
							    .arg = &simple,
							    .bytes_per_op = bytes_per_op });
}
