/* SPDX-License-Identifier: MIT */
/*
 * parquet_tables.c - dumps as tables in files of Apache Parquet, for DuckDB and other engines.
 *
 * pmc-parquet(5) documents the columns. Their names and types are stable; new ones go behind the
 * others. A table is a directory with a file for each job, host and rank: DIR/TABLE/job=J/host=H/
 * rank=R/NAME.parquet, NAME by the processes in it, so that a further export of the same processes
 * replaces the file. All files are complete before the first one gets its name.
 */
#include "lib/base/labels.h"
#include "lib/base/number.h"
#include "lib/base/sort.h"
#include "lib/base/utf8.h"
#include "tools/cli/new_file.h"
#include "tools/export/bytes.h"
#include "tools/export/export.h"
#include "tools/export/parquet.h"
#include "tools/rows/zstd.h"
#include "tools/view/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- rows ----------------------------------------------------------------------------------- */

struct row {
	const struct pmc_p_process *process;
	char identity[33], parent[33], ended[PMC_ENDED_BYTES];
	/* Of a thread, or what a process counted beside its threads (NULL). */
	const struct pmc_p_thread *thread;
	bool newest; /* of the thread's snapshots: its row in the report */
	char pool[20], start[4096];
	size_t pool_len, start_len;
	const char *kind; /* of counts: thread, unattributed, descendants, machine */
	const struct pmc_p_event *event;
	const struct pmc_count *count;
	const struct pmc_p_sample *sample;
	const struct pmc_p_stack *stack;
	const struct spot *spot;
	unsigned frame; /* of the stack, from 0: the innermost */
};

static struct parquet_value number(bool known, uint64_t value)
{
	return (struct parquet_value){ .known = known, .number = value };
}

static struct parquet_value textn(const char *text, size_t len)
{
	return (struct parquet_value){ .known = true, .text = text, .number = len };
}

/* NULL and empty texts are unknown. */
static struct parquet_value text(const char *text)
{
	return text && *text ? textn(text, strlen(text)) : number(false, 0);
}

static struct parquet_value name_of(const struct pmc_thread_fixed *t)
{
	return textn(t->name, strnlen(t->name, sizeof(t->name)));
}

static struct parquet_value usage(const struct pmc_thread_fixed *t, uint64_t value)
{
	return number(!(t->flags & PMC_THREAD_NO_RUSAGE), value);
}

static struct parquet_value switches(const struct pmc_thread_fixed *t, uint64_t value)
{
	return number(!pmc_lacks_switches(t), value);
}

/* Values of processes are NULL where pmctl report --format json has null. */
static bool is_on(const struct row *row)
{
	return row->process->known && !pmc_process_never_on(&row->process->fixed);
}

static bool is_whole(const struct row *row)
{
	uint64_t newest_ns;

	return is_on(row) && !pmc_process_end_unseen(row->process, &newest_ns);
}

static bool has_faults(const struct row *row)
{
	return is_on(row) && !(row->process->fixed.flags & PMC_PROCESS_NO_FAULTS);
}

static bool has_switches(const struct row *row)
{
	return is_on(row) && !(row->process->fixed.flags & PMC_PROCESS_NO_SWITCHES);
}

static const char *reason_of(uint32_t reason)
{
	return reason ? pmc_reason_text(reason) : NULL;
}

static bool has_value(const struct row *row)
{
	return pmc_count_has_value(row->count);
}

/* A count without a value may have times, as of an event that never got a counter. */
static bool has_times(const struct row *row)
{
	return has_value(row) || row->count->enabled_ns;
}

#define X(table, name, type, ...)                                                                  \
	static struct parquet_value table##_##name(const void *of)                                 \
	{                                                                                          \
		const struct row *row = of;                                                        \
		const struct pmc_p_process *process = row->process;                                \
		const struct pmc_p_thread *thread = row->thread;                                   \
		const struct pmc_process_fixed *p = &process->fixed;                               \
		const struct pmc_thread_fixed *t = thread ? &thread->fixed : NULL;                 \
                                                                                                   \
		(void)p, (void)t;                                                                  \
		return __VA_ARGS__;                                                                \
	}
#include "tools/export/parquet.def"
#undef X

