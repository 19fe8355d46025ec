#!/bin/bash
# SPDX-License-Identifier: MIT
# profile.t - pmctl profile: samples and waits of programs without an agent, from outside.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
[ "$(id -u)" = 0 ] || skip_all "samples of the kernel need root"

# total FUNCTION: ns in a function and what it calls, in the report in $T/functions
total() {
	jq "[.groups[] | select(.function == \"$1\") | .total] | add // 0" functions
}

# functions DUMP [FLAGS]: its report by function
functions() {
	"$PMCTL" report --by function --format json "$@" >functions
}

# shares FILE NAME: each function's share of the samples is that of the CPU time that the program
# has measured, within five points: 1,000 samples have a standard deviation of 1.6, half as many
# one of 2.2, which would be too many failures.
shares() {
	local all part name ns
	all=$(awk '{ n += $2 } END { printf "%.0f", n }' "$1")
	part=0
	for name in $(cut -d' ' -f1 "$1"); do
		part=$((part + $(total "$name")))
	done
	part=$((part ? part : 1000)) # without names nothing is within the bounds
	while read -r name ns; do
		between "$(total "$name")" "$((part * (ns * 100 / all - 5) / 100))" "$((part * (ns * 100 / all + 5) / 100))" \
			"$2: share of $name"
	done <"$1"
}

# ---- a command --------------------------------------------------------------------------------
run "$PMCTL" profile -o x.pmc -- "$PROG/work"
is "$status" 0 "the command's status"
mv out spent
functions x.pmc
shares spent "unwind tables"
is "$(jq '[.groups[] | select(.module == "[kernel]")] | length > 0' functions)" true "there are functions of the kernel"
is "$(jq -r '[.groups[] | select(.module == "[kernel]" and (.function | endswith(" [k]") | not))] | length' functions)" 0 \
	"each is marked [k]"
"$PMCTL" report --format json x.pmc >rows
is "$(jq -c '[.threads[] | [.name, .state]]' rows)" '[["work","exited"]]' "one row"
# The program's own clock has not the loader, and a CPU that the hypervisor took is in both.
between "$(jq '.threads[0].cpu_ns' rows)" "$(awk '{ n += $2 } END { printf "%.0f", n }' spent)" \
	"$(awk '{ n += $2 } END { printf "%.0f", n * 1.2 + 100000000 }' spent)" "its CPU time, by switches"
is "$(jq -c '.processes[0] | [.minor_faults, .major_faults, .max_rss_bytes]' rows)" '[null,null,null]' \
	"what no record has is unknown, not 0"
is "$("$PMCTL" export --to openmetrics -o - x.pmc | grep -c '^pmc_process_max_rss_bytes{')" 0 \
	"no metric of an unknown peak of memory"
# ---- compression ------------------------------------------------------------------------------
"$PMCTL" merge x.pmc -o plain.pmc
ok "less than half the size" [ "$(($(stat -c %s x.pmc) * 2))" -lt "$(stat -c %s plain.pmc)" ]
"$PMCTL" report --by tree - <x.pmc >want
"$PMCTL" report --by tree - <plain.pmc >got
same want got "and the same report"
cat plain.pmc x.pmc >both.pmc
"$PMCTL" merge both.pmc -o again.pmc
same plain.pmc again.pmc "each frame is there once"
run "$PMCTL" diff --by function x.pmc plain.pmc
is "$status" 0 "diff reads both"
head -c -100 x.pmc >cut.pmc
run "$PMCTL" merge cut.pmc -o rest.pmc
like "$(cat err)" 'damaged' "a file that is cut off is said to be"
ok "the rest has its rows" [ "$("$PMCTL" report --format csv rest.pmc | wc -l)" -gt 1 ]
head -c 100 x.pmc >cut.pmc
for file in cut.pmc -; do
	refuses 1 'damaged or cut off: .*; ' "a dump without a whole frame, $file" report $file <cut.pmc
done

mkdir nozstd
: >nozstd/libzstd.so.1
run env LD_LIBRARY_PATH="$T/nozstd" "$PMCTL" merge plain.pmc x.pmc -o lacks.pmc
is "$status $(ls lacks.pmc 2>&1 | grep -c 'No such')" "1 1" "without libzstd a merge fails"
like "$(cat err)" 'install the package libzstd1' "and says what is missing"
run env LD_LIBRARY_PATH="$T/nozstd" "$PMCTL" report x.pmc
like "$status $(cat err)" '^1 .*libzstd1' "as a report does"
run env LD_LIBRARY_PATH="$T/nozstd" "$PMCTL" profile -o nozstd.pmc -- true
run env LD_LIBRARY_PATH="$T/nozstd" "$PMCTL" report nozstd.pmc
is "$status" 0 "its recordings are not compressed"

run "$PMCTL" profile --unwind fp -o fp.pmc -- "$PROG/work"
# The C library has no frame pointers, so what calls it is missing.
grep -v zeros out >spent
functions fp.pmc
shares spent "frame pointers"

run "$PMCTL" profile -o secret.pmc -- sh -c 'exec sleep 0.2' x --password=geheim
is "$("$PMCTL" report --format json secret.pmc | jq -c '[.processes[] | [.cmdline | test("^sh -c "), test("geheim")]] | .[0]')" '[true,false]' \
	"the command line as it was given, without its secrets"
"$PMCTL" merge secret.pmc -o secret.plain
is "$(grep -c '^.*exec sleep' secret.plain) $(grep -c geheim secret.plain)" "1 0" "the dump has none"
printf '#!/bin/sh\nsleep 0.2\n' >script
chmod +x script
for i in 1 2 3 4 5; do
	rm -f script.pmc
	run "$PMCTL" profile -o script.pmc -- ./script "$i"
	is "$("$PMCTL" report --format json script.pmc | jq -r '[.processes[] | select(.exe | test("/sleep$") | not).cmdline] | unique[]')" \
		"./script $i" "a script is named as it was given, without its interpreter"
done
run "$PMCTL" profile -o x.pmc -- sh -c 'exit 7'
is "$status" 7 "the command's status is passed on"
like "$(cat err)" 'kept as x.pmc.old' "an existing dump is kept under another name"
run "$PMCTL" profile -o page.html -- true
like "$(cat err)" 'page.html .*dump.*export --to html' "a dump with the name of a page: a warning tells how to make one"
run "$PMCTL" profile -o page.pmc -- true
is "$(cat err)" "" "no warning for another name"
run "$PMCTL" profile --on-cpu -p $$ -d 0.1s --by module -o page.pmc
like "$(cat out)" '--by module page.pmc' "the keys of --by are for the report of the dump"
run "$PMCTL" profile -- nice
is "$(cat out)" 0 "the command keeps its priority"
run nice -n -15 "$PMCTL" profile -- sh -c 'cut -d" " -f19 /proc/$PPID/stat'
is "$(cat out)" -15 "a reader of higher priority keeps its own"
run "$PMCTL" profile -- sh -c 'kill -TERM $$'
is "$status" 143 "a command that is killed"
run "$PMCTL" profile -o new.pmc -- "$T/none"
is "$status $(ls new.pmc 2>&1 | grep -c 'No such')" "127 1" "no such command: no dump"
cp x.pmc same.pmc
run "$PMCTL" profile -o same.pmc -- "$T/none"
same x.pmc same.pmc "which leaves an existing one in its place"
run env TMPDIR="$T" "$PMCTL" profile -- true
is "$(echo pmctl-profile-*)" 'pmctl-profile-*' "nothing is left of a dump that is not kept"

