#!/bin/bash
# SPDX-License-Identifier: MIT
# prometheus.t - pmctl stat --prometheus: complete files, counters that never fall, labels, refusals;
# histograms of pmctl export.
. "$(dirname "$0")/lib.sh"
cd "$T" || exit 1

promtool=$(command -v promtool)
# valid NAME: the file in the form of 0.0.4: each family in one piece, with its type, each series once.
valid() {
	is "$(grep -vcE '^(# (HELP|TYPE) .*|[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? [0-9.e+-]+)$' "$1")" 0 "$2: the form of lines"
	is "$(grep '^[^#]' "$1" | sed -E 's/[{ ].*//; s/_(bucket|sum|count)$//' | uniq)" "$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$1")" "$2: types and samples"
	is "$(grep '^[^#]' "$1" | sed 's/ [^ ]*$//' | sort | uniq -d)" "" "$2: each series once"
	[ -z "$promtool" ] || is "$("$promtool" check metrics <"$1" 2>&1)" "" "$2: promtool has no complaint"
}
# of FILE SERIES: the sum of the samples that begin so.
of() { awk -v name="$2" 'index($0, name) == 1 { n += $NF } END { printf "%.9f", n }' "$1"; }

# ---- a command: the file stays ----------------------------------------------------------------
run "$PMCTL" stat --prometheus cmd.prom -e page-faults,task-clock -- "$PROG/pages" 20000
is "$status$(cat out)" 0 "a command"
valid cmd.prom "a command"
between "$(of cmd.prom 'pmc_event_total{program="pages",event="page-faults"}')" 20000 20200 "its page faults"
like "$(grep -c 'pmc_event_seconds_total{program="pages",event="task-clock"}' cmd.prom)" 1 "clocks are in seconds"
is "$(stat -c %a cmd.prom)" "$(printf '%o' $((0666 & ~$(umask))))" "others may read it as any new file"

# ---- a process whose threads come and go ------------------------------------------------------
cat >churn.py <<'END'
import threading, time
def worker():
    end = time.thread_time() + 0.01
    while time.thread_time() < end: pass
def name(text):
    import ctypes
    ctypes.CDLL(None).prctl(15, text.encode())
def spin():
    name('a "b" 7')
    while True: worker()
threading.Thread(target=spin, daemon=True).start()
open("started", "w").close()
while True:
    t = threading.Thread(target=worker)
    t.start()
    t.join()
END
python3 churn.py &
pid=$!
await test -e started
"$PMCTL" stat -p $pid --prometheus live.prom -I 50ms -e task-clock,context-switches 2>stat.err &
stat=$!
await grep -q 'pool="a .*mode="user"' live.prom
# Each reading is a whole file, and no counter is less than before.
python3 - >readings <<'END'
import os, time
last, files, falls, torn = {}, 0, [], 0
inode = 0
while files < 60:
    with open("live.prom") as file:
        number = os.fstat(file.fileno()).st_ino
        text = file.read()
    if number == inode:
        time.sleep(0.005)
        continue
    inode, files = number, files + 1
    torn += not text.endswith("\n") or "pmc_event_total" not in text
    now = {}
    for line in text.splitlines():
        if not line.startswith("#") and "_total" in line:
            key, value = line.rsplit(" ", 1)
            now[key] = float(value)
    falls += [key for key in last if now.get(key, -1) < last[key]]
    last = now
print(files, torn, *falls)
END
is "$(cat readings)" "60 0" "60 files: whole, and no series fell or went away"
valid live.prom "threads that come and go"
like "$(cat live.prom)" 'pool="a \\"b\\" \*"' "digits of a pool are left out, and quotes escaped"
cpu() { awk '{ sub(/.*\) /, ""); print ($12 + $13) / 100 }' /proc/$pid/stat; }
# Stops the process and awaits a file that was begun after that.
pause() {
	local inode
	kill -STOP $pid
	await grep -q '^State:[[:space:]]*T' /proc/$pid/status
	for _ in 1 2; do
		inode=$(stat -c %i live.prom)
		await eval '[ "$(stat -c %i live.prom)" != "$inode" ]'
	done
}
pause
begun=$(cpu)
from=$(of live.prom pmc_cpu_seconds_total)
kill -CONT $pid
await eval '[ "$(cpu | cut -d. -f1)" -ge $((${begun%.*} + 6)) ]'
pause
within "$(awk -v a="$from" -v b="$(of live.prom pmc_cpu_seconds_total)" 'BEGIN { print b - a }')" \
	"$(awk -v a="$begun" -v b="$(cpu)" 'BEGIN { print b - a }')" 2 "CPU time of the pools is that of the process"
