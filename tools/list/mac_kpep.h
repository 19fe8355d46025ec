/* SPDX-License-Identifier: MIT */
/*
 * mac_kpep.h - the events of a Mac's processor, as kperfdata reads them from /usr/share/kpep.
 *
 * Implemented in darwin/kpep.c; the calls come in a table, of which tests have a double.
 */
#pragma once

#include "lib/count/thread_counts.h"
#include "tools/list/list.h"

/* Why there is no database; NULL: there is one. */
const char *list_kpep_missing(void);
/* Whether such events can be counted. */
struct list_answer list_kpep_answer(void);
/* Adds a row for each event, and for each alias of one. NULL, or why there are none. */
const char *list_kpep(struct list *list);
/* Events that take counters are assigned to them by kperfdata, as when they are counted. fit->n
 * events, of which bit i of `kpep` has a name in the database. 0, or the exit code of an error that
 * has been printed. */
int list_kpep_fit(struct list_fit *fit, uint64_t kpep);
