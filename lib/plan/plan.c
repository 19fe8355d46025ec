/* SPDX-License-Identifier: MIT */
/*
 * plan.c - makes plans: which of the user's events open, and in which groups; and a plan as an
 * EVENTSET frame, which PMC_JOB carries in hex.
 */
#include "lib/plan/plan.h"
#include "lib/base/number.h"
#include "lib/count/user_read.h"
#include "lib/dump/words.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

enum pmc_state pmc_plan_refusal(int error)
{
	static const uint8_t passing[] = { EMFILE, ENFILE, ENOMEM, EBUSY, EINTR };

	if (error == EACCES || error == EPERM)
		return PMC_NOT_PERMITTED;
	return error <= UINT8_MAX && memchr(passing, error, sizeof(passing)) ? PMC_NOT_COUNTED :
									       PMC_NOT_SUPPORTED;
}

static enum pmc_scope scope_of(const struct pmc_event *event)
{
	if (pmc_event_filter(event) == PMC_UNFILTERED)
		return PMC_SCOPE_ALL;
	if (event->exclude_kernel && !event->exclude_user)
		return PMC_SCOPE_USER;
	if (event->exclude_user && !event->exclude_kernel)
		return PMC_SCOPE_KERNEL;
	return PMC_SCOPE_ALL;
}

static int open_alone(pmc_perf_opener open, const struct pmc_event *event, enum pmc_scope scope)
{
	struct pmc_attr attr;

	pmc_perf_group_attr(event, scope, true, &attr);
	attr.base.pinned = 0;
	return open(&attr, -1);
}

static bool is_denied(int error)
{
	return error == -EACCES || error == -EPERM;
}

/* Restricts the event to user mode, as perf_event_paranoid 2 permits; denied: the errno so far. */
static int fall_back(pmc_perf_opener open, struct pmc_planned *planned, int denied)
{
	int user = open_alone(open, &planned->event, PMC_SCOPE_USER);

	if (user >= 0) {
		planned->scope = PMC_SCOPE_USER;
		planned->flags |= PMC_EVENT_FELL_BACK;
		return user;
	}
	/* Some PMUs cannot exclude a mode: PERF_PMU_CAP_NO_EXCLUDE in kernel/events/core.c. */
	if (is_denied(user) || (user == -EINVAL && planned->event.type >= PERF_TYPE_MAX))
		return denied;
	/* The kernel checks permission before it looks for the event. */
	return user;
}

int pmc_plan_try(pmc_perf_opener open, struct pmc_planned *planned)
{
	const struct pmc_event *event = &planned->event;
	const enum pmc_filter filter = pmc_event_filter(event);
	int fd;

	planned->scope = (uint8_t)scope_of(event);
	if (filter == PMC_UNFILTERED)
		planned->flags |= PMC_EVENT_UNFILTERED;
	if (filter == PMC_KERNEL_ONLY && planned->scope == PMC_SCOPE_USER) {
		planned->state = PMC_NOT_SUPPORTED;
		planned->error = PMC_REASON_KERNEL_ONLY;
		return -ENOENT;
	}
	fd = open_alone(open, event, planned->scope);
	if (is_denied(fd) && !event->asked_scope && planned->scope == PMC_SCOPE_ALL &&
	    filter == PMC_FILTERED)
		fd = fall_back(open, planned, fd);
	if (fd < 0) {
		planned->state = (uint8_t)pmc_plan_refusal(-fd);
		planned->error = -fd;
	}
	return fd;
}

struct pmc_tried pmc_plan_tried(const struct pmc_planned *planned, struct pmc_attr *attr)
{
	const struct pmc_event *event = &planned->event;

	pmc_perf_group_attr(event, planned->scope, true, attr);
	/* Without :k a PMU of its own was tried in user mode too. */
	return (struct pmc_tried){
		.attr = &attr->base,
		.placed = pmc_event_is_uncore(event),
		.pid = -1,
		.kernel_only = pmc_event_filter(event) == PMC_KERNEL_ONLY ||
			       (event->type >= PERF_TYPE_MAX && !event->asked_scope),
	};
}

