#!/bin/bash
# SPDX-License-Identifier: MIT
# stat.t - pmctl stat: counts of commands, processes, threads and CPUs, intervals, formats, failures.
. "$(dirname "$0")/lib.sh"

stat() { run "$PMCTL" stat "$@"; }
# sum EVENT [ROW]: its value in the summary in $T/out; ROW: a condition on the row.
sum() { jq -r --arg e "$1" "select(.summary and ${2:-true}) | .events[] | select(.name == \$e).value" "$T/out"; }

# ---- a command --------------------------------------------------------------------------------
stat --format json -- "$PROG/pages" 20000
is "$status" 0 "a command is counted"
faults=$(sum page-faults)
perf stat -x, -e page-faults -o "$T/perf" "$PROG/pages" 20000
within "$faults" "$(sed -n 's/,.*page-faults.*//p' "$T/perf")" 1 "page faults are those of perf stat"
is "$(jq -s 'length' "$T/out")" 1 "one line without -I"
# Time of interrupts and of a hypervisor is in task-clock only; /proc/stat has some of it, in units of 10 ms, so
# a run with little of it counts.
taken() { awk '/^cpu / { printf "%.0f", ($7 + $8 + $9) * 10000000 }' /proc/stat; }
for _ in {1..30}; do
	before=$(taken)
	stat --format json -e task-clock -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
	most=$(jq --argjson taken "$(($(taken) - before))" '(.user_ns + .system_ns) * 1.05 + $taken' "$T/out")
	jq -e --argjson most "$most" '.events[0].value | . <= $most' "$T/out" >/dev/null && break
done
# The counter starts at the exec and ends before the exit is over: some ms on a slow machine.
between "$(sum task-clock)" "$(jq '(.user_ns + .system_ns) * 0.99 - 15000000' "$T/out")" "$most" \
	"task-clock is the CPU time that wait4 reports"
stat --format json -e page-faults -- sh -c "$PROG/pages 5000 & $PROG/pages 7000; wait"
between "$(sum page-faults)" 12000 15000 "processes of the command are included"
stat -- sh -c 'echo out; exit 7'
is "$status $(cat "$T/out")" "7 out" "the command's status and output"
like "$(cat "$T/err")" "task-clock.*CPUs" "the table is on stderr"
for event in page-faults cycles instructions branches branch-misses stalled-cycles-frontend stalled-cycles-backend; do
	is "$(grep -oE "(^|[ ,])$event([,: ]|$)" "$T/err" | wc -l)" 1 "a default event is in the table or among those not counted: $event"
done
stat -e task-clock:u,task-clock:k true
like "$(cat "$T/err")" 'no effect' "clocks count both modes whatever :u and :k say"
stat -e task-clock,page-faults:u true
unlike "$(cat "$T/err")" 'no effect' "of which nothing is said where they do not"
stat -e page-faults sh -c 'echo "$1"; exit 6' sh -p
is "$status $(cat "$T/out")" "6 -p" "the first argument that is no flag begins the command"
stat 4711 true
like "$(cat "$T/err")" "-p 4711 .* -- before a command" "but a number may be meant as a process"
stat -- sh -c 'kill -TERM $$'
is "$status" 143 "a command's signal ends pmctl too"
stat -- /no/such/program
is "$status" 127 "a command that does not exist"
stat -- /etc/passwd
is "$status" 126 "a file that is no program"
stat -o "$T/file" --format csv -e page-faults -- "$PROG/pages" 100
is "$(wc -l <"$T/file") $(wc -c <"$T/out")" "2 0" "-o is the output file"
ok "CSV rows have as many fields as the head" python3 -c '
import csv, sys
rows = list(csv.reader(open(sys.argv[1]), strict=True))
sys.exit(len({len(r) for r in rows}) != 1)' "$T/file"
# A locale with a decimal comma.
localedef -c -i de_DE -f UTF-8 "$T/de_DE.UTF-8" >"$T/err" 2>&1
german() { run env LOCPATH="$T" LC_ALL=de_DE.UTF-8 "$@"; }
german python3 -c 'import locale
locale.setlocale(locale.LC_ALL, "")
print(locale.localeconv()["decimal_point"])'
is "$(cat "$T/out")" , "the locale de_DE has a decimal comma"
german "$PMCTL" stat --format json -e task-clock -- "$PROG/pages" 2000
ok "JSON in that locale" jq -e '.interval_ns and .metrics' "$T/out"
german "$PMCTL" stat --format csv -e task-clock,page-faults -- "$PROG/pages" 2000
ok "CSV in that locale" python3 -c '
import csv, sys
rows = list(csv.reader(open(sys.argv[1]), strict=True))
sys.exit(len({len(r) for r in rows}) != 1)' "$T/out"
"$PMCTL" run -o "$T/run.pmc" --report off -e task-clock,page-faults -- "$PROG/pages" 2000
for format in json csv; do
	"$PMCTL" report --by pool --format $format "$T/run.pmc" >"$T/plain"
	german "$PMCTL" report --by pool --format $format "$T/run.pmc"
	same "$T/plain" "$T/out" "$format of a report is the same in that locale"
