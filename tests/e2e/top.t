#!/bin/bash
# SPDX-License-Identifier: MIT
# top.t - pmctl top: rows, values and ends of its tables, and its screen on terminals.
. "$(dirname "$0")/lib.sh"

# rows FILE NAME: the rows of that name
rows() {
	awk -v name="$2" '$1 == name' "$1"
}

cat >"$T/pools.py" <<'PY'
import sys, threading, time
def spin():
    while True:
        pass
def wait(event):
    event.wait()
def name(text):
    open("/proc/self/task/%d/comm" % threading.get_native_id(), "w").write(text)
def named(text, body, *args):
    name(text)
    body(*args)
def start(*args):
    thread = threading.Thread(target=named, args=args, daemon=True)
    thread.start()
    return thread
def blocked(thread):
    comm, wchan = (open("/proc/self/task/%d/%s" % (thread.native_id, file)).read() for file in ("comm", "wchan"))
    return not comm.startswith("python") and "futex" in wchan
lock = threading.Event()
sleepers = [start("sleeper-%d" % i, wait, lock) for i in range(4)] + [start("e\x1b[31mvil", wait, lock)]
# Threads also wait for the interpreter's lock, which is free while this one sleeps.
asleep = 0
while asleep < 3:
    time.sleep(0.01)
    asleep = asleep + 1 if all(map(blocked, sleepers)) else 0
start("spinner-0", spin)
print("ready", flush=True)
sys.stdin.read()
PY

# start_pools: the process $POOLS
start_pools() {
	mkfifo "$T/in" 2>/dev/null
	python3 "$T/pools.py" <"$T/in" >"$T/ready" &
	POOLS=$!
	exec 7>"$T/in"
	until grep -q ready "$T/ready"; do sleep 0.05; done
}
start_pools

# ---- tables -----------------------------------------------------------------------------------
run "$PMCTL" top -b -n 3 -I 300ms --by thread "$POOLS"
is "$status" 0 "a number of tables: exit status"
is "$(grep -c '^python3 .* in 1 process' "$T/out")" 3 "a number of tables"
is "$(rows "$T/out" sleeper-2 | grep -c futex)" 3 "a thread that waits for a lock, and the function it waits in"
between "$(rows "$T/out" sleeper-2 | awk 'END { print $5 }')" 99 100 "a thread that waits: blocked all the time"
is "$(rows "$T/out" spinner-0 | grep -cE '\((runs|ran|waits for CPU|waited for CPU)\)')" 3 "a thread that runs"
# schedstat has a turn, and the wait for it, when the turn has begun or a tick has come.
between "$(rows "$T/out" spinner-0 | awk 'END { print $3 + $4 }')" 30 200 \
	"a thread that runs: on a CPU, or waiting for one"
is "$(awk 'NR == 3 { print $1 }' "$T/out")" spinner-0 "most CPU time first"
is "$(LC_ALL=C grep -c $'\x1b' "$T/out")" 0 "control characters in names are escaped"
ok "an escaped name" grep -qF 'e\x1b[31mvil' "$T/out"

run "$PMCTL" top -b -n 1 -I 300ms --by pool "$POOLS"
like "$(rows "$T/out" 'sleeper-*')" '^sleeper-\* +4 +0\.0 .* 4S +futex' "a pool: its number of threads and states"
between "$(rows "$T/out" 'sleeper-*' | awk '{ print $5 }')" 390 401 "a pool: the sum of its threads' time blocked"
run "$PMCTL" top -b -n 1 -I 300ms --by process -p "$POOLS"
like "$(sed -n 3p "$T/out")" "^python3 +$POOLS +7 " "a process: its ID and number of threads"
run "$PMCTL" top -b -n 1 -I 200ms --by thread --filter 'sleeper' -s tid -r "$POOLS"
is "$(awk 'NR > 2 { print $1 }' "$T/out" | tr '\n' ' ')" "sleeper-0 sleeper-1 sleeper-2 sleeper-3 " \
	"a filter, and order by thread ID"
