/* SPDX-License-Identifier: MIT */
/*
 * pmc/api.h - what encloses the functions of libpmc in the other headers: C linkage, and default
 * visibility in programs compiled with -fvisibility=hidden.
 */
#ifndef PMC_API_H
#define PMC_API_H

#ifdef __cplusplus
#define PMC_API_BEGIN                                                                              \
	extern "C" {                                                                               \
	_Pragma("GCC visibility push(default)")
#define PMC_API_END                                                                                \
	_Pragma("GCC visibility pop")                                                              \
	}
#else
#define PMC_API_BEGIN _Pragma("GCC visibility push(default)")
#define PMC_API_END   _Pragma("GCC visibility pop")
#endif

#endif
