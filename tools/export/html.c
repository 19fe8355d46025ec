/* SPDX-License-Identifier: MIT */
/*
 * html.c - a page with tables and flame graphs that needs nothing but a browser.
 *
 * Its text is in page.html, page.css and page.js; the data is JSON in a script element, in which
 * strings have no < (pmc_out.in_html), so no name can end it.
 */
#include "tools/view/report.h"
#include "tools/export/html.h"

#include <errno.h>

/* Made by the Makefile; the line "@data@" stands for the data. */
static const char page[] = {
#include <page.inc>
};

static int put_table(struct export *export, struct pmc_json *json, const char *name,
		     enum pmc_fold_by by)
{
	const struct pmc_report_options options = {
		.by = by,
		.top = HTML_ROWS_MOST,
		.cells = true,
		.screen.width = 1 << 20, /* every column fits */
	};
	int error;

	pmc_json_line(json);
	pmc_json_object(json, NULL);
	pmc_json_str(json, "by", name);
	pmc_out_str(export->out, ",\"table\":");
	error = pmc_report(export->profile, &options, export->out, NULL);
	pmc_json_object_end(json);
	return error;
}

static int put_tables(struct export *export, struct pmc_json *json)
{
	int error;

	pmc_json_array(json, "tables");
	error = put_table(export, json, "thread", PMC_BY_THREAD);
	if (!error)
		error = put_table(export, json, "pool", PMC_BY_POOL);
	if (!error && export->profile->n_processes > 1)
		error = put_table(export, json, "process", PMC_BY_PROCESS);
	if (!error && export->profile->n_regions)
		error = put_table(export, json, "region", PMC_BY_REGION);
	pmc_json_array_end(json);
	return error;
}

/* Processes are in the order of their hosts. */
static void put_hosts(const struct export *export, struct pmc_json *json)
{
	const struct pmc_profile *profile = export->profile;
	const char *last = "";

	pmc_json_array(json, "hosts");
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		const char *host = profile->processes[i]->host;

		if (host[0] && strcmp(host, last) != 0)
			pmc_json_str(json, NULL, host);
		last = host;
	}
	pmc_json_array_end(json);
}

static void put_files(const struct export *export, struct pmc_json *json)
{
	pmc_json_array(json, "files");
	for (unsigned i = 0; i < export->n_files; i++)
		pmc_json_str(json, NULL, export->files[i]);
	pmc_json_array_end(json);
}

/* A process that calls exec has several images, each with a row of its own. */
static uint64_t count_processes(const struct pmc_profile *profile)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < profile->n_processes; i++)
		n += profile->processes[i]->origin == profile->processes[i];
	return n;
}

static int put_data(struct export *export)
{
	struct pmc_json json;
	int error;

	pmc_json_init(&json, export->out, false);
	pmc_json_object(&json, NULL);
	pmc_json_str(&json, "pmctl", PMC_VERSION);
	pmc_json_u64(&json, "rows_most", HTML_ROWS_MOST);
	pmc_json_u64(&json, "threads_most", HTML_THREADS_MOST);
	pmc_json_u64(&json, "processes", count_processes(export->profile));
	put_hosts(export, &json);
	put_files(export, &json);
	error = put_tables(export, &json);
	if (!error)
		error = html_flames(export, &json);
	pmc_json_object_end(&json);
	return error;
}

int export_html(struct export *export)
{
	static const char mark[] = "@data@\n";
	const char *data = strstr(page, mark);
	int error;

	if (!data)
		return -EINVAL;
	pmc_out_bytes(export->out, page, (size_t)(data - page));
	export->out->in_html = true;
	error = put_data(export);
	export->out->in_html = false;
	pmc_out_str(export->out, "\n");
	pmc_out_str(export->out, data + sizeof(mark) - 1);
	return error == export->out->error ? 0 : error;
}