static const struct parquet_column columns[] = {
#define X(table, name, type, ...) { #name, PARQUET_##type, table##_##name },
#include "tools/export/parquet.def"
#undef X
};

enum {
#define X(table, name, type, ...) COLUMN_##table##_##name,
#include "tools/export/parquet.def"
#undef X
	N_COLUMNS
};

/* ---- files ---------------------------------------------------------------------------------- */

/* Digits of a process in the footer of its file, and those of its identity. */
enum { ENTRY = 48, IDENTITY = 32 };
enum { PROCESSES, THREADS, EVENTS, SAMPLES, STACKS, WAITS, TABLES };

/* The columns of a table are up to those of the next one. */
static const struct table {
	const char *name;
	unsigned first;
} tables[] = {
	[PROCESSES] = { "processes", COLUMN_processes_process },
	[THREADS] = { "threads", COLUMN_threads_process },
	[EVENTS] = { "events", COLUMN_events_kind },
	[SAMPLES] = { "samples", COLUMN_samples_process },
	[STACKS] = { "stacks", COLUMN_stacks_process },
	[WAITS] = { "waits", COLUMN_waits_process },
	[TABLES] = { NULL, N_COLUMNS },
};

/* What a profile has of a process. */
struct part {
	const struct pmc_p_process *process;
	const char *partition;
	uint64_t timeline, list;
	const struct pmc_p_stack *stack; /* the first one; NULL: none */
};

struct path {
	struct tool_new_file *file; /* NULL: of an earlier export, which is removed */
	char *name;
};

struct tables {
	struct export *export;
	struct part *parts;
	uint64_t n_parts;
	const char *partition; /* the current one */
	char file[32];	       /* name of its files: by the identities of its processes */
	/* Of each process its identity, 32 digits, and the time of its newest snapshot, 16 digits;
	 * sorted. */
	struct export_bytes identities;
	struct writer {
		struct parquet *parquet;
		struct pmc_out out;
		int fd;	     /* -1: no file is open */
		bool exists; /* a file was opened */
		char room[64 << 10];
	} writers[TABLES];
	struct path *paths;
	size_t n_paths, paths_room;
	int code; /* of the first error, which is printed */
	struct row row;
	struct spot_list spots;
	struct pmc_thread_buf buf;
};

/* A file in the directory of the partition; "": the directory. */
static char *path_of(const struct tables *t, unsigned table, const char *file)
{
	struct pmc_out path = PMC_OUT_MEM(2 * PATH_MAX); /* no file has a longer one */

	pmc_outf(&path, "%s/%s/%s%s%s", t->export->directory, tables[table].name, t->partition,
		 *file ? "/" : "", file);
	return pmc_arena_strndup(&t->export->arena, path.buf, path.len);
}

static void fail(struct tables *t, const char *path, int error)
{
	if (!t->code)
		t->code = error == ENOTDIR ?
				  tool_fail(EXIT_FAIL,
					    "cannot write %s: a part of it is a file; name a "
					    "directory for the tables",
					    path) :
				  tool_fail_write(path, error);
}

/* Those of a path below export->directory, and this one. */
static void make_directories(struct tables *t, char *path)
{
	for (char *at = path + strlen(t->export->directory); !t->code; at++) {
		const char was = *at;

		if (was && was != '/')
			continue;
		*at = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			fail(t, path, errno);
		if (!was)
			return;
		*at = was;
	}
}

static void add_path(struct tables *t, struct tool_new_file *file, char *name)
{
	t->paths = tool_list_grow(t->paths, t->n_paths, &t->paths_room, sizeof(*t->paths));
	t->paths[t->n_paths++] = (struct path){ file, name };
}

static void open_file(struct tables *t, unsigned table)
{
	struct writer *writer = &t->writers[table];
	char *name = path_of(t, table, t->file);
	struct tool_new_file *file;

	if (t->code)
		return;
	make_directories(t, path_of(t, table, ""));
	if (t->code)
		return;
	writer->fd = tool_new_file_open(name, &file);
	if (writer->fd < 0) {
		fail(t, name, -writer->fd);
		return;
	}
	add_path(t, file, name);
	pmc_out_to_fd(&writer->out, writer->fd, writer->room, sizeof(writer->room));
	if (!writer->parquet)
		writer->parquet = parquet_new(&t->export->arena, columns + tables[table].first,
					      tables[table + 1].first - tables[table].first);
	parquet_begin(writer->parquet, &writer->out);
	writer->exists = true;
}