done
stat -e cycles,page-faults --format json -- true
ok "an event has a value or none, and a state" jq -e '[.events[] | .state == "counted" or .value == null] | all' "$T/out"
stat -e no-such-event -- true
is "$status" 2 "unknown event"
# The kernel ends the events of a process at the exec of another user's setuid program.
cp "$PROG/work" "$T/privileged"
cp "$(command -v id)" "$T/id"
chmod 4755 "$T/privileged" "$T/id"
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
if [ "$($nobody "$T/id" -u 2>/dev/null)" != 0 ]; then
	skip "setuid has no effect in $T, or no root" "a setuid program"
else
	for cmd in "$nobody $T/privileged" "$PROG/work; $nobody $T/privileged"; do
		stat --format json -o "$T/json" -- sh -c "$cmd"
		is "$status $(jq -c '[.events[] | select(.state == "counted" or .value == 0)]' "$T/json")" "0 []" \
			"$cmd: no count claims to be whole"
		like "$(cat "$T/err")" "setuid.* stat -a" "with the reason"
	done
	is "$(jq -r '.events[0] | "\(.name) \(.state) \(.value > 0)"' "$T/json")" "task-clock partial true" "a lower bound is partial"
	stat --format csv -- sh -c "$cmd"
	like "$(tail -n 1 "$T/out")" ",partial," "in CSV, too"
	stat -- sh -c "$cmd"
	like "$(cat "$T/err")" "[0-9]\+ ms +task-clock" "and has a mark in the table"
fi
# Ordinary starts and ends are no such thing.
for cmd in true "i=0; while [ \$i -lt 300 ]; do /bin/true; i=\$((i+1)); done" "$PROG/pages 20000" "$PROG/crowd 50"; do
	stat --format json -o "$T/json" -- sh -c "$cmd"
	is "$(jq -r '.events[0].state' "$T/json")$(grep setuid "$T/err")" counted "whole counts of: $cmd"
done

# ---- width ------------------------------------------------------------------------------------
COLUMNS=60 run "$PMCTL" stat -I 100ms -e task-clock,page-faults,minor-faults,context-switches,cpu-migrations \
	-- "$PROG/pages" 2000
is "$(sed "/^$/q" "$T/err" | grep -E '^.{61}' || true)" "" "in a pipe, COLUMNS is the width of the table"
like "$(cat "$T/err")" 'not shown:' "columns without room are named"

# ---- a process --------------------------------------------------------------------------------
mkfifo "$T/go"
# attach FLAG...: counts a shell that then starts a process and a program with threads.
attach() {
	rm -f "$T/out"
	sh -c "read x <'$T/go'; '$PROG/pages' 9000; '$PROG/pages' 4000 & '$PROG/crowd' 20 >/dev/null 2>&1; wait" &
	local target=$!
	"$PMCTL" stat -p $target -I 20ms --format json "$@" >"$T/out" 2>"$T/err" &
	local stat=$!
	await test -s "$T/out"
	echo go >"$T/go"
	wait $target
	wait $stat
	status=$?
}
attach -e page-faults
is "$status" 0 "stat -p ends with the process"
between "$(sum page-faults)" 13000 17000 "processes and threads started after attaching are counted"
is "$(jq -s '([.[] | select(.summary | not).events[0].value] | add) == ([.[] | select(.summary)][0].events[0].value)' \
	"$T/out")" true "intervals add up to the summary"
attach -e page-faults --cumulative
is "$(jq -s '[.[].events[0].value] | . == sort' "$T/out")" true "--cumulative never falls"

