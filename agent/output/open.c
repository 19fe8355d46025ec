/* SPDX-License-Identifier: MIT */
/* open.c - the name of a dump, its first frames, and why one cannot be opened. */
#include "agent/output/output.h"
#include "lib/dump/output.h"

#include "agent/base/poison.h"

void agent_out_expand(struct pmc_out *out, const char *pattern, const char *letters)
{
	const char *base = agent.exe ? strrchr(agent.exe, '/') : NULL;
	struct timespec now;

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
			pmc_out_hex_bytes(out, agent.job, 8);
			break;
		case 't':
			clock_gettime(CLOCK_REALTIME, &now);
			pmc_out_u64(out, (uint64_t)now.tv_sec);
			break;
		case 'p':
			pmc_out_u64(out, (uint64_t)agent.pid);
			break;
		case 'h':
			pmc_out_str(out, agent.host);
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

const char *agent_file_fix(int error)
{
	const char *why = pmc_output_why(error);

	return why ? why : "it cannot be opened for writing; name another file";
}

void agent_process_state(uint64_t snapshot, enum pmc_ended how, int code)
{
	const size_t room = 8192; /* command lines are cut at 4 KiB */
	struct pmc_frame_buf buf;
	void *map;

	map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return;
	pmc_frame_buf_init(&buf, map, room);
	agent_process_frame(&buf, snapshot, how, code);
	agent_file_append(buf.data, buf.len);
	munmap(map, room);
}

void agent_process_header(void)
{
	agent_process_state(AGENT_HEADER_SNAPSHOT, PMC_RUNNING, 0);
	agent_file_append(agent.plan.frame, agent.plan.frame_bytes);
}
