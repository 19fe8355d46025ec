/* SPDX-License-Identifier: MIT */
/* profile.c - frames into tables: any order, any number of times, the newest is kept. */
#include "agent/core/profile/tables.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int pmc_profile_init(struct pmc_profile *profile, const struct pmc_profile_options *options)
{
	struct pmc_profile_tables *tables;

	memset(profile, 0, sizeof(*profile));
	tables = pmc_arena_alloc(&profile->arena, sizeof(*tables));
	if (!tables)
		return -ENOMEM;
	profile->tables = tables;
	if (options) {
		tables->options = *options;
		if (options->only_job) {
			memcpy(tables->job, options->only_job, sizeof(tables->job));
			tables->options.only_job = tables->job;
		}
	}
	return 0;
}

void pmc_profile_free(struct pmc_profile *profile)
{
	pmc_arena_free(&profile->arena);
	memset(profile, 0, sizeof(*profile));
}

struct table_process *profile_process(struct pmc_profile *profile, const uint8_t identity[16])
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_arena *arena = &profile->arena;
	struct table_process *process = tables->last_process;

	if (process && memcmp(process->pub.identity, identity, 16) == 0)
		return process;
	HASH_FIND(hh, tables->processes, identity, 16, process);
	if (!process) {
		process = pmc_arena_alloc(arena, sizeof(*process));
		if (!process)
			return NULL;
		memcpy(process->pub.identity, identity, 16);
		process->pub.host = process->pub.boot_id = "";
		process->pub.exe = process->pub.cmdline = "";
		process->pub.fixed.rank = -1;
		HASH_ADD(hh, tables->processes, pub.identity, 16, process);
		if (arena->failed)
			return NULL;
	}
	tables->last_process = process;
	return process;
}

/* Whether a frame supersedes the one held: by snapshot number, then time (`pmctl dump` reuses the
 * process's newest number), then hash, so that the order of frames does not matter. */
static bool newer(const struct pmc_frame_head *head, uint64_t time_ns, uint64_t snapshot,
		  uint64_t held_ns, uint64_t hash)
{
	if (head->snapshot != snapshot)
		return head->snapshot > snapshot;
	if (time_ns != held_ns)
		return time_ns > held_ns;
	return head->hash > hash;
}

int profile_hold(struct pmc_profile *profile, struct held *held, const struct pmc_frame_head *head,
		 uint64_t time_ns, const uint8_t *var, size_t len)
{
	if (held->var && !newer(head, time_ns, held->snapshot, held->time_ns, held->hash))
		return 0;
	if (!held->var || len > held->var_room) {
		held->var = pmc_arena_alloc(&profile->arena, len + 1);
		if (!held->var)
			return -ENOMEM;
		held->var_room = len;
	}
	memcpy(held->var, var, len);
	held->var_len = len;
	held->snapshot = head->snapshot;
	held->time_ns = time_ns;
	held->hash = head->hash;
	return 1;
}

/* Replaces *held if it differs: a process writes the same text at every snapshot. */
static void hold_text(struct pmc_arena *arena, const char **held, const char *text, size_t len)
{
	const char *copy;

	if (strnlen(*held, len + 1) == len && memcmp(*held, text, len) == 0)
		return;
	copy = pmc_arena_strndup(arena, text, len);
	if (copy)
		*held = copy;
}

static int add_process(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct table_process *process;
	struct pmc_process_fixed fixed;
	struct pmc_cursor cursor;
	const char *text[4];
	size_t len[4];

	pmc_cursor_init(&cursor, frame);
	for (unsigned i = 0; i < 4; i++)
		pmc_cursor_str(&cursor, &text[i], &len[i]);
	if (cursor.bad)
		return -EBADMSG;
	process = profile_process(profile, frame->head.identity);
	if (!process)
		return -ENOMEM;
	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (process->pub.known && !newer(&frame->head, fixed.time_ns, process->pub.snapshot,
					 process->pub.fixed.time_ns, process->hash))
		return 0;
	process->pub.known = true;
	process->pub.snapshot = frame->head.snapshot;
	process->hash = frame->head.hash;
	process->pub.fixed = fixed;
	hold_text(&profile->arena, &process->pub.host, text[0], len[0]);
	hold_text(&profile->arena, &process->pub.boot_id, text[1], len[1]);
	hold_text(&profile->arena, &process->pub.exe, text[2], len[2]);
	hold_text(&profile->arena, &process->pub.cmdline, text[3], len[3]);
	return profile->arena.failed ? -ENOMEM : 0;
}

static int add_total(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct table_process *process;
	struct table_total *total;
	struct pmc_total_fixed fixed;
	int held;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (fixed.kind >= TOTAL_KINDS) /* by a newer writer */
		return 0;
	if (profile_readings_len(fixed.n_groups, frame->var, frame->var_len) > frame->var_len)
		return -EBADMSG;
	process = profile_process(profile, frame->head.identity);
	if (!process)
		return -ENOMEM;
	total = &process->totals[fixed.kind];
	held = profile_hold(profile, &total->held, &frame->head, fixed.time_ns, frame->var,
			    frame->var_len);
	if (held > 0)
		total->fixed = fixed;
	return held < 0 ? held : 0;
}

struct pmc_p_site *profile_find_site(const struct pmc_profile *profile, uint64_t hash)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_p_site *site = tables->last_site;

	if (!site || site->hash != hash) {
		HASH_FIND(hh, tables->sites, &hash, sizeof(hash), site);
		if (site)
			tables->last_site = site;
	}
	return site;
}

