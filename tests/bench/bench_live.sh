# SPDX-License-Identifier: MIT
# bench_live.sh - pmctl trace and stat beside perf, in CPU time; a part of bench.sh.
#
# Both watch the same load for as long, by turns. Tracing needs root and tracefs.

# cpu_of CMD...: CPU time in ns, with children.
cpu_of() {
	"$O/prog/rusage" "$T/ru" "$@" >/dev/null 2>"$T/live.err" || cat "$T/live.err" >>"$T/err"
	jq .cpu_ns "$T/ru"
}
ms_of() { calc '%.0f ms' "$(med "$1" "$2") / 1e6"; }

live_trace() {
	local load=() i before
	[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing || return
	for i in 1 2; do
		(while :; do "$B/switch_cost" 100000; done) >/dev/null 2>&1 &
		load+=($!)
	done
	: >"$T/live"
	for i in 1 2 3; do
		before=$(awk '$1 == "ctxt" { print $2 }' /proc/stat)
		ours=$(cpu_of "$O/pmctl" trace -e sched:sched_switch -a --format record -o "$T/trace" -d 3s)
		rate=$((($(awk '$1 == "ctxt" { print $2 }' /proc/stat) - before) / 3))
		theirs=$(cpu_of perf record -q -e sched:sched_switch -a -o "$T/perf.data" -- sleep 3)
		script=$(cpu_of bash -c 'perf script -i "$1" >"$2"' - "$T/perf.data" "$T/script")
		echo "$ours $((theirs + script)) $theirs $rate" >>"$T/live"
	done
	kill "${load[@]}"
	wait "${load[@]}" 2>/dev/null
	line "pmctl trace to a file, 3 s of $(med "$T/live" 4) switches/s" \
		"$(ms_of "$T/live" 1)  $(calc '%.2f ×' "$(med "$T/live" 1 2)") perf" "≤ 1 × perf"
	line "  perf record and perf script" "$(ms_of "$T/live" 2), of it perf record $(ms_of "$T/live" 3)"
}

live_stat() {
	local pid i events=task-clock,context-switches,page-faults
	mkfifo "$T/stdin"
	"$O/prog/waiters" 1000 <"$T/stdin" >"$T/waiters" 2>&1 &
	pid=$!
	exec 9>"$T/stdin"
	until grep -qs ready "$T/waiters"; do kill -0 $pid && sleep 0.05; done
	: >"$T/live"
	for i in 1 2 3; do
		ours=$(cpu_of "$O/pmctl" stat -p $pid -e $events -I 100ms -o "$T/stat" -- sleep 3)
		theirs=$(cpu_of perf stat -p $pid -e $events -I 100 -o "$T/stat" -- sleep 3)
		threads=$(cpu_of "$O/pmctl" stat -p $pid -e $events --per-thread -I 100ms -o "$T/stat" -- sleep 3)
		each=$(cpu_of perf stat -p $pid -e $events --per-thread -I 100 -o "$T/stat" -- sleep 3)
		once=$(cpu_of "$O/pmctl" top -b -n 1 -I 1s --by thread $pid)
		top=$(cpu_of "$O/pmctl" top -b -n 4 -I 1s --by thread $pid)
		echo "$ours $theirs $threads $each $(((top - once) / 3))" >>"$T/live"
	done
	exec 9>&-
	wait $pid
	line "pmctl stat, 1,000 threads, 3 s at 100 ms" \
		"$(ms_of "$T/live" 1)  $(calc '%.2f ×' "$(med "$T/live" 1 2)") perf stat" "≤ 1 × perf stat"
	line "  a row for each thread, with its waits" "$(ms_of "$T/live" 3)  $(calc '%.2f ×' "$(med "$T/live" 3 4)") perf stat" "≤ 1 × perf stat"
	line "pmctl top, 1,000 threads asleep, a second" "$(ms_of "$T/live" 5)"
}

echo
if ! command -v perf >/dev/null; then
	line "pmctl trace and stat beside perf" "skipped: no perf (linux-perf)"
elif [ "$(id -u)" != 0 ]; then
	line "pmctl trace and stat beside perf" "skipped: not root"
else
	export T O B
	export -f line calc med cpu_of ms_of live_trace live_stat
	live_stat
	unshare -m bash -c live_trace || line "pmctl trace beside perf" "skipped: no tracefs"
fi
