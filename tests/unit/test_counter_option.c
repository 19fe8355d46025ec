/* SPDX-License-Identifier: MIT */
/* test_counter_option.c - every option sets its own member of the attr, and options for records
 * other than samples cause these records. */
#include "tests/unit/counter_try.h"

#include <linux/bpf.h>
#include <pthread.h>
#include <sys/prctl.h>

/* ---- the attr -----------------------------------------------------------------------------*/

static void keep(struct perf_event_attr *attr, void *arg)
{
	struct perf_event_attr *first = arg;

	if (!first->size)
		*first = *attr;
}

static struct perf_event_attr attr_with(const struct pmc_open_options *open)
{
	struct pmc_open_options options = open ? *open : pmc_open_options_init();
	struct pmc_counter_event event = software(PERF_COUNT_SW_DUMMY);
	struct perf_event_attr attr = { .size = 0 };
	struct pmc_counter *counter;

	options.change_attr = keep;
	options.change_arg = &attr;
	/* Success of the open is not checked: kernels differ in the options that they support. */
	pmc_counter_open(&counter, &event, &options, NULL);
	pmc_counter_close(counter);
	assert_true(attr.size);
	return attr;
}

/* The option sets this member of the attr to this value, and changes no other. */
#define changes(option, given, member, want)                                                       \
	do {                                                                                       \
		struct pmc_open_options changed = PMC_OPEN_INIT;                                   \
		struct perf_event_attr expected = attr_with(NULL), got;                            \
                                                                                                   \
		changed.option = given;                                                            \
		got = attr_with(&changed);                                                         \
		expected.member = want;                                                            \
		if (memcmp(&got, &expected, sizeof(got)))                                          \
			fail_msg("%s does not give %s = %s alone", #option, #member, #want);       \
	} while (0)

static void test_each_option_sets_its_own_member(void **state)
{
	changes(read_format, PERF_FORMAT_LOST, read_format,
		PERF_FORMAT_LOST | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING);
	changes(read_format, PERF_FORMAT_GROUP, read_format,
		PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			PERF_FORMAT_TOTAL_TIME_RUNNING);
	changes(enabled, true, disabled, 0);
	changes(enable_on_exec, true, enable_on_exec, 1);
	changes(remove_on_exec, true, remove_on_exec, 1);
	changes(inherit, true, inherit, 1);
	changes(inherit_stat, true, inherit_stat, 1);
	changes(inherit_thread, true, inherit_thread, 1);
	changes(pinned, true, pinned, 1);
	changes(exclusive, true, exclusive, 1);
	changes(exclude_user, true, exclude_user, 1);
	changes(exclude_kernel, true, exclude_kernel, 1);
	changes(exclude_hv, true, exclude_hv, 1);
	changes(exclude_idle, true, exclude_idle, 1);
	changes(exclude_host, true, exclude_host, 1);
	changes(exclude_guest, true, exclude_guest, 1);
	changes(exclude_callchain_user, true, exclude_callchain_user, 1);
	changes(exclude_callchain_kernel, true, exclude_callchain_kernel, 1);
	changes(mmap, true, mmap, 1);
	changes(mmap2, true, mmap2, 1);
	changes(mmap_data, true, mmap_data, 1);
	changes(build_id, true, build_id, 1);
	changes(comm, true, comm, 1);
	changes(comm_exec, true, comm_exec, 1);
	changes(task, true, task, 1);
	changes(context_switch, true, context_switch, 1);
	changes(namespaces, true, namespaces, 1);
	changes(ksymbol, true, ksymbol, 1);
	changes(bpf_event, true, bpf_event, 1);
	changes(cgroup, true, cgroup, 1);
	changes(text_poke, true, text_poke, 1);
	changes(sample_id_all, true, sample_id_all, 1);
	changes(aux_output, true, aux_output, 1);
	changes(write_backward, true, write_backward, 1);
	changes(sigtrap, true, sigtrap, 1);
	changes(precise_ip, 3, precise_ip, 3);
	changes(sample_period, 12345, sample_period, 12345);
	changes(sample_type, PERF_SAMPLE_TID, sample_type, PERF_SAMPLE_TID);
	changes(sig_data, 77, sig_data, 77);
	changes(wakeup_events, 5, wakeup_events, 5);
	changes(aux_watermark, 4096, aux_watermark, 4096);
	changes(aux_sample_size, 4096, aux_sample_size, 4096);
	changes(sample_max_stack, 5, sample_max_stack, 5);
	/* clockid has no effect without use_clockid. */
	changes(clockid, 1, clockid, 0);
}

/* Members that have an effect only if a bit in sample_type is set. */
static void test_options_of_sample_fields(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct perf_event_attr attr;

	open.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_STACK_USER |
			   PERF_SAMPLE_BRANCH_STACK;
	/* Another library wrote the mask for interrupts to the member for user mode. */
	open.sample_regs_user = 0x180;
	open.sample_regs_intr = 0x81;
	open.sample_stack_user = 1024;
	open.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	attr = attr_with(&open);
	assert_int_equal(attr.sample_regs_user, 0x180);
	assert_int_equal(attr.sample_regs_intr, 0x81);
	assert_int_equal(attr.sample_stack_user, 1024);
	assert_int_equal(attr.branch_sample_type, PERF_SAMPLE_BRANCH_ANY);
}

static void make_comm(struct perf_event_attr *attr, void *arg)
{
	++*(unsigned *)arg;
	attr->comm = 1;
	attr->sample_max_stack = 3;
}

/* Members without an option can be set in a callback right before the open. */
static void test_the_attr_can_be_changed(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_DUMMY);
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct pmc_counter *counter;
	unsigned calls_made = 0;

	open.change_attr = make_comm;
	open.change_arg = &calls_made;
	counter = must_open(&event, &open);
	assert_int_equal(calls_made, 1);
	assert_int_equal(pmc_counter_attr(counter)->comm, 1);
	assert_int_equal(pmc_counter_attr(counter)->sample_max_stack, 3);
	pmc_counter_close(counter);
}

