/* SPDX-License-Identifier: MIT */
/* number.h - numbers: parsing, sums and differences without overflow, scaling, roots. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Takes the digits at *at in base 10 or 16 (no sign, no prefix) and moves *at behind them. end:
 * where the text ends, NULL for a NUL-terminated one. False, with *at and *value as they were, if
 * there is no digit or the number exceeds 64 bits. */
bool pmc_number_take(const char **at, const char *end, unsigned base, uint64_t *value);
/* Takes N or N-M, and a ',' behind it, of a list such as 0-3,8. False: there is none. */
bool pmc_range_take(const char **at, uint64_t *first, uint64_t *last);
bool pmc_list_has(const char *list, uint64_t number);
/* The whole of a NUL-terminated text as a decimal number of at most max; else false. */
bool pmc_number(const char *text, uint64_t max, uint64_t *value);
/* n bytes of two hex digits each. */
bool pmc_number_bytes(const char *text, size_t n, uint8_t *bytes);
/* Of pmc_out_packed(): the number of bytes, -1 where the text is none, or they do not fit. */
ssize_t pmc_number_unpack(const char *text, size_t len, uint8_t *bytes, size_t room);

static inline bool pmc_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Of ASCII, whatever the locale. */
static inline bool pmc_is_alnum(char c)
{
	return pmc_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline char pmc_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* a - b, and 0 where that would be negative. */
static inline uint64_t pmc_sub_sat(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Sums saturate at UINT64_MAX: a forged dump may have any numbers. */
static inline void pmc_add_sat(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

/* *value = raw * enabled / running, rounded to nearest, in 128 bits; raw if running >= enabled.
 * 0; -EAGAIN: running is 0 and *value unchanged; -EOVERFLOW: *value is UINT64_MAX. */
int pmc_scaled(uint64_t raw, uint64_t enabled, uint64_t running, uint64_t *value);

/* 0 for negative values and NaN. (libm would be one more library in the host.) */
double pmc_square_root(double value);
