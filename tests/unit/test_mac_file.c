/* SPDX-License-Identifier: MIT */
/*
 * test_mac_file.c - the dump's descriptor on macOS, which runs here too: rows go into the dump and
 * nowhere else, whatever the program does with the number.
 */
#include "agent/output/output.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned notes[N_NOTES];

void __wrap_agent_note(enum agent_note note);
void __wrap_agent_note(enum agent_note note)
{
	notes[note]++;
}

void agent_process_frame(struct pmc_frame_buf *buf, uint64_t snapshot, enum pmc_ended how, int code)
{
}

/* Begins like a dump, which is looked at when the file is opened again. */
void __wrap_agent_process_header(void);
void __wrap_agent_process_header(void)
{
	const uint8_t frame[16] = { PMC_FRAME_MAGIC_0, PMC_FRAME_MAGIC_1, PMC_FRAME_MAGIC_2,
				    PMC_FRAME_MAGIC_3 };

	agent_file_append(frame, sizeof(frame));
}

static char dir[] = "/tmp/test_mac_file.XXXXXX", out[64], own[64];

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 250 + 1);                                                 \
	} while (0)

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

/* The number that has the file open, from `from` on; -1: none. */
static int number_of(const char *path, int from)
{
	struct stat want, st;

	CHECK(stat(path, &want) == 0);
	for (int fd = from; fd < 8192; fd++)
		if (fstat(fd, &st) == 0 && st.st_ino == want.st_ino && st.st_dev == want.st_dev)
			return fd;
	return -1;
}

/* The program closes the dump's number and has its own file there. */
static void take_number(void)
{
	int fd = number_of(out, 0), file;

	CHECK(fd >= 0);
	close(fd);
	file = open(own, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0 && dup2(file, fd) == fd);
	if (file != fd)
		close(file);
	CHECK(write(fd, "mine", 4) == 4);
}

static void number_is_taken(void)
{
	CHECK(agent_file_check() == 0);
	agent_file_append("one", 3);
	take_number();
	agent_file_append("two", 3);
	CHECK(size_of(own) == 4);
	CHECK(size_of(out) == 16 + 6);
	CHECK(notes[NOTE_FILE_REPLACED] == 1);
}

/* The dump that is opened again is a new file, which needs the header frames. */
static void number_and_name_are_taken(void)
{
	CHECK(agent_file_check() == 0);
	agent_file_append("one", 3);
	take_number();
	unlink(out);
	agent_file_append("two", 3);
	CHECK(size_of(own) == 4);
	CHECK(size_of(out) == 16 + 3);
}

static void number_is_high(void)
{
	const struct rlimit limit = { 256, 256 };

	setrlimit(RLIMIT_NOFILE, &limit);
	CHECK(agent_file_check() == 0);
	CHECK(number_of(out, 0) >= 128);
}

/* Without room above, and started with stderr closed. */
static void number_is_never_the_programs(void)
{
	const struct rlimit limit = { 4, 4 };

	setrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = 2; fd < 64; fd++)
		close(fd);
	CHECK(agent_file_check() == 0);
	agent_file_append("one", 3);
	CHECK(number_of(out, 0) == 3);
}

static void limit_is_not_above_the_numbers(void)
{
	CHECK(agent_file_check() == 0);
	take_number();
	agent.config.out_max = 2;
	CHECK(agent_file_takes_snapshot());
}

static void forked_after_the_number_is_taken(void)
{
	int fd;

	agent.out = "/nowhere/%p";
	CHECK(agent_file_check() == 0);
	fd = number_of(out, 0);
	take_number();
	agent_file_forked();
	CHECK(fcntl(fd, F_GETFD) >= 0);
}

static void run(void (*act)(void))
{
	int status;
	pid_t child;

	unlink(out);
	unlink(own);
	memset(notes, 0, sizeof(notes));
	agent.out = out;
	agent_file_path();
	child = fork();
	if (child == 0) {
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	/* The line of the check that failed, + 1, modulo 250. */
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(act)                                                                                  \
	static void test_##act(void **state)                                                       \
	{                                                                                          \
		(void)state;                                                                       \
		run(act);                                                                          \
	}
TEST(number_is_taken)
TEST(number_and_name_are_taken)
TEST(number_is_high)
TEST(number_is_never_the_programs)
TEST(limit_is_not_above_the_numbers)
TEST(forked_after_the_number_is_taken)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number_is_taken),
		cmocka_unit_test(test_number_and_name_are_taken),
		cmocka_unit_test(test_number_is_high),
		cmocka_unit_test(test_number_is_never_the_programs),
		cmocka_unit_test(test_limit_is_not_above_the_numbers),
		cmocka_unit_test(test_forked_after_the_number_is_taken),
	};
	int failed;

	if (!mkdtemp(dir))
		return 1;
	snprintf(out, sizeof(out), "%s/dump", dir);
	snprintf(own, sizeof(own), "%s/own", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(out);
	unlink(own);
	rmdir(dir);
	return failed;
}
