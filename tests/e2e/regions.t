#!/bin/bash
# SPDX-License-Identifier: MIT
# regions.t - marked regions: nested, recursive, unbalanced, cancelled, across fork and exec, in
# signal handlers; without the agent, from Python; in dumps, merges and reports.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1
export PMC_EVENTS=task-clock,page-faults
# An event that no kernel supports.
nowhere=software/config=99/
E2E_CC=${CC:-cc}
case $E2E_CC in *aarch64*) E2E_CC=cc ;; esac

# regions CASE [ARG]: run the case under the agent; dump to x.pmc, report by region to x.json.
regions() {
	rm -f x.pmc
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/regions" "$@"
	"$PMCTL" report --by region --format json x.pmc >x.json
}
# calls NAME: number of calls of the region over all threads. group NAME FIELD: a field of its group.
calls() { group "$1" .calls; }
group() { jq -r --arg n "$1" "[.groups[] | select(.key == \$n) | $2] | first" x.json; }
# note CODE: how often the note occurred
note() { jq -r "[.processes[].notes[] | select(.code == $1) | .count] | add // 0" x.json; }

# ---- nesting --------------------------------------------------------------------------------
regions nest 20
is "$status $(jq -c '[.groups[] | [.key, .threads, .calls]] | sort' x.json)" \
	'0 [["inner",20,100],["middle",20,100],["outer",20,20]]' "nested: number of threads and calls of each region"
is "$(jq '.regions | length' x.json)" 60 "nested: one row per region and thread"
for key in pool start; do
	"$PMCTL" report --by $key --format json x.pmc | jq -r '.groups[].key' | sort >keys
	is "$("$PMCTL" report --by $key,region --format json x.pmc | jq -r '.groups[].keys.'$key | sort -u)" \
		"$(grep -vx '(main)' keys)" "regions by $key: the keys of threads are those of --by $key"
done
is "$(jq -c '[.regions | group_by([.pid, .seq])[] | map({ key: .region, value: . }) | from_entries |
	(.inner.cpu_ns <= .middle.cpu_ns and .middle.cpu_ns <= .outer.cpu_ns and
	 .inner.events[0].value <= .middle.events[0].value and
	 .middle.events[0].value <= .outer.events[0].value and .inner.cpu_ns > 0)] | unique' x.json)" \
	'[true]' "nested: in every thread, values of inner ≤ middle ≤ outer"
is "$(jq -c '[.regions[] | (.self_cpu_ns <= .cpu_ns) and
	(if .region == "inner" then .self_cpu_ns == .cpu_ns else .self_cpu_ns < .cpu_ns end)] | unique' \
	x.json)" '[true]' "nested: self CPU time excludes inner regions"
# The self values of all regions add up to the outermost region, except for rounding of marking costs.
self=$(jq '[.regions[].self_cpu_ns] | add' x.json)
outer=$(jq '[.regions[] | select(.region == "outer") | .cpu_ns] | add' x.json)
within "$self" "$outer" 5 "nested: self CPU times add up to that of the outermost region"
is "$(jq -c '[.regions[] | .events[].state, .self[].state] | unique' x.json)" '["counted"]' "nested: all events of all regions are counted"
is "$(jq -c '[.regions[].pair | .cpu_ns > 0, .events[1].value] | unique' x.json)" '[true,0]' \
	"nested: the cost of a begin/end pair is CPU time and no page fault"
is "$("$PMCTL" report --format json x.pmc | jq -c '[.threads[] | .seq] | length')" 21 "nested: the report has the rows of all 21 threads"

cp x.pmc twenty.pmc
cp x.json twenty.json
regions nest 40
run "$PMCTL" diff --by region --format json twenty.pmc x.pmc
is "$(jq -c '[.rows[] | [.key] + (.events[] | select(.name == "calls") | [.a, .b])] | sort' out)" \
	'[["inner",100,200],["middle",100,200],["outer",20,40]]' "diff --by region: calls"
is "$(jq -cS '[.rows[] | { key, value: (.events[] | select(.name == "cpu_ns") | .a) }] | from_entries' out)" \
	"$(jq -cS '[.groups[] | { key, value: .cpu_ns }] | from_entries' twenty.json)" "CPU time, with inner regions"
