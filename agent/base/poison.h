/* SPDX-License-Identifier: MIT */
/* poison.h - included by files on a signal path: what is not async-signal-safe does not compile. */
#ifndef PMC_AGENT_BASE_POISON_H
#define PMC_AGENT_BASE_POISON_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison malloc calloc realloc free strdup strndup printf fprintf snprintf sprintf puts  \
	fopen pthread_mutex_lock pthread_mutex_unlock pthread_cond_wait dlopen dlsym dladdr getenv \
		setenv exit atexit localtime strerror

#endif
