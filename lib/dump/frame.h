/* SPDX-License-Identifier: MIT */
/*
 * frame.h - writes and reads frames of the dump format (pmc/dump.h).
 *
 * Building is async-signal-safe: a caller's buffer, no allocation, no lock. Scanning takes
 * untrusted bytes: every length is checked, nothing outside [data, data + len) is read.
 */
#pragma once

#include <pmc/dump.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- building: begin, fixed part, then variable parts in order, end -------------------- */
struct pmc_frame_buf {
	uint8_t *data; /* 8-aligned */
	size_t len, cap;
	size_t start;  /* of the frame being built */
	bool overflow; /* the frame does not fit and is dropped by pmc_frame_end */
};

void pmc_frame_buf_init(struct pmc_frame_buf *buf, void *data, size_t cap);
/* identity NULL: a shared frame, of identity 0. fixed_bytes is a multiple of 8. Returns the fixed
 * part in the frame, which may be changed until pmc_frame_end. NULL: no room. */
void *pmc_frame_begin(struct pmc_frame_buf *buf, enum pmc_frame_type type,
		      const uint8_t identity[16], uint64_t snapshot, const void *fixed,
		      size_t fixed_bytes);
/* Room for len bytes, a multiple of 8, to be filled in; NULL: no room, the frame is dropped. */
void *pmc_frame_room(struct pmc_frame_buf *buf, size_t len);
void pmc_frame_bytes(struct pmc_frame_buf *buf, const void *bytes, size_t len); /* len % 8 == 0 */
void pmc_frame_str(struct pmc_frame_buf *buf, const char *text, size_t len);
/* Fills in size and hash. Returns the hash; 0: the frame did not fit and was dropped. */
uint64_t pmc_frame_end(struct pmc_frame_buf *buf);
/* A hash of the payload of the frame being built; 0: it does not fit. */
uint64_t pmc_frame_content(const struct pmc_frame_buf *buf);
/* Discards the frame being built. */
void pmc_frame_drop(struct pmc_frame_buf *buf);

/* ---- the parts of each frame type ---------------------------------------------------------
 *
 * pmc_build_* append a whole frame and return its hash, 0 if it did not fit. Frames with a list in
 * them are started by pmc_begin_* or pmc_frame_begin: append the list with pmc_put_*, then call
 * pmc_frame_end. */
struct pmc_process_text {
	const char *host, *boot_id, *exe, *cmdline, *labels; /* NULL: unknown */
};

uint64_t pmc_build_process(struct pmc_frame_buf *buf, const uint8_t identity[16], uint64_t snapshot,
			   const struct pmc_process_fixed *fixed,
			   const struct pmc_process_text *text);
/* Codes of agent/base/notes.def: a program was executed without the agent. */
enum { PMC_NOTE_PRELOAD_LOST = 36, PMC_NOTE_EXEC_SECURE = 37 };
uint64_t pmc_build_note(struct pmc_frame_buf *buf, const uint8_t identity[16], uint64_t snapshot,
			const struct pmc_note_fixed *fixed, const char *text);
/* The module is cut after 3,000 bytes and the symbol after 900: the frame fits PMC_SITE_BYTES. */
#define PMC_SITE_BYTES 4096
uint64_t pmc_build_site(struct pmc_frame_buf *buf, uint64_t offset, const char *module,
			const char *symbol);

/* The path is cut after 3,000 bytes and the build ID after 64: the frame fits PMC_MODULE_BYTES. */
#define PMC_MODULE_BYTES 4096
uint64_t pmc_build_module(struct pmc_frame_buf *buf, const char *path, const void *build_id,
			  size_t build_id_len);

/* ---- EVENTSET: n_events times pmc_put_event --------------------------------------------- */
void pmc_begin_eventset(struct pmc_frame_buf *buf, unsigned n_events, unsigned n_groups);
void pmc_put_event(struct pmc_frame_buf *buf, const struct pmc_event_def *def, const char *name,
		   const char *unit, const char *core_type);

/* ---- THREAD, TOTAL: n_groups times pmc_put_reading; REGION: the name, and four times as many - */
/* As pmc_frame_begin, without the fields about phases and the run delay unless these are in use. */
struct pmc_thread_fixed *pmc_begin_thread(struct pmc_frame_buf *buf, const uint8_t identity[16],
					  uint64_t snapshot, const struct pmc_thread_fixed *fixed);
