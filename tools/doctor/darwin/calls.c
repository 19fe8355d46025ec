/* SPDX-License-Identifier: MIT */
/* calls.c - the calls of mac_facts.h on a Mac. */
#include "tools/cli/pmctl.h"
#include "tools/doctor/mac_facts.h"

#include <sys/sysctl.h>

/* In libSystem, but not in its headers. */
int csr_get_active_config(uint32_t *config);

static bool number(const char *name, int *value)
{
	size_t bytes = sizeof(*value);

	return sysctlbyname(name, value, &bytes, NULL, 0) == 0 && bytes == sizeof(*value);
}

static bool text(const char *name, char *to, size_t bytes)
{
	return sysctlbyname(name, to, &bytes, NULL, 0) == 0;
}

const struct doctor_mac_calls doctor_mac_system = {
	.number = number,
	.text = text,
	.sip = csr_get_active_config,
	.self = tool_own_path,
};
