/* SPDX-License-Identifier: MIT */
/* csv.c - text as a cell of CSV: quoted where needed, harmless to terminals and spreadsheets. */
#include "lib/base/csv.h"
#include "lib/base/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Text that needs neither quotes nor escapes. */
static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] <= 0x20 || text[i] >= 0x7f || text[i] == ',' || text[i] == '"')
			return false;
	return true;
}

/* A spreadsheet would take the text as a formula. */
static bool is_formula(const char *text, size_t len)
{
	size_t at = 1;

	if (!len || !memchr("=+-@", text[0], 4))
		return false;
	if (text[0] == '=' || text[0] == '@')
		return true;
	while (at < len && ((text[at] >= '0' && text[at] <= '9') || text[at] == '.'))
		at++;
	return at < len || len == 1;
}

void pmc_csv_text(struct pmc_out *out, const char *text, size_t len)
{
	const char *guard = is_formula(text, len) ? "'" : "";
	bool quote;
	size_t from = 0;

	if (is_plain(text, len)) {
		pmc_out_str(out, guard);
		pmc_out_bytes(out, text, len);
		return;
	}
	quote = memchr(text, ',', len) || memchr(text, '"', len) || text[0] == ' ' ||
		text[len - 1] == ' ';
	if (!quote) {
		pmc_out_str(out, guard);
		pmc_utf8_safe(out, text, len, 0);
		return;
	}
	/* Line breaks come out escaped: only quotes have to be doubled. */
	pmc_out_char(out, '"');
	pmc_out_str(out, guard);
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '"')
			continue;
		pmc_utf8_safe(out, text + from, i + 1 - from, 0);
		pmc_out_char(out, '"');
		from = i + 1;
	}
	pmc_utf8_safe(out, text + from, len - from, 0);
	pmc_out_char(out, '"');
}
