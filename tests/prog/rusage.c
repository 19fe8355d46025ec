/* SPDX-License-Identifier: MIT */
/*
 * rusage FILE CMD...: runs CMD and writes to FILE, as JSON, its resource usage from wait4 and the
 * count of an inherited task-clock event opened before CMD starts.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long long ns(struct timeval tv)
{
	return tv.tv_sec * 1000000000LL + tv.tv_usec * 1000LL;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr;
	unsigned long long counted = 0;
	struct rusage usage;
	int go[2], status, fd;
	pid_t pid;
	FILE *f;
	char c = 0;

	if (argc < 3 || pipe(go))
		return 2;
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(127);
		close(go[0]);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	close(go[0]);

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	attr.disabled = 1;
	attr.inherit = 1;
	attr.enable_on_exec = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (write(go[1], &c, 1) != 1)
		return 1;
	close(go[1]);

	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return 1;
	f = fopen(argv[1], "w");
	if (!f)
		return 1;
	fprintf(f, "{ \"exit\": %d, \"signal\": %d, \"core\": %s,\n",
		WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		WIFSIGNALED(status) && WCOREDUMP(status) ? "true" : "false");
	fprintf(f, "  \"user_ns\": %lld, \"sys_ns\": %lld, \"cpu_ns\": %lld,\n", ns(usage.ru_utime),
		ns(usage.ru_stime), ns(usage.ru_utime) + ns(usage.ru_stime));
	fprintf(f, "  \"max_rss_kib\": %ld, \"minor_faults\": %ld, \"major_faults\": %ld,\n",
		usage.ru_maxrss, usage.ru_minflt, usage.ru_majflt);
	fprintf(f, "  \"voluntary_switches\": %ld, \"involuntary_switches\": %ld,\n",
		usage.ru_nvcsw, usage.ru_nivcsw);
	if (fd >= 0 && read(fd, &counted, sizeof(counted)) == sizeof(counted))
		fprintf(f, "  \"task_clock_ns\": %llu }\n", counted);
	else
		fprintf(f, "  \"task_clock_ns\": null }\n");
	if (fclose(f))
		return 1;
	if (WIFSIGNALED(status)) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}
