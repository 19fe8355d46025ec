#!/bin/bash
# SPDX-License-Identifier: MIT
# regions.t - marked regions: nested, recursive, unbalanced, cancelled, across fork and exec, in
# signal handlers; without the agent, from Python; in dumps, merges and reports.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS=task-clock,page-faults
# An event that no kernel has, whatever the PMU.
nowhere=software/config=99/
E2E_CC=${CC:-cc}
case $E2E_CC in *aarch64*) E2E_CC=cc ;; esac

# regions CASE [ARG]: its dump in x.pmc, JSON in x.json.
regions() {
	rm -f x.pmc
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/regions" "$@"
	"$PMCTL" report --by region --format json x.pmc >x.json
}
# calls NAME: of the region, over all threads; group NAME FIELD
calls() { group "$1" .calls; }
group() { jq -r --arg n "$1" "[.groups[] | select(.key == \$n) | $2] | first" x.json; }
# note CODE: how often
note() { jq -r "[.processes[].notes[] | select(.code == $1) | .count] | add // 0" x.json; }

# ---- nesting --------------------------------------------------------------------------------
regions nest 20
is "$status $(jq -c '[.groups[] | [.key, .threads, .calls]] | sort' x.json)" \
	'0 [["inner",20,100],["middle",20,100],["outer",20,20]]' "nested: threads and calls"
is "$(jq '.regions | length' x.json)" 60 "a row for each region of each thread"
is "$(jq -c '[.regions | group_by([.pid, .seq])[] | map({ key: .region, value: . }) | from_entries |
	(.inner.cpu_ns <= .middle.cpu_ns and .middle.cpu_ns <= .outer.cpu_ns and
	 .inner.events[0].value <= .middle.events[0].value and
	 .middle.events[0].value <= .outer.events[0].value and .inner.cpu_ns > 0)] | unique' x.json)" \
	'[true]' "inner ≤ middle ≤ outer in every thread"
is "$(jq -c '[.regions[] | (.self_cpu_ns <= .cpu_ns) and
	(if .region == "inner" then .self_cpu_ns == .cpu_ns else .self_cpu_ns < .cpu_ns end)] | unique' \
	x.json)" '[true]' "self is without the inner regions"
# What is nested adds up: the sum of all selves is the outermost region, less rounding of the costs.
self=$(jq '[.regions[].self_cpu_ns] | add' x.json)
outer=$(jq '[.regions[] | select(.region == "outer") | .cpu_ns] | add' x.json)
within "$self" "$outer" 5 "all selves together are the outermost region"
is "$(jq -c '[.regions[] | .events[].state, .self[].state] | unique' x.json)" '["counted"]' "all counted"
is "$(jq -c '[.regions[].pair | .cpu_ns > 0, .events[1].value] | unique' x.json)" '[true,0]' \
	"the cost of a pair: CPU time, and no page fault"
is "$(jq -c '[.threads[] | .seq] | length' x.json)" 21 "the threads' rows are there as ever"

run "$PMCTL" report --by region x.pmc
like "$(cat out)" 'region +n +calls +self' "table: columns"
like "$(grep inner out)" 'inner +20 +100 ' "table: a line for each region"
like "$(cat out)" 'begin and end cost' "table: the cost of marking"
like "$(cat out)" 'all threads +21 ' "table: shares are of all threads"
run "$PMCTL" report x.pmc
like "$(cat out)" 'report --by region' "the table of threads says that there are regions"
"$PMCTL" report --by region --format csv x.pmc >x.csv
is "$(awk -F, '{ print NF }' x.csv | sort -u | wc -l)" 1 "CSV: every row has every column"
like "$(head -n 1 x.csv)" '^key,threads,calls,self_cpu_ns,.*task-clock.self' "CSV: calls and self"
is "$("$PMCTL" report --by region --sort calls --top 1 --format csv x.pmc | tail -n 1 | cut -d, -f2,3)" \
	20,100 "--sort calls"
is "$("$PMCTL" report --by region --sort self --format csv x.pmc | cut -d, -f4 | sed 1d)" \
	"$("$PMCTL" report --by region --format csv x.pmc | cut -d, -f4 | sed 1d | sort -rn)" "--sort self"
is "$("$PMCTL" report --by region --where seq=1 --format json x.pmc | jq -c '[.groups[].threads] | unique')" \
	'[1]' "--where chooses threads"