void pmc_profile_name_sites(struct pmc_profile *profile, const char *host,
			    const char *(*find)(struct pmc_arena *arena, const char *module,
						uint64_t offset))
{
	struct pmc_p_site *site;
	bool any = false;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct table_process *process = (struct table_process *)profile->processes[i];

		process->named = !strcmp(process->pub.host, host);
		any |= process->named;
	}
	for (site = profile->tables->sites; any && site; site = site->hh.next)
		if (!site->symbol[0] && site->module[0])
			site->found = find(&profile->arena, site->module, site->offset);
}

static int add_site(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_arena *arena = &profile->arena;
	struct pmc_p_site *site;
	struct pmc_site_fixed fixed;
	struct pmc_cursor cursor;
	const char *module, *symbol;
	size_t module_len, symbol_len;

	if (profile_find_site(profile, frame->head.hash))
		return 0;
	pmc_cursor_init(&cursor, frame);
	pmc_cursor_str(&cursor, &module, &module_len);
	pmc_cursor_str(&cursor, &symbol, &symbol_len);
	if (cursor.bad)
		return -EBADMSG;
	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	site = pmc_arena_alloc(arena, sizeof(*site));
	if (!site)
		return -ENOMEM;
	site->hash = frame->head.hash;
	site->offset = fixed.offset;
	site->module = pmc_arena_strndup(arena, module, module_len);
	site->symbol = pmc_arena_strndup(arena, symbol, symbol_len);
	HASH_ADD(hh, tables->sites, hash, sizeof(site->hash), site);
	return arena->failed ? -ENOMEM : 0;
}

static int add_note(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_arena *arena = &profile->arena;
	struct {
		uint8_t identity[16];
		uint32_t code;
		char text[1024];
	} key;
	struct pmc_note_fixed fixed;
	struct pmc_cursor cursor;
	struct table_note *note;
	const char *text;
	size_t len, key_len;
	char *kept;

	pmc_cursor_init(&cursor, frame);
	if (!pmc_cursor_str(&cursor, &text, &len))
		return -EBADMSG;
	if (len > sizeof(key.text)) /* longer than any agent writes */
		len = sizeof(key.text);
	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	memcpy(key.identity, frame->head.identity, sizeof(key.identity));
	key.code = fixed.code;
	memcpy(key.text, text, len);
	key_len = offsetof(__typeof__(key), text) + len;
	HASH_FIND(hh, tables->notes, &key, key_len, note);
	if (!note) {
		note = pmc_arena_alloc(arena, sizeof(*note));
		kept = pmc_arena_strndup(arena, (const char *)&key, key_len);
		if (!note || !kept)
			return -ENOMEM;
		note->process = profile_process(profile, frame->head.identity);
		if (!note->process)
			return -ENOMEM;
		note->pub.process = &note->process->pub;
		note->pub.text = kept + offsetof(__typeof__(key), text);
		note->key = kept;
		HASH_ADD_KEYPTR(hh, tables->notes, note->key, key_len, note);
		if (arena->failed)
			return -ENOMEM;
	} else if (!newer(&frame->head, 0, note->pub.snapshot, 0, note->hash)) {
		return 0;
	}
	note->pub.fixed = fixed;
	note->pub.snapshot = frame->head.snapshot;
	note->hash = frame->head.hash;
	return 0;
}

static int add(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	/* A newer format version: count it as damage rather than guess. */
	if (frame->head.version != PMC_DUMP_VERSION)
		return -EBADMSG;
	switch (frame->head.type) {
	case PMC_FRAME_EVENTSET:
		return profile_add_set(profile, frame);
	case PMC_FRAME_SITE:
		return add_site(profile, frame);
	case PMC_FRAME_PROCESS:
		return add_process(profile, frame);
	case PMC_FRAME_THREAD:
		return profile_add_row(profile, frame);
	case PMC_FRAME_TOTAL:
		return add_total(profile, frame);
	case PMC_FRAME_NOTE:
		return add_note(profile, frame);
	case PMC_FRAME_REGION:
		return profile_add_region(profile, frame);
	default:
		return 0;
	}
}

int pmc_profile_add(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	int error = add(profile, frame);

	if (error == -EBADMSG) {
		profile->damaged_frames++;
		return 0;
	}
	if (!error)
		profile->frames++;
	return error;
}

static int add_scanned(struct pmc_profile *profile, struct pmc_scan *scan)
{
	struct pmc_frame frame;
	int error = 0;

	while (!error && pmc_scan_next(scan, &frame))
		error = pmc_profile_add(profile, &frame);
	profile->damaged_frames += scan->damaged;
	scan->damaged = 0;
	return error;
}

int pmc_profile_add_buffer(struct pmc_profile *profile, const void *data, size_t len)
{
	struct pmc_scan scan = { .data = data, .len = len };

	return add_scanned(profile, &scan);
}

int pmc_profile_add_fd(struct pmc_profile *profile, int fd)
{
	const size_t room = 4 * (size_t)PMC_FRAME_MAX_BYTES;
	struct pmc_scan scan = { .partial = true };
	uint8_t *buf;
	int error = 0;

	buf = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED)
		return -ENOMEM;
	scan.data = buf;
	while (!error && scan.partial) {
		size_t left = scan.len - scan.at;
		long got;

		memmove(buf, buf + scan.at, left);
		/* A raw call: read(2) of libc is a cancellation point of the host. */
		got = syscall(SYS_read, fd, buf + left, room - left);
		scan.at = 0;
		scan.len = left;
		if (got < 0) {
			if (errno != EINTR)
				error = -errno;
			continue;
		}
		scan.len += (size_t)got;
		scan.partial = got != 0;
		error = add_scanned(profile, &scan);
	}
	munmap(buf, room);
	return error;
}
