/* SPDX-License-Identifier: MIT */
/* test_mac_run.c - parts of pmctl run for macOS that do not call it: Mach-O files, spawn, usage. */
#include "lib/count/thread_counts.h"
#include "tools/cli/mac_usage.h"
#include "tools/cli/pmctl.h"
#include "tools/run/program.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- made-up Mach-O files ----------------------------------------------------------------- */
struct bytes {
	uint8_t at[4096];
	size_t n;
};

static void le(struct bytes *to, uint32_t word)
{
	memcpy(to->at + to->n, &word, 4);
	to->n += 4;
}

static void be(struct bytes *to, uint32_t word)
{
	le(to, __builtin_bswap32(word));
}

static void text(struct bytes *to, const char *what, size_t room)
{
	memset(to->at + to->n, 0, room);
	memcpy(to->at + to->n, what, strlen(what) < room ? strlen(what) : room);
	to->n += room;
}

enum { X86 = 0x01000007, ARM = 0x0100000c };

struct shape {
	uint32_t cpu, subtype;
	bool static_, restricted, platform;
	uint32_t flags;
	const char *entitlements; /* inside of <dict> */
	bool is_signed;
};

static void put_code_directory(struct bytes *to, const struct shape *shape)
{
	be(to, 0xfade0c02);
	be(to, 44);
	be(to, 0x20400);
	be(to, shape->flags);
	for (int i = 0; i < 5; i++)
		be(to, 0);
	be(to, shape->platform ? 0x20020d0c : 0x2002000c);
	be(to, 0);
}

static void put_slice(struct bytes *to, const struct shape *shape)
{
	const size_t start = to->n;
	const char *plist = shape->entitlements ? shape->entitlements : "";
	size_t commands, size_at, place;

	le(to, 0xfeedfacf);
	le(to, shape->cpu);
	le(to, shape->subtype);
	le(to, 2);
	le(to, 1 + !shape->static_ + shape->restricted);
	size_at = to->n;
	for (int i = 0; i < 3; i++)
		le(to, 0);
	commands = to->n;
	if (!shape->static_) {
		le(to, 0xe);
		le(to, 32);
		le(to, 12);
		text(to, "/usr/lib/dyld", 20);
	}
	if (shape->restricted) {
		le(to, 0x19);
		le(to, 72 + 80);
		text(to, "__RESTRICT", 16);
		text(to, "", 40);
		le(to, 1);
		le(to, 0);
		text(to, "__restrict", 16);
		text(to, "__RESTRICT", 16);
		text(to, "", 48);
	}
	le(to, shape->is_signed ? 0x1d : 0x1b);
	le(to, 16);
	place = to->n;
	le(to, 0);
	le(to, 0);
	*(uint32_t *)(void *)(to->at + size_at) = (uint32_t)(to->n - commands);
	if (!shape->is_signed)
		return;
	*(uint32_t *)(void *)(to->at + place) = (uint32_t)(to->n - start);
	*(uint32_t *)(void *)(to->at + place + 4) = (uint32_t)(28 + 44 + 8 + strlen(plist));
	be(to, 0xfade0cc0);
	be(to, (uint32_t)(28 + 44 + 8 + strlen(plist)));
	be(to, 2);
	be(to, 0);
	be(to, 28);
	be(to, 5);
	be(to, 28 + 44);
	put_code_directory(to, shape);
	be(to, 0xfade7171);
	be(to, (uint32_t)(8 + strlen(plist)));
	text(to, plist, strlen(plist));
	while (to->n % 4)
		to->at[to->n++] = 0;
}