static void test_options_that_set_two_members(void **state)
{
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct perf_event_attr attr;

	open.sample_freq = 997;
	open.wakeup_watermark = 8192;
	open.use_clockid = true;
	open.clockid = CLOCK_BOOTTIME;
	attr = attr_with(&open);
	assert_int_equal(attr.freq, 1);
	assert_int_equal(attr.sample_freq, 997);
	assert_int_equal(attr.watermark, 1);
	assert_int_equal(attr.wakeup_watermark, 8192);
	assert_int_equal(attr.use_clockid, 1);
	assert_int_equal(attr.clockid, CLOCK_BOOTTIME);
}

/* ---- records ------------------------------------------------------------------------------*/

static void map_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	munmap(map, 4096);
	close(fd);
}

static void map_data(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	munmap(map, 4096);
	close(fd);
}

static void rename_thread(void)
{
	char name[16];

	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "renamed");
	prctl(PR_SET_NAME, name);
}

static void *nothing(void *arg)
{
	return arg;
}

static void make_thread(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
	pthread_join(thread, NULL);
}

static void sleep_shortly(void)
{
	usleep(1000);
}

static void change_namespace(void)
{
	(void)!unshare(CLONE_NEWUTS);
}

static void load_program(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (uint64_t)(uintptr_t)code;
	attr.insn_cnt = 2;
	attr.license = (uint64_t)(uintptr_t) "MIT";
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd >= 0)
		close(fd);
}

/* The folder may be there without a mount. */
static bool make_cgroup_in(const char *mount)
{
	char path[256], file[300];
	bool made;

	snprintf(path, sizeof(path), "%s/pmc-test-%d", mount, (int)getpid());
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	if (mkdir(path, 0700) != 0)
		return false;
	made = access(file, F_OK) == 0;
	return rmdir(path) == 0 && made;
}

