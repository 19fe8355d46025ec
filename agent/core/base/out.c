/* SPDX-License-Identifier: MIT */
/* out.c - see out.h. Async-signal-safe; saves no errno (its callers at the edge do). */
#include "agent/core/base/out.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

void pmc_out_to_fd(struct pmc_out *out, int fd, char *buf, size_t cap)
{
	*out = (struct pmc_out){ .buf = buf, .cap = cap, .fd = fd };
}

void pmc_out_to_mem(struct pmc_out *out, char *buf, size_t cap)
{
	*out = (struct pmc_out){ .buf = buf, .cap = cap, .fd = -1 };
	buf[0] = '\0';
}

static void drain(struct pmc_out *out, const char *bytes, size_t len)
{
	while (len && !out->error) {
		/* A write of this size to a pipe that is ready does not block. */
		size_t some = out->patience_ms && len > PIPE_BUF ? PIPE_BUF : len;
		long n;

		if (out->patience_ms && !pmc_out_writable(out->fd, out->patience_ms)) {
			out->error = -ETIMEDOUT;
			return;
		}
		n = pmc_out_write(out->fd, bytes, some);
		if (n == -EINTR || (n == -EAGAIN && out->patience_ms))
			continue;
		if (n <= 0) {
			out->error = n < 0 ? (int)n : -EIO;
			return;
		}
		bytes += n;
		len -= (size_t)n;
	}
}

int pmc_out_flush(struct pmc_out *out)
{
	if (out->fd >= 0) {
		drain(out, out->buf, out->len);
		out->len = 0;
	}
	return out->error;
}

void pmc_out_overflow(struct pmc_out *out, const char *bytes, size_t len)
{
	if (out->fd < 0) {
		out->error = out->error ? out->error : -ENOSPC;
		len = out->cap - 1 - out->len;
	} else {
		pmc_out_flush(out);
		if (len >= out->cap) {
			drain(out, bytes, len);
			return;
		}
	}
	memcpy(out->buf + out->len, bytes, len);
	out->len += len;
	out->buf[out->len] = '\0';
}

void pmc_out_pad(struct pmc_out *out, char c, int count)
{
	while (count-- > 0)
		pmc_out_char(out, c);
}

static const char hex_digits[] = "0123456789abcdef";
static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

/* Writes the decimal digits of value in front of `end`; returns where they start. */
static char *decimal(char *end, uint64_t value)
{
	for (; value >= 100; value /= 100) {
		end -= 2;
		memcpy(end, pairs + value % 100 * 2, 2);
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, pairs + value * 2, 2);
	} else {
		*--end = (char)('0' + value);
	}
	return end;
}

static unsigned digits_of(uint64_t value)
{
	unsigned n = 1;

	for (; value >= 10000; value /= 10000)
		n += 4;
	return n + (value >= 10) + (value >= 100) + (value >= 1000);
}

static char *hexadecimal(char text[24], uint64_t value)
{
	char *p = text + 23;

	*p = '\0';
	do {
		*--p = hex_digits[value & 15];
		value >>= 4;
	} while (value);
	return p;
}

void pmc_out_u64(struct pmc_out *out, uint64_t value)
{
	char text[20], *p;
	unsigned n;

	if (out->cap - out->len <= sizeof(text)) {
		p = decimal(text + sizeof(text), value);
		pmc_out_bytes(out, p, (size_t)(text + sizeof(text) - p));
		return;
	}
	n = digits_of(value);
	decimal(out->buf + out->len + n, value);
	out->len += n;
	out->buf[out->len] = '\0';
}

void pmc_out_i64(struct pmc_out *out, int64_t value)
{
	if (value < 0)
		pmc_out_char(out, '-');
	pmc_out_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void pmc_out_hex(struct pmc_out *out, uint64_t value)
{
	char text[24];

	pmc_out_str(out, hexadecimal(text, value));
}

void pmc_out_hex_bytes(struct pmc_out *out, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		pmc_out_char(out, hex_digits[bytes[i] >> 4]);
		pmc_out_char(out, hex_digits[bytes[i] & 15]);
	}
}

