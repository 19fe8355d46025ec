/* SPDX-License-Identifier: MIT */
/*
 * pmc/record.h - the records of a perf ring buffer, decoded.
 *
 * A record is a struct perf_event_header and a body whose layout depends on its type and the
 * perf_event_attr of the event that wrote it (perf_event_open(2), "MMAP layout"; the order of a
 * sample's fields is perf_output_sample() of kernel/events/core.c, which differs from the page in
 * where PERF_SAMPLE_AUX stands). Decoding does not allocate: a struct pmc_record points into the
 * bytes it was decoded from and is valid as long as they are. The bytes are not trusted: nothing
 * outside [bytes, bytes + size) is read.
 *
 * All functions are async-signal-safe and thread-safe.
 */
#ifndef PMC_RECORD_H
#define PMC_RECORD_H

#include <linux/perf_event.h>
#include <pmc/api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PMC_API_BEGIN

/* Missing in older <linux/perf_event.h>. */
#define PMC_RECORD_AUX_OUTPUT_HW_ID   21
#define PMC_RECORD_CALLCHAIN_DEFERRED 22
#define PMC_SAMPLE_BRANCH_COUNTERS    (1U << 19)
#define PMC_READ_FORMAT_LOST	      (1U << 4)
#define PMC_CONTEXT_USER_DEFERRED     ((uint64_t)-640)

struct pmc_counter;

/* Bytes of the record without further structure. */
struct pmc_record_span {
	const unsigned char *data; /* not aligned */
	size_t size;		   /* bytes */
};

/* Counts (PERF_SAMPLE_READ, PERF_RECORD_READ), as read(2) of the event gives them; see
 * pmc_record_read_value(). Times are 0 unless `read_format` has their bits. */
struct pmc_record_read {
	uint64_t read_format; /* PERF_FORMAT_* of the event */
	uint64_t n;	      /* values: 1, or those of the group */
	uint64_t enabled_ns;
	uint64_t running_ns;
	const uint64_t *words; /* the reading as the kernel wrote it */
};

struct pmc_record_value {
	uint64_t value;
	uint64_t id;   /* 0 unless PERF_FORMAT_ID */
	uint64_t lost; /* 0 unless PERF_FORMAT_LOST */
	uint64_t reserved;
};

/* Sampled registers; see pmc_record_reg(). */
struct pmc_record_regs {
	uint64_t abi;  /* PERF_SAMPLE_REGS_ABI_*; _NONE: no registers (a kernel thread) */
	uint64_t mask; /* attr.sample_regs_user or _intr: bit i is register i of asm/perf_regs.h */
	const uint64_t *values; /* one for each bit of mask, lowest first; NULL if abi is _NONE */
};

struct pmc_record_branches {
	uint64_t n;
	uint64_t hw_idx;			 /* UINT64_MAX: not recorded */
	const struct perf_branch_entry *entries; /* newest first */
	const uint64_t *counters;		 /* one for each entry, or NULL */
};

/* A member is valid if its bit is set in pmc_record.present. */
struct pmc_record_sample {
	uint64_t ip;	 /* PERF_SAMPLE_IP; exact if misc has PERF_RECORD_MISC_EXACT_IP */
	uint64_t addr;	 /* PERF_SAMPLE_ADDR */
	uint64_t period; /* PERF_SAMPLE_PERIOD */
	struct pmc_record_read read; /* PERF_SAMPLE_READ */
	/* PERF_SAMPLE_CALLCHAIN: addresses, and enum perf_callchain_context where the context
	 * changes. */
	const uint64_t *callchain;
	uint64_t n_callchain;
	struct pmc_record_span raw; /* PERF_SAMPLE_RAW: a tracepoint's fields, see its format file;
				       up to 7 bytes of padding at the end */
	struct pmc_record_branches branches; /* PERF_SAMPLE_BRANCH_STACK */
	struct pmc_record_regs regs_user;    /* PERF_SAMPLE_REGS_USER */
	struct pmc_record_regs regs_intr;    /* PERF_SAMPLE_REGS_INTR */
	struct pmc_record_span stack_user;   /* PERF_SAMPLE_STACK_USER: from the stack pointer up;
						the bytes copied (dyn_size) */
	union perf_sample_weight weight;     /* _WEIGHT: .full; _WEIGHT_STRUCT: the three parts */
	union perf_mem_data_src data_src;    /* PERF_SAMPLE_DATA_SRC */
	uint64_t transaction;		     /* PERF_SAMPLE_TRANSACTION: PERF_TXN_* */
	uint64_t phys_addr;		     /* PERF_SAMPLE_PHYS_ADDR */
	uint64_t cgroup;		     /* PERF_SAMPLE_CGROUP: id, see PERF_RECORD_CGROUP */
	uint64_t data_page_size;	     /* PERF_SAMPLE_DATA_PAGE_SIZE: bytes */
	uint64_t code_page_size;	     /* PERF_SAMPLE_CODE_PAGE_SIZE: bytes */
	struct pmc_record_span aux;	     /* PERF_SAMPLE_AUX */
};