mkfifo "$T/stdin"
# The program opens its output after the fork: "ready" must not be that of the one before.
start_waiters() {
	rm -f "$T/waiters"
	"$PROG/waiters" 3 <"$T/stdin" >"$T/waiters" 2>&1 &
	waiter=$!
	exec 9>"$T/stdin"
	await grep -q ready "$T/waiters"
}
start_waiters
are_asleep() { [ -z "$(grep -L ') S ' /proc/$waiter/task/*/stat)" ]; }
await are_asleep
stat -p $waiter --per-thread --format json -I 20ms -n 3
is "$(jq -s '[.[] | select(.summary and .tid)] | length' "$T/out")" "$(ls /proc/$waiter/task | wc -l)" \
	"--per-thread: a row for each thread"
# In the first interval and the summary they begin with the counting, and what it was before is cut off.
ok "rows of threads have waits that add up to the time" jq -es '[.[] | select(.tid)] | (map(.time_ns) | min) as $first |
	all(.oncpu_ns + .run_delay_ns + .blocked_ns <= .interval_ns) and
	(map(select(.time_ns > $first and (.summary | not))) | length > 0 and
	all(.oncpu_ns + .run_delay_ns + .blocked_ns == .interval_ns))' "$T/out"
stat -p $waiter --by pool --format json -I 20ms -n 2
is "$(jq -r 'select(.summary and .pool) | "\(.pool) \(.threads)"' "$T/out")" "waiters $(ls /proc/$waiter/task | wc -l)" \
	"--by pool: a row for threads of one name"
ok "which is the sum of its threads, and says where they are blocked" jq -es '[.[] | select(.summary)] |
	.[0].blocked_ns == .[1].blocked_ns and (.[0].blocked_in | length >= 2 and ([.[]] | add) > 0)' "$T/out"
stat -p $waiter --by pool -e run-delay,task-clock,context-switches,page-faults -I 20ms -n 1
like "$(sed -n 1p "$T/out")" "^ *time s +pool +n +CPUs +page-faults +cpu [^ ]+ +run-delay [^ ]+ +blocked [^ ]+ +vol +invol +at$" \
	"a column stands once: waits for events that are the same"
like "$(sed -n 2p "$T/out")" " waiters +$(ls /proc/$waiter/task | wc -l) " "a pool has the name and the number of its threads"
cat >"$T/columns.py" <<'END'
import fcntl, os, pty, struct, sys, termios
columns = int(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
text = b""
try:
    while part := os.read(fd, 65536):
        text += part
except OSError:
    pass
lines = text.decode().replace("\r", "").split("\n")
note = text.decode().replace("\r", "").replace("\n   ", " ").partition("not shown: ")[2].split(";")[0].split(", ")
heads = lines[0].split() + note
print("at" in lines[0].split(), "at" in note, {"invol", "page-faults", "at"} <= set(heads), max(map(len, lines)) <= columns)
print(*lines[0].split())
END
for width in 80 200; do
	run python3 "$T/columns.py" $width "$PMCTL" stat -p $waiter --per-thread -I 20ms -n 2
	like "$(cat "$T/out")" "^$([ $width = 200 ] && echo True False || echo False True) True True" \
		"lines fit into $width columns, and the others are named"
done
run python3 "$T/columns.py" 80 "$PMCTL" stat -p $waiter --per-thread -e page-faults -I 20ms -n 2
like "$(cat "$T/out")" "tid page-faults " "an event that was asked for has a column on a narrow terminal"
stat -p $waiter -e page-faults -I 20ms -n 1
is "$(grep -c page-faults "$T/out")" 1 "-n 1 prints the numbers once"
stat -p $waiter -e page-faults -I 20ms -n 1 --format json
is "$(jq -c '[.summary, .interval_ns >= 20000000, .interval_ns == .time_ns]' "$T/out")" "[true,true,true]" "in the summary"
stat -e page-faults -I 20ms -n 1 --format json -- sleep 0.1
is "$(jq -c '.summary // false' "$T/out" | xargs)" "false true" "but a command has an interval, and goes on"
stat -t $waiter --format json -I 20ms -n 1
is "$status $(sum page-faults) $(jq -r 'select(.summary).tid' "$T/out")" "0 0 $waiter" "-t: a thread asleep"
rm -f "$T/out"
"$PMCTL" stat -p $waiter -I 20ms >"$T/out" 2>"$T/err" &
stat=$!
await test -s "$T/out"
kill -TERM $stat
wait $stat
is "$?" 0 "a signal ends stat -p"
like "$(cat "$T/out")" "elapsed" "with the summary"
stat -p $waiter -- sh -c 'exit 7'
is "$status" 7 "-p with a command: its exit status"
stat -p $waiter -- true
is "$status" 0 "a command gives the duration"
exec 9>&-
wait $waiter

# A thread that starts later.
cat >"$T/late.py" <<'END'
import sys, threading
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=threading.Event().wait, daemon=True).start()
sys.stdin.readline()
END
mkfifo "$T/late.in"
python3 "$T/late.py" <"$T/late.in" >"$T/late.out" &
late=$!
exec 9>"$T/late.in"
await grep -q ready "$T/late.out"
rm -f "$T/out"
"$PMCTL" stat -p $late --per-thread -e run-delay -I 20ms --format csv >"$T/out" 2>"$T/err" 9>&- &
stat=$!
lines() { [ "$(wc -l <"$T/out")" -ge "$1" ]; }
await lines 40
echo >&9
has_thread() { cut -d, -f6 "$T/out" | sort -u | grep -vqxE "(tid|$late|)"; }
await has_thread
kill -TERM $stat
wait $stat
ok "a thread that starts later: the time of its waits is that since then" python3 - "$T/out" $late <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1]), strict=True))
of_late = [r for r in rows if r["tid"] not in ("", sys.argv[2])]
first = min(int(r["time_ns"]) for r in of_late)
before = max(int(r["time_ns"]) for r in rows if int(r["time_ns"]) < first)
sums = [r for r in of_late if r["summary"] == "true"]
print(first, before, *sums, sep="\n")
sys.exit(len(sums) != 1 or int(sums[0]["run-delay.enabled_ns"]) > int(sums[0]["time_ns"]) - before)
END
exec 9>&-
wait $late
"$PROG/relay" 1000 2000 >/dev/null &
relay=$!
stat -p $relay --per-thread -I 5ms --format json
ok "a thread that starts when another one ends" jq -es '[.[] | select(.summary).tid | values] | unique | length > 5' "$T/out"
wait $relay

