/* SPDX-License-Identifier: MIT */
/* test_attach_agent.c - an agent that is kept open: found, refused, damaged; this process plays it.
 */
#include "tools/attach/attach.h"
#include "tools/cli/pmctl.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In .data: it is looked for in the first MiB of data, and the sanitizers' own .bss is larger. */
static struct pmc_control control __attribute__((section(".data")));
static struct registry registry;
static struct slot *slot;
static char why[ATTACH_WHY];

static int set_up(void **state)
{
	control = (struct pmc_control){
		.magic = PMC_CONTROL_MAGIC,
		.version = PMC_CONTROL_VERSION,
		.bytes = sizeof(control),
		.state = PMC_CONTROL_ON,
		.pid = getpid(),
		.registry = (uintptr_t)&registry,
	};
	if (registry_init(&registry, 0, 0, 16) != 0)
		return -1;
	slot = registry_alloc(&registry);
	slot->tid = (uint32_t)getpid();
	slot->start_ns = 5;
	slot->flags = PMC_THREAD_MAIN;
	registry_live(slot);
	return 0;
}

static int tear_down(void **state)
{
	registry_fini(&registry);
	memset(&control, 0, sizeof(control));
	return 0;
}

static void threads(void **state)
{
	struct attach *agent = attach_agent_open(getpid(), why);
	struct attach_thread thread;

	assert_non_null(agent);
	assert_true(attach_same_image(agent));
	assert_true(attach_agent_look(agent, why));
	assert_true(attach_agent_thread(agent, getpid(), &thread));
	assert_true(thread.main);
	assert_int_equal(thread.start_ns, 5);
	assert_false(attach_agent_thread(agent, getpid() + 1, &thread));
	/* Another program in the same process. */
	control.identity[0]++;
	assert_false(attach_same_image(agent));
	attach_agent_close(agent);
}

/* What an ending thread or process writes itself is from before what would be read now. */
static void ends_while_it_is_read(void **state)
{
	struct attach *agent = attach_agent_open(getpid(), why);
	struct attach_thread thread;

	assert_non_null(agent);
	for (int ends = 0; ends < 3; ends++) {
		struct pmc_frame_buf buf;
		struct pmc_frame frame;
		unsigned rows = 0;

		assert_true(attach_agent_look(agent, why));
		assert_true(attach_agent_thread(agent, getpid(), &thread));
		slot->word = ends == 1 ? SLOT_CLOSING : SLOT_LIVE;
		control.state = ends == 2 ? PMC_CONTROL_DONE : PMC_CONTROL_ON;
		assert_int_equal(attach_agent_frames(agent, &thread, &buf, why), ends != 2);
		for (struct pmc_scan scan = { .data = buf.data, .len = buf.len };
		     pmc_scan_next(&scan, &frame);)
			rows += frame.head.type == PMC_FRAME_THREAD;
		assert_int_equal(rows, ends != 1);
		free(buf.data);
		slot->word = SLOT_LIVE;
	}
	attach_agent_close(agent);
}

static void no_agent_is_no_error(void **state)
{
	control.state = PMC_CONTROL_OFF;
	assert_null(attach_agent_open(getpid(), why));
	assert_string_equal(why, "");
	control.magic = 0;
	assert_null(attach_agent_open(getpid(), why));
	assert_string_equal(why, "");
}

static int no_act(struct attach *target, void *arg)
{
	return 0;
}

/* Memory of the parent's, or a copy of it, with the parent's agent. */
static void the_agent_of_another_process_is_none(void **state)
{
	char parent[32], byte;
	pid_t child;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
	assert_true(child > 0);
	assert_null(attach_agent_open(child, why));
	assert_string_equal(why, "");
	tool_keep_errors(why, sizeof(why));
	assert_int_equal(attach_act(child, 0, no_act, NULL), EXIT_FAIL);
	assert_int_equal(attach_act(child, ATTACH_PATIENT, no_act, NULL), ATTACH_AGAIN);
	tool_keep_errors(NULL, 0);
	snprintf(parent, sizeof(parent), "which is %d unless", getpid());
	assert_non_null(strstr(why, parent));
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void another_version_is_said(void **state)
{
	control.version++;
	assert_null(attach_agent_open(getpid(), why));
	assert_non_null(strstr(why, "version"));
}

static void damage_is_said(void **state)
{
	struct attach *agent = attach_agent_open(getpid(), why);
	struct attach_thread thread;
	const uint32_t high = registry.high;

	assert_non_null(agent);
	registry.high = registry.capacity + 1;
	assert_false(attach_agent_look(agent, why));
	registry.high = high;
	assert_non_null(strstr(why, "damaged"));
	assert_false(attach_agent_thread(agent, getpid(), &thread));
	attach_agent_close(agent);
}

static void errors_are_kept_until_asked_for(void **state)
{
	char text[16];

	tool_keep_errors(text, sizeof(text));
	assert_string_equal(text, "");
	assert_int_equal(tool_fail(7, "first"), 7);
	tool_warn("%s", "a second one that is longer");
	tool_keep_errors(NULL, 0);
	assert_string_equal(text, "a second one th");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_while_it_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_agent_is_no_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_agent_of_another_process_is_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_version_is_said, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damage_is_said, set_up, tear_down),
		cmocka_unit_test(errors_are_kept_until_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
