/* SPDX-License-Identifier: MIT */
/* preload_empty: what the loader itself charges for one more library. */
extern int pmc_bench_nothing;
int pmc_bench_nothing;
