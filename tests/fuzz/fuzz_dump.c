/* SPDX-License-Identifier: MIT */
/*
 * fuzz_dump.c - an arbitrary file read as by pmctl report, export, explain, diff and merge.
 *
 * The first two bytes choose the view. Unless the highest bit of the first one is set, sizes and
 * hashes of frames are corrected, as otherwise only the scan would be reached; references to a
 * frame by its hash are corrected, too.
 *
 * prog-flags: -Wl,--wrap=mmap -Wl,--wrap=gethostname
 */
#include "tools/rows/profile.h"
#include "tools/view/report.h"
#include "tests/fuzz/fuzz.h"
#include "tools/diff/diff.h"
#include "tools/explain/explain.h"
#include "tools/export/export.h"
#include "tools/merge/merge.h"
#include "tools/report/report.h"

#include <fcntl.h>
#include <ftw.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FRAMES_MAX 256

/* PMC_BY_NONE and the rows of the table. */
enum {
	N_BY = 1
#define X(name, alias, value, doc) +1
#include "tools/rows/by.def"
#undef X
};

struct reference {
	uint64_t was, is;
};

/* The most memory that arenas may take for a dump: for tables and first blocks, and for each of its
 * bytes. No number in a dump may ask for more, and no list grow with the square of its length. */
enum { ROOM_BYTES = 32 << 20, ROOM_PER_BYTE = 512 };

static size_t mapped;

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __wrap_gethostname(char *name, size_t bytes);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	mapped += fd < 0 ? bytes : 0;
	return __real_mmap(at, bytes, protection, flags, fd, offset);
}

/* No dump is of this machine, whose files must not be read. */
int __wrap_gethostname(char *name, size_t bytes)
{
	snprintf(name, bytes, "elsewhere");
	return 0;
}

static int nowhere = -1;
static char tables[64]; /* a directory in TMPDIR */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	FUZZ_CHECK(nowhere >= 0);
	snprintf(tables, sizeof(tables), "%.40s/tables-XXXXXX", getenv("TMPDIR") ?: "/tmp");
	FUZZ_CHECK(mkdtemp(tables));
	rmdir(tables);
	return 0;
}

static bool is_frame(const uint8_t *at, size_t left, struct pmc_frame_head *head)
{
	if (left < sizeof(*head) || !pmc_is_dump(at, PMC_MAGIC_BYTES))
		return false;
	memcpy(head, at, sizeof(*head));
	return head->size >= sizeof(*head) && head->size <= left && head->size % 8 == 0;
}

static void refer(uint8_t *frame, const struct pmc_frame_head *head, const struct reference *known,
		  unsigned n)
{
	for (size_t at = sizeof(*head); at + 8 <= head->size; at += 8) {
		uint64_t word;

		memcpy(&word, frame + at, sizeof(word));
		for (unsigned i = 0; word && i < n; i++)
			if (known[i].was == word)
				memcpy(frame + at, &known[i].is, sizeof(word));
	}
}

/* Frames that others refer to come first, so that their hashes are known in time. */
static void seal(uint8_t *data, size_t size)
{
	struct reference known[FRAMES_MAX];
	struct pmc_frame_head head;
	unsigned n = 0;

	for (int shared = 1; shared >= 0; shared--) {
		for (size_t at = 0; at < size;) {
			if (!is_frame(data + at, size - at, &head)) {
				at++;
				continue;
			}
			if (shared ==
			    (head.type == PMC_FRAME_EVENTSET || head.type == PMC_FRAME_SITE ||
			     head.type == PMC_FRAME_MODULE)) {
				uint64_t was = head.hash;

				if (!shared)
					refer(data + at, &head, known, n);
				head.hash = XXH3_64bits(data + at + 16, head.size - 16);
				memcpy(data + at, &head, sizeof(head));
				if (shared && n < FRAMES_MAX)
					known[n++] = (struct reference){ was, head.hash };
			}
			at += head.size;
		}
	}
}

/* Every sample is of its process, and is found by its row. */
static void check_samples(const struct pmc_profile *profile)
{
	for (uint64_t i = 0; i < profile->n_samples; i++) {
		struct pmc_p_samples *samples = profile->samples[i], **found;
		uint64_t sum = 0, n = 0;

		for (uint64_t s = 0; s < samples->n; s++) {
			const struct pmc_p_stack *stack = samples->list[s].stack;

			FUZZ_CHECK(!stack || stack->process == samples->process);
			for (unsigned f = 0; stack && f < stack->depth; f++)
				sum += stack->frames[f].module ? stack->frames[f].module->hash : 0;
		}
		FUZZ_CHECK(sum != 1);
		if (!samples->row)
			continue;
		found = pmc_profile_samples_of(profile, samples->row, &n);
		while (n && *found != samples)
			found++, n--;
		FUZZ_CHECK(n);
	}
}

