/* SPDX-License-Identifier: MIT */
/* open.c - the name of a dump, its first frames, and why one cannot be opened. */
#include "agent/output/output.h"
#include "lib/base/file.h"
#include "lib/base/labels.h"
#include "lib/dump/output.h"

#include "agent/base/poison.h"

void agent_out_expand(struct pmc_out *out, const char *pattern, const char *letters)
{
	const char *base = agent.text.exe ? strrchr(agent.text.exe, '/') : NULL;
	struct timespec now;
	const char *job;
	size_t len;

	for (const char *p = pattern; *p; p++) {
		if (p[0] != '%' || !p[1]) {
			pmc_out_char(out, *p);
			continue;
		}
		p++;
		if (!strchr(letters, *p)) {
			pmc_out_bytes(out, p - 1, 2);
			continue;
		}
		switch (*p) {
		case 'j':
			job = pmc_label(agent.text.labels, "job", &len);
			if (!job)
				pmc_out_hex_bytes(out, agent.job, 8);
			for (; job && len; len--, job++)
				pmc_out_char(out, *job == '/' ? '_' : *job);
			break;
		case 't':
			clock_gettime(CLOCK_REALTIME, &now);
			pmc_out_u64(out, (uint64_t)now.tv_sec);
			break;
		case 'p':
			pmc_out_u64(out, (uint64_t)agent.pid);
			break;
		case 'h':
			pmc_out_str(out, agent.text.host);
			break;
		case 'e':
			pmc_out_str(out, base ? base + 1 : "unknown");
			break;
		case 'r':
			pmc_out_i64(out, agent.rank < 0 ? 0 : agent.rank);
			break;
		default:
			pmc_out_char(out, '%');
		}
	}
}

static bool names_directory(const char *pattern)
{
	const char *slash = pattern ? strrchr(pattern, '/') : NULL;

	return slash && memchr(pattern, '%', (size_t)(slash - pattern));
}

void agent_out_directory(char *path)
{
	char *slash = strrchr(path, '/');

	/* In the first process %j and %t are already expanded in agent.out. */
	if (!agent.out || !slash ||
	    !(names_directory(agent.out) || (agent.first && names_directory(agent.config.out))))
		return;
	*slash = '\0';
	pmc_dir_make(path);
	*slash = '/';
}

const char *agent_file_fix(int error)
{
	const char *why = pmc_output_why(error);

	return why ? why : "it cannot be opened for writing; name another file";
}

/* Behind the frames of a buffer: the usage of one thread. */
#define BUF_SPARE sizeof(struct pmc_usage)

/* For one buffer at a time; others are mapped. Its pages take no memory before they are used. */
AGENT_ROOMY static _Alignas(8) uint8_t common[AGENT_CHUNK + BUF_SPARE];
static _Atomic bool common_taken;

bool agent_buf_open(struct pmc_frame_buf *buf, size_t bytes)
{
	void *room = common;

	if (bytes > AGENT_CHUNK || atomic_exchange(&common_taken, true))
		room = mmap(NULL, bytes + BUF_SPARE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room != MAP_FAILED)
		pmc_frame_buf_init(buf, room, bytes);
	return room != MAP_FAILED;
}

void agent_buf_room(struct pmc_frame_buf *buf, size_t bytes)
{
	if (buf->cap - buf->len >= bytes || buf->len == 0)
		return;
	agent_file_begin();
	agent_file_append(buf->data, buf->len);
	buf->len = 0;
}

void agent_buf_close(struct pmc_frame_buf *buf)
{
	agent_buf_room(buf, SIZE_MAX);
	if (buf->data == common)
		atomic_store(&common_taken, false);
	else
		munmap(buf->data, buf->cap + BUF_SPARE);
}

void agent_process_state(uint64_t snapshot, enum pmc_ended how, int code)
{
	struct pmc_frame_buf buf;

	/* Paths and command lines are cut at 4 KiB, labels at 2 KiB. */
	if (!agent_buf_open(&buf, 16384))
		return;
	agent_process_frame(&buf, snapshot, how, code);
	agent_buf_close(&buf);
}

void agent_process_header(void)
{
	agent_process_state(AGENT_HEADER_SNAPSHOT, PMC_RUNNING, 0);
	agent_file_append(agent.plan.frame, agent.plan.frame_bytes);
}

void agent_publish_image(void)
{
	struct pmc_process_fixed *fixed = &pmc_agent_control.process;

	*fixed = (struct pmc_process_fixed){
		.pid = (uint32_t)agent.pid,
		.start_ns = agent.start_ns,
		.pre_cpu_ns = agent.pre_cpu_ns,
		.eventset = agent.plan.hash,
		.inherit_mode = (uint8_t)agent.inherit,
		.flags = (uint8_t)((agent.first ? PMC_PROCESS_FIRST : 0) |
				   (agent.covered ? PMC_PROCESS_COVERED : 0) |
				   (agent.forked ? PMC_PROCESS_FORKED : 0)),
		.rank = agent.rank,
	};
	memcpy(fixed->parent_identity, agent.parent, 16);
	memcpy(fixed->job, agent.job, 16);
}
