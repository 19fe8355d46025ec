/* SPDX-License-Identifier: MIT */
/* checks.c - judges the facts by the rules of checks.def, and single events. */
#include "tools/cli/try_open.h"
#include "tools/doctor/facts.h"
#include "tools/list/list.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With fewer descriptors a program with many threads does not get its groups. */
#define FEW_FDS	  4096
#define SLOW_RATE 10000

#define PERF_TYPE_UNKNOWN PERF_TYPE_MAX

/* ---- fixes -------------------------------------------------------------------------------- */

static bool is_root(const struct doctor_facts *f)
{
	return f->uid == 0 && f->here.user_namespace != PMC_YES;
}

static void fix_sysctl(const struct doctor_facts *f, struct doctor_finding *to, const char *setting)
{
	doctor_fix(to,
		   f->here.user_namespace == PMC_YES ? "outside the user namespace" :
		   f->here.container		     ? "on the host of the container" :
				       "until the next boot; a file in /etc/sysctl.d keeps it",
		   is_root(f), "sudo sysctl -w %s", setting);
}

#define COMMAND(hint, ...) doctor_fix(to, hint, is_root(f), __VA_ARGS__)
#define SYSCTL(setting)	   fix_sysctl(f, to, setting)
#define RAISE_NOFILE	   "sudo prlimit --pid $$ --nofile=65536:65536"
#define COPY_AGENT                                                                                 \
	COMMAND("in the build directory; or make install", "sudo cp libpmcagent.so '%s/'",         \
		f->agent_dir)

/* ---- what several checks ask ---------------------------------------------------------------- */

static bool opens(const struct doctor_facts *f)
{
	return f->cycles == 0 || f->cycles_user == 0;
}

bool doctor_hardware(const struct doctor_facts *f)
{
	return opens(f) && f->cycles_run != PMC_NO;
}

bool doctor_anything(const struct doctor_facts *f)
{
	return doctor_hardware(f) || f->software == 0 || f->software_user == 0;
}

const char *doctor_summary(const struct doctor_facts *f)
{
	if (doctor_hardware(f))
		return f->cycles == 0 ? "Hardware events can be counted." :
					"Hardware events can be counted in user mode only.";
	if (doctor_anything(f))
		return "No hardware events can be counted; software events can. CPU time, page "
		       "faults and context switches of every thread are always available.";
	return "No perf events can be counted. CPU time, page faults and context switches of "
	       "every thread are still available.";
}

static unsigned held(const struct doctor_facts *f)
{
	return f->counters > f->counters_free ? f->counters - f->counters_free : 0;
}

static bool is_refused(int error)
{
	return error == -EACCES || error == -EPERM || error == TOOL_PROBE_KILLED;
}

static bool is_missing(int error)
{
	return error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV;
}

static bool has_cap(const struct doctor_facts *f, unsigned cap)
{
	return f->here.effective >> cap & 1 && f->here.user_namespace != PMC_YES;
}

/* Whether perf_event_paranoid does not apply. Debian's level 3 needs more than CAP_PERFMON. */
static bool is_exempt(const struct doctor_facts *f)
{
	return f->here.perfmon == PMC_YES &&
	       (f->here.paranoid < 3 || has_cap(f, CAP_SYS_ADMIN) || f->software_user == 0);
}

static bool filter_refuses(const struct doctor_facts *f)
{
	int error = f->software_user;

	return f->here.filtered == PMC_YES &&
	       (error == -EPERM || error == -ENOSYS || error == TOOL_PROBE_KILLED ||
		(error == -EACCES && (is_exempt(f) || f->here.paranoid < 3)));
}

/* The result of an attempt in these circumstances, such as "EACCES: ..."; valid until the next. */
static const char *why(const struct doctor_facts *f, int error, uint32_t type, bool user)
{
	const struct perf_event_attr attr = { .type = type, .exclude_kernel = user };
	const struct pmc_tried tried = { .attr = type == PERF_TYPE_UNKNOWN ? NULL : &attr };
	struct pmc_advice advice;
	static char text[256];
	char name[24];

	if (error == TOOL_PROBE_KILLED)
		return "a seccomp filter kills processes that call perf_event_open";
	pmc_advise(error, &tried, &f->here, &advice);
	snprintf(text, sizeof(text), "%s: %s", pmc_error_name(error, name), advice.means);
	return text;
}

/* ---- fixes that depend on facts ------------------------------------------------------------- */

static void fix_errno(const struct doctor_facts *f, struct doctor_finding *to, int error,
		      enum pmc_perf_call call)
{
	const struct pmc_tried tried = { .call = call };
	struct pmc_advice advice;

	pmc_advise(error, &tried, &f->here, &advice);
	WORDS("%s", advice.todo);
}

