/* SPDX-License-Identifier: MIT */
/* out.c - see out.h. Async-signal-safe; only pmc_log() saves errno. */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void pmc_out_to_fd(struct pmc_out *out, int fd, char *buf, size_t cap)
{
	*out = (struct pmc_out){ .buf = buf, .cap = cap, .fd = fd };
}

void pmc_out_to_mem(struct pmc_out *out, char *buf, size_t cap)
{
	*out = pmc_out_mem(buf, cap);
}

/* So often poll may promise room that there is not. */
#define MOST_REFUSED 1000u

static void drain(struct pmc_out *out, const char *bytes, size_t len)
{
	unsigned refused = 0;

	while (len && !out->error) {
		/* A write of this size to a pipe that is ready does not block. */
		size_t some = out->patience_ms && len > PIPE_BUF ? PIPE_BUF : len;
		long n;

		if (out->patience_ms && !pmc_out_writable(out->fd, out->patience_ms)) {
			out->error = -ETIMEDOUT;
			return;
		}
		n = out->to_socket ? pmc_out_send(out->fd, bytes, some) :
				     pmc_out_write(out->fd, bytes, some);
		if (n == -EINTR || (n == -EAGAIN && out->patience_ms && refused++ < MOST_REFUSED))
			continue;
		if (n <= 0) {
			out->error = n < 0 ? (int)n : -EIO;
			return;
		}
		bytes += n;
		len -= (size_t)n;
		refused = 0;
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
	/* Each division waits for the one before. */
	for (; value >= 10000; value /= 10000) {
		const unsigned four = (unsigned)(value % 10000);

		end -= 4;
		memcpy(end, pairs + four / 100 * 2, 2);
		memcpy(end + 2, pairs + four % 100 * 2, 2);
	}
	if (value >= 100) {
		end -= 2;
		memcpy(end, pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, pairs + value * 2, 2);
	} else {
		*--end = (char)('0' + value);
	}
	return end;
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
	char text[20], *p = decimal(text + sizeof(text), value);

	pmc_out_bytes(out, p, (size_t)(text + sizeof(text) - p));
}

void pmc_out_i64(struct pmc_out *out, int64_t value)
{
	if (value < 0)
		pmc_out_char(out, '-');
	pmc_out_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void pmc_out_hex_bytes(struct pmc_out *out, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		pmc_out_char(out, hex_digits[bytes[i] >> 4]);
		pmc_out_char(out, hex_digits[bytes[i] & 15]);
	}
}

void pmc_out_packed(struct pmc_out *out, const uint8_t *bytes, size_t len)
{
	size_t zeros;

	for (size_t i = 0; i < len; i += zeros ? zeros : 1) {
		for (zeros = 0; zeros < 20 && i + zeros < len && !bytes[i + zeros]; zeros++)
			;
		if (zeros)
			pmc_out_char(out, (char)('g' + zeros - 1));
		else
			pmc_out_hex_bytes(out, bytes + i, 1);
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
		/* The digit in front of the others becomes the point. */
		p = decimal(text + sizeof(text), unit + part);
		*p = '.';
		pmc_out_bytes(out, p, (size_t)decimals + 1);
	}
}

struct spec {
	bool left;
	char pad;
	int width, precision; /* precision -1: none */
	int longs;
};

static int take_number(const char **p, va_list *args)
{
	int number = 0;

	if (**p == '*') {
		++*p;
		return va_arg(*args, int);
	}
	for (; pmc_is_digit(**p); ++*p)
		number = number * 10 + (**p - '0');
	return number;
}

/* Flags, width, precision and length of a conversion; what follows is its letter. */
static const char *take_spec(const char *p, struct spec *spec, va_list *args)
{
	*spec = (struct spec){ .pad = ' ', .precision = -1 };
	for (; *p == '-' || *p == '0'; p++) {
		spec->left |= *p == '-';
		spec->pad = *p == '0' ? '0' : spec->pad;
	}
	spec->width = take_number(&p, args);
	if (*p == '.') {
		p++;
		spec->precision = take_number(&p, args);
	}
	for (; *p == 'l' || *p == 'z'; p++)
		spec->longs++;
	return p;
}

/* The argument as text. NULL: an unknown conversion. */
static const char *take_argument(char conversion, int longs, va_list *args, char text[24])
{
	unsigned long long u;
	long long i;
	const char *s;
	char *number;

	switch (conversion) {
	case 's':
		s = va_arg(*args, const char *);
		return s ? s : "(null)";
	case 'c':
		text[0] = (char)va_arg(*args, int);
		text[1] = '\0';
		return text;
	case 'd':
	case 'i':
		i = longs > 1 ? va_arg(*args, long long) :
		    longs     ? va_arg(*args, long) :
				va_arg(*args, int);
		text[23] = '\0';
		number = decimal(text + 23, i < 0 ? 0 - (uint64_t)i : (uint64_t)i);
		if (i < 0)
			*--number = '-';
		return number;
	case 'u':
	case 'x':
		u = longs > 1 ? va_arg(*args, unsigned long long) :
		    longs     ? va_arg(*args, unsigned long) :
				va_arg(*args, unsigned int);
		text[23] = '\0';
		return conversion == 'x' ? hexadecimal(text, u) : decimal(text + 23, u);
	case '%':
		return "%";
	default:
		return NULL;
	}
}

void pmc_voutf(struct pmc_out *out, const char *format, va_list list)
{
	va_list args;

	/* As a parameter it may be an array, whose address is of another type. */
	va_copy(args, list);
	for (const char *p = format; *p; p++) {
		struct spec spec;
		char text[24];
		const char *s;
		size_t len;

		if (*p != '%') {
			const char *end = strchr(p, '%');

			len = end ? (size_t)(end - p) : strlen(p);
			pmc_out_bytes(out, p, len);
			p += len - 1;
			continue;
		}
		p = take_spec(p + 1, &spec, &args);
		s = take_argument(*p, spec.longs, &args, text);
		if (!s) { /* its argument has an unknown size, so the rest cannot be found */
			pmc_out_str(out, "%?");
			break;
		}
		len = spec.precision >= 0 ? strnlen(s, (size_t)spec.precision) : strlen(s);
		spec.width -= (int)len;
		if (!spec.left)
			pmc_out_pad(out, spec.pad, spec.width);
		pmc_out_bytes(out, s, len);
		if (spec.left)
			pmc_out_pad(out, ' ', spec.width);
	}
	va_end(args);
}

void pmc_outf(struct pmc_out *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pmc_voutf(out, format, args);
	va_end(args);
}

/* ---- log lines ---------------------------------------------------------------------------- */

enum pmc_log_level pmc_log_level = PMC_LOG_WARN;

/* Of its own, so that other lines take no more stack than their text. */
__attribute__((noinline)) static void escape(struct pmc_out *out)
{
	char raw[1002];
	size_t len = out->len;

	memcpy(raw, out->buf, len);
	pmc_out_to_mem(out, out->buf, out->cap);
	pmc_utf8_safe(out, raw, len, 0);
}

/* False: a write of so many bytes may exceed RLIMIT_FSIZE. */
static bool fits(int fd, size_t len)
{
	const uint64_t limit = pmc_file_limit();
	struct stat st;
	off_t at;

	if (limit == UINT64_MAX || pmc_fd_stat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return true;
	at = lseek(fd, 0, SEEK_CUR);
	return (uint64_t)(st.st_size > at ? st.st_size : at) + len <= limit;
}

void pmc_log(enum pmc_log_level level, const char *format, ...)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	int saved = errno;
	struct pmc_out out;
	char text[1002];
	va_list args;

	if (level > pmc_log_level)
		return;
	pmc_out_to_mem(&out, text, sizeof(text) - 1);
	pmc_outf(&out, "pmcagent: %s: ", names[level]);
	va_start(args, format);
	pmc_voutf(&out, format, args);
	va_end(args);
	/* Values of variables and paths may hold the escape sequences of a terminal. */
	if (!pmc_utf8_is_safe(text))
		escape(&out);
	text[out.len++] = '\n';
	/* A line that would block the program, or raise SIGPIPE or SIGXFSZ, is dropped. */
	if (pmc_out_writable(2, 0) && fits(2, out.len))
		(void)pmc_out_write_unstopped(2, text, out.len);
	errno = saved;
}