within "$(jq '.total[0].events[] | select(.name == "cpu_ns") | .b' out)" "$(group outer .cpu_ns)" 5 \
	"its total has inner regions once"
is "$(jq -c '[.rows[].events[].name] | unique' out)" '["calls","cpu_ns","page-faults","task-clock"]' "no threads, no switches"
is "$("$PMCTL" diff --by region --top 1 twenty.pmc x.pmc | grep -c 'others *cpu')" 0 \
	"other regions have no sum of CPU time, which would have some of it twice"
is "$("$PMCTL" report --by region --where 'region=m*' --format json x.pmc | jq -c '[.groups[] | [.key, .calls]]')" '[["middle",200]]' \
	"--where region="
run "$PMCTL" report --by region --where region=none x.pmc
is "$status" 1 "no region of that name"
like "$(cat err)" 'region=none' "which is named"
run "$PMCTL" diff --by region --fail-above 1000 twenty.pmc x.pmc
is "$status" 0 "--fail-above judges the total"
mv twenty.pmc x.pmc
mv twenty.json x.json

run "$PMCTL" report --by region x.pmc
like "$(cat out)" 'region +n +calls +self' "table: header has region, n, calls and self"
like "$(grep inner out)" 'inner +20 +100 ' "table: a region line has threads and calls"
like "$(cat out)" 'begin and end cost' "table: the cost of a begin/end pair is printed"
like "$(cat out)" 'all threads +21 ' "table: the last line sums all threads"
like "$(cat out)" 'all times but elapsed-time' "table: whose times they are, and of what the spread is"
title=$(sed 1q out)
run "$PMCTL" report x.pmc
is "$(sed 1q out)" "$title" "the title is that of other tables"
run "$PMCTL" report --by region --width 80 x.pmc
like "$(cat out)" ' min .*not shown: .*vol, invol' "a narrow table has the spread, not what no region has"
run "$PMCTL" report x.pmc
like "$(cat out)" 'report --by region' "table of threads: suggests report --by region"
"$PMCTL" report --by region --format csv x.pmc >x.csv
is "$(awk -F, '{ print NF }' x.csv | sort -u | wc -l)" 1 "CSV: every row has every column"
like "$(head -n 1 x.csv)" '^key,threads,calls,self_cpu_ns,.*task-clock.self' "CSV: header has calls and self"
is "$("$PMCTL" report --by region --sort calls --top 1 --format csv x.pmc | tail -n 1 | cut -d, -f2,3)" \
	20,100 "--sort calls: the region with the most calls is first"
is "$("$PMCTL" report --by region --sort self --format csv x.pmc | cut -d, -f4 | sed 1d)" \
	"$("$PMCTL" report --by region --format csv x.pmc | cut -d, -f4 | sed 1d | sort -rn)" "--sort self: descending self CPU time"
is "$("$PMCTL" report --by region --where seq=1 --format json x.pmc | jq -c '[.groups[].threads] | unique')" \
	'[1]' "--where seq=1: regions of one thread only"

# ---- merge ----------------------------------------------------------------------------------
cp x.pmc a.pmc
regions nest 20
cp x.pmc b.pmc
"$PMCTL" merge a.pmc b.pmc a.pmc -o ab.pmc
"$PMCTL" merge b.pmc ab.pmc -o ba.pmc
same ab.pmc ba.pmc "merge: input order and duplicates do not change the output"
"$PMCTL" report --by region --format json ab.pmc >x.json
is "$(jq -c '[.groups[] | [.key, .threads, .calls]] | sort' x.json)" \
	'[["inner",40,200],["middle",40,200],["outer",40,40]]' "merge: threads and calls of two runs are added"

# ---- recursion ------------------------------------------------------------------------------
regions recurse 10
is "$(calls recursion) $(calls step)" "10 9" "recursion: every call is counted"
all=$(group recursion .cpu_ns)
row=$("$PMCTL" report --format json x.pmc | jq '[.threads[].cpu_ns] | add')
between "$all" 1 "$row" "recursion: CPU time of a region open twice is counted once"
within "$(jq '[.regions[].self_cpu_ns] | add' x.json)" "$all" 5 "recursion: self CPU times add up to the outermost region"

