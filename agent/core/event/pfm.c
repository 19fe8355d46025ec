/* SPDX-License-Identifier: MIT */
/*
 * pfm.c - every other event name, through libpfm4, loaded when one is met.
 *
 * In a file of its own: <perfmon/perf_event.h> clashes with <linux/perf_event.h>. libpfm4 uses
 * malloc and stdio inside; that is why nothing common comes this way.
 */
#include "agent/core/event/source.h"

#if defined(__has_include)
#if __has_include(<perfmon/pfmlib_perf_event.h>)
#define HAVE_PFM 1
#endif
#endif

#ifndef HAVE_PFM

int event_pfm(struct event_parse *parse, struct event_span name, struct pmc_event *event,
	      const char **why)
{
	(void)name;
	(void)event;
	*why = parse->roots.no_pfm ? "not built in" :
				     "not built in, and this build is without libpfm4";
	return EVENT_NOT_MINE;
}

void event_pfm_close(struct event_parse *parse)
{
	(void)parse;
}

#else

#include <dlfcn.h>
#include <perfmon/pfmlib_perf_event.h>
#include <string.h>

#define LIBRARY "libpfm.so.4"

struct functions {
	pfm_err_t (*initialize)(void);
	void (*terminate)(void);
	pfm_err_t (*encode)(const char *name, int levels, pfm_os_t os, void *arg);
};

static bool functions_of(void *library, struct functions *pfm)
{
	/* POSIX lets an object pointer become a function pointer, ISO C does not. */
	*(void **)&pfm->initialize = dlsym(library, "pfm_initialize");
	*(void **)&pfm->terminate = dlsym(library, "pfm_terminate");
	*(void **)&pfm->encode = dlsym(library, "pfm_get_os_event_encoding");
	return pfm->initialize && pfm->terminate && pfm->encode;
}

static bool library_open(struct event_pfm *state, struct functions *pfm)
{
	if (!state->tried) {
		state->tried = true;
		state->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
		state->guest = state->library;
		if (!state->library)
			state->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
		if (state->library &&
		    (!functions_of(state->library, pfm) || pfm->initialize() != PFM_SUCCESS)) {
			dlclose(state->library);
			state->library = NULL;
		}
	}
	return state->library && functions_of(state->library, pfm);
}

void event_pfm_close(struct event_parse *parse)
{
	struct event_pfm *state = &parse->pfm;
	struct functions pfm;

	if (!state->library)
		return;
	if (!state->guest && functions_of(state->library, &pfm))
		pfm.terminate();
	dlclose(state->library);
	*state = (struct event_pfm){ 0 };
}

/* What libpfm4 was made to set that no pmc_event carries: counting without it would be a lie. */
static bool is_plain(const struct perf_event_attr *attr, const pfm_perf_encode_arg_t *encoded)
{
	return attr->exclude_hv && !attr->precise_ip && !attr->sample_period && !attr->freq &&
	       !attr->pinned && !attr->exclusive && !attr->exclude_host &&
	       !attr->branch_sample_type && encoded->cpu < 0;
}

static const char *reason_of(pfm_err_t rc)
{
	switch (rc) {
	case PFM_ERR_NOTFOUND:
		return "not built in, and libpfm4 has no such event for this machine";
	case PFM_ERR_UMASK:
		return "libpfm4 knows the event, but its unit mask is missing or wrong";
	case PFM_ERR_ATTR:
		return "libpfm4 knows the event, but not one of its attributes";
	case PFM_ERR_ATTR_VAL:
		return "libpfm4 knows the event, but not the value of one of its attributes";
	case PFM_ERR_ATTR_SET:
		return "libpfm4 says that an attribute is given twice";
	case PFM_ERR_FEATCOMB:
		return "libpfm4 says that its attributes exclude each other";
	case PFM_ERR_NOTSUPP:
		return "libpfm4 knows the event, but cannot encode it for this kernel";
	default:
		return "not built in, and libpfm4 cannot encode it";
	}
}

int event_pfm(struct event_parse *parse, struct event_span name, struct pmc_event *event,
	      const char **why)
{
	struct perf_event_attr attr = { 0 };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };
	struct event_shown shown;
	struct functions pfm;
	char text[256];
	pfm_err_t rc;

	if (parse->roots.no_pfm) {
		*why = "not built in";
		return EVENT_NOT_MINE;
	}
	if (name.len >= sizeof(text)) {
		*why = "not built in, and too long for libpfm4";
		return EVENT_NOT_MINE;
	}
	if (!library_open(&parse->pfm, &pfm)) {
		*why = "not built in; libpfm4, which knows more names, cannot be loaded (Debian "
		       "package libpfm4)";
		return EVENT_NOT_MINE;
	}
	memcpy(text, name.at, name.len);
	text[name.len] = '\0';
	rc = pfm.encode(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
	if (rc != PFM_SUCCESS) {
		*why = reason_of(rc);
		return EVENT_NOT_MINE;
	}
	if (!is_plain(&attr, &arg))
		return event_fail(parse, PMC_PARSE_BAD_MODIFIER, name.at,
				  "'%s' asks libpfm4 for more than an event to count; of such "
				  "modifiers u (user) and k (kernel) are accepted",
				  event_show(&shown, name));
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

#endif