# ---- deep stacks ------------------------------------------------------------------------------
# truncated FLAGS: "few" or "most" of the samples of a program with a deep stack are.
truncated() {
	rm -f deep.pmc
	run "$PMCTL" profile --on-cpu "$@" -o deep.pmc -- "$PROG/work" deep
	"$PMCTL" report --format json deep.pmc >rows
	functions deep.pmc
	jq -r --argjson main "$(total main)" '.threads[0] | if .cpu_ns * 0.1 > $main then "most" else "few" end' rows
}
is "$(truncated --unwind dwarf)" most "the copy of the stack does not reach main"
like "$(cat err)" '--stack-size 32768' "which a warning names the flag for"
like "$("$PMCTL" report --by function deep.pmc | tr -s '\n ' ' ')" 'truncated stack .*--stack-size' "and the report, too"
is "$(truncated --unwind dwarf --stack-size 65528)" few "a larger one does"
is "$(truncated --unwind auto)" few "auto: frame pointers do"
is "$(grep -c stack-size err)" 0 "without the warning"

# ---- processes, exec, waits -------------------------------------------------------------------
run "$PMCTL" profile -o tree.pmc -- sh -c "'$PROG/work' exec '$PROG/off_cpu'; sleep 0.2"
is "$status" 0 "a tree of processes"
grep place out >places
"$PMCTL" report --format json tree.pmc >rows
is "$(jq -c '[.processes[].exe | split("/")[-1]] | unique | map(select(. == "work" or . == "off_cpu" or . == "sleep"))' rows)" \
	'["off_cpu","sleep","work"]' "each program has rows"
is "$(jq '[.processes[] | .cpu_ns == .attributed_cpu_ns] | all' rows)" true "all CPU time is in rows"
functions tree.pmc --event off-cpu
while read -r name least most; do
	between "$(total "$name")" "$least" "$most" "time in $name"
done <places
is "$(jq '[.groups[].function | select(startswith("do_nanosleep"))] | length > 0' functions)" true "what the kernel waits in"
is "$(jq '[.groups[] | select(.function | test("^(__)?schedule \\[k\\]")) | .self] | add // 0' functions)" 0 \
	"the scheduler's own functions are left out"

run "$PMCTL" profile -o thread.pmc -- "$PROG/work" exec-by-thread sleep 0.5
"$PMCTL" report --format json thread.pmc >rows
is "$(jq -c '[.threads[] | [.name, .state]] | sort' rows)" '[["sleep","exited"],["work","exec"],["work","exited"]]' \
	"a thread that calls exec ends, as its number has no end of its own"
between "$(jq '[.threads[].cpu_ns] | add' rows)" "$(awk '{ n += $2 } END { printf "%.0f", n }' out)" \
	"$(awk '{ n += $2 } END { printf "%.0f", n * 1.2 + 100000000 }' out)" "and computes until then"

rm -f x.pmc
"$PMCTL" profile -d 100ms -o x.pmc -- sh -c 'echo $$ >started; exec "$1" one 60000' sh "$PROG/causes" 2>"$T/err" &
pid=$!
written() { [ -s x.pmc ] && [ "$(awk '/^State/ { print $2 }' /proc/$pid/status)" = S ] && [ -z "$(ls -l /proc/$pid/fd | grep signalfd)" ]; }
await written
kill -TERM $pid
wait $pid
is "$? $(kill -0 "$(<started)" 2>&1 | grep -c 'No such process')" "143 1" "a signal after the time is forwarded, too"
(ulimit -f 4 && exec "$PMCTL" profile -o part.pmc -- "$PROG/work" 2>"$T/err" >"$T/out")
is $? 125 "a failure of pmctl, not of the command"
like "$(cat err)" "cannot write part.pmc: File too large.*ulimit -f" "the reason why a dump is cut"
(ulimit -S -f 1 && exec "$PMCTL" profile -- true 2>"$T/err")
is "$? $(grep -c ' samples\? by ' err)" "0 1" "a table is not limited by ulimit -f"
"$PMCTL" profile -- true 2>/dev/full
is $? 125 "a table that cannot be written is a failure of pmctl, too"

# The kernel's work in a switch is in no time from switch to switch, what a hypervisor takes is in it. times(2)
# has whole ticks, of user and of system time.
taken=$(stolen)
run "$PMCTL" profile --on-cpu -o switches.pmc -- sh -c '"$1" handoff 1000; times' sh "$PROG/causes"
used=$(tail -n 1 out | tr 'ms' '  ' | awk '{ print ($1 * 60 + $2 + $3 * 60 + $4) * 1e9 }')
"$PMCTL" report --format json switches.pmc >rows
between "$(jq '[.threads[] | select(.name != "sh").cpu_ns] | add' rows)" "$(awk "BEGIN { print 0.91 * $used }")" \
	"$(awk "BEGIN { print 1.09 * $used + 2e7 + $(stolen) - $taken }")" "CPU time of threads that switch all the time"
between "$("$PMCTL" report --by function --format json switches.pmc | jq '.sampling | .weight / .value')" 0.4 1.5 \
	"which is what samples explain"

# ---- many short processes -----------------------------------------------------------------------
# The period of a thread's clock starts with the thread, so most of these end before a first sample.
if [ "$(getconf _NPROCESSORS_CONF)" -gt 32 ]; then
	skip "clocks of more than 32 CPUs are not used" "short processes"
else
	for how in --on-cpu ""; do
		# shellcheck disable=SC2086
		run "$PMCTL" profile $how -e task-clock -o short.pmc -- sh -c 'for i in $(seq 300); do /bin/true; done'
		functions short.pmc
		between "$(jq '.sampling | .weight / .value' functions)" 0.7 1.3 "samples explain the CPU time of short processes $how"
	done
	is "$("$PMCTL" report --by function --event off-cpu --format json short.pmc | jq .sampling.estimated)" 0 \
		"and their waits have their own stacks"
fi

# ---- parts of the time ------------------------------------------------------------------------
# weight FLAGS: the sum of the samples of tree.pmc
weight() {
	"$PMCTL" report --by function --format json "$@" tree.pmc | jq '[.groups[].self] | add // 0'
}
for event in off-cpu "$("$PMCTL" report --by function --format json tree.pmc | jq -r .sampling.event)"; do
	all=$(weight --event "$event")
	for ms in 3 150 333 900; do
		is "$(($(weight --event "$event" --to ${ms}ms) + $(weight --event "$event" --from ${ms}ms)))" "$all" \
			"$event: before and after $ms ms are all"
	done
done
# `sh` waits in each part of the time, as far as it lasts.
between "$("$PMCTL" report --by thread,function --event off-cpu --from 100ms --to 300ms --format json tree.pmc |
	jq '[.groups[] | select(.keys.function == "do_wait [k]") | .self] | add')" 190000000 200000001 "a part of a wait"