# ---- incorrect use ------------------------------------------------------------------------------
regions unbalanced
is "$status $(calls fine) $(note 45)" "0 1 3" "end without begin: ignored, with a note"
is "$(calls "left open") $(calls "left open too") $(calls "open at exit") $(note 46)" "1 1 1 3" \
	"regions left open are closed at thread exit, with a note"
regions cancel
is "$status $(calls cancelled) $(calls waiting) $(note 46)" "0 1 1 2" "cancelled thread: open regions are closed, with a note"
regions cut
is "$status $(calls cancelled) $(note 47)" "0 0 1" "region open when another thread ends the process: no call is counted, with a note"
is "$(jq -c '[.regions[] | [.open, .cpu_ns, .events[0].value]] | unique' x.json)" '[[1,null,null]]' \
	"region open when another thread ends the process: values are null"
regions names
is "$(calls same) $(calls "number 0") $(calls "number 2") $(calls "(unnamed)")" "3 1 1 2" \
	"names are compared by content, not by address"
is "$(jq -r '[.groups[].key | select(startswith("nnn")) | length] | tostring' x.json) $(note 43)" \
	"[255] 1" "a name of 1,000 bytes is cut to 255, with a note"
ok "names with control or invalid bytes: JSON is valid" jq -e '.groups | length == 7' x.json
is "$("$PMCTL" report --by region --format csv x.pmc | awk -F'"' 'NR > 1 { print NF % 2 }' | sort -u)" 1 \
	"names with control or invalid bytes: CSV quotes are balanced"
regions lengths
is "$status $(jq -c '[.groups[] | select(.key | test("^a+$")) | [(.key | length), .calls]] | sort' x.json)" \
	"0 $(jq -nc '[range(1; 25) | [., 8]]')" "names that start alike are told apart, at the end of memory too"
regions deep 3000
is "$status $(calls top) $(calls deep) $(calls after) $(note 44)" "0 1 1023 1 1977" \
	"nesting beyond the maximum depth: excess regions noted, later regions counted"
regions many 2000
is "$(jq '[.groups[].calls] | add' x.json) $(calls "region 3") $(calls "(other regions)") $(note 42)" "4000 2 2978 2978" \
	"names beyond the maximum share the row (other regions)"
regions unseen
is "$status $(note 40) $(jq '.regions | length' x.json)" "0 1 0" "regions in a thread whose start the agent did not see: noted"

# ---- a snapshot during a record update -----------------------------------------------------------
# The first snapshot omits the record, with a note; the second has it.
rm -f x.pmc
PMC_REPORT=off PMC_DUMP=USR2 PMC_OUT=$T/x.pmc run agent "$PROG/regions_busy"
"$PMCTL" report --by region --format json x.pmc >x.json
is "$status $(calls busy) $(note 49)" "0 1 1" "a record being updated is omitted with a note and is in the next snapshot"

# ---- processes --------------------------------------------------------------------------------
for how in "" raw; do
	regions fork $how
	is "$status $(jq -c '[.regions[] | [.region, .calls]] | sort' x.json)" \
		'0 [["across",1],["across",1],["before",1],["child",1]]' \
		"${how:-libc} fork: the child has its own regions and those open at the fork"
	child=$(jq '[.regions[] | select(.region == "across") | .cpu_ns] | min' x.json)
	between "$child" 1 "$(jq '[.regions[] | select(.region == "before") | .cpu_ns] | add' x.json)" \
		"${how:-libc} fork: the child's regions count from the fork"
done
regions exec
is "$(calls around) $(calls "failed exec") $(note 46)" "2 2 0" "exec: open regions are written before exec and reopened if it fails"
regions crash
is "$status $(calls crash) $(note 46)" "139 1 1" "fatal signal: the open region is in the dump, with a note"
regions handler 200000
read -r pairs signals <out
is "$status $(calls "main outer") $(calls "main inner")" "0 $pairs $pairs" "regions in signal handlers: main's calls are neither lost nor counted twice"
is "$(($(calls handler) + $(calls "in the handler") + $(note 48)))" $((2 * signals)) \
	"regions in signal handlers: each handler call is counted or noted"