static void put(struct tables *t, unsigned table)
{
	struct writer *writer = &t->writers[table];

	if (writer->fd < 0)
		open_file(t, table);
	if (!t->code)
		parquet_row(writer->parquet, &t->row);
}

static void end_file(struct tables *t, unsigned table)
{
	struct writer *writer = &t->writers[table];
	const struct export_bytes *identities = &t->identities;
	int error;

	parquet_end(writer->parquet, table == PROCESSES ? EXPORT_PROCESSES : NULL,
		    (const char *)identities->data, identities->len);
	error = -writer->out.error;
	if (close(writer->fd) && !error)
		error = errno;
	writer->fd = -1;
	if (error)
		fail(t, path_of(t, table, t->file), error);
}

/* ---- earlier exports -------------------------------------------------------------------------
 * The file of processes says in its footer which ones it has, and how new they are. Of an earlier
 * export whose processes are all in this one the files are replaced. It is an error if one has only
 * some of them, which would be counted twice, or a newer snapshot of one, which would be lost. */

/* Of two million processes. */
#define FOOTER_MOST (64u << 20)

/* The entries of a file of processes, as in struct tables; *len 0: it is no such file. */
static char *read_identities(struct pmc_arena *arena, const char *path, size_t *len)
{
	static const char key[] = "\x18\x0d" EXPORT_PROCESSES "\x18";
	uint32_t bytes = 0, tail[2] = { 0 };
	const uint8_t *at, *end;
	uint8_t *footer;
	struct stat st;
	int fd = -1;

	*len = 0;
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pread(fd, tail, sizeof(tail), st.st_size - (off_t)sizeof(tail)) == sizeof(tail) &&
	    !memcmp(&tail[1], "PAR1", 4) && tail[0] <= FOOTER_MOST &&
	    tail[0] <= st.st_size - (off_t)sizeof(tail))
		bytes = tail[0];
	footer = pmc_arena_alloc(arena, bytes + 1);
	if (bytes && pread(fd, footer, bytes, st.st_size - (off_t)sizeof(tail) - bytes) != bytes)
		bytes = 0;
	if (fd >= 0)
		close(fd);
	at = bytes ? memmem(footer, bytes, key, sizeof(key) - 1) : NULL;
	if (!at)
		return NULL;
	end = footer + bytes;
	at += sizeof(key) - 1;
	for (unsigned shift = 0; at < end && shift < 35; shift += 7) {
		*len |= (size_t)(*at & 0x7f) << shift;
		if (!(*at++ & 0x80))
			break;
	}
	if (*len > (size_t)(end - at))
		*len = 0;
	return (char *)at;
}

/* How many of the processes this partition has, and how many of these are newer there; both lists
 * are sorted. */
static size_t count_common(const struct tables *t, const char *theirs, size_t len, size_t *newer)
{
	const char *ours = (const char *)t->identities.data, *end = ours + t->identities.len;
	size_t n = 0;

	*newer = 0;
	for (const char *last = theirs + len; ours < end && theirs < last;) {
		const int order = memcmp(ours, theirs, IDENTITY);

		n += !order;
		*newer += !order && memcmp(ours, theirs, ENTRY) < 0;
		ours += order <= 0 ? ENTRY : 0;
		theirs += order >= 0 ? ENTRY : 0;
	}
	return n;
}

