/* SPDX-License-Identifier: MIT */
/* say.c - sentences with numbers, times and foreign text in them, for the lines around a table. */
#include "lib/base/utf8.h"
#include "tools/table/private.h"

void table_say(struct pmc_out *out, const struct pmc_screen *screen, const char *format, ...)
{
	const int most = pmc_screen_width(screen) - 4;
	uint64_t last = 0;
	va_list args;

	va_start(args, format);
	for (const char *at = format; *at;) {
		const size_t plain = strcspn(at, "%");
		const char *text;
		int columns = 0;

		pmc_out_bytes(out, at, plain);
		at += plain;
		if (!*at++)
			break;
		for (; *at >= '0' && *at <= '9'; at++)
			columns = columns * 10 + *at - '0';
		switch (*at++) {
		case 'n':
			last = va_arg(args, uint64_t);
			pmc_show_integer(out, last);
			break;
		case '(':
			text = last == 1 ? at : at + strcspn(at, "|") + 1;
			pmc_out_bytes(out, text, strcspn(text, "|)"));
			at += strcspn(at, ")") + 1;
			break;
		case 't':
			pmc_show_time(out, (double)va_arg(args, uint64_t),
				      screen->ascii ? "us" : "µs");
			break;
		case 'v':
			pmc_show_number(out, va_arg(args, double));
			break;
		case 'p':
			pmc_show_percent(out, va_arg(args, double));
			break;
		case 's':
			pmc_out_str(out, va_arg(args, const char *));
			break;
		case 'S':
			text = va_arg(args, const char *);
			columns = columns < most ? columns : most;
			pmc_utf8_fit(out, text, strlen(text), columns, PMC_CUT_END, screen->ascii);
			break;
		case '.':
			pmc_out_str(out, screen->ascii ? ", " : " · ");
			break;
		default:
			pmc_out_char(out, '%');
			break;
		}
	}
	va_end(args);
}

bool table_put_reason(struct pmc_out *out, const struct pmc_screen *screen, const char *head,
		      const struct table_reason *list, unsigned n, unsigned i)
{
	for (unsigned k = 0; k < i && list[i].why; k++)
		if (list[k].why && !strcmp(list[k].why, list[i].why))
			return false;
	if (!list[i].why)
		return false;
	pmc_out_str(out, head);
	for (unsigned k = i; k < n; k++)
		if (list[k].why && !strcmp(list[k].why, list[i].why))
			table_say(out, screen, k == i ? "%S" : ", %S", list[k].name);
	pmc_outf(out, ": %s", list[i].why);
	return true;
}
