/* SPDX-License-Identifier: MIT */
/*
 * rules.c - judges the facts: a table of rules, of which the first that speaks names the cause of a
 * pool.
 *
 * Thresholds are shares of time, so that they hold on any machine. A gain is what the pool, or the
 * whole run, could be faster at most if the cause were gone, by the arithmetic of its rule.
 */
#include "tools/explain/explain.h"
#include "lib/base/number.h"
#include "lib/base/sort.h"

#include <math.h>
#include <string.h>

/* Estimates in ns: the start and end of a thread and of a process, a voluntary switch. */
#define THREAD_NS  30000u
#define PROCESS_NS 600000u
#define SWITCH_NS  1500u
/* Of a cache miss that goes to memory, and of a thread that goes on with other caches. */
#define MISS_NS	      80u
#define MIGRATION_NS  5000u
#define BRANCH_CYCLES 15u
#define TLB_CYCLES    30u

#define WIDER "a wider affinity (taskset, cpuset)"
#define FEWER "fewer threads on these CPUs"

struct judging {
	const struct facts *facts;
	const struct pool_facts *pool;
	struct finding *finding;
};

/* ---- texts ------------------------------------------------------------------------------- */

#define SAY(j, ...)	 explain_text((j)->facts->arena, __VA_ARGS__)
#define TIME(j, ns)	 explain_time((j)->facts->arena, ns)
#define EVIDENCE(j, ...) (*end_of((j)->finding->evidence) = SAY(j, __VA_ARGS__))
#define EXCLUDE(j, ...)	 (*end_of((j)->finding->excluded) = SAY(j, __VA_ARGS__))
#define UNKNOWN(j, ...)	 (*end_of((j)->finding->unknown) = SAY(j, __VA_ARGS__))
/* The arithmetic ends in the result. */
#define GAIN(j, times, format, ...)                                                                \
	((j)->finding->gain = (times),                                                             \
	 (j)->finding->arithmetic = SAY(j, format " = %.2f", __VA_ARGS__, (j)->finding->gain))
/* So that a reader of the arithmetic gets the same result. */
#define EXACT(j, ns) SAY(j, "%.6f s", (double)(ns) / 1e9)

