/* SPDX-License-Identifier: MIT */
/* zstd.c - the few functions of libzstd's stable API that are used. */
#include "tools/rows/zstd.h"

#include <dlfcn.h>

static struct {
	size_t (*bound)(size_t bytes);
	size_t (*compress)(void *to, size_t room, const void *from, size_t bytes, int level);
	size_t (*decompress)(void *to, size_t room, const void *from, size_t bytes);
	unsigned (*is_error)(size_t code);
} zstd;

const char *pmc_zstd_load(void)
{
	static const char *const names[] = { "libzstd.so.1", "libzstd.1.dylib" };
	void *library = NULL;

	if (zstd.is_error)
		return NULL;
	for (unsigned i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return "libzstd cannot be loaded; install the package libzstd1";
	*(void **)&zstd.bound = dlsym(library, "ZSTD_compressBound");
	*(void **)&zstd.compress = dlsym(library, "ZSTD_compress");
	*(void **)&zstd.decompress = dlsym(library, "ZSTD_decompress");
	if (zstd.bound && zstd.compress && zstd.decompress)
		*(void **)&zstd.is_error = dlsym(library, "ZSTD_isError");
	return zstd.is_error ? NULL : "libzstd lacks functions; install the package libzstd1";
}

size_t pmc_zstd_bound(size_t bytes)
{
	return zstd.bound(bytes);
}

size_t pmc_zstd_compress(void *to, size_t room, const void *from, size_t bytes)
{
	const size_t n = zstd.compress(to, room, from, bytes, 1);

	return zstd.is_error(n) ? 0 : n;
}

size_t pmc_zstd_decompress(void *to, size_t room, const void *from, size_t bytes)
{
	const size_t n = zstd.decompress(to, room, from, bytes);

	return zstd.is_error(n) ? 0 : n;
}
