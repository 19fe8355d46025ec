/* SPDX-License-Identifier: MIT */
/*
 * pmctl_mpi.c - pmctl-mpi: pmctl merge and report with the dumps shared out to the ranks of a job.
 *
 * Rank 0 lists the files; each rank merges a share of about the same bytes. Unions are then joined
 * in a tree: rank r sends its own to rank r - 2^k, where 2^k is the lowest bit of r. A union does
 * not depend on the order, so that of rank 0 has the same bytes as that of pmctl merge. What is
 * neither input nor output is in files without a name in TMPDIR: nothing is left of a rank that
 * dies.
 */
#include "lib/dump/frame.h"
#include "tools/cli/flags.h"
#include "tools/merge/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 16 << 20, TAG = 1 };

static int rank, ranks;

struct input {
	char *path;
	uint64_t bytes;
};

struct inputs {
	struct input *list;
	size_t n, room;
};

/* A rank fails alone: the others must not wait for it. */
static _Noreturn void give_up(int code)
{
	fflush(NULL);
	MPI_Abort(MPI_COMM_WORLD, code);
	_exit(code);
}

/* ---- the share of a rank ------------------------------------------------------------------- */

/* An input_reader that reads no more than the first frame's head. */
static int list_input(void *to, int fd, const char *name)
{
	struct inputs *inputs = to;
	uint8_t head[PMC_MAGIC_BYTES];
	struct stat st;
	char *path;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	n = pread(fd, head, sizeof(head), 0);
	if (!S_ISREG(st.st_mode)) {
		tool_fail(EXIT_FAIL, "cannot read %s: ranks share out files; write it to one first",
			  name);
		return INPUT_FATAL;
	}
	if (n < 0)
		return -errno;
	if (!pmc_is_dump(head, n))
		return n ? INPUT_FOREIGN : INPUT_EMPTY;
	inputs->list =
		tool_list_grow(inputs->list, inputs->n, &inputs->room, sizeof(*inputs->list));
	/* Ranks may have another working directory. */
	path = realpath(name, NULL);
	inputs->list[inputs->n++] =
		(struct input){ .path = path ? path : strdup(name), .bytes = (uint64_t)st.st_size };
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const struct input *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->path, y->path);
}

/* Open MPI gives a rank a terminal of its own, which alters binary output. */
static int check_output(const char *out)
{
	const bool is_stdout = out && (!strcmp(out, "-") || !strcmp(out, "/dev/stdout"));

	return is_stdout && isatty(STDOUT_FILENO) ?
		       tool_fail(EXIT_FAIL, "cannot write the dump to standard output: it is a "
					    "terminal, also under mpirun; name a file with -o") :
		       0;
}

/* The paths of rank 0, the largest file first, each with its NUL, in all ranks. 0, or the exit
 * code.
 */