/* After the files of the partition are open. */
static void check_earlier(struct tables *t)
{
	char *path = path_of(t, PROCESSES, "");
	DIR *dir = t->code ? NULL : opendir(path);
	struct dirent *entry;

	while (dir && !t->code && (entry = readdir(dir))) {
		const char *suffix = strrchr(entry->d_name, '.');
		size_t len, common, newer;
		char *theirs;

		if (!suffix || strcmp(suffix, ".parquet") != 0)
			continue;
		theirs = read_identities(&t->export->arena, path_of(t, PROCESSES, entry->d_name),
					 &len);
		common = count_common(t, theirs, len - len % ENTRY, &newer);
		if (newer)
			t->code = tool_fail(EXIT_FAIL,
					    "cannot write %s: %s there has newer snapshots of %zu "
					    "of these processes; export their newest dumps, or "
					    "into another directory",
					    path, entry->d_name, newer);
		else if (!strcmp(entry->d_name, t->file))
			continue;
		else if (common && common == len / ENTRY)
			for (unsigned i = 0; i < TABLES; i++)
				add_path(t, NULL, path_of(t, i, entry->d_name));
		else if (common)
			t->code = tool_fail(EXIT_FAIL,
					    "cannot write %s: %s there has %zu of these processes "
					    "and others; export all their dumps at once, or into "
					    "another directory",
					    path, entry->d_name, common);
	}
	if (dir)
		closedir(dir);
}

/* All files are complete: gives them their names. */
static void name_files(struct tables *t)
{
	sigset_t was;

	tool_new_files_hold(&was);
	for (size_t i = 0; i < t->n_paths && !t->code; i++) {
		const struct path *path = &t->paths[i];
		const int error = path->file ? tool_new_file_name(path->file) : 0;

		if (error)
			fail(t, path->name, -error);
		else if (!path->file)
			unlink(path->name);
	}
	sigprocmask(SIG_SETMASK, &was, NULL);
}

/* ---- rows of a process ------------------------------------------------------------------------
 */

static void put_process(struct tables *t, const struct pmc_p_process *its)
{
	static const uint8_t unknown[16];
	const uint8_t *parent = its->fixed.parent_identity;
	struct row *row = &t->row;
	struct pmc_out out;

	*row = (struct row){ .process = its, .newest = true };
	out = pmc_out_mem(row->identity, sizeof(row->identity));
	pmc_out_hex_bytes(&out, its->identity, sizeof(its->identity));
	out = pmc_out_mem(row->parent, sizeof(row->parent));
	pmc_out_hex_bytes(&out, parent, memcmp(parent, unknown, 16) ? 16 : 0);
	pmc_process_ended(its, row->ended);
	put(t, PROCESSES);
}

static void take_thread(struct row *row, const struct pmc_p_thread *thread)
{
	const char *its = thread->fixed.name;
	struct pmc_out out = pmc_out_mem(row->start, sizeof(row->start));

	row->thread = thread;
	row->pool_len = pmc_pool_pattern(its, strnlen(its, sizeof(thread->fixed.name)), row->pool);
	pmc_thread_start(thread, &out);
	row->start_len = out.len;
}

static void put_counts(struct tables *t, const char *of, const struct pmc_p_set_view *set,
		       const struct pmc_count *counts)
{
	t->row.kind = of;
	for (unsigned i = 0; set && i < set->count; i++) {
		t->row.event = &set->events[i];
		t->row.count = &counts[i];
		put(t, EVENTS);
	}
}

static void put_threads(struct tables *t, const struct part *part)
{
	const struct pmc_profile *profile = t->export->profile;
	const struct pmc_p_process *its = part->process;
	struct pmc_count none[PMC_SET_EVENTS_MAX];
	struct row *row = &t->row;

	for (uint64_t i = part->timeline;
	     i < profile->n_timeline && profile->timeline[i]->process == its && !t->code; i++) {
		const struct pmc_p_row *at = profile->timeline[i];
		const struct pmc_p_set_view *set;
		const struct pmc_count *counts;

		row->newest = i + 1 == profile->n_timeline ||
			      !pmc_same_thread(at, profile->timeline[i + 1]);
		take_thread(row, pmc_profile_thread(profile, at, &t->buf));
		if (row->newest)
			put(t, THREADS);
		counts = pmc_union_counts(&t->export->united, row->thread, &set, none);
		put_counts(t, "thread", set, counts);
	}
	row->thread = NULL;
	row->newest = true;
	put_counts(t, "unattributed", its->unattributed.set, its->unattributed.counts);
	put_counts(t, "descendants", its->descendants.set, its->descendants.counts);
	put_counts(t, "machine", its->machine.set, its->machine.counts);
}

