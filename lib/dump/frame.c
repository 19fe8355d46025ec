/* SPDX-License-Identifier: MIT */
/* frame.c - builds frames without allocation and finds them in untrusted bytes; see frame.h. */
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/dump/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Header only, one-shot hash: no run-time library, no allocation, a small stack. */
#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "dumps are little-endian, and this code copies structs as they are in memory"
#endif

#define HEAD   sizeof(struct pmc_frame_head)
#define HASHED offsetof(struct pmc_frame_head, version) /* the hash covers [HASHED, size) */

_Static_assert(sizeof(struct pmc_frame_head) == 48, "frame head as documented");
_Static_assert(sizeof(struct pmc_eventset_fixed) == 8, "fixed part as documented");
_Static_assert(sizeof(struct pmc_event_def) == 56, "event as documented");
_Static_assert(sizeof(struct pmc_site_fixed) == 8, "fixed part as documented");
_Static_assert(sizeof(struct pmc_reading) == 24, "reading as documented");
_Static_assert(sizeof(struct pmc_process_fixed) == 192, "fixed part as documented");
_Static_assert(sizeof(struct pmc_thread_fixed) == 152, "fixed part as documented");
_Static_assert(sizeof(struct pmc_total_fixed) == 24, "fixed part as documented");
_Static_assert(sizeof(struct pmc_note_fixed) == 16, "fixed part as documented");
_Static_assert(sizeof(struct pmc_region_fixed) == 104, "fixed part as documented");
_Static_assert(sizeof(struct pmc_module_fixed) == 8, "fixed part as documented");
_Static_assert(sizeof(struct pmc_stacks_fixed) == 8, "fixed part as documented");
_Static_assert(sizeof(struct pmc_stack_def) == 8, "stack as documented");
_Static_assert(sizeof(struct pmc_samples_fixed) == 88, "fixed part as documented");
_Static_assert(sizeof(struct pmc_sample) == 16, "sample as documented");

static const uint8_t magic[PMC_MAGIC_BYTES] = { PMC_FRAME_MAGIC_0, PMC_FRAME_MAGIC_1,
						PMC_FRAME_MAGIC_2, PMC_FRAME_MAGIC_3 };

static uint64_t frame_hash(const uint8_t *bytes, size_t size)
{
	return XXH3_64bits(bytes + HASHED, size - HASHED);
}

/* ---- building ---------------------------------------------------------------------------*/
void pmc_frame_buf_init(struct pmc_frame_buf *buf, void *data, size_t cap)
{
	*buf = (struct pmc_frame_buf){ .data = data, .cap = cap & ~(size_t)7 };
}

void *pmc_frame_room(struct pmc_frame_buf *buf, size_t len)
{
	uint8_t *at = buf->data + buf->len;

	if (buf->overflow || len > buf->cap - buf->len ||
	    len > PMC_FRAME_MAX_BYTES - (buf->len - buf->start)) {
		buf->overflow = true;
		return NULL;
	}
	buf->len += len;
	return at;
}

void *pmc_frame_begin(struct pmc_frame_buf *buf, enum pmc_frame_type type,
		      const uint8_t identity[16], uint64_t snapshot, const void *fixed,
		      size_t fixed_bytes)
{
	struct pmc_frame_head head = {
		.version = PMC_DUMP_VERSION,
		.type = (uint8_t)type,
		.fixed = (uint16_t)fixed_bytes,
		.snapshot = snapshot,
	};
	uint8_t *at;

	buf->start = buf->len;
	buf->overflow = fixed_bytes % 8 || fixed_bytes > UINT16_MAX;
	at = pmc_frame_room(buf, HEAD + fixed_bytes);
	if (!at)
		return NULL;
	memcpy(head.magic, magic, sizeof(magic));
	if (identity)
		memcpy(head.identity, identity, sizeof(head.identity));
	memcpy(at, &head, HEAD);
	if (fixed_bytes)
		memcpy(at + HEAD, fixed, fixed_bytes);
	return at + HEAD;
}

void pmc_frame_bytes(struct pmc_frame_buf *buf, const void *bytes, size_t len)
{
	uint8_t *at;

	if (len % 8) {
		buf->overflow = true;
		return;
	}
	at = pmc_frame_room(buf, len);
	if (at && len)
		memcpy(at, bytes, len);
}

void pmc_frame_str(struct pmc_frame_buf *buf, const char *text, size_t len)
{
	const struct pmc_str str = { .len = (uint32_t)len };
	uint8_t *at;
	size_t padded;

	if (len > PMC_FRAME_MAX_BYTES) {
		buf->overflow = true;
		return;
	}
	padded = (sizeof(str) + len + 7) & ~(size_t)7;
	at = pmc_frame_room(buf, padded);
	if (!at)
		return;
	memset(at + padded - 8, 0, 8);
	memcpy(at, &str, sizeof(str));
	if (len)
		memcpy(at + sizeof(str), text, len);
}

