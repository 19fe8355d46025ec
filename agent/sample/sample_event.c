/* SPDX-License-Identifier: MIT */
/* sample_event.c - which event is sampled, and the start of sampling. */
#include "agent/sample/private.h"
#include "lib/dump/frame.h"

/* Where the handler takes a tenth of the period at most. */
#define AHEAD_PERIOD_NS 500000u
#define EVENTSET_BYTES	1024u

struct sample_event sample_event;
bool sample_reads;

static struct pmc_event event;

static void make_attr(void)
{
	const struct pmc_config_sample *asked = &agent.config.sample;
	const bool clock = pmc_event_is_clock(&event);
	struct pmc_attr *attr = &sample_event.attr;

	/* A signal for an overflow in the kernel would interrupt system calls of the program. */
	pmc_perf_sample_attr(&event, asked, attr);
	attr->base.remove_on_exec = 1;
	attr->base.wakeup_events = 1;
	sample_event.period = attr->base.freq ? 0 : attr->base.sample_period;
	sample_tables.like.frequency = asked->frequency;
	sample_tables.like.period = asked->period;
	/* Clocks count kernel mode, too, in which no samples are taken: a reading would put that
	 * time on the next sample. */
	sample_event.by_reading = !clock;
	/* A clock that goes on spares the kernel stopping and starting a timer at each sample. */
	sample_event.ahead = clock && sample_event.period >= AHEAD_PERIOD_NS ? 2 : 1;
	pmc_perf_size(attr);
}

static int parse(const char *name, char why[256])
{
	struct pmc_parse_error error = { .error = 0 };
	struct pmc_events events;

	why[0] = '\0';
	if (pmc_events_parse(name, NULL, &agent.arena, &events, &error) != 0) {
		memcpy(why, error.text, sizeof(error.text));
		return -EINVAL;
	}
	event = events.list[0];
	event.pinned = false;
	make_attr();
	return 0;
}

/* 0 or -errno. */
static int try_open(void)
{
	int fd, error;
	uint64_t id;

	if (!agent_permitted(AGENT_PERF))
		return -EPERM;
	error = pmc_perf_group_open(&sample_event.attr, 1, &PMC_PERF_SELF, &fd, &id);
	if (error == -EINVAL && sample_event.attr.base.remove_on_exec) {
		sample_event.attr.base.remove_on_exec = 0; /* Linux before 5.13 */
		error = pmc_perf_group_open(&sample_event.attr, 1, &PMC_PERF_SELF, &fd, &id);
	}
	if (!error)
		pmc_perf_group_close(&fd, 1);
	return error;
}

bool agent_sample_wanted(void)
{
	return agent.config.sample.on || agent.config.stacks;
}

int agent_sample_configure(char why[256])
{
	const struct pmc_config_sample *asked = &agent.config.sample;
	char *name;
	int error;

	if (!asked->on)
		return 0;
	name = asked->event_len ? pmc_arena_strndup(&agent.arena, asked->event, asked->event_len) :
				  pmc_arena_strdup(&agent.arena, "cycles");
	if (!name)
		return 0;
	error = parse(name, why);
	if (error)
		return asked->event_len ? error : 0;
	if (pmc_sample_refusal(&event, asked, why))
		return -EINVAL;
	error = try_open();
	if (error && !asked->event_len && parse("task-clock", why) == 0)
		error = try_open();
	sample_event.on = !error;
	if (error)
		agent_note(NOTE_SAMPLE_EVENT);
	return 0;
}

/* Its EVENTSET frame, for all dumps. */
static void make_eventset(void)
{
	void *room = pmc_arena_alloc(&agent.arena, EVENTSET_BYTES);
	const bool unfiltered = pmc_event_filter(&event) == PMC_UNFILTERED;
	const struct pmc_event_def def = {
		.type = event.type,
		.scope = unfiltered ? PMC_SCOPE_ALL : PMC_SCOPE_USER,
		.config = event.config,
		.config1 = event.config1,
		.config2 = event.config2,
		.config3 = event.config3,
		.scale = 1,
		.flags = unfiltered ? PMC_EVENT_UNFILTERED : 0,
	};
	struct pmc_frame_buf buf;

	if (!sample_event.on || !room)
		return;
	pmc_frame_buf_init(&buf, room, EVENTSET_BYTES);
	pmc_begin_eventset(&buf, 1, 1);
	pmc_put_event(&buf, &def, event.name, event.unit, event.core_type);
	sample_tables.like.eventset = pmc_frame_end(&buf);
	sample_tables.eventset_frame = (uint64_t)(uintptr_t)room;
	sample_tables.eventset_bytes = buf.len;
}

void agent_sample_start(int signo)
{
	if (!agent_sample_wanted() || sample_area_init(agent_registry.capacity) != 0)
		return;
	if (agent.config.unwind == PMC_UNWIND_DWARF && !sample_dwarf_init())
		agent_note(NOTE_SAMPLE_FP);
	if (sample_event.on && !signo)
		agent_note(NOTE_SAMPLE_STOPPED);
	/* Found out here, so that handlers need not. */
	sample_reads = agent_permitted(AGENT_READ);
	make_eventset();
	sample_tables.creation = agent.config.stacks;
	sample_threads_start(signo);
	pmc_agent_control.samples = (uint64_t)(uintptr_t)&sample_tables;
}
