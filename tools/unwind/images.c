/* SPDX-License-Identifier: MIT */
/*
 * images.c - what events must record, and the images, modules, stacks and waits that follow from
 * records.
 *
 * Records of executable mappings come from the fork or exec of a process on. Of one that started
 * before, or whose records were lost, /proc has the mappings.
 */
#include "tools/unwind/private.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/proc.h"
#include "tools/symbol/symbol.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAPS_MOST  ((size_t)16 << 20) /* bytes of /proc/PID/maps */
#define MAPS_AGAIN 4096

/* ---- what is mapped where in a process ------------------------------------------------------ */

/* The first mapping that ends above the address. */
static size_t first_above(const struct unwind_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (maps->list[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct unwind_map *unwind_maps_find(const struct unwind_maps *maps, uint64_t address)
{
	const size_t i = first_above(maps, address);

	return i < maps->n && maps->list[i].start <= address ? &maps->list[i] : NULL;
}

/* The maps of a process are freed with it: memory of their own. */
static void make_room(struct unwind_maps *maps, size_t n)
{
	size_t room = maps->room ? maps->room : 16;

	while (room < n)
		room *= 2;
	if (room == maps->room)
		return;
	maps->list = realloc(maps->list, room * sizeof(*maps->list));
	maps->room = room;
	if (!maps->list)
		pmc_arena_exhausted();
}

/* A mapping replaces what was there, but for what sticks out on both sides. */
void unwind_maps_add(struct unwind_maps *maps, const struct unwind_map *map)
{
	const size_t from = first_above(maps, map->start);
	struct unwind_map pieces[3];
	size_t to, n = 0;

	if (map->start >= map->end)
		return;
	make_room(maps, maps->n + 2);
	if (from < maps->n && maps->list[from].start < map->start) {
		pieces[n] = maps->list[from];
		pieces[n++].end = map->start;
	}
	pieces[n++] = *map;
	for (to = from; to < maps->n && maps->list[to].start < map->end; to++) {
		const struct unwind_map *old = &maps->list[to];

		if (old->end <= map->end)
			continue;
		pieces[n] = *old;
		pieces[n].start = map->end;
		pieces[n++].file_offset += map->end - old->start;
	}
	memmove(maps->list + from + n, maps->list + to, (maps->n - to) * sizeof(*maps->list));
	memcpy(maps->list + from, pieces, n * sizeof(*maps->list));
	maps->n += n - (to - from);
}

void unwind_maps_copy(struct unwind_maps *maps, const struct unwind_maps *old)
{
	make_room(maps, old->n);
	if (old->n)
		memcpy(maps->list, old->list, old->n * sizeof(*old->list));
	maps->n = old->n;
}

void unwind_maps_free(struct unwind_maps *maps)
{
	free(maps->list);
	*maps = (struct unwind_maps){ .list = NULL };
}

static struct unwind_image *find_image(struct unwind *unwind, uint32_t pid)
{
	struct unwind_image *image;

	HASH_FIND(hh, unwind->images, &pid, sizeof(pid), image);
	return image;
}

/* The image of a process of one thread, without mappings. */
static struct unwind_image *new_image(struct unwind *unwind, uint32_t pid)
{
	struct pmc_arena *arena = &unwind->arena;
	struct unwind_image *image = find_image(unwind, pid);

	if (!image) {
		image = calloc(1, sizeof(*image));
		if (!image)
			pmc_arena_exhausted();
		image->pid = pid;
		HASH_ADD(hh, unwind->images, pid, sizeof(pid), image);
	}
	image->threads = 1;
	image->maps.n = 0;
	return image;
}

static void drop_image(struct unwind *unwind, struct unwind_image *image)
{
	HASH_DEL(unwind->images, image);
	unwind_maps_free(&image->maps);
	free(image);
}

/* ---- modules ------------------------------------------------------------------------------ */

struct unwind_module *unwind_module_at(const struct unwind *unwind, uint64_t word)
{
	const unsigned index = PMC_STACK_MODULE(word);

	return index < unwind->n_modules ? unwind->list[index] : NULL;
}

/* NULL: there are too many; a process may map ever new files. */
static struct unwind_module *module_of(struct unwind *unwind, const char *path, const void *id,
				       size_t bytes)
{
	struct pmc_arena *arena = &unwind->arena;
	struct unwind_module *module;
	struct symbol_module *file;

	if (unwind->n_modules == PMC_NO_MODULE)
		return NULL;
	file = symbols_module(unwind->symbols, path, id, (unsigned)bytes);
	HASH_ENTRY(unwind->modules, file, &file, module);
	if (HASH_COUNT(unwind->modules) == unwind->n_modules)
		return module;
	module->index = unwind->n_modules;
	unwind->list = pmc_arena_grow(arena, unwind->list, unwind->n_modules, &unwind->room,
				      sizeof(struct unwind_module *));
	return unwind->list[unwind->n_modules++] = module;
}

/* Files of one path that no build ID tells apart, as of two versions of a program that run at the
 * same time, are modules of their own. */
static struct unwind_module *module_of_file(struct unwind *unwind, const char *path, uint64_t inode)
{
	static const char mark[] = " (deleted)";
	struct unwind_module *module = module_of(unwind, path, NULL, 0);
	size_t len = strlen(path);
	char other[PATH_MAX];

	if (module && module->inode && module->inode != inode) {
		snprintf(other, sizeof(other), "%.4000s (inode %" PRIu64 ")", path, inode);
		module = module_of(unwind, other, NULL, 0);
	}
	if (!module || module->inode)
		return module;
	if (len > sizeof(mark) && !strcmp(path + len - sizeof(mark) + 1, mark))
		len -= sizeof(mark) - 1;
	module->path = pmc_arena_strndup(&unwind->arena, path, len);
	module->inode = inode;
	return module;
}

/* ---- root directories ----------------------------------------------------------------------- */

/* The one of a process; of one that has ended, or that may not be looked at, `known`. */
static const struct unwind_root *root_of(struct unwind *unwind, const char *pid,
					 const struct unwind_root *known)
{
	struct pmc_arena *arena = &unwind->arena;
	struct unwind_root *root;
	char mounts[64], path[64];
	struct stat ns, dir;

	snprintf(mounts, sizeof(mounts), "/proc/%s/ns/mnt", pid);
	snprintf(path, sizeof(path), "/proc/%s/root", pid);
	if (stat(mounts, &ns) || stat(path, &dir))
		return known;
	for (root = unwind->roots; root; root = root->next)
		if (root->mounts == ns.st_ino && root->device == dir.st_dev &&
		    root->inode == dir.st_ino)
			return root;
	root = pmc_arena_alloc(arena, sizeof(*root));
	*root = (struct unwind_root){ ns.st_ino, dir.st_dev, dir.st_ino, -1, unwind->roots };
	/* The first is pmctl's. An open namespace keeps its mounts. */
	if (unwind->roots)
		root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->fd >= 0 &&
	    (!symbols_add_root(root->fd) || open(mounts, O_RDONLY | O_CLOEXEC) < 0)) {
		close(root->fd);
		root->fd = -1;
	}
	unwind->roots = root;
	return root;
}

static void find_root(struct unwind *unwind, struct unwind_image *image)
{
	char pid[16], path[32], status[4096];
	uint64_t number;
	struct stat st;

	if (!unwind->roots)
		root_of(unwind, "self", NULL);
	snprintf(pid, sizeof(pid), "%u", image->pid);
	image->root = root_of(unwind, pid, image->root);
	snprintf(path, sizeof(path), "/proc/%s", pid);
	if (!image->root || stat(path, &st))
		return;
	if (pmc_file_read(status, sizeof(status), "/proc/%s/status", pid) <= 0 ||
	    !pmc_proc_last(status, "NSpid", &number))
		number = image->pid;
	if ((st.st_uid && st.st_uid != geteuid()) || image->root->fd >= 0)
		symbols_add_process((pid_t)image->pid, st.st_uid, image->root->fd, (pid_t)number);
}

/* ---- processes ---------------------------------------------------------------------------- */

/* Whether the memory is of a file that has a name. Code that is made at run time is in "//anon" or
 * "[heap]", or in memory that is mapped twice, to write and to execute it, as by Erlang and .NET. A
 * library or program there has a build ID. */
static bool is_of_file(const char *name, size_t id_bytes)
{
	static const char *const shared[] = { "/memfd:", "/dev/zero", "/SYSV",
					      "/dev/shm/doublemapper" };

	for (unsigned i = 0; !id_bytes && i < sizeof(shared) / sizeof(shared[0]); i++)
		if (!strncmp(name, shared[i], strlen(shared[i])))
			return false;
	return name[0] == '/' && name[1] != '/';
}

static void add_map(struct unwind *unwind, struct unwind_image *image, struct unwind_map *map,
		    const char *name, uint64_t inode, const void *id, size_t id_bytes)
{
	uint8_t below[SYMBOL_ID_MOST];
	const bool file = is_of_file(name, id_bytes);

	if (file && !id_bytes && image->root && image->root->fd >= 0) {
		id_bytes = symbols_file_id(image->root->fd, name, below);
		id = below;
	}
	/* A runtime maps its jitdump so that profilers find the path. */
	if (file && fnmatch("*/jit-*.dump", name, 0) == 0)
		symbols_add_jit_dump((pid_t)image->pid, name);
	if (file && !id_bytes && inode)
		map->module = module_of_file(unwind, name, inode);
	else if (file || !strcmp(name, "[vdso]"))
		map->module = module_of(unwind, name, id, id_bytes);
	unwind_maps_add(&image->maps, map);
}

static void read_maps_of(struct unwind *unwind, struct unwind_image *image, const char *path)
{
	char permissions[5], *line = NULL;
	size_t room = 0, bytes = 0;
	FILE *file = fopen(path, "re");
	ssize_t n;

	while (file && bytes < MAPS_MOST && (n = getline(&line, &room, file)) > 0) {
		struct unwind_map map = { .module = NULL };
		uint64_t inode;
		int name = 0;

		bytes += (size_t)n;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
			   &map.start, &map.end, permissions, &map.file_offset, &inode,
			   &name) == 5 &&
		    name && strchr(permissions, 'x'))
			add_map(unwind, image, &map, line + name, inode, NULL, 0);
	}
	free(line);
	if (file)
		fclose(file);
}

