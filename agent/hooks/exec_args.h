/* SPDX-License-Identifier: MIT */
/* exec_args.h - execl(), execlp() and execle(): calls with a list of arguments made into an array.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Defines such a function, which returns what `call` does with file, argv and, if it has an
 * environment behind the NULL, envp. */
#define EXEC_LIST(linkage, name, has_env, call)                                                    \
	linkage int name(const char *file, const char *arg, ...)                                   \
	{                                                                                          \
		char *const *envp = NULL;                                                          \
		size_t argc = 1;                                                                   \
		va_list args;                                                                      \
		char **argv;                                                                       \
                                                                                                   \
		va_start(args, arg);                                                               \
		while (va_arg(args, char *))                                                       \
			argc++;                                                                    \
		va_end(args);                                                                      \
		argv = __builtin_alloca((argc + 1) * sizeof(*argv));                               \
		argv[0] = (char *)(uintptr_t)arg;                                                  \
		va_start(args, arg);                                                               \
		for (size_t i = 1; i <= argc; i++)                                                 \
			argv[i] = va_arg(args, char *);                                            \
		if (has_env)                                                                       \
			envp = va_arg(args, char *const *);                                        \
		va_end(args);                                                                      \
		(void)envp;                                                                        \
		return call;                                                                       \
	}