# ---- merge ----------------------------------------------------------------------------------
cp x.pmc a.pmc
regions nest 20
cp x.pmc b.pmc
"$PMCTL" merge a.pmc b.pmc a.pmc -o ab.pmc
"$PMCTL" merge b.pmc ab.pmc -o ba.pmc
same ab.pmc ba.pmc "merge: order and repetition do not matter"
"$PMCTL" report --by region --format json ab.pmc >x.json
is "$(jq -c '[.groups[] | [.key, .threads, .calls]] | sort' x.json)" \
	'[["inner",40,200],["middle",40,200],["outer",40,40]]' "merge: two runs together"

# ---- recursion ------------------------------------------------------------------------------
regions recurse 10
is "$(calls recursion) $(calls step)" "10 9" "recursion: every call"
all=$(group recursion .cpu_ns)
row=$(jq '[.threads[].cpu_ns] | add' x.json)
between "$all" 1 "$row" "recursion: what is open twice is counted once"
within "$(jq '[.regions[].self_cpu_ns] | add' x.json)" "$all" 5 "recursion: selves add up"

# ---- what programs do wrong -------------------------------------------------------------------
regions unbalanced
is "$status $(calls fine) $(note 45)" "0 1 3" "ends too many: ignored and noted"
is "$(calls "left open") $(calls "left open too") $(calls "open at exit") $(note 46)" "1 1 1 3" \
	"regions left open are closed at the thread's end, and noted"
regions cancel
is "$status $(calls cancelled) $(calls waiting) $(note 46)" "0 1 1 2" "a cancelled thread's too"
regions cut
is "$status $(calls cancelled) $(note 47)" "0 0 1" "cut short by the end of the process: noted, no call"
is "$(jq -c '[.regions[] | [.open, .cpu_ns, .events[0].value]] | unique' x.json)" '[[1,null,null]]' \
	"and null, not 0"
regions names
is "$(calls same) $(calls "number 0") $(calls "number 2") $(calls "(unnamed)")" "3 1 1 2" \
	"names are told apart by what they say"
is "$(jq -r '[.groups[].key | select(startswith("nnn")) | length] | tostring' x.json) $(note 43)" \
	"[255] 1" "a name of 1,000 bytes is cut, and noted"
ok "odd bytes: still JSON" jq -e '.groups | length == 7' x.json
is "$("$PMCTL" report --by region --format csv x.pmc | awk -F'"' 'NR > 1 { print NF % 2 }' | sort -u)" 1 \
	"odd bytes: still CSV"
regions deep 3000
is "$status $(calls top) $(calls deep) $(calls after) $(note 44)" "0 1 1023 1 1977" \
	"deeper than is kept: counted as far as that, noted, and balanced after"
regions many 2000
is "$(jq '[.groups[].calls] | add' x.json) $(calls "region 3") $(calls "(other regions)") $(note 42)" "4000 2 2978 2978" \
	"more names than are kept share a row"
regions unseen
is "$status $(note 40) $(jq '.regions | length' x.json)" "0 1 0" "a thread that was not seen to start: noted"

# ---- a snapshot that finds a record busy ----------------------------------------------------------
# The first leaves it out and says so; the second has it.
rm -f x.pmc
PMC_REPORT=off PMC_DUMP=USR2 PMC_OUT=$T/x.pmc run agent "$PROG/regions_busy"
"$PMCTL" report --by region --format json x.pmc >x.json
is "$status $(calls busy) $(note 49)" "0 1 1" "a record that was being changed: noted, and in the next snapshot"

# ---- processes --------------------------------------------------------------------------------
for how in "" raw; do
	regions fork $how
	is "$status $(jq -c '[.regions[] | [.region, .calls]] | sort' x.json)" \
		'0 [["across",1],["across",1],["before",1],["child",1]]' \
		"${how:-libc} fork: the child has what it did, and what it was in"
	child=$(jq '[.regions[] | select(.region == "across") | .cpu_ns] | min' x.json)
	between "$child" 1 "$(jq '[.regions[] | select(.region == "before") | .cpu_ns] | add' x.json)" \
		"${how:-libc} fork: and counts from the fork on"
done
regions exec
is "$(calls around) $(calls "failed exec") $(note 46)" "2 2 0" "exec: flushed before, entered again if it fails"
regions crash
is "$status $(calls crash) $(note 46)" "139 1 1" "a fatal signal: the region is in the dump"
regions handler 200000
read -r pairs signals <out
is "$status $(calls "main outer") $(calls "main inner")" "0 $pairs $pairs" "signal handlers: no region is lost or doubled"
is "$(($(calls handler) + $(calls "in the handler") + $(note 48)))" $((2 * signals)) \
	"signal handlers: theirs are counted, or noted"