static void make_cgroup(void)
{
	(void)(make_cgroup_in("/sys/fs/cgroup/perf_event") ||
	       make_cgroup_in("/sys/fs/cgroup/unified") || make_cgroup_in("/sys/fs/cgroup"));
}

static const struct recording {
	const char *name;
	size_t options[3];
	void (*act)(void);
	uint32_t type;
	uint16_t misc;
	bool root;
} recordings[] = {
#define OPTION(member) offsetof(struct pmc_open_options, member)
	{ "mmap", { OPTION(mmap) }, map_program, PERF_RECORD_MMAP, 0, false },
	{ "mmap2", { OPTION(mmap), OPTION(mmap2) }, map_program, PERF_RECORD_MMAP2, 0, false },
	{ "mmap_data",
	  { OPTION(mmap_data) },
	  map_data,
	  PERF_RECORD_MMAP,
	  PERF_RECORD_MISC_MMAP_DATA,
	  false },
	{ "build_id",
	  { OPTION(mmap), OPTION(mmap2), OPTION(build_id) },
	  map_program,
	  PERF_RECORD_MMAP2,
	  PERF_RECORD_MISC_MMAP_BUILD_ID,
	  false },
	{ "comm", { OPTION(comm) }, rename_thread, PERF_RECORD_COMM, 0, false },
	{ "task, its start", { OPTION(task) }, make_thread, PERF_RECORD_FORK, 0, false },
	{ "context_switch",
	  { OPTION(context_switch) },
	  sleep_shortly,
	  PERF_RECORD_SWITCH,
	  0,
	  false },
	{ "context_switch, out",
	  { OPTION(context_switch) },
	  sleep_shortly,
	  PERF_RECORD_SWITCH,
	  PERF_RECORD_MISC_SWITCH_OUT,
	  false },
	{ "namespaces", { OPTION(namespaces) }, change_namespace, PERF_RECORD_NAMESPACES, 0, true },
	{ "ksymbol", { OPTION(ksymbol) }, load_program, PERF_RECORD_KSYMBOL, 0, true },
	{ "bpf_event", { OPTION(bpf_event) }, load_program, PERF_RECORD_BPF_EVENT, 0, true },
	{ "cgroup", { OPTION(cgroup) }, make_cgroup, PERF_RECORD_CGROUP, 0, true },
};

/* Whether the record occurs, with the options or without. */
static bool comes(const struct recording *recording, bool with)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_DUMMY);
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct perf_event_mmap_page *ring;
	struct pmc_counter *counter;
	bool came;

	open.enabled = true;
	for (size_t i = 0; i < 3 && with; i++)
		if (recording->options[i])
			*((bool *)&open + recording->options[i]) = true;
	counter = must_open(&event, &open);
	ring = ring_map(counter, PROT_READ | PROT_WRITE);
	recording->act();
	came = ring_find(ring, recording->type, recording->misc);
	ring_unmap(ring);
	pmc_counter_close(counter);
	return came;
}

static void test_records(void **state)
{
	_Static_assert(sizeof(bool) == 1, "offsets of options are of bytes");
	for (size_t i = 0; i < sizeof(recordings) / sizeof(recordings[0]); i++) {
		const struct recording *recording = &recordings[i];

		if (recording->root && geteuid() != 0) {
			print_message("skip: %s needs root\n", recording->name);
			continue;
		}
		if (comes(recording, false))
			fail_msg("%s: the record comes without being asked for", recording->name);
		if (!comes(recording, true))
			fail_msg("%s: no record", recording->name);
	}
}

/* A thread's end is recorded in its creator's ring only for inherited events, which a ring without
 * a fixed CPU cannot have; so the event is opened on the thread itself. */
static int gate[2];
static _Atomic pid_t watched_tid;

