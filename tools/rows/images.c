/* SPDX-License-Identifier: MIT */
/* images.c - process images in order: which are of one process, and when their job started. */
#include "tools/rows/tables.h"

#include <errno.h>
#include <string.h>

struct replaced {
	uint64_t key[2];
	struct pmc_p_process *image; /* ended by exec, without a successor so far; NULL: none */
	UT_hash_handle hh;
};

/* The same process ID is another process on another host, or after a boot. */
static bool is_successor(const struct pmc_p_process *image, const struct pmc_p_process *before)
{
	return !(image->fixed.flags & PMC_PROCESS_FORKED) &&
	       image->fixed.start_ns > before->fixed.start_ns &&
	       !strcmp(image->host, before->host) && !strcmp(image->boot_id, before->boot_id) &&
	       !memcmp(image->fixed.job, before->fixed.job, sizeof(image->fixed.job));
}

static int link_origins(struct pmc_profile *profile)
{
	struct pmc_arena *arena = &profile->arena;
	struct replaced *table = NULL, *found;

	/* On each host in the order of their start. */
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *image = profile->processes[i];
		const uint64_t key[2] = { image->fixed.pid, image->fixed.pid_namespace };

		image->origin = image;
		if (!image->known)
			continue;
		HASH_FIND(hh, table, key, sizeof(key), found);
		if (found && found->image && is_successor(image, found->image))
			image->origin = found->image->origin;
		if (found)
			found->image = NULL;
		if (image->fixed.how_ended != PMC_ENDED_EXEC)
			continue;
		if (!found) {
			found = pmc_arena_alloc(arena, sizeof(*found));
			if (!found)
				return -ENOMEM;
			memcpy(found->key, key, sizeof(key));
			HASH_ADD(hh, table, key, sizeof(key), found);
		}
		found->image = image;
	}
	return arena->failed ? -ENOMEM : 0;
}

struct job {
	uint8_t id[16];
	const struct pmc_p_process *first; /* on the host of the last one */
	UT_hash_handle hh;
};

static int link_jobs(struct pmc_profile *profile)
{
	struct pmc_arena *arena = &profile->arena;
	struct job *table = NULL, *job;

	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *process = profile->processes[i];
		const uint8_t *id = process->fixed.job;

		if (!process->known)
			continue;
		HASH_FIND(hh, table, id, sizeof(job->id), job);
		if (!job) {
			job = pmc_arena_alloc(arena, sizeof(*job));
			if (!job)
				return -ENOMEM;
			memcpy(job->id, id, sizeof(job->id));
			HASH_ADD(hh, table, id, sizeof(job->id), job);
		}
		if (!job->first || strcmp(job->first->host, process->host) != 0)
			job->first = process;
		process->job_start_ns = job->first->fixed.start_ns;
	}
	return arena->failed ? -ENOMEM : 0;
}

int profile_link_images(struct pmc_profile *profile)
{
	int error = link_origins(profile);

	return error ? error : link_jobs(profile);
}
