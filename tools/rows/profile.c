/* SPDX-License-Identifier: MIT */
/* profile.c - frames into tables: any order, any number of times, the newest is kept. */
#include "tools/rows/packed.h"
#include "tools/rows/tables.h"

#include <string.h>

void pmc_profile_init(struct pmc_profile *profile, const struct pmc_profile_options *options)
{
	memset(profile, 0, sizeof(*profile));
	profile->tables = pmc_arena_alloc(&profile->arena, sizeof(*profile->tables));
	if (options)
		profile->tables->options = *options;
}

void pmc_profile_free(struct pmc_profile *profile)
{
	pmc_arena_free(&profile->arena);
	memset(profile, 0, sizeof(*profile));
}

struct pmc_p_process *profile_process(struct pmc_profile *profile, const uint8_t identity[16])
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_arena *arena = &profile->arena;
	struct pmc_p_process *process = tables->last_process;

	if (process && memcmp(process->identity, identity, 16) == 0)
		return process;
	HASH_FIND(hh, tables->processes, identity, 16, process);
	if (!process) {
		process = pmc_arena_alloc(arena, sizeof(*process));
		memcpy(process->identity, identity, 16);
		process->host = process->boot_id = process->node = "";
		process->exe = process->cmdline = process->labels = "";
		process->fixed.rank = -1;
		process->tables = tables;
		process->recorded_ms = profile->recorded_ms;
		HASH_ADD(hh, tables->processes, identity, 16, process);
	}
	tables->last_process = process;
	return process;
}

/* Whether a frame supersedes the one kept: by snapshot number, then time (`pmctl dump` reuses the
 * process's newest number), then hash, so that the order of frames does not matter. */
static bool newer(const struct pmc_frame_head *head, uint64_t time_ns,
		  const struct table_frame *kept)
{
	if (head->snapshot != kept->frame.head.snapshot)
		return head->snapshot > kept->frame.head.snapshot;
	if (time_ns != kept->time_ns)
		return time_ns > kept->time_ns;
	return head->hash > kept->frame.head.hash;
}

static void keep(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_arena *arena = &profile->arena;
	const struct pmc_frame_head *head = &frame->head;
	struct table_frame *kept;
	struct pmc_subject subject;
	size_t len;

	if (!pmc_frame_subject(frame, &subject))
		subject.key.number = head->hash;
	len = pmc_subject_bytes(subject.text_len);
	HASH_FIND(hh, tables->frames, &subject.key, len, kept);
	if (kept && !newer(head, subject.time_ns, kept))
		return;
	if (!kept) {
		kept = pmc_arena_alloc(arena, sizeof(*kept));
		kept->text_len = subject.text_len;
		kept->key = (void *)pmc_arena_strndup(arena, (const char *)&subject.key, len);
		kept->process = profile_process(profile, head->identity);
		HASH_ADD_KEYPTR(hh, tables->frames, kept->key, len, kept);
		tables->n_frames[head->type]++;
	}
	if (head->size > kept->room) {
		kept->bytes = pmc_arena_alloc(arena, head->size);
		kept->room = head->size;
	}
	memcpy(kept->bytes, frame->bytes, head->size);
	pmc_frame_view(&kept->frame, kept->bytes, head->size);
	kept->time_ns = subject.time_ns;
}

const char *profile_text(struct pmc_arena *arena, struct pmc_cursor *cursor)
{
	const char *text;
	size_t len;

	return pmc_cursor_str(cursor, &text, &len) ? pmc_arena_strndup(arena, text, len) : "";
}

const uint8_t *profile_words(struct pmc_cursor *cursor, size_t n)
{
	const uint8_t *at = cursor->at;

	if (n > cursor->left / sizeof(uint64_t)) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += n * sizeof(uint64_t);
	cursor->left -= n * sizeof(uint64_t);
	return at;
}

bool profile_skip_readings(struct pmc_cursor *cursor, unsigned n_groups)
{
	struct pmc_reading reading;

	for (unsigned g = 0; g < n_groups && !cursor->bad; g++)
		if (pmc_cursor_bytes(cursor, &reading, sizeof(reading)))
			profile_words(cursor, reading.n);
	return !cursor->bad && n_groups <= PMC_EVENTS_MAX;
}

static bool take_text(struct pmc_subject *subject, const char *text, size_t len)
{
	subject->text_len = len < sizeof(subject->key.text) ? len : sizeof(subject->key.text);
	memcpy(subject->key.text, text, subject->text_len);
	return true;
}

