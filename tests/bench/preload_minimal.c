/* SPDX-License-Identifier: MIT */
/*
 * preload_minimal: lower bound for an agent with the same groups as pmcagent: an inherit group,
 * an exec group and a group per thread, of MINIMAL_EVENTS (0 to 4) software events. It opens them,
 * moves the descriptors to high numbers, enables, reads, writes one record and closes. It has no
 * bookkeeping and no names, and supports only threads that end by return. Cost of pmcagent above
 * this is its own overhead.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX    4
#define RECORD_BYTES  240
#define DESCRIPTOR_AT 4096

enum { OWN, THREADS, EXEC };

static int (*real_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int n_events = EVENTS_MAX, out = -1;
static const uint64_t kinds[EVENTS_MAX] = { PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
					    PERF_COUNT_SW_CONTEXT_SWITCHES,
					    PERF_COUNT_SW_CPU_MIGRATIONS };

struct start {
	void *(*routine)(void *);
	void *arg;
};

static void group_open(int fds[EVENTS_MAX], int kind)
{
	for (int i = 0; i < n_events; i++) {
		struct perf_event_attr attr;
		int fd;

		memset(&attr, 0, sizeof(attr));
		attr.size = sizeof(attr);
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = kinds[i];
		attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
				   PERF_FORMAT_TOTAL_TIME_RUNNING;
		attr.disabled = !i;
		attr.inherit = kind != OWN;
		attr.inherit_thread = kind == THREADS;
		attr.enable_on_exec = kind == EXEC && !i;
		fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, i ? fds[0] : -1,
				  PERF_FLAG_FD_CLOEXEC);
		fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_AT);
		close(fd);
	}
	if (n_events && kind != EXEC)
		ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
}

static void *begin(void *arg)
{
	struct start start = *(struct start *)arg;
	uint64_t record[RECORD_BYTES / 8] = { 0 };
	int fds[EVENTS_MAX];
	struct timespec cpu;
	void *result;

	free(arg);
	group_open(fds, OWN);
	result = start.routine(start.arg);
	if (n_events && read(fds[0], record, sizeof(record)) < 0)
		return result;
	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &cpu);
	record[20] = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	if (write(out, record, sizeof(record)) < 0)
		return result;
	for (int i = n_events; i--;)
		close(fds[i]);
	return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
		   void *arg)
{
	struct start *start = malloc(sizeof(*start));

	if (!start)
		return 11;
	*start = (struct start){ .routine = routine, .arg = arg };
	return real_create(thread, attr, begin, start);
}

__attribute__((constructor)) static void constructor(void)
{
	const char *events = getenv("MINIMAL_EVENTS");
	const char *file = getenv("MINIMAL_OUT");
	static int threads[EVENTS_MAX], exec[EVENTS_MAX], own[EVENTS_MAX];

	if (events)
		n_events = atoi(events) & 7;
	if (n_events > EVENTS_MAX)
		n_events = EVENTS_MAX;
	out = open(file ? file : "/dev/null", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	real_create = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
			       void *))dlsym(RTLD_NEXT, "pthread_create");
	group_open(own, OWN);
	group_open(threads, THREADS);
	group_open(exec, EXEC);
}
