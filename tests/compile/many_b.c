/* SPDX-License-Identifier: MIT */
/* many_b.c - opens the group that another unit owns. */
#include "tests/compile/many_units.h"

int shared_begin(struct shared *group)
{
	int error = shared_open(group, 0, -1);

	return error ? error : shared_enable(group);
}
