#!/bin/bash
# SPDX-License-Identifier: MIT
# cost.t - what the agent costs in instructions, user and kernel, where they can be counted.
. "$(dirname "$0")/lib.sh"
machine

# of NAME: agent minus bare.
of() { echo $(($(cat "$M/$1.agent") - $(cat "$M/$1.bare"))); }
# pct NAME: of what the bare program takes.
pct() { awk -v a="$(cat "$M/$1.agent")" -v b="$(cat "$M/$1.bare")" 'BEGIN { printf "%.4f", (a - b) * 100 / b }'; }
each() { echo $((($(of "$1-300") - $(of "$1-100")) / 200)); }
bare=$((($(cat "$M/threads-300.bare") - $(cat "$M/threads-100.bare")) / 200))
{
	echo "start_instructions $(of start)"
	echo "start_bare_instructions $(cat "$M/start.bare")"
	echo "thread_instructions $(each threads)"
	echo "thread_accounting_instructions $(each plain)"
	echo "thread_bare_instructions $bare"
	echo "steady_pct $(pct steady)"
	echo "shared_pct $(pct shared)"
} >"$T/costs"
mkdir -p "$O/vm" && cp "$T/costs" "$O/vm/costs"
diag_file "$T/costs" "instructions, user and kernel, six events"

between "$(pct steady)" 0 0.5 "steady state: at most 0.5 % of a program of 2,000 million instructions"
between "$(pct shared)" 0 0.5 "and with four threads that take turns on the processor"
# What they take today, with room; most of it is the kernel's, opening and closing six events.
between "$(of start)" 1 3100000 "start-up: at most 3.1 million instructions"
between "$(each threads)" 1 700000 "a thread: at most 700,000 instructions"
between "$(each plain)" 1 200000 "a thread with OS accounting only: at most 200,000 instructions"

done_testing
