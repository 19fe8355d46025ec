/* SPDX-License-Identifier: MIT */
/* many_a.c - a group used by three units in two languages: prints its fields and their values. */
#include "tests/compile/many_units.h"

#include <stdio.h>

int main(void)
{
	struct shared_values values;
	struct shared group;
	static char touched[1 << 20];
	int error = shared_begin(&group);

	if (!error) {
		for (unsigned i = 0; i < sizeof(touched); i += 512)
			*(volatile char *)&touched[i] = 1;
		error = shared_end(&group, &values);
	}
	if (error) {
		fprintf(stderr, "many: %d\n", error);
		return 1;
	}
	for (unsigned i = 0; i < shared_n_fields; i++)
		printf("%s %d\n", shared_fields[i].name, shared_value(&values, i) > 0);
	return values.faults < 16;
}
