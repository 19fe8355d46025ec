#!/bin/bash
# SPDX-License-Identifier: MIT
# cost.t - overhead of the agent in user and kernel instructions, on a machine with a PMU.
. "$(dirname "$0")/lib.sh"
machine

# of NAME: instructions with the agent minus those without.
of() { echo $(($(cat "$M/$1.agent") - $(cat "$M/$1.bare"))); }
# pct NAME: overhead in percent of the instructions without the agent.
pct() { awk -v a="$(cat "$M/$1.agent")" -v b="$(cat "$M/$1.bare")" 'BEGIN { printf "%.4f", (a - b) * 100 / b }'; }
# Of a thread, from 1,000 of them: from 200 it varied by 700 instructions between runs.
each() { echo $((($(of "$1-1100") - $(of "$1-100")) / 1000)); }
bare=$((($(cat "$M/threads-1100.bare") - $(cat "$M/threads-100.bare")) / 1000))
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

between "$(pct steady)" 0 0.5 "steady state: overhead is at most 0.5 % of 2,000 million instructions"
between "$(pct shared)" 0 0.5 "four threads that share one CPU: overhead is at most 0.5 %"
# Bounds above the present values; most instructions are the kernel's, to open and close six events.
between "$(of start)" 1 1300000 "start-up: overhead is at most 1.3 million instructions"
between "$(each threads)" 1 120000 "overhead of a thread is at most 120,000 instructions"
between "$(each plain)" 1 9500 "overhead of a thread with OS accounting only is at most 9,500 instructions"

done_testing
