/* SPDX-License-Identifier: MIT */
/*
 * pfm.c - names that only libpfm4 knows, which is loaded for the first of them.
 *
 * Its headers are not needed: the part of its stable ABI that is used stands here. libpfm4 calls
 * malloc and stdio: common names must not need it.
 */
#include "lib/event/source.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* perfmon/pfmlib.h: privilege levels, pfm_os_t, pfm_err_t. */
enum { PFM_PLM0 = 1, PFM_PLM3 = 8, PFM_OS_PERF_EVENT_EXT = 2, PFM_SUCCESS = 0 };

/* pfm_perf_encode_arg_t of perfmon/pfmlib_perf_event.h. */
struct encoded {
	struct perf_event_attr *attr;
	char **full_name;
	size_t size;
	int index, cpu, flags, pad;
};

#define LIBRARY "libpfm.so.4"

static bool find_functions(struct event_pfm *pfm)
{
	/* POSIX lets an object pointer become a function pointer, ISO C does not. */
	*(void **)&pfm->initialize = dlsym(pfm->library, "pfm_initialize");
	*(void **)&pfm->terminate = dlsym(pfm->library, "pfm_terminate");
	*(void **)&pfm->encode = dlsym(pfm->library, "pfm_get_os_event_encoding");
	*(void **)&pfm->strerror = dlsym(pfm->library, "pfm_strerror");
	return pfm->initialize && pfm->terminate && pfm->encode && pfm->strerror;
}

static bool library_open(struct event_pfm *pfm)
{
	if (pfm->tried)
		return pfm->library;
	pfm->tried = true;
	pfm->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	pfm->shared = pfm->library;
	if (!pfm->library)
		pfm->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (pfm->library && (!find_functions(pfm) || pfm->initialize() != PFM_SUCCESS)) {
		dlclose(pfm->library);
		pfm->library = NULL;
	}
	return pfm->library;
}

void event_pfm_close(struct event_parse *parse)
{
	struct event_pfm *pfm = &parse->pfm;

	if (!pfm->library)
		return;
	if (!pfm->shared)
		pfm->terminate();
	dlclose(pfm->library);
	*pfm = (struct event_pfm){ 0 };
}

/* Whether a modifier (:h, :uh, :h=1) asks for the hypervisor. Where libpfm4 does not know it on the
 * processor, no event excludes it. */
static bool has_hypervisor(const char *name)
{
	while ((name = strchr(name, ':'))) {
		const size_t letters = strspn(++name, "ukh");

		if (memchr(name, 'h', letters) && (!name[letters] || strchr(":=", name[letters])))
			return true;
	}
	return false;
}

/* Whether a pmc_event carries all that the name asked libpfm4 for. */
static bool is_plain(const char *name, const struct perf_event_attr *attr,
		     const struct encoded *encoded)
{
	return !has_hypervisor(name) && !attr->precise_ip && !attr->sample_period && !attr->freq &&
	       !attr->pinned && !attr->exclusive && !attr->exclude_host &&
	       !attr->branch_sample_type && encoded->cpu < 0;
}

int event_pfm(struct event_parse *parse, struct event_span name, struct pmc_event *event,
	      const char **why)
{
	struct perf_event_attr attr = { 0 };
	struct encoded arg = { .attr = &attr, .size = sizeof(arg) };
	char text[256];
	int rc;

	*why = NULL;
	if (parse->roots.no_pfm)
		return EVENT_NOT_MINE;
	*why = "name too long";
	if (name.len >= sizeof(text))
		return EVENT_NOT_MINE;
	*why = "cannot be loaded; install the package libpfm4";
	if (!library_open(&parse->pfm))
		return EVENT_NOT_MINE;
	memcpy(text, name.at, name.len);
	text[name.len] = '\0';
	rc = parse->pfm.encode(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
	*why = parse->pfm.strerror(rc);
	if (rc != PFM_SUCCESS)
		return EVENT_NOT_MINE;
	if (!is_plain(text, &attr, &arg))
		return event_fail(parse, -EINVAL, name.at,
				  "'%.*s': of libpfm4's modifiers only u (user) and k (kernel) are "
				  "supported",
				  EVENT_SHOW(name));
	event->type = attr.type;
	event->config = attr.config;
	event->config1 = attr.config1;
	event->config2 = attr.config2;
	if (attr.exclude_user || attr.exclude_kernel) {
		event->exclude_user = attr.exclude_user;
		event->exclude_kernel = attr.exclude_kernel;
		event->asked_scope = true;
	}
	return EVENT_FOUND;
}