bool pmc_frame_subject(const struct pmc_frame *frame, struct pmc_subject *subject)
{
	const size_t event = offsetof(struct pmc_samples_fixed, eventset);
	struct pmc_subject_key *key = &subject->key;
	union profile_fixed fixed;
	struct pmc_cursor cursor;
	const char *text;
	size_t len;

	memset(subject, 0, offsetof(struct pmc_subject, key.text));
	subject->text_len = subject->time_ns = 0;
	memcpy(key->identity, frame->head.identity, sizeof(key->identity));
	key->type = (uint8_t)frame->head.type;
	if (frame->head.version != PMC_DUMP_VERSION)
		return false;
	cursor = profile_parts(frame, &fixed, sizeof(fixed));
	switch (frame->head.type) {
	case PMC_FRAME_PROCESS:
		subject->time_ns = fixed.process.time_ns;
		return true;
	case PMC_FRAME_THREAD:
		key->number = fixed.thread.seq;
		subject->time_ns = fixed.thread.time_ns;
		/* One without faults and switches is shown with those of the newest that has them.
		 */
		return !pmc_lacks_switches(&fixed.thread) || take_text(subject, "", 1);
	case PMC_FRAME_TOTAL:
		key->number = fixed.total.kind;
		subject->time_ns = fixed.total.time_ns;
		return true;
	case PMC_FRAME_NOTE:
		key->number = fixed.note.code;
		return pmc_cursor_str(&cursor, &text, &len) && take_text(subject, text, len);
	case PMC_FRAME_REGION:
		key->number = fixed.region.seq;
		subject->time_ns = fixed.region.time_ns;
		return pmc_cursor_str(&cursor, &text, &len) && take_text(subject, text, len);
	case PMC_FRAME_SAMPLES:
	case PMC_FRAME_TIMES:
		key->number = fixed.samples.seq;
		subject->time_ns = fixed.samples.time_ns;
		return frame->head.fixed >= sizeof(fixed.samples) &&
		       take_text(subject, (const char *)frame->fixed + event,
				 offsetof(struct pmc_samples_fixed, n) - event);
	default:
		return false;
	}
}

/* Whether the frame has so many texts, and then so many times the readings of n_groups. */
static bool has(const struct pmc_frame *frame, unsigned texts, unsigned parts, unsigned n_groups)
{
	struct pmc_cursor cursor;
	const char *text;
	size_t len;

	pmc_cursor_init(&cursor, frame);
	while (texts--)
		pmc_cursor_str(&cursor, &text, &len);
	while (parts--)
		if (!profile_skip_readings(&cursor, n_groups))
			return false;
	return !cursor.bad;
}

static bool add(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	union profile_fixed fixed;
	bool good;

	/* A newer format version: count it as damage rather than guess. */
	if (frame->head.version != PMC_DUMP_VERSION)
		return false;
	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	switch (frame->head.type) {
	case PMC_FRAME_EVENTSET:
		return profile_add_set(profile, frame);
	case PMC_FRAME_SITE:
		return profile_add_site(profile, frame);
	case PMC_FRAME_THREAD:
		return profile_add_row(profile, frame);
	case PMC_FRAME_MODULE:
		return profile_add_module(profile, frame);
	case PMC_FRAME_NAMES:
		return profile_add_names(profile, frame);
	case PMC_FRAME_PROCESS:
		good = has(frame, 4, 0, 0);
		break;
	case PMC_FRAME_TOTAL:
		if (fixed.total.kind > PMC_TOTAL_UNCORE) /* by a newer writer */
			return true;
		good = has(frame, 0, 1, fixed.total.n_groups);
		break;
	case PMC_FRAME_NOTE:
		good = has(frame, 1, 0, 0);
		break;
	case PMC_FRAME_REGION:
		good = has(frame, 1, REGION_PARTS, fixed.region.n_groups);
		break;
	case PMC_FRAME_STACKS:
		good = profile_has_stacks(frame);
		break;
	case PMC_FRAME_SAMPLES:
		good = profile_has_samples(frame, &fixed.samples);
		break;
	case PMC_FRAME_TIMES:
		if (!profile->tables->options.to_ns && !profile->tables->options.times)
			return true;
		good = profile_has_samples(frame, &fixed.samples);
		break;
	default:
		return true;
	}
	if (good)
		keep(profile, frame);
	return good;
}

void pmc_profile_add(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	if (add(profile, frame))
		profile->frames++;
	else
		profile->damaged_frames++;
}

void pmc_profile_add_buffer(struct pmc_profile *profile, const void *data, size_t len)
{
	struct pmc_scan scan = { .data = data, .len = len };
	struct pmc_frame frame;

	while (pmc_scan_next(&scan, &frame))
		pmc_profile_add(profile, &frame);
	profile->damaged_frames += scan.damaged;
}

static int add_one(const struct pmc_frame *frame, void *to)
{
	struct pmc_profile *profile = to;

	pmc_profile_add(profile, frame);
	if (profile->step)
		profile->step(frame->head.size);
	return 0;
}

int pmc_profile_add_fd(struct pmc_profile *profile, int fd)
{
	return pmc_scan_packed_fd(fd, add_one, profile, &profile->damaged_frames);
}
