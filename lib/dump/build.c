/* SPDX-License-Identifier: MIT */
/* build.c - the parts of each frame type; see build.h. */
#include "lib/dump/build.h"

#include <string.h>

static void put_text(struct pmc_frame_buf *buf, const char *text)
{
	pmc_frame_str(buf, text, text ? strlen(text) : 0);
}

uint64_t pmc_build_process(struct pmc_frame_buf *buf, const uint8_t identity[16], uint64_t snapshot,
			   const struct pmc_process_fixed *fixed,
			   const struct pmc_process_text *text)
{
	pmc_frame_begin(buf, PMC_FRAME_PROCESS, identity, snapshot, fixed, sizeof(*fixed));
	put_text(buf, text->host);
	put_text(buf, text->boot_id);
	put_text(buf, text->exe);
	put_text(buf, text->cmdline);
	return pmc_frame_end(buf);
}

uint64_t pmc_build_note(struct pmc_frame_buf *buf, const uint8_t identity[16], uint64_t snapshot,
			const struct pmc_note_fixed *fixed, const char *text)
{
	pmc_frame_begin(buf, PMC_FRAME_NOTE, identity, snapshot, fixed, sizeof(*fixed));
	put_text(buf, text);
	return pmc_frame_end(buf);
}

uint64_t pmc_build_site(struct pmc_frame_buf *buf, uint64_t offset, const char *module,
			const char *symbol)
{
	const struct pmc_site_fixed fixed = { .offset = offset };

	pmc_frame_begin(buf, PMC_FRAME_SITE, NULL, 0, &fixed, sizeof(fixed));
	pmc_frame_str(buf, module, strnlen(module, 3000));
	pmc_frame_str(buf, symbol, strnlen(symbol, 900));
	return pmc_frame_end(buf);
}

uint64_t pmc_build_module(struct pmc_frame_buf *buf, const char *path, const void *build_id,
			  size_t build_id_len)
{
	const struct pmc_module_fixed fixed = { 0 };

	pmc_frame_begin(buf, PMC_FRAME_MODULE, NULL, 0, &fixed, sizeof(fixed));
	pmc_frame_str(buf, path, strnlen(path, 3000));
	pmc_frame_str(buf, build_id, build_id_len < 64 ? build_id_len : 64);
	return pmc_frame_end(buf);
}

void pmc_begin_eventset(struct pmc_frame_buf *buf, unsigned n_events, unsigned n_groups)
{
	const struct pmc_eventset_fixed fixed = {
		.n_events = (uint16_t)n_events,
		.n_groups = (uint16_t)n_groups,
	};

	pmc_frame_begin(buf, PMC_FRAME_EVENTSET, NULL, 0, &fixed, sizeof(fixed));
}

void pmc_put_event(struct pmc_frame_buf *buf, const struct pmc_event_def *def, const char *name,
		   const char *unit, const char *core_type)
{
	pmc_frame_bytes(buf, def, sizeof(*def));
	put_text(buf, name);
	put_text(buf, unit);
	put_text(buf, core_type);
}

struct pmc_thread_fixed *pmc_begin_thread(struct pmc_frame_buf *buf, const uint8_t identity[16],
					  uint64_t snapshot, const struct pmc_thread_fixed *fixed)
{
	return pmc_frame_begin(buf, PMC_FRAME_THREAD, identity, snapshot, fixed,
			       pmc_thread_bytes(fixed));
}

void pmc_put_stack(struct pmc_frame_buf *buf, const struct pmc_stack_def *def,
		   const uint64_t *frames)
{
	pmc_frame_bytes(buf, def, sizeof(*def));
	pmc_frame_bytes(buf, frames, def->depth * sizeof(*frames));
}

void pmc_put_place(struct pmc_frame_buf *buf, const struct pmc_place_def *def,
		   const struct pmc_place_function *functions)
{
	pmc_frame_bytes(buf, def, sizeof(*def));
	pmc_frame_bytes(buf, functions, def->n_functions * sizeof(*functions));
}

uint64_t *pmc_put_reading(struct pmc_frame_buf *buf, const struct pmc_reading *reading,
			  const uint64_t *values)
{
	const size_t bytes = reading->n * sizeof(*values);
	struct pmc_reading *to = pmc_frame_room(buf, sizeof(*to) + bytes);

	if (!to)
		return NULL;
	*to = *reading;
	if (values && bytes)
		memcpy(to + 1, values, bytes);
	return (uint64_t *)(void *)(to + 1);
}
