/* SPDX-License-Identifier: MIT */
/* limits.c - judges how much may be counted, and what pmctl has to work with. */
#include "tools/doctor/doctor.h"
#include "tools/cli/try_open.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

/* Below this many descriptors a program with many threads will not get its groups. */
#define FEW_FDS 4096
/* Ring buffers beside those that perf_event_mlock_kb allows each user. */
#define LITTLE_MEMLOCK (64u << 10)
/* The kernel starts with 100,000 and lowers it when interrupts take too long. */
#define SLOW_RATE 10000

void doctor_judge_fds(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->nofile_hard >= FEW_FDS) {
		doctor_say(finding, DOCTOR_OK, "limit %llu, can be raised to %llu",
			   (unsigned long long)facts->nofile_soft,
			   (unsigned long long)facts->nofile_hard);
		return;
	}
	doctor_say(finding, DOCTOR_LIMITS,
		   "limit %llu, hard limit %llu: each thread needs one descriptor per event",
		   (unsigned long long)facts->nofile_soft, (unsigned long long)facts->nofile_hard);
	doctor_command(facts, finding, "sudo prlimit --pid $$ --nofile=65536:65536");
	doctor_hint(finding, "for this shell; LimitNOFILE= in a unit, --ulimit in docker");
}

static const char *kilobytes(uint64_t bytes, char buf[32])
{
	if (bytes == UINT64_MAX)
		return "unlimited";
	snprintf(buf, 32, "%llu KiB", (unsigned long long)(bytes >> 10));
	return buf;
}

void doctor_judge_memlock(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	bool free = facts->here.paranoid == -1 || (facts->here.effective >> CAP_IPC_LOCK & 1 &&
						   facts->here.user_namespace != PMC_YES);
	long long per_cpu = facts->mlock_kb == DOCTOR_NONE ? 0 : (long long)facts->mlock_kb;
	char amount[32], why[256];

	if (facts->software_user != 0) {
		doctor_say(finding, DOCTOR_LIMITS, "not to be tried: perf_event_open fails");
		doctor_mend_syscall(facts, finding);
	} else if (facts->ring != 0 && facts->ring != -EPERM) {
		doctor_say(finding, DOCTOR_LIMITS, "no ring buffer can be mapped (%s)",
			   doctor_error(facts, facts->ring, NULL, why, sizeof(why)));
		doctor_todo(facts, finding, facts->ring, PMC_CALL_MMAP);
	} else if (free && facts->ring == 0) {
		doctor_say(finding, DOCTOR_OK, "ring buffers are not limited for this user");
	} else if (facts->ring == 0 && facts->memlock_soft >= LITTLE_MEMLOCK) {
		doctor_say(finding, DOCTOR_OK,
			   "ring buffers of %lld KiB a CPU (kernel.perf_event_mlock_kb), and %s "
			   "(ulimit -l)",
			   per_cpu, kilobytes(facts->memlock_soft, amount));
	} else {
		doctor_say(finding, DOCTOR_LIMITS,
			   "%s: kernel.perf_event_mlock_kb is %lld for each CPU and user, ulimit "
			   "-l adds %s",
			   facts->ring ? "no ring buffer of 512 KiB can be mapped" :
					 "ring buffers for one trace only",
			   per_cpu, kilobytes(facts->memlock_soft, amount));
		/* Either raises it; the limit of a process is the smaller step. */
		doctor_command(facts, finding, "sudo prlimit --pid $$ --memlock=67108864:67108864");
		doctor_hint(finding,
			    "for this shell; or sudo sysctl -w kernel.perf_event_mlock_kb=2052");
	}
}

void doctor_judge_sample_rate(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	unsigned rate = facts->here.max_sample_rate;

	if (rate == 0) {
		doctor_say(finding, DOCTOR_OK, "the kernel does not tell");
		return;
	}
	if (rate >= SLOW_RATE) {
		doctor_say(finding, DOCTOR_OK, "up to %u samples a second and CPU", rate);
		return;
	}
	doctor_say(finding, DOCTOR_LIMITS, "up to %u samples a second and CPU only", rate);
	/* The rate can't be set while the share of time has no limit. */
	doctor_sysctl(facts, finding,
		      facts->cpu_percent == 0 || facts->cpu_percent == 100 ?
			      "kernel.perf_cpu_time_max_percent=25 "
			      "kernel.perf_event_max_sample_rate=100000" :
			      "kernel.perf_event_max_sample_rate=100000");
}

void doctor_judge_sampling_time(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	int64_t percent = facts->cpu_percent;

	if (percent == DOCTOR_NONE) {
		doctor_say(finding, DOCTOR_OK, "the kernel does not tell");
	} else if (percent == 0 || percent == 100) {
		doctor_say(finding, DOCTOR_OK, "sampling may take any share of a CPU's time");
	} else if (percent >= 5) {
		doctor_say(finding, DOCTOR_OK, "sampling may take %d %% of a CPU's time",
			   (int)percent);
	} else {
		doctor_say(finding, DOCTOR_LIMITS,
			   "sampling may take %d %% of a CPU's time; then the kernel slows it down",
			   (int)percent);
		doctor_sysctl(facts, finding, "kernel.perf_cpu_time_max_percent=25");
	}
}

