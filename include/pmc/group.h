/* SPDX-License-Identifier: MIT */
/*
 * pmc/group.h - type-safe groups of counters: one named field per event, checked by the compiler.
 *
 * 	#define LOOP_EVENTS(X)                  \
 * 		X(cycles, PMC_EVENT_CYCLES)     \
 * 		X(instructions, PMC_EVENT_INSTRUCTIONS)
 * 	PMC_GROUP(loop, LOOP_EVENTS);
 *
 * 	struct loop group = { 0 };
 * 	struct loop_values values;
 *
 * 	if (loop_open(&group, 0, -1) == 0) {
 * 		loop_enable(&group);
 * 		work();
 * 		loop_disable(&group);
 * 		if (loop_read(&group, &values) == 0)
 * 			use(values.instructions, values.cycles);
 * 	}
 * 	loop_close(&group);
 *
 * A row is X(field, "event"), and may have a unit and a description: X(cpu, "task-clock", "ns",
 * "CPU time"). The event is one as pmctl-run(1) -e takes it ("cycles", "L1-dcache-load-misses",
 * "cpu/event=0xc0,umask=1/", "sched:sched_switch", "instructions:u"), or a macro of
 * <pmc/event_names.h>. Other members than the fields, an empty list, a field named twice or like a
 * member that every group has, an empty event and more than PMC_EVENTS_MAX rows do not compile.
 *
 * Put PMC_GROUP(my, MY_EVENTS) at file scope, in a source file or in a header that many include:
 * all its definitions are static. A semicolon behind it is allowed, and needed in C where nothing
 * follows. C11 and C++17, gcc and clang; link with -lpmc -ldl -pthread. It declares
 *
 * 	struct my		the group
 * 	struct my_values	a uint64_t per field; time_enabled_ns, time_running_ns; state
 * 	my_n_fields, my_fields[]  name, event, unit and doc of each field, to loop over
 * 	my_open, my_open_with, my_enable, my_disable, my_reset, my_read, my_close
 * 	my_failed, my_explain, my_scope, my_value
 *
 * Functions return 0 or a negative errno and leave errno alone; the compiler warns where that of
 * my_open, my_open_with or my_read is ignored. A struct my belongs to one thread
 * at a time. Enable, disable, reset and read are async-signal-safe; open and close allocate and are
 * not. The struct may be copied and moved: all copies are one group, closed through one of them.
 * One that is all zero is not open: it may be closed, and its functions return -EBADF.
 *
 * The counters of a group are on the PMU together or not at all, so ratios of them are valid. A
 * group larger than the PMU never counts: my_read returns -EBUSY.
 */
#ifndef PMC_GROUP_H
#define PMC_GROUP_H

#include <pmc/api.h>
#include <pmc/counter.h>
#include <pmc/dump.h>
#include <pmc/event_names.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

PMC_API_BEGIN

/* A row. */
struct pmc_group_typed_field {
	const char *name;
	const char *event;
	const char *unit; /* "" if none */
	const char *doc;
};

/* The value of a field that was not counted. */
#define PMC_NO_VALUE UINT64_MAX

/* ---- functions behind the generated ones -------------------------------------------------
 * For programs that know their events only at run time. */

struct pmc_group_typed {
	struct pmc_group *counters; /* NULL: not open */
	int32_t failed;		    /* index of the field that could not be opened; -1: none */
	uint8_t scope;		    /* enum pmc_scope */
	uint8_t target;		    /* enum pmc_target, as opened */
	uint8_t reserved[2];
	int32_t pid, cpu;   /* as opened */
	uint64_t open_mark; /* the library's: tells an open group from unset memory */
};

/* Times and state of the whole group since the last reset. */
struct pmc_group_typed_times {
	uint64_t enabled_ns;
	uint64_t running_ns;
	enum pmc_state state; /* PMC_COUNTED, PMC_SCALED or PMC_NOT_COUNTED */
	uint32_t reserved[5];
};

/*
 * Opens a disabled group of fields[0..n), not inherited, on thread `pid` (0: the calling thread;
 * -1: all threads, which needs a CPU) and `cpu` (-1: any). If kernel mode is not permitted, all
 * events without :u or :k count user mode only; group->scope says so. On failure nothing is left
 * open and group->failed is the field. Not async-signal-safe.
 *
 * -EALREADY: the group is open already; before an open the struct is all zero, or closed. -EINVAL:
 * n is 0 or above PMC_EVENTS_MAX, a string is not one event, or the PMU cannot hold the group.
 * -ENOENT: unknown event. -EACCES, -EPERM: perf_event_paranoid or a security policy, or an event
 * that occurs in the kernel only; see `pmctl doctor`. -ESRCH, -EMFILE and others:
 * perf_event_open(2).
 */
int pmc_group_typed_open(struct pmc_group_typed *group, const struct pmc_group_typed_field *fields,
			 unsigned n, pid_t pid, int cpu);
/* The same with options (inherit, pinned, user_if_denied, a cgroup, ...; read_format is ignored).
 * NULL: PMC_OPEN_INIT. */
