/* SPDX-License-Identifier: MIT */
/*
 * out.h - buffered text output without stdio, malloc or locale.
 *
 * Goes to a descriptor or to memory. Errors stick: check once, at pmc_out_flush. Writes are raw
 * system calls (linux/file.c), never a cancellation point.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pmc_out {
	char *buf;
	size_t len, cap;
	int fd;	   /* -1: memory; what does not fit sets error to -ENOSPC and is dropped */
	int error; /* 0 or the first -errno */
	/* Time without progress of the reader after which writing fails with -ETIMEDOUT. 0: no
	 * limit. */
	int patience_ms;
	bool to_socket; /* with a patience: a socket, of which poll says too little */
	bool in_html;	/* JSON strings are written without < and &, as HTML needs it */
};

void pmc_out_to_fd(struct pmc_out *out, int fd, char *buf, size_t cap);
/* The text in buf is always NUL-terminated (cap must be > 0). */
static inline struct pmc_out pmc_out_mem(char *buf, size_t cap)
{
	buf[0] = '\0';
	return (struct pmc_out){ .buf = buf, .cap = cap, .fd = -1 };
}
/* One whose text, out.buf, is of the block in which it is declared. */
#define PMC_OUT_MEM(bytes) pmc_out_mem((char[bytes]){ 0 }, bytes)
/* The same for one that is used again. */
void pmc_out_to_mem(struct pmc_out *out, char *buf, size_t cap);

/* Private: bytes that do not fit in the buffer. */
void pmc_out_overflow(struct pmc_out *out, const char *bytes, size_t len);

static inline void pmc_out_bytes(struct pmc_out *out, const char *bytes, size_t len)
{
	if (len >= out->cap - out->len) {
		pmc_out_overflow(out, bytes, len);
		return;
	}
	memcpy(out->buf + out->len, bytes, len);
	out->len += len;
	out->buf[out->len] = '\0';
}

static inline void pmc_out_str(struct pmc_out *out, const char *text)
{
	pmc_out_bytes(out, text, strlen(text));
}

static inline void pmc_out_char(struct pmc_out *out, char c)
{
	pmc_out_bytes(out, &c, 1);
}

void pmc_out_pad(struct pmc_out *out, char c, int count); /* count <= 0: nothing */
void pmc_out_u64(struct pmc_out *out, uint64_t value);
void pmc_out_i64(struct pmc_out *out, int64_t value);
void pmc_out_hex_bytes(struct pmc_out *out, const uint8_t *bytes, size_t len); /* two digits each */
/* The same, but g to z for 1 to 20 bytes of 0: for pmc_number_unpack(). */
void pmc_out_packed(struct pmc_out *out, const uint8_t *bytes, size_t len);
/* value with `decimals` digits after a '.', rounded half away from zero; nan and inf print as
 * "-". |value| up to 1.8e19. */
void pmc_out_fixed(struct pmc_out *out, double value, int decimals);
static inline bool pmc_out_fixed_fits(double value)
{
	return value > -1.8e19 && value < 1.8e19;
}
/* %s %.*s %c %d %i %u %x %ld %lu %lx %lld %llu %llx %zu %%, with width, '-' and '0' ('0' not for
 * negative numbers). */
void pmc_outf(struct pmc_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pmc_voutf(struct pmc_out *out, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Waits until fd is writable. Returns at once if it never will be (a pipe without a reader). */
bool pmc_out_writable(int fd, int patience_ms);
/* write(2), no cancellation point: the number of bytes, or -errno. */
long pmc_out_write(int fd, const void *bytes, size_t len);
/* To a socket, without waiting: -EAGAIN, where it has no room. */
long pmc_out_send(int fd, const void *bytes, size_t len);
/* As pmc_out_write, with SIGTTOU blocked, which would stop a background process of a terminal. */
long pmc_out_write_unstopped(int fd, const void *bytes, size_t len);
/* Writes what is buffered. Returns 0 or the first error. */
int pmc_out_flush(struct pmc_out *out);

/* ---- one line to stderr: "pmcagent: <level>: text" ---- */
enum pmc_log_level { PMC_LOG_ERROR, PMC_LOG_WARN, PMC_LOG_INFO, PMC_LOG_DEBUG };

extern enum pmc_log_level pmc_log_level;
/* Async-signal-safe; keeps errno; escapes controls; cuts lines at 1,000 bytes. */
void pmc_log(enum pmc_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