is "$(jq -c '[.regions[].events[].state] | unique' x.json)" '["counted"]' "signal handlers: all counted"
for how in "step 60" "timer 5000"; do
	rm -f x.pmc
	# shellcheck disable=SC2086
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/regions_step" $how
	read -r rounds signals <out
	"$PMCTL" report --by region --format json x.pmc >x.json
	is "$status $(calls outer) $(calls inner)" "0 $rounds $rounds" "handlers anywhere ($how): no region is lost"
	is "$(($(calls handler) + $(calls "in the handler") + $(note 48)))" $((2 * signals)) \
		"and none of the handler's"
	for e in 0 1; do
		is "$(jq "[.regions[].self[$e].value] | add" x.json)" "$(group all ".events[$e].sum")" \
			"all selves together are what all of it counted, exactly"
	done
done
# What ends in the middle of its own begin has not counted what came before.
twice=0
for n in $(seq 50 50 1000); do
	rm -f x.pmc
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/regions_step" exit "$n"
	"$PMCTL" report --by region --format json x.pmc >x.json
	twice=$((twice + ($(calls twice) == 2 && $(note 46) == 1)))
	within "$(group twice '.events[1].sum')" 100 50 "a handler ends the program after $n steps"
done
between "$twice" 1 19 "some of them in the middle of a region"
rm -f x.pmc
PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/regions_step" jump 200
"$PMCTL" report --by region --format json x.pmc >x.json
is "$status $(calls after)" "0 200" "siglongjmp out of a begin or end, anywhere: later regions are counted"
between "$(note 48)" 1 200 "some of them interrupted a begin or end"
regions churn 2000
is "$(calls one) $(calls odd) $(calls even) $(group one .threads)" "2000 1000 1000 2000" "2,000 threads after one another"

# Memory follows the threads that live at a time.
peak() {
	PMC_REPORT=off PMC_OUT=$T/peak.pmc LD_PRELOAD=$AGENT "$PROG/rusage" "$T/ru" "$PROG/regions" churn "$1" >/dev/null 2>&1
	jq .max_rss_kib "$T/ru"
}
few=$(peak 10)
between "$(peak 3000)" 1 $((few + 512)) "memory: 3,000 threads take no more than 10"

# ---- snapshots --------------------------------------------------------------------------------
mkfifo in
exec 7<>in
PMC_REPORT=off PMC_DUMP=USR2 PMC_OUT=$T/live.pmc LD_PRELOAD=$AGENT "$PROG/regions" serve <in >live.out 7>&- &
pid=$!
await grep -q ready live.out
kill -USR2 $pid
await "$PMCTL" report --format json live.pmc
live() { "$PMCTL" report --by region --format json live.pmc >x.json && [ "$(calls request)" = 3 ]; }
ok "a snapshot has the regions that have ended" await live
is "$(jq -c '[.regions[] | [.region, .calls, .open]] | sort' x.json)" '[["request",3,0],["serving",0,1]]' \
	"and says which are open"
run "$PMCTL" dump $pid -o outside.pmc
is "$status $(cat err)" "0 " "a snapshot from outside: nothing to be said"
jq -S .regions x.json >live.rows
"$PMCTL" report --by region --format json outside.pmc | jq -S .regions >outside.rows
same live.rows outside.rows "and it has the same regions"
exec 7>&-
wait $pid
live
is "$(jq -c '[.regions[] | [.region, .calls, .open]] | sort' x.json)" '[["request",3,0],["serving",1,0]]' \
	"the newest snapshot holds"

