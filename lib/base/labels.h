/* SPDX-License-Identifier: MIT */
/*
 * labels.h - labels of a process, from variables of launchers, schedulers and Kubernetes and from
 * PMC_LABEL: the text "key=value,key=value" of a PROCESS frame.
 */
#pragma once

#include "lib/base/out.h"

/* Longer text is cut. */
#define PMC_LABELS_BYTES 2048

/* Writes the user's labels (value of PMC_LABEL; NULL: none), then local-rank, job, pod, namespace
 * and node as far as the environment has them. Returns the rank; -1: none. Async-signal-safe. */
int32_t pmc_labels(struct pmc_out *out, char *const *envp, const char *users);
/* The next label: sets *key and *key_len, returns its value of *len bytes, and moves *labels past
 * it. NULL: no more labels. */
const char *pmc_label_next(const char **labels, const char **key, size_t *key_len, size_t *len);
/* The value, of *len bytes, of the first label with that key; NULL: none. */
const char *pmc_label(const char *labels, const char *key, size_t *len);
/* Whether the text is a list of labels whose keys consist of letters, digits, and . _ -, of at most
 * 1,024 bytes. */
bool pmc_labels_valid(const char *labels);
