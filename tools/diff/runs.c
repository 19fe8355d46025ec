/* SPDX-License-Identifier: MIT */
/*
 * runs.c - which dumps are one run: those of a job, in which each rank or process may write its
 * own.
 *
 * They have the ID of the job in common if the agent was in the launcher, too. Ranks that started
 * with the agent are jobs of their own, with the launcher's job as a label. A scheduler's job may
 * have several runs, in each of which a rank is once.
 */
#include "lib/base/labels.h"
#include "lib/base/map.h"
#include "tools/diff/diff.h"
#include "tools/report/report.h"
#include "tools/rows/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a run has: a process, a job, or the n-th dump of each rank of a launcher's job. */
struct claim {
	struct diff_run *run;
	unsigned count; /* of a rank of a launcher's job: dumps so far */
};

/* A dump of history, or those of an operand of diff. */
struct unit {
	struct diff_run run;
	struct claim **processes, **jobs;
	uint64_t n_processes, n_jobs;
	const char *label; /* the launcher's job, if the unit is of one rank; else NULL */
	int32_t rank;
};

struct units {
	struct diff *diff;
	bool by_file; /* each file is a unit */
	struct unit *list;
	size_t n, room;
	struct pmc_map claims;
	unsigned n_repeated;	    /* units with a process of another one */
	const char *repeated;	    /* the first of these */
	struct pmc_profile profile; /* the processes of the last unit */
};

/* ---- claims ------------------------------------------------------------------------------ */

static struct claim *claim_of(struct units *units, const void *key, size_t len)
{
	return pmc_map_at(&units->claims, &units->diff->arena, key, len, sizeof(struct claim));
}

static struct claim *claim_of_id(struct units *units, char kind, const uint8_t id[16])
{
	char key[17] = { kind };

	memcpy(key + 1, id, 16);
	return claim_of(units, key, sizeof(key));
}

static struct claim *claim_of_label(struct units *units, char kind, const struct unit *unit,
				    unsigned number)
{
	char key[192];
	const int len = snprintf(key, sizeof(key), "%c%u %.160s", kind, number, unit->label);

	return claim_of(units, key, (size_t)len);
}

/* ---- dumps ------------------------------------------------------------------------------- */

static int keep_process(const struct pmc_frame *frame, void *to)
{
	struct units *units = to;

	units->profile.frames++;
	if (frame->head.type == PMC_FRAME_PROCESS)
		pmc_profile_add(&units->profile, frame);
	return 0;
}

static void begin_unit(struct units *units)
{
	units->list = pmc_arena_grow(&units->diff->arena, units->list, units->n, &units->room,
				     sizeof(*units->list));
	units->list[units->n] = (struct unit){ .run.at = (unsigned)units->n, .rank = -1 };
	pmc_profile_init(&units->profile, NULL);
}

static void end_unit(struct units *units)
{
	struct unit *unit = &units->list[units->n];
	struct pmc_profile *profile = &units->profile;
	struct pmc_arena *arena = &units->diff->arena;
	bool one_rank = true;
	size_t len;

	pmc_profile_finish(profile);
	unit->n_processes = unit->n_jobs = profile->n_processes;
	unit->processes = pmc_arena_alloc(arena, (unit->n_jobs + 1) * sizeof(void *));
	unit->jobs = pmc_arena_alloc(arena, (unit->n_jobs + 1) * sizeof(void *));
	for (uint64_t i = 0; i < unit->n_processes; i++) {
		const struct pmc_p_process *p = profile->processes[i];
		const char *job = pmc_label(p->labels, "job", &len);

		unit->processes[i] = claim_of_id(units, 'p', p->identity);
		unit->jobs[i] = claim_of_id(units, 'j', p->fixed.job);
		if (p->fixed.rank < 0)
			continue;
		one_rank &= unit->rank < 0 || unit->rank == p->fixed.rank;
		unit->rank = p->fixed.rank;
		if (job && !unit->label)
			unit->label = pmc_arena_strndup(arena, job, len);
	}
	if (!one_rank)
		unit->label = NULL;
	pmc_profile_free(profile);
	units->n += unit->run.n_paths > 0;
}

static void take_path(struct pmc_arena *arena, struct diff_run *run, const char *path)
{
	run->paths =
		pmc_arena_grow(arena, run->paths, run->n_paths, &run->room, sizeof(*run->paths));
	run->paths[run->n_paths++] = path;
}

