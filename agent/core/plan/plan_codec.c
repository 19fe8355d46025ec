/* SPDX-License-Identifier: MIT */
/*
 * plan_codec.c - a plan as an EVENTSET frame, and as the text that PMC_JOB carries.
 *
 * Text: events separated by ';', each with its fields separated by ',' in the order of FIELDS,
 * numbers in hex, strings with everything but letters, digits and "_-/." as %XX.
 */
#include "agent/core/base/number.h"
#include "agent/core/plan/plan.h"
#include "agent/core/count/user_read.h"
#include "agent/core/dump/build.h"

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

/* Every thread opens these; they are filled once. In a frame of its own: see pair_up. */
__attribute__((noinline)) static int ready_attrs(struct pmc_plan *plan, struct pmc_arena *arena)
{
	plan->attrs = pmc_arena_alloc(arena, sizeof(*plan->attrs) * (plan->opened + 1));
	if (!plan->attrs)
		return -ENOMEM;
	for (unsigned g = 0; g < plan->groups; g++)
		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++) {
			const struct pmc_planned *event = &plan->events[i];
			const bool leader = i == plan->first[g];

			pmc_group_attr(&event->event, event->scope, leader, &plan->attrs[i]);
			plan->attrs[i].base.exclusive = leader && event->flags & PMC_EVENT_ALONE;
			/* Marked regions then need no system call. */
			pmc_user_request(&plan->attrs[i]);
		}
	return 0;
}

/* What the plan's frame takes, or a little more. */
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
	if (plan->count == 0)
		return 0;
	if (ready_attrs(plan, arena) != 0)
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

static void put_text(struct pmc_out *out, const char *text)
{
	for (; text && *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    (c < 128 && strchr("_-/.", c)))
			pmc_out_char(out, (char)c);
		else
			pmc_outf(out, "%%%02x", c);
	}
	pmc_out_char(out, ',');
}

/* Every number of an event that travels, in order. */
enum { N_NUMBERS = 16 };

static void numbers_of(const struct pmc_planned *p, uint64_t v[N_NUMBERS])
{
	uint64_t scale;

	memcpy(&scale, &p->event.scale, sizeof(scale));
	const uint64_t all[N_NUMBERS] = {
		p->event.type,
		p->event.config,
		p->event.config1,
		p->event.config2,
		p->event.config3,
		scale,
		p->event.position,
		p->event.exclude_user,
		p->event.exclude_kernel,
		(uint64_t)(int64_t)p->event.brace,
		p->group,
		p->scope,
		p->state,
		p->flags,
		(uint64_t)p->error,
		p->event.pinned,
	};

	memcpy(v, all, sizeof(all));
}

static void numbers_to(struct pmc_planned *p, const uint64_t v[N_NUMBERS])
{
	p->event.type = (uint32_t)v[0];
	p->event.config = v[1];
	p->event.config1 = v[2];
	p->event.config2 = v[3];
	p->event.config3 = v[4];
	memcpy(&p->event.scale, &v[5], sizeof(v[5]));
	p->event.position = (unsigned)v[6];
	p->event.exclude_user = v[7];
	p->event.exclude_kernel = v[8];
	p->event.brace = (int)(int64_t)v[9];
	p->group = (uint16_t)v[10];
	p->scope = (uint8_t)v[11];
	p->state = (uint8_t)v[12];
	p->flags = (uint16_t)v[13];
	p->error = (int)v[14];
	p->event.pinned = v[15];
}

void pmc_plan_encode(const struct pmc_plan *plan, struct pmc_out *out)
{
	for (unsigned i = 0; i < plan->count; i++) {
		uint64_t v[N_NUMBERS];

		if (i)
			pmc_out_char(out, ';');
		put_text(out, plan->events[i].event.name);
		put_text(out, plan->events[i].event.unit);
		put_text(out, plan->events[i].event.core_type);
		put_text(out, plan->events[i].event.cpus);
		numbers_of(&plan->events[i], v);
		for (unsigned k = 0; k < N_NUMBERS; k++) {
			if (k)
				pmc_out_char(out, ',');
			pmc_out_hex(out, v[k]);
		}
	}
}

struct text {
	const char *at, *end;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static const char *get_text(struct text *t, struct pmc_arena *arena)
{
	size_t n = 0;
	const char *comma = memchr(t->at, ',', (size_t)(t->end - t->at));
	char *to;

	if (!comma)
		return NULL;
	to = pmc_arena_alloc(arena, (size_t)(comma - t->at) + 1);
	if (!to)
		return NULL;
	for (const char *p = t->at; p < comma; p++) {
		if (*p != '%') {
			to[n++] = *p;
			continue;
		}
		if (comma - p < 3 || hex_digit(p[1]) < 0 || hex_digit(p[2]) < 0)
			return NULL;
		to[n++] = (char)(hex_digit(p[1]) * 16 + hex_digit(p[2]));
		p += 2;
	}
	t->at = comma + 1;
	return to;
}

static bool get_hex(struct text *t, uint64_t *value)
{
	return pmc_number_take(&t->at, t->end, 16, value);
}

static bool get_event(struct text *t, struct pmc_arena *arena, struct pmc_planned *p)
{
	uint64_t v[N_NUMBERS];

	p->event.name = get_text(t, arena);
	p->event.unit = p->event.name ? get_text(t, arena) : NULL;
	p->event.pmu = "";
	p->event.core_type = p->event.unit ? get_text(t, arena) : NULL;
	p->event.cpus = p->event.core_type ? get_text(t, arena) : NULL;
	if (!p->event.cpus)
		return false;
	for (unsigned k = 0; k < N_NUMBERS; k++) {
		if (k && (t->at >= t->end || *t->at++ != ','))
			return false;
		if (!get_hex(t, &v[k]))
			return false;
	}
	numbers_to(p, v);
	return true;
}

int pmc_plan_decode(const char *text, size_t len, struct pmc_arena *arena, struct pmc_plan *plan)
{
	struct text t = { text, text + len };

	memset(plan, 0, sizeof(*plan));
	if (len == 0)
		return 0;
	plan->events = pmc_arena_alloc(arena, sizeof(*plan->events) * PMC_EVENTS_MAX);
	if (!plan->events)
		return -ENOMEM;
	while (t.at < t.end) {
		struct pmc_planned *p = &plan->events[plan->count];

		if (plan->count == PMC_EVENTS_MAX || !get_event(&t, arena, p))
			return -EINVAL;
		if (t.at < t.end && *t.at++ != ';')
			return -EINVAL;
		plan->count++;
		if (p->group == PMC_NO_GROUP)
			continue;
		/* Opened ones come first, group by group. */
		if (plan->opened != plan->count - 1 || p->group + 1u < plan->groups ||
		    p->group > plan->groups)
			return -EINVAL;
		if (p->group == plan->groups)
			plan->first[plan->groups++] = plan->opened;
		plan->opened++;
		plan->first[plan->groups] = plan->opened;
		plan->hardware |= pmc_event_needs_pmu(&p->event);
	}
	return pmc_plan_seal(plan, arena);
}
