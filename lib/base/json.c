/* SPDX-License-Identifier: MIT */
/* json.c - a streaming JSON emitter: commas, keys, escapes. */
#include "lib/base/json.h"
#include "lib/base/utf8.h"

#include <string.h>

void pmc_json_init(struct pmc_json *json, struct pmc_out *out)
{
	*json = (struct pmc_json){ .out = out };
}

/* DEL, the C1 controls and direction overrides are legal in JSON but dangerous on a terminal: they
 * are escaped too. */
static bool plain(unsigned char c, bool in_html)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' &&
	       !(in_html && (c == '<' || c == '&'));
}

static void escape(struct pmc_out *out, uint32_t code)
{
	static const char two[] = "btnvfr"; /* 8..13; \v is not JSON's */

	if (code == '"' || code == '\\' || (code >= 8 && code <= 13 && code != 11)) {
		pmc_out_char(out, '\\');
		pmc_out_char(out, code <= 13 ? two[code - 8] : (char)code);
	} else if (code > 0xffff) {
		code -= 0x10000;
		pmc_outf(out, "\\u%04x\\u%04x", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
	} else {
		pmc_outf(out, "\\u%04x", code);
	}
}

void pmc_json_quoted(struct pmc_out *out, const char *text, size_t len)
{
	const bool html = out->in_html;
	size_t at = 0;

	/* Most text is plain and fits: copied while it is checked. */
	if (len + 2 < out->cap - out->len) {
		char *to = out->buf + out->len;

		for (*to++ = '"'; at < len && plain((unsigned char)text[at], html); at++)
			*to++ = text[at];
		out->len += at + 1;
	} else {
		pmc_out_char(out, '"');
	}
	while (at < len) {
		size_t run = 0, n;
		uint32_t code = 0;

		while (at + run < len && plain((unsigned char)text[at + run], html))
			run++;
		pmc_out_bytes(out, text + at, run);
		at += run;
		if (at == len)
			break;
		n = pmc_utf8_decode(text + at, len - at, &code);
		if (!n)
			pmc_out_str(out, "\xef\xbf\xbd");
		else if (code >= 0xa0 && pmc_utf8_width(code) >= 0)
			pmc_out_bytes(out, text + at, n);
		else
			escape(out, code);
		at += n ? n : 1;
	}
	pmc_out_char(out, '"');
}

void pmc_json_key(struct pmc_json *json, const char *key)
{
	if (json->need_comma)
		pmc_out_char(json->out, ',');
	json->need_comma = true;
	if (!key)
		return;
	pmc_json_quoted(json->out, key, strlen(key));
	pmc_out_char(json->out, ':');
}

static void open_with(struct pmc_json *json, const char *key, char bracket)
{
	pmc_json_key(json, key);
	pmc_out_char(json->out, bracket);
	json->need_comma = false;
}

static void close_with(struct pmc_json *json, char bracket)
{
	pmc_out_char(json->out, bracket);
	json->need_comma = true;
}

void pmc_json_object(struct pmc_json *json, const char *key)
{
	open_with(json, key, '{');
}

void pmc_json_object_end(struct pmc_json *json)
{
	close_with(json, '}');
}

void pmc_json_array(struct pmc_json *json, const char *key)
{
	open_with(json, key, '[');
}

void pmc_json_array_end(struct pmc_json *json)
{
	close_with(json, ']');
}

void pmc_json_line(struct pmc_json *json)
{
	pmc_out_str(json->out, json->need_comma ? ",\n" : "\n");
	json->need_comma = false;
}

void pmc_json_str(struct pmc_json *json, const char *key, const char *text)
{
	if (text)
		pmc_json_strn(json, key, text, strlen(text));
	else
		pmc_json_null(json, key);
}

void pmc_json_strn(struct pmc_json *json, const char *key, const char *text, size_t len)
{
	pmc_json_key(json, key);
	pmc_json_quoted(json->out, text, len);
}

void pmc_json_u64(struct pmc_json *json, const char *key, uint64_t value)
{
	pmc_json_key(json, key);
	pmc_out_u64(json->out, value);
}

void pmc_json_known(struct pmc_json *json, const char *key, bool known, uint64_t value)
{
	if (known)
		pmc_json_u64(json, key, value);
	else
		pmc_json_null(json, key);
}

void pmc_json_i64(struct pmc_json *json, const char *key, int64_t value)
{
	pmc_json_key(json, key);
	pmc_out_i64(json->out, value);
}

void pmc_json_bool(struct pmc_json *json, const char *key, bool value)
{
	pmc_json_key(json, key);
	pmc_out_str(json->out, value ? "true" : "false");
}

void pmc_json_null(struct pmc_json *json, const char *key)
{
	pmc_json_key(json, key);
	pmc_out_str(json->out, "null");
}

void pmc_json_double(struct pmc_json *json, const char *key, double value)
{
	if (!pmc_out_fixed_fits(value)) {
		pmc_json_null(json, key);
		return;
	}
	pmc_json_key(json, key);
	pmc_out_fixed(json->out, value, PMC_JSON_DECIMALS);
}
