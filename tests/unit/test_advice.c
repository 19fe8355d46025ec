/* SPDX-License-Identifier: MIT */
/* test_advice.c - advice for each errno in each circumstance, and the facts that it is based on. */
#include "lib/base/advice.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct row {
	int error;
	const char *means, *todo;
} rows[] = {
#define X(error, at, means, todo) { error, means, todo },
#include "lib/base/advice.def"
#undef X
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct pmc_here user = {
	.paranoid = 2,
	.max_sample_rate = 100000,
	.user_namespace = PMC_NO,
	.perfmon = PMC_NO,
	.core_pmu = PMC_YES,
	.filtered = PMC_NO,
};

static void expect(int error, const struct pmc_tried *tried, const struct pmc_here *here,
		   const char *means, const char *todo)
{
	struct pmc_advice advice;

	pmc_advise(error, tried, here, &advice);
	if (!strstr(advice.means, means))
		fail_msg("errno %d means '%s', not '%s'", error, advice.means, means);
	if (!strstr(advice.todo, todo))
		fail_msg("errno %d: '%s', not '%s'", error, advice.todo, todo);
	assert_null(strchr(advice.means, '{'));
	assert_null(strchr(advice.todo, '{'));
}

static void a_row_fits_and_is_whole(void **state)
{
	struct pmc_advice advice;

	for (size_t i = 0; i < N_ROWS; i++) {
		assert_true(strlen(rows[i].means) + 12 < sizeof(advice.means));
		assert_true(strlen(rows[i].todo) < sizeof(advice.todo));
		assert_true(rows[i].means[0] && rows[i].todo[0]);
		assert_null(strstr(rows[i].means, ".\n"));
	}
}

/* Frequent errors need advice that differs. */
static void errors_are_told_apart(void **state)
{
	static const int errors[] = { EACCES,	  EPERM, ENOENT, EINVAL, EMFILE, ENFILE, ENODEV,
				      EOPNOTSUPP, EBUSY, E2BIG,	 ENOSYS, ENOMEM, ESRCH,	 ENODATA };
	char a[32], b[32];

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(pmc_error_means(errors[i], NULL),
						pmc_error_means(errors[j], NULL));
			assert_string_not_equal(pmc_error_name(errors[i], a),
						pmc_error_name(errors[j], b));
		}
	assert_string_equal(pmc_error_name(-EACCES, a), "EACCES");
	assert_string_equal(pmc_error_name(EUCLEAN, a), "errno 117");
	expect(-EUCLEAN, NULL, NULL, "errno 117", "pmctl doctor");
	/* Texts that are shown without facts of the machine contain no placeholders. */
	for (size_t i = 0; i < N_ROWS; i++)
		assert_null(strchr(pmc_error_means(rows[i].error, NULL), '{'));
}

static void permission(void **state)
{
	const struct perf_event_attr all = { 0 }, user_only = { .exclude_kernel = 1 };
	const struct perf_event_attr data = { .type = PERF_TYPE_TRACEPOINT,
					      .exclude_kernel = 1,
					      .sample_type = PERF_SAMPLE_RAW };
	const struct pmc_tried kernel = { .attr = &all }, self = { .attr = &user_only };
	const struct pmc_tried cpu = { .attr = &user_only, .placed = true, .pid = -1, .cpu = 0 };
	const struct pmc_tried other = { .attr = &user_only, .placed = true, .pid = 7, .cpu = -1 };
	const struct pmc_tried cgroup = { .attr = &user_only, .placed = true, .cgroup = true };
	const struct pmc_tried trace = { .attr = &data };
	struct pmc_here here = user;

	expect(EACCES, NULL, NULL, "does not permit", "pmctl doctor");
	expect(EACCES, &kernel, &here, "perf_event_paranoid is 2", "perf_event_paranoid=1");
	expect(EACCES, &cpu, &here, "whole CPU", "perf_event_paranoid=0");
	expect(EACCES, &cgroup, &here, "cgroup", "perf_event_paranoid=0");
	expect(EACCES, &trace, &here, "tracepoint", "perf_event_paranoid=-1");
	expect(EACCES, &other, &here, "another user's", "as root");
	expect(EACCES, &self, &here, "CAP_PERFMON", "root");
	here.paranoid = 4;
	expect(EACCES, &self, &here, "is 4: only privileged", "perf_event_paranoid=1");
	here.user_namespace = PMC_YES;
	here.effective = 1ull << CAP_PERFMON;
	expect(EACCES, &self, &here, "user namespace", "outside");
	here = user;
	here.perfmon = PMC_YES;
	expect(EACCES, &self, &here, "security module", "dmesg");
	/* Privilege is unknown: the advice must not name perf_event_paranoid as the cause. */
	here = (struct pmc_here){ .paranoid = 2 };
	expect(EACCES, &kernel, &here, "does not permit", "pmctl doctor");
}