is "$(jq -c '[.regions[].events[].state] | unique' x.json)" '["counted"]' "regions in signal handlers: all events are counted"
for how in "step 60" "timer 5000"; do
	rm -f x.pmc
	# shellcheck disable=SC2086
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/regions_step" $how
	read -r rounds signals <out
	"$PMCTL" report --by region --format json x.pmc >x.json
	is "$status $(calls outer) $(calls inner)" "0 $rounds $rounds" "handler at any instruction ($how): no region of main is lost"
	is "$(($(calls handler) + $(calls "in the handler") + $(note 48)))" $((2 * signals)) \
		"handler at any instruction ($how): each handler region is counted or noted"
	for e in 0 1; do
		is "$(jq "[.regions[].self[$e].value] | add" x.json)" "$(group all ".events[$e].sum")" \
			"handler at any instruction ($how): self values of event $e add up to region all exactly"
	done
done
# A region whose begin was interrupted by the end of the process must not count earlier page faults.
twice=0
for n in $(seq 50 50 1000); do
	rm -f x.pmc
	PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/regions_step" exit "$n"
	"$PMCTL" report --by region --format json x.pmc >x.json
	twice=$((twice + ($(calls twice) == 2 && $(note 46) == 1)))
	within "$(group twice '.events[1].sum')" 100 50 "a handler ends the program after $n steps: 100 page faults, within 50 %"
done
between "$twice" 1 19 "some of these programs ended while the second region was open"
rm -f x.pmc
PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/regions_step" jump 200
"$PMCTL" report --by region --format json x.pmc >x.json
is "$status $(calls after)" "0 200" "siglongjmp from a handler at any instruction: later regions are counted"
between "$(note 48)" 1 200 "siglongjmp from a handler: some of them interrupted a begin or end"
regions churn 2000
is "$(calls one) $(calls odd) $(calls even) $(group one .threads)" "2000 1000 1000 2000" "2,000 threads in sequence: threads and calls of each region"

# Memory depends on the number of threads alive at once.
peak() {
	PMC_REPORT=off PMC_OUT=$T/peak.pmc LD_PRELOAD=$AGENT "$PROG/rusage" "$T/ru" "$PROG/regions" churn "$1" >/dev/null 2>&1
	jq .max_rss_kib "$T/ru"
}
few=$(peak 10)
between "$(peak 3000)" 1 $((few + 512)) "memory: 3,000 threads in sequence use at most 512 KiB more than 10"

# ---- snapshots --------------------------------------------------------------------------------
mkfifo in
exec 7<>in
PMC_REPORT=off PMC_DUMP=USR2 PMC_OUT=$T/live.pmc LD_PRELOAD=$AGENT "$PROG/regions" serve <in >live.out 7>&- &
pid=$!
await grep -q ready live.out
kill -USR2 $pid
await "$PMCTL" report --format json live.pmc
live() { "$PMCTL" report --by region --format json live.pmc >x.json && [ "$(calls request)" = 3 ]; }
ok "snapshot: regions that have ended have their calls" await live
is "$(jq -c '[.regions[] | [.region, .calls, .open]] | sort' x.json)" '[["request",3,0],["serving",0,1]]' \
	"snapshot: open regions are marked"
run "$PMCTL" dump $pid -o outside.pmc
is "$status $(cat err)" "0 " "pmctl dump: succeeds without a message"
jq -S .regions x.json >live.rows
"$PMCTL" report --by region --format json outside.pmc | jq -S .regions >outside.rows
same live.rows outside.rows "pmctl dump: same regions as in the snapshot by signal"
exec 7>&-
wait $pid
live
is "$(jq -c '[.regions[] | [.region, .calls, .open]] | sort' x.json)" '[["request",3,0],["serving",1,0]]' \
	"rows written at exit replace those of the snapshot"

