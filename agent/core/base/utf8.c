/* SPDX-License-Identifier: MIT */
/* utf8.c - see utf8.h. Async-signal-safe; knows nothing of the locale. */
#include "agent/core/base/utf8.h"

#include <stdbool.h>

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

/* Blocks, not single characters: what matters is that a column does not run away. */
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

/* One piece of harmless text for what starts at text[at]; its width and the bytes it stands for. */
static size_t piece(const char *text, size_t len, struct pmc_out *shown, int *width)
{
	uint32_t code = 0;
	size_t n = pmc_utf8_decode(text, len, &code);

	*width = n ? pmc_utf8_width(code) : -1;
	if (*width >= 0) {
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

/* The bytes at the start that are one column each and need no thought. */
static size_t ascii_run(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= 0x20 && text[n] < 0x7f)
		n++;
	return n;
}

int pmc_utf8_safe(struct pmc_out *out, const char *text, size_t len, int columns)
{
	char buf[24];
	struct pmc_out shown;
	int total = 0, width;
	size_t cut = 0;
	bool fits = true;

	if ((columns <= 0 || len <= (size_t)columns) && ascii_run(text, len) == len) {
		pmc_out_bytes(out, text, len);
		return (int)len;
	}
	/* Where to cut, if at all: the last place that leaves room for the ellipsis. */
	if (columns > 0) {
		for (size_t at = 0; at < len && fits;) {
			pmc_out_to_mem(&shown, buf, sizeof(buf));
			size_t n = piece(text + at, len - at, &shown, &width);

			total += width;
			fits = total <= columns;
			at += n;
			if (total < columns)
				cut = at;
		}
		if (!fits)
			len = cut;
	}
	total = 0;
	for (size_t at = 0; at < len;) {
		pmc_out_to_mem(&shown, buf, sizeof(buf));
		at += piece(text + at, len - at, &shown, &width);
		pmc_out_bytes(out, buf, shown.len);
		total += width;
	}
	if (!fits) {
		pmc_out_str(out, "…");
		total++;
	}
	return total;
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