static void read_maps(struct unwind *unwind, struct unwind_image *image)
{
	char path[64], status[4096];
	uint64_t threads = 0;
	glob_t paths;

	image->maps.n = 0;
	if (pmc_file_read(status, sizeof(status), "/proc/%u/status", image->pid) > 0)
		pmc_proc_number(status, "Threads", &threads);
	image->threads = (uint32_t)threads;
	snprintf(path, sizeof(path), "/proc/%u/maps", image->pid);
	read_maps_of(unwind, image, path);
	/* That of the main thread is empty once it has ended. */
	snprintf(path, sizeof(path), "/proc/%u/task/*/maps", image->pid);
	if (!image->maps.n && glob(path, GLOB_NOSORT, NULL, &paths) == 0) {
		for (size_t i = 0; i < paths.gl_pathc && !image->maps.n; i++)
			read_maps_of(unwind, image, paths.gl_pathv[i]);
		globfree(&paths);
	}
	image->n_read = image->maps.n;
}

static struct unwind_image *image_of(struct unwind *unwind, uint32_t pid)
{
	struct unwind_image *image = find_image(unwind, pid);

	if (!image) {
		image = new_image(unwind, pid);
		find_root(unwind, image);
		read_maps(unwind, image);
	}
	return image;
}

/* ---- records ------------------------------------------------------------------------------ */

