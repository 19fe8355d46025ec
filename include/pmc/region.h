/* SPDX-License-Identifier: MIT */
/*
 * pmc/region.h - marks regions of a program, counted per thread in every dump.
 *
 * 	pmc_region_begin("parse");
 * 	...
 * 	pmc_region_end();
 *
 * Nothing is linked. Under libpmcagent.so (see libpmcagent(7)) a pair reads the calling thread's
 * counters twice and adds the difference to the name's sum; `pmctl report --by region` shows the
 * sums. Without the agent a pair does nothing and takes less than 5 ns, also in static programs,
 * which no agent can be preloaded into.
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

#include <stddef.h>

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