static void filters(void **state)
{
	const struct pmc_tried mapping = { .call = PMC_CALL_MMAP };
	struct pmc_here here = user;

	expect(ENOSYS, NULL, NULL, "not available", "CONFIG_PERF_EVENTS");
	expect(ENOSYS, NULL, &here, "no perf events", "CONFIG_PERF_EVENTS");
	here.filtered = PMC_YES;
	expect(EPERM, NULL, &here, "a seccomp filter refuses", "SystemCallFilter");
	expect(ENOSYS, NULL, &here, "a seccomp filter hides", "SystemCallFilter");
	expect(EPERM, &mapping, &here, "locked memory", "perf_event_mlock_kb");
	here.container = "docker";
	expect(EPERM, NULL, &here, "the container's seccomp", "seccomp=unconfined");
	expect(ENOSYS, NULL, &here, "the container's seccomp", "seccomp=unconfined");
}

static void hardware(void **state)
{
	const struct perf_event_attr cycles = { .type = PERF_TYPE_HARDWARE };
	const struct perf_event_attr none = { .type = PERF_TYPE_SOFTWARE, .config = 999 };
	const struct perf_event_attr trace = { .type = PERF_TYPE_TRACEPOINT };
	const struct perf_event_attr watch = { .type = PERF_TYPE_BREAKPOINT };
	const struct perf_event_attr precise = { .precise_ip = 3 };
	const struct perf_event_attr sampling = { .sample_period = 1 };
	const struct perf_event_attr lbr = { .sample_type = PERF_SAMPLE_BRANCH_STACK };
	struct pmc_tried tried = { .attr = &cycles };
	struct pmc_here here = user;

	for (unsigned i = 0; i < 3; i++) {
		static const int errors[] = { ENOENT, EOPNOTSUPP, ENODEV };

		here.core_pmu = PMC_NO;
		here.vm = NULL;
		tried.attr = &cycles;
		expect(errors[i], &tried, &here, "no hardware PMU", "dmesg");
		here.vm = "kvm";
		expect(errors[i], &tried, &here, "virtual machine has no", "pmu=on");
		tried.attr = &none;
		expect(errors[i], &tried, &here, "", "pmctl list");
	}
	here = user;
	tried.attr = &cycles;
	expect(ENOENT, &tried, &here, "does not count it", "pmctl list");
	tried.attr = &trace;
	expect(ENOENT, &tried, &here, "tracepoint", "pmctl list");
	tried.attr = &precise;
	expect(EOPNOTSUPP, &tried, &here, "precise", "precise_ip");
	tried.attr = &lbr;
	expect(EOPNOTSUPP, &tried, &here, "branch records", "branch stack");
	tried.attr = &sampling;
	expect(EOPNOTSUPP, &tried, &here, "interrupt", "task-clock");
	tried.attr = &watch;
	expect(ENOSPC, &tried, &here, "breakpoint", "debugger");
	expect(ENOSPC, NULL, NULL, "out of memory", "");
}

