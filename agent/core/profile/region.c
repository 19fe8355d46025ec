/* SPDX-License-Identifier: MIT */
/* region.c - REGION frames: the newest per thread and name, less the cost of marking. */
#include "agent/core/profile/tables.h"
#include "agent/core/base/number.h"

#include <errno.h>
#include <string.h>

/* The newest frame, its readings kept raw until all event sets are known. */
struct table_region {
	struct pmc_p_region pub;
	struct table_process *process;
	struct held held; /* the readings behind the name */
	const void *key;  /* identity, seq, name */
	UT_hash_handle hh;
};

enum { INCLUSIVE, EXCLUSIVE, INSIDE, AROUND, PARTS };

static struct table_region *find_or_add(struct pmc_profile *profile, const struct pmc_frame *frame,
					uint64_t seq, const char *name, size_t name_len)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_arena *arena = &profile->arena;
	struct {
		uint8_t identity[16];
		uint64_t seq;
		char name[1024];
	} key;
	struct table_region *region;
	size_t len;
	char *kept;

	if (name_len > sizeof(key.name)) /* longer than any agent writes */
		name_len = sizeof(key.name);
	memcpy(key.identity, frame->head.identity, sizeof(key.identity));
	key.seq = seq;
	memcpy(key.name, name, name_len);
	len = offsetof(__typeof__(key), name) + name_len;
	HASH_FIND(hh, tables->regions, &key, len, region);
	if (region)
		return region;
	region = pmc_arena_alloc(arena, sizeof(*region));
	kept = pmc_arena_strndup(arena, (const char *)&key, len);
	if (!region || !kept)
		return NULL;
	region->process = profile_process(profile, frame->head.identity);
	if (!region->process)
		return NULL;
	region->pub.process = &region->process->pub;
	region->pub.name = kept + offsetof(__typeof__(key), name);
	region->pub.name_len = name_len;
	region->key = kept;
	HASH_ADD_KEYPTR(hh, tables->regions, region->key, len, region);
	return arena->failed ? NULL : region;
}

int profile_add_region(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_region_fixed fixed;
	struct table_region *region;
	struct pmc_cursor cursor;
	const char *name;
	size_t len;
	int held;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	pmc_cursor_init(&cursor, frame);
	if (!pmc_cursor_str(&cursor, &name, &len) ||
	    profile_readings_len(PARTS * (unsigned)fixed.n_groups, cursor.at, cursor.left) >
		    cursor.left)
		return -EBADMSG;
	region = find_or_add(profile, frame, fixed.seq, name, len);
	if (!region)
		return -ENOMEM;
	held = profile_hold(profile, &region->held, &frame->head, fixed.time_ns, cursor.at,
			    cursor.left);
	if (held > 0) {
		region->pub.fixed = fixed;
		region->pub.snapshot = frame->head.snapshot;
	}
	return held < 0 ? held : 0;
}

/* ---- finish --------------------------------------------------------------------------------*/

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* What marking adds to the inclusive or exclusive sum; see pmc/dump.h. */
static uint64_t cost_of(const struct pmc_region_fixed *fixed, bool exclusive, uint64_t inside,
			uint64_t around)
{
	if (exclusive)
		return add(times(fixed->calls, inside),
			   times(fixed->direct, pmc_sub_sat(around, inside)));
	return add(times(fixed->outermost, inside), times(fixed->nested, around));
}

/* The cost in raw counts: an event that ran half of the time saw half of the cost. */
static uint64_t as_raw(const struct pmc_count *count, uint64_t cost)
{
	if (count->state != PMC_SCALED)
		return cost;
	return (uint64_t)((unsigned __int128)cost * count->running_ns / count->enabled_ns);
}

static void take_off(const struct pmc_region_fixed *fixed, bool exclusive, unsigned n,
		     struct pmc_count *counts, const struct pmc_count *inside,
		     const struct pmc_count *around)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t cost;

		if (!pmc_count_has_value(&counts[i]))
			continue;
		cost = cost_of(fixed, exclusive,
			       pmc_count_has_value(&inside[i]) ? pmc_count_value(&inside[i]) : 0,
			       pmc_count_has_value(&around[i]) ? pmc_count_value(&around[i]) : 0);
		counts[i].raw = pmc_sub_sat(counts[i].raw, as_raw(&counts[i], cost));
	}
}

static int fill(struct pmc_profile *profile, struct table_region *region)
{
	const struct pmc_region_fixed *fixed = &region->pub.fixed;
	struct pmc_p_eventset *set = NULL;
	const uint8_t *var = region->held.var;
	struct pmc_count *counts;
	unsigned n;

	if (fixed->eventset)
		set = profile_find_set(profile, fixed->eventset);
	if (!set)
		return 0;
	n = set->view.count;
	counts = pmc_arena_alloc(&profile->arena, (PARTS * n + 1) * sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (unsigned part = 0; part < PARTS; part++) {
		size_t left = region->held.var_len - (size_t)(var - region->held.var);
		size_t len = profile_readings_len(fixed->n_groups, var, left);

		if (profile_fill_counts(set, fixed->n_groups, var, len, counts + part * n))
			return 0;
		var += len;
	}
	if (fixed->flags & PMC_REGION_COST) {
		take_off(fixed, false, n, counts, counts + INSIDE * n, counts + AROUND * n);
		take_off(fixed, true, n, counts + EXCLUSIVE * n, counts + INSIDE * n,
			 counts + AROUND * n);
		region->pub.around = counts + AROUND * n;
	}
	region->pub.set = &set->view;
	region->pub.counts = counts;
	region->pub.self_counts = counts + EXCLUSIVE * n;
	return 0;
}

static int region_order(const struct table_region *a, const struct table_region *b)
{
	size_t len = a->pub.name_len < b->pub.name_len ? a->pub.name_len : b->pub.name_len;
	int order = profile_order_u64(a->process->index, b->process->index);

	if (!order)
		order = profile_order_u64(a->pub.fixed.seq, b->pub.fixed.seq);
	if (!order)
		order = memcmp(a->pub.name, b->pub.name, len);
	return order ? order : profile_order_u64(a->pub.name_len, b->pub.name_len);
}

int profile_link_regions(struct pmc_profile *profile)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct table_region *region;
	uint64_t n = HASH_COUNT(tables->regions);

	if (!n)
		return 0;
	profile->regions = pmc_arena_alloc(&profile->arena, n * sizeof(void *));
	if (!profile->regions)
		return -ENOMEM;
	HASH_SORT(tables->regions, region_order);
	for (region = tables->regions; region; region = region->hh.next) {
		struct pmc_p_region *pub = &region->pub;
		const struct pmc_region_fixed *fixed = &pub->fixed;
		int error;

		if (!region->process->index) /* of another job */
			continue;
		pub->row = profile_find_row(pub->process, fixed->seq);
		pub->has_cpu = fixed->flags & PMC_REGION_CPU;
		pub->cpu_ns = fixed->cpu_ns;
		pub->self_cpu_ns = fixed->self_cpu_ns;
		if (fixed->flags & PMC_REGION_COST) {
			pub->cpu_ns =
				pmc_sub_sat(pub->cpu_ns, cost_of(fixed, false, fixed->inside_cpu_ns,
								 fixed->around_cpu_ns));
			pub->self_cpu_ns = pmc_sub_sat(
				pub->self_cpu_ns,
				cost_of(fixed, true, fixed->inside_cpu_ns, fixed->around_cpu_ns));
		}
		error = fill(profile, region);
		if (error)
			return error;
		profile->regions[profile->n_regions++] = pub;
	}
	return 0;
}
