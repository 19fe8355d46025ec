#!/bin/bash
# SPDX-License-Identifier: MIT
# stat.t - pmctl stat on a machine with a PMU: exact, scaled and summed counts, metrics.
. "$(dirname "$0")/lib.sh"
machine

# values FILE: of the first event of each summary.
values() { jq -r 'select(.summary).events[0].value' "$M/$1.json"; }
delta() { values "$1" | { read -r a; read -r b; echo $((b - a)); }; }
is "$(delta two)" 2000 "the difference of two commands is exact"
between "$(delta threads)" 6000 8000 "and that of three threads, and the main thread"
is "$(jq -s '([.[] | select(.summary | not).events[0].value] | add) == .[-1].events[0].value' "$M/intervals.100000000.json")" true \
	"instructions of intervals add up to those of the command"
intervals() { jq -s '[.[] | select(.summary | not).events[0].value] | add' "$M/intervals.$1.json"; }
is "$(($(intervals 100002000) - $(intervals 100000000)))" 2000 "and two commands differ by as many as they should"
between "$(jq -s 'length' "$M/intervals.100000000.json")" 3 1000 "in several intervals"
is "$(jq -s '([.[] | select(.summary | not).events[0].value] | add) == .[-1].events[0].value' "$M/attached.json")" true \
	"and those of a process that was attached to"
# Attached before its first instruction, it also has those of its loader (some 94,000).
between "$(values attached)" 1000000 401000000 "which is counted from then on"
# A steady loop retires the same number of instructions per ns of CPU time.
ok "instructions are in proportion to CPU time" jq -es '.[-1].events as $all |
	[.[1:-2][] | (.events[0].value / .events[1].value) / ($all[0].value / $all[1].value) | . > 0.99 and . < 1.01] |
	all' "$M/attached.json"
# One instruction takes one ns. A switch to the thread takes some 3,000 before its counter starts.
ok "each interval of a steady loop has an instruction for each ns of CPU time, but those of a switch" jq -es '
	[.[1:-2][] | .events[1].value - .events[2].value | . >= 0 and . < 10000] | length >= 3 and all' "$M/attached.json"
is "$(jq -r '[.events[].state] | unique | join(",")' "$M/scaled.json")" scaled "twelve events are multiplexed"
ok "and scaled to within 3 %" jq -e '[.events[].value | . > 194000000 and . < 206000000] | all' "$M/scaled.json"
like "$(cat "$M/default.txt")" "IPC" "default events have IPC"
like "$(cat "$M/default.txt")" "be-stall %" "and the stall ratios of real stall events"
unlike "$(cat "$M/default.txt")" "stall >= %" "and then no lower bound"
like "$(cat "$M/bound.txt")" "stall >= %" "the lower bound of stalls is shown where there are no stall events"
is "$(jq -s '.[0].events[0].value == .[-1].events[0].value' "$M/machine.json")" true "the CPU is the machine"
ok "which has at least the command's instructions" test "$(values machine | tail -1)" -ge 1000000
like "$(head -n 1 "$M/top.csv")" ",instructions:u,task-clock(,|$)" "top: events are columns"
read -r instructions clock <<<"$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	$at["state"] == "R" { i = $at["instructions:u"]; c = $at["task-clock"] } END { printf "%.0f %.0f", i, c }' "$M/top.csv")"
within "$instructions" "$clock" 1 "and a loop has an instruction for each ns of its CPU time"
between "$clock" 800000000 1010000000 "while it runs"

done_testing
