#!/bin/bash
# SPDX-License-Identifier: MIT
# half.t - a processor with two cycles per instruction: IPC is 0.500, instruction counts are the same.
. "$(dirname "$0")/lib.sh"
ICOUNT=shift=1,sleep=off machine

for seq in 1 2; do
	is "$(jq -r "first(.threads[] | select(.seq == $seq)).metrics.ipc * 1000 | round" "$M/half.json")" 500 \
		"IPC of thread $seq is 0.500"
done
is $(($(value half 2 instructions:u) - $(value half 1 instructions:u))) 99000000 \
	"instructions of two loops differ by exactly the difference of their lengths"

done_testing
