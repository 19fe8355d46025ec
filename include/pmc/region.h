/* SPDX-License-Identifier: MIT */
/*
 * pmc/region.h - marks regions of a program, counted per thread in every dump.
 *
 * 	pmc_region_begin("parse");
 * 	...
 * 	pmc_region_end();
 *
 * Nothing is linked for that. Under libpmcagent.so (see libpmcagent(7)) a pair reads the calling
 * thread's counters twice and adds the difference to the name's sum; `pmctl report --by region`
 * shows the sums. Without the agent a pair does nothing and takes less than 5 ns, also in static
 * programs, which no agent can be preloaded into.
 *
 * Regions nest, up to 1,024 deep, and may recurse. An end closes the last open region of its
 * thread. Ends without a begin, regions still open when a thread ends, names of more than 255 bytes
 * (cut) and more than 511 names in one thread (the others share a row) are noted in the report's
 * coverage summary.
 *
 * Thread-safe and async-signal-safe: a handler that interrupts a begin or an end is not counted,
 * with a note. errno is kept. A child of fork starts with sums of 0; regions open at the fork count
 * from there. Not for children of vfork.
 *
 * C++ has a guard that ends its region when the block is left, also by an exception; pmc/region.hpp
 * calls it pmc::region:
 *
 * 	pmc_region guard("parse");
 *
 * With glibc before 2.34 a program that is not position-independent must be linked with -ldl to be
 * measured. Source of the numbers: perf_event_open(2).
 */
#ifndef PMC_REGION_H
#define PMC_REGION_H

#include <pmc/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- sums, by libpmc ----------------------------------------------------------------------- */

/* What the calling thread has done in a region since its start, a fork, or the last `pmctl ctl PID
 * reset`. The cost of marking is taken off, as in reports. Values that are not known are 0. */
struct pmc_region_sum {
	uint64_t calls;		      /* entries that have ended; the sums are theirs */
	uint64_t open;		      /* entries that have not */
	uint64_t cpu_ns, self_cpu_ns; /* CPU time; self: without the regions inside */
	/* Of the event, raw: pmc_scale() makes the estimate of one that ran part of the time.
	 * Clocks are in ns, other events are numbers of events. */
	uint64_t count, self_count;
	uint64_t enabled_ns, running_ns; /* of `count` */
	bool has_cpu, has_count;
	uint8_t reserved[38];
};

PMC_API_BEGIN

/* Sets *sum to the sums of the calling thread's region of that name, as it was given to
 * pmc_region_begin (cut after 255 bytes). event: a name of PMC_EVENTS; of one that a CPU has for
 * each type of core the sum over them; NULL: none. Needs libpmc; for a thread's own regions only.
 * Takes some microseconds, and longer the more regions the thread has. Thread-safe, not
 * async-signal-safe; errno is kept.
 *
 * 0 or: -ENODEV: no agent of the same version measures this process and its threads. -ENOENT: the
 * thread has not begun this region. -EINVAL: PMC_EVENTS does not have the event; sum is NULL.
 * -ENODATA: it was not counted (not supported, not permitted, its group cannot be read); -EBUSY: it
 * had no counter yet; with either, all of *sum but the count is valid. -EAGAIN: a begin or an
 * end of this thread is going on, which a signal handler has interrupted. */
int pmc_region_read(const char *name, const char *event, struct pmc_region_sum *sum);

PMC_API_END

/* ---- marks, by this header alone ----------------------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

/* Exported by the agent as "pmc_region_api", beside pmc_region_begin and pmc_region_end for
 * languages that call by name. */
struct pmc_region_api {
	void (*begin)(const char *name);
	void (*end)(void);
};

#if defined(PMC_REGION_API_ONLY)
/* Inside the agent. */
void pmc_region_begin(const char *name);
void pmc_region_end(void);
extern const struct pmc_region_api pmc_region_api;
#else

#if defined(__GNUC__)
/* NULL where there is no dlsym, and on macOS, where regions are not counted: the handle of all
 * libraries is another there. Does not clash with a declaration of the program's own. */
static void *pmc_region_dlsym_(void *handle, const char *name)
	__attribute__((weakref("dlsym"), unused));
#define pmc_region_find_(name)                                                                     \
	(&pmc_region_dlsym_ ? pmc_region_dlsym_(NULL /* RTLD_DEFAULT */, name) : NULL)
#else
#define pmc_region_find_(name) NULL
#endif

/* NULL until pmc_region_init_ has run. */
static const struct pmc_region_api *pmc_region_api_;

static inline void pmc_region_no_begin_(const char *name)
{
	(void)name;
}

static inline void pmc_region_no_end_(void)
{
}

/* Before main: dlsym is not async-signal-safe, and the first region may be a signal handler's. */
__attribute__((constructor, unused)) static void pmc_region_init_(void)
{
	static const struct pmc_region_api none = { pmc_region_no_begin_, pmc_region_no_end_ };
	const void *at = pmc_region_find_("pmc_region_api");
#ifdef __cplusplus
	const struct pmc_region_api *found = static_cast<const struct pmc_region_api *>(at);
#else
	const struct pmc_region_api *found = at;
#endif

	__atomic_store_n(&pmc_region_api_, found ? found : &none, __ATOMIC_RELEASE);
}

__attribute__((unused)) static inline const struct pmc_region_api *pmc_region_get_(void)
{
	const struct pmc_region_api *api = __atomic_load_n(&pmc_region_api_, __ATOMIC_ACQUIRE);

	if (__builtin_expect(!api, 0)) {
		pmc_region_init_();
		api = __atomic_load_n(&pmc_region_api_, __ATOMIC_RELAXED);
	}
	return api;
}

/* Begins a region of the calling thread. name: any bytes up to a NUL, read during the call only;
 * NULL is the empty name. */
__attribute__((unused)) static inline void pmc_region_begin(const char *name)
{
	pmc_region_get_()->begin(name);
}

/* Ends the last open region of the calling thread. */
__attribute__((unused)) static inline void pmc_region_end(void)
{
	pmc_region_get_()->end();
}

#endif

#ifdef __cplusplus
}

#if !defined(PMC_REGION_API_ONLY)
class pmc_region
{
      public:
	/* A temporary ends its region at once. Before C++17 clang warns about the attribute. */
#if defined(__has_cpp_attribute) && (!defined(__clang__) || __cplusplus >= 201703L)
#if __has_cpp_attribute(nodiscard) >= 201907L
	[[nodiscard]]
#endif
#endif
	explicit pmc_region(const char *name) noexcept
	{
		pmc_region_begin(name);
	}
	~pmc_region()
	{
		pmc_region_end();
	}
	pmc_region(const pmc_region &) = delete;
	pmc_region &operator=(const pmc_region &) = delete;
};
#endif
#endif
#endif