stat -e task-clock -e page-faults --format json -- true
is "$(jq -r '.events[].name' "$T/out" | xargs)" "task-clock page-faults" "-e twice: both lists"

mkfifo "$T/burn"
# burners FLAG...: threads one after the other; their CPU time is in $T/used. The process lives on.
burners() {
	: >"$T/used"
	"$PROG/burners" 12 60 <"$T/burn" >"$T/used" &
	local target=$!
	exec 9>"$T/burn"
	stat -p $target -e task-clock,page-faults "$@" -- timeout 60 \
		bash -c 'echo >&9 && until [ -s "$1" ]; do sleep 0.02; done' bash "$T/used"
	exec 9>&-
	wait $target
}
# task-clock lacks the switches themselves, a third of the CPU time of these two.
python3 - >"$T/switching" <<'PY' &
import os
r1, w1 = os.pipe()
r2, w2 = os.pipe()
if os.fork():
    os.close(w2)
    print("ready", flush=True)
    while os.write(w1, b"x") and os.read(r2, 1):
        pass
else:
    os.close(w1)
    while os.read(r1, 1) and os.write(w2, b"x"):
        pass
PY
switching=$!
await grep -q ready "$T/switching"
stat -p $switching --per-thread -I 200ms -n 4 -e task-clock,context-switches
is "$status $(grep -c 'ended threads' "$T/out")" "0 0" "a thread that switches often: no row of threads that ended"
for rows in "--per-thread" "--by pool"; do
	# shellcheck disable=SC2086
	stat -p $switching $rows -I 10ms -n 2
	like "$status $(cat "$T/err")" "^0 .*child processes" "$rows: a warning says that child processes are not counted"
done
stat -p $switching -I 10ms -n 2
like "$status $(cat "$T/err")" "^0 .*child processes .*: 1; " "nor those that ran before, without rows of threads"
stat -p "$switching,$(pgrep -P $switching)" -I 10ms -n 2
is "$status $(cat "$T/err")" "0 " "no warning where they are targets, too"
for rows in "" "--per-thread"; do
	# shellcheck disable=SC2086
	stat -p "$(pgrep -P $switching)" $rows -I 10ms -n 2
	is "$status $(cat "$T/err")" "0 " "nor of a process without child processes: $rows"
done
kill $switching
wait $switching 2>"$T/err"
# Several processes: one named by a thread's ID is refused, and children that nobody waits for end.
cat >"$T/ended.py" <<'END'
import os, subprocess, sys
children = [subprocess.Popen(["sleep", "0.3"]) for _ in range(2)]
pids = ",".join(str(child.pid) for child in children)
sys.exit(subprocess.run([sys.argv[1], "stat", "-p", pids, "-e", "page-faults"] + sys.argv[2:]).returncode)
END
for rows in "" "--per-thread"; do
	# shellcheck disable=SC2086
	run timeout 60 python3 "$T/ended.py" "$PMCTL" $rows
	is "$status" 0 "stat -p A,B $rows: ends with the last process, which its parent has not reaped"