is "$(weight --event off-cpu --from 60m)" 0 "nothing is later than the end"
run "$PMCTL" report --by function --from 2s --to 1s tree.pmc
is "$status" 2 "--from after --to"
run "$PMCTL" report --from 2s tree.pmc
is "$status" 2 "rows have no times"
PMC_OUT=$T/agent.pmc PMC_SAMPLE=task-clock@1000000 PMC_REPORT=off agent "$PROG/work" >out
run "$PMCTL" report --by function --from 1ms agent.pmc
is "$status" 1 "samples of the agent have no times"
like "$(cat err)" 'pmctl profile records' "and the error says so"

# The parts of all intervals are the whole, in each function.
# sums KEY: samples and amount by name, also of functions of several modules
sums() {
	jq -c "[.groups[] | { key: $1, samples, self }] | group_by(.key) | .[] | [.[0].key, (map(.samples) | add), (map(.self) | add)]"
}
every() { "$PMCTL" report --every "$@" --format json tree.pmc; }
for event in off-cpu "$("$PMCTL" report --by function --format json tree.pmc | jq -r .sampling.event)"; do
	"$PMCTL" report --by function --event "$event" --format json tree.pmc | sums .key >whole
	for ms in 7ms 100ms 0.25 60; do
		every $ms --event "$event" | sums .keys.function >parts
		same whole parts "$event: intervals of $ms add up"
	done
done
is "$(every 100ms --by thread,module --event off-cpu | jq -c '[.groups[].keys.time | tonumber * 10 | round] | unique == [range(0; max + 1)]')" \
	true "waits are in each interval that they last"
is "$(every 50ms --event off-cpu | jq '[.groups[] | [.keys.time, .self]] | group_by(.[0]) | map(map(.[1]) | add) | max <=
	50000001 * 10')" true "no interval has more than its time from each of at most 10 threads"
is "$("$PMCTL" report --every 0.1 --top 1 --event off-cpu --columns time tree.pmc | grep -cE '^  [0-9.]+ *$')" \
	"$(every 0.1 --event off-cpu | jq '[.groups[].keys.time] | unique | length')" "--top is for each interval"
for bad in "--every 1 --by thread" "--every 1 --timeline" "--by time,function" "--every 1 --by thread,time,function" "--every 0"; do
	# shellcheck disable=SC2086
	run "$PMCTL" report $bad tree.pmc
	is "$status $(wc -l <err)" "2 1" "$bad: refused"
done
for by in time time,function; do
	run "$PMCTL" report --by $by tree.pmc
	like "$(cat err)" "--every TIME.*--timeline" "--by $by: names what has samples by time, and snapshots"
done
run "$PMCTL" report --every 1us tree.pmc
is "$status $(wc -l <err)" "1 1" "too many intervals"

# The calls over time: a wait is as long as in the program, and calls lie in their callers.
"$PMCTL" export --to chrome tree.pmc >calls.json
while read -r name least most; do
	between "$(jq --arg name "$name" '[.traceEvents[] | select(.ph == "X" and .name == $name and .args.module) | .dur] |
		add * 1000 | floor' calls.json)" "$least" "$((most + 10000000))" "chrome: time in $name"
done <places
is "$(jq '[.traceEvents[] | select(.ph == "X" and .args.module)] | group_by(.tid) | map(sort_by(.ts, -.dur) |
	reduce .[] as $call ({open: [], bad: 0}; .open |= map(select(. > $call.ts + 0.002)) |
		.bad += (.open | map(select(. < $call.ts + $call.dur - 0.002)) | length) | .open += [$call.ts + $call.dur]) |
	.bad) | add' calls.json)" 0 "chrome: no call goes on after its caller"

# ---- CPU time of a thread that preempts another -------------------------------------------------
run "$PMCTL" profile -o preempts.pmc -- "$PROG/preempts"
"$PMCTL" report --format json preempts.pmc >rows
while read -r name ns; do
	within "$(jq ".threads[] | select(.name == \"$name\") | .cpu_ns" rows)" "$ns" 12 "CPU time of the thread $name is its clock's"
done <out

# ---- more waits than stacks are recorded of ----------------------------------------------------
# often COMMAND [FLAG...]: a recording of it, whose own numbers are in $waits and $longs.
often() {
	run "$PMCTL" "$@" -o often.pmc -- "$PROG/often" 3
	read -r waits longs at12 at1 <out
	functions often.pmc --event off-cpu
}
for how in "profile --wakers" "profile --off-cpu" "run --off-cpu"; do
	# shellcheck disable=SC2086
	often $how
	# Where records are lost, that of a wait may be lost in two of them.
	is "$(jq --argjson n "$waits" '.sampling | .samples <= $n * 1.01 and .samples + .lost >= $n * 0.99' functions)" true \
		"$how: each of many waits is counted"
	is "$(jq '.sampling | .estimated * 2 > .samples' functions)" true "$how: of most no stack was recorded"
	between "$(total place_rare)" "$(($(total place_often) / 50))" "$(($(total place_often) / 2))" \
		"$how: one of ten waits is in one place, nine in the other"
	between "$(total place_long)" "$((longs * 15000000))" 3000000000 "$how: long waits have their place"
	within "$(total place_12)" "$at12" 15 "$how: waits of 12 ms are in their place"
	within "$(total place_1)" "$at1" 50 "$how: and those of 1 ms between them"
	is "$(jq '[.groups[] | select(.function == "(no stack)") | .self] | add // 0 | . < 400e6' functions)" true \
		"$how: few have none"
done
like "$("$PMCTL" report --by function --event off-cpu --width 200 often.pmc)" "in estimated places" "a report tells"
"$PROG/often" 3 >out &
run "$PMCTL" profile -o often.pmc -p $!
functions often.pmc
between "$(jq '[.groups[].self] | add' functions)" "$("$PMCTL" report --format json often.pmc | jq '[.threads[].cpu_ns] | add * 0.8')" \
	"$("$PMCTL" report --format json often.pmc | jq '[.threads[].cpu_ns] | add * 1.1')" "samples of threads that switch often have their CPU time"

run "$PMCTL" profile -e task-clock:u -o often.pmc -- "$PROG/often" 1
functions often.pmc
is "$(jq '[.groups[] | select(.module == "[kernel]")] | length' functions)" 0 "in user mode alone, if only that is sampled"
# ---- switches of threads that ended -------------------------------------------------------------
# switched NAME: the rows of the program below rusage have its switches, less those at the end of its processes.
switched() {
	"$PMCTL" report --format json ended.pmc >rows
	jq '(.threads | min_by(.start_ns).pid) as $first | [.threads[] | select(.pid != $first)]' rows >own
	between "$(jq 'map(.voluntary_switches) | add' own)" "$(jq '.voluntary_switches * 0.999 - 5' ru)" "$(jq '.voluntary_switches + 5' ru)" \
		"$1: waits"
	between "$(jq 'map(.involuntary_switches) | add' own)" "$(jq '.involuntary_switches * 0.999 - 5' ru)" \
		"$(jq '.involuntary_switches + 5' ru)" "$1: preemptions"
}
python=$(python3 -c 'import sys; print(sys.executable)')
# The memory of each of these is freed after its last record, on a CPU that others want.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$cpu" sh -c 'while :; do :; done' &
spins=$!
rm -f ended.pmc
run "$PMCTL" profile --off-cpu -o ended.pmc -- "$PROG/rusage" "$T/ru" taskset -c "$cpu" \
	sh -c 'for i in 1 2 3 4 5 6; do "$0" -c "import os; x = b\"x\" * (200 << 20); os._exit(0)"; done' "$python"