static void put_samples(struct tables *t, const struct part *part)
{
	const struct export *export = t->export;
	struct row *row = &t->row;

	for (uint64_t i = part->list; i < export->n_lists; i++) {
		const struct pmc_p_samples *list = export->lists[i].of;

		if (list->process != part->process || t->code)
			break;
		row->thread = NULL;
		row->event = list->event;
		if (list->row)
			take_thread(row, pmc_profile_thread(export->profile, list->row, &t->buf));
		for (uint64_t k = 0; k < list->n; k++) {
			row->sample = &list->list[k];
			row->stack = row->sample->stack;
			names_of_stack(export->names, row->stack, NAMES_FUNCTION_AND_LINE, true,
				       &t->spots);
			row->spot = t->spots.list[0];
			put(t, pmc_is_off_cpu(list->event) ? WAITS : SAMPLES);
		}
	}
}

static void put_stacks(struct tables *t, const struct part *part)
{
	const struct pmc_profile *profile = t->export->profile;
	struct row *row = &t->row;

	for (row->stack = part->stack;
	     row->stack && row->stack->process == part->process && !t->code;
	     row->stack = pmc_profile_next_stack(profile, row->stack)) {
		names_of_stack(t->export->names, row->stack, NAMES_FUNCTION_AND_LINE, true,
			       &t->spots);
		for (row->frame = 0; row->frame < t->spots.n; row->frame++) {
			row->spot = t->spots.list[row->frame];
			put(t, STACKS);
		}
	}
}

/* ---- partitions -------------------------------------------------------------------------------
 */

/* KEY=VALUE as names of directories have it: other bytes than letters, digits and some marks as
 * %XX. Long values are cut, and end with their hash. */
static void put_key(struct pmc_out *out, const char *key, const char *value, size_t len)
{
	enum { MOST = 80 };
	const uint64_t none[2] = { 0, 0 };
	struct pmc_out escaped = PMC_OUT_MEM(10 * MOST + 1); /* an escape takes up to ten bytes */
	size_t i, from;

	pmc_outf(out, "%s=", key);
	if (!len)
		pmc_out_str(out, "__HIVE_DEFAULT_PARTITION__");
	from = out->len;
	pmc_utf8_safe(&escaped, value, len < MOST ? len : MOST, 0);
	for (i = 0; i < escaped.len && out->len < from + 200; i++) {
		const char c = escaped.buf[i];

		if (pmc_is_alnum(c) || strchr("._-", c))
			pmc_out_char(out, c);
		else
			pmc_outf(out, "%%%02x", (unsigned char)c);
	}
	if (len > MOST || i < escaped.len)
		pmc_outf(out, "-%016llx", (unsigned long long)pmc_hash_sip(none, value, len));
}

static const char *partition_of(struct pmc_arena *arena, const struct pmc_p_process *its)
{
	struct pmc_out out = PMC_OUT_MEM(4096), job = PMC_OUT_MEM(17);
	const char *label;
	char rank[16] = "";
	size_t len = 0;

	if (its->known)
		pmc_out_hex_bytes(&job, its->fixed.job, 8);
	label = pmc_label(its->labels, "job", &len);
	if (its->known && its->fixed.rank >= 0)
		snprintf(rank, sizeof(rank), "%d", its->fixed.rank);
	put_key(&out, "job", label ? label : job.buf, label ? len : job.len);
	put_key(&out, "/host", its->host, strlen(its->host));
	put_key(&out, "/rank", rank, strlen(rank));
	return pmc_arena_strndup(arena, out.buf, out.len);
}

static int by_partition(const void *a, const void *b, const void *arg)
{
	(void)arg;
	return strcmp(((const struct part *)a)->partition, ((const struct part *)b)->partition);
}

