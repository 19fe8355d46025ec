/* SPDX-License-Identifier: MIT */
/* dl_waits: a module whose constructor waits for a thread that creates another; for dl_main. dlopen
 * holds the loader's lock meanwhile. */
/* prog-flags: -shared -fPIC */
#include <pthread.h>

int dl_module_run(void);

static void *inner(void *arg)
{
	return arg;
}

/* Exported: its name is in the module's dynamic symbols. */
void *dl_waits_outer(void *arg);
void *dl_waits_outer(void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, inner, NULL) == 0)
		pthread_join(thread, NULL);
	return arg;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, dl_waits_outer, NULL) == 0)
		pthread_join(thread, NULL);
}

int dl_module_run(void)
{
	return 0;
}