kill $spins
"$PMCTL" report --format json ended.pmc >rows
missing=$(($(jq .involuntary_switches ru) - $(jq '[.threads[].involuntary_switches] | add' rows)))
between "$(jq -r '[.processes[].notes[].text | select(test("preemptions are in no row"))][0]' rows | cut -d' ' -f1)" \
	$((missing > 10 ? missing - 5 : 11)) $((missing + 15)) "preemptions at the end of processes are in a note"
unlike "$("$PMCTL" report secret.pmc)" "in no row" "which others do not have"
for how in "--off-cpu 10" "--on-cpu 200"; do
	rm -f ended.pmc
	run "$PMCTL" profile "${how% *}" -o ended.pmc -- "$PROG/rusage" "$T/ru" "$PROG/causes" handoff "${how#* }"
	switched "profile $how"
done
is "$(jq -c '[.threads[] | .minor_faults == null and .state != "live"] | all' rows)" true "their faults are unknown"
is "$(jq '[.processes[].voluntary_switches] | add' rows)" "$(jq '[.threads[].voluntary_switches] | add' rows)" "so have the processes"
is "$("$PMCTL" report --by pool --format json ended.pmc | jq '[.groups[].voluntary_switches] | add')" \
	"$(jq '[.threads[].voluntary_switches] | add' rows)" "pools"
is "$("$PMCTL" diff --format json ended.pmc ended.pmc | jq -c '[.total[].events[] | select(.name | test("switches|faults")) | .name, .b]')" \
	"$(jq -c '[.threads | "voluntary_switches", (map(.voluntary_switches) | add), "involuntary_switches", (map(.involuntary_switches) | add)]' rows)" "diff"
is "$("$PMCTL" export --to openmetrics -o - ended.pmc | grep -c '^pmc_thread_\(in\)\?voluntary_switches_total\|^pmc_thread_minor_faults')" \
	"$(jq '.threads | length * 2' rows)" "and export, which has no faults"
# stopped CONDITION N: in a recording that stands still until then, records are lost. The program waits until the recording
# has gone on.
stopped() {
	rm -f ended.pmc
	"$PMCTL" profile -o ended.pmc -- "$PROG/rusage" "$T/ru" "$PROG/causes" handoff "$2" 2>err &
	pid=$!
	began() { program=$(pgrep -x causes -P "$(pgrep -P $pid -x rusage)"); }
	await began
	kill -STOP $pid
	await "$1"
	kill -STOP "$program" 2>/dev/null
	waits=$(waits_of $pid)
	kill -CONT $pid
	await goes_on
	kill -CONT "$program" 2>/dev/null
	wait $pid
	like "$(cat err)" "records were lost" "$1"
}
waits_of() { awk '/^voluntary/ { print $2 }' "/proc/$1/status"; }
goes_on() { [ "$(waits_of $pid || echo 9999999)" -gt $((waits + 3)) ]; }
many() { [ "$(waits_of "$program")" -gt 40000 ]; }
stopped many 10000
switched "after lost records"
gone() { ! kill -0 "$program" 2>/dev/null; }
stopped gone 3000
"$PMCTL" report --format json ended.pmc >rows
is "$(jq -c '.threads[] | select(.name == "answer").voluntary_switches' rows)" null "or are unknown: the thread ended meanwhile"

# ---- stacks that are hard to read ---------------------------------------------------------------
if [ "$(uname -m)" = x86_64 ]; then
	run "$PMCTL" profile --on-cpu -o trampoline.pmc -- "$PROG/trampoline"
	functions trampoline.pmc
	is "$(jq '[.groups[] | select(.function == "above_trampoline" or .function == "below_trampoline") | .total / 1e7 | floor] |
		length == 2 and (.[0] - .[1] | fabs) <= 2' functions)" true "callers of code without frame pointers and rules"
else
	skip "the trampoline is in code of x86-64" "callers of code without frame pointers and rules"
fi
"$PROG/unserved" >out &
unserved=$!
await grep -q . out
if grep -q ready out; then
	timeout -s KILL 20 "$PMCTL" profile --off-cpu -d 100ms -o unserved.pmc -p $unserved >/dev/null 2>&1
	is $? 0 "memory above a stack that nobody serves is not read"
	kill $unserved
else
	skip "no userfaultfd here" "memory above a stack that nobody serves is not read"
fi

# ---- lengths of waits -------------------------------------------------------------------------
# 2 ms 480 times, 15 ms 19 times, 80 ms once: what the thread has measured itself is a little more. It
# has some other waits, so bounds are those of lengths a few ranks above.
cat >sleeps.py <<'END'
import sys, threading, time
def run():
    took = []
    for ns in [2000000] * 240 + [15000000] * 19 + [2000000] * 240 + [80000000]:
        begin = time.monotonic_ns()
        time.sleep(ns / 1e9)
        took.append(time.monotonic_ns() - begin)
    took.sort()
    print(took[254], took[498], took[499])
thread = threading.Thread(target=run)
thread.start()
thread.join()
END
lengths() { jq -r '.threads[] | select(.main | not) | .wait_p50_ns, .wait_p99_ns, .longest_wait_ns' "$@" | xargs; }
# longer_by PCT GOT WANT LEAST: each of GOT is at least LEAST and exceeds WANT by PCT at most
longer_by() {
	awk -v most="$1" -v got="$2" -v want="$3" -v least="$4" 'BEGIN {
		n = split(got, g); split(want, w); split(least, l)
		for (i = 1; i <= 3; i++) if (g[i] < l[i] * 0.95 || g[i] > w[i] * (1 + most / 100)) exit 1
		exit n != 3 }' || { diag "got $2, the thread measured $3"; return 1; }
}
run "$PMCTL" profile -o sleeps.pmc -- python3 sleeps.py
took=$(cat out)
ok "p50, p99 and the longest wait of a thread" \
	longer_by 6.25 "$("$PMCTL" report --format json sleeps.pmc | lengths)" "$took" "2000000 15000000 80000000"
"$PMCTL" report --format json sleeps.pmc >sleeps.json
is "$(jq '.threads[] | select(.main | not) | .wait_p50_ns as $p50 | (.wait_histogram | map(.[1]) | add >= 500) and any(.wait_histogram[]; .[0] == $p50)' sleeps.json)" true \
	"JSON: the histogram has all waits, and a bucket up to p50"
tid=$(jq '.threads[] | select(.main | not) | .tid' sleeps.json)
is "$("$PMCTL" report --format csv --histogram sleeps.pmc | awk -F, -v tid="$tid" '$4 == tid && $5 == "off-cpu" { printf "[%s,%s]\n", $6, $7 }')" \
	"$(jq -c ".threads[] | select(.tid == $tid) | .wait_histogram[]" sleeps.json)" "CSV --histogram: the same buckets"
