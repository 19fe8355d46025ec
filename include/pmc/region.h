/* SPDX-License-Identifier: MIT */
/*
 * pmc/region.h - marks regions of a program: what each thread did in them is in every dump.
 *
 *	pmc_region_begin("parse");
 *	...
 *	pmc_region_end();
 *
 * Nothing is linked: under libpmcagent.so (see libpmcagent(7)) a pair reads the calling
 * thread's counters twice and sums up the difference under the name; `pmctl report --by region`
 * shows the sums. Without the agent a pair does nothing and takes less than 5 ns, in programs that
 * are position-independent or not, and in static ones, which nobody preloads anything into.
 *
 * Regions nest, up to 1,024 deep; a region may be entered again while it is open (recursion). An
 * end belongs to the last begin of the same thread that has none yet. Ends too many, and regions
 * still open when a thread ends, are put right and noted in the report's ledger. So are names of
 * more than 255 bytes (the rest is cut off) and names beyond 511 in one thread (which share a
 * row).
 *
 * Thread-safe and async-signal-safe. errno is kept. A child of fork starts with sums of 0 and
 * counts for what it had open from the fork on. Not for children of vfork.
 *
 * C++ has a guard that ends its region however the block is left, also by an exception:
 *
 *	pmc_region guard("parse");
 *
 * With glibc before 2.34 a program that is not position-independent must be linked with -ldl to be
 * measured. How the kernel gives the numbers: perf_event_open(2).
 */
#ifndef PMC_REGION_H
#define PMC_REGION_H

#include <stddef.h>

#if defined(__APPLE__)
#include <dlfcn.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What the agent offers under the name "pmc_region_api"; for languages that call by address:
 * pmc_region_begin and pmc_region_end are exported by it as well. */
struct pmc_region_api {
	void (*begin)(const char *name);
	void (*end)(void);
};

#if defined(PMC_REGION_API_ONLY)
/* As the agent itself has them. */
void pmc_region_begin(const char *name);
void pmc_region_end(void);
extern const struct pmc_region_api pmc_region_api;
#else

#if defined(__APPLE__)
#define pmc_region_find_(name) dlsym(RTLD_DEFAULT, name)
#elif defined(__GNUC__)
/* A reference that is NULL if nobody has dlsym, and stays out of the way of one that is the
 * program's own. */
static void *pmc_region_dlsym_(void *handle, const char *name)
	__attribute__((weakref("dlsym"), unused));
#define pmc_region_find_(name)                                                                     \
	(&pmc_region_dlsym_ ? pmc_region_dlsym_(NULL /* RTLD_DEFAULT */, name) : NULL)
#else
#define pmc_region_find_(name) NULL
#endif

/* NULL: not looked for yet. */
static const struct pmc_region_api *pmc_region_api_;

/* Before main, so that the first region may be one of a signal handler's: dlsym is none of those
 * things that a handler may call. */
__attribute__((constructor, unused)) static void pmc_region_init_(void)
{
	static const struct pmc_region_api none = { NULL, NULL };
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
	if (__builtin_expect(!__atomic_load_n(&pmc_region_api_, __ATOMIC_ACQUIRE), 0))
		pmc_region_init_();
	return __atomic_load_n(&pmc_region_api_, __ATOMIC_ACQUIRE);
}

/* The calling thread enters a region. name: any bytes up to a NUL, read during the call only; NULL
 * is the empty name. */
__attribute__((unused)) static inline void pmc_region_begin(const char *name)
{
	const struct pmc_region_api *api = pmc_region_get_();

	if (api->begin)
		api->begin(name);
}

/* It leaves the region that it entered last. */
__attribute__((unused)) static inline void pmc_region_end(void)
{
	const struct pmc_region_api *api = pmc_region_get_();

	if (api->end)
		api->end();
}

#endif

#ifdef __cplusplus
}

#if !defined(PMC_REGION_API_ONLY)
class pmc_region
{
      public:
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