static void take_mapping(struct unwind *unwind, const struct pmc_record_mmap *mmap)
{
	struct unwind_image *image = image_of(unwind, mmap->pid);
	struct unwind_map map = { .start = mmap->addr,
				  .end = mmap->addr + mmap->len,
				  .file_offset = mmap->file_offset };

	/* There are no records of what is unmapped: the list would grow for ever. */
	if (image->maps.n >= MAPS_AGAIN + 2 * image->n_read)
		read_maps(unwind, image);
	add_map(unwind, image, &map, mmap->filename, mmap->ino, mmap->build_id.data,
		mmap->build_id.size);
}

static void take_fork(struct unwind *unwind, const struct pmc_record_task *task)
{
	struct unwind_image *image = find_image(unwind, task->pid);

	if (task->pid != task->ppid) {
		const struct unwind_image *parent = image_of(unwind, task->ppid);

		image = new_image(unwind, task->pid);
		image->root = parent->root;
		unwind_maps_copy(&image->maps, &parent->maps);
	} else if (image) {
		image->threads++;
	}
}

/* Where the number is too small, as of threads whose start was not recorded, the mappings are read
 * again. */
static void take_exit(struct unwind *unwind, const struct pmc_record_task *task)
{
	struct unwind_image *image = find_image(unwind, task->pid);

	if (image && image->threads && !--image->threads)
		drop_image(unwind, image);
}

void unwind_take(struct unwind *unwind, const struct pmc_record *record)
{
	if (record->type == PERF_RECORD_MMAP2 || record->type == PERF_RECORD_MMAP)
		take_mapping(unwind, &record->mmap);
	else if (record->type == PERF_RECORD_FORK)
		take_fork(unwind, &record->task);
	else if (record->type == PERF_RECORD_EXIT)
		take_exit(unwind, &record->task);
	else if (record->type == PERF_RECORD_COMM && record->comm.exec)
		find_root(unwind, new_image(unwind, record->comm.pid));
}

