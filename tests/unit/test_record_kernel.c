/* SPDX-License-Identifier: MIT */
/* test_record_kernel.c - records from this kernel, compared with known facts of the process. */
#include "tests/unit/sampler_try.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static char own_path[4096];

static struct pmc_open_options identified(void)
{
	struct pmc_open_options open = PMC_OPEN_INIT;

	open.enabled = true;
	open.sample_id_all = true;
	open.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
	return open;
}

/* ---- the life of a child ------------------------------------------------------------------- */

static void child_lives(int start)
{
	char c;
	int fd;

	if (read(start, &c, 1) != 1)
		_exit(1);
	prctl(PR_SET_NAME, "renamed");
	fd = open(own_path, O_RDONLY);
	mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	close(fd);
	if (!fork())
		_exit(0);
	while (wait(NULL) > 0)
		;
	unshare(CLONE_NEWUTS);
	usleep(2000);
	execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
	_exit(1);
}

struct life {
	struct stat exe;
	pid_t child;
	unsigned renamed, exec, fork, exit, mmap, mmap_sh, out, in, namespaces, grandchild;
	unsigned char build_id[20];
	size_t build_id_size;
};

static void look(struct life *life, const struct pmc_record *r)
{
	assert_int_equal(r->present, r->attr->sample_type);
	assert_int_equal(r->id, r->identifier);
	assert_int_equal(r->id, r->stream_id); /* nothing is inherited */
	assert_true(r->cpu < 4096);
	switch (r->type) {
	case PERF_RECORD_COMM:
		assert_int_equal(r->comm.pid, life->child);
		assert_int_equal(r->pid, life->child);
		life->renamed += !r->comm.exec && !strcmp(r->comm.comm, "renamed");
		life->exec += r->comm.exec && !strcmp(r->comm.comm, "sh");
		break;
	case PERF_RECORD_FORK:
		assert_int_equal(r->task.ppid, life->child);
		assert_int_equal(r->task.ptid, life->child);
		/* A sanitizer may start a thread of its own in the child. */
		if (r->task.pid == (uint32_t)life->child)
			break;
		assert_int_equal(r->task.pid, r->task.tid);
		assert_true(r->task.time > 0);
		life->grandchild = r->task.pid;
		life->fork++;
		break;
	case PERF_RECORD_EXIT:
		assert_int_equal(r->task.pid, life->child);
		assert_int_equal(r->task.tid, life->child);
		life->exit++;
		break;
	case PERF_RECORD_MMAP2:
		life->mmap_sh += life->exec && strstr(r->mmap.filename, "sh") != NULL;
		if (strcmp(r->mmap.filename, own_path))
			break;
		assert_int_equal(r->mmap.pid, life->child);
		assert_int_equal(r->mmap.len, 8192);
		assert_int_equal(r->mmap.file_offset, 4096);
		assert_int_equal(r->mmap.prot, PROT_READ | PROT_EXEC);
		assert_int_equal(r->mmap.flags, MAP_PRIVATE);
		assert_int_equal(r->mmap.addr % 4096, 0);
		if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			life->build_id_size = r->mmap.build_id.size;
			memcpy(life->build_id, r->mmap.build_id.data, life->build_id_size);
		} else {
			assert_int_equal(r->mmap.ino, life->exe.st_ino);
			assert_int_equal(r->mmap.maj, major(life->exe.st_dev));
			assert_int_equal(r->mmap.min, minor(life->exe.st_dev));
		}
		life->mmap++;
		break;
	case PERF_RECORD_SWITCH:
		life->out += r->context_switch.out;
		life->in += !r->context_switch.out;
		break;
	case PERF_RECORD_NAMESPACES:
		/* A clone gives a record for the new task, too. */
		assert_true((pid_t)r->namespaces.pid == life->child ||
			    r->namespaces.pid == life->grandchild);
		assert_true(r->namespaces.n > UTS_NS_INDEX);
		for (unsigned i = 0; i < r->namespaces.n; i++)
			assert_true(r->namespaces.links[i].ino > 0);
		life->namespaces++;
		break;
	default:
		fail_msg("a record of type %u", r->type);
	}
}

static struct life follow(bool build_id, bool mmap2)
{
	struct life life = { .child = 0 };
	struct pmc_open_options open = identified();
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
	struct pmc_record record;
	int pipes[2], error;

	assert_int_equal(stat(own_path, &life.exe), 0);
	assert_int_equal(pipe(pipes), 0);
	life.child = fork();
	if (!life.child)
		child_lives(pipes[0]);
	open.pid = life.child;
	open.comm = open.comm_exec = open.task = open.context_switch = open.namespaces = true;
	open.mmap = true;
	open.mmap2 = mmap2;
	open.build_id = build_id;
	counter = open_software(PERF_COUNT_SW_DUMMY, &open);
	sampler = sampled(counter, 32);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	while ((error = pmc_sampler_next_wait(sampler, &record, -1)) == 0) {
		assert_ptr_equal(record.counter, counter);
		look(&life, &record);
	}
	assert_int_equal(error, -ENODATA);
	waitpid(life.child, NULL, 0);
	close(pipes[0]);
	close(pipes[1]);
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
	return life;
}