void pmc_plan_why(const struct pmc_planned *planned, int error, char *text, size_t cap)
{
	struct pmc_attr attr;
	const struct pmc_tried tried = pmc_plan_tried(planned, &attr);
	struct pmc_here here;
	struct pmc_out out = pmc_out_mem(text, cap);

	if (error <= 0 || error >= PMC_REASON_ADOPTED) {
		pmc_out_str(&out, pmc_reason_text((uint32_t)error));
		return;
	}
	pmc_here_read(&here, NULL);
	pmc_advice_text(error, &tried, &here, text, cap);
}

/* Some events open only behind a leader of theirs, as topdown's do behind slots: tries event i
 * behind the first one that could be its leader. */
static int try_behind(pmc_perf_opener open, struct pmc_planned *tried, unsigned i, const int *alone)
{
	struct pmc_planned *planned = &tried[i];
	struct pmc_attr attr;
	unsigned k = 0;
	int fd;

	while (k < i && (alone[k] < 0 || tried[k].event.brace != planned->event.brace ||
			 !pmc_event_is_of_core(&tried[k].event, planned->event.core_type)))
		k++;
	if (k == i)
		return -EINVAL;
	pmc_perf_group_attr(&planned->event, planned->scope, false, &attr);
	fd = open(&attr, alone[k]);
	if (fd >= 0) {
		planned->state = PMC_COUNTED;
		planned->error = 0;
	}
	return fd;
}

static bool is_of_any_core(const struct pmc_event *event)
{
	return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ||
	       event->type == PERF_TYPE_RAW;
}

/* Tries and packs the events; returns the number of groups. */
static unsigned try_events(pmc_perf_opener open, struct pmc_planned *tried, unsigned count,
			   bool no_cores)
{
	int alone[PMC_EVENTS_MAX];
	bool lacking = false;
	unsigned groups;

	for (unsigned i = 0; i < count; i++) {
		const struct pmc_event *event = &tried[i].event;

		alone[i] = -1;
		if (event->accounted)
			continue;
		/* Without a PMU of a core one try tells for all its events. */
		if (lacking && is_of_any_core(event)) {
			tried[i].scope = (uint8_t)scope_of(event);
			tried[i].state = PMC_NOT_SUPPORTED;
			tried[i].error = ENOENT;
			continue;
		}
		if (!pmc_event_is_uncore(event) && !pmc_event_is_of_os(event)) {
			alone[i] = pmc_plan_try(open, &tried[i]);
			lacking |= no_cores && is_of_any_core(event) && alone[i] == -ENOENT;
			if (alone[i] == -EINVAL)
				alone[i] = try_behind(open, tried, i, alone);
			continue;
		}
		tried[i].state = PMC_NOT_COUNTED;
		tried[i].error = pmc_event_is_of_os(event) ? PMC_REASON_OS : PMC_REASON_UNCORE;
	}
	groups = pmc_plan_pack(open, tried, count);
	/* Disabled, so they took no counter meanwhile; but a software event is expensive to open
	 * while no other of its kind is. */
	for (unsigned i = 0; i < count; i++)
		if (alone[i] >= 0)
			pmc_perf_group_close(&alone[i], 1);
	return groups;
}

/* A group is pinned by its leader, whichever of its events the user pinned. */
static void pin_leaders(struct pmc_plan *plan)
{
	for (unsigned g = 0; g < plan->groups; g++)
		for (unsigned i = plan->first[g]; i < plan->first[g + 1]; i++)
			plan->events[plan->first[g]].event.pinned |= plan->events[i].event.pinned;
}

/* The events of an account are a group. */
static void add_accounted(struct pmc_plan *plan, const struct pmc_planned *tried, unsigned count,
			  enum pmc_account account)
{
	const unsigned before = plan->count;

