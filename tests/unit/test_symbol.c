/* SPDX-License-Identifier: MIT */
/*
 * test_symbol.c - functions and lines of addresses in programs compiled here: C, C++, inlined,
 * stripped, with separate debug files, of another build, in libraries.
 *
 * The programs print the address of a call in a known function, as the symbol table has it.
 */
#include "tools/symbol/symbol.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

static const char where_c[] = "#define _GNU_SOURCE\n"
			      "#include <dlfcn.h>\n#include <elf.h>\n#include <stdio.h>\n"
			      "__attribute__((noinline)) void where(const char *name) {\n"
			      "	char *at = __builtin_return_address(0); Dl_info info;\n"
			      "	dladdr(at, &info);\n"
			      "	Elf64_Ehdr *head = info.dli_fbase;\n"
			      "	printf(\"%s %lx\\n\", name, (unsigned long)at - 1 -\n"
			      "	       (head->e_type == ET_EXEC ? 0 : (unsigned long)head));\n"
			      "}\n";
static const char plain_c[] = "void where(const char *);\n"
			      "static inline __attribute__((always_inline)) void inner(int n) {\n"
			      "	if (n) where(\"inner\");\n" /* line 3 */
			      "	__asm__ volatile(\"\");\n"
			      "}\n"
			      "static inline __attribute__((always_inline)) void middle(int n) {\n"
			      "	inner(n + 1);\n" /* line 7 */
			      "}\n"
			      "__attribute__((noinline)) int outer(int n) {\n"
			      "	where(\"outer\");\n" /* line 10 */
			      "	middle(n);\n"	     /* line 11 */
			      "	return n + 1;\n"
			      "}\n";
static const char main_c[] =
	"int outer(int);\n"
	"int main(int argc, char **argv) { (void)argv; return outer(argc) < 0; }\n";
static const char cxx_cc[] =
	"extern \"C\" void where(const char *);\n"
	"namespace shop {\n"
	"template <typename T> struct Box { T value; __attribute__((noinline)) T twice(T x); };\n"
	"template <typename T> T Box<T>::twice(T x) { where(\"twice\"); return value + x; }\n"
	"}\n"
	"int main(int argc, char **) { return shop::Box<int>{1}.twice(argc) > 9; }\n";

/* A function of assembly code whose unwind rules begin anew in the middle. */
static const char twofold_c[] =
	"#include <elf.h>\n#include <stdio.h>\n"
	"int outer(int); void twofold(void); extern const char __ehdr_start[];\n"
	"#define HALF \".cfi_startproc\\n.fill 8, 4, 0\\n.cfi_endproc\\n\"\n"
	"__asm__(\".text\\n.globl twofold\\n.type twofold, %function\\ntwofold:\\n\"\n"
	"	HALF HALF \".size twofold, .-twofold\\n\");\n"
	"int main(int argc, char **argv) { (void)argv;\n"
	"	printf(\"twofold %lx\\n\", (unsigned long)((char *)twofold + 40 - __ehdr_start));\n"
	"	return outer(argc) < 0; }\n";

/* A label without a size, long before the next symbol. */
static const char label_c[] =
	"#include <elf.h>\n#include <stdio.h>\n"
	"extern const char label[], __ehdr_start[];\n"
	"__asm__(\".text\\n.globl label\\nlabel: .fill 65536\\n.globl next\\nnext: nop\\n\"\n"
	"	\".type sized, @function\\nsized:\\n.globl marker\\nmarker: nop\\nnop\\n.size "
	"sized, 2\\n\");\n"
	"int main(void) {\n"
	"	printf(\"label %lx\\n\", (unsigned long)(label - __ehdr_start)); return 0; }\n";

/* Calls into other modules, beside a function that is chosen at load time and a variable of each
 * thread: their relocations are among those of the calls. */
static const char calls_c[] =
	"double exp(double); double pow(double, double); int atoi(const char *);\n"
	"static int one(void) { return 1; }\n"
	"static int (*choose(void))(void) { return one; }\n"
	"static int chosen(void) __attribute__((ifunc(\"choose\")));\n"
	"__thread int each;\n"
	"int *mine(void) { return &each; }\n"
	"int main(int argc, char **argv) {\n"
	"	return (int)(exp(argc) + pow(argc, 3)) + atoi(argv[0]) + chosen() + *mine();\n"
	"}\n";

