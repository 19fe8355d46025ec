/* SPDX-License-Identifier: MIT */
/*
 * delays.c - run delay in a timeline: the kernel adds a wait for a CPU when it ends, so that an
 * interval may have that of earlier ones. What is more than the interval had room for is theirs.
 * pmctl dump -I adds waits that go on, and takes a thread that has run since the last tick for one
 * that waits; what is more than a later snapshot has is taken back.
 */
#include "lib/base/number.h"
#include "lib/dump/words.h"
#include "tools/rows/tables.h"

/* What is needed of a row. */
struct point {
	bool known; /* run delay and CPU time */
	int event;  /* run-delay; -1: the row's own delay */
	uint64_t delay_ns, cpu_ns, reset_ns, on_ns;
};

static int find_event(const struct pmc_p_set_view *set)
{
	for (unsigned i = 0; set && i < set->count; i++)
		if (set->events[i].def.type == PMC_TYPE_OS &&
		    set->events[i].def.config == PMC_OS_RUN_DELAY)
			return (int)i;
	return -1;
}

static struct point point_of_thread(const struct pmc_p_thread *thread)
{
	const struct pmc_thread_fixed *fixed = &thread->fixed;
	struct point point = {
		.event = find_event(thread->set),
		.cpu_ns = fixed->cpu_ns,
		.reset_ns = fixed->reset_ns,
		.on_ns = fixed->start_ns ? pmc_thread_on_ns(fixed, fixed->time_ns) : fixed->time_ns,
	};

	point.delay_ns = point.event >= 0 ? thread->counts[point.event].raw : fixed->delay_ns;
	point.known = (point.event >= 0 ? pmc_count_has_value(&thread->counts[point.event]) :
					  !!(fixed->flags & PMC_THREAD_DELAY)) &&
		      !(fixed->flags & PMC_THREAD_NO_CPU);
	return point;
}

static struct point point_of(const struct pmc_profile *profile, const struct pmc_p_row *row,
			     struct pmc_thread_buf *buf)
{
	return point_of_thread(profile_unpack(profile, row, buf));
}

/* The rows of one thread, the newest first. */
static void spread(struct pmc_profile *profile, struct pmc_p_row **rows, uint64_t n,
		   struct pmc_thread_buf *buf)
{
	struct point now = point_of(profile, rows[n - 1], buf), before;
	uint64_t ahead_ns = 0; /* of `now`, beyond what its row had */

	for (uint64_t i = n - 1; i; i--) {
		uint64_t room_ns;

		before = point_of(profile, rows[i - 1], buf);
		if (now.known && !before.known && before.reset_ns == now.reset_ns)
			continue;
		if (!now.known || before.reset_ns != now.reset_ns) {
			ahead_ns = 0;
			now = before;
			continue;
		}
		if (before.delay_ns > now.delay_ns) {
			rows[i - 1] = profile_add_delay(profile, rows[i - 1], now.event,
							(int64_t)(now.delay_ns - before.delay_ns));
			before.delay_ns = now.delay_ns;
		}
		room_ns = pmc_sub_sat(pmc_sub_sat(now.on_ns, before.on_ns),
				      pmc_sub_sat(now.cpu_ns, before.cpu_ns));
		pmc_add_sat(&ahead_ns, pmc_sub_sat(now.delay_ns, before.delay_ns));
		ahead_ns = pmc_sub_sat(ahead_ns, room_ns);
		if (ahead_ns)
			rows[i - 1] = profile_add_delay(profile, rows[i - 1], now.event,
							(int64_t)ahead_ns);
		now = before;
	}
}

void profile_spread_delays(struct pmc_profile *profile)
{
	struct pmc_thread_buf *buf = pmc_arena_alloc(&profile->arena, sizeof(*buf));
	struct pmc_p_row **rows = profile->timeline;

	for (uint64_t at = 0, n; at < profile->n_timeline; at += n) {
		for (n = 1; at + n < profile->n_timeline; n++)
			if (!pmc_same_thread(rows[at], rows[at + n]))
				break;
		spread(profile, rows + at, n, buf);
	}
}

uint64_t pmc_delay_before_start(const struct pmc_p_thread *thread)
{
	const struct pmc_thread_fixed *fixed = &thread->fixed;
	const struct point point = point_of_thread(thread);

	return point.known && fixed->start_ns && !fixed->reset_ns ?
		       pmc_sub_sat(point.delay_ns, pmc_sub_sat(point.on_ns, point.cpu_ns)) :
		       0;
}
