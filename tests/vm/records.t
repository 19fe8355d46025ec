#!/bin/bash
# SPDX-License-Identifier: MIT
# records.t - the sampler on a machine with a PMU: registers and stacks of the emulated processor,
# throttling, counts read without a system call.
. "$(dirname "$0")/lib.sh"
machine

got() {
	sed -n "s/^$1 //p" "$M/records.out"
}
is "$(cat "$M/records.rc")" 0 "the sampling program exits with 0" || diag_file "$M/records.err" "it says"

between "$(got throttles)" 1 100000 "a sample every 1,000 cycles: throttling is reported"
between "$(got unthrottles)" 1 100000 "the end of throttling is reported"

between "$(got samples)" 49 50 "a sample for each of 50 periods of cycles"
is "$(got undecodable)" 0 "every record can be decoded"
is "$(got agree)" "$(got samples)" "registers, call chain, reading and period of each sample agree"
is "$(got stacks)" "$(got samples)" "each sample has the stack, starting at its stack pointer"
between "$(got falls)" 48 50 "the loop's register decreases by half the period between samples"

is "$(got user-not-asked)" -95 "user-space read of an event opened without user access: EOPNOTSUPP"
is "$(got user)" 0 "user-space read of an event opened with user access works"
is "$(got user-between)" 1 "value and times of a user-space read lie between those of two read(2) calls"

done_testing
