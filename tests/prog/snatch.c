/* SPDX-License-Identifier: MIT */
/*
 * snatch.c - attacks pmctl, run as root, at one of its system calls: the process that it looks at
 * ends, loses its ID to another process, or becomes a setuid program.
 * prog-flags: -iquote . -Iinclude -std=gnu11
 *
 *	snatch DIR PMCTL CASE [ROUNDS SEED]
 *
 * In each round a child of another user plays a process with an agent: it forges a control block
 * with what an attacker would put there. pmctl is traced up to a system call, where the child takes
 * its action, and then left alone. Without ROUNDS there is a round for each system call that pmctl
 * makes, and one without an attack; else ROUNDS at random calls, with all cases in turn if CASE is
 * "all". Prints the number of rounds, of attacks that succeeded, and the exit status of pmctl
 * without an attack. Messages of the last pmctl are in DIR/errors.
 *
 * DIR is a directory of root; DIR/hold is a copy of this program with the setuid bit.
 */
#include "lib/live/control.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY	   65534
#define OUT_NUMBER 100 /* descriptor of the dump */
#define SECRET	   "the-secret-of-another-process"
#define SLOT_BYTES ((sizeof(struct slot) + 5 * 8 + 63) / 64 * 64)

enum action { DIE, REUSE, EXEC };
static const struct {
	const char *name;
	const char *arguments[4]; /* arguments of pmctl; PID stands for the process */
	enum action action;
} cases[] = {
	{ "dump-die", { "dump", "PID" }, DIE },
	{ "dump-reuse", { "dump", "PID" }, REUSE },
	{ "dump-exec", { "dump", "PID" }, EXEC },
	{ "signal-reuse", { "dump", "--signal", "PID" }, REUSE },
	{ "stop-die", { "ctl", "PID", "stop" }, DIE },
	{ "stop-reuse", { "ctl", "PID", "stop" }, REUSE },
	{ "stop-exec", { "ctl", "PID", "stop" }, EXEC },
	{ "reset-reuse", { "ctl", "PID", "reset" }, REUSE },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* All processes of a round are copies of this one, so this object has the same address in each. A
 * process that takes over an ID has the secret here, and 0. */
static struct {
	struct pmc_control control;
	struct registry registry;
	_Alignas(64) char slots[SLOT_BYTES];
	char text[64];
	struct sample_tables tables;
	struct sample_thread thread;
	struct sample_stack stacks[2];
	uint64_t words[1];
	volatile sig_atomic_t signals;
} mine;

static const char *dir;
static int last_status = -1; /* of an unattacked pmctl */

static void check(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "snatch: %s: %s\n", what, strerror(errno));
	exit(3);
}

static const char *in_dir(const char *name)
{
	static char path[2][4096];
	static unsigned at;

	at = !at;
	snprintf(path[at], sizeof(path[at]), "%s/%s", dir, name);
	return path[at];
}

static void on_signal(int signo)
{
	(void)signo;
	mine.signals = 1;
	/* pmctl does not wait for an answer in this state. */
	if (mine.control.magic)
		_exit(0);
}

/* ---- the process that pmctl reads ------------------------------------------------------------ */
static int open_group(uint64_t *id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	*id = 0;
	if (fd >= 0)
		ioctl(fd, PERF_EVENT_IOC_ID, id);
	return fd;
}

static void forge_registry(void)
{
	struct registry *registry = &mine.registry;
	struct slot *slot = (struct slot *)(void *)mine.slots;

	registry->slots = mine.slots;
	registry->slot_bytes = SLOT_BYTES;
	registry->set_words = 5;
	registry->n_groups = registry->n_fds = 1;
	registry->capacity = 1;
	registry->high = 1;
	slot->word = SLOT_LIVE;
	slot->tid = (uint32_t)getpid();
	slot->n_fds = 1;
	*set_fds(registry, slot->data) = open_group(set_ids(slot->data));
}

static size_t offset_of(const void *part)
{
	return (size_t)((const char *)part - (const char *)&mine);
}

/* A thread with an event and no samples, and a stack. */
static void forge_samples(void)
{
	struct sample_tables *tables = &mine.tables;

	mine.thread.fd = open_group(&mine.thread.id) + 1;
	mine.stacks[1].depth = 1;
	mine.stacks[1].ready = 1;
	mine.words[0] = (uint64_t)PMC_NO_MODULE << 48;
	tables->area = (char *)&mine;
	tables->at[AREA_THREADS] = offset_of(&mine.thread);
	for (unsigned part = AREA_MODULES; part <= AREA_STACKS; part++)
		tables->at[part] = offset_of(mine.stacks);
	tables->at[AREA_WORDS] = offset_of(mine.words);
	tables->at[AREA_COUNTS] = tables->at[AREA_SCRATCH] = tables->at[AREA_PARTS] =
		offset_of(mine.words + 1);
	tables->stacks = 2;
	tables->like.eventset = tables->creation = 1;
}

