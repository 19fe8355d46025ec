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

#define CELL(name, ...)                                                                            \
	static struct parquet_value name(const void *of)                                           \
	{                                                                                          \
		const struct row *row = of;                                                        \
                                                                                                   \
		return __VA_ARGS__;                                                                \
	}

/* Columns of several tables. */
CELL(process, textn(row->identity, 32))
CELL(pid, number(row->process->known, row->process->fixed.pid))
CELL(tid, number(row->thread, row->thread ? row->thread->fixed.tid : 0))
CELL(seq, number(row->thread, row->thread ? row->thread->fixed.seq : 0))
CELL(name, row->thread ? textn(row->thread->fixed.name,
			       strnlen(row->thread->fixed.name, sizeof(row->thread->fixed.name))) :
			 number(false, 0))
CELL(pool, row->thread ? textn(row->pool, row->pool_len) : number(false, 0))
CELL(event, text(row->event->name))
CELL(unit, text(row->event->unit))
CELL(scope, text(pmc_scope_name(row->event->def.scope)))
CELL(stack, number(row->stack, row->stack ? row->stack->id : 0))
CELL(function, text(row->spot->function))
CELL(module, text(row->spot->module))
CELL(file, text(row->spot->file))
CELL(line, number(row->spot->line, row->spot->line))
#define THREAD_COLUMNS                                                                             \
	{ "process", PARQUET_TEXT, process }, { "pid", PARQUET_U32, pid },                         \
		{ "tid", PARQUET_U32, tid }, { "seq", PARQUET_U64, seq },                          \
		{ "name", PARQUET_TEXT, name },                                                    \
	{                                                                                          \
		"pool", PARQUET_TEXT, pool                                                         \
	}
#define SPOT_COLUMNS                                                                               \
	{ "function", PARQUET_TEXT, function }, { "module", PARQUET_TEXT, module },                \
		{ "file", PARQUET_TEXT, file },                                                    \
	{                                                                                          \
		"line", PARQUET_U32, line                                                          \
	}

/* processes: NULL where pmctl report --format json has null. */
static bool is_on(const struct row *row)
{
	return row->process->known && !pmc_process_never_on(&row->process->fixed);
}

static bool is_whole(const struct row *row)
{
	uint64_t newest_ns;

	return is_on(row) && !pmc_process_end_unseen(row->process, &newest_ns);
}

static bool has_switches(const struct row *row)
{
	return is_on(row) && !(row->process->fixed.flags & PMC_PROCESS_NO_SWITCHES);
}

#define OF_PROCESS(name, known, field) CELL(name, number(known, row->process->fixed.field))
CELL(parent, text(row->parent))
CELL(exe, text(row->process->exe))
CELL(cmdline, text(row->process->cmdline))
CELL(labels, text(row->process->labels))
CELL(boot_id, text(row->process->boot_id))
CELL(recorded, number(row->process->recorded_ms, row->process->recorded_ms))
CELL(ended, text(row->ended))
CELL(attributed_cpu,
     number(is_on(row) || row->process->attributed_cpu_ns, row->process->attributed_cpu_ns))
CELL(p_counted, number(true, row->process->threads_counted))
OF_PROCESS(ppid, row->process->known, ppid)
OF_PROCESS(p_start, row->process->known, start_ns)
OF_PROCESS(p_end, row->process->known && row->process->fixed.end_ns, end_ns)
OF_PROCESS(p_time, row->process->known, time_ns)
OF_PROCESS(p_cpu, is_whole(row), cpu_ns)
OF_PROCESS(p_overhead, is_whole(row), overhead_ns)
OF_PROCESS(p_minor, is_on(row), minor_faults)
OF_PROCESS(p_major, is_on(row), major_faults)
OF_PROCESS(p_voluntary, has_switches(row), voluntary_switches)
OF_PROCESS(p_involuntary, has_switches(row), involuntary_switches)
OF_PROCESS(p_rss, row->process->known, max_rss_bytes)
OF_PROCESS(p_seen, row->process->known, threads_seen)

