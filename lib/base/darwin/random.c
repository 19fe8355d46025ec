/* SPDX-License-Identifier: MIT */
/* random.c - random bytes of this process, drawn once; see hash.h. */
#include "lib/base/hash.h"

#include <stdatomic.h>
#include <stdlib.h>

const void *pmc_process_random(void)
{
	static uint8_t bytes[16];
	static _Atomic int state; /* 0: not drawn, 1: being drawn, 2: drawn */
	int none = 0;

	if (atomic_compare_exchange_strong(&state, &none, 1)) {
		arc4random_buf(bytes, sizeof(bytes));
		atomic_store(&state, 2);
	}
	/* Another thread may be drawing: tables must use one key from their first entry on. */
	while (atomic_load(&state) != 2)
		;
	return bytes;
}
