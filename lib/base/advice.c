/* SPDX-License-Identifier: MIT */
/* advice.c - finds the row of advice.def for an errno and its circumstances. */
#include "lib/base/advice.h"
#include "lib/base/file.h"
#include "lib/base/out.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

/* Circumstances. Unknown ones are not set: a row never guesses. */
enum {
	AT_LEVEL_2 = 1 << 0, /* perf_event_paranoid is 2 or more */
	AT_LEVEL_3 = 1 << 1,
	AT_NO_CAP = 1 << 2,
	AT_PRIVILEGED = 1 << 3,
	AT_CAPS_IN_USERNS = 1 << 4,
	AT_SECCOMP = 1 << 5,
	AT_NO_FILTER = 1 << 6,
	AT_CONTAINER = 1 << 7,
	AT_VM = 1 << 8,
	AT_NO_PMU = 1 << 9,
	AT_HAS_PMU = 1 << 10,
	AT_MMAP = 1 << 11,
	AT_WHOLE_CPU = 1 << 13,
	AT_ONE_CPU = 1 << 14,
	AT_OTHER_TASK = 1 << 15,
	AT_SIBLING = 1 << 16,
	AT_CORE_PMU = 1 << 17, /* a generic or raw event of the processor */
	AT_TRACEPOINT = 1 << 18,
	AT_TRACE_DATA = 1 << 19,
	AT_BREAKPOINT = 1 << 20,
	AT_KERNEL = 1 << 21, /* kernel mode is counted too */
	AT_SAMPLING = 1 << 22,
	AT_TOO_FAST = 1 << 23,
	AT_SAMPLE_READ = 1 << 24,
	AT_PRECISE = 1 << 25,
	AT_BRANCHES = 1 << 26,
	AT_INHERIT = 1 << 28,
	AT_KERNEL_ONLY = 1 << 29,
};

static const struct row {
	int error;
	uint32_t at;
	const char *name, *means, *todo;
} rows[] = {
#define X(error, at, means, todo) { error, at, #error, means, todo },
#include "lib/base/advice.def"
#undef X
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* It is called cpu on x86; on arm64, and on hybrid CPUs, it has a file cpus. Uncore PMUs have a
 * cpumask instead. */
bool pmc_is_core_pmu(const char *devices, const char *name)
{
	return strcmp(name, "cpu") == 0 || pmc_path_exists("%s/%s/cpus", devices, name) == 0;
}

static uint32_t at_here(const struct pmc_here *here)
{
	const bool known = here->paranoid != PMC_LEVEL_UNKNOWN;
	const bool caps = here->effective & (1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN);

	return (known && here->paranoid >= 2 ? AT_LEVEL_2 : 0) |
	       (known && here->paranoid >= 3 ? AT_LEVEL_3 : 0) |
	       (known && here->perfmon == PMC_NO ? AT_NO_CAP : 0) |
	       (here->perfmon == PMC_YES ? AT_PRIVILEGED : 0) |
	       (caps && here->user_namespace == PMC_YES ? AT_CAPS_IN_USERNS : 0) |
	       (here->filtered == PMC_YES ? AT_SECCOMP : 0) |
	       (here->filtered == PMC_NO ? AT_NO_FILTER : 0) |
	       (here->container ? AT_CONTAINER : 0) | (here->vm ? AT_VM : 0) |
	       (here->core_pmu == PMC_NO ? AT_NO_PMU : 0) |
	       (here->core_pmu == PMC_YES ? AT_HAS_PMU : 0);
}

static uint32_t at_attr(const struct perf_event_attr *attr, const struct pmc_here *here)
{
	const uint32_t fastest = here ? here->max_sample_rate : 0, type = attr->type;
	const bool core =
		type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
	const bool trace = type == PERF_TYPE_TRACEPOINT;

	return (core ? AT_CORE_PMU : 0) | (trace ? AT_TRACEPOINT : 0) |
	       (trace && attr->sample_type & PERF_SAMPLE_RAW ? AT_TRACE_DATA : 0) |
	       (type == PERF_TYPE_BREAKPOINT ? AT_BREAKPOINT : 0) |
	       (attr->exclude_kernel ? 0 : AT_KERNEL) | (attr->sample_period ? AT_SAMPLING : 0) |
	       (attr->freq && fastest && attr->sample_freq > fastest ? AT_TOO_FAST : 0) |
	       (attr->sample_type & PERF_SAMPLE_READ ? AT_SAMPLE_READ : 0) |
	       (attr->precise_ip ? AT_PRECISE : 0) |
	       (attr->sample_type & PERF_SAMPLE_BRANCH_STACK ? AT_BRANCHES : 0) |
	       (attr->inherit ? AT_INHERIT : 0);
}

static uint32_t at_call(const struct pmc_tried *tried)
{
	uint32_t at = (tried->call == PMC_CALL_MMAP ? AT_MMAP : 0) |
		      (tried->sibling ? AT_SIBLING : 0) | (tried->kernel_only ? AT_KERNEL_ONLY : 0);

	if (!tried->placed)
		return at;
	at |= tried->cpu >= 0 ? AT_ONE_CPU : 0;
	if (tried->cgroup || tried->pid == -1)
		at |= AT_WHOLE_CPU;
	else if (tried->pid > 0)
		at |= AT_OTHER_TASK;
	return at;
}

static const struct row *find(int error, uint32_t at)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (rows[i].error == error && (rows[i].at & ~at) == 0)
			return &rows[i];
	return NULL;
}