static void said_wrongly(void **state)
{
	const struct perf_event_attr fast = { .freq = 1, .sample_freq = 200000 };
	const struct perf_event_attr inherited = { .inherit = 1, .sample_type = PERF_SAMPLE_READ };
	struct pmc_tried tried = { .attr = &fast };

	expect(EINVAL, &tried, &user, "frequency", "max_sample_rate");
	tried.attr = &inherited;
	expect(EINVAL, &tried, NULL, "6.12", "inherit");
	tried = (struct pmc_tried){ .placed = true, .pid = -1, .cpu = 4096 };
	expect(EINVAL, &tried, NULL, "no such CPU", "possible");
	expect(ENODEV, &tried, NULL, "offline", "online");
	tried = (struct pmc_tried){ .sibling = true };
	expect(EINVAL, &tried, NULL, "too many", "braces");
	tried = (struct pmc_tried){ .call = PMC_CALL_MMAP };
	expect(EINVAL, &tried, NULL, "2^n", "power of two");
}

static void one_line(void **state)
{
	char line[320], cut[10];

	assert_string_equal(pmc_advice_text(-EMFILE, NULL, NULL, line, sizeof(line)),
			    "too many open files; "
			    "ulimit -n 65536, as root if the hard limit is lower");
	assert_string_equal(pmc_advice_text(EMFILE, NULL, NULL, cut, sizeof(cut)), "too many ");
}

/* ---- facts of the machine --------------------------------------------------------------- */

struct tree {
	char dir[40], proc[64], sys[64];
	struct pmc_roots roots;
};

static void tree_new(struct tree *tree)
{
	strcpy(tree->dir, "/tmp/pmc-here-XXXXXX");
	assert_non_null(mkdtemp(tree->dir));
	snprintf(tree->proc, sizeof(tree->proc), "%s/proc", tree->dir);
	snprintf(tree->sys, sizeof(tree->sys), "%s/sys", tree->dir);
	tree->roots = (struct pmc_roots){ tree->proc, tree->sys, tree->dir };
}

static void put(const struct tree *tree, const char *name, const char *text)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "mkdir -p \"$(dirname %s/%s)\" && printf -- '%s' > %s/%s", tree->dir, name, text,
		 tree->dir, name);
	assert_int_equal(system(command), 0);
}

static void tree_free(struct tree *tree)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", tree->dir);
	assert_int_equal(system(command), 0);
}

static void user_namespace(const struct tree *tree, const char *link)
{
	char path[128];

	put(tree, "proc/self/ns/net", "");
	snprintf(path, sizeof(path), "%s/self/ns/user", tree->proc);
	unlink(path);
	assert_int_equal(symlink(link, path), 0);
}

static void who_we_are(void **state)
{
	struct pmc_here here;
	struct tree tree;

	tree_new(&tree);
	pmc_here_read(&here, &tree.roots);
	assert_true(here.paranoid == PMC_LEVEL_UNKNOWN && here.perfmon == PMC_UNKNOWN);
	assert_true(here.core_pmu == PMC_UNKNOWN && here.filtered == PMC_UNKNOWN);
	assert_true(here.user_namespace == PMC_UNKNOWN);
	assert_null(here.container);
	assert_null(here.vm);

	put(&tree, "proc/sys/kernel/perf_event_paranoid", "-1\\n");
	put(&tree, "proc/sys/kernel/perf_event_max_sample_rate", "25000\\n");
	put(&tree, "proc/self/status", "Name:\\tx\\nCapEff:\\t0000004000000000\\nSeccomp:\\t2\\n");
	put(&tree, "sys/bus/event_source/devices/software/type", "1\\n");
	user_namespace(&tree, "user:[4026531837]");
	pmc_here_read(&here, &tree.roots);
	assert_int_equal(here.paranoid, -1);
	assert_int_equal(here.max_sample_rate, 25000);
	assert_true(here.effective == 1ull << CAP_PERFMON && here.perfmon == PMC_YES);
	assert_true(here.filtered == PMC_YES);
	assert_true(here.core_pmu == PMC_NO && here.user_namespace == PMC_NO);

	/* Capabilities in a user namespace other than the first do not permit counting. */
	user_namespace(&tree, "user:[4026532177]");
	put(&tree, "proc/self/status", "CapEff:\\t000001ffffffffff\\nSeccomp:\\t0\\n");
	put(&tree, "sys/bus/event_source/devices/armv8_cortex_a72/cpus", "0-3\\n");
	pmc_here_read(&here, &tree.roots);
	assert_true(here.user_namespace == PMC_YES && here.perfmon == PMC_NO);
	assert_true(here.effective == 0x1ffffffffff && here.filtered == PMC_NO);
	assert_true(here.core_pmu == PMC_YES);
	tree_free(&tree);
}

