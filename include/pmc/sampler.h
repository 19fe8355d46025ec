/* SPDX-License-Identifier: MIT */
/*
 * pmc/sampler.h - records from the ring buffers of counters: one ring, or many in the order of
 * time.
 *
 * A sampler maps the ring of one counter (perf_event_open(2), "MMAP layout") and returns its
 * records, decoded (pmc/record.h). More counters may write to the same ring. A sampler set reads
 * many rings, for example one per CPU, as one stream.
 *
 * Losses are counted: the kernel drops records while the ring is full and reports their number with
 * the next record that fits (PERF_RECORD_LOST, summed in the totals). pmc_sampler_lost() includes
 * those not reported yet, if the counter has PMC_READ_FORMAT_LOST (Linux 6.0).
 *
 * A sampler or set is used by one thread at a time; not async-signal-safe. The ring is not mapped
 * in children of fork(): there all functions but the closers return -ESTALE. Functions return 0 or
 * a negative errno; -EINVAL also means that an argument is NULL.
 */
#ifndef PMC_SAMPLER_H
#define PMC_SAMPLER_H

#include <pmc/api.h>
#include <pmc/counter.h>
#include <pmc/record.h>

PMC_API_BEGIN

struct pmc_sampler;
struct pmc_sampler_set;

/* Updated as records are returned. */
struct pmc_sampler_totals {
	uint64_t records;      /* returned, of any type, including undecodable ones */
	uint64_t samples;      /* of these PERF_RECORD_SAMPLE */
	uint64_t bytes;	       /* of all records */
	uint64_t lost;	       /* records of any type, from PERF_RECORD_LOST */
	uint64_t lost_samples; /* samples dropped by the PMU, from PERF_RECORD_LOST_SAMPLES */
	uint64_t throttles;    /* times an event was stopped for sampling too fast */
	uint64_t undecodable;  /* returned with -EPROTO */
	uint64_t late;	       /* of a set: returned after a newer one */
	uint64_t reserved[8];
};

/* ---- one ring --------------------------------------------------------------------------- */

/*
 * Maps `pages` pages (a power of 2) as the ring of `counter`. 0 pages: no ring, only what
 * pmc_sampler_read_user() needs. The counter remains the caller's; if it is closed first, the
 * records in the ring can still be read, and no others follow (-EBADF).
 * -EBUSY: the counter has a sampler. -EINVAL: pages is not a power of 2, or the counter is
 * inherited and not bound to a CPU. -EPERM: more memory than perf_event_mlock_kb and RLIMIT_MEMLOCK
 * allow. -EOPNOTSUPP: attr.write_backward. -ENOMEM. failure may be NULL.
 */
int pmc_sampler_open(struct pmc_sampler **sampler, struct pmc_counter *counter, unsigned pages,
		     struct pmc_failure *failure);
/* Unmaps the ring, detaches its counters and removes it from its set; closes a counter that
 * pmc_sampler_set_open() opened. Accepts NULL. */
void pmc_sampler_close(struct pmc_sampler *sampler);
/* The counter that the ring was opened for; NULL if it is closed. */
struct pmc_counter *pmc_sampler_counter(const struct pmc_sampler *sampler);
/* Explains an error of a function of samplers and sets: *failure gets the event and a line of
 * advice. sampler may be NULL. */
void pmc_sampler_explain(const struct pmc_sampler *sampler, int error, struct pmc_failure *failure);

/*
 * Lets another counter of the same CPU or thread write to this ring (PERF_EVENT_IOC_SET_OUTPUT).
 * -EINVAL: the kernel refuses the pair; or their records have different layouts and cannot be
 * distinguished: both attrs then need PERF_SAMPLE_IDENTIFIER and sample_id_all. -EEXIST: attached
 * already. -EBUSY: the counter has another sampler.
 * For two equal software events on one thread the kernel (6.3 and later) gives the samples of both
 * the id of one, so record->counter is that one.
 */
int pmc_sampler_attach(struct pmc_sampler *sampler, struct pmc_counter *counter);
/* Detaches a counter. Its records in the ring remain, with record->counter NULL. -ENOENT: not
 * attached. -EINVAL: the counter that the ring was opened for. */
int pmc_sampler_detach(struct pmc_sampler *sampler, const struct pmc_counter *counter);

/* Pauses and resumes the kernel's writing (PERF_EVENT_IOC_PAUSE_OUTPUT, Linux 4.7). Records of the
 * time in between count as lost. */
int pmc_sampler_pause(struct pmc_sampler *sampler);
int pmc_sampler_resume(struct pmc_sampler *sampler);

/*
 * The next record, valid until the next call on this sampler. Never blocks.
 * -EAGAIN: none now. -ENODATA: none, and none will follow: the tasks of all counters of this ring
 * have exited (detected by pmc_sampler_next_wait()). -EPROTO: the record cannot be decoded (see
 * pmc_record_decode()); call again for the next. Permanent: -EBADMSG: the ring is damaged; -EIO: an
 * event is in error state; -EBADF: a counter's descriptor is closed. -EBUSY: the sampler is in a
 * set.
 */
int pmc_sampler_next(struct pmc_sampler *sampler, struct pmc_record *record);

