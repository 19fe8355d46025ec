/* SPDX-License-Identifier: MIT */
/* page.c - the frame of pages without scripts; see page.h. */
#include "tools/cli/page.h"
#include "lib/base/utf8.h"
#include "tools/table/table.h"

#include <string.h>

/* tools/export/page.css, by the Makefile. */
static const char style[] = {
#include <style.inc>
};

void tool_page_begin(struct pmc_out *out, const char *title, const char *css)
{
	pmc_outf(out,
		 "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>\n"
		 "<meta http-equiv='Content-Security-Policy'\n content=\"default-src 'none'; "
		 "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
		 "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
		 "<meta name='color-scheme' content='light dark'>\n"
		 "<title>%s</title>\n<style>\n%s"
		 "svg { display: block; }\n"
		 "h1 { margin-bottom: .5rem; }\n"
		 "h2 { margin-top: 2rem; }\n"
		 "#notes { white-space: pre-line; }\n"
		 "text { fill: currentColor; stroke: none; font-size: 13px; }\n"
		 "%s</style></head><body>\n<h1>%s</h1>\n",
		 title, style, css, title);
}

void tool_page_text(struct pmc_out *out, const char *text, int columns)
{
	char buf[1024];
	struct pmc_out safe;

	pmc_out_to_mem(&safe, buf, sizeof(buf));
	pmc_utf8_safe(&safe, text, strlen(text), columns);
	table_put_html(out, buf, safe.len);
}

void tool_page_end(struct pmc_out *out)
{
	pmc_out_str(out, "</body></html>\n");
}
