/* SPDX-License-Identifier: MIT */
/*
 * pmc/sampler.h - records out of the ring buffers of counters, one by one or many rings in time
 * order.
 *
 * A sampler maps the ring of one counter (perf_event_open(2), "MMAP layout") and hands out its
 * records, decoded (pmc/record.h). More counters may write into the same ring. A sampler set
 * reads many rings, one for each CPU say, as one stream.
 *
 * What is lost is said: the kernel drops records when the ring is full and reports how many with
 * the next one that fits (PERF_RECORD_LOST, added up in the totals); what it dropped and has not
 * reported yet is in pmc_sampler_lost(), if the counter has PMC_READ_FORMAT_LOST (Linux 6.0).
 *
 * A sampler or set is used by one thread at a time and never in a signal handler. After fork()
 * the ring is not mapped in the child: only the parent may use it. Functions return 0 or a
 * negative errno unless they say otherwise.
 */
#ifndef PMC_SAMPLER_H
#define PMC_SAMPLER_H

#include <pmc/counter.h>
#include <pmc/record.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct pmc_sampler;
struct pmc_sampler_set;

/* Counted as records are handed out. */
struct pmc_sampler_totals {
	uint64_t records;      /* handed out, of any type, undecodable ones too */
	uint64_t samples;      /* of these PERF_RECORD_SAMPLE */
	uint64_t bytes;	       /* of all of them */
	uint64_t lost;	       /* records of any type, as PERF_RECORD_LOST reported them */
	uint64_t lost_samples; /* samples the PMU dropped, as PERF_RECORD_LOST_SAMPLES did */
	uint64_t throttles;    /* times an event was stopped for sampling too fast */
	uint64_t undecodable;  /* handed out with -EPROTO */
	uint64_t late;	       /* of a set: handed out after a newer one */
};

/* ---- one ring --------------------------------------------------------------------------- */

/*
 * Maps `pages` pages (a power of 2) as the ring of `counter`. 0 pages: no ring, only what
 * pmc_sampler_read_user() needs. The counter stays the caller's and must live until
 * pmc_sampler_close().
 * -EINVAL: pages is no power of 2; the counter is inherited and on no particular CPU (the kernel
 * has no ring for that). -EPERM: more memory than perf_event_mlock_kb and RLIMIT_MEMLOCK allow.
 * -EOPNOTSUPP: attr.write_backward, which has no tail. -ENOMEM.
 */
int pmc_sampler_open(struct pmc_sampler **sampler, const struct pmc_counter *counter,
		     unsigned pages);
/* Unmaps; leaves its set, if it is in one. Attached counters have nowhere to write then. NULL is
 * fine. */
void pmc_sampler_close(struct pmc_sampler *sampler);

/*
 * Lets another counter, of the same CPU or thread, write into this ring
 * (PERF_EVENT_IOC_SET_OUTPUT). It must live until it is detached or the sampler closed.
 * -EINVAL: the kernel refuses the pair; or their records are laid out differently and cannot be
 * told apart: then both attrs need PERF_SAMPLE_IDENTIFIER and sample_id_all.
 * -EEXIST: it is attached.
 * Of two equal software events on one thread the kernel (6.3 and later) gives the samples of both
 * the id of one, so that record->counter is that one's; tracepoints and others are not affected.
 */
int pmc_sampler_attach(struct pmc_sampler *sampler, const struct pmc_counter *counter);
/* Its records end here; those in the ring stay readable, with record->counter NULL. -ENOENT: it is
 * not attached. The counter the ring was made for cannot be detached: -EINVAL. */
int pmc_sampler_detach(struct pmc_sampler *sampler, const struct pmc_counter *counter);

/* Stops and restarts the kernel's writing (PERF_EVENT_IOC_PAUSE_OUTPUT, Linux 4.7): what comes
 * meanwhile counts as lost. */
int pmc_sampler_pause(struct pmc_sampler *sampler);
int pmc_sampler_resume(struct pmc_sampler *sampler);

/*
 * The next record, valid until the next call on this sampler. Never blocks.
 * -EAGAIN: nothing there now. -ENODATA: nothing there and nothing will come: every counter of this
 * ring is of a task that is gone (noticed by pmc_sampler_next_wait()). -EPROTO: this one can't be
 * decoded (see pmc_record_decode()); the next can be asked for. -EBADMSG: the ring is damaged;
 * -EIO: the kernel put an event into error state; -EBADF: a counter's descriptor is closed. These
 * three are for good. -EBUSY: the sampler is in a set.
 */
