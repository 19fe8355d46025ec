#!/bin/bash
# SPDX-License-Identifier: MIT
# os-events.t - run-delay, user-time, system-time and elapsed-time: values of the kernel, in rows of
# every kind.
. "$(dirname "$0")/lib.sh"
export PMC_EVENTS=run-delay,user-time,system_time

# value NAME: of a row that is piped in.
values='[.events[] | {(.name): .value}] | add'

# ---- a starved program ------------------------------------------------------------------------
# Each thread prints what the kernel says, and is counted a little later.
for _ in 1 2 3; do
	report "$PROG/starve" 3 200
	ok "rows have at least what each thread read" jq -e --rawfile told "$T/out" '
		[.threads[] | {(.tid | tostring): ('"$values"')}] | add as $row |
		[$told | split("\n")[] | select(. != "") | split(" ") | [.[0], (.[1:][] | tonumber)] | . as $t |
		 $row[$t[0]] | .["run-delay"] >= $t[1] and .["user-time"] >= $t[2] and .system_time >= $t[3]] |
		length == 4 and all' "$T/report.json"
	told=$(awk '{ delay += $2 } END { printf "%.0f", delay }' "$T/out")
	counted=$(json "$T/report.json" '[.threads[] | select(.seq > 0).events[0].value] | add')
	[ $((counted - told)) -gt $((told / 100)) ] || break
done
within "$counted" "$told" 1 "the run delay of a starved program is that of schedstat"
# They are read one after the other.
ok "user and system time are the CPU time" jq -e '[.threads[] | .events[1].value + .events[2].value - .cpu_ns |
	fabs < 1000000] | all' "$T/report.json"
ok "each is counted in all modes" jq -e '[.threads[].events[] | .state == "counted" and .scope == "all" and
	.enabled_ns == .running_ns] | all' "$T/report.json"
PMC_EVENTS=run-delay,page-faults report "$PROG/crowd" 3
is "$(json "$T/report.json" '.processes[0].unattributed[0] | "\(.state) \(.value)"')" "not-counted null" \
	"work outside rows has no values"
like "$("$PMCTL" run -n -e run-delay,page-faults -- true)" "accounts of each thread" "run -n: they take no descriptor"

report "$PROG/regions" nest 5
is "$(json "$T/report.json" '[.regions[] | .events, .self | map("\(.name) \(.state)") | join(", ")] | unique | join("; ")')" \
	"run-delay not-counted, user-time counted, system_time counted" "marked regions have them, but for run delay"
is "$(json "$T/report.json" '[.regions[].events[0].value] | unique | join(" ")')" "" "which has no value"
ok "a region has the user time of its CPU time" jq -e '[.regions[] | .events[1].value + .events[2].value - .cpu_ns |
	fabs < 2000000] | all' "$T/report.json"

# ---- elapsed time -----------------------------------------------------------------------------
python=$(python3 -c 'import sys; print(sys.executable)')
cat >"$T/naps.py" <<'END'
import pmc, threading, time
def work():
    for _ in range(5):
        with pmc.region("nap"):
            time.sleep(0.02)
thread = threading.Thread(target=work)
thread.start()
thread.join()
work()
END
PYTHONPATH=$ROOT/python PMC_EVENTS=duration_time report "$python" "$T/naps.py"
is "$(jq -c '[.threads[] | .events[0].value == .end_ns - .start_ns] | unique' "$T/report.json")" "[true]" \
	"the elapsed time of a thread is that from its start to its end"
is "$(jq -c '[.regions[] | .events[0].value as $ns | $ns >= 100e6 and $ns > .cpu_ns]' "$T/report.json")" "[true,true]" \
	"that of a region has its waits"

# ---- only where they are asked for ------------------------------------------------------------
reads() { strace -f -o "$T/strace" -e trace=openat env LD_PRELOAD="$AGENT" PMC_REPORT=off "$PROG/crowd" 5 >/dev/null 2>&1; grep -c schedstat "$T/strace"; }
between "$(reads)" 5 20 "schedstat is read at the end of each thread"
between "$(PMC_EVENTS=user-time reads)" 0 1 "not for another event, but for the main thread at the end"
between "$(PMC_EVENTS=page-faults reads)" 0 1 "nor without"
cat >"$T/late.py" <<'END'
import os, threading, time
def work():
    while True:
        sum(range(1000))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
short = threading.Thread(target=time.sleep, args=(0.03,), name="short")
short.start()
short.join()
for _ in range(2):
    threading.Thread(target=work).start()
while time.thread_time() < 0.1:
    sum(range(1000))
for task in os.listdir("/proc/self/task"):
    print(task, open("/proc/self/task/%s/schedstat" % task).read().split()[1], flush=True)
os._exit(0)
END
PMC_EVENTS=page-faults report "$python" "$T/late.py"
ok "the run delay of threads that are there at the end needs no event" jq -e --rawfile told "$T/out" '
	[.threads[] | {(.tid | tostring): .run_delay_ns}] | add as $row |
	[$told | split("\n")[] | select(. != "") | split(" ") | $row[.[0]] as $delay |
	 $delay >= (.[1] | tonumber) and $delay < (.[1] | tonumber) + 1000000000] | length == 3 and all' "$T/report.json"
