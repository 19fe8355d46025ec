/* SPDX-License-Identifier: MIT */
/* test_table.c - the printer of rows: formats, units, what is hidden, columns by name, order. */
#include "tests/unit/unit.h"
#include "tools/table/table.h"

#include <errno.h>
#include <stdlib.h>

struct person {
	const char *name;
	uint64_t ns, count;
	double ratio;
	bool known, partial;
};

static const struct person people[] = {
	{ "alpha|1", 1500000000, 1234567, 2.5, true, false },
	{ "beta", 400, 0, 0.001, true, true },
	{ "=gamma", 0, 7, 0, false, false },
};

enum { NAME, NS, COUNT, RATIO, BAR };

static const struct table_column columns[] = {
	{ .name = "name", .head = "who", .unit = TABLE_TEXT, .index = NAME },
	{ .name = "cpu_ns", .head = "cpu", .unit = TABLE_NS, .index = NS },
	{ .name = "", .unit = TABLE_BAR, .drop = TABLE_DROP_BAR, .index = BAR },
	{ .name = "count",
	  .suffix = ".sum",
	  .unit = TABLE_COUNT,
	  .drop = TABLE_DROP_EVENT,
	  .scale_unit = "J",
	  .index = COUNT },
	{ .name = "ratio",
	  .unit = TABLE_RATIO,
	  .decimals = 2,
	  .drop = TABLE_DROP_METRIC,
	  .index = RATIO },
};
#define N (sizeof(columns) / sizeof(columns[0]))

static const struct person *current;

static void row(void *arg, uint64_t i)
{
	current = &people[i];
}

static const struct person *odd_people;

static void odd_row(void *arg, uint64_t i)
{
	current = &odd_people[i];
}

static struct table_cell cell(void *arg, const struct table_column *column)
{
	struct table_cell count;

	switch (column->index) {
	case NAME:
		return cell_text(current->name);
	case NS:
		return cell_number(current->known, current->ns);
	case COUNT:
		count = cell_number(true, current->count);
		count.partial = current->partial;
		return count;
	case BAR:
		return cell_real(current->ns ? 50 : 0, TABLE_DECIMALS);
	default:
		return current->known ? cell_real(current->ratio, TABLE_DECIMALS) : cell_null();
	}
}

static struct pmc_arena arena;
static char text[4096];

static struct table make(int width)
{
	struct table table = {
		.columns = columns,
		.n_columns = N,
		.n_rows = sizeof(people) / sizeof(people[0]),
		.row = row,
		.cell = cell,
		.screen = { .width = width },
		.arena = &arena,
		.indent = 2,
	};

	table_layout(&table);
	return table;
}

static const char *print(const struct table *table, enum table_format format)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	table_print(table, format, &out);
	return text;
}

static void small_values_are_not_zero(void **state)
{
	const struct table table = make(100);

	assert_string_equal(print(&table, TABLE_PLAIN),
			    "  who       cpu s          count MJ   ratio\n"
			    "  alpha|1   1.500  ██████     1.235    2.50\n"
			    "  beta     <0.001  ██████     0.000+  <0.01\n"
			    "  =gamma        -            <0.001       -\n");
	assert_true(table.has_partial);
	assert_false(table.has_estimate);
	assert_string_equal(table.hidden, "");
}

/* With its sign, if the size alone does not tell the direction. */
static void small_differences(void **state)
{
	static const struct pmc_scale scale = { 1e9, 3, "s" };
	static const struct table_column differences[] = {
		{ .name = "a", .unit = TABLE_COUNT, .index = 0 },
		{ .name = "b", .unit = TABLE_COUNT, .index = 1 },
		{ .name = "c", .unit = TABLE_COUNT, .index = 2 },
		{ .name = "d", .unit = TABLE_COUNT, .index = 3 },
	};
	struct table_cell list[] = { cell_real(-1, 3), cell_real(1, 3), cell_real(1, 3),
				     cell_real(-5e8, 3) };
	struct table_cells cells = { list, 4, NULL };
	struct table table = make(100);

	for (unsigned i = 0; i < 4; i++)
		list[i].scale = &scale;
	list[1].plus = true;
	table.columns = differences;
	table.n_columns = 4;
	table.n_rows = 1;
	table_set_cells(&table, &cells);
	table_layout(&table);
	assert_string_equal(print(&table, TABLE_PLAIN), "        a        b       c       d\n"
							"  -<0.001  +<0.001  <0.001  -0.500\n");
}

static void the_narrow_table_says_what_it_lacks(void **state)
{
	struct table table = make(26);

	assert_string_equal(table.hidden, "ratio");
	table = make(20);
	assert_string_equal(table.hidden, "count, ratio");
	assert_null(strstr(print(&table, TABLE_PLAIN), "ratio"));
}