/* PERF_RECORD_MMAP, PERF_RECORD_MMAP2. A data mapping if misc has PERF_RECORD_MISC_MMAP_DATA. */
struct pmc_record_mmap {
	uint32_t pid, tid;
	uint64_t addr;
	uint64_t len;	      /* bytes */
	uint64_t file_offset; /* bytes */
	const char *filename; /* or [vdso], //anon, ... */
	/* MMAP2 only: the file's identity or, with PERF_RECORD_MISC_MMAP_BUILD_ID, its build id;
	 * the other is 0. */
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags; /* of mmap(2) */
	struct pmc_record_span build_id;
};

struct pmc_record_lost {
	uint64_t id; /* of the event that found the ring full; 0 in PERF_RECORD_LOST_SAMPLES */
	/* Records of any type; in PERF_RECORD_LOST_SAMPLES samples that the PMU dropped. */
	uint64_t lost;
};

struct pmc_record_comm {
	uint32_t pid, tid;
	const char *comm;
	bool exec; /* by exec, not by prctl(PR_SET_NAME); needs attr.comm_exec */
};

/* PERF_RECORD_FORK, PERF_RECORD_EXIT */
struct pmc_record_task {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

/* PERF_RECORD_THROTTLE, PERF_RECORD_UNTHROTTLE */
struct pmc_record_throttle {
	uint64_t time, id, stream_id;
};

struct pmc_record_counts {
	uint32_t pid, tid;
	struct pmc_record_read read;
};

struct pmc_record_aux {
	uint64_t offset, size; /* bytes, in the AUX area */
	uint64_t flags;	       /* PERF_AUX_FLAG_* */
};

struct pmc_record_itrace {
	uint32_t pid, tid;
};

/* PERF_RECORD_SWITCH, PERF_RECORD_SWITCH_CPU_WIDE */
struct pmc_record_switch {
	bool out;	/* switched out, else in */
	bool preempted; /* switched out while runnable */
	/* CPU_WIDE only: the next thread (out) or the previous one; else 0. */
	uint32_t other_pid, other_tid;
};

struct pmc_record_namespaces {
	uint32_t pid, tid;
	uint64_t n;
	const struct perf_ns_link_info *links; /* index NET_NS_INDEX, ...; n may be smaller */
};

struct pmc_record_ksymbol {
	uint64_t addr;
	uint32_t len;
	uint16_t ksym_type; /* enum perf_record_ksymbol_type */
	uint16_t flags;	    /* PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER */
	const char *name;
};

struct pmc_record_bpf {
	uint16_t bpf_type; /* enum perf_bpf_event_type */
	uint16_t flags;
	uint32_t id;
	const unsigned char *tag; /* 8 bytes */
};

struct pmc_record_cgroup {
	uint64_t id;
	const char *path;
};

struct pmc_record_text_poke {
	uint64_t addr;
	struct pmc_record_span old_bytes, new_bytes;
};

struct pmc_record_hw_id {
	uint64_t hw_id;
};

/* PMC_RECORD_CALLCHAIN_DEFERRED: the user call chain of samples with this cookie. */
struct pmc_record_deferred {
	uint64_t cookie;
	const uint64_t *callchain;
	uint64_t n_callchain;
};

struct pmc_record {
	uint32_t type;	   /* PERF_RECORD_*; types not in the union are unknown to the library */
	uint16_t misc;	   /* PERF_RECORD_MISC_* */
	uint16_t size;	   /* bytes of the whole record */
	const void *bytes; /* the whole record, struct perf_event_header first; 8-byte aligned */
	const struct perf_event_attr *attr; /* of the event that wrote it */
	const struct pmc_counter *counter;  /* that wrote it; NULL outside a sampler */

