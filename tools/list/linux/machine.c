/* SPDX-License-Identifier: MIT */
/* machine.c - the events of a Linux machine: PMUs, libpfm4's tables, tracepoints. */
#include "tools/list/list.h"

void list_machine(struct list *list)
{
	list_sysfs(list);
	list_pfm(list);
	list_tracepoints(list);
}