static const struct parquet_column of_processes[] = {
	{ "process", PARQUET_TEXT, process },
	{ "parent", PARQUET_TEXT, parent },
	{ "pid", PARQUET_U32, pid },
	{ "ppid", PARQUET_U32, ppid },
	{ "exe", PARQUET_TEXT, exe },
	{ "cmdline", PARQUET_TEXT, cmdline },
	{ "labels", PARQUET_TEXT, labels },
	{ "boot_id", PARQUET_TEXT, boot_id },
	{ "recorded", PARQUET_TIME, recorded },
	{ "ended", PARQUET_TEXT, ended },
	{ "start_ns", PARQUET_U64, p_start },
	{ "end_ns", PARQUET_U64, p_end },
	{ "time_ns", PARQUET_U64, p_time },
	{ "cpu_ns", PARQUET_U64, p_cpu },
	{ "attributed_cpu_ns", PARQUET_U64, attributed_cpu },
	{ "overhead_ns", PARQUET_U64, p_overhead },
	{ "minor_faults", PARQUET_U64, p_minor },
	{ "major_faults", PARQUET_U64, p_major },
	{ "voluntary_switches", PARQUET_U64, p_voluntary },
	{ "involuntary_switches", PARQUET_U64, p_involuntary },
	{ "max_rss_bytes", PARQUET_U64, p_rss },
	{ "threads_seen", PARQUET_U64, p_seen },
	{ "threads_counted", PARQUET_U64, p_counted },
};

/* threads */
static bool lacks(const struct row *row, unsigned flag)
{
	return row->thread->fixed.flags & flag;
}

static const char *reason(uint32_t reason)
{
	return reason ? pmc_reason_text(reason) : NULL;
}

#define OF_THREAD(name, known, field) CELL(name, number(known, row->thread->fixed.field))
CELL(is_main, number(true, lacks(row, PMC_THREAD_MAIN)))
CELL(start_routine, row->start_len ? textn(row->start, row->start_len) : number(false, 0))
CELL(state, text(pmc_thread_state_name(row->thread->fixed.state)))
CELL(t_reason, text(reason(row->thread->fixed.reason)))
CELL(samples, number(row->thread->sampled, row->thread->samples))
CELL(lost_samples, number(row->thread->sampled, row->thread->lost_samples))
CELL(creation, number(row->thread->creation, row->thread->creation ? row->thread->creation->id : 0))
OF_THREAD(created_by, row->thread->fixed.created_by != PMC_NO_SEQ, created_by)
OF_THREAD(t_start, row->thread->fixed.start_ns, start_ns)
OF_THREAD(t_end, row->thread->fixed.end_ns, end_ns)
OF_THREAD(t_time, true, time_ns)
OF_THREAD(t_cpu, !lacks(row, PMC_THREAD_NO_CPU), cpu_ns)
OF_THREAD(t_minor, !lacks(row, PMC_THREAD_NO_RUSAGE), minor_faults)
OF_THREAD(t_major, !lacks(row, PMC_THREAD_NO_RUSAGE), major_faults)
OF_THREAD(t_voluntary, !lacks(row, PMC_THREAD_NO_RUSAGE), voluntary_switches)
OF_THREAD(t_involuntary, !lacks(row, PMC_THREAD_NO_RUSAGE), involuntary_switches)

static const struct parquet_column of_threads[] = {
	THREAD_COLUMNS,
	{ "main", PARQUET_BOOL, is_main },
	{ "start_routine", PARQUET_TEXT, start_routine },
	{ "created_by", PARQUET_U64, created_by },
	{ "created_stack", PARQUET_U32, creation },
	{ "state", PARQUET_TEXT, state },
	{ "start_ns", PARQUET_U64, t_start },
	{ "end_ns", PARQUET_U64, t_end },
	{ "time_ns", PARQUET_U64, t_time },
	{ "cpu_ns", PARQUET_U64, t_cpu },
	{ "minor_faults", PARQUET_U64, t_minor },
	{ "major_faults", PARQUET_U64, t_major },
	{ "voluntary_switches", PARQUET_U64, t_voluntary },
	{ "involuntary_switches", PARQUET_U64, t_involuntary },
	{ "samples", PARQUET_U64, samples },
	{ "lost_samples", PARQUET_U64, lost_samples },
	{ "reason", PARQUET_TEXT, t_reason },
};

/* events */
static bool has_value(const struct row *row)
{
	return pmc_count_has_value(row->count);
}

/* A count without a value may have times, as of an event that never got a counter. */
static bool has_times(const struct row *row)
{
	return has_value(row) || row->count->enabled_ns;
}