void pmc_out_fixed(struct pmc_out *out, double value, int decimals)
{
	uint64_t unit = 1, whole, part;
	char text[20], *p;
	double mag = value < 0 ? -value : value;

	if (!(mag < 1.8e19)) {
		pmc_out_char(out, '-');
		return;
	}
	for (int i = 0; i < decimals; i++)
		unit *= 10;
	whole = (uint64_t)mag;
	part = (uint64_t)((mag - (double)whole) * (double)unit + 0.5);
	if (part >= unit) {
		whole++;
		part -= unit;
	}
	if (value < 0 && (whole || part))
		pmc_out_char(out, '-');
	pmc_out_u64(out, whole);
	if (decimals > 0) {
		p = decimal(text + sizeof(text), part);
		while (text + sizeof(text) - p < decimals)
			*--p = '0';
		*--p = '.';
		pmc_out_bytes(out, p, (size_t)(text + sizeof(text) - p));
	}
}

void pmc_voutf(struct pmc_out *out, const char *format, va_list args)
{
	for (const char *p = format; *p; p++) {
		bool left = false, negative = false;
		char pad = ' ', text[24], one[2] = { 0, 0 };
		int width = 0, precision = -1, longs = 0;
		const char *s = text;
		size_t len;

		if (*p != '%') {
			const char *end = strchr(p, '%');

			len = end ? (size_t)(end - p) : strlen(p);
			pmc_out_bytes(out, p, len);
			p += len - 1;
			continue;
		}
		for (p++; *p == '-' || *p == '0'; p++) {
			left |= *p == '-';
			pad = *p == '0' ? '0' : pad;
		}
		if (*p == '*') {
			width = va_arg(args, int);
			p++;
		}
		for (; *p >= '0' && *p <= '9'; p++)
			width = width * 10 + (*p - '0');
		if (*p == '.') {
			p++;
			if (*p == '*') {
				precision = va_arg(args, int);
				p++;
			} else {
				for (precision = 0; *p >= '0' && *p <= '9'; p++)
					precision = precision * 10 + (*p - '0');
			}
		}
		for (; *p == 'l' || *p == 'z'; p++)
			longs++;
		switch (*p) {
		case 's':
			s = va_arg(args, const char *);
			s = s ? s : "(null)";
			break;
		case 'c':
			one[0] = (char)va_arg(args, int);
			s = one;
			break;
		case 'd':
		case 'i': {
			long long v = longs > 1 ? va_arg(args, long long) :
				      longs	? va_arg(args, long) :
						  va_arg(args, int);

			negative = v < 0;
			text[23] = '\0';
			s = decimal(text + 23, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
			break;
		}
		case 'u':
		case 'x': {
			unsigned long long v = longs > 1 ? va_arg(args, unsigned long long) :
					       longs	 ? va_arg(args, unsigned long) :
							   va_arg(args, unsigned int);

			text[23] = '\0';
			s = *p == 'x' ? hexadecimal(text, v) : decimal(text + 23, v);
			break;
		}
		case '%':
			s = "%";
			break;
		default: /* an unknown conversion: its argument has an unknown size */
			pmc_out_str(out, "%?");
			return;
		}
		len = precision >= 0 ? strnlen(s, (size_t)precision) : strlen(s);
		width -= (int)len + negative;
		if (negative && pad == '0')
			pmc_out_char(out, '-');
		if (!left)
			pmc_out_pad(out, pad, width);
		if (negative && pad != '0')
			pmc_out_char(out, '-');
		pmc_out_bytes(out, s, len);
		if (left)
			pmc_out_pad(out, ' ', width);
	}
}

void pmc_outf(struct pmc_out *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pmc_voutf(out, format, args);
	va_end(args);
}
