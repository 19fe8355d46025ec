/* SPDX-License-Identifier: MIT */
/* show.c - numbers, units and lines as people read them, and their screen; see show.h. */
#include "lib/base/show.h"
#include "lib/base/config.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Three to four digits: 1.71, 58.10, 123.4. */
static void digits(struct pmc_out *out, double value)
{
	pmc_out_fixed(out, value, value < 99.995 ? 2 : value < 9999.95 ? 1 : 0);
}

void pmc_show_integer(struct pmc_out *out, uint64_t value)
{
	if (value >= 1000) {
		pmc_show_integer(out, value / 1000);
		pmc_outf(out, ",%03u", (unsigned)(value % 1000));
	} else {
		pmc_out_u64(out, value);
	}
}

int pmc_decimals_for(double value)
{
	return value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
}

void pmc_scale_time(struct pmc_scale *scale, double most_ns, const char *micro)
{
	const struct pmc_scale units[] = {
		{ 3600e9, 0, "h" }, { 1e9, 0, "s" }, { 1e6, 0, "ms" },
		{ 1e3, 0, micro },  { 1, 0, "ns" },
	};
	const double least[] = { 1e13, 1e9, 1e6, 1e3 };
	unsigned i = 0;

	while (i < 4 && !(most_ns >= least[i]))
		i++;
	*scale = units[i];
	if (scale->divisor > 1)
		scale->decimals = pmc_decimals_for(most_ns / scale->divisor);
}

void pmc_scale_count(struct pmc_scale *scale, double most, bool real)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
	unsigned n = 0;

	*scale = (struct pmc_scale){ .divisor = 1 };
	for (; most >= 999999.5 && most / scale->divisor >= 999.95 && n < 6; n++)
		scale->divisor *= 1000;
	scale->unit = prefixes[n];
	if (n || real)
		scale->decimals = pmc_decimals_for(most / scale->divisor);
}

void pmc_show_scaled(struct pmc_out *out, const struct pmc_scale *scale, double value)
{
	value /= scale->divisor;
	if (scale->decimals) {
		pmc_out_fixed(out, value, scale->decimals);
		return;
	}
	if (value <= -0.5)
		pmc_out_char(out, '-');
	pmc_show_integer(out, pmc_nearest_integer(value < 0 ? -value : value));
}

void pmc_show_count(struct pmc_out *out, uint64_t n, const char *one, const char *many)
{
	pmc_show_integer(out, n);
	pmc_outf(out, " %s", n == 1 ? one : many);
}

void pmc_show_number(struct pmc_out *out, double value)
{
	static const char units[] = "kMGTPE";
	unsigned unit = 0;

	if (value < 99999.5) {
		if (value >= 0 && value == (double)(uint64_t)value)
			pmc_show_integer(out, (uint64_t)value);
		else if (value < 0.01)
			pmc_out_fixed(out, value, 6);
		else if (value < 1000)
			digits(out, value);
		else
			pmc_show_integer(out, pmc_nearest_integer(value));
		return;
	}
	for (value /= 1000; value >= 999.95 && unit < sizeof(units) - 2; unit++)
		value /= 1000;
	digits(out, value);
	pmc_out_char(out, units[unit]);
}

void pmc_show_time(struct pmc_out *out, double ns, const char *micro)
{
	if (ns >= 1e13)
		pmc_show_integer(out, pmc_nearest_integer(ns / 1e9));
	else if (ns >= 99.95e6 || ns <= 0)
		digits(out, ns / 1e9);
	else if (ns >= 99.95e3)
		pmc_out_fixed(out, ns / 1e6, ns >= 9.995e6 ? 1 : 2);
	else
		pmc_out_fixed(out, ns / 1e3, ns >= 9.995e3 ? 1 : 2);
	pmc_out_char(out, ' ');
	pmc_out_str(out, ns >= 99.95e6 || ns <= 0 ? "s" : ns >= 99.95e3 ? "ms" : micro);
}

void pmc_show_percent(struct pmc_out *out, double percent)
{
	if (percent > 0 && percent < 0.05)
		pmc_out_str(out, "<0.1");
	else if (percent >= 100)
		pmc_out_fixed(out, percent, 0);
	else
		pmc_out_fixed(out, percent < 99.9 ? percent : 99.9, 1);
}

void pmc_show_cpus(struct pmc_out *out, double cpus)
{
	const bool little = cpus > 0 && cpus < 0.01;

	pmc_out_str(out, little ? " (<" : " (");
	pmc_out_fixed(out, little ? 0.01 : cpus, 2);
	pmc_out_str(out, " CPUs)");
}

void pmc_show_indented(struct pmc_out *out, const char *line, int width, int indent)
{
	int column = 0;

	for (size_t len; *line; line += len) {
		int columns;

		len = 1 + strcspn(line + 1, " ");
		columns = pmc_utf8_columns(line, len);
		if (column && column + columns > width) {
			pmc_out_char(out, '\n');
			pmc_out_pad(out, ' ', indent);
			column = indent;
		}
		pmc_out_bytes(out, line, len);
		column += columns;
	}
	pmc_out_char(out, '\n');
}

/* ---- the screen ---------------------------------------------------------------------------- */

static bool is_utf8(const char *locale)
{
	const char *charset = locale ? strchr(locale, '.') : NULL;

	return charset && (!strncasecmp(charset, ".utf-8", 6) || !strncasecmp(charset, ".utf8", 5));
}

void pmc_screen_from_env(struct pmc_screen *screen, char *const *envp)
{
	static const char *const locales[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL, *columns = pmc_env(envp, "COLUMNS");
	const char *no_color = pmc_env(envp, "NO_COLOR");

	for (unsigned i = 0; i < 3 && (!locale || !*locale); i++)
		locale = pmc_env(envp, locales[i]);
	*screen =
		(struct pmc_screen){ .ascii = !is_utf8(locale), .color = !no_color || !*no_color };
	for (; columns && pmc_is_digit(*columns) && screen->width < 10000; columns++)
		screen->width = screen->width * 10 + (*columns - '0');
}

void pmc_screen_of_fd(struct pmc_screen *screen, int fd)
{
	const int saved = errno, columns = pmc_fd_columns(fd);

	if (columns < 0)
		screen->color = false;
	else if (columns)
		screen->width = columns;
	errno = saved;
}
