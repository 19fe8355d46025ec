#!/bin/bash
# SPDX-License-Identifier: MIT
# half.t - a processor of two cycles an instruction: IPC is 0.500, instructions are as they were.
. "$(dirname "$0")/lib.sh"
ICOUNT=shift=1,sleep=off machine

for seq in 1 2; do
	is "$(jq -r "first(.threads[] | select(.seq == $seq)).metrics.ipc * 1000 | round" "$M/half.json")" 500 \
		"IPC of thread $seq is 0.500"
done
is $(($(value half 2 instructions:u) - $(value half 1 instructions:u))) 99000000 \
	"the difference of two loops is exact"

done_testing
