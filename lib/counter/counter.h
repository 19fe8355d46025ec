/* SPDX-License-Identifier: MIT */
/*
 * counter.h - the opaque types of pmc/counter.h, for the folders of the counting library.
 *
 * Library code for programs that link libpmc: it may use malloc and is not part of the agent.
 */
#pragma once

#include "lib/base/advice.h"
#include "lib/count/group.h"

#include <pmc/counter.h>

/* Exports a function that is inline in a header, for languages that do not compile it. */
#define COUNTER_EXPORT(type, name, initial)                                                        \
	__attribute__((visibility("default"))) struct type name##_exported(void) __asm__(#name);   \
	struct type name##_exported(void)                                                          \
	{                                                                                          \
		return (struct type)initial;                                                       \
	}

/* A counter's reading at its last reset. */
struct counter_zero {
	uint64_t count, enabled_ns, running_ns;
};

struct pmc_counter {
	int fd;
	struct pmc_attr attr;
	char name[sizeof(((struct pmc_counter_event *)0)->name)];
	enum pmc_scope scope;
	enum pmc_filter filter;	   /* what excluding a mode does to its event */
	struct pmc_group *group;   /* NULL: on its own */
	struct pmc_counter **held; /* the sampler's reference to it; NULL: no sampler */
	bool on_any_cpu;	   /* opened without a CPU */
	uint64_t id;		   /* the kernel's; detects a reused descriptor */
	uint64_t member_id;	   /* of an adopted member; 0: a leader or on its own */
	struct counter_zero zero;
	struct counter_zero group_zero; /* the times of the group it leads */
};

struct pmc_group {
	struct pmc_open_options open; /* for new members */
	bool user_only, all_modes;    /* scope of members without a choice of their own */
	struct pmc_counter **members;
	struct pmc_record_value *zero; /* of each member, at the group's last reset */
	size_t count;
};

/* ---- counter_event.c ---------------------------------------------------------------------- */
/* Where sysfs and tracefs are, for tests; NULL: the machine's. */
extern const struct pmc_event_roots *counter_roots;
/* pmc_counter_event_parse() of a text that is called `what` in failures. row: of a typed group: of
 * an event that is one for each type of core the first is taken, as no group can span two PMUs. */
int counter_event_text(struct pmc_counter_event *event, const char *text, const char *what,
		       bool row, struct pmc_failure *failure);
/* The name that stands for the event in failures, never "". */
const char *counter_event_name(const struct pmc_counter_event *event);
/* The effect of excluding a mode on the event. */
enum pmc_filter counter_filter(const struct pmc_counter_event *event);

/* ---- counter_open.c ----------------------------------------------------------------------- */
/* Fills *failure unless NULL; the advice is cut to fit. Returns the (negative) error. */
int counter_fail(struct pmc_failure *failure, int error, const char *what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same with the advice for a failed call on this machine. */
int counter_fail_call(struct pmc_failure *failure, int error, const char *what,
		      const struct pmc_tried *tried);
/* The same for an error of something open: by the meanings, which end with an error of 0, else as
 * for a failed reading. */
struct counter_meaning {
	int error;
	const char *text;
};
void counter_fail_open(struct pmc_failure *failure, int error, const char *what,
		       const struct counter_meaning *meanings);

/* The options of an open, in this library's version of the struct. */
struct counter_request {
	struct pmc_counter_event event;
	struct pmc_open_options open;
};

/* Converts the caller's version of struct pmc_open_options and checks it. event NULL: for a group.
 * 0, -EINVAL, -EBADF, or -E2BIG: unknown members are set. */
int counter_request_make(struct counter_request *request, const struct pmc_counter_event *event,
			 const struct pmc_open_options *open, struct pmc_failure *failure);
/* For a counter on each CPU: of all processes, unless the options name one. */
int counter_request_each_cpu(struct counter_request *request, const struct pmc_counter_event *event,
			     const struct pmc_open_options *options, struct pmc_failure *failure);
/* Whether the event may be counted in user mode only, if all modes are denied. */
bool counter_may_fall_back(const struct counter_request *request);
/* Opens the counter as a sibling of the leader (NULL: alone). A fall-back is left in the request.
 * The caller frees the counter. */
int counter_request_open(struct counter_request *request, const struct pmc_counter *leader,
			 bool may_fall_back, struct pmc_counter **counter,
			 struct pmc_failure *failure);
/* Explains the error of an open by the options and the machine. */
void counter_advise(const struct counter_request *request, bool sibling, int error,
		    struct pmc_failure *failure);
/* The same for errors that do not name the option: opens again without one option at a time, newest
 * first. */
void counter_explain(const struct counter_request *request, const struct pmc_counter *leader,
		     int error, struct pmc_failure *failure);
/* Closes and frees, group member or not. */
void counter_free(struct pmc_counter *counter);
/* -EBADF if the descriptor is no longer this counter, else 0. */
int counter_check(const struct pmc_counter *counter);

/* ---- counter_group.c ---------------------------------------------------------------------- */
bool counter_cpu_is_online(int cpu);
/* Calls add with open->cpu set to each online CPU that counts all of the events. A CPU that went
 * offline meanwhile is left out. -ENODEV: no CPU is left. */
int counter_each_cpu(const struct pmc_counter_event *events, size_t n,
		     struct pmc_open_options *open,
		     int (*add)(void *arg, const struct pmc_open_options *open,
				struct pmc_failure *failure),
		     void *arg, struct pmc_failure *failure);

/* ---- counter_read.c ----------------------------------------------------------------------- */
/* The raw reading now. Stores the first max values. */
int counter_fetch(const struct pmc_counter *counter, struct pmc_perf_head *head,
		  struct pmc_record_value *values, size_t max);
/* -EINVAL: NULL. -EBADF: the descriptor is no longer this counter. */
int counter_ioctl(const struct pmc_counter *counter, unsigned long request, const void *arg);
/* The raw running time now; 0 if it cannot be read. */
uint64_t counter_running_ns(const struct pmc_counter *counter);
/* Its own readings start from this one. */
int counter_zero_here(struct pmc_counter *counter);
/* The group's readings start from now; its members' own go on. Async-signal-safe. */
int counter_group_zero(struct pmc_group *group);
