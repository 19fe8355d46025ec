/* SPDX-License-Identifier: MIT */
/* matching.c - bipartite matching of events and counters; see matching.h. */
#include "lib/plan/matching.h"

#include <string.h>

#define BIT(i) (UINT64_C(1) << (i))

static unsigned lowest(uint64_t set)
{
	return (unsigned)__builtin_ctzll(set);
}

/* Events are sorted by mask, so that the result does not depend on the order of the user. */
struct matching {
	unsigned n;
	uint8_t event[PMC_FIT_MAX]; /* the caller's index of each */
	uint64_t masks[PMC_FIT_MAX];
	unsigned capacity;	  /* events a counter takes */
	uint64_t on[PMC_FIT_MAX]; /* the events on each counter */
	int8_t at[PMC_FIT_MAX];	  /* the counter of each event, -1: none yet */
	/* Reached by the last failed search: a violator of Hall's condition. */
	uint64_t stuck_events, stuck_counters;
};

static void matching_init(struct matching *m, const uint64_t *masks, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned at = i;

		for (; at && masks[m->event[at - 1]] > masks[i]; at--)
			m->event[at] = m->event[at - 1];
		m->event[at] = (uint8_t)i;
	}
	for (unsigned i = 0; i < n; i++)
		m->masks[i] = masks[m->event[i]];
	m->n = n;
	m->capacity = 1;
	memset(m->on, 0, sizeof(m->on));
	memset(m->at, -1, sizeof(m->at));
}

static uint64_t as_named(const struct matching *m, uint64_t events)
{
	uint64_t named = 0;

	for (; events; events &= events - 1)
		named |= BIT(m->event[lowest(events)]);
	return named;
}

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
	uint8_t used[PMC_FIT_MAX] = { 0 };
	struct matching m;

	memset(split, 0, sizeof(*split));
	matching_init(&m, masks, n);
	for (unsigned i = 0; i < n; i++) {
		if (!m.masks[i]) {
			split->impossible |= BIT(m.event[i]);
			if (!split->clash)
				split->clash = split->impossible;
			continue;
		}
		/* Events that are placed stay so: a pass more only adds room. */
		while (!place(&m, i)) {
			m.capacity++;
			split->proof_events = as_named(&m, m.stuck_events);
			/* The first failed search reached exactly a clash: each event it reached is
			 * at the end of an alternating path, so that without it there is room. */
			if (!split->clash)
				split->clash = split->proof_events;
			split->proof_counters = m.stuck_counters;
		}
		split->passes = m.capacity;
	}
	for (unsigned i = 0; i < n; i++) {
		int counter = m.at[i];

		split->counter[m.event[i]] = (int8_t)counter;
		if (counter >= 0)
			split->pass[m.event[i]] = used[counter]++;
	}
}
