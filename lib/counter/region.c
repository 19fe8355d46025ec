/* SPDX-License-Identifier: MIT */
/* region.c - pmc_region_read: a thread's own region, as a snapshot of the agent would have it. */
#include "lib/base/number.h"
#include "lib/snapshot/snapshot.h"

#define PMC_REGION_API_ONLY
#include <pmc/region.h>

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum part { INCLUSIVE, EXCLUSIVE, INSIDE, AROUND, PARTS };

/* NULL: no agent counts this process, or it is another version. */
static const struct pmc_control *find_agent(void)
{
	const int saved = errno;
	const struct pmc_control *control = dlsym(RTLD_DEFAULT, "pmc_agent_control");

	errno = saved;
	if (!control || control->magic != PMC_CONTROL_MAGIC ||
	    control->version != PMC_CONTROL_VERSION || control->bytes != sizeof(*control) ||
	    atomic_load(&control->state) != PMC_CONTROL_ON || control->pid != getpid())
		return NULL;
	return control;
}

static const struct slot *find_slot(const struct registry *registry)
{
	const uint32_t tid = (uint32_t)gettid(), high = atomic_load(&registry->high);

	for (uint32_t i = 0; i < high; i++) {
		const struct slot *slot = registry_slot(registry, i);

		if ((atomic_load(&slot->word) & ~0xffffu) == SLOT_LIVE && slot->tid == tid)
			return slot;
	}
	return NULL;
}

/* Adds up a value of the group in each part of the region's frame. 0 or -ENODATA. */
static int add_counts(struct pmc_cursor cursor, unsigned n_groups, unsigned group, unsigned place,
		      uint64_t counts[PARTS], struct pmc_region_sum *sum)
{
	int error = 0;

	for (unsigned i = 0; i < PARTS * n_groups; i++) {
		struct pmc_reading reading;
		uint64_t value = 0;

		pmc_cursor_bytes(&cursor, &reading, sizeof(reading));
		for (unsigned k = 0; k < reading.n && pmc_cursor_bytes(&cursor, &value, 8); k++)
			counts[i / n_groups] += i % n_groups == group && k == place ? value : 0;
		if (i != group)
			continue;
		error = reading.error ? -ENODATA : 0;
		if (sum->enabled_ns < reading.enabled_ns)
			sum->enabled_ns = reading.enabled_ns;
		sum->running_ns += reading.running_ns;
	}
	return cursor.bad ? -ENODATA : error;
}

/* What is left without the cost of marking. An event that ran half of the time saw half of it. */
static uint64_t net(const struct pmc_region_fixed *fixed, bool exclusive,
		    const uint64_t counts[PARTS], const struct pmc_region_sum *sum)
{
	uint64_t cost = 0;

	if (fixed->flags & PMC_REGION_COST)
		cost = pmc_region_overhead(fixed, exclusive, counts[INSIDE], counts[AROUND]);
	if (sum->running_ns < sum->enabled_ns)
		pmc_scaled(cost, sum->running_ns, sum->enabled_ns, &cost);
	return pmc_sub_sat(counts[exclusive ? EXCLUSIVE : INCLUSIVE], cost);
}

/* The events' names are in their own frame. */
static int fill_count(const struct pmc_control *control, const struct pmc_region_fixed *fixed,
		      struct pmc_cursor *cursor, const char *event, struct pmc_region_sum *sum)
{
	const bool user = fixed->eventset != control->eventset;
	const uint64_t at = user ? control->user_frame : control->eventset_frame;
	uint64_t counts[PARTS] = { 0 };
	struct pmc_eventset_fixed set;
	struct pmc_event_def def;
	struct pmc_cursor defs;
	struct pmc_frame frame;
	unsigned group = PMC_NO_GROUP, place = 0;
	int error = -EINVAL, unread = 0;
	const char *text;
	size_t len;

	if (!fixed->eventset)
		return -EINVAL;
	pmc_frame_view(&frame, (const uint8_t *)(uintptr_t)at,
		       user ? control->user_bytes : control->eventset_bytes);
	pmc_frame_fixed(&frame, &set, sizeof(set));
	pmc_cursor_init(&defs, &frame);
	for (unsigned i = 0; i < set.n_events; i++) {
		pmc_cursor_bytes(&defs, &def, sizeof(def));
		pmc_cursor_str(&defs, &text, &len);
		place = def.group == group ? place + 1 : 0;
		group = def.group;
		if (len == strlen(event) && !memcmp(text, event, len)) {
			const bool counted = group != PMC_NO_GROUP && def.state == PMC_COUNTED;

			error = counted || !error ? 0 : -ENODATA;
			if (counted && sum->calls)
				unread |= add_counts(*cursor, fixed->n_groups, group, place, counts,
						     sum);
		}
		pmc_cursor_str(&defs, &text, &len); /* unit */
		pmc_cursor_str(&defs, &text, &len); /* type of core */
	}
	if (error || !sum->calls)
		return error;
	if (defs.bad || unread)
		return -ENODATA;
	/* Until an outermost entry has ended the sums are 0. */
	if (fixed->outermost && !sum->running_ns)
		return -EBUSY;
	sum->has_count = true;
	sum->count = net(fixed, false, counts, sum);
	sum->self_count = net(fixed, true, counts, sum);
	return 0;
}

int pmc_region_read(const char *name, const char *event, struct pmc_region_sum *sum)
{
	_Alignas(8) uint8_t room[REGION_FRAME_BYTES];
	const struct pmc_control *control = find_agent();
	struct reader reader = { .control = control };
	struct pmc_region_fixed fixed;
	struct pmc_cursor cursor;
	struct pmc_frame frame;
	const struct slot *slot;
	const char *text;
	size_t len;

	name = name ? name : "";
	if (!sum)
		return -EINVAL;
	*sum = (struct pmc_region_sum){ .calls = 0 };
	if (!control)
		return -ENODEV;
	reader.registry = (const struct registry *)(uintptr_t)control->registry;
	slot = find_slot(reader.registry);
	if (!slot)
		return -ENODEV;
	/* The first "record" has the regions beyond the last one. */
	for (uint32_t i = 0;; i++) {
		enum snapshot_result result;
		struct pmc_frame_buf buf;

		pmc_frame_buf_init(&buf, room, sizeof(room));
		result = snapshot_region(&reader, &buf, slot, i);
		if (result != SNAPSHOT_PUT)
			return result == SNAPSHOT_CHANGING ? -EAGAIN : -ENOENT;
		if (!buf.len)
			continue;
		pmc_frame_view(&frame, room, buf.len);
		pmc_cursor_init(&cursor, &frame);
		if (pmc_cursor_str(&cursor, &text, &len) && len == strnlen(name, REGION_NAME - 1) &&
		    !memcmp(text, name, len))
			break;
	}
	pmc_frame_fixed(&frame, &fixed, sizeof(fixed));
	sum->calls = fixed.calls;
	sum->open = fixed.open;
	sum->has_cpu = fixed.flags & PMC_REGION_CPU;
	if (sum->has_cpu) {
		const uint64_t times[PARTS] = { fixed.cpu_ns, fixed.self_cpu_ns,
						fixed.inside_cpu_ns, fixed.around_cpu_ns };

		sum->cpu_ns = net(&fixed, false, times, sum);
		sum->self_cpu_ns = net(&fixed, true, times, sum);
	}
	return event ? fill_count(control, &fixed, &cursor, event, sum) : 0;
}
