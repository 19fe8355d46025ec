#!/bin/bash
# SPDX-License-Identifier: MIT
# top_agent.t - pmctl top of a process with the agent: start routines, its events, marked regions.
. "$(dirname "$0")/lib.sh"

mkfifo "$T/in"
# serve ENV...: the process $SERVE with the agent, its stdin descriptor 7, its output $T/said
serve() {
	rm -f "$T/said"
	env "$@" LD_PRELOAD="$AGENT" PMC_REPORT=off "$O/prog/serve" <"$T/in" >"$T/said" 2>"$T/serve.err" &
	SERVE=$!
	exec 7>"$T/in"
	await grep -q ready "$T/said"
}
stop_serving() {
	exec 7>&-
	wait "$SERVE" 2>/dev/null
}
# twice FILE: whether two tables have been written
twice() {
	[ "$(grep -c '^worker ' "$1")" -ge 2 ]
}
handled() {
	[ "$(grep -c handled "$T/said")" -ge "$n_handled" ]
}
# requests N: sends N lines and waits until they are handled
requests() {
	local i
	for ((i = 0; i < $1; i++)); do
		n_handled=$((n_handled + 1))
		echo request >&7
		await handled
	done
}
# dumped NAME COLUMN: a value of the row of a thread, by pmctl dump
dumped() {
	rm -f "$T/dump.pmc"
	"$PMCTL" dump -o "$T/dump.pmc" "$SERVE" >"$T/dumped" 2>&1 7>&-
	"$PMCTL" report --format csv "$T/dump.pmc" | csv_value "$@"
}
csv_value() {
	python3 -c 'import csv, sys
print(*[r[sys.argv[2]] for r in csv.DictReader(sys.stdin) if r["name"] == sys.argv[1]])' "$@"
}
n_handled=0
EVENTS='{page-faults,context-switches}'
serve PMC_EVENTS=$EVENTS

# ---- tables -----------------------------------------------------------------------------------
run env COLUMNS=150 "$PMCTL" top -b -n 1 -I 200ms "$SERVE" 7>&-
is "$status" 0 "a process with the agent: exit status"
head=$(sed -n 2p "$T/out")
like "$head" ' start ' "a column of start routines"
like "$(grep '^worker ' "$T/out")" ' serve ' "the start routine of a thread"
like "$(grep " $SERVE " "$T/out")" '\(main\)' "that of the main thread"
like "$head" ' page-faults context-switches' "the agent's events, without -e"
run env COLUMNS=150 "$PMCTL" top -b -n 1 -I 200ms --by pool "$SERVE" 7>&-
like "$(grep '^worker ' "$T/out")" ' serve ' "the start routine of a pool"
like "$(grep '^serve ' "$T/out")" ' - ' "a pool of several start routines has none"
run env COLUMNS=150 "$PMCTL" top -b -n 1 -I 200ms -e task-clock "$SERVE" 7>&-
like "$(sed -n 2p "$T/out")" 'task-clock ms' "-e: its events"
unlike "$(sed -n 2p "$T/out")" 'page-faults' "-e: not the agent's"
like "$(grep '^worker ' "$T/out")" ' serve ' "-e: the start routines all the same"
run "$PMCTL" top -b -n 2 -I 100ms -- env LD_PRELOAD="$AGENT" PMC_EVENTS=$EVENTS PMC_REPORT=off \
	sh -c 'read line <"$1"' sh "$T/in" 7>&-
is "$status" 0 "a command with the agent"

run env COLUMNS=150 "$PMCTL" top -b -n 2 -I 200ms -- env LD_PRELOAD="$AGENT" PMC_EVENTS=software/config=98/ \
	PMC_REPORT=off sleep 10 7>&-
unlike "$(sed -n '/ start /p' "$T/out")" 'config=98' "no columns for events that the agent could not open"
ok "but one of start routines" grep -q ' start ' "$T/out"

# The groups of the agent are read: top holds a descriptor of each group, and none of an event.
"$PMCTL" top -b -I 100ms "$SERVE" >"$T/tables" 2>&1 7>&- &
top=$!
await twice "$T/tables"
is "$(find "/proc/$top/fd" -lname '*perf_event*' | wc -l)" 3 "one descriptor for the group of each thread"

# ---- another program --------------------------------------------------------------------------
stop_serving
wait "$top"
is "$?" 0 "top ends with its process"
serve PMC_EVENTS=$EVENTS
rm -f "$T/tables"
COLUMNS=150 "$PMCTL" top -b -I 100ms "$SERVE" >"$T/tables" 2>"$T/tables.err" 7>&- &
top=$!
await twice "$T/tables"
echo exec >&7
await grep -q 'runs a program without one' "$T/tables.err"
ok "a process that calls exec: a warning" grep -q 'agent not used' "$T/tables.err"
# One table more: the warning comes before its own.
n=$(grep -c '^sleep ' "$T/tables")
more() {
	[ "$(grep -c '^sleep ' "$T/tables")" -gt $((n + 1)) ]
}
await more
unlike "$(grep '^thread' "$T/tables" | tail -n 1)" 'page-faults| start ' "a process that calls exec: no columns of its agent"
exec 7>&-
kill "$SERVE"
wait "$SERVE" 2>/dev/null
wait "$top"
is "$?" 0 "top ends with the next program"

# ---- one thread -------------------------------------------------------------------------------
. "$ROOT/tests/e2e/tmux.sh"
n_handled=0
serve PMC_EVENTS=$EVENTS
requests 20
open_term 80 \
	"env LC_ALL=C.UTF-8 $PMCTL top -I 200ms --filter worker $SERVE; sleep 1000"
shows '^thread .* last [0-9]+ s' "80 columns have no start routine in place of the graph"
term send-keys h
shows '^  Up Down' "80 columns: help"
term send-keys h
shows '^no room for: start, ' "80 columns: it is among the columns that do not fit"
term send-keys q
shows '^worker ' "80 columns: back"
term send-keys Enter
shows 'start routine serve' "one thread: its start routine"
shows '^ request +[-0-9].* 20$' "one thread: its regions, with the number of calls"
shows '^ query +[-0-9].* 20$' "one thread: a region inside another one"
like "$(screen)" "page-faults +$(dumped worker page-faults | sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta')( |$)" \
	"one thread: its exact count, as pmctl dump has it"
requests 3
shows '^ request +[0-9]+ .* 23$' "one thread: calls per second, and new calls"
term send-keys Escape
shows '^thread ' "Esc: back"
term kill-server
open_term 80 "env LC_ALL=C $PMCTL top -I 200ms --filter worker $SERVE; sleep 1000"
shows '^worker ' "the C locale"
term send-keys Enter
shows '^ request +[0-9].* 23$' "the C locale: regions"
is "$(screen | LC_ALL=C tr -d '\0-\177' | wc -c)" 0 "the C locale: regions in ASCII"
term kill-server
stop_serving
done_testing