/* ---- STACKS: n_modules hashes by pmc_frame_bytes, n_stacks times pmc_put_stack ------------ */
void pmc_put_stack(struct pmc_frame_buf *buf, const struct pmc_stack_def *def,
		   const uint64_t *frames);
/* ---- SAMPLES: n_groups times pmc_put_reading, then n samples by pmc_frame_bytes ----------- */
/* ---- NAMES: n_texts times pmc_frame_str, then n_places times pmc_put_place ----------------- */
void pmc_put_place(struct pmc_frame_buf *buf, const struct pmc_place_def *def,
		   const struct pmc_place_function *functions);
/* Appends a reading and room for its values, filled from `values` unless that is NULL. Returns
 * where the values are. NULL: no room. */
uint64_t *pmc_put_reading(struct pmc_frame_buf *buf, const struct pmc_reading *reading,
			  const uint64_t *values);

/* The overhead of marking in the inclusive or exclusive sum of a region; see pmc/dump.h. */
uint64_t pmc_region_overhead(const struct pmc_region_fixed *fixed, bool exclusive, uint64_t inside,
			     uint64_t around);

/* ---- scanning ---------------------------------------------------------------------------*/
/* Whether a file that starts with these n bytes starts with a frame. n < 0: could not be read. */
#define PMC_MAGIC_BYTES 4
bool pmc_is_dump(const uint8_t *bytes, long n);

struct pmc_frame {
	struct pmc_frame_head head; /* a copy: frames may lie at any offset */
	const uint8_t *bytes;	    /* the whole frame, head.size bytes */
	const uint8_t *fixed;	    /* head.fixed bytes */
	const uint8_t *var;
	size_t var_len;
};

/* The frame of `size` bytes at `bytes`, which was scanned before. Reads within it, whatever was
 * written there since. */
void pmc_frame_view(struct pmc_frame *frame, const uint8_t *bytes, size_t size);

/* The same. False: the bytes have changed since the scan: the head or its hash differs. The
 * contents are not verified again. */
bool pmc_frame_still(struct pmc_frame *frame, const uint8_t *bytes, size_t size, uint64_t hash);

struct pmc_scan {
	const uint8_t *data;
	size_t len, at;
	uint64_t damaged; /* damaged frames skipped so far */
	bool partial;	  /* more data may follow: stop before an incomplete frame at the end */
	bool lost;	  /* private: `at` is in damage that is counted already */
	uint64_t passed;  /* private: bytes before `data` */
	uint64_t wasted;  /* bytes hashed in vain, of frames with a wrong hash */
};

/* Finds the next good frame. False at the end: `at` is then len, or with `partial` the start of an
 * incomplete tail of less than PMC_FRAME_MAX_BYTES. Without `partial` such a tail counts as
 * damaged. Skipped bytes count as one damaged frame per magic in them, and one more if they do not
 * begin with one. To read a stream in pieces, keep the struct, move [at, len) to the front, call
 * pmc_scan_move, set len, and clear `partial` for the last piece. */
bool pmc_scan_next(struct pmc_scan *scan, struct pmc_frame *frame);
static inline void pmc_scan_move(struct pmc_scan *scan)
{
	scan->passed += scan->at;
	scan->at = 0;
}

/* Calls `each` for every good frame from the descriptor's position to its end, and adds the number
 * of damaged ones to *damaged. 0, -errno, or what `each` returned if that was not 0. */
int pmc_scan_fd(int fd, int (*each)(const struct pmc_frame *frame, void *arg), void *arg,
		uint64_t *damaged);

/* Copies the fixed part; fields that the writer did not have are 0. */
void pmc_frame_fixed(const struct pmc_frame *frame, void *to, size_t bytes);

/* A cursor over the variable part; `bad` is set for good when something does not fit. */
struct pmc_cursor {
	const uint8_t *at;
	size_t left;
	bool bad;
};

void pmc_cursor_init(struct pmc_cursor *cursor, const struct pmc_frame *frame);
bool pmc_cursor_bytes(struct pmc_cursor *cursor, void *to, size_t bytes);
/* Points text into the frame (no NUL). */
bool pmc_cursor_str(struct pmc_cursor *cursor, const char **text, size_t *len);
