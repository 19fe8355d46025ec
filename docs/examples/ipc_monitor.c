/* SPDX-License-Identifier: MIT */
/*
 * ipc_monitor.c - prints instructions, cycles and instructions per cycle every second.
 *
 * 	ipc_monitor [-n LINES] [-i MILLISECONDS] [PID]
 *
 * Counts all threads of a process, including threads it starts later, until it ends; without PID,
 * the whole machine. One group per thread or CPU: events of a group are on the PMU at the same
 * time, so their ratio is exact.
 *
 * 	cc ipc_monitor.c $(pkg-config --cflags --libs pmc)
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pmc/counter.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { INSTRUCTIONS, CYCLES, EVENTS };
static const char *const names[EVENTS] = { "instructions", "cycles" };

struct source { /* a thread or a CPU */
	struct pmc_group *group;
	struct pmc_group_times times; /* at the last reading */
	struct pmc_group_value values[EVENTS];
};

static struct source *sources;
static size_t n_sources;

static int fail(const struct pmc_failure *why)
{
	fprintf(stderr, "ipc_monitor: %s: %s\n", why->what, why->advice);
	return -why->error;
}

/* Returns 0 or a negative errno, which is printed unless it is -ESRCH (the thread has ended) or
 * -ENODEV (the CPU is offline). */
static int add_source(const struct pmc_counter_event *events, const struct pmc_open_options *open)
{
	struct source *more = realloc(sources, (n_sources + 1) * sizeof(*more));
	struct pmc_failure why;
	int err;

	if (!more)
		return -ENOMEM;
	sources = more;
	more += n_sources;
	memset(more, 0, sizeof(*more));
	err = pmc_group_open(&more->group, events, EVENTS, open, &why);
	if (err == -ESRCH || err == -ENODEV)
		return err;
	if (err)
		return fail(&why);
	if (n_sources++ == 0 && pmc_counter_scope(pmc_group_at(more->group, 0)) == PMC_SCOPE_USER)
		fprintf(stderr,
			"ipc_monitor: user mode only: this user may not count the kernel\n");
	return 0;
}

static int open_machine(const struct pmc_counter_event *events)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	open.target = PMC_TARGET_ANY;
	open.enabled = true;
	for (open.cpu = 0; open.cpu < cpus; open.cpu++) {
		int err = add_source(events, &open);

		if (err && err != -ENODEV)
			return err;
	}
	return 0;
}

static void close_all(void)
{
	while (n_sources)
		pmc_group_close(sources[--n_sources].group);
}

/* Opens every existing thread, each with the threads it will start. */
static int open_threads(const struct pmc_counter_event *events, struct pmc_open_options *open,
			struct dirent **tasks, int n)
{
	int err = 0;

	for (int i = 0; i < n && (!err || err == -ESRCH); i++) {
		open->pid = (pid_t)atoi(tasks[i]->d_name);
		if (open->pid > 0)
			err = add_source(events, open);
	}
	return err == -ESRCH && n_sources ? 0 : err;
}

static void free_list(struct dirent **list, int n)
{
	for (int i = 0; i < n; i++)
		free(list[i]);
	if (n >= 0)
		free(list);
}

/* A thread that starts between the listing and the open of its creator would be missed, so the
 * threads are opened until the listings before and after are equal. */
static int open_process(const struct pmc_counter_event *events, pid_t pid)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	int err = -ESRCH;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	open.enabled = true;
	open.inherit = true;
	open.inherit_thread = true;
	for (int tries = 0; tries < 20; tries++) {
		struct dirent **before, **after;
		int n = scandir(path, &before, NULL, alphasort), m;
		bool same;

		if (n < 0)
			break;
		close_all();
		err = open_threads(events, &open, before, n);
		m = scandir(path, &after, NULL, alphasort);
		same = n == m;
		for (int i = 0; same && i < n; i++)
			same = !strcmp(before[i]->d_name, after[i]->d_name);
		free_list(before, n);
		free_list(after, m);
		if (same || (err && err != -ESRCH))
			break;
	}
	if (err == -ESRCH)
		fprintf(stderr, "ipc_monitor: no process %d\n", (int)pid);
	return err;
}

