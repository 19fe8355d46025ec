/* SPDX-License-Identifier: MIT */
/* planner.c - the planner's tests as a program: planner TABLE prints TAP and the numbers. */
#include "tests/planner/planner.h"
#include "tools/list/list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned n_results, n_failed;

bool result(bool pass, const char *format, ...)
{
	va_list args;

	printf("%sok %u - ", pass ? "" : "not ", ++n_results);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	puts("");
	n_failed += !pass;
	return pass;
}

uint64_t choose(unsigned n, unsigned k)
{
	uint64_t ways = 1;

	if (k > n)
		return 0;
	for (unsigned i = 1; i <= k; i++)
		ways = ways * (n - k + i) / i;
	return ways;
}

void table_classes(struct table *table)
{
	table->classes = 0;
	for (unsigned i = 0; i < table->n; i++) {
		struct table_event *event = &table->events[i];

		for (event->class = 0; event->class < table->classes; event->class ++)
			if (table->masks[event->class] == event->mask)
				break;
		if (event->class == table->classes)
			table->masks[table->classes++] = event->mask;
	}
}

static bool read_table(struct list_table *masks, const char *path, struct pmc_arena *arena,
		       struct table *table)
{
	if (list_table_read(masks, path, arena) || masks->n > PMC_FIT_MAX)
		return false;
	for (table->n = 0; table->n < masks->n; table->n++)
		table->events[table->n] = (struct table_event){
			.name = masks->rows[table->n].name,
			.mask = masks->rows[table->n].mask,
		};
	table_classes(table);
	return true;
}

int main(int argc, char **argv)
{
	struct table table = { .n = 0 };
	struct list_table masks = { .n = 0 };
	struct pmc_arena arena = { 0 };
	clock_t from = clock();

	if (argc != 2 || !read_table(&masks, argv[1], &arena, &table)) {
		puts("Bail out!  usage: planner TABLE, of 64 events at most");
		return 2;
	}
	result(table.n == 60 && table.classes == 5, "the table has 60 events, 5 different masks");
	check_first_fit(&table);
	check_placeable(&table);
	check_split(&table);
	check_known();
	check_small();
	check_random();
	pmc_arena_free(&arena);
	printf("# %.1f s of CPU time\n", (double)(clock() - from) / CLOCKS_PER_SEC);
	printf("1..%u\n", n_results);
	return n_failed != 0;
}
