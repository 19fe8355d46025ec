/* SPDX-License-Identifier: MIT */
/* plan_codec.c - a plan as an EVENTSET frame, which PMC_JOB carries in hex. */
#include "lib/base/number.h"
#include "lib/plan/plan.h"
#include "lib/count/user_read.h"
#include "lib/dump/build.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

uint64_t pmc_plan_frame(const struct pmc_plan *plan, struct pmc_frame_buf *buf)
{
	pmc_begin_eventset(buf, plan->count, plan->groups);
	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_planned *p = &plan->events[i];
		struct pmc_event_def def = {
			.type = p->event.type,
			.group = p->group,
			.scope = p->scope,
			.state = p->state,
			.config = p->event.config,
			.config1 = p->event.config1,
			.config2 = p->event.config2,
			.config3 = p->event.config3,
			.scale = p->event.scale,
			.position = (uint16_t)p->event.position,
			.flags = p->flags,
			.error = (uint32_t)p->error,
		};

		pmc_put_event(buf, &def, p->event.name, p->event.unit, p->event.core_type);
	}
	return pmc_frame_end(buf);
}

/* The attrs that every thread opens. */
static int make_attrs(struct pmc_plan *plan, struct pmc_arena *arena)
{
	plan->attrs = pmc_arena_alloc(arena, sizeof(*plan->attrs) * (plan->opened + 1));
	if (!plan->attrs)
		return -ENOMEM;
	for (unsigned g = 0; g < plan->groups; g++)
		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++) {
			const struct pmc_planned *event = &plan->events[i];
			const bool leader = i == plan->first[g];

			pmc_perf_group_attr(&event->event, event->scope, leader, &plan->attrs[i]);
			plan->attrs[i].base.exclusive =
				leader && event->flags & PMC_EVENT_EXCLUSIVE;
			/* Marked regions then need no system call. */
			pmc_user_request(&plan->attrs[i]);
		}
	return 0;
}

/* The size of the plan's frame, or a little more. */
static size_t frame_room(const struct pmc_plan *plan)
{
	size_t bytes = sizeof(struct pmc_frame_head) + sizeof(struct pmc_eventset_fixed) + 16;

	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_event *event = &plan->events[i].event;

		bytes += sizeof(struct pmc_event_def) + 3 * (sizeof(struct pmc_str) + 8) +
			 strlen(event->name) + strlen(event->unit) +
			 (event->core_type ? strlen(event->core_type) : 0);
	}
	return bytes;
}

int pmc_plan_seal(struct pmc_plan *plan, struct pmc_arena *arena)
{
	struct pmc_frame_buf buf;
	size_t bytes;
	void *room;

	plan->hash = 0;
	plan->frame = NULL;
	plan->frame_bytes = 0;
	plan->stops = plan->hardware && plan->opened > plan->groups;
	plan->os = 0;
	for (unsigned i = 0; i < plan->count; i++)
		if (pmc_event_is_of_os(&plan->events[i].event))
			plan->os |= 1u << (plan->events[i].event.config & 31);
	if (plan->count == 0)
		return 0;
	if (make_attrs(plan, arena) != 0)
		return -ENOMEM;
	bytes = frame_room(plan);
	room = pmc_arena_alloc(arena, bytes);
	if (!room)
		return -ENOMEM;
	pmc_frame_buf_init(&buf, room, bytes);
	plan->hash = pmc_plan_frame(plan, &buf);
	plan->frame = room;
	plan->frame_bytes = buf.len;
	return plan->hash ? 0 : -E2BIG;
}

/* A frame has neither CPUs nor pins: descendants plan those events anew. */
static bool is_whole_in_frame(const struct pmc_plan *plan)
{
	for (unsigned i = 0; i < plan->count; i++)
		if (plan->events[i].event.pinned || pmc_event_is_uncore(&plan->events[i].event))
			return false;
	return true;
}

