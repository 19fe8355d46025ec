/* SPDX-License-Identifier: MIT */
/* dl_module: a module with a function that runs and joins a thread; for dl_main. */
/* prog-flags: -shared -fPIC */
#include "burn.h"

#include <pthread.h>

int dl_module_run(void);

static void *work_in_module(void *arg)
{
	pthread_setname_np(pthread_self(), "in-module");
	burn_thread_ms(10);
	return arg;
}

int dl_module_run(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, work_in_module, NULL) || pthread_join(thread, NULL);
}