int pmc_group_typed_open_with(struct pmc_group_typed *group,
			      const struct pmc_group_typed_field *fields, unsigned n,
			      const struct pmc_open_options *options);
/* All counters of the group at once. Async-signal-safe. -EBADF: not open. */
int pmc_group_typed_enable(const struct pmc_group_typed *group);
int pmc_group_typed_disable(const struct pmc_group_typed *group);
/* Later values and times count from here. The counters run on and the difference is taken, because
 * the kernel's reset keeps the times and the counts of ended children. Async-signal-safe. */
int pmc_group_typed_reset(struct pmc_group_typed *group);
/*
 * Counts since the last reset, values[i] of fields[i]. Async-signal-safe. If the group ran for a
 * part of the time it was enabled, values are scaled by enabled / running (in 128 bits, rounded)
 * and the state is PMC_SCALED.
 *
 * On failure the state is PMC_NOT_COUNTED and each value PMC_NO_VALUE. -EAGAIN: not enabled, or the
 * thread has not run since. -EBUSY: enabled, but the PMU is taken or too small. -ENODATA: a pinned
 * group lost the PMU; enable it again. -EBADF: not open, or the descriptors were closed.
 */
int pmc_group_typed_read(const struct pmc_group_typed *group, unsigned n, uint64_t *values,
			 struct pmc_group_typed_times *times);
/* Explains the error of an open or read of this group: *failure gets the event and a line of
 * advice. Not async-signal-safe. */
void pmc_group_typed_explain(const struct pmc_group_typed *group,
			     const struct pmc_group_typed_field *fields, int error,
			     struct pmc_failure *failure);
/* Closes the group and frees its memory. May be called twice and with NULL. Not async-signal-safe.
 */
void pmc_group_typed_close(struct pmc_group_typed *group);

PMC_API_END

/* ---- the macro ---------------------------------------------------------------------------*/

#ifdef __cplusplus
#define PMC_GROUP_ASSERT_(condition, text) static_assert(condition, text)
#define PMC_GROUP_CAST_(type, value)	   static_cast<type>(value)
#define PMC_GROUP_END_
#else
#define PMC_GROUP_ASSERT_(condition, text) _Static_assert(condition, text)
#define PMC_GROUP_CAST_(type, value)	   ((type)(value))
/* ISO C has no semicolon between functions, which may follow here. */
#define PMC_GROUP_END_			   __extension__
#endif
#define PMC_GROUP_UNUSED_ __attribute__((__unused__))
#define PMC_GROUP_ERROR_  __attribute__((__unused__, __warn_unused_result__))

/* Unit and description are optional: the arguments behind the given ones stand in for them. ""
 * event: a string literal or nothing that compiles. */
#define PMC_GROUP_SIZE_(event, ...)   sizeof(event)
#define PMC_GROUP_COUNT_(field, ...)  +1
#define PMC_GROUP_NAMED_(field, ...)  &&(PMC_GROUP_SIZE_(__VA_ARGS__, 0) > 1)
#define PMC_GROUP_MEMBER_(field, ...) uint64_t field;
#define PMC_GROUP_STORE_(field, ...)  pmc_to_->field = *pmc_from_++;
#define PMC_GROUP_ROW_(field, ...)    PMC_GROUP_FIELD_(#field, __VA_ARGS__, "", "", "")

#define PMC_GROUP_FIELD_(name, event, unit, doc, ...) { name, "" event, "" unit, "" doc },

/* Names that a field may not have: PMC_GROUP_TAKEN_##field is two arguments for them, else one. */
#define PMC_GROUP_TAKEN_state		  , 0
#define PMC_GROUP_TAKEN_time_enabled_ns	  , 0
#define PMC_GROUP_TAKEN_time_running_ns	  , 0
#define PMC_GROUP_SECOND_(a, second, ...) second
#define PMC_GROUP_CHECK_(...)		  PMC_GROUP_SECOND_(__VA_ARGS__, 1, 1)
#define PMC_GROUP_FREE_(field, ...)	  &&PMC_GROUP_CHECK_(PMC_GROUP_TAKEN_##field)

#define PMC_GROUP_CALL_(name, verb)                                                                \
	static inline PMC_GROUP_UNUSED_ int name##_##verb(struct name *pmc_group_)                 \
	{                                                                                          \
		return pmc_group_typed_##verb(&pmc_group_->typed);                                 \
	}