# ---- from outside -----------------------------------------------------------------------------
# views FILE NAME: write the regions of FILE to NAME.json, .csv and .table. The table keeps the first
# five columns only: later ones depend on the thread rows, which may differ.
views() {
	"$PMCTL" report --by region --format json "$1" | jq -S '.regions, .groups' >"$2.json"
	"$PMCTL" report --by region --format csv "$1" >"$2.csv"
	"$PMCTL" report --by region "$1" | grep -E '^  (outer|middle|inner|dive|step|leaf|staying) ' |
		awk '{ print $1, $2, $3, $4, $5 }' >"$2.table"
}
# Threads that wait at a known place: a snapshot by signal and one by pmctl dump.
for events in task-clock,page-faults,run-delay L1-dcache-loads $nowhere; do
	mkfifo stay.in
	PMC_REPORT=off PMC_DUMP=USR2 PMC_OUT=$T/stay.pmc PMC_EVENTS=$events LD_PRELOAD=$AGENT \
		"$PROG/regions" stay 100 <stay.in >stay.out &
	pid=$!
	exec 8>stay.in
	await grep -q ready stay.out
	run "$PMCTL" dump $pid -o stay.outside.pmc
	is "$status $(cat err)" "0 " "$events: pmctl dump of 100 threads in regions succeeds without a message"
	kill -USR2 $pid
	signalled() { "$PMCTL" report --format json stay.pmc | jq -e '.regions | length == 700'; }
	ok "$events: a snapshot by signal has all 700 rows" await signalled
	views stay.pmc inside
	views stay.outside.pmc outside
	for view in json csv table; do
		same inside.$view outside.$view "$events: pmctl dump and the signal give the same rows: $view"
	done
	"$PMCTL" report --by region --format json stay.outside.pmc >x.json
	is "$(jq -c '[.regions[] | [.region, .calls, .open]] | group_by(.) | map([length] + .[0]) | sort' x.json)" \
		"$(jq -nc '[["dive",3,5],["inner",10,0],["leaf",1,0],["middle",10,0],["outer",2,0],["staying",0,1],["step",2,4]] | map([100] + .) | sort')" \
		"$events: calls and open counts of nested and recursive regions"
	"$PMCTL" dump $pid >/dev/null
	exec 8>&-
	wait $pid
	"$PMCTL" report --by region --format json stay.pmc >x.json
	is "$(jq -c '[.regions[] | [.region, .calls, .open]] | unique' x.json)" \
		'[["dive",8,0],["inner",10,0],["leaf",1,0],["middle",10,0],["outer",2,0],["staying",1,0],["step",6,0]]' \
		"$events: rows written at exit replace those of the snapshots"
	rm stay.in stay.out stay.pmc stay.outside.pmc
done

# A forked child inherits its parent's area of regions; it must contain the child's regions only.
mkfifo child.in
PMC_REPORT=off PMC_DUMP=USR2 PMC_OUT=$T/child.pmc LD_PRELOAD=$AGENT "$PROG/regions" serve child <child.in >child.out &
pid=$!
exec 8>child.in
await grep -q ready child.out
child=$(pgrep -P $pid)
run "$PMCTL" dump "$child" -o child.outside.pmc
"$PMCTL" report --format json child.outside.pmc >x.json
is "$(jq -c '[.regions[] | [.region, .calls, .open]] | sort' x.json)" '[["request",3,0],["serving",0,1]]' \
	"pmctl dump of a forked child: only its own regions"
exec 8>&-
wait $pid

# Threads that keep marking regions: each snapshot is consistent, and values never decrease.
mkfifo busy.in
PMC_REPORT=off LD_PRELOAD=$AGENT "$PROG/regions" busy 3 <busy.in >busy.out &
pid=$!
exec 8>busy.in
await grep -q ready busy.out
marking() { rm -f busy.pmc; "$PMCTL" dump $pid -o busy.pmc && "$PMCTL" report --by region --format json busy.pmc |
	jq -e '[.regions[] | select(.region == "name 49")] | length == 3'; }
ok "busy threads: pmctl dump has the last region of each thread" await marking
rm -f busy.pmc
for i in $(seq 20); do
	"$PMCTL" dump $pid -o busy-$i.pmc >>busy.said 2>&1
	"$PMCTL" report --format json busy-$i.pmc
done >busy.json
exec 8>&-
wait $pid
rows='[.[] | [.regions[] | { key: "\(.seq) \(.region)", value: . }] | from_entries]'
is "$(jq -sc "$rows"' | map(keys) | unique | length' busy.json)" 1 "busy threads: every snapshot has the same regions"
# Compare page faults: CPU time may decrease, as the estimated cost of marking is subtracted.
is "$(jq -sc "$rows"' | [range(1; length) as $i | .[$i] as $now | .[$i - 1] | to_entries[] |
	.value.calls <= $now[.key].calls and .value.events[1].raw <= $now[.key].events[1].raw] | unique' busy.json)" \
	'[true]' "busy threads: calls and page faults never decrease"
