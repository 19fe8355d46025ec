/* SPDX-License-Identifier: MIT */
/* machine.c - the events of a Mac: those of its processor's kpep database. */
#include "tools/cli/pmctl.h"
#include "tools/list/list.h"
#include "tools/list/mac_kpep.h"

void list_machine(struct list *list)
{
	const char *why = list_kpep(list, &pmc_mac_system);

	if (why)
		tool_warn("no events of the processor: %s", why);
}