static void fix_pmu(const struct doctor_facts *f, struct doctor_finding *to)
{
	if (f->here.vm)
		WORDS("give the guest a PMU: qemu -cpu host,pmu=on; libvirt <feature><pmu "
		      "state='on'/></feature>; in a cloud, a metal instance or a type with "
		      "performance counters");
	else
		COMMAND("shows what the kernel found; the firmware may hide it",
			"sudo dmesg | grep -i 'performance events'");
}

static void fix_filter(const struct doctor_facts *f, struct doctor_finding *to)
{
	const char *kind = f->here.container ? f->here.container : "";

	if (strcmp(kind, "docker") == 0 || strcmp(kind, "podman") == 0)
		WORDS("%s run --security-opt seccomp=unconfined ...; --cap-add PERFMON is enough "
		      "for recent profiles",
		      kind);
	else if (strcmp(kind, "kubernetes") == 0)
		WORDS("in the pod's securityContext: capabilities.add: [PERFMON], or "
		      "seccompProfile.type: Unconfined");
	else
		WORDS("start the program without that filter; in a container --security-opt "
		      "seccomp=unconfined, in a systemd unit SystemCallFilter=perf_event_open");
}

/* Where perf_event_open fails even for task-clock in user mode. */
static void fix_open(const struct doctor_facts *f, struct doctor_finding *to)
{
	int error = f->software_user;

	if (filter_refuses(f))
		fix_filter(f, to);
	else if (error == -ENOSYS)
		WORDS("use a kernel with CONFIG_PERF_EVENTS=y");
	else if (error == -EMFILE)
		COMMAND("", RAISE_NOFILE);
	else if (error == -ENFILE)
		SYSCTL("fs.file-max=1000000");
	else if (is_refused(error) && f->here.paranoid >= 2 && !is_exempt(f))
		SYSCTL("kernel.perf_event_paranoid=1");
	else if (is_refused(error))
		COMMAND("", "sudo dmesg | grep -iE 'avc|denied|lockdown'");
	else
		fix_errno(f, to, error, PMC_CALL_OPEN);
}

/* Where other users of the PMU hold counters. */
static void fix_holders(const struct doctor_facts *f, struct doctor_finding *to)
{
	if (f->n_holders == 1)
		COMMAND("if it may end; else wait for it", "sudo kill %u", f->first_holder);
	else if (f->n_holders)
		WORDS("end the process that counts whole CPUs (perf, a profiler, a monitor)");
	else if (f->holds_itself)
		WORDS("start pmctl from a program that closes its perf events on exec");
	else if (f->uid == 0)
		WORDS("bpftool prog show lists BPF programs; run pmctl doctor on the host of the "
		      "container");
	else
		COMMAND("root sees every process", "sudo pmctl doctor");
}

/* ---- the rules ------------------------------------------------------------------------------ */

#include "tools/doctor/checks.def"
#undef CHECK

const struct doctor_check doctor_checks[] = {
#define CHECK(id, name, ...) { name, judge_##id },
#include "tools/doctor/checks.def"
#undef CHECK
};
const unsigned doctor_n_checks = sizeof(doctor_checks) / sizeof(doctor_checks[0]);

/* ---- --require ------------------------------------------------------------------------------ */

int doctor_plan(const struct pmc_events *events, struct pmc_arena *arena, struct pmc_plan *plan)
{
	return pmc_plan_make(events, tool_perf_open, arena, plan);
}

void doctor_judge(const struct doctor_facts *facts, const struct pmc_planned *planned,
		  struct pmc_arena *arena, struct doctor_finding *to)
{
	struct pmc_here here = facts->here;
	struct list list = { .arena = *arena, .here = &here };
	const struct pmc_event *event = &planned->event;
	const enum pmc_scope scope = planned->scope;
	const bool machine = pmc_event_is_uncore(event);
	struct list_answer answer;

	/* The plan knows, too, which events are in each other's way. */
	if (planned->group == PMC_NO_GROUP && planned->error >= PMC_REASON_ADOPTED && !machine &&
	    !pmc_event_is_of_os(event))
		answer = list_refusal(&list, planned);
	else
		answer = list_try(&list, event, machine ? atoi(event->cpus) : -1);
	*arena = list.arena;
	if (!answer.available) {
		doctor_say(to, DOCTOR_BLOCKS, "%s: not countable (%s)", event->name, answer.reason);
		if (answer.fix)
			WORDS("%s", answer.fix);
	} else if (pmc_event_needs_pmu(event) && !machine &&
		   (facts->cycles_run == PMC_NO ||
		    pmc_probe_together(tool_perf_open, &event, &scope, 1) != 1)) {
		doctor_say(to, DOCTOR_BLOCKS, "%s: opens but is not scheduled or stays at 0",
			   event->name);
		WORDS("see the checks 'cycles' and 'counters'");
	} else {
		doctor_say(to, DOCTOR_OK, "%s: counted%s%s", event->name,
			   machine	 ? " for the whole machine" :
			   answer.reason ? " " :
					   "",
			   !machine && answer.reason ? answer.reason : "");
	}
}
