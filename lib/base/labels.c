/* SPDX-License-Identifier: MIT */
/* labels.c - see labels.h. */
#include "lib/base/labels.h"
#include "lib/base/config.h"
#include "lib/base/number.h"

#include <stdint.h>
#include <string.h>

enum { RANK, LOCAL_RANK, JOB, POD, NAMESPACE, NODE, N_LABELS };
enum { VALUE_MOST = 128, USERS_MOST = 1024 };

static const char keys[N_LABELS][11] = { "rank", "local-rank", "job", "pod", "namespace", "node" };

/* Variables of Open MPI, PMIx, MPICH, MVAPICH, Slurm, PBS and LSF, and customary names of the
 * downward API of Kubernetes. Of several for one label the first in the list is used: ranks of a
 * launcher, not those of the scheduler that started it. */
static const struct {
	unsigned char label;
	char name[31];
} variables[] = {
	{ RANK, "OMPI_COMM_WORLD_RANK" },
	{ RANK, "PMIX_RANK" },
	{ RANK, "PMI_RANK" },
	{ RANK, "MV2_COMM_WORLD_RANK" },
	{ RANK, "SLURM_PROCID" },
	{ LOCAL_RANK, "OMPI_COMM_WORLD_LOCAL_RANK" },
	{ LOCAL_RANK, "MPI_LOCALRANKID" },
	{ LOCAL_RANK, "MV2_COMM_WORLD_LOCAL_RANK" },
	{ LOCAL_RANK, "SLURM_LOCALID" },
	{ JOB, "SLURM_JOB_ID" },
	{ JOB, "PBS_JOBID" },
	{ JOB, "LSB_JOBID" },
	{ JOB, "PMIX_NAMESPACE" },
	{ POD, "POD_NAME" },
	{ POD, "MY_POD_NAME" },
	{ POD, "HOSTNAME" }, /* in Kubernetes only */
	{ NAMESPACE, "POD_NAMESPACE" },
	{ NAMESPACE, "MY_POD_NAMESPACE" },
	{ NODE, "SLURMD_NODENAME" },
	{ NODE, "NODE_NAME" },
};
enum { N_VARIABLES = sizeof(variables) / sizeof(variables[0]) };

static void find(char *const *envp, const char *values[N_LABELS])
{
	const bool kubernetes = pmc_env(envp, "KUBERNETES_SERVICE_HOST");

	for (unsigned i = N_VARIABLES; i-- > 0;) {
		const char *value = pmc_env(envp, variables[i].name);

		if (value && *value && (variables[i].name[0] != 'H' || kubernetes))
			values[variables[i].label] = value;
	}
}

/* Separators and control characters become "_". */
static void put_value(struct pmc_out *out, const char *value)
{
	for (unsigned i = 0; value[i] && i < VALUE_MOST; i++) {
		const unsigned char c = (unsigned char)value[i];

		pmc_out_char(out, c <= ' ' || c == ',' || c == 0x7f ? '_' : value[i]);
	}
}

int32_t pmc_labels(struct pmc_out *out, char *const *envp, const char *users)
{
	const char *values[N_LABELS] = { NULL };
	uint64_t rank;
	size_t len;

	find(envp, values);
	if (users)
		pmc_out_str(out, users);
	for (unsigned i = LOCAL_RANK; i < N_LABELS; i++) {
		if (!values[i] || (users && pmc_label(users, keys[i], &len)))
			continue;
		pmc_outf(out, "%s%s=", out->len ? "," : "", keys[i]);
		put_value(out, values[i]);
	}
	return values[RANK] && pmc_number(values[RANK], INT32_MAX, &rank) ? (int32_t)rank : -1;
}

const char *pmc_label_next(const char **labels, const char **key, size_t *key_len, size_t *len)
{
	const char *value;

	*key = *labels;
	*key_len = strcspn(*labels, "=,");
	if ((*labels)[*key_len] != '=')
		return NULL;
	value = *labels + *key_len + 1;
	*len = strcspn(value, ",");
	*labels = value + *len + (value[*len] == ',');
	return value;
}

const char *pmc_label(const char *labels, const char *key, size_t *len)
{
	const char *name, *value;
	size_t name_len;

	while ((value = pmc_label_next(&labels, &name, &name_len, len)))
		if (name_len == strlen(key) && !memcmp(name, key, name_len))
			return value;
	return NULL;
}

bool pmc_labels_valid(const char *labels)
{
	const char *key, *value, *from = labels;
	size_t key_len, len;

	if (strlen(labels) > USERS_MOST)
		return false;
	do {
		value = pmc_label_next(&labels, &key, &key_len, &len);
		if (!value || !key_len)
			return false;
		for (size_t i = 0; i < key_len; i++)
			if (!pmc_is_alnum(key[i]) && !strchr("._-", key[i]))
				return false;
		for (size_t i = 0; i < len; i++)
			if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
				return false;
	} while (*labels);
	return labels[-1] != ',' && labels > from;
}