is "$(jq -sc '[.[] | . as $all | .regions[] | select(.region == "all") | . as $r |
	($all.threads[] | select(.seq == $r.seq) | .events[0].value) >= $r.events[0].value] | unique' busy.json)" \
	'[true]' "busy threads: no region exceeds its thread"
is "$(jq -sc '[.[].regions[] | select(.calls > 0) | .cpu_ns != null and .events[0].state == "counted"] | unique' busy.json)" \
	'[true]' "busy threads: all events of regions with calls are counted"
unlike "$(cat busy.said)" "damaged" "busy threads: pmctl dump reports no damaged record"

# ---- no available event; PMC_START=off ----------------------------------------------------------
PMC_EVENTS=$nowhere regions nest 2
between "$(group inner .cpu_ns)" 1 "$("$PMCTL" report --format json x.pmc | jq '[.threads[].cpu_ns] | add')" \
	"no event available: the region has CPU time, at most that of the threads"
is "$(group inner '.events[0].sum')" null "no event available: the event value is null"
PMC_START=off regions nest 2
is "$(calls inner)" null "PMC_START=off: no call is counted"


# ---- without the agent --------------------------------------------------------------------------
cat >marked.c <<'END'
#include <pmc/region.h>
#include <stdio.h>
int main(void)
{
	for (int i = 0; i < 100000; i++) {
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
echo '#include <pmc/region.h>
int main() { pmc_region("at once"); }' >temporary.cc
# shellcheck disable=SC2086
${E2E_CXX:-g++} -std=c++17 $strict -c temporary.cc 2>temporary.err
ok "a guard that is a temporary warns" grep -q nodiscard temporary.err
for how in "-fPIE -pie" "-fno-pie -no-pie" "-static" "-static-pie"; do
	# shellcheck disable=SC2086
	ok "C11, $how: compiles with -Werror and no library" \
		$E2E_CC -std=c11 -O2 $strict ${how} marked.c -o marked
	is "$(./marked)" ran "C11, $how: runs"
	is "$(nm marked | grep -c ' U pmc_')" 0 "C11, $how: no undefined pmc_ symbol"
	case $how in
	*static*) ;;
	*)
		rm -f x.pmc
		PMC_REPORT=off PMC_OUT=x.pmc agent ./marked >/dev/null
		"$PMCTL" report --by region --format json x.pmc >x.json
		is "$(calls x)" 100000 "C11, $how: under the agent every call is counted"
		within "$(jq '.processes[0].coverage.overhead_ns' x.json)" \
			"$(jq '.regions[0] | .calls * .pair.cpu_ns' x.json)" 5 "C11, $how: overhead of the agent is the cost of the begin/end pairs"
		;;
	esac
done
# shellcheck disable=SC2086
ok "C++17: compiles together with dlfcn.h" ${CXX:-g++} -std=c++17 -O2 $strict -Wold-style-cast marked.cc -o markedxx
# shellcheck disable=SC2086
ok "C++17: compiles with clang++" clang++ -std=c++17 -O2 $strict -Wold-style-cast -c marked.cc -o marked.o
rm -f x.pmc
PMC_REPORT=off PMC_OUT=x.pmc run agent ./markedxx
"$PMCTL" report --by region --format json x.pmc >x.json
is "$(cat out) $(calls guarded) $(calls all) $(note 46)" "ran 100 1 0" "C++: an exception closes the region of a guard"
cat >guard.cc <<'END'
#include <pmc/region.hpp>
#include <type_traits>
static_assert(!std::is_copy_constructible<pmc::region>::value && !std::is_copy_assignable<pmc::region>::value, "");
static_assert(!std::is_move_constructible<pmc::region>::value && !std::is_move_assignable<pmc::region>::value, "");
static_assert(!std::is_convertible<const char *, pmc::region>::value, "no region by accident");
int main()
{
	for (int i = 0; i < 7; i++)
		try {
			pmc::region outer("outer");
			pmc::region inner("inner");
			throw i;
		} catch (int) {
		}
}
END
echo '#include <pmc/region.hpp>
int main() { pmc::region("at once"); }' >temporary.cc
for cxx in "${E2E_CXX:-g++}" clang++; do
	for standard in c++11 c++17 c++20; do
		rm -f x.pmc
		# shellcheck disable=SC2086
		ok "region.hpp: $cxx, $standard: compiles" "$cxx" -std=$standard -O2 $strict guard.cc -o guard
		PMC_REPORT=off PMC_OUT=x.pmc run agent ./guard
		"$PMCTL" report --by region --format json x.pmc >x.json
		is "$status $(calls inner) $(calls outer) $(note 46)" "0 7 7 0" "region.hpp: $cxx, $standard: exceptions close regions"
	done
	# shellcheck disable=SC2086
	"$cxx" -std=c++17 $strict -c temporary.cc 2>temporary.err
	ok "region.hpp: $cxx warns about a temporary" grep -q nodiscard temporary.err