run "$PMCTL" top -b -n 1 -I 50ms --by thread --filter sleeper --columns name -s tid -r "$POOLS"
is "$(awk 'NR > 2 { print $1 }' "$T/out" | tr '\n' ' ')" "sleeper-0 sleeper-1 sleeper-2 sleeper-3 " \
	"the same by a column that --columns leaves out"
run env LC_ALL=C "$PMCTL" top -b -n 3 -I 500ms --by thread "$POOLS"
is "$(LC_ALL=C tr -d '\0-\177' <"$T/out" | wc -c)" 0 "the C locale gets ASCII"
for width in 80 200; do
	run env COLUMNS=$width "$PMCTL" top -b -n 2 -I 200ms --by thread "$POOLS"
	between "$(wc -L <"$T/out")" 60 $width "no line is longer than $width columns"
done
like "$(sed -n 2p "$T/out")" 'invol/s .*faults/s .*history' "200 columns show more"
run "$PMCTL" top -a -b -n 1 -I 300ms
like "$(cat "$T/out")" 'the machine' "all processes"
ok "all processes: the pools are among them" grep -qE "^python3 +$POOLS " "$T/out"
sleep 100 &
other=$!
run "$PMCTL" top -b -n 1 -I 200ms --by process --pid "$POOLS,$other"
like "$(sed -n 1p "$T/out")" ' and 1 more .* in 2 processes' "several processes"
like "$(tail -n +3 "$T/out" | awk '{ print $2 }' | sort -n | xargs)" \
	"^$(printf '%s\n' "$POOLS" "$other" | sort -n | xargs)\$" "each has a row"
kill $other
wait $other 2>"$T/err"
run "$PMCTL" top -b -n 1 -p "$POOLS,999999999"
is "$status" 1 "one of several processes that does not exist"

mkfifo "$T/hold"
cp /bin/sh "$T/pmc-named"
for _ in 1 2; do
	"$T/pmc-named" -c "read -r _ <$T/hold" &
	named_pids+=" $!"
done
named() { [ "$(pgrep -c '^pmc-named$')" = 2 ]; }
await named
run "$PMCTL" top -b -n 1 -I 50ms --by process --name 'pmc-name?'
like "$(sed -n 1p "$T/out")" '^pmc-named [0-9]+ and 1 more .* in 2 processes' "--name: all processes of a program"
run "$PMCTL" stat --name pmc-named --per-thread --format json -I 50ms -n 1
is "$(jq -r 'select(.tid and .pid == .tid) | .name' "$T/out" | xargs)" "pmc-named pmc-named" "of stat, too"
run "$PMCTL" stat -p "$(pgrep -d, '^pmc-named$')" -e task-clock,page-faults --format json -I 50ms -n 1
is "$status $(jq -r '.summary, .pid' "$T/out" | xargs)" "0 true null" "stat of several processes: one total"
# shellcheck disable=SC2086
kill $named_pids
# shellcheck disable=SC2086
wait $named_pids 2>"$T/err"
run "$PMCTL" top -b -n 1 --name pmc-named
is "$status $(cat "$T/err")" "1 pmctl top: no process is named 'pmc-named'; pmctl top -a shows names" "no process of that name"

# Children that end within an interval have no row, but their parent has waited for them.
cat >"$T/children.py" <<'PY'
import os, time
while True:
    if os.fork() == 0:
        while time.process_time() < 0.005:
            pass
        os._exit(0)
    os.wait()
PY
python3 "$T/children.py" &
children=$!
run "$PMCTL" top -b -n 2 -I 1s --by process "$children"
ok "children that ended: their CPU time in a row of its own, and in the title" awk -v pid=$children '
	/ CPUs/ { split($0, part, " · "); cpus = part[2] + 0; n++ }
	n == 2 && /^\(ended children\)/ { of_children = $5 }
	n == 2 && $2 == pid { parent = $4 }
	END { exit !(of_children > parent && cpus * 100 > of_children) }' "$T/out"
kill $children
wait $children 2>"$T/err"

