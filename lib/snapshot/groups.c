/* SPDX-License-Identifier: MIT */
/* groups.c - readings of groups, in rows and totals. Async-signal-safe. */
#include "lib/base/clock.h"
#include "lib/dump/build.h"
#include "lib/snapshot/snapshot.h"

#include <errno.h>

static uint32_t put_group(const struct reader *reader, struct pmc_frame_buf *buf,
			  const struct snapshot_groups *groups, unsigned g, uint32_t reason,
			  struct snapshot_seen *seen)
{
	unsigned first = groups->first[g], n = groups->first[g + 1] - first;
	/* Aligned to a cache line: the kernel's copy to an unaligned address costs 0.1 us more. */
	uint64_t *words = (uint64_t *)(((uintptr_t)buf->data + buf->cap -
					PMC_PERF_GROUP_WORDS(n) * sizeof(*words)) &
				       ~(uintptr_t)(SNAPSHOT_LINE - 1));
	const uint64_t *base_times = groups->base + 2 * g;
	const uint64_t *base = groups->base + 2 * groups->groups + first;
	struct pmc_reading reading = { .error = reason ? reason : EBADF };
	uint64_t *values;

	if (groups->fds[first] >= 0)
		reader_group(reader, groups->fds[first], groups->ids[g], n, &reading, words);
	if (reading.n) {
		seen->enabled_ns = reading.enabled_ns;
		if (!reading.running_ns && reading.enabled_ns > seen->waited_ns)
			seen->waited_ns = reading.enabled_ns;
		reading.enabled_ns = set_less(reading.enabled_ns, base_times[0]);
		reading.running_ns = set_less(reading.running_ns, base_times[1]);
	}
	values = pmc_put_reading(buf, &reading, NULL);
	for (unsigned i = 0; values && i < reading.n; i++)
		values[i] = set_less(words[i], base[i]);
	return reading.error;
}

struct snapshot_seen snapshot_put_groups(const struct reader *reader, struct pmc_frame_buf *buf,
					 const struct snapshot_groups *groups, uint32_t *reason)
{
	struct snapshot_seen seen = { 0 };

	for (unsigned g = 0; g < groups->groups; g++) {
		uint32_t error = put_group(reader, buf, groups, g, *reason, &seen);

		*reason = *reason ? *reason : error;
		if (g == 0)
			seen.first_waited_ns = seen.waited_ns;
	}
	return seen;
}

void snapshot_total(const struct reader *reader, struct pmc_frame_buf *buf,
		    const struct pmc_control_totals *totals, enum pmc_total_kind kind)
{
	const struct snapshot_groups groups = snapshot_groups_of_total(totals);
	const struct pmc_total_fixed fixed = {
		.kind = (uint8_t)kind,
		.flags = (uint8_t)totals->flags,
		.n_groups = (uint16_t)totals->groups,
		.time_ns = pmc_now_ns(),
		.eventset = totals->eventset,
	};
	uint32_t reason = 0;

	if (!totals->groups && (kind != PMC_TOTAL_UNCORE || !totals->eventset))
		return;
	pmc_frame_begin(buf, PMC_FRAME_TOTAL, reader->control->identity, reader->snapshot, &fixed,
			sizeof(fixed));
	snapshot_put_groups(reader, buf, &groups, &reason);
	pmc_frame_end(buf);
}
