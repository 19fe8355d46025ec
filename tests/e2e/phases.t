#!/bin/bash
# SPDX-License-Identifier: MIT
# PMC_START=off, PMC_DELAY and pmctl ctl: every column covers the time in which counting was on.
. "$(dirname "$0")/lib.sh"

cd "$T" || exit 1
mkfifo in
export PMC_REPORT=off

answered() { [ "$(grep -c done log)" -ge "$1" ]; }
step() {
	local before
	before=$(grep -c done log)
	echo go >&9
	await answered $((before + 1))
}

# What task-clock has more than the CPU time, up to $taken, is a hypervisor's.
own_clock='def clock: .cpu_ns as $cpu | .events[0].value |
	if $cpu != null and . != null and . > $cpu and . - $cpu <= $taken then $cpu else . end;'

# steps: the value of each column of the worker, as a number of steps.
steps() {
	jq -r --argjson taken "$taken" "$own_clock"'
		def n($one): if . == null then "-" else . / $one | round end;
		[.threads[] | select(.seq == 1)][0] as $t |
		[.regions[] | select(.region == "step")][0] as $r |
		"cpu \($t.cpu_ns | n(100000000)) faults \($t.minor_faults | n(2048))",
		"switches \($t.voluntary_switches | n(102))",
		"clock \($t | clock | n(100000000)) events \($t.events[1].value | n(2048))",
		"os \([$t.events[2:4][].value] | if index(null) then null else add end | n(100000000))",
		"calls \($r.calls // 0) region \($r.cpu_ns // 0 | n(100000000))",
		"process \(.processes[0] | .coverage.cpu_ns | n(100000000))",
		"\(.processes[0].minor_faults | n(2048))"' "$1" | tr '\n' ' '
}

# From `before` on, which is known in clock ticks.
end_taken() { taken=$(($(stolen) - before + 20000000)); }

# phase EVENTS NAME OPERATIONS: PMC_OUT of a run in which B is a step and the rest is for pmctl ctl.
phase() {
	local op
	: >log
	rm -f run.pmc
	before=$(stolen)
	PMC_EVENTS=$1 PMC_OUT=$T/run.pmc LD_PRELOAD=$AGENT "$PROG/phases" <in >log 2>err &
	pid=$!
	exec 9>in
	await grep -q ready log
	for op in $2; do
		case $op in
		B) step ;;
		D) rm -f now.pmc; "$PMCTL" dump "$pid" -o now.pmc >/dev/null && "$PMCTL" report --format json now.pmc >now.json ;;
		*) "$PMCTL" ctl "$pid" "$op" >/dev/null || diag "ctl $op failed" ;;
		esac
	done
	exec 9>&-
	wait "$pid"
	end_taken
	"$PMCTL" report --format json run.pmc >run.json
}

# table STEPS NAME OPERATIONS: each column has the value of that many steps, with and without events.
table() {
	local n=$1 clock events none=$1 os
	[ "$n" = 0 ] && none=-
	for events in task-clock,page-faults software/config=98/,software/config=99/; do
		events+=,user-time,system-time
		clock=$n
		case $events in *98*) clock=- ;; esac
		phase "$events" "$3"
		# A step that was not counted at all has no value.
		[ "$n" = 0 ] && [ "$clock" = 0 ] && clock="[-0]"
		os=$none
		like "$(steps run.json)" "^cpu $none faults $none switches $none clock $clock events $clock os $os calls $n region $n process $none $none $" \
			"$2: $n steps in every column (${events%%,*})" || diag_file run.json run.json
	done
}
export PMC_INHERIT=full
PMC_START=off table 0 "PMC_START=off" "B"
PMC_START=off table 1 "PMC_START=off, start" "B start B"
table 1 "stop" "B stop B"
table 2 "stop and start" "B stop B start B"
table 1 "reset" "B B reset B"
table 0 "stop and reset" "B stop B reset B"
PMC_START=off table 1 "everything" "B start B reset B stop B"


# ---- notes and ratios of a phase ---------------------------------------------------------------
PMC_START=off phase task-clock,page-faults "B start D B"
is "$(json now.json '[.threads[] | .events[] | "\(.state) \(.value)"] | unique | join(", ")')" "counted 0" \
	"threads that have slept since ctl start counted 0"
is "$(json run.json '[.threads[] | select(.seq == 2) | .events[] | "\(.state) \(.value)"] | unique | join(", ")')" \
	"counted 0" "a thread that sleeps until the end counted 0"
"$PMCTL" report run.pmc >table
like "$(tr -s '\n ' "  " <table)" "not counted .PMC_START.* are of the rest" \
	"a note: values cover the time in which counting was on"
unlike "$(cat table)" "not counted:" "no event of a sleeping thread is reported as not counted"
like "$(grep coverage table)" "coverage (9[5-9]|100)" "coverage is relative to the phase"
is "$(json run.json '.threads[] | select(.seq == 1) | .metrics | .cpu_pct > 0 and .cpu_pct <= 100')" true \
	"busy % is relative to the phase"

