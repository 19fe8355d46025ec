/* SPDX-License-Identifier: MIT */
/* poison.h - for files on a signal path: functions that are not async-signal-safe do not compile.
 */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison malloc calloc realloc free strdup strndup printf fprintf snprintf sprintf puts  \
	fopen pthread_mutex_lock pthread_mutex_unlock pthread_cond_wait dlopen dlsym dladdr getenv \
		setenv exit atexit localtime strerror
