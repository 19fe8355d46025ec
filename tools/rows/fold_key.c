/* SPDX-License-Identifier: MIT */
/* fold_key.c - which group a thread belongs to, and what groups and threads are called. */
#include "tools/rows/fold.h"

#include <string.h>

/* Paths are the longest. */
#define KEY_CAP 8192

const char *pmc_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether name is what the kernel calls a process that runs `path` (cut to 15 bytes). */
static bool named_after(const char *name, size_t len, const char *path, size_t path_len)
{
	const char *base = path;

	for (size_t i = 0; i < path_len; i++)
		if (path[i] == '/')
			base = path + i + 1;
	path_len -= (size_t)(base - path);
	return len == (path_len < 15 ? path_len : 15) && !memcmp(name, base, len);
}

const char *pmc_thread_label(const struct pmc_p_thread *thread, size_t *len)
{
	static const char main_label[] = "(main)", unnamed[] = "(unnamed)";
	const struct pmc_p_process *process = thread->process;
	const char *name = thread->fixed.name;

	*len = strnlen(name, sizeof(thread->fixed.name));
	if (!(thread->fixed.flags & PMC_THREAD_MAIN)) {
		if (*len)
			return name;
		*len = sizeof(unnamed) - 1;
		return unnamed;
	}
	/* In descendants, and in an image that exec replaced, the name distinguishes better. */
	if (*len && process && process->known &&
	    (!(process->fixed.flags & PMC_PROCESS_FIRST) ||
	     process->fixed.how_ended == PMC_ENDED_EXEC))
		return name;
	if (*len && process && !named_after(name, *len, process->exe, strlen(process->exe)) &&
	    !named_after(name, *len, process->cmdline, strcspn(process->cmdline, " ")))
		return name;
	*len = sizeof(main_label) - 1;
	return main_label;
}

void pmc_thread_start(const struct pmc_p_thread *thread, struct pmc_out *out)
{
	if (thread->symbol[0]) {
		pmc_out_str(out, thread->symbol);
	} else if (thread->fixed.start_site) {
		pmc_out_str(out, pmc_base_name(thread->module));
		pmc_out_str(out, thread->module[0] ? "+0x" : "0x");
		pmc_outf(out, "%llx", (unsigned long long)thread->offset);
	}
}

/* The kernel keeps 15 bytes of a name. */
static bool is_cut(size_t len)
{
	return len >= 15;
}

/* The text rows are grouped by. Returns its length. */
static size_t key_of(const struct pmc_fold *fold, const struct pmc_p_thread *thread, char *buf)
{
	const struct pmc_p_process *process = thread->process;
	struct pmc_out out;
	const char *text;
	size_t len;

	pmc_out_to_mem(&out, buf, KEY_CAP);
	switch (fold->by) {
	case PMC_BY_POOL:
		text = pmc_thread_label(thread, &len);
		return pmc_pool_pattern(text, len, buf);
	case PMC_BY_NONE:
	case PMC_BY_NAME:
		text = pmc_thread_label(thread, &len);
		pmc_out_bytes(&out, text, len);
		break;
	case PMC_BY_START:
		if (thread->fixed.flags & PMC_THREAD_MAIN)
			pmc_out_str(&out, "(main)");
		else
			pmc_thread_start(thread, &out);
		text = thread->creation && fold->path_of ?
			       fold->path_of(thread->creation, fold->path_arg) :
			       "";
		if (text[0])
			pmc_outf(&out, "%s < %s", out.len ? "" : "(unknown)", text);
		break;
	case PMC_BY_THREAD:
	case PMC_BY_PROCESS:
		pmc_out_bytes(&out, (const char *)process->identity, sizeof(process->identity));
		if (fold->by == PMC_BY_THREAD)
			pmc_out_bytes(&out, (const char *)&thread->fixed.seq, sizeof(uint64_t));
		break;
	case PMC_BY_EXE:
		pmc_out_str(&out, process->exe);
		break;
	case PMC_BY_HOST:
		pmc_out_str(&out, process->host);
		break;
	case PMC_BY_RANK:
		if (process->known && process->fixed.rank >= 0)
			pmc_out_i64(&out, process->fixed.rank);
		break;
	case PMC_BY_REGION:
		pmc_out_bytes(&out, thread->region->name, thread->region->name_len);
		break;
	default: /* rows of samples */
		break;
	}
	return out.len;
}

static const char *nameless(enum pmc_fold_by by)
{
	if (by == PMC_BY_RANK)
		return "(none)";
	return by <= PMC_BY_NAME || by == PMC_BY_REGION ? "(unnamed)" : "(unknown)";
}

static const char *label_of(const struct pmc_fold *fold, const struct pmc_p_thread *thread,
			    const char *key, size_t len)
{
	const struct pmc_p_process *process = thread->process;
	char buf[320];
	struct pmc_out out;

	pmc_out_to_mem(&out, buf, sizeof(buf));
	if (fold->by == PMC_BY_THREAD) {
		const char *name = pmc_thread_label(thread, &len);

		pmc_outf(&out, "%.*s %u", (int)len, name, thread->fixed.tid);
	} else if (fold->by == PMC_BY_PROCESS && process->known) {
		pmc_outf(&out, "%u %.200s", process->fixed.pid, pmc_base_name(process->exe));
	} else if (fold->by == PMC_BY_PROCESS || !len) {
		return nameless(fold->by);
	} else {
		return pmc_arena_strndup(fold->u->arena, key, len);
	}
	return pmc_arena_strndup(fold->u->arena, buf, out.len);
}