/* One shape as a plain file, several as a fat one. */
static void put_file(struct bytes *to, const struct shape *shapes, unsigned n, bool wide)
{
	to->n = 0;
	if (n == 1 && !wide) {
		put_slice(to, shapes);
		return;
	}
	be(to, wide ? 0xcafebabf : 0xcafebabe);
	be(to, n);
	to->n += n * (wide ? 32u : 20u);
	for (unsigned i = 0; i < n; i++) {
		struct bytes row = { .n = 0 };
		size_t from = to->n;

		put_slice(to, &shapes[i]);
		be(&row, shapes[i].cpu);
		be(&row, shapes[i].subtype);
		if (wide)
			be(&row, 0);
		be(&row, (uint32_t)from);
		if (wide)
			be(&row, 0);
		be(&row, (uint32_t)(to->n - from));
		memcpy(to->at + 8 + i * (wide ? 32u : 20u), row.at, row.n);
	}
}

static struct bytes file;
static struct macho_facts agent;

#define ENTITLED(name) "<key>com.apple.security.cs." name "</key>\n\t<true/>"
#define VARIABLES      ENTITLED("allow-dyld-environment-variables")
#define LIBRARIES      ENTITLED("disable-library-validation")

static enum program_kind judge_at(const struct shape *shapes, unsigned n, const char *path)
{
	const struct macho_place place = { .path = path, .apple_silicon = true };
	struct macho_facts facts;

	put_file(&file, shapes, n, false);
	assert_int_equal(macho_read(file.at, file.n, &facts), 0);
	return macho_judge(&facts, &agent, &place);
}

static enum program_kind judge(struct shape shape)
{
	shape.cpu = ARM;
	return judge_at(&shape, 1, "/Users/me/app");
}

static int set_up(void **state)
{
	const struct shape shapes[] = { { .cpu = ARM }, { .cpu = X86, .subtype = 3 } };

	put_file(&file, shapes, 2, false);
	return macho_read(file.at, file.n, &agent);
}

static void signatures_decide(void **state)
{
	assert_int_equal(judge((struct shape){ 0 }), PROGRAM_OK);
	assert_int_equal(judge((struct shape){ .static_ = true }), PROGRAM_STATIC);
	assert_int_equal(judge((struct shape){ .restricted = true }), PROGRAM_HARDENED);
	/* Signed by the linker: CS_ADHOC, CS_LINKER_SIGNED. */
	assert_int_equal(judge((struct shape){ .is_signed = true, .flags = 0x20002 }), PROGRAM_OK);
	assert_int_equal(judge((struct shape){ .is_signed = true, .platform = true }),
			 PROGRAM_PROTECTED);
	assert_int_equal(judge((struct shape){ .is_signed = true, .flags = MACHO_CS_RESTRICT }),
			 PROGRAM_HARDENED);
	assert_int_equal(judge((struct shape){ .is_signed = true, .flags = MACHO_CS_VALIDATION }),
			 PROGRAM_VALIDATED);
}

static enum program_kind hardened(const char *entitlements)
{
	return judge((struct shape){
		.is_signed = true, .flags = MACHO_CS_RUNTIME, .entitlements = entitlements });
}

static void entitlements_decide(void **state)
{
	assert_int_equal(hardened(NULL), PROGRAM_HARDENED);
	assert_int_equal(hardened(LIBRARIES), PROGRAM_HARDENED);
	assert_int_equal(hardened(VARIABLES), PROGRAM_VALIDATED);
	assert_int_equal(hardened(VARIABLES LIBRARIES), PROGRAM_OK);
	assert_int_equal(hardened("<key>com.apple.security.cs.allow-dyld-environment-variables"
				  "</key><false/>" LIBRARIES),
			 PROGRAM_HARDENED);
}

static void places_decide(void **state)
{
	static const struct {
		const char *path;
		enum program_kind kind;
	} cases[] = {
		{ "/bin/ls", PROGRAM_PROTECTED },
		{ "/usr/bin/env", PROGRAM_PROTECTED },
		{ "/usr/libexec/x", PROGRAM_PROTECTED },
		{ "/sbin/mount", PROGRAM_PROTECTED },
		{ "/System/Applications/Chess.app/Contents/MacOS/Chess", PROGRAM_PROTECTED },
		{ "/System/Volumes/Data/app", PROGRAM_OK },
		{ "/usr/local/bin/app", PROGRAM_OK },
		{ "/opt/homebrew/bin/python3", PROGRAM_OK },
		{ "/binary", PROGRAM_OK },
	};
	const struct shape plain = { .cpu = ARM };
	struct macho_place place = { .path = "/app", .apple_silicon = true, .sip_flag = true };
	struct macho_facts facts;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(judge_at(&plain, 1, cases[i].path), cases[i].kind);
	macho_read(file.at, file.n, &facts);
	assert_int_equal(macho_judge(&facts, &agent, &place), PROGRAM_PROTECTED);
	place.gains_rights = true;
	assert_int_equal(macho_judge(&facts, &agent, &place), PROGRAM_SECURE);
}

