/* SPDX-License-Identifier: MIT */
/*
 * fuzz_db.c - a file of counter masks (pmctl list --fit EVENTS --pmu-db FILE) and a list of events
 * to look up: the input's first piece is the list, the rest the file.
 */
#include "tests/fuzz/fuzz.h"
#include "tools/list/list.h"

static void check_fit(const struct list_fit *fit)
{
	FUZZ_CHECK(fit->n > 0 && fit->n <= PMC_EVENTS_MAX);
	for (unsigned i = 0; i < fit->n; i++) {
		const struct list_fit_event *event = &fit->events[i];

		FUZZ_CHECK(event->name);
		FUZZ_CHECK(event->reason || (event->counter >= 0 && event->counter < 64));
		FUZZ_CHECK(event->reason || event->pass < fit->passes);
		/* No two events may have the same counter. */
		for (unsigned k = 0; !event->reason && k < i; k++)
			FUZZ_CHECK(fit->events[k].reason || fit->events[k].pass != event->pass ||
				   fit->events[k].counter != event->counter);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *events = fuzz_piece(&data, &size), path[64];
	int fd = fuzz_file(data, size);
	struct list_fit fit = { .n = 0 };
	struct list_table table = { .n = 0 };
	struct pmc_arena arena = { 0 };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (list_table_read(&table, path, &arena) == 0)
		FUZZ_CHECK(table.n > 0);
	for (unsigned i = 0; i < table.n; i++)
		FUZZ_CHECK(*table.rows[i].name);
	pmc_arena_free(&arena);
	if (list_fit_db(&fit, events, path) == 0)
		check_fit(&fit);
	list_free(&fit.list);
	close(fd);
	free(events);
	return 0;
}
