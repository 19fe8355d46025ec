/* SPDX-License-Identifier: MIT */
/* exec_args.h - the list of arguments of execl(), execlp() and execle(), as an array. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Declares argv, on the stack, and leaves `args` behind the NULL: at the environment of execle. */
#define COLLECT(first, args, argv)                                                                 \
	size_t argc = 1;                                                                           \
	va_start(args, first);                                                                     \
	while (va_arg(args, char *))                                                               \
		argc++;                                                                            \
	va_end(args);                                                                              \
	char **argv = __builtin_alloca((argc + 1) * sizeof(char *));                               \
	va_start(args, first);                                                                     \
	argv[0] = (char *)(uintptr_t)first;                                                        \
	for (size_t i = 1; i <= argc; i++)                                                         \
	argv[i] = va_arg(args, char *)
