/* SPDX-License-Identifier: MIT */
/*
 * pmc/region.hpp - marks regions of a C++ program (C++11 and later), with a guard in namespace pmc.
 *
 * 	{
 * 		pmc::region guard("parse");
 * 		...
 * 	}
 *
 * The region ends when the block is left, also by an exception. A guard is neither copied nor
 * moved, since begin and end belong to one block of one thread; the compiler warns about a
 * temporary, which would end at once. In a coroutine the block should contain no co_await and no
 * co_yield. Nothing is linked; without the agent nothing is done: see <pmc/region.h>.
 */
#ifndef PMC_REGION_HPP
#define PMC_REGION_HPP

#include <pmc/region.h>

namespace pmc
{
using region = ::pmc_region;
}

#endif
