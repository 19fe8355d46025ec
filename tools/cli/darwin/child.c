/* SPDX-License-Identifier: MIT */
/* child.c - ending without a core file, on macOS. */
#include "tools/cli/child.h"

#include <sys/resource.h>

void tool_no_core(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
}