static const char **end_of(const char **list)
{
	while (*list)
		list++;
	return list;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static double percent(uint64_t part, uint64_t whole)
{
	return 100 * share(part, whole);
}

/* A count of something in a second of `ns`. */
static double rate(uint64_t count, uint64_t ns)
{
	return 1e9 * share(count, ns);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* The run cannot be faster than with all of its CPUs busy. */
static void limit_to_cpus(struct judging *j)
{
	const struct facts *facts = j->facts;
	/* Threads that spin make way for work. */
	const double busy = share(facts->cpu - facts->spun, facts->wall),
		     room = (double)facts->cpus / busy;

	if (facts->cpus && room > 1 && room < j->finding->gain)
		GAIN(j, room, "%s, but %u CPU%s / %.5g busy", j->finding->arithmetic, facts->cpus,
		     plural(facts->cpus), busy);
}

/* ---- rules: whether the cause is that of the pool, and the finding --------------------------- */

/* Threads of the run that wanted a CPU, on average. */
static double runnable(const struct facts *facts)
{
	return share(facts->cpu + facts->delay, facts->wall);
}

/* While its threads did not sleep. */
static bool is_delayed(const struct pool_facts *pool)
{
	return pool->delay > EXPLAIN_LEAST_DELAY_NS &&
	       share(pool->delay, pool->cpu + pool->delay) >= 0.15;
}

/* A delay that is not complete is at least so long. Threads that spin wait for others anyway. */
static bool waits_for_cpu(const struct pool_facts *pool)
{
	return is_delayed(pool) && share(pool->delay, pool->life) >= 0.1 &&
	       share(pool->spun, pool->cpu) < 0.8;
}

/* One that works all the time, perhaps among others that are idle. */
static bool busiest_waits(const struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	const uint64_t wanted = pool->busiest.cpu + pool->busiest.delay;

	return pool->threads > 1 && wanted >= j->facts->wall / 2 &&
	       share(wanted, pool->busiest.life) >= 0.7 &&
	       share(pool->busiest.delay, wanted) >= 0.25 &&
	       pool->busiest.delay > EXPLAIN_LEAST_DELAY_NS;
}

/* Threads that take turns wait for each other for most of their life, not for a time, and
 * longer for a CPU than they compute. */
static bool turns_wait(const struct judging *j)
{
	const struct pool_facts *pool = j->pool;

	return pool->threads > 1 && pool->delay > EXPLAIN_LEAST_DELAY_NS &&
	       pool->slept <= pool->any.ns / 2 && pool->delay >= pool->cpu &&
	       share(pool->delay, j->facts->wall) >= 0.1;
}

/* By taskset(1) or a cpuset, while the run has more CPUs. */
static bool is_confined(const struct judging *j)
{
	return j->pool->cpus && j->pool->cpus < j->facts->cpus;
}

/* A dump has the number of CPUs of each process: several that are confined may have all of them. */
static bool may_use_all(const struct judging *j)
{
	return j->pool->processes > 1 && j->pool->cpus * j->pool->processes >= j->facts->cpus;
}

/* Mostly for clients, timers and other programs, or for more than one thread of the run. */
static bool waits_for_outside(const struct pool_facts *pool)
{
	return pool->outside > pool->any.ns / 2;
}

/* Of threads that take turns one works at a time: without the delay, the run takes at least the
 * time that is left, and what all compute. Unknown where several work or wait for a CPU at once. */
static void estimate_turns(struct judging *j)
{
	const uint64_t wall = j->facts->wall, cpu = j->facts->cpu,
		       rest = pmc_sub_sat(wall, j->pool->delay), least = rest > cpu ? rest : cpu;

	if (j->pool->has_delay && least < wall && !waits_for_outside(j->pool) &&
	    share(j->pool->cpu + j->pool->delay, wall) <= 1.05)
		GAIN(j, share(wall, least), "%s wall / %s of %s, if one thread works at a time",
		     EXACT(j, wall), EXACT(j, least),
		     rest > cpu ? "it without run delay" : "CPU time");
	j->finding->estimate = true;
}

/* The wait of the pool, else of its busiest thread, else of those that take turns. The gain is the
 * larger one of: that, and of its longest-lived thread. */
static bool says_wait(struct judging *j, const char *though)
{
	const struct pool_facts *pool = j->pool;
	const bool all = waits_for_cpu(pool), one_thread = !all && busiest_waits(j),
		   turns = !all && !one_thread && turns_wait(j);
	uint64_t life = all   ? pool->life :
			turns ? pool->cpu + pool->delay :
				pool->busiest.life,
		 delay = one_thread ? pool->busiest.delay : pool->delay;
	const double times = share(life, pmc_sub_sat(life, delay)),
		     one = share(pool->longest.life,
				 pmc_sub_sat(pool->longest.life, pool->longest.delay));
	const bool longest = all && one > 1.1 * times && pool->longest.life >= j->facts->wall / 2 &&
			     pool->has_delay && pool->threads > 1;

	if (!all && !one_thread && !turns)
		return false;
	j->finding->text = SAY(j, "%swaits for a CPU %s%.0f %% of %s%s%s",
			       one_thread ? "its busiest thread " : "",
			       pool->has_delay ? "" : "at least ", percent(delay, life),
			       turns ? "the time in which it does not sleep" : "its time",
			       longest ? SAY(j, ", its longest-lived thread %.0f %%",
					     percent(pool->longest.delay, pool->longest.life)) :
					 "",
			       though);
	EVIDENCE(j,
		 "run delay %s%s of %s; %s%.1f threads of this run runnable on average, %u CPU%s%s",
		 pool->has_delay ? "" : "at least ", TIME(j, delay), TIME(j, life),
		 j->facts->has_delay ? "" : "at least ", runnable(j->facts), j->facts->cpus,
		 plural(j->facts->cpus),
		 !is_confined(j) ? "" :
		 may_use_all(j)	 ? SAY(j, ", of which each of its %llu processes may use %u",
				       (unsigned long long)pool->processes, pool->cpus) :
				   SAY(j, ", of which its threads may use %u", pool->cpus));
	life = longest ? pool->longest.life : life;
	delay = longest ? pool->longest.delay : delay;
	/* Of a delay that is not complete the most that can be gained is unknown. */
	if (turns)
		estimate_turns(j);
	else if (pool->has_delay)
		GAIN(j, longest ? one : times, "%s%s / (%s - run delay %s)",
		     longest ? "of its longest-lived thread " : "", EXACT(j, life), EXACT(j, life),
		     EXACT(j, delay));
	j->finding->loss_ns = (double)(one_thread ? pool->busiest.delay : pool->delay);
	return true;
}

static uint64_t switches(const struct pool_facts *pool)
{
	return pool->voluntary + pool->involuntary;
}

/* Where nobody else wants the CPU, a thread is preempted a few times a second. Threads that take
 * turns have slices of some ms each: one that is preempted waits about as long as it computed, or
 * longer where there are several others. */
bool explain_is_preempted(const struct pool_facts *pool, uint64_t *ns)
{
	const uint64_t n = pool->involuntary, known = pool->has_places ? pool->any.ns : 0,
		       off = pmc_sub_sat(pool->life, pool->cpu + known);

	*ns = off < pool->cpu ? off : pool->cpu;
	return !pool->has_delay && pool->has_switches && n >= 100 && rate(n, pool->cpu) >= 50 &&
	       share(n, switches(pool)) >= 0.7 && share(off, pool->life) >= 0.15 &&
	       *ns > EXPLAIN_LEAST_DELAY_NS;
}

/* Without run delay: that it waits, not for how long. */
static bool says_preempted(struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	uint64_t ns;

	if (!explain_is_preempted(pool, &ns))
		return false;
	j->finding->text = SAY(j, "waits for a CPU: preempted after every %s of CPU time",
			       TIME(j, pool->cpu / pool->involuntary));
	EVIDENCE(j,
		 "%llu of %llu context switches are preemptions; it was on no CPU %.0f %% of "
		 "its time; the run had %.2f of %u CPUs",
		 (unsigned long long)pool->involuntary, (unsigned long long)switches(pool),
		 percent(pmc_sub_sat(pool->life, pool->cpu), pool->life),
		 share(j->facts->cpu, j->facts->wall), j->facts->cpus);
	j->finding->loss_ns = (double)ns;
	return true;
}

static const char *measure_first(struct judging *j, const char *then)
{
	return SAY(j, "%s, which shows for how long, then %s",
		   j->facts->recorded ? "pmctl profile as root" : "pmctl run -e run-delay", then);
}

/* The cgroup may use fewer CPUs than its threads want. The busiest pools are held back most. */
static bool held_back(struct judging *j)
{
	const struct live_cpu_limit *limit = &j->facts->limit;
	const double often = share(limit->throttled, limit->periods);
	const bool has_all = share(j->facts->cpu, j->facts->wall) > 0.7 * limit->cpus;
	/* A dump has the limit, but not how often it was reached. */
	const bool used_up = !limit->periods && limit->cpus > 0 && limit->cpus < j->facts->cpus &&
			     waits_for_cpu(j->pool) && has_all;

	if (!used_up && (limit->periods < 5 || often < 0.1))
		return false;
	if (share(j->pool->cpu, j->facts->cpu) < 0.3)
		return false;
	j->finding->text =
		SAY(j, "is held back by the limit of its cgroup, %.2f CPUs", limit->cpus);
	if (used_up)
		EVIDENCE(j, "the run had %.2f CPUs and wanted %.2f; run delay %s",
			 share(j->facts->cpu, j->facts->wall), runnable(j->facts),
			 TIME(j, j->pool->delay));
	else
		EVIDENCE(j, "in %llu of %llu periods, for %s on the CPUs together",
			 (unsigned long long)limit->throttled, (unsigned long long)limit->periods,
			 TIME(j, limit->throttled_ns));
	/* Run delay includes the time in which the limit stopped the threads, which is a sum over
	 * CPUs, not threads; and that in which they then shared few CPUs. */
	j->finding->loss_ns = (double)limit->throttled_ns;
	if (has_all || often >= 0.5 || runnable(j->facts) > j->facts->cpus ||
	    limit->throttled_ns > j->pool->delay / 2)
		j->finding->loss_ns = fmax((double)j->pool->delay, (double)limit->throttled_ns);
	j->finding->advice = "a larger limit (cpu.max; of cgroup v1 cpu.cfs_quota_us), or "
			     "fewer threads that run at once";
	return true;
}

static void widen(struct judging *j)
{
	j->finding->advice = may_use_all(j) ?
				     "a look at what else is on these CPUs (pmctl top -a); "
				     "or, if these processes share CPUs, " WIDER :
				     WIDER;
	j->finding->instead = may_use_all(j) ? NULL : FEWER;
	limit_to_cpus(j);
}

static bool cpu_starved(struct judging *j)
{
	const struct facts *facts = j->facts;
	const struct pool_facts *pool = j->pool;
	const uint64_t wanted = pool->cpu + pool->delay;
	const double others = runnable(facts) - share(wanted, facts->wall);
	const double room = facts->cpus - others;
	const uint64_t least = room > 0 ? (uint64_t)(room + 0.5) : 0;

	if (held_back(j))
		return true;
	/* All of its CPUs were busy. */
	if (facts->cpus && share(facts->cpu, facts->wall) >= 0.85 * facts->cpus &&
	    !waits_for_cpu(pool) && says_preempted(j)) {
		j->finding->advice = measure_first(j, "more CPUs, or fewer threads at once");
		return true;
	}
	if (!facts->cpus || runnable(facts) <= 1.05 * facts->cpus || !says_wait(j, ""))
		return false;
	if (share(facts->cpu, facts->wall) < 0.85 * facts->cpus)
		EVIDENCE(j, "the run had %.2f CPUs: other programs, or a limit, took the rest",
			 share(facts->cpu, facts->wall));
	if (is_confined(j)) {
		widen(j);
	} else if (share(facts->cpu, facts->wall) < 0.85 * facts->cpus) {
		j->finding->advice =
			"more CPUs, fewer other programs on them, or a larger limit (cgroup)";
	} else {
		j->finding->advice = "more CPUs";
		/* The CPUs stay as busy as they are. */
		if (facts->has_delay && room >= 0.5 && pool->threads > least)
			j->finding->instead = SAY(j,
						  "at most %llu such thread%s, which then wait%s "
						  "less",
						  (unsigned long long)least, plural(least),
						  least == 1 ? "s" : "");
	}
	return true;
}

#define LOOK                                                                                       \
	"a look at what else is on these CPUs (pmctl top -a), at limits (cgroup) and affinities"

static bool preempted(struct judging *j)
{
	const char *look = j->facts->threads < 2 ? LOOK :
						   LOOK ", and whether threads of this run wake "
							"each other on one CPU";

	if (j->facts->cpus && !waits_for_cpu(j->pool) && says_preempted(j)) {
		j->finding->advice = measure_first(
			j, is_confined(j) && !may_use_all(j) ? WIDER ", or " FEWER : look);
		return true;
	}
	if (!j->facts->cpus ||
	    !says_wait(j, is_confined(j) || !j->facts->has_delay ||
					  runnable(j->facts) > j->facts->cpus ?
				  "" :
				  ", though the run wants no more CPUs than there are"))
		return false;
	j->finding->advice = look;
	if (is_confined(j))
		widen(j);
	return true;
}

/* Few waits, or shorter ones, may be those of a program that starts. */
static bool is_long(const struct place_facts *place)
{
	return place->ns >= 50000000 || (place->ns >= 2000000 && place->n >= 20);
}

static bool lock(struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	const uint64_t ns = pool->locks.ns;
	const bool gil = pool->locks.function && !strcmp(pool->locks.function, explain_gil);

	if (!pool->has_waits || share(ns, pool->life) < 0.15 || !is_long(&pool->locks))
		return false;
	j->finding->text = SAY(j, "waits for a lock%s %.0f %% of its time",
			       gil ? ", largely the GIL of Python," : "", percent(ns, pool->life));
	EVIDENCE(j, "%s of %s in functions that take locks%s%s", TIME(j, ns), TIME(j, pool->life),
		 pool->locks.function ? ", the largest part in " : "",
		 pool->locks.function ? pool->locks.function : "");
	GAIN(j, share(pool->life, pmc_sub_sat(pool->life, ns)), "%s / (%s - %s in locks)",
	     EXACT(j, pool->life), EXACT(j, pool->life), EXACT(j, ns));
	limit_to_cpus(j);
	j->finding->loss_ns = (double)ns;
	j->finding->advice =
		gil ? "processes instead of threads, or native code that releases the GIL" :
		      "hold the lock for less time, or split what it protects";
	return true;
}

/* CPU time and run delay, without those of waits that spin. */
static struct thread_times work_of(const struct pool_facts *pool)
{
	return explain_work(&(struct thread_times){ pool->life, pool->cpu, pool->delay },
			    pool->spun);
}

/* Most of the time in which it was seen: one of a team of OpenMP. */
static bool in_parallel(const struct pool_facts *pool)
{
	return share(pool->in_parallel, pool->seen) >= 0.6;
}

static const char *runtime_of(const struct pool_facts *pool)
{
	return pool->in_mpi > pool->in_runtime / 2 ? "the MPI library" : "the OpenMP runtime";
}

/* A pool whose threads wait while one thread of the run computes. */
static const struct pool_facts *idle_workers(const struct facts *facts,
					     const struct pool_facts *hot)
{
	for (uint64_t i = 0; i < facts->n_pools; i++) {
		const struct pool_facts *pool = &facts->pools[i];

		if (pool != hot && pool->threads >= 2 &&
		    share(pool->all_life, facts->wall) >= 0.5 * (double)pool->threads &&
		    share(pool->cpu, facts->wall) >= 0.01 &&
		    share(pool->cpu - pool->spun, pool->all_life) <= 0.4)
			return pool;
	}
	return NULL;
}

static bool serial(struct judging *j)
{
	const struct facts *facts = j->facts;
	const struct pool_facts *pool = j->pool, *workers = idle_workers(facts, pool);
	const double cpus = share(facts->cpu - facts->spun, facts->wall);
	double most;

	if (facts->cpus < 2 || !workers ||
	    share(pool->busiest.cpu + pool->busiest.delay, facts->wall) < 0.7 ||
	    share(pool->most_cpu, facts->wall) < 0.35 ||
	    pool->cpu - pool->most_cpu > facts->wall / 10 || cpus > 1.6)
		return false;
	most = (double)(workers->threads + 1);
	most = most < facts->cpus ? most : facts->cpus;
	j->finding->text = SAY(j, "one thread computes while %s waits", workers->name);
	EVIDENCE(j, "%s of %s on a CPU; the %llu threads of %s %s together",
		 TIME(j, pool->most_cpu), TIME(j, facts->wall),
		 (unsigned long long)workers->threads, workers->name, TIME(j, workers->cpu));
	GAIN(j, most / (cpus > 1 ? cpus : 1), "the fewer of %llu threads and %u CPUs / %.5g busy",
	     (unsigned long long)workers->threads + 1, facts->cpus, cpus > 1 ? cpus : 1);
	j->finding->advice = SAY(j, "give part of its work to %s", workers->name);
	return true;
}

static bool is_main(const struct pool_facts *pool)
{
	return pool->threads == 1 && !pool->workers;
}

struct team {
	uint64_t n, cpu, spun, first_start, last_start;
	struct thread_times busiest;
};

static struct team team_of(const struct pool_facts *pool)
{
	struct team team = { pool->workers,	pool->workers_cpu, pool->spun,
			     pool->first_start, pool->last_start,  pool->worker };

	/* Where some share the work, the idle ones have other work, as writers and timers. */
	if (pool->busy >= 2 && !in_parallel(pool)) {
		team.n = pool->busy;
		team.cpu = pool->busy_cpu;
	}
	if (is_main(pool)) {
		team.n = 1;
		team.busiest = work_of(pool);
		team.cpu = team.busiest.cpu;
	}
	return team;
}

/* Mostly in one function, and not for what comes from outside. */
static bool works_in(const struct pool_facts *pool, const char *function)
{
	const uint64_t outside = pool->disk.ns + pool->outside;

	return pool->samples >= 20 && pool->work.function &&
	       !strcmp(pool->work.function, function) &&
	       share(pool->work.most, pool->work.ns) >= 0.6 && outside <= pool->any.ns / 10;
}

/* The main thread that does a part of the work itself, as one of OpenMP does, and the others. */
static const struct pool_facts *rest_of_team(const struct facts *facts,
					     const struct pool_facts *pool)
{
	const char *function = pool->work.function;

	for (uint64_t i = 0; i < facts->n_pools; i++) {
		const struct pool_facts *rest = &facts->pools[i];

		if (is_main(pool) + is_main(rest) == 1 &&
		    ((in_parallel(pool) && in_parallel(rest)) ||
		     (function && works_in(pool, function) && works_in(rest, function))))
			return rest;
	}
	return NULL;
}

/* The CPU time of the busiest thread as a multiple of what it would be with the work divided. */
static unsigned cpus_of(const struct facts *facts, const struct team *team)
{
	return facts->cpus && facts->cpus < team->n ? facts->cpus : (unsigned)team->n;
}

static double excess(const struct facts *facts, const struct team *team)
{
	return share(team->busiest.cpu * cpus_of(facts, team), team->cpu);
}

static bool spins(const struct team *team)
{
	return share(team->spun, team->cpu + team->spun) >= 0.1;
}

static bool is_unequal(const struct facts *facts, const struct team *team)
{
	const uint64_t cpu = team->busiest.cpu, wanted = cpu + team->busiest.delay;

	/* While others spin, what it waits for is no work of theirs. */
	return team->n >= 2 && team->n <= 4096 && excess(facts, team) >= 1.4 &&
	       share(cpu, facts->wall) >= 0.35 && share(wanted, facts->wall) >= 0.5 &&
	       share(wanted, team->busiest.life) >= (spins(team) ? 0.5 : 0.7) &&
	       team->last_start - team->first_start <= facts->wall / 4;
}

/* Adds the rest of the team. False: the pool has not the busiest thread, or the others did not wait
 * meanwhile: where CPUs are short, some threads get less of them. */
static bool join(struct team *team, const struct pool_facts *pool, const struct pool_facts *rest)
{
	const struct team others = team_of(rest);
	const struct thread_times its = work_of(pool), of_rest = work_of(rest);
	const uint64_t most = team->busiest.cpu + team->busiest.delay,
		       all = its.cpu + its.delay + of_rest.cpu + of_rest.delay;

	/* Threads that spin have a CPU. */
	if (others.busiest.cpu > team->busiest.cpu ||
	    ((!pool->has_delay || !rest->has_delay) && rest->spun <= of_rest.cpu))
		return false;
	team->n += others.n;
	team->cpu += others.cpu;
	team->spun += others.spun;
	if (others.first_start < team->first_start)
		team->first_start = others.first_start;
	if (others.last_start > team->last_start)
		team->last_start = others.last_start;
	return (double)pmc_sub_sat(all, most) <= 0.8 * (double)most * (double)(team->n - 1);
}

static bool imbalance(struct judging *j)
{
	const struct pool_facts *pool = j->pool, *rest = NULL;
	struct team team = team_of(pool);
	const char *who = pool->in_mpi ? "ranks" : "threads";
	uint64_t busy_ns;

	if (!is_unequal(j->facts, &team)) {
		rest = rest_of_team(j->facts, pool);
		if (!rest || !join(&team, pool, rest) || !is_unequal(j->facts, &team))
			return false;
	}
	busy_ns = pmc_sub_sat(team.busiest.life, team.busiest.delay);
	if (busy_ns < team.busiest.cpu)
		busy_ns = team.busiest.cpu;
	j->finding->text = rest ? SAY(j, "%s and %s have unequal work",
				      pool->threads > 1 ? "its threads" : "it", rest->name) :
				  SAY(j, "its %s have unequal work", who);
	EVIDENCE(j, "the busiest of %llu %s has %s of CPU time, the mean is %s%s%s%s%s",
		 (unsigned long long)team.n, who, TIME(j, team.busiest.cpu),
		 TIME(j, team.cpu / team.n), rest && pool->work.function ? ", most of it in " : "",
		 rest && pool->work.function ? pool->work.function : "",
		 spins(&team) ? SAY(j, ", without %s for which they spin in ", TIME(j, team.spun)) :
				"",
		 spins(&team) ? runtime_of(rest && rest->spun > pool->spun ? rest : pool) : "");
	/* In its waits others may have worked: these may be saved, too. */
	GAIN(j, share(busy_ns * cpus_of(j->facts, &team), team.cpu), "%s x %u / %s",
	     EXACT(j, busy_ns), cpus_of(j->facts, &team), EXACT(j, team.cpu));
	limit_to_cpus(j);
	j->finding->advice = pool->in_mpi ? "equal parts of the work for the ranks" :
					    "smaller pieces of work, which idle threads can take";
	return true;
}

/* A pool with as many switches: they may wait for each other, unless both wait for others. Threads
 * that take turns have hardly one more or less; if it is not known what they wait for, this is the
 * only evidence. */
static const struct pool_facts *partner_of(const struct facts *facts, const struct pool_facts *pool)
{
	for (uint64_t i = 0; i < facts->n_pools; i++) {
		const struct pool_facts *other = &facts->pools[i];
		const double equal = pool->any.ns && other->any.ns ? 0.7 : 0.98;

		/* One that never waits is not handed anything. */
		if (other != pool && other->has_switches &&
		    !(waits_for_outside(pool) && waits_for_outside(other)) &&
		    share(other->voluntary, switches(other)) >= 0.1 &&
		    share(switches(other), switches(pool)) > equal &&
		    share(switches(pool), switches(other)) > equal)
			return other;
	}
	return NULL;
}

static bool in_team(const struct pool_facts *pool)
{
	return share(pool->openmp, pool->samples) >= 0.1;
}

/* Most of its waits are ended by threads of the run: by what it waits for, or, where no waits were
 * recorded, as it works in a team of OpenMP, which the main thread does for a part of its time. */
static bool is_handed(const struct pool_facts *pool)
{
	return pool->handed > 0 || (!pool->waits && in_team(pool));
}

/* By threads of the same pool, or of another one that waits so, too. */
static bool wait_for_each_other(const struct facts *facts, const struct pool_facts *pool)
{
	bool others = pool->threads >= 2;

	for (uint64_t i = 0; i < facts->n_pools; i++) {
		const struct pool_facts *other = &facts->pools[i];

		others |= other != pool && is_handed(other) &&
			  other->voluntary >= pool->voluntary / 10;
	}
	return others && is_handed(pool);
}

static bool handoff(struct judging *j)
{
	const struct facts *facts = j->facts;
	const struct pool_facts *pool = j->pool, *partner = partner_of(facts, pool);
	/* Two threads on one CPU are often preempted by the wake-up of the other. */
	const uint64_t all = switches(pool);
	const bool each_other = wait_for_each_other(facts, pool);

	if (!pool->has_switches || !(partner || each_other) || rate(all, pool->cpu) < 20000 ||
	    all < 2000 || share(pool->voluntary, all) < 0.3 ||
	    share(pool->cpu + pool->delay, pool->life) < 0.15)
		return false;
	j->finding->text = SAY(j, "switches to another thread after every %s of CPU time",
			       TIME(j, pool->cpu / all));
	EVIDENCE(j, "%llu context switches in %s of CPU time%s%s", (unsigned long long)all,
		 TIME(j, pool->cpu),
		 partner	  ? ", as many as " :
		 pool->handed > 0 ? ", most waits are for conditions, semaphores and futexes" :
				    ", by threads of OpenMP",
		 partner ? partner->name : "");
	/* No gain: the cost of a round trip cannot be separated from its work. Threads that are
	 * woken so often wait for a CPU because of that. */
	j->finding->loss_ns = (double)(all * SWITCH_NS + pool->delay);
	j->finding->advice =
		in_team(pool) ? "fewer threads (OMP_NUM_THREADS, OMP_THREAD_LIMIT), or larger "
				"pieces of work; or, with a CPU for each thread, waits that spin "
				"(OMP_WAIT_POLICY=active, GOMP_SPINCOUNT)" :
		each_other    ? "pass on more work at a time, or fewer threads" :
				"pass on more work at a time";
	return true;
}

static bool short_lived(struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	const uint64_t cost = pool->threads * THREAD_NS;
	/* Of each thread it is unknown. */
	const bool inflated = share(j->facts->overhead, j->facts->cpu) >= 0.1;

	/* Main threads are those of processes, which judge_children() judges. */
	if (pool->threads < 200 || pool->processes > pool->threads / 2 ||
	    share(pool->cpu, pool->threads) > 1e6 || share(pool->all_life, pool->threads) > 1e8 ||
	    share(cost, pool->cpu + cost) < 0.1)
		return false;
	j->finding->text = SAY(
		j, "%llu threads of %s of CPU time each%s", (unsigned long long)pool->threads,
		TIME(j, pool->cpu / pool->threads), inflated ? ", with the agent's overhead" : "");
	EVIDENCE(j, "start and end of a thread take some %s: %s for all of them",
		 TIME(j, THREAD_NS), TIME(j, cost));
	if (!inflated)
		GAIN(j, share(pool->cpu + cost, pool->cpu),
		     "(CPU time %s + %llu threads x %s) / %s", EXACT(j, pool->cpu),
		     (unsigned long long)pool->threads, TIME(j, THREAD_NS), EXACT(j, pool->cpu));
	j->finding->loss_ns = (double)cost;
	j->finding->estimate = true;
	j->finding->advice = "threads that are used again (a thread pool)";
	return true;
}

static bool page_faults(struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	const uint64_t cost = pool->minor_faults * j->facts->fault_ns;

	/* A program that starts has some 100, and more if it starts others. */
	if (!pool->has_usage || share(cost, pool->cpu) < 0.1 ||
	    pool->minor_faults < 1000 * pool->threads)
		return false;
	/* The cost is an estimate, by faults of pmctl itself. */
	j->finding->text = cost < pool->cpu ?
				   SAY(j, "spends some %.0f %% of its CPU time on page faults",
				       percent(cost, pool->cpu)) :
				   "spends nearly all of its CPU time on page faults";
	EVIDENCE(j, "%llu page faults in %s of CPU time, some %s each, often more",
		 (unsigned long long)pool->minor_faults, TIME(j, pool->cpu),
		 TIME(j, j->facts->fault_ns));
	if (cost < pool->cpu)
		GAIN(j, share(pool->cpu, pool->cpu - cost),
		     "CPU time %s / (%s - %llu faults x %llu ns)", EXACT(j, pool->cpu),
		     EXACT(j, pool->cpu), (unsigned long long)pool->minor_faults,
		     (unsigned long long)j->facts->fault_ns);
	j->finding->loss_ns = (double)(cost < pool->cpu ? cost : pool->cpu);
	j->finding->estimate = true;
	j->finding->advice = "keep and use memory again instead of returning it, or larger pages";
	return true;
}

/* Of its CPU time. Weights of samples need not add up to that: only their shares count. */
static uint64_t by_samples(const struct pool_facts *pool, uint64_t weight)
{
	return (uint64_t)((double)pool->cpu * share(weight, pool->sampled + pool->in_kernel));
}

static bool kernel(struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	const bool counted = pool->has_count[EXPLAIN_SYSTEM];
	const uint64_t system = !counted ? by_samples(pool, pool->in_kernel) :
				pool->counts[EXPLAIN_SYSTEM] < pool->cpu ?
					   pool->counts[EXPLAIN_SYSTEM] :
					   pool->cpu; /* of another clock */

	if (share(pool->cpu, j->facts->cpu) < 0.1 || share(system, pool->cpu) < 0.5 ||
	    (counted ? pool->cpu < 20 * j->facts->tick_ns : pool->kernel_samples < 20) ||
	    2 * pool->minor_faults * j->facts->fault_ns > system)
		return false;
	j->finding->text = SAY(j, "spends %s%.0f %% of its CPU time in the kernel",
			       counted ? "" : "some ", percent(system, pool->cpu));
	EVIDENCE(j, "%s %s of %s of CPU time", counted ? "system time" : "by samples, some",
		 TIME(j, system), TIME(j, pool->cpu));
	j->finding->loss_ns = (double)system;
	j->finding->advice = "pmctl profile --by tree shows which system calls take it: fewer of "
			     "them, each for more work";
	return true;
}

/* A wait for something outside of the run, if it is that share of the pool's time. */
static bool waits_outside(struct judging *j, const struct place_facts *place, double least,
			  const char *text, const char *in)
{
	const struct pool_facts *pool = j->pool;

	if (!pool->has_places || share(place->ns, pool->life) < least || !is_long(place))
		return false;
	j->finding->text = SAY(j, "%s %.0f %% of its time", text, percent(place->ns, pool->life));
	EVIDENCE(j, "%s of %s in %s%s%s", TIME(j, place->ns), TIME(j, pool->life), in,
		 place->function ? ", the largest part in " : "",
		 place->function ? place->function : "");
	/* One that waits for all of its time may have nothing to do. */
	if (share(place->ns, pool->life) < 0.95) {
		GAIN(j, share(pool->life, pool->life - place->ns), "%s / (%s - %s)",
		     EXACT(j, pool->life), EXACT(j, pool->life), EXACT(j, place->ns));
		limit_to_cpus(j);
	}
	j->finding->loss_ns = (double)place->ns;
	return true;
}

static bool network(struct judging *j)
{
	j->finding->advice = "fewer round trips or several requests at once, or a look at what "
			     "answers; nothing, where it only waits for requests";
	return waits_outside(j, &j->pool->network, 0.3, "waits for the other ends of its sockets",
			     "functions that send and receive");
}

static bool disk(struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	const bool paged = pool->paged > pool->disk.ns / 2;

	j->finding->advice =
		paged ? "read ahead (madvise, readahead), or more memory" :
			"fewer and larger requests, fewer calls of fsync, or more memory";
	if (waits_outside(j, &pool->disk, 0.15,
			  paged ? "waits for pages from a file or swap" : "waits for a disk",
			  paged ? SAY(j, "waits for files, %s of it in page faults",
				      TIME(j, pool->paged)) :
				  "reads, writes and synchronisation of files"))
		return true;
	if (!pool->has_usage || pool->major_faults < 100 ||
	    rate(pool->major_faults, pool->life) < 50 || share(pool->cpu, pool->life) > 0.7)
		return false;
	j->finding->text = "waits for pages from a file or swap";
	EVIDENCE(j, "%llu major page faults in %s", (unsigned long long)pool->major_faults,
		 TIME(j, pool->life));
	j->finding->loss_ns = (double)pmc_sub_sat(pool->life, pool->cpu + pool->delay);
	j->finding->advice = "read ahead (madvise, readahead), or more memory";
	return true;
}

/* A fifth of its CPU time or more is in functions that have `n` of its samples, which are taken in
 * user mode only. */
static bool takes_samples(struct judging *j, uint64_t n, const char *does, const char *functions)
{
	const struct pool_facts *pool = j->pool;
	const uint64_t user = pool->in_kernel		? by_samples(pool, pool->sampled) :
			      pool->sampled < pool->cpu ? pool->sampled :
							  pool->cpu;
	const double of_cpu = share(n, pool->samples) * share(user, pool->cpu);

	if (pool->samples < 50 || of_cpu < 0.2)
		return false;
	j->finding->text = SAY(j, "%s %.0f %% of its CPU time", does, 100 * of_cpu);
	EVIDENCE(j, "%llu of %llu samples in %s; samples are of user mode, %.0f %% of its CPU time",
		 (unsigned long long)n, (unsigned long long)pool->samples, functions,
		 percent(user, pool->cpu));
	j->finding->loss_ns = (double)pool->cpu * of_cpu;
	if (of_cpu < 0.99)
		GAIN(j, 1 / (1 - of_cpu), "1 / (1 - %llu / %llu samples x %.5g in user mode)",
		     (unsigned long long)n, (unsigned long long)pool->samples,
		     share(user, pool->cpu));
	return true;
}

/* In the libraries of OpenMP and MPI, which spin: no gain, as what they wait for is elsewhere. */
static bool spins_for_others(struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	const bool mpi = pool->in_mpi > pool->in_runtime / 2;

	if (pool->in_runtime < 20 || share(pool->spun, pool->cpu) < 0.2)
		return false;
	j->finding->text =
		SAY(j, "spends %.0f %% of its CPU time in %s, where threads spin until others %s",
		    percent(pool->spun, pool->cpu), runtime_of(pool),
		    mpi ? "send or answer" : "are done");
	EVIDENCE(j, "%llu of %llu samples in functions of it: %s of %s",
		 (unsigned long long)pool->in_runtime,
		 (unsigned long long)(pool->samples + pool->kernel_samples), TIME(j, pool->spun),
		 TIME(j, pool->cpu));
	j->finding->loss_ns = (double)pool->spun;
	j->finding->advice = mpi ? "equal work for all ranks, or fewer and larger messages" :
				   "equal work for all threads, or larger pieces of it; "
				   "OMP_WAIT_POLICY=passive saves CPU time, and "
				   "wall time only where threads wait for CPUs";
	return true;
}

static bool spin(struct judging *j)
{
	const struct pool_facts *pool = j->pool;

	if (spins_for_others(j))
		return true;
	j->finding->advice = "a lock that sleeps";
	if (takes_samples(j, pool->spinning, "spins", "spin locks and sched_yield"))
		return true;
	/* Most of the time of sched_yield is in the kernel, which has no samples. */
	if (pool->samples < 20 || share(pool->spinning, pool->samples) < 0.6)
		return false;
	j->finding->text = "spins for most of its time in user mode";
	j->finding->loss_ns =
		(double)by_samples(pool, pool->sampled) * share(pool->spinning, pool->samples);
	EVIDENCE(j,
		 "%llu of %llu samples in spin locks and sched_yield, most of whose time is in "
		 "the kernel",
		 (unsigned long long)pool->spinning, (unsigned long long)pool->samples);
	return true;
}

static bool allocator(struct judging *j)
{
	j->finding->advice = "fewer and larger allocations, or another allocator";
	return takes_samples(j, j->pool->allocating, "allocates and frees memory",
			     "malloc, free and functions below them");
}

/* Garbage collector threads of runtimes, by the beginning of their names. */
static bool gc(struct judging *j)
{
	static const char *const collectors[] = { "GC Thread",	    "G1 ",
						  "ZWorker",	    "ZDriver",
						  "Shenandoah",	    "GC Slave",
						  ".NET Server GC", ".NET Background GC",
						  "Parallel GC",    "VM Thread" };
	const struct pool_facts *pool = j->pool;
	bool collects = false;

	for (unsigned i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++)
		collects |= !strncmp(pool->name, collectors[i], strlen(collectors[i]));
	if (!collects || share(pool->cpu, j->facts->cpu) < 0.2)
		return false;
	j->finding->text = SAY(j, "collects garbage, %.0f %% of all CPU time",
			       percent(pool->cpu, j->facts->cpu));
	EVIDENCE(j, "%s of %s", TIME(j, pool->cpu), TIME(j, j->facts->cpu));
	j->finding->loss_ns = (double)pool->cpu;
	GAIN(j, share(j->facts->cpu, j->facts->cpu - pool->cpu), "CPU time %s / (%s - %s)",
	     EXACT(j, j->facts->cpu), EXACT(j, j->facts->cpu), EXACT(j, pool->cpu));
	j->finding->advice = "fewer allocations, or a larger heap";
	return true;
}

/* ---- rules that need counts of events -------------------------------------------------------- */

static bool migrations(struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	const uint64_t n = pool->counts[EXPLAIN_MIGRATIONS], cost = n * MIGRATION_NS;

	if (!pool->has_count[EXPLAIN_MIGRATIONS] || n < 500 || share(cost, pool->cpu) < 0.1)
		return false;
	j->finding->text =
		SAY(j, "goes to another CPU after every %s of CPU time", TIME(j, pool->cpu / n));
	EVIDENCE(j, "%llu migrations in %s of CPU time, some %s each", (unsigned long long)n,
		 TIME(j, pool->cpu), TIME(j, MIGRATION_NS));
	j->finding->loss_ns = (double)cost;
	j->finding->advice = "an affinity for each thread, or fewer threads that take turns";
	return true;
}

/* A number of events of some cycles each, of all cycles. */
static bool takes_cycles(struct judging *j, enum explain_event event, uint64_t each, double least,
			 const char *text, const char *events)
{
	const struct pool_facts *pool = j->pool;
	const uint64_t n = pool->counts[event], cycles = pool->counts[EXPLAIN_CYCLES];
	const uint64_t cost = n * each;

	if (!pool->has_count[event] || !pool->has_count[EXPLAIN_CYCLES] ||
	    share(cost, cycles) < least)
		return false;
	j->finding->text = SAY(j, "spends some %.0f %% of its cycles on %s",
			       cost < cycles ? percent(cost, cycles) : 100, text);
	EVIDENCE(j, "%llu %s in %llu cycles, some %llu cycle%s each", (unsigned long long)n, events,
		 (unsigned long long)cycles, (unsigned long long)each, plural(each));
	if (pool->has_count[EXPLAIN_INSTRUCTIONS])
		EVIDENCE(j, "%.2f instructions per cycle",
			 share(pool->counts[EXPLAIN_INSTRUCTIONS], cycles));
	j->finding->loss_ns = (double)pool->cpu * (cost < cycles ? share(cost, cycles) : 1);
	j->finding->estimate = true;
	if (cost < cycles)
		GAIN(j, share(cycles, cycles - cost), "%llu cycles / (%llu - %llu x %llu)",
		     (unsigned long long)cycles, (unsigned long long)cycles, (unsigned long long)n,
		     (unsigned long long)each);
	return true;
}

static bool tlb(struct judging *j)
{
	j->finding->advice = "larger pages (madvise MADV_HUGEPAGE), or data that lie closer";
	return takes_cycles(j, EXPLAIN_TLB_MISSES, TLB_CYCLES, 0.1, "page tables",
			    "loads without their address in the TLB");
}

static bool branches(struct judging *j)
{
	j->finding->advice = "fewer branches that depend on data, or sorted data";
	return takes_cycles(j, EXPLAIN_BRANCH_MISSES, BRANCH_CYCLES, 0.15, "mispredicted branches",
			    "mispredicted branches");
}

static bool frontend(struct judging *j)
{
	j->finding->advice = "less code in the hot path, or its order by a profile (PGO)";
	return takes_cycles(j, EXPLAIN_STALLED, 1, 0.3, "waiting for instructions",
			    "cycles without an instruction to start");
}

static bool memory(struct judging *j)
{
	const struct pool_facts *pool = j->pool;
	const uint64_t n = pool->counts[EXPLAIN_CACHE_MISSES], cost = n * MISS_NS;
	const double ipc = share(pool->counts[EXPLAIN_INSTRUCTIONS], pool->counts[EXPLAIN_CYCLES]);

	if (!pool->has_count[EXPLAIN_CACHE_MISSES] || share(cost, pool->cpu) < 0.25 ||
	    !pool->has_count[EXPLAIN_INSTRUCTIONS] || !pool->has_count[EXPLAIN_CYCLES] || ipc > 1)
		return false;
	j->finding->text = "waits for memory for a large part of its CPU time";
	EVIDENCE(j, "%llu cache misses in %s of CPU time, some 80 ns each if one after the other",
		 (unsigned long long)n, TIME(j, pool->cpu));
	EVIDENCE(j, "%.2f instructions per cycle", ipc);
	j->finding->loss_ns = (double)(cost < pool->cpu ? cost : pool->cpu);
	j->finding->advice = "smaller or denser data, or an order of access that follows memory";
	return true;
}

/* Of causes that hold for the same pool the first one is named; of WAITS and COSTS the one that
 * loses most time, but of several COSTS, which overlap, the first. */
static const struct rule {
	const char *cause;
	bool (*judge)(struct judging *j);
	enum {
		ALONE, /* only where no other one is named, which then is no cause of its own */
		EARLY, /* as COSTS, but waits that come after it are caused by it, too */
		WAITS, /* loses time of a kind of its own */
		COSTS, /* CPU time, whatever else the pool does: also where another one is named */
	} kind;
} rules[] = {
	{ "lock", lock, WAITS },
	{ "gc", gc, EARLY },
	{ "short-lived", short_lived, EARLY },
	{ "handoff", handoff, ALONE },
	{ "cpu-starved", cpu_starved, WAITS },
	{ "imbalance", imbalance, ALONE },
	{ "serial", serial, ALONE },
	{ "disk", disk, WAITS },
	{ "network", network, WAITS },
	{ "spin", spin, COSTS },
	{ "allocator", allocator, COSTS },
	{ "page-faults", page_faults, COSTS },
	{ "migrations", migrations, COSTS },
	{ "tlb", tlb, COSTS },
	{ "branches", branches, COSTS },
	{ "memory", memory, COSTS },
	{ "frontend", frontend, COSTS },
	{ "kernel", kernel, COSTS },
	{ "preempted", preempted, WAITS },
};

/* ---- findings ---------------------------------------------------------------------------- */

static const char *unknown_delay(const struct facts *facts, const struct pool_facts *pool)
{
	uint64_t ns;
	const char *what = facts->preemptions		   ? "waits for a CPU after a wake-up" :
			   explain_is_preempted(pool, &ns) ? "how long it waits for a CPU" :
							     "waits for a CPU";
	const char *how = facts->preemptions && facts->recorded ?
				  "of threads that have ended; pmctl run -e run-delay, where it "
				  "loads the agent" :
			  !facts->dumped  ? "threads that have ended" :
			  facts->recorded ? "pmctl profile, as root" :
					    "pmctl run -e run-delay";

	return explain_text(facts->arena, "%s (%s)", what, how);
}

void explain_unknown(const struct facts *facts, const struct pool_facts *pool, const char **list)
{
	/* Waits can be recorded so, or this prevented it. */
	const char *how = pool->mixed	  ? "their waits include those for a CPU" :
			  facts->lost	  ? "many records of switches were lost" :
			  facts->waits	  ? "too few waits with a stack" :
			  !facts->dumped  ? "as root" :
			  facts->recorded ? "pmctl profile, as root" :
					    "pmctl run --off-cpu, or of any program pmctl profile "
					    "--off-cpu -p PID or -- CMD, as root";

	list = end_of(list);
	if (!pool->has_delay)
		*list++ = unknown_delay(facts, pool);
	if (!pool->has_waits && !pool->has_places)
		*list++ = explain_text(facts->arena, "locks, disks and sockets (%s)", how);
	else if (!pool->has_waits)
		*list++ = explain_text(facts->arena, "locks (%s)", how);
	if (facts->go)
		*list++ = "waits of goroutines for each other, which the kernel does not see (Go's "
			  "mutex and block profiles show them)";
	if (!facts->has_samples)
		*list++ = facts->dumped && facts->recorded ?
				  "spinning and allocation (pmctl profile)" :
			  facts->dumped	 ? "spinning and allocation (pmctl run --sample)" :
			  facts->profile ? "spinning and allocation (no samples)" :
					   "spinning and allocation (as root, or -- CMD)";
	if (!facts->has_counters)
		*list++ = "memory and branches (no hardware counters)";
}

static bool is_of_cpus(const char *cause)
{
	return !strcmp(cause, "cpu-starved") || !strcmp(cause, "preempted");
}

/* Where the run hardly computes it does not matter. */
static void say_overhead(struct judging *j)
{
	if (share(j->facts->overhead, j->facts->cpu) >= 0.05 &&
	    share(j->facts->overhead, j->facts->wall) >= 0.02)
		EVIDENCE(j, "at least %.0f %% of the run's CPU time is overhead of the agent",
			 percent(j->facts->overhead, j->facts->cpu));
}

/* What else was looked at, and what could not be. also: another cause that is in the evidence. */
static void add_rest(struct judging *j, const char *also)
{
	const struct facts *facts = j->facts;
	const struct pool_facts *pool = j->pool;
	const char *cause = j->finding->cause;

	if (waits_for_cpu(pool) && !is_of_cpus(cause) && !is_of_cpus(also))
		EVIDENCE(j, "also waits for a CPU %s%.0f %% of its time",
			 pool->has_delay ? "" : "at least ", percent(pool->delay, pool->life));
	if (pool->idle && pool->idle < pool->threads)
		EVIDENCE(j, "%llu of %llu threads %s", (unsigned long long)pool->idle,
			 (unsigned long long)pool->threads,
			 pool->idle == 1 ? "is idle for 98 % of its time and hardly counts" :
					   "are idle for 98 % of their time and hardly count");
	if (pool->has_delay && share(pool->delay, pool->life) < 0.1 && !is_delayed(pool))
		EXCLUDE(j, "CPUs (run delay %.1f %% of its time)",
			percent(pool->delay, pool->life));
	else if (pool->has_delay && share(pool->delay, pool->life) < 0.1 && !is_of_cpus(cause) &&
		 !is_of_cpus(also))
		UNKNOWN(j,
			"CPUs (run delay %.1f %% of its time, %.0f %% of that in which it does "
			"not sleep: %s)",
			percent(pool->delay, pool->life),
			percent(pool->delay, pool->cpu + pool->delay), TIME(j, pool->delay));
	else if (pool->has_delay && pool->delay <= EXPLAIN_LEAST_DELAY_NS)
		UNKNOWN(j, "CPUs (run delay %.1f %% of its time, which is too short to judge: %s)",
			percent(pool->delay, pool->life), TIME(j, pool->life));
	if (pool->has_waits && share(pool->locks.ns, pool->life) < 0.1) {
		if (share(pool->futexes, pool->all_life) < 0.1)
			EXCLUDE(j, "known locks (%.1f %%)", percent(pool->locks.ns, pool->life));
		else
			UNKNOWN(j,
				"locks (%.0f %% of the time of all threads are waits for "
				"conditions, semaphores, futexes or the kernel's own locks, which "
				"may be the program's)",
				percent(pool->futexes, pool->all_life));
	}
	if (pool->has_places && share(pool->disk.ns + pool->network.ns, pool->life) < 0.1)
		EXCLUDE(j, "disk (%.1f %%), sockets (%.1f %%)", percent(pool->disk.ns, pool->life),
			percent(pool->network.ns, pool->life));
	else if (pool->has_places && !is_long(&pool->disk) && !is_long(&pool->network))
		UNKNOWN(j, "disk (%.1f %% of its time), sockets (%.1f %%): too short to judge",
			percent(pool->disk.ns, pool->life), percent(pool->network.ns, pool->life));
	say_overhead(j);
	explain_unknown(facts, pool, j->finding->unknown);
}

bool explain_matters(const struct facts *facts, const struct pool_facts *pool)
{
	return share(pool->cpu + pool->delay, facts->cpu + facts->delay) >= 0.05 ||
	       share(pool->locks.ns, facts->wall) >= 0.2 ||
	       share(pool->disk.ns + pool->network.ns, facts->wall) >= 0.2 ||
	       (pool->major_faults >= 100 && share(pool->life, facts->wall) >= 0.2);
}

const char *explain_title(const struct facts *facts, const struct pool_facts *pool)
{
	return explain_text(facts->arena, "%s (%llu thread%s)", pool->name,
			    (unsigned long long)pool->threads, plural(pool->threads));
}

static bool judge_by(struct judging *j, const struct rule *rule)
{
	const bool costs = rule->kind == COSTS || rule->kind == EARLY;
	const uint64_t waits = j->pool->delay + j->pool->locks.ns;

	memset(j->finding, 0, sizeof(*j->finding));
	j->finding->pool = explain_title(j->facts, j->pool);
	j->finding->of = j->pool;
	j->finding->cause = rule->cause;
	/* What costs CPU time does not matter to a pool that has hardly any. */
	if (rule->kind != WAITS && share(j->pool->cpu + j->pool->delay, j->facts->wall) < 0.05)
		return false;
	if (!rule->judge(j))
		return false;
	if (j->finding->gain > 1 && !j->finding->loss_ns)
		j->finding->loss_ns =
			(double)(j->pool->cpu + (costs ? 0 : waits)) * (1 - 1 / j->finding->gain);
	return true;
}

static void say_also(struct judging *j, const struct finding *other)
{
	const bool more = other->gain > 1 && other->gain > j->finding->gain;

	if (other->text)
		EVIDENCE(j, "also %s%s", other->text,
			 more ? SAY(j, ", without which it could be %.1f times as fast",
				    other->gain) :
				"");
}

struct verdict {
	const struct rule *rule; /* NULL: none yet */
	struct finding finding;
};

struct verdicts {
	struct verdict named, wait, cost; /* those that lose most time beside the named one */
};

static void put_beside(struct verdicts *all, const struct verdict *other)
{
	struct verdict *to = other->rule->kind == WAITS ? &all->wait : &all->cost;

	/* The same wait. */
	if (is_of_cpus(other->rule->cause) && is_of_cpus(all->named.rule->cause))
		return;
	if (!to->rule || other->finding.loss_ns > to->finding.loss_ns)
		*to = *other;
}

static void put_verdict(struct verdicts *all, const struct verdict *next)
{
	const struct verdict before = all->named;
	const bool waits = before.rule && (before.rule->kind == WAITS || next->rule->kind == WAITS);

	if (before.rule && (!waits || next->finding.loss_ns <= before.finding.loss_ns)) {
		put_beside(all, next);
		return;
	}
	all->named = *next;
	if (before.rule)
		put_beside(all, &before);
}

/* Whether the rule can say something beside the one that is named. */
static bool is_asked(const struct rule *named, const struct rule *rule)
{
	if (!named)
		return true;
	if (rule->kind == WAITS)
		return named->kind == WAITS || named->kind == COSTS;
	return rule->kind != ALONE;
}

static bool judge_pool(struct judging *j)
{
	struct verdicts all = { .named.rule = NULL };

	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct verdict next = { .rule = &rules[i] };

		if (!is_asked(all.named.rule, next.rule) || !judge_by(j, next.rule))
			continue;
		next.finding = *j->finding;
		put_verdict(&all, &next);
	}
	*j->finding = all.named.finding;
	if (!all.named.rule)
		return false;
	say_also(j, &all.wait.finding);
	say_also(j, &all.cost.finding);
	add_rest(j, all.wait.rule ? all.wait.rule->cause : "");
	return true;
}

static bool judge_children(struct judging *j)
{
	const struct facts *facts = j->facts;
	const uint64_t cost = facts->children * PROCESS_NS;

	if (facts->children < 50 || share(facts->children_cpu, facts->children) > 5e6 ||
	    share(cost, facts->cpu + facts->delay) < 0.1)
		return false;
	memset(j->finding, 0, sizeof(*j->finding));
	j->finding->pool = SAY(
		j, "%s%s", facts->programs.most < facts->children ? "children, most of them " : "",
		facts->programs.function);
	j->finding->cause = "short-lived";
	j->finding->text = SAY(j, "%llu processes of %s of CPU time each%s",
			       (unsigned long long)facts->children,
			       TIME(j, facts->children_cpu / facts->children),
			       facts->overhead ? ", without the agent's overhead" : "");
	j->finding->loss_ns = (double)cost;
	EVIDENCE(j, "start and end of a process take some 0.6 ms with an exec: up to %s for all",
		 TIME(j, cost));
	say_overhead(j);
	j->finding->advice = "one process that does the work of several";
	return true;
}

static int by_loss(const void *a, const void *b, const void *arg)
{
	const struct finding *x = a, *y = b;

	(void)arg;
	return (y->loss_ns > x->loss_ns) - (y->loss_ns < x->loss_ns);
}

struct finding *explain_find(const struct facts *facts, unsigned *n)
{
	struct finding *list = pmc_arena_alloc(facts->arena, (facts->n_pools + 2) * sizeof(*list));
	struct finding *scratch =
		pmc_arena_alloc(facts->arena, (facts->n_pools + 2) * sizeof(*list));
	struct judging j = { .facts = facts };

	*n = 0;
	j.finding = &list[*n];
	*n += judge_children(&j);
	for (uint64_t i = 0; i < facts->n_pools; i++) {
		j.pool = &facts->pools[i];
		j.finding = &list[*n];
		*n += explain_matters(facts, j.pool) && judge_pool(&j);
	}
	pmc_sort(list, scratch, *n, sizeof(*list), by_loss, NULL);
	return list;
}