# ---- intervals since a reset add up to the row ---------------------------------------------------
phase task-clock,page-faults "B D B reset D B"
is "$(json now.json '[.threads[] | select(.seq == 1) | .events[0] | "\(.state) \(.value < 50000000)"] | join(" ")')" \
	"counted true" "after the reset the row starts at 0"
# intervals OPERATIONS: as phase; D is a snapshot in the dump of the process.
intervals() {
	local op
	: >log
	rm -f run.pmc
	before=$(stolen)
	PMC_EVENTS=task-clock,page-faults PMC_OUT=$T/run.pmc LD_PRELOAD=$AGENT "$PROG/phases" <in >log 2>err &
	pid=$!
	exec 9>in
	await grep -q ready log
	for op in $1; do
		case $op in
		B) step ;;
		D) "$PMCTL" dump "$pid" >/dev/null ;;
		*) "$PMCTL" ctl "$pid" "$op" >/dev/null ;;
		esac
	done
	exec 9>&-
	wait "$pid"
	end_taken
}
intervals "B D B reset B D B"
"$PMCTL" report --timeline --format json run.pmc | jq -c --argjson taken "$taken" "$own_clock"'select(.seq == 1) |
	[(.cpu_ns / 100000000 | round), (clock / 100000000 | round), .events[0].state, .dt_ns > 0]' >lines
is "$(tr '\n' ' ' <lines)" '[1,1,"counted",true] [1,1,"counted",true] [1,1,"counted",true] ' \
	"intervals: one step before the reset, two after it" || diag_file lines lines

# ---- intervals since a start add up to the row ---------------------------------------------------
PMC_START=off intervals "D B D start B D B stop D B D start B"
"$PMCTL" report --format json run.pmc >run.json
"$PMCTL" report --timeline --format json run.pmc >lines
columns='[.cpu_ns, .minor_faults, .major_faults, .voluntary_switches, .involuntary_switches, .events[].value]'
ok "intervals: those since PMC_START=off add up to each row" jq -e --slurpfile lines lines '[.threads[] | .seq as $seq |
	'"$columns"' == ([$lines[] | select(.seq == $seq) | '"$columns"' | map(. // 0)] | transpose | map(add))] |
	length == 3 and all' run.json || diag_file lines lines

# ---- PMC_DELAY: a thread that runs starts counting once the delay is over ------------------------
# The first step has to be over before counting starts.
for delay in 3 10 40; do
	: >log
	rm -f run.pmc
	before=$(stolen)
	begin=$SECONDS
	PMC_DELAY=${delay}s PMC_EVENTS=task-clock,page-faults,user-time,system-time PMC_OUT=$T/run.pmc LD_PRELOAD=$AGENT \
		"$PROG/phases" <in >log 2>err &
	pid=$!
	exec 9>in
	await grep -q ready log
	step
	late=$((SECONDS - begin > delay - 2))
	[ $late = 1 ] || while [ "$SECONDS" -le $((begin + delay + 1)) ]; do sleep 0.2; done
	step
	step
	exec 9>&-
	wait "$pid"
	end_taken
	[ $late = 1 ] || break
done
"$PMCTL" report --format json run.pmc >run.json
like "$(steps run.json)" "^cpu [12] faults [12] switches [12] clock [12] events [12] os [12] calls [12] region [12] process [12] [12] $" \
	"PMC_DELAY: every column has the two steps after it only" || diag_file run.json run.json

# ---- pmctl run --delay: from outside, in processes that sleep ----------------------------------------
# Nothing in the tree uses CPU time until the step.
: >log
rm -f run.pmc
PMC_EVENTS=task-clock,page-faults "$PMCTL" run --delay 100ms -o run.pmc --report off -- \
	sh -c "'$PROG/phases'; :" <in >log 2>err &
pid=$!
exec 9>in
await grep -q ready log
top=$(pgrep -P "$pid")
count() { [ "$("$PMCTL" ctl --tree "$top" status | grep -c 'counting is on,')" = 2 ]; }
ok "run --delay: counting starts in processes that sleep" await count
step
finish
is "$status $(cat err)" "0 " "run --delay: the command's status, no message"
"$PMCTL" report --format json --where name=worker run.pmc >run.json
is "$(json run.json '[.threads[] | (.cpu_ns / 100000000 | round), .minor_faults >= 2048] | tostring')" \
	"[1,true]" "run --delay: work after that is counted" || diag_file run.json run.json

# A file that may not be read: no other process of the user may read the program's memory.
cp "$PROG/phases" sealed
chmod 111 sealed
: >log
(as_nobody env -u PMC_OUT "$PMCTL" run --delay 100ms --report off -- "$T/sealed") <in >log 2>err &
pid=$!
exec 9>in
await grep -q ready log
ok "run --delay: a process that may not be read: a message" await grep -q 'CPU time.*cannot read' err
finish
is "$status $(wc -l <err)" "0 1" "run --delay: the command's status, one message" || diag_file err err

done_testing