CELL(kind, text(row->kind))
CELL(snapshot, number(row->thread, row->thread ? row->thread->row->snapshot : 0))
CELL(e_time, number(row->thread || row->process->known,
		    row->thread ? row->thread->fixed.time_ns : row->process->fixed.time_ns))
CELL(newest, number(true, row->newest))
CELL(position, number(true, row->event->def.position))
CELL(core_type, text(row->event->core_type))
CELL(cpus, text(row->event->cpus))
CELL(e_state, text(pmc_state_name(row->count->state)))
CELL(e_reason, text(has_value(row) ? NULL : reason(row->count->error)))
CELL(value, number(has_value(row), has_value(row) ? pmc_count_value(row->count) : 0))
CELL(scale, (struct parquet_value){ .known = true, .real = pmc_event_scale(row->event) })
CELL(raw, number(has_value(row), row->count->raw))
CELL(enabled, number(has_times(row), row->count->enabled_ns))
CELL(running, number(has_times(row), row->count->running_ns))

static const struct parquet_column of_events[] = {
	{ "kind", PARQUET_TEXT, kind },		THREAD_COLUMNS,
	{ "snapshot", PARQUET_U64, snapshot },	{ "time_ns", PARQUET_U64, e_time },
	{ "newest", PARQUET_BOOL, newest },	{ "event", PARQUET_TEXT, event },
	{ "position", PARQUET_U32, position },	{ "core_type", PARQUET_TEXT, core_type },
	{ "cpus", PARQUET_TEXT, cpus },		{ "unit", PARQUET_TEXT, unit },
	{ "scope", PARQUET_TEXT, scope },	{ "state", PARQUET_TEXT, e_state },
	{ "reason", PARQUET_TEXT, e_reason },	{ "value", PARQUET_U64, value },
	{ "scale", PARQUET_DOUBLE, scale },	{ "raw", PARQUET_U64, raw },
	{ "enabled_ns", PARQUET_U64, enabled }, { "running_ns", PARQUET_U64, running },
};

/* samples, waits and stacks */
CELL(count, number(true, row->sample->count))
CELL(weight, number(true, row->sample->weight))
CELL(frame, number(true, row->frame))

static const struct parquet_column of_samples[] = {
	THREAD_COLUMNS,
	{ "event", PARQUET_TEXT, event },
	{ "unit", PARQUET_TEXT, unit },
	{ "scope", PARQUET_TEXT, scope },
	SPOT_COLUMNS,
	{ "stack", PARQUET_U32, stack },
	{ "samples", PARQUET_U64, count },
	{ "weight", PARQUET_U64, weight },
};

static const struct parquet_column of_waits[] = {
	THREAD_COLUMNS,
	SPOT_COLUMNS,
	{ "stack", PARQUET_U32, stack },
	{ "waits", PARQUET_U64, count },
	{ "wait_ns", PARQUET_U64, weight },
};

static const struct parquet_column of_stacks[] = {
	{ "process", PARQUET_TEXT, process },
	{ "stack", PARQUET_U32, stack },
	{ "frame", PARQUET_U32, frame },
	SPOT_COLUMNS,
};

/* ---- files ---------------------------------------------------------------------------------- */

/* Digits of a process in the footer of its file, and those of its identity. */
enum { ENTRY = 48, IDENTITY = 32 };
enum { PROCESSES, THREADS, EVENTS, SAMPLES, STACKS, WAITS, TABLES };

static const struct table {
	const char *name;
	const struct parquet_column *columns;
	unsigned n;
} tables[] = {
#define TABLE(columns) columns, sizeof(columns) / sizeof(columns[0])
	[PROCESSES] = { "processes", TABLE(of_processes) },
	[THREADS] = { "threads", TABLE(of_threads) },
	[EVENTS] = { "events", TABLE(of_events) },
	[SAMPLES] = { "samples", TABLE(of_samples) },
	[STACKS] = { "stacks", TABLE(of_stacks) },
	[WAITS] = { "waits", TABLE(of_waits) },
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
		writer->parquet =
			parquet_new(&t->export->arena, tables[table].columns, tables[table].n);
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

/* Writes the n processes of a partition. */
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
	const char *problem = parquet_init();
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