static void the_life_of_a_child(void **state)
{
	struct life life = follow(false, true);

	assert_int_equal(life.renamed, 1);
	assert_int_equal(life.exec, 1);
	assert_int_equal(life.fork, 1);
	assert_true(life.grandchild > 0 && (pid_t)life.grandchild != life.child);
	assert_int_equal(life.exit, 1);
	assert_int_equal(life.mmap, 1);
	assert_true(life.mmap_sh > 0);
	assert_true(life.out > 0 && life.in > 0);
	assert_true(life.namespaces > 0);
}

static void a_mapping_with_its_build_id(void **state)
{
	struct life life = follow(true, true);
	struct stat st;
	unsigned char *file;
	int fd = open(own_path, O_RDONLY);

	assert_int_equal(life.mmap, 1);
	/* Without a build ID in the file the kernel has none to report. */
	if (!life.build_id_size) {
		close(fd);
		return;
	}
	fstat(fd, &st);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_non_null(memmem(file, (size_t)st.st_size, life.build_id, life.build_id_size));
	assert_int_equal(life.build_id_size, 20);
	munmap(file, (size_t)st.st_size);
	close(fd);
}

/* ---- a sample with everything -------------------------------------------------------------- */

#define CANARY 0x70d6c0de5ca1ab1eull

static _Atomic int stop;
static volatile uint64_t work;
static _Atomic uintptr_t stack_low, stack_high;

static __attribute__((noinline)) void spin(void)
{
	/* A leaf function may use up to 128 bytes below its stack pointer. */
	volatile uint64_t canaries[64];

	for (unsigned i = 0; i < 64; i++)
		canaries[i] = CANARY;
	stack_low = (uintptr_t)(canaries + 48);
	while (!stop)
		for (unsigned i = 0; i < 1000; i++)
			work += canaries[i % 64];
}

static int tid;

static void *spins(void *arg)
{
	stack_high = (uintptr_t)__builtin_frame_address(0);
	__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	spin();
	return NULL;
}

#if defined(__x86_64__)
#define REG_SP 7
#define REG_IP 8
#define REGS   ((1ull << REG_SP) | (1ull << REG_IP) | 1)
#elif defined(__aarch64__)
#define REG_SP 31
#define REG_IP 32
#define REGS   ((1ull << REG_SP) | (1ull << REG_IP) | 1)
#endif

static void a_sample_with_everything(void **state)
{
	struct pmc_open_options open = identified();
	struct pmc_counter_event events[2];
	struct pmc_group *group;
	struct pmc_sampler *sampler;
	struct pmc_counter *leader;
	struct pmc_record r;
	uint64_t ids[2], last = 0;
	unsigned whole = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, spins, NULL);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		sched_yield();
	open.pid = tid;
	open.exclude_kernel = true;
	open.sample_period = 500000; /* ns */
	open.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD |
			    PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			    PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_WEIGHT |
			    PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR |
			    PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;
	open.sample_regs_user = REGS;
	open.sample_regs_intr = REGS;
	open.sample_stack_user = 1024;
	open.read_format = PERF_FORMAT_GROUP | PMC_READ_FORMAT_LOST;
	pmc_counter_event_software(&events[0], PERF_COUNT_SW_TASK_CLOCK);
	pmc_counter_event_software(&events[1], PERF_COUNT_SW_PAGE_FAULTS);
	assert_int_equal(pmc_group_open(&group, events, 2, &open, NULL), 0);
	leader = pmc_group_at(group, 0);
	pmc_counter_id(leader, &ids[0]);
	pmc_counter_id(pmc_group_at(group, 1), &ids[1]);
	sampler = sampled(leader, 64);
	while (whole < 20) {
		struct pmc_record_value value;
		uint64_t sp, ip, intr;
		int error = pmc_sampler_next_wait(sampler, &r, -1);
		const struct pmc_record_sample *s = &r.sample;
		uint64_t marks[16];

		assert_int_equal(error, 0);
		if (r.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(r.present, open.sample_type);
		assert_int_equal(r.id, ids[0]);
		assert_int_equal(r.identifier, ids[0]);
		assert_int_equal(r.tid, tid);
		assert_int_equal(r.pid, getpid());
		assert_true(r.time > last);
		last = r.time;

		assert_int_equal(s->read.n, 2);
		assert_true(s->read.enabled_ns >= s->read.running_ns && s->read.running_ns > 0);
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(pmc_record_read_value(&s->read, i, &value), 0);
			assert_int_equal(value.id, ids[i]);
			assert_true(i || value.value >= 500000);
		}
		assert_int_equal(r.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER);
		assert_true(s->n_callchain >= 2);
		assert_int_equal(s->callchain[0], PERF_CONTEXT_USER);
		assert_int_equal(s->callchain[1], s->ip);
		assert_int_equal(pmc_record_reg(&s->regs_user, REG_IP, &ip), 0);
		assert_int_equal(pmc_record_reg(&s->regs_user, REG_SP, &sp), 0);
		assert_int_equal(pmc_record_reg(&s->regs_intr, REG_IP, &intr), 0);
		assert_int_equal(pmc_record_reg(&s->regs_user, 1, &intr), -ENOENT);
		assert_int_equal(ip, s->ip);
		assert_int_equal(s->regs_user.abi, PERF_SAMPLE_REGS_ABI_64);
		assert_true(sp <= stack_high);
		assert_true(s->stack_user.size > 0 && s->stack_user.size <= 1024);
		/* Before the loop starts. */
		if (!stack_low || sp > stack_low || s->ip < (uintptr_t)spin ||
		    s->ip > (uintptr_t)spin + 4096)
			continue;
		for (unsigned i = 0; i < 16; i++)
			marks[i] = CANARY;
		assert_true(stack_low - sp + sizeof(marks) <= s->stack_user.size);
		assert_memory_equal(s->stack_user.data + (stack_low - sp), marks, sizeof(marks));
		assert_int_equal(s->code_page_size, 4096);
		whole++;
	}
	stop = 1;
	pthread_join(thread, NULL);
	pmc_sampler_close(sampler);
	pmc_group_close(group);
}

