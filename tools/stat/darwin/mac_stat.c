/* SPDX-License-Identifier: MIT */
/*
 * mac_stat.c - readings of a process at intervals, and their differences. POSIX only, so that tests
 * run it on Linux.
 *
 * A command's last reading is taken between its end and its wait. SIGINT and SIGQUIT of the
 * terminal reach the command by themselves.
 */
#include "tools/stat/mac_stat.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "tools/cli/pmctl.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>

/* How often it is checked that a process lives, which ends without a signal to pmctl. */
#define CHECK_NS UINT64_C(100000000)

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	if (sig != SIGCHLD)
		caught = sig;
}

struct reading {
	uint64_t time_ns;
	struct mac_usage usage;
};

static void catch_signals(sigset_t *was)
{
	static const int signals[] = { SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	caught = 0;
	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		sigaddset(&set, signals[i]);
		sigaction(signals[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &set, was);
}

/* Until a signal or the time; signals are blocked elsewhere. */
static void wait_until(uint64_t end_ns, const sigset_t *mask)
{
	uint64_t now = pmc_now_ns(), ns = end_ns > now ? end_ns - now : 0;
	const struct timespec timeout = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	pselect(0, NULL, NULL, NULL, &timeout, mask);
}

/* Whether it has ended, with *now as its last reading. */
static bool read_now(struct mac_stat *stat, struct reading *now)
{
	struct mac_usage usage;
	siginfo_t info = { 0 };
	bool ended = stat->cmd &&
		     waitid(P_PID, (id_t)stat->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		     info.si_pid == stat->pid;
	int error = mac_usage_read(stat->pid, &usage);

	/* Of a process that has gone, the reading before is the last. */
	if (!error)
		now->usage = usage;
	now->time_ns = pmc_now_ns();
	return stat->cmd ? ended : error != 0 || usage.ended;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static void put_json(struct mac_stat *stat, const struct reading *from, const struct reading *to,
		     uint64_t begin_ns, bool summary)
{
	const struct mac_usage *a = &from->usage, *b = &to->usage;
	const uint64_t ns = to->time_ns - from->time_ns;
	const uint64_t cpu_ns = b->user_ns + b->system_ns - a->user_ns - a->system_ns;
	const struct {
		const char *name, *unit;
		uint64_t value;
		bool known;
	} events[] = {
		{ "cycles", "", b->cycles - a->cycles, b->counted },
		{ "instructions", "", b->instructions - a->instructions, b->counted },
		{ "task-clock", "ns", cpu_ns, b->timed },
	};
	struct pmc_json json;

	pmc_json_init(&json, &stat->out);
	pmc_json_object(&json, NULL);
	pmc_json_u64(&json, "time_ns", to->time_ns - begin_ns);
	pmc_json_u64(&json, "interval_ns", ns);
	pmc_json_u64(&json, "pid", (uint64_t)stat->pid);
	pmc_json_array(&json, "events");
	for (unsigned e = 0; e < 3; e++) {
		pmc_json_object(&json, NULL);
		pmc_json_str(&json, "name", events[e].name);
		pmc_json_known(&json, "value", events[e].known, events[e].value);
		pmc_json_known(&json, "raw", events[e].known, events[e].value);
		pmc_json_str(&json, "unit", events[e].unit);
		pmc_json_str(&json, "scope", "all");
		pmc_json_str(&json, "state", events[e].known ? "counted" : "not-supported");
		pmc_json_object_end(&json);
	}
	pmc_json_array_end(&json);
	pmc_json_object(&json, "metrics");
	pmc_json_double(&json, "cpus", b->timed ? ratio((double)cpu_ns, (double)ns) : NAN);
	pmc_json_double(&json, "ipc",
			b->counted ? ratio((double)events[1].value, (double)events[0].value) : NAN);
	pmc_json_object_end(&json);
	if (summary)
		pmc_json_bool(&json, "summary", true);
	pmc_json_object_end(&json);
	pmc_out_char(&stat->out, '\n');
	(void)pmc_out_flush(&stat->out);
}

/* Columns of an interval's line, and of the summary. */
static void put_line(struct mac_stat *stat, const struct reading *from, const struct reading *to,
		     uint64_t begin_ns, bool summary)
{
	const struct mac_usage *a = &from->usage, *b = &to->usage;
	const double cpu = (double)(b->user_ns + b->system_ns - a->user_ns - a->system_ns);
	const double cycles = (double)(b->cycles - a->cycles);
	const double instructions = (double)(b->instructions - a->instructions);
	char line[200], clock[32] = "           -";
	char counts[64] = "             -             -     -";

	if (b->counted && cycles > 0)
		snprintf(counts, sizeof(counts), "%14.0f%14.0f%6.2f", cycles, instructions,
			 instructions / cycles);
	else if (b->counted)
		snprintf(counts, sizeof(counts), "%14.0f%14.0f     -", cycles, instructions);
	if (b->timed)
		snprintf(clock, sizeof(clock), "%12.3f", cpu / 1e6);
	snprintf(line, sizeof(line), "%10.3f%s%s%12.1f%s\n", (double)(to->time_ns - begin_ns) / 1e9,
		 counts, clock,
		 (double)(summary ? b->peak_footprint_bytes : b->resident_bytes) / 1e6,
		 summary ? "  total, peak memory" : "");
	pmc_out_str(&stat->out, line);
	(void)pmc_out_flush(&stat->out);
}

static void put(struct mac_stat *stat, const struct reading *from, const struct reading *to,
		uint64_t begin_ns, bool summary)
{
	if (stat->json)
		put_json(stat, from, to, begin_ns, summary);
	else
		put_line(stat, from, to, begin_ns, summary);
}

static int begin(struct mac_stat *stat, const sigset_t *mask, struct reading *first)
{
	const struct tool_spawn spawn = { .argv = stat->cmd, .mask = mask };
	int error;

	*first = (struct reading){ .time_ns = pmc_now_ns() };
	if (stat->cmd) {
		error = tool_spawn(&spawn, &stat->pid);
		return !error ? 0 :
				tool_fail(error == ENOENT ? EXIT_NO_CMD : EXIT_CANNOT_RUN,
					  "cannot run command '%s': %s", stat->cmd[0],
					  error == ENOENT ? "not found" : strerror(error));
	}
	error = mac_usage_read(stat->pid, &first->usage);
	return !error ? 0 :
			tool_fail(EXIT_FAIL, "cannot read process %d: %s%s", (int)stat->pid,
				  strerror(-error),
				  error == -EPERM ? "; use sudo for processes of others" : "");
}

int mac_stat_run(struct mac_stat *stat)
{
	struct reading first, before, now;
	uint64_t next, lines = 0;
	bool ended = false;
	sigset_t mask;
	int code;

	catch_signals(&mask);
	code = begin(stat, &mask, &first);
	if (code)
		goto out;
	before = now = first;
	next = first.time_ns + stat->interval_ns;
	if (!stat->json)
		pmc_out_str(&stat->out, "    time s        cycles  instructions   ipc"
					"      cpu ms   memory MB\n");
	while (!ended && !(stat->count && lines == stat->count && !stat->cmd)) {
		uint64_t end = pmc_now_ns() + CHECK_NS;

		wait_until(stat->interval_ns && next < end ? next : end, &mask);
		if (caught && !stat->cmd)
			break;
		if (caught == SIGTERM || caught == SIGHUP)
			kill(stat->pid, caught);
		caught = 0;
		ended = read_now(stat, &now);
		if (ended || !stat->interval_ns || now.time_ns < next ||
		    (stat->count && lines == stat->count))
			continue;
		put(stat, &before, &now, first.time_ns, false);
		before = now;
		lines++;
		while (next <= now.time_ns)
			next += stat->interval_ns;
	}
	if (!ended && !stat->cmd)
		read_now(stat, &now);
	while (stat->cmd && waitpid(stat->pid, &stat->status, 0) < 0 && errno == EINTR)
		;
	put(stat, &first, &now, first.time_ns, true);
out:
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return code;
}
