/* SPDX-License-Identifier: MIT */
/* test_counter_event.c - every kind of event: those available here count, for others the encoding
 * is checked. */
#include "tests/unit/breakpoints.h"
#include "tests/unit/counter_try.h"

#include <link.h>
#include <linux/hw_breakpoint.h>

static struct pmc_failure failure;

#define must(call)                                                                                 \
	do {                                                                                       \
		if ((call) != 0)                                                                   \
			fail_msg("%s: %s: %s", #call, failure.what, failure.advice);               \
	} while (0)

/* Counts f() once. */
static uint64_t count_of(const struct pmc_counter_event *event, void (*f)(void))
{
	struct pmc_counter *counter = must_open(event, NULL);
	uint64_t count = UINT64_MAX;
	int error;

	assert_int_equal(pmc_counter_enable(counter), 0);
	f();
	assert_int_equal(pmc_counter_disable(counter), 0);
	error = pmc_counter_read(counter, &count);
	if (error)
		fail_msg("read: %s", strerror(-error));
	pmc_counter_close(counter);
	return count;
}

/* ---- numbers ------------------------------------------------------------------------------*/

static void test_hardware(void **state)
{
	struct pmc_counter_event event;
	struct pmc_counter *counter;

	assert_int_equal(pmc_counter_event_hardware(&event, PERF_COUNT_HW_INSTRUCTIONS), 0);
	assert_int_equal(event.type, PERF_TYPE_HARDWARE);
	assert_int_equal(event.config, PERF_COUNT_HW_INSTRUCTIONS);
	if (pmc_counter_open(&counter, &event, NULL, &failure) == 0) {
		pmc_counter_close(counter);
	} else {
		/* Without a PMU there is a reason and no counter. */
		assert_int_equal(failure.error, ENOENT);
		assert_string_equal(failure.what, "instructions");
		assert_true(strlen(failure.advice) > 10);
		assert_null(counter);
	}
}

static void work_pages(void)
{
	touch_pages(64, 4096);
}

static void work_burn(void)
{
	burn_ns(5000000);
}

static void work_nothing(void)
{
}

static void work_switches(void)
{
	int ends[2];
	char c;

	assert_int_equal(pipe(ends), 0);
	if (fork() == 0) {
		usleep(1000);
		_exit(write(ends[1], "x", 1) != 1);
	}
	assert_int_equal(read(ends[0], &c, 1), 1);
	wait(NULL);
	close(ends[0]);
	close(ends[1]);
}

static void test_software(void **state)
{
	static const struct {
		uint64_t id;
		void (*work)(void);
		uint64_t low, high;
	} all[] = {
		{ PERF_COUNT_SW_CPU_CLOCK, work_burn, 1000000, UINT64_MAX - 1 },
		{ PERF_COUNT_SW_TASK_CLOCK, work_burn, 1000000, 4000000000 },
		{ PERF_COUNT_SW_PAGE_FAULTS, work_pages, 64, 200 },
		{ PERF_COUNT_SW_CONTEXT_SWITCHES, work_switches, 1, 1000 },
		{ PERF_COUNT_SW_CPU_MIGRATIONS, work_nothing, 0, 10 },
		{ PERF_COUNT_SW_PAGE_FAULTS_MIN, work_pages, 64, 200 },
		{ PERF_COUNT_SW_PAGE_FAULTS_MAJ, work_pages, 0, 0 },
		{ PERF_COUNT_SW_ALIGNMENT_FAULTS, work_nothing, 0, 0 },
		{ PERF_COUNT_SW_EMULATION_FAULTS, work_nothing, 0, 0 },
		{ PERF_COUNT_SW_DUMMY, work_pages, 0, 0 },
		{ PERF_COUNT_SW_BPF_OUTPUT, work_pages, 0, 0 },
		{ PERF_COUNT_SW_CGROUP_SWITCHES, work_nothing, 0, 1000 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct pmc_counter_event event = software(all[i].id);
		uint64_t count = count_of(&event, all[i].work);

		if (count < all[i].low || count > all[i].high)
			fail_msg("software event %u counted %llu", (unsigned)all[i].id,
				 (unsigned long long)count);
	}
	assert_string_equal(software(PERF_COUNT_SW_TASK_CLOCK).unit, "ns");
	assert_string_equal(software(PERF_COUNT_SW_PAGE_FAULTS).unit, "");
}

static void test_cache(void **state)
{
	struct pmc_counter_event event, parsed;

	must(pmc_counter_event_cache(&event, PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_WRITE,
				     PERF_COUNT_HW_CACHE_RESULT_MISS));
	must(pmc_counter_event_parse(&parsed, "LLC-store-misses", &failure));
	assert_int_equal(event.type, PERF_TYPE_HW_CACHE);
	assert_int_equal(event.config, parsed.config);
	assert_int_equal(event.config, 2 | 1 << 8 | 1 << 16);
	assert_int_equal(pmc_counter_event_cache(&event, 256, 0, 0), -EINVAL);
	assert_int_equal(pmc_counter_event_cache(&event, 0, 256, 0), -EINVAL);
	assert_int_equal(pmc_counter_event_cache(&event, 0, 0, 256), -EINVAL);
}

static void test_raw(void **state)
{
	struct pmc_counter_event event;

	must(pmc_counter_event_raw(&event, 0x1c2, 3, 4));
	assert_int_equal(event.type, PERF_TYPE_RAW);
	assert_int_equal(event.config, 0x1c2);
	assert_int_equal(event.config1, 3);
	assert_int_equal(event.config2, 4);
	assert_int_equal(event.config3, 0);
}

/* ---- tracepoints --------------------------------------------------------------------------*/

static void work_calls(void)
{
	calls(123);
}

static void test_tracepoint_by_name_and_id(void **state)
{
	struct pmc_counter_event by_name = getppid_event(), by_id;

	assert_int_equal(by_name.type, PERF_TYPE_TRACEPOINT);
	must(pmc_counter_event_tracepoint_id(&by_id, by_name.config));
	assert_int_equal(count_of(&by_name, work_calls), 123);
	assert_int_equal(count_of(&by_id, work_calls), 123);
	must(pmc_counter_event_parse(&by_id, "syscalls:sys_enter_getppid", &failure));
	assert_int_equal(by_id.config, by_name.config);

	assert_int_equal(pmc_counter_event_tracepoint(&by_id, "syscalls", "nonesuch", &failure),
			 -ENOENT);
	assert_string_equal(failure.what, "syscalls:nonesuch");
	assert_int_equal(pmc_counter_event_tracepoint(&by_id, "../..", "etc", &failure), -ENOENT);
}

static void test_tracepoint_under_debugfs(void **state)
{
	struct pmc_counter_event event;
	int status;
	pid_t pid;

	getppid_event();
	if (geteuid() != 0) {
		print_message("skip: mounting needs root\n");
		skip();
	}
	/* In a child with a mount namespace of its own. */
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
			_exit(10);
		while (umount2("/sys/kernel/tracing", MNT_DETACH) == 0)
			;
		/* With neither mounted; then debugfs, which includes tracefs. */
		while (umount2("/sys/kernel/debug", MNT_DETACH) == 0)
			;
		if (pmc_counter_event_tracepoint(&event, "sched", "sched_switch", NULL) != -ENODEV)
			_exit(11);
		if (mount("d", "/sys/kernel/debug", "debugfs", 0, NULL))
			_exit(errno == ENODEV ? 12 : 13);
		if (access("/sys/kernel/debug/tracing/events", R_OK))
			_exit(12);
		_exit(pmc_counter_event_tracepoint(&event, "sched", "sched_switch", NULL) ? 14 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 12) {
		print_message("skip: this kernel has no tracefs under debugfs\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- breakpoints --------------------------------------------------------------------------*/

static volatile uint64_t watched;

__attribute__((noinline)) static void stepped_on(void)
{
	__asm__ volatile("" ::: "memory");
}

static void work_write(void)
{
	for (int i = 0; i < 17; i++)
		watched = (uint64_t)i;
}

static void work_read(void)
{
	for (int i = 0; i < 19; i++)
		(void)watched;
}

static void work_step(void)
{
	for (int i = 0; i < 23; i++)
		stepped_on();
}

static void test_breakpoint(void **state)
{
	const uint64_t data = (uint64_t)(uintptr_t)&watched;
	struct pmc_counter_event event;

	if (!breakpoints_count())
		skip();
	must(pmc_counter_event_breakpoint(&event, HW_BREAKPOINT_W, data, 8));
	assert_int_equal(event.type, PERF_TYPE_BREAKPOINT);
	event.exclude_kernel = true;
	assert_int_equal(count_of(&event, work_write), 17);
	assert_int_equal(count_of(&event, work_read), 0);
	must(pmc_counter_event_breakpoint(&event, HW_BREAKPOINT_RW, data, 4));
	event.exclude_kernel = true;
	assert_int_equal(count_of(&event, work_write), 17);
	assert_int_equal(count_of(&event, work_read), 19);
	must(pmc_counter_event_breakpoint(&event, HW_BREAKPOINT_X, (uint64_t)(uintptr_t)stepped_on,
					  0));
	event.exclude_kernel = true;
	assert_int_equal(event.config2, sizeof(long));
	assert_int_equal(count_of(&event, work_step), 23);

	assert_int_equal(pmc_counter_event_breakpoint(&event, 0, data, 8), -EINVAL);
	assert_int_equal(pmc_counter_event_breakpoint(&event, 8, data, 8), -EINVAL);
	assert_int_equal(pmc_counter_event_breakpoint(&event, HW_BREAKPOINT_W, data, 3), -EINVAL);
	assert_int_equal(pmc_counter_event_breakpoint(&event, HW_BREAKPOINT_W, data, 16), -EINVAL);
}

/* ---- probes -------------------------------------------------------------------------------*/

static uint64_t offset_in_file;

/* The first object is this program: the function's file offset follows from its segment. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uintptr_t at = (uintptr_t)stepped_on;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		const uintptr_t from = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && at >= from && at < from + segment->p_memsz)
			offset_in_file = at - from + segment->p_offset;
	}
	return 1;
}

static void test_uprobe_and_uretprobe(void **state)
{
	struct pmc_counter_event enter, leave;
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = '\0';
	dl_iterate_phdr(find_offset, NULL);
	assert_true(offset_in_file > 0);
	if (pmc_counter_event_uprobe(&enter, PMC_PROBE_ENTRY, path, offset_in_file, &failure)) {
		assert_int_equal(failure.error, ENOENT);
		print_message("skip: this kernel has no uprobes for perf\n");
		skip();
	}
	must(pmc_counter_event_uprobe(&leave, PMC_PROBE_RETURN, path, offset_in_file, &failure));
	assert_int_equal(enter.type, leave.type);
	assert_int_equal(enter.config, 0);
	assert_int_equal(leave.config, 1);
	assert_int_equal(enter.config2, offset_in_file);
	assert_int_equal(count_of(&enter, work_step), 23);
	assert_int_equal(count_of(&leave, work_step), 23);
	assert_int_equal(count_of(&leave, work_write), 0);
}

/* kprobe and uprobe are two PMUs; another library used the type of one for the other. */
static void test_kprobe_has_its_own_type(void **state)
{
	struct pmc_counter_event event;
	char text[32] = "";
	FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "re");

	if (!file) {
		assert_int_equal(
			pmc_counter_event_kprobe(&event, PMC_PROBE_ENTRY, "do_exit", 0, &failure),
			-ENOENT);
		assert_string_equal(failure.what, "kprobe");
		assert_int_equal(
			pmc_counter_event_kprobe_address(&event, PMC_PROBE_RETURN, 1, &failure),
			-ENOENT);
		assert_string_equal(failure.what, "kprobe");
		return;
	}
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	must(pmc_counter_event_kprobe(&event, PMC_PROBE_ENTRY, "do_exit", 16, &failure));
	assert_int_equal(event.type, strtoul(text, NULL, 10));
	assert_int_equal(event.config2, 16);
	must(pmc_counter_event_kprobe_address(&event, PMC_PROBE_RETURN, 0x1234, &failure));
	assert_int_equal(event.type, strtoul(text, NULL, 10));
	assert_int_equal(event.config, 1);
	assert_int_equal(event.config1, 0);
	assert_int_equal(event.config2, 0x1234);
}

/* ---- PMUs ---------------------------------------------------------------------------------*/

static void work_long(void)
{
	burn_ns(1000000);
}

static void test_msr(void **state)
{
	struct pmc_counter_event event, fields;

	if (access("/sys/bus/event_source/devices/msr/events/tsc", R_OK)) {
		assert_int_equal(pmc_counter_event_msr(&event, "tsc", &failure), -ENOENT);
		print_message("skip: this machine has no msr PMU\n");
		skip();
	}
	must(pmc_counter_event_msr(&event, "tsc", &failure));
	must(pmc_counter_event_fields(&fields, "msr", "event=0x00", &failure));
	assert_int_equal(event.type, fields.type);
	assert_int_equal(event.config, fields.config);
	/* The TSC runs at 1 GHz or more. */
	assert_true(count_of(&event, work_long) > 1000000);
	assert_int_equal(pmc_counter_event_msr(&event, "nonesuch", &failure), -ENOENT);
	assert_int_equal(pmc_counter_event_msr(&event, "tsc/", &failure), -EINVAL);
}

/* Faults that the kernel takes on the program's pages; libc's wrappers under a sanitizer would add
 * some. */
static void work_kernel_pages(void)
{
	const size_t bytes = 64 * 4096;
	long fd = syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC);
	long pages = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	assert_int_not_equal(pages, -1);
	syscall(SYS_madvise, pages, bytes, MADV_NOHUGEPAGE);
	assert_int_equal(syscall(SYS_read, fd, pages, bytes), bytes);
	syscall(SYS_munmap, pages, bytes);
	syscall(SYS_close, fd);
}

static void test_user_and_kernel_only(void **state)
{
	struct pmc_counter_event event;

	must(pmc_counter_event_parse(&event, "page-faults:u", &failure));
	assert_in_range(count_of(&event, work_pages), 64, 200);
	assert_in_range(count_of(&event, work_kernel_pages), 0, 40);
	must(pmc_counter_event_parse(&event, "page-faults:k", &failure));
	assert_in_range(count_of(&event, work_pages), 0, 40);
	assert_in_range(count_of(&event, work_kernel_pages), 64, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hardware),
		cmocka_unit_test(test_software),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_tracepoint_by_name_and_id),
		cmocka_unit_test(test_tracepoint_under_debugfs),
		cmocka_unit_test(test_breakpoint),
		cmocka_unit_test(test_uprobe_and_uretprobe),
		cmocka_unit_test(test_kprobe_has_its_own_type),
		cmocka_unit_test(test_msr),
		cmocka_unit_test(test_user_and_kernel_only),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
