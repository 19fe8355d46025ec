/* SPDX-License-Identifier: MIT */
/*
 * perf_map.c - names of code that was compiled at run time, from the file /tmp/perf-PID.map that
 * Java, Node.js, .NET, Python and others write: lines of "START SIZE NAME", in hexadecimal.
 */
#include "agent/core/base/file.h"
#include "tools/symbol/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool hexadecimal(const char **at, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(*at, &end, 16);
	if (errno || end == *at || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static bool add_line(struct symbols *symbols, struct symbol_table *table, char *line)
{
	const char *at = line;
	uint64_t start, size;

	line[strcspn(line, "\n")] = '\0';
	if (!hexadecimal(&at, &start) || !hexadecimal(&at, &size) || !*at || start + size < start)
		return true;
	if (!symbol_grow(&table->list, table->n, &table->room, sizeof(*table->list)))
		return false;
	/* Code that is compiled again is appended: the last line counts. */
	table->list[table->n] = (struct symbol_entry){ .start = start,
						       .end = start + size,
						       .raw = symbols_text(symbols, at),
						       .order = SIZE_MAX - table->n };
	return table->list[table->n++].raw != NULL;
}

enum symbol_status symbol_perf_map_read(struct symbols *symbols, struct symbol_module *module)
{
	/* Everybody can put a file of that name there. */
	int fd = pmc_file_open_regular(module->path, O_NOFOLLOW);
	struct stat st;
	FILE *file;
	char *line = NULL;
	size_t room = 0;

	if (fd < 0)
		return fd == -EINVAL ? SYMBOL_DIFFERS : SYMBOL_MISSING;
	if (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid())) {
		close(fd);
		return SYMBOL_DIFFERS;
	}
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return SYMBOL_BAD;
	}
	while (getline(&line, &room, file) > 0)
		if (!add_line(symbols, &module->table, line))
			break;
	free(line);
	fclose(file);
	symbol_table_sort(&module->table);
	return SYMBOL_OPEN;
}
