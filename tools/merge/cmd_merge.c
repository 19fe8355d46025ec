/* SPDX-License-Identifier: MIT */
/* cmd_merge.c - pmctl merge: combines dumps into one, losslessly and in canonical order. */
#include "lib/dump/output.h"
#include "tools/cli/flags.h"
#include "tools/cli/new_file.h"
#include "tools/cli/progress.h"
#include "tools/merge/merge.h"
#include "tools/report/report.h"
#include "tools/rows/packed.h"
#include "tools/rows/profile.h"
#include "tools/rows/zstd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define FLAG_OPTIONS struct merge_request

/* SIZE: bytes, or with K, M or G. Less than a megabyte holds too few frames to be worth a file. */
static int set_memory(void *to, const struct tool_args *args)
{
	static const char units[] = "KMG";
	struct merge_request *request = to;
	const char *end = args->value, *unit;
	uint64_t bytes;

	if (!pmc_number_take(&end, NULL, 10, &bytes))
		return tool_fail_value(args, "a size, such as 256M");
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if ((*end && (!unit || end[1])) || bytes > UINT32_MAX)
		return tool_fail_value(args, "a size, such as 256M");
	bytes <<= unit ? 10 * (unit - units + 1) : 0;
	if (bytes < 1 << 20 || bytes > SIZE_MAX / 2)
		return tool_fail_value(args, "a size of at least 1M");
	request->options.index_bytes = bytes;
	return 0;
}

static const char *const formats[] = { "dump", "parquet" };

const struct tool_flag cmd_merge_flags[] = {
	FLAG_OUTPUT(out, "output dump; - is standard output"),
	FLAG_WORD(0, "--to", "FORMAT", parquet, formats, "output"),
	FLAG_BOOL(0, "--compact", options.compact, "only the newest snapshot of each thread"),
	FLAG_BOOL(0, "--names", names, "add names of sampled functions from files here"),
	FLAG_CALL(0, "--memory", "SIZE", set_memory, "memory before temporary files are used"),
	FLAG_BOOL(0, "--strip-args", options.strip_args, "no command lines of processes"),
	OPERAND_LIST(files, n_files),
	FLAG_END,
};

/* The union as tables is an export of all dumps. */
static int write_tables(const struct merge_request *request)
{
	static const char *const first[] = { "export", "--to", "parquet", "-o", NULL, "--" };
	const unsigned n = sizeof(first) / sizeof(first[0]);
	char **argv;
	int code;

	if (request->options.compact || request->options.strip_args ||
	    request->options.index_bytes || request->names)
		return tool_fail(EXIT_USAGE, "--to parquet takes no flag but -o; "
					     "run pmctl merge first, then pmctl export");
	argv = tool_realloc(NULL, (n + request->n_files + 1) * sizeof(*argv));
	memcpy(argv, first, sizeof(first));
	argv[n - 2] = (char *)request->out;
	memcpy(argv + n, request->files, request->n_files * sizeof(*argv));
	argv[n + request->n_files] = NULL;
	code = cmd_export((int)(n + request->n_files), argv);
	free(argv);
	return code;
}

int merge_parse(int argc, char **argv, struct merge_request *request)
{
	int code = tool_args_parse(argc, argv, request);

	if (code)
		return code;
	if (!request->n_files)
		return tool_fail(EXIT_USAGE, "no dumps; %s merge FILE... -o OUT", tool_program);
	if (!request->out)
		return tool_fail(EXIT_USAGE, "no output; add -o OUT (- is standard output)");
	return EXIT_OK;
}

int merge_fail(const struct merge *merge, const char *what, const char *name, int error)
{
	const char *spill = merge_spill_trouble(merge);

	if (error == -ESTALE)
		return tool_fail(EXIT_FAIL, "cannot read an input: it was overwritten during the "
					    "merge; run the merge again");
	if (spill)
		return tool_fail(EXIT_FAIL,
				 "cannot use temporary files in %s: %s; "
				 "set TMPDIR to a directory with room",
				 spill, strerror(-error));
	return tool_fail(EXIT_FAIL, "cannot %s %s: %s", what, name, strerror(-error));
}

int merge_add_input(void *to, int fd, const char *name)
{
	struct merge *merge = to;
	struct merge_input seen;
	int error = merge_add_fd(merge, fd, &seen);

	/* A merge without what cannot be decompressed would lose it. */
	if (error == -PMC_NO_ZSTD) {
		tool_fail(EXIT_FAIL, "cannot read %s: it is compressed: %s", name, pmc_zstd_load());
		return INPUT_FATAL;
	}
	if (error && (merge_spill_trouble(merge) || error == -ESTALE || error == -ENOMEM)) {
		merge_fail(merge, "read", name, error);
		return INPUT_FATAL;
	}
	if (error)
		return error;
	if (!seen.good)
		return seen.bytes ? INPUT_FOREIGN : INPUT_EMPTY;
	if (seen.damaged)
		tool_warn("%s: %" PRIu64 " damaged frame%s skipped", name, seen.damaged,
			  seen.damaged == 1 ? "" : "s");
	return 0;
}

