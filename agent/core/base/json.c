/* SPDX-License-Identifier: MIT */
/* json.c - see json.h. Numbers are made by integer arithmetic, so no locale can touch them. */
#include "agent/core/base/json.h"
#include "agent/core/base/utf8.h"

#include <string.h>

void pmc_json_init(struct pmc_json *json, struct pmc_out *out, bool pretty)
{
	*json = (struct pmc_json){ .out = out, .pretty = pretty };
}

static void indent(struct pmc_json *json)
{
	pmc_out_char(json->out, '\n');
	pmc_out_pad(json->out, ' ', (int)json->depth * 2);
}

/* DEL and the C1 controls are legal in JSON and still dangerous on a terminal. */
static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void escape(struct pmc_out *out, uint32_t code)
{
	static const char two[] = "btnvfr"; /* 8..13; \v is not JSON's */

	if (code == '"' || code == '\\') {
		pmc_out_char(out, '\\');
		pmc_out_char(out, (char)code);
	} else if (code >= 8 && code <= 13 && code != 11) {
		pmc_out_char(out, '\\');
		pmc_out_char(out, two[code - 8]);
	} else {
		pmc_outf(out, "\\u%04x", code);
	}
}

static void quoted(struct pmc_out *out, const char *text, size_t len)
{
	size_t at = 0;

	pmc_out_char(out, '"');
	while (at < len) {
		size_t run = 0, n;
		uint32_t code = 0;

		while (at + run < len && plain((unsigned char)text[at + run]))
			run++;
		pmc_out_bytes(out, text + at, run);
		at += run;
		if (at == len)
			break;
		n = pmc_utf8_decode(text + at, len - at, &code);
		if (!n)
			pmc_out_str(out, "\xef\xbf\xbd");
		else if (code >= 0xa0)
			pmc_out_bytes(out, text + at, n);
		else
			escape(out, code);
		at += n ? n : 1;
	}
	pmc_out_char(out, '"');
}

/* Comma, key and colon; in one piece if the key is as short and plain as ours are. */
static void begin(struct pmc_json *json, const char *key)
{
	char head[64];
	size_t n = 0, i = 0;

	if (json->need_comma)
		head[n++] = ',';
	json->need_comma = true;
	if (json->pretty && json->depth) {
		pmc_out_bytes(json->out, head, n);
		n = 0;
		indent(json);
	}
	if (key) {
		head[n++] = '"';
		while (n < sizeof(head) - 3 && plain((unsigned char)key[i]))
			head[n++] = key[i++];
		if (key[i]) {
			pmc_out_bytes(json->out, head, n - i - 1);
			n = 0;
			quoted(json->out, key, strlen(key));
		} else {
			head[n++] = '"';
		}
		head[n++] = ':';
		if (json->pretty)
			head[n++] = ' ';
	}
	pmc_out_bytes(json->out, head, n);
}

static void open_with(struct pmc_json *json, const char *key, char bracket)
{
	begin(json, key);
	pmc_out_char(json->out, bracket);
	json->depth++;
	json->need_comma = false;
}

static void close_with(struct pmc_json *json, char bracket)
{
	json->depth--;
	if (json->pretty && json->need_comma)
		indent(json);
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
	if (json->pretty)
		return;
	if (json->need_comma)
		pmc_out_char(json->out, ',');
	pmc_out_char(json->out, '\n');
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
	begin(json, key);
	quoted(json->out, text, len);
}

void pmc_json_u64(struct pmc_json *json, const char *key, uint64_t value)
{
	begin(json, key);
	pmc_out_u64(json->out, value);
}

void pmc_json_i64(struct pmc_json *json, const char *key, int64_t value)
{
	begin(json, key);
	pmc_out_i64(json->out, value);
}

void pmc_json_bool(struct pmc_json *json, const char *key, bool value)
{
	begin(json, key);
	pmc_out_str(json->out, value ? "true" : "false");
}

void pmc_json_null(struct pmc_json *json, const char *key)
{
	begin(json, key);
	pmc_out_str(json->out, "null");
}

/* ---- doubles --------------------------------------------------------------------------- */

#define DIGITS 17 /* enough for every double; most need no more than 15 */