	for (unsigned i = 0; i < count; i++) {
		const struct pmc_event *event = &tried[i].event;

		if (!event->accounted || pmc_event_account(event->type, event->config) != account)
			continue;
		plan->events[plan->count] = tried[i];
		plan->events[plan->count].group = (uint16_t)plan->readings;
		plan->events[plan->count++].flags |= PMC_EVENT_ACCOUNTED;
	}
	if (plan->count > before)
		plan->first[++plan->readings] = plan->count;
}

void pmc_plan_order(struct pmc_plan *plan, const struct pmc_planned *tried, unsigned count)
{
	for (unsigned g = 0; g < plan->groups; g++) {
		plan->first[g] = plan->count;
		for (unsigned i = 0; i < count; i++) {
			if (tried[i].group != g)
				continue;
			plan->events[plan->count++] = tried[i];
			plan->hardware |= pmc_event_needs_pmu(&tried[i].event);
		}
	}
	plan->first[plan->groups] = plan->opened = plan->count;
	plan->readings = plan->groups;
	for (enum pmc_account account = PMC_ACCOUNT_CLOCK; account < PMC_ACCOUNTS; account++)
		add_accounted(plan, tried, count, account);
	for (unsigned i = 0; i < count; i++)
		if (tried[i].group == PMC_NO_GROUP && !tried[i].event.accounted)
			plan->events[plan->count++] = tried[i];
}

int pmc_plan_make(const struct pmc_events *events, pmc_perf_opener open, struct pmc_arena *arena,
		  struct pmc_plan *plan)
{
	struct pmc_planned *tried;

	memset(plan, 0, sizeof(*plan));
	if (events->count > PMC_EVENTS_MAX)
		return -E2BIG;
	tried = pmc_arena_alloc(arena, sizeof(*tried) * (events->count + 1));
	plan->events = pmc_arena_alloc(arena, sizeof(*tried) * (events->count + 1));
	if (!tried || !plan->events)
		return -ENOMEM;
	for (unsigned i = 0; i < events->count; i++)
		tried[i].event = events->list[i];
	plan->groups = try_events(open, tried, events->count, events->no_cores);
	pmc_plan_order(plan, tried, events->count);
	pin_leaders(plan);
	return pmc_plan_seal(plan, arena);
}

static bool type_fits_twice(const struct pmc_plan *plan, pmc_perf_opener open,
			    const char *core_type)
{
	const struct pmc_event *events[2 * PMC_EVENTS_MAX];
	enum pmc_scope scopes[2 * PMC_EVENTS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < 2 * plan->opened; i++) {
		const struct pmc_planned *event = &plan->events[i % plan->opened];

		if (!pmc_event_is_of_core(&event->event, core_type))
			continue;
		events[n] = &event->event;
		scopes[n++] = event->scope;
	}
	return pmc_probe_together(open, events, scopes, n) > 0;
}

bool pmc_plan_fits_twice(const struct pmc_plan *plan, pmc_perf_opener open)
{
	if (plan->opened && plan->events[0].flags & PMC_EVENT_EXCLUSIVE)
		return false;
	for (unsigned i = 0; i < plan->opened; i++) {
		const char *core_type = plan->events[i].event.core_type;

		if (i && pmc_event_is_of_core(&plan->events[i - 1].event, core_type))
			continue;
		if (!type_fits_twice(plan, open, core_type))
			return false;
	}
	return true;
}

int pmc_plan_clock(struct pmc_arena *arena, struct pmc_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->events = pmc_arena_alloc(arena, sizeof(*plan->events));
	if (!plan->events)
		return -ENOMEM;
	plan->events[0].event = (struct pmc_event){
		.name = "task-clock",
		.unit = "ns",
		.pmu = "",
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.scale = 1.0,
		.brace = PMC_NO_BRACE,
	};
	plan->count = plan->opened = plan->groups = plan->readings = plan->first[1] = 1;
	return pmc_plan_seal(plan, arena);
}

