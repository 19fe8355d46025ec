#!/bin/bash
# SPDX-License-Identifier: MIT
# hybrid.t - PMUs that this machine lacks: an uncore PMU and one PMU for each type of core.
#
# In a mount namespace the programs see a sysfs made by the test. Its PMUs are the kernel's software
# events under other names, so they can really be opened and read.
. "$(dirname "$0")/lib.sh"

cd "$T" || exit 1
DEVICES=/sys/bus/event_source/devices

# pmu TREE NAME TYPE FILE TEXT: a PMU whose format is the whole of config, and with TEXT in FILE.
pmu() {
	mkdir -p "$1/$2/format" "$1/$2/events"
	echo "$3" >"$1/$2/type"
	echo "config:0-63" >"$1/$2/format/event"
	echo "$5" >"$1/$2/$4"
}
# Type 1 is software: event 0 is cpu-clock, 1 task-clock, 3 context-switches.
pmu whole machine 1 cpumask 0
echo event=0 >whole/machine/events/clock
echo 1e-9 >whole/machine/events/clock.scale
echo s >whole/machine/events/clock.unit
pmu cores cpu_core 1 cpus 0
pmu cores cpu_atom 1 cpus 1
pmu lacks cpu_core 1 cpus 0
pmu lacks cpu_atom 99 cpus 1
chmod -R a+rX whole cores lacks

# in_tree TREE CMD...: run CMD with the PMUs of TREE in sysfs; CMD replaces the process by exec.
in_tree() {
	(start_in_tree "$@")
}
# The same for a command in the background: $! is CMD's pid.
start_in_tree() {
	exec unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$T/$1" $DEVICES "${@:2}"
}
in_tree whole true 2>/dev/null || skip_all "no mount namespace without root"

# counted TREE EVENTS CMD...: run CMD under the agent; the report is r.json.
counted() {
	local tree=$1 events=$2
	shift 2
	rm -f "$T/r.pmc"
	run in_tree "$tree" env LD_PRELOAD="$AGENT" PMC_EVENTS="$events" PMC_REPORT=off PMC_OUT="$T/r.pmc" "$@"
	"$PMCTL" report --format json "$T/r.pmc" >r.json
	is "$status" 0 "$events: the program exits with 0"
}

# ---- uncore events -------------------------------------------------------------------------
counted whole "task-clock,machine/clock/" "$PROG/churn" 5 20000
is "$(json r.json '.processes[0].machine | map([.name, .state, .unit, .cpus, .core_type]) | tostring')" \
	'[["machine/clock/","counted","s","0",null]]' "an uncore event is counted once, on CPU 0 of its cpumask"
# The clock of a CPU runs all of the time, whichever thread runs there.
is "$(json r.json '.processes[0] | .machine[0] as $m | (.end_ns - .start_ns) as $wall |
	$m.raw > 0 and ($m.raw - $m.enabled_ns | fabs) < 0.01 * $m.raw and $m.raw <= $wall and
	($m.value - $m.raw * 1e-9 | fabs) < 1e-12')" true \
		"the uncore value is the raw count times the scale of the sysfs event" ||
	diag "$(json r.json '.processes[0] | [.start_ns, .end_ns, .machine]')"
is "$(json r.json '[.threads[].events[] | select(.name == "machine/clock/") |
	[.value, .raw, .state, (.reason | test("machine"))]] | unique | tostring')" \
	'[[null,null,"not-counted",true]]' \
	"an uncore event has no value in thread rows, and the reason is given"
is "$(json r.json '[.threads[].events[] | select(.name == "task-clock") | .state] | unique | join(" ")')" \
	counted "a thread event beside an uncore event is counted"
is "$(json r.json '.processes[0].coverage | [.threads_counted, .threads_uncounted] | tostring')" "[6,[]]" \
	"an uncore event does not make threads uncounted in the coverage summary"

run in_tree whole env LD_PRELOAD="$AGENT" PMC_EVENTS=machine/clock/ PMC_OUT="$T/m.pmc" \
	"$PROG/churn" 5 20000
"$PMCTL" report m.pmc >err
like "$(cat err)" ' whole machine: machine/clock/ 0\.[0-9]+ s' "the table has a line for the uncore event"
unlike "$(cat err)" 'machine/clock/: not counted' "the table does not list the uncore event as not counted"
"$PMCTL" report --format csv m.pmc >m.csv
is "$(grep -c ',(machine),,,,machine,' m.csv)" 1 "CSV has one row for the uncore event"
is "$(awk -F, '{ print NF }' m.csv | sort -u | wc -l)" 1 "all CSV rows have the same number of fields"
"$PMCTL" merge m.pmc m.pmc -o twice.pmc
"$PMCTL" report --format json m.pmc | jq .processes[0].machine >once
"$PMCTL" report --format json twice.pmc | jq .processes[0].machine >twice
same once twice "a dump merged with itself keeps the uncore count"

# Child processes do not count uncore events again; a process after exec does.
run in_tree whole env LD_PRELOAD="$AGENT" PMC_EVENTS=machine/clock/ PMC_OUT="$T/t.pmc" PMC_REPORT=off \
	sh -c '/bin/true; exec "$0" 2 1000' "$PROG/churn"
"$PMCTL" report --format json t.pmc >tree.json
is "$(json tree.json '[.processes[] | select(.machine != []) | .exe | split("/") | last] | sort | join(" ")' |
	sed 's/\(dash\|bash\|busybox\)/sh/')" "churn sh" "the first process has the uncore event before and after its exec"