is "$(json "$T/report.json" '[.threads[] | select(.run_delay_ns == null)] | length')" 1 "that of others is unknown"
# Programs that exec the next one while five others use the CPU: what they waited is not the last one's.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
others=()
for _ in 1 2 3 4 5; do
	taskset -c "$cpu" sh -c 'while :; do :; done' &
	others+=($!)
done
for _ in 1 2 3 4; do
	PMC_EVENTS=page-faults report taskset -c "$cpu" env env nice env nice sh -c 'exec sleep 0.03'
	json "$T/report.json" '[.threads[] | select(.run_delay_ns and .run_delay_ns > (.end_ns - .start_ns) * 1.05)] | length'
	"$PMCTL" run -e run-delay,elapsed-time --report "json=$T/report.json" -- taskset -c "$cpu" env nice sh -c 'exec sleep 0.03'
	json "$T/report.json" '[.threads[] | select(.events[0].value > .events[1].value * 1.01)] | length'
done >"$T/longer"
kill "${others[@]}"
wait "${others[@]}" 2>/dev/null
is "$(tr -d '\n' <"$T/longer")" 00000000 "none is longer than its thread's life"
report "$PROG/crowd" 2
ok "with the event it is known of all" jq -e '[.threads[] | .run_delay_ns == .events[0].value] | all' "$T/report.json"

opens() { strace -f -o "$T/strace" -e trace=perf_event_open env LD_PRELOAD="$AGENT" PMC_REPORT=off "$PROG/crowd" 5 >/dev/null 2>&1; grep -c perf_event_open "$T/strace"; }
accounted=task-clock,cpu-clock,page-faults,minor-faults,major-faults,context-switches,run-delay
is "$(PMC_EVENTS=$accounted opens)" 0 "no perf event is opened for what the kernel accounts for"
between "$(PMC_EVENTS=page-faults PMC_DUMP=USR1 opens)" 6 20 "but one a thread for faults if snapshots may be asked for"
between "$(PMC_EVENTS=software/page-faults/ opens)" 6 20 "and for software/NAME/"

# ---- other rows -------------------------------------------------------------------------------
report sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec "$0" 1 10' "$PROG/starve"
ok "after an exec the main thread starts at 0" jq -e '[.threads[] | select(.seq == 0)] | length == 2 and
	(.[0].events[1].value + .[0].events[2].value) > 5 * (.[1].events[1].value + .[1].events[2].value)' "$T/report.json"
report sh -c '"$0" 1 10' "$PROG/starve"
is "$(json "$T/report.json" '[.threads[].events[].state] | unique | join(",")')" counted "children count the same"

PMC_OUT=$T/ticks.pmc PMC_INTERVAL=20ms report "$PROG/starve" 2 300
"$PMCTL" report --timeline --format json "$T/ticks.pmc" >"$T/timeline"
ok "periodic snapshots have them" jq -es '[.[] | select(.seq == 1).events[0].value] | length > 3 and (map(. // -1) | min) >= 0' "$T/timeline"
PMC_START=off report "$PROG/starve" 1 10
is "$(json "$T/report.json" '[.threads[].events[].state] | unique | join(",")')" not-counted "PMC_START=off"
mkfifo "$T/stdin"
PMC_OUT=$T/run.pmc LD_PRELOAD=$AGENT PMC_REPORT=off "$PROG/waiters" 3 <"$T/stdin" >"$T/waiters" 2>&1 &
exec 9>"$T/stdin"
until grep -q ready "$T/waiters"; do kill -0 $! || break; sleep 0.02; done
ok "pmctl dump" "$PMCTL" dump -o "$T/dump.pmc" $!
exec 9>&-
wait $!
is "$("$PMCTL" report --format json "$T/dump.pmc" | jq -r '[.threads[].events[].state] | unique | join(",")')" counted \
	"rows from outside have them"

# ---- pmctl stat ---------------------------------------------------------------------------------
# It starves once stat has printed an interval.
(read -r _ && exec "$PROG/starve" 3 300) <"$T/stdin" >"$T/told" 9>&- &
starve=$!
exec 9>"$T/stdin"
rm -f "$T/stat"
"$PMCTL" stat -p $starve --by pool -e run-delay,user-time,system-time -I 20ms --format json >"$T/stat" 9>&- &
await test -s "$T/stat"
echo go >&9
exec 9>&-
wait $starve
wait $!
ok "stat --by pool: run delay, user and system time" jq -es '(map(select(.summary)) | last.events | map(.value)) as $sum |
	(map(select(.summary | not) | select(.pool | not).events[0].value // 0) | add) as $steps |
	$sum[0] > 100000000 and $sum[1] + $sum[2] > 300000000 and $steps == $sum[0]' "$T/stat"
"$PMCTL" stat -e user-time,system-time --format json -- "$PROG/starve" 1 50 >"$T/stat"
ok "of a command from wait4" jq -se 'last | .events[0].value == .user_ns and .events[1].value == .system_ns' <(grep '^{' "$T/stat")

# ---- other commands ---------------------------------------------------------------------------
ok "list" jq -e '.[0] | .available and .pmu == "os"' <("$PMCTL" list --json run-delay)
ok "doctor --require" "$PMCTL" doctor --require user_time

done_testing