static void slices_decide(void **state)
{
	const struct shape arm64e = { .cpu = ARM, .subtype = 0x80000002 };
	const struct shape both[] = { arm64e, { .cpu = ARM } };
	const struct shape translated[] = { { .cpu = X86, .subtype = 3 }, { .cpu = 18 } };
	const struct shape old[] = { arm64e, { .cpu = X86, .subtype = 3 } };
	struct macho_place intel = { .path = "/app" };
	struct macho_facts facts;

	assert_int_equal(judge_at(&arm64e, 1, "/app"), PROGRAM_ARM64E);
	assert_int_equal(judge_at(old, 2, "/app"), PROGRAM_ARM64E);
	assert_int_equal(judge_at(both, 2, "/app"), PROGRAM_OK);
	assert_int_equal(judge_at(translated, 2, "/app"), PROGRAM_OK);
	assert_int_equal(judge_at(translated + 1, 1, "/app"), PROGRAM_FOREIGN);
	put_file(&file, old, 2, true);
	assert_int_equal(macho_read(file.at, file.n, &facts), 0);
	assert_int_equal(macho_judge(&facts, &agent, &intel), PROGRAM_OK);
	put_file(&file, both, 2, true);
	assert_int_equal(macho_read(file.at, file.n, &facts), 0);
	assert_int_equal(macho_judge(&facts, &agent, &intel), PROGRAM_FOREIGN);
}

/* Each cut and each changed word of a file, in memory of exactly its size: the sanitizers and
 * valgrind see a read beyond it. */
static void damaged_files(void **state)
{
	const struct shape shapes[] = {
		{ .cpu = ARM,
		  .is_signed = true,
		  .restricted = true,
		  .flags = MACHO_CS_RUNTIME,
		  .entitlements = VARIABLES LIBRARIES },
		{ .cpu = X86 },
	};
	const struct macho_place place = { .path = "/app", .apple_silicon = true };
	static const uint32_t words[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffc };
	struct macho_facts facts;
	uint8_t *bytes;

	put_file(&file, shapes, 2, false);
	for (size_t n = 0; n <= file.n; n++) {
		bytes = malloc(n ? n : 1);
		memcpy(bytes, file.at, n);
		if (macho_read(bytes, n, &facts) == 0)
			macho_judge(&facts, &agent, &place);
		free(bytes);
	}
	bytes = malloc(file.n);
	for (size_t at = 0; at + 4 <= file.n; at += 4)
		for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			memcpy(bytes, file.at, file.n);
			memcpy(bytes + at, &words[i], 4);
			if (macho_read(bytes, file.n, &facts) == 0)
				macho_judge(&facts, &agent, &place);
		}
	free(bytes);
	assert_int_equal(macho_read((const uint8_t *)"#!/bin/sh\n", 10, &facts), -ENOEXEC);
	assert_int_equal(macho_read_file("/nonexistent", &facts), -ENOENT);
	assert_int_equal(macho_read_file("/proc/self/exe", &facts), -ENOEXEC);
	assert_int_equal(macho_read_file("/tmp", &facts), -ENOEXEC);
}