/* ---- records of the whole machine ---------------------------------------------------------- */

/* Loads a BPF program that returns 0; the descriptor, or -errno. */
static int load_bpf(void)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
				.insns = (uintptr_t)code,
				.insn_cnt = 2,
				.license = (uintptr_t) "GPL",
				.prog_name = "pmc_test" };
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

static void a_bpf_program_and_its_symbol(void **state)
{
	struct pmc_open_options open = identified();
	struct bpf_prog_info info = { .type = 0 };
	union bpf_attr ask = { .info = { .info_len = sizeof(info), .info = (uintptr_t)&info } };
	unsigned loads = 0, unloads = 0, symbols = 0, gone = 0;
	struct pmc_counter_event event;
	struct pmc_counter *counter;
	struct pmc_sampler *sampler;
	struct pmc_record r;
	cpu_set_t cpus;
	int fd;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	open.target = PMC_TARGET_ANY;
	open.cpu = 0;
	open.ksymbol = open.bpf_event = true;
	pmc_counter_event_software(&event, PERF_COUNT_SW_DUMMY);
	if (pmc_counter_open(&counter, &event, &open, NULL)) {
		print_message("skipped: this user may not watch a CPU\n");
		skip();
	}
	sampler = sampled(counter, 32);
	fd = load_bpf();
	if (fd < 0) {
		print_message("skipped: bpf(2): %s\n", strerror(-fd));
		pmc_sampler_close(sampler);
		pmc_counter_close(counter);
		skip();
	}
	ask.info.bpf_fd = (uint32_t)fd;
	assert_int_equal(syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &ask, sizeof(ask)), 0);
	close(fd);
	/* A BPF program is freed some time after its last use. */
	for (unsigned i = 0; i < 1000 && !unloads; i++) {
		while (pmc_sampler_next_wait(sampler, &r, 50) == 0) {
			if (r.type == PERF_RECORD_BPF_EVENT && r.bpf.id == info.id) {
				assert_memory_equal(r.bpf.tag, info.tag, 8);
				loads += r.bpf.bpf_type == PERF_BPF_EVENT_PROG_LOAD;
				unloads += r.bpf.bpf_type == PERF_BPF_EVENT_PROG_UNLOAD;
			}
			if (r.type == PERF_RECORD_KSYMBOL && strstr(r.ksymbol.name, "pmc_test")) {
				assert_int_equal(r.ksymbol.ksym_type, PERF_RECORD_KSYMBOL_TYPE_BPF);
				assert_true(r.ksymbol.len > 0 && r.ksymbol.addr != 0);
				gone += r.ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
				symbols++;
			}
		}
	}
	assert_int_equal(loads, 1);
	assert_int_equal(unloads, 1);
	/* Without the JIT there is no code, and no symbol. */
	assert_true(symbols == 0 || (symbols == 2 && gone == 1));
	pmc_sampler_close(sampler);
	pmc_counter_close(counter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_life_of_a_child),
		cmocka_unit_test(a_mapping_with_its_build_id),
		cmocka_unit_test(a_sample_with_everything),
		cmocka_unit_test(a_bpf_program_and_its_symbol),
	};

	if (readlink("/proc/self/exe", own_path, sizeof(own_path) - 1) <= 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
