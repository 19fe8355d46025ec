/* SPDX-License-Identifier: MIT */
/*
 * plan_codec.c - a plan as an EVENTSET frame, and as the text that PMC_JOB carries.
 *
 * Text: events separated by ';', the fields of each by ','. First the name, unit, core type and
 * CPUs, with everything but letters, digits and "_-/." as %XX; then NUMBERS in hex.
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

			pmc_group_attr(&event->event, event->scope, leader, &plan->attrs[i]);
			plan->attrs[i].base.exclusive =
				leader && event->flags & PMC_EVENT_EXCLUSIVE;
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

static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && c < 128 && strchr("_-/.", c));
}

static void put_text(struct pmc_out *out, const char *text)
{
	for (; text && *text; text++)
		if (is_plain((unsigned char)*text))
			pmc_out_char(out, *text);
		else
			pmc_outf(out, "%%%02x", (unsigned char)*text);
}

/* The numbers of an event in the order of the text; a double is written as its bits. */
#define NUMBERS(NUMBER, DOUBLE)                                                                    \
	NUMBER(event.type)                                                                         \
	NUMBER(event.config)                                                                       \
	NUMBER(event.config1)                                                                      \
	NUMBER(event.config2)                                                                      \
	NUMBER(event.config3)                                                                      \
	DOUBLE(event.scale)                                                                        \
	NUMBER(event.position)                                                                     \
	NUMBER(event.exclude_user)                                                                 \
	NUMBER(event.exclude_kernel)                                                               \
	NUMBER(event.brace)                                                                        \
	NUMBER(group)                                                                              \
	NUMBER(scope)                                                                              \
	NUMBER(state)                                                                              \
	NUMBER(flags)                                                                              \
	NUMBER(error)                                                                              \
	NUMBER(event.pinned)

static void put_number(struct pmc_out *out, uint64_t value)
{
	pmc_out_char(out, ',');
	pmc_out_hex(out, value);
}

void pmc_plan_encode(const struct pmc_plan *plan, struct pmc_out *out)
{
	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_planned *p = &plan->events[i];
		uint64_t bits;

		if (i)
			pmc_out_char(out, ';');
		put_text(out, p->event.name);
		pmc_out_char(out, ',');
		put_text(out, p->event.unit);
		pmc_out_char(out, ',');
		put_text(out, p->event.core_type);
		pmc_out_char(out, ',');
		put_text(out, p->event.cpus);
#define NUMBER(field) put_number(out, (uint64_t)p->field);
#define DOUBLE(field)                                                                              \
	memcpy(&bits, &p->field, sizeof(bits));                                                    \
	put_number(out, bits);
		NUMBERS(NUMBER, DOUBLE)
#undef NUMBER
#undef DOUBLE
	}
}

struct text {
	const char *at, *end;
};

/* The text up to the next ',', unescaped. NULL: damaged, or no memory. */
static const char *get_text(struct text *t, struct pmc_arena *arena)
{
	size_t n = 0;
	const char *comma = memchr(t->at, ',', (size_t)(t->end - t->at));
	uint64_t byte;
	char *to;

	if (!comma)
		return NULL;
	to = pmc_arena_alloc(arena, (size_t)(comma - t->at) + 1);
	if (!to)
		return NULL;
	for (const char *p = t->at; p < comma;) {
		const char *hex = p + 1;

		if (is_plain((unsigned char)*p)) {
			to[n++] = *p++;
			continue;
		}
		if (*p != '%' || comma - p < 3 || !pmc_number_take(&hex, p + 3, 16, &byte) ||
		    hex != p + 3)
			return NULL;
		to[n++] = (char)byte;
		p = hex;
	}
	t->at = comma + 1;
	return to;
}

static bool get_number(struct text *t, uint64_t *value)
{
	return pmc_number_take(&t->at, t->end, 16, value);
}

static bool get_event(struct text *t, struct pmc_arena *arena, struct pmc_planned *p)
{
	uint64_t value;

	p->event.pmu = "";
	p->event.name = get_text(t, arena);
	p->event.unit = p->event.name ? get_text(t, arena) : NULL;
	p->event.core_type = p->event.unit ? get_text(t, arena) : NULL;
	p->event.cpus = p->event.core_type ? get_text(t, arena) : NULL;
	if (!p->event.cpus)
		return false;
	t->at--; /* each number has its ',' before it */
#define NEXT (t->at < t->end && *t->at++ == ',' && get_number(t, &value))
#define NUMBER(field)                                                                              \
	if (!NEXT)                                                                                 \
		return false;                                                                      \
	p->field = (__typeof__(p->field))value;
#define DOUBLE(field)                                                                              \
	if (!NEXT)                                                                                 \
		return false;                                                                      \
	memcpy(&p->field, &value, sizeof(value));
	NUMBERS(NUMBER, DOUBLE)
	return true;
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

int pmc_plan_decode(const char *text, size_t len, struct pmc_arena *arena, struct pmc_plan *plan)
{
	struct text t = { text, text + len };

	memset(plan, 0, sizeof(*plan));
	if (len == 0)
		return 0;
	plan->events = pmc_arena_alloc(arena, sizeof(*plan->events) * PMC_EVENTS_MAX);
	if (!plan->events)
		return -ENOMEM;
	for (;; t.at++) {
		struct pmc_planned *p = &plan->events[plan->count];

		if (plan->count == PMC_EVENTS_MAX || !get_event(&t, arena, p))
			return -EINVAL;
		if (!take_group(plan, p))
			return -EINVAL;
		plan->count++;
		if (t.at == t.end)
			break;
		if (*t.at != ';')
			return -EINVAL;
	}
	return pmc_plan_seal(plan, arena);
}
