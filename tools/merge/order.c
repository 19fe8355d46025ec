/* SPDX-License-Identifier: MIT */
/* order.c - the order of frames, and which frame makes which obsolete. */
#include "tools/merge/sort.h"

#include <string.h>

/* The subject of a frame within its process image, and its time. */
struct key {
	unsigned kind; /* frame type; 0: no later frame replaces it */
	uint64_t number;
	uint64_t time_ns; /* not compared as part of the subject */
	const char *text;
	size_t len;
};

static void key_of(const struct pmc_frame *frame, struct key *key)
{
	struct pmc_process_fixed process;
	struct pmc_thread_fixed thread;
	struct pmc_total_fixed total;
	struct pmc_note_fixed note;
	struct pmc_region_fixed region;
	struct pmc_samples_fixed samples;
	struct pmc_cursor cursor;

	*key = (struct key){ .text = "" };
	if (frame->head.version != PMC_DUMP_VERSION)
		return;
	switch (frame->head.type) {
	case PMC_FRAME_PROCESS:
		pmc_frame_fixed(frame, &process, sizeof(process));
		key->time_ns = process.time_ns;
		break;
	case PMC_FRAME_THREAD:
		pmc_frame_fixed(frame, &thread, sizeof(thread));
		key->number = thread.seq;
		key->time_ns = thread.time_ns;
		break;
	case PMC_FRAME_TOTAL:
		pmc_frame_fixed(frame, &total, sizeof(total));
		key->number = total.kind;
		key->time_ns = total.time_ns;
		break;
	case PMC_FRAME_NOTE:
		pmc_frame_fixed(frame, &note, sizeof(note));
		key->number = note.code;
		pmc_cursor_init(&cursor, frame);
		pmc_cursor_str(&cursor, &key->text, &key->len);
		break;
	case PMC_FRAME_REGION:
		pmc_frame_fixed(frame, &region, sizeof(region));
		key->number = region.seq;
		key->time_ns = region.time_ns;
		pmc_cursor_init(&cursor, frame);
		pmc_cursor_str(&cursor, &key->text, &key->len);
		break;
	case PMC_FRAME_SAMPLES:
		pmc_frame_fixed(frame, &samples, sizeof(samples));
		if (frame->head.fixed < sizeof(samples))
			return;
		key->number = samples.seq;
		key->time_ns = samples.time_ns;
		/* eventset and part */
		key->len = offsetof(struct pmc_samples_fixed, n);
		key->len -= offsetof(struct pmc_samples_fixed, eventset);
		key->text = (const char *)frame->fixed;
		key->text += offsetof(struct pmc_samples_fixed, eventset);
		break;
	default:
		return;
	}
	key->kind = frame->head.type;
}

static int order_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int key_compare(const struct key *a, const struct key *b)
{
	int order = order_u64(a->kind, b->kind);

	if (!order)
		order = order_u64(a->number, b->number);
	if (!order)
		order = order_u64(a->len, b->len);
	return order ? order : memcmp(a->text, b->text, a->len);
}

int merge_compare(const struct pmc_frame *a, const struct pmc_frame *b, enum merge_order order)
{
	int result;

	if (order == MERGE_BY_KEY) {
		struct key key_a, key_b;

		result = memcmp(a->head.identity, b->head.identity, sizeof(a->head.identity));
		if (result)
			return result;
		key_of(a, &key_a);
		key_of(b, &key_b);
		result = key_compare(&key_a, &key_b);
		if (!result)
			result = order_u64(a->head.snapshot, b->head.snapshot);
		/* pmctl dump repeats the process's newest snapshot number. */
		if (!result)
			result = order_u64(key_a.time_ns, key_b.time_ns);
		if (result)
			return result;
	}
	result = pmc_frame_order(&a->head, &b->head);
	if (!result)
		result = order_u64(a->head.size, b->head.size);
	return result ? result : memcmp(a->bytes, b->bytes, a->head.size);
}

bool merge_same_key(const struct pmc_frame *a, const struct pmc_frame *b)
{
	struct key key_a, key_b;

	if (memcmp(a->head.identity, b->head.identity, sizeof(a->head.identity)) != 0)
		return false;
	key_of(a, &key_a);
	key_of(b, &key_b);
	return key_a.kind && key_compare(&key_a, &key_b) == 0;
}
