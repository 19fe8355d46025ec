#!/bin/bash
# SPDX-License-Identifier: MIT
# records.t - the sampler where there is a PMU: registers and stacks of another processor, samples
# that come too fast, counts read without a system call.
. "$(dirname "$0")/lib.sh"
machine

got() {
	sed -n "s/^$1 //p" "$M/records.out"
}
is "$(cat "$M/records.rc")" 0 "the program ends well" || diag_file "$M/records.err" "it says"

between "$(got throttles)" 1 100000 "a sample every 1000 cycles is throttled, and that is told"
between "$(got unthrottles)" 1 100000 "and when it goes on"

between "$(got samples)" 49 50 "50 periods of cycles"
is "$(got undecodable)" 0 "every record is understood"
is "$(got agree)" "$(got samples)" "registers, call chain, reading and period of each agree"
is "$(got stacks)" "$(got samples)" "each has the stack, from its stack pointer on"
between "$(got falls)" 48 50 "the loop's register falls by half the period from one to the next"

is "$(got user-not-asked)" -95 "no user access asked for: EOPNOTSUPP"
is "$(got user)" 0 "asked for and allowed: read without a system call"
is "$(got user-between)" 1 "which is between two readings by read(2), times too"

done_testing