int pmc_plan_user(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *user)
{
	unsigned changed = 0;

	*user = *plan;
	user->events = pmc_arena_alloc(arena, sizeof(*user->events) * (plan->count + 1));
	if (!user->events)
		return -ENOMEM;
	for (unsigned i = 0; i < plan->count; i++) {
		struct pmc_planned *p = &user->events[i];

		*p = plan->events[i];
		if (p->group == PMC_NO_GROUP || p->event.accounted || p->scope != PMC_SCOPE_ALL ||
		    p->event.asked_scope || pmc_event_filter(&p->event) == PMC_UNFILTERED)
			continue;
		p->scope = PMC_SCOPE_USER;
		p->flags |= PMC_EVENT_FELL_BACK;
		changed++;
		if (pmc_event_filter(&p->event) != PMC_KERNEL_ONLY)
			continue;
		/* The event keeps its place in the group, where it reads 0. */
		p->state = PMC_NOT_PERMITTED;
		p->error = EACCES;
	}
	if (!changed)
		user->count = user->opened = user->groups = user->readings = 0;
	return pmc_plan_seal(user, arena);
}

/* ---- events of PMUs that know no threads ---------------------------------------------------- */

#define CPU_MAX 1000000u

/* Adds the event on each of its CPUs. 0, -ENOMEM or -E2BIG. */
static int add_cpus(struct pmc_plan *uncore, const struct pmc_planned *event,
		    struct pmc_arena *arena, int *cpus)
{
	const char *at = event->event.cpus;
	uint64_t cpu, last;

	while (pmc_range_take(&at, &cpu, &last) && last <= CPU_MAX) {
		for (; cpu <= last; cpu++) {
			struct pmc_planned *one = &uncore->events[uncore->count];

			if (uncore->count == PMC_EVENTS_MAX)
				return -E2BIG;
			*one = *event;
			one->event.core_type = pmc_arena_format(arena, "%d", (int)cpu);
			if (!one->event.core_type)
				return -ENOMEM;
			one->flags |= PMC_EVENT_UNCORE;
			one->group = PMC_NO_GROUP;
			one->scope = PMC_SCOPE_ALL;
			one->state = PMC_COUNTED;
			one->error = 0;
			cpus[uncore->count++] = (int)cpu;
		}
	}
	return 0;
}

int pmc_plan_uncore(const struct pmc_plan *plan, struct pmc_arena *arena, struct pmc_plan *uncore,
		    int cpus[PMC_EVENTS_MAX])
{
	memset(uncore, 0, sizeof(*uncore));
	for (unsigned i = 0; i < plan->count; i++) {
		unsigned before = uncore->count;
		int error;

		if (!pmc_event_is_uncore(&plan->events[i].event))
			continue;
		if (!uncore->events)
			uncore->events =
				pmc_arena_alloc(arena, sizeof(*uncore->events) * PMC_EVENTS_MAX);
		if (!uncore->events)
			return -ENOMEM;
		error = add_cpus(uncore, &plan->events[i], arena, cpus);
		if (error == -ENOMEM)
			return error;
		/* A sum over some of its CPUs would be too small. */
		for (unsigned k = before; k < uncore->count && error; k++) {
			uncore->events[k].state = PMC_NOT_COUNTED;
			uncore->events[k].error = PMC_REASON_UNCORE_FULL;
		}
	}
	return 0;
}

/* ---- a plan as a frame ---------------------------------------------------------------------- */

