/* SPDX-License-Identifier: MIT */
/* list_try.c - whether an event opens on this machine for this user, and if not why. */
#include "agent/core/group.h"
#include "agent/core/hash.h"
#include "tools/list.h"
#include "tools/tool_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What an open depends on; compared as bytes, so without holes. */
struct encoding {
	uint64_t config, config1, config2, config3;
	uint32_t type;
	int32_t cpu;
};

struct list_verdict {
	struct encoding encoding;
	struct list_answer answer;
	UT_hash_handle hh;
};

static int try_scope(const struct pmc_event *event, enum pmc_scope scope, int cpu)
{
	const struct pmc_planned planned = { .event = *event, .scope = (uint8_t)scope };
	struct pmc_attr attr;
	int fd;

	pmc_group_attr(&planned, PMC_GROUP_OWN, true, &attr);
	fd = pmc_perf_open(&attr, cpu < 0 ? 0 : -1, cpu, -1, 0);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static const char *no_permission(struct list *list)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level;

	if (!file || fscanf(file, "%d", &level) != 1)
		list->no_permission = "not permitted";
	else
		list->no_permission = list_text(list,
						"not permitted: kernel.perf_event_paranoid is %d, "
						"and this user lacks CAP_PERFMON",
						level);
	if (file)
		fclose(file);
	return list->no_permission;
}

const char *list_refusal(struct list *list, uint32_t type, int error)
{
	bool core =
		type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;

	switch (error) {
	case EACCES:
	case EPERM:
		return list->no_permission ? list->no_permission : no_permission(list);
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
	case ENXIO:
		if (core && !list->core_pmu)
			return "this machine shows no hardware PMU";
		return core ? "the PMU of this machine does not count it" :
			      "the kernel has no such event here";
	case EINVAL:
		return "the kernel does not accept it in this form";
	case EBUSY:
		return "somebody else uses the PMU exclusively";
	case EMFILE:
	case ENFILE:
		return "no file descriptor is left to try it";
	case ENOSYS:
		return "this kernel has no perf events, or a filter hides them";
	default:
		return list_text(list, "%s", strerror(error));
	}
}

static struct list_answer judge(struct list *list, const struct pmc_event *event, int cpu)
{
	int error;

	if (tool_perf_killed())
		return (struct list_answer){ false,
					     "a seccomp filter kills whoever opens perf events" };
	error = try_scope(event, PMC_SCOPE_ALL, cpu);
	if (!error)
		return (struct list_answer){ true, NULL };
	if ((error == -EACCES || error == -EPERM) && cpu < 0 &&
	    !try_scope(event, PMC_SCOPE_USER, cpu))
		return (struct list_answer){ true, "in user mode only" };
	return (struct list_answer){ false, list_refusal(list, event->type, -error) };
}

struct list_answer list_try(struct list *list, const struct pmc_event *event, int cpu)
{
	struct pmc_arena *arena = &list->arena;
	struct encoding encoding;
	struct list_verdict *verdict;

	memset(&encoding, 0, sizeof(encoding));
	encoding.type = event->type;
	encoding.config = event->config;
	encoding.config1 = event->config1;
	encoding.config2 = event->config2;
	encoding.config3 = event->config3;
	encoding.cpu = cpu;
	HASH_FIND(hh, list->verdicts, &encoding, sizeof(encoding), verdict);
	if (verdict)
		return verdict->answer;
	verdict = pmc_arena_alloc(arena, sizeof(*verdict));
	if (!verdict)
		return (struct list_answer){ false, "out of memory" };
	verdict->encoding = encoding;
	verdict->answer = judge(list, event, cpu);
	HASH_ADD(hh, list->verdicts, encoding, sizeof(encoding), verdict);
	return verdict->answer;
}
