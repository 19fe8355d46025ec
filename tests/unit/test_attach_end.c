/* SPDX-License-Identifier: MIT */
/* test_attach_end.c - a process that ends, calls exec, or loses its ID while it is read. */
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct attach target;

/* A forked child with this process ID, which only waits; -1: not permitted. */
static pid_t child_with_id(pid_t id)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = id ? (uint64_t)(uintptr_t)&id : 0,
		.set_tid_size = id != 0,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_reused_id_is_another_process(void **state)
{
	static uint64_t word = 1;
	uint64_t at = (uint64_t)(uintptr_t)&word, got = 0, two = 2;
	pid_t pid = child_with_id(0), again;
	struct attach heir;

	assert_true(pid > 0);
	assert_int_equal(attach_enter(&target, pid, true), 0);
	assert_int_equal(attach_write(&target, at, &two, sizeof(two)), 0);
	assert_int_equal(attach_read(&target, at, &got, sizeof(got)), 0);
	assert_int_equal(got, 2);
	assert_false(attach_has_ended(&target));
	end(pid);
	assert_true(attach_has_ended(&target));
	again = child_with_id(pid);
	if (again < 0) {
		attach_close(&target);
		print_message("# clone3 with a chosen process ID: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(attach_write(&target, at, &two, sizeof(two)), -ESRCH);
	assert_int_equal(attach_read(&target, at, &got, sizeof(got)), -ESRCH);
	assert_true(attach_has_ended(&target));
	assert_int_equal(attach_tasks_open(&target), EXIT_FAIL);
	attach_close(&target);
	/* The process that now has the ID was not written to. */
	assert_int_equal(attach_enter(&heir, again, false), 0);
	assert_int_equal(attach_read(&heir, at, &got, sizeof(got)), 0);
	assert_int_equal(got, 1);
	attach_close(&heir);
	end(again);
}

/* Memory that was opened before an exec is still that of the old program. */
static void memory_ends_at_exec(void **state)
{
	static uint64_t word = 1;
	uint64_t at = (uint64_t)(uintptr_t)&word, got = 0;
	int go[2], done[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)!read(go[0], &byte, 1);
		execlp("sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	close(done[1]);
	assert_int_equal(attach_enter(&target, pid, true), 0);
	assert_int_equal(attach_read(&target, at, &got, sizeof(got)), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	/* The child's end of the pipe closes at exec. */
	assert_int_equal(read(done[0], &byte, 1), 0);
	assert_int_equal(attach_read(&target, at, &got, sizeof(got)), -ESRCH);
	assert_int_equal(attach_write(&target, at, &got, sizeof(got)), -ESRCH);
	assert_false(attach_has_ended(&target));
	assert_int_equal(attach_no_memory(&target, -ESRCH), ATTACH_AGAIN);
	attach_close(&target);
	end(pid);
	close(go[0]);
	close(go[1]);
	close(done[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reused_id_is_another_process),
		cmocka_unit_test(memory_ends_at_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
