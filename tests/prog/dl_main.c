/* SPDX-License-Identifier: MIT */
/* dl_main [deepbind] MODULE...: for each: dlopen, call its function that runs a thread, dlclose. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int run(const char *path, int flags)
{
	void *module = dlopen(path, flags);
	int (*go)(void);

	if (!module) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	go = (int (*)(void))dlsym(module, "dl_module_run");
	if (!go || go())
		return 1;
	dlclose(module);
	return 0;
}

int main(int argc, char **argv)
{
	int flags = RTLD_NOW, at = 1;

	if (argc > 1 && !strcmp(argv[1], "deepbind")) {
		flags |= RTLD_DEEPBIND;
		at++;
	}
	if (at == argc)
		return 2;
	for (; at < argc; at++)
		if (run(argv[at], flags))
			return 1;
	puts("module ran");
	return 0;
}
