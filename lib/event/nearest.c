/* SPDX-License-Identifier: MIT */
/* nearest.c - the existing name nearest to a mistyped event. */
#include "lib/event/source.h"
#include "lib/base/out.h"

#include <string.h>

void event_nearest_init(struct event_nearest *nearest, const struct pmc_event_roots *roots,
			struct event_span word)
{
	*nearest = (struct event_nearest){ .roots = roots, .suffix = "" };
	pmc_nearest_init(&nearest->best, word.at, word.len);
}

void event_nearest_try(const char *name, void *arg)
{
	struct event_nearest *nearest = arg;
	struct pmc_out out;

	/* energy-pkg.scale and .unit are attributes of an event. */
	if (strchr(name, '.') || !pmc_nearest_try(&nearest->best, name))
		return;
	pmc_out_to_mem(&out, nearest->text, sizeof(nearest->text));
	pmc_outf(&out, "; nearest is '%s%s%s'", nearest->prefix, name, nearest->suffix);
}

static void suggest_behind(struct event_nearest *nearest, struct event_span prefix, char c)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, nearest->prefix, sizeof(nearest->prefix));
	pmc_out_bytes(&out, prefix.at, prefix.len);
	pmc_out_char(&out, c);
}

static void try_builtin(const struct pmc_builtin *row, void *arg)
{
	event_nearest_try(row->name, arg);
}

static void try_pmu(const char *pmu, void *arg)
{
	struct event_nearest *nearest = arg;

	suggest_behind(nearest, event_span_of(pmu), '/');
	nearest->suffix = "/";
	pmc_dir_visit(event_nearest_try, nearest, "%s/%s/events", nearest->roots->sysfs, pmu);
}

void event_nearest_set(struct event_nearest *nearest)
{
	suggest_behind(nearest, event_span_of(""), '@');
	for (unsigned i = 0; i < pmc_n_event_sets; i++)
		event_nearest_try(pmc_event_sets[i].name, nearest);
}

static void try_tracepoint(const char *name, void *arg)
{
	/* Of the whole subsystem. */
	if (strcmp(name, "enable") != 0 && strcmp(name, "filter") != 0)
		event_nearest_try(name, arg);
}

static void try_subsystem(const char *system, void *arg)
{
	struct event_nearest *nearest = arg;

	suggest_behind(nearest, event_span_of(system), ':');
	nearest->suffix = "";
	pmc_dir_visit(try_tracepoint, nearest, "%s/events/%s", event_tracefs(nearest->roots),
		      system);
}

void event_nearest_any(struct event_nearest *nearest, const struct pmc_event_roots *roots,
		       struct event_span word)
{
	struct event_span name = word, head = event_split(&name, ':');

	if (event_is_file_name(head) && event_is_file_name(name)) {
		event_nearest_init(nearest, roots, name);
		suggest_behind(nearest, head, ':');
		pmc_dir_visit(try_tracepoint, nearest, "%s/events/%.*s", event_tracefs(roots),
			      (int)head.len, head.at);
		if (nearest->text[0])
			return;
	}
	/* With ':' it may be a mistyped built-in name with a modifier. */
	event_nearest_init(nearest, roots, head);
	pmc_builtins_each(try_builtin, nearest);
	event_nearest_set(nearest);
	pmc_dir_visit(try_pmu, nearest, "%s", roots->sysfs);
	if (!name.len)
		pmc_dir_visit(try_subsystem, nearest, "%s/events", event_tracefs(roots));
}
