/* SPDX-License-Identifier: MIT */
/* machine.c - the events of a Mac: those of its processor's kpep database. */
#include "tools/list/list.h"

void list_machine(struct list *list)
{
	(void)list;
}
