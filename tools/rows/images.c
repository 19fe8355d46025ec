/* SPDX-License-Identifier: MIT */
/* images.c - process images in order: which are of one process, when their job started, and whose
 * totals have their work. */
#include "tools/rows/tables.h"

struct replaced {
	uint64_t key[2];
	struct pmc_p_process *image; /* ended by exec, without a successor so far; NULL: none */
	UT_hash_handle hh;
};

struct job {
	uint8_t id[16];
	const struct pmc_p_process *start; /* its first one on the host of the last one */
	struct table_process *root;	   /* the newest first process */
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

static void link_origin(struct pmc_arena *arena, struct replaced **table,
			struct pmc_p_process *image)
{
	const uint64_t key[2] = { image->fixed.pid, image->fixed.pid_namespace };
	struct replaced *found;

	HASH_FIND(hh, *table, key, sizeof(key), found);
	if (found && found->image && is_successor(image, found->image))
		image->origin = found->image->origin;
	if (found)
		found->image = NULL;
	if (image->fixed.how_ended != PMC_ENDED_EXEC)
		return;
	if (!found) {
		found = pmc_arena_alloc(arena, sizeof(*found));
		memcpy(found->key, key, sizeof(key));
		HASH_ADD(hh, *table, key, sizeof(key), found);
	}
	found->image = image;
}

static struct job *job_of(struct pmc_arena *arena, struct job **table, const uint8_t id[16])
{
	struct job *job;

	HASH_FIND(hh, *table, id, sizeof(job->id), job);
	if (!job) {
		job = pmc_arena_alloc(arena, sizeof(*job));
		memcpy(job->id, id, sizeof(job->id));
		HASH_ADD(hh, *table, id, sizeof(job->id), job);
	}
	return job;
}

static void link_root(struct job *job, struct table_process *p)
{
	struct table_process *before = job->root;
	const struct pmc_process_fixed *fixed = &p->pub.fixed;

	if (before && strcmp(before->pub.host, p->pub.host) == 0)
		p->root = before;
	/* The CPU clock of children advances while counting is off. */
	if (p->root)
		p->root->phases |= fixed->off_ns != 0;
	if (!profile_is_first(p)) {
		if (p->root)
			p->root->seen_cpu_ns += fixed->cpu_ns;
		return;
	}
	p->children_cpu_ns = fixed->children_cpu_ns;
	/* Children of the image before an exec are included, too. */
	if (p->root && before->pub.fixed.pid == fixed->pid) {
		p->seen_cpu_ns = before->seen_cpu_ns;
		p->phases = before->phases;
		before->children_cpu_ns = 0;
	}
	p->phases |= fixed->off_ns != 0;
	p->root = job->root = p;
}

void profile_link_images(struct pmc_profile *profile)
{
	struct replaced *images = NULL;
	struct job *jobs = NULL;

	/* On each host in the order of their start. */
	for (uint64_t i = 0; i < profile->n_processes; i++) {
		struct pmc_p_process *process = profile->processes[i];
		struct job *job;

		process->origin = process;
		if (!process->known)
			continue;
		link_origin(&profile->arena, &images, process);
		job = job_of(&profile->arena, &jobs, process->fixed.job);
		if (!job->start || strcmp(job->start->host, process->host) != 0)
			job->start = process;
		process->job_start_ns = job->start->fixed.start_ns;
		link_root(job, (struct table_process *)process);
	}
}