static void formats_for_programs_have_every_column(void **state)
{
	const struct table table = make(20);

	assert_string_equal(print(&table, TABLE_CSV), "name,cpu_ns,count.sum,ratio\n"
						      "alpha|1,1500000000,1234567,2.500000\n"
						      "beta,400,0,0.001000\n"
						      "'=gamma,,7,\n");
	assert_string_equal(
		print(&table, TABLE_JSONL),
		"{\"name\":\"alpha|1\",\"cpu_ns\":1500000000,\"count.sum\":1234567,"
		"\"ratio\":2.500000}\n"
		"{\"name\":\"beta\",\"cpu_ns\":400,\"count.sum\":0,\"ratio\":0.001000}\n"
		"{\"name\":\"=gamma\",\"cpu_ns\":null,\"count.sum\":7,\"ratio\":null}\n");
	print(&table, TABLE_JSON);
	assert_memory_equal(text, "[\n{", 3);
	assert_non_null(strstr(text, "},\n{"));
	assert_non_null(strstr(text, "}\n]\n"));
}

static void markdown_escapes_bars(void **state)
{
	const struct table table = make(20);

	assert_string_equal(print(&table, TABLE_MARKDOWN),
			    "| who | cpu s | count MJ | ratio |\n"
			    "|:--|--:|--:|--:|\n"
			    "| alpha\\|1 | 1.500 | 1.235 | 2.50 |\n"
			    "| beta | \\<0.001 | 0.000+ | \\<0.01 |\n"
			    "| =gamma | - | \\<0.001 | - |\n");
}

static void markdown_shows_markup_as_text(void **state)
{
	static const char link[] =
		"[a](x:y) ![i](http://x.y/p.png) &lt;b> ~~c~~ www.x.y a@x.y C++ 1.5";
	char buf[256];
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, sizeof(buf));
	table_put_markdown(&out, link, strlen(link));
	assert_string_equal(buf, "\\[a\\](x:y) !\\[i\\](http\\://x.y/p.png) \\&lt;b> "
				 "\\~\\~c\\~\\~ www\\.x.y a\\@x.y C++ 1.5");
}

static void columns_are_found_by_name_and_head(void **state)
{
	static const char *const words[] = { "count", "count.sum", "count MJ", "count J" };
	const char *problem = NULL;

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_ptr_equal(
			table_find(columns, N, words[i], strlen(words[i]), &arena, &problem),
			&columns[3]);
	assert_ptr_equal(table_find(columns, N, "cpu ms", 6, &arena, &problem), &columns[1]);
	assert_null(table_find(columns, N, "rati", 4, &arena, &problem));
	assert_non_null(strstr(problem, "'ratio'"));
	assert_null(table_find(columns, N, "", 0, &arena, &problem));
}

static void chosen_columns_stay(void **state)
{
	struct table table = make(20);
	const char *problem = NULL;
	struct table_column *chosen;
	unsigned n;

	assert_int_equal(table_choose(columns, N, "ratio,who", &arena, &chosen, &n, &problem), 0);
	assert_int_equal(n, 2);
	table.columns = chosen;
	table.n_columns = n;
	table.n_rows = 1;
	table_layout(&table);
	assert_string_equal(print(&table, TABLE_PLAIN), "  ratio  who\n   2.50  alpha|1\n");
	assert_int_equal(table_choose(columns, N, "who,x", &arena, &chosen, &n, &problem), -EINVAL);
}

static const struct table_column of_series[] = {
	{ .name = "who", .unit = TABLE_TEXT, .index = NAME },
	{ .name = "cpu", .unit = TABLE_NS, .least = 6, .index = NS },
	{ .name = "count", .unit = TABLE_COUNT, .least = 8, .index = COUNT },
};

/* The lines of one interval after the other, with a head where it is another one. */
static const char *series(const struct person *list, unsigned n)
{
	struct table tables[2] = { { .n = 0 } };
	struct pmc_out out;

	pmc_out_to_mem(&out, text, sizeof(text));
	for (unsigned i = 0; i < n; i++) {
		struct table *table = &tables[i % 2], *above = &tables[!(i % 2)];

		*table = make(100);
		table->row = odd_row;
		table->columns = of_series;
		table->n_columns = 3;
		table->before = i ? above : NULL;
		odd_people = list + i;
		table->n_rows = 1;
		table_layout(table);
		if (!i || !table_same_heads(above, table))
			table_put_head(table, &out);
		table_put_rows(table, 0, 1, &out);
	}
	return text;
}