int pmc_sampler_next(struct pmc_sampler *sampler, struct pmc_record *record);

/*
 * As pmc_sampler_next(), but waits up to `timeout_ms` (-1: without end) for a record; -EAGAIN: the
 * time is over. The kernel wakes us when attr.wakeup_events or wakeup_watermark is reached, by
 * default at half the ring; whatever these say, a record waits 100 ms at most. -EINTR: a signal
 * handler ran; nothing is lost, call again.
 */
int pmc_sampler_next_wait(struct pmc_sampler *sampler, struct pmc_record *record, int timeout_ms);

void pmc_sampler_totals(const struct pmc_sampler *sampler, struct pmc_sampler_totals *totals);

/* Records the kernel has dropped so far, by its own account (PERF_FORMAT_LOST of all counters of
 * the ring), reported or not. -EOPNOTSUPP: a counter of the ring does not have this format. */
int pmc_sampler_lost(const struct pmc_sampler *sampler, uint64_t *lost);

/* For poll(2) and the like: readable when the kernel's wake-up condition is met. Attached counters
 * have descriptors of their own (pmc_counter_fd()). */
int pmc_sampler_fd(const struct pmc_sampler *sampler);

/*
 * The counter's count and times, read without a system call, by the thread it counts: count is
 * what read(2) gives, times are in ns. -EOPNOTSUPP: not possible on this CPU, kernel or event, or
 * not at this moment (the event is not on a counter): use pmc_counter_read().
 */
int pmc_sampler_read_user(const struct pmc_sampler *sampler, uint64_t *count, uint64_t *enabled_ns,
			  uint64_t *running_ns);

/* ---- many rings in time order -----------------------------------------------------------
 *
 * Rings fill at different speeds, and a ring that shows nothing may still be about to show
 * something old: a record gets its time before it is published, and an interrupt between the two
 * publishes a newer one first. So a record is handed out only when it is proven that nothing older
 * can come, by rounds. In a round every ring is looked at, and what is there is put in order
 * (within a ring too). Let M be the newest time seen when a round ends. A round that begins at
 * least `settle` later shows everything that got its time before M, because by then whatever was
 * under way is published. When it ends, all up to M is handed out.
 *
 * The order is thus right unless the kernel takes longer than `settle` between giving a record its
 * time and publishing it (microseconds; longer only if a virtual CPU is taken away just then), or
 * perf's clocks of two CPUs differ (they don't with attr.use_clockid). If it happens the record is
 * still handed out, and totals.late says how many. A record waits at most two `settle`. Records
 * stay in their rings until then, so memory is bounded, and a ring must hold what is written to
 * it in two `settle` and while the reader is busy. Rings whose events have ended hold up nothing.
 */

/* settle_ns: 0 means 1 ms. */
int pmc_sampler_set_new(struct pmc_sampler_set **set, uint64_t settle_ns);
/* Its samplers are left open. NULL is fine. */
void pmc_sampler_set_free(struct pmc_sampler_set *set);

/*
 * Adds a ring, at any time; what is in it that is older than the newest record handed out comes
 * late. -EINVAL: its records have no time (PERF_SAMPLE_TIME and sample_id_all), or another clock
 * than the rings before it. -EBUSY: it is in a set.
 */
int pmc_sampler_set_add(struct pmc_sampler_set *set, struct pmc_sampler *sampler);
/* Takes a ring out; what has not been handed out of it comes from pmc_sampler_next() again.
 * -ENOENT: it is not in this set. */
int pmc_sampler_set_remove(struct pmc_sampler_set *set, struct pmc_sampler *sampler);

/*
 * The next record in time, valid until the next call on the set or one of its samplers; *from (may
 * be NULL) is the sampler it comes from. Errors as pmc_sampler_next(): -EAGAIN: nothing is ready.
 * -ENODATA: every ring has ended, or there is none. -EBADMSG, -EIO, -EBADF: the ring *from is at
 * its end, said once; the others go on. -ENOMEM.
 */
int pmc_sampler_set_next(struct pmc_sampler_set *set, struct pmc_record *record,
			 struct pmc_sampler **from);
/* As pmc_sampler_next_wait(). */
int pmc_sampler_set_next_wait(struct pmc_sampler_set *set, struct pmc_record *record,
			      struct pmc_sampler **from, int timeout_ms);
/* The sums of what the set has handed out. */
void pmc_sampler_set_totals(const struct pmc_sampler_set *set, struct pmc_sampler_totals *totals);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