done

# ---- a program reads its own regions ------------------------------------------------------------
# expect NAME EVENT: what the dump has of the main thread's region
expect() {
	jq -r --arg n "$1" --arg e "$2" '.regions[] | select(.region == $n and .tid == .pid) |
		(.events[] | select(.name == $e)) as $all | (.self[] | select(.name == $e)) as $self |
		"0 \(.calls) \(.open) \(.cpu_ns) \(.self_cpu_ns) \($all.raw) \($self.raw) " +
		"\($all.enabled_ns) \($all.running_ns)"' x.json | head -n 1
}
run "$PROG/regions_read" page-faults
is "$status $(sort -u out)" "0 ENODEV 0 0" "pmc_region_read: without the agent there is none"
for event in page-faults task-clock software/dummy/ context-switches; do
	rm -f x.pmc
	# In braces: by a perf event.
	PMC_EVENTS="task-clock,page-faults,{context-switches,software/dummy/},$nowhere" \
		PMC_REPORT=off PMC_OUT=$T/x.pmc run agent "$PROG/regions_read" "$event"
	"$PMCTL" report --by region --format json x.pmc >x.json
	is "$(sed -n 1p out)" "$(expect outer "$event")" "pmc_region_read: outer and $event are those of the dump"
	is "$(sed -n 2p out)" "$(expect inner "$event")" "pmc_region_read: inner and $event are those of the dump"
	is "$(sed -n 3p out)" "$(expect inner "$event" | cut -d' ' -f1-5)" "pmc_region_read: without an event"
	is "$(sed -n 4p out)" "ENOENT 0 0" "pmc_region_read: a region of another thread is not found"
	like "$(sed -n 5p out)" '^EINVAL 7 0 [1-9][0-9]* [1-9][0-9]*$' "pmc_region_read: an event that was not asked for"
	like "$(sed -n 6p out)" '^0 1 1' "pmc_region_read: a child of fork has sums of its own"
done
for event in $nowhere run-delay; do
	PMC_EVENTS=run-delay,task-clock,$nowhere PMC_REPORT=off run agent "$PROG/regions_read" "$event"
	like "$(sed -n 1p out)" '^ENODATA 3 0 [1-9][0-9]* [1-9][0-9]*$' \
		"pmc_region_read: an event that is not counted has no count: $event"
done

# ---- other languages ----------------------------------------------------------------------------
is "$(python3 "$ROOT/docs/examples/regions.py")" "sum 499999500000" "Python: runs without the agent"
rm -f x.pmc
PMC_REPORT=off PMC_OUT=x.pmc run agent python3 "$ROOT/docs/examples/regions.py"
"$PMCTL" report --by region --format json x.pmc >x.json
is "$(cat out) $(calls fill) $(calls sum) $(calls job)" "sum 499999500000 4 4 4" "Python: under the agent calls of each region are counted"
is "$(jq -c '[.regions[].seq] | unique | length' x.json)" 4 "Python: each of 4 threads has its own regions"
ok "mark_regions.c compiles" $E2E_CC -std=c11 -O2 $strict "$ROOT/docs/examples/mark_regions.c" -o example -pthread
rm -f x.pmc
PMC_REPORT=off PMC_OUT=x.pmc run agent ./example
"$PMCTL" report --by region --format json x.pmc >x.json
is "$status $(calls "fill") $(calls "sum")" "0 4 4" "mark_regions.c: under the agent calls of each region are counted"

done_testing