static void where_we_are(void **state)
{
	static const struct {
		const char *file, *text, *container, *vm;
	} cases[] = {
		{ "proc/self/cgroup", "0::/user.slice\\n", NULL, NULL },
		{ "proc/self/cgroup", "0::/system.slice/docker.service\\n", NULL, NULL },
		{ "proc/self/cgroup", "0::/system.slice/docker-0f.scope\\n", "docker", NULL },
		{ "proc/self/cgroup", "9:cpu:/docker/0f\\n", "docker", NULL },
		{ "proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/x\\n", "kubernetes",
		  NULL },
		{ "proc/self/cgroup", "0::/user.slice/libpod-1.scope\\n", "podman", NULL },
		{ "proc/1/cgroup", "0::/lxc.payload.web\\n", "lxc", NULL },
		{ ".dockerenv", "x", "docker", NULL },
		{ "run/.containerenv", "x", "podman", NULL },
		{ "sys/class/dmi/id/sys_vendor", "QEMU\\n", NULL, "qemu" },
		{ "sys/class/dmi/id/sys_vendor", "Dell Inc.\\n", NULL, NULL },
		{ "sys/class/dmi/id/product_name", "KVM Virtual Machine\\n", NULL, "kvm" },
		{ "sys/hypervisor/type", "xen\\n", NULL, "xen" },
		{ "proc/device-tree/compatible", "linux,dummy-virt\\0", NULL, "qemu" },
		{ "proc/device-tree/hypervisor/compatible", "xen,xen\\0", NULL,
		  "unnamed hypervisor" },
		{ "proc/cpuinfo", "processor: 0\\nflags\\t\\t: fpu hypervisor lm\\n", NULL,
		  "unnamed hypervisor" },
		{ "proc/cpuinfo", "flags: fpu\\nnote: a hypervisor\\n", NULL, NULL },
	};
	struct pmc_here here;
	struct tree tree;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		tree_new(&tree);
		put(&tree, cases[i].file, cases[i].text);
		pmc_here_read(&here, &tree.roots);
		if (!cases[i].container != !here.container || !cases[i].vm != !here.vm)
			fail_msg("%s = %s: container %s, vm %s", cases[i].file, cases[i].text,
				 here.container ? here.container : "none",
				 here.vm ? here.vm : "none");
		if (here.container)
			assert_string_equal(here.container, cases[i].container);
		if (here.vm)
			assert_string_equal(here.vm, cases[i].vm);
		tree_free(&tree);
	}
	/* A bare-metal instance of a cloud provider is not a virtual machine. */
	tree_new(&tree);
	put(&tree, "sys/class/dmi/id/sys_vendor", "Amazon EC2\\n");
	put(&tree, "sys/class/dmi/id/product_name", "c6i.metal\\n");
	pmc_here_read(&here, &tree.roots);
	assert_null(here.vm);
	put(&tree, "sys/class/dmi/id/product_name", "c6i.large\\n");
	pmc_here_read(&here, &tree.roots);
	assert_string_equal(here.vm, "amazon");
	tree_free(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_fits_and_is_whole),
		cmocka_unit_test(errors_are_told_apart),
		cmocka_unit_test(permission),
		cmocka_unit_test(filters),
		cmocka_unit_test(hardware),
		cmocka_unit_test(said_wrongly),
		cmocka_unit_test(one_line),
		cmocka_unit_test(who_we_are),
		cmocka_unit_test(where_we_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