/* Counts since the last call. */
static int read_all(uint64_t sums[EVENTS])
{
	memset(sums, 0, EVENTS * sizeof(*sums));
	for (size_t i = 0; i < n_sources; i++) {
		struct source *s = &sources[i];
		struct pmc_group_times now, times;
		struct pmc_group_value values[EVENTS];
		int err = pmc_group_read(s->group, &now, values, EVENTS);

		/* The thread has not run yet. */
		if (err == -EAGAIN)
			continue;
		if (err)
			return err;
		times = now;
		times.enabled_ns -= s->times.enabled_ns;
		times.running_ns -= s->times.running_ns;
		for (int e = 0; e < EVENTS; e++) {
			struct pmc_group_value delta = values[e];
			uint64_t count;

			delta.count -= s->values[e].count;
			err = pmc_group_scale(&times, &delta, &count);
			/* Time enabled and counts do not advance while a thread sleeps. */
			if (err == -EAGAIN)
				count = 0;
			else if (err)
				return err;
			sums[e] += count;
		}
		s->times = now;
		memcpy(s->values, values, sizeof(values));
	}
	return 0;
}

/* A zombie has ended too. */
static bool is_over(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&end, 1, 0) == 1;
}

/* pidfd: of the process; -1: the whole machine. */
static int monitor(long lines, long interval_ms, int pidfd)
{
	struct timespec next;
	uint64_t sums[EVENTS];

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long line = 0; lines < 0 || line < lines; line++) {
		bool over;
		int err;

		next.tv_nsec += interval_ms % 1000 * 1000000;
		next.tv_sec += interval_ms / 1000 + next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			continue;
		/* Checked before the reading, so that the last line is complete. */
		over = is_over(pidfd);
		err = read_all(sums);
		if (err == -EBUSY && !over) {
			fprintf(stderr, "ipc_monitor: the PMU was taken by others all the time\n");
			continue;
		}
		if (err) {
			fprintf(stderr, "ipc_monitor: cannot read: %s\n", strerror(-err));
			return err;
		}
		printf("instructions=%" PRIu64 " cycles=%" PRIu64 " ipc=%.3f\n", sums[INSTRUCTIONS],
		       sums[CYCLES],
		       sums[CYCLES] ? (double)sums[INSTRUCTIONS] / (double)sums[CYCLES] : 0.0);
		if (fflush(stdout)) {
			fprintf(stderr, "ipc_monitor: cannot write: %s\n", strerror(errno));
			return -EIO;
		}
		if (over)
			break;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct pmc_counter_event events[EVENTS];
	long lines = -1, interval_ms = 1000;
	struct pmc_failure why;
	pid_t pid = 0;
	int c, err = 0, pidfd = -1;

	while ((c = getopt(argc, argv, "n:i:")) != -1) {
		if (c == 'n')
			lines = atol(optarg);
		else if (c == 'i')
			interval_ms = atol(optarg);
		if (c == '?' || interval_ms < 1)
			goto usage;
	}
	if (optind < argc && (pid = (pid_t)atoi(argv[optind++])) < 1)
		goto usage;
	if (optind < argc)
		goto usage;
	for (int e = 0; e < EVENTS && !err; e++)
		if (pmc_counter_event_parse(&events[e], names[e], &why))
			err = fail(&why);
	if (!err)
		err = pid ? open_process(events, pid) : open_machine(events);
	if (!err && pid)
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (!err)
		err = monitor(lines, interval_ms, pidfd);
	if (pidfd >= 0)
		close(pidfd);
	close_all();
	free(sources);
	return err ? 1 : 0;
usage:
	fprintf(stderr, "usage: ipc_monitor [-n LINES] [-i MILLISECONDS] [PID]\n");
	return 2;
}