/* ---- the output, which gets its name when it is complete: readers never see a part of it, and an
 * input may be the output --------------------------------------------------------------------- */

static void on_truncated(int signal)
{
	static const char truncated[] =
		"pmctl merge: cannot read an input: it was truncated during the merge, or its disk "
		"failed; run the merge again\n";

	(void)signal;
	tool_new_files_remove();
	tool_progress_hide();
	(void)!write(STDERR_FILENO, truncated, sizeof(truncated) - 1);
	_exit(EXIT_FAIL);
}

void merge_output_signals(void)
{
	signal(SIGBUS, on_truncated);
	tool_new_files_handle();
}

/* Whether a process has the file open for writing: the kernel gives no lease of it then. What a
 * program would write to a file that has been replaced is lost. */
static bool is_written(int fd)
{
	const bool is_busy = fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;

	if (!is_busy)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	return is_busy;
}

/* Looks at an existing file. 1: output->fd is open to be written, 0: it is to be replaced, or
 * -errno; -ETXTBSY: a program is writing to it. */
static int look_at(struct merge_output *output)
{
	struct stat st;
	int fd, error;

	if (lstat(output->path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
		fd = open(output->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return -errno;
		error = pmc_dump_check(fd, &st);
		if (!error && is_written(fd))
			error = -ETXTBSY;
		close(fd);
		return error;
	}
	/* A pipe or device is written to directly. */
	output->fd = tool_open_text(output->path);
	if (output->fd < 0)
		return output->fd;
	/* Another file may have taken its name. */
	return fstat(output->fd, &st) == 0 && !S_ISREG(st.st_mode) ? 1 : -EINVAL;
}

int merge_output_open(struct merge_output *output, const char *path)
{
	int found = 1;

	*output = (struct merge_output){ .fd = -1, .path = path };
	merge_output_signals();
	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) {
		if (isatty(STDOUT_FILENO))
			return tool_fail(EXIT_FAIL,
					 "cannot write %s: a dump is binary; redirect it or name a "
					 "file",
					 path);
		output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		found = output->fd < 0 ? -errno : 1;
	} else {
		found = look_at(output);
	}
	if (found == 0)
		found = output->fd = tool_new_dump_open(path, &output->file);
	if (found >= 0)
		return 0;
	return tool_fail(EXIT_FAIL, "cannot write %s: %s", path,
			 found == -ETXTBSY ? "a program is writing to it, and would lose what it "
					     "writes later; name another file" :
					     tool_output_why(found));
}

/* Gives the temporary file the output's name. 0 or -errno. */
static int commit(struct merge_output *output)
{
	const int fd = output->fd;

	output->fd = -1;
	/* Some file systems report a full disk only when a descriptor is closed. */
	if (close(fd) < 0)
		return -errno;
	return output->file ? tool_new_file_name(output->file) : 0;
}

int merge_output_write(struct merge_output *output, struct merge *merge, int (*add)(int fd))
{
	int error = add ? merge_reload(merge, add) : 0;

	if (!error)
		error = merge_write(merge, output->fd);
	if (!error)
		error = commit(output);
	return error ? merge_fail(merge, "write",
				  strcmp(output->path, "-") ? output->path : "standard output",
				  error) :
		       0;
}

void merge_output_close(struct merge_output *output)
{
	tool_new_files_remove();
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
}

/* ---- the command --------------------------------------------------------------------------- */

/* Adds what files of this machine say about the addresses in stacks; which names are missing is
 * said on stderr. 0 or -errno. */
static int add_names(int fd)
{
	struct pmc_profile profile;
	const char *why;
	int error;

	pmc_profile_init(&profile, NULL);
	lseek(fd, 0, SEEK_SET);
	error = pmc_profile_add_fd(&profile, fd);
	if (!error) {
		pmc_profile_finish(&profile);
		why = report_keep_names(&profile, fd);
		if (why)
			tool_warn("names of functions are missing: %s", why);
	}
	pmc_profile_free(&profile);
	return error;
}

int cmd_merge(int argc, char **argv)
{
	struct merge_request request = { .n_files = 0 };
	struct merge_output output;
	struct merge *merge = NULL;
	int code = merge_parse(argc, argv, &request);

	if (code)
		return code;
	if (request.parquet)
		return write_tables(&request);
	code = merge_output_open(&output, request.out);
	if (!code) {
		merge = merge_new(&request.options);
		code = tool_inputs_read(request.files, request.n_files, merge_add_input, merge);
	}
	if (!code)
		code = merge_output_write(&output, merge, request.names ? add_names : NULL);
	merge_free(merge);
	merge_output_close(&output);
	return code;
}