done
echo old >"$T/kept"
stat -e page-faults -o "$T/kept" -- "$T/nosuchprogram"
is "$status $(cat "$T/kept")" "127 old" "a command that is not there: the file of -o is unchanged"
# The ID of a pmctl run that has just started.
"$PMCTL" run --report off -o "$T/run.pmc" -- sleep 1000 &
measured=$!
stat -p $measured --per-thread -I 10ms -n 1 --format json
child=$(pgrep -P $measured)
is "$status $(jq -r 'select(.summary).tid // empty' "$T/out")" "0 $child" "the ID of a pmctl run: its program is counted"
like "$(cat "$T/err")" "process $measured is pmctl run.* $child" "and a warning names it"
kill $measured
wait $measured 2>"$T/err"
start_waiters
tid=$(ls /proc/$waiter/task | tail -n 1)
stat -p "$$,$tid" -n 1 -I 10ms
like "$status $(cat "$T/err")" "^1 .*$tid is a thread" "a thread's ID among processes is refused"
exec 9>&-
wait $waiter
# Before the first reading and at the last one there is no child process.
rm -f "$T/parent.in" && mkfifo "$T/parent.in"
python3 -c 'import subprocess, sys
print("ready", flush=True)
while sys.stdin.readline():
    subprocess.run(["true"])
    print("ended", flush=True)' <"$T/parent.in" >"$T/parent" &
parent=$!
exec 9>"$T/parent.in"
await grep -q ready "$T/parent"
stat -p $parent --per-thread -- sh -c "echo >&9; until grep -q ended $T/parent; do :; done"
like "$status $(cat "$T/err")" "^0 .*child processes" "nor are those that ended meanwhile"
exec 9>&-
wait $parent