static void fill(struct pmc_out *out, const char *text, const struct pmc_here *here)
{
	static const char word[] = "{level}";
	const char *place = strstr(text, word);

	if (!place || !here) {
		pmc_out_str(out, text);
		return;
	}
	pmc_out_bytes(out, text, (size_t)(place - text));
	pmc_out_i64(out, here->paranoid);
	pmc_out_str(out, place + sizeof(word) - 1);
}

void pmc_advise(int error, const struct pmc_tried *tried, const struct pmc_here *here,
		struct pmc_advice *advice)
{
	const struct row *row;
	struct pmc_out out;
	uint32_t at = 0;

	error = abs(error);
	if (here)
		at |= at_here(here);
	if (tried)
		at |= at_call(tried);
	if (tried && tried->attr)
		at |= at_attr(tried->attr, here);
	/* Without a PMU each of them says the same. */
	if ((error == ENODEV || error == EOPNOTSUPP) && at & AT_CORE_PMU && at & AT_NO_PMU)
		error = ENOENT;
	row = find(error, at);
	pmc_out_to_mem(&out, advice->means, sizeof(advice->means));
	if (row)
		fill(&out, row->means, here);
	else
		pmc_outf(&out, "the kernel refused it (errno %d)", error);
	pmc_out_to_mem(&out, advice->todo, sizeof(advice->todo));
	fill(&out, row ? row->todo : "pmctl doctor shows what can be counted here", here);
}

const char *pmc_advice_text(int error, const struct pmc_tried *tried, const struct pmc_here *here,
			    char *buf, size_t cap)
{
	struct pmc_advice advice;
	struct pmc_out out = pmc_out_mem(buf, cap);

	pmc_advise(error, tried, here, &advice);
	pmc_outf(&out, "%s; %s", advice.means, advice.todo);
	return buf;
}

/* Not from the table: of a row with circumstances nothing is left here, and the agent, which calls
 * no other function of this file, lacks their texts. */
const char *pmc_error_means(int error, const char **todo)
{
	const char *none;

	todo = todo ? todo : &none;
	error = abs(error);
#define X(code, at, sense, fix)                                                                    \
	if (!(at) && error == (code)) {                                                            \
		*todo = fix;                                                                       \
		return sense;                                                                      \
	}
#include "lib/base/advice.def"
#undef X
	*todo = "pmctl doctor shows what can be counted here";
	return "the kernel refused it";
}

const char *pmc_error_name(int error, char *buf)
{
	const struct row *row = find(abs(error), 0);
	struct pmc_out out = pmc_out_mem(buf, 24);

	if (row)
		return row->name;
	pmc_outf(&out, "errno %d", abs(error));
	return buf;
}
