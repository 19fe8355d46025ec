/* SPDX-License-Identifier: MIT */
/* out.c - see out.h. Async-signal-safe; saves no errno (its callers at the edge do). */
#include "agent/core/base/out.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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
		long n = syscall(SYS_write, out->fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			out->error = n < 0 ? -errno : -EIO;
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

void pmc_out_bytes(struct pmc_out *out, const char *bytes, size_t len)
{
	if (out->fd < 0) {
		size_t room = out->cap - 1 - out->len;

		if (len > room) {
			out->error = out->error ? out->error : -ENOSPC;
			len = room;
		}
		memcpy(out->buf + out->len, bytes, len);
		out->len += len;
		out->buf[out->len] = '\0';
		return;
	}
	if (len > out->cap - out->len) {
		pmc_out_flush(out);
		if (len > out->cap) {
			drain(out, bytes, len);
			return;
		}
	}
	memcpy(out->buf + out->len, bytes, len);
	out->len += len;
}

void pmc_out_str(struct pmc_out *out, const char *text)
{
	pmc_out_bytes(out, text, strlen(text));
}

void pmc_out_char(struct pmc_out *out, char c)
{
	pmc_out_bytes(out, &c, 1);
}

void pmc_out_pad(struct pmc_out *out, char c, int count)
{
	while (count-- > 0)
		pmc_out_char(out, c);
}

static const char hex_digits[] = "0123456789abcdef";

/* Digits of value, written to the end of text[24]; returns where they start. */
static const char *digits(char text[24], uint64_t value, unsigned base)
{
	char *p = text + 23;

	*p = '\0';
	do {
		*--p = hex_digits[value % base];
		value /= base;
	} while (value);
	return p;
}

void pmc_out_u64(struct pmc_out *out, uint64_t value)
{
	char text[24];

	pmc_out_str(out, digits(text, value, 10));
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

	pmc_out_str(out, digits(text, value, 16));
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
	char text[24];
	const char *p;

	if (!(value > -1.8e19 && value < 1.8e19)) {
		pmc_out_char(out, '-');
		return;
	}
	for (int i = 0; i < decimals; i++)
		unit *= 10;
	double mag = value < 0 ? -value : value;

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
		p = digits(text, part, 10);
		pmc_out_char(out, '.');
		pmc_out_pad(out, '0', decimals - (int)strlen(p));
		pmc_out_str(out, p);
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
			s = digits(text, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10);
			break;
		}
		case 'u':
		case 'x': {
			unsigned long long v = longs > 1 ? va_arg(args, unsigned long long) :
					       longs	 ? va_arg(args, unsigned long) :
							   va_arg(args, unsigned int);

			s = digits(text, v, *p == 'x' ? 16 : 10);
			break;
		}
		case '%':
			s = "%";
			break;
		default: /* a format of our own that we do not know: show it, stop */
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