like "$("$PMCTL" report --histogram --by name sleeps.pmc)" "python3[^ ]* +off-cpu +[0-9.]+ ms +[0-9]+ " "as text, of groups"
run "$PMCTL" profile --histogram -- python3 -c 'import time; time.sleep(0.01)'
like "$(cat err)" "off-cpu +16\.8 ms" "a recording that is not kept: below its table"
# hints [FLAG...]: how often the hint at names of Python functions is there.
hints() {
	run "$PMCTL" profile -- "$python" "$@" -c 'for i in range(3000000): pass'
	grep -o -e "-X perf names" err | wc -l
}
is "$(hints)" 1 "Python: a hint at names of its functions" || diag "$(cat err)"
if "$python" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null; then
	is "$(hints -X perf)" 0 "and none where they are there"
else
	skip "$("$python" --version) has no -X perf" "and none where they are there"
fi
for bad in "--by function" "--by region" "--timeline"; do
	# shellcheck disable=SC2086
	refuses 2 "threads and groups" "report --histogram $bad" report --histogram $bad sleeps.pmc
done
refuses 2 "leave out --on-cpu" "profile --histogram --on-cpu" profile --histogram --on-cpu -- true
like "$("$PMCTL" report --columns thread,wait-p50 sleeps.pmc)" "thread +wait p50" "top's spelling of a column"
PMC_REPORT=off run "$PMCTL" run --off-cpu -o of-agent.pmc -- python3 sleeps.py
took=$(cat out)
ok "also of a thread with the agent" \
	longer_by 6.25 "$("$PMCTL" report --format json of-agent.pmc | lengths)" "$took" "2000000 15000000 80000000"
# Of threads that only compute, waits for a CPU are after preemptions, but for one at the start of each.
# /proc is read some time after the end, and has no wait that goes on.
run "$PMCTL" profile -d 1s -o pinned.pmc -- "$PROG/causes" pinned 1000
"$PMCTL" report --by pool --format json pinned.pmc | jq '.groups[] | select(.key == "worker-*")' >pinned
delay=$(jq '.events[] | select(.name == "run-delay").sum' pinned)
some=$(jq ".longest_preempted_ns * 4 + $delay / 50 | floor" pinned)
between "$(jq .preempted_ns pinned)" $((delay * 3 / 4 - some)) $((delay + some)) "waits for a CPU after preemptions are the run delay of threads that compute"
is "$(jq '.preempted_p50_ns <= .preempted_p99_ns and .preempted_p99_ns <= .longest_preempted_ns and .longest_preempted_ns * 4 <= .preempted_ns' pinned)" \
	true "their percentiles"
run "$PMCTL" profile --by pool --width 200 -- sleep 0.1
like "$(cat err)" "wait p50" "--by: the table of rows of threads has them"
like "$(cat err)" "waits were not kept: add -o run.pmc" "and how to keep them"
run "$PMCTL" profile --by pool --wide -- sleep 0.1
is "$status" 0 "--wide"
unlike "$(cat err)" "not shown|--wide" "--wide: a table of all columns"
for key in region time; do
	refuses 2 "invalid --by '$key'; give " "--by $key of a recording" profile --by $key -- true
	unlike "$(sed 's/.*; give//' err)" "region|time" "--by $key: keys that it takes are listed"
done
run "$PMCTL" profile -- sh -c '"$0"; sleep 0.1' "$PROG/work"
like "$(cat err)" "off-cpu \(--off-cpu\)" "the table of functions names the flag of profile for waits"

