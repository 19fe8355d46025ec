/* SPDX-License-Identifier: MIT */
/*
 * labels.h - what launchers, schedulers, Kubernetes and PMC_LABEL say of a process: the text
 * "key=value,key=value" of a PROCESS frame.
 */
#pragma once

#include "lib/base/out.h"

/* Longer labels are cut. */
#define PMC_LABELS_BYTES 2048

/* Writes those of an environment: the user's (PMC_LABEL; NULL: none), then local-rank, job, pod,
 * namespace and node where they are known. Returns the rank; -1: none. Async-signal-safe. */
int32_t pmc_labels(struct pmc_out *out, char *const *envp, const char *users);
/* Moves *labels over the next label; *key is its key of *key_len bytes. Returns its value, of
 * *len bytes; NULL: there is none. */
const char *pmc_label_next(const char **labels, const char **key, size_t *key_len, size_t *len);
/* The value of the first label with that key, of *len bytes; NULL: none has it. */
const char *pmc_label(const char *labels, const char *key, size_t *len);
/* Whether it is one or more labels, with keys of letters, digits and . _ -, at most 1,024 bytes. */
bool pmc_labels_valid(const char *labels);