# The command line of a process may be anything.
(exec -a "worker $T"$'\x1b[31m' sleep 100) &
named=$!
until grep -q worker "/proc/$named/cmdline"; do :; done
run env COLUMNS=200 "$PMCTL" top -b -n 1 -I 200ms -c --filter 'worker*' "$named"
ok "the command line, which the filter finds too" grep -qF "worker $T"'\x1b[31m' "$T/out"
run "$PMCTL" top -b -n 1 -I 200ms --filter 'worker*' "$named"
like "$(cat "$T/out")" '\(1 hidden\)' "without -c there is none"
kill $named
wait $named 2>"$T/err"

# ---- events -----------------------------------------------------------------------------------
run "$PMCTL" top -b -n 2 -I 300ms --by thread -e task-clock,page-faults "$POOLS"
if grep -q 'task-clock' "$T/out"; then
	like "$(sed -n 2p "$T/out")" 'task-clock ms' "events are columns"
	run "$PMCTL" top -b -n 1 -I 300ms --by thread -e task-clock,page-faults,minor-faults,context-switches "$POOLS"
	like "$(sed -n 2p "$T/out")" 'task-clock ms page-faults minor-faults context-switches' \
		"events that are asked for come before other columns"
else
	skip "perf events are not permitted" "events are columns"
fi

# A thread that spins was on a CPU in a second, or waited for one, however slow the machine is.
run "$PMCTL" top -b -n 2 -I 1s --by thread -e run-delay,user-time "$POOLS"
like "$(sed -n 2p "$T/out")" 'run-delay ms user-time ms' "events of the OS are columns"
ok "events of the OS have values" awk '$1 == "spinner-0" && n++ && $(NF - 1) + $NF > 0 { found = 1 }
	END { exit !found }' "$T/out"

# ---- lengths of waits -------------------------------------------------------------------------
cat >"$T/sleeps.py" <<'PY'
import threading, time
def run(name, seconds):
    open("/proc/thread-self/comm", "w").write(name)
    while True:
        time.sleep(seconds)
threading.Thread(target=run, args=("short", 0.002)).start()
run("long", 0.04)
PY
python3 "$T/sleeps.py" &
sleeps=$!
both() { [ "$(cat /proc/$sleeps/task/*/comm | xargs)" = "long short" ]; }
await both
run "$PMCTL" top -b -n 2 -I 1s --waits --by thread --format csv --columns name,wait-p50,wait-p99,longest-wait "$sleeps"
# lengths NAME: of the last interval
lengths() { awk -F, -v name="$1" '$1 == name { line = $2 " " $3 " " $4 } END { print line }' "$T/out"; }
if [ "$status" = 0 ]; then
	ok "--waits: a wait is as long as its sleep, or longer" awk -v short="$(lengths short)" -v long="$(lengths long)" 'BEGIN {
		split(short, s); split(long, l)
		exit !(s[1] > 1900000 && s[1] <= s[2] && s[2] <= s[3] && l[1] > 38000000 && l[1] <= l[3] && s[1] < l[1]) }'
	run "$PMCTL" top -b -n 1 -I 300ms --waits --by pool "$sleeps"
	like "$(sed -n 2p "$T/out")" 'wait p50 .*wait p99' "columns of the table"
	run "$PMCTL" top -b -n 1 -I 1s --waits --by thread --format json "$sleeps"
	is "$(jq 'select(.name == "short") | ."wait-p50" as $p50 | any(."wait-histogram"[]; .[0] == $p50 and .[1] > 0)' "$T/out")" true \
		"JSON: a histogram with p50"
	run "$PMCTL" top -b -n 1 -I 50ms --waits --format csv "$sleeps"
	unlike "$(cat "$T/out")" "histogram" "CSV has none"
	is "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "lost-switches") c = i } NR > 1 { n += !c || $c > 0 } END { print n + 0 }' "$T/out")" 0 \
		"no record of a switch is lost"
	# A pmctl that does not run makes no room for records.
	python3 -c 'import time