static void forge(void)
{
	struct pmc_control *control = &mine.control;

	forge_registry();
	forge_samples();
	strcpy(mine.text, "harmless");
	control->version = PMC_CONTROL_VERSION;
	control->bytes = sizeof(*control);
	control->state = PMC_CONTROL_ON;
	control->pid = getpid();
	control->identity[0] = 1;
	control->snapshot = 1;
	control->registry = (uint64_t)(uintptr_t)&mine.registry;
	control->samples = (uint64_t)(uintptr_t)&mine.tables;
	control->first[1] = 1;
	control->cmdline = (uint64_t)(uintptr_t)mine.text;
	control->dump_signal = SIGUSR1;
	strcpy(control->out, in_dir("vault/created"));
#ifdef PMC_CONTROL_OUT_MARK
	control->out_fd = OUT_NUMBER + 1;
#endif
	control->magic = PMC_CONTROL_MAGIC;
}

/* Opens its dump as the agent does. */
static void open_dump(void)
{
	int fd = open(in_dir("open/dump"), O_WRONLY | O_APPEND);

	check(fd >= 0 && dup3(fd, OUT_NUMBER, O_CLOEXEC) >= 0, "open/dump");
	close(fd);
}

static void act_as_target(int ready, int go)
{
	char byte = 1;

	open_dump();
	check(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0,
	      "setresuid");
	forge();
	check(write(ready, &byte, 1) == 1, "write");
	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	execl(in_dir("hold"), "hold", dir, NULL);
	_exit(1);
}

/* The setuid program: opens a file of root for appending, at the dump's number. */
static int hold(void)
{
	int fd = open(in_dir("vault/log"), O_WRONLY | O_APPEND);

	signal(SIGUSR1, on_signal);
	if (fd < 0 || geteuid() != 0 || dup2(fd, OUT_NUMBER) < 0)
		return 4;
	close(fd);
	puts("held");
	fflush(stdout);
	for (;;)
		pause();
}

/* ---- actions --------------------------------------------------------------------------------- */
static pid_t take_over(pid_t id)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&id,
		.set_tid_size = 1,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	while (pid == 0)
		pause();
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	check(waitpid(pid, NULL, 0) == pid, "waitpid");
}

/* The process that has the ID after the action; 0: none. */
static pid_t act(enum action action, pid_t target, int go, int held)
{
	char byte = 1;
	pid_t heir;

	if (action == EXEC) {
		check(write(go, &byte, 1) == 1, "write");
		check(read(held, &byte, 1) == 1, "the setuid program did not start");
		return target;
	}
	end(target);
	if (action == DIE)
		return 0;
	heir = take_over(target);
	check(heir == target, "clone3 with a chosen process ID");
	return heir;
}

/* Whether pmctl changed the process that has the ID now. */
static bool is_touched(pid_t pid)
{
	char memory[sizeof(mine)], path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY);
	check(fd >= 0 && pread(fd, memory, sizeof(memory), (off_t)(uintptr_t)&mine) ==
				 (ssize_t)sizeof(memory),
	      "memory of the heir");
	close(fd);
	return memcmp(memory, &mine, sizeof(mine)) != 0;
}

/* ---- traces that a successful attack leaves ----------------------------------------------------
 */
static bool contains(const char *name, const char *text)
{
	static char data[1 << 16];
	int fd = open(in_dir(name), O_RDONLY);
	ssize_t n = fd >= 0 ? read(fd, data, sizeof(data)) : 0;

	if (fd >= 0)
		close(fd);
	return n > 0 && memmem(data, (size_t)n, text, strlen(text));
}

static bool log_is_changed(void)
{
	struct stat st;

	check(stat(in_dir("vault/log"), &st) == 0, "vault/log");
	return st.st_size != sizeof(SECRET) - 1;
}

static void put(const char *name, const char *text, size_t len, uid_t owner)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	check(fd >= 0 && write(fd, text, len) == (ssize_t)len && fchown(fd, owner, owner) == 0,
	      name);
	close(fd);
}

static bool won(pid_t heir, enum action action, char *how, size_t cap)
{
	const char *what = NULL;

	if (access(in_dir("vault/created"), F_OK) == 0)
		what = "a file was created";
	else if (log_is_changed())
		what = "a file of root's was appended to";
	else if (contains("open/dump", SECRET))
		what = "memory of another process was copied";
	else if (action == REUSE && is_touched(heir))
		what = "another process was written to, or got the signal";
	else if (action == DIE && contains("errors", "pmctl") && !contains("errors", "has ended") &&
		 !contains("errors", "no such process"))
		what = "the message is not that the process has ended";
	snprintf(how, cap, "%s", what ? what : "");
	unlink(in_dir("vault/created"));
	return what;
}

/* ---- a round ------------------------------------------------------------------------------------
 */
