# SPDX-License-Identifier: MIT
# bench_price.sh - what measuring costs a program, beside perf; a part of bench.sh.
#
# CPU time with children against that of the bare program, in pairs of runs in random order. After
# each median stands its spread: the quartiles of the pairs.

# cpu_ns CMD...: the CPU time of CMD and its children.
cpu_ns() {
	"$O/prog/rusage" "$T/ru" "$@" >/dev/null 2>>"$T/err"
	jq .cpu_ns "$T/ru"
}

# priced FILE VARIANT...: a line per round with the CPU time of each variant, a shell command.
priced() {
	local out=$1 r v
	shift
	local variants=("$@")
	: >"$out"
	for r in $(seq 0 $((rounds < 9 ? rounds : 9))); do
		local row=()
		for v in $(shuf -i 0-$(($# - 1))); do
			rm -f "$T"/dump* "$T"/perf.data*
			row[v]=$(cpu_ns bash -c "${variants[v]}")
		done
		[ "$r" -eq 0 ] || echo "${row[@]}" >>"$out"
	done
}

# price FILE COLUMN OVER: the median of the ratios, and their quartiles. A spread that reaches 1 on
# both sides tells no difference.
price() {
	awk -v c="$2" -v o="$3" '{ print $c / $o }' "$1" | sort -g | awk '
		{ v[NR] = $1 }
		function at(q) { return v[int((NR - 1) * q + 1.5)] }
		END { printf "%.2f × (%.2f to %.2f)%s", at(0.5), at(0.25), at(0.75),
			(at(0.25) <= 1 && at(0.75) >= 1) ? ", within the spread" : "" }'
}

os_events=task-clock,page-faults,context-switches
preload="LD_PRELOAD=$agent PMC_REPORT=off"
have_perf=$(command -v perf)
# beside NAME TARGET BARE OURS PEER: three commands.
beside() {
	local peer=()
	[ -z "$have_perf" ] || peer=("$5")
	priced "$T/price" "$3" "$4" "${peer[@]}"
	line "$1" "$(price "$T/price" 2 1)" "$2"
	[ -z "$have_perf" ] || line "  perf" "$(price "$T/price" 3 1)"
}

echo
pong="$B/switch_cost 50000"
beside "ping-pong on one CPU, OS events" "≤ 1.05 ×" "$pong" "env $preload PMC_EVENTS=$os_events $pong" \
	"perf stat -e $os_events -o $T/stat $pong"
long_pong="$B/switch_cost 400000"
beside "the same, longer, sampled at 997 Hz" "≤ 1.10 ×" "$long_pong" \
	"env $preload PMC_OUT=$T/dump.pong PMC_SAMPLE=task-clock/997 $long_pong" \
	"perf record -q -F 997 -o $T/perf.data $long_pong"
short="$B/thread_cost 20000 0"
beside "20,000 short threads, OS events" "≤ 1.15 ×" "$short" "env $preload PMC_EVENTS=$os_events $short" \
	"perf stat -e $os_events -o $T/stat $short"
trues='for i in $(seq 500); do /bin/true; done'
beside "true × 500, a dump, default events" "≤ 1.25 ×" "$trues" \
	"export $preload PMC_OUT=$T/dump.true; exec bash -c '$trues'" "perf stat -o $T/stat bash -c '$trues'"
busy="$B/thread_cost 1 300000000"
beside "run --sample of 0.2 s" "≤ 1.15 ×" "$busy" "$O/pmctl run --sample -o $T/dump.sample -- $busy 2>&1" \
	"perf record -q -g -o $T/perf.data $busy; perf report -i $T/perf.data --stdio"
"$O/prog/idlers" 500 6000 16700 >"$T/idlers" </dev/null &
idlers=$!
watch="--per-thread -p $idlers -e task-clock"
if [ -n "$have_perf" ]; then
	priced "$T/price" "perf stat $watch -I 100 -- sleep 2 2>&1" "$O/pmctl stat $watch -I 100ms -- sleep 2 2>&1"
	line "stat --per-thread, 500 threads of 0.3 %" "$(price "$T/price" 2 1) perf stat" "≤ 0.90 ×"
	priced "$T/price" "perf stat $watch -I 100 -- sleep 2 2>&1" \
		"$O/pmctl stat $watch --columns time,thread,tid,task-clock -I 100ms -- sleep 2 2>&1"
	line "  the columns that perf has" "$(price "$T/price" 2 1) perf stat" "≤ 0.90 ×"
fi
kill $idlers
wait $idlers 2>/dev/null

# Snapshots that were taken of those due: times of rows with a pause of a quarter interval before them.
rm -f "$T"/dump*
env $preload PMC_INTERVAL=100ms PMC_OUT="$T/dump.idle" "$O/prog/idlers" 50 200 </dev/null >"$T/idlers"
line "snapshots of 50 threads of 0.5 %, 2 s" \
	"$("$O/pmctl" report --timeline --format json "$T/dump.idle" | jq -r .t_ns | sort -n |
		awk '$1 > last + 25e6 { n++ } { last = $1 } END { print n + 0 }') of 19 due" "≥ 15"
rm -f "$T"/dump*

# Runs of a merge: many small dumps, each sorted, beside the same rows sorted in one.
mkdir "$T/runs"
for seed in $(seq 1200); do "$B/gen_dump" $((rows / 1200)) "$seed" >"$T/runs/$seed.pmc"; done
"$O/pmctl" merge "$T"/runs/*.pmc -o "$T/one.pmc"
priced "$T/price" "$O/pmctl merge $T/one.pmc -o $T/dump.a" "$O/pmctl merge $T/runs/*.pmc -o $T/dump.b"
line "merge of 1,200 sorted dumps" "$(price "$T/price" 2 1) one sorted dump" "≤ 1.60 ×"
rm -rf "$T/runs" "$T/one.pmc" "$T"/dump*