void pmc_plan_encode(const struct pmc_plan *plan, struct pmc_out *out)
{
	if (is_whole_in_frame(plan))
		pmc_out_hex_bytes(out, plan->frame, plan->frame_bytes);
}

static const char *take_text(struct pmc_cursor *cursor, struct pmc_arena *arena)
{
	const char *text;
	size_t len;

	pmc_cursor_str(cursor, &text, &len);
	return pmc_arena_strndup(arena, text, len);
}

static void take_event(struct pmc_cursor *cursor, struct pmc_arena *arena, struct pmc_planned *p)
{
	const char *name, *unit, *core_type;
	struct pmc_event_def def;

	pmc_cursor_bytes(cursor, &def, sizeof(def));
	name = take_text(cursor, arena);
	unit = take_text(cursor, arena);
	core_type = take_text(cursor, arena);
	*p = (struct pmc_planned){
		.event = {
			.name = name,
			.unit = unit,
			.core_type = core_type,
			.pmu = "",
			.type = def.type,
			.config = def.config,
			.config1 = def.config1,
			.config2 = def.config2,
			.config3 = def.config3,
			.scale = def.scale,
			.exclude_user = def.scope == PMC_SCOPE_KERNEL,
			.exclude_kernel = def.scope == PMC_SCOPE_USER,
			.filter = def.flags & PMC_EVENT_UNFILTERED ? PMC_UNFILTERED : PMC_FILTERED,
			.brace = PMC_NO_BRACE,
			.position = def.position,
		},
		.group = def.group,
		.scope = def.scope,
		.state = def.state,
		.flags = def.flags,
		.error = (int)def.error,
	};
}

/* Opened events come first, group by group. */
static bool take_group(struct pmc_plan *plan, const struct pmc_planned *p)
{
	if (p->group == PMC_NO_GROUP)
		return true;
	if (plan->opened != plan->count || p->group + 1u < plan->groups || p->group > plan->groups)
		return false;
	if (p->group == plan->groups)
		plan->first[plan->groups++] = plan->opened;
	plan->first[plan->groups] = ++plan->opened;
	plan->hardware |= pmc_event_needs_pmu(&p->event);
	return true;
}

int pmc_plan_from_frame(const void *bytes, size_t len, struct pmc_arena *arena,
			struct pmc_plan *plan)
{
	struct pmc_scan scan = { .data = bytes, .len = len };
	struct pmc_eventset_fixed fixed;
	struct pmc_cursor cursor;
	struct pmc_frame frame;

	memset(plan, 0, sizeof(*plan));
	plan->events = pmc_arena_alloc(arena, sizeof(*plan->events) * PMC_EVENTS_MAX);
	if (!plan->events)
		return -ENOMEM;
	if (!pmc_scan_next(&scan, &frame) || frame.head.size != scan.len ||
	    frame.head.type != PMC_FRAME_EVENTSET)
		return -EINVAL;
	pmc_frame_fixed(&frame, &fixed, sizeof(fixed));
	pmc_cursor_init(&cursor, &frame);
	if (fixed.n_events == 0 || fixed.n_events > PMC_EVENTS_MAX)
		return -EINVAL;
	for (; plan->count < fixed.n_events; plan->count++) {
		struct pmc_planned *p = &plan->events[plan->count];

		take_event(&cursor, arena, p);
		if (cursor.bad || !take_group(plan, p))
			return -EINVAL;
	}
	return arena->failed ? -ENOMEM : pmc_plan_seal(plan, arena);
}

int pmc_plan_decode(const char *text, size_t len, struct pmc_arena *arena, struct pmc_plan *plan)
{
	uint8_t *bytes = pmc_arena_alloc(arena, len / 2 + 1);

	memset(plan, 0, sizeof(*plan));
	if (!bytes)
		return -ENOMEM;
	if (len % 2 || !pmc_number_bytes(text, len / 2, bytes))
		return -EINVAL;
	return pmc_plan_from_frame(bytes, len / 2, arena, plan);
}
