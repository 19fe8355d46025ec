/* SPDX-License-Identifier: MIT */
/*
 * fuzz_events.c - event strings (PMC_EVENTS, -e) with a made-up sysfs and tracefs, the text that
 * descendants get, and the plan.
 */
#include "lib/event/event.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/event_tree.h"

static void clean(void)
{
	tree_remove(NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	FUZZ_CHECK(tree_make(NULL) == 0);
	atexit(clean);
	return 0;
}

static void check_events(const struct pmc_events *events)
{
	FUZZ_CHECK(events->count > 0 && events->count <= PMC_EVENTS_MAX);
	for (unsigned i = 0; i < events->count; i++) {
		const struct pmc_event *event = &events->list[i];

		FUZZ_CHECK(event->name && *event->name && event->unit && event->pmu);
		FUZZ_CHECK(!event->exclude_user || !event->exclude_kernel);
		FUZZ_CHECK(event->scale == event->scale);
		FUZZ_CHECK(event->brace == PMC_NO_BRACE || event->brace >= 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_piece(&data, &size);
	struct pmc_parse_error error = { .error = 0 };
	struct pmc_arena arena = { 0 };
	struct pmc_events events = { 0 };

	if (pmc_events_parse(text, &tree_roots, &arena, &events, &error) == 0) {
		check_events(&events);
	} else {
		FUZZ_CHECK(error.error != 0 && error.text[0]);
		FUZZ_CHECK(error.offset <= strlen(text));
		/* Error messages are one line without control characters. */
		for (const char *c = error.text; *c; c++)
			FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
	}
	pmc_arena_free(&arena);
	free(text);
	return 0;
}