is "$(json tree.json '[.processes[] | select(.exe | endswith("true")) | .machine | length] | tostring')" "[0]" \
	"a child process does not have the uncore event"

run in_tree whole env PMC_START=off LD_PRELOAD="$AGENT" PMC_EVENTS=machine/clock/ PMC_REPORT=off PMC_OUT="$T/off.pmc" \
	"$PROG/churn" 2 1000
"$PMCTL" report --format json "$T/off.pmc" >off.json
is "$(json off.json '.processes[0].machine[0] | [.value, .state] | tostring')" '[null,"not-counted"]' \
	"PMC_START=off: an uncore event is not counted and null, not 0"

if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ]; then
	cp "$AGENT" "$PROG/churn" "$T/"
	run in_tree whole setpriv --reuid=65534 --regid=65534 --clear-groups env \
		LD_PRELOAD="$T/libpmcagent.so" PMC_EVENTS=machine/clock/ "$T/churn" 2 1000
	is "$status" 0 "user nobody: the program exits with 0"
	like "$(cat err)" 'uncore events are not permitted.*perf_event_paranoid=0 or CAP_PERFMON' \
		"user nobody: an uncore event is not permitted, and a note gives the fix"
else
	skip "perf_event_paranoid is 0, which permits uncore events" "uncore event of user nobody"
fi

run in_tree whole "$PMCTL" run -n -e cpu-migrations,machine/clock/ -- true
like "$(cat out)" '  machine/clock/ on CPU 0' "run -n lists the uncore event and its CPU"
like "$(cat out)" 'per thread: descriptors 1,' "run -n plans no descriptor per thread for the uncore event"
run in_tree whole "$PMCTL" run -e '{cs,machine/clock/}' -- true
is "$status" 2 "an uncore event in a braced group with a thread event is an error"
run in_tree whole "$PMCTL" run -e machine/clock/u -- true
is "$status" 2 "an uncore event limited to user mode is an error"

# pmctl dump and pmctl ctl on a running process.
mkfifo in
: >log
start_in_tree whole env LD_PRELOAD="$AGENT" PMC_EVENTS=cs,machine/clock/ PMC_OUT="$T/live.pmc" PMC_REPORT=off \
	"$PROG/waiters" 3 1 <in >log 2>live.err &
pid=$!
exec 9>in
await grep -q ready log
run "$PMCTL" dump "$pid"
is "$status" 0 "pmctl dump of a process with an uncore event exits with 0"
seconds() {
	"$PMCTL" report --format json live.pmc | jq -c '.processes[0].machine[0] | [.state, .raw]'
}
first=$(seconds)
like "$first" '^\["counted",[1-9][0-9]*\]$' "the dump has the uncore count" || diag_file live.err live.err
"$PMCTL" ctl "$pid" stop >/dev/null
"$PMCTL" dump "$pid" >/dev/null
stopped=$(seconds)
"$PMCTL" dump "$pid" >/dev/null
is "$(seconds)" "$stopped" "pmctl ctl stop stops the uncore event"
"$PMCTL" ctl "$pid" reset >/dev/null
"$PMCTL" dump "$pid" >/dev/null
like "$(seconds)" '^\["counted",0\]$' "pmctl ctl reset sets the uncore count to 0"
exec 9>&-
wait "$pid"

# ---- types of cores ------------------------------------------------------------------------
# Event 1 of both "types" is task-clock, which runs on each of them all of the time.
counted cores "r1,cs" "$PROG/churn" 3 200000
is "$(json r.json '.threads[0].events | map([.name, .core_type, .state]) | tostring')" \
	'[["r1",null,"counted"],["r1","cpu_atom","counted"],["r1","cpu_core","counted"],["cs",null,"counted"]]' \
	"an event is counted on each core type, and the sum comes first"
is "$(json r.json '[.threads[] | .events | .[0].value == .[1].value + .[2].value and .[1].value > 0] |
	unique | tostring')" "[true]" "the first value is the sum of the core types" ||
	diag "$(json r.json '[.threads[].events]')"
is "$(json r.json '.processes[0].unattributed | map(.core_type) | tostring')" '[null,"cpu_atom","cpu_core",null]' \
	"unattributed has the sum and each core type, too"
run in_tree cores "$PMCTL" run -n -e '{r1,r3}' -- true
is "$(grep -c '^group' out)" 2 "run -n plans a braced group once for each core type"
like "$(cat out)" '  r3@cpu_atom' "run -n names the core type of each event"

counted lacks r1 "$PROG/churn" 3 20000
is "$(json r.json '.threads[0].events | map([.core_type, .state, .value == null]) | tostring')" \
	'[[null,"not-counted",true],["cpu_core","counted",false],["cpu_atom","not-supported",true]]' \
	"an event that one core type does not support: the sum is null, not 0"

# ---- pinned --------------------------------------------------------------------------------
counted whole "cs:D,{task-clock,page-faults}:uD" "$PROG/churn" 2 20000
is "$(json r.json '.threads[0].events | map([.name, .state, .scope]) | tostring')" \
	'[["cs:D","counted","all"],["task-clock:uD","counted","all"],["page-faults:uD","counted","user"]]' \
	"pinned events keep their names and scopes"
done_testing