/* ---- groups ---------------------------------------------------------------------------- */

struct pmc_fold_entry {
	const char *key;
	size_t len;
	struct pmc_fold_row *row;
	UT_hash_handle hh;
	bool cut; /* some name may have been cut by the kernel */
};

void pmc_fold_begin(struct pmc_fold *fold, struct pmc_union *u, enum pmc_fold_by by)
{
	*fold = (struct pmc_fold){ .u = u, .by = by };
}

/* Shorter stems would join what has little in common. */
#define STEM_LEAST 8

/* The pattern without its last star. */
static size_t stem_of(const char *key, size_t len)
{
	return len && key[len - 1] == '*' ? len - 1 : len;
}

/* A name that the kernel may have cut is of the pool of another one if its stem begins the other's
 * pattern: "pool-*-thread-" (cut) and "pool-*-thread-*", "conn_*_handle" (cut) and
 * "conn_*_handler". */
static struct pmc_fold_row *same_stem(struct pmc_fold *fold, const char *key, size_t len, bool cut)
{
	const size_t stem = stem_of(key, len);

	for (unsigned i = 0; i < fold->n_pools; i++) {
		const struct pmc_fold_entry *entry = fold->pools[i];
		const size_t other = stem_of(entry->key, entry->len);
		const size_t both = stem < other ? stem : other;

		if (both < STEM_LEAST || memcmp(key, entry->key, both) != 0)
			continue;
		if (!(cut && stem == both) && !(entry->cut && other == both))
			continue;
		if (stem < other)
			entry->row->label = pmc_arena_strndup(fold->u->arena, key, len);
		return entry->row;
	}
	return NULL;
}

static struct pmc_fold_row *row_new(struct pmc_fold *fold, const struct pmc_p_thread *thread,
				    const char *key, size_t len)
{
	struct pmc_fold_row *row = pmc_arena_alloc(fold->u->arena, sizeof(*row));

	if (thread->region)
		pmc_fold_init_region(row, fold->u);
	else
		pmc_fold_init(row, fold->u);
	row->label = label_of(fold, thread, key, len);
	row->index = fold->n_rows++;
	if (fold->last_row)
		fold->last_row->next = row;
	else
		fold->rows = row;
	fold->last_row = row;
	return row;
}

static struct pmc_fold_entry *entry_new(struct pmc_fold *fold, const struct pmc_p_thread *thread,
					const char *key, size_t len)
{
	struct pmc_arena *arena = fold->u->arena;
	struct pmc_fold_entry *entry = pmc_arena_alloc(arena, sizeof(*entry));
	const bool pool = fold->by == PMC_BY_POOL;

	entry->key = pmc_arena_strndup(arena, key, len);
	entry->len = len;
	entry->cut = pool && is_cut(strnlen(thread->fixed.name, sizeof(thread->fixed.name)));
	entry->row = pool ? same_stem(fold, key, len, entry->cut) : NULL;
	if (!entry->row)
		entry->row = row_new(fold, thread, key, len);
	if (pool && fold->n_pools < sizeof(fold->pools) / sizeof(fold->pools[0]))
		fold->pools[fold->n_pools++] = entry;
	HASH_ADD_KEYPTR(hh, fold->entries, entry->key, len, entry);
	return entry;
}

/* Whether the threads of a pool share one name, and which. */
static void note_name(struct pmc_fold_row *row, const struct pmc_p_thread *thread)
{
	size_t len;
	const char *name = pmc_thread_label(thread, &len);

	if (!row->threads) {
		memcpy(row->name, name, len);
		row->name_len = (unsigned char)len;
	} else if (len != row->name_len || memcmp(row->name, name, len) != 0) {
		row->many_names = true;
	}
}

struct pmc_fold_row *pmc_fold_find(struct pmc_fold *fold, const struct pmc_p_thread *thread)
{
	struct pmc_fold_entry *entry = fold->last;
	char key[KEY_CAP];
	const size_t len = key_of(fold, thread, key);

	if (!entry || entry->len != len || memcmp(entry->key, key, len) != 0) {
		HASH_FIND(hh, fold->entries, key, len, entry);
		if (!entry)
			entry = entry_new(fold, thread, key, len);
		fold->last = entry;
	}
	if (fold->by == PMC_BY_POOL)
		note_name(entry->row, thread);
	return entry->row;
}

void pmc_fold_thread(struct pmc_fold *fold, const struct pmc_p_thread *thread)
{
	pmc_fold_add(pmc_fold_find(fold, thread), fold->u, thread, fold->spread);
}

void pmc_fold_end(struct pmc_fold *fold)
{
	for (struct pmc_fold_row *row = fold->rows; row; row = row->next)
		if (fold->by == PMC_BY_POOL && !row->many_names && row->name_len &&
		    (!is_cut(row->name_len) || row->threads < 2))
			row->label = pmc_arena_strndup(fold->u->arena, row->name, row->name_len);
}
