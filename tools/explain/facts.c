/* SPDX-License-Identifier: MIT */
/* facts.c - what a dump says of each pool of threads, for the rules. */
#include "tools/explain/explain.h"
#include "lib/base/clock.h"
#include "lib/base/labels.h"
#include "lib/base/proc.h"
#include "lib/base/show.h"
#include "tools/cli/pmctl.h"
#include "tools/live/cause.h"
#include "tools/report/names.h"
#include "tools/symbol/symbol.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

const char *explain_text(struct pmc_arena *arena, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return pmc_arena_strdup(arena, text);
}

const char *explain_time(struct pmc_arena *arena, uint64_t ns)
{
	const double s = (double)ns / 1e9;
	struct pmc_screen screen;

	pmc_screen_from_env(&screen, environ);
	return s >= 100	 ? explain_text(arena, "%.0f s", s) :
	       s >= 1	 ? explain_text(arena, "%.1f s", s) :
	       s >= 1e-3 ? explain_text(arena, "%.1f ms", s * 1e3) :
			   explain_text(arena, "%.1f %s", s * 1e6, screen.ascii ? "us" : "µs");
}

/* ---- what depends on the machine --------------------------------------------------------- */

static bool is_of_this_boot(const struct pmc_profile *profile)
{
	char boot_id[64];

	return profile->n_processes && symbols_boot_id(boot_id) &&
	       !strcmp(profile->processes[0]->boot_id, boot_id);
}

