/* SPDX-License-Identifier: MIT */
/*
 * facts.c - what is known of a Mac, and what is tried: an event of kperf as root, and pmctl itself
 * under the agent. POSIX only beside the tables of calls, so that tests run it on Linux.
 */
#include "tools/cli/pmctl.h"
#include "tools/doctor/mac_facts.h"
#include "tools/list/mac_kpep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A bit of csr_get_active_config (xnu, bsd/sys/csr.h): the one that dyld asks for. */
enum { CSR_ALLOW_TASK_FOR_PID = 1 << 2 };

static int number(const char *name)
{
	int value = 0;

	return doctor_mac_system.number(name, &value) ? value : 0;
}

static void try_kperf(struct doctor_facts *facts)
{
	/* The names of one event that each database has. */
	struct pmc_mac_event event = { .name = facts->apple_silicon ? "FIXED_CYCLES" :
								      "CPU_CLK_UNHALTED.THREAD" };
	struct pmc_mac mac;

	pmc_mac_open(&mac);
	pmc_mac_kpc_open(&mac, &event, 1, false);
	facts->kpep_reason = event.reason;
	pmc_mac_close(&mac);
}

static bool can_load(const char *path)
{
	return pmc_mac_system.library(path) != NULL;
}

static int run(char **environment, int *status)
{
	char path[PATH_MAX], *argv[] = { (char *)"pmctl", (char *)"--version", NULL };
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int io[3] = { null, null, null };
	sigset_t mask;
	const struct tool_spawn spawn = {
		.argv = argv, .path = path, .environment = environment, .io = io, .mask = &mask
	};
	pid_t pid;
	int error = null < 0 || !doctor_mac_system.self(path) ? ENOENT : 0;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	if (!error)
		error = tool_spawn(&spawn, &pid);
	if (null >= 0)
		close(null);
	while (!error && waitpid(pid, status, 0) < 0)
		error = errno == EINTR ? 0 : errno;
	return error;
}

/* pmctl --version, with the agent and a dump. */
static void try_insertion(struct doctor_facts *facts)
{
	char dir[] = "/tmp/pmc-doctor-XXXXXX", dump[64], out[80], library[PATH_MAX + 32];
	char *environment[] = { library, out, (char *)"PMC_REPORT=off", NULL };
	int status = 0;

	if (!facts->agent[0] || !mkdtemp(dir))
		return;
	snprintf(dump, sizeof(dump), "%s/run.pmc", dir);
	snprintf(out, sizeof(out), "PMC_OUT=%s", dump);
	snprintf(library, sizeof(library), "DYLD_INSERT_LIBRARIES=%s", facts->agent);
	if (run(environment, &status) == 0)
		facts->insert = WIFSIGNALED(status)	? INSERT_KILLED :
				access(dump, F_OK) == 0 ? INSERT_WORKS :
							  INSERT_IGNORED;
	unlink(dump);
	rmdir(dir);
}

const struct doctor_facts *doctor_gather(void)
{
	static struct doctor_facts facts;
	struct pmc_mac mac;
	uint32_t sip = 0;

	memset(&facts, 0, sizeof(facts));
	if (!doctor_mac_system.text("machdep.cpu.brand_string", facts.cpu, sizeof(facts.cpu)))
		facts.cpu[0] = '\0';
	if (!doctor_mac_system.text("kern.osproductversion", facts.release, sizeof(facts.release)))
		facts.release[0] = '\0';
	facts.apple_silicon = number("hw.optional.arm64");
	facts.translated = number("sysctl.proc_translated");
	facts.vm = number("kern.hv_vmm_present");
	facts.root = pmc_mac_system.is_root();
	facts.sip_known = doctor_mac_system.sip(&sip) == 0;
	facts.sip = facts.sip_known && !(sip & CSR_ALLOW_TASK_FOR_PID);
	pmc_mac_open(&mac);
	facts.counts = mac.counts;
	facts.no_counts = mac.no_counts;
	facts.levels = mac.levels;
	facts.kperf = can_load("/System/Library/PrivateFrameworks/kperf.framework/kperf") &&
		      can_load("/System/Library/PrivateFrameworks/kperfdata.framework/kperfdata");
	facts.no_kpep = list_kpep_missing();
	if (facts.root && facts.kperf && !facts.no_kpep)
		try_kperf(&facts);
	if (!tool_find_agent(facts.agent_dir, facts.agent))
		facts.agent[0] = '\0';
	try_insertion(&facts);
	return &facts;
}
