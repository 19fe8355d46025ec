/* SPDX-License-Identifier: MIT */
/* profile.c - frames into tables: any order, any number of times, the newest is kept. */
#include "tools/rows/tables.h"

#include <errno.h>
#include <string.h>

int pmc_profile_init(struct pmc_profile *profile, const struct pmc_profile_options *options)
{
	struct pmc_profile_tables *tables;

	memset(profile, 0, sizeof(*profile));
	tables = pmc_arena_alloc(&profile->arena, sizeof(*tables));
	if (!tables)
		return -ENOMEM;
	profile->tables = tables;
	if (options)
		tables->options = *options;
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
		process->tables = tables;
		HASH_ADD(hh, tables->processes, pub.identity, 16, process);
		if (arena->failed)
			return NULL;
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

int profile_keep(struct pmc_profile *profile, const struct pmc_frame *frame, uint64_t time_ns,
		 uint64_t number, const char *text, size_t len)
{
	struct pmc_profile_tables *tables = profile->tables;
	struct pmc_arena *arena = &profile->arena;
	const struct pmc_frame_head *head = &frame->head;
	struct table_frame *kept;
	struct frame_key key;

	if (len > sizeof(key.text)) /* longer than any agent writes */
		len = sizeof(key.text);
	memcpy(key.identity, head->identity, sizeof(key.identity));
	key.number = number;
	key.type = head->type;
	memcpy(key.text, text, len);
	HASH_FIND(hh, tables->frames, &key, offsetof(struct frame_key, text) + len, kept);
	if (kept && !newer(head, time_ns, kept))
		return 0;
	if (!kept) {
		kept = pmc_arena_alloc(arena, sizeof(*kept));
		if (!kept)
			return -ENOMEM;
		kept->text_len = len;
		len += offsetof(struct frame_key, text);
		kept->key = (void *)pmc_arena_strndup(arena, (const char *)&key, len);
		kept->process = profile_process(profile, head->identity);
		if (!kept->key || !kept->process)
			return -ENOMEM;
		HASH_ADD_KEYPTR(hh, tables->frames, kept->key, len, kept);
		tables->n_frames[head->type]++;
	}
	if (head->size > kept->room) {
		kept->bytes = pmc_arena_alloc(arena, head->size);
		kept->room = head->size;
	}
	if (arena->failed)
		return -ENOMEM;
	memcpy(kept->bytes, frame->bytes, head->size);
	pmc_frame_view(&kept->frame, kept->bytes, head->size);
	kept->time_ns = time_ns;
	return 0;
}

static int add_process(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_process_fixed fixed;
	struct pmc_cursor cursor;
	const char *text;
	size_t len;

	pmc_cursor_init(&cursor, frame);
	for (unsigned i = 0; i < PROCESS_TEXTS; i++)
		if (!pmc_cursor_str(&cursor, &text, &len))
			return -EBADMSG;
	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	return profile_keep(profile, frame, fixed.time_ns, 0, "", 0);
}

static int add_total(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_total_fixed fixed;
	struct pmc_cursor cursor;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	if (fixed.kind >= TOTAL_KINDS) /* by a newer writer */
		return 0;
	pmc_cursor_init(&cursor, frame);
	if (!profile_skip_readings(&cursor, fixed.n_groups))
		return -EBADMSG;
	return profile_keep(profile, frame, fixed.time_ns, fixed.kind, "", 0);
}

static int add_note(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_note_fixed fixed;
	struct pmc_cursor cursor;
	const char *text;
	size_t len;

	pmc_cursor_init(&cursor, frame);
	if (!pmc_cursor_str(&cursor, &text, &len))
		return -EBADMSG;
	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	return profile_keep(profile, frame, 0, fixed.code, text, len);
}

static int add_region(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	struct pmc_region_fixed fixed;
	struct pmc_cursor cursor;
	const char *name;
	size_t len;

	pmc_frame_fixed(frame, &fixed, sizeof(fixed));
	pmc_cursor_init(&cursor, frame);
	if (!pmc_cursor_str(&cursor, &name, &len))
		return -EBADMSG;
	for (unsigned part = 0; part < REGION_PARTS; part++)
		if (!profile_skip_readings(&cursor, fixed.n_groups))
			return -EBADMSG;
	return profile_keep(profile, frame, fixed.time_ns, fixed.seq, name, len);
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
						uint64_t offset, void *arg),
			    void *arg)
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
			site->found = find(&profile->arena, site->module, site->offset, arg);
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

static bool is_about_stacks(unsigned type)
{
	return type == PMC_FRAME_PROCESS || type == PMC_FRAME_MODULE || type == PMC_FRAME_STACKS ||
	       type == PMC_FRAME_NAMES || type == PMC_FRAME_SITE;
}

static int add(struct pmc_profile *profile, const struct pmc_frame *frame)
{
	const struct pmc_profile_options *options = &profile->tables->options;

	/* A newer format version: count it as damage rather than guess. */
	if (frame->head.version != PMC_DUMP_VERSION)
		return -EBADMSG;
	if (options->starts && frame->head.type == PMC_FRAME_THREAD &&
	    profile_add_start(profile, frame))
		return -ENOMEM;
	if (options->only_stacks && !is_about_stacks(frame->head.type))
		return 0;
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
		return add_region(profile, frame);
	case PMC_FRAME_MODULE:
		return profile_add_module(profile, frame);
	case PMC_FRAME_STACKS:
		return profile_add_stacks(profile, frame);
	case PMC_FRAME_SAMPLES:
		return profile_add_samples(profile, frame);
	case PMC_FRAME_NAMES:
		return profile_add_names(profile, frame);
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

int pmc_profile_add_buffer(struct pmc_profile *profile, const void *data, size_t len)
{
	struct pmc_scan scan = { .data = data, .len = len };
	struct pmc_frame frame;
	int error = 0;

	while (!error && pmc_scan_next(&scan, &frame))
		error = pmc_profile_add(profile, &frame);
	profile->damaged_frames += scan.damaged;
	return error;
}

static int add_one(const struct pmc_frame *frame, void *profile)
{
	return pmc_profile_add(profile, frame);
}

int pmc_profile_add_fd(struct pmc_profile *profile, int fd)
{
	return pmc_scan_fd(fd, add_one, profile, &profile->damaged_frames);
}