while True: time.sleep(1e-5)' &
	nap=$!
	switches() { awk '/^voluntary/ { print $2 }' /proc/$nap/status; }
	more() { [ "$(switches)" -gt $((before + 40000)) ]; }
	lines() { [ "$(wc -l <"$T/out")" -gt "$1" ]; }
	"$PMCTL" top -b -I 200ms --waits --format json "$nap" >"$T/out" 2>"$T/err" &
	top=$!
	await lines 0
	kill -STOP $top
	before=$(switches)
	await more
	kill -CONT $top
	# The kernel writes the number of lost records before the next record for which there is room.
	lost() { grep -q '"lost-switches":[1-9]' "$T/out"; }
	await lost
	kill -INT $top
	wait $top
	kill $nap
	wait $nap 2>"$T/ended"
	is "$(jq -s 'map(."lost-switches") | (.[0] == 0 and add > 0)' "$T/out")" true "JSON: records of switches that were lost"
	like "$(cat "$T/err")" "[0-9] records of switches were lost: waits are missing" "a warning says so"
else
	skip "switches cannot be recorded" "no record of a switch is lost"
	skip "switches cannot be recorded" "JSON: records of switches that were lost"
	skip "switches cannot be recorded" "a warning says so"
	like "$(cat "$T/err")" "cannot record switches" "switches cannot be recorded"
	skip "switches cannot be recorded" "columns of the table"
	skip "switches cannot be recorded" "JSON: a histogram with p50"
	skip "switches cannot be recorded" "CSV has none"
fi
run "$PMCTL" top -b -n 1 -I 50ms --columns name,wait-p50 "$sleeps"
is "$status" 2 "without --waits there are no such columns"
kill $sleeps
wait $sleeps 2>"$T/err"

# ---- commands and ends ------------------------------------------------------------------------
seq 100 >"$T/of-command"
run "$PMCTL" top -b -I 200ms -o "$T/of-command" -- sh -c 'echo out; echo err >&2; read line; sleep 0.5; exit 3' 
is "$status" 3 "a command: its exit status"
is "$(sort "$T/of-command" | tr '\n' ' ')" "err out " "a command: its output"
unlike "$(cat "$T/out" "$T/err")" '^(out|err)$' "a command: its output is not among the tables"
"$PMCTL" top -b -I 50ms "$POOLS" 2>"$T/err" | head -n 1 >"$T/out"
is "${PIPESTATUS[0]} $(cat "$T/err")" "1 " "a closed pipe ends it, silently"
mkfifo "$T/held"
run timeout 60 "$PMCTL" top -b -n 2 -I 100ms -- sh -c 'read line <"$1"' sh "$T/held"
is "$status $(grep -c ' in 1 process' "$T/out")" "0 2" "-n ends while the command goes on"
like "$(cat "$T/err")" "sh goes on.* kill $(awk 'NR == 1 { print $2 }' "$T/out") " "which is said, with its process ID"
ok "the command goes on" timeout 60 sh -c 'echo >"$1"' sh "$T/held"
run "$PMCTL" top -b -n 1 -I 10s -- sh -c 'exit 4'
is "$status" 4 "a command that ends before the first reading: its exit status"
like "$(cat "$T/err")" 'sh.* before the first reading' "which is said of the command"
run "$PMCTL" top -b -n 1 -I 50ms -s vol "$POOLS"
is "$status" 0 "-s with a head without its unit"
run "$PMCTL" top -b -n 1 -I 50ms -s vo "$POOLS"
is "$status" 2 "not with a part of a head"
run "$PMCTL" top -b -n 1 -I 10s sh -c 'exit 5' -b
is "$status" 2 "a command without --"
like "$(cat "$T/err")" "give --name sh .* write -- before" "which is refused: it may be the name of a process"
run "$PMCTL" top -b -I 100ms -- /no/such/command
is "$status" 127 "a command that does not exist"
run "$PMCTL" top -b -I 100ms -- sh -c 'kill -TERM $$'
is "$status" 143 "a command that dies of a signal"
run "$PMCTL" top -b -n 1 999999999
is "$status" 1 "a process that does not exist"
"$PMCTL" top -b -I 100ms "$POOLS" >"$T/tables" 2>&1 7>&- &
top=$!
until [ -s "$T/tables" ]; do sleep 0.05; done
exec 7>&-
wait "$top"
is "$?" 0 "top ends with its process"
wait "$POOLS" 2>/dev/null
for bad in '' '-a 1' '0' '-p 0' '-p x' '-p 1,' '-p 1 2' '-p 1 -a' '-p 1 -- true' '1 2' '1 x' '--by core 1' '-s nonsense 1' '-I 1us 1' '-n 0 1' '-o x 1' '--frob 1'; do
	run "$PMCTL" top -b $bad
	is "$status" 2 "wrong arguments: $bad"
