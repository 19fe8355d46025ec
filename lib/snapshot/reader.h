/* SPDX-License-Identifier: MIT */
/*
 * reader.h - access to the memory and the groups of a process with an agent, from inside or
 * outside.
 *
 * From inside nothing is copied: a pointer leads to memory that other threads change. From outside
 * the same pointer leads to a copy, made when it was asked for: the kernel takes a lock for each,
 * which orders them. The memory of another process is untrusted: what a copy says is checked before
 * it is used as a size or a number.
 */
#pragma once

#include "lib/count/group.h"
#include "lib/live/control.h"
#include "lib/live/registry.h"

/* There is one copy of each, which lasts until the next of its kind. */
enum reader_copy {
	COPY_ACCOUNT,
	COPY_WORD,
	COPY_AREA, /* of regions, up to REGION_AREA_HEAD */
	COPY_RECORD,
	COPY_TABLES,
	COPY_THREAD,
	COPY_COUNTS,
	COPY_LIST,
	COPY_MODULES,
	COPY_STACKS,
	COPY_WORDS,
	COPY_KINDS,
};

struct reader {
	const struct pmc_control *control;
	const struct registry *registry; /* with the slots that are read */
	uint64_t snapshot;		 /* number of the frames */
	/* The rest is 0 from inside. */
	void *from; /* for the two functions */
	/* NULL: the memory cannot be read. */
	const void *(*copy)(void *from, enum reader_copy kind, uint64_t address, size_t bytes);
	/* As pmc_perf_group_read, with a descriptor of that process. */
	void (*read_group)(void *from, int fd, uint64_t id, unsigned n, struct pmc_reading *reading,
			   uint64_t *words);
	const uint32_t *index; /* of each slot in the process's registry */
};

static inline const void *reader_at(const struct reader *reader, enum reader_copy kind,
				    uint64_t address, size_t bytes)
{
	return reader->copy ? reader->copy(reader->from, kind, address, bytes) :
			      (const void *)(uintptr_t)address;
}

static inline void reader_group(const struct reader *reader, int fd, uint64_t id, unsigned n,
				struct pmc_reading *reading, uint64_t *words)
{
	if (reader->copy)
		reader->read_group(reader->from, fd, id, n, reading, words);
	else
		pmc_perf_group_read(fd, id, n, reading, words);
}

static inline uint32_t reader_index(const struct reader *reader, const struct slot *slot)
{
	const uint32_t index = registry_index(reader->registry, slot);

	return reader->index ? reader->index[index] : index;
}
