/* SPDX-License-Identifier: MIT */
/* test_labels.c - labels from the variables of launchers, schedulers, Kubernetes and the user. */
#include "lib/base/labels.h"
#include "tests/unit/unit.h"

#include <string.h>

static int32_t labels_of(const char *const *env, const char *users, char text[PMC_LABELS_BYTES])
{
	struct pmc_out out;

	pmc_out_to_mem(&out, text, PMC_LABELS_BYTES);
	return pmc_labels(&out, (char *const *)(uintptr_t)env, users);
}

static void launchers_tell_rank_and_job(void **state)
{
	static const struct {
		const char *env[8], *labels;
		int32_t rank;
	} cases[] = {
		{ { "PATH=/", "RANK=3" }, "", -1 },
		{ { "OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_LOCAL_RANK=1", "PMIX_RANK=3",
		    "PMIX_NAMESPACE=4711" },
		  "local-rank=1,job=4711",
		  3 },
		{ { "MPI_LOCALRANKID=2", "PMI_RANK=6" }, "local-rank=2", 6 },
		/* mpirun in a batch script of Slurm: its ranks, and the job of Slurm. */
		{ { "SLURM_PROCID=0", "SLURM_JOB_ID=99", "SLURM_LOCALID=0", "PMIX_NAMESPACE=1",
		    "OMPI_COMM_WORLD_LOCAL_RANK=4", "SLURMD_NODENAME=n7",
		    "OMPI_COMM_WORLD_RANK=12" },
		  "local-rank=4,job=99,node=n7",
		  12 },
		{ { "PBS_JOBID=12.server", "MV2_COMM_WORLD_RANK=1" }, "job=12.server", 1 },
		{ { "OMPI_COMM_WORLD_RANK=x", "LSB_JOBID=5" }, "job=5", -1 },
		{ { "OMPI_COMM_WORLD_RANK=99999999999" }, "", -1 },
		{ { "OMPI_COMM_WORLD_RANK=", "PMI_RANK=2" }, "", 2 },
	};
	char text[PMC_LABELS_BYTES];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(labels_of(cases[i].env, NULL, text), cases[i].rank);
		assert_string_equal(text, cases[i].labels);
	}
}

static void the_host_name_is_a_pod_in_kubernetes_only(void **state)
{
	static const char *const host[] = { "HOSTNAME=web-1", NULL },
				 *pod[] = { "HOSTNAME=web-1", "KUBERNETES_SERVICE_HOST=10.0.0.1",
					    NULL },
				 *named[] = { "HOSTNAME=node-7", "KUBERNETES_SERVICE_HOST=10.0.0.1",
					      "POD_NAMESPACE=shop", "POD_NAME=web-2", NULL };
	char text[PMC_LABELS_BYTES];

	labels_of(host, NULL, text);
	assert_string_equal(text, "");
	labels_of(pod, NULL, text);
	assert_string_equal(text, "pod=web-1");
	labels_of(named, NULL, text);
	assert_string_equal(text, "pod=web-2,namespace=shop");
}

static void the_users_labels_come_first_and_win(void **state)
{
	static const char *const env[] = { "SLURM_JOB_ID=1", "NODE_NAME=a,b\nc", NULL };
	char text[PMC_LABELS_BYTES];
	size_t len;

	labels_of(env, "commit=1a2b,job=nightly", text);
	assert_string_equal(text, "commit=1a2b,job=nightly,node=a_b_c");
	assert_memory_equal(pmc_label(text, "job", &len), "nightly", 7);
	assert_int_equal(len, 7);
	assert_null(pmc_label(text, "jo", &len));
	assert_null(pmc_label("", "job", &len));
	assert_null(pmc_label("job", "job", &len));
	assert_non_null(pmc_label("job=", "job", &len));
	assert_int_equal(len, 0);
}

static void labels_of_any_length_fit(void **state)
{
	char big[5000] = "NODE_NAME=", users[1025], text[PMC_LABELS_BYTES];
	const char *env[] = { big, NULL };
	size_t len;

	memset(big + 10, 'x', sizeof(big) - 11);
	memset(users, 'u', 1024);
	users[1] = '=';
	users[1024] = '\0';
	assert_true(pmc_labels_valid(users));
	labels_of(env, users, text);
	assert_non_null(pmc_label(text, "node", &len));
	assert_int_equal(len, 128);
}

static void what_is_no_list_of_labels_is_refused(void **state)
{
	static const char *const good[] = { "a=b", "a=", "a=b,c=d", "A.b_c-1=x y=z" };
	static const char *const bad[] = { "",	    "a",     "=b",    "a=b,",	 ",a=b",
					   "a=b,c", "a b=c", "a=b\n", "a=b,,c=d" };
	char big[1100];

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(pmc_labels_valid(good[i]));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(pmc_labels_valid(bad[i]));
	memset(big, 'a', sizeof(big) - 1);
	big[1] = '=';
	big[sizeof(big) - 1] = '\0';
	assert_false(pmc_labels_valid(big));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launchers_tell_rank_and_job),
		cmocka_unit_test(the_host_name_is_a_pod_in_kubernetes_only),
		cmocka_unit_test(the_users_labels_come_first_and_win),
		cmocka_unit_test(labels_of_any_length_fit),
		cmocka_unit_test(what_is_no_list_of_labels_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