# ---- from outside -----------------------------------------------------------------------------
# views FILE NAME: its regions in NAME.json, .csv, .table; of that the first columns, since what
# is known of threads decides about others.
views() {
	"$PMCTL" report --by region --format json "$1" | jq -S '.regions, .groups' >"$2.json"
	"$PMCTL" report --by region --format csv "$1" >"$2.csv"
	"$PMCTL" report --by region "$1" | grep -E '^  (outer|middle|inner|dive|step|leaf|staying) ' |
		awk '{ print $1, $2, $3, $4, $5 }' >"$2.table"
}
# Threads that wait at a known place, looked at from both sides.
for events in task-clock,page-faults L1-dcache-loads $nowhere; do
	mkfifo stay.in
	PMC_REPORT=off PMC_DUMP=USR2 PMC_OUT=$T/stay.pmc PMC_EVENTS=$events LD_PRELOAD=$AGENT \
		"$PROG/regions" stay 100 <stay.in >stay.out &
	pid=$!
	exec 8>stay.in
	await grep -q ready stay.out
	run "$PMCTL" dump $pid -o stay.outside.pmc
	is "$status $(cat err)" "0 " "$events: 100 threads inside: a snapshot from outside"
	kill -USR2 $pid
	signalled() { "$PMCTL" report --format json stay.pmc | jq -e '.regions | length == 700'; }
	ok "$events: and one by signal" await signalled
	views stay.pmc inside
	views stay.outside.pmc outside
	for view in json csv table; do
		same inside.$view outside.$view "$events: the same rows: $view"
	done
	"$PMCTL" report --by region --format json stay.outside.pmc >x.json
	is "$(jq -c '[.regions[] | [.region, .calls, .open]] | group_by(.) | map([length] + .[0]) | sort' x.json)" \
		"$(jq -nc '[["dive",3,5],["inner",10,0],["leaf",1,0],["middle",10,0],["outer",2,0],["staying",0,1],["step",2,4]] | map([100] + .) | sort')" \
		"$events: nested, recursive, open: as many as there are"
	"$PMCTL" dump $pid >/dev/null
	exec 8>&-
	wait $pid
	"$PMCTL" report --by region --format json stay.pmc >x.json
	is "$(jq -c '[.regions[] | [.region, .calls, .open]] | unique' x.json)" \
		'[["dive",8,0],["inner",10,0],["leaf",1,0],["middle",10,0],["outer",2,0],["staying",1,0],["step",6,0]]' \
		"$events: the end is newer"
	rm stay.in stay.pmc stay.outside.pmc
done

# A forked child has an area of its parent's, with nothing in it but what it did.
mkfifo child.in
PMC_REPORT=off PMC_DUMP=USR2 PMC_OUT=$T/child.pmc LD_PRELOAD=$AGENT "$PROG/regions" serve child <child.in >child.out &
pid=$!
exec 8>child.in
await grep -q ready child.out
child=$(pgrep -P $pid)
run "$PMCTL" dump "$child" -o child.outside.pmc
"$PMCTL" report --format json child.outside.pmc >x.json
is "$(jq -c '[.regions[] | [.region, .calls, .open]] | sort' x.json)" '[["request",3,0],["serving",0,1]]' \
	"a forked child from outside: its own regions alone"
exec 8>&-
wait $pid

# Threads that mark on: what they have done is whole at every look, and only grows.
mkfifo busy.in
PMC_REPORT=off LD_PRELOAD=$AGENT "$PROG/regions" busy 3 <busy.in >busy.out &
pid=$!
exec 8>busy.in
await grep -q ready busy.out
marking() { rm -f busy.pmc; "$PMCTL" dump $pid -o busy.pmc && "$PMCTL" report --by region --format json busy.pmc |
	jq -e '[.regions[] | select(.region == "name 49")] | length == 3'; }
ok "threads that mark all the time" await marking
rm -f busy.pmc
for i in $(seq 20); do
	"$PMCTL" dump $pid -o busy-$i.pmc >>busy.said 2>&1
	"$PMCTL" report --format json busy-$i.pmc
done >busy.json
exec 8>&-
wait $pid
rows='[.[] | [.regions[] | { key: "\(.seq) \(.region)", value: . }] | from_entries]'
is "$(jq -sc "$rows"' | map(keys) | unique | length' busy.json)" 1 "every region of theirs is in every snapshot"
# Page faults: from CPU time the estimated cost of marking is subtracted.
is "$(jq -sc "$rows"' | [range(1; length) as $i | .[$i] as $now | .[$i - 1] | to_entries[] |
	.value.calls <= $now[.key].calls and .value.events[1].raw <= $now[.key].events[1].raw] | unique' busy.json)" \
	'[true]' "no sum ever shrinks"
is "$(jq -sc '[.[] | . as $all | .regions[] | select(.region == "all") | . as $r |
	($all.threads[] | select(.seq == $r.seq) | .events[0].value) >= $r.events[0].value] | unique' busy.json)" \
	'[true]' "no region is more than its thread"
is "$(jq -sc '[.[].regions[] | select(.calls > 0) | .cpu_ns != null and .events[0].state == "counted"] | unique' busy.json)" \
	'[true]' "all counted"
unlike "$(cat busy.said)" "damaged" "and nothing looked damaged"

