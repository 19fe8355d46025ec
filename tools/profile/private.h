/* SPDX-License-Identifier: MIT */
/* private.h - threads and their waits. Private to this folder. */
#pragma once

#include "lib/base/hash.h"
#include "tools/offcpu/offcpu.h"
#include "tools/unwind/unwind.h"

#include <pmc/sampler.h>
#include <pthread.h>
#include <stdatomic.h>

/* A thread as its row has it: by the numbers of its own PID namespace. */
struct off_numbers {
	uint64_t pid_namespace; /* 0: pmctl's, else the inode */
	uint32_t pid, tid;	/* 0: not known */
};

struct off_thread {
	uint32_t pid, tid; /* in pmctl's PID namespace */
	struct off_numbers numbers;
	uint64_t start_ns, end_ns; /* 0: before the recording; not ended */
	bool waiting;
	uint64_t since_ns, stack_ns;	  /* of the wait; of the sample of its stack */
	const struct unwind_stack *stack; /* of the last switch; NULL: not recorded */
	struct unwind_wait *waits;
	uint64_t n_waits, wait_ns, lost, incomplete;
	struct off_thread *next; /* the one that was seen before */
	UT_hash_handle hh;	 /* by tid; the newest of a number */
};

struct off_cpu {
	struct pmc_arena arena;
	struct unwind unwind;

	struct pmc_sampler_set *set;
	pthread_t reader;
	bool reads; /* the reader was started */
	_Atomic bool stop;
	uint64_t lost, lost_ns; /* records, and the time of the last report of a loss */
	uint64_t stop_ns;

	struct off_thread *threads, *last;
};

void off_take(struct off_cpu *off, const struct pmc_record *record);
/* Ends the waits that last until now. */
void off_settle(struct off_cpu *off);
