/* SPDX-License-Identifier: MIT */
/* here.c - reads the facts of struct pmc_here from /proc and /sys; see advice.h. */
#include "lib/base/advice.h"
#include "lib/base/file.h"
#include "lib/base/number.h"
#include "lib/base/out.h"
#include "lib/base/proc.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#define TEXT 8192

static const struct pmc_roots machine = { "/proc", "/sys", "" };

/* The start of a file; false if it is empty or cannot be read. */
static bool read_text(char text[TEXT], const char *root, const char *name)
{
	int rc = pmc_file_read(text, TEXT, "%s/%s", root, name);

	return rc > 0 || rc == -EFBIG;
}

static uint64_t number(const char *text, unsigned base)
{
	uint64_t value = 0;

	pmc_number_take(&text, NULL, base, &value);
	return value;
}

static void read_sysctls(struct pmc_here *here, const char *proc)
{
	char text[TEXT];

	if (read_text(text, proc, "sys/kernel/perf_event_paranoid"))
		here->paranoid =
			text[0] == '-' ? -(int32_t)number(text + 1, 10) : (int32_t)number(text, 10);
	if (read_text(text, proc, "sys/kernel/perf_event_max_sample_rate"))
		here->max_sample_rate = (uint32_t)number(text, 10);
}

static void read_status(struct pmc_here *here, const char *proc)
{
	/* PROC_USER_INIT_INO of linux/proc_ns.h: the first user namespace has a fixed number. */
	static const char first[] = "user:[4026531837]";
	char text[TEXT], path[PMC_PATH_MAX];
	const char *value;
	struct pmc_out out = pmc_out_mem(path, sizeof(path));
	ssize_t n;

	pmc_outf(&out, "%s/self/ns/user", proc);
	n = readlink(path, text, sizeof(first));
	if (n > 0)
		here->user_namespace = n == sizeof(first) - 1 && !memcmp(text, first, (size_t)n) ?
					       PMC_NO :
					       PMC_YES;
	if (!read_text(text, proc, "self/status"))
		return;
	value = pmc_proc_field(text, "CapEff");
	if (value) {
		here->effective = number(value, 16);
		here->perfmon = here->effective & (1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN) &&
						here->user_namespace != PMC_YES ?
					PMC_YES :
					PMC_NO;
	}
	value = pmc_proc_field(text, "Seccomp");
	if (value)
		here->filtered = *value == '0' ? PMC_NO : PMC_YES;
}

struct sign {
	const char *word, *kind;
};

static const char *find_sign(const char *text, const struct sign *signs, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strstr(text, signs[i].word))
			return signs[i].kind;
	return NULL;
}

static void read_container(struct pmc_here *here, const struct pmc_roots *roots)
{
	static const struct sign signs[] = {
		{ "kubepods", "kubernetes" },	 { "libpod", "podman" }, { "/docker/", "docker" },
		{ "/docker-", "docker" },	 { "/lxc/", "lxc" },	 { "lxc.payload", "lxc" },
		{ "containerd-", "containerd" }, { "crio-", "cri-o" },
	};
	static const char *const files[] = { "self/cgroup", "1/cgroup" };
	char text[TEXT];

	for (unsigned f = 0; f < 2 && !here->container; f++)
		if (read_text(text, roots->proc, files[f]))
			here->container = find_sign(text, signs, sizeof(signs) / sizeof(*signs));
	if (here->container)
		return;
	if (pmc_path_exists("%s/.dockerenv", roots->root) == 0)
		here->container = "docker";
	else if (pmc_path_exists("%s/run/.containerenv", roots->root) == 0)
		here->container = "podman";
	else if (pmc_path_exists("%s/run/systemd/container", roots->root) == 0)
		here->container = "unnamed container";
}

/* Firmware tables, then sysfs for Xen, the CPUID flag on x86, and the device tree. */
static void read_vm(struct pmc_here *here, const struct pmc_roots *roots)
{
	static const struct sign vendors[] = {
		{ "QEMU", "qemu" },
		{ "KVM", "kvm" },
		{ "Amazon EC2", "amazon" },
		{ "Google Compute", "google" },
		{ "VMware", "vmware" },
		{ "VirtualBox", "virtualbox" },
		{ "Virtual Machine", "hyper-v" },
		{ "Xen", "xen" },
		{ "BHYVE", "bhyve" },
		{ "Bochs", "bochs" },
		{ "Parallels", "parallels" },
		{ "Apple Virtualization", "apple" },
	};
	static const char *const tables[] = { "class/dmi/id/product_name",
					      "class/dmi/id/sys_vendor" };
	char text[TEXT], *end;
	const char *flags;

	for (unsigned t = 0; t < 2 && !here->vm; t++) {
		if (!read_text(text, roots->sys, tables[t]))
			continue;
		/* Bare-metal instances of a cloud have its name but no hypervisor. */
		if (strstr(text, ".metal"))
			break;
		here->vm = find_sign(text, vendors, sizeof(vendors) / sizeof(*vendors));
	}
	if (!here->vm && read_text(text, roots->sys, "hypervisor/type"))
		here->vm = strncmp(text, "xen", 3) == 0 ? "xen" : "unnamed hypervisor";
	if (!here->vm && read_text(text, roots->proc, "cpuinfo") &&
	    (flags = pmc_proc_field(text, "flags"))) {
		end = strchr(flags, '\n');
		if (end)
			*end = '\0';
		if (strstr(flags, " hypervisor"))
			here->vm = "unnamed hypervisor";
	}
	if (!here->vm && pmc_path_exists("%s/device-tree/hypervisor", roots->proc) == 0)
		here->vm = "unnamed hypervisor";
	/* NUL-separated strings; the first names the board. */
	if (!here->vm && read_text(text, roots->proc, "device-tree/compatible") &&
	    strcmp(text, "linux,dummy-virt") == 0)
		here->vm = "qemu";
}

struct pmu_search {
	char devices[PMC_PATH_MAX];
	bool found;
};

static void visit_pmu(const char *name, void *arg)
{
	struct pmu_search *search = arg;

	search->found |= pmc_is_core_pmu(search->devices, name);
}

static void read_pmus(struct pmc_here *here, const char *sys)
{
	struct pmu_search search = { .found = false };
	struct pmc_out out = pmc_out_mem(search.devices, sizeof(search.devices));

	pmc_outf(&out, "%s/bus/event_source/devices", sys);
	if (pmc_dir_visit(visit_pmu, &search, "%s", search.devices) == 0)
		here->core_pmu = search.found ? PMC_YES : PMC_NO;
}

void pmc_here_read(struct pmc_here *here, const struct pmc_roots *roots)
{
	if (!roots)
		roots = &machine;
	*here = (struct pmc_here){ .paranoid = PMC_LEVEL_UNKNOWN };
	read_sysctls(here, roots->proc);
	read_status(here, roots->proc);
	read_container(here, roots);
	read_vm(here, roots);
	read_pmus(here, roots->sys);
}
