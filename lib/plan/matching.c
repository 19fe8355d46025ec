/* SPDX-License-Identifier: MIT */
/* matching.c - bipartite matching of events and counters; see matching.h. */
#include "lib/plan/matching.h"

#include <string.h>

#define BIT(i) (UINT64_C(1) << (i))

static unsigned lowest(uint64_t set)
{
	return (unsigned)__builtin_ctzll(set);
}

struct matching {
	const uint64_t *masks;
	unsigned capacity;	  /* events a counter takes */
	uint64_t on[PMC_FIT_MAX]; /* the events on each counter */
	int8_t at[PMC_FIT_MAX];	  /* the counter of each event, -1: none yet */
	/* Reached by the last failed search: a violator of Hall's condition. */
	uint64_t stuck_events, stuck_counters;
};

/* Moves each event on the path to counter c to the counter that it found, back to the root. */
static void augment(struct matching *m, const uint8_t *found_by, unsigned c)
{
	for (;;) {
		unsigned event = found_by[c];
		int old = m->at[event];

		m->on[c] |= BIT(event);
		m->at[event] = (int8_t)c;
		if (old < 0)
			return;
		m->on[old] &= ~BIT(event);
		c = (unsigned)old;
	}
}

/* Places one more event by a breadth-first search for an augmenting path. */
static bool place(struct matching *m, unsigned root)
{
	uint8_t found_by[PMC_FIT_MAX], queue[PMC_FIT_MAX];
	uint64_t events = BIT(root), counters = 0;
	unsigned head = 0, tail = 0;

	queue[tail++] = (uint8_t)root;
	while (head < tail) {
		unsigned event = queue[head++];

		for (uint64_t fresh = m->masks[event] & ~counters; fresh; fresh &= fresh - 1) {
			unsigned c = lowest(fresh);

			counters |= BIT(c);
			found_by[c] = (uint8_t)event;
			if ((unsigned)__builtin_popcountll(m->on[c]) < m->capacity) {
				augment(m, found_by, c);
				return true;
			}
			for (uint64_t held = m->on[c] & ~events; held; held &= held - 1)
				queue[tail++] = (uint8_t)lowest(held);
			events |= m->on[c];
		}
	}
	m->stuck_events = events;
	m->stuck_counters = counters;
	return false;
}

void pmc_fit_split(const uint64_t *masks, unsigned n, struct pmc_fit_passes *split)
{
	struct matching m = { .masks = masks, .capacity = 1 };
	uint8_t used[PMC_FIT_MAX] = { 0 };

	memset(split, 0, sizeof(*split));
	memset(m.at, -1, sizeof(m.at));
	for (unsigned i = 0; i < n; i++) {
		if (!masks[i]) {
			split->impossible |= BIT(i);
			if (!split->clash)
				split->clash = split->impossible;
			continue;
		}
		/* Events that are placed stay so: a pass more only adds room. */
		while (!place(&m, i)) {
			m.capacity++;
			split->proof_events = m.stuck_events;
			/* The first failed search reached exactly a clash: each event it reached is
			 * at the end of an alternating path, so that without it there is room. */
			if (!split->clash)
				split->clash = split->proof_events;
			split->proof_counters = m.stuck_counters;
		}
		split->passes = m.capacity;
	}
	for (unsigned i = 0; i < n; i++) {
		split->counter[i] = m.at[i];
		if (m.at[i] >= 0)
			split->pass[i] = used[m.at[i]]++;
	}
}
