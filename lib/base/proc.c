/* SPDX-License-Identifier: MIT */
/* proc.c - parses files of /proc; see proc.h. */
#include "lib/base/proc.h"
#include "lib/base/number.h"

#include <string.h>

/* Fields of proc_pid_stat(5). The name may contain parentheses, spaces and line feeds. */
bool pmc_proc_stat(const char *text, struct pmc_proc_stat *stat)
{
	const char *name = strchr(text, '('), *at = strrchr(text, ')');
	uint64_t value = 0;
	size_t len;

	if (!name || !at || at < name || at[1] != ' ' || !at[2])
		return false;
	len = (size_t)(at - ++name);
	if (len >= sizeof(stat->name))
		len = sizeof(stat->name) - 1;
	memcpy(stat->name, name, len);
	stat->name[len] = '\0';
	stat->state = at[2];
	at += 3;
	for (unsigned field = 4; field <= 22; field++) {
		at += *at == ' ';
		/* Some are signed. */
		at += *at == '-';
		if (!pmc_number_take(&at, NULL, 10, &value))
			return false;
		if (field == 4)
			stat->parent = value;
		else if (field == 10)
			stat->minor_faults = value;
		else if (field == 11)
			stat->child_faults = value;
		else if (field == 12)
			stat->major_faults = value;
		else if (field == 14)
			stat->user_ticks = value;
		else if (field == 15)
			stat->system_ticks = value;
	}
	stat->start_ticks = value;
	return true;
}

const char *pmc_proc_field(const char *text, const char *key)
{
	const size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] && strchr(" \t:", line[len]))
			return line + len + strspn(line + len, " \t:");
	}
	return NULL;
}

bool pmc_proc_number(const char *text, const char *key, uint64_t *value)
{
	const char *at = pmc_proc_field(text, key);

	return at && pmc_number_take(&at, NULL, 10, value);
}

bool pmc_proc_last(const char *text, const char *key, uint64_t *value)
{
	const char *at = pmc_proc_field(text, key);
	bool found = false;

	for (; at && pmc_number_take(&at, NULL, 10, value); at += strspn(at, " \t"))
		found = true;
	return found;
}

bool pmc_proc_schedstat(const char *text, struct pmc_proc_sched *sched)
{
	return pmc_number_take(&text, NULL, 10, &sched->cpu_ns) && *text++ == ' ' &&
	       pmc_number_take(&text, NULL, 10, &sched->delay_ns) && *text++ == ' ' &&
	       pmc_number_take(&text, NULL, 10, &sched->slices);
}
