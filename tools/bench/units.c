/* SPDX-License-Identifier: MIT */
/* units.c - see units.h. */
#include "tools/bench/units.h"
#include "tools/cli/pmctl.h"
#include "tools/view/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void bench_show(struct pmc_out *out, double value, enum bench_unit unit)
{
	static const char *const units[][6] = {
		[BENCH_NS] = { "ns", "µs", "ms", "s", NULL },
		[BENCH_BYTES] = { "B", "kB", "MB", "GB", "TB", NULL },
		[BENCH_COUNT] = { "", "k", "M", "G", "T", NULL },
	};
	unsigned i = 0;
	int decimals;

	for (; fabs(value) >= 999.95 && units[unit][i + 1]; i++)
		value /= 1000;
	decimals = fabs(value) < 9.9995 ? 3 : fabs(value) < 99.995 ? 2 : 1;
	/* Whole values without a prefix have no decimals. */
	if (i == 0 && value == floor(value))
		decimals = 0;
	pmc_out_fixed(out, value, decimals);
	pmc_out_str(out, units[unit][i][0] ? " " : "");
	pmc_out_str(out, units[unit][i]);
}

const char *bench_presence(bool in_first, bool in_second)
{
	return in_first ? (in_second ? "both" : "gone") : "new";
}

/* clang-format off */
static const struct {
	const char *from, *to;
} ascii[] = {
	{ "±", "+-" },
	{ "…", ".." },
	{ "σ", "s" },
	{ "µ", "u" },
	{ "↑", "^" },
	{ "↓", "v" },
};
/* clang-format on */

static void put_ascii(const char *text, struct pmc_out *out)
{
	while (*text) {
		const char *to = NULL;

		for (unsigned i = 0; i < sizeof(ascii) / sizeof(ascii[0]) && !to; i++) {
			if (strncmp(text, ascii[i].from, strlen(ascii[i].from)))
				continue;
			to = ascii[i].to;
			text += strlen(ascii[i].from);
		}
		if (to) {
			pmc_out_str(out, to);
			continue;
		}
		/* One mark for each other character. */
		if (((unsigned char)*text & 0xc0) != 0x80)
			pmc_out_char(out, (unsigned char)*text < 0x80 ? *text : '?');
		text++;
	}
}

int bench_to_stdout(bool for_people, void (*write)(const void *arg, struct pmc_out *out),
		    const void *arg)
{
	static char room[64 << 10], line[4096 + 1];
	struct pmc_screen screen;
	FILE *file = NULL;
	struct pmc_out out, stored;
	ssize_t n;
	int fd;

	pmc_screen_from_env(&screen, environ);
	pmc_out_to_fd(&out, STDOUT_FILENO, room, sizeof(room));
	if (for_people && screen.ascii)
		file = tmpfile();
	if (!file) {
		write(arg, &out);
		return pmc_out_flush(&out);
	}
	fd = fileno(file);
	pmc_out_to_fd(&stored, fd, line, sizeof(line));
	write(arg, &stored);
	pmc_out_flush(&stored);
	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, line, sizeof(line) - 1)) > 0) {
		size_t kept = 0;

		/* A character that is cut goes to the next piece. */
		while (kept < 4 && n > (ssize_t)kept &&
		       ((unsigned char)line[n - 1 - (ssize_t)kept] & 0x80) &&
		       n == (ssize_t)sizeof(line) - 1)
			kept++;
		lseek(fd, -(off_t)kept, SEEK_CUR);
		line[n - (ssize_t)kept] = '\0';
		put_ascii(line, &out);
	}
	fclose(file);
	return pmc_out_flush(&out);
}