is "$(awk -v "ticks=$(sed 's/.*) //' /proc/$pid/stat | cut -d' ' -f13)" '/mode="system"/ { n += $NF } END { print n <= ticks / 100 + 0.05 }' live.prom)" 1 \
	"its system time is not more than that of the process"
kill -CONT $pid
kill $pid
wait $pid
wait $stat
is "$? $(cat stat.err)" "0 " "the end of the process ends it"
is "$(ls live.prom* 2>/dev/null)" "" "no file is left that would stand still"

# ---- rows, refusals ---------------------------------------------------------------------------
if perf stat -a true >/dev/null 2>&1; then
	"$PMCTL" stat -a --by cpu --prometheus cpus.prom -I 50ms &
	stat=$!
	await grep -q 'event="context-switches"' cpus.prom
	cp cpus.prom once.prom
	is "$(grep -c '^pmc_event_seconds_total{cpu="[0-9]*",event="cpu-clock"}' once.prom)" "$(grep -c ^processor /proc/cpuinfo)" "rows of CPUs"
	valid once.prom "CPUs"
	kill $stat
	wait $stat
	is "$? $(ls cpus.prom* 2>/dev/null)" "0 " "SIGTERM removes the file"
	run "$PMCTL" stat -a --prometheus after.prom -e cpu-clock -- true
	is "$status $(grep -c '^pmc_event_seconds_total' after.prom)" "0 1" "CPUs: after a command the file stays"
fi
# ---- waits in a dump --------------------------------------------------------------------------
if perf stat -a true >/dev/null 2>&1; then
	"$PMCTL" profile -o waits.pmc -- python3 -c 'import time
for ms in range(1, 30): time.sleep(ms / 1000)' 2>/dev/null
	# Without the families that may have no series.
	"$PMCTL" export --to prometheus waits.pmc | grep -vE 'faults|switches' >waits.prom
	valid waits.prom "a dump"
	is "$(of waits.prom 'pmc_wait_seconds_count{')" \
		"$("$PMCTL" report --format json waits.pmc | jq '[.threads[] | .wait_histogram[][1], .preempted_histogram[][1]] | add' | xargs printf %.9f)" \
		"each wait is in a histogram"
	is "$(sed -n 's/^pmc_wait_seconds_bucket{\(.*\),le="+Inf"}/\1/p' waits.prom)" "$(sed -n 's/^pmc_wait_seconds_count{\(.*\)}/\1/p' waits.prom)" "the last bucket has all"
	is "$(awk '/^pmc_wait_seconds_bucket/ { if ($NF < last) bad++; last = /Inf/ ? 0 : $NF } END { print bad + 0 }' waits.prom)" 0 "buckets have those below, too"
	is "$("$PMCTL" export --to openmetrics waits.pmc | grep pmc_wait | grep -v '^# UNIT')" "$(grep pmc_wait waits.prom)" "openmetrics: the same"
fi

for flags in "--format csv" "-o x" "--sort cpu" "--columns name" "--clear"; do
	run "$PMCTL" stat --prometheus no.prom $flags -- true
	is "$status $(wc -l <err) $(ls no.prom 2>/dev/null)" "2 1 " "refused: $flags"
done
mkfifo pipe
run "$PMCTL" stat --prometheus pipe -- true
is "$status $(wc -l <err)" "1 1" "refused: a pipe"
run "$PMCTL" stat --prometheus none/x.prom -- true
is "$status $(wc -l <err)" "1 1" "refused: no directory"
PMC_OUT=run.pmc PMC_REPORT=off agent /bin/true
cp run.pmc kept.pmc
run "$PMCTL" stat --prometheus run.pmc -- true
is "$status $(cmp run.pmc kept.pmc && echo same)" "1 same" "refused: a dump"
# A file that is left would look like counts that stand still.
run "$PMCTL" stat --name no-such-program --prometheus left.prom
is "$status $(ls left.prom 2>/dev/null)" "1 " "no process: no file is left"
done_testing
