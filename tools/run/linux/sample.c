/* SPDX-License-Identifier: MIT */
/* sample.c - what `pmctl run --sample` records here, tried before the command starts. */
#include "lib/base/advice.h"
#include "lib/count/group.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/try_open.h"
#include "tools/run/run.h"

#include <errno.h>
#include <unistd.h>

struct choice {
	const char *name;
	struct pmc_attr attr;
	int error; /* of opening it: -errno */
	bool many; /* samples per second */
};

static void try_event(struct run *run, const char *name, struct choice *choice)
{
	const struct pmc_config_sample *asked = &run->config.sample;
	struct pmc_parse_error error;
	struct pmc_events events;
	int fd;

	*choice = (struct choice){ .name = name ? name : "", .error = -ENOMEM };
	if (!name || pmc_events_parse(name, NULL, &run->arena, &events, &error) != 0)
		return;
	pmc_perf_sample_attr(&events.list[0], asked, &choice->attr);
	choice->many = pmc_sample_rate(&events.list[0], asked) > PMC_SAMPLE_HZ_CHEAP;
	fd = tool_perf_open(&choice->attr, -1);
	choice->error = fd < 0 ? fd : 0;
	if (fd >= 0)
		close(fd);
}

/* As the agent does. */
static void choose(struct run *run, struct choice *choice)
{
	const struct pmc_config_sample *asked = &run->config.sample;

	const char *name = asked->event_len ?
				   pmc_arena_strndup(&run->arena, asked->event, asked->event_len) :
				   "cycles";

	try_event(run, name, choice);
	if (choice->error && !asked->event_len)
		try_event(run, "task-clock", choice);
}

/* Why the event cannot be opened, and the fix. */
static const char *refusal(const struct choice *choice, char *text, size_t cap)
{
	const struct pmc_tried tried = { .attr = &choice->attr.base };
	struct pmc_here here;

	if (tool_perf_killed())
		return TOOL_KILLED_TEXT;
	pmc_here_read(&here, NULL);
	return pmc_advice_text(choice->error, &tried, &here, text, cap);
}

static void warn_of_none(struct run *run, const char *source, const struct choice *choice)
{
	struct choice clock = { .error = choice->error };
	char text[320];

	if (run->config.sample.event_len)
		try_event(run, "task-clock", &clock);
	tool_warn("nothing is sampled: %s, the event of %s, cannot be opened: %s%s", choice->name,
		  source, refusal(choice, text, sizeof(text)),
		  clock.error ? "" : "; or sample task-clock");
}

void run_check_samples(struct run *run)
{
	const char *source = run->sample_flag ? "--sample" : "PMC_SAMPLE";
	struct choice choice;

	if (!run->config.sample.on)
		return;
	choose(run, &choice);
	if (choice.error)
		warn_of_none(run, source, &choice);
	else if (choice.many)
		tool_warn("%s=%s: with more than %u samples per second the program may take "
			  "twice as long, or longer; sample less often, such as by %s/997",
			  source, run->config.sample.event, PMC_SAMPLE_HZ_CHEAP, choice.name);
}

void run_print_samples(struct run *run)
{
	const struct pmc_config_sample *asked = &run->config.sample;
	struct choice choice;
	char text[320];

	choose(run, &choice);
	if (choice.error)
		tool_line("samples: none: %s cannot be opened: %s", choice.name,
			  refusal(&choice, text, sizeof(text)));
	else if (asked->period)
		tool_line("samples: every %llu %s, in user mode; per thread: descriptors 1",
			  (unsigned long long)asked->period, choice.name);
	else
		tool_line("samples: %llu per second of CPU time by %s, in user mode; per thread: "
			  "descriptors 1",
			  (unsigned long long)asked->frequency, choice.name);
}