/* ---- spawn -------------------------------------------------------------------------------- */
static int status_of(const struct tool_spawn *spawn)
{
	int status;
	pid_t pid;

	assert_int_equal(tool_spawn(spawn, &pid), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void spawned_programs(void **state)
{
	char *shell[] = { (char *)"sh", (char *)"-c", NULL, NULL };
	char *none[] = { (char *)"no-such-program-here", NULL };
	char *environment[] = { (char *)"X=7", NULL };
	sigset_t mask;
	struct tool_spawn spawn = { .argv = shell, .mask = &mask };
	char got[8] = "";
	pid_t pid = 0;
	int pair[2], io[3] = { -1, -1, -1 };

	sigemptyset(&mask);
	shell[2] = (char *)"exit 5";
	assert_int_equal(WEXITSTATUS(status_of(&spawn)), 5);
	spawn.environment = environment;
	shell[2] = (char *)"exit $X";
	assert_int_equal(WEXITSTATUS(status_of(&spawn)), 7);
	assert_int_equal(pipe(pair), 0);
	io[1] = pair[1];
	spawn.io = io;
	spawn.path = "/bin/sh";
	shell[2] = (char *)"echo out";
	assert_int_equal(status_of(&spawn), 0);
	assert_int_equal(read(pair[0], got, sizeof(got)), 4);
	assert_string_equal(got, "out\n");
	close(pair[0]);
	close(pair[1]);
	spawn = (struct tool_spawn){ .argv = none, .mask = &mask };
	assert_int_equal(tool_spawn(&spawn, &pid), ENOENT);
	/* The group of its own, and the mask: a blocked signal does not end it. */
	sigaddset(&mask, SIGTERM);
	shell[2] = (char *)"kill -TERM 0; exit 3";
	spawn = (struct tool_spawn){ .argv = shell, .mask = &mask, .group = true };
	assert_int_equal(WEXITSTATUS(status_of(&spawn)), 3);
	sigemptyset(&mask);
	assert_int_equal(WTERMSIG(status_of(&spawn)), SIGTERM);
}

/* ---- usage -------------------------------------------------------------------------------- */
static struct {
	int error;
	bool translated;
	uint64_t words[37]; /* the size of version 4 */
} reply;

/* A call that fails leaves garbage. */
static int usage_of(pid_t pid, int version, struct pmc_mac_usage *to)
{
	assert_int_equal(version, 4);
	memset(to, 0xa5, sizeof(*to));
	if (!reply.error)
		memcpy(to, reply.words, sizeof(reply.words));
	return reply.error;
}

static void timebase(uint32_t *numer, uint32_t *denom)
{
	*numer = 125;
	*denom = reply.translated ? 0 : 3;
}

const struct pmc_mac_calls pmc_mac_system = { .process_usage = usage_of, .timebase = timebase };

static void usage_is_decoded(void **state)
{
	struct mac_usage usage;

	for (unsigned i = 0; i < sizeof(reply.words) / 8; i++)
		reply.words[i] = 1000 * (i + 1);
	assert_int_equal(mac_usage_read(1, &usage), 0);
	assert_int_equal(usage.user_ns, 3000 * 125 / 3);
	assert_int_equal(usage.system_ns, 4000 * 125 / 3);
	assert_int_equal(usage.resident_bytes, 9000);
	assert_int_equal(usage.peak_footprint_bytes, 31000);
	assert_true(usage.counted);
	assert_int_equal(usage.instructions, 32000);
	assert_int_equal(usage.cycles, 33000);
	reply.words[31] = reply.words[32] = 0;
	assert_int_equal(mac_usage_read(1, &usage), 0);
	assert_false(usage.counted);
	assert_true(usage.timed);
	reply.translated = true;
	assert_int_equal(mac_usage_read(1, &usage), 0);
	assert_false(usage.timed);
	reply.error = -ESRCH;
	assert_int_equal(mac_usage_read(1, &usage), -ESRCH);
	assert_false(usage.counted);
	assert_int_equal(usage.user_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signatures_decide), cmocka_unit_test(entitlements_decide),
		cmocka_unit_test(places_decide),     cmocka_unit_test(slices_decide),
		cmocka_unit_test(damaged_files),     cmocka_unit_test(spawned_programs),
		cmocka_unit_test(usage_is_decoded),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