/*
 * As pmc_sampler_next(), but waits up to `timeout_ms` (-1: no limit) for a record; -EAGAIN: timed
 * out. The kernel wakes the reader at attr.wakeup_events or wakeup_watermark, by default at half
 * the ring; in any case a record waits at most 100 ms. -EINTR: a signal handler ran; call again.
 */
int pmc_sampler_next_wait(struct pmc_sampler *sampler, struct pmc_record *record, int timeout_ms);

void pmc_sampler_read_totals(const struct pmc_sampler *sampler, struct pmc_sampler_totals *totals);

/* Records that the kernel has dropped so far, reported or not (PERF_FORMAT_LOST of all counters of
 * the ring). -EOPNOTSUPP: a counter does not have this format. */
int pmc_sampler_lost(const struct pmc_sampler *sampler, uint64_t *lost);

/* A descriptor for poll(2): readable when the kernel's wake-up condition is met. Attached counters
 * have their own (pmc_counter_fd()). */
int pmc_sampler_fd(const struct pmc_sampler *sampler);

/*
 * The counter's raw count and times in ns, read without a system call by the thread it counts.
 * -EOPNOTSUPP: not possible on this CPU, kernel or event, or not now (the event is not on a
 * counter): use pmc_counter_read().
 */
int pmc_sampler_read_user(const struct pmc_sampler *sampler, uint64_t *count, uint64_t *enabled_ns,
			  uint64_t *running_ns);

/* ---- many rings in time order -----------------------------------------------------------
 *
 * A record gets its time before it is published, so another ring may show a newer one first. A
 * record is returned only when no older one can appear: a round looks at all rings; when a second
 * round, begun at least `settle` later, has looked too, it has found every record older than those
 * of the first, because by then they are published.
 *
 * The order is right unless the kernel takes longer than `settle` to publish a record (it takes
 * microseconds; longer if a virtual CPU is preempted just then), the perf clocks of two CPUs differ
 * (not with attr.use_clockid), or an interrupt writes to the same ring between the time and the
 * publication of a record (rings of several events; PMU events). Records out of order are still
 * returned, and counted in totals.late. A record waits at most two `settle`. Records stay in their
 * rings until then, so memory is bounded, and a ring must hold what is written in two `settle` and
 * while the reader is busy. Rings whose events have ended do not delay others.
 */

/* settle_ns: 0 means 1 ms. */
int pmc_sampler_set_new(struct pmc_sampler_set **set, uint64_t settle_ns);
/*
 * A set with a ring of `pages` pages on every online CPU, for one event. Of the options `cpu` is
 * ignored; the target is PMC_TARGET_ANY unless it is a cgroup, a process or a pid other than 0; the
 * time and sample_id_all, which the order needs, are added, and PMC_READ_FORMAT_LOST if the kernel
 * has it.
 * The rings and counters belong to the set. Errors: pmc_counter_open(), pmc_sampler_open().
 */
int pmc_sampler_set_open(struct pmc_sampler_set **set, const struct pmc_counter_event *event,
			 const struct pmc_open_options *options, unsigned pages,
			 struct pmc_failure *failure);
/* Closes the samplers that pmc_sampler_set_open() opened, and leaves others open. Accepts NULL. */
void pmc_sampler_set_free(struct pmc_sampler_set *set);

/*
 * Adds a ring at any time; its records older than the newest returned count as late. -EINVAL: its
 * records have no time (PERF_SAMPLE_TIME and sample_id_all), or a clock other than the set's.
 * -EBUSY: it is in a set.
 */
int pmc_sampler_set_add(struct pmc_sampler_set *set, struct pmc_sampler *sampler);
/* Removes a ring, which is then the caller's; pmc_sampler_next() returns its remaining records.
 * -ENOENT: not in this set. */
int pmc_sampler_set_remove(struct pmc_sampler_set *set, struct pmc_sampler *sampler);

/*
 * The next record in time, valid until the next call on the set or one of its samplers; *from (may
 * be NULL) is the sampler it comes from. Errors: pmc_sampler_next(), with -EAGAIN: none is ready.
 * -ENODATA: all rings have ended, or there is none. -EBADMSG, -EIO, -EBADF: the ring *from has
 * failed (reported once); others continue.
 */
int pmc_sampler_set_next(struct pmc_sampler_set *set, struct pmc_record *record,
			 struct pmc_sampler **from);
/* As pmc_sampler_next_wait(). */
int pmc_sampler_set_next_wait(struct pmc_sampler_set *set, struct pmc_record *record,
			      struct pmc_sampler **from, int timeout_ms);
/* Enables and disables the counters of all rings. A fork that is under way meanwhile gives the
 * child an inherited event in the old state, and may exchange it with the parent's
 * (kernel/events/core.c, perf_event_context_sched_out): of processes that fork all the time, enable
 * twice, 2 ms apart. */
int pmc_sampler_set_enable(struct pmc_sampler_set *set);
int pmc_sampler_set_disable(struct pmc_sampler_set *set);
/* The sum of pmc_sampler_lost() of all rings. */
int pmc_sampler_set_lost(const struct pmc_sampler_set *set, uint64_t *lost);
/* Totals of the records that the set returned. */
void pmc_sampler_set_read_totals(const struct pmc_sampler_set *set,
				 struct pmc_sampler_totals *totals);

PMC_API_END
#endif
