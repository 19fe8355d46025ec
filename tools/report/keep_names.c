/* SPDX-License-Identifier: MIT */
/*
 * keep_names.c - writes names of the addresses and start routines in a dump to it, as NAMES frames:
 * reports can then be made where the files are not, or after they were built again.
 *
 * In a process of its own: files of measured programs are hostile, and what they do to libdw must
 * not end a merge, or change the exit status of a command that was run.
 */
#include "lib/base/map.h"
#include "lib/dump/frame.h"
#include "tools/cli/pmctl.h"
#include "tools/cli/progress.h"
#include "tools/report/names.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A frame begins with what fits here; its last place may take as much again. */
#define FRAME_ROOM  (PMC_FRAME_MAX_BYTES / 4)
#define PLACES_MOST 4096u
/* A file may be on a server that does not answer. */
#define SECONDS_MOST 60

struct wanted_key {
	uint64_t module;		     /* hash, of a start routine its SITE's; 0: JIT code */
	const struct pmc_p_process *process; /* NULL: in a file of a known build */
	uint64_t address;
};

struct wanted {
	struct wanted_key key;
	const struct pmc_p_process *process;
	const struct pmc_p_frame *frame; /* NULL: a start routine */
	const char *start_module;	 /* its path */
	UT_hash_handle hh;
};

struct text_number {
	const char *text;
	uint32_t number; /* from 1 */
};

struct place_to_write {
	struct pmc_place_def def;
	const struct symbol_frame *frames;
};

struct keeping {
	const struct pmc_profile *profile;
	struct report_names *names;
	struct pmc_arena arena;
	struct wanted *wanted;
	struct pmc_frame_buf buf;
	int fd;
	/* Of the frame that is collected: */
	struct pmc_map texts; /* struct text_number by text, which the symbolizer has once */
	struct place_to_write places[PLACES_MOST];
	uint32_t n_places;
	size_t bytes;
};

/* ---- addresses --------------------------------------------------------------------------- */

static void want(struct keeping *k, const struct wanted *wanted)
{
	struct pmc_arena *arena = &k->arena;
	struct wanted *known;

	HASH_FIND(hh, k->wanted, &wanted->key, sizeof(wanted->key), known);
	if (known)
		return;
	known = pmc_arena_alloc(arena, sizeof(*known));
	*known = *wanted;
	HASH_ADD(hh, k->wanted, key, sizeof(known->key), known);
}

static void want_stack(struct keeping *k, const struct pmc_p_stack *stack)
{
	for (unsigned i = 0; i < stack->depth; i++) {
		const struct pmc_p_frame *frame = &stack->frames[i];

		want(k,
		     &(struct wanted){ .key = { frame->module ? frame->module->hash : 0,
						pmc_is_known_build(frame) ? NULL : stack->process,
						frame->address },
				       .process = stack->process,
				       .frame = frame });
	}
}

static bool lacks_start(const struct pmc_p_thread *thread)
{
	return thread->fixed.start_site && thread->module[0] &&
	       (!thread->symbol[0] || thread->symbol_found);
}

static void want_starts(struct keeping *k)
{
	const struct pmc_profile *profile = k->profile;
	struct pmc_thread_buf buf;

	for (uint64_t i = 0; i < profile->n_threads; i++) {
		const struct pmc_p_thread *thread =
			pmc_profile_thread(profile, profile->threads[i], &buf);

		if (lacks_start(thread))
			want(k, &(struct wanted){ .key = { thread->fixed.start_site,
							   thread->process, thread->offset },
						  .process = thread->process,
						  .start_module = thread->module });
	}
}

/* Each module's, in the order of the modules in the list of wanted addresses. */
static int by_subject(const struct wanted *a, const struct wanted *b)
{
	int order = (a->key.module > b->key.module) - (a->key.module < b->key.module);

	if (!order && a->key.process && b->key.process)
		order = memcmp(a->process->identity, b->process->identity, 16);
	return order ? order :
		       (a->key.address > b->key.address) - (a->key.address < b->key.address);
}

/* ---- frames ------------------------------------------------------------------------------ */

static uint32_t number_of(const struct keeping *k, const char *text)
{
	const struct text_number *known = pmc_map_find(&k->texts, &text, sizeof(text));

	return known ? known->number : 0;
}

static void add_text(struct keeping *k, const char *text)
{
	struct text_number *known;

	if (!text || number_of(k, text))
		return;
	known = pmc_map_at(&k->texts, &k->arena, &text, sizeof(text), sizeof(*known));
	known->text = text;
	known->number = (uint32_t)HASH_COUNT(k->texts.entries);
	k->bytes += 16 + strlen(text);
}

static void add_place(struct keeping *k, uint64_t address, const struct symbol_place *place)
{
	k->places[k->n_places++] = (struct place_to_write){
		.def = { .address = address, .start = place->start, .n_functions = place->n },
		.frames = place->frames,
	};
	for (unsigned i = 0; i < place->n; i++) {
		add_text(k, place->frames[i].function);
		add_text(k, place->frames[i].file);
	}
	k->bytes += sizeof(struct pmc_place_def) + place->n * sizeof(struct pmc_place_function);
}

