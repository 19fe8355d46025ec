/* SPDX-License-Identifier: MIT */
/* utf8.c - decodes UTF-8 and makes text of unknown origin safe to print. Async-signal-safe. */
#include "lib/base/utf8.h"
#include "lib/base/number.h"

#include <limits.h>

size_t pmc_utf8_decode(const char *text, size_t len, uint32_t *code)
{
	const unsigned char *s = (const unsigned char *)text;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80	   ? 1 :
		   s[0] >> 5 == 6  ? 2 :
		   s[0] >> 4 == 14 ? 3 :
		   s[0] >> 3 == 30 ? 4 :
				     0;
	uint32_t c;

	if (n == 1) {
		*code = s[0];
		return 1;
	}
	if (!n || n > len)
		return 0;
	c = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*code = c;
	return n;
}

struct range {
	uint32_t from, to;
};

static bool within(uint32_t code, const struct range *ranges, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (code >= ranges[i].from && code <= ranges[i].to)
			return true;
	return false;
}

/* Whole blocks: exact enough to keep columns aligned. */
static const struct range unsafe[] = {
	{ 0x00, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },	      { 0x061c, 0x061c },
	{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff0, 0xfffb }, { 0xe0000, 0xe007f },
};
static const struct range combining[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a },
	{ 0x064b, 0x065f }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff },
	{ 0x302a, 0x302d }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
};
static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x2e80, 0x3029 },   { 0x302e, 0x303e },	  { 0x3041, 0x33ff },
	{ 0x3400, 0x4dbf },   { 0x4e00, 0x9fff },   { 0xa000, 0xa4cf },	  { 0xac00, 0xd7a3 },
	{ 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },	  { 0xffe0, 0xffe6 },
	{ 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
};

#define WITHIN(code, ranges) within(code, ranges, sizeof(ranges) / sizeof((ranges)[0]))

int pmc_utf8_width(uint32_t code)
{
	if (code >= 0x20 && code < 0x7f)
		return 1;
	if (WITHIN(code, unsafe))
		return -1;
	if (code < 0x300)
		return 1;
	if (WITHIN(code, combining))
		return 0;
	return WITHIN(code, wide) ? 2 : 1;
}

/* The next character of text as harmless output of *width columns; returns the bytes it took. */
static size_t piece(const char *text, size_t len, bool ascii, struct pmc_out *shown, int *width)
{
	uint32_t code = 0;
	size_t n = pmc_utf8_decode(text, len, &code);

	*width = n ? pmc_utf8_width(code) : -1;
	if (*width >= 0 && !(ascii && code >= 0x7f)) {
		pmc_out_bytes(shown, text, n);
		return n;
	}
	if (n <= 1)
		pmc_outf(shown, "\\x%02x", (unsigned)(unsigned char)text[0]);
	else
		pmc_outf(shown, "\\u{%x}", code);
	*width = (int)shown->len;
	return n ? n : 1;
}

static bool all_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] >= 0x7f)
			return false;
	return true;
}

/* Prints what lies within `head` columns of the start or `tail` of the end; returns the width. */
static int print(struct pmc_out *out, const char *text, size_t len, bool ascii, int total,
		 const int room[2])
{
	char buf[24];
	struct pmc_out shown;
	int at_column = 0, width;
	bool cut = false;

	for (size_t at = 0; at < len;) {
		pmc_out_to_mem(&shown, buf, sizeof(buf));
		at += piece(text + at, len - at, ascii, &shown, &width);
		if (!cut && at_column + width > room[0]) {
			if (out)
				pmc_out_str(out, ascii ? "..." : "…");
			cut = true;
		}
		if (out && (!cut || total - at_column <= room[1]))
			pmc_out_bytes(out, buf, shown.len);
		at_column += width;
	}
	return at_column;
}

int pmc_utf8_fit(struct pmc_out *out, const char *text, size_t len, int columns, enum pmc_cut cut,
		 bool ascii)
{
	const int all[2] = { INT_MAX, 0 };
	int room[2], total, dots = ascii ? 3 : 1;
	char buf[1024];
	struct pmc_out fitted = pmc_out_mem(buf, sizeof(buf));

	if ((columns <= 0 || len <= (size_t)columns) && all_plain(text, len)) {
		pmc_out_bytes(out, text, len);
		return (int)len;
	}
	total = columns > 0 ? print(NULL, text, len, ascii, 0, all) : 0;
	if (total <= columns)
		return print(out, text, len, ascii, 0, all);
	columns = columns > dots ? columns - dots : 1;
	room[0] = cut == PMC_CUT_END ? columns : cut == PMC_CUT_LEFT ? 0 : (columns + 1) / 2;
	room[1] = columns - room[0];
	print(&fitted, text, len, ascii, total, room);
	pmc_out_bytes(out, buf, fitted.len);
	return pmc_utf8_columns(buf, fitted.len);
}