static void add_path(struct units *units, int fd, const char *name, bool seekable)
{
	struct diff_run *run = &units->list[units->n].run;
	struct pmc_arena *arena = &units->diff->arena;
	char text[32];
	struct stat st;

	if (!run->name)
		run->name = pmc_arena_strdup(arena, name);
	/* A pipe can be read only once, later. */
	snprintf(text, sizeof(text), "/dev/fd/%d", seekable ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3));
	take_path(arena, run,
		  pmc_arena_strdup(arena, seekable && fd != STDIN_FILENO ? name : text));
	if (fstat(fd, &st) == 0 && st.st_mtime > run->time)
		run->time = st.st_mtime;
}

/* An input_reader. */
static int scan_file(void *to, int fd, const char *name)
{
	struct units *units = to;
	const off_t start = lseek(fd, 0, SEEK_CUR);
	uint64_t damaged = 0;
	int err = 0;

	if (units->by_file)
		begin_unit(units);
	units->profile.frames = 0;
	if (start >= 0)
		err = pmc_scan_packed_fd(fd, keep_process, units, &damaged);
	if (!err && start >= 0 && !units->profile.frames)
		err = damaged ? INPUT_FOREIGN : INPUT_EMPTY;
	if (!err && start >= 0 && lseek(fd, start, SEEK_SET) < 0)
		err = -errno;
	if (!err)
		add_path(units, fd, name, start >= 0);
	if (units->by_file)
		end_unit(units);
	return err;
}

/* ---- runs -------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return x->run.time != y->run.time ? (x->run.time > y->run.time ? 1 : -1) :
					    (x->run.at > y->run.at) - (x->run.at < y->run.at);
}

/* Merged dumps after the single ones, and copies after the older ones. */
static int by_images(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return x->n_processes != y->n_processes ? (x->n_processes > y->n_processes ? 1 : -1) :
						  by_time(a, b);
}

static int by_place(const void *a, const void *b)
{
	const struct diff_run *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* The run that has the first of these; NULL: none has any. */
static struct diff_run *run_of(struct claim *const *claims, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (claims[i]->run)
			return claims[i]->run;
	return NULL;
}

/* Adds the unit to its run, or as a new one. */
static void take_unit(struct units *units, const struct unit *unit, struct diff_runs *runs)
{
	struct diff_run *run;

	/* As a run of its own it would make means look more certain than they are. */
	if (run_of(unit->processes, unit->n_processes)) {
		units->repeated = units->n_repeated++ ? units->repeated : unit->run.name;
		return;
	}
	run = run_of(unit->jobs, unit->n_jobs);
	if (!run) {
		run = &runs->list[runs->n++];
		*run = unit->run;
	} else {
		for (unsigned i = 0; i < unit->run.n_paths; i++)
			take_path(&units->diff->arena, run, unit->run.paths[i]);
		if (unit->run.at < run->at) {
			run->at = unit->run.at;
			run->name = unit->run.name;
		}
		if (unit->run.time > run->time)
			run->time = unit->run.time;
	}
	for (uint64_t i = 0; i < unit->n_processes; i++)
		unit->processes[i]->run = run;
	for (uint64_t i = 0; i < unit->n_jobs; i++)
		unit->jobs[i]->run = run;
}

int diff_find_runs(struct diff *diff, const char *const *paths, unsigned n, bool by_file,
		   struct diff_runs *runs)
{
	struct units units = { .diff = diff, .by_file = by_file };
	int code = 0;

	*runs = (struct diff_runs){ .n = 0 };
	if (by_file)
		code = tool_inputs_read(paths, n, scan_file, &units);
	/* Every unreadable operand is named. */
	for (unsigned i = 0; i < n && !by_file; i++) {
		begin_unit(&units);
		code = tool_inputs_read(&paths[i], 1, scan_file, &units) ? EXIT_FAIL : code;
		if (units.list[units.n].run.n_paths)
			units.list[units.n].run.name = paths[i];
		end_unit(&units);
	}
	if (code || !units.n)
		return code;
	qsort(units.list, units.n, sizeof(*units.list), by_time);
	for (struct unit *unit = units.list; unit < units.list + units.n; unit++)
		if (unit->label) {
			struct claim *rank =
				claim_of_label(&units, 'r', unit, (unsigned)unit->rank);

			unit->jobs[unit->n_jobs++] =
				claim_of_label(&units, 'l', unit, rank->count++);
		}
	qsort(units.list, units.n, sizeof(*units.list), by_images);
	runs->list = pmc_arena_alloc(&diff->arena, units.n * sizeof(*runs->list));
	for (size_t i = 0; i < units.n; i++)
		take_unit(&units, &units.list[i], runs);
	qsort(runs->list, runs->n, sizeof(*runs->list), by_place);
	if (units.n_repeated > 1)
		tool_warn("%s and %u more are left out: their runs are in other dumps, too",
			  units.repeated, units.n_repeated - 1);
	else if (units.n_repeated)
		tool_warn("%s is left out: its runs are in other dumps, too", units.repeated);
	return 0;
}