uint64_t pmc_frame_end(struct pmc_frame_buf *buf)
{
	uint8_t *frame = buf->data + buf->start;
	uint32_t size;
	uint64_t hash;

	if (buf->overflow) {
		pmc_frame_drop(buf);
		return 0;
	}
	size = (uint32_t)(buf->len - buf->start);
	hash = frame_hash(frame, size);
	memcpy(frame + offsetof(struct pmc_frame_head, size), &size, sizeof(size));
	memcpy(frame + offsetof(struct pmc_frame_head, hash), &hash, sizeof(hash));
	buf->start = buf->len;
	return hash;
}

uint64_t pmc_frame_content(const struct pmc_frame_buf *buf)
{
	const uint8_t *frame = buf->data + buf->start;

	return buf->overflow ? 0 : XXH3_64bits(frame + HEAD, buf->len - buf->start - HEAD);
}

void pmc_frame_drop(struct pmc_frame_buf *buf)
{
	buf->len = buf->start;
	buf->overflow = false;
}

/* ---- the parts of each frame type --------------------------------------------------------- */

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
	put_text(buf, text->labels);
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
	size_t bytes = offsetof(struct pmc_thread_fixed, off_ns);

	if (fixed->flags & PMC_THREAD_DELAY)
		bytes = sizeof(*fixed);
	else if (fixed->off_ns || fixed->reset_ns)
		bytes = offsetof(struct pmc_thread_fixed, delay_ns);
	return pmc_frame_begin(buf, PMC_FRAME_THREAD, identity, snapshot, fixed, bytes);
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

/* calls * cost, added to *sum. */
static void add_times(uint64_t *sum, uint64_t calls, uint64_t cost)
{
	uint64_t product;

	pmc_add_sat(sum, __builtin_mul_overflow(calls, cost, &product) ? UINT64_MAX : product);
}