static void run_pmctl(const char *pmctl, unsigned which, pid_t target, int go)
{
	char *argv[8] = { (char *)"pmctl" }, id[16], byte;
	int null = open("/dev/null", O_RDWR);
	int errors = open(in_dir("errors"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	snprintf(id, sizeof(id), "%d", target);
	for (unsigned i = 0; i < 4 && cases[which].arguments[i]; i++)
		argv[i + 1] = strcmp(cases[which].arguments[i], "PID") == 0 ?
				      id :
				      (char *)cases[which].arguments[i];
	dup2(null, 0);
	dup2(null, 1);
	dup2(errors, 2);
	if (chdir(in_dir("open")) == 0 && read(go, &byte, 1) == 1)
		execv(pmctl, argv);
	_exit(126);
}

/* Not a child of this process: pmctl waits for a sibling of the same program to call exec. */
static pid_t start_pmctl(const char *pmctl, unsigned which, pid_t target)
{
	char byte = 1;
	int go[2];
	pid_t pid;

	check(pipe2(go, O_CLOEXEC) == 0, "pipe");
	pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		run_pmctl(pmctl, which, target, go[0]);
	check(pid > 0 && ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_EXITKILL) == 0 &&
		      ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0,
	      "ptrace");
	check(write(go[1], &byte, 1) == 1, "write");
	close(go[0]);
	close(go[1]);
	return pid;
}

/* Lets pmctl run up to the start of its system call number `calls`; false: it ended before. */
static bool run_to(pid_t pid, unsigned calls)
{
	int status;

	for (unsigned stops = 0;; stops++) {
		check(waitpid(pid, &status, __WALL) == pid, "waitpid");
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			last_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
			return false;
		}
		/* Each system call stops twice. */
		if (stops > 2 * calls)
			return true;
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	}
}

static void run_to_end(pid_t pid)
{
	int status;

	do {
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		check(waitpid(pid, &status, __WALL) == pid, "waitpid");
	} while (!WIFEXITED(status) && !WIFSIGNALED(status));
}

/* False: pmctl makes fewer calls. */
static bool one_round(const char *pmctl, unsigned which, unsigned calls, unsigned *wins)
{
	const struct pmc_frame_head head = { .magic = { PMC_FRAME_MAGIC_0, PMC_FRAME_MAGIC_1,
							PMC_FRAME_MAGIC_2, PMC_FRAME_MAGIC_3 } };
	int ready[2], go[2];
	pid_t target, pid, heir;
	char byte, how[64];
	bool reached;

	put("open/dump", (const char *)&head, sizeof(head), NOBODY);
	check(pipe2(ready, 0) == 0 && pipe2(go, O_CLOEXEC) == 0, "pipe");
	target = fork();
	if (target == 0) {
		dup2(ready[1], STDOUT_FILENO);
		close(ready[0]);
		act_as_target(STDOUT_FILENO, go[0]);
	}
	close(ready[1]);
	check(read(ready[0], &byte, 1) == 1, "the process did not start");
	pid = start_pmctl(pmctl, which, target);
	reached = run_to(pid, calls);
	if (reached) {
		heir = act(cases[which].action, target, go[1], ready[0]);
		run_to_end(pid);
		if (won(heir, cases[which].action, how, sizeof(how))) {
			printf("%s at call %u: %s\n", cases[which].name, calls, how);
			++*wins;
		}
	} else {
		heir = target;
	}
	if (heir)
		end(heir);
	close(ready[0]);
	close(go[0]);
	close(go[1]);
	return reached;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 5 ? (unsigned)atoi(argv[4]) : 0, done = 0, wins = 0, which;
	unsigned most[CASES];

	dir = argc > 1 ? argv[1] : ".";
	if (strcmp(argv[0], "hold") == 0)
		return hold();
	check(argc > 3, "usage: snatch DIR PMCTL CASE [ROUNDS SEED]");
	mkdir(in_dir("vault"), 0700);
	mkdir(in_dir("open"), 0755);
	check(chown(in_dir("open"), NOBODY, NOBODY) == 0, "open");
	strcpy(mine.text, SECRET);
	signal(SIGUSR1, on_signal);
	put("vault/log", SECRET, sizeof(SECRET) - 1, 0);
	for (unsigned i = 0; i < CASES; i++)
		most[i] = 400;
	srand(argc > 5 ? (unsigned)atoi(argv[5]) : 0);
	for (which = 0; which < CASES && strcmp(cases[which].name, argv[3]) != 0; which++)
		;
	if (!rounds)
		while (one_round(argv[2], which % CASES, done, &wins))
			done++;
	for (; done < rounds; done++) {
		unsigned at = which < CASES ? which : done % CASES,
			 call = (unsigned)rand() % most[at];

		if (!one_round(argv[2], at, call, &wins))
			most[at] = call ? call : 1;
	}
	printf("%u rounds, %u won, exit status %d without an attack\n", done, wins, last_status);
	return wins != 0;
}
