/* SPDX-License-Identifier: MIT */
/* screen.c - width, character set and colour of what a table is printed on. */
#include "lib/base/screen.h"
#include "lib/base/config.h"
#include "lib/base/out.h"

#include <strings.h>

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
	for (; columns && *columns >= '0' && *columns <= '9' && screen->width < 10000; columns++)
		screen->width = screen->width * 10 + (*columns - '0');
}

void pmc_screen_of_fd(struct pmc_screen *screen, int fd)
{
	int columns = pmc_out_columns(fd);

	if (columns < 0)
		screen->color = false;
	else if (columns)
		screen->width = columns;
}
