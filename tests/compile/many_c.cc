// SPDX-License-Identifier: MIT
// many_c.cc - reads and closes in C++ what C opened.
#include "tests/compile/many_units.h"

int shared_end(struct shared *group, struct shared_values *values)
{
	int error = shared_disable(group);

	if (!error)
		error = shared_read(group, values);
	shared_close(group);
	return error;
}