static void a_series_has_one_unit(void **state)
{
	static const struct person falls[] = {
		{ "a", 415000000, 5000000, 0, true, false },
		{ "b", 96000000, 400000, 0, true, false },
		{ "c", 0, 0, 0, true, false },
		{ "d", 97380, 20000, 0, true, false },
		{ "e", 1300000000, 6000000, 0, true, false },
		/* In ms and MJ it would be 0, or have more digits than there is room for. */
		{ "f", 300, 5000000, 0, true, false },
		{ "g", 90000000000, 400, 0, true, false },
	};

	assert_string_equal(series(falls, 7), "  who  cpu ms   count M\n"
					      "  a     415.0     5.000\n"
					      "  b      96.0     0.400\n"
					      "  c       0.0     0.000\n"
					      "  d     0.097     0.020\n"
					      "  e     1,300     6.000\n"
					      "  who  cpu ns   count M\n"
					      "  f       300     5.000\n"
					      "  who   cpu s     count\n"
					      "  g     90.00       400\n");
}

/* Whole numbers have up to six digits, also where the first ones were small. */
static void a_series_of_small_numbers(void **state)
{
	static const struct person grows[] = {
		{ "a", 900, 0, 0, true, false },
		{ "b", 12000, 999999, 0, true, false },
		{ "c", 12000, 1000000, 0, true, false },
	};

	assert_string_equal(series(grows, 3), "  who  cpu ns     count\n"
					      "  a       900         0\n"
					      "  b    12,000   999,999\n"
					      "  who  cpu ns   count M\n"
					      "  c    12,000     1.000\n");
}

/* Columns that are compared have one unit, others their own. */
static void compared_columns_have_one_unit(void **state)
{
	static const struct table_column compared[] = {
		{ .name = "sum", .unit = TABLE_NS, .together = 1, .index = NS },
		{ .name = "min",
		  .unit = TABLE_NS,
		  .together = 1,
		  .own_decimals = true,
		  .index = NAME },
		{ .name = "part", .unit = TABLE_NS, .together = 1, .index = NAME },
		{ .name = "mean", .unit = TABLE_NS, .together = 2, .index = COUNT },
		{ .name = "max", .unit = TABLE_NS, .together = 2, .index = RATIO },
		{ .name = "other", .unit = TABLE_NS, .index = BAR },
	};
	struct table_cell list[] = {
		[NAME] = cell_number(true, 12500000), [NS] = cell_number(true, 11500000000u),
		[COUNT] = cell_number(true, 5000000), [RATIO] = cell_number(true, 700000),
		[BAR] = cell_number(true, 1500),
	};
	struct table_cells cells = { list, 5, NULL };
	struct table table = make(100);

	table.columns = compared;
	table.n_columns = 6;
	table.n_rows = 1;
	table_set_cells(&table, &cells);
	table_layout(&table);
	assert_string_equal(print(&table, TABLE_PLAIN),
			    "  sum s  min s  part s  mean ms  max ms  other µs\n"
			    "  11.50  0.013    0.01    5.000   0.700     1.500\n");
}

static void texts_have_the_width_of_what_is_shown(void **state)
{
	static const struct table_column texts[] = {
		{ .name = "a", .unit = TABLE_TEXT, .right = true, .index = NAME },
		{ .name = "b", .unit = TABLE_TEXT, .index = NAME },
		{ .name = "c", .unit = TABLE_COUNT, .index = COUNT },
	};
	static const struct person odd[] = { { "\x1b[1m", 0, 1, 0, true, false },
					     { "", 0, 20, 0, true, false } };
	struct table table = make(100);

	table.columns = texts;
	table.n_columns = 3;
	table.row = odd_row;
	table.n_rows = 2;
	odd_people = odd;
	table_layout(&table);
	assert_string_equal(print(&table, TABLE_PLAIN), "        a  b         c\n"
							"  \\x1b[1m  \\x1b[1m   1\n"
							"                    20\n");
}

static void conditions_select_rows(void **state)
{
	static const char *const texts[] = { "who=*a*", "count=[0-9]*" },
				 *const wrong[] = { "who" }, *const unknown[] = { "whom=x" };
	const struct table table = make(100);
	struct table_condition *list;
	const char *problem = NULL;

	assert_int_equal(table_conditions(columns, N, texts, 2, &arena, &list, &problem), 0);
	assert_true(table_selects(&table, 0, list, 2));
	list[0].glob = "b*";
	assert_false(table_selects(&table, 0, list, 2));
	assert_true(table_selects(&table, 1, list, 2));
	assert_int_equal(table_conditions(columns, N, wrong, 1, &arena, &list, &problem), -EINVAL);
	assert_non_null(strstr(problem, "COLUMN=GLOB"));
	assert_int_equal(table_conditions(columns, N, unknown, 1, &arena, &list, &problem),
			 -EINVAL);
	assert_non_null(strstr(problem, "'who'"));
}