done
# ---- the screen -------------------------------------------------------------------------------
run env TERM=dumb "$PMCTL" top 1
is "$status" 1 "without a terminal: exit status"
like "$(cat "$T/err")" 'pmctl stat --per-thread' "without a terminal: what else to use"
# The kernel takes any size for a terminal.
run env TERM=linux python3 - "$PMCTL" top -I 50ms "$$" <<'END'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
def resize(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
if pid == 0:
    resize(1, 80)
    os.execv(sys.argv[1], sys.argv[1:])
try:
    for columns in [65535, 80, 32767, 1, 65535, 80] * 3:
        os.read(fd, 65536)
        resize(fd, columns)
    os.write(fd, b"q")
    while os.read(fd, 65536):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
END
is "$status" 0 "a terminal that grows to 65535 columns"

. "$ROOT/tests/e2e/tmux.sh"
# start WIDTH ENV... -- ARG...: top in a terminal of that width; its exit status goes to $T/rc
start() {
	local width=$1
	shift
	rm -f "$T/rc"
	open_term "$width" "env $* $AS $PMCTL top -I 200ms $ARGS; echo \$? >$T/rc; sleep 1000"
}
ended() {
	local n=0
	until [ -s "$T/rc" ] || [ "$n" -gt 3000 ]; do
		n=$((n + 1))
		sleep 0.05
	done
	cat "$T/rc"
}
rm -f "$T/in"
start_pools
AS= ARGS=$POOLS
start 80 LC_ALL=C.UTF-8
shows 'sleeper-1 +[0-9]+ +0\.0 .* S futex' "80 columns: a thread that waits for a lock"
shows 'spinner-0 .*\((runs|ran|waits for CPU|waited for CPU)\)' "80 columns: a thread that runs"
shows 'e.x1b\[31mvil' "80 columns: an escaped name"
shows ' h h: [0-9]+ more columns$' "80 columns: the number of columns that do not fit"
term send-keys h
shows '^  Up Down' "80 columns: help"
term send-keys h
shows '^no room for: .*faults/s' "80 columns: the columns that do not fit"
term send-keys q
shows 'sleeper-1 ' "80 columns: back"
term resize-window -x 200 -y 30
shows 'major/s +(history|last [0-9]+ s)' "resized to 200 columns while it runs"
shows 'spinner-0 .*[▁▂▃▄▅▆▇█]' "a sparkline"
term send-keys c
shows 'sleeper-1 .*python3 .*pools\.py' "c: command lines"
term send-keys c
term send-keys p
shows '^sleeper-\* +4 ' "p: pools"
term send-keys /
shows '^filter: _' "/: asks for a filter"
term send-keys slee Enter
shows 'filter slee \([0-9]+ hidden\)' "a filter"
term send-keys Enter
shows 'only sleeper-\*' "Enter: the threads of a pool"
shows '^sleeper-3 ' "Enter: a thread of it"
term send-keys Enter
shows 'since its start' "Enter: one thread"
shows 'in the last [0-9]+ s, of one CPU' "Enter: its graphs"
term send-keys Escape
shows '^sleeper-3 ' "Esc: back to the threads"
term send-keys w
shows '^CSV file: pmctl-top-' "w: asks for a file"
term send-keys C-u
term send-keys "$T/rows.csv" Enter
shows '4 rows written to' "w: says what it wrote"
is "$(python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1]), strict=True))
print(len(rows), sorted(r["name"] for r in rows)[0], {len(r) for r in rows} == {len(rows[0])})' "$T/rows.csv")" \
	"4 sleeper-0 True" "w: a CSV file"
term send-keys d
shows '^no agent in process' "d: says that the process has no agent, without asking for a file"
term send-keys h
shows '^  Up Down' "h: help"
shows '^  q ' "h: help has room for its first line"
term send-keys h
shows '^  history ' "h again: the columns"
shows '^columns' "h again: with room for the first line"
term send-keys q
shows '^sleeper-3 ' "q leaves the help"
term send-keys Space
shows '^PAUSED' "Space: pause"
term send-keys Space
term send-keys C-c
is "$(ended)" 0 "Ctrl-C ends it"
is "$(term display-message -p '#{alternate_on}')" 0 "Ctrl-C: the terminal is restored"

start 100 LC_ALL=C NO_COLOR=1
shows '^spinner-0 .* [-.:=+*#@]+$' "the C locale: a sparkline in ASCII"
is "$(screen | LC_ALL=C tr -d '\0-\177' | wc -c)" 0 "the C locale: ASCII alone"
is "$(term capture-pane -p -e | grep -c $'\x1b\\[3[1-7]m')" 0 "NO_COLOR: no colours"
term send-keys q
is "$(ended)" 0 "q ends it"
start 100 TERM=dumb
is "$(ended)" 1 "a dumb terminal"
shows 'pmctl stat --per-thread' "a dumb terminal: what else to use"
ARGS="-- sh -c 'read line <$T/held; exit 4'"
start 100 LC_ALL=C.UTF-8
shows '^sh +[0-9]+ +[0-9]' "a command: its row"
echo >"$T/held"
is "$(ended)" 4 "a command: its exit status"
is "$(term display-message -p '#{alternate_on}')" 0 "a command: the terminal is restored"
shows '^sh +[0-9]+ +[0-9]' "a command: the last table stays"
ARGS="-- sh -c 'trap \"\" TERM; while :; do sleep 1; done'"
start 100 LC_ALL=C.UTF-8
shows '^sh +[0-9]+ +[0-9]' "a command that ignores SIGTERM"
term send-keys q
shows 'q: kill it$' "a command that ignores SIGTERM: q says so"
is "$([ -s "$T/rc" ] && echo ended)" "" "a command that ignores SIGTERM: q waits for it"
term send-keys q
is "$(ended)" 137 "a command that ignores SIGTERM: q again kills it"
ARGS="-- env LD_PRELOAD=$AGENT PMC_REPORT=off sleep 1000"
start 100 LC_ALL=C.UTF-8
shows '^sleep ' "a command with the agent"
term send-keys d
shows '^dump: pmctl-top-' "a command with the agent: d asks for a file"
term send-keys C-u
term send-keys "$T/dump.pmc" Enter
shows 'snapshot of process [0-9]+ appended' "a command with the agent: a snapshot"
is "$("$PMCTL" report --format csv "$T/dump.pmc" | wc -l)" 2 "a command with the agent: its dump"
term send-keys q
is "$(ended)" 143 "q ends a command too"
# A shell with job control, to suspend and resume.
ARGS=$POOLS
open_term 100 "env LC_ALL=C.UTF-8 PS1=prompt: bash --norc --noprofile -i"
shows '^prompt:' "a shell"
term send-keys "$PMCTL top -I 200ms $POOLS" Enter
shows '^sleeper-1 ' "started by a shell"
term send-keys C-z
shows 'Stopped' "Ctrl-Z suspends it"
term send-keys fg Enter
shows '^sleeper-1 ' "fg resumes it"
term send-keys q
term kill-server
exec 7>&-
wait "$POOLS" 2>/dev/null
done_testing