# ---- without events, and while nothing is counted -----------------------------------------------
PMC_EVENTS=$nowhere regions nest 2
between "$(group inner .cpu_ns)" 1 "$(jq '[.threads[].cpu_ns] | add' x.json)" \
	"no event available: CPU time, less than that of the threads"
is "$(group inner '.events[0].sum')" null "and null for the event"
PMC_START=off regions nest 2
is "$(calls inner) $(group inner .cpu_ns)" "10 null" "PMC_START=off: calls, and nothing counted"

# ---- the exit report --------------------------------------------------------------------------
PMC_REPORT=json run agent "$PROG/regions" nest 3
is "$(jq '.regions | length' err)" 9 "PMC_REPORT=json has them"
run agent "$PROG/regions" nest 3
like "$(cat err)" 'report --by region' "the report at exit names the view of regions"

# ---- without the agent --------------------------------------------------------------------------
cat >marked.c <<'END'
#include <pmc/region.h>
#include <stdio.h>
int main(void)
{
	for (int i = 0; i < 1000000; i++) {
		pmc_region_begin("x");
		pmc_region_end();
	}
	return puts("ran") < 0;
}
END
cat >marked.cc <<'END'
#include <dlfcn.h>
#include <pmc/region.h>
#include <stdexcept>
#include <stdio.h>
static void inner()
{
	pmc_region guard("guarded");
	throw std::runtime_error("out");
}
int main()
{
	pmc_region all("all");
	for (int i = 0; i < 100; i++) {
		try {
			inner();
		} catch (const std::exception &) {
		}
	}
	puts("ran");
}
END
strict="-Wall -Wextra -Wshadow -pedantic -Werror -I$ROOT/include"
for how in "-fPIE -pie" "-fno-pie -no-pie" "-static" "-static-pie"; do
	# shellcheck disable=SC2086
	ok "C11, $how: compiles with every warning, nothing linked" \
		$E2E_CC -std=c11 -O2 $strict ${how} marked.c -o marked
	is "$(./marked)" ran "C11, $how: runs"
	is "$(nm marked | grep -c ' U pmc_')" 0 "C11, $how: no symbol undefined"
	case $how in
	*static*) ;;
	*)
		rm -f x.pmc
		PMC_REPORT=off PMC_OUT=x.pmc agent ./marked >/dev/null
		"$PMCTL" report --by region --format json x.pmc >x.json
		is "$(calls x)" 1000000 "C11, $how: measured under the agent"
		within "$(jq '.processes[0].coverage.overhead_ns' x.json)" \
			"$(jq '.regions[0] | .calls * .pair.cpu_ns' x.json)" 5 "C11, $how: self cost is that of the pairs"
		;;
	esac
done
# shellcheck disable=SC2086
ok "C++17: compiles beside dlfcn.h" ${CXX:-g++} -std=c++17 -O2 $strict -Wold-style-cast marked.cc -o markedxx
# shellcheck disable=SC2086
ok "C++17: clang++ too" clang++ -std=c++17 -O2 $strict -Wold-style-cast -c marked.cc -o marked.o
rm -f x.pmc
PMC_REPORT=off PMC_OUT=x.pmc run agent ./markedxx
"$PMCTL" report --by region --format json x.pmc >x.json
is "$(cat out) $(calls guarded) $(calls all) $(note 46)" "ran 100 1 0" "C++: the guard survives exceptions"

# ---- other languages ----------------------------------------------------------------------------
is "$(python3 "$ROOT/docs/examples/regions.py")" "sum 499999500000" "Python: runs without the agent"
rm -f x.pmc
PMC_REPORT=off PMC_OUT=x.pmc run agent python3 "$ROOT/docs/examples/regions.py"
"$PMCTL" report --by region --format json x.pmc >x.json
is "$(cat out) $(calls fill) $(calls sum) $(calls job)" "sum 499999500000 4 4 4" "Python: measured under the agent"
is "$(jq -c '[.regions[].seq] | unique | length' x.json)" 4 "Python: each thread has its own"
ok "the example in C compiles" $E2E_CC -std=c11 -O2 $strict "$ROOT/docs/examples/mark_regions.c" -o example -pthread
rm -f x.pmc
PMC_REPORT=off PMC_OUT=x.pmc run agent ./example
"$PMCTL" report --by region --format json x.pmc >x.json
is "$status $(calls "fill") $(calls "sort")" "0 4 4" "and is measured"

done_testing
