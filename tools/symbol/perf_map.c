/* SPDX-License-Identifier: MIT */
/*
 * perf_map.c - names of code that was compiled at run time, from the file /tmp/perf-PID.map that
 * Java, Node.js, .NET, Python and others write: lines of "START SIZE NAME", in hexadecimal.
 */
#include "lib/base/file.h"
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

static enum symbol_status read_lines(struct symbols *symbols, struct symbol_table *table,
				     FILE *file)
{
	/* The program may write on while the file is read. */
	int64_t left = SYMBOL_PERF_MAP_MOST;
	char *line = NULL;
	size_t room = 0;
	bool fits = true;
	ssize_t n;

	while (fits && (n = getline(&line, &room, file)) > 0) {
		left -= n;
		fits = left >= 0 && add_line(symbols, table, line);
	}
	free(line);
	/* Without memory getline returns -1 and sets neither flag. */
	return fits && (feof(file) || ferror(file)) ? SYMBOL_OPEN : SYMBOL_TOO_LARGE;
}

enum symbol_status symbol_perf_map_read(struct symbols *symbols, struct symbol_module *module)
{
	/* Everybody can put a file of that name there. */
	int fd = pmc_file_open_regular(module->path, O_NOFOLLOW);
	enum symbol_status status = SYMBOL_BAD;
	struct stat st;
	FILE *file;

	if (fd < 0)
		return fd == -EINVAL ? SYMBOL_DIFFERS : SYMBOL_MISSING;
	if (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()))
		status = SYMBOL_DIFFERS;
	else if (st.st_size > SYMBOL_PERF_MAP_MOST)
		status = SYMBOL_TOO_LARGE;
	else if ((file = fdopen(fd, "r"))) {
		status = read_lines(symbols, &module->table, file);
		symbol_table_sort(&module->table);
		fclose(file);
		return status;
	}
	close(fd);
	return status;
}
