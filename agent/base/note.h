/* SPDX-License-Identifier: MIT */
/* note.h - notes of the coverage summary: failures and special cases, counted by kind. */
#pragma once

#include "lib/dump/frame.h"

struct pmc_out;

enum agent_note {
#define X(name, code, level, text) NOTE_##name,
#include "agent/base/notes.def"
#undef X
	N_NOTES
};

/* Async-signal-safe. */
void agent_note(enum agent_note note);
/* For an attempt that was counted before it failed. Async-signal-safe. */
void agent_note_withdraw(enum agent_note note);
/* A NOTE frame for each kind that was counted: all, or those that changed since the last call. */
void agent_notes_frames(struct pmc_frame_buf *buf, uint64_t snapshot, bool all);
/* A line for each kind that was counted, for the summary. */
void agent_notes_print(struct pmc_out *out, int width);
/* In a forked child: drops the parent's notes. */
void agent_notes_forget(void);
