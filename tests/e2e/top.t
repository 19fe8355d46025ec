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
lock = threading.Event()
for i in range(4):
    threading.Thread(target=named, args=("sleeper-%d" % i, wait, lock), daemon=True).start()
threading.Thread(target=named, args=("spinner-0", spin), daemon=True).start()
threading.Thread(target=named, args=("e\x1b[31mvil", wait, lock), daemon=True).start()
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
is "$(rows "$T/out" spinner-0 | grep -cE '\((runs|waits for CPU)\)')" 3 "a thread that runs"
between "$(rows "$T/out" spinner-0 | awk 'END { print $3 + $4 }')" 90 101 \
	"a thread that runs: on a CPU, or waiting for one"
is "$(awk 'NR == 3 { print $1 }' "$T/out")" spinner-0 "most CPU time first"
is "$(LC_ALL=C grep -c $'\x1b' "$T/out")" 0 "control characters in names are escaped"
ok "an escaped name" grep -qF 'e\x1b[31mvil' "$T/out"

run "$PMCTL" top -b -n 1 -I 300ms --by pool "$POOLS"
like "$(rows "$T/out" 'sleeper-*')" '^sleeper-\* +4 +0\.0 .* 4S +futex' "a pool: its number of threads and states"
run "$PMCTL" top -b -n 1 -I 300ms --by process "$POOLS"
like "$(sed -n 3p "$T/out")" "^python3 +$POOLS +7 " "a process: its ID and number of threads"
run "$PMCTL" top -b -n 1 -I 200ms --by thread --filter 'sleeper' -s tid -r "$POOLS"
is "$(awk 'NR > 2 { print $1 }' "$T/out" | tr '\n' ' ')" "sleeper-0 sleeper-1 sleeper-2 sleeper-3 " \
	"a filter, and order by thread ID"
run env LC_ALL=C "$PMCTL" top -b -n 3 -I 500ms --by thread "$POOLS"
is "$(LC_ALL=C tr -d '\0-\177' <"$T/out" | wc -c)" 0 "the C locale gets ASCII"
for width in 80 200; do
	run env COLUMNS=$width "$PMCTL" top -b -n 2 -I 200ms --by thread "$POOLS"
	between "$(wc -L <"$T/out")" 60 $width "no line is longer than $width columns"
done
like "$(sed -n 2p "$T/out")" 'invol/s .*faults/s .*last 60 s' "200 columns show more"
run "$PMCTL" top -a -b -n 1 -I 300ms
like "$(cat "$T/out")" 'the machine' "all processes"
ok "all processes: the pools are among them" grep -qE "^python3 +$POOLS " "$T/out"

# ---- events -----------------------------------------------------------------------------------
run "$PMCTL" top -b -n 2 -I 300ms --by thread -e task-clock,page-faults "$POOLS"
if grep -q 'task-clock' "$T/out"; then
	like "$(sed -n 2p "$T/out")" 'task-clock' "events are columns"
else
	skip "perf events are not permitted" "events are columns"
fi

# ---- commands and ends ------------------------------------------------------------------------
run "$PMCTL" top -b -I 200ms -o "$T/of-command" -- sh -c 'echo out; echo err >&2; read line; sleep 0.5; exit 3' 
is "$status" 3 "a command: its exit status"
is "$(sort "$T/of-command" | tr '\n' ' ')" "err out " "a command: its output"
unlike "$(cat "$T/out" "$T/err")" '^(out|err)$' "a command: its output is not among the tables"
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
for bad in '' '-a 1' 'x' '1 2' '--by core 1' '-s nonsense 1' '-I 1us 1' '-n 0 1' '-o x 1' '--frob 1'; do
	run "$PMCTL" top -b $bad
	is "$status" 2 "wrong arguments: $bad"
done
done_testing