static void put_place(struct keeping *k, const struct place_to_write *place)
{
	struct pmc_place_function *functions =
		pmc_arena_alloc(&k->arena, place->def.n_functions * sizeof(*functions));

	for (unsigned i = 0; i < place->def.n_functions; i++) {
		const struct symbol_frame *from = &place->frames[i];

		functions[i] = (struct pmc_place_function){
			.name = number_of(k, from->function),
			.file = number_of(k, from->file),
			.line = from->line,
			.flags = from->inlined ? PMC_PLACE_INLINED : 0,
		};
	}
	pmc_put_place(&k->buf, &place->def, functions);
}

/* Writes what was collected about one module or process. 0 or -errno. */
static int write_frame(struct keeping *k, const struct wanted *subject)
{
	const struct pmc_names_fixed fixed = { .module = subject->key.module,
					       .n_texts = (uint32_t)HASH_COUNT(k->texts.entries),
					       .n_places = k->n_places };
	int error = 0;

	if (!k->n_places)
		return 0;
	pmc_frame_begin(&k->buf, PMC_FRAME_NAMES,
			subject->key.process ? subject->process->identity : NULL, 0, &fixed,
			sizeof(fixed));
	for (struct pmc_map_entry *at = k->texts.entries; at; at = at->hh.next) {
		const char *text = ((const struct text_number *)at->value)->text;

		pmc_frame_str(&k->buf, text, strlen(text));
	}
	for (uint32_t i = 0; i < k->n_places; i++)
		put_place(k, &k->places[i]);
	pmc_frame_end(&k->buf);
	errno = 0;
	if (write(k->fd, k->buf.data, k->buf.len) != (ssize_t)k->buf.len)
		error = errno ? -errno : -ENOSPC;
	k->buf.len = 0;
	k->texts = (struct pmc_map){ 0 };
	k->n_places = 0;
	k->bytes = 0;
	return error;
}

/* A place of which nothing is known, or no more than in the dump, is left out. */
static void keep(struct keeping *k, const struct wanted *wanted)
{
	struct symbol_place place;
	bool in_dump = false;

	if (wanted->start_module) {
		struct symbol_frame *start = pmc_arena_alloc(&k->arena, sizeof(*start));

		place = (struct symbol_place){ start, 1, 0 };
		start->function = names_start(k->names, k->profile, wanted->process,
					      wanted->start_module, wanted->key.address);
	} else {
		names_place(k->names, wanted->process, wanted->frame, &place, &in_dump);
	}
	if (!in_dump && (place.start || names_knowledge(&place)))
		add_place(k, wanted->key.address, &place);
}

static int write_names(const struct pmc_profile *profile, int fd)
{
	struct pmc_arena arena = { 0 };
	struct keeping *k = pmc_arena_alloc(&arena, sizeof(*k));
	const struct pmc_p_stack *stack = NULL;
	const struct wanted *at, *first;
	int error = 0;

	k->names = report_names_new(NULL);
	k->profile = profile;
	k->fd = fd;
	pmc_frame_buf_init(&k->buf, pmc_arena_alloc(&arena, PMC_FRAME_MAX_BYTES),
			   PMC_FRAME_MAX_BYTES);
	while ((stack = pmc_profile_next_stack(profile, stack)))
		want_stack(k, stack);
	want_starts(k);
	HASH_SORT(k->wanted, by_subject);
	tool_progress_begin("naming functions", HASH_COUNT(k->wanted));
	for (first = at = k->wanted; at && !error; at = at->hh.next) {
		if (first->key.module != at->key.module || first->key.process != at->key.process ||
		    k->n_places == PLACES_MOST || k->bytes > FRAME_ROOM)
			error = write_frame(k, first);
		first = at;
		keep(k, at);
		tool_progress_add(1);
	}
	if (first && !error)
		error = write_frame(k, first);
	report_names_warn(k->names, "pmctl report --symfs names a directory with copies of the "
				    "measured files");
	return error;
}

bool report_wants_names(const struct pmc_profile *profile)
{
	struct pmc_thread_buf buf;
	bool wants = pmc_profile_next_stack(profile, NULL);

	for (uint64_t i = 0; i < profile->n_threads && !wants; i++)
		wants = lacks_start(pmc_profile_thread(profile, profile->threads[i], &buf));
	return wants;
}

const char *report_keep_names(const struct pmc_profile *profile, int fd)
{
	int status = 0;
	sigset_t alarms;
	pid_t pid;

	tool_progress_begin("naming functions", 0);
	pid = fork();
	if (!pid) {
		tool_no_core();
		signal(SIGBUS, SIG_DFL);
		signal(SIGALRM, SIG_DFL);
		sigemptyset(&alarms);
		sigaddset(&alarms, SIGALRM);
		sigprocmask(SIG_UNBLOCK, &alarms, NULL);
		alarm(SECONDS_MOST);
		_exit(-write_names(profile, fd));
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	tool_progress_end();
	if (pid < 0)
		return strerror(errno);
	if (WIFEXITED(status))
		return WEXITSTATUS(status) ? strerror(WEXITSTATUS(status)) : NULL;
	return WTERMSIG(status) == SIGALRM ? "reading the symbols took more than a minute" :
					     "a file with symbols could not be read";
}
