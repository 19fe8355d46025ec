/* SPDX-License-Identifier: MIT */
/* nearest.c - the existing name nearest to a mistyped event. */
#include "agent/core/event/source.h"
#include "agent/core/base/out.h"

#include <string.h>

void event_nearest_init(struct event_nearest *nearest, struct event_span word)
{
	pmc_nearest_init(&nearest->best, word.at, word.len);
	nearest->name[0] = '\0';
}

void event_nearest_try(struct event_nearest *nearest, const char *prefix, const char *name,
		       const char *suffix)
{
	struct pmc_out out;

	if (!pmc_nearest_try(&nearest->best, name))
		return;
	pmc_out_to_mem(&out, nearest->name, sizeof(nearest->name));
	pmc_outf(&out, "%s%s%s", prefix, name, suffix);
}

static struct event_span word_of(const struct event_nearest *nearest)
{
	return (struct event_span){ nearest->best.word, nearest->best.len };
}

static void try_builtin(const struct pmc_builtin *row, void *arg)
{
	event_nearest_try(arg, "", row->name, "");
}

/* A directory whose entries are compared; a suggestion is prefix entry suffix. */
struct search {
	struct event_nearest *nearest;
	const char *root, *below; /* root/ENTRY/below is searched for each ENTRY of root */
	char prefix[EVENT_NAME_MAX];
	const char *suffix;
};

static void try_entry(const char *name, void *arg)
{
	struct search *search = arg;
	size_t len = strlen(name);

	/* .scale and .unit are attributes of an event. */
	if (!memchr(name, '.', len))
		event_nearest_try(search->nearest, search->prefix, name, search->suffix);
}

static void search_pmu(const char *pmu, void *arg)
{
	struct search *search = arg;
	char path[PMC_PATH_MAX];
	struct pmc_out out;

	pmc_out_to_mem(&out, search->prefix, sizeof(search->prefix));
	pmc_outf(&out, "%s/", pmu);
	pmc_out_to_mem(&out, path, sizeof(path));
	pmc_outf(&out, "%s/%s/events", search->root, pmu);
	if (!out.error)
		pmc_dir_visit(path, try_entry, search);
}

static void search_tracepoints(struct event_nearest *nearest, const struct pmc_event_roots *roots)
{
	struct event_span name = word_of(nearest), sys = event_split(&name, ':');
	struct search search = { .nearest = nearest, .suffix = "" };
	char path[PMC_PATH_MAX];
	struct event_nearest inner;
	struct pmc_out out;

	if (!event_is_file_name(sys) || !event_is_file_name(name))
		return;
	pmc_out_to_mem(&out, search.prefix, sizeof(search.prefix));
	pmc_outf(&out, "%.*s:", (int)sys.len, sys.at);
	pmc_out_to_mem(&out, path, sizeof(path));
	pmc_outf(&out, "%s/events/%.*s", event_tracefs(roots), (int)sys.len, sys.at);
	if (out.error)
		return;
	event_nearest_init(&inner, name);
	search.nearest = &inner;
	pmc_dir_visit(path, try_entry, &search);
	if (inner.name[0])
		*nearest = inner;
}

void event_nearest_set(struct event_nearest *nearest)
{
	for (unsigned i = 0; i < pmc_n_event_sets; i++)
		event_nearest_try(nearest, "@", pmc_event_sets[i].name, "");
}

void event_nearest_any(struct event_nearest *nearest, const struct pmc_event_roots *roots)
{
	struct search search = { .nearest = nearest, .root = roots->sysfs, .suffix = "/" };
	struct event_span tail = word_of(nearest), head = event_split(&tail, ':');

	if (tail.len) {
		search_tracepoints(nearest, roots);
		/* It may be a mistyped built-in name with a modifier. */
		if (!nearest->name[0])
			event_nearest_init(nearest, head);
	}
	if (nearest->name[0])
		return;
	pmc_builtins_each(try_builtin, nearest);
	event_nearest_set(nearest);
	pmc_dir_visit(roots->sysfs, search_pmu, &search);
}

const char *event_nearest_text(struct event_nearest *nearest)
{
	struct pmc_out out;

	pmc_out_to_mem(&out, nearest->text, sizeof(nearest->text));
	if (nearest->name[0])
		pmc_outf(&out, "; nearest is '%s'", nearest->name);
	return nearest->text;
}