enum {
	STACKS_MOST_BYTES = 100 << 20,
	WAITS_MOST = 1000000, /* each in a stack, and twice as many in all: some 200 MB */
};

static uint64_t find_chain_most(void)
{
	char text[32];

	return pmc_file_read(text, sizeof(text), "/proc/sys/kernel/perf_event_max_stack") > 0 ?
		       strtoull(text, NULL, 10) :
		       PERF_MAX_STACK_DEPTH;
}

void unwind_init(struct unwind *unwind, bool frame_pointers)
{
	*unwind = (struct unwind){ .frame_pointers = frame_pointers,
				   .stack_bytes = UNWIND_STACK_BYTES,
				   .kept_most = STACKS_MOST_BYTES,
				   .chain_most = find_chain_most(),
				   .symbols = symbols_new(NULL) };
}

static uint64_t kernel_address(struct unwind *unwind, const char *name)
{
	return PMC_STACK_ADDRESS(symbols_kernel_find(unwind->symbols, unwind->kernel->file, name));
}

void unwind_add_kernel(struct unwind *unwind)
{
	char boot_id[64] = "";

	symbols_boot_id(boot_id);
	unwind->kernel = module_of(unwind, SYMBOL_KERNEL, boot_id, strlen(boot_id));
	/* Now, because it takes 0.1 s: records would be lost if it was done during the recording.
	 */
	(void)symbols_status(unwind->symbols, unwind->kernel->file);
	unwind->scheduler = kernel_address(unwind, "__sched_text_start" SYMBOL_KERNEL_MARK);
	unwind->scheduler_end = kernel_address(unwind, "__sched_text_end" SYMBOL_KERNEL_MARK);
}

void unwind_free(struct unwind *unwind)
{
	struct unwind_image *image, *next;

	HASH_ITER (hh, unwind->images, image, next)
		drop_image(unwind, image);
	unwind_rules_free(unwind);
	symbols_free(unwind->symbols);
	pmc_arena_free(&unwind->arena);
}

/* ---- what events must record ---------------------------------------------------------------- */

unsigned unwind_pages(const struct unwind *unwind)
{
	/* A ring for each CPU: half a GiB in all, or as much as this user may lock. */
	const unsigned many = sysconf(_SC_NPROCESSORS_CONF) <= 16 ? 8192 : 2048;

	return unwind->frame_pointers ? 256 : many;
}

void unwind_options_stack(const struct unwind *unwind, struct pmc_open_options *options)
{
	const uint64_t registers = unwind_registers();

	const bool pointers = unwind->frame_pointers || !registers;

	options->exclude_callchain_kernel = !unwind->kernel;
	options->exclude_callchain_user = !pointers && !unwind->both;
	if (pointers || unwind->both || unwind->kernel)
		options->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (pointers)
		return;
	options->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	options->sample_regs_user = registers;
	options->sample_stack_user = unwind->stack_bytes;
}

void unwind_options_maps(struct pmc_open_options *options)
{
	options->task = true;
	options->mmap = true;
	options->mmap2 = true;
	options->build_id = true;
	options->comm = true;
	options->comm_exec = true;
	options->sample_id_all = true;
}

/* ---- stacks, each once ---------------------------------------------------------------------- */

/* Beyond the limits a new stack has its innermost function alone, and beyond twice as many bytes,
 * which takes a million functions, nothing. */
static const struct unwind_stack *keep(struct unwind *unwind, const uint64_t *words, unsigned depth,
				       uint16_t flags)
{
	struct pmc_arena *arena = &unwind->arena;
	size_t bytes = depth * sizeof(*words);
	struct unwind_stack *stack;

	HASH_FIND(hh, unwind->stacks, words, bytes, stack);
	if (stack)
		return stack;
	if (unwind->kept_bytes >= unwind->kept_most || HASH_COUNT(unwind->waits) >= WAITS_MOST) {
		unwind->shortened++;
		depth = 1;
		bytes = sizeof(*words);
		flags |= PMC_STACK_TRUNCATED;
		HASH_FIND(hh, unwind->stacks, words, bytes, stack);
		if (stack || unwind->kept_bytes >= 2 * unwind->kept_most)
			return stack;
	}
	unwind->kept_bytes += sizeof(*stack) + bytes;
	stack = pmc_arena_alloc(arena, sizeof(*stack) + bytes);
	stack->depth = (uint16_t)depth;
	stack->flags = flags;
	stack->id = PMC_STACK_OUTSIDE + HASH_COUNT(unwind->stacks);
	memcpy(stack->words, words, bytes);
	HASH_ADD(hh, unwind->stacks, words, bytes, stack);
	return stack;
}