# The command goes on while the last records are read.
"$PMCTL" profile -d 500ms -o few.pmc -- bash -c 'for i in 1 2 3 4 5 6; do timeout 2 bash -c "while :; do :; done" & done; wait' >out 2>&1
"$PMCTL" report --format json few.pmc >few
wall=$("$PMCTL" explain --format json few.pmc | jq .wall_ns)
is "$(jq -c --argjson wall "${wall:-0}" '[.threads[] | select(.name == "bash" and .cpu_ns > 0 and .state == "live") |
	(.cpu_ns + (.events[0].value // 0)) / $wall | . < 1.05] | [length >= 6, all]' few)" "[true,true]" \
	"CPU time and run delay of no thread exceed the time of the recording" || diag "$(jq -c '[.threads[] | [.name, .state, .cpu_ns, .events[0].value]]' few)"

# It has hardly a CPU: the kernel adds a wait for one when it ends, with what was before the recording.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$cpu" sh -c 'while :; do :; done' &
spins=$!
taskset -c "$cpu" chrt -i 0 sh -c 'while :; do :; done' &
starves=$!
await grep -q '(sh)' /proc/$starves/stat
starved=""
for i in 1 2 3; do
	rm -f starved.pmc
	run "$PMCTL" profile -d 0.3s -p $starves -o starved.pmc
	"$PMCTL" report --format json starved.pmc >starved
	wall=$("$PMCTL" explain --format json starved.pmc | jq .wall_ns)
	starved+=" $(jq --argjson wall "${wall:-0}" '.threads[0] | (.cpu_ns + .run_delay_ns) / $wall | . > 0.95 and . < 1.02' starved)"
done
is "$starved" " true true true" "CPU time and run delay of a thread that starves are the time of the recording" ||
	diag "$(jq -c .threads starved)"
is "$("$PMCTL" report --by pool --format json starved.pmc | jq '.groups[0] | .preempted_ns > .run_delay_ns * 0.9')" true \
	"also in what it waited after preemptions"
kill $spins $starves

# ---- a running program ------------------------------------------------------------------------
mkfifo in
"$PROG/work" attach <in >attached &
pid=$!
exec 9>in
await grep -q ready attached
run "$PMCTL" profile -p $pid -d 1s -o p.pmc
is "$status" 0 "a running process"
sleep 100 &
run "$PMCTL" profile -p $pid,$! -d 0.1s -o two.pmc
idle=$!
run "$PMCTL" profile -p $idle -d 0.1s --top 3
like "$(cat err out)" 'nanosleep' "a program that only waits: its waits are shown"
kill $!
is "$("$PMCTL" report --by pool --format json two.pmc | jq -c '[.groups[].key] | sort')" \
	'["sleep","sleeper","work","worker"]' "of several processes no main thread is called (main)"
worker=$(grep -l worker /proc/$pid/task/*/comm | cut -d/ -f5)
before=$(awk '{ print $1 }' "/proc/$pid/task/$worker/schedstat")
run "$PMCTL" profile -t "$worker" -d 0.3s -o t.pmc
after=$(awk '{ print $1 }' "/proc/$pid/task/$worker/schedstat")
exec 9>&-
wait $pid
"$PMCTL" report --format json p.pmc >rows
is "$(jq -c '[.threads[].name] | sort' rows)" '["sleeper","work","worker"]' "each thread has a row, also one that sleeps"
is "$(jq -c '[.threads[] | select(.name == "sleeper") | .cpu_ns, .voluntary_switches]' rows)" '[0,0]' "it did nothing"
sleeper=$("$PMCTL" report --by thread,function --event off-cpu --format json p.pmc |
	jq '[.groups[] | select(.keys.thread | startswith("sleeper")) | .self] | add')
between "$sleeper" 990000000 9e18 "it waited all the time"
# Return addresses that are left in the stack are no callers.
"$PROG/stale" <in >stale &
pid=$!
exec 9>in
echo line >&9
await grep -q ready stale
asleep() { grep -q '^State:.S' /proc/$pid/status; }
await asleep
run "$PMCTL" profile -p $pid -d 0.2s -o stale.pmc
exec 9>&-
wait $pid
is "$("$PMCTL" report --by function --event off-cpu --format json stale.pmc | jq -c '
	[.groups[].function] | contains(["next_request"]), contains(["deep"]), contains(["handle"])' | paste -sd' ')" \
	"true false false" "a blocked thread: nothing that has returned is in its stack"
# Its frame pointer is found in the stack on x86-64 alone.
callers='["pause"]'
[ "$(uname -m)" != x86_64 ] || callers='["start_thread", "sleeper", "pause"]'
is "$("$PMCTL" report --by thread,function --event off-cpu --format json p.pmc | jq -c --argjson callers "$callers" '
	[.groups[] | select((.keys.thread | startswith("sleeper")) and .total >= 990000000) | .keys.function] as $in |
	$callers - $in, ([$in[] | select(test("sys_pause"))] | length > 0)')" "[]
true" "since before the recording, and where: functions of the program and of the kernel"
functions p.pmc
sed 1d attached >spent
shares spent "attached"
is "$("$PMCTL" report --format json t.pmc | jq -c '[.threads[].name]')" '["worker"]' "-t: one thread"
between "$("$PMCTL" report --format json t.pmc | jq '.threads[0].cpu_ns')" 1 $((after - before)) "its CPU time is that of /proc"

# ---- other users, parts -----------------------------------------------------------------------
run "$PMCTL" profile --on-cpu -o on.pmc -- "$PROG/work"
is "$("$PMCTL" report --by function --event off-cpu on.pmc 2>&1 | grep -c together)" 0 "--on-cpu: no waits"
run "$PMCTL" profile --off-cpu -o off.pmc -- sleep 0.1
functions off.pmc
is "$(jq -r .sampling.event functions)" off-cpu "--off-cpu: waits only"
# Few samples, perhaps none of them in the kernel, and a clock that counts the kernel's time.
run "$PMCTL" profile --on-cpu -F 20 -o few.pmc -- "$PROG/work"
unlike "$("$PMCTL" report --by function few.pmc)" "kernel mode" "the kernel is sampled, whatever it did"
run "$PMCTL" profile --on-cpu -e task-clock:u -o modes.pmc -- "$PROG/work"
functions modes.pmc
is "$(jq '[.groups[] | select(.module == "[kernel]")] | length' functions)" 0 "an event in user mode alone"
like "$("$PMCTL" report --by function modes.pmc)" "kernel mode" "and what that leaves out"
# Of an event that is no clock, what the program has by its own count, by whatever threads. rusage
# and the exec of the program add at most some hundreds.
run "$PMCTL" profile --on-cpu -e page-faults -o faults.pmc -- "$PROG/rusage" "$T/ru" "$PROG/faults" 2
known=$(jq '.minor_faults + .major_faults' ru)
functions faults.pmc
between "$(jq .sampling.value functions)" "$known" $((known + 1000)) "page faults: their true count"
# Older kernels estimate what a sample of an inherited event stands for.
if [ "$(printf '6.13\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.13 ]; then
	between "$(jq .sampling.weight functions)" 1 "$(jq .sampling.value functions)" "of which samples are a part"
fi
functions faults.pmc --where name=rusage
is "$(jq -c '[.sampling | .samples > 0, .value]' functions)" '[true,null]' "of some threads it is unknown"
run "$PMCTL" profile --on-cpu -e page-faults -a -d 0.1s -o faults.pmc
functions faults.pmc
is "$(jq '.sampling | .weight <= .value' functions)" true "page faults of the machine" || diag "$(jq -c .sampling functions)"
chmod 777 "$T"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 1 ]; then
	rm -f x.pmc
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$PMCTL" profile -o user.pmc -- "$PROG/work"
	is "$status" 0 "an unprivileged user"
	like "$(cat err)" 'kernel.perf_event_paranoid' "what would permit more"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$PMCTL" profile --off-cpu -- true
	is "$status $(wc -l <err)" "125 1" "waits alone are refused"
	functions user.pmc
	is "$(jq '[.groups[] | select(.module == "[kernel]")] | length' functions)" 0 "its own functions only"
	between "$(total tenth)" "$(jq '.sampling.weight * 0.02' functions)" "$(jq '.sampling.weight * 0.25' functions)" \
		"which have samples"
else
	skip "perf_event_paranoid permits everybody to sample the kernel" "a user who may not"
fi
rm attached
"$PROG/work" attach <in >attached &
exec 9>in
await grep -q ready attached
run "$PMCTL" profile -a -d 0.3s -o all.pmc
is "$status" 0 "the machine"
exec 9>&-
pid=$!
wait $pid
is "$("$PMCTL" report --format json all.pmc | jq -c --argjson pid $pid '[.threads[] | select(.pid == $pid and .name == "worker").name]')" '["worker"]' \
	"a thread that ran before has its name"
like "$("$PMCTL" report all.pmc | head -n 1)" "^ pmcagent: several processes " "which has not the title of one of its processes"
between "$("$PMCTL" report --format json all.pmc | jq '[.threads[].cpu_ns] | add')" 0 \
	"$(jq -n "$(getconf _NPROCESSORS_ONLN) * 1000000000")" "no more CPU time than the CPUs have"

# ---- memory that the kernel frees after the last record of a process -----------------------------
before=$(stolen)
run "$PMCTL" profile -o freed.pmc -- "$PROG/rusage" usage sh -c 'for i in 1 2 3 4 5 6; do "$0" 30000; done' "$PROG/pages"
"$PMCTL" report --format json freed.pmc >rows
"$PMCTL" report freed.pmc >table
between "$(jq '[.processes[].coverage | .cpu_ns + (.descendants_cpu_ns // 0)] | add' rows)" \
	"$(jq '.cpu_ns * 0.94' usage)" "$(jq --argjson stolen $(($(stolen) - before)) '.cpu_ns * 1.1 + 20000000 + $stolen' usage)" \
	"the coverage is of all CPU time of the command"
unlike "$(cat table)" "could not be counted" "no thread is said to be uncounted where all are counted"

# ---- programs whose events the kernel ends -------------------------------------------------------
cp "$(command -v id)" "$PROG/work" .
chmod 4755 id work
mv work privileged
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
if [ "$($nobody ./id -u)" != 0 ]; then
	skip "setuid has no effect in $T" "a setuid program"
else
	run "$PMCTL" profile -o suid.pmc -- sh -c "$nobody ./privileged; sleep 0.2"
	used=$(awk '{ n += $2 } END { printf "%.0f", n }' out)
	"$PMCTL" report --format json suid.pmc >rows
	is "$(jq -c '.threads[] | select(.name == "privileged") | [.state, .voluntary_switches, .partial]' rows)" '["live",null,["cpu_ns"]]' \
		"a setuid program of another user: a lower bound"
	between "$(jq '.threads[] | select(.name == "privileged").cpu_ns' rows)" $((used / 3)) $((used * 12 / 10 + 100000000)) "by /proc"
	run "$PMCTL" report suid.pmc
	like "$(tr -s ' \n' ' ' <out)" "privileged and its children .* pmctl profile -a " "which the report tells, and what records it"
	unlike "$(cat out)" "coverage 100" "not all of its CPU time is known"
	"$PMCTL" profile -a -o machine.pmc >out 2>err &
	pid=$!
	polls() { grep -q poll /proc/$pid/wchan; }
	await polls
	used=$($nobody ./privileged | awk '{ n += $2 } END { printf "%.0f", n }')
	kill -INT $pid
	wait $pid
	"$PMCTL" report --format json machine.pmc >rows
	between "$(jq '[.threads[] | select(.name == "privileged").cpu_ns] | add' rows)" $((used * 9 / 10)) $((used * 12 / 10 + 100000000)) \
		"-a records it"
fi

# ---- a cgroup ---------------------------------------------------------------------------------
group=$(awk '$3 == "cgroup" && $4 ~ /(^|,)perf_event(,|$)/ { print $2; exit }' /proc/self/mounts)
group=${group:-$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)}/pmc-test.$$
if ! mkdir -p "$group/below" 2>why; then
	skip "no cgroup can be made: $(cat why)" "a cgroup"
else
	rm attached
	(
		echo $BASHPID >"$group/below/cgroup.procs"
		exec "$PROG/work" attach <in >attached
	) &
	inside=$!
	"$PROG/work" attach <in >/dev/null &
	outside=$!
	exec 9>in
	await grep -q ready attached
	run "$PMCTL" profile --cgroup "${group##*/}" -d 2s -o group.pmc
	is "$status" 0 "a cgroup by its name"
	run "$PMCTL" profile --cgroup "$group" -d 0.1s -o path.pmc
	is "$status" 0 "by its path"
	exec 9>&-
	wait $inside $outside
	"$PMCTL" report --format json group.pmc >rows
	is "$(jq -c "[.threads[].pid == $inside] | unique" rows)" '[true]' "the threads below it alone"
	is "$(jq -c '[.threads[].name] | sort' rows)" '["sleeper","work","worker"]' "all of them"
	sed 1d attached >spent
	functions group.pmc
	shares spent "cgroup"
	rmdir "$group/below" "$group"
fi
run "$PMCTL" profile --cgroup no-such-cgroup
is "$status" 1 "no such cgroup"

# ---- files that only the process sees ---------------------------------------------------------
# In its own mount namespace, below a directory of this test that is empty outside.
mkdir container
cat >enter <<EOF
mount -t tmpfs none "$T/container" && cp "$PROG/work" "$T/container/inside" && exec "$T/container/inside" "\$@"
EOF
if ! unshare -m true 2>why; then
	skip "no mount namespace: $(cat why)" "files that only the process sees"
else
	run "$PMCTL" profile -o mounts.pmc -- unshare -m sh enter
	mv out spent
	functions mounts.pmc
	shares spent "an exec in another mount namespace"
	rm attached
	unshare -m sh enter attach <in >attached &
	inside=$!
	exec 9>in
	await grep -q ready attached
	run "$PMCTL" profile -p $inside -d 1.5s -o mounts.pmc
	exec 9>&-
	wait $inside
	sed 1d attached >spent
	functions mounts.pmc
	shares spent "a program that runs in one"
fi

# ---- files that are at their path no longer ---------------------------------------------------
# As after an upgrade of a program that runs. Each time the file that is there instead has other names.
flags=(-O1 -D_GNU_SOURCE -pthread)
sed 's/\<\(tenth\|fifth\|rest\)\>/new_\1/g' "$SRC/work.c" >new.c
echo 'int work_main(int, char **); int main(int argc, char **argv) { return work_main(argc, argv); }' >main.c
mkdir lib
for version in "$SRC/work.c" new.c; do
	name=$(basename "$version" .c)
	cc "${flags[@]}" -o "$name" "$version"
	cc "${flags[@]}" -Wl,--build-id=none -o "$name-no-id" "$version"
	cc "${flags[@]}" -shared -fPIC -Dmain=work_main -o "lib$name.so" "$version"
done
cc "${flags[@]}" -o uses_work main.c -L. -lwork "-Wl,-rpath,$T/lib"
# begins CMD...: a program that works until its input, descriptor 9, ends
begins() {
	rm -f attached
	"$@" attach <in >attached &
	pid=$!
	exec 9>in
	await grep -q ready attached
}
# named NAME FILE: the functions of that file in functions are those of work.c
named() {
	is "$(jq -c --arg file "$T/$2" '[.groups[] | select(.module // "" | startswith($file)) | .function] |
		any(IN("tenth", "fifth", "rest", "zeros")), map(select(test("^new_|[+]0x")))' functions | xargs)" "true []" "$1"
}
# Whether the profiler has opened that file for its first sample
has_read() { ls -l /proc/$profiler/fd | grep -q " $T/$1\$"; }
as_removed() { rm "$2"; }
as_replaced() { cp "$1" other && mv other "$2"; }
for kind in work work-no-id; do
	for how in removed replaced; do
		cp $kind gone
		begins ./gone
		as_$how new${kind#work} gone
		rm -f gone.pmc
		run "$PMCTL" profile --on-cpu -p $pid -d 0.5s -o gone.pmc
		unlike "$(cat err)" "no names" "$kind, $how before: no warning"
		finish
		functions gone.pmc
		named "the functions of the file that runs, in a report when it has ended" gone
		if [ $kind = work ]; then
			is "$(jq -r '[.groups[] | select(.function == "tenth") | .module] | unique[]' functions)" "$T/gone" \
				"a path without the kernel's mark, if there is a build ID"
		fi
		cp $kind gone
		begins ./gone
		rm -f gone.pmc
		"$PMCTL" profile --on-cpu -p $pid -o gone.pmc >out 2>err &
		profiler=$!
		await has_read gone
		as_$how new${kind#work} gone
		kill -INT $profiler
		wait $profiler
		finish
		functions gone.pmc
		named "$kind, $how while it is recorded" gone
	done
done
# Two versions of a program, both removed, that no build ID tells apart.
cp work-no-id gone
begins ./gone
rm gone
cp new-no-id gone
./gone attach <in >other 9>&- &
other=$!
await grep -q ready other
rm gone
run "$PMCTL" profile --on-cpu -p "$pid,$other" -d 0.5s -o two-gone.pmc
finish
wait $other
functions two-gone.pmc
is "$(jq -c '[.groups[] | select(.function | test("^(new_)?(tenth|fifth|rest)$"))] | group_by(.module) |
	map(map(.function | startswith("new_")) | unique) | sort' functions)" '[[false],[true]]' "two versions of one path: each has its own functions"
for how in removed replaced; do
	cp libwork.so lib/
	begins ./uses_work
	as_$how libnew.so lib/libwork.so
	rm -f gone.pmc
	run "$PMCTL" profile --on-cpu -p $pid -d 0.5s -o gone.pmc
	finish
	functions gone.pmc
	named "a library, $how" lib/libwork.so
done
cp work gone
rm -f gone.pmc
run "$PMCTL" profile --on-cpu -o gone.pmc -- sh -c 'exec 5<gone && rm gone && exec /proc/self/fd/5'
functions gone.pmc
named "a command that is removed before it begins" gone
# Without privileges the program itself can be read, its libraries cannot.
cp work gone
cp libwork.so lib/
begins setpriv --reuid 65534 --regid 65534 --clear-groups ./gone
rm gone gone.pmc
run as_nobody "$PMCTL" profile --on-cpu -p $pid -d 0.5s -o gone.pmc
finish
functions gone.pmc
named "a program of an unprivileged user" gone
begins setpriv --reuid 65534 --regid 65534 --clear-groups ./uses_work
rm -f lib/libwork.so gone.pmc
run as_nobody "$PMCTL" profile --on-cpu -p $pid -d 0.5s -o gone.pmc
finish
like "$(cat err)" "$T/lib/libwork.so was removed or replaced .*CAP_CHECKPOINT_RESTORE" \
	"and a library: the warning says what permits to read it"

# ---- code that is compiled at run time --------------------------------------------------------
# compiled NAME CMD...: the function in which the program computes has its name
compiled() {
	local name=$1
	shift
	rm -f jit.pmc
	run "$PMCTL" profile --on-cpu -o jit.pmc -- "$@"
	functions jit.pmc
	is "$(jq -r '.groups | max_by(.self).function' functions)" compiled_at_run_time "compiled code: $name"
}
compiled "of this user" "$PROG/jit"
rm -f "$(cat out)"
compiled "of a jitdump" "$PROG/jit" dump
rm -f "$(cat out)"
is "$(jq '[.groups[] | select(.function == "compiled_before")] | length' functions)" 0 "and not the code that was there before"
# pmctl run reads no jitdump: both commands name a function alike.
compiled "of a perf map and a jitdump" "$PROG/jit" both
xargs rm -f <out
run "$PMCTL" profile --on-cpu -o memfd.pmc -- "$PROG/jit" memfd
unlike "$(cat err)" 'has changed' "code in a file without a name is not taken for a program that changed"
functions memfd.pmc 2>err
is "$(jq -r '.groups | max_by(.self) | .function' functions) $(grep -c 'perf map' err)" "[unknown] 1" \
	"but for code compiled at run time, with a hint how to name it"
cp "$PROG/jit" /tmp/pmc-jit.$$ # which any user may execute
compiled "of another user" setpriv --reuid 65534 --regid 65534 --clear-groups /tmp/pmc-jit.$$
rm -f "$(cat out)" /tmp/pmc-jit.$$
if unshare -m true 2>why; then
	# Its own /tmp, with a map that is not the one here.
	cat >inside <<-'END'
		exec 5<"$1" && mount -t tmpfs none /tmp && cp /proc/self/fd/5 /tmp/jit && exec /tmp/jit
	END
	compiled "with another root" unshare -m sh inside "$PROG/jit"
else
	skip "no mount namespace: $(cat why)" "compiled code: with another root"
fi

# ---- goroutines -------------------------------------------------------------------------------
# Their stacks begin elsewhere than a thread's, and the run time changes from one to another. Of a
# stripped program the names are those that its run time has.
if command -v go >/dev/null && GOCACHE=$T/gocache GO111MODULE=off go build -o goroutines "$SRC/goroutines.go" 2>err; then
	strip -o stripped goroutines
	for program in goroutines stripped; do
		run "$PMCTL" profile -o go.pmc -- ./$program
		for event in off-cpu "$("$PMCTL" report --by function --format json go.pmc | jq -r .sampling.event)"; do
			functions go.pmc --event "$event"
			is "$(jq '.sampling | .incomplete * 20 < .samples' functions)" true "Go, $program: stacks of $event are complete" ||
				diag "$(jq -c .sampling functions)"
		done
		"$PMCTL" export --to folded -o go.folded go.pmc
		like "$(grep tokenize go.folded)" '^[^;]*;runtime.goexit;main.main.func[^;]*;' "and begin where a goroutine does"
		is "$("$PMCTL" report --by line --format json go.pmc | jq '[.groups[] | select(.function == "main.tokenize" and (.file // "" | endswith("/goroutines.go")) and .line > 10)] | length > 0')" true "and have lines"
	done
else
	ok "a Go toolchain is installed (sh tests/deps.sh check)" false
fi

# ---- what the result is good for --------------------------------------------------------------
"$PMCTL" merge tree.pmc p.pmc -o all.pmc
for to in folded pprof speedscope perf-data chrome html; do
	run "$PMCTL" export --to $to -o "x.$to" all.pmc
	is "$status" 0 "export to $to"
done
run "$PMCTL" diff x.pmc.old fp.pmc --by function
is "$status" 0 "diff by function"

run "$PMCTL" profile -e page-faults -o before.pmc -- "$PROG/work"
run "$PMCTL" profile -e page-faults -o after.pmc -- "$PROG/work"
for event in page-faults task-clock; do
	[ $event = page-faults ] || cp x.pmc.old before.pmc
	[ $event = page-faults ] || cp fp.pmc after.pmc
	run "$PMCTL" diff before.pmc after.pmc --html per.html --per $event
	is "$status" 0 "diff --per $event"
done

run "$PMCTL" profile --on-cpu --event cs -o cs.pmc -- "$PROG/work"
functions cs.pmc
is "$(jq '.sampling | .samples > 0' functions)" true "context switches are sampled without waits"

# ---- the ID of a pmctl run --------------------------------------------------------------------
"$PMCTL" run --report off -o measured.pmc -- sleep 1000 &
measured=$!
run "$PMCTL" trace --summary --format csv --columns tid -d 50ms -p $measured
child=$(pgrep -P $measured)
is "$status $(tail -n +2 out)" "0 $child" "trace: its program"
run "$PMCTL" top -b -n 1 --format csv --columns tid -p $measured
is "$status $(tail -n +2 out)" "0 $child" "top: its program"
for command in "profile -d 50ms -o run.pmc" "explain -d 50ms -o run.pmc"; do
	rm -f run.pmc
	# shellcheck disable=SC2086
	run "$PMCTL" $command -p $measured
	is "$status $("$PMCTL" report --format csv --columns tid run.pmc | tail -n +2)" "0 $child" "$command: its program"
	is "$(grep -c "process $measured is pmctl run" err)" 1 "$command: one warning names it"
done
{ pkill -P $measured; wait $measured; } 2>err

# ---- refusals ---------------------------------------------------------------------------------
# refused STATUS TEXT ARGS
refused() {
	local want=$1 text=$2
	shift 2
	run "$PMCTL" profile "$@"
	is "$status" "$want" "$*: refused"
	like "$(cat err)" "$text" "$*: why"
}
refused 2 'no target'
refused 2 'more than one target' -a -- true
refused 2 'leave out -e' --off-cpu --event cycles -- true
refused 2 'FILE' -o - -- true
refused 125 'leave out -e' --event cs -- true
refused 1 'no such process' -p 99999999
refused 1 'no such thread: 99999999' -t 99999999
refused 125 'nosuch' --event nosuch -- true
refused 125 'cannot write' -o "$T/none/x" -- true
echo text >text
refused 125 'cannot write text' -o text -- true
is "$(cat text)" text "it is unchanged"
done_testing