uint64_t explain_tick_ns(const struct pmc_profile *profile)
{
	struct timespec tick;

	/* /proc itself has units of PMC_TICK_NS. */
	if (!profile || !is_of_this_boot(profile) || clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		return PMC_TICK_NS;
	return (uint64_t)tick.tv_nsec;
}

uint64_t explain_fault_ns(const struct pmc_profile *profile)
{
	enum { USUAL_NS = 500, ROUNDS = 8, PAGES = 64 };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t least = UINT64_MAX, before, after;

	if (profile && !is_of_this_boot(profile))
		return USUAL_NS;
	for (unsigned round = 0; round < ROUNDS; round++) {
		char *area = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANON, -1, 0);

		if (area == MAP_FAILED || !pmc_thread_cpu_ns(0, &before))
			return USUAL_NS;
		for (unsigned i = 0; i < PAGES; i++)
			((volatile char *)area)[i * page] = 1;
		if (pmc_thread_cpu_ns(0, &after) && after - before < least)
			least = after - before;
		munmap(area, PAGES * page);
	}
	return least / PAGES < USUAL_NS ? USUAL_NS : least / PAGES;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* The value of an event of the row. False: it has none. */
static bool value_of(const struct pmc_p_thread *thread, const char *event, uint64_t *value)
{
	for (unsigned i = 0; thread->set && i < thread->set->count; i++)
		if (!strcmp(thread->set->events[i].name, event) &&
		    pmc_count_has_value(&thread->counts[i])) {
			*value = pmc_count_value(&thread->counts[i]);
			return true;
		}
	return false;
}

struct thread_times explain_work(const struct thread_times *all, uint64_t spun)
{
	const double part = spun < all->cpu ? 1 - (double)spun / (double)all->cpu : !all->cpu;

	return (struct thread_times){ all->life, all->cpu - (spun < all->cpu ? spun : all->cpu),
				      (uint64_t)(part * (double)all->delay) };
}

/* A thread is idle if its CPU time and known waits are less than this part of its life. */
enum { IDLE_PART = 50 };

void explain_add(struct facts *facts, struct pool_facts *pool, const struct thread_facts *thread)
{
	const struct pmc_thread_fixed *row = &thread->row;
	/* CPU time and run delay are those since its fork, its start is that of the agent. */
	const uint64_t wanted = row->cpu_ns + thread->delay,
		       life = thread->life > wanted ? thread->life : wanted,
		       active = wanted + thread->waits;
	const struct thread_times own = { life, row->cpu_ns, thread->delay };
	const struct thread_times work = explain_work(&own, thread->spun);

	if (!pool->threads++) {
		pool->has_usage = pool->has_switches = true;
		memset(pool->has_count, true, sizeof(pool->has_count));
		pool->first_start = row->start_ns;
	}
	if (row->start_ns < pool->first_start)
		pool->first_start = row->start_ns;
	if (row->start_ns > pool->last_start)
		pool->last_start = row->start_ns;
	pmc_add_sat(&pool->all_life, life);
	/* The divisor of shares: idle threads must not dilute those of the others. Their own shares
	 * are a tenth at most, which no rule reports. */
	pmc_add_sat(&pool->life, active < life / IDLE_PART ? active * 10 : life);
	pool->idle += active < life / IDLE_PART;
	pmc_add_sat(&pool->cpu, row->cpu_ns);
	pool->spun += own.cpu - work.cpu;
	facts->spun += own.cpu - work.cpu;
	if (wanted > pool->busiest.cpu + pool->busiest.delay)
		pool->busiest = own;
	if (row->cpu_ns > pool->most_cpu)
		pool->most_cpu = row->cpu_ns;
	if (!(row->flags & PMC_THREAD_MAIN)) {
		pool->workers++;
		pool->workers_cpu += work.cpu;
		if (wanted >= life / IDLE_PART) {
			pool->busy++;
			pool->busy_cpu += work.cpu;
		}
		if (work.cpu >= pool->worker.cpu)
			pool->worker = work;
	}
	pool->has_usage &= !(row->flags & PMC_THREAD_NO_RUSAGE) || !row->cpu_ns;
	pool->has_switches &= !pmc_lacks_switches(row) || !row->cpu_ns;
	pool->voluntary += row->voluntary_switches;
	pool->involuntary += row->involuntary_switches;
	pool->minor_faults += row->minor_faults;
	pool->major_faults += row->major_faults;
	if (row->cpu_ns && life >= pool->longest.life)
		pool->longest = own;
	for (unsigned i = 0; i < EXPLAIN_EVENTS; i++) {
		pool->counts[i] += thread->counts[i];
		pool->has_count[i] &= thread->has_count[i] || !row->cpu_ns;
	}
	pmc_add_sat(&pool->delay_life, thread->has_delay ? life : 0);
	pmc_add_sat(&pool->delay, thread->delay);
	facts->threads++;
	pmc_add_sat(&facts->judged, row->cpu_ns);
	pmc_add_sat(&facts->cpu, row->cpu_ns);
	pmc_add_sat(&facts->delay, thread->delay);
}

static uint64_t known_waits(const struct pool_facts *pool)
{
	return pool->locks.ns + pool->disk.ns + pool->network.ns;
}

/* before: its pool without its samples. */
static void add_thread(struct facts *facts, struct pool_facts *pool,
		       const struct pmc_p_thread *thread, const struct pool_facts *before)
{
	const struct pmc_thread_fixed *fixed = &thread->fixed;
	const uint64_t samples =
		pool->samples + pool->kernel_samples - before->samples - before->kernel_samples;
	struct thread_facts own = {
		.row = *fixed,
		.life = pmc_sub_sat(pmc_thread_on_ns(fixed, pmc_thread_until(thread)),
				    pool->stopped - before->stopped),
		.waits = known_waits(pool) - known_waits(before),
	};
	static const char *const events[EXPLAIN_EVENTS] = {
		[EXPLAIN_MIGRATIONS] = "cpu-migrations",
		[EXPLAIN_CYCLES] = "cycles",
		[EXPLAIN_INSTRUCTIONS] = "instructions",
		[EXPLAIN_CACHE_MISSES] = "cache-misses",
		[EXPLAIN_BRANCH_MISSES] = "branch-misses",
		[EXPLAIN_TLB_MISSES] = "dTLB-load-misses",
		[EXPLAIN_STALLED] = "stalled-cycles-frontend",
		[EXPLAIN_SYSTEM] = "system-time",
	};

	/* By the shares of its samples, as the kernel's part of the waits may have none. */
	if (samples)
		own.spun = (uint64_t)((double)fixed->cpu_ns *
				      (double)(pool->in_runtime - before->in_runtime) /
				      (double)samples);
	/* Of an MPI job the main threads work, the library's own ones do not. */
	if (thread->has_outside_mpi && fixed->flags & PMC_THREAD_MAIN)
		own.row.flags &= ~(unsigned)PMC_THREAD_MAIN;
	else if (thread->has_outside_mpi && pool->in_parallel == before->in_parallel)
		own.row.flags |= PMC_THREAD_MAIN;
	own.has_delay = value_of(thread, "run-delay", &own.delay);
	if (!own.has_delay && fixed->flags & PMC_THREAD_DELAY) {
		own.has_delay = true;
		own.delay = fixed->delay_ns;
	}
	facts->preemptions |= thread->delays != NULL;
	/* At least what records of switches say. */
	if (!own.has_delay && thread->delays)
		own.delay = thread->delays->weight;
	for (unsigned i = 0; i < EXPLAIN_EVENTS; i++)
		own.has_count[i] = value_of(thread, events[i], &own.counts[i]);
	facts->has_counters |= own.has_count[EXPLAIN_CYCLES];
	pool->processes += pool->process != thread->process->origin;
	pool->process = thread->process->origin;
	if (thread->process->known && thread->process->fixed.cpus > pool->cpus)
		pool->cpus = thread->process->fixed.cpus;
	explain_add(facts, pool, &own);
	if (pool->idle > before->idle)
		pool->handed = before->handed;
}

/* ---- samples ----------------------------------------------------------------------------- */

/* Names are compared without what the C library puts before them ("__GI___libc_malloc") and
 * compilers behind them ("unlink_chunk.isra.0"). In the list an asterisk stands for any end. */
static bool is_one_of(const char *name, const char *const *list)
{
	static const char *const before[] = { "__", "_", "GI___", "GI_", "libc_" };

	for (unsigned i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		if (!strncmp(name, before[i], strlen(before[i])))
			name += strlen(before[i]);
	for (; *list; list++) {
		const size_t len = strcspn(*list, "*");

		if (!strncmp(name, *list, len) && ((*list)[len] || len == strcspn(name, ".@")))
			return true;
	}
	return false;
}

static const char *const lock_functions[] = { "lll_lock_wait*",		 "pthread_mutex_lock*",
					      "pthread_mutex_timedlock", "pthread_mutex_clocklock*",
					      "pthread_rwlock_*",	 NULL };

/* The next word of a name such as LWLockAcquire or lock_slow<T>(int): its length; 0: none. */
static size_t next_word(const char **at)
{
	size_t n = 0;

	while (**at && strchr("_$.", **at))
		(*at)++;
	/* Of upper-case letters before a lower-case one the last begins a word. */
	while (isalnum((unsigned char)(*at)[n]) &&
	       !(n && isupper((unsigned char)(*at)[n]) &&
		 (islower((unsigned char)(*at)[n - 1]) || islower((unsigned char)(*at)[n + 1]))))
		n++;
	return n;
}

static bool is_word(const char *word, size_t n, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == n && !strncasecmp(word, *list, n))
			return true;
	return false;
}

/* The function's own name, without namespaces and parameters. */
static const char *last_part(const char *function)
{
	const char *last = function;
	unsigned depth = 0;

	for (const char *at = function; *at; at++) {
		depth += *at == '<';
		depth -= *at == '>' && depth;
		if (depth || (*at == '(' && at[1] != '*' && strncmp(at, "(anonymous", 10) != 0)) {
			if (!depth)
				break;
			continue;
		}
		if (at[0] == ':' && at[1] == ':')
			last = at + 2;
		if (at[0] == ')' && at[1] == '.')
			last = at + 2;
	}
	return last;
}

const char explain_gil[] = "take_gil";

bool explain_names_lock(const char *function)
{
	static const char *const locks[] = { "lock",   "rwlock", "spinlock", "mutex",
					     "wrlock", "rdlock", NULL };
	static const char *const marks[] = { "acquire",	 "contended", "slow",
					     "slowpath", "wait",      NULL };
	/* lock_shared_slow of parking_lot */
	static const char *const modes[] = { "shared", "exclusive", "upgradable", NULL };
	static const char *const others[] = { "py", "lll", "condvar", "thread", "free", NULL };
	const char *at = last_part(function);
	bool named = false, lock = false, mark = false;

	/* The last two are of Rust's RwLock. */
	if (!strcmp(function, explain_gil) || !strncmp(function, "ObjectMonitor::enter(", 21) ||
	    !strcmp(at, "write_contended") || !strcmp(at, "read_contended"))
		return true;
	for (size_t n; (n = next_word(&at)); at += n) {
		const bool is_lock = is_word(at, n, locks), is_mark = is_word(at, n, marks);

		if (is_word(at, n, others))
			return false;
		if (is_word(at, n, modes))
			continue;
		named |= (lock && is_mark) || (mark && is_lock);
		lock = is_lock;
		mark = is_mark;
	}
	return named;
}

static const char *const spin_functions[] = { "pthread_spin_lock", "sched_yield", NULL };
static const char *const go_functions[] = { "runtime.*", NULL };
static const char *const heap_functions[] = {
	"malloc",     "calloc",	     "realloc",	   "free",	   "cfree",
	"int_malloc", "int_realloc", "int_free*",  "unlink_chunk", "malloc_consolidate",
	"sysmalloc",  "systrim",     "arena_get2", "tcache_init",  NULL
};

/* Parts of names of functions: of the C library, which only stand between the program and the
 * kernel when it takes a lock; in which a thread waits for another one of the program; in which it
 * is stopped by a signal, a debugger or the freezer of its cgroup; which lock a file; others. */
static const char *const plumbing[] = { "futex",	   "lll_lock",	"mutex_lock",
					"mutex_cond_lock", "timedlock", "clocklock",
					"try_lock_",	   "rwlock",	NULL };
static const char *const for_threads[] = { "cond_wait", "cond_timedwait", "cond_clockwait",
					   "sem_wait",	"barrier_wait",	  "condvar::futex",
					   NULL };
static const char *const stops[] = { "do_signal_stop", "do_jobctl_trap", "ptrace_stop",
				     "freezer_trap", NULL };
static const char *const file_locks[] = { "flock", "locks_", "lock_file_wait", "setlk", NULL };
static const char *const joins[] = { "pthread_join", "clockjoin", NULL };
static const char *const futexes[] = { "futex", NULL };
static const char *const sleeps[] = { "nanosleep", NULL };
static const char *const page_faults[] = { "filemap_fault", "shmem_fault", "do_swap_page", NULL };

static bool has_part(const char *function, const char *const *parts)
{
	while (*parts && !strstr(function, *parts))
		parts++;
	return *parts;
}

static bool are_in(const struct spot_list *spots, size_t from, size_t to, const char *const *parts)
{
	while (from < spots->n && from < to && !has_part(spots->list[from]->function, parts))
		from++;
	return from < spots->n && from < to;
}

/* Of the C library. read(2) and write(2) are of all kinds of files. */
static const char *const disk_functions[] = {
	"fsync",	   "fdatasync", "msync",	   "syncfs",   "sync",
	"sync_file_range", "pread",	"pread64",	   "preadv",   "preadv2",
	"pwrite",	   "pwrite64",	"pwritev",	   "pwritev2", "fallocate",
	"fadvise64",	   "readahead", "copy_file_range", NULL
};
static const char *const network_functions[] = {
	"recv",	   "recvfrom", "recvmsg", "recvmmsg",	      "send", "sendto",
	"sendmsg", "sendmmsg", "connect", "res_context_send", NULL
};

enum live_cause explain_kernel_wait(const char *function)
{
	const enum live_cause cause = live_cause_of(function);
	/* accept(2): an idle server. That of a UNIX socket and a receiver of datagrams wait in the
	 * same function, and only the callers tell them apart. */
	const bool idle = strstr(function, "accept") || strstr(function, "inet_csk") ||
			  strstr(function, "skb_wait");

	return !idle && (cause == CAUSE_DISK || cause == CAUSE_SOCKET) ? cause : CAUSE_OTHER;
}

bool explain_is_outside(const char *function)
{
	const enum live_cause cause = live_cause_of(function);

	/* TCP waits there, which alone is in /proc. */
	return cause == CAUSE_POLL || !strcmp(function, "wait_woken") ||
	       (cause == CAUSE_SOCKET && !strstr(function, "unix_"));
}

static bool is_outside(const struct spot_list *spots, size_t user)
{
	static const char *const poll_functions[] = { "epoll_wait", "epoll_pwait*", "poll", "ppoll",
						      "select",	    "pselect",	    NULL };
	static const char *const within[] = { "unix_", NULL };

	for (size_t i = 0; i < user; i++)
		if (live_cause_of(spots->list[i]->function))
			return explain_is_outside(spots->list[i]->function) &&
			       !are_in(spots, i, user, within);
	for (size_t i = user; i < spots->n && i < user + 4; i++)
		if (is_one_of(spots->list[i]->function, poll_functions) ||
		    is_one_of(spots->list[i]->function, network_functions))
			return true;
	return false;
}

struct place_function {
	const char *name;
	uint64_t ns;
	UT_hash_handle hh;
};

void explain_place_add(struct pmc_arena *arena, struct place_facts *place, const char *function,
		       uint64_t ns)
{
	struct place_function *its;

	place->ns += ns;
	if (!function)
		return;
	HASH_FIND(hh, place->functions, function, strlen(function), its);
	if (!its) {
		its = pmc_arena_alloc(arena, sizeof(*its));
		its->name = pmc_arena_strdup(arena, function);
		HASH_ADD_KEYPTR(hh, place->functions, its->name, strlen(its->name), its);
	}
	its->ns += ns;
	if (its->ns > place->most) {
		place->most = its->ns;
		place->function = its->name;
	}
}

void explain_add_place(struct pmc_arena *arena, struct pool_facts *pool, enum live_cause cause,
		       const char *function, uint64_t ns)
{
	explain_place_add(arena, &pool->any, function, ns);
	if (cause == CAUSE_DISK)
		explain_place_add(arena, &pool->disk, function, ns);
	if (cause == CAUSE_SOCKET)
		explain_place_add(arena, &pool->network, function, ns);
}

static bool is_of_kernel(const struct spot *spot)
{
	return !strcmp(spot->module, SYMBOL_KERNEL);
}

/* NULL: of the function only an address is known. */
static const char *name_of(const struct spot_list *spots, size_t i)
{
	return i < spots->n && spots->list[i]->kind == SPOT_NAMED ? spots->list[i]->function : NULL;
}

/* Of the C and C++ libraries. */
static bool is_of_language(const struct spot *spot)
{
	return strstr(spot->module, "libc") || strstr(spot->module, "libstdc++");
}

/* "epoll_wait (serve)": the system call, without functions of the kernel what the C library calls,
 * and the program's innermost function with a name. NULL: neither has one. */
static const char *place_text(struct pmc_arena *arena, const struct spot_list *spots, size_t user,
			      size_t program)
{
	const char *call = NULL, *caller = NULL;
	size_t at = program;

	while (at < spots->n && (is_of_language(spots->list[at]) || !name_of(spots, at)))
		at++;
	caller = name_of(spots, at);
	for (size_t i = 0; i < user && !call; i++) {
		call = strstr(spots->list[i]->function, "sys_");
		call = call && strncmp(call, "sys_call", 8) != 0 ? call + 4 : NULL;
	}
	for (size_t i = user; i < program && !call; i++)
		call = name_of(spots, i);
	if (!call)
		return caller ? caller : name_of(spots, program);
	return explain_text(arena, "%.*s%s%s%s%s", (int)strcspn(call, " .@"), call,
			    caller ? " (" : "", caller && at > program ? "below " : "",
			    caller ? caller : "", caller ? ")" : "");
}

static void add_places(struct pmc_arena *arena, struct place_facts *to,
		       const struct place_facts *from)
{
	uint64_t unknown = from->ns;

	for (const struct place_function *its = from->functions; its; its = its->hh.next) {
		explain_place_add(arena, to, its->name, its->ns);
		unknown -= its->ns;
	}
	explain_place_add(arena, to, NULL, unknown);
}

/* By functions of the kernel, from its innermost one on, else by that of the C library. */
static void add_place(struct pmc_arena *arena, struct pool_facts *pool,
		      const struct spot_list *spots, size_t user, uint64_t n, uint64_t ns)
{
	enum live_cause cause = CAUSE_OTHER;
	size_t program = user;

	for (size_t i = 0; i < user && !cause; i++)
		cause = explain_kernel_wait(spots->list[i]->function);
	for (size_t i = user; i < spots->n && i < user + 4 && !cause; i++) {
		const char *function = spots->list[i]->function;

		cause = is_one_of(function, disk_functions)    ? CAUSE_DISK :
			is_one_of(function, network_functions) ? CAUSE_SOCKET :
								 CAUSE_OTHER;
	}
	/* The program's function, behind those of the C library. */
	while (program + 1 < spots->n && is_of_language(spots->list[program]))
		program++;
	explain_add_place(arena, pool, cause, place_text(arena, spots, user, program), ns);
	pool->disk.n += cause == CAUSE_DISK ? n : 0;
	pool->network.n += cause == CAUSE_SOCKET ? n : 0;
	pool->paged += cause == CAUSE_DISK && are_in(spots, 0, user, page_faults) ? ns : 0;
	pool->outside += is_outside(spots, user) ? ns : 0;
	pool->slept += are_in(spots, 0, user + 4, sleeps) ? ns : 0;
}

/* One that may be a lock, such as a System V semaphore, or one of the kernel itself. */
static bool in_kernel_lock(const struct spot_list *spots, size_t user)
{
	for (size_t i = 0; i < user; i++)
		if (live_cause_of(spots->list[i]->function) == CAUSE_LOCK &&
		    !has_part(spots->list[i]->function, futexes))
			return true;
	return false;
}

static void add_wait(struct pmc_arena *arena, struct pool_facts *pool,
		     const struct spot_list *spots, uint64_t n, uint64_t ns)
{
	bool named = false, by_file, by_kernel, for_thread, gil;
	size_t user = 0, lock = spots->n;

	while (user < spots->n && is_of_kernel(spots->list[user]))
		user++;
	/* A stopped thread does not wait. */
	if (are_in(spots, 0, user, stops)) {
		pool->stopped += ns;
		return;
	}
	pool->waits += ns;
	pool->handed -= (int64_t)ns;
	add_place(arena, pool, spots, user, n, ns);
	by_file = are_in(spots, 0, user, file_locks);
	by_kernel = by_file || in_kernel_lock(spots, user);
	for_thread = !by_file && are_in(spots, user, user + 4, for_threads);
	for (size_t i = user; i < spots->n && i < user + 10 && !named; i++) {
		const char *function = spots->list[i]->function;

		named = explain_names_lock(function) && !are_in(spots, 0, user + 4, sleeps);
		if (named ||
		    (lock == spots->n && i < user + 4 && is_one_of(function, lock_functions)))
			lock = i;
	}
	lock = by_file ? user : lock;
	/* Not a lock wait: the mutex of a condition is locked again before the wait returns. */
	if (lock == spots->n || (for_thread && !named)) {
		/* A join waits for the end of a thread: it is no lock. */
		const bool futex =
			are_in(spots, 0, user + 6, futexes) && !are_in(spots, 0, user + 6, joins);

		pool->handed += for_thread || futex ? 2 * (int64_t)ns : 0;
		pool->futexes += for_thread || by_kernel || futex ? ns : 0;
		return;
	}
	gil = !strcmp(spots->list[lock]->function, explain_gil);
	while (lock < spots->n && (has_part(spots->list[lock]->function, plumbing) ||
				   explain_names_lock(spots->list[lock]->function) ||
				   (by_kernel && strstr(spots->list[lock]->module, "libc"))))
		lock++;
	pool->locks.n += n;
	explain_place_add(arena, &pool->locks, gil ? explain_gil : name_of(spots, lock), ns);
}

/* A wait lasts until the thread runs again, so it has the run delay after it was woken. What it was
 * blocked for is known for the pool as a whole. */
static void take_delays_off(struct pool_facts *pool)
{
	const uint64_t blocked = pmc_sub_sat(pool->all_life, pool->cpu + pool->delay);
	uint64_t *const parts[] = {
		&pool->locks.ns,   &pool->futexes, &pool->disk.ns, &pool->paged,
		&pool->network.ns, &pool->any.ns,  &pool->outside, &pool->slept
	};

	if (blocked >= pool->waits)
		return;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		*parts[i] = (uint64_t)((double)*parts[i] * (double)blocked / (double)pool->waits);
	pool->waits = blocked;
}

static const char *function_of_program(const struct spot_list *spots)
{
	size_t i = 0;

	while (i + 1 < spots->n &&
	       (strstr(spots->list[i]->module, "libc.") || strstr(spots->list[i]->module, "libm.")))
		i++;
	return name_of(spots, i);
}

/* Whether the innermost function is one of the list, or was called by one, or inlined into it. */
static bool is_below(const struct spot_list *spots, const char *const *list)
{
	size_t i = 0;

	while (i < spots->n && !is_one_of(spots->list[i]->function, list))
		i++;
	return i < spots->n;
}

static bool is_of_openmp(const struct spot *spot)
{
	static const char *const libraries[] = { "libgomp", "libomp", "libiomp", NULL };
	static const char *const functions[] = { "gomp_", "GOMP_", "__kmp", NULL };

	return has_part(spot->module, libraries) || has_part(spot->function, functions);
}

/* Its innermost function, but for sched_yield and the like, is of OpenMP, and none that takes the
 * next piece of a loop. */
static bool waits_in_openmp(const struct spot_list *spots)
{
	static const char *const next[] = { "_next", NULL };
	size_t i = 0;

	while (i + 1 < spots->n && (is_of_kernel(spots->list[i]) || is_of_language(spots->list[i])))
		i++;
	return is_of_openmp(spots->list[i]) && !are_in(spots, i, i + 3, next);
}

static bool in_openmp(const struct spot_list *spots)
{
	size_t i = 0;

	while (i < spots->n && !is_of_openmp(spots->list[i]))
		i++;
	return i < spots->n;
}

/* Its samples are shares of CPU time. */
static bool is_clock(const struct pmc_p_event *event)
{
	return !strcmp(event->unit, "ns") || !strncmp(event->name, "cycles", 6);
}

static void add_samples(struct facts *facts, struct pool_facts *pool, struct report_names *names,
			const struct pmc_p_samples *samples)
{
	const bool off_cpu = samples->event && pmc_is_off_cpu(samples->event);
	const bool is_time = samples->event && !strcmp(samples->event->unit, "ns");
	struct spot_list spots = { .n = 0 };

	if (!samples->event)
		return;
	facts->lost += off_cpu ? samples->fixed.lost : 0;
	facts->waits += off_cpu ? samples->samples : 0;
	pool->has_waits |= off_cpu;
	pool->has_places |= off_cpu;
	facts->has_samples |= !off_cpu && is_clock(samples->event);
	for (uint64_t i = 0; i < samples->n; i++) {
		const struct pmc_p_sample *sample = &samples->list[i];
		bool openmp, mpi, waits;

		if (off_cpu && !sample->stack) {
			pool->unseen += sample->weight;
			continue;
		}
		names_of_stack(names, sample->stack, NAMES_FUNCTION, false, &spots);
		facts->go |= is_below(&spots, go_functions);
		openmp = in_openmp(&spots);
		pool->seen += off_cpu || is_time ? sample->weight : 0;
		pool->in_parallel += openmp && (off_cpu || is_time) ? sample->weight : 0;
		if (off_cpu) {
			add_wait(facts->arena, pool, &spots, sample->count, sample->weight);
			continue;
		}
		if (!is_clock(samples->event))
			continue;
		mpi = sample->stack && sample->stack->in_mpi;
		waits = mpi || waits_in_openmp(&spots);
		pool->in_mpi += mpi ? sample->count : 0;
		pool->in_runtime += waits ? sample->count : 0;
		if (is_of_kernel(spots.list[0])) {
			pool->kernel_samples += sample->count;
			pool->in_kernel += is_time ? sample->weight : 0;
			continue;
		}
		pool->samples += sample->count;
		pool->openmp += openmp ? sample->count : 0;
		if (!waits)
			explain_place_add(facts->arena, &pool->work, function_of_program(&spots),
					  sample->count);
		if (is_time)
			pool->sampled += sample->weight;
		if (is_below(&spots, spin_functions))
			pool->spinning += sample->count;
		if (is_below(&spots, heap_functions))
			pool->allocating += sample->count;
	}
}

/* Waits of threads without run delay hold what they waited for a CPU after they were woken. That is
 * little of them where the others, and preemptions, show few waits for a CPU. */
static bool are_waits_mixed(const struct pool_facts *pool)
{
	const uint64_t waits = pool->idle < pool->threads ? pool->active.ns : pool->waits;

	return !pool->has_delay && pool->delay > EXPLAIN_LEAST_DELAY_NS && pool->delay > waits / 7;
}

void explain_add_end(struct facts *facts, struct pool_facts *pool)
{
	const bool runs = pool->cpu > facts->judged / 100;

	if (pool->idle == pool->threads)
		pool->life = pool->all_life;
	pool->has_delay = pool->delay_life >= pool->all_life / 10 * 9;
	pool->mixed = pool->has_waits && are_waits_mixed(pool);
	if (pool->mixed)
		pool->has_waits = pool->has_places = false;
	take_delays_off(pool);
	/* What was not seen does not rule anything out. */
	if (pool->unseen > (pool->unseen + pool->waits) / 10 || facts->lost > facts->waits / 50)
		pool->has_waits = pool->has_places = false;
	facts->has_delay &= pool->has_delay || !runs;
	facts->has_waits &= pool->has_waits || !runs;
}

bool explain_has_unjudged(const struct facts *facts)
{
	return pmc_sub_sat(facts->cpu, facts->judged) > facts->cpu / 10 + 10000000;
}

/* ---- all of it --------------------------------------------------------------------------- */

static int add_processes(struct facts *facts)
{
	const struct pmc_profile *profile = facts->profile;
	struct pmc_wall wall = { 0 };
	uint64_t newest;
	const char *limit;
	size_t len;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const struct pmc_p_process *process = profile->processes[i];
		const struct pmc_process_fixed *fixed = &process->fixed;

		if (!process->known)
			continue;
		if (strcmp(process->node, profile->processes[0]->node) != 0)
			return tool_fail(EXIT_FAIL,
					 "cannot explain dumps of several hosts (%s, %s) at once; "
					 "name those of one",
					 profile->processes[0]->host, process->host);
		facts->wall = pmc_wall_add(&wall, process);
		facts->cpus = fixed->cpus > facts->cpus ? fixed->cpus : facts->cpus;
		limit = pmc_label(process->labels, "cpu-limit", &len);
		if (limit)
			facts->limit.cpus = strtod(limit, NULL);
		if (!pmc_process_end_unseen(process, &newest))
			facts->cpu += pmc_sub_sat(fixed->cpu_ns, process->attributed_cpu_ns);
		pmc_add_sat(&facts->overhead, fixed->overhead_ns);
		if (process->descendants.has_cpu)
			facts->cpu += process->descendants.cpu_ns;
		/* Those without a file are threads of the kernel. */
		if (fixed->flags & PMC_PROCESS_FIRST || !*process->exe)
			continue;
		facts->children += process->origin == process;
		facts->children_cpu += pmc_sub_sat(fixed->cpu_ns, fixed->overhead_ns);
		explain_place_add(facts->arena, &facts->programs, pmc_base_name(process->exe), 1);
	}
	return 0;
}

