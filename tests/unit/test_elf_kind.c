/* SPDX-License-Identifier: MIT */
/* test_elf_kind.c - program_look() on programs compiled here and on damaged files. */
#include "tools/run/program.h"
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/pmc-elf-XXXXXX";
static struct elf_facts agent;
static struct program program;

static const char *at(const char *name)
{
	static char path[4][256];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

static void put_file(const char *name, const void *bytes, size_t len, mode_t mode)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
	assert_int_equal(chmod(at(name), mode), 0);
}

static void put_text(const char *name, const char *text)
{
	put_file(name, text, strlen(text), 0755);
}

static void look(const char *name, enum program_kind kind)
{
	elf_look(at(name), &agent, &program);
	if (program.kind != kind)
		fail_msg("%s is of kind %d, not %d", name, program.kind, kind);
	assert_true(
		(program_obstacle[kind] == NULL) ==
		(kind == PROGRAM_OK || kind == PROGRAM_NOT_FOUND || kind == PROGRAM_UNREADABLE));
}

static int set_up(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	put_text("m.c", "#include <stdio.h>\nint main(void) { return puts(\"m\") < 0; }\n");
	shell("cd %s && gcc -o dyn m.c && gcc -no-pie -o nopie m.c && gcc -static -o static m.c && "
	      "gcc -static-pie -o static-pie m.c && gcc -shared -fPIC -o agent.so m.c && "
	      "cp dyn 'has space'",
	      dir);
	return elf_read(at("agent.so"), &agent);
}

static int tear_down(void **state)
{
	shell("rm -rf %s", dir);
	return 0;
}

static void linked_in_every_way(void **state)
{
	look("dyn", PROGRAM_OK);
	assert_true(program.facts.dynamic);
	assert_int_equal(program.facts.libc, ELF_GLIBC);
	assert_false(program.facts.asan);
	look("nopie", PROGRAM_OK);
	look("has space", PROGRAM_OK);
	look("static", PROGRAM_STATIC);
	look("static-pie", PROGRAM_STATIC);
	shell("cp /lib64/ld-linux-x86-64.so.2 %s/ld-copy.so || cp /lib/ld-linux-*.so.1 "
	      "%s/ld-copy.so",
	      dir, dir);
	look("ld-copy.so", PROGRAM_OK);
}

static void another_libc(void **state)
{
	shell("cd %s && musl-gcc -o musl m.c && musl-gcc -static -o musl-static m.c && "
	      "musl-gcc -shared -fPIC -o musl-agent.so m.c",
	      dir);
	look("musl", PROGRAM_LIBC);
	assert_int_equal(program.facts.libc, ELF_MUSL);
	look("musl-static", PROGRAM_STATIC);
	struct elf_facts glibc_agent = agent;

	assert_int_equal(elf_read(at("musl-agent.so"), &agent), 0);
	assert_int_equal(agent.libc, ELF_MUSL);
	look("musl", PROGRAM_OK);
	look("dyn", PROGRAM_LIBC);
	agent = glibc_agent;
}

static void address_sanitizer(void **state)
{
	shell("cd %s && gcc -fsanitize=address -o asan m.c && "
	      "gcc -fsanitize=address -static-libasan -o asan-static m.c",
	      dir);
	look("asan", PROGRAM_OK);
	assert_true(program.facts.asan);
	/* A statically linked runtime does not depend on the order of libraries. */
	look("asan-static", PROGRAM_OK);
	assert_false(program.facts.asan);
}

static void another_architecture(void **state)
{
	unsigned char bytes[65536];
	int fd = open(at("dyn"), O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes));
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)bytes;

	close(fd);
	assert_true(n > (ssize_t)sizeof(*ehdr));
	ehdr->e_machine = ehdr->e_machine == EM_RISCV ? EM_S390 : EM_RISCV;
	put_file("foreign", bytes, (size_t)n, 0755);
	look("foreign", PROGRAM_FOREIGN);
}