int pmc_utf8_safe(struct pmc_out *out, const char *text, size_t len, int columns)
{
	return pmc_utf8_fit(out, text, len, columns, PMC_CUT_END, false);
}

bool pmc_utf8_is_safe(const char *text)
{
	for (size_t left = strlen(text); left;) {
		uint32_t code = 0;
		size_t n = pmc_utf8_decode(text, left, &code);

		if (!n || pmc_utf8_width(code) < 0)
			return false;
		text += n;
		left -= n;
	}
	return true;
}

int pmc_utf8_columns(const char *text, size_t len)
{
	int total = 0;

	for (size_t at = 0; at < len;) {
		uint32_t code = 0;
		size_t n = pmc_utf8_decode(text + at, len - at, &code);
		int width = n ? pmc_utf8_width(code) : 1;

		total += width < 0 ? 1 : width;
		at += n ? n : 1;
	}
	return total;
}

void pmc_utf8_shell(struct pmc_out *out, const char *text, bool ascii)
{
	bool plain = *text, coded = !pmc_utf8_is_safe(text);

	for (const char *at = text; *at; at++) {
		plain &= pmc_is_alnum(*at) || strchr("_-./,:=@%+", *at);
		coded |= ascii && (unsigned char)*at > 0x7e;
	}
	if (*text == '-')
		pmc_out_str(out, "./");
	if (plain) {
		pmc_out_str(out, text);
		return;
	}
	pmc_out_str(out, coded ? "$'" : "'");
	for (const char *at = text; *at; at++) {
		const unsigned char c = (unsigned char)*at;

		if (coded && (c < 0x20 || c > 0x7e))
			pmc_outf(out, "\\x%02x", c);
		else if (coded && (c == '\'' || c == '\\'))
			pmc_outf(out, "\\%c", c);
		else if (c == '\'')
			pmc_out_str(out, "'\\''");
		else
			pmc_out_char(out, (char)c);
	}
	pmc_out_char(out, '\'');
}

/* ---- CSV ----------------------------------------------------------------------------------*/

/* A spreadsheet would take the text as a formula. */
static bool is_formula(const char *text, size_t len)
{
	size_t at = 1;

	if (!len || (text[0] != '=' && text[0] != '+' && text[0] != '-' && text[0] != '@'))
		return false;
	if (text[0] == '=' || text[0] == '@')
		return true;
	while (at < len && (pmc_is_digit(text[at]) || text[at] == '.'))
		at++;
	return at < len || len == 1;
}

/* Bytes of CSV that need neither quotes nor escapes: printable ASCII but " and comma. */
static const uint64_t csv_plain_bytes[4] = { 0xffffeffb00000000, 0x7fffffffffffffff };

/* Copies text that needs neither quotes nor escapes while it is checked. */
static bool csv_plain(struct pmc_out *out, const char *text, size_t len)
{
	char *to = out->buf + out->len;

	if (!len || len >= out->cap - out->len || text[0] == ' ' || text[len - 1] == ' ' ||
	    is_formula(text, len))
		return false;
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (!(csv_plain_bytes[c / 64] >> c % 64 & 1)) {
			*to = '\0';
			return false;
		}
		to[i] = text[i];
	}
	out->len += len;
	to[len] = '\0';
	return true;
}

void pmc_csv_text(struct pmc_out *out, const char *text, size_t len)
{
	if (csv_plain(out, text, len))
		return;

	const bool quote = len && (memchr(text, ',', len) || memchr(text, '"', len) ||
				   text[0] == ' ' || text[len - 1] == ' ');
	size_t from = 0;

	pmc_out_str(out, quote ? "\"" : "");
	pmc_out_str(out, is_formula(text, len) ? "'" : "");
	/* Line breaks come out escaped: only quotes have to be doubled. */
	for (size_t i = 0; quote && i < len; i++) {
		if (text[i] != '"')
			continue;
		pmc_utf8_safe(out, text + from, i + 1 - from, 0);
		pmc_out_char(out, '"');
		from = i + 1;
	}
	pmc_utf8_safe(out, text + from, len - from, 0);
	pmc_out_str(out, quote ? "\"" : "");
}

void pmc_prometheus_label(struct pmc_out *out, const char *key, const char *text, size_t len)
{
	char safe[8192];
	struct pmc_out harmless = pmc_out_mem(safe, sizeof(safe));

	pmc_utf8_safe(&harmless, text, len, 0);
	pmc_outf(out, "%s=\"", key);
	for (size_t i = 0; i < harmless.len; i++) {
		if (safe[i] == '"' || safe[i] == '\\')
			pmc_out_char(out, '\\');
		pmc_out_char(out, safe[i]);
	}
	pmc_out_char(out, '"');
}
