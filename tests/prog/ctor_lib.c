/* SPDX-License-Identifier: MIT */
/* ctor_lib: a library whose constructor and destructor each run a thread. */
/* prog-flags: -shared -fPIC */
#include "burn.h"

#include <pthread.h>

static void *work(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	burn_thread_ms(10);
	return NULL;
}

static void run_thread(const char *name)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, work, (void *)name))
		pthread_join(thread, NULL);
}

__attribute__((constructor)) static void begin(void)
{
	run_thread("in-ctor");
}

__attribute__((destructor)) static void end(void)
{
	run_thread("in-dtor");
}
