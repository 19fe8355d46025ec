#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-stacks.t - pmctl trace --stacks: call stacks of records, and of waits in --summary.
. "$(dirname "$0")/lib.sh"
with_tracefs
cd "$T" || exit 1
trace() { run timeout -s KILL 100 "$PMCTL" trace "$@"; }
places='["place_sleep", "place_pipe", "place_mutex", "place_cond"]'

# Kernels drop records of some threads, for every tool alike.
# places_are JQ FLAGS: of a trace of off_cpu the filter is true of all objects together
places_are() {
	local filter=$1
	shift
	trace "$@" -o x.json -- "$PROG/off_cpu"
	[ "$(jq -s --argjson places "$places" "$filter" x.json)" = true ]
}

# ---- waits of --summary -------------------------------------------------------------------------
# A thread's longest wait is in the function of its name.
in_place='map(select(.name | IN($places[])) | .name as $name | .blocked_in[0] |
	.ns > 190000000 and .count > 0 and (.stack | index($name) != null and index($name) < index("start"))) | length == ($places | length) and all'
mostly "stacks of waits" places_are "$in_place" --summary --stacks --format json
is "$(jq -s 'map(([.blocked_in[].ns] | add) == ([.blocked_ns[]] | add)) | all' x.json)" true \
	"stacks add up to the time blocked"
# Frame pointers: the C library has none, so the function that called it is left out.
places='["place_sleep", "place_pipe"]' mostly "by frame pointers" places_are "$in_place" --summary --unwind fp --format json
mostly "of pools" places_are 'map(.blocked_in | map(.stack[]) | index("place_mutex")) | any' --summary -g --by pool --format json
table_has_places() {
	trace --summary -g -o table -- "$PROG/off_cpu"
	for place in $(jq -r ".[]" <<<"$places"); do
		sed -n "/^$place /{n;p;q}" table | grep -qE "^ +[0-9]+ % in .*$place < start < " || return 1
	done
}
mostly "the table has a line with the stack of each place" table_has_places
# 200 ms in 4 call sites of a function are more than 120 ms in one of another.
sites='.[0].blocked_in | [(.[0].stack | index("often") != null), .[0].count, length == (map(.stack) | unique | length)]'
sites_are_one() {
	trace --summary -g --format json -o x.json -- "$PROG/call_sites"
	[ "$(jq -sc "$sites" x.json)" = '[true,4,true]' ]
}
mostly "call sites of one function are one place" sites_are_one
trace --summary --format json -o x.json -- "$PROG/off_cpu"
is "$(jq -s 'map(has("blocked_in")) | any' x.json)" false "without --stacks there are none"

# ---- a process that was there before ------------------------------------------------------------
mkfifo in
"$PROG/off_cpu" input <in &
pid=$!
exec 9>in
await grep -q '^State:.S' /proc/$pid/status
# A byte at a time, until the trace ends.
feed() { while kill -0 "$1" 2>/dev/null; do echo >&9; sleep 0.01; done; }
feed_trace() {
	timeout -s KILL 100 "$PMCTL" trace "$@" >out 2>err &
	feed $!
	wait $!
	status=$?
}
# The wait in which the trace began has no stack.
input_waits() {
	feed_trace --summary -g -p $pid -d 300ms --format json -o x.json
	[ "$(jq "select(.tid == $pid) | .blocked_in | map(select(.stack != []) | .stack |
	index(\"call_input\") < index(\"place_input\") and index(\"place_input\") < index(\"main\")) | length > 0 and all" x.json)" = true ]
}
mostly "-p: waits of a process that was mapped before" input_waits
input_switches() {
	feed_trace -e sched:sched_switch --filter "prev_pid == $pid" -g -a -d 300ms --format json -o x.json
	[ "$(jq -s 'map(select(.event) | .stack | index("call_input") < index("place_input") and index("place_input") < index("main")) |
	length > 0 and all' x.json)" = true ]
}
mostly "-a: stacks of records of such a process" input_switches
input_lines() {
	feed_trace -e sched:sched_switch -g -p $pid -d 300ms -o x
	[[ $(cat x) =~ $' prev_pid='$pid$' '[^$'\n']*$'\n'($'\t'[^$'\n']*$'\n')*$'\tcall_input\n\tplace_input\n\tmain\n' ]]
}
mostly "text: a line for each function" input_lines
exec 9>&-
wait $pid

# ---- records of a command -----------------------------------------------------------------------
pipe_switches() {
	trace -e sched:sched_switch --filter 'prev_comm == "place_pipe"' -g --format fields -o x -- "$PROG/off_cpu"
	grep -q ' stack=[^=]*;call_read;place_pipe;start;start_thread' x
}
mostly "fields: functions from the innermost on" pipe_switches
trace -e sched:sched_process_exec -g --format json -o x.json -- env true
is "$status $(jq -s 'map(.stack | length > 0) | length > 0 and all' x.json)" "0 true" "a program that has just begun"
trace -e sched:sched_process_exit --format fields -o x -- true
is "$(grep -c 'stack=' x)" 0 "without --stacks there are none"

trace -e sched:sched_switch --unwind both -a
is "$status" 2 "an unknown --unwind"
like "$(cat err)" "dwarf or fp" "and what there is"

done_testing
