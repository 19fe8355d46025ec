/* SPDX-License-Identifier: MIT */
/*
 * pmc/event_names.h - the names of perf's generic events as macros, so that a misspelt one does not
 * compile. Whether a machine has the event shows when it is opened; `pmctl list` tells.
 *
 * 	PMC_EVENT_CYCLES ":u"	with a modifier
 */
#ifndef PMC_EVENT_NAMES_H
#define PMC_EVENT_NAMES_H

/* Hardware. */
#define PMC_EVENT_CPU_CYCLES		  "cpu-cycles"
#define PMC_EVENT_CYCLES		  "cycles"
#define PMC_EVENT_INSTRUCTIONS		  "instructions"
#define PMC_EVENT_CACHE_REFERENCES	  "cache-references"
#define PMC_EVENT_CACHE_MISSES		  "cache-misses"
#define PMC_EVENT_BRANCH_INSTRUCTIONS	  "branch-instructions"
#define PMC_EVENT_BRANCHES		  "branches"
#define PMC_EVENT_BRANCH_MISSES		  "branch-misses"
#define PMC_EVENT_BUS_CYCLES		  "bus-cycles"
#define PMC_EVENT_STALLED_CYCLES_FRONTEND "stalled-cycles-frontend"
#define PMC_EVENT_IDLE_CYCLES_FRONTEND	  "idle-cycles-frontend"
#define PMC_EVENT_STALLED_CYCLES_BACKEND  "stalled-cycles-backend"
#define PMC_EVENT_IDLE_CYCLES_BACKEND	  "idle-cycles-backend"
#define PMC_EVENT_REF_CYCLES		  "ref-cycles"

/* Software. */
#define PMC_EVENT_CPU_CLOCK	   "cpu-clock"
#define PMC_EVENT_TASK_CLOCK	   "task-clock"
#define PMC_EVENT_PAGE_FAULTS	   "page-faults"
#define PMC_EVENT_FAULTS	   "faults"
#define PMC_EVENT_CONTEXT_SWITCHES "context-switches"
#define PMC_EVENT_CS		   "cs"
#define PMC_EVENT_CPU_MIGRATIONS   "cpu-migrations"
#define PMC_EVENT_MIGRATIONS	   "migrations"
#define PMC_EVENT_MINOR_FAULTS	   "minor-faults"
#define PMC_EVENT_MAJOR_FAULTS	   "major-faults"
#define PMC_EVENT_ALIGNMENT_FAULTS "alignment-faults"
#define PMC_EVENT_EMULATION_FAULTS "emulation-faults"
#define PMC_EVENT_DUMMY		   "dummy"
#define PMC_EVENT_BPF_OUTPUT	   "bpf-output"
#define PMC_EVENT_CGROUP_SWITCHES  "cgroup-switches"

/* Caches. */
#define PMC_EVENT_L1_DCACHE_LOADS	    "L1-dcache-loads"
#define PMC_EVENT_L1_DCACHE_LOAD_MISSES	    "L1-dcache-load-misses"
#define PMC_EVENT_L1_DCACHE_STORES	    "L1-dcache-stores"
#define PMC_EVENT_L1_DCACHE_STORE_MISSES    "L1-dcache-store-misses"
#define PMC_EVENT_L1_DCACHE_PREFETCHES	    "L1-dcache-prefetches"
#define PMC_EVENT_L1_DCACHE_PREFETCH_MISSES "L1-dcache-prefetch-misses"
#define PMC_EVENT_L1_ICACHE_LOADS	    "L1-icache-loads"
#define PMC_EVENT_L1_ICACHE_LOAD_MISSES	    "L1-icache-load-misses"
#define PMC_EVENT_L1_ICACHE_PREFETCHES	    "L1-icache-prefetches"
#define PMC_EVENT_L1_ICACHE_PREFETCH_MISSES "L1-icache-prefetch-misses"
#define PMC_EVENT_LLC_LOADS		    "LLC-loads"
#define PMC_EVENT_LLC_LOAD_MISSES	    "LLC-load-misses"
#define PMC_EVENT_LLC_STORES		    "LLC-stores"
#define PMC_EVENT_LLC_STORE_MISSES	    "LLC-store-misses"
#define PMC_EVENT_LLC_PREFETCHES	    "LLC-prefetches"
#define PMC_EVENT_LLC_PREFETCH_MISSES	    "LLC-prefetch-misses"
#define PMC_EVENT_DTLB_LOADS		    "dTLB-loads"
#define PMC_EVENT_DTLB_LOAD_MISSES	    "dTLB-load-misses"
#define PMC_EVENT_DTLB_STORES		    "dTLB-stores"
#define PMC_EVENT_DTLB_STORE_MISSES	    "dTLB-store-misses"
#define PMC_EVENT_DTLB_PREFETCHES	    "dTLB-prefetches"
#define PMC_EVENT_DTLB_PREFETCH_MISSES	    "dTLB-prefetch-misses"
#define PMC_EVENT_ITLB_LOADS		    "iTLB-loads"
#define PMC_EVENT_ITLB_LOAD_MISSES	    "iTLB-load-misses"
#define PMC_EVENT_BRANCH_LOADS		    "branch-loads"
#define PMC_EVENT_BRANCH_LOAD_MISSES	    "branch-load-misses"
#define PMC_EVENT_NODE_LOADS		    "node-loads"
#define PMC_EVENT_NODE_LOAD_MISSES	    "node-load-misses"
#define PMC_EVENT_NODE_STORES		    "node-stores"
#define PMC_EVENT_NODE_STORE_MISSES	    "node-store-misses"
#define PMC_EVENT_NODE_PREFETCHES	    "node-prefetches"
#define PMC_EVENT_NODE_PREFETCH_MISSES	    "node-prefetch-misses"

#endif