static void null_is_last_in_both_orders(void **state)
{
	const struct table table = make(100);
	uint64_t order[3];

	table_sort(&table, &columns[NS], false, order, 3);
	assert_memory_equal(order, ((uint64_t[]){ 0, 1, 2 }), sizeof(order));
	table_sort(&table, &columns[NS], true, order, 3);
	assert_memory_equal(order, ((uint64_t[]){ 1, 0, 2 }), sizeof(order));
	table_sort(&table, &columns[NAME], false, order, 3);
	assert_memory_equal(order, ((uint64_t[]){ 2, 0, 1 }), sizeof(order));
}

static void numbers_in_texts_are_compared(void **state)
{
	static const char *const sorted[] = {
		"",    "0",	"00",	  "007",   "7",
		"8",   "10",	"11",	  "100",   "99999999999999999999",
		"n",   "n-1:9", "n-1:10", "n-2:0", "n-10",
		"n0a", "n00b",	"n1",	  "n01b",  "n2",
		"nn"
	};
	enum { SIZE = sizeof(sorted) / sizeof(sorted[0]) };
	struct person made[SIZE];
	struct table table = make(100);
	uint64_t order[SIZE];

	for (unsigned i = 0; i < SIZE; i++)
		made[i * 8 % SIZE] = (struct person){ .name = sorted[i] };
	odd_people = made;
	table.row = odd_row;
	table_sort(&table, &columns[NAME], false, order, SIZE);
	for (unsigned i = 0; i < SIZE; i++)
		assert_string_equal(made[order[i]].name, sorted[i]);
	table_sort(&table, &columns[NAME], true, order, SIZE);
	assert_string_equal(made[order[0]].name, "nn");
}

/* The last row stands for a sum of the others. */
static void rows_are_chosen(void **state)
{
	static const char *names[] = { "name=bet*", "who=beto" };
	struct table_choice choice = { .sort = "count", .columns = "who,count" };
	struct table table = make(100);
	const char *problem;

	assert_int_equal(table_apply(&table, &choice, 1, &problem), 0);
	assert_string_equal(print(&table, TABLE_CSV),
			    "name,count.sum\nalpha|1,1234567\nbeta,0\n'=gamma,7\n");
	table = make(100);
	choice.top = 1;
	assert_int_equal(table_apply(&table, &choice, 1, &problem), 0);
	assert_string_equal(print(&table, TABLE_CSV),
			    "name,count.sum\nalpha|1,1234567\n'=gamma,7\n");
	table = make(100);
	choice.where = names;
	choice.n_where = 1;
	assert_int_equal(table_apply(&table, &choice, 1, &problem), 0);
	assert_string_equal(print(&table, TABLE_CSV), "name,count.sum\nbeta,0\n");
	table = make(100);
	choice.n_where = 2;
	assert_int_equal(table_apply(&table, &choice, 1, &problem), -ENOENT);
	assert_non_null(strstr(problem, "'beta'"));
	choice.sort = "nonesuch";
	assert_int_equal(table_apply(&table, &choice, 1, &problem), -EINVAL);
}

static void sentences(void **state)
{
	const struct pmc_screen screens[] = { { .width = 20 }, { .width = 20, .ascii = true } };
	static const char *const wanted[] = { "1 row of 2,000 rows · 1.50 µs · "
					      "50.0 % name abc…",
					      "1 row of 2,000 rows, 1.50 us, 50.0 % name a..." };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char buf[200];
		struct pmc_out out;

		pmc_out_to_mem(&out, buf, sizeof(buf));
		table_say(&out, &screens[i], "%n %(row|rows) of %n %(row|rows)%.%t%.%p %% %s %4S",
			  UINT64_C(1), UINT64_C(2000), UINT64_C(1500), 50.0, "name", "abcdefgh");
		assert_string_equal(buf, wanted[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_values_are_not_zero),
		cmocka_unit_test(small_differences),
		cmocka_unit_test(the_narrow_table_says_what_it_lacks),
		cmocka_unit_test(formats_for_programs_have_every_column),
		cmocka_unit_test(markdown_escapes_bars),
		cmocka_unit_test(markdown_shows_markup_as_text),
		cmocka_unit_test(columns_are_found_by_name_and_head),
		cmocka_unit_test(chosen_columns_stay),
		cmocka_unit_test(a_series_has_one_unit),
		cmocka_unit_test(a_series_of_small_numbers),
		cmocka_unit_test(compared_columns_have_one_unit),
		cmocka_unit_test(texts_have_the_width_of_what_is_shown),
		cmocka_unit_test(conditions_select_rows),
		cmocka_unit_test(null_is_last_in_both_orders),
		cmocka_unit_test(numbers_in_texts_are_compared),
		cmocka_unit_test(rows_are_chosen),
		cmocka_unit_test(sentences),
	};
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);

	pmc_arena_free(&arena);
	return failed;
}