/* A kernel thread has no user registers, an exiting thread no process. */
static bool has_stack(const struct pmc_record *record)
{
	const struct pmc_record_sample *sample = &record->sample;

	if ((int32_t)record->pid <= 0)
		return false;
	if (record->present & PERF_SAMPLE_REGS_USER &&
	    sample->regs_user.abi != PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	return record->present & PERF_SAMPLE_CALLCHAIN && sample->n_callchain;
}

unsigned unwind_frames(struct unwind *unwind, const struct pmc_record *record, uint64_t *words,
		       uint16_t *flags)
{
	struct unwind_image *image;

	if (!has_stack(record))
		return 0;
	image = image_of(unwind, record->pid);
	image->tid = record->tid;
	return unwind_walk(unwind, image, record, words, flags);
}

bool unwind_is_named(struct unwind *unwind, uint64_t word, const char *const *names)
{
	struct unwind_module *module = unwind_module_at(unwind, word);
	const char *name =
		module ? symbols_at(unwind->symbols, module->file, PMC_STACK_ADDRESS(word))
				 ->frames[0]
				 .function :
			 NULL;

	for (; name && *names; names++)
		if (!strncmp(name, *names, strlen(*names)))
			return true;
	return false;
}

/* It is in the stack of each wait, and says nothing of what is waited for. */
static bool is_scheduler(struct unwind *unwind, uint64_t word)
{
	static const char *const names[] = { "schedule", "__schedule", "io_schedule",
					     "preempt_schedule", NULL };

	return unwind->kernel && PMC_STACK_MODULE(word) == unwind->kernel->index &&
	       unwind_is_named(unwind, word, names);
}

/* As do_nanosleep and mutex_lock. */
static bool is_of_scheduler(const struct unwind *unwind, uint64_t word)
{
	const uint64_t address = PMC_STACK_ADDRESS(word);

	return unwind->kernel && PMC_STACK_MODULE(word) == unwind->kernel->index &&
	       address >= unwind->scheduler && address < unwind->scheduler_end;
}

/* /proc/PID/stack lacks the innermost functions if they are of the scheduler; stacks of switches
 * have them. So that one place has one stack, a stack that equals the last one of a switch but for
 * these functions is replaced by that. */
static const struct unwind_stack *keep_switch(struct unwind *unwind, const uint64_t *words,
					      unsigned depth, uint16_t flags)
{
	struct pmc_arena *arena = &unwind->arena;
	const struct unwind_stack **whole, *stack;
	unsigned from = 0;
	size_t bytes;

	while (from + 1 < depth && is_of_scheduler(unwind, words[from]))
		from++;
	bytes = (depth - from) * sizeof(*words);
	whole = pmc_map_find(&unwind->whole, words + from, bytes);
	if (!from && whole)
		return *whole;
	stack = keep(unwind, words, depth, flags);
	if (from && stack && !whole && unwind->kept_bytes < unwind->kept_most)
		whole = pmc_map_at(&unwind->whole, arena, words + from, bytes, sizeof(*whole));
	if (from && whole)
		*whole = stack;
	return stack;
}

const struct unwind_stack *unwind_stack_of(struct unwind *unwind, const struct pmc_record *record,
					   bool of_switch)
{
	uint64_t words[PMC_STACK_DEPTH_MAX];
	uint16_t flags = 0;
	const unsigned depth = unwind_frames(unwind, record, words, &flags);
	unsigned from = 0;

	while (of_switch && from + 1 < depth && is_scheduler(unwind, words[from]))
		from++;
	if (!depth)
		return NULL;
	return of_switch ? keep_switch(unwind, words + from, depth - from, flags) :
			   keep(unwind, words, depth, flags);
}

/* ---- waits ---------------------------------------------------------------------------------- */

const struct unwind_wait *unwind_wait_add(struct unwind *unwind, struct unwind_wait **list,
					  const void *of, uint64_t length, uint64_t n, uint64_t ns)
{
	struct pmc_arena *arena = &unwind->arena;
	struct unwind_wait *wait, key = { .key = { list, of, length } };

	HASH_FIND(hh, unwind->waits, &key.key, sizeof(key.key), wait);
	if (!wait && HASH_COUNT(unwind->waits) >= 2 * WAITS_MOST)
		key.key.of = NULL;
	HASH_ENTRY(unwind->waits, key, &key.key, wait);
	if (!wait->n) {
		wait->next = *list;
		*list = wait;
	}
	wait->n += n;
	pmc_add_sat(&wait->ns, ns);
	return wait;
}
