#!/bin/bash
# SPDX-License-Identifier: MIT
# planner.t - the counter planner compared with brute force; its results for the Apple M2's events.
cd "$(dirname "$0")/.." || exit 1
exec "${O:-build}/planner/planner" data/apple-m2-events.tsv
