/* SPDX-License-Identifier: MIT */
/*
 * sched_switch.c - prints every context switch of every CPU in time order.
 *
 * 	sched_switch [-c CPU] [-d SECONDS] [-m PAGES]
 *
 * One tracepoint event and one ring buffer per CPU (or for CPU only), read as one stream. Prints
 * for each switch
 *
 * 	TID: n, PID: n
 * 	TIME: ns
 * 	PrevPID: n PrevComm: s NextComm: s NextPID:n
 *
 * and an empty line. TID and PID are those of the task that leaves the CPU. Losses are reported on
 * stderr, where they occur and as a total at the end. Ends after -d SECONDS or on SIGINT or
 * SIGTERM, once the rings are empty.
 *
 * 	cc sched_switch.c $(pkg-config --cflags --libs pmc)
 */
#include <errno.h>
#include <inttypes.h>
#include <pmc/counter.h>
#include <pmc/sampler.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct ring {
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
};

/* A field of the tracepoint: its position in the raw data, from the format file. */
struct field {
	const char *name;
	unsigned offset, size;
};

enum { PREV_COMM, PREV_PID, NEXT_COMM, NEXT_PID, FIELDS };
static struct field fields[FIELDS] = {
	{ "prev_comm", 0, 0 },
	{ "prev_pid", 0, 0 },
	{ "next_comm", 0, 0 },
	{ "next_pid", 0, 0 },
};

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static int fail(const struct pmc_failure *why)
{
	fprintf(stderr, "sched_switch: %s%s%s\n", why->what, why->what[0] ? ": " : "", why->advice);
	return -1;
}

/* Parses lines such as "	field:char prev_comm[16];	offset:8;	size:16;	signed:0;". */
static int read_format(void)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/events/sched/sched_switch/format",
		"/sys/kernel/debug/tracing/events/sched/sched_switch/format",
	};
	char line[512], declared[256];
	unsigned offset, size;
	FILE *file = fopen(paths[0], "re");

	if (!file)
		file = fopen(paths[1], "re");
	if (!file) {
		fprintf(stderr, "sched_switch: %s: %s\n", paths[0], strerror(errno));
		return -1;
	}
	while (fgets(line, sizeof(line), file)) {
		char *name;

		if (sscanf(line, " field:%255[^;]; offset:%u; size:%u;", declared, &offset,
			   &size) != 3)
			continue;
		declared[strcspn(declared, "[")] = '\0';
		name = strrchr(declared, ' ');
		for (int f = 0; name && f < FIELDS; f++)
			if (!strcmp(name + 1, fields[f].name))
				fields[f] = (struct field){ fields[f].name, offset, size };
	}
	fclose(file);
	for (int f = 0; f < FIELDS; f++) {
		if (fields[f].size && (f == PREV_COMM || f == NEXT_COMM || fields[f].size == 4))
			continue;
		fprintf(stderr, "sched_switch: this kernel's %s is not as expected\n",
			fields[f].name);
		return -1;
	}
	return 0;
}

static int open_ring(struct ring *ring, const struct pmc_counter_event *event, int cpu,
		     unsigned pages)
{
	struct pmc_open open = PMC_OPEN_INIT;
	struct pmc_failure why;
	int err;

	open.target = PMC_TARGET_ANY;
	open.cpu = cpu;
	open.sample_period = 1;
	open.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_STREAM_ID |
			   PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
	open.sample_id_all = true;
	err = pmc_counter_open(&ring->counter, event, &open, &why);
	if (err == -ENODEV) /* this CPU is offline */
		return err;
	if (err)
		return fail(&why);
	err = pmc_sampler_open(&ring->sampler, ring->counter, pages);
	if (err) {
		fprintf(stderr, "sched_switch: a ring of %u pages: %s\n", pages, strerror(-err));
		return -1;
	}
	return 0;
}

static void print(const struct pmc_record *record)
{
	const struct pmc_record_span *raw = &record->sample.raw;
	uint32_t tid = record->tid;
	char comm[2][64];
	int32_t pid[2];

	for (int f = 0; f < FIELDS; f++)
		if (fields[f].offset + fields[f].size > raw->size) {
			fprintf(stderr, "sched_switch: a record without its %s\n", fields[f].name);
			return;
		}
	for (int i = 0; i < 2; i++) {
		const struct field *name = &fields[i ? NEXT_COMM : PREV_COMM];
		size_t len = name->size < sizeof(comm[i]) ? name->size : sizeof(comm[i]) - 1;

		memcpy(comm[i], raw->data + name->offset, len);
		comm[i][len] = '\0';
		memcpy(&pid[i], raw->data + fields[i ? NEXT_PID : PREV_PID].offset, sizeof(pid[i]));
	}
	/* perf reports no IDs for a task that has just ended; the tracepoint does. */
	if (tid == UINT32_MAX)
		tid = (uint32_t)pid[0];
	/* One write per record, so that records of several writers do not mix. */
	printf("TID: %" PRIu32 ", PID: %" PRId32 "\nTIME: %" PRIu64 "\nPrevPID: %" PRId32
	       " PrevComm: %s NextComm: %s NextPID:%" PRId32 "\n\n",
	       tid, (int32_t)record->pid, record->time, pid[0], comm[0], comm[1], pid[1]);
}