/* 0.d1 d2 d3 ... * 10^exponent */
struct decimal {
	char digits[20];
	int n, exponent;
};

/* The first DIGITS digits of whole + fraction / 2^shift, rounded half up, exactly: shift <= 120. */
static void decimal_make(struct decimal *d, uint64_t whole, unsigned __int128 fraction,
			 unsigned shift)
{
	char text[24];
	int len = 0;

	for (uint64_t w = whole; w; w /= 10)
		text[len++] = (char)(w % 10);
	d->exponent = len;
	d->n = 0;
	while (len && d->n <= DIGITS)
		d->digits[d->n++] = text[--len];
	/* One digit more than wanted, to round by. */
	while (d->n <= DIGITS && fraction) {
		fraction *= 10;
		char digit = (char)(fraction >> shift);

		fraction &= ((unsigned __int128)1 << shift) - 1;
		if (!d->n && !digit)
			d->exponent--;
		else
			d->digits[d->n++] = digit;
	}
	while (d->n <= DIGITS)
		d->digits[d->n++] = 0;
}

/* Rounds to n digits, fewer than there are, and drops zeros at the end. */
static void decimal_round(struct decimal *d, int n)
{
	int i;

	d->n = n;
	if (d->digits[n] >= 5) {
		for (i = n - 1; i >= 0 && d->digits[i] == 9; i--)
			d->digits[i] = 0;
		if (i >= 0) {
			d->digits[i]++;
		} else {
			d->digits[0] = 1;
			d->exponent++;
		}
	}
	while (d->n > 1 && !d->digits[d->n - 1])
		d->n--;
}

/* Whether 15 digits read back as the same double: below 2^53 and 10^22 one division or
 * multiplication is correctly rounded. */
static bool decimal_exact(const struct decimal *d, double value)
{
	double number = 0, power = 1;
	int tens = d->exponent - d->n;

	if (tens > 22 || tens < -22)
		return false;
	for (int i = 0; i < d->n; i++)
		number = number * 10 + d->digits[i];
	for (int i = tens < 0 ? -tens : tens; i > 0; i--)
		power *= 10;
	return (tens < 0 ? number / power : number * power) == value;
}

static void decimal_out(struct pmc_out *out, const struct decimal *d, int tens)
{
	int point = d->exponent + tens;
	bool plain_form = point > -5 && point <= 21;
	int shown = plain_form ? point : 1;

	if (shown <= 0) {
		pmc_out_str(out, "0.");
		pmc_out_pad(out, '0', -shown);
	}
	for (int i = 0; i < d->n; i++) {
		if (i == shown && i)
			pmc_out_char(out, '.');
		pmc_out_char(out, (char)('0' + d->digits[i]));
	}
	pmc_out_pad(out, '0', shown - d->n);
	if (!plain_form)
		pmc_outf(out, "e%d", point - 1);
}

void pmc_json_double(struct pmc_json *json, const char *key, double value)
{
	struct decimal d, shorter;
	uint64_t bits, mantissa;
	int tens = 0, shift;

	if (!(value - value == 0)) {
		pmc_json_null(json, key);
		return;
	}
	begin(json, key);
	if (value < 0) {
		pmc_out_char(json->out, '-');
		value = -value;
	}
	if (value == 0) {
		pmc_out_char(json->out, '0');
		return;
	}
	/* Outside what fits 128 bits exactly the last digits are approximate. */
	for (; value >= 1e19; tens += 10)
		value /= 1e10;
	for (; value < 1e-15; tens -= 10)
		value *= 1e10;
	memcpy(&bits, &value, sizeof(bits));
	mantissa = (bits & ((1ull << 52) - 1)) | 1ull << 52;
	shift = 1075 - (int)(bits >> 52);
	if (shift <= 0)
		decimal_make(&d, mantissa << -shift, 0, 0);
	else
		decimal_make(&d, shift < 64 ? mantissa >> shift : 0,
			     shift < 64 ? mantissa & ((1ull << shift) - 1) : mantissa,
			     (unsigned)shift);
	shorter = d;
	decimal_round(&shorter, 15);
	if (!decimal_exact(&shorter, value)) {
		shorter = d;
		decimal_round(&shorter, DIGITS);
	}
	decimal_out(json->out, &shorter, tens);
}