static void *wait_at_gate(void *arg)
{
	char c;

	watched_tid = (pid_t)syscall(SYS_gettid);
	return read(gate[0], &c, 1) == 1 ? arg : NULL;
}

static void test_task_has_the_end_too(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_DUMMY);
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct perf_event_mmap_page *ring;
	struct pmc_counter *counter;
	pthread_t thread;

	assert_int_equal(pipe(gate), 0);
	watched_tid = 0;
	assert_int_equal(pthread_create(&thread, NULL, wait_at_gate, NULL), 0);
	while (watched_tid == 0)
		sched_yield();
	open.pid = watched_tid;
	open.task = open.enabled = true;
	counter = must_open(&event, &open);
	ring = ring_map(counter, PROT_READ | PROT_WRITE);
	assert_int_equal(write(gate[1], "x", 1), 1);
	pthread_join(thread, NULL);
	/* After pthread_join the kernel may not have written the record yet. */
	while (syscall(SYS_tgkill, getpid(), watched_tid, 0) == 0)
		sched_yield();
	assert_non_null(ring_find(ring, PERF_RECORD_EXIT, 0));
	ring_unmap(ring);
	pmc_counter_close(counter);
	close(gate[0]);
	close(gate[1]);
}

static void test_comm_exec(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_DUMMY);
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct perf_event_mmap_page *ring;
	struct pmc_counter *counter;
	pid_t pid;
	char c;

	assert_int_equal(pipe(gate), 0);
	pid = fork();
	if (pid == 0) {
		if (read(gate[0], &c, 1) == 1)
			execl("/bin/true", "true", NULL);
		_exit(1);
	}
	open.pid = pid;
	open.comm = open.comm_exec = open.enabled = true;
	counter = must_open(&event, &open);
	ring = ring_map(counter, PROT_READ | PROT_WRITE);
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_non_null(ring_find(ring, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC));
	ring_unmap(ring);
	pmc_counter_close(counter);
	close(gate[0]);
	close(gate[1]);
}

/* Options whose effect cannot be observed here must at least be accepted. */
static void test_options_without_a_sign(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_TASK_CLOCK);
	struct pmc_open_options open = PMC_OPEN_INIT;

	open.text_poke = geteuid() == 0;
	open.exclude_hv = open.exclude_idle = open.exclude_host = open.exclude_guest = true;
	open.inherit_stat = open.inherit = true;
	open.pinned = open.exclusive = true;
	open.aux_watermark = 4096;
	pmc_counter_close(must_open(&event, &open));
}

static void test_sample_id_all(void **state)
{
	struct pmc_counter_event event = software(PERF_COUNT_SW_DUMMY);
	const struct perf_event_header *record;
	struct pmc_open_options open = PMC_OPEN_INIT;
	struct perf_event_mmap_page *ring;
	struct pmc_counter *counter;
	uint64_t id;

	open.comm = open.enabled = open.sample_id_all = true;
	open.sample_type = PERF_SAMPLE_IDENTIFIER;
	counter = must_open(&event, &open);
	ring = ring_map(counter, PROT_READ | PROT_WRITE);
	rename_thread();
	record = ring_find(ring, PERF_RECORD_COMM, 0);
	assert_non_null(record);
	assert_int_equal(pmc_counter_id(counter, &id), 0);
	/* pid, tid, the name, then the requested ID fields. */
	assert_int_equal(record->size, sizeof(*record) + 8 + 8 + 8);
	assert_int_equal(words_of(record)[2], id);
	ring_unmap(ring);
	pmc_counter_close(counter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_option_sets_its_own_member),
		cmocka_unit_test(test_options_of_sample_fields),
		cmocka_unit_test(test_the_attr_can_be_changed),
		cmocka_unit_test(test_options_that_set_two_members),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_task_has_the_end_too),
		cmocka_unit_test(test_comm_exec),
		cmocka_unit_test(test_options_without_a_sign),
		cmocka_unit_test(test_sample_id_all),
	};

	if (!may_count())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