void doctor_judge_tracefs(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->tracefs_readable) {
		doctor_say(finding, DOCTOR_OK, "mounted; tracepoints can be looked up");
	} else if (facts->tracefs_mounted) {
		doctor_say(finding, DOCTOR_LIMITS,
			   "mounted, but not readable: tracepoint names are unknown to this user");
		doctor_command(facts, finding,
			       "sudo mount -o remount,mode=750,gid=\"$(id -g)\" "
			       "/sys/kernel/tracing");
	} else {
		doctor_say(finding, DOCTOR_LIMITS,
			   "not mounted, or not visible: tracepoint names are unknown");
		doctor_command(facts, finding, "sudo mount -t tracefs nodev /sys/kernel/tracing");
	}
}

static void newest_of(const char **newest, const char *since)
{
	int a = 0, b = 0, c = 0, d = 0;

	if (*newest && (sscanf(*newest, "%d.%d", &a, &b) != 2 ||
			sscanf(since, "%d.%d", &c, &d) != 2 || a > c || (a == c && b >= d)))
		return;
	*newest = since;
}

enum trial { THERE, MISSING, REFUSED, FAILED };

/* What an older kernel says of what it does not know. Anything else has another cause. */
static enum trial trial_of(int error)
{
	switch (error) {
	case 0:
		return THERE;
	case -EINVAL:
	case -ENOSYS:
	case -E2BIG:
	case -EOPNOTSUPP:
		return MISSING;
	case -EPERM:
	case -EACCES:
		return REFUSED;
	default:
		return FAILED;
	}
}

/* "missing: NAME (ERRNO; Linux N): what for; NAME ..."; how many. */
static unsigned features_that(const struct doctor_facts *facts, enum trial trial, const char *word,
			      struct doctor_finding *finding)
{
	size_t len = strlen(finding->detail), cap = sizeof(finding->detail);
	unsigned n = 0;

	for (unsigned i = 0; i < DOCTOR_N_FEATURES && len < cap; i++) {
		const struct doctor_feature *feature = &doctor_features[i];
		char name[24];

		if (trial_of(facts->features[i]) != trial)
			continue;
		len += (size_t)snprintf(finding->detail + len, cap - len,
					"%s%s%s (%s; Linux %s): %s", len ? "; " : "", n ? "" : word,
					feature->name, pmc_error_name(facts->features[i], name),
					feature->since, feature->what_for);
		n++;
	}
	return n;
}

void doctor_judge_features(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	unsigned missing, refused, failed;
	const char *newest = NULL;

	if (facts->features[0] == DOCTOR_UNTRIED) {
		doctor_say(finding, DOCTOR_LIMITS, "not to be tried: perf_event_open fails");
		doctor_mend_syscall(facts, finding);
		return;
	}
	finding->detail[0] = '\0';
	missing = features_that(facts, MISSING, "missing: ", finding);
	refused = features_that(facts, REFUSED, "refused: ", finding);
	failed = features_that(facts, FAILED, "could not be tried: ", finding);
	if (!missing && !refused && !failed) {
		doctor_say(finding, DOCTOR_OK, "all %u that pmcagent uses are there",
			   (unsigned)DOCTOR_N_FEATURES);
		return;
	}
	finding->status = DOCTOR_LIMITS;
	for (unsigned i = 0; i < DOCTOR_N_FEATURES; i++)
		if (trial_of(facts->features[i]) == MISSING)
			newest_of(&newest, doctor_features[i].since);
	if (missing)
		doctor_words(finding, "a kernel of version %s or later%s", newest,
			     facts->here.filtered == PMC_YES ? ", or no seccomp filter" : "");
	else if (refused)
		doctor_words(finding, "start it without the seccomp filter or security module that "
				      "refuses them; in a container --security-opt "
				      "seccomp=unconfined");
	else
		doctor_command(facts, finding, "sudo prlimit --pid $$ --nofile=65536:65536");
}

void doctor_judge_agent(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	bool none = facts->agent[0] == '\0';

	if (!none && strcmp(facts->agent_version, PMC_VERSION) == 0) {
		doctor_say(finding, DOCTOR_OK, "%s, version %s", facts->agent, PMC_VERSION);
		return;
	}
	if (none)
		doctor_say(finding, DOCTOR_LIMITS,
			   "libpmcagent.so is neither in %s nor in ../lib/pmc of it: pmctl run "
			   "needs --agent FILE",
			   facts->agent_dir);
	else
		doctor_say(finding, DOCTOR_LIMITS, "%s is of version %s, pmctl of %s", facts->agent,
			   facts->agent_version[0] ? facts->agent_version : "unknown", PMC_VERSION);
	doctor_command(facts, finding, "sudo cp libpmcagent.so '%s/'", facts->agent_dir);
	doctor_hint(finding, "in the build directory; or make install");
}

void doctor_judge_pfm(const struct doctor_facts *facts, struct doctor_finding *finding)
{
	if (facts->pfm[0]) {
		doctor_say(finding, DOCTOR_OK, "%s", facts->pfm);
		return;
	}
	doctor_say(finding, DOCTOR_LIMITS,
		   "not there: events by built-in, sysfs, tracepoint and raw names only");
	if (facts->install_pfm)
		doctor_command(facts, finding, "%s", facts->install_pfm);
	else
		doctor_words(finding, "install libpfm4 (libpfm.so.4)");
}
