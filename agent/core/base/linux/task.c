/* SPDX-License-Identifier: MIT */
/*
 * task.c - faults and switches of another thread of this process, from /proc; see clock.h.
 *
 * proc(5): fields 10 and 12 of task/TID/stat, and lines of task/TID/status. They are what
 * getrusage(RUSAGE_THREAD) would tell the thread itself.
 */
#include "agent/core/base/clock.h"
#include "agent/core/base/sys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

/* In room: what ends a process may run on a small signal stack. */
static void path_of(uint32_t tid, const char *name, char *room)
{
	unsigned digits = 1;

	for (uint32_t rest = tid; rest >= 10; rest /= 10)
		digits++;
	room = stpcpy(room, "/proc/self/task/");
	for (unsigned i = digits; i-- > 0; tid /= 10)
		room[i] = (char)('0' + tid % 10);
	room[digits] = '/';
	strcpy(room + digits + 1, name);
}

/* The whole file with a NUL, or false. */
static bool read_file(uint32_t tid, const char *name, char *room, size_t bytes)
{
	size_t len = 0;
	long fd, n = 0;

	path_of(tid, name, room);
	fd = pmc_sys4(SYS_openat, AT_FDCWD, room, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	while (len < bytes && (n = pmc_sys3(SYS_read, fd, room + len, bytes - len)) > 0)
		len += (size_t)n;
	pmc_sys1(SYS_close, fd);
	if (n != 0 || len == bytes)
		return false;
	room[len] = '\0';
	return true;
}

static bool number(const char **at, uint64_t *value)
{
	const char *digit = *at;

	*value = 0;
	for (; *digit >= '0' && *digit <= '9'; digit++)
		*value = *value * 10 + (uint64_t)(*digit - '0');
	if (digit == *at)
		return false;
	*at = digit;
	return true;
}

bool pmc_task_stat(const char *text, struct pmc_usage *usage)
{
	/* The name, field 2, may have anything in it, parentheses too. */
	const char *at = strrchr(text, ')');
	unsigned field = 2;

	for (; at && *at; at++) {
		if (*at != ' ')
			continue;
		field++;
		if (field != 10 && field != 12)
			continue;
		at++;
		if (!number(&at, field == 10 ? &usage->minor_faults : &usage->major_faults))
			return false;
		if (field == 12)
			return *at == ' ';
		at--;
	}
	return false;
}

/* The last number of the line that begins with key. */
static bool last_of(const char *text, const char *key, uint64_t *value)
{
	size_t len = strlen(key);
	bool found = false;

	while (strncmp(text, key, len) != 0) {
		text = strchr(text, '\n');
		if (!text)
			return false;
		text++;
	}
	for (text += len; *text && *text != '\n';)
		if (number(&text, value))
			found = true;
		else
			text++;
	return found;
}

bool pmc_task_status(const char *text, uint32_t tid, struct pmc_usage *usage)
{
	uint64_t inner;

	/* Where /proc is of another PID namespace its TIDs are not ours: NSpid has both (4.1). */
	return (!last_of(text, "NSpid:", &inner) || inner == tid) &&
	       last_of(text, "voluntary_ctxt_switches:", &usage->voluntary_switches) &&
	       last_of(text, "nonvoluntary_ctxt_switches:", &usage->involuntary_switches);
}

bool pmc_usage_of_task(uint32_t tid, char *room, size_t bytes, struct pmc_usage *usage)
{
	memset(usage, 0, sizeof(*usage));
	return read_file(tid, "status", room, bytes) && pmc_task_status(room, tid, usage) &&
	       read_file(tid, "stat", room, bytes) && pmc_task_stat(room, usage);
}