	/* PERF_SAMPLE_* bits of the fields present: all fields of a sample; of other records those
	 * of the sample_id trailer (attr.sample_id_all). */
	uint64_t present;
	uint64_t identifier; /* PERF_SAMPLE_IDENTIFIER: the event, as `id` */
	uint64_t id;	     /* PERF_SAMPLE_ID: the event; of an inherited copy the original */
	uint64_t stream_id;  /* PERF_SAMPLE_STREAM_ID: the event; of an inherited copy the copy */
	uint64_t time;	     /* PERF_SAMPLE_TIME: ns of perf's clock, or of attr.clockid */
	uint32_t pid, tid;   /* PERF_SAMPLE_TID; (uint32_t)-1: an exiting task */
	uint32_t cpu;	     /* PERF_SAMPLE_CPU */
	uint32_t reserved[5];

	union {
		uint64_t room[64];			 /* for members of later versions */
		struct pmc_record_sample sample;	 /* PERF_RECORD_SAMPLE */
		struct pmc_record_mmap mmap;		 /* PERF_RECORD_MMAP, _MMAP2 */
		struct pmc_record_lost lost;		 /* PERF_RECORD_LOST, _LOST_SAMPLES */
		struct pmc_record_comm comm;		 /* PERF_RECORD_COMM */
		struct pmc_record_task task;		 /* PERF_RECORD_FORK, _EXIT */
		struct pmc_record_throttle throttle;	 /* PERF_RECORD_THROTTLE, _UNTHROTTLE */
		struct pmc_record_counts counts;	 /* PERF_RECORD_READ */
		struct pmc_record_aux aux;		 /* PERF_RECORD_AUX */
		struct pmc_record_itrace itrace;	 /* PERF_RECORD_ITRACE_START */
		struct pmc_record_switch context_switch; /* PERF_RECORD_SWITCH, _CPU_WIDE */
		struct pmc_record_namespaces namespaces; /* PERF_RECORD_NAMESPACES */
		struct pmc_record_ksymbol ksymbol;	 /* PERF_RECORD_KSYMBOL */
		struct pmc_record_bpf bpf;		 /* PERF_RECORD_BPF_EVENT */
		struct pmc_record_cgroup cgroup;	 /* PERF_RECORD_CGROUP */
		struct pmc_record_text_poke text_poke;	 /* PERF_RECORD_TEXT_POKE */
		struct pmc_record_hw_id hw_id;		 /* PERF_RECORD_AUX_OUTPUT_HW_ID */
		struct pmc_record_deferred deferred;	 /* PMC_RECORD_CALLCHAIN_DEFERRED */
		struct pmc_record_span unknown;		 /* any other: the body, trailer included */
	};
};

/*
 * Decodes the record at `bytes` (8-byte aligned, `size` bytes readable) with the attr of the event
 * that wrote it. attr and bytes must outlive *record. Returns 0.
 * -EINVAL: not aligned. -EBADMSG: the header's size is below 8, not a multiple of 8 or above
 * `size`: the next record cannot be found. -EPROTO: the contents do not fit the record's size
 * (wrong attr, or damage); type, misc, size and bytes are set, so that a reader can continue after
 * it.
 */
int pmc_record_decode(const void *bytes, size_t size, const struct perf_event_attr *attr,
		      struct pmc_record *record);

/* The i-th value of a reading. 0 or -ENOENT. */
int pmc_record_read_value(const struct pmc_record_read *read, uint64_t i,
			  struct pmc_record_value *value);

/* Register number `reg` (asm/perf_regs.h). 0, or -ENOENT: not recorded. */
int pmc_record_reg(const struct pmc_record_regs *regs, unsigned reg, uint64_t *value);

/* The record as one line of text: its type, the fields present, then its own members, as in
 * "sample pid=7 tid=8 time=123 cpu=0 ip=0x4011a6 period=1000 callchain={0x4011a6,0x401200}". Bytes
 * are given by their number, strings with control characters escaped. -EINVAL: NULL, or no room.
 * -ENOSPC: cut. */
int pmc_record_text(const struct pmc_record *record, char *text, size_t size);

/* The name of a record type ("sample", "mmap2", ...); NULL: unknown. A static string. */
const char *pmc_record_name(uint32_t type);

/* The name of a sample field by its PERF_SAMPLE_* bit ("ip", "callchain", ...); NULL: unknown. A
 * static string. */
const char *pmc_record_field_name(uint64_t bit);

PMC_API_END
#endif
