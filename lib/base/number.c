/* SPDX-License-Identifier: MIT */
/* number.c - see number.h. */
#include "lib/base/number.h"

#include <errno.h>
#include <float.h>
#include <string.h>

static unsigned digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

bool pmc_number_take(const char **at, const char *end, unsigned base, uint64_t *value)
{
	const char *p = *at;
	uint64_t sum = 0;

	for (; p != end && digit_of(*p) < base; p++) {
		unsigned digit = digit_of(*p);

		if (sum > (UINT64_MAX - digit) / base)
			return false;
		sum = sum * base + digit;
	}
	if (p == *at)
		return false;
	*at = p;
	*value = sum;
	return true;
}

bool pmc_range_take(const char **at, uint64_t *first, uint64_t *last)
{
	if (!pmc_number_take(at, NULL, 10, first))
		return false;
	*last = *first;
	if (**at == '-') {
		++*at;
		if (!pmc_number_take(at, NULL, 10, last))
			return false;
	}
	*at += **at == ',';
	return true;
}

bool pmc_list_has(const char *list, uint64_t number)
{
	uint64_t first, last;

	while (pmc_range_take(&list, &first, &last))
		if (first <= number && number <= last)
			return true;
	return false;
}

bool pmc_number(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t number;

	if (!pmc_number_take(&text, NULL, 10, &number) || *text || number > max)
		return false;
	*value = number;
	return true;
}

bool pmc_number_bytes(const char *text, size_t n, uint8_t *bytes)
{
	for (size_t i = 0; i < n; i++, text += 2) {
		unsigned high = digit_of(text[0]), low = high < 16 ? digit_of(text[1]) : 16;

		if (low == 16)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

ssize_t pmc_number_unpack(const char *text, size_t len, uint8_t *bytes, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		const size_t zeros =
			text[i] >= 'g' && text[i] <= 'z' ? (size_t)(text[i] - 'g' + 1) : 0;

		if (n + (zeros ? zeros : 1) > room)
			return -1;
		memset(bytes + n, 0, zeros);
		if (!zeros && (i + 1 == len || !pmc_number_bytes(text + i, 1, bytes + n)))
			return -1;
		n += zeros ? zeros : 1;
		i += zeros ? 1 : 2;
	}
	return (ssize_t)n;
}

int pmc_scaled(uint64_t raw, uint64_t enabled, uint64_t running, uint64_t *value)
{
	unsigned __int128 product = (unsigned __int128)raw * enabled;

	if (running == 0)
		return -EAGAIN;
	*value = raw;
	if (running >= enabled)
		return 0;
	product = (product + running / 2) / running;
	*value = product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
	return product > UINT64_MAX ? -EOVERFLOW : 0;
}

/* Newton's method from above: decreases until it converges. */
double pmc_square_root(double value)
{
	double root = value > 1 ? value : 1, next;

	if (!(value > 0) || value > DBL_MAX)
		return value > 0 ? value : 0;
	while ((next = root / 2 + value / root / 2) < root)
		root = next;
	return root;
}