static void scripts(void **state)
{
	char text[256];

	snprintf(text, sizeof(text), "#! \t%s arg\n", at("static"));
	put_text("script", text);
	look("script", PROGRAM_STATIC);
	assert_string_equal(program.path, at("script"));
	assert_string_equal(program.image, at("static"));
	snprintf(text, sizeof(text), "#!%s", at("script"));
	put_text("script-of-script", text);
	look("script-of-script", PROGRAM_STATIC);
	snprintf(text, sizeof(text), "#!%s\n", at("loop"));
	put_text("loop", text);
	look("loop", PROGRAM_UNREADABLE);
	put_text("no-interpreter", "#!/no/such/thing\n");
	look("no-interpreter", PROGRAM_UNREADABLE);
	put_text("empty-interpreter", "#!\n");
	look("empty-interpreter", PROGRAM_UNREADABLE);
	put_text("empty", "");
	look("empty", PROGRAM_UNREADABLE);
	put_text("text", "echo hello\n");
	look("text", PROGRAM_UNREADABLE);
}

static void secure(void **state)
{
	if (getuid() != 0)
		skip();
	/* setuid root has no effect if the user is root already. */
	shell("cd %s && cp dyn su && chown 0:0 su && chmod 4755 su", dir);
	look("su", PROGRAM_OK);
	shell("cd %s && cp dyn su2 && chown 65534:0 su2 && chmod 4755 su2", dir);
	look("su2", PROGRAM_SECURE);
	shell("cd %s && cp dyn sg && chown 0:65534 sg && chmod 2755 sg", dir);
	look("sg", PROGRAM_SECURE);
	shell("cd %s && cp dyn sg2 && chown 0:65534 sg2 && chmod 2745 sg2", dir);
	look("sg2", PROGRAM_OK);
}

static void in_path(void **state)
{
	char path[512], *old = strdup(getenv("PATH"));

	snprintf(path, sizeof(path), "/nonexistent:%s:/bin:/usr/bin", dir);
	setenv("PATH", path, 1);
	elf_look("static", &agent, &program);
	assert_int_equal(program.kind, PROGRAM_STATIC);
	assert_string_equal(program.path, at("static"));
	/* Directories and files without execute permission are skipped. */
	shell("mkdir %s/sub && mkdir %s/sub/static && chmod 755 %s/sub/static", dir, dir, dir);
	snprintf(path, sizeof(path), "%s/sub:%s", dir, dir);
	setenv("PATH", path, 1);
	elf_look("static", &agent, &program);
	assert_string_equal(program.path, at("static"));
	elf_look("no-such-command", &agent, &program);
	assert_int_equal(program.kind, PROGRAM_NOT_FOUND);
	elf_look("", &agent, &program);
	assert_int_equal(program.kind, PROGRAM_NOT_FOUND);
	setenv("PATH", old, 1);
	free(old);
}

/* Files truncated at every length and with flipped bits: no read outside the file (needs ASan). */
static void damaged(void **state)
{
	unsigned char bytes[65536], copy[65536];
	int fd = open(at("dyn"), O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes));
	unsigned seed = 1;
	struct elf_facts facts;

	close(fd);
	for (ssize_t len = 0; len < n; len += len < 1024 ? 7 : 509) {
		put_file("damaged", bytes, (size_t)len, 0755);
		elf_read(at("damaged"), &facts);
	}
	for (int i = 0; i < 1000; i++) {
		memcpy(copy, bytes, (size_t)n);
		for (int k = 0; k < 8; k++) {
			seed = seed * 1103515245 + 12345;
			/* The headers, which hold offsets and sizes. */
			copy[k % 2 ? seed % 1024 : (size_t)n - 1 - seed % 2048] =
				(unsigned char)(seed >> 16);
		}
		put_file("damaged", copy, (size_t)n, 0755);
		elf_read(at("damaged"), &facts);
	}
	assert_int_equal(elf_read(at("none"), &facts), -ENOENT);
	assert_int_equal(elf_read(dir, &facts), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linked_in_every_way),
		cmocka_unit_test(another_libc),
		cmocka_unit_test(address_sanitizer),
		cmocka_unit_test(another_architecture),
		cmocka_unit_test(scripts),
		cmocka_unit_test(secure),
		cmocka_unit_test(in_path),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