/* The lists of a profile are in the order of its processes. */
static void find_parts(struct tables *t)
{
	const struct export *export = t->export;
	const struct pmc_profile *profile = export->profile;
	struct pmc_arena *arena = &t->export->arena;
	const struct pmc_p_stack *stack = pmc_profile_next_stack(profile, NULL);
	const size_t n = profile->n_processes;
	struct part *scratch = pmc_arena_alloc(arena, (n + 1) * sizeof(*scratch));
	uint64_t timeline = 0, list = 0;

	t->parts = pmc_arena_alloc(arena, (n + 1) * sizeof(*t->parts));
	for (size_t i = 0; i < n; i++) {
		const struct pmc_p_process *its = profile->processes[i];

		t->parts[i] = (struct part){ .process = its,
					     .partition = partition_of(arena, its),
					     .timeline = timeline,
					     .list = list,
					     .stack = stack };
		while (timeline < profile->n_timeline &&
		       profile->timeline[timeline]->process == its)
			timeline++;
		while (list < export->n_lists && export->lists[list].of->process == its)
			list++;
		while (stack && stack->process == its)
			stack = pmc_profile_next_stack(profile, stack);
	}
	pmc_sort(t->parts, scratch, n, sizeof(*t->parts), by_partition, NULL);
	t->n_parts = n;
}

static int by_identity(const void *a, const void *b, const void *arg)
{
	(void)arg;
	return memcmp(a, b, IDENTITY);
}

static void take_identities(struct tables *t, const struct part *parts, uint64_t n)
{
	struct export_bytes *to = &t->identities;
	struct pmc_arena scratch = { 0 };
	const uint64_t key[2] = { 0, 0 };
	unsigned long long name = 0;

	to->len = 0;
	for (uint64_t i = 0; i < n; i++) {
		struct pmc_out digits = PMC_OUT_MEM(ENTRY + 1);
		uint64_t newest_ns;

		pmc_process_end_unseen(parts[i].process, &newest_ns);
		pmc_out_hex_bytes(&digits, parts[i].process->identity, 16);
		pmc_outf(&digits, "%016llx", (unsigned long long)newest_ns);
		name += pmc_hash_sip(key, digits.buf, IDENTITY);
		export_put(to, digits.buf, ENTRY);
	}
	snprintf(t->file, sizeof(t->file), "%016llx.parquet", name);
	pmc_sort(to->data, pmc_arena_alloc(&scratch, to->len), n, ENTRY, by_identity, NULL);
	pmc_arena_free(&scratch);
}

static void put_partition(struct tables *t, const struct part *parts, uint64_t n, bool is_last)
{
	t->partition = parts[0].partition;
	take_identities(t, parts, n);
	for (uint64_t i = 0; i < n && !t->code; i++) {
		put_process(t, parts[i].process);
		put_threads(t, &parts[i]);
		put_samples(t, &parts[i]);
		put_stacks(t, &parts[i]);
	}
	for (unsigned i = 0; i < TABLES; i++) {
		/* A table without rows is a file, so that queries find it. */
		if (is_last && !t->writers[i].exists)
			open_file(t, i);
		if (t->writers[i].fd >= 0)
			end_file(t, i);
		else
			add_path(t, NULL, path_of(t, i, t->file));
	}
	check_earlier(t);
}

void export_parquet(struct export *export)
{
	const struct pmc_profile *profile = export->profile;
	struct tables *t = pmc_arena_alloc(&export->arena, sizeof(*t));
	const char *problem = pmc_zstd_load();
	uint64_t end;
	int lock;

	if (!profile->n_processes)
		problem = "no process is in the dumps";
	if (problem) {
		export->code = tool_fail(EXIT_FAIL, "cannot write tables: %s", problem);
		return;
	}
	t->export = export;
	for (unsigned i = 0; i < TABLES; i++)
		t->writers[i].fd = -1;
	for (unsigned i = 0; i < profile->n_sets; i++)
		pmc_union_add(&export->united, profile->sets[i], true);
	find_parts(t);
	make_directories(t, pmc_arena_strdup(&export->arena, export->directory));
	/* Another export waits, and then sees the files of this one. */
	lock = open(export->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock >= 0)
		flock(lock, LOCK_EX);
	for (uint64_t i = 0; i < t->n_parts && !t->code; i = end) {
		end = i + 1;
		while (end < t->n_parts && !by_partition(&t->parts[i], &t->parts[end], NULL))
			end++;
		put_partition(t, &t->parts[i], end - i, end == t->n_parts);
	}
	name_files(t);
	if (lock >= 0)
		close(lock);
	for (unsigned i = 0; i < TABLES; i++)
		parquet_free(t->writers[i].parquet);
	free(t->identities.data);
	free(t->paths);
	export->code = t->code;
}