struct pmc_event_def pmc_plan_def(const struct pmc_planned *p)
{
	return (struct pmc_event_def){
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
}

uint64_t pmc_plan_frame(const struct pmc_plan *plan, struct pmc_frame_buf *buf)
{
	pmc_begin_eventset(buf, plan->count, plan->readings);
	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_planned *p = &plan->events[i];
		const struct pmc_event_def def = pmc_plan_def(p);

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

/* With its length and the bytes up to a multiple of 8. */
static size_t text_bytes(const char *text)
{
	return 16 + (text ? strlen(text) : 0);
}

/* What the frame of the plan takes at most. */
static size_t frame_bytes(const struct pmc_plan *plan)
{
	size_t bytes = 128; /* head and fixed part */

	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_event *event = &plan->events[i].event;

		bytes += sizeof(struct pmc_event_def) + text_bytes(event->name) +
			 text_bytes(event->unit) + text_bytes(event->core_type);
	}
	return bytes < PMC_FRAME_MAX_BYTES ? bytes : PMC_FRAME_MAX_BYTES;
}

int pmc_plan_seal(struct pmc_plan *plan, struct pmc_arena *arena)
{
	struct pmc_frame_buf buf;
	size_t bytes;
	void *room;

	plan->hash = 0;
	plan->frame = NULL;
	plan->frame_bytes = 0;
	plan->traces = false;
	plan->os = 0;
	for (unsigned i = 0; i < plan->count; i++) {
		const struct pmc_event *event = &plan->events[i].event;

		plan->traces |= i < plan->opened && event->type == PERF_TYPE_TRACEPOINT;
		if (event->type == PMC_TYPE_OS)
			plan->os |= 1u << (event->config & 31);
	}
	/* Tracepoints would count the agent's calls. A group that is disabled as a whole is cheaper
	 * to close, and to read where access to the PMU traps. */
	plan->stops = plan->traces || (plan->hardware && plan->opened > plan->groups);
	if (plan->count == 0)
		return 0;
	if (make_attrs(plan, arena) != 0)
		return -ENOMEM;
	bytes = frame_bytes(plan);
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
		pmc_out_packed(out, plan->frame, plan->frame_bytes);
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
	struct pmc_event_def def;

	pmc_cursor_bytes(cursor, &def, sizeof(def));
	cursor->bad |= def.position >= PMC_EVENTS_MAX;
	*p = (struct pmc_planned){
		.event = {
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
			.accounted = def.flags & PMC_EVENT_ACCOUNTED,
		},
		.group = def.group,
		.scope = def.scope,
		.state = def.state,
		.flags = def.flags,
		.error = (int)def.error,
	};
	p->event.name = take_text(cursor, arena);
	p->event.unit = take_text(cursor, arena);
	p->event.core_type = take_text(cursor, arena);
}

/* Events with a group come first, group by group, and those that are opened before the others. */
static bool take_group(struct pmc_plan *plan, const struct pmc_planned *p)
{
	if (p->group == PMC_NO_GROUP)
		return !p->event.accounted;
	if (plan->first[plan->readings] != plan->count || p->group + 1u < plan->readings ||
	    p->group > plan->readings)
		return false;
	if (p->event.accounted ? p->group < plan->groups : plan->readings > plan->groups)
		return false;
	if (p->group == plan->readings)
		plan->first[++plan->readings] = plan->count;
	plan->first[plan->readings] = plan->count + 1;
	if (p->event.accounted)
		return plan->readings < plan->groups + PMC_ACCOUNTS &&
		       plan->count < plan->opened + PMC_ACCOUNTED_MOST;
	plan->groups = plan->readings;
	plan->opened = plan->count + 1;
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
	if (!pmc_scan_next(&scan, &frame) || frame.head.size != scan.len ||
	    frame.head.type != PMC_FRAME_EVENTSET)
		return -EINVAL;
	pmc_frame_fixed(&frame, &fixed, sizeof(fixed));
	pmc_cursor_init(&cursor, &frame);
	if (fixed.n_events == 0 || fixed.n_events > PMC_EVENTS_MAX)
		return -EINVAL;
	plan->events = pmc_arena_alloc(arena, sizeof(*plan->events) * (fixed.n_events + 1));
	if (!plan->events)
		return -ENOMEM;
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
	enum { FRAME_MOST = 32 << 10 };
	uint8_t *bytes = pmc_arena_alloc(arena, FRAME_MOST);
	ssize_t n;

	memset(plan, 0, sizeof(*plan));
	if (!bytes)
		return -ENOMEM;
	n = pmc_number_unpack(text, len, bytes, FRAME_MOST);
	if (n < 0)
		return -EINVAL;
	pmc_arena_shrink(arena, bytes, (size_t)n);
	return pmc_plan_from_frame(bytes, (size_t)n, arena, plan);
}
