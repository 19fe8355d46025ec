/* SPDX-License-Identifier: MIT */
/* preload_empty: an empty library, to measure the loader's cost of one more library. */
extern int pmc_bench_nothing;
int pmc_bench_nothing;