/* Returns the number of damaged frames, including those whose content does not fit their type. */
static uint64_t write_report(int fd, const struct pmc_report_options *options, int to, bool tell)
{
	static char room[64 << 10];
	const struct pmc_profile_options read = { .timeline = options->timeline,
						  .wakers = options->wakers,
						  .from_ns = options->from_ns,
						  .to_ns = options->to_ns };
	struct pmc_profile profile;
	const char *problem = NULL;
	struct pmc_out out;
	uint64_t damaged;

	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	pmc_profile_init(&profile, &read);
	FUZZ_CHECK(pmc_profile_add_fd(&profile, fd) == 0);
	pmc_profile_finish(&profile);
	symbols_resolve(&profile);
	check_samples(&profile);
	damaged = profile.damaged_frames;
	if (!tell)
		profile.damaged_frames = 0;
	pmc_out_to_fd(&out, to, room, sizeof(room));
	if (pmc_report(&profile, options, &out, &problem))
		FUZZ_CHECK(problem);
	pmc_profile_free(&profile);
	return damaged;
}

/* As in pmctl report. */
static void report(int fd, uint8_t choice, uint8_t more)
{
	struct pmc_report_options options = {
		.format = choice % 3,
		.by = more % N_BY,
		.wakers = more % N_BY == PMC_BY_WAKER,
		.top = (choice >> 2) % 4 - 1,
		.summary = (choice & 16) != 0,
		.wide = (choice & 32) != 0,
		.timeline = (choice & 64) != 0,
		.screen.color = (more & 128) != 0,
		.sort = (more & 16) ? "cpu" : NULL,
		.from_ns = (more & 80) == 80 ? 5 : 0,
		.to_ns = (more & 80) == 80 ? 1000000000 : 0,
	};

	struct report_names *names;

	/* Files of this machine must not be read. */
	names = report_names_new("/nonexistent");
	options.fold_samples = report_fold_samples;
	options.path_of = report_path_of;
	options.names_arg = names;
	options.inverted = (more & 32) != 0;
	if (options.timeline && (options.by >= PMC_BY_REGION || options.format != PMC_FORMAT_TABLE))
		options.by = PMC_BY_NONE;
	if (options.timeline) {
		options.top = -1;
		options.sort = NULL;
	}
	write_report(fd, &options, nowhere, true);
	report_names_free(names);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

/* As in pmctl export. */
static void export(int fd, uint8_t choice)
{
	static const struct {
		void (*write)(struct export *export);
		enum export_samples samples;
	} exporters[] = {
#define X(id, name, samples, output) { export_##id, samples },
#include "tools/export/exporters.def"
#undef X
	};
	const unsigned which = choice % (sizeof(exporters) / sizeof(exporters[0]));
	static char room[64 << 10];
	const struct pmc_profile_options read = {
		.timeline = choice & 1 || exporters[which].write == export_parquet,
		.times = exporters[which].write == export_chrome,
	};
	struct pmc_profile profile;
	struct pmc_out out;
	struct export e = { .profile = &profile, .out = &out, .directory = tables };

	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	pmc_profile_init(&profile, &read);
	FUZZ_CHECK(pmc_profile_add_fd(&profile, fd) == 0);
	pmc_profile_finish(&profile);
	e.names = report_names_new("/nonexistent");
	pmc_out_to_fd(&out, nowhere, room, sizeof(room));
	export_find_samples(&e);
	/* pmctl export refuses a dump without samples; folded also one without their threads. */
	if (exporters[which].samples != NEEDED ||
	    (e.n_events && (exporters[which].write != export_folded || e.has_rows)))
		exporters[which].write(&e);
	nftw(tables, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	report_names_free(e.names);
	pmc_arena_free(&e.arena);
	pmc_profile_free(&profile);
}

/* As in pmctl explain. */
static void explain(int fd)
{
	const struct pmc_profile_options read = { .timeline = false };
	struct report_names *names = report_names_new("/nonexistent");
	struct pmc_arena arena = { 0 };
	struct pmc_profile profile;
	struct facts facts;
	unsigned n;

	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	pmc_profile_init(&profile, &read);
	FUZZ_CHECK(pmc_profile_add_fd(&profile, fd) == 0);
	pmc_profile_finish(&profile);
	if (explain_facts(&profile, names, &arena, &facts) == 0)
		explain_find(&facts, &n);
	report_names_free(names);
	pmc_arena_free(&arena);
	pmc_profile_free(&profile);
}

/* As in pmctl diff, of the dump with itself. */
static void diff(int fd, uint8_t choice)
{
	const char *files[] = { "a.pmc", "b.pmc" };
	double values[2];
	struct diff diff = {
		.by = (choice >> 4) % DIFF_KEYS,
		.files = files,
		.n_files = { 1, 1 },
		.values = values,
		.all = (choice & 8) != 0,
		.top = choice % 3,
		.fail_above = -1,
		.root = "/nonexistent",
		.out = { .format = choice % (TABLE_MARKDOWN + 1), .output = "/dev/null" },
	};

	/* Threads, regions and paths have no names that are the same in two runs. */
	if (!diff_keys[diff.by])
		diff.by = choice & 1 ? PMC_BY_FUNCTION : PMC_BY_POOL;
	diff_start(&diff, 2);
	for (unsigned side = 0; side < 2; side++) {
		struct pmc_profile profile;

		FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
		pmc_profile_init(&profile, NULL);
		FUZZ_CHECK(pmc_profile_add_fd(&profile, fd) == 0);
		pmc_profile_finish(&profile);
		diff_take(&diff, side, side, &profile);
		pmc_profile_free(&profile);
	}
	FUZZ_CHECK(diff_write_rows(&diff) == 0);
	pmc_arena_free(&diff.arena);
}

static int merge(int fd, const struct merge_options *options, struct merge_input *seen)
{
	int to = memfd_create("merged", MFD_CLOEXEC);
	struct merge *merge;

	FUZZ_CHECK(to >= 0 && lseek(fd, 0, SEEK_SET) == 0);
	merge = merge_new(options);
	FUZZ_CHECK(merge_add_fd(merge, fd, seen) == 0);
	FUZZ_CHECK(merge_write(merge, to) == 0);
	merge_free(merge);
	return to;
}

static void check_same(int a, int b)
{
	off_t len = lseek(a, 0, SEEK_END);
	char *x, *y;

	FUZZ_CHECK(len >= 0 && lseek(b, 0, SEEK_END) == len);
	x = malloc((size_t)len + 1);
	y = malloc((size_t)len + 1);
	FUZZ_CHECK(x && y);
	FUZZ_CHECK(pread(a, x, (size_t)len, 0) == len && pread(b, y, (size_t)len, 0) == len);
	FUZZ_CHECK(!memcmp(x, y, (size_t)len));
	free(x);
	free(y);
}

/* The report of a dump equals that of its merge, except for damage and for frames that --compact
 * drops, which no report shows. A merge does not check the content of frames: of two that claim to
 * be the same snapshot it may keep one that a report cannot read; no writer makes such frames. */
static void check_reports(int dump, int merged, bool compact, uint64_t damaged)
{
	static const struct pmc_report_options options = { .format = PMC_FORMAT_JSON, .top = -1 };
	int a = memfd_create("report", MFD_CLOEXEC), b = memfd_create("report", MFD_CLOEXEC);
	bool all_read;

	FUZZ_CHECK(a >= 0 && b >= 0);
	all_read = write_report(dump, &options, a, false) == damaged;
	write_report(merged, &options, b, false);
	if (all_read || !compact)
		check_same(a, b);
	close(a);
	close(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct merge_options options = { .index_bytes = 0 };
	struct merge_input seen;
	uint8_t *copy;
	int fd, once, twice;

	if (size < 2)
		return 0;
	copy = malloc(size);
	FUZZ_CHECK(copy);
	memcpy(copy, data, size);
	if (!(copy[0] & 128))
		seal(copy + 2, size - 2);
	fd = fuzz_file(copy + 2, size - 2);
	free(copy);
	mapped = 0;
	report(fd, data[0], data[1]);
	FUZZ_CHECK(mapped <= ROOM_BYTES + ROOM_PER_BYTE * size);
	if (data[1] & 32)
		export(fd, data[0]);
	if (data[1] & 64)
		explain(fd);
	mapped = 0;
	if (data[1] & 16)
		diff(fd, data[0]);
	FUZZ_CHECK(mapped <= ROOM_BYTES + ROOM_PER_BYTE * size);
	options.compact = (data[1] & 8) != 0;
	once = merge(fd, &options, &seen);
	FUZZ_CHECK(seen.bytes == size - 2);
	if (data[0] % 3 == PMC_FORMAT_JSON)
		check_reports(fd, once, options.compact, seen.damaged);
	/* The output of a merge has no damage, and merging it changes nothing. */
	twice = merge(once, &options, &seen);
	FUZZ_CHECK(seen.damaged == 0);
	check_same(once, twice);
	close(fd);
	close(once);
	close(twice);
	return 0;
}