#define PMC_GROUP(name, ROWS)                                                                      \
	enum { name##_n_fields = 0 ROWS(PMC_GROUP_COUNT_) };                                       \
	PMC_GROUP_ASSERT_(name##_n_fields > 0, "PMC_GROUP: the list of events is empty");          \
	PMC_GROUP_ASSERT_(name##_n_fields <= PMC_EVENTS_MAX, "PMC_GROUP: more than 64 events");    \
	PMC_GROUP_ASSERT_(1 ROWS(PMC_GROUP_NAMED_), "PMC_GROUP: a row names no event");            \
	PMC_GROUP_ASSERT_(                                                                         \
		1 ROWS(PMC_GROUP_FREE_),                                                           \
		"PMC_GROUP: a field is named state, time_enabled_ns or time_running_ns, "          \
		"as a member of every group: choose another name");                                \
                                                                                                   \
	struct name##_values {                                                                     \
		ROWS(PMC_GROUP_MEMBER_)                                                            \
		uint64_t time_enabled_ns;                                                          \
		uint64_t time_running_ns;                                                          \
		enum pmc_state state;                                                              \
	};                                                                                         \
                                                                                                   \
	struct name {                                                                              \
		struct pmc_group_typed typed;                                                      \
	};                                                                                         \
                                                                                                   \
	static const struct pmc_group_typed_field                                                  \
		name##_fields[name##_n_fields > 0 ? name##_n_fields : 1] PMC_GROUP_UNUSED_ = {     \
			ROWS(PMC_GROUP_ROW_)                                                       \
		};                                                                                 \
                                                                                                   \
	static inline PMC_GROUP_ERROR_ int name##_open(struct name *pmc_group_, pid_t pmc_pid_,    \
						       int pmc_cpu_)                               \
	{                                                                                          \
		return pmc_group_typed_open(&pmc_group_->typed, name##_fields, name##_n_fields,    \
					    pmc_pid_, pmc_cpu_);                                   \
	}                                                                                          \
                                                                                                   \
	static inline PMC_GROUP_ERROR_ int name##_open_with(                                       \
		struct name *pmc_group_, const struct pmc_open_options *pmc_how_)                  \
	{                                                                                          \
		return pmc_group_typed_open_with(&pmc_group_->typed, name##_fields,                \
						 name##_n_fields, pmc_how_);                       \
	}                                                                                          \
                                                                                                   \
	PMC_GROUP_CALL_(name, enable)                                                              \
	PMC_GROUP_CALL_(name, disable)                                                             \
	PMC_GROUP_CALL_(name, reset)                                                               \
                                                                                                   \
	static inline PMC_GROUP_ERROR_ int name##_read(struct name *pmc_group_,                    \
						       struct name##_values *pmc_to_)              \
	{                                                                                          \
		uint64_t pmc_read_[name##_n_fields > 0 ? name##_n_fields : 1];                     \
		const uint64_t *pmc_from_ PMC_GROUP_UNUSED_ = pmc_read_;                           \
		struct pmc_group_typed_times pmc_times_;                                           \
		int pmc_error_ = pmc_group_typed_read(&pmc_group_->typed, name##_n_fields,         \
						      pmc_read_, &pmc_times_);                     \
                                                                                                   \
		ROWS(PMC_GROUP_STORE_)                                                             \
		pmc_to_->time_enabled_ns = pmc_times_.enabled_ns;                                  \
		pmc_to_->time_running_ns = pmc_times_.running_ns;                                  \
		pmc_to_->state = pmc_times_.state;                                                 \
		return pmc_error_;                                                                 \
	}                                                                                          \
                                                                                                   \
	static inline PMC_GROUP_UNUSED_ void name##_close(struct name *pmc_group_)                 \
	{                                                                                          \
		if (pmc_group_)                                                                    \
			pmc_group_typed_close(&pmc_group_->typed);                                 \
	}                                                                                          \
                                                                                                   \
	/* The index of the field that the last open failed on; -1: none. */                       \
	static inline PMC_GROUP_UNUSED_ int name##_failed(const struct name *pmc_group_)           \
	{                                                                                          \
		return pmc_group_->typed.failed;                                                   \
	}                                                                                          \
                                                                                                   \
	/* Explains the error of an open or a read. */                                             \
	static inline PMC_GROUP_UNUSED_ void name##_explain(                                       \
		const struct name *pmc_group_, int pmc_error_, struct pmc_failure *pmc_why_)       \
	{                                                                                          \
		pmc_group_typed_explain(&pmc_group_->typed, name##_fields, pmc_error_, pmc_why_);  \
	}                                                                                          \
                                                                                                   \
	/* The modes that are counted; PMC_SCOPE_USER if kernel mode is not permitted. */          \
	static inline PMC_GROUP_UNUSED_ enum pmc_scope name##_scope(const struct name *pmc_group_) \
	{                                                                                          \
		return PMC_GROUP_CAST_(enum pmc_scope, pmc_group_->typed.scope);                   \
	}                                                                                          \
                                                                                                   \
	/* The value of field i of the list, i < my_n_fields. */                                   \
	static inline PMC_GROUP_UNUSED_ uint64_t name##_value(                                     \
		const struct name##_values *pmc_values_, unsigned pmc_i_)                          \
	{                                                                                          \
		const void *pmc_all_ = pmc_values_;                                                \
		uint64_t pmc_one_;                                                                 \
                                                                                                   \
		memcpy(&pmc_one_,                                                                  \
		       PMC_GROUP_CAST_(const char *, pmc_all_) + pmc_i_ * sizeof(pmc_one_),        \
		       sizeof(pmc_one_));                                                          \
		return pmc_one_;                                                                   \
	}                                                                                          \
	PMC_GROUP_END_

#endif
