/* SPDX-License-Identifier: MIT */
/* agent.c - defines the state of agent.h, and counts notes. */
#include "agent/base/agent.h"
#include "lib/base/show.h"

struct agent agent;
AGENT_API struct pmc_control pmc_agent_control;
struct registry agent_registry;

__attribute__((noinline)) uint64_t agent_overhead_clock(void)
{
	uint64_t ns;

	pmc_thread_cpu_ns(0, &ns);
	return ns;
}

/* ---- notes --------------------------------------------------------------------------------- */

static const struct {
	uint8_t code, level;
} notes[] = {
#define X(name, code, level, text) { code, level },
#include "agent/base/notes.def"
#undef X
};
/* One after the other, each with its NUL: a pointer to each would be relocated at every start. */
static const char texts[] =
#define X(name, code, level, text) text "\0"
#include "agent/base/notes.def"
#undef X
	;

static _Atomic uint64_t counts[N_NOTES], written[N_NOTES];

void agent_note(enum agent_note note)
{
	atomic_fetch_add(&counts[note], 1);
}

void agent_note_withdraw(enum agent_note note)
{
	atomic_fetch_sub(&counts[note], 1);
}

static const char *text_of(unsigned note)
{
	const char *text = texts;

	while (note--)
		text += strlen(text) + 1;
	return text;
}

void agent_notes_frames(struct pmc_frame_buf *buf, uint64_t snapshot, bool all)
{
	for (unsigned i = 0; i < N_NOTES; i++) {
		struct pmc_note_fixed fixed = {
			.code = notes[i].code,
			.level = notes[i].level,
			.count = atomic_load(&counts[i]),
		};

		if (atomic_exchange(&written[i], fixed.count) != fixed.count ||
		    (all && fixed.count))
			pmc_build_note(buf, agent.identity, snapshot, &fixed, text_of(i));
	}
}

void agent_notes_print(struct pmc_out *out, int width)
{
	char text[512];
	struct pmc_out line;

	for (unsigned i = 0; i < N_NOTES; i++) {
		const uint64_t count = atomic_load(&counts[i]);

		if (!count)
			continue;
		pmc_out_to_mem(&line, text, sizeof(text));
		pmc_outf(&line, " note: %s", text_of(i));
		if (count > 1)
			pmc_outf(&line, " (%llu times)", (unsigned long long)count);
		pmc_show_wrapped(out, text, width);
	}
}

void agent_notes_forget(void)
{
	memset((void *)counts, 0, sizeof(counts));
	memset((void *)written, 0, sizeof(written));
}