static void handle(const struct pmc_record *record)
{
	if (record->type == PERF_RECORD_SAMPLE)
		print(record);
	else if (record->type == PERF_RECORD_LOST)
		fprintf(stderr,
			"sched_switch: %" PRIu64 " lost on CPU %" PRIu32 " before %" PRIu64 "\n",
			record->lost.lost, record->cpu, record->time);
	else if (record->type == PERF_RECORD_THROTTLE)
		fprintf(stderr, "sched_switch: throttled on CPU %" PRIu32 "\n", record->cpu);
}

/* Samples and losses of each ring. A loss is reported with the next record that fits, so the last
 * losses show only as a difference to the event's own count. */
static int sum_up(struct ring *rings, long n)
{
	uint64_t printed = 0, lost = 0, late = 0;

	for (long cpu = 0; cpu < n; cpu++) {
		struct pmc_sampler_totals totals;
		uint64_t count = 0;
		int err;

		if (!rings[cpu].sampler)
			continue;
		pmc_sampler_totals(rings[cpu].sampler, &totals);
		err = pmc_counter_read(rings[cpu].counter, &count);
		if (err)
			return err;
		if (count > totals.samples + totals.lost)
			fprintf(stderr, "sched_switch: %" PRIu64 " lost on CPU %ld at the end\n",
				count - totals.samples - totals.lost, cpu);
		printed += totals.samples;
		lost += count - totals.samples;
		late += totals.late;
	}
	fprintf(stderr, "sched_switch: %" PRIu64 " switches, %" PRIu64 " lost, %" PRIu64 " late\n",
		printed, lost, late);
	return 0;
}

/* Runs until stopped, then drains the rings. */
static int copy(struct pmc_sampler_set *set, struct ring *rings, long n, double seconds)
{
	struct timespec now, end;
	struct pmc_record record;
	bool draining = false;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	for (;;) {
		err = pmc_sampler_set_next_wait(set, &record, NULL, 100);
		if (err == 0) {
			handle(&record);
		} else if (err == -EPROTO) {
			fprintf(stderr, "sched_switch: a record that cannot be understood\n");
		} else if (err == -EAGAIN && draining) {
			return 0;
		} else if (err == -EAGAIN) {
			/* Nothing to do: flush the output. */
			if (fflush(stdout))
				return -EIO;
		} else if (err != -EINTR) {
			return err;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (seconds > 0 && (now.tv_sec > end.tv_sec ||
				    (now.tv_sec == end.tv_sec && now.tv_nsec > end.tv_nsec)))
			stopped = 1;
		if (stopped && !draining)
			for (long i = 0; i < n; i++)
				if (rings[i].counter)
					pmc_counter_disable(rings[i].counter);
		draining = stopped;
	}
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct ring *rings = calloc((size_t)cpus, sizeof(*rings));
	/* SA_RESTART: a write is completed; poll(2) ends with EINTR all the same. */
	struct sigaction on_stop = { .sa_handler = stop, .sa_flags = SA_RESTART };
	struct pmc_sampler_set *set = NULL;
	struct pmc_counter_event event;
	struct pmc_failure why;
	unsigned pages = 128;
	long only = -1;
	double seconds = 0;
	int c, err;

	while ((c = getopt(argc, argv, "c:d:m:")) != -1) {
		if (c == 'c')
			only = atol(optarg);
		else if (c == 'd')
			seconds = atof(optarg);
		else if (c == 'm')
			pages = (unsigned)atoi(optarg);
		else
			break;
	}
	if (c != -1 || optind < argc) {
		fprintf(stderr, "usage: sched_switch [-c CPU] [-d SECONDS] [-m PAGES]\n");
		free(rings);
		return 2;
	}
	sigaction(SIGINT, &on_stop, NULL);
	sigaction(SIGTERM, &on_stop, NULL);
	err = rings ? 0 : -ENOMEM;
	if (!err && pmc_counter_event_tracepoint(&event, "sched", "sched_switch", &why))
		err = fail(&why);
	if (!err)
		err = read_format();
	if (!err)
		err = pmc_sampler_set_new(&set, 0);
	for (int cpu = 0; !err && cpu < cpus; cpu++) {
		if (only >= 0 && cpu != only)
			continue;
		err = open_ring(&rings[cpu], &event, cpu, pages);
		if (!err)
			err = pmc_sampler_set_add(set, rings[cpu].sampler);
		else if (err == -ENODEV)
			err = 0;
	}
	/* All are open before the first is enabled. */
	for (long i = 0; !err && i < cpus; i++)
		if (rings[i].counter)
			err = pmc_counter_enable(rings[i].counter);
	if (!err) {
		err = copy(set, rings, cpus, seconds);
		if (!err)
			err = sum_up(rings, cpus);
		if (err)
			fprintf(stderr, "sched_switch: %s\n", strerror(-err));
	}
	if ((fflush(stdout) || ferror(stdout)) && !err) {
		fprintf(stderr, "sched_switch: what was printed could not be written\n");
		err = -EIO;
	}
	pmc_sampler_set_free(set);
	for (long i = 0; rings && i < cpus; i++) {
		pmc_sampler_close(rings[i].sampler);
		pmc_counter_close(rings[i].counter);
	}
	free(rings);
	return err ? 1 : 0;
}