uint64_t pmc_region_overhead(const struct pmc_region_fixed *fixed, bool exclusive, uint64_t inside,
			     uint64_t around)
{
	uint64_t sum = 0;

	if (exclusive)
		around = pmc_sub_sat(around, inside);
	add_times(&sum, exclusive ? fixed->calls : fixed->outermost, inside);
	add_times(&sum, exclusive ? fixed->direct : fixed->nested, around);
	return sum;
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

/* ---- scanning ---------------------------------------------------------------------------*/
bool pmc_is_dump(const uint8_t *bytes, long n)
{
	return n >= PMC_MAGIC_BYTES && memcmp(bytes, magic, sizeof(magic)) == 0;
}

enum look {
	LOOK_GOOD,
	LOOK_BAD,
	LOOK_MORE, /* may become a frame when more bytes follow */
};

void pmc_frame_view(struct pmc_frame *frame, const uint8_t *bytes, size_t size)
{
	struct pmc_frame_head *head = &frame->head;

	memcpy(head, bytes, HEAD);
	head->size = (uint32_t)size;
	if (head->fixed > size - HEAD)
		head->fixed = 0;
	frame->bytes = bytes;
	frame->fixed = bytes + HEAD;
	frame->var = frame->fixed + head->fixed;
	frame->var_len = size - HEAD - head->fixed;
}

bool pmc_frame_still(struct pmc_frame *frame, const uint8_t *bytes, size_t size, uint64_t hash)
{
	uint32_t claimed;

	pmc_frame_view(frame, bytes, size);
	memcpy(&claimed, bytes + offsetof(struct pmc_frame_head, size), sizeof(claimed));
	return memcmp(bytes, magic, sizeof(magic)) == 0 && claimed == size &&
	       frame->head.hash == hash;
}

static bool head_plausible(const struct pmc_frame_head *head)
{
	return head->size >= HEAD && head->size <= PMC_FRAME_MAX_BYTES && head->size % 8 == 0 &&
	       head->fixed % 8 == 0 && head->fixed <= head->size - HEAD && head->version != 0;
}

/*
 * Heads that claim a large frame cost its hash each, and may be forged 48 bytes apart. Small frames
 * are always verified, at most SMALL / 48 times their bytes. Of larger ones, whose hash was wrong,
 * at most FREE and then WORTH times the bytes that were passed; beyond that they count as damage.
 * No dump of agents has as much damage: their frames are small, and the bytes of a torn one are
 * hashed once.
 */
enum { SMALL = 4096, FREE = 16 << 20, WORTH = 16 };

static bool can_afford(const struct pmc_scan *scan, uint32_t size)
{
	return size <= SMALL || scan->wasted <= FREE + WORTH * (scan->passed + scan->at);
}

/* Examines the frame at bytes, of which `left` > 0 are known. */
static enum look look_at(struct pmc_scan *scan, const uint8_t *bytes, size_t left,
			 struct pmc_frame *frame)
{
	struct pmc_frame_head *head = &frame->head;

	if (memcmp(bytes, magic, left < sizeof(magic) ? left : sizeof(magic)) != 0)
		return LOOK_BAD;
	if (left < HEAD)
		return LOOK_MORE;
	memcpy(head, bytes, HEAD);
	if (!head_plausible(head))
		return LOOK_BAD;
	if (left < head->size)
		return LOOK_MORE;
	if (!can_afford(scan, head->size))
		return LOOK_BAD;
	if (frame_hash(bytes, head->size) != head->hash) {
		scan->wasted += head->size;
		return LOOK_BAD;
	}
	pmc_frame_view(frame, bytes, head->size);
	return LOOK_GOOD;
}

/* The next magic from `at` on; at the end of the data also the start of one. */
static size_t next_magic(const struct pmc_scan *scan, size_t at)
{
	const uint8_t *end = scan->data + scan->len, *p = scan->data + at;

	while ((p = memchr(p, magic[0], (size_t)(end - p)))) {
		size_t left = (size_t)(end - p);

		if (memcmp(p, magic, left < sizeof(magic) ? left : sizeof(magic)) == 0)
			return (size_t)(p - scan->data);
		p++;
	}
	return scan->len;
}

bool pmc_scan_next(struct pmc_scan *scan, struct pmc_frame *frame)
{
	while (scan->at < scan->len) {
		const uint8_t *bytes = scan->data + scan->at;
		const size_t left = scan->len - scan->at;
		const enum look look = look_at(scan, bytes, left, frame);

		if (look == LOOK_GOOD) {
			scan->at += frame->head.size;
			scan->lost = false;
			return true;
		}
		if (look == LOOK_MORE && scan->partial)
			return false;
		/* Counts each start of damage, and each magic within. */
		if (!scan->lost ||
		    (left >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0))
			scan->damaged++;
		scan->lost = true;
		scan->at = next_magic(scan, scan->at + 1);
	}
	return false;
}

int pmc_scan_fd(int fd, int (*each)(const struct pmc_frame *frame, void *arg), void *arg,
		uint64_t *damaged)
{
	const size_t room = 4 * (size_t)PMC_FRAME_MAX_BYTES;
	struct pmc_scan scan = { .partial = true };
	struct pmc_frame frame;
	int result = 0;
	uint8_t *buf = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED)
		return -ENOMEM;
	scan.data = buf;
	while (!result && scan.partial) {
		size_t left = scan.len - scan.at;
		long got;

		memmove(buf, buf + scan.at, left);
		got = pmc_fd_read(fd, buf + left, room - left);
		pmc_scan_move(&scan);
		scan.len = left;
		if (got < 0) {
			if (got != -EINTR)
				result = (int)got;
			continue;
		}
		scan.len += (size_t)got;
		scan.partial = got != 0;
		while (!result && pmc_scan_next(&scan, &frame))
			result = each(&frame, arg);
	}
	*damaged += scan.damaged;
	munmap(buf, room);
	return result;
}

/* ---- reading what is inside ---------------------------------------------------------------*/
void pmc_frame_fixed(const struct pmc_frame *frame, void *to, size_t bytes)
{
	size_t known = frame->head.fixed < bytes ? frame->head.fixed : bytes;

	memcpy(to, frame->fixed, known);
	memset((char *)to + known, 0, bytes - known);
}

void pmc_cursor_init(struct pmc_cursor *cursor, const struct pmc_frame *frame)
{
	*cursor = (struct pmc_cursor){ .at = frame->var, .left = frame->var_len };
}

bool pmc_cursor_bytes(struct pmc_cursor *cursor, void *to, size_t bytes)
{
	if (cursor->bad || bytes > cursor->left) {
		cursor->bad = true;
		memset(to, 0, bytes);
		return false;
	}
	memcpy(to, cursor->at, bytes);
	cursor->at += bytes;
	cursor->left -= bytes;
	return true;
}

bool pmc_cursor_str(struct pmc_cursor *cursor, const char **text, size_t *len)
{
	struct pmc_str str;
	size_t padded;

	*text = "";
	*len = 0;
	if (!pmc_cursor_bytes(cursor, &str, sizeof(str)))
		return false;
	padded = ((sizeof(str) + (size_t)str.len + 7) & ~(size_t)7) - sizeof(str);
	cursor->bad = str.len > PMC_FRAME_MAX_BYTES || padded > cursor->left;
	if (cursor->bad)
		return false;
	*text = (const char *)cursor->at;
	*len = str.len;
	cursor->at += padded;
	cursor->left -= padded;
	return true;
}