static char dir[] = "/tmp/pmc-symbol-XXXXXX";
static struct symbols *symbols;

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *format, ...)
{
	char command[2048];
	int at = snprintf(command, sizeof(command), "cd %s && ", dir);
	va_list args;

	va_start(args, format);
	vsnprintf(command + at, sizeof(command) - (size_t)at, format, args);
	va_end(args);
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

static void put_text(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The address that the program prints for a function. */
static uint64_t address_in(const char *program, const char *function)
{
	char command[256], name[64];
	unsigned long address, found = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "cd %s && LD_LIBRARY_PATH=. ./%s", dir, program);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fscanf(pipe, "%63s %lx", name, &address) == 2)
		if (!strcmp(name, function))
			found = address;
	assert_int_equal(pclose(pipe), 0);
	assert_true(found != 0);
	return found;
}

static unsigned hex_id(const char *name, uint8_t id[64])
{
	char command[256], hex[160] = "";
	unsigned n = 0, byte;
	FILE *pipe;

	snprintf(command, sizeof(command), "readelf -n %s/%s | sed -n 's/.*Build ID: *//p'", dir,
		 name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%159s", hex), 1);
	assert_int_equal(pclose(pipe), 0);
	for (; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
		id[n] = (uint8_t)byte;
	return n;
}

static struct symbol_module *module_of(const char *file, const char *id_of)
{
	uint8_t id[64];
	char path[128];
	struct symbol_module *module;
	unsigned n = id_of ? hex_id(id_of, id) : 0;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	module = symbols_module(symbols, path, id, n);
	assert_non_null(module);
	return module;
}

static void is_frame(const struct symbol_frame *frame, const char *function, const char *file,
		     unsigned line, bool inlined)
{
	const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;
	const char *base = slash ? slash + 1 : frame->file;

	if ((function && (!frame->function || strcmp(frame->function, function) != 0)) ||
	    (!function && frame->function) || (file && (!base || strcmp(base, file) != 0)) ||
	    (!file && base) || frame->line != line || frame->inlined != inlined)
		fail_msg("%s %s:%u%s, not %s %s:%u%s", frame->function, base, frame->line,
			 frame->inlined ? " inlined" : "", function, file, line,
			 inlined ? " inlined" : "");
}

static const struct symbol_place *place(struct symbol_module *module, uint64_t address)
{
	const struct symbol_place *at = symbols_at(symbols, module, address);

	assert_true(at == symbols_at(symbols, module, address));
	return at;
}

static int set_up(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	/* Files that users of this machine have must not be found. */
	setenv("XDG_CACHE_HOME", dir, 1);
	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("DEBUGINFOD_URLS");
	put_text("where.c", where_c);
	put_text("plain.c", plain_c);
	put_text("main.c", main_c);
	put_text("cxx.cc", cxx_cc);
	put_text("twofold.c", twofold_c);
	put_text("calls.c", calls_c);
	put_text("label.c", label_c);
	shell("gcc -g -O2 -c where.c plain.c main.c && "
	      "gcc -o pie where.o plain.o main.o -ldl && "
	      "gcc -Wl,--build-id=0x4d4d -o rebuilt where.o plain.o main.o -ldl && "
	      "gcc -no-pie -o nopie where.o plain.o main.o -ldl && "
	      "gcc -O2 -o nodebug where.c plain.c main.c -ldl && "
	      "gcc -g -O2 -o twofold where.c plain.c twofold.c -ldl && "
	      "gcc -O2 -o label label.c && "
	      "cp pie stripped && strip stripped && "
	      "gcc -g -O2 -fPIC -shared -o libplain.so where.c plain.c -ldl && "
	      "gcc -O2 -o uses main.c -L. -lplain && "
	      "g++ -g -O2 -o cxx cxx.cc where.o -ldl && "
	      "clang -g -O2 -o clang where.c plain.c main.c -ldl && "
	      "gcc -g -gsplit-dwarf -O2 -c plain.c -o split.o && "
	      "gcc -g -O2 -o split where.o split.o main.o -ldl");
	return 0;
}

static int tear_down(void **state)
{
	shell("rm -r %s", dir);
	return 0;
}

static int begin(void **state)
{
	symbols = symbols_new(NULL);
	return 0;
}

static int end(void **state)
{
	symbols_free(symbols);
	return 0;
}

static void is_plain_program(const char *name)
{
	struct symbol_module *module = module_of(name, name);
	const struct symbol_place *at = place(module, address_in(name, "outer"));
	const uint64_t start = at->start;

	assert_int_equal(at->n, 1);
	is_frame(&at->frames[0], "outer", "plain.c", 10, false);
	assert_true(start != 0 && start < address_in(name, "outer"));

	at = place(module, address_in(name, "inner"));
	assert_int_equal(at->n, 3);
	is_frame(&at->frames[0], "inner", "plain.c", 3, true);
	is_frame(&at->frames[1], "middle", "plain.c", 7, true);
	is_frame(&at->frames[2], "outer", "plain.c", 11, false);
	assert_true(at->start == start);
	assert_int_equal(symbols_status(symbols, module), SYMBOL_OPEN);
}

static void test_programs(void **state)
{
	static const char *const names[] = { "pie", "nopie", "clang", "split" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_plain_program(names[i]);
}

static void test_shared_library(void **state)
{
	struct symbol_module *module = module_of("libplain.so", "libplain.so");
	const struct symbol_place *at = place(module, address_in("uses", "inner"));

	assert_int_equal(at->n, 3);
	is_frame(&at->frames[2], "outer", "plain.c", 11, false);
}

static void test_cxx_names(void **state)
{
	struct symbol_module *module = module_of("cxx", "cxx");
	const struct symbol_place *at = place(module, address_in("cxx", "twice"));

	assert_int_equal(at->n, 1);
	is_frame(&at->frames[0], "shop::Box<int>::twice(int)", "cxx.cc", 4, false);
}

/* Without debug information the symbol table has the function, without inlined ones. */
static void test_symbol_table(void **state)
{
	struct symbol_module *module = module_of("nodebug", "nodebug");
	const struct symbol_place *at = place(module, address_in("nodebug", "inner"));

	assert_int_equal(at->n, 1);
	is_frame(&at->frames[0], "outer", NULL, 0, false);
}

/* Without DWARF: no lines, and no inlined functions. */
static void test_functions_only(void **state)
{
	struct symbol_module *module = module_of("twofold", "twofold");
	const uint64_t inner = address_in("twofold", "inner");

	symbols_functions_only(module);
	assert_int_equal(place(module, inner)->n, 1);
	is_frame(&place(module, inner)->frames[0], "outer", NULL, 0, false);
	is_frame(&place(module, address_in("twofold", "twofold"))->frames[0], "twofold", NULL, 0,
		 false);
}

/* Code far behind such a label is no part of it, and has no name. */
static void test_label(void **state)
{
	struct symbol_module *module = module_of("label", "label");
	const uint64_t label = address_in("label", "label");

	is_frame(&place(module, label + 1000)->frames[0], "label", NULL, 0, false);
	assert_true(place(module, label + 1000)->start == label);
	is_frame(&place(module, label + 60000)->frames[0], NULL, NULL, 0, false);
	assert_true(place(module, label + 60000)->start == 0);
	is_frame(&place(module, label + 65536)->frames[0], "next", NULL, 0, false);
	/* A function with a size goes before a label at its start, even a global one. */
	is_frame(&place(module, label + 65537)->frames[0], "sized", NULL, 0, false);
}

static void test_stripped(void **state)
{
	struct symbol_module *module = module_of("stripped", "stripped");
	const uint64_t address = address_in("stripped", "inner");

	is_frame(&place(module, address)->frames[0], NULL, NULL, 0, false);
	assert_int_equal(place(module, address)->n, 1);
	assert_int_equal(symbols_status(symbols, module), SYMBOL_OPEN);
	/* The function has no name, but a start. */
	assert_true(place(module, address)->start ==
		    place(module_of("pie", "pie"), address)->start);
	/* Addresses outside every function. */
	is_frame(&place(module_of("pie", "pie"), UINT64_MAX)->frames[0], NULL, NULL, 0, false);
	is_frame(&place(module_of("pie", "pie"), 0)->frames[0], NULL, NULL, 0, false);
}

/* Each stub of a call as objdump names it, from its first to its last byte. each@plt is none: there
 * objdump goes by the order of relocations. */
static void test_stubs(void **state)
{
	static const char *const made_by[][2] = {
#ifdef __x86_64__
		{ "gcc -Wl,-z,lazy -fcf-protection=none", "objdump" },
		{ "gcc -no-pie -fcf-protection=full -Wl,-z,ibtplt", "objdump" },
		{ "gcc -shared -fPIC -Wl,-z,lazy -mtls-dialect=gnu2", "objdump" },
#endif
		{ "gcc -Wl,-z,now", "objdump" },
		{ "clang -fuse-ld=lld", "objdump" },
		{ "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump" },
		{ "aarch64-linux-gnu-gcc -Wl,-z,pac-plt", "aarch64-linux-gnu-objdump" },
		{ "aarch64-linux-gnu-gcc -Wl,-z,force-bti", "aarch64-linux-gnu-objdump" },
		{ "aarch64-linux-gnu-gcc -shared -fPIC", "aarch64-linux-gnu-objdump" },
	};
	char command[256], name[64], file[16];

	for (unsigned i = 0; i < sizeof(made_by) / sizeof(made_by[0]); i++) {
		unsigned long start;
		unsigned n = 0;
		FILE *pipe;

		snprintf(file, sizeof(file), "calls-%u", i);
		shell("%s -s -fno-builtin -O2 -o %s calls.c -lm", made_by[i][0], file);
		snprintf(command, sizeof(command),
			 "%s -d %s/%s | sed -n '/each@/d; s/^\\([0-9a-f]*\\) "
			 "<\\([a-z]*@plt\\)>:$/\\1 \\2/p'",
			 made_by[i][1], dir, file);
		pipe = popen(command, "r");
		assert_non_null(pipe);
		while (fscanf(pipe, "%lx %63s", &start, name) == 2) {
			is_frame(&place(module_of(file, NULL), start)->frames[0], name, NULL, 0,
				 false);
			is_frame(&place(module_of(file, NULL), start + 15)->frames[0], name, NULL,
				 0, false);
			n += !strcmp(name, "exp@plt") || !strcmp(name, "pow@plt");
		}
		assert_int_equal(pclose(pipe), 0);
		assert_int_equal(n, 2);
	}
}

/* Separate debug files: each way in its own directory, with a stripped program. */
static void finds_debug_file(const char *name)
{
	struct symbols *kept = symbols;
	char path[64];

	symbols = symbols_new(NULL);
	snprintf(path, sizeof(path), "%s/stripped", name);
	assert_int_equal(place(module_of(path, "stripped"), address_in("pie", "inner"))->n, 3);
	symbols_free(symbols);
	symbols = kept;
}

static void test_debug_link(void **state)
{
	shell("mkdir -p beside hidden/.debug && objcopy --only-keep-debug pie beside/pie.debug && "
	      "cp beside/pie.debug hidden/.debug/ && "
	      "cd beside && objcopy --add-gnu-debuglink=pie.debug ../stripped stripped && "
	      "cp stripped ../hidden/");
	finds_debug_file("beside");
	finds_debug_file("hidden");
}

/* A debug file of another build is not used, nor one that is no regular file, which is not even
 * opened: paths of other users' programs can name devices. */
static void test_wrong_debug_link(void **state)
{
	struct inotify_event event;
	int opens = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char fifo[128];

	shell("mkdir wrong pipe && cd wrong && objcopy --only-keep-debug ../rebuilt pie.debug && "
	      "objcopy --add-gnu-debuglink=pie.debug ../stripped stripped && "
	      "cp stripped ../pipe/ && mkfifo ../pipe/pie.debug");
	assert_int_equal(
		place(module_of("wrong/stripped", "stripped"), address_in("pie", "inner"))->n, 1);
	snprintf(fifo, sizeof(fifo), "%s/pipe/pie.debug", dir);
	assert_true(inotify_add_watch(opens, fifo, IN_OPEN) >= 0);
	assert_int_equal(
		place(module_of("pipe/stripped", "stripped"), address_in("pie", "inner"))->n, 1);
	place(module_of("pipe/pie.debug", "stripped"), 0);
	assert_int_equal(read(opens, &event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	close(opens);
}

static void test_debuginfod_cache(void **state)
{
	uint8_t id[64];
	char hex[129];
	unsigned n = hex_id("pie", id);

	for (unsigned i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	shell("mkdir -p debuginfod_client/%s && "
	      "objcopy --only-keep-debug pie debuginfod_client/%s/debuginfo && "
	      "mkdir cached && cp stripped cached",
	      hex, hex);
	finds_debug_file("cached");
	/* The debug file serves without the program, too. */
	finds_debug_file("absent");
	shell("rm -r debuginfod_client");
}

static void test_root(void **state)
{
	char root[64];
	uint8_t id[64];
	unsigned n = hex_id("pie", id);
	struct symbols *kept = symbols;

	shell("mkdir -p root/opt && cp pie root/opt/program");
	snprintf(root, sizeof(root), "%s/root", dir);
	symbols = symbols_new(root);
	assert_int_equal(
		place(symbols_module(symbols, "/opt/program", id, n), address_in("pie", "inner"))
			->n,
		3);
	symbols_free(symbols);
	symbols = kept;
}

static void test_other_build(void **state)
{
	struct symbol_module *module = module_of("nopie", "pie");

	is_frame(&place(module, address_in("nopie", "outer"))->frames[0], NULL, NULL, 0, false);
	assert_int_equal(symbols_status(symbols, module), SYMBOL_DIFFERS);
	assert_int_equal(symbols_status(symbols, module_of("no-file", "pie")), SYMBOL_MISSING);
	assert_int_equal(symbols_status(symbols, module_of("plain.c", NULL)), SYMBOL_BAD);
	assert_int_equal(symbols_status(symbols, module_of("pipe/pie.debug", NULL)),
			 SYMBOL_MISSING);
	/* Of a module whose build ID is unknown the path has to do. */
	module = module_of("pie", NULL);
	assert_int_equal(place(module, address_in("pie", "inner"))->n, 3);
}

static void test_modules_are_kept(void **state)
{
	struct symbol_module *a = module_of("pie", "pie"), *b = module_of("pie", "nopie");

	assert_true(a != b);
	assert_true(module_of("pie", "pie") == a);
}

/* Damaged files: any answer, no crash. */
static void test_damaged_files(void **state)
{
	static const char *const names[] = { "pie", "cxx", "split" };
	char path[128];
	struct stat st;

	for (unsigned i = 0; i < 60; i++) {
		const char *name = names[i % 3];
		char damaged[32];
		FILE *file;

		snprintf(damaged, sizeof(damaged), "damaged-%u", i);
		shell("cp %s %s", name, damaged);
		snprintf(path, sizeof(path), "%s/%s", dir, damaged);
		assert_int_equal(stat(path, &st), 0);
		if (i % 4 == 3) {
			assert_int_equal(truncate(path, st.st_size * (i + 1) / 70), 0);
		} else {
			file = fopen(path, "r+");
			assert_non_null(file);
			for (unsigned k = 0; k < 200; k++) {
				fseek(file, (long)((i * 7919u + k * 104729u) % st.st_size),
				      SEEK_SET);
				fputc((int)(k * 37 + i), file);
			}
			fclose(file);
		}
		for (uint64_t address = 0x1000; address < 0x1800; address += 5)
			place(module_of(damaged, NULL), address);
	}
}

/* It is mapped: its pages are gone. */
static void test_shrinking_file(void **state)
{
	const uint64_t outer = address_in("pie", "outer"), inner = address_in("pie", "inner");
	struct symbol_module *module;
	const struct symbol_place *at;
	char path[128];

	/* cmocka's handler fails the test; there is none in pmctl. */
	end(state);
	signal(SIGBUS, SIG_DFL);
	assert_int_equal(begin(state), 0);
	shell("cp pie shrinks");
	module = module_of("shrinks", NULL);
	assert_int_equal(symbols_status(symbols, module), SYMBOL_OPEN);
	snprintf(path, sizeof(path), "%s/shrinks", dir);
	assert_int_equal(truncate(path, 0), 0);
	at = place(module, outer);
	assert_true(at->n >= 1 && (!at->frames[0].function || at->frames[0].function[0]));
	at = place(module, inner);
	assert_true(at->n >= 1 && (!at->frames[0].function || at->frames[0].function[0]));
	assert_true(symbols_shrunk());
}

static void test_vdso(void **state)
{
	const Elf64_Ehdr *head = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct symbol_module *module = symbols_module(symbols, "[vdso]", NULL, 0);
	unsigned found = 0;

	if (!head)
		skip();
	for (uint64_t address = 0; address < 8192; address += 16) {
		const char *name = place(module, address)->frames[0].function;

		found += name && strstr(name, "clock_gettime") != NULL;
	}
	assert_int_equal(symbols_status(symbols, module), SYMBOL_OPEN);
	assert_true(found > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(test_programs),
		TEST(test_shared_library),
		TEST(test_cxx_names),
		TEST(test_symbol_table),
		TEST(test_functions_only),
		TEST(test_label),
		TEST(test_stripped),
		TEST(test_stubs),
		TEST(test_debug_link),
		TEST(test_wrong_debug_link),
		TEST(test_debuginfod_cache),
		TEST(test_root),
		TEST(test_other_build),
		TEST(test_modules_are_kept),
		TEST(test_damaged_files),
		TEST(test_shrinking_file),
		TEST(test_vdso),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
