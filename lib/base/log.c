/* SPDX-License-Identifier: MIT */
/* log.c - see log.h. */
#include "lib/base/log.h"
#include "lib/base/utf8.h"

#include <errno.h>
#include <string.h>

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
	if (pmc_out_writable(2, 0) && pmc_out_fits(2, out.len))
		(void)pmc_out_write(2, text, out.len);
	errno = saved;
}