static int share_list(const struct merge_request *request, char **text, uint64_t *bytes)
{
	struct inputs inputs = { .n = 0 };
	uint64_t head[2] = { 0, 0 }; /* exit code, bytes */
	char *to;

	if (!rank) {
		head[0] = (uint64_t)check_output(request->out);
		if (!head[0])
			head[0] = (uint64_t)tool_inputs_read(request->files, request->n_files,
							     list_input, &inputs);
		if (inputs.n)
			qsort(inputs.list, inputs.n, sizeof(*inputs.list), by_size);
		for (size_t i = 0; i < inputs.n; i++)
			head[1] += strlen(inputs.list[i].path) + 1;
	}
	MPI_Bcast(head, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	*bytes = head[1];
	*text = to = tool_realloc(NULL, head[1] + 1);
	for (size_t i = 0; i < inputs.n; i++)
		to = stpcpy(to, inputs.list[i].path) + 1;
	for (size_t at = 0; at < *bytes; at += CHUNK)
		MPI_Bcast(*text + at, (int)(*bytes - at < CHUNK ? *bytes - at : CHUNK), MPI_BYTE, 0,
			  MPI_COMM_WORLD);
	return (int)head[0];
}

/* A file that has been damaged since it was listed is a warning. Rank 0 could open it. */
static void add_input(struct merge *merge, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int problem;

	if (fd < 0)
		give_up(tool_fail(
			EXIT_FAIL,
			"rank %d cannot read %s, which rank 0 can: %s; put the dumps on a "
			"file system that all ranks share",
			rank, path, strerror(errno)));
	problem = merge_add_input(merge, fd, path);
	close(fd);
	if (problem == INPUT_FATAL)
		give_up(EXIT_FAIL);
	if (problem)
		tool_warn("left out: %s (%s)", path,
			  problem < 0 ? strerror(-problem) : "no valid frame");
}

/* Deals the inputs out, from the first rank to the last one and back: their sizes decrease. */
static void merge_share(struct merge *merge, const char *text, uint64_t bytes)
{
	int turn = 0;

	for (const char *path = text; path < text + bytes; path += strlen(path) + 1) {
		if (rank == (turn < ranks ? turn : 2 * ranks - 1 - turn))
			add_input(merge, path);
		turn = (turn + 1) % (2 * ranks);
	}
}

/* ---- joining ------------------------------------------------------------------------------- */

static int temporary(const struct merge *merge)
{
	const int fd = merge_temporary();

	if (fd < 0)
		give_up(merge_fail(merge, "create", "a temporary file in TMPDIR", fd));
	return fd;
}

static void send_union(struct merge *merge, int to, char *room)
{
	const int fd = temporary(merge), error = merge_write(merge, fd);
	uint64_t bytes = (uint64_t)lseek(fd, 0, SEEK_END);
	off_t at = 0;
	ssize_t n;

	if (error)
		give_up(merge_fail(merge, "write", "a temporary file in TMPDIR", error));
	MPI_Send(&bytes, 1, MPI_UINT64_T, to, TAG, MPI_COMM_WORLD);
	for (; bytes; bytes -= (uint64_t)n, at += n) {
		n = pread(fd, room, bytes < CHUNK ? bytes : CHUNK, at);
		if (n <= 0)
			give_up(merge_fail(merge, "read", "a temporary file in TMPDIR",
					   n ? -errno : -EIO));
		MPI_Send(room, (int)n, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
	}
	close(fd);
}

static void add_union(struct merge *merge, int from, char *room)
{
	const int fd = temporary(merge);
	struct merge_input seen;
	MPI_Status status;
	uint64_t bytes;
	int error, n;

	MPI_Recv(&bytes, 1, MPI_UINT64_T, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (; bytes; bytes -= (uint64_t)n) {
		MPI_Recv(room, CHUNK, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_BYTE, &n);
		for (ssize_t done = 0, wrote; done < n; done += wrote) {
			wrote = write(fd, room + done, (size_t)(n - done));
			if (wrote < 0)
				give_up(merge_fail(merge, "write", "a temporary file in TMPDIR",
						   -errno));
		}
	}
	lseek(fd, 0, SEEK_SET);
	error = merge_add_fd(merge, fd, &seen);
	if (error)
		give_up(merge_fail(merge, "read", "a temporary file in TMPDIR", error));
	close(fd);
}

/* True in rank 0, which has the union then. */
static bool join(struct merge *merge)
{
	char *room = tool_realloc(NULL, CHUNK);
	int bit = 1;

	for (; bit < ranks && !(rank & bit); bit <<= 1)
		if (rank + bit < ranks)
			add_union(merge, rank + bit, room);
	if (rank)
		send_union(merge, rank - bit, room);
	free(room);
	return !rank;
}

/* ---- commands ------------------------------------------------------------------------------ */

static int write_output(struct merge *merge, const char *path)
{
	struct merge_output output;
	int code = merge_output_open(&output, path);

	if (!code)
		code = merge_output_write(&output, merge, NULL);
	merge_output_close(&output);
	return code;
}

/* pmctl report of the union, with these flags. */
static int report(struct merge *merge, int argc, char **argv)
{
	const int fd = temporary(merge);
	int error = merge_write(merge, fd);

	if (error)
		return merge_fail(merge, "write", "a temporary file in TMPDIR", error);
	lseek(fd, 0, SEEK_SET);
	if (dup2(fd, STDIN_FILENO) < 0)
		return tool_fail(EXIT_FAIL, "%s", strerror(errno));
	close(fd);
	return cmd_report(argc, argv);
}

/* Takes the operands out of the flags of pmctl report, whose operand is then standard input. */
static int parse_report(int *argc, char **argv, struct merge_request *request)
{
	size_t room = 0;
	struct tool_args args;
	int kept = 1;

	tool_args_init(&args, *argc, argv);
	for (int at = args.at; tool_args_next(&args); at = args.at) {
		if (!args.row && args.flag)
			return tool_refuse_word(args.command, args.flag);
		if (args.flag) {
			while (at < args.at)
				argv[kept++] = argv[at++];
			continue;
		}
		request->files = tool_list_grow(request->files, request->n_files, &room,
						sizeof(*request->files));
		request->files[request->n_files++] = args.value;
	}
	if (!request->n_files)
		return tool_fail(EXIT_USAGE, "no dumps; pmctl-mpi report FILE|DIR...");
	argv[kept++] = (char *)"-";
	argv[kept] = NULL;
	*argc = kept;
	return 0;
}

static int help(void)
{
	puts("pmctl-mpi: merges or reports many dumps on the ranks of a job\n\n"
	     "Usage: mpirun [FLAGS] pmctl-mpi merge FILE|DIR... -o OUT\n"
	     "       mpirun [FLAGS] pmctl-mpi report FILE|DIR... [FLAGS]\n\n"
	     "Flags are those of pmctl: pmctl-mpi merge --help, pmctl-mpi report --help.\n\n"
	     "Examples:\n"
	     "  # One dump of all in a directory\n"
	     "  mpirun pmctl-mpi merge dumps -o all.pmc\n"
	     "  # A table with a row for each rank\n"
	     "  mpirun pmctl-mpi report --by rank dumps");
	return 0;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return !strcmp(word, a) || !strcmp(word, b);
}

static int run(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "--help";
	const bool merges = !strcmp(command, "merge"), reports = !strcmp(command, "report");
	struct merge_request request = { .n_files = 0 };
	char **words = calloc((size_t)argc + 2, sizeof(*words)), kept[1024];
	uint64_t bytes = 0;
	char *text = NULL;
	struct merge *merge;
	int n = argc - 1, code;

	/* Each rank would say it. */
	if (rank)
		tool_keep_errors(kept, sizeof(kept));
	if (is_one_of(command, "--help", "-h"))
		return rank ? 0 : help();
	if (is_one_of(command, "--version", "-V"))
		return rank ? 0 : puts("pmctl-mpi " PMC_VERSION) < 0;
	if (!merges && !reports)
		return tool_fail(EXIT_USAGE,
				 "unknown command '%.60s'; mpirun pmctl-mpi merge FILE|DIR... "
				 "-o OUT, or mpirun pmctl-mpi report FILE|DIR...",
				 command);
	tool_command_name = command;
	if (tool_args_scan(argc - 1, argv + 1)) {
		char *words_of_help[] = { (char *)"help", (char *)command, NULL };

		return rank ? 0 : cmd_help(2, words_of_help);
	}
	memcpy(words, argv + 1, (size_t)n * sizeof(*words));
	code = merges ? merge_parse(n, words, &request) : parse_report(&n, words, &request);
	if (!code && request.names)
		code = tool_fail(EXIT_USAGE, "--names reads files of one machine: run pmctl merge "
					     "--names on the result");
	if (!code && request.parquet)
		code = tool_fail(EXIT_USAGE, "--to: ranks write dumps: run pmctl export --to "
					     "parquet on the result");
	if (!code)
		code = share_list(&request, &text, &bytes);
	if (code)
		return code;
	tool_keep_errors(NULL, 0);
	merge = merge_new(&request.options);
	merge_share(merge, text, bytes);
	if (join(merge)) {
		code = merges ? write_output(merge, request.out) : report(merge, n, words);
		if (code)
			give_up(code);
	}
	merge_free(merge);
	return 0;
}

int main(int argc, char **argv)
{
	int code;

	tool_program = "pmctl-mpi";
	/* A terminal of a rank is not the user's. */
	setenv("NO_COLOR", "1", 1);
	MPI_Init(&argc, &argv);
	/* Its own handler of SIGBUS prints a backtrace where an input is truncated meanwhile. */
	merge_output_signals();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	code = run(argc, argv);
	if (fflush(stdout) != 0 && !code)
		code = tool_fail_write("to standard output", errno);
	MPI_Finalize();
	return code;
}