int explain_facts(const struct pmc_profile *profile, struct report_names *names,
		  struct pmc_arena *arena, struct facts *facts)
{
	struct pmc_thread_buf buf;
	struct pmc_union events;
	struct pmc_fold fold;
	int code;

	*facts = (struct facts){ .profile = profile, .arena = arena };
	pmc_union_init(&events, arena);
	pmc_fold_begin(&fold, &events, NULL, PMC_BY_POOL);
	for (uint64_t i = 0; i < profile->n_threads; i++)
		pmc_fold_find(&fold, pmc_profile_thread(profile, profile->threads[i], &buf));
	pmc_fold_end(&fold);
	facts->n_pools = fold.n_rows;
	facts->pools = pmc_arena_alloc(arena, (fold.n_rows + 1) * sizeof(*facts->pools));
	for (const struct pmc_fold_row *row = fold.rows; row; row = row->next)
		facts->pools[row->index].name = row->label;
	for (uint64_t i = 0; i < profile->n_threads; i++) {
		const struct pmc_p_row *row = profile->threads[i];
		const struct pmc_p_thread *thread;
		struct pmc_p_samples **samples;
		struct pool_facts *pool, before;
		uint64_t n;

		if (i + 1 < profile->n_threads && pmc_same_thread(row, profile->threads[i + 1]))
			continue;
		thread = pmc_profile_thread(profile, row, &buf);
		pool = &facts->pools[pmc_fold_find(&fold, thread)->index];
		before = *pool;
		pool->any = (struct place_facts){ .ns = 0 };
		samples = pmc_profile_samples_of(profile, row, &n);
		for (uint64_t k = 0; k < n; k++)
			add_samples(facts, pool, names, samples[k]);
		add_thread(facts, pool, thread, &before);
		if (pool->idle == before.idle)
			add_places(arena, &pool->active, &pool->any);
		add_places(arena, &before.any, &pool->any);
		pool->any = before.any;
	}
	code = add_processes(facts);
	/* The agent's start alone takes some CPU time. */
	facts->recorded = !facts->overhead;
	facts->has_delay = facts->has_waits = facts->n_pools != 0;
	for (uint64_t i = 0; i < facts->n_pools; i++)
		explain_add_end(facts, &facts->pools[i]);
	/* Run delay of threads without a row is unknown. */
	facts->has_delay &= !explain_has_unjudged(facts);
	return code;
}
