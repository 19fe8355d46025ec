/* SPDX-License-Identifier: MIT */
/*
 * event_tree.h - a made-up sysfs and tracefs, so that event strings mean the same on every machine.
 * It is a temporary directory, which becomes the current directory.
 */
#ifndef PMC_TESTS_EVENT_TREE_H
#define PMC_TESTS_EVENT_TREE_H

#include "lib/event/event.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct pmc_event_roots tree_roots = { "sys", "trace", true };

static char tree_dir[4096];

static const char *const tree_files[][2] = {
	{ "sys/cpu/type", "4\n" },
	{ "sys/cpu/format/event", "config:0-7,32-35\n" },
	{ "sys/cpu/format/umask", "config:8-15\n" },
	{ "sys/cpu/format/edge", "config:18\n" },
	{ "sys/cpu/format/inv", "config:23\n" },
	{ "sys/cpu/format/cmask", "config:24-31\n" },
	{ "sys/cpu/format/ldlat", "config1:0-15\n" },
	{ "sys/cpu/format/offcore_rsp", "config1:0-63\n" },
	{ "sys/cpu/format/split", "config2:4-7,12,60-63\n" },
	{ "sys/cpu/format/wide", "config3:0-63\n" },
	{ "sys/cpu/format/broken", "config9:0-3\n" },
	{ "sys/cpu/format/backwards", "config:7-0\n" },
	{ "sys/cpu/format/beyond", "config:60-64\n" },
	{ "sys/cpu/events/cpu-cycles", "event=0x3c\n" },
	{ "sys/cpu/events/instructions", "event=0xc0\n" },
	{ "sys/cpu/events/cache-misses", "event=0x2e,umask=0x41\n" },
	{ "sys/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n" },
	{ "sys/cpu/events/edges", "event=0x3c,edge,period=200003\n" },
	{ "sys/cpu/events/misdescribed", "event=0x3c,nonsense=1\n" },
	{ "sys/power/type", "9\n" },
	{ "sys/power/format/event", "config:0-7\n" },
	{ "sys/power/events/energy-pkg", "event=0x02\n" },
	{ "sys/power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n" },
	{ "sys/power/events/energy-pkg.unit", "Joules\n" },
	{ "sys/power/events/energy-bad", "event=0x03\n" },
	{ "sys/power/events/energy-bad.scale", "1,5\n" },
	{ "sys/hv_24x7/type", "21\n" },
	{ "sys/hv_24x7/format/domain", "config:0-3\n" },
	{ "sys/hv_24x7/format/core", "config:16-31\n" },
	{ "sys/hv_24x7/format/offset", "config:32-63\n" },
	{ "sys/hv_24x7/events/HPM_CYC", "domain=?,offset=0x20,core=?\n" },
	{ "sys/uncore_imc_0/type", "4000000000\n" },
	{ "sys/uncore_imc_0/format/event", "config:0-7\n" },
	{ "sys/uncore_imc_0/events/clockticks", "event=0xff\n" },
	{ "sys/odd/type", "four\n" },
	{ "trace/events/sched/sched_switch/id", "316\n" },
	{ "trace/events/sched/sched_wakeup/id", "318\n" },
	{ "trace/events/syscalls/sys_enter_openat/id", "614\n" },
	/* A machine with two types of cores and machine-wide PMUs. */
	{ "hybrid/cpu_core/type", "4\n" },
	{ "hybrid/cpu_core/cpus", "0-3\n" },
	{ "hybrid/cpu_core/format/event", "config:0-7\n" },
	{ "hybrid/cpu_atom/type", "10\n" },
	{ "hybrid/cpu_atom/cpus", "4-7\n" },
	{ "hybrid/cpu_atom/format/event", "config:0-7\n" },
	{ "hybrid/power/type", "9\n" },
	{ "hybrid/power/cpumask", "0,4-5\n" },
	{ "hybrid/power/format/event", "config:0-7\n" },
	{ "hybrid/power/events/energy-pkg", "event=0x02\n" },
	{ "hybrid/power/events/energy-pkg.scale", "0.25\n" },
	{ "hybrid/power/events/energy-pkg.unit", "Joules\n" },
	{ "hybrid/uncore_large/type", "30\n" },
	{ "hybrid/uncore_large/cpumask", "0-62,100,200\n" },
	{ "hybrid/uncore_large/format/event", "config:0-7\n" },
	/* Two clusters of arm64; and a machine with one type of core. */
	{ "clusters/armv8_cortex_a53/type", "8\n" },
	{ "clusters/armv8_cortex_a53/cpus", "0-3\n" },
	{ "clusters/armv8_cortex_a72/type", "7\n" },
	{ "clusters/armv8_cortex_a72/cpus", "4-5\n" },
	{ "alike/armv8_pmuv3_0/type", "8\n" },
	{ "alike/armv8_pmuv3_0/cpus", "0-7\n" },
	/* A machine with slots events. */
	{ "slots/cpu/type", "4\n" },
	{ "slots/cpu/format/event", "config:0-7\n" },
	{ "slots/cpu/format/umask", "config:8-15\n" },
	{ "slots/cpu/events/slots", "event=0x00,umask=0x4\n" },
	{ "slots/cpu/events/topdown-retiring", "event=0x00,umask=0x80\n" },
	{ "slots/cpu/events/topdown-bad-spec", "event=0x00,umask=0x81\n" },
	{ "slots/cpu/events/topdown-fe-bound", "event=0x00,umask=0x82\n" },
	{ "slots/cpu/events/topdown-be-bound", "event=0x00,umask=0x83\n" },
};

static int tree_make(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(tree_dir, sizeof(tree_dir), "%s/pmc-event.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(tree_dir) || chdir(tree_dir))
		return -1;
	for (size_t i = 0; i < sizeof(tree_files) / sizeof(tree_files[0]); i++) {
		char path[256];
		FILE *file;

		snprintf(path, sizeof(path), "%s", tree_files[i][0]);
		for (char *slash = path; (slash = strchr(slash, '/')); *slash++ = '/') {
			*slash = '\0';
			mkdir(path, 0700);
		}
		file = fopen(path, "w");
		if (!file || fputs(tree_files[i][1], file) < 0 || fclose(file))
			return -1;
	}
	return 0;
}

static int tree_unlink(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int tree_remove(void **state)
{
	(void)state;
	return chdir("/") || nftw(tree_dir, tree_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