# Braces make a second group of each thread.
for flags in "--per-thread -e {minor-faults}" "--by pool" "--per-thread -I 25ms" "--by pool -I 70ms"; do
	before=$(stolen)
	# shellcheck disable=SC2086
	burners $flags --format json
	# Time that a hypervisor took is in task-clock.
	between "$(sum task-clock '(.tid // .pool // .name) == null')" "$(($(cat "$T/used") * 98 / 100))" \
		"$(($(cat "$T/used") * 102 / 100 + $(stolen) - before))" \
		"$flags: the total has the CPU time of threads that start later"
	within "$(jq -s 'map(select(.summary)) | last.oncpu_ns' "$T/out")" "$(cat "$T/used")" 2 "$flags: and on a CPU"
	ok "$flags: rows add up to the total" jq -es 'group_by(.time_ns, .summary) | map(sort_by((.tid // .pool // .name) != null)) |
		all((.[0].oncpu_ns // 0) == (.[1:] | map(.oncpu_ns // 0) | add))' "$T/out"
	case $flags in *-I*)
		ok "$flags: intervals add up to the summary" jq -es 'group_by(.tid // .pool // .name) | map(
			[.[] | select(.summary)][0] as $sum | [.[] | select(.summary | not)] |
			(map(.events[0].value // 0) | add) == ($sum.events[0].value // 0) and
			(map(.oncpu_ns // 0) | add) == ($sum.oncpu_ns // 0) and
			(map(.blocked_ns // 0) | add) == ($sum.blocked_ns // 0)) | all' "$T/out" ;;
	esac
done

# A pool whose threads have ended but one is still the pool of the summary.
cat >"$T/shrinks.py" <<'END'
import sys, threading
def thread(name, event):
    open("/proc/thread-self/comm", "w").write(name)
    named.release()
    event.wait()
named = threading.Semaphore(0)
events = [threading.Event() for _ in range(2)]
threads = [threading.Thread(target=thread, args=("pool-%d" % i, event)) for i, event in enumerate(events)]
for each in threads:
    each.start()
    named.acquire()
print("ready", flush=True)
for event in events:
    sys.stdin.readline()
    event.set()
END
rm -f "$T/shrinks.in" && mkfifo "$T/shrinks.in"
python3 "$T/shrinks.py" <"$T/shrinks.in" >"$T/shrinks" &
shrinks=$!
exec 9>"$T/shrinks.in"
await grep -q ready "$T/shrinks"
"$PMCTL" stat -p $shrinks --by pool -I 20ms --format json -e page-faults -o "$T/pools.json" 2>"$T/err" &
counter=$!
await grep -q '"pool-\*"' "$T/pools.json"
echo >&9
await grep -q '"pool-.*"threads":1[,}]' "$T/pools.json"
echo >&9
exec 9>&-
wait $shrinks $counter
is "$(jq -r 'select(.pool // "" | startswith("pool-")).pool' "$T/pools.json" | sort -u)" 'pool-*' \
	"a pool has one name in all intervals" || diag_file pools "$T/pools.json"

burners --per-thread --format csv
within "$(awk -F, '$3 == "true" { sum += $7 } END { print sum }' "$T/out")" "$(cat "$T/used")" 2 \
	"rows of CSV have the same total, and no row is one"
burners --per-thread
like "$(grep -cE '[0-9]\+ +[0-9]+\+' "$T/err") $(grep -c '^ +: ' "$T/err")" "^[1-9][0-9]* 1$" \
	"waits and switches of threads that have ended are marked"
# The process ends by itself: its parent does not wait for it (zombie), or the kernel has reaped it at once.
cat >"$T/parent.py" <<'END'
import os, signal, sys
if sys.argv[1] == "reaped":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
pid = os.fork()
if pid == 0:
    os.execv(sys.argv[2], [sys.argv[2], "1", "1000"])
os.close(0)
print(pid, file=sys.stderr, flush=True)
signal.pause()
END
for end in zombie reaped; do
	: >"$T/pid"
	python3 "$T/parent.py" $end "$PROG/burners" <"$T/burn" >"$T/used" 2>"$T/pid" &
	parent=$!
	exec 9>"$T/burn"
	await test -s "$T/pid"
	target=$(cat "$T/pid")
	rm -f "$T/out"
	"$PMCTL" stat -p "$target" --per-thread --format json -e task-clock >"$T/out" 2>"$T/err" 9>&- &
	stat=$!
	is_counting() { readlink /proc/$stat/fd/* | grep -q signalfd; }
	await is_counting
	echo >&9
	exec 9>&-
	wait $stat
	ok "$end: a thread's CPU time until the end of the process is in its row, or its start in the total" jq -es \
		--argjson used "$(cat "$T/used")" '[.[] | select(.summary)] | last.oncpu_ns | . > $used * 0.98 and . < $used * 1.02 + 5e6' "$T/out"
	kill $parent
	wait $parent 2>/dev/null
	[ $end = zombie ] || like "$(cat "$T/err")" "process ended [0-9]+ ms after .* missing" "$end: what was not read is named"
done

# Threads end before their files are read again, or sleep until then.
start_waiters
stat -p $waiter --per-thread -e run-delay --format json -- kill -KILL $waiter
ok "values that were not read are null" jq -es 'length > 3 and all(
	(.run_delay_ns == null and .voluntary_switches == null and .events[0].value == null) or
	.oncpu_ns + .run_delay_ns + .blocked_ns > 0)' "$T/out"
exec 9>&-
wait $waiter 2>/dev/null

# Threads end while their groups are opened.
"$PROG/churn" 100000000 1000 >/dev/null 2>&1 &
churn=$!
ok "the program has started" kill -0 $churn
for flag in --per-thread ""; do
	# shellcheck disable=SC2086
	stat -p $churn $flag -I 10ms -n 20 --format json
	is "$status" 0 "a process whose threads come and go${flag:+, $flag}"
	unlike "$(cat "$T/err")" "not counted" "no failure is reported for threads that have ended"
done
# The threads that the program starts between the opening of a leader and of its siblings.
for n in 1 2 3 4 5; do
	run strace -f -o /dev/null -e trace=perf_event_open -e inject=perf_event_open:delay_exit=1000 \
		"$PMCTL" stat -p $churn -I 10ms -n 5 --format json
	is "$status $(jq -r 'select(.summary).events[0].state' "$T/out")" "0 counted" \
		"the main thread is counted however slowly its groups are opened, $n"
done
# Threads that end between the opening of their events and the first reading have no name.
run strace -f -o /dev/null -e trace=perf_event_open -e inject=perf_event_open:delay_exit=1000 \
	"$PMCTL" stat -p $churn --by pool -I 20ms -n 20 --format json -e task-clock,page-faults
is "$status $(jq -s 'map(select(.pool == "")) | length' "$T/out")" "0 0" "no pool of threads is without a name"
stat -p $churn --by pool -I 20ms -n 20 --format json -e task-clock,page-faults
ok "of threads that ended only CPU time is known: a total of other events is a lower bound" jq -es 'any(.pool == "(ended threads)") and
	any(.pool == null and (.events | map(.state)) == ["counted", "partial"])' "$T/out"
kill $churn
wait $churn 2>/dev/null

# ---- a process whose main thread has ended -----------------------------------------------------
cat >"$T/left.c" <<'END'
#include <pthread.h>
#include <unistd.h>
static void *stays(void *arg)
{
	char c;
	return (void *)read(0, &c, 1);
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, stays, NULL);
	pthread_exit(NULL);
}
END
gcc -O1 -pthread -o "$T/left" "$T/left.c"
mkfifo "$T/stay"
"$T/left" <"$T/stay" &
left=$!
exec 9>"$T/stay"
main_left() { grep -q '^State:.Z' "/proc/$left/status"; }
await main_left
for target in "-p $left" "--name left"; do
	# shellcheck disable=SC2086
	stat $target --per-thread --format json -e page-faults -- true
	is "$status $(jq -c --argjson main $left 'select(.tid and .tid != $main).events[0].state' "$T/out")" '0 "counted"' \
		"$target --per-thread: the thread that is left is counted"
done
exec 9>&-
wait $left

# ---- the machine ------------------------------------------------------------------------------
stat -a --per-cpu --format json -e cpu-clock,page-faults -- "$PROG/pages" 8000
ok "all page faults of the machine" test "$(sum page-faults '(.cpu == null)')" -ge 8000
is "$(sum page-faults '.cpu != null' | paste -sd+ | bc)" "$(sum page-faults '(.cpu == null)')" \
	"rows of CPUs add up to the total"
is "$(jq -s '[.[] | select(.cpu != null)] | length' "$T/out")" "$(getconf _NPROCESSORS_ONLN)" "a row for each CPU"
for by in cpu core socket node; do
	stat -a --per-$by -e page-faults -- true
	like "$(sed -n 1p "$T/err")" "time s +(socket +)?$by " "--per-$by: the head"
done
for by in core socket node; do
	stat -a --per-$by --format json -e page-faults -- true
	ok "--per-$by" jq -es ".[0].$by >= 0 and (.[-1] | has(\"$by\") | not)" "$T/out"
done

# ---- an uncore event ----------------------------------------------------------------------------
# A PMU in place of the machine's: its events are cpu-clock of CPU 0, in Joules.
pmu=$T/devices/uncore_test
mkdir -p "$pmu/events" "$pmu/format"
echo 1 >"$pmu/type"
echo 0 >"$pmu/cpumask"
echo config:0-63 >"$pmu/format/event"
echo event=0 >"$pmu/events/energy"
echo 1e-9 >"$pmu/events/energy.scale"
echo Joules >"$pmu/events/energy.unit"
uncore() { run unshare -m sh -c 'mount --bind "$1" /sys/bus/event_source/devices && shift && exec "$@"' sh "$T/devices" "$PMCTL" stat "$@"; }
uncore --help
if [ "$status" != 0 ] || ! [ -e /sys/devices/system/cpu/cpu0/topology ]; then
	skip "no directory can be mounted: $(head -n 1 "$T/err")" "an uncore event"
else
	uncore -a --per-cpu -e uncore_test/energy/,page-faults --format json -- "$PROG/pages" 100
	is "$(jq -r '.events[0] | select(.value) | "\(.unit) \(.state) \(.value * 1e9 / .raw - 1 | fabs < 0.001)"' "$T/out" | xargs)" \
		"Joules counted true Joules counted true" "an uncore event is in its unit, in the row of its CPU and in the total"
	is "$(jq -s '[.[].events[0].value | values] | unique | length' "$T/out")" 1 "once"
	is "$(jq -r 'select(.cpu > 0).events[0] | .state + " \(.value)"' "$T/out" | grep -v '^not-counted null$')" "" "and not in rows of other CPUs"
	uncore -a --per-socket -I 10ms -n 1 -e uncore_test/energy/
	like "$(cat "$T/out")" "uncore_test/energy/ Joules.* 0 +[0-9]+\.[0-9]+.* total +[0-9]+\.[0-9]+" "as a column"
	uncore -a -e uncore_test/energy/ -- true
	like "$(cat "$T/err")" "[0-9] Joules uncore_test/energy/ .*/s" "and in the list, per second"
	uncore -e uncore_test/energy/ -- true
	is "$status" 125 "it does not count a command"
	like "$(cat "$T/err")" "whole machine" "and the error says so"
fi

# ---- a cgroup ---------------------------------------------------------------------------------
group=$(awk '$3 == "cgroup" && $4 ~ /(^|,)perf_event(,|$)/ { print $2; exit }' /proc/self/mounts)
group=${group:-$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)}
if [ -z "$group" ] || ! mkdir "$group/pmc-test.$$" 2>"$T/err"; then
	skip "no cgroup can be made: $(cat "$T/err")" "a cgroup"
else
	inside() { echo $BASHPID >"$group/pmc-test.$$/cgroup.procs"; exec "$@"; }
	mkfifo "$T/enter"
	(read -r _ <"$T/enter"; "$PROG/pages" 3000 & inside "$PROG/pages" 6000) >"$T/inside" 2>&1 &
	stat --cgroup "pmc-test.$$" --per-cpu --format json -e page-faults,cpu-clock -- \
		bash -c 'echo go >"$1"; while kill -0 "$2" 2>/dev/null; do sleep 0.05; done' bash "$T/enter" $!
	between "$(sum page-faults '.cpu == null')" 5900 6800 "--cgroup: page faults of its processes alone"
	is "$(sum page-faults '.cpu != null' | paste -sd+ | bc)" "$(sum page-faults '(.cpu == null)')" "rows of CPUs add up"
	ok "and the CPU time" test "$(sum cpu-clock '.cpu == null')" -gt 0
	wait
	stat --cgroup "$group/pmc-test.$$" -- true
	is "$status" 0 "--cgroup: a path"
	like "$(cat "$T/err")" "cpu-clock.*CPUs" "CPUs used"
	rmdir "$group/pmc-test.$$"
fi
stat --cgroup no-such-cgroup
is "$status" 1 "no such cgroup"
like "$(cat "$T/err")" "no cgroup no-such-cgroup: /.*no-such-cgroup: No such file" "says where it was looked for"
stat --cgroup x -p 1
is "$status" 2 "usage: two targets"

# ---- refusals ---------------------------------------------------------------------------------
stat -p 4194999
is "$status" 1 "no such process"
like "$(cat "$T/err")" "no such process: 4194999" "says so"
stat -e run-delay -- true
is "$status" 2 "run delay of a command"
like "$(cat "$T/err")" "threads only; pmctl run -e" "is counted by pmctl run"
for args in "" "-e run-delay -p $$" "-p 0" "-p x" "-p 1 -a" "-I 0 -- true" "-n 3 -- true" "--per-cpu -- true" "--per-thread -- true" \
	"4711" "--per-cpu --per-core -a" "--format jsn -- true" "--top 3 -- true" "--columns page-fault -e page-faults -a" \
	"--per-thread -p $$ --where tid" "--per-thread -p $$ --sort x"; do
	# shellcheck disable=SC2086
	stat $args
	is "$status" 2 "usage: stat $args"
done
for how in errno kill; do
	run "$PROG/seccomp" $how "$PMCTL" stat -- true
	is "$status" 125 "a command that may not be counted ($how)"
	like "$(cat "$T/err")" "seccomp" "with the reason"
done
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$T"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$PMCTL" stat -a
	is "$status" 1 "the machine is not for everyone"
	like "$(cat "$T/err")" "perf_event_paranoid|CAP_PERFMON" "with the fix"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$PMCTL" stat -p $$
	is "$status" 1 "nor are the processes of others"
	for format in json csv table; do
		run setpriv --reuid 65534 --regid 65534 --clear-groups "$PMCTL" stat -p $$ --per-thread --format $format -I 10ms -n 2
		like "$status $(cat "$T/err")" "^0 .*events are not counted.*another user's" "but their waits are, with a warning: $format"
		cp "$T/out" "$T/others.$format"
	done
	is "$(jq -rs '.[-1] | "\(.tid // "total") \(.blocked_ns + .oncpu_ns > 0) \(.events[0].value) \(.events[0].state)"' "$T/others.json")" \
		"total true null not-permitted" "waits have values, events have none"
	ok "CSV has waits" python3 -c '
import csv, sys
sys.exit(not any(int(r["blocked_ns"] or 0) for r in csv.DictReader(open(sys.argv[1]))))' "$T/others.csv"
	ok "and as many fields as its head" python3 -c '
import csv, sys
rows = list(csv.reader(open(sys.argv[1]), strict=True))
sys.exit(len({len(r) for r in rows}) != 1)' "$T/others.csv"
fi
"$PMCTL" stat --format json -- true >/dev/full 2>"$T/err"
is "$?" 1 "a full disk"

done_testing
