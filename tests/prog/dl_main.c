/* SPDX-License-Identifier: MIT */
/* dl_main MODULE [deepbind]: loads a module, lets it run its thread, unloads it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int flags = RTLD_NOW | (argc > 2 && !strcmp(argv[2], "deepbind") ? RTLD_DEEPBIND : 0);
	int (*go)(void);
	void *module;

	if (argc < 2)
		return 2;
	module = dlopen(argv[1], flags);
	if (!module) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	go = (int (*)(void))dlsym(module, "dl_module_run");
	if (!go || go())
		return 1;
	dlclose(module);
	puts("module ran");
	return 0;
}
