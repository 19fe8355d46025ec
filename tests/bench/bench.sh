#!/bin/bash
# SPDX-License-Identifier: MIT
# bench.sh - the table of costs: the agent compared with the bare program, an empty preload and a
# minimal preload that holds the same groups.
#
# Variants run in random order within each round; medians of the ratios of each round are printed.
# BENCH_ROUNDS (default 15) and BENCH_ROWS (default 3,000,000) make it shorter or longer.
set -u
cd "$(dirname "$0")/../.." || exit 1
O=${O:-build}
case $O in /*) ;; *) O=$PWD/$O ;; esac
rounds=${BENCH_ROUNDS:-15}
rows=${BENCH_ROWS:-3000000}
export LC_ALL=C.UTF-8
for v in $(compgen -e | grep '^PMC_'); do unset "$v"; done
unset LD_PRELOAD
T=$(mktemp -d "${TMPDIR:-/tmp}/pmc-bench.XXXXXX")
trap 'rm -rf "$T"' EXIT

B=$O/bench
agent=$O/libpmcagent.so
# Perf events: in braces.
events4='{task-clock,page-faults,context-switches,cpu-migrations}'
# OS accounting only, with and without a PMU: no kernel has a software event of this number.
accounting="PMC_EVENTS=software/config=0x7fff/"

line() { # WHAT REACHED TARGET
	local pad=$((46 - ${#1}))
	[ $pad -gt 0 ] || pad=1
	printf ' %s%*s%-34s %s\n' "$1" "$pad" '' "$2" "${3:-}"
}
calc() { awk "BEGIN { printf \"$1\", $2 }"; }

# paired OUT PROGRAM-AND-ARGS VARIANT...: a row of numbers per round, one column per variant. A
# variant is arguments of env(1). The order is random in each round, because the kernel still works
# for a process after its end.
paired() {
	local out=$1 program=$2 r v
	shift 2
	local variants=("$@")
	: >"$out"
	for r in $(seq 0 "$rounds"); do
		local row=()
		for v in $(shuf -i 0-$(($# - 1))); do
			rm -f "$T"/dump*
			# shellcheck disable=SC2086
			row[v]=$(env ${variants[v]} $program 2>>"$T/err")
		done
		[ "$r" -eq 0 ] || echo "${row[@]}" >>"$out"
	done
}

# med FILE COLUMN [OVER]: the median of a column, or of its ratio to another.
med() {
	awk -v c="$2" -v o="${3:-0}" '{ print o ? $c / $o : $c }' "$1" | sort -g |
		awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

echo " $(uname -srm), $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo " medians of $rounds rounds"
echo
line WHAT REACHED TARGET

# ---- process start ------------------------------------------------------------------------
quiet="PMC_REPORT=off"
env $quiet "$B/process_cost" $((rounds * 20)) 0 "$B/preload_empty.so" - "$agent" "$B/preload_start.so" \
	>"$T/start"
read -r empty _ <"$T/start"
read -r bare _ < <(sed -n 2p "$T/start")
read -r ours delta < <(sed -n 3p "$T/start")
line "process start, bare" "$(calc '%.3f ms' "$bare / 1000")"
line "process start, empty preload" "$(calc '%.3f ms' "$empty / 1000")"
line "process start, agent, default events" \
	"$(calc '%.3f ms' "$ours / 1000") ($(calc '%+.3f ms' "$delta / 1000"))" "≤ +0.300 ms to empty"
default=$ours
read -r ours delta < <(sed -n 4p "$T/start")
line "  those events tried and counted, no more" \
	"$(calc '%.3f ms' "$ours / 1000") ($(calc '%+.3f ms' "$delta / 1000"))"
env $quiet PMC_OUT="$T/dump.true" bash -c 'for i in $(seq 50); do LD_PRELOAD=$1 "$2"; done' \
	- "$agent" "$(type -P true)" 2>>"$T/err"
printed=$("$O/pmctl" report --format json "$T/dump.true" |
	jq '[.processes[] | select(.exe | endswith("true")) | .coverage.overhead_ns] | sort | .[length / 2 | floor]')
line "  overhead that its report shows" "$(calc '%+.3f ms' "$printed / 1e6")" "that to bare $(calc '%+.3f ms' "($default - $bare) / 1000"), ± 1/3"
rm -f "$T/dump.true"
env $quiet PMC_EVENTS=$events4 "$B/process_cost" $((rounds * 20)) 0 "$B/preload_empty.so" "$agent" >"$T/start"
read -r ours delta < <(sed -n 2p "$T/start")
line "process start, agent, 4 software events" \
	"$(calc '%.3f ms' "$ours / 1000") ($(calc '%+.3f ms' "$delta / 1000"))"
env $quiet PMC_EVENTS=$events4 "$B/process_cost" 3 2500 "$B/preload_empty.so" "$B/preload_minimal.so" \
	"$agent" >"$T/start"
read -r _ minimal < <(sed -n 2p "$T/start")
read -r _ delta < <(sed -n 3p "$T/start")
line "  the same, cold (system without events)" \
	"$(calc '%+.3f ms' "$delta / 1000"), minimal $(calc '%+.3f ms' "$minimal / 1000")"

# ---- threads ------------------------------------------------------------------------------
off="PMC_REPORT=off PMC_OUT=$T/dump.pmc PMC_EVENTS="
min="MINIMAL_OUT=$T/dump.min LD_PRELOAD=$B/preload_minimal.so"
# Many short processes: the cost of a thread's end depends on the random address of its stack, whose
# pages the C library returns.
rounds=$((rounds * 8)) paired "$T/threads" "$B/thread_cost 1000 2000" \
	"A=a" \
	"LD_PRELOAD=$B/preload_empty.so" \
	"$min MINIMAL_EVENTS=0" \
	"PMC_REPORT=off PMC_OUT=$T/dump.pmc $accounting LD_PRELOAD=$agent" \
	"$min MINIMAL_EVENTS=4" \
	"$off$events4 PMC_INHERIT=full LD_PRELOAD=$agent" \
	"$off$events4 PMC_INHERIT=off LD_PRELOAD=$agent" \
	"PMC_REPORT=off PMC_OUT=$T/dump.pmc PMC_INTERVAL=10s $accounting LD_PRELOAD=$agent" \
	"PMC_REPORT=off PMC_OUT=$T/dump.pmc $accounting,user-time,system-time LD_PRELOAD=$agent" \
	"PMC_REPORT=off PMC_OUT=$T/dump.pmc $accounting,run-delay LD_PRELOAD=$agent"
us() { calc '%.1f µs' "$(med "$T/threads" "$1") / 1000"; }
ratio() { calc '%.2f ×' "$(med "$T/threads" "$1" "$2")"; }
line "thread create + join, bare" "$(us 1)"
line "  empty preload" "$(us 2)  $(ratio 2 1) bare"
line "  one write per thread, nothing else" "$(us 3)  $(ratio 3 1) bare"
line "  agent, OS accounting only" "$(us 4)  $(ratio 4 1) bare" "≤ 1.15 × bare"
line "  the same with a timer (PMC_INTERVAL)" "$(us 8)  $(ratio 8 4) without"
line "  the same with user-time and system-time" "$(ratio 9 4) without"
line "  the same with run-delay" "$(ratio 10 4) without"
line "  minimal preload, 3 groups of 4 events" "$(us 5)  $(ratio 5 1) bare"
line "  agent, 3 groups of 4 events" "$(us 6)  $(ratio 6 1) bare, $(ratio 6 5) minimal" "≤ 1.10 × minimal"
line "  agent, own group of 4 events only" "$(us 7)  $(ratio 7 1) bare"

# ---- ticks ----------------------------------------------------------------------------------
# One busy thread, with a tick in each clock tick of the kernel; at 1ms each is a snapshot.
paired "$T/ticks" "$B/thread_cost 10 10000000" \
	"A=a" \
	"PMC_REPORT=off PMC_OUT=$T/dump.pmc $accounting LD_PRELOAD=$agent" \
	"PMC_REPORT=off PMC_OUT=$T/dump.pmc PMC_INTERVAL=32ms $accounting LD_PRELOAD=$agent" \
	"PMC_REPORT=off PMC_OUT=$T/dump.pmc PMC_INTERVAL=1ms $accounting LD_PRELOAD=$agent"
ratio() { calc '%.3f ×' "$(med "$T/ticks" "$1" "$2")"; }
line "busy thread, agent" "$(ratio 2 1) bare"
line "  PMC_INTERVAL=32ms, a tick every 4 ms" "$(ratio 3 2) without"
line "  PMC_INTERVAL=1ms, a snapshot every tick" "$(ratio 4 2) without"

# ---- context switches -----------------------------------------------------------------------
paired "$T/switch" "$B/switch_cost 50000" \
	"A=a" \
	"PMC_REPORT=off PMC_EVENTS=$events4 PMC_INHERIT=off LD_PRELOAD=$agent" \
	"PMC_REPORT=off PMC_EVENTS=$events4 PMC_INHERIT=full LD_PRELOAD=$agent"
sw() { calc '%.2f µs' "$(med "$T/switch" "$1") / 1000"; }
line "context switch, bare" "$(sw 1)"
line "  own group of 4" "$(sw 2)" "printed next to bare"
line "  own and inherit groups" "$(sw 3)"

# ---- snapshot -------------------------------------------------------------------------------
# Both alternate in one process; medians of the rounds.
for r in 1 2 3; do
	rm -f "$T/dump.snap"
	env PMC_REPORT=off PMC_INHERIT=off PMC_DUMP=USR2 PMC_OUT="$T/dump.snap" PMC_EVENTS=$events4 \
		LD_PRELOAD="$agent" "$B/snapshot" 1000 41
done >"$T/snap" 2>>"$T/err"
rm -f "$T/dump.snap"
line "1,000 bare group reads" "$(calc '%.2f ms' "$(med "$T/snap" 1) / 1e6")"
line "  snapshot of 1,000 live threads" \
	"$(calc '%.2f ms' "$(med "$T/snap" 2) / 1e6")  $(calc '%.2f' "$(med "$T/snap" 2 1)") × bare" \
	"≤ 1.80 × bare"

# ---- marked regions ---------------------------------------------------------------------------
# All four alternate in one process; ratios of the rounds.
for r in 1 2 3 4 5; do
	env PMC_REPORT=off PMC_INHERIT=off PMC_EVENTS=$events4 LD_PRELOAD="$agent" "$B/region_cost" 100000 11
done >"$T/regions" 2>>"$T/err"
for r in 1 2 3 4 5; do
	env $quiet "$accounting" LD_PRELOAD="$agent" "$B/region_cost" 100000 11
done >"$T/regions-plain" 2>>"$T/err"
for r in 1 2 3 4 5; do "$B/region_cost" 1000000 5; done >"$T/regions-none" 2>>"$T/err"
line "two clock_gettime(CLOCK_MONOTONIC)" "$(calc '%.0f ns' "$(med "$T/regions" 3)")"
line "two bare reads of a group of 4" "$(calc '%.0f ns' "$(med "$T/regions" 2)")"
line "  a region, begin and end" \
	"$(calc '%.0f ns' "$(med "$T/regions" 1)")  $(calc '%.2f' "$(med "$T/regions" 1 2)") × two reads" \
	"≤ 1.25 × two reads"
line "  with OS accounting only" \
	"$(calc '%.0f ns' "$(med "$T/regions-plain" 1)")  $(calc '%.2f' "$(med "$T/regions-plain" 1 4)") × two CPU clocks"
line "  without the agent" "$(calc '%.1f ns' "$(med "$T/regions-none" 1)")" "≤ 5 ns"

# ---- fork -----------------------------------------------------------------------------------
# The descriptor table stays below 8,192. The kernel copies every descriptor at fork, so a program
# with as many descriptors of its own is the comparison.
for r in 1 2 3 4 5; do
	printf '%s ' "$("$B/fork_cost" 500 101)"
	printf '%s ' "$(env $quiet "$accounting" LD_PRELOAD="$agent" "$B/fork_cost" 500 101)"
	printf '%s ' "$(env $quiet PMC_INHERIT=off PMC_EVENTS=$events4 LD_PRELOAD="$agent" \
		"$B/fork_cost" 500 101)"
	printf '%s\n' "$(ulimit -Sn 4096 && "$B/fork_cost" 500 101 2000)"
done >"$T/fork" 2>>"$T/err"
us() { calc '%.0f µs' "$(med "$T/fork" "$1") / 1000"; }
line "fork with 500 threads, bare" "$(us 1), to the child's end $(us 2)"
line "  agent, OS accounting only" "$(us 3), to the child's end $(us 4)"
line "  bare, 2,000 descriptors of its own" "$(us 7), to the child's end $(us 8)"
line "  agent, 2,000 descriptors" "$(us 5), to the child's end $(us 6)" \
	"fork not measurably slower"

# ---- pmctl bench ------------------------------------------------------------------------------
# Wall time of true, in which starting it is nearly all, by two tools in turn.
for r in 1 2 3 4 5; do
	"$O/pmctl" bench -r 400 -e task-clock --format json true | jq -j '.commands[0].summary.wall_ns.mean'
	hyperfine -N --warmup 1 --runs 400 --export-json "$T/hyperfine" true >/dev/null
	jq '" \(.results[0].mean * 1e9)"' -r "$T/hyperfine"
done >"$T/spawn" 2>>"$T/err"
line "true, measured by hyperfine -N" "$(calc '%.0f µs' "$(med "$T/spawn" 2) / 1000")"
line "  measured by pmctl bench" \
	"$(calc '%.0f µs' "$(med "$T/spawn" 1) / 1000")  $(calc '%.2f' "$(med "$T/spawn" 1 2)") × hyperfine" \
	"≤ 1.00 × hyperfine"

# ---- memory -------------------------------------------------------------------------------
rss() { # ENVIRONMENT...
	"$O/prog/rusage" "$T/ru" env "$@" "$O/prog/crowd" "$threads" >/dev/null 2>&1
	jq .max_rss_kib "$T/ru"
}
for threads in 1 1000; do
	without=$(rss LD_PRELOAD="$B/preload_empty.so")
	with=$(rss LD_PRELOAD="$agent" PMC_REPORT=off PMC_OUT="$T/dump.mem" PMC_EVENTS=$events4)
	rm -f "$T/dump.mem"
	line "agent memory, $threads threads alive" "$((with - without)) KiB" \
		"≤ $((1024 + threads / 4)) KiB"
done

# ---- emulated machine, from the files of its tests ------------------------------------------
if [ -s "$O/vm/costs" ]; then
	cost() { awk -v k="$1" '$1 == k { print $2 }' "$O/vm/costs"; }
	echo
	line "instructions, user and kernel, six events" "" "(make check-vm, arm64)"
	line "process start, bare" "$(cost start_bare_instructions)"
	line "  agent adds" "$(cost start_instructions)"
	line "thread create + join, bare" "$(cost thread_bare_instructions)"
	line "  agent adds" "$(cost thread_instructions)"
	line "  with OS accounting only" "$(cost thread_accounting_instructions)"
	line "steady state, one thread" "$(cost steady_pct) %" "≤ 0.5 %"
	line "  four threads, one processor" "$(cost shared_pct) %" "≤ 0.5 %"
	if [ -s "$O/vm/region_costs" ]; then
		pair() { awk -v k="$1" '$1 == k { print $3 }' "$O/vm/region_costs"; }
		line "two user-space reads of a group of 5" "$(pair user_user_reads)"
		line "  a region by user-space reads" \
			"$(pair user_pair)  $(calc '%.2f' "$(pair user_pair) / $(pair user_user_reads)") × two reads" \
			"≤ 2.00 × two reads"
		line "  with two events" \
			"$(pair two_pair)  $(calc '%.2f' "$(pair two_pair) / $(pair two_user_reads)") × two reads" \
			"≤ 2.00 × two reads"
		line "  with one event" \
			"$(pair single_pair)  $(calc '%.2f' "$(pair single_pair) / $(pair single_user_reads)") × two reads" \
			"≤ 2.00 × two reads"
		line "two read(2) of a group of 5" "$(pair read_reads)"
		line "  a region by read(2)" \
			"$(pair read_pair)  $(calc '%.2f' "$(pair read_pair) / $(pair read_reads)") × two reads" \
			"≤ 1.25 × two reads"
	fi
	echo
fi

# ---- samples ----------------------------------------------------------------------------------
. tests/bench/bench_samples.sh

# ---- merge and report -----------------------------------------------------------------------
. tests/bench/bench_merge.sh
. tests/bench/bench_live.sh
. tests/bench/bench_price.sh
. tests/bench/bench_micro.sh

[ ! -s "$T/err" ] || {
	echo "bench: programs wrote to stderr:" >&2
	head -n 5 "$T/err" >&2
}
